#include "protocol/store/materialise.hpp"

#include "protocol/store/read_tree.hpp"
#include "protocol/store/unfinished_folder.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <fstream>
#include <random>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::store;
namespace fs = std::filesystem;

namespace {

std::unique_ptr<chunk_cache> roomy_cache(const fs::path& folder) {
    auto opened = chunk_cache::open(folder, {64_MiB, milliseconds{5000}});
    REQUIRE(opened);
    return std::move(*opened);
}

/// The folder's tree, its chunks in the cache.
tree_manifest keep(const fs::path& folder, chunk_cache& cache) {
    read_tree_options options;
    options.on_chunk = [&](const chunk_digest& name, std::string_view data) -> result<void> {
        auto put = cache.put(name, data);
        return put ? result<void>() : put.error().as_failure();
    };
    auto read = read_tree(folder, options);
    REQUIRE(read);
    return read->tree;
}

fs::path chunk_file(const fs::path& cache, const chunk_digest& name) {
    return cache / "objects" / name.hex().substr(0, 2) / name.hex();
}

std::size_t names_in_folder(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

mode_t mode_of(const fs::path& file) {
    struct stat about {};
    REQUIRE(::lstat(file.c_str(), &about) == 0);
    return about.st_mode & 07777U;
}

const std::string two_chunks = std::string(chunk_size.count, 'x') + "end";

/// A folder with one of everything.
void fill(const chalk::test::temporary_folder& folder) {
    folder.write("tree/a/large", two_chunks);
    folder.write("tree/a/program", "run me");
    fs::permissions(folder.path() / "tree/a/program", fs::perms::owner_all);
    folder.write("tree/empty", "");
    fs::create_symlink("a/large", folder.path() / "tree/link");
    fs::create_directory(folder.path() / "tree/nothing");
}

} // namespace

TEST_CASE("a tree out of the cache is the tree that went in, with modes that no umask changes") {
    const chalk::test::temporary_folder folder;
    fill(folder);
    auto cache = roomy_cache(folder.path() / "cache");
    const auto tree = keep(folder.path() / "tree", *cache);
    const auto umask = ::umask(0077);
    for (const auto kept : {durability::until_restart, durability::power_cut}) {
        const auto target = folder.path() / fmt::format("made/{}", static_cast<int>(kept));
        fs::create_directories(target.parent_path());
        const auto made = materialise(tree, *cache, target, kept);
        REQUIRE(made);
        CHECK(made->empty());
        CHECK(read_tree(target, {}).value().tree.digest() == tree.digest());
        CHECK(mode_of(target) == 0755);
        CHECK(mode_of(target / "a") == 0755);
        CHECK(mode_of(target / "a/large") == 0644);
        CHECK(mode_of(target / "a/program") == 0755);
    }
    ::umask(umask);
    CHECK(names_in_folder(folder.path() / "made") == 2); // and nothing beside them
    CHECK(names_in_folder(folder.path() / "cache/pins") == 0);
}

TEST_CASE("nothing that is done to a folder out of the cache changes the cache") {
    const chalk::test::temporary_folder folder;
    fill(folder);
    auto cache = roomy_cache(folder.path() / "cache");
    const auto tree = keep(folder.path() / "tree", *cache);
    const auto target = folder.path() / "made";
    REQUIRE(materialise(tree, *cache, target, durability::until_restart).value().empty());
    struct stat about {};
    REQUIRE(::stat((target / "a/program").c_str(), &about) == 0);
    CHECK(about.st_nlink == 1); // no file of it is one of the cache's
    std::ofstream(target / "a/program") << "evil";
    std::ofstream(target / "a/large", std::ios::app) << "evil";
    fs::permissions(target / "a/program", fs::perms::all);
    fs::remove(target / "empty");
    CHECK(mode_of(chunk_file(folder.path() / "cache", name_chunk("run me"))) == 0400);
    REQUIRE(materialise(tree, *cache, folder.path() / "again", durability::until_restart).value().empty());
    CHECK(read_tree(folder.path() / "again", {}).value().tree.digest() == tree.digest());
}

TEST_CASE("what the cache lacks or has damaged is named at once, and nothing is left behind") {
    const chalk::test::temporary_folder folder;
    fill(folder);
    folder.write("tree/z", "the last");
    auto cache = roomy_cache(folder.path() / "cache");
    const auto tree = keep(folder.path() / "tree", *cache);
    fs::create_directory(folder.path() / "made");
    fs::remove(chunk_file(folder.path() / "cache", name_chunk("end")));
    const auto damaged = chunk_file(folder.path() / "cache", name_chunk("the last"));
    fs::permissions(damaged, fs::perms::owner_all);
    std::ofstream(damaged) << "the lost";
    const auto missing = materialise(tree, *cache, folder.path() / "made/t", durability::until_restart);
    REQUIRE(missing);
    REQUIRE(missing->size() == 2);
    CHECK((*missing)[0].name == name_chunk("end"));
    CHECK((*missing)[0].size == bytes{3});
    CHECK((*missing)[1].name == name_chunk("the last"));
    CHECK(fs::is_empty(folder.path() / "made"));
    REQUIRE(cache->put(name_chunk("end"), "end"));
    REQUIRE(cache->put(name_chunk("the last"), "the last"));
    CHECK(materialise(tree, *cache, folder.path() / "made/t", durability::until_restart).value().empty());
}

TEST_CASE("a target that exists is refused, and stays what it was") {
    const chalk::test::temporary_folder folder;
    fill(folder);
    auto cache = roomy_cache(folder.path() / "cache");
    const auto tree = keep(folder.path() / "tree", *cache);
    const auto outside = folder.path() / "outside";
    fs::create_directories(outside);
    fs::create_directory(folder.path() / "made");
    fs::create_directory(folder.path() / "made/folder");
    fs::create_directory_symlink(outside, folder.path() / "made/link");
    for (const auto* name : {"folder", "link"}) {
        const auto made = materialise(tree, *cache, folder.path() / "made" / name, durability::until_restart);
        REQUIRE_FALSE(made);
        CHECK(made.error().message.find(name) != std::string::npos);
    }
    CHECK(fs::is_empty(outside));
    CHECK(names_in_folder(folder.path() / "made") == 2);
    CHECK_FALSE(materialise(tree, *cache, folder.path() / "absent/t", durability::until_restart));
}

TEST_CASE("a target that holds the tree already counts as made, whatever the cache has; one that differs is refused") {
    const chalk::test::temporary_folder folder;
    fill(folder);
    auto cache = roomy_cache(folder.path() / "cache");
    const auto tree = keep(folder.path() / "tree", *cache);
    const auto target = folder.path() / "made/t";
    fs::create_directory(folder.path() / "made");
    REQUIRE(materialise(tree, *cache, target, durability::power_cut).value().empty());
    fs::remove_all(folder.path() / "cache/objects");
    for (const auto kept : {durability::until_restart, durability::power_cut}) {
        const auto again = materialise(tree, *cache, target, kept);
        REQUIRE(again);
        CHECK(again->empty());
    }
    CHECK(names_in_folder(folder.path() / "made") == 1);
    // A link to it is another's name for it, and no folder.
    fs::create_directory_symlink("t", folder.path() / "made/link");
    CHECK_FALSE(materialise(tree, *cache, folder.path() / "made/link", durability::until_restart));
    const auto refuses = [&] {
        const auto made = materialise(tree, *cache, target, durability::power_cut);
        return !made && made.error().message.find(target.string()) != std::string::npos;
    };
    std::ofstream(target / "more") << "x";
    CHECK(refuses());
    fs::remove(target / "more");
    fs::remove(target / "empty");
    CHECK(refuses());
    std::ofstream(target / "empty") << "";
    CHECK(materialise(tree, *cache, target, durability::power_cut));
    std::ofstream(target / "a/program") << "run it";
    CHECK(refuses());
    CHECK(fs::exists(target / "a/large"));
}

TEST_CASE("a chunk of another size than the tree says is refused: small names could make a huge folder") {
    const chalk::test::temporary_folder folder;
    auto cache = roomy_cache(folder.path() / "cache");
    fs::create_directory(folder.path() / "made");
    const std::string large(2 * chunk_size.count, 'x'); // as a manifest in the cache may be
    REQUIRE(cache->put(name_chunk(large), large));
    REQUIRE(cache->put(name_chunk("four"), "four"));
    const std::vector<chunk_digest> often(8, name_chunk(large));
    const tree_entry huge{"f", entry_kind::file, false, {8 * chunk_size.count}, often, {}};
    const tree_entry small{"f", entry_kind::file, false, {5}, {name_chunk("four")}, {}};
    const tree_entry absent{"a", entry_kind::file, false, {1}, {name_chunk("?")}, {}};
    for (const auto& entries : {std::vector{huge}, std::vector{small}, std::vector{absent, huge}}) {
        const auto tree = tree_manifest::make(entries).value();
        const auto made = materialise(tree, *cache, folder.path() / "made/t", durability::until_restart);
        REQUIRE_FALSE(made);
        CHECK(made.error().message.find("\"f\"") != std::string::npos);
        CHECK(fs::is_empty(folder.path() / "made"));
    }
}

TEST_CASE("a folder that was made and cannot be opened is removed again") {
    const chalk::test::temporary_folder folder;
    rlimit before{};
    REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
    const unique_fd next(::dup(STDIN_FILENO)); // all below it are in use
    REQUIRE(next);
    rlimit none_left = before;
    none_left.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none_left) == 0);
    const auto made = unfinished_folder::make(folder.path() / "t");
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
    REQUIRE_FALSE(made);
    CHECK(made.error().message.find("Too many open files") != std::string::npos);
    CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("what is being made is not taken for what was left behind") {
    const chalk::test::temporary_folder folder;
    auto making = std::optional(unfinished_folder::make(folder.path() / "t").value());
    CHECK(remove_unfinished(folder.path()) == 0);
    CHECK(names_in_folder(folder.path()) == 1);
    making.reset();
    CHECK(names_in_folder(folder.path()) == 0);
    // Nobody's: and not followed where it only has the name.
    folder.write(".t.0123.unfinished/a/b", "");
    folder.write("elsewhere/kept", "");
    fs::create_directory_symlink("elsewhere", folder.path() / ".u.0123.unfinished");
    CHECK(remove_unfinished(folder.path()) == 1);
    CHECK(fs::exists(folder.path() / "elsewhere/kept"));
    CHECK(remove_unfinished(folder.path() / "absent") == 0);
}

TEST_CASE("a process that is killed while it makes a tree leaves all of it or nothing under its name") {
    const chalk::test::temporary_folder folder;
    for (int i = 0; i < 40; ++i) {
        folder.write(fmt::format("tree/d{}/f", i), fmt::format("file {}", i));
    }
    const auto place = folder.path() / "made";
    fs::create_directory(place);
    tree_manifest tree;
    {
        auto cache = roomy_cache(folder.path() / "cache");
        tree = keep(folder.path() / "tree", *cache);
    }
    std::mt19937 random(3);
    for (int round = 0; round < 30; ++round) {
        int told[2];
        REQUIRE(::pipe2(told, O_CLOEXEC) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            ::alarm(60);
            auto cache = chunk_cache::open(folder.path() / "cache", {64_MiB, milliseconds{5000}});
            for (int i = 0; cache && i < 10'000; ++i) {
                const auto made =
                    materialise(tree, **cache, place / fmt::format("{}-{}", round, i), durability::until_restart);
                if (!made || !made->empty() || ::write(told[1], "m", 1) != 1) {
                    break;
                }
            }
            ::_exit(1);
        }
        ::close(told[1]);
        const unique_fd from(told[0]);
        char one = 0;
        for (auto trees = random() % 3 + 1; trees > 0 && ::read(from.get(), &one, 1) == 1; --trees) {
        }
        for (auto spin = random() % 1'000'000; spin > 0; --spin) {
            one = static_cast<char>(one + static_cast<char>(spin));
        }
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status));
        (void)remove_unfinished(place);
        std::size_t whole = 0;
        for (const auto& made : fs::directory_iterator(place)) {
            CHECK(read_tree(made.path(), {}).value().tree.digest() == tree.digest());
            ++whole;
        }
        CHECK(whole > 0);
        fs::remove_all(place);
        fs::create_directory(place);
    }
    auto cache = roomy_cache(folder.path() / "cache");
    CHECK(names_in_folder(folder.path() / "cache/pins") == 0);
}
