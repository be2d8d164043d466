#include "protocol/store/manifest_lines.hpp"

#include "protocol/core/json_text.hpp"

namespace chalk::store {

namespace {

/// Of a sum in hex, with its quotes and the comma before the next.
constexpr std::size_t sum_in_line = 67;

/// All but the sums of a file's chunks.
json line_without_sums(const tree_entry& entry) {
    json line{{"kind", to_string(entry.kind)}, {"path", entry.path}};
    if (entry.kind == entry_kind::file) {
        line["chunks"] = json::array();
        line["executable"] = entry.executable;
        line["size"] = entry.size.count;
    } else if (entry.kind == entry_kind::symlink) {
        line["target"] = entry.target;
    }
    return line;
}

} // namespace

std::string manifest_head(std::size_t entries) {
    return dump_json({{"chunk_bytes", chunk_size.count}, {"entries", entries}, {"type", "chalk tree"}, {"version", 1}});
}

std::string manifest_line(const tree_entry& entry) {
    auto line = line_without_sums(entry);
    for (const auto& chunk : entry.chunks) {
        line["chunks"].push_back(chunk.hex());
    }
    return dump_json(line);
}

std::size_t manifest_line_length(const tree_entry& entry) {
    const auto chunks = count_chunks(entry.size);
    const auto sums = chunks == 0 ? 0 : chunks * sum_in_line - 1; // no comma behind the last
    return dump_json(line_without_sums(entry)).size() + sums + 1;
}

} // namespace chalk::store
