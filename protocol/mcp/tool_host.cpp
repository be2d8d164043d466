#include "protocol/mcp/tool_host.hpp"

#include "protocol/mcp/exchange.hpp"
#include "protocol/mcp/json_rpc.hpp"
#include "protocol/mcp/stateless.hpp"
#include "protocol/mcp/versions.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace chalk::mcp {
namespace {

constexpr std::size_t most_sessions = 256;
/// Of one session: streams that may be resumed.
constexpr std::size_t most_exchanges = 64;
/// MCP's log levels, which are syslog's, the least severe first.
constexpr std::array<std::string_view, 8> log_severities = {"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};

std::optional<int> severity_of(std::string_view name) {
    const auto* const found = std::find(log_severities.begin(), log_severities.end(), name);
    return found == log_severities.end() ? std::nullopt
                                         : std::optional(static_cast<int>(found - log_severities.begin()));
}

int severity_of(log_level level) {
    switch (level) {
    case log_level::debug:
        return 0;
    case log_level::info:
        return 1;
    case log_level::warning:
        return 3;
    case log_level::error:
        return 4;
    }
    return 1;
}

json server_info() {
    return {{"name", "chalk"}, {"version", CHALK_VERSION}};
}

json capabilities() {
    return {{"tools", {{"listChanged", true}}}, {"logging", json::object()}};
}

/// 2026-07-28 wants a few words around each result.
json result_for(const session& of, json result) {
    if (of.stateless()) {
        result["resultType"] = "complete";
        result["_meta"][meta::server_info] = server_info();
    }
    return result;
}

/// Of a result that a client may keep: for how long, and for whom.
json not_to_be_kept(json result) {
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
    return result;
}

json of_meta(const json& params, const char* key) {
    const auto found = params.is_object() ? params.find("_meta") : params.end();
    return params.is_object() && found != params.end() && found->is_object() ? found->value(key, json()) : json();
}

json notification_of(const char* method, json params) {
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

/// 128 random bits: whoever does not know it cannot use the session.
std::string random_id() {
    std::array<unsigned char, 16> raw{};
    if (RAND_bytes(raw.data(), static_cast<int>(raw.size())) != 1) {
        return {};
    }
    std::string out;
    for (const auto byte : raw) {
        out += fmt::format("{:02x}", byte);
    }
    return out;
}

} // namespace

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

tool_host::tool_host(boost::asio::io_context& io, server_handlers handlers)
    : io_(io), handlers_(std::move(handlers)), tools_(std::make_shared<tool_table>()) {}

void tool_host::set_tools(std::vector<tool_spec> tools) {
    auto table = std::make_shared<tool_table>(); // compiled here, on the caller's thread
    for (auto& tool : tools) {
        auto schema = compiled_schema::compile(tool);
        if (!schema || table->by_name.contains(tool.name) || !check_tool(tool)) {
            continue; // the owner refused it before, by check_tool
        }
        table->listed.push_back(
            {{"name", tool.name}, {"description", tool.description}, {"inputSchema", std::move(tool.input_schema)}});
        table->by_name.emplace(std::move(tool.name), std::move(*schema));
    }
    boost::asio::post(io_, [weak = weak_from_this(), table = std::move(table)] {
        const auto self = weak.lock();
        if (!self) {
            return;
        }
        self->tools_ = table;
        self->tell_of_changed_tools();
    });
}

void tool_host::tell_of_changed_tools() {
    static constexpr const char* method = "notifications/tools/list_changed";
    const json changed = {{"jsonrpc", "2.0"}, {"method", method}};
    const auto sessions = sessions_; // a stream that is full ends while it is told
    for (const auto& open : sessions) {
        if (open->stream) {
            open->stream(changed);
        }
    }
    std::vector<std::pair<std::function<void(const json&)>, json>> subscribed;
    for (const auto& [number, call] : calls_) {
        if (call.hears_of_tools) {
            subscribed.emplace_back(call.to.notify, call.id);
        }
    }
    for (const auto& [notify, id] : subscribed) {
        notify(notification_of(method, {{"_meta", {{meta::subscription_id, id}}}}));
    }
}

std::shared_ptr<session> tool_host::open_session(const json& initialize_params) {
    if (sessions_.size() >= most_sessions) {
        const auto idle = std::find_if(sessions_.rbegin(), sessions_.rend(),
                                       [](const auto& s) { return s->calls.empty() && !s->stream; });
        if (idle == sessions_.rend()) {
            return nullptr;
        }
        end_session(std::string((*idle)->id));
    }
    auto made = std::make_shared<session>();
    made->id = random_id();
    if (made->id.empty()) {
        return nullptr;
    }
    const auto asked = text_of(initialize_params, "protocolVersion");
    made->version = is_session_version(asked) ? asked : std::string(newest_session_version);
    sessions_.push_front(made);
    by_id_.emplace(made->id, sessions_.begin());
    return made;
}

std::shared_ptr<session> tool_host::stateless_session(const json& params) {
    auto made = std::make_shared<session>();
    made->version = stateless_version;
    const auto level = of_meta(params, meta::log_level);
    made->log_severity = level.is_string() ? severity_of(level.get_ref<const std::string&>()) : std::nullopt;
    return made;
}

std::shared_ptr<session> tool_host::find_session(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return nullptr;
    }
    sessions_.splice(sessions_.begin(), sessions_, found->second);
    return *found->second;
}

void tool_host::end_session(const std::string& id) {
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) {
        return;
    }
    const auto ended = *found->second;
    sessions_.erase(found->second);
    by_id_.erase(found);
    const auto calls = ended->calls; // cancel() changes the session's
    for (const auto& [request, number] : calls) {
        cancel(number);
    }
    const auto exchanges = ended->exchanges; // and so does abandon()
    for (const auto& [number, open] : exchanges) {
        open->abandon();
    }
    if (const auto end_stream = ended->end_stream) {
        end_stream();
    }
}

void tool_host::end_all() {
    while (!sessions_.empty()) {
        end_session(std::string(sessions_.front()->id));
    }
}

json tool_host::initialize_result(const session& of) {
    return {{"protocolVersion", of.version}, {"capabilities", capabilities()}, {"serverInfo", server_info()}};
}

json tool_host::tool_list(const session& of) const {
    json list = {{"tools", tools_->listed}};
    return of.stateless() ? not_to_be_kept(std::move(list)) : list;
}

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
    if (const auto fits = tool->second->check(arguments); !fits) {
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
    notify(notification_of("notifications/message", {{"level", log_severities.at(static_cast<std::size_t>(severity))},
                                                     {"logger", found->second.tool},
                                                     {"data", std::move(text)}}));
}

void tool_host::end_stream(std::uint64_t number) {
    if (const auto found = calls_.find(number); found != calls_.end()) {
        const auto end = found->second.to.end_stream;
        end();
    }
}

std::uint64_t tool_host::keep_for_resumption(session& in, std::shared_ptr<exchange> of) {
    if (in.stateless() || !by_id_.contains(in.id)) {
        return 0;
    }
    if (in.exchanges.size() >= most_exchanges) {
        const auto ended = std::find_if(in.exchanges.begin(), in.exchanges.end(),
                                        [](const auto& entry) { return !entry.second->open(); });
        if (ended == in.exchanges.end()) {
            return 0; // this one cannot be resumed; it works otherwise
        }
        const auto oldest = ended->second;
        oldest->abandon();
    }
    const auto number = next_exchange_++;
    in.exchanges.emplace(number, std::move(of));
    return number;
}

void tool_host::forget_exchange(session& in, std::uint64_t number) {
    in.exchanges.erase(number);
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
