/// A turn out of a stream of /v1/responses (OpenAI API reference, "Responses", streaming events): items open, grow by
/// deltas and are done; response.completed, .incomplete or .failed ends it.
#pragma once

#include "protocol/model/dialect/turn_draft.hpp"

#include <map>

namespace chalk::model {

class openai_responses_reader final : public draft_reader {
  public:
    using draft_reader::draft_reader;

  private:
    struct item {
        json kept; ///< as it was added, then as it was done
        bool done = false;
        std::string text;      ///< of deltas; a done item tells its own
        std::string reasoning; ///< the same
        draft_call call;       ///< of function_call
    };

    void read(json& event) override;
    [[nodiscard]] std::string missing() const override;
    [[nodiscard]] turn take() override;

    item* item_of(const json& event);
    void put_item(item& into, const json& from, bool done);
    void end(const json& response, std::string_view status);

    std::map<std::uint64_t, item> items_; ///< by output_index
    std::size_t kept_ = 0;                ///< bytes of the items that are done
    std::string incomplete_reason_;
    bool ended_ = false;
    bool refused_ = false;
    token_usage usage_;
};

} // namespace chalk::model
