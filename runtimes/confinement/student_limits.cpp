#include "runtimes/confinement/student_limits.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace chalk::confinement {

std::vector<process::resource_limit> make_student_limits(const std::function<std::uint64_t(int resource)>& ceiling) {
    const std::pair<int, std::uint64_t> wanted[] = {
        {RLIMIT_NOFILE, student_open_files},
        {RLIMIT_CPU, static_cast<std::uint64_t>(student_cpu_time.count())},
        {RLIMIT_FSIZE, student_file_size.count},
        {RLIMIT_CORE, 0},
    };
    std::vector<process::resource_limit> limits;
    for (const auto& [resource, value] : wanted) {
        limits.push_back({resource, std::min(value, ceiling(resource))});
    }
    return limits;
}

bytes student_memory(bytes sandbox) {
    return sandbox >= 2_GiB ? sandbox - 1_GiB : bytes{sandbox.count / 2};
}

std::vector<process::resource_limit> default_student_limits() {
    return make_student_limits([](int resource) -> std::uint64_t {
        rlimit now{};
        // The name's type differs between C and C++ in glibc.
        return ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now) == 0 ? now.rlim_max : RLIM_INFINITY;
    });
}

} // namespace chalk::confinement
