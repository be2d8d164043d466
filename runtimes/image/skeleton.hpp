/// The part of a root file system that is made up for sandboxes that stand on the host's own /usr: an /etc with the
/// three users a sandbox has, the host's configuration that programs under /usr need and that everyone may read, and
/// empty places for everything else. Nothing of the host's /home, /root, /run, /tmp, /var.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/tree_owners.hpp"

#include <string>
#include <vector>

namespace chalk::image {

/// Top-level names that are folders of their own on this host, not links into /usr: to be shown beside /usr.
[[nodiscard]] std::vector<std::string> system_folders();

/// Made anew whenever what it is made from has changed. The entry's folder "tree" is the skeleton.
[[nodiscard]] result<cache_entry> get_skeleton(const cache& where, const tree_owners& owners);

/// The /etc files that say who is who and where: the same in every sandbox, host's /usr or not.
struct identity_file {
    std::string name;
    std::string text;
};
[[nodiscard]] const std::vector<identity_file>& identity_files();

} // namespace chalk::image
