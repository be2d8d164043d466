/// A turn out of a stream of /v1/messages (Anthropic API reference, "Streaming messages"): message_start, blocks
/// (start, deltas, stop), message_delta, message_stop. Pings and unknown events are ignored.
#pragma once

#include "protocol/model/dialect/turn_draft.hpp"

#include <map>

namespace chalk::model {

class anthropic_reader final : public draft_reader {
  public:
    using draft_reader::draft_reader;

  private:
    struct block {
        json kept;       ///< the block as it goes back
        draft_call call; ///< of tool_use
    };

    void read(json& event) override;
    [[nodiscard]] std::string missing() const override;
    [[nodiscard]] turn take() override;

    void start_block(json& event);
    void add_delta(const json& event);
    void count(const json& usage);

    std::map<std::uint64_t, block> blocks_; ///< by index
    std::size_t said_ = 0;                  ///< bytes of text and reasoning
    std::string stop_reason_;
    bool stopped_ = false;
    std::uint64_t fresh_ = 0;   ///< input tokens that no cache had to do with
    std::uint64_t written_ = 0; ///< input tokens that went into a cache
    std::uint64_t cached_ = 0;  ///< input tokens that came out of one
    std::uint64_t output_ = 0;
};

} // namespace chalk::model
