/// The C++ SDK's protected store, and the Python SDK's over the same files.
#include "chalk/protected_store.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

using chalk::sdk::protected_store;
using chalk::test::temporary_folder;

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// In Python, with `store` over `folder`. False when it raised something.
bool python(const fs::path& folder, const std::string& code) {
    const std::string command = "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" CHALK_TEST_SDK "' '" CHALK_TEST_PYTHON
                                "' -c 'from chalk import ProtectedStore; store = ProtectedStore(\"" +
                                folder.string() + "\"); " + code + "'";
    return std::system(command.c_str()) == 0;
}

unsigned mode_of(const fs::path& file) {
    struct stat about {};
    REQUIRE(::lstat(file.c_str(), &about) == 0);
    return about.st_mode & 07777U;
}

} // namespace

TEST_CASE("what a protected store is given comes back, and the last value alone") {
    const temporary_folder folder;
    const protected_store store((folder.path() / "a" / "protected").string());
    const std::string bytes("\0\xff\n", 3);
    store.write("entry", "first and longer");
    store.write("entry", bytes);
    CHECK(store.read("entry") == bytes);
    store.write("empty", "");
    CHECK(store.read("empty").empty());
    const auto value = json::parse(R"({"a": [1, 2.5, null]})");
    store.write_json("json", value);
    CHECK(store.read_json("json") == value);
    CHECK_THROWS_AS(store.read_json("entry"), json::parse_error);
    CHECK_THROWS_AS(store.read("gone"), std::out_of_range);
}

TEST_CASE("only the owner can look into a protected store, even one that was open before") {
    const temporary_folder folder;
    const auto place = folder.path() / "protected";
    fs::create_directory(place);
    fs::permissions(place, fs::perms::all);
    const protected_store store(place.string());
    store.write("entry", "secret");
    CHECK(mode_of(place) == 0700);
    CHECK(mode_of(place / "entry") == 0600);
    CHECK(std::distance(fs::directory_iterator(place), fs::directory_iterator()) == 1);
}

TEST_CASE("names cannot lead out of a protected store") {
    const temporary_folder folder;
    const protected_store store((folder.path() / "protected").string());
    for (const std::string& key : {std::string(), std::string("../x"), std::string("a/b"), std::string(".hidden"),
                                   std::string("a b"), std::string("a\0b", 3), std::string(201, 'k')}) {
        CHECK_THROWS_AS(store.write(key, "x"), std::invalid_argument);
        CHECK_THROWS_AS(store.read(key), std::invalid_argument);
    }
    CHECK_FALSE(fs::exists(store.folder()));
    store.write(std::string(200, 'k'), "x");
    store.write("A-z_0.9", "x");
}

TEST_CASE("a protected store replaces links and does not follow them") {
    const temporary_folder folder;
    const auto place = folder.path() / "protected";
    const auto outside = folder.write("outside", "untouched");
    const protected_store store(place.string());
    store.write("first", "x"); // the folder is there now
    fs::create_symlink(outside, place / "entry");
    CHECK_THROWS_AS(store.read("entry"), std::system_error);
    store.write("entry", "new");
    CHECK_FALSE(fs::is_symlink(place / "entry"));
    CHECK(store.read("entry") == "new");
    const auto temporary = place / ("other." + std::to_string(::getpid()) + ".tmp");
    fs::create_symlink(outside, temporary);
    CHECK_THROWS_AS(store.write("other", "new"), std::system_error);
    CHECK(fs::file_size(outside) == std::string("untouched").size());
}

TEST_CASE("the protected stores of Python and C++ read each other's entries") {
    const temporary_folder folder;
    const auto place = folder.path() / "protected";
    const protected_store store(place.string());
    REQUIRE(python(place, R"(store.write("text", "caf\u00e9"); store.write("dict", {"a": [1, "b"]}))"));
    CHECK(store.read("text") == "caf\xC3\xA9");
    CHECK(store.read_json("dict") == json::parse(R"({"a": [1, "b"]})"));
    store.write("text", "from C++");
    store.write_json("dict", json::parse(R"({"b": [2]})"));
    CHECK(python(place, R"(assert store.read("text") == "from C++"; assert store.read("dict", dict) == {"b": [2]})"));
}

TEST_CASE("a protected store lies below the home folder unless it is told where") {
    const char* home = std::getenv("HOME");
    const std::string before = home == nullptr ? "" : home;
    ::setenv("HOME", "/somewhere", 1);
    CHECK(protected_store().folder() == "/somewhere/.config/chalk/protected");
    ::unsetenv("HOME");
    CHECK_THROWS_AS(protected_store(), std::runtime_error);
    if (home != nullptr) {
        ::setenv("HOME", before.c_str(), 1);
    }
}
