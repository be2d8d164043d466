#include "cli/cluster/bulk_desk.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <future>
#include <system_error>
#include <utility>

namespace chalk::cli {

namespace {

/// Folders that are made and synced at a time, of all nodes together.
constexpr std::size_t bulk_threads = 8;

} // namespace

bulk_desk::bulk_desk(boost::asio::io_context& io, speaker say)
    : io_(io), say_(std::move(say)), pool_(actors::make_blocking_pool(bulk_threads)) {}

result<std::shared_ptr<bulk_desk>> bulk_desk::make(boost::asio::io_context& io,
                                                   const std::vector<environment_tree>& trees, speaker say) {
    std::shared_ptr<bulk_desk> made(new bulk_desk(io, std::move(say)));
    for (const auto& tree : trees) {
        auto manifest = store::tree_manifest::parse(tree.manifest);
        if (!manifest) {
            return manifest.error();
        }
        made->shelf_->put(*manifest, tree.folder);
    }
    return made;
}

std::optional<std::filesystem::path> bulk_desk::place_of(const store::offer& made) const {
    auto place = places_->find(made.token);
    if (place) {
        std::error_code ec; // what cannot be made there is said by who makes the folder itself
        std::filesystem::create_directories(place->parent_path(), ec);
    }
    return place;
}

store::bulk_callbacks bulk_desk::callbacks_for(std::uint64_t number, const std::string& node,
                                               std::shared_ptr<redialer> by) {
    store::bulk_callbacks on;
    const auto weak = weak_from_this();
    on.on_offer = [weak](const store::offer& made) {
        const auto self = weak.lock();
        return self ? self->place_of(made) : std::nullopt;
    };
    on.on_lost = [weak, number, node, by = std::move(by)](const std::string& why) {
        const auto self = weak.lock();
        if (!self) {
            return;
        }
        if (by) {
            by->lost();
        }
        const std::scoped_lock held(self->mutex_);
        if (auto gone = self->peers_.extract(number)) {
            self->say_(fmt::format("the bulk connection with node {} is lost: {}", node, why));
            // Not here, in a call of its own.
            boost::asio::post(self->io_, [peer = std::move(gone.mapped())] {});
        }
    };
    return on;
}

void bulk_desk::attach(const std::string& node, unique_fd socket, std::shared_ptr<redialer> by) {
    std::shared_ptr<store::bulk_peer> peer;
    {
        const std::scoped_lock held(mutex_);
        if (closed_) {
            return;
        }
        const auto number = ++last_number_;
        peer = std::make_shared<store::bulk_peer>(
            io_, [pool = pool_](std::function<void()> work) { pool->submit(std::move(work)); }, shelf_, nullptr,
            callbacks_for(number, node, std::move(by)));
        peers_.emplace(number, peer);
    }
    peer->attach(std::move(socket));
}

void bulk_desk::close() {
    decltype(peers_) peers;
    {
        const std::scoped_lock held(mutex_);
        closed_ = true;
        peers = std::exchange(peers_, {});
    }
    std::promise<void> done;
    boost::asio::post(io_, [&] {
        peers.clear(); // there, so that none of their calls comes later
        done.set_value();
    });
    done.get_future().wait();
    pool_->shut_down();
}

} // namespace chalk::cli
