#include "runtimes/namespaces/nest/privileges.hpp"

#include <cerrno>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace chalk::nest {

namespace {

/// What the harness needs to hand files to the student, become it and stop it, and no more: nothing here reaches beyond
/// the sandbox's own user namespace anyway. SETPCAP lets it drop the rest for the student.
constexpr int kept_capabilities[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID,
                                     CAP_SETUID, CAP_SETGID,       CAP_KILL,   CAP_SETPCAP};

bool keep_only_needed_capabilities() {
    __user_cap_data_struct sets[2]{};
    for (const int capability : kept_capabilities) {
        sets[capability / 32].permitted |= 1U << (capability % 32);
    }
    sets[0].effective = sets[0].permitted;
    sets[1].effective = sets[1].permitted;
    for (int capability = 0; capability < 64; ++capability) {
        const bool kept = (sets[capability / 32].permitted >> (capability % 32) & 1U) != 0;
        if (!kept && ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
            if (errno != EINVAL) {
                return false;
            }
            break; // past the last one that this kernel knows
        }
    }
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    return ::syscall(SYS_capset, &header, sets) == 0;
}

/// The program is in a file that all sandboxes of an owner share: read by position, never through the shared offset.
bool load_seccomp_program(int seccomp) {
    struct stat found {};
    if (::fstat(seccomp, &found) != 0 || found.st_size <= 0) {
        return false;
    }
    static sock_filter program[4096];
    const auto size = static_cast<std::size_t>(found.st_size);
    if (size > sizeof program || ::pread(seccomp, program, size, 0) != found.st_size) {
        return false;
    }
    const sock_fprog filter{static_cast<unsigned short>(size / sizeof(sock_filter)), program};
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

} // namespace

std::string_view give_up_privileges(int seccomp) {
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || !load_seccomp_program(seccomp)) {
        return "load the seccomp program";
    }
    if (!keep_only_needed_capabilities()) {
        return "drop capabilities";
    }
    return {};
}

} // namespace chalk::nest
