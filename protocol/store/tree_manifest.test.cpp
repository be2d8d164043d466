#include "protocol/store/tree_manifest.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/manifest_lines.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace chalk;
using namespace chalk::store;

namespace {

tree_entry a_file(std::string path, std::string_view content = {}) {
    tree_entry entry{std::move(path), entry_kind::file, false, {content.size()}, {}, {}};
    for (std::size_t at = 0; at < content.size(); at += chunk_size.count) {
        entry.chunks.push_back(name_chunk(content.substr(at, chunk_size.count)));
    }
    return entry;
}

tree_entry a_folder(std::string path) {
    return {std::move(path), entry_kind::folder, false, {}, {}, {}};
}

tree_entry a_link(std::string path, std::string target) {
    return {std::move(path), entry_kind::symlink, false, {}, {}, std::move(target)};
}

std::string with_head(std::size_t entries, const std::string& lines) {
    return fmt::format(R"({{"chunk_bytes":1048576,"entries":{},"type":"chalk tree","version":1}})", entries) + "\n" +
           lines;
}

/// Why the text is refused.
std::string refusal_of(const std::string& text) {
    const auto parsed = tree_manifest::parse(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().kind == error_class::harness);
    return parsed.error().message;
}

std::string refusal_of_entries(std::vector<tree_entry> entries) {
    const auto made = tree_manifest::make(std::move(entries));
    REQUIRE_FALSE(made);
    return made.error().message;
}

bool mentions_all(const std::string& text, std::initializer_list<std::string_view> parts) {
    return std::all_of(parts.begin(), parts.end(), [&](auto part) { return text.find(part) != std::string::npos; });
}

std::string folder_line(std::string_view path) {
    return fmt::format("{{\"kind\":\"folder\",\"path\":{}}}\n", dump_json(std::string(path)));
}

std::string link_line(std::string_view path, std::string_view target) {
    return fmt::format("{{\"kind\":\"symlink\",\"path\":\"{}\",\"target\":\"{}\"}}\n", path, target);
}

const std::string empty_file = R"({"chunks":[],"executable":false,"kind":"file","path":"a","size":0})"
                               "\n";

} // namespace

TEST_CASE("a tree's name does not depend on the order in which its entries were found") {
    std::vector<tree_entry> entries{a_file("b/x", "hello"), a_folder("b"), a_link("b/l", "../a"), a_file("a"),
                                    a_file("b-c", std::string(3'000'000, 'x'))};
    entries[3].executable = true;
    const auto first = tree_manifest::make(entries).value();
    std::mt19937 random(7);
    for (int i = 0; i < 20; ++i) {
        std::shuffle(entries.begin(), entries.end(), random);
        CHECK(tree_manifest::make(entries).value().digest() == first.digest());
    }
    CHECK(first.size() == bytes{3'000'005});
    CHECK(first.entries()[2].chunks.size() == 3);
    // Its name is the sum of its text, and its text is what it was when other machines wrote it.
    CHECK(first.digest().sum == sha256(first.text()));
    CHECK(first.text().substr(0, with_head(5, "").size()) == with_head(5, ""));
    CHECK(tree_manifest::make({a_file("a")}).value().text() == with_head(1, empty_file));
    CHECK(tree_manifest().text() == with_head(0, ""));
    CHECK(tree_manifest().digest() == tree_manifest::parse(with_head(0, "")).value().digest());
}

TEST_CASE("what a manifest writes it reads again") {
    const auto made = tree_manifest::make({a_folder("d"), a_file("d/\xc3\xa9 \n\"", "1"), a_link("d/l", "./x//y/")});
    REQUIRE(made);
    const auto read = tree_manifest::parse(made->text());
    REQUIRE(read);
    CHECK(read->digest() == made->digest());
    CHECK(read->text() == made->text());
    CHECK(read->size() == made->size());
}

TEST_CASE("a tree needs each chunk once, in order, whoever has it") {
    const std::string full(chunk_size.count, 'x');
    const auto made = tree_manifest::make({a_file("a", full + full + "end"), a_file("b", full), a_file("c", "end")});
    const auto needs = made.value().chunks();
    REQUIRE(needs.size() == 2);
    CHECK(needs[0].name == name_chunk(full));
    CHECK(needs[0].size == chunk_size);
    CHECK(needs[1].name == name_chunk("end"));
    CHECK(needs[1].size == bytes{3});
}

TEST_CASE("a manifest refuses a path that leaves the tree or has two spellings, with its place") {
    for (const auto* path : {"", "/", "/etc/passwd", "..", "../x", "a/../b", "a/..", ".", "./a", "a/.", "a//b", "a/"}) {
        INFO(path);
        CHECK(mentions_all(refusal_of(with_head(1, folder_line(path))), {"line 2", "path"}));
    }
    CHECK(mentions_all(refusal_of(with_head(1, "{\"kind\":\"folder\",\"path\":\"a\\u0000b\"}\n")), {"line 2", "NUL"}));
    CHECK(mentions_all(refusal_of(with_head(1, folder_line(std::string(256, 'n')))), {"line 2", "255"}));
    CHECK(mentions_all(refusal_of_entries({a_folder(std::string(2000, 'n'))}), {"1024"}));
    CHECK(mentions_all(refusal_of_entries({a_folder("bad\xff")}), {"UTF-8"}));
    std::string deep = "d";
    for (std::size_t i = 0; i < max_path_depth; ++i) {
        deep += "/d";
    }
    CHECK(mentions_all(refusal_of_entries({a_folder(deep)}), {"64 folders deep"}));
}

TEST_CASE("a manifest refuses two entries for one path and a file where a folder has to be") {
    CHECK(mentions_all(refusal_of(with_head(2, empty_file + empty_file)), {"line 3 (\"a\")", "twice"}));
    CHECK(mentions_all(refusal_of(with_head(2, empty_file + folder_line("a"))), {"line 3 (\"a\")", "twice"}));
    CHECK(mentions_all(refusal_of(with_head(2, empty_file + folder_line("a/b"))), {"line 3 (\"a/b\")", "no folder"}));
    CHECK(mentions_all(refusal_of(with_head(2, link_line("a", ".") + folder_line("a/b"))), {"line 3", "no folder"}));
    CHECK(mentions_all(refusal_of(with_head(1, folder_line("a/b"))), {"line 2", "no folder"}));
    CHECK(mentions_all(refusal_of(with_head(2, folder_line("b") + folder_line("a"))), {"line 3", "out of order"}));
}

TEST_CASE("a manifest refuses a symlink that leaves the tree, also by way of another link") {
    for (const auto* target : {"/", "/etc", "..", "../..", "x/..", "a/../../b", "./..", "a/./.."}) {
        INFO(target);
        CHECK(mentions_all(refusal_of(with_head(1, link_line("l", target))), {"line 2 (\"l\")", "leave"}));
    }
    // p/q/top is the tree itself, so that p/q/top/.. would be what holds it, though it looks like p/q.
    CHECK(mentions_all(
        refusal_of_entries({a_folder("p"), a_folder("p/q"), a_link("p/q/top", "../.."), a_link("z", "p/q/top/..")}),
        {"\"z\"", "behind a name"}));
    CHECK(mentions_all(refusal_of(with_head(1, link_line("l", ""))), {"empty"}));
    CHECK(mentions_all(refusal_of_entries({a_link("l", std::string("a\0b", 3))}), {"NUL"}));
    CHECK(tree_manifest::make({a_folder("p"), a_folder("p/q"), a_link("p/q/l", "../../gone/x")}));
    CHECK(
        mentions_all(refusal_of_entries({a_folder("p"), a_folder("p/q"), a_link("p/q/l", "../../../x")}), {"leaves"}));
}

TEST_CASE("a manifest refuses absurd sizes and counts before it believes them") {
    const auto sized = [](const std::string& size, const std::string& chunks) {
        return with_head(
            1, fmt::format(R"({{"chunks":[{}],"executable":false,"kind":"file","path":"a","size":{}}})", chunks, size) +
                   "\n");
    };
    const auto sum = "\"" + std::string(64, '0') + "\"";
    CHECK(mentions_all(refusal_of(sized("18446744073709551615", "")), {"line 2 (\"a\")", "larger"}));
    CHECK(mentions_all(refusal_of(sized("17179869185", "")), {"larger than 17179869184"}));
    CHECK(mentions_all(refusal_of(sized("17179869184", sum)), {"are 16384 chunks, not 1"}));
    CHECK(mentions_all(refusal_of(sized("0", sum)), {"0 chunks, not 1"}));
    CHECK(mentions_all(refusal_of(sized("1", "")), {"1 chunks, not 0"}));
    for (const auto* size : {"-1", "1.5", "1e3", "99999999999999999999999", "\"1\"", "null"}) {
        INFO(size);
        CHECK(mentions_all(refusal_of(sized(size, sum)), {"line 2"}));
    }
    for (const auto& bad : {std::string("\"00\""), "\"" + std::string(64, 'A') + "\"", std::string("7"),
                            "\"" + std::string(63, '0') + "g\""}) {
        CHECK(mentions_all(refusal_of(sized("1", bad)), {"line 2 (\"a\")", "chunks[0]"}));
    }
    CHECK(mentions_all(refusal_of(with_head(max_tree_entries + 1, "")), {"line 1", "100001 entries"}));
    CHECK(mentions_all(refusal_of(with_head(2, empty_file)), {"line 3", "cut off"}));
    CHECK(mentions_all(refusal_of(with_head(0, empty_file)), {"line 2", "more than the 0 entries"}));
    CHECK(mentions_all(refusal_of(std::string(33U << 20U, ' ')), {"33554432 bytes"}));
    CHECK(mentions_all(refusal_of(with_head(1, std::string(2U << 20U, '[') + "\n")), {"line 2", "longer than"}));
    // Files that are each within their bound, and together are not.
    std::vector<tree_entry> many;
    const std::vector<chunk_digest> chunks(16384, name_chunk("x"));
    for (int i = 0; i < 5; ++i) {
        many.push_back({fmt::format("f{}", i), entry_kind::file, false, max_file_size, chunks, {}});
    }
    CHECK(mentions_all(refusal_of_entries(many), {"\"f4\"", "the tree is larger"}));
}

TEST_CASE("entries are made into a manifest up to the last byte that it may have, and refused from the next") {
    std::vector<tree_entry> many;
    const std::string level(255, 'p');
    const auto long_target = fmt::format("{0}/{0}/{0}/{0}", std::string(250, 'x')); // 1003 bytes
    std::string parent;
    for (int i = 0; i < 3; ++i) {
        parent += (i == 0 ? "" : "/") + level;
        many.push_back(a_folder(parent));
    }
    while (many.size() < 18'400) {
        many.push_back(a_link(fmt::format("{}/{:05}", parent, many.size()), long_target));
    }
    // What is left of the bound, as links' targets.
    auto used = manifest_head(many.size()).size() + 1;
    for (const auto& entry : many) {
        used += manifest_line_length(entry);
    }
    REQUIRE(used < max_manifest_text.count);
    auto left = max_manifest_text.count - used;
    for (auto entry = many.begin() + 3; left > 0; ++entry) {
        REQUIRE(entry != many.end());
        const auto more = std::min<std::size_t>(left, max_path_length - entry->target.size());
        for (std::size_t i = 0; i < more; ++i) {
            entry->target += i % 200 == 0 ? '/' : 'y';
        }
        left -= more;
    }
    const auto made = tree_manifest::make(many);
    REQUIRE(made);
    CHECK(made->text().size() == max_manifest_text.count);
    many.back().target += 'y';
    CHECK(mentions_all(refusal_of_entries(many), {"18399", "has no room", "33554432 bytes"}));
}

TEST_CASE("a line's length is known before its chunks are named") {
    const std::string full(chunk_size.count, 'x');
    for (auto entry : {a_file("a"), a_file("a", "x"), a_file("\xc3\xa9\n\x7f\"\\", full + full + "x"), a_folder("d/\t"),
                       a_link("l", "\x01/x")}) {
        const auto length = manifest_line(entry).size() + 1;
        entry.chunks.clear();
        CHECK(manifest_line_length(entry) == length);
    }
}

TEST_CASE("a manifest refuses one chunk with two sizes, which nobody could ever send") {
    auto whole = a_file("a", std::string(chunk_size.count, 'x'));
    auto part = a_file("b", "x");
    part.chunks = whole.chunks;
    CHECK(mentions_all(refusal_of_entries({whole, part}), {"\"b\"", "1048576 elsewhere"}));
}

TEST_CASE("a manifest has one spelling: whatever else means the same is refused") {
    REQUIRE(tree_manifest::parse(with_head(1, empty_file)));
    for (const auto* line : {R"({"executable":false,"chunks":[],"kind":"file","path":"a","size":0})",
                             R"({"chunks":[],"executable":false,"kind":"file","path":"a","size":0} )",
                             R"({"chunks":[],"executable":false,"kind":"file","path":"\u0061","size":0})",
                             R"({"chunks":[],"executable":false,"kind":"file","path":"a","path":"a","size":0})",
                             R"({"chunks":[],"executable":false,"kind":"file","mode":1,"path":"a","size":0})",
                             R"({"chunks":[],"executable":false,"kind":"file","path":"a","size":0,"target":"x"})",
                             R"({"chunks":[],"executable":0,"kind":"file","path":"a","size":0})",
                             R"({"chunks":[],"executable":false,"kind":"device","path":"a","size":0})",
                             R"({"chunks":[],"kind":"file","path":"a","size":0})", R"({"kind":"symlink","path":"a"})",
                             R"(["a"])", "", "nonsense"}) {
        INFO(line);
        CHECK(mentions_all(refusal_of(with_head(1, std::string(line) + "\n")), {"line 2"}));
    }
    auto no_break = with_head(1, empty_file);
    no_break.pop_back();
    CHECK(mentions_all(refusal_of(no_break), {"cut off"}));
    for (const auto* head : {"", "\n", "{}\n", "[]\n", "{\"entries\":0}\n",
                             "{\"chunk_bytes\":1048576,\"entries\":0,\"type\":\"chalk tree\",\"version\":2}\n"}) {
        INFO(head);
        CHECK(mentions_all(refusal_of(head), {"line 1"}));
    }
}
