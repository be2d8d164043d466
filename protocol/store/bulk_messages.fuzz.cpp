// Any stream is taken apart in the same way however it is cut (the first byte says how), and each message of it is
// written again as a frame that is read as the same message.

#include "protocol/store/bulk_messages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::store;

struct decoded {
    std::vector<std::string> frames;
    bool refused = false;
    friend bool operator==(const decoded&, const decoded&) = default;
};

decoded decode(std::string_view stream, std::size_t piece) {
    bulk_decoder decoder;
    decoded out;
    for (std::size_t at = 0; at < stream.size() && !out.refused; at += piece) {
        const auto fed = decoder.feed(stream.substr(at, piece), [&](bulk_message&& message) -> result<void> {
            auto frame = to_frame(message);
            if (!frame || frame->size() > max_bulk_frame) {
                std::abort();
            }
            out.frames.push_back(std::move(*frame));
            return {};
        });
        out.refused = !fed;
    }
    return out;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) {
        return 0;
    }
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto whole = decode(stream, stream.size());
    if (decode(stream, std::size_t{data[0]} + 1) != whole) {
        std::abort();
    }
    std::string again;
    for (const auto& frame : whole.frames) {
        again += frame;
    }
    if (!again.empty() && decode(again, again.size()) != decoded{whole.frames, false}) {
        std::abort();
    }
    return 0;
}
