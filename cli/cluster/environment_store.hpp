/// The environments that a node has: fetched once each into a cache, materialised for as long as the process lives, and
/// read there once for each sweep that has runs of them.
///
/// Owner: the node's supply. Any thread.
#pragma once

#include "cli/cluster/node_site.hpp"
#include "protocol/core/result.hpp"
#include "protocol/store/bulk_peer.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chalk::cli {

class environment_store : public std::enable_shared_from_this<environment_store> {
  public:
    /// `folder` is the store's alone, and emptied: it is made again from the cache at the cost of a copy, and what an
    /// earlier process left there may have been changed by its runs. `fetch` brings a tree to a folder.
    using fetcher =
        std::function<void(const store::tree_digest&, const std::filesystem::path&, std::function<void(result<void>)>)>;
    using executor = std::function<void(std::function<void()>)>;
    /// error_class::harness: the folder cannot be emptied.
    [[nodiscard]] static result<std::shared_ptr<environment_store>> open(std::filesystem::path folder, fetcher fetch,
                                                                         executor pool);

    /// Makes environment `name` of `site` ready: `done` is called once, from any thread.
    void prepare(const std::shared_ptr<node_site>& site, const std::string& name,
                 std::function<void(result<void>)> done);
    /// The names (64 hex digits) of all trees that are here.
    [[nodiscard]] std::set<std::string, std::less<>> held() const;

  private:
    environment_store(std::filesystem::path folder, fetcher fetch, executor pool)
        : folder_(std::move(folder)), fetch_(std::move(fetch)), pool_(std::move(pool)) {}
    void fetched(const store::tree_digest& tree, const result<void>& how);
    void read(const std::shared_ptr<node_site>& site, const std::string& name, const std::filesystem::path& folder,
              std::function<void(result<void>)> done);

    struct waiting {
        std::shared_ptr<node_site> site;
        std::string name;
        std::function<void(result<void>)> done;
    };

    std::filesystem::path folder_;
    fetcher fetch_;
    executor pool_;
    mutable std::mutex mutex_;
    std::map<std::string, std::filesystem::path> here_;  ///< by tree
    std::map<std::string, std::vector<waiting>> coming_; ///< by tree
};

} // namespace chalk::cli
