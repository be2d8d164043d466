#include "runtimes/image/rootfs.hpp"

#include "runtimes/namespaces/fixture.test.hpp"

#include <cstdlib>

using namespace chalk;
using chalk::test::namespaces_fixture;
namespace fs = std::filesystem;

TEST_CASE("an entry takes the place of those with its name or its number") {
    CHECK(image::with_entry("root:x:0:\nubuntu:x:1000:\n", "student:x:1000:") == "root:x:0:\nstudent:x:1000:\n");
    CHECK(image::with_entry("student:x:7:\nroot:x:0:", "student:x:1000:") == "root:x:0:\nstudent:x:1000:\n");
    CHECK(image::with_entry("", "student:x:1000:") == "student:x:1000:\n");
}

TEST_CASE("a sandbox stands on a root file system of its own, from a folder or a tar file") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const fs::path busybox = "/bin/busybox";
    if (!fs::exists(busybox)) {
        CHALK_SKIP("no static busybox here: apt-get install busybox-static");
    }
    const fs::path root = here.folder / "rootfs";
    fs::create_directories(root / "bin");
    fs::create_directories(root / "etc");
    fs::copy_file(busybox, root / "bin/busybox");
    fs::create_symlink("busybox", root / "bin/sh");
    std::ofstream(root / "etc/passwd")
        << "root:x:0:0:own root:/root:/bin/sh\nubuntu:x:1000:1000::/home/ubuntu:/bin/sh\n";
    std::ofstream(root / "etc/marker") << "of the image\n";
    REQUIRE(std::system(
                ("tar -C " + root.string() + " -czf " + (here.folder / "rootfs.tar.gz").string() + " .").c_str()) == 0);
    for (const fs::path& source : {root, here.folder / "rootfs.tar.gz"}) {
        CAPTURE(source);
        here.made = make_namespaces_runtime(
            here.io.context(), here.options("/bin/busybox cat /etc/marker /etc/passwd >&3; /bin/busybox ls /usr >&3; "
                                            "echo ok > /workdir/x && /bin/busybox id -u >&3; exit 5"));
        sandbox_request request = here.request();
        request.rootfs = source;
        auto started = here.made->start(request);
        INFO((started ? std::string() : started.error().message));
        REQUIRE(started);
        const unique_fd channel = (*started)->take_host_channel();
        std::string said;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::read(channel.get(), buffer, sizeof buffer)) > 0;) {
            said.append(buffer, static_cast<std::size_t>(got));
        }
        const sandbox_exit end = here.wait(**started);
        INFO(end.last_words);
        CHECK(said == "of the image\nroot:x:0:0:own root:/root:/bin/sh\nstudent:x:1000:1000:student:/workdir:/bin/sh\n"
                      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n0\n");
        CHECK(end.code == 5);
    }
}

TEST_CASE("a root file system that is not there or is no archive is refused with its path") {
    namespaces_fixture here;
    const image::cache cache(here.folder / "cache");
    const auto absent = image::get_rootfs(cache, here.folder / "absent.tar", {});
    REQUIRE_FALSE(absent);
    CHECK(absent.error().kind == error_class::image);
    CHECK(absent.error().message.find("absent.tar") != std::string::npos);
    std::ofstream(here.folder / "text.tar") << "this is no archive, however long one looks at it";
    image::tree_owners ours; // as whoever runs this test
    ours.hand_over = [](const fs::path&, const std::vector<fs::path>&) { return result<void>{}; };
    const auto wrong = image::get_rootfs(cache, here.folder / "text.tar", ours);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find("text.tar") != std::string::npos);
}
