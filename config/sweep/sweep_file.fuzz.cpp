// Any text, as JSON and as TOML, is a sweep file whose stored form reads back as it was, or a failure with a message.

#include "config/read_keys.hpp"
#include "config/sweep/sweep_runs.hpp"
#include "config/toml_document.hpp"

#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::config;

void look_at(const result<json_document>& document) {
    if (!document) {
        return document.error().message.empty() ? std::abort() : void();
    }
    auto loaded = load_sweep_file(config_source{*document, {}}, {});
    if (!loaded) {
        return loaded.error().message.empty() ? std::abort() : void();
    }
    const auto again = load_stored_sweep(stored_sweep(*loaded), "stored");
    if (!again || again->digest != loaded->digest || again->matrix.count_kept() != loaded->matrix.count_kept()) {
        std::abort();
    }
    sweep_runs runs(std::move(*loaded), "out");
    const auto number = runs.matrix().next_kept(0);
    if (!number || again->matrix.at(*number).id != runs.matrix().at(*number).id) {
        std::abort();
    }
    const auto run = runs.run(*runs.cell(*number), runs.repeats() - 1, attempt_number{1});
    if (!parse_resolved_config(to_json(run))) {
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    look_at(read_json_document(text, "f.json"));
    look_at(read_toml_document(text, "f.toml"));
    return 0;
}
