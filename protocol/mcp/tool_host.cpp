#include "protocol/mcp/tool_host.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

namespace chalk::mcp {
namespace {

constexpr std::size_t most_sessions = 256;
constexpr std::array<std::string_view, 5> known_versions = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
                                                            "2024-10-07"};

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

std::string text_of(const json& object, const char* key) {
    if (!object.is_object()) {
        return {};
    }
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

} // namespace

bool is_known_version(std::string_view version) noexcept {
    return std::find(known_versions.begin(), known_versions.end(), version) != known_versions.end();
}

bool allows_batches(std::string_view version) noexcept {
    return version < "2025-06-18";
}

json make_error(const json& id, rpc_error code, std::string_view message) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

json make_result(const json& id, json result) {
    json out = {{"jsonrpc", "2.0"}, {"id", id}};
    out["result"] = std::move(result);
    return out;
}

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
        const json changed = {{"jsonrpc", "2.0"}, {"method", "notifications/tools/list_changed"}};
        for (const auto& open : self->sessions_) {
            if (open->stream) {
                open->stream(changed);
            }
        }
    });
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
    made->version = is_known_version(asked) ? asked : std::string(newest_version);
    sessions_.push_front(made);
    by_id_.emplace(made->id, sessions_.begin());
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
    if (const auto end_stream = ended->end_stream) {
        end_stream();
    }
}

void tool_host::end_all() {
    while (!sessions_.empty()) {
        end_session(std::string(sessions_.front()->id));
    }
}

json tool_host::initialize_result(const session& of) const {
    return {{"protocolVersion", of.version},
            {"capabilities", {{"tools", {{"listChanged", true}}}}},
            {"serverInfo", {{"name", "chalk"}, {"version", CHALK_VERSION}}}};
}

std::uint64_t tool_host::request(session& from, const json& id, const std::string& method, const json& params,
                                 answer to) {
    if (from.calls.contains(id)) {
        to(make_error(id, rpc_error::invalid_request, "a request with this id is still under way"));
    } else if (method == "tools/call") {
        return call_tool(from, id, params, std::move(to));
    } else if (method == "tools/list") {
        if (params.is_object() && params.contains("cursor")) {
            to(make_error(id, rpc_error::invalid_params, "unknown cursor: the list of tools is one page"));
        } else {
            to(make_result(id, {{"tools", tools_->listed}}));
        }
    } else if (method == "ping") {
        to(make_result(id, json::object()));
    } else if (method == "initialize") {
        to(make_error(id, rpc_error::invalid_request, "this session is initialized already"));
    } else {
        to(make_error(id, rpc_error::method_not_found, fmt::format("unknown method: {}", method)));
    }
    return 0;
}

std::uint64_t tool_host::call_tool(session& from, const json& id, const json& params, answer to) {
    const auto name = text_of(params, "name");
    const auto tool = tools_->by_name.find(name);
    if (tool == tools_->by_name.end()) {
        to(make_error(id, rpc_error::invalid_params,
                      name.empty() ? std::string("tools/call needs the name of a tool")
                                   : fmt::format("unknown tool: {}", name)));
        return 0;
    }
    const auto given = params.find("arguments");
    json arguments = given == params.end() || given->is_null() ? json::object() : *given;
    if (!arguments.is_object()) {
        to(make_error(id, rpc_error::invalid_params, "the arguments of a tool are an object"));
        return 0;
    }
    if (const auto fits = tool->second->check(arguments); !fits) {
        // An answer that the model sees and can mend, not an error of the protocol.
        const auto complaint = tool_output::text(fits.error().message, true);
        to(make_result(id, {{"content", complaint.content}, {"isError", true}}));
        return 0;
    }
    const auto number = next_call_++;
    calls_.emplace(number, open_call{find_session(from.id), id, std::move(to)});
    from.calls.emplace(id, number);
    // `io` outlives every actor that may still hold this; the host itself may be gone.
    handlers_.on_call({number, name, std::move(arguments)}, [weak = weak_from_this(), number](tool_output output) {
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
    if (const auto from = call.from.lock()) {
        from->calls.erase(call.id);
    }
    call.to(make_result(call.id, {{"content", std::move(output.content)}, {"isError", output.is_error}}));
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
    if (handlers_.on_cancel) {
        handlers_.on_cancel(number);
    }
    call.to(std::nullopt);
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
