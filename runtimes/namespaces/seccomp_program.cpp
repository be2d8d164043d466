#include "runtimes/namespaces/seccomp_program.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

namespace chalk::namespaces {

namespace {

constexpr const char* denied[] = {
    // out of the namespaces, or new ones
    "mount", "umount2", "pivot_root", "chroot", "setns", "unshare", "move_mount", "open_tree", "open_tree_attr",
    "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "open_by_handle_at", "name_to_handle_at",
    // into other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    // the host's kernel
    "bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "keyctl",
    "add_key", "request_key", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot",
    "swapon", "swapoff", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "stime", "acct", "quotactl",
    "quotactl_fd", "syslog", "lookup_dcookie", "nfsservctl", "vhangup", "iopl", "ioperm", "fanotify_init"};

/// Families that a network namespace does not separate, or that are of no use but to an attacker.
constexpr int denied_families[] = {AF_VSOCK, AF_ALG, AF_RDS, AF_TIPC, AF_CAN, AF_BLUETOOTH, AF_NFC, AF_KCM, AF_XDP};

constexpr unsigned long new_namespaces[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWNET,
                                            CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP};

using filter = std::unique_ptr<void, decltype(&seccomp_release)>;

/// 0, or the first negative error number.
int add_rules(scmp_filter_ctx context) {
    const auto deny = SCMP_ACT_ERRNO(EPERM);
    for (const char* name : denied) {
        const int number = ::seccomp_syscall_resolve_name(name);
        if (number == __NR_SCMP_ERROR) {
            continue; // a call that this libseccomp has no number for
        }
        if (const int rc = ::seccomp_rule_add(context, deny, number, 0); rc < 0 && rc != -EDOM) {
            return rc;
        }
    }
    // glibc and others fall back to clone, whose flags a filter can see.
    if (const int rc = ::seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0); rc < 0) {
        return rc;
    }
    for (const unsigned long flag : new_namespaces) {
        if (const int rc =
                ::seccomp_rule_add(context, deny, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
            rc < 0) {
            return rc;
        }
    }
    for (const int family : denied_families) {
        if (const int rc = ::seccomp_rule_add(context, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                              SCMP_A0_32(SCMP_CMP_EQ, static_cast<unsigned>(family)));
            rc < 0) {
            return rc;
        }
    }
    // Typing into a terminal that a more powerful process holds.
    for (const unsigned long request : {TIOCSTI, TIOCLINUX}) {
        if (const int rc = ::seccomp_rule_add(context, deny, SCMP_SYS(ioctl), 1,
                                              SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffUL, request));
            rc < 0) {
            return rc;
        }
    }
    return 0;
}

} // namespace

result<unique_fd> make_seccomp_program() {
    const filter made(::seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
    if (!made) {
        return sandbox_failure("libseccomp gives no filter");
    }
    // Programs of a foreign architecture (32 bit) get "no such system call" instead of a silent kill. The tree keeps
    // the filter's cost on hot calls low; old versions of libseccomp do not have it.
    (void)::seccomp_attr_set(made.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS));
    (void)::seccomp_attr_set(made.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (const int rc = add_rules(made.get()); rc < 0) {
        return sandbox_failure(fmt::format("libseccomp refuses a rule: {}", std::strerror(-rc)));
    }
    unique_fd file(::memfd_create("chalk-seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!file) {
        return sandbox_failure(fmt::format("memfd_create: {}", std::strerror(errno)));
    }
    if (const int rc = ::seccomp_export_bpf(made.get(), file.get()); rc < 0) {
        return sandbox_failure(fmt::format("cannot export the system call filter: {}", std::strerror(-rc)));
    }
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        return sandbox_failure(fmt::format("cannot seal the system call filter: {}", std::strerror(errno)));
    }
    return file;
}

} // namespace chalk::namespaces
