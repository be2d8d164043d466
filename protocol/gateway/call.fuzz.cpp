// Any request of a student's (a line of method, one of target, one of model, then the body) is refused with an answer
// that is JSON, or a call: sent on as the gateway would, it is the same one, and a service tier leaves its body whole.

#include "protocol/gateway/call.hpp"

#include "protocol/core/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::gateway;

std::string_view take_line(std::string_view& text) {
    const auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

void look_at(api which, const refusal& why) {
    if (why.status < 400 || why.message.empty() || !parse_json(error_body(which, why))) {
        std::abort();
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto method = take_line(text);
    const auto target = take_line(text);
    const auto model = take_line(text);
    const auto which = find_api(method, target);
    if (!which) {
        look_at(api::chat_completions, which.error());
        return 0;
    }
    const auto got = read_call(*which, target, model, std::string(text));
    if (!got) {
        look_at(*which, got.error());
        return 0;
    }
    const auto again = read_call(*which, got->target, model, got->body);
    if (!again || again->digest != got->digest || again->model != got->model || again->target != got->target) {
        std::abort();
    }
    const auto tiered = parse_json(with_service_tier(got->body, "flex"));
    if (!tiered || !tiered->contains("service_tier")) {
        std::abort();
    }
    return 0;
}
