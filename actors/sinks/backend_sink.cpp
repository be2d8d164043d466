#include "actors/sinks/backend_sink.hpp"

#include "actors/harness/weak_handle.hpp"
#include "protocol/backend/sender.hpp"
#include "protocol/backend/spool.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

namespace {

struct sink_state {
    sink_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    backend_client client;  ///< a cycle while the run lives; the run's state goes when it quits
    std::shared_ptr<backend::spool> kept;
    std::unique_ptr<backend::sender> sender;
    static constexpr const char* name = "backend sink";
};

class sink final : public backend_sink::stateful_base<sink_state> {
  public:
    sink(caf::actor_config& cfg, backend_sink_options options, backend_client client)
        : backend_sink::stateful_base<sink_state>(cfg), options_(std::move(options)) {
        state.client = std::move(client);
    }

    behavior_type make_behavior() override {
        const auto& b = options_.backend;
        state.kept = std::make_shared<backend::spool>(b.spool_folder, b.of, b.to.uri);
        const weak_handle<backend_sink> self{backend_sink(this)};
        state.sender =
            backend::sender::make(*options_.io, b.to, b.of,
                                  {[self](const backend::delivery::say& what) { self.send(sender_said{what}); },
                                   [self](const backend::delivery::settle& how) { self.send(sender_settled{how}); }});
        return {
            [this](const events_recorded& m) {
                for (const auto& one : m.events) {
                    take(one);
                }
            },
            [this](const sender_said& m) { said(m.what); },
            [this](const sender_settled& m) { settled(m.how); },
            [this](const spool_failed& m) {
                send(state.client,
                     backend_said{log_level::warning, "events for the backend are not kept on disk: " + m.why.message});
            },
            [this](const spool_removed&) { send(state.client, backend_settled{}); },
        };
    }

  private:
    void take(const event_ptr& e) {
        auto line = to_line(*e);
        if (state.kept->add(line)) {
            options_.pool->submit([kept = state.kept, self = weak_handle<backend_sink>{backend_sink(this)}] {
                if (auto written = kept->write_out(); !written) {
                    self.send(spool_failed{written.error()});
                }
            });
        }
        state.sender->publish(std::move(line), is_final(e->body));
    }

    void said(const backend::delivery::say& what) {
        const bool trouble = what.level != log_level::info;
        send(state.client,
             backend_said{what.level,
                          trouble ? fmt::format("{} (in {})", what.text, state.kept->path().string()) : what.text});
    }

    void settled(const backend::delivery::settle& how) {
        if (how.left > 0) {
            send(state.client, backend_settled{fmt::format("{} ({} left: {})", undelivered_remark(options_.backend),
                                                           how.left, how.why)});
            return;
        }
        options_.pool->submit([kept = state.kept, self = weak_handle<backend_sink>{backend_sink(this)}] {
            kept->remove();
            self.send(spool_removed{});
        });
    }

    backend_sink_options options_;
};

} // namespace

std::string undelivered_remark(const run_backend& backend) {
    return fmt::format("the backend has not taken all events; they are kept in {}, and chalk backend send sends them",
                       backend::spool_path(backend.spool_folder, backend.of).string());
}

backend_sink spawn_backend_sink(caf::local_actor* owner, backend_sink_options options, backend_client client) {
    return owner->system().spawn<sink>(std::move(options), std::move(client));
}

} // namespace chalk::actors
