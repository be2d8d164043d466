/// What a request's headers must be before its body counts: where it may come from, who may ask, and what forms of
/// answer the client takes. Pure functions.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace chalk::mcp {

using header = boost::beast::http::request_header<boost::beast::http::fields>;

struct rejection {
    boost::beast::http::status status = boost::beast::http::status::bad_request;
    std::string message;
};

struct access_rules {
    std::string listen_host;  ///< besides the loopback names, what a Host header may say
    std::string bearer_token; ///< empty: none is asked for
};

/// Host and Origin (a web page must not reach us through a name that it rebinds), then the token, the path and the
/// method.
[[nodiscard]] std::optional<rejection> check_access(const header& request, const access_rules& rules);
/// POST: both forms of answer are accepted, the body is JSON.
[[nodiscard]] std::optional<rejection> check_post(const header& request);

/// Does an Accept header take `type`, by name or by wildcard?
[[nodiscard]] bool accepts(std::string_view accept, std::string_view type);
/// 127.0.0.1, localhost, [::1], or `also`; any port.
[[nodiscard]] bool is_local_authority(std::string_view authority, std::string_view also);

} // namespace chalk::mcp
