/// The coordinator's end of its cluster: where nodes come in, the nodes that it dials, and what it hands to the tree.
#pragma once

#include "actors/tree.hpp"
#include "cli/cluster/bulk_desk.hpp"
#include "cli/cluster/environment_trees.hpp"
#include "cli/cluster/peer_identity.hpp"
#include "cli/cluster/redialer.hpp"
#include "config/cluster_file.hpp"
#include "protocol/cluster/front.hpp"
#include "protocol/net/metrics_server.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chalk::cli {

/// Owner: the command. Made before the tree, so that what cannot work is said before anything starts; its peers are
/// handed on from start() until it dies, which has to be before the tree does.
class coordinator_site {
  public:
    using speaker = std::function<void(const std::string&)>;

    /// Blocking: reads the certificates and listens. `say` is for what a person should know; any thread. error_class::
    /// config names what to mend; error_class::harness: a part of this build is missing.
    /// `trees` are what nodes fetch.
    [[nodiscard]] static result<std::unique_ptr<coordinator_site>> open(boost::asio::io_context& io,
                                                                        config::cluster_file cluster,
                                                                        const std::vector<environment_tree>& trees,
                                                                        speaker say);
    coordinator_site(const coordinator_site&) = delete;
    coordinator_site& operator=(const coordinator_site&) = delete;
    ~coordinator_site();

    /// The port that nodes come to; 0 when none is listened on.
    [[nodiscard]] std::uint16_t port() const noexcept { return front_ ? front_->port() : 0; }
    [[nodiscard]] const config::cluster_file& cluster() const noexcept { return cluster_; }

    /// What the tree is to know of this end of it: its links, and where results land.
    void describe(actors::cluster_plan& plan);
    /// From now on, peers are the tree's.
    void start(actors::run_tree& tree);
    /// The certificates were changed.
    [[nodiscard]] result<void> reload();

  private:
    /// What handlers that are under way hold, which may outlive this object.
    struct shared {
        std::mutex mutex;
        actors::run_tree* tree = nullptr;
        std::shared_ptr<bulk_desk> bulk;
    };

    coordinator_site(boost::asio::io_context& io, config::cluster_file cluster, speaker say);
    [[nodiscard]] result<void> listen(const peer_identity& identity);
    [[nodiscard]] result<void> prepare_dialling(const peer_identity& identity);
    [[nodiscard]] result<void> serve_metrics();
    void add_redialer(const cluster::dial_target& target);
    /// `by` has dialled it; null: it came.
    static void hand_on(const std::shared_ptr<shared>& to, cluster::peer_connection peer,
                        const std::shared_ptr<redialer>& by);

    boost::asio::io_context& io_;
    config::cluster_file cluster_;
    speaker say_;
    const actors::link_library* library_ = nullptr;
    std::shared_ptr<shared> shared_ = std::make_shared<shared>();
    std::shared_ptr<cluster::front> front_;
    std::shared_ptr<cluster::dialer> dialer_;
    std::unique_ptr<metrics_server> metrics_;
    std::vector<std::shared_ptr<redialer>> redialers_;
};

} // namespace chalk::cli
