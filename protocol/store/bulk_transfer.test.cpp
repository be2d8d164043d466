// All parts of a transfer at once, with bytes instead of a connection: cut at any byte, and damaged on the way.

#include "protocol/store/bulk_messages.hpp"
#include "protocol/store/chunk_outbox.hpp"
#include "protocol/store/fetch_plan.hpp"
#include "protocol/store/folder_source.hpp"
#include "protocol/store/manifest_outbox.hpp"
#include "protocol/store/manifest_transfer.hpp"
#include "protocol/store/materialise.hpp"
#include "protocol/store/read_tree.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <random>

using namespace chalk;
using namespace chalk::store;

namespace {

/// The side that has the folder, for the time of one connection.
class sending_side {
  public:
    sending_side(const tree_manifest& tree, const folder_source& source)
        : tree_(tree), text_(std::make_shared<const std::string>(tree.text())), source_(source) {}

    /// What it answers to these bytes.
    std::string answer(std::string_view data) {
        std::string out;
        const auto fed = decoder_.feed(data, [&](bulk_message&& message) -> result<void> {
            if (const auto* wanted = std::get_if<want_tree>(&message); wanted != nullptr) {
                CHECK(wanted->tree == tree_.digest());
                return manifests_.want(*wanted);
            }
            return outbox_.want(std::get<want_chunks>(message));
        });
        REQUIRE(fed);
        while (manifests_.next_tree()) {
            manifests_.begin(text_);
            while (const auto piece = manifests_.next_piece()) {
                out += to_frame(*piece).value();
            }
        }
        while (const auto next = outbox_.next()) {
            out += to_frame(chunk_sent{next->chunk, source_.read(next->chunk).value()}).value();
            ++chunks_sent;
        }
        return out;
    }

    int chunks_sent = 0;

  private:
    const tree_manifest& tree_;
    shared_manifest_text text_;
    const folder_source& source_;
    bulk_decoder decoder_;
    manifest_outbox manifests_;
    chunk_outbox outbox_;
};

/// The side that wants it: what it knows outlives a connection, its decoder does not.
class fetching_side {
  public:
    fetching_side(const tree_digest& wanted, chunk_cache& cache) : wanted_(wanted), cache_(cache) {}

    std::string begin() {
        decoder_ = {};
        receiver_ = manifest_receiver(wanted_);
        if (!plan) {
            return to_frame(want_tree{wanted_}).value();
        }
        plan->connection_lost();
        return ask();
    }

    std::string take(std::string_view data) {
        std::string out;
        const auto fed = decoder_.feed(data, [&](bulk_message&& message) -> result<void> {
            if (auto* piece = std::get_if<manifest_piece>(&message); piece != nullptr) {
                auto added = receiver_.add(*piece);
                if (!added) {
                    return added.error();
                }
                if (*added) {
                    tree = std::move(**added);
                    pin_.emplace(cache_.pin(tree).value());
                    plan.emplace(
                        tree, [&](const chunk_need& one) { return cache_.holds(one); }, fetch_limits{3, 5});
                    out += ask();
                }
                return {};
            }
            const auto& sent = std::get<chunk_sent>(message);
            if (plan->arrived(sent.name, sent.data) == arrival::wanted) {
                REQUIRE(cache_.put(sent.name, sent.data));
            }
            out += ask();
            return {};
        });
        broken = !fed;
        return out;
    }

    bool broken = false;
    tree_manifest tree;
    std::optional<fetch_plan> plan;

  private:
    std::string ask() {
        auto names = plan->next();
        if (names.empty()) {
            return {};
        }
        const auto credits = static_cast<std::uint32_t>(names.size());
        return to_frame(want_chunks{wanted_, credits, std::move(names)}).value();
    }

    tree_digest wanted_;
    chunk_cache& cache_;
    bulk_decoder decoder_;
    manifest_receiver receiver_{wanted_};
    std::optional<cache_pin> pin_;
};

} // namespace

TEST_CASE("a tree that is fetched over connections that break and bytes that change is the tree that was offered") {
    const chalk::test::temporary_folder folder;
    for (int i = 0; i < 30; ++i) {
        folder.write(fmt::format("from/d{}/f", i),
                     std::string(static_cast<std::size_t>(i) * 700, static_cast<char>(i)));
    }
    folder.write("from/large", std::string(2 * chunk_size.count, 'x') + "end"); // one chunk, twice
    const auto tree = read_tree(folder.path() / "from", {}).value().tree;
    const auto source = folder_source::open(folder.path() / "from", tree).value();
    for (unsigned seed = 0; seed < 5; ++seed) {
        std::mt19937 random(seed);
        const auto place = folder.path() / fmt::format("cache-{}", seed);
        const auto cache = chunk_cache::open(place, {16_MiB, milliseconds{5000}}).value();
        fetching_side receiver(tree.digest(), *cache);
        int sent = 0;
        int connections = 0;
        while (!receiver.plan || !receiver.plan->done()) {
            REQUIRE(++connections < 100);
            REQUIRE((!receiver.plan || !receiver.plan->trouble()));
            sending_side sender(tree, source);
            auto to_sender = receiver.begin();
            for (bool alive = true; alive && !to_sender.empty();) {
                auto to_receiver = sender.answer(to_sender);
                const bool cut = random() % 4 == 0;
                if (cut) {
                    to_receiver.resize(random() % (to_receiver.size() + 1));
                } else if (random() % 8 == 0 && receiver.plan && to_receiver.size() > 40) {
                    to_receiver.back() = static_cast<char>(to_receiver.back() + 1); // in a chunk's content
                }
                to_sender = receiver.take(to_receiver);
                alive = !cut && !receiver.broken;
            }
            sent += sender.chunks_sent;
        }
        CHECK(sent >= static_cast<int>(tree.chunks().size()));
        const auto target = folder.path() / fmt::format("to-{}", seed);
        REQUIRE(materialise(receiver.tree, *cache, target, durability::until_restart).value().empty());
        CHECK(read_tree(target, {}).value().tree.digest() == tree.digest());
    }
}
