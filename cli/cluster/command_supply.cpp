#include "cli/cluster/command_supply.hpp"

#include "actors/cluster/result_sheet.hpp"
#include "actors/cluster/token_wire.hpp"
#include "cli/cluster/run_sheet.hpp"
#include "protocol/store/read_tree.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <future>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

/// Environments that are read, results that are read and fetched trees that are made, at a time.
constexpr std::size_t supply_threads = 6;
/// A run that this process does not know is named so: the coordinator goes by the token.
constexpr std::string_view some_run = "result";

} // namespace

result<std::shared_ptr<command_supply>> command_supply::make(boost::asio::io_context& io, const own_keys& keys,
                                                             supply_settings settings) {
    std::shared_ptr<command_supply> made(new command_supply(keys, std::move(settings)));
    if (auto ready = made->open(io); !ready) {
        return ready.error();
    }
    return made;
}

result<void> command_supply::open(boost::asio::io_context& io) {
    io_ = &io;
    pool_ = actors::make_blocking_pool(supply_threads);
    auto cache = store::chunk_cache::open(settings_.folder / "cache", {settings_.cache});
    if (!cache) {
        return harness_failure(cache.error().message);
    }
    const auto pool = [pool = pool_](std::function<void()> work) { pool->submit(std::move(work)); };
    store::bulk_callbacks on;
    const auto weak = weak_from_this();
    on.on_landed = [weak](const store::offer& made) {
        if (const auto self = weak.lock()) {
            self->answer(made, {});
        }
    };
    on.on_refused = [weak](const store::offer& made, const store::bulk_error& why) {
        if (const auto self = weak.lock(); self && why.code == store::bulk_fault::offer_refused) {
            self->answer(made, harness_failure("the coordinator does not take its files: " + why.message));
        }
    };
    on.on_lost = [weak](const std::string&) {
        if (const auto self = weak.lock()) {
            self->settings_.want_bulk();
        }
    };
    bulk_ = std::make_shared<store::bulk_peer>(io, pool, shelf_, std::shared_ptr(std::move(*cache)), std::move(on));
    auto environments = environment_store::open(
        settings_.folder / "environments",
        [bulk = bulk_](const store::tree_digest& tree, const fs::path& target, std::function<void(result<void>)> done) {
            bulk->fetch(tree, target, store::durability::until_restart, std::move(done));
        },
        pool);
    if (!environments) {
        return environments.error();
    }
    environments_ = std::move(*environments);
    return {};
}

void command_supply::attach(unique_fd socket) {
    bulk_->attach(std::move(socket));
}

void command_supply::close() {
    std::promise<void> done;
    boost::asio::post(*io_, [&] {
        { // it shares the peer, which goes there, so that none of its calls comes later
            const std::scoped_lock held(mutex_);
            environments_.reset();
        }
        bulk_.reset();
        done.set_value();
    });
    done.get_future().wait();
    pool_->shut_down();
}

result<std::shared_ptr<node_site>> command_supply::site_of(const std::shared_ptr<const std::string>& sheet) {
    const std::scoped_lock held(mutex_);
    if (sheet_ && (sheet_ == sheet || *sheet_ == *sheet)) {
        sheet_ = sheet;
        return site_;
    }
    auto read = read_sweep_sheet(*sheet);
    if (!read) {
        return read.error();
    }
    auto made = node_site::make(std::move(*read), settings_.sandboxes, keys_);
    if (!made) {
        return failure{error_class::sandbox, made.error().message};
    }
    sheet_ = sheet;
    site_ = std::move(*made);
    return site_;
}

void command_supply::make_order(std::shared_ptr<const std::string> sweep_sheet, const actors::assignment_name&,
                                const std::string& run_text, const fs::path& folder,
                                std::function<void(result<actors::order_ptr>)> done) {
    auto run = read_run_sheet(run_text);
    if (!run) {
        done(run.error());
        return;
    }
    // The first run of a sweep makes its site, which looks at the disk.
    pool_->submit([self = shared_from_this(), sheet = std::move(sweep_sheet), run = std::move(*run), folder,
                   done = std::move(done)] {
        auto site = self->site_of(sheet);
        if (!site) {
            done(site.error());
            return;
        }
        const auto name = run.config.environment.string();
        const auto order = [site = *site, run, folder, done](const result<void>& ready) {
            done(ready ? result<actors::order_ptr>(site->order(run, folder))
                       : result<actors::order_ptr>(ready.error()));
        };
        if (const auto environments = self->environments()) {
            environments->prepare(*site, name, order);
        }
    });
}

std::shared_ptr<environment_store> command_supply::environments() {
    const std::scoped_lock held(mutex_);
    return environments_;
}

bool command_supply::wait_for(store::result_token token, std::function<void(result<void>)>& done) {
    {
        const std::scoped_lock held(mutex_);
        const auto found = offered_.find(token);
        if (found == offered_.end()) {
            return false;
        }
        if (!found->second.landed) {
            found->second.done = std::move(done); // the peer offers it on each connection by itself
            return true;
        }
    }
    done({});
    return true;
}

void command_supply::land(const actors::assignment_name& name, const fs::path& folder,
                          std::function<void(result<void>)> done) {
    if (wait_for(actors::to_wire(name.token), done)) {
        return;
    }
    pool_->submit([self = shared_from_this(), name, folder, done = std::move(done)]() mutable {
        self->offer_tree(name, folder, std::move(done));
    });
}

void command_supply::offer_tree(const actors::assignment_name& name, const fs::path& folder,
                                std::function<void(result<void>)> done) {
    store::read_tree_options how;
    how.trust = store::folder_trust::students;
    how.leave_out = [](const std::string& path) { return path == "result.json"; };
    auto read = store::read_tree(folder, how);
    if (!read) {
        done(read.error());
        return;
    }
    for (const auto& complaint : read->complaints) {
        settings_.say(complaint);
    }
    if (read->tree.entries().empty()) { // an attempt that never began has no files
        done({});
        return;
    }
    store::offer what;
    what.run = run_id::parse(some_run).value();
    what.attempt = name.attempt;
    what.token = actors::to_wire(name.token);
    what.tree = read->tree.digest();
    shelf_->put(read->tree, folder);
    {
        const std::scoped_lock held(mutex_);
        offered_.insert_or_assign(what.token, offered{what, folder, std::move(done)});
    }
    bulk_->offer(what);
}

void command_supply::answer(const store::offer& made, result<void> how) {
    std::function<void(result<void>)> done;
    {
        const std::scoped_lock held(mutex_);
        if (const auto found = offered_.find(made.token); found != offered_.end()) {
            done = std::exchange(found->second.done, {});
            found->second.landed = found->second.landed || how.has_value();
        }
    }
    if (!how) {
        take_back(made.token); // land() offers it anew
    }
    if (done) {
        done(std::move(how));
    }
}

void command_supply::take_back(store::result_token token) {
    std::optional<offered> gone;
    {
        const std::scoped_lock held(mutex_);
        if (auto found = offered_.extract(token)) {
            gone = std::move(found.mapped());
        }
    }
    if (gone) {
        bulk_->dropped(gone->what.run, gone->what.attempt, gone->what.token);
        shelf_->remove(gone->what.tree, gone->folder);
    }
}

void command_supply::forget(const actors::assignment_name& name) {
    take_back(actors::to_wire(name.token));
}

actors::node_offer command_supply::offer() {
    auto what = settings_.offer;
    if (const auto environments = this->environments()) {
        what.held = environments->held();
    }
    return what;
}

std::string command_supply::result_sheet(const actors::run_result& what) {
    return actors::result_sheet_text(what);
}

std::string command_supply::spending_sheet(const journal::spending& spent) {
    return actors::spending_sheet_text(spent);
}

std::optional<std::string> command_supply::probe() {
    if (!settings_.sandboxes) {
        return std::nullopt;
    }
    const auto report = settings_.sandboxes->probe();
    return report.usable() ? std::nullopt : std::optional(report.missing.front().what);
}

void command_supply::lease_moved(actors::node_time until) {
    if (settings_.sandboxes) {
        settings_.sandboxes->set_lease(until);
    }
}

} // namespace chalk::cli
