/// Which of the host's user ids a sandbox's are.
#pragma once

#include "protocol/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace chalk::namespaces {

/// Id 0 inside is `first` outside, and so on for `count` ids.
struct id_range {
    std::uint32_t first = 100'000;
    std::uint32_t count = 65'536;
    friend bool operator==(const id_range&, const id_range&) = default;
};

/// The first range in `table` (the text of /etc/subuid or /etc/subgid: "name:first:count" a line) that belongs to
/// `name` or `uid` and is large enough for a whole id space (65,536). A failure says what line to add.
[[nodiscard]] result<id_range> find_range(std::string_view table, std::string_view name, uid_t uid,
                                          const std::string& file);

/// The range this process's sandboxes use: its entry in /etc/subuid and /etc/subgid, which have to agree; root without
/// one takes 100000:65536.
[[nodiscard]] result<id_range> choose_range();

} // namespace chalk::namespaces
