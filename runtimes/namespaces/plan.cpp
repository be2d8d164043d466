#include "runtimes/namespaces/plan.hpp"

#include "protocol/core/sandbox_layout.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::namespaces {

namespace {

using kind = step::kind;

/// An inode costs the kernel about a KiB that no size limit counts: one for every 8 KiB, within reason.
std::string tmpfs_options(bytes size, unsigned mode) {
    constexpr std::uint64_t bytes_per_inode = 8 * 1024;
    const std::uint64_t inodes =
        std::clamp<std::uint64_t>(size.count / bytes_per_inode, std::uint64_t{4096}, std::uint64_t{1} << 20);
    return fmt::format("size={},nr_inodes={},mode={:04o}", size.count, inodes, mode);
}

class planner {
  public:
    explicit planner(const plan_request& request) : request_(request) {}

    plan make() {
        scratch();
        root();
        system();
        workdir();
        devices();
        add(kind::proc, "r/proc", "hidepid=2,gid=0"); // root sees all processes, the student its own
        show_folder(request_.from.bundle, "r/chalk", tree::read_only | tree::nodev | tree::nosuid | owners());
        if (!request_.from.out.empty()) {
            show_folder(request_.from.out, "r/out", tree::nodev | tree::nosuid | tree::noexec | owners());
        }
        for (const read_only_mount& mount : request_.mounts) {
            show_mount(mount);
        }
        gateway();
        for (const std::filesystem::path& path : request_.mask) {
            add(kind::mask, path.relative_path().string(), "r");
        }
        add(kind::enter, "r");
        return std::move(plan_);
    }

  private:
    /// Scratch folders, by name: s the student's tmpfs, u and w upper and work folders, l* lower ones, r the root to
    /// be.
    void scratch() {
        const sandbox_limits& limits = request_.limits;
        add(kind::scratch, "", tmpfs_options(limits.disk - limits.student_disk, 0755));
        folder("r", 0755);
        folder("s", 0755);
        if (request_.from.kept) {
            const std::uint32_t flags = tree::nodev | tree::nosuid | owners();
            show_folder(*request_.from.kept / "student", "s", flags);
            folder("k", 0755);
            show_folder(*request_.from.kept / "root", "k", flags);
            upper_ = "k/changes";
            work_ = "k/work";
        } else {
            add(kind::tmpfs, "s", tmpfs_options(limits.student_disk, 0755));
        }
        for (const std::string& name : {upper_, work_, std::string("le"), std::string("lb"), std::string("lw")}) {
            folder(name, 0755);
        }
        for (const char* name : {"s/workdir", "s/tmp", "s/var_tmp", "s/shm"}) {
            folder(name, 01777);
        }
        folder("s/work", 0755);
    }

    void root() {
        const std::uint32_t lower = tree::read_only | tree::nodev | tree::nosuid | owners();
        show_folder(request_.from.environment_root, "le", lower);
        show_folder(request_.from.base, "lb", lower);
        overlay("r", "le:lb", upper_, work_);
    }

    void system() {
        if (request_.from.base_is_whole) {
            return;
        }
        const std::uint32_t flags =
            tree::read_only | tree::nodev | tree::nosuid | tree::recursive | tree::idmap_if_able;
        show_folder("/usr", "r/usr", flags);
        for (const std::string& name : request_.from.system_folders) {
            show_folder("/" + name, "r/" + name, flags);
        }
    }

    void workdir() {
        show_folder(request_.from.environment_workdir, "lw", tree::read_only | tree::nodev | tree::nosuid | owners());
        overlay("r" + sandbox_layout::workdir.string(), "lw", "s/workdir", "s/work");
        add(kind::bind, "r/tmp", "s/tmp");
        add(kind::bind, "r/var/tmp", "s/var_tmp");
    }

    /// Whose the socket is on the host means nothing inside; that only root reaches it is the folder above's doing.
    /// Read-only: a connection needs no more.
    void gateway() {
        if (request_.from.gateway.empty()) {
            return;
        }
        folder("r" + sandbox_layout::private_run.string(), 0700);
        folder("r" + sandbox_layout::gateway.string(), 0700);
        show_folder(request_.from.gateway, "r" + sandbox_layout::gateway.string(),
                    tree::read_only | tree::nodev | tree::nosuid | tree::noexec);
    }

    void devices() {
        if (request_.privileged) {
            // One /dev for all sandboxes of this chalk: it is read-only.
            show(tree{"", tree::devices | tree::read_only | tree::nosuid | tree::noexec}, "r/dev");
        } else {
            add(kind::tmpfs, "r/dev", "size=64k,mode=0755");
            for (const char* name : {"null", "zero", "full", "random", "urandom", "tty"}) {
                add(kind::file, fmt::format("r/dev/{}", name), "", 0666);
                add(kind::bind_host, fmt::format("r/dev/{}", name), fmt::format("/dev/{}", name));
            }
            for (const auto& [name, target] : {std::pair("fd", "/proc/self/fd"), std::pair("stdin", "/proc/self/fd/0"),
                                               std::pair("stdout", "/proc/self/fd/1"),
                                               std::pair("stderr", "/proc/self/fd/2"), std::pair("ptmx", "pts/ptmx")}) {
                add(kind::symlink, fmt::format("r/dev/{}", name), target);
            }
            folder("r/dev/shm", 0755);
            folder("r/dev/pts", 0755);
            add(kind::read_only, "r/dev");
        }
        add(kind::devpts, "r/dev/pts", "newinstance,ptmxmode=0666,mode=0620,gid=5");
        add(kind::bind, "r/dev/shm", "s/shm");
    }

    void show_mount(const read_only_mount& mount) {
        std::string at = "r";
        for (const auto& part : mount.target.relative_path()) {
            at += "/" + part.string();
            add(kind::directory, at, step::keep_mode, 0755);
        }
        show_folder(mount.source, std::move(at),
                    tree::read_only | tree::nodev | tree::nosuid | tree::recursive | tree::idmap_if_able);
    }

    [[nodiscard]] std::uint32_t owners() const { return request_.idmapped ? tree::idmap : 0U; }

    void overlay(std::string at, const std::string& lower, const std::string& upper, const std::string& work) {
        // Relative paths, so that what is mounted inside tells nothing of the host. volatile: nothing survives anyway.
        add(kind::overlay, std::move(at),
            fmt::format("lowerdir={},upperdir={},workdir={},userxattr,volatile", lower, upper, work));
    }

    void folder(std::string path, std::uint32_t mode) { add(kind::directory, std::move(path), "", mode); }

    void show_folder(const std::filesystem::path& source, std::string at, std::uint32_t flags) {
        show(tree{source.string(), flags}, std::move(at));
    }

    void show(tree what, std::string at) {
        add(kind::attach, std::move(at), "", static_cast<std::uint32_t>(plan_.trees.size()));
        plan_.trees.push_back(std::move(what));
    }

    void add(kind what, std::string path, std::string options = "", std::uint32_t number = 0) {
        plan_.steps.push_back({what, std::move(path), std::move(options), number, 0});
    }

    const plan_request& request_;
    plan plan_;
    std::string upper_ = "u";
    std::string work_ = "w";
};

} // namespace

plan make_plan(const plan_request& request) {
    return planner(request).make();
}

} // namespace chalk::namespaces
