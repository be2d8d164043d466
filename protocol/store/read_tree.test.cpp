#include "protocol/store/read_tree.hpp"

#include "protocol/store/folder_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::store;
namespace fs = std::filesystem;

namespace {

constexpr const char* secret = "what no student may read";

read_tree_options reading_of(folder_trust trust) {
    read_tree_options options;
    options.trust = trust;
    return options;
}

std::vector<std::string> paths_in(const tree_manifest& tree) {
    std::vector<std::string> paths;
    for (const auto& entry : tree.entries()) {
        paths.push_back(entry.path);
    }
    return paths;
}

using texts = std::vector<std::string>;

/// Why an operator's folder is refused.
std::string refusal_of_folder(const fs::path& folder) {
    const auto read = read_tree(folder, {});
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == error_class::config);
    CHECK(read.error().message.find(folder.string()) != std::string::npos);
    return read.error().message;
}

bool has_text(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a folder is read as what a sandbox can tell apart, whatever its owners, times and other modes") {
    const chalk::test::temporary_folder one;
    const chalk::test::temporary_folder other;
    for (const auto* folder : {&one, &other}) {
        folder->write("a/deep/file", "content");
        folder->write("program", "#!/bin/sh\n");
        folder->write("empty", "");
        fs::permissions(folder->path() / "program", fs::perms::owner_all);
        fs::create_symlink("a/deep", folder->path() / "link");
        fs::create_directory(folder->path() / "nothing");
    }
    fs::permissions(other.path() / "empty", fs::perms::all & ~fs::perms::owner_exec);
    fs::permissions(other.path() / "nothing", fs::perms::owner_all);
    const timespec old[2] = {{1, 0}, {1, 0}};
    REQUIRE(::utimensat(AT_FDCWD, (other.path() / "empty").c_str(), old, 0) == 0);
    const auto read = read_tree(one.path(), {});
    REQUIRE(read);
    CHECK(paths_in(read->tree) == texts{"a", "a/deep", "a/deep/file", "empty", "link", "nothing", "program"});
    CHECK(read->tree.entries()[6].executable);
    CHECK_FALSE(read->tree.entries()[2].executable);
    CHECK(read->tree.entries()[4].target == "a/deep");
    CHECK(read_tree(other.path(), {}).value().tree.digest() == read->tree.digest());
    other.write("empty", "not any more");
    CHECK(read_tree(other.path(), {}).value().tree.digest() != read->tree.digest());
}

TEST_CASE("chunks are handed over in order, and what cannot be kept ends the reading") {
    const chalk::test::temporary_folder folder;
    const std::string large(chunk_size.count + 5, 'x');
    folder.write("b", large);
    folder.write("a", "first");
    read_tree_options options;
    std::string got;
    options.on_chunk = [&](const chunk_digest& name, std::string_view data) -> result<void> {
        CHECK(name == name_chunk(data));
        got += data;
        return {};
    };
    const auto read = read_tree(folder.path(), options);
    REQUIRE(read);
    CHECK(got == "first" + large);
    CHECK(read->tree.entries()[1].chunks.size() == 2);
    options.on_chunk = [](const chunk_digest&, std::string_view) -> result<void> { return harness_failure("full"); };
    CHECK(read_tree(folder.path(), options).error().message == "full");
}

TEST_CASE("what an owner leaves out is not looked at") {
    const chalk::test::temporary_folder folder;
    folder.write("out/x", "");
    folder.write("kept", "");
    REQUIRE(::mkfifo((folder.path() / "out/fifo").c_str(), 0600) == 0);
    read_tree_options options;
    options.leave_out = [](const std::string& path) { return path == "out"; };
    CHECK(paths_in(read_tree(folder.path(), options).value().tree) == texts{"kept"});
}

TEST_CASE("an operator's folder that cannot be a tree is refused with the path and the cause") {
    const chalk::test::temporary_folder folder;
    const auto place = folder.path() / "env";
    fs::create_directory(place);
    CHECK(read_tree(place, {}));
    fs::create_symlink("/etc/passwd", place / "away");
    CHECK(has_text(refusal_of_folder(place), "\"away\": the link leaves the tree"));
    fs::remove(place / "away");
    REQUIRE(::mkfifo((place / "fifo").c_str(), 0600) == 0);
    CHECK(has_text(refusal_of_folder(place), "\"fifo\": neither a file"));
    fs::remove(place / "fifo");
    fs::create_directory(place / "bad\xff");
    CHECK(has_text(refusal_of_folder(place), "UTF-8"));
    CHECK(has_text(refusal_of_folder(folder.path() / "absent"), "No such file"));
}

TEST_CASE("of a student's folder nothing is read through a link, soft or hard, and the rest is") {
    const chalk::test::temporary_folder folder;
    const auto outside = folder.write("outside/secret", secret);
    const auto place = folder.path() / "work";
    folder.write("work/good", "mine");
    fs::create_directory(place / "sub");
    fs::create_symlink(outside, place / "absolute");
    fs::create_symlink("../outside/secret", place / "climbing");
    fs::create_symlink("../outside", place / "folder");
    fs::create_symlink("../..", place / "sub/up");
    fs::create_symlink("sub/../../outside/secret", place / "winding");
    fs::create_hard_link(outside, place / "hard");
    fs::create_symlink("good", place / "fine");
    fs::create_hard_link(place / "good", place / "sub/twin");
    REQUIRE(::mkfifo((place / "fifo").c_str(), 0600) == 0);
    folder.write("work/bad\xff", "x");
    auto options = reading_of(folder_trust::students);
    options.on_chunk = [](const chunk_digest&, std::string_view data) -> result<void> {
        CHECK(data == "mine");
        return {};
    };
    const auto read = read_tree(place, options);
    REQUIRE(read);
    // Both of a file's links lie inside, so that it is nobody else's.
    CHECK(paths_in(read->tree) == texts{"fine", "good", "sub", "sub/twin"});
    CHECK(read->complaints.size() == 8);
    for (const auto* name : {"absolute", "climbing", "folder", "sub/up", "winding", "hard", "fifo"}) {
        CHECK(std::any_of(read->complaints.begin(), read->complaints.end(),
                          [&](const auto& text) { return text.starts_with(fmt::format("\"{}\": ", name)); }));
    }
    // The folder itself is where chalk put it, not where a link leads.
    fs::create_directory_symlink("outside", folder.path() / "elsewhere");
    CHECK_FALSE(read_tree(folder.path() / "elsewhere", options));
    CHECK(read_tree(folder.path() / "elsewhere", {}));
}

TEST_CASE("what a student piles up is bounded, and said") {
    const chalk::test::temporary_folder folder;
    const auto options = [](bytes file, bytes total, std::size_t entries) {
        auto bounded = reading_of(folder_trust::students);
        bounded.max_file = file;
        bounded.max_total = total;
        bounded.max_entries = entries;
        return bounded;
    };
    folder.write("a", "12345");
    folder.write("b", "123");
    folder.write("c", "1234");
    const auto large = read_tree(folder.path(), options({4}, {5}, 100)).value();
    CHECK(paths_in(large.tree) == texts{"b"});
    REQUIRE(large.complaints.size() == 2);
    CHECK(has_text(large.complaints[0], "\"a\": larger than 4"));
    CHECK(has_text(large.complaints[1], "\"c\": with it"));
    const auto many = read_tree(folder.path(), options({9}, {99}, 2)).value();
    CHECK(paths_in(many.tree) == texts{"a", "b"});
    CHECK(has_text(many.complaints.at(0), "more than 2 entries"));
    // Sparse: a size that costs its maker nothing.
    fs::resize_file(folder.path() / "a", std::uintmax_t{1} << 42U);
    CHECK(has_text(read_tree(folder.path(), reading_of(folder_trust::students)).value().complaints.at(0), "larger"));
    fs::remove(folder.path() / "a");
    // Folders without end: made from the inside, as a student would.
    auto deep = folder.path();
    for (int i = 0; i < 70; ++i) {
        deep /= "d";
    }
    fs::create_directories(deep);
    const auto nested = read_tree(folder.path(), reading_of(folder_trust::students)).value();
    CHECK(nested.tree.entries().back().path.size() == 2 * max_path_depth - 1);
    CHECK(has_text(nested.complaints.at(0), "64 folders deep"));
    for (int i = 0; i < 150; ++i) {
        fs::create_symlink("/", folder.path() / fmt::format("l{}", i));
    }
    const auto complaints = read_tree(folder.path(), reading_of(folder_trust::students)).value().complaints;
    CHECK(complaints.size() == 101);
    CHECK(complaints.back() == "51 more were left out");
}

TEST_CASE("a student's names that no manifest has room for are left out, and the rest is read") {
    const chalk::test::temporary_folder folder;
    // Control characters: a byte on disk is six in the manifest. A link's line is 12 KiB.
    const std::string level(253, '\x01');
    const auto deep = folder.path() / level / level / level;
    const auto target = fmt::format("{0}/{0}/{0}/{0}", level);
    fs::create_directories(deep);
    folder.write("short", "has room");
    folder.write(fmt::format("{0}/{0}/{0}/{0}", level), "has none");
    constexpr std::size_t links = 3'000;
    for (std::size_t i = 0; i < links; ++i) {
        const auto name = fmt::format("{}{:04}", std::string(249, '\x01'), i);
        REQUIRE(::symlink(target.c_str(), (deep / name).c_str()) == 0);
    }
    std::string kept;
    auto options = reading_of(folder_trust::students);
    options.on_chunk = [&](const chunk_digest&, std::string_view data) -> result<void> {
        kept += data;
        return {};
    };
    const auto read = read_tree(folder.path(), options);
    REQUIRE(read);
    CHECK(read->tree.entries().size() > 2'500);
    CHECK(read->tree.entries().size() < links);
    CHECK(read->complaints.size() == 101);
    CHECK(has_text(read->complaints[0], "the manifest has no room for it"));
    CHECK(has_text(refusal_of_folder(folder.path()), "the manifest has no room for it"));
    CHECK(kept == "has room"); // what is left out is not read
}

TEST_CASE("chunks come out of the folder that was named, as long as it is what it was") {
    const chalk::test::temporary_folder folder;
    const auto outside = folder.write("outside/deep/file", secret);
    const std::string large = std::string(chunk_size.count, 'x') + "end";
    folder.write("work/deep/file", large);
    folder.write("work/other", secret); // so that the secret's name is one of the tree's
    const auto place = folder.path() / "work";
    const auto tree = read_tree(place, {}).value().tree;
    const auto source = folder_source::open(place, tree).value();
    CHECK(source.read(name_chunk("end")).value() == "end");
    CHECK(source.read(name_chunk(std::string(chunk_size.count, 'x'))).value().size() == chunk_size.count);
    CHECK(source.read(name_chunk(secret)).value() == secret);
    CHECK_FALSE(source.read(name_chunk("never")));
    const auto refusal = [&](std::string_view content) {
        const auto read = source.read(name_chunk(content));
        REQUIRE_FALSE(read);
        return read.error().message;
    };
    fs::resize_file(place / "deep/file", chunk_size.count + 1);
    CHECK(has_text(refusal("end"), "\"deep/file\": changed"));
    // Not even what is right is read through a link.
    fs::remove(place / "other");
    fs::create_symlink(outside, place / "other");
    CHECK(has_text(refusal(secret), "\"other\""));
    fs::remove_all(place / "deep");
    folder.write("outside/deep/file", large);
    fs::create_directory_symlink("../outside/deep", place / "deep");
    CHECK(has_text(refusal("end"), "\"deep/file\""));
    fs::remove(place / "other");
    REQUIRE(::mkfifo((place / "other").c_str(), 0600) == 0);
    CHECK(has_text(refusal(secret), "changed"));
    CHECK_FALSE(folder_source::open(folder.path() / "absent", tree));
}
