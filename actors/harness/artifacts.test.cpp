#include "actors/harness/artifacts.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::actors;
namespace fs = std::filesystem;

namespace {

struct folders {
    fs::path base;
    fs::path work;
    fs::path out;

    folders() {
        auto name = (fs::temp_directory_path() / "chalk-artifacts-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        base = name;
        work = base / "work";
        out = base / "out";
        fs::create_directories(work);
    }
    ~folders() { fs::remove_all(base); }
    void file(const fs::path& at, const std::string& text = "x") const {
        fs::create_directories((work / at).parent_path());
        std::ofstream(work / at) << text;
    }
    std::vector<std::string> copy(const std::vector<std::string>& patterns, artifact_limits limits = {1_MiB, 100}) {
        report = copy_artifacts(work, out, 1, patterns, limits);
        std::vector<std::string> paths;
        for (const auto& one : report.saved) {
            CHECK(one.step == 1);
            CHECK(fs::file_size(out / one.path) == one.size);
            paths.push_back(one.path);
        }
        return paths;
    }
    artifact_report report;
};

using paths = std::vector<std::string>;

} // namespace

TEST_CASE("paths, globs and folders name the files to save, each once", "[artifacts]") {
    folders f;
    f.file("a.txt", "hello");
    f.file("b.log");
    f.file("d/c.txt");
    f.file("d/e/f.txt");
    CHECK(f.copy({"a.txt"}) == paths{"step-1/a.txt"});
    CHECK(f.copy({"*.txt", "a.*"}) == paths{"step-1/a.txt"});
    CHECK(f.copy({"d"}) == paths{"step-1/d/c.txt", "step-1/d/e/f.txt"});
    CHECK(f.copy({"**/*.txt"}) == paths{"step-1/a.txt", "step-1/d/c.txt", "step-1/d/e/f.txt"});
    CHECK(f.copy({"d/*/f.txt"}) == paths{"step-1/d/e/f.txt"});
    CHECK(f.copy({(f.work / "b.log").string()}) == paths{"step-1/b.log"});
    CHECK(f.copy({"absent", "*.none"}).empty());
    CHECK(f.report.complaints.empty());
}

TEST_CASE("nothing outside the workdir is read, by no path and no link", "[artifacts]") {
    folders f;
    std::ofstream(f.base / "secret") << "s";
    f.file("real/x");
    fs::create_symlink("../secret", f.work / "link");
    fs::create_symlink("..", f.work / "up");
    fs::create_symlink("real", f.work / "inside");
    CHECK(f.copy({"../secret", "/etc/passwd", ".", "link", "up/secret", "inside/x"}).empty());
    CHECK(f.copy({"**"}) == paths{"step-1/real/x"});
}

TEST_CASE("a file that turns into a link while it is saved leads nowhere", "[artifacts]") {
    folders f;
    std::ofstream(f.base / "secret") << "s";
    f.file("victim");
    fs::create_directories(f.work / "way");
    f.file("way/secret");
    std::atomic<bool> ending = false;
    std::thread swapper([&] {
        std::error_code ignored; // the other side may win
        while (!ending) {
            fs::create_symlink("../secret", f.work / "new", ignored);
            fs::rename(f.work / "new", f.work / "victim", ignored);
            std::ofstream(f.work / "new") << "x";
            fs::rename(f.work / "new", f.work / "victim", ignored);
            fs::rename(f.work / "way", f.work / "gone", ignored);
            fs::create_symlink("..", f.work / "way", ignored);
            fs::remove(f.work / "way", ignored);
            fs::rename(f.work / "gone", f.work / "way", ignored);
        }
    });
    for (int i = 0; i < 300; ++i) {
        for (const auto& saved : copy_artifacts(f.work, f.out, 1, {"victim", "way/secret"}, {1_MiB, 100}).saved) {
            std::ifstream in(f.out / saved.path);
            std::string content;
            in >> content;
            CHECK(content != "s");
        }
    }
    ending = true;
    swapper.join();
}

TEST_CASE("what is no regular file is left out and does not block", "[artifacts]") {
    folders f;
    REQUIRE(::mkfifo((f.work / "pipe").c_str(), 0600) == 0);
    CHECK(f.copy({"pipe"}).empty());
    REQUIRE(f.report.complaints.size() == 1);
    CHECK_THAT(f.report.complaints[0], Catch::Matchers::Contains("regular"));
}

TEST_CASE("a file that is too large is left out, and a step's files are counted", "[artifacts]") {
    folders f;
    f.file("big", std::string(5000, 'x'));
    f.file("small", std::string(4096, 'x'));
    CHECK(f.copy({"*"}, {bytes{4096}, 100}) == paths{"step-1/small"});
    CHECK(f.report.complaints.size() == 1);
    CHECK_FALSE(fs::exists(f.out / "step-1/big"));
    for (int i = 0; i < 5; ++i) {
        f.file("n" + std::to_string(i));
    }
    CHECK(f.copy({"n*"}, {1_MiB, 3}).size() == 3);
    CHECK(f.report.complaints.size() == 1);
}
