// Any text is refused with its line, or it is a manifest that writes itself as exactly this text, whose every path and
// link stays below the folder that it is made in. The same of the text with a manifest's head before it, and of a tree
// that is made of the text's lines ("dPATH" a folder, "fPATH" a file, "lPATH>TARGET" a link), so that there is
// something to take apart.

#include "protocol/store/tree_manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::store;

/// An independent look: where the link's target ends when each name in it is taken as a folder.
bool stays_inside(const tree_entry& link) {
    auto depth = std::count(link.path.begin(), link.path.end(), '/');
    std::string name;
    for (const char c : link.target + "/") {
        if (c != '/') {
            name += c;
            continue;
        }
        depth += name == ".." ? -1 : (name.empty() || name == "." ? 0 : 1);
        if (depth < 0) {
            return false;
        }
        name.clear();
    }
    return link.target.front() != '/';
}

void look_at_tree(const tree_manifest& tree) {
    bytes total;
    for (const auto& entry : tree.entries()) {
        const auto path = '/' + entry.path + '/';
        if (path.find("//") != std::string::npos || path.find("/../") != std::string::npos ||
            path.find("/./") != std::string::npos || path.find('\0') != std::string::npos ||
            (entry.kind == entry_kind::symlink && !stays_inside(entry))) {
            std::abort();
        }
        total = total + entry.size;
    }
    if (total != tree.size() || !tree_manifest::make(tree.entries())) {
        std::abort();
    }
}

void look_at_text(std::string_view text) {
    const auto read = tree_manifest::parse(text);
    if (!read) {
        if (read.error().message.find("line ") == std::string::npos) {
            std::abort();
        }
        return;
    }
    if (read->text() != text || read->digest().sum != sha256(text)) {
        std::abort();
    }
    look_at_tree(*read);
}

void look_at_lines(std::string_view text) {
    std::vector<tree_entry> entries;
    while (!text.empty()) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (line.empty()) {
            continue;
        }
        tree_entry entry;
        entry.path = line.substr(1);
        if (line.front() == 'd') {
            entry.kind = entry_kind::folder;
        } else if (line.front() == 'l') {
            entry.kind = entry_kind::symlink;
            const auto end = std::min(entry.path.find('>'), entry.path.size());
            entry.target = entry.path.substr(std::min(end + 1, entry.path.size()));
            entry.path.resize(end);
        } else {
            entry.size = bytes{entry.path.size()};
            entry.chunks.assign(entry.path.empty() ? 0 : 1, name_chunk(entry.path));
        }
        entries.push_back(std::move(entry));
    }
    if (const auto made = tree_manifest::make(std::move(entries))) {
        look_at_tree(*made);
        const auto read = tree_manifest::parse(made->text());
        if (!read || read->digest() != made->digest()) {
            std::abort(); // what one machine makes, the other has to take
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    look_at_text(text);
    look_at_text(fmt::format(R"({{"chunk_bytes":1048576,"entries":{},"type":"chalk tree","version":1}})",
                             std::count(text.begin(), text.end(), '\n')) +
                 '\n' + std::string(text));
    look_at_lines(text);
    return 0;
}
