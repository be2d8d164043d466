/// Cuts a byte stream into lines, with a bound on what one line may hold. Pure; its owner feeds it what it read.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace chalk::environment {

class line_splitter {
  public:
    enum class overflow {
        cut,   ///< the rest of the line is left out, and the line says how much
        refuse ///< feed() returns false from then on
    };

    /// `cap` bytes a line, without its break.
    line_splitter(std::size_t cap, overflow policy) : cap_(cap), policy_(policy) {}

    /// Calls `on_line` for each line that `data` completes, until it returns false. False when it did, or when a line
    /// is too long under `refuse`.
    bool feed(std::string_view data, const std::function<bool(std::string&&)>& on_line);

    /// At the end of the stream: a last line without its break, or empty.
    [[nodiscard]] std::string take_rest();

  private:
    bool add(std::string_view part);
    std::string take();

    std::size_t cap_;
    overflow policy_;
    std::string line_;
    std::size_t omitted_ = 0;
};

} // namespace chalk::environment
