// Any bytes are a transcript or a failure with a message.

#include "protocol/core/json_text.hpp"
#include "protocol/transcript/transcript.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parsed = chalk::parse_json({reinterpret_cast<const char*>(data), size});
    if (!parsed) {
        return parsed.error().message.empty() ? std::abort(), 0 : 0;
    }
    const auto fits = chalk::check_transcript(*parsed);
    if (!fits && fits.error().message.empty()) {
        std::abort();
    }
    return 0;
}
