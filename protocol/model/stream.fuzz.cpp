// Whatever bytes a provider sends are a turn or a failure with a message, for each dialect, and the same one however
// the stream is cut. A turn that was read can be sent back.

#include "protocol/core/json_text.hpp"
#include "protocol/model/dialect/dialect.hpp"

#include <array>
#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::model;

turn_result read(const dialect& speaks, std::string_view stream, std::size_t piece) {
    const auto reader = speaks.make_reader("call");
    sse_parser parser(1U << 16U);
    const auto on_event = [&](sse_event&& e) { return reader->on_event(std::move(e)); };
    bool more = true;
    for (std::size_t at = 0; at < stream.size() && more; at += piece) {
        more = parser.feed(stream.substr(at, piece), on_event);
    }
    if (more) {
        parser.finish(on_event);
    }
    return reader->finish({});
}

std::string text_of(const turn_result& got) {
    return got ? got->text + got->reasoning + dump_json(got->provider_items) : got.error().why.message;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::array<std::unique_ptr<dialect>, 4> all = {make_openai_dialect(openai_flavour::openai),
                                                                make_openai_responses_dialect(),
                                                                make_anthropic_dialect(), make_gemini_dialect()};
    if (size == 0) {
        return 0;
    }
    const auto& speaks = *all[data[0] % all.size()];
    const std::string_view stream(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto got = read(speaks, stream, stream.size() + 1);
    if (text_of(got) != text_of(read(speaks, stream, 1)) || (!got && got.error().why.message.empty())) {
        std::abort();
    }
    if (got) {
        auto messages = std::make_shared<conversation>();
        messages->push_back({role::assistant, got->text, got->tool_calls, {}, false, got->provider_items});
        const request again{messages, std::make_shared<std::vector<mcp::tool_spec>>(), 0, 1, {}};
        if (dump_json(speaks.make_request(again, "m", json::object()).body).empty()) {
            std::abort();
        }
    }
    return 0;
}
