/// How one provider's API is spoken: a request's body, and a turn out of the events that answer it. Pure: no sockets,
/// no clock. docs/protocols/model-apis.md has what is sent and read.
///
/// Owner: the API model. A reader lives for one request.
#pragma once

#include "protocol/model/model.hpp"
#include "protocol/model/sse.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace chalk::model {

/// Bounds on what a turn may hold. Text beyond them fails the turn; arguments beyond theirs are a defect of the call.
inline constexpr std::size_t most_text = std::size_t{4} << 20U;
inline constexpr std::size_t most_arguments = std::size_t{1} << 20U;
inline constexpr std::size_t most_calls = 128;

struct api_request {
    std::string target; ///< path below the gateway, such as /v1/messages
    std::vector<std::pair<std::string, std::string>> headers;
    json body;
};

class turn_reader {
  public:
    turn_reader() = default;
    turn_reader(const turn_reader&) = delete;
    turn_reader& operator=(const turn_reader&) = delete;
    virtual ~turn_reader() = default;

    /// False once the turn is complete or has failed: nothing more need be read.
    virtual bool on_event(sse_event event) = 0;

    /// Once, when nothing more comes. `broke`: why the stream ended early, or empty when it came to its end. A turn
    /// that is complete by then is a turn in spite of it.
    [[nodiscard]] virtual turn_result finish(std::string_view broke) = 0;

    /// Once, instead of finish(): what has come by now, for a turn that failed for a reason of its owner's.
    [[nodiscard]] virtual turn take_half() = 0;
};

class dialect {
  public:
    dialect() = default;
    dialect(const dialect&) = delete;
    dialect& operator=(const dialect&) = delete;
    virtual ~dialect() = default;

    /// `args` as a user wrote them: those that every dialect knows (max_tokens, reasoning_effort) are translated,
    /// others go into the body as they are.
    [[nodiscard]] virtual api_request make_request(const request& what, const std::string& name,
                                                   const json& args) const = 0;

    /// `call_prefix` begins the ids that are made up for calls without one; unique in the conversation.
    [[nodiscard]] virtual std::unique_ptr<turn_reader> make_reader(std::string call_prefix) const = 0;
};

enum class openai_flavour {
    openai,    ///< OpenAI itself: the limit on output is called max_completion_tokens
    compatible ///< vLLM, litellm and others: max_tokens
};

/// POST /v1/chat/completions (OpenAI API reference, "Chat", streaming).
[[nodiscard]] std::unique_ptr<dialect> make_openai_dialect(openai_flavour flavour);
/// POST /v1/responses (OpenAI API reference, "Responses", streaming events), stateless: store is false.
[[nodiscard]] std::unique_ptr<dialect> make_openai_responses_dialect();
/// POST /v1/messages (Anthropic API reference, "Messages", streaming), version 2023-06-01.
[[nodiscard]] std::unique_ptr<dialect> make_anthropic_dialect();
/// POST /v1beta/models/NAME:streamGenerateContent?alt=sse (Gemini API reference, "Generating content").
[[nodiscard]] std::unique_ptr<dialect> make_gemini_dialect();

} // namespace chalk::model
