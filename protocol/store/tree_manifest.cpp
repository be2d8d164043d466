#include "protocol/store/tree_manifest.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/manifest_lines.hpp"
#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace chalk::store {

namespace {

/// An entry is an object that may hold an array.
constexpr std::size_t entry_depth = 2;

/// Of the largest file's entry: a sum takes 67 bytes, path and target 6 for each of theirs when all are escaped. A line
/// is bounded because a parsed one takes many times its length.
constexpr std::size_t max_entry_line = count_chunks(max_file_size) * 67 + 12 * max_path_length + 256;

failure refuse_tree(std::string_view place, std::string_view cause) {
    return harness_failure(fmt::format("tree manifest: {}: {}", place, cause));
}

/// A path from outside, fit for a log.
std::string quoted_path(std::string_view path) {
    return dump_json(std::string(path.substr(0, max_path_length)));
}

/// Cuts the first line and its break off `rest`. nullopt: there is no break.
std::optional<std::string_view> take_text_line(std::string_view& rest) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const auto line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
}

std::string read_chunks(const json& value, tree_entry& into) {
    const auto chunks = value.find("chunks");
    if (chunks == value.end() || !chunks->is_array()) {
        return "chunks: expected an array";
    }
    into.chunks.reserve(chunks->size());
    for (const auto& one : *chunks) {
        const auto sum = one.is_string() ? parse_sha256(one.get_ref<const std::string&>()) : std::nullopt;
        if (!sum) {
            return fmt::format("chunks[{}]: expected 64 hex digits", into.chunks.size());
        }
        into.chunks.push_back({*sum});
    }
    return {};
}

std::string read_content(const json& value, tree_entry& into) {
    if (into.kind == entry_kind::symlink) {
        const auto target = value.find("target");
        if (target == value.end() || !target->is_string()) {
            return "target: expected a string";
        }
        into.target = target->get<std::string>();
        return {};
    }
    if (into.kind == entry_kind::folder) {
        return {};
    }
    const auto executable = value.find("executable");
    if (executable == value.end() || !executable->is_boolean()) {
        return "executable: expected true or false";
    }
    into.executable = executable->get<bool>();
    const auto size = value.find("size");
    if (size == value.end() || !size->is_number_unsigned()) {
        return "size: expected a number from 0";
    }
    into.size = bytes{size->get<std::uint64_t>()};
    return read_chunks(value, into);
}

/// The cause why not; empty: `into` is read.
std::string read_entry(const json& value, tree_entry& into) {
    const auto kind = value.find("kind");
    if (kind == value.end() || !kind->is_string()) {
        return "kind: expected a string";
    }
    const auto& name = kind->get_ref<const std::string&>();
    for (const auto known : {entry_kind::file, entry_kind::folder, entry_kind::symlink}) {
        if (name == to_string(known)) {
            into.kind = known;
            return read_content(value, into);
        }
    }
    return "kind: expected file, folder or symlink";
}

result<tree_entry> parse_entry(std::string_view line, std::size_t number) {
    const auto at = fmt::format("line {}", number);
    if (line.size() > max_entry_line) {
        return refuse_tree(at, fmt::format("longer than {} bytes", max_entry_line));
    }
    const auto parsed = parse_json(line, entry_depth);
    if (!parsed || !parsed->is_object()) {
        return refuse_tree(at, parsed ? "not an object" : parsed.error().message);
    }
    tree_entry entry;
    const auto path = parsed->find("path");
    if (path == parsed->end() || !path->is_string()) {
        return refuse_tree(at, "path: expected a string");
    }
    entry.path = path->get<std::string>();
    const auto place = fmt::format("{} ({})", at, quoted_path(entry.path));
    if (auto cause = read_entry(*parsed, entry); !cause.empty()) {
        return refuse_tree(place, cause);
    }
    // Doubled and unknown keys, spaces, another order of keys, 1e3: all of it would name one tree in two ways.
    if (manifest_line(entry) != line) {
        return refuse_tree(place, "not written as a manifest writes it");
    }
    return entry;
}

result<std::size_t> parse_head(std::string_view line) {
    if (line.size() > max_entry_line) {
        return refuse_tree("line 1", "not the head of a manifest");
    }
    const auto parsed = parse_json(line, 1);
    if (!parsed || !parsed->is_object()) {
        return refuse_tree("line 1", "not the head of a manifest");
    }
    const auto entries = parsed->find("entries");
    if (entries == parsed->end() || !entries->is_number_unsigned()) {
        return refuse_tree("line 1", "entries: expected a number from 0");
    }
    const auto count = entries->get<std::uint64_t>();
    if (count > max_tree_entries) {
        return refuse_tree("line 1", fmt::format("{} entries are more than {}", count, max_tree_entries));
    }
    if (manifest_head(count) != line) {
        return refuse_tree("line 1", "not the head of a manifest of this version");
    }
    return count;
}

} // namespace

tree_manifest::tree_manifest() : digest_{sha256(text())} {}

result<tree_manifest> tree_manifest::make(std::vector<tree_entry> entries) {
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
    tree_rules rules;
    auto text = manifest_head(entries.size()) + '\n';
    for (const auto& entry : entries) {
        if (auto fault = rules.find_fault(entry); !fault.empty()) {
            return refuse_tree(quoted_path(entry.path), fault);
        }
        const auto line = manifest_line(entry); // bounded by the rules: the whole is at most a line above its bound
        if (text.size() + line.size() + 1 > max_manifest_text.count) {
            return refuse_tree(
                quoted_path(entry.path),
                fmt::format("the manifest has no room for it: its text may have {} bytes", max_manifest_text.count));
        }
        text += line;
        text += '\n';
    }
    tree_manifest made(std::move(entries), rules.size());
    made.digest_ = {sha256(text)};
    return made;
}

result<tree_manifest> tree_manifest::parse(std::string_view text) {
    if (text.size() > max_manifest_text.count) {
        return refuse_tree("the whole", fmt::format("its text has more than {} bytes", max_manifest_text.count));
    }
    auto rest = text;
    const auto head = take_text_line(rest);
    const auto count = parse_head(head.value_or(std::string_view()));
    if (!count) {
        return count.error();
    }
    tree_rules rules;
    std::vector<tree_entry> entries;
    for (std::size_t number = 2; number < *count + 2; ++number) {
        const auto line = take_text_line(rest);
        if (!line) {
            return refuse_tree(fmt::format("line {}", number),
                               fmt::format("cut off: {} entries were announced", *count));
        }
        auto entry = parse_entry(*line, number);
        if (!entry) {
            return entry.error();
        }
        if (auto fault = rules.find_fault(*entry); !fault.empty()) {
            return refuse_tree(fmt::format("line {} ({})", number, quoted_path(entry->path)), fault);
        }
        entries.push_back(std::move(*entry));
    }
    if (!rest.empty()) {
        return refuse_tree(fmt::format("line {}", *count + 2), fmt::format("more than the {} entries", *count));
    }
    tree_manifest read(std::move(entries), rules.size());
    read.digest_ = {sha256(text)};
    return read;
}

std::string tree_manifest::text() const {
    auto text = manifest_head(entries_.size()) + '\n';
    for (const auto& entry : entries_) {
        text += manifest_line(entry);
        text += '\n';
    }
    return text;
}

std::vector<chunk_need> tree_manifest::chunks() const {
    std::vector<chunk_need> needs;
    std::unordered_set<chunk_digest> seen;
    for (const auto& entry : entries_) {
        for (std::size_t i = 0; i < entry.chunks.size(); ++i) {
            if (seen.insert(entry.chunks[i]).second) {
                needs.push_back({entry.chunks[i], size_of_chunk(entry.size, i)});
            }
        }
    }
    return needs;
}

} // namespace chalk::store
