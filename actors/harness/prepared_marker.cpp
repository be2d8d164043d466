#include "actors/harness/prepared_marker.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace chalk::actors {

result<prepared_marker> prepared_marker::make(const run_id& id) {
    std::filesystem::path path = fmt::format("/tmp/chalk_prepared_{}", id.str());
    ::unlink(path.c_str());
    const unique_fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (!file) {
        return harness_failure(fmt::format("{}: {}", path.string(), std::generic_category().message(errno)));
    }
    return prepared_marker(std::move(path));
}

prepared_marker::prepared_marker(prepared_marker&& other) noexcept : path_(std::exchange(other.path_, {})) {}

prepared_marker& prepared_marker::operator=(prepared_marker&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
}

prepared_marker::~prepared_marker() {
    if (!path_.empty()) {
        ::unlink(path_.c_str());
    }
}

} // namespace chalk::actors
