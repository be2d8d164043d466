// Requests and the calls that they begin: the other half of tool_host.cpp.

#include "protocol/mcp/json_rpc.hpp"
#include "protocol/mcp/results.hpp"
#include "protocol/mcp/stateless.hpp"
#include "protocol/mcp/tool_host.hpp"
#include "protocol/mcp/versions.hpp"

#include <boost/asio/dispatch.hpp>
#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace chalk::mcp {

/// What a tool's owner holds of a call: a number, and a way to a host that may be gone.
class tool_host::reporter final : public call_reporter {
  public:
    reporter(boost::asio::io_context& io, std::weak_ptr<tool_host> host, std::uint64_t number)
        : io_(io), host_(std::move(host)), number_(number) {}

    void progress(double done, std::optional<double> total, std::string message) override {
        with_host([=, number = number_, message = std::move(message)](tool_host& host) mutable {
            host.progressed(number, done, total, std::move(message));
        });
    }
    void log(log_level level, std::string text) override {
        with_host([level, number = number_, text = std::move(text)](tool_host& host) mutable {
            host.logged(number, level, std::move(text));
        });
    }
    void end_stream() override {
        with_host([number = number_](tool_host& host) { host.end_stream(number); });
    }

  private:
    template<class Action>
    void with_host(Action action) {
        // The io context may be gone with the host, but not before it.
        if (const auto alive = host_.lock()) {
            boost::asio::dispatch(io_, [weak = host_, action = std::move(action)]() mutable {
                if (const auto host = weak.lock()) {
                    action(*host);
                }
            });
        }
    }

    boost::asio::io_context& io_;
    std::weak_ptr<tool_host> host_;
    std::uint64_t number_;
};

std::uint64_t tool_host::request(const std::shared_ptr<session>& from, const json& id, const std::string& method,
                                 const json& params, call_route to) {
    const bool stateless = from->stateless();
    if (from->calls.contains(id)) {
        to.answer(make_error(id, rpc_error::invalid_request, "a request with this id is still under way"));
    } else if (method == "tools/call") {
        return call_tool(from, id, params, std::move(to));
    } else if (method == "tools/list") {
        to.answer(params.contains("cursor")
                      ? make_error(id, rpc_error::invalid_params, "unknown cursor: the list of tools is one page")
                      : make_result(id, result_for(*from, tool_list(*from))));
    } else if (method == "server/discover" && stateless) {
        to.answer(make_result(id, result_for(*from, not_to_be_kept({{"supportedVersions", all_versions()},
                                                                    {"capabilities", capabilities()}}))));
    } else if (method == "subscriptions/listen" && stateless) {
        return subscribe(from, id, params, std::move(to));
    } else if (method == "ping" && !stateless) {
        to.answer(make_result(id, json::object()));
    } else if (method == "logging/setLevel" && !stateless) {
        const auto severity = severity_of(std::string_view(text_of(params, "level")));
        from->log_severity = severity ? severity : from->log_severity;
        to.answer(severity ? make_result(id, json::object())
                           : make_error(id, rpc_error::invalid_params, "unknown log level"));
    } else if (method == "initialize" && !stateless) {
        to.answer(make_error(id, rpc_error::invalid_request, "this session is initialized already"));
    } else {
        to.answer(make_error(id, rpc_error::method_not_found, fmt::format("unknown method: {}", method)));
    }
    return 0;
}

/// Lasts until its client goes away: an answer would say that there are no more changes to come.
std::uint64_t tool_host::subscribe(const std::shared_ptr<session>& from, const json& id, const json& params,
                                   call_route to) {
    const auto wanted = params.find("notifications");
    if (wanted == params.end() || !wanted->is_object()) {
        to.answer(make_error(id, rpc_error::invalid_params, "subscriptions/listen needs notifications, an object"));
        return 0;
    }
    // What there is nothing of is not acknowledged.
    json granted = json::object();
    if (wanted->value("toolsListChanged", json()) == true) {
        granted["toolsListChanged"] = true;
    }
    const auto number = next_call_++;
    from->calls.emplace(id, number);
    const auto notify = to.notify;
    calls_.emplace(number, open_call{from, id, std::move(to), {}, nullptr, std::nullopt, !granted.empty()});
    notify(notification_of("notifications/subscriptions/acknowledged",
                           {{"_meta", {{meta::subscription_id, id}}}, {"notifications", std::move(granted)}}));
    return number;
}

std::uint64_t tool_host::call_tool(const std::shared_ptr<session>& from, const json& id, const json& params,
                                   call_route to) {
    const auto name = text_of(params, "name");
    const auto tool = tools_->by_name.find(name);
    if (tool == tools_->by_name.end()) {
        to.answer(make_error(id, rpc_error::invalid_params,
                             name.empty() ? std::string("tools/call needs the name of a tool")
                                          : fmt::format("unknown tool: {}", name)));
        return 0;
    }
    const auto given = params.find("arguments");
    json arguments = given == params.end() || given->is_null() ? json::object() : *given;
    if (!arguments.is_object()) {
        to.answer(make_error(id, rpc_error::invalid_params, "the arguments of a tool are an object"));
        return 0;
    }
    if (const auto fits = tool->second.schema->check(arguments); !fits) {
        // An answer that the model sees and can mend, not an error of the protocol.
        const auto complaint = tool_output::text(fits.error().message, true);
        to.answer(make_result(id, result_for(*from, {{"content", complaint.content}, {"isError", true}})));
        return 0;
    }
    const auto number = next_call_++;
    auto token = of_meta(params, "progressToken");
    if (!token.is_string() && !token.is_number()) {
        token = nullptr;
    }
    calls_.emplace(number, open_call{from, id, std::move(to), name, std::move(token), std::nullopt, false});
    from->calls.emplace(id, number);
    // `io` outlives every actor that may still hold this; the host itself may be gone.
    auto speaker = std::make_shared<reporter>(io_, weak_from_this(), number);
    handlers_.on_call({number, name, std::move(arguments), std::move(speaker)},
                      [weak = weak_from_this(), number](tool_output output) {
                          const auto self = weak.lock();
                          if (!self) {
                              return;
                          }
                          // dispatch: a reply on the io thread, the usual case, is answered without another turn.
                          boost::asio::dispatch(self->io_, [self, number, output = std::move(output)]() mutable {
                              self->replied(number, std::move(output));
                          });
                      });
    return calls_.contains(number) ? number : 0; // the reply may have come at once
}

void tool_host::replied(std::uint64_t number, tool_output output) {
    const auto found = calls_.find(number);
    if (found == calls_.end()) {
        return; // cancelled, or a second reply
    }
    const auto call = std::move(found->second);
    calls_.erase(found);
    const auto from = call.from.lock();
    if (from) {
        from->calls.erase(call.id);
    }
    json result = {{"content", std::move(output.content)}, {"isError", output.is_error}};
    call.to.answer(make_result(call.id, from ? result_for(*from, std::move(result)) : std::move(result)));
}

void tool_host::progressed(std::uint64_t number, double done, std::optional<double> total, std::string message) {
    const auto found = calls_.find(number);
    if (found == calls_.end() || found->second.progress_token.is_null() || !std::isfinite(done) ||
        (found->second.progress && done <= *found->second.progress)) {
        return;
    }
    found->second.progress = done;
    json params = {{"progressToken", found->second.progress_token}, {"progress", done}};
    if (total && std::isfinite(*total)) {
        params["total"] = *total;
    }
    if (!message.empty()) {
        params["message"] = std::move(message);
    }
    const auto notify = found->second.to.notify; // a client that is gone may take the call with it
    notify(notification_of("notifications/progress", std::move(params)));
}

void tool_host::logged(std::uint64_t number, log_level level, std::string text) {
    const auto found = calls_.find(number);
    const auto from = found == calls_.end() ? nullptr : found->second.from.lock();
    const auto severity = severity_of(level);
    if (!from || !from->log_severity || severity < *from->log_severity) {
        return;
    }
    const auto notify = found->second.to.notify;
    notify(notification_of(
        "notifications/message",
        {{"level", severity_name(severity)}, {"logger", found->second.tool}, {"data", std::move(text)}}));
}

void tool_host::end_stream(std::uint64_t number) {
    if (const auto found = calls_.find(number); found != calls_.end()) {
        const auto end = found->second.to.end_stream;
        end();
    }
}

void tool_host::cancel(std::uint64_t number) {
    const auto found = calls_.find(number);
    if (found == calls_.end()) {
        return;
    }
    const auto call = std::move(found->second);
    calls_.erase(found);
    if (const auto from = call.from.lock()) {
        from->calls.erase(call.id);
    }
    if (handlers_.on_cancel && !call.tool.empty()) {
        handlers_.on_cancel(number);
    }
    call.to.answer(std::nullopt);
}

void tool_host::abandon(std::uint64_t number) {
    cancel(number);
}

void tool_host::notification(session& from, const std::string& method, const json& params) {
    if (method == "notifications/cancelled" && params.is_object()) {
        const auto id = params.find("requestId");
        const auto found = id == params.end() ? from.calls.end() : from.calls.find(*id);
        if (found != from.calls.end()) { // else it was answered meanwhile, or never asked
            cancel(found->second);
        }
    }
}

} // namespace chalk::mcp
