/// Where a long text goes piece by piece: standard output, or a file that appears complete or not at all.
#pragma once

#include "protocol/core/result.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace chalk::cli {

class text_output {
  public:
    /// Empty: standard output. error_class::config: the file cannot be made.
    [[nodiscard]] static result<text_output> open(const std::filesystem::path& file);

    text_output(text_output&&) noexcept = default;
    text_output& operator=(text_output&&) noexcept = default;
    ~text_output();

    void write(std::string_view text);

    /// Everything is written. error_class::harness: something was not, and the file is as it was before. A reader of
    /// standard output that has gone away is no failure.
    [[nodiscard]] result<void> finish();

  private:
    struct close_file {
        void operator()(std::FILE* f) const noexcept { std::fclose(f); }
    };
    text_output() = default;
    void flush();

    std::filesystem::path file_; ///< empty: standard output
    std::filesystem::path partial_;
    std::unique_ptr<std::FILE, close_file> own_;
    std::string waiting_;
    int error_ = 0;
};

} // namespace chalk::cli
