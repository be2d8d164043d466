/// What a sandbox shows, and what it does not let anyone inside do. All of it in real namespaces.
#include "runtimes/namespaces/fixture.test.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include <sys/stat.h>

using chalk::test::namespaces_fixture;
using chalk::operator""_MiB;

namespace {

/// Runs `what` as the student (bash, its cgroups joined) from a harness script; its output goes to the host channel.
std::string as_student(const std::string& what) {
    return fmt::format("cat > /tmp/student.sh <<'END_OF_SCRIPT'\n{}\nEND_OF_SCRIPT\n"
                       "chmod 755 /tmp/student.sh\n"
                       "/usr/bin/python3 - <<'END_OF_PYTHON' >&3 2>&3 3>&-\n"
                       "import os, subprocess\n"
                       "def enter():\n"
                       "    for fd in {}:\n"
                       "        os.write(fd, b'0')\n"
                       "    os.setgroups([]); os.setresgid(1000, 1000, 1000); os.setresuid(1000, 1000, 1000)\n"
                       "os.chdir('/workdir')\n"
                       "done = subprocess.run(['/bin/bash', '/tmp/student.sh'], preexec_fn=enter, close_fds=True)\n"
                       "print('student ended', done.returncode)\n"
                       "END_OF_PYTHON\n",
                       what, chalk::test::has_cgroups() ? "(4, 5)" : "()");
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("the data folders have the owners and modes of docs/reference/data-folders.md") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.write("root_data/answer.txt", "42");
    here.write("intermediate_data/raw.txt", "raw");
    here.write("student_data/start.txt", "start");
    here.write("shared_data/table.txt", "table");
    const auto result = here.run(
        "cd / && stat -c '%n %a %U:%G' workdir workdir/data workdir/data/start.txt workdir/shared "
        "workdir/shared/table.txt root_data root_data/answer.txt intermediate_data intermediate_data/raw.txt root "
        "root/environment out chalk >&3 2>&3");
    CHECK(result.said == "workdir 1777 root:root\n"
                         "workdir/data 755 student:student\n"
                         "workdir/data/start.txt 644 student:student\n"
                         "workdir/shared 755 root:root\n"
                         "workdir/shared/table.txt 644 root:root\n"
                         "root_data 700 root:root\n"
                         "root_data/answer.txt 600 root:root\n"
                         "intermediate_data 700 root:root\n"
                         "intermediate_data/raw.txt 600 root:root\n"
                         "root 700 root:root\n"
                         "root/environment 700 root:root\n"
                         "out 700 root:root\n"
                         "chalk 700 root:root\n");
}

TEST_CASE("the harness is told what its sandbox's memory is, and of a student's network where there is one") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.limits.memory = 512_MiB;
    here.limits.student_memory = 256_MiB;
    const auto result = here.run("echo \"$CHALK_SANDBOX_MEMORY_BYTES ${CHALK_STUDENT_NETWORK-no student}\" >&3; true");
    INFO(result.all());
    CHECK(result.said == "536870912 no student\n");
}

TEST_CASE("the student reads its own data and nothing of root's") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.write("root_data/answer.txt", "secret-42");
    here.write("student_data/start.txt", "hello student");
    here.write("shared_data/table.txt", "shared table");
    const auto result = here.run(as_student(
        "cat /workdir/data/start.txt /workdir/shared/table.txt; echo more >> /workdir/data/start.txt && echo "
        "appended; touch /workdir/mine && echo made; rm -rf /workdir/shared; mv /workdir/shared /workdir/x; "
        "for f in /root_data /root_data/answer.txt /intermediate_data /root /root/environment /out /chalk/python; "
        "do ls $f >/dev/null 2>&1 && echo \"READ $f\"; done; cat /root_data/answer.txt; true"));
    INFO(result.all());
    CHECK(contains(result.said, "hello student"));
    CHECK(contains(result.said, "shared table"));
    CHECK(contains(result.said, "appended"));
    CHECK(contains(result.said, "made"));
    CHECK_FALSE(contains(result.said, "READ"));
    CHECK_FALSE(contains(result.said, "secret-42"));
    CHECK(contains(result.said, "student ended 0"));
}

TEST_CASE("what a task masks is not there, whatever name leads to it") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.mask = {"/usr/share/zoneinfo", "/usr/bin/head", "/usr/lib/nothing-of-this-name"};
    const auto result =
        here.run("ls /usr/share/zoneinfo | wc -l >&3; wc -c < /bin/head >&3; touch /usr/share/zoneinfo/x "
                 "2>&1 | grep -c Read-only >&3; umount /usr/share/zoneinfo 2>/dev/null || echo kept >&3");
    CHECK(result.said == "0\n0\n1\nkept\n");
}

TEST_CASE("nothing of the host's own folders shows inside") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    std::ofstream(here.folder / "host-secret") << "host";
    const auto result = here.run(fmt::format(
        "ls -A /home /srv /mnt /media /opt /tmp /run/lock /var/lib /var/log | grep -v : | grep -c . >&3; "
        "ls {0}/host-secret /etc/shadow /etc/ssl/private /sys/kernel /var/lib/dpkg >/dev/null 2>&1 && echo SHOWS >&3; "
        "grep -l {0} /proc/mounts /proc/self/mountinfo /proc/self/cgroup >&3; cat /proc/1/environ 2>/dev/null | grep "
        "-c . >&3; "
        "ls /proc/1/root/ >&3 2>/dev/null; ls -d /proc/[0-9]* | wc -l >&3",
        here.folder.string()));
    INFO(result.all());
    CHECK_FALSE(contains(result.said, "SHOWS"));
    CHECK_FALSE(contains(result.said, here.folder.string()));
    CHECK(result.said.starts_with("0\n"));
}

TEST_CASE("no way out is open to the student or to root inside") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const std::string attempts =
        "mount -t tmpfs none /workdir 2>/dev/null && echo OUT mount\n"
        "unshare -Ur true 2>/dev/null && echo OUT unshare\n"
        "unshare -m true 2>/dev/null && echo OUT unshare-mount\n"
        "nsenter -t 1 -m true 2>/dev/null && echo OUT setns\n"
        "ls /proc/1/root/ >/dev/null 2>&1 && echo OUT proc-root\n"
        "cat /proc/1/mem >/dev/null 2>&1 && echo OUT mem\n"
        "mknod /workdir/disk b 254 0 2>/dev/null && head -c 1 /workdir/disk >/dev/null 2>&1 && echo OUT device\n"
        "chroot / true 2>/dev/null && echo OUT chroot\n"
        "echo 1 > /proc/sys/kernel/sysrq 2>/dev/null && echo OUT sysctl\n"
        "/usr/bin/python3 - <<'END_OF_CALLS'\n"
        "import ctypes, socket\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "for name, number, args in (('ptrace', 101, (16, 1, 0, 0)), ('bpf', 321, (0, 0, 0)), ('keyctl', 250, (0, 0)),\n"
        "                           ('open_by_handle_at', 304, (3, 0, 0)), ('io_uring_setup', 425, (1, 0)),\n"
        "                           ('clone3', 435, (0, 0)), ('mount_setattr', 442, (0, 0, 0, 0, 0))):\n"
        "    if libc.syscall(number, *args) != -1 or ctypes.get_errno() not in (1, 38):\n"
        "        print('OUT', name, ctypes.get_errno())\n"
        "try:\n"
        "    socket.socket(40, socket.SOCK_STREAM)\n"
        "    print('OUT vsock')\n"
        "except OSError:\n"
        "    pass\n"
        "try:\n"
        "    socket.create_connection(('192.0.2.1', 80), 1)\n"
        "    print('OUT network')\n"
        "except OSError as error:\n"
        "    print('network', error.errno)\n"
        "END_OF_CALLS\n"
        "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status\n"
        "echo tried";
    const auto student = here.run(as_student(attempts));
    INFO(student.all());
    CHECK_FALSE(contains(student.said, "OUT"));
    CHECK(contains(student.said, "network 101")); // no route: ENETUNREACH
    CHECK(contains(student.said, "NoNewPrivs:\t1"));
    CHECK(contains(student.said, "Seccomp:\t2"));
    CHECK(contains(student.said, "tried"));
    const auto root = here.run("exec >&3 2>&3\n" + attempts);
    INFO(root.all());
    CHECK_FALSE(contains(root.said, "OUT"));
    CHECK(contains(root.said, "tried"));
}

TEST_CASE("the student sees no process but its own and cannot touch the harness") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const auto result = here.run(
        as_student("for p in /proc/[0-9]*; do stat -c %U $p; done | sort -u; kill -9 1 2 2>/dev/null && echo KILLED; "
                   "cat /proc/1/cmdline 2>/dev/null | tr '\\0' ' '; echo done"));
    INFO(result.all());
    CHECK(contains(result.said, "student\ndone"));
    CHECK_FALSE(contains(result.said, "KILLED"));
    CHECK_FALSE(contains(result.said, "chalk-nest"));
}

TEST_CASE("a fork bomb stays within the student's number of processes") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    CHALK_NEEDS_CGROUPS();
    here.limits.student_processes = 40;
    const auto result = here.run(as_student("for i in $(seq 200); do sleep 30 & done 2>/dev/null; "
                                            "bomb() { bomb | bomb & }; bomb 2>/dev/null; echo end") +
                                 "sleep 0.1; ls -d /proc/[0-9]* | wc -l >&3; echo harness lives >&3");
    INFO(result.all());
    CHECK(contains(result.said, "harness lives"));
    CHECK(result.exit.code == 0);
    const std::size_t line = result.said.find("harness lives");
    const std::size_t before = result.said.rfind('\n', line - 2);
    const int processes = std::stoi(result.said.substr(before == std::string::npos ? 0 : before + 1));
    CHECK(processes >= 30); // the limit was reached ...
    CHECK(processes <= 48); // ... and held: 40, and root's own few
}

TEST_CASE("a student that fills the disk gets an error, and the harness can still write") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.limits.disk = 32_MiB;
    here.limits.student_disk = 16_MiB;
    const auto result = here.run(
        as_student("for d in /workdir /tmp /var/tmp /dev/shm; do head -c 40M /dev/zero > $d/big 2>&1 | head -1; done; "
                   "du -cm /workdir/big /tmp/big /var/tmp/big /dev/shm/big | tail -1; "
                   "for i in $(seq 100000); do : > /tmp/f$i || break; done 2>/dev/null; echo full") +
        "echo 1 > /root/note && echo harness writes >&3; head -c 40M /dev/zero > /var/lib/big 2>/dev/null; "
        "stat -c %s /var/lib/big >&3");
    INFO(result.all());
    CHECK(contains(result.said, "16\ttotal"));
    CHECK(contains(result.said, "full"));
    CHECK(contains(result.said, "harness writes"));
    CHECK(contains(result.said, "\n1677")); // of 16 MiB: 16777216 less what was there before
}

TEST_CASE("a student that eats memory is killed, the harness is not, and the exit says so") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    CHALK_NEEDS_CGROUPS();
    here.limits.memory = 256_MiB;
    here.limits.student_memory = 64_MiB;
    const auto result =
        here.run(as_student("exec /usr/bin/python3 -c \"b = bytearray(200 << 20)\"") + "echo lives >&3");
    INFO(result.all());
    CHECK(contains(result.said, "student ended -9"));
    CHECK(contains(result.said, "lives"));
    CHECK(result.exit.code == 0);
    CHECK(result.exit.memory_exhausted);
}

TEST_CASE("what the harness writes to /out is the host's own afterwards") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    std::filesystem::permissions(here.folder / "out", std::filesystem::perms(0755));
    const auto result = here.run("mkdir /out/artifacts && echo a > /out/artifacts/a.txt; stat -c '%a %U' /out >&3");
    CHECK(result.said == "700 root\n");
    struct stat file {};
    REQUIRE(::stat((here.folder / "out/artifacts/a.txt").c_str(), &file) == 0);
    CHECK(file.st_uid == ::geteuid());
    struct stat out {};
    REQUIRE(::stat((here.folder / "out").c_str(), &out) == 0);
    CHECK((out.st_mode & 07777) == 0755);
}

TEST_CASE("the model socket's folder is shown to root inside, and the student cannot reach it") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    // As the gateway lays it out: the parent is the user's alone, what is below is for whoever gets there.
    const auto folder = here.folder / "sockets/1";
    std::filesystem::create_directories(folder);
    REQUIRE(::chmod((here.folder / "sockets").c_str(), 0700) == 0);
    REQUIRE(::chmod(folder.c_str(), 0711) == 0);
    const auto path = folder / "model.sock";
    boost::asio::io_context io;
    boost::asio::local::stream_protocol::acceptor acceptor(io, path.string());
    REQUIRE(::chmod(path.c_str(), 0666) == 0);
    here.gateway_folder = folder;
    const std::string connect = "import socket\n"
                                "try:\n"
                                "    socket.socket(socket.AF_UNIX).connect('/run/chalk/gateway/model.sock')\n"
                                "    print(WHO, 'connected')\n"
                                "except OSError as why:\n"
                                "    print(WHO, why.errno)\n";
    const auto result =
        here.run("/usr/bin/python3 - >&3 2>&3 <<'END_OF_ROOT'\nWHO = 'root'\n" + connect +
                 "END_OF_ROOT\n"
                 "touch /run/chalk/gateway/x 2>/dev/null && echo written >&3\n"
                 "stat -c '%n %a %U' /run/chalk >&3\n" +
                 as_student("python3 - <<'END_OF_STUDENT'\nWHO = 'student'\n" + connect + "END_OF_STUDENT"));
    INFO(result.all());
    CHECK(contains(result.said, "root connected"));
    CHECK(contains(result.said, "student 13")); // EACCES
    CHECK(contains(result.said, "/run/chalk 700 root"));
    CHECK_FALSE(contains(result.said, "written"));
}
