/// A turn out of a stream of /v1/chat/completions (OpenAI API reference, "Chat completion chunk"), and what gateways
/// and open servers make of it: reasoning as reasoning_content, reasoning or reasoning_details, no [DONE], calls
/// without an index, usage in a last chunk without choices.
#pragma once

#include "protocol/model/dialect/turn_draft.hpp"

namespace chalk::model {

class openai_reader final : public draft_reader {
  public:
    using draft_reader::draft_reader;

  private:
    struct indexed_call {
        std::uint64_t index = 0;
        draft_call call;
    };

    void read(json& chunk) override;
    [[nodiscard]] std::string missing() const override;
    [[nodiscard]] turn take() override;

    void add_reasoning(const json& delta);
    void add_detail(const json& detail);
    void add_call(const json& part);
    draft_call* call_for(const json& part);
    void count(const json& usage);

    turn said_;
    std::string reasoning_field_; ///< under which name reasoning came: it goes back under the same
    json details_ = json::array();
    std::size_t details_size_ = 0;
    std::vector<indexed_call> calls_;
    bool call_is_skipped_ = false; ///< the call that comes is beyond most_calls
    std::string finish_reason_;
};

} // namespace chalk::model
