#include "runtimes/namespaces/cgroup_files.hpp"

#include "protocol/core/unique_fd.hpp"
#include "runtimes/cannot.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

int write_group_file(const fs::path& file, std::string_view value) {
    const unique_fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size()) ? 0 : errno;
}

bool has_word(std::string_view text, std::string_view word) {
    std::istringstream words{std::string(text)};
    return std::find(std::istream_iterator<std::string>(words), {}, word) != std::istream_iterator<std::string>();
}

result<void> make_group(const fs::path& group) {
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) {
        return cannot("make the cgroup", group, errno);
    }
    return {};
}

result<void> enable_controllers(const fs::path& group, const cgroup_hierarchy& which) {
    std::string wanted = which.memory ? "+memory" : "";
    wanted += which.pids ? (wanted.empty() ? "+pids" : " +pids") : "";
    // One that is on already is no error.
    if (const int error = write_group_file(group / "cgroup.subtree_control", wanted); error != 0) {
        return cannot("pass controllers on in", group, error);
    }
    return {};
}

} // namespace chalk::namespaces
