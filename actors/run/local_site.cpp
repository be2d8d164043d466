#include "actors/run/local_site.hpp"

#include <utility>

namespace chalk::actors {

namespace {

class local_site final : public harness_site {
  public:
    local_site(const site_services& services, const local_harness_factory& factory, order_ptr order,
               caf::local_actor* self, const run_actor& owner, std::filesystem::path model_socket)
        : services_(services), factory_(factory), order_(std::move(order)), self_(self), owner_(owner),
          model_socket_(std::move(model_socket)) {}

    ~local_site() override {
        if (harness_) {
            caf::anon_send_exit(harness_, caf::exit_reason::kill);
        }
        if (*slot_) {
            services_.pool->submit([last = std::move(*slot_)]() mutable { last.reset(); });
        }
    }

    void prepare() override {
        auto work = [run = order_, make = factory_, slot = slot_, folders = services_.folders, to = owner_] {
            auto how = make_output_places(*run, *folders);
            if (how) {
                if (auto made = make(*run); made) {
                    *slot = std::move(*made); // read by the actor only after the message below
                } else {
                    how = made.error();
                }
            }
            caf::anon_send(to, site_prepared{std::move(how)});
        };
        if (touches_disk()) {
            services_.pool->submit(std::move(work));
        } else {
            work();
        }
    }

    void start() override { caf::anon_send(owner_, site_started{std::shared_ptr<sandbox>{}}); }

    result<void> adopt(const std::shared_ptr<sandbox>&) override {
        (*slot_)->use_model_socket(model_socket_);
        harness_ = (*slot_)->spawn(self_, event_sink(owner_));
        self_->monitor(harness_);
        address_ = harness_.address();
        return {};
    }

    void cancel(const std::string& reason) override { caf::anon_send(harness_, cancel_run{reason}); }
    void kill() override {
        killed_ = true;
        ended_in_order_ = false;
        caf::anon_send_exit(harness_, caf::exit_reason::kill);
    }

    void remove() override {
        harness_ = nullptr;
        auto last = std::move(*slot_);
        if (!last->has_folders() && order_->artifacts_folder.empty()) {
            caf::anon_send(owner_, site_removed{last->remove(ended_in_order_)});
            return;
        }
        services_.pool->submit([last = std::move(last), run = order_, folders = services_.folders, to = owner_,
                                in_order = ended_in_order_]() mutable {
            auto how = last->remove(in_order);
            last.reset();
            if (auto given = hand_over_artifacts(*run, *folders, false); how && !given) {
                how = given.error();
            }
            caf::anon_send(to, site_removed{std::move(how)});
        });
    }

    void event_done() override {}
    bool harness_went_down(const caf::down_msg& down) override {
        if (down.source != address_) {
            return false;
        }
        ended_in_order_ = !killed_ && !down.reason;
        return true;
    }

  private:
    /// What it prepares may then block.
    [[nodiscard]] bool touches_disk() const {
        return order_->transcript || !order_->artifacts_folder.empty() ||
               order_->config.environment != config::noop_environment;
    }

    site_services services_;
    local_harness_factory factory_;
    order_ptr order_;
    caf::local_actor* self_;
    run_actor owner_; ///< a cycle while the run lives; its state, and this with it, goes when it quits
    std::filesystem::path model_socket_;
    std::shared_ptr<std::shared_ptr<local_harness>> slot_ = std::make_shared<std::shared_ptr<local_harness>>();
    harness_actor harness_;
    caf::actor_addr address_;
    bool killed_ = false;
    bool ended_in_order_ = false; ///< the harness; false while it lives
};

} // namespace

std::unique_ptr<harness_site> make_local_site(const site_services& services, const local_harness_factory& factory,
                                              order_ptr order, caf::local_actor* self, const run_actor& owner,
                                              std::filesystem::path model_socket) {
    return std::make_unique<local_site>(services, factory, std::move(order), self, owner, std::move(model_socket));
}

} // namespace chalk::actors
