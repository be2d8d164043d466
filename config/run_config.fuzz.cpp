// Any text is a run config that parses back as it was, or a failure with a message. The text goes in as JSON, never as
// a path, so that the fuzzer opens no files but those that a config names.

#include "config/run_config.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = "{" + std::string(reinterpret_cast<const char*>(data), size);
    const auto loaded = chalk::config::load_run_config(text, {});
    if (!loaded) {
        return loaded.error().message.empty() ? std::abort(), 0 : 0;
    }
    const auto sent = chalk::config::to_json(loaded->config);
    const auto received = chalk::config::parse_resolved_config(sent);
    if (!received || chalk::config::to_json(*received) != sent) {
        std::abort();
    }
    return 0;
}
