// The wait for an external agent's message, against gateways that do not give one.

#include "protocol/model/external_model.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <optional>

using namespace chalk;
using namespace chalk::model;
using namespace std::chrono_literals;
using boost::asio::local::stream_protocol;

namespace {

/// Takes every connection, and keeps it without a word or ends it at once.
class mute_gateway {
  public:
    mute_gateway(boost::asio::io_context& io, const std::string& path, bool keeps)
        : acceptor_(io, stream_protocol::endpoint(path)), keeps_(keeps) {
        accept();
    }
    std::size_t asked = 0;

  private:
    void accept() {
        acceptor_.async_accept([this](const boost::system::error_code& failed, stream_protocol::socket from) {
            if (failed) {
                return;
            }
            ++asked;
            if (keeps_) {
                kept_.push_back(std::move(from));
            }
            accept();
        });
    }

    stream_protocol::acceptor acceptor_;
    bool keeps_;
    std::vector<stream_protocol::socket> kept_;
};

turn_result wait_for_turn(boost::asio::io_context& io, const std::string& gateway, milliseconds deadline) {
    model_settings settings;
    settings.external = true;
    settings.gateway_socket = gateway;
    auto mind = make_external_model(io, settings).value();
    request what;
    what.messages = std::make_shared<conversation>();
    what.tools = std::make_shared<std::vector<mcp::tool_spec>>();
    what.deadline = deadline;
    std::optional<turn_result> got;
    mind->next_turn(std::move(what), [&got](turn_result turn) { got = std::move(turn); });
    while (!got) {
        REQUIRE(io.run_one_for(20s) != 0);
    }
    mind.reset();
    io.poll();
    return *got;
}

} // namespace

TEST_CASE("a message that does not come in time is an error of class timeout, whatever the gateway does meanwhile") {
    boost::asio::io_context io{1};
    const test::temporary_folder folder;
    const auto path = (folder.path() / "gateway.sock").string();
    std::optional<mute_gateway> gateway;
    SECTION("it says nothing") {
        gateway.emplace(io, path, true);
    }
    SECTION("it ends each connection") {
        gateway.emplace(io, path, false);
    }
    SECTION("it is not there") {}
    const auto turn = wait_for_turn(io, path, 700ms);
    REQUIRE(turn.has_error());
    CHECK(turn.error().why.kind == error_class::timeout);
    CHECK(turn.error().kind == turn_failure::what::ended);
    CHECK(turn.error().why.message.find("external agent, step 0, turn 0: the backend sent no message") == 0);
    CHECK((!gateway || gateway->asked > 0));
}
