/// A turn out of a stream of models/NAME:streamGenerateContent with alt=sse (Gemini API reference, "Generating
/// content"): chunks whose parts follow one another; the one with a finishReason, or a promptFeedback that blocks, ends
/// the turn. Counts of usage may come with any chunk, also after that one, so the stream is read to its end.
#pragma once

#include "protocol/model/dialect/turn_draft.hpp"

namespace chalk::model {

/// A part that calls a function. Anything else may hold the key too, with null.
[[nodiscard]] bool is_gemini_call(const json& part);

class gemini_reader final : public draft_reader {
  public:
    using draft_reader::draft_reader;

  private:
    struct part {
        json kept;       ///< as it goes back; a call's without name and arguments
        draft_call call; ///< of functionCall
    };

    void read(json& event) override;
    [[nodiscard]] std::string missing() const override;
    [[nodiscard]] turn take() override;

    void read_candidate(json& candidate);
    void add_part(json& came);
    void add_call(json& came);
    void keep(part made);
    void count(const json& usage);

    std::vector<part> parts_;
    std::size_t said_ = 0; ///< bytes of text and reasoning
    std::size_t kept_ = 0; ///< bytes of everything that goes back, signatures included
    std::string finish_reason_;
    bool blocked_ = false; ///< the provider did not let the prompt pass
    std::uint64_t prompt_ = 0;
    std::uint64_t tool_prompt_ = 0; ///< input tokens of tools that the provider runs
    std::uint64_t cached_ = 0;
    std::uint64_t said_tokens_ = 0;
    std::uint64_t thought_tokens_ = 0;
};

} // namespace chalk::model
