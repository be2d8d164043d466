#include "actors/cluster/result_spool.hpp"

#include "actors/cluster/run_messages.hpp"
#include "protocol/core/unique_fd.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <csignal>
#include <fstream>
#include <set>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::actors;

namespace {

assignment_name spooled(std::uint64_t index, std::uint64_t count = 7) {
    return {{3, index}, attempt_number{2}, {1, count}};
}

void keep_one(result_spool& spool, const assignment_name& name, std::string sheet) {
    const auto kept = spool.keep({{name, std::move(sheet)}});
    REQUIRE(kept.size() == 1);
    REQUIRE(kept.front());
}

} // namespace

TEST_CASE("a folder's name is an attempt's name and back, and nothing else is one") {
    const auto name = spooled(14);
    CHECK(to_folder_name(name) == "3-14.2.1-7");
    CHECK(parse_folder_name("3-14.2.1-7") == name);
    for (const char* odd : {"", "3-14.2.1", "3-14.2.1-", "3-14.2.1-7 ", "3-14.2.1-7.tmp", "03-14.2.1-7", "3-14.0.1-7",
                            "-3-14.2.1-7", "+3-14.2.1-7", "3-14.4294967296.1-7", "3-14.2.1-18446744073709551616",
                            "3.14-2.1-7", "lost+found", "3-14.2.1-7/"}) {
        INFO(odd);
        CHECK_FALSE(parse_folder_name(odd));
    }
}

TEST_CASE("a spool gives back what is whole, removes what died, and leaves alone what it does not know") {
    const test::temporary_folder folder;
    const auto root = folder.path() / "spool";
    {
        result_spool spool(root);
        REQUIRE(spool.open());
        REQUIRE(spool.begin(spooled(1)));
        folder.write("spool/3-1.2.1-7/transcript.json", "{}");
        keep_one(spool, spooled(1), R"({"a":1})");
        REQUIRE(spool.begin(spooled(2))); // died
        folder.write("spool/3-2.2.1-7/artifacts/deep/file", "x");
        folder.write("spool/3-2.2.1-7/.result.json.1.1.tmp", "half of it");
        keep_one(spool, spooled(3), "never began, so it has no files");
    }
    folder.write("spool/3-4.2.1-7/result.json", "");                                         // cut by a power cut
    folder.write("spool/3-5.2.1-7/result.json/in", "a folder");                              // nobody would
    folder.write("spool/3-6.2.1-7/result.json", std::string(longest_result_sheet + 1, 'x')); // likewise
    folder.write("spool/notes.txt", "a person's");
    folder.write("spool/3-7.2.1-7", "a file");
    std::filesystem::create_directory_symlink(folder.path(), root / "3-8.2.1-7");
    result_spool spool(root);
    const auto found = spool.open();
    REQUIRE(found);
    CHECK(found->whole == std::vector{spooled(1), spooled(3)});
    CHECK(found->left.size() == 3);
    CHECK(spool.read(spooled(1)).value() == R"({"a":1})");
    CHECK(std::filesystem::exists(spool.folder_of(spooled(1)) / "transcript.json"));
    for (const std::uint64_t gone : {2U, 4U, 5U, 6U}) {
        CHECK_FALSE(std::filesystem::exists(spool.folder_of(spooled(gone))));
    }
    CHECK(std::filesystem::exists(root / "notes.txt"));
    CHECK(std::filesystem::is_symlink(root / "3-8.2.1-7"));
    CHECK_FALSE(spool.read(spooled(2)));

    REQUIRE(spool.remove(spooled(1)));
    REQUIRE(spool.remove(spooled(1)));
    CHECK_FALSE(std::filesystem::exists(spool.folder_of(spooled(1))));
    CHECK(spool.open()->whole == std::vector{spooled(3)});
}

TEST_CASE("a spool says why it cannot keep something, and may be asked again") {
    const test::temporary_folder folder;
    folder.write("3-1.2.1-7", "a file where the attempt's folder should be");
    result_spool spool(folder.path());
    const auto kept = spool.keep({{spooled(1), "one"}, {spooled(2), "two"}});
    REQUIRE(kept.size() == 2);
    REQUIRE_FALSE(kept[0]);
    CHECK(kept[0].error().kind == error_class::harness);
    CHECK(kept[0].error().message.find("3-1.2.1-7") != std::string::npos);
    CHECK(kept[1]);
    std::filesystem::remove(folder.path() / "3-1.2.1-7");
    keep_one(spool, spooled(1), "one");
    CHECK(spool.open()->whole == std::vector{spooled(1), spooled(2)});
}

TEST_CASE("whenever a node is killed, its spool has each result whole that it said to have, and none in part") {
    const test::temporary_folder folder;
    const std::string long_sheet(20'000, 's');
    std::set<assignment_name> said;
    std::uint64_t next = 0;
    for (int life = 0; life < 12; ++life) {
        int ends[2] = {-1, -1};
        REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
        const unique_fd ours(ends[0]);
        unique_fd theirs(ends[1]);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            result_spool spool(folder.path());
            for (std::uint64_t i = next;; ++i) { // until it is killed
                static_cast<void>(spool.begin(spooled(i)));
                std::ofstream(spool.folder_of(spooled(i)) / "transcript.json") << "{}";
                if (i % 3 == 0 && i > next) {
                    static_cast<void>(spool.remove(spooled(i - 1)));
                }
                const bool kept = spool.keep({{spooled(i), long_sheet}}).front().has_value();
                if (!kept || ::write(theirs.get(), &i, sizeof i) != sizeof i) {
                    ::_exit(1);
                }
            }
        }
        theirs.reset();
        std::uint64_t kept = next;
        for (int i = 0; i < 3 + life; ++i) { // so many have been kept when it dies, wherever it is by then
            REQUIRE(::read(ours.get(), &kept, sizeof kept) == sizeof kept);
            said.insert(spooled(kept));
        }
        ::kill(child, SIGKILL);
        int how = 0;
        REQUIRE(::waitpid(child, &how, 0) == child);
        REQUIRE(WIFSIGNALED(how));
        while (::read(ours.get(), &kept, sizeof kept) == sizeof kept) {
            said.insert(spooled(kept));
        }
        const auto found = result_spool(folder.path()).open();
        REQUIRE(found);
        CHECK(found->left.empty());
        const std::set<assignment_name> whole(found->whole.begin(), found->whole.end());
        for (const auto& name : said) {
            const bool removed = !whole.contains(name);
            INFO(to_folder_name(name));
            CHECK((!removed || (name.run.index + 1) % 3 == 0));
        }
        for (const auto& name : found->whole) {
            CHECK(result_spool(folder.path()).read(name).value() == long_sheet);
        }
        next = kept + 3;
        next -= next % 3;
    }
}
