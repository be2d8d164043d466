// Any bytes on the host channel are an event that survives a round trip, or a failure with a message.

#include "protocol/event/event.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = chalk::parse_event({reinterpret_cast<const char*>(data), size});
    if (!parsed) {
        return parsed.error().message.empty() ? std::abort(), 0 : 0;
    }
    const auto again = chalk::parse_event(chalk::to_line(*parsed));
    if (!again || chalk::to_json(*again) != chalk::to_json(*parsed)) {
        std::abort();
    }
    return 0;
}
