#include "actors/run/sandbox_site.hpp"

#include "actors/sinks/transcript_files.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "protocol/host_channel/messages.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

/// What the machine is short of now is not the config's fault: such a run may be tried again.
failure place_failure(const std::error_code& why, const std::string& what) {
    const bool short_of = why == std::errc::no_space_on_device || why == std::errc::too_many_files_open ||
                          why == std::errc::too_many_files_open_in_system || why == std::errc::not_enough_memory ||
                          why == std::errc::io_error || why == std::errc::resource_unavailable_try_again ||
                          why == std::error_code(EDQUOT, std::generic_category());
    const auto message = fmt::format("{}: {}", what, why.message());
    return short_of ? harness_failure(message) : config_failure(message);
}

} // namespace

result<void> make_output_places(const run_order& order, artifact_folders& folders) {
    std::error_code ec;
    const auto make = [&ec](const fs::path& folder) {
        return folder.empty() || fs::create_directories(folder, ec) || !ec;
    };
    if (order.prepare_only) {
        return {};
    }
    if (order.transcript && !make(order.config.transcript_file.parent_path())) {
        return place_failure(ec, fmt::format("run {}: cannot make the folder of transcript_file {}",
                                             order.config.id.str(), order.config.transcript_file.string()));
    }
    // A run without a sandbox makes it when there are artifacts; that it could is seen before anything is spent.
    if (!order.sandboxed && fs::exists(order.artifacts_folder, ec) && !fs::is_directory(order.artifacts_folder, ec)) {
        ec = std::make_error_code(std::errc::not_a_directory);
    }
    if (!ec && order.sandboxed && !order.artifacts_folder.empty()) {
        ec = folders.make(order.artifacts_folder);
    }
    if (ec) {
        return place_failure(ec, fmt::format("run {}: cannot make the artifacts folder {}", order.config.id.str(),
                                             order.artifacts_folder.string()));
    }
    if (order.transcript) {
        fs::remove(order.config.transcript_file, ec);
    }
    if (ec) {
        return place_failure(ec, fmt::format("run {}: cannot remove the old transcript {}", order.config.id.str(),
                                             order.config.transcript_file.string()));
    }
    return {};
}

result<void> hand_over_artifacts(const run_order& order, artifact_folders& folders, bool nobody_writes) {
    std::error_code ec;
    const fs::path& folder = order.artifacts_folder;
    if (order.prepare_only || folder.empty() || !fs::exists(folder, ec)) {
        return {};
    }
    if (folders.take_back_empty(folder, nobody_writes)) {
        return {};
    }
    return give_to_owner_of(folder, folder.parent_path().empty() ? "." : folder.parent_path());
}

namespace {

class sandbox_site final : public harness_site {
  public:
    sandbox_site(const site_services& services, order_ptr order, const run_actor& owner, fs::path model_socket)
        : services_(services), order_(std::move(order)), owner_(owner), model_socket_(std::move(model_socket)) {}

    ~sandbox_site() override {
        relay_.reset();
        if (sandbox_) {
            // Its destructor kills, waits and removes: not on an actor's thread.
            sandbox_->kill();
            services_.pool->submit([last = std::move(sandbox_), run = order_, folders = services_.folders]() mutable {
                last.reset();
                static_cast<void>(hand_over_artifacts(*run, *folders, false)); // the run's own failure is told already
            });
        }
    }

    void prepare() override {
        services_.pool->submit(
            [run = order_, sandboxes = services_.sandboxes, folders = services_.folders, to = owner_] {
                auto how = make_output_places(*run, *folders);
                if (how) {
                    how = sandboxes->prepare(run->request);
                }
                caf::anon_send(to, site_prepared{std::move(how)});
            });
    }

    void start() override {
        services_.pool->submit(
            [run = order_, sandboxes = services_.sandboxes, to = owner_, gateway = model_socket_.parent_path()] {
                auto request = run->request;
                request.gateway_folder = gateway;
                auto made = sandboxes->start(request);
                // Should the run be over by now, the message is dropped and the sandbox with it, which removes it.
                if (made) {
                    caf::anon_send(to, site_started{std::shared_ptr<sandbox>(std::move(*made))});
                } else {
                    caf::anon_send(to, site_started{made.error()});
                }
            });
    }

    result<void> adopt(const std::shared_ptr<sandbox>& made) override {
        sandbox_ = made;
        const host_channel::start first{order_->prepare_only ? host_channel::harness_mode::prepare
                                                             : host_channel::harness_mode::run,
                                        config::to_json(order_->config), sandbox_->student(),
                                        model_socket_.empty() ? "" : sandbox_layout::gateway_socket.string()};
        auto relay =
            event_relay::open(*services_.io, sandbox_->take_host_channel(), host_channel::to_line(first), owner_);
        if (!relay) {
            return relay.error();
        }
        relay_ = std::move(*relay);
        sandbox_->async_wait(*services_.io, [to = owner_](const sandbox_exit& e) {
            caf::anon_send(
                to, site_ended{harness_end{process::describe({e.code, e.signal}), e.memory_exhausted, e.last_words}});
        });
        return {};
    }

    void cancel(const std::string& reason) override {
        relay_->send(host_channel::to_line(host_channel::cancel{reason}));
    }
    void kill() override { sandbox_->kill(); }

    void remove() override {
        relay_.reset();
        services_.pool->submit(
            [last = std::move(sandbox_), run = order_, folders = services_.folders, to = owner_]() mutable {
                auto how = last->remove();
                last.reset();
                if (auto given = hand_over_artifacts(*run, *folders, how.has_value()); how && !given) {
                    how = given.error();
                }
                caf::anon_send(to, site_removed{std::move(how)});
            });
    }

    void event_done() override {
        if (relay_) {
            relay_->event_done();
        }
    }
    bool harness_went_down(const caf::down_msg&) override { return false; }

  private:
    site_services services_;
    order_ptr order_;
    run_actor owner_; ///< a cycle while the run lives; its state, and this with it, goes when it quits
    fs::path model_socket_;
    std::shared_ptr<sandbox> sandbox_;
    std::unique_ptr<event_relay> relay_;
};

} // namespace

std::unique_ptr<harness_site> make_sandbox_site(const site_services& services, order_ptr order, const run_actor& owner,
                                                std::filesystem::path model_socket) {
    return std::make_unique<sandbox_site>(services, std::move(order), owner, std::move(model_socket));
}

} // namespace chalk::actors
