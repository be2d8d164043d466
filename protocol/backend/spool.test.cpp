#include "protocol/backend/spool.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::backend;
namespace fs = std::filesystem;

namespace {

const stream of{"0123456789abcdef0123456789abcdef", "run-1", 3};
constexpr const char* address = "https://backend.example/runs";

std::vector<fs::path> spools(const fs::path& folder) {
    return list_spools(folder).value();
}

} // namespace

TEST_CASE("a spool keeps a stream's events, for nobody else to read, until it is removed") {
    const chalk::test::temporary_folder folder;
    const auto place = folder.path() / "a/b";
    CHECK(spools(place).empty());
    auto kept = std::make_unique<spool>(place, of, address);
    CHECK(spools(place).empty()); // nothing to keep yet
    CHECK(kept->add(R"({"seq":1})"));
    CHECK_FALSE(kept->add(R"({"seq":2})")); // a writer was asked for already
    REQUIRE(kept->write_out());
    CHECK(kept->add(R"({"seq":3})"));
    REQUIRE(kept->write_out());
    REQUIRE(spools(place) == std::vector{kept->path()});
    struct stat s {};
    REQUIRE(::stat(kept->path().c_str(), &s) == 0);
    CHECK((s.st_mode & 0777U) == 0600);
    REQUIRE(::stat(place.c_str(), &s) == 0);
    CHECK((s.st_mode & 0777U) == 0700);
    CHECK_FALSE(take_spool(kept->path()).value().has_value()); // its run is alive
    const auto path = kept->path();
    kept.reset();
    {
        const auto found = take_spool(path).value();
        REQUIRE(found);
        CHECK(found->of.id == of.id);
        CHECK(found->of.run_id == "run-1");
        CHECK(found->of.attempt == 3);
        CHECK(found->uri == address);
        CHECK(found->events == std::vector<std::string>{R"({"seq":1})", R"({"seq":2})", R"({"seq":3})"});
        CHECK_FALSE(take_spool(path).value().has_value()); // one sender at a time
    }
    spool gone(place, {"ffffffffffffffffffffffffffffffff", "run-2", 1}, address);
    (void)gone.add("{}");
    REQUIRE(gone.write_out());
    gone.remove();
    CHECK_FALSE(gone.add("{}"));
    CHECK(spools(place) == std::vector{path});
}

TEST_CASE("what a spool was given is on disk when it goes, even if nobody wrote it out") {
    const chalk::test::temporary_folder folder;
    { CHECK(spool(folder.path() / "s", of, address).add("{}")); }
    REQUIRE(spools(folder.path() / "s").size() == 1);
    CHECK(take_spool(spools(folder.path() / "s").front()).value()->events.size() == 1);
}

TEST_CASE("a spool that cannot be written says so once, and writes nothing that would leave a gap") {
    const chalk::test::temporary_folder folder;
    std::ofstream(folder.path() / "taken") << "a file where a folder should be";
    spool kept(folder.path() / "taken", of, address);
    CHECK(kept.add("{}"));
    const auto how = kept.write_out();
    REQUIRE_FALSE(how);
    CHECK(how.error().message.find("taken") != std::string::npos);
    CHECK(kept.add("{}"));
    CHECK(kept.write_out());
}

TEST_CASE("a line that a crash cut off is left out; what is no spool is refused with its name") {
    const chalk::test::temporary_folder folder;
    const auto file = folder.path() / "run-1-01234567.jsonl";
    std::ofstream(file) << R"({"type":"Spool","stream":"s","run_id":"r","attempt":1,"uri":"http://h"})"
                           "\n{}\n{\"seq\"";
    CHECK(take_spool(file).value()->events == std::vector<std::string>{"{}"});
    for (const auto* text : {"", "\n", "{}\n", "[]\n",
                             R"({"type":"Spool"})"
                             "\n",
                             R"({"type":"Spool","stream":"s","run_id":"r","attempt":1,"uri":"ftp://h"})"
                             "\n",
                             R"({"type":"Spool","stream":"s","run_id":"r","uri":"http://h"})"
                             "\n"}) {
        INFO(text);
        std::ofstream(file, std::ios::trunc) << text;
        const auto taken = take_spool(file);
        REQUIRE_FALSE(taken);
        CHECK(taken.error().kind == error_class::config);
        CHECK(taken.error().message.find("run-1-01234567") != std::string::npos);
    }
    CHECK_FALSE(take_spool(folder.path() / "absent.jsonl"));
}
