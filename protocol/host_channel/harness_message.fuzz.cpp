// Whatever a harness, or who took it over, writes to the host is a message that survives a round trip, or a failure
// with a message.

#include "protocol/core/overloaded.hpp"
#include "protocol/host_channel/messages.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace chalk;

std::string line_of(const host_channel::harness_message& message) {
    return std::visit(overloaded{[](const event& e) { return to_line(e); },
                                 [](const auto& own) { return host_channel::to_line(own); }},
                      message);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = host_channel::parse_harness_message({reinterpret_cast<const char*>(data), size});
    if (!parsed) {
        return parsed.error().message.empty() ? std::abort(), 0 : 0;
    }
    const auto line = line_of(*parsed);
    const auto again = host_channel::parse_harness_message(line);
    if (!again || again->index() != parsed->index() || line_of(*again) != line) {
        std::abort();
    }
    return 0;
}
