#include "actors/node/gateway_actor.hpp"

#include "config/external_agent.hpp"
#include "protocol/backend/message_desk.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

struct gateway_state {
    gateway_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    std::optional<result<std::shared_ptr<gateway::gateway>>> serving;
    static constexpr const char* name = "gateway";
};

class gateway_impl : public gateway_actor::stateful_base<gateway_state> {
  public:
    gateway_impl(caf::actor_config& cfg, boost::asio::io_context& io, const gateway::gateway_settings& settings)
        : gateway_actor::stateful_base<gateway_state>(cfg) {
        state.serving = gateway::gateway::make(io, settings);
    }

    behavior_type make_behavior() override {
        return {
            [this](const open_socket& m) { send(m.user, model_socket_opened{open(m.what)}); },
            [this](const close_socket& m) { close(m.path); },
        };
    }

  private:
    result<void> open(const model_socket& what) {
        if (!*state.serving) {
            return state.serving->error();
        }
        // Nobody of this machine gets through the folder above. Inside a sandbox these are a stranger's files, so that
        // its root needs what others may; its student does not get through sandbox_layout::private_run.
        constexpr mode_t pass_through = 0711;
        constexpr mode_t of_others = 0666;
        constexpr mode_t own = 0600;
        std::error_code error;
        const auto folder = what.path.parent_path();
        fs::create_directories(folder, error);
        if (!error && ::chmod(folder.c_str(), pass_through) != 0) {
            error.assign(errno, std::generic_category());
        }
        if (error) {
            return model_failure(fmt::format("cannot make {}: {}", folder.string(), error.message()));
        }
        return state.serving->value()->open(
            {what.path, std::nullopt, what.payer, what.sandboxed ? of_others : own, what.messages});
    }

    void close(const fs::path& path) {
        if (*state.serving) {
            state.serving->value()->close(path);
        }
        std::error_code ignored; // it goes with the folder above at the latest
        fs::remove(path.parent_path(), ignored);
    }
};

} // namespace

model_socket make_model_socket(const gateway_site& site, boost::asio::io_context& io, const run_order& order,
                               ticket who) {
    const bool external = order.backend && config::has_external_agent(order.config);
    return {site.folder / fmt::format("{}", static_cast<std::uint64_t>(who)) / "model.sock",
            std::make_shared<gateway::account>(*order.models),
            external ? backend::make_message_desk(io, order.backend->to, order.backend->of) : nullptr, order.sandboxed,
            false};
}

gateway_actor spawn_gateway(caf::local_actor* owner, boost::asio::io_context& io,
                            const gateway::gateway_settings& settings) {
    return owner->system().spawn<gateway_impl>(std::ref(io), settings);
}

} // namespace chalk::actors
