/// Keeps the head and the tail of what a command prints, and counts the rest. Owned by one running command.
#pragma once

#include "protocol/core/units.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace chalk::confinement {

class captured_output {
  public:
    /// Half of `cap` is for the beginning, half for the end.
    explicit captured_output(bytes cap);

    void append(std::string_view part);

    /// Bytes that text() leaves out. A character that a cut would split is left out whole.
    [[nodiscard]] std::uint64_t omitted() const;
    /// Valid UTF-8. Where bytes are missing, a line says how many.
    [[nodiscard]] std::string text() const;

  private:
    struct cut {
        std::string_view head;
        std::string tail;
    };
    [[nodiscard]] cut parts() const;

    std::size_t head_cap_;
    std::size_t tail_cap_;
    std::string head_;
    std::string tail_; ///< a ring once it is full: the oldest byte is at tail_start_
    std::size_t tail_start_ = 0;
    std::uint64_t total_ = 0;
};

} // namespace chalk::confinement
