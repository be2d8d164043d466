#include "actors/local_harness.hpp"

#include "actors/harness/local_places.hpp"

#include <utility>

namespace chalk::actors {

namespace {

class local_harness_impl final : public local_harness {
  public:
    local_harness_impl(boost::asio::io_context& io, const run_order& order, std::unique_ptr<local_places> places)
        : io_(io), options_(places->options(order.config, order.prepare_only)), keep_(order.request.keep),
          places_(std::move(places)) {
        options_.listens = order.mcp_port;
    }

    void use_model_socket(const std::filesystem::path& socket) override { options_.gateway_socket = socket.string(); }
    harness_actor spawn(caf::local_actor* owner, event_sink sink) override {
        return spawn_harness(owner, io_, std::move(options_), std::move(sink));
    }
    bool has_folders() const noexcept override { return places_->has_folders(); }
    result<std::optional<std::filesystem::path>> remove(bool ended_in_order) override {
        if (auto handed_over = places_->hand_over(); !handed_over) {
            (void)places_->keep(); // the failure says where
            return handed_over.error();
        }
        if (keep_ && places_->has_folders()) {
            return std::optional(places_->keep());
        }
        if (auto removed = places_->remove(ended_in_order); !removed) {
            return removed.error();
        }
        return std::optional<std::filesystem::path>{};
    }

  private:
    boost::asio::io_context& io_;
    harness_options options_;
    bool keep_;
    std::unique_ptr<local_places> places_;
};

} // namespace

local_harness_factory make_local_harness_factory(boost::asio::io_context& io, std::shared_ptr<place_pool> places,
                                                 std::filesystem::path python, std::filesystem::path file_tool) {
    return [&io, pool = std::move(places), python = std::move(python),
            file_tool = std::move(file_tool)](const run_order& order) -> result<std::shared_ptr<local_harness>> {
        auto made = local_places::make(pool, order.config, order.artifacts_folder, python, file_tool);
        if (!made) {
            return made.error();
        }
        return std::shared_ptr<local_harness>(std::make_shared<local_harness_impl>(io, order, std::move(*made)));
    };
}

} // namespace chalk::actors
