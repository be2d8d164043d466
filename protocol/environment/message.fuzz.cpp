#include "protocol/environment/message.hpp"

#include "protocol/environment/line_splitter.hpp"

#include <cstdint>

/// Whatever an environment host writes on the wire is messages, or a violation with a reason.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace chalk::environment;
    line_splitter lines(1024, line_splitter::overflow::refuse);
    (void)lines.feed({reinterpret_cast<const char*>(data), size}, [](std::string&& line) {
        const auto parsed = parse_message(line);
        const auto* broken = std::get_if<violation>(&parsed);
        if (broken != nullptr && broken->reason.empty()) {
            __builtin_trap();
        }
        return broken == nullptr;
    });
    return 0;
}
