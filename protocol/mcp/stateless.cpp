#include "protocol/mcp/stateless.hpp"

#include "protocol/mcp/versions.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

namespace chalk::mcp {
namespace {

const json& meta_of(const json& message) {
    static const json none;
    const auto params = message.find("params");
    if (params == message.end() || !params->is_object()) {
        return none;
    }
    const auto found = params->find("_meta");
    return found == params->end() ? none : *found;
}

bool claims_version(const json& message) {
    const auto& said = meta_of(message);
    return said.is_object() && said.contains(meta::protocol_version);
}

rpc_failure mismatch(std::string message) {
    return {rpc_error::header_mismatch, std::move(message), nullptr};
}

/// Mcp-Name repeats what the request is about: of tools/call the tool.
std::optional<rpc_failure> check_name(const header& request, const json& message) {
    if (message["method"] != "tools/call") {
        return std::nullopt;
    }
    const std::string_view value = request["Mcp-Name"];
    const auto name = decode_header_text(value);
    if (value.empty() || !name || *name != text_of(message["params"], "name")) {
        return mismatch("the Mcp-Name header must be there and name the tool that the body calls");
    }
    return std::nullopt;
}

} // namespace

bool is_stateless(const header& request, const json& message) {
    return message.contains("method") &&
           (claims_version(message) || request["MCP-Protocol-Version"] == stateless_version);
}

std::optional<rpc_failure> check_stateless(const header& request, const json& message) {
    const std::string_view version = request["MCP-Protocol-Version"];
    if (!is_request(message)) {
        return std::nullopt; // nothing is answered, so nothing is asked
    }
    if (!claims_version(message)) {
        return rpc_failure{rpc_error::invalid_params, fmt::format("params._meta lacks \"{}\"", meta::protocol_version),
                           nullptr};
    }
    const auto& said = meta_of(message);
    const auto claimed = text_of(said, meta::protocol_version);
    if (version != claimed) {
        return mismatch("the MCP-Protocol-Version header must be there and name the version that the body names");
    }
    if (claimed != stateless_version) {
        return unsupported_version(claimed);
    }
    if (request["Mcp-Method"] != message["method"].get_ref<const std::string&>()) {
        return mismatch("the Mcp-Method header must be there and name the method that the body names");
    }
    if (auto wrong = check_name(request, message)) {
        return wrong;
    }
    const auto capabilities = said.find(meta::client_capabilities);
    if (capabilities == said.end() || !capabilities->is_object()) {
        return rpc_failure{rpc_error::invalid_params,
                           fmt::format("params._meta lacks \"{}\", an object", meta::client_capabilities), nullptr};
    }
    return std::nullopt;
}

std::optional<std::string> decode_header_text(std::string_view value) {
    constexpr std::string_view prefix = "=?base64?";
    constexpr std::string_view suffix = "?=";
    if (value.size() < prefix.size() + suffix.size() || !value.starts_with(prefix) || !value.ends_with(suffix)) {
        return std::string(value);
    }
    value = value.substr(prefix.size(), value.size() - prefix.size() - suffix.size());
    const auto padding = value.ends_with("==") ? 2U : value.ends_with('=') ? 1U : 0U;
    if (value.size() % 4 != 0) {
        return std::nullopt;
    }
    std::string out(value.size() / 4 * 3, '\0');
    const auto written =
        ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<const unsigned char*>(value.data()), static_cast<int>(value.size()));
    if (written < 0 || static_cast<std::size_t>(written) < padding) {
        return std::nullopt;
    }
    out.resize(static_cast<std::size_t>(written) - padding); // it counts the padding as bytes
    return out;
}

rpc_failure unsupported_version(std::string_view requested) {
    return {rpc_error::unsupported_version,
            fmt::format("unsupported protocol version: {}", requested),
            {{"supported", all_versions()}, {"requested", requested}}};
}

} // namespace chalk::mcp
