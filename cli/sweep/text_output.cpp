#include "cli/sweep/text_output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace chalk::cli {

namespace {

constexpr std::size_t flush_at = 64 * 1024;

std::string reason(int error) {
    return std::generic_category().message(error);
}

} // namespace

result<text_output> text_output::open(const std::filesystem::path& file) {
    text_output out;
    if (!file.empty()) {
        out.file_ = file;
        out.partial_ = file.string() + ".partial";
        out.own_.reset(std::fopen(out.partial_.c_str(), "we"));
        if (!out.own_) {
            const int error = errno;
            const auto name = out.partial_.string();
            out.partial_.clear(); // not ours to remove
            return config_failure(fmt::format("cannot write {}: {}", name, reason(error)));
        }
    }
    return out;
}

text_output::~text_output() {
    if (own_ && !partial_.empty()) {
        own_.reset();
        std::error_code ignored; // finish() was not reached, which has been reported
        std::filesystem::remove(partial_, ignored);
    }
}

void text_output::write(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= flush_at) {
        flush();
    }
}

void text_output::flush() {
    auto* to = own_ ? own_.get() : stdout;
    if (error_ == 0 &&
        (std::fwrite(waiting_.data(), 1, waiting_.size(), to) != waiting_.size() || std::fflush(to) != 0)) {
        error_ = errno;
    }
    waiting_.clear();
}

result<void> text_output::finish() {
    flush();
    if (!own_) {
        return error_ == 0 || error_ == EPIPE ? result<void>()
                                              : harness_failure("cannot write to standard output: " + reason(error_));
    }
    own_.reset();
    std::error_code failed(error_, std::generic_category());
    if (!failed) {
        std::filesystem::rename(partial_, file_, failed);
    }
    if (failed) {
        std::error_code ignored; // the failure that counts is the first one
        std::filesystem::remove(partial_, ignored);
        return harness_failure(fmt::format("cannot write {}: {}", file_.string(), failed.message()));
    }
    return {};
}

} // namespace chalk::cli
