/// One end of a local socket pair as CAF's network sees a connection. Checks each frame before CAF reads it
/// (link_frames.hpp) and says when and why the connection ended. All on CAF's network thread.
///
/// CAF numbers a connection by its descriptor, and still has words of an old connection in a queue when the descriptor
/// has been given to a new one. So a link has a number of its own that never comes again.
///
/// Owner: CAF's broker and, while bytes are under way, its event loop. Its death closes the descriptor.
#pragma once

#include "actors/cluster/link_frames.hpp"
#include "actors/cluster/link_number.hpp"
#include "protocol/core/unique_fd.hpp"

#include <caf/io/network/scribe_impl.hpp>

#include <string>
#include <string_view>

namespace chalk::actors {

/// What the scribe's broker has to be, too.
class link_watcher {
  public:
    /// The peer's handshake is complete and CAF has not seen it yet.
    virtual void handshake_came(link_number number, std::string_view payload) = 0;
    /// The broker has nothing more to do with that link. `why` is for a person.
    virtual void link_ended(link_number number, const std::string& why) = 0;

  protected:
    ~link_watcher() = default;
};

class link_scribe final : public caf::io::network::scribe_impl {
  public:
    link_scribe(caf::io::network::default_multiplexer& loop, unique_fd socket, link_number number, link_side side,
                bytes most_payload);

    /// What link_ended() is told in place of what CAF finds, unless something was said before.
    void blame(std::string why);

    bool consume(caf::execution_unit* ctx, const void* data, std::size_t size) override;
    // CAF asks the socket, and aborts on a local one.
    std::string addr() const override { return {}; }
    std::uint16_t port() const override { return 0; }

  protected:
    void detach_from(caf::io::abstract_broker* broker) override;

  private:
    link_number number_;
    link_frames frames_;
    std::string why_;
};

} // namespace chalk::actors
