// Any text is refused with a line, or it is a manifest that writes itself as exactly this text, whose every path and
// link stays below the folder that it is made in.

#include "protocol/store/tree_manifest.hpp"

#include <cstdint>
#include <cstdlib>

namespace {

using namespace chalk;
using namespace chalk::store;

/// An independent look: where the link's target ends when each name in it is taken as a folder.
bool stays_inside(const tree_entry& link) {
    long depth = 0;
    for (const char c : link.path) {
        depth += c == '/' ? 1 : 0;
    }
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

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto read = tree_manifest::parse(text);
    if (!read) {
        if (read.error().message.find("line ") == std::string::npos) {
            std::abort();
        }
        return 0;
    }
    if (read->text() != text || read->digest().sum != sha256(text)) {
        std::abort();
    }
    bytes total;
    for (const auto& entry : read->entries()) {
        const auto path = '/' + entry.path + '/';
        if (path.find("//") != std::string::npos || path.find("/../") != std::string::npos ||
            path.find("/./") != std::string::npos || path.find('\0') != std::string::npos ||
            (entry.kind == entry_kind::symlink && !stays_inside(entry))) {
            std::abort();
        }
        total = total + entry.size;
    }
    if (total != read->size() || !tree_manifest::make(read->entries())) {
        std::abort();
    }
    return 0;
}
