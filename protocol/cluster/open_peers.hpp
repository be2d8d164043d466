/// The connections that were let in: counts them, and looks at them again after a reload.
/// Owner: a front or a dialer. Belongs to the io thread.
#pragma once

#include "protocol/cluster/pump.hpp"
#include "protocol/core/unique_fd.hpp"

#include <boost/asio/io_context.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <vector>

namespace chalk::cluster {

/// Two ends of a local stream: one for a pump, one to hand out.
struct local_pair {
    pump::local_socket ours;
    unique_fd theirs;
};
/// error_class::harness: out of descriptors.
[[nodiscard]] result<local_pair> make_local_pair(boost::asio::io_context& io);

class open_peers : public std::enable_shared_from_this<open_peers> {
  public:
    /// `shown_by`: which side all these peers are.
    explicit open_peers(tls_role shown_by) : shown_by_(shown_by) {}

    /// Any thread.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t size_of(const node_name& name) const;

    /// Pumps from now on, until both directions end or it is cut.
    void add(tls_stream remote, pump::local_socket local, known_peer peer, std::string address);

    /// Cuts off whoever could not come in any more. Says whom.
    [[nodiscard]] std::vector<refusal> recheck(const peer_check& now);
    void cut_all();

  private:
    struct connection {
        known_peer peer;
        std::string address;
        std::shared_ptr<pump> moving;
    };
    void forget(std::uint64_t number);

    tls_role shown_by_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, connection> open_;
    std::map<node_name, std::size_t> of_name_;
    std::atomic<std::size_t> size_ = 0; ///< open_'s
};

} // namespace chalk::cluster
