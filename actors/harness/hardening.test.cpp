#include "actors/harness/hardening.hpp"

#include "tests/support/catch.hpp"

#include <filesystem>

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk::actors;
namespace fs = std::filesystem;

TEST_CASE("entries that the student could write to leave a search path, the others keep their order", "[hardening]") {
    const auto writable = [](const std::string& entry) { return entry.starts_with("/open"); };
    CHECK(without_writable("/usr/bin:/open/bin:/bin", ":", writable) == "/usr/bin:/bin");
    CHECK(without_writable("/open/a", ":", writable).empty());
    CHECK(without_writable("", ":", writable).empty());
    CHECK(without_writable("/a:;/b", ":;", writable) == "/a:/b");
    CHECK(without_writable("/lib/a.so /open/b.so", ": ", writable) == "/lib/a.so");
}

TEST_CASE("a folder is the student's when he owns it, when anyone may write there, or when it is not there",
          "[hardening]") {
    auto name = (fs::temp_directory_path() / "chalk-hardening-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const auto me = ::getuid();
    CHECK(student_could_write(name, me));
    CHECK_FALSE(student_could_write(name, me + 1));
    REQUIRE(::chmod(name.c_str(), 01777) == 0);
    CHECK(student_could_write(name, me + 1));
    REQUIRE(::chmod(name.c_str(), 0720) == 0);
    CHECK(student_could_write(name, me + 1));
    fs::remove_all(name);
    CHECK(student_could_write(name, me + 1));
    CHECK(student_could_write("relative", me + 1));
    CHECK(student_could_write("", me + 1));
}

TEST_CASE("only a change of what the loader reads asks for a new start", "[hardening]") {
    const std::string path = ::getenv("PATH");
    const auto student = ::getuid() + 1;
    ::setenv("PATH", "/nowhere/at/all:/usr/bin", 1);
    CHECK_FALSE(clean_search_paths(student));
    CHECK(std::string(::getenv("PATH")) == "/usr/bin");
    ::setenv("LD_PRELOAD", "/nowhere/at/all/x.so", 1);
    CHECK(clean_search_paths(student));
    CHECK(::getenv("LD_PRELOAD") == nullptr);
    CHECK_FALSE(clean_search_paths(student));
    ::setenv("PATH", path.c_str(), 1);
}

namespace {

/// In a mount namespace and a root of its own, so that no mount point of the machine is touched: 0, or the number of
/// the first thing that is not as it should be.
int close_in_a_root_of_its_own(const std::string& root) {
    const auto mount_at = [](const char* where, unsigned long flags, const char* options) {
        return ::mkdir(where, 0755) == 0 && ::mount("test", where, "tmpfs", flags, options) == 0;
    };
    const auto mode_of = [](const char* where) {
        struct stat about {};
        return ::stat(where, &about) == 0 ? about.st_mode & 07777U : 0U;
    };
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("test", root.c_str(), "tmpfs", 0, "mode=0755") != 0 || ::chroot(root.c_str()) != 0 ||
        ::chdir("/") != 0 || ::mkdir("/proc", 0555) != 0 || ::mount("proc", "/proc", "proc", 0, nullptr) != 0) {
        return 1;
    }
    if (!mount_at("/open", 0, "mode=0777") || !mount_at("/group", 0, "mode=0775") ||
        !mount_at("/with blank", 0, "mode=0777") || !mount_at("/sticky", 0, "mode=1777") ||
        !mount_at("/fixed", MS_RDONLY, "mode=0777") || ::mkdir("/folder", 0777) != 0 || ::chmod("/folder", 0777) != 0) {
        return 2;
    }
    if (!close_mount_points()) {
        return 3;
    }
    return mode_of("/open") != 0755         ? 4
           : mode_of("/group") != 0755      ? 5
           : mode_of("/with blank") != 0755 ? 6
           : mode_of("/sticky") != 01777    ? 7
           : mode_of("/fixed") != 0777      ? 8
           : mode_of("/folder") != 0777     ? 9 // no mount point: the task's own business
                                            : 0;
}

} // namespace

TEST_CASE("mount points that a runtime left writable are closed, sticky ones and folders stay as they are",
          "[hardening]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it mounts");
    }
    auto name = (fs::temp_directory_path() / "chalk-hardening-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::_exit(close_in_a_root_of_its_own(name));
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    fs::remove_all(name);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
}
