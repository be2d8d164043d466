/// How a callback on the io thread reaches an actor without keeping it alive: an actor's state often owns the object
/// that owns the callback, and a strong handle there would be a cycle.
#pragma once

#include <caf/all.hpp>

#include <utility>

namespace chalk::actors {

template<class Handle>
class weak_handle {
  public:
    explicit weak_handle(const Handle& to) : to_(caf::actor_cast<caf::actor_control_block*>(to)) {}

    /// False when the actor is gone.
    template<class Message>
    bool send(Message message) const {
        auto strong = to_.lock();
        if (!strong) {
            return false;
        }
        caf::anon_send(caf::actor_cast<Handle>(std::move(strong)), std::move(message));
        return true;
    }

  private:
    caf::weak_actor_ptr to_;
};

} // namespace chalk::actors
