#include "protocol/gateway/spending_question.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/net/http_status.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

namespace chalk::gateway {

namespace {

/// A gateway that restarts is waited for; one that is there answers at once.
constexpr milliseconds deadline{30'000};
constexpr std::size_t longest_answer = 64UL * 1024;

result<spending> read(unsigned status, const std::string& body, const std::optional<net::http_problem>& problem) {
    if (problem) {
        return model_failure("the gateway did not say what the run has spent: " + problem->message);
    }
    const auto parsed = parse_json(body);
    if (status != http_ok || !parsed) {
        return model_failure(fmt::format("the gateway did not say what the run has spent: HTTP {}", status));
    }
    return from_wire(*parsed);
}

} // namespace

spending_question::spending_question(boost::asio::io_context& io, net::http_address gateway)
    : io_(io), client_(net::http_client::make(io, std::move(gateway))) {}

spending_question::~spending_question() {
    boost::asio::post(io_, [client = std::move(client_)] { client->cancel(); });
}

void spending_question::ask(std::function<void(result<spending>)> done) {
    struct answer_so_far {
        unsigned status = 0;
        std::string body;
    };
    const auto answer = std::make_shared<answer_so_far>();
    net::http_handlers on{[answer](const net::http_head& head) { answer->status = head.status; },
                          [answer](std::string_view data) {
                              answer->body += data;
                              return answer->body.size() <= longest_answer;
                          },
                          [answer, done = std::move(done),
                           alive = std::weak_ptr(alive_)](const std::optional<net::http_problem>& problem) {
                              if (!alive.expired()) {
                                  done(read(answer->status, answer->body, problem));
                              }
                          }};
    boost::asio::post(io_, [client = client_, on = std::move(on)]() mutable {
        client->post({std::string(spent_target), {}, {}}, deadline, std::move(on));
    });
}

} // namespace chalk::gateway
