#include "protocol/mcp/tool_host.hpp"

#include "protocol/mcp/exchange.hpp"
#include "protocol/mcp/json_rpc.hpp"
#include "protocol/mcp/results.hpp"
#include "protocol/mcp/stateless.hpp"
#include "protocol/mcp/versions.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <utility>

namespace chalk::mcp {
namespace {

constexpr std::size_t most_sessions = 256;
/// Of one session: streams that may be resumed.
constexpr std::size_t most_exchanges = 64;
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

tool_host::tool_host(boost::asio::io_context& io, server_handlers handlers)
    : io_(io), handlers_(std::move(handlers)), tools_(std::make_shared<tool_table>()) {}

void tool_host::set_tools(std::vector<tool_spec> tools) {
    auto table = std::make_shared<tool_table>(); // compiled here, on the caller's thread
    for (auto& tool : tools) {
        auto schema = compiled_schema::compile(tool);
        auto mirrored = find_mirrored(tool.input_schema);
        if (!schema || !mirrored || table->by_name.contains(tool.name) || !check_tool(tool)) {
            continue; // the owner refused it before, by check_tool
        }
        table->listed.push_back(
            {{"name", tool.name}, {"description", tool.description}, {"inputSchema", std::move(tool.input_schema)}});
        table->by_name.emplace(std::move(tool.name), offered_tool{std::move(*schema), std::move(*mirrored)});
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

std::optional<rpc_failure> tool_host::check_mirrored(const header& request, const json& message) const {
    const auto params = message.value("params", json());
    if (!is_request(message) || message["method"] != "tools/call" || !params.is_object()) {
        return std::nullopt;
    }
    const auto tool = tools_->by_name.find(text_of(params, "name"));
    if (tool == tools_->by_name.end()) {
        return std::nullopt; // which the call is told
    }
    return check_param_headers(request, tool->second.mirrored, params.value("arguments", json()));
}

json tool_host::initialize_result(const session& of) {
    return {{"protocolVersion", of.version}, {"capabilities", capabilities()}, {"serverInfo", server_info()}};
}

json tool_host::tool_list(const session& of) const {
    json list = {{"tools", tools_->listed}};
    return of.stateless() ? not_to_be_kept(std::move(list)) : list;
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

} // namespace chalk::mcp
