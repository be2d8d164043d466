#include "runtimes/confinement/builtin_tools.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>

using namespace chalk;
using confinement::builtin_tools;
namespace fs = std::filesystem;

namespace {

constexpr uid_t student = 61234; // nobody else's on this machine

/// A working directory of the student's, and the tools in it.
class bench {
  public:
    bench() {
        char name[] = "/var/tmp/chalk_tools_test_XXXXXX";
        folder = ::mkdtemp(name);
        ::chmod(folder.c_str(), 0777);
        // As in a bundle: in a folder that only root may enter.
        fs::create_directory(folder / "bundle");
        fs::copy_file(CHALK_FILE_TOOL, folder / "bundle/file_tool");
        ::chmod((folder / "bundle").c_str(), 0700);
        confinement::student_settings settings;
        if (::geteuid() == 0) {
            settings.become = process::identity{student, student};
        }
        settings.home = settings.working_directory = folder.string();
        settings.environment = {"PATH=/usr/bin:/bin"};
        settings.file_tool = (folder / "bundle/file_tool").string();
        tools = open_tools(settings);
    }
    bench(const bench&) = delete;
    bench& operator=(const bench&) = delete;
    ~bench() {
        tools.reset();
        std::error_code ignored;
        fs::remove_all(folder, ignored);
    }

    std::shared_ptr<builtin_tools> open_tools(const confinement::student_settings& settings) {
        return builtin_tools::make(confinement::student_commands::make(io.context(), settings)).value();
    }

    mcp::tool_output call(std::string_view name, const json& arguments) {
        auto promise = std::make_shared<std::promise<result<mcp::tool_output>>>();
        auto future = promise->get_future();
        tools->run(name, arguments, [promise](auto outcome) { promise->set_value(std::move(outcome)); });
        REQUIRE(future.wait_for(seconds(40)) == std::future_status::ready);
        auto outcome = future.get();
        if (!outcome) {
            FAIL(outcome.error().message);
        }
        return *outcome;
    }

    /// The text of a call that must succeed.
    std::string good(std::string_view name, const json& arguments) {
        const auto out = call(name, arguments);
        INFO(out.as_text());
        CHECK_FALSE(out.is_error);
        return out.as_text();
    }
    /// The complaint of a call that must not.
    std::string bad(std::string_view name, const json& arguments) {
        const auto out = call(name, arguments);
        INFO(out.as_text());
        CHECK(out.is_error);
        return out.as_text();
    }

    void put(const std::string& name, const std::string& content, mode_t mode = 0666) const {
        std::ofstream(folder / name, std::ios::binary) << content;
        ::chmod((folder / name).c_str(), mode);
    }
    [[nodiscard]] std::string get(const std::string& name) const {
        std::ifstream in(folder / name, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    fs::path folder;
    io_thread io;
    std::shared_ptr<builtin_tools> tools;
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("bash gives what a command prints and how it ended") {
    bench b;
    CHECK(b.good("bash", {{"command", "echo hello"}}) == "hello\n");
    CHECK(b.good("bash", {{"command", "true"}}) == "[no output]");
    CHECK(b.good("bash", {{"command", "printf x; exit 3"}}) == "x\n[exit code 3]");
    CHECK(b.good("bash", {{"command", "pwd"}}) == b.folder.string() + "\n");
    CHECK(b.bad("bash", {{"command", "kill -9 $$"}}) == "[killed by signal 9 (SIGKILL)]");
    CHECK(b.bad("bash", {{"command", "echo a; sleep 1000"}, {"timeout_s", 1}}) ==
          "a\n[stopped after 1 s, with everything it started]");
    const auto long_output = b.call("bash", {{"command", "seq 1 100000"}});
    CHECK(long_output.truncated);
    CHECK(contains(long_output.as_text(), "bytes left out"));
}

TEST_CASE("a command that the kernel would refuse is the model's mistake, not the sandbox's") {
    bench b;
    CHECK(contains(b.bad("bash", {{"command", std::string(200'000, 'x')}}), "too long"));
    CHECK(contains(b.bad("bash", {{"command", std::string("a\0b", 3)}}), "NUL"));
    CHECK(contains(b.bad("read_file", {{"path", std::string("a\0b", 3)}}), "NUL"));
    CHECK(contains(b.bad("read_file", {{"path", std::string(5'000, 'x')}}), "name too long"));
    CHECK(b.good("bash", {{"command", ": " + std::string(131'000, 'x')}}) == "[no output]");
}

TEST_CASE("read_file reads lines and says where to go on") {
    bench b;
    b.put("f", "one\ntwo\nthree");
    CHECK(b.good("read_file", {{"path", "f"}}) == "one\ntwo\nthree");
    CHECK(b.good("read_file", {{"path", "f"}, {"limit", 2}}) ==
          "one\ntwo\n[the file goes on: continue with offset 3]\n");
    CHECK(b.good("read_file", {{"path", "f"}, {"offset", 2}, {"limit", 2}}) == "two\nthree");
    CHECK(b.good("read_file", {{"path", "f"}, {"offset", 3}}) == "three");
    CHECK(contains(b.bad("read_file", {{"path", "f"}, {"offset", 4}}), "has only 3 lines"));
    b.put("ends", "one\ntwo\n");
    CHECK(b.good("read_file", {{"path", "ends"}, {"limit", 2}}) == "one\ntwo\n");
    CHECK(contains(b.bad("read_file", {{"path", "ends"}, {"offset", 3}}), "has only 2 lines"));
    b.put("empty", "");
    CHECK(b.good("read_file", {{"path", "empty"}}) == "[empty file]");

    std::string many;
    for (int i = 1; i <= 50'000; ++i) {
        many += fmt::format("line {}\n", i);
    }
    b.put("many", many);
    CHECK(b.good("read_file", {{"path", "many"}, {"offset", 49'999}}) == "line 49999\nline 50000\n");
    CHECK(
        contains(b.good("read_file", {{"path", "many"}}), "line 2000\n[the file goes on: continue with offset 2001]"));
    const auto cut = b.good("read_file", {{"path", "many"}, {"limit", 100'000}});
    CHECK(contains(cut, "[cut inside line "));
    CHECK(cut.size() < 263'000);
}

TEST_CASE("read_file refuses what is not a text file of the student's") {
    bench b;
    CHECK(b.bad("read_file", {{"path", "missing"}}) == "missing: No such file or directory\n");
    CHECK(contains(b.bad("read_file", {{"path", "."}}), "is a directory"));
    b.put("binary", std::string("a\0b", 3));
    CHECK(contains(b.bad("read_file", {{"path", "binary"}}), "binary"));
    REQUIRE(::mkfifo((b.folder / "fifo").c_str(), 0666) == 0);
    CHECK(contains(b.bad("read_file", {{"path", "fifo"}}), "not a regular file"));
    CHECK(contains(b.bad("write_file", {{"path", "fifo"}, {"content", "x"}}), "not a regular file"));
    CHECK(contains(b.bad("read_file", {{"path", "/dev/zero"}}), "not a regular file"));
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: whether the tools run as somebody else");
    }
    b.put("secret", "x", 0600);
    CHECK(contains(b.bad("read_file", {{"path", "secret"}}), "Permission denied"));
    CHECK(contains(b.bad("write_file", {{"path", "secret"}, {"content", "y"}}), "Permission denied"));
    CHECK(b.get("secret") == "x");
    CHECK(contains(b.bad("read_file", {{"path", "bundle/file_tool"}}), "Permission denied"));
    // /proc/self is the file tool's own, not the harness's.
    CHECK(contains(b.bad("read_file", {{"path", fmt::format("/proc/{}/environ", ::getpid())}}), "Permission denied"));
}

TEST_CASE("write_file makes, replaces and keeps modes, links and owners") {
    bench b;
    CHECK(b.good("write_file", {{"path", "a/b/c.txt"}, {"content", "new"}}) == "wrote 3 bytes to a/b/c.txt\n");
    CHECK(b.get("a/b/c.txt") == "new");
    b.good("bash",
           {{"command", "echo '#!/bin/sh' > run; chmod 750 run; ln -s run link; echo x > twin1; ln twin1 twin2"}});
    b.good("write_file", {{"path", "link"}, {"content", "other"}});
    CHECK(b.get("run") == "other");
    CHECK(fs::is_symlink(b.folder / "link"));
    struct stat info {};
    REQUIRE(::stat((b.folder / "run").c_str(), &info) == 0);
    CHECK((info.st_mode & 07777U) == 0750U);
    b.good("write_file", {{"path", "twin1"}, {"content", "both"}});
    CHECK(b.get("twin2") == "both");
    b.put("roots", "a longer text"); // of this user, and writable for all
    b.good("write_file", {{"path", "roots"}, {"content", "short"}});
    CHECK(b.get("roots") == "short");
    REQUIRE(::stat((b.folder / "roots").c_str(), &info) == 0);
    CHECK(info.st_uid == ::geteuid());
    CHECK(b.good("write_file", {{"path", "nothing"}, {"content", ""}}) == "wrote 0 bytes to nothing\n");
    CHECK(b.get("nothing").empty());
    for (const auto& entry : fs::directory_iterator(b.folder)) {
        CHECK_FALSE(contains(entry.path().string(), ".chalk-write"));
    }
    const std::string big(3'000'000, 'x');
    b.good("write_file", {{"path", "big"}, {"content", big}});
    CHECK(b.get("big") == big);
}

TEST_CASE("edit_file replaces exactly one place, or nothing") {
    bench b;
    b.put("f", "one two two three");
    CHECK(b.good("edit_file", {{"path", "f"}, {"old_text", "one"}, {"new_text", "1\n"}}) == "edited f\n");
    CHECK(b.get("f") == "1\n two two three");
    CHECK(contains(b.bad("edit_file", {{"path", "f"}, {"old_text", "two"}, {"new_text", "2"}}), "more than once"));
    CHECK(contains(b.bad("edit_file", {{"path", "f"}, {"old_text", "four"}, {"new_text", "4"}}), "not in the file"));
    CHECK(contains(b.bad("edit_file", {{"path", "g"}, {"old_text", "four"}, {"new_text", "4"}}), "No such file"));
    CHECK(b.get("f") == "1\n two two three");
    b.good("edit_file", {{"path", "f"}, {"old_text", " three"}, {"new_text", ""}});
    CHECK(b.get("f") == "1\n two two");
    b.put("aaa", "aaa");
    CHECK(contains(b.bad("edit_file", {{"path", "aaa"}, {"old_text", "aa"}, {"new_text", "b"}}), "more than once"));
}

TEST_CASE("a file tool that nobody but root may execute is copied for the student") {
    bench b;
    auto settings = confinement::student_settings{};
    if (::geteuid() == 0) {
        settings.become = process::identity{student, student};
    }
    settings.working_directory = b.folder.string();
    settings.file_tool = (b.folder / "bundle/file_tool").string();
    REQUIRE(::chmod(settings.file_tool.c_str(), 0500) == 0);
    b.tools = b.open_tools(settings);
    b.put("f", "text");
    CHECK(b.good("read_file", {{"path", "f"}}) == "text");

    settings.file_tool = "/nowhere/file_tool";
    const auto missing = builtin_tools::make(confinement::student_commands::make(b.io.context(), settings));
    REQUIRE(missing.has_error());
    CHECK(missing.error().kind == error_class::harness);
}

TEST_CASE("the builtin tools are four, with schemas that say what they take") {
    CHECK(confinement::builtin_tool_specs().size() == 4);
    CHECK(confinement::find_builtin_tool("bash") != nullptr);
    CHECK(confinement::find_builtin_tool("fetch") == nullptr);
    CHECK(mcp::validate_arguments(*confinement::find_builtin_tool("bash"), {{"command", "x"}, {"timeout_s", 5}})
              .has_value());
    CHECK(mcp::validate_arguments(*confinement::find_builtin_tool("bash"), {{"timeout_s", 5}}).has_error());
    CHECK(mcp::validate_arguments(*confinement::find_builtin_tool("bash"), {{"command", "x"}, {"timeout_s", 0}})
              .has_error());
}
