#include "protocol/net/proxy.hpp"

#include "tests/support/catch.hpp"

#include <map>

using namespace chalk;
using namespace chalk::net;

namespace {

using variables = std::map<std::string, std::string>;

result<std::optional<http_proxy>> found(std::string_view host, bool secure, const variables& set) {
    return find_proxy(host, secure, [&set](const char* name) {
        const auto one = set.find(name);
        return one == set.end() ? std::string() : one->second;
    });
}

std::string name_of(std::string_view host, bool secure, const variables& set) {
    const auto proxy = found(host, secure, set).value();
    return proxy ? proxy->name() : "none";
}

} // namespace

TEST_CASE("a connection's proxy is that of its kind, or else that of all") {
    const variables all = {{"http_proxy", "http://plain:1"}, {"HTTPS_PROXY", "secure:2"}, {"all_proxy", "all"}};
    CHECK(name_of("b.example", false, all) == "plain:1");
    CHECK(name_of("b.example", true, all) == "secure:2");
    CHECK(name_of("b.example", true, {{"HTTPS_PROXY", "upper:1"}, {"https_proxy", "lower:1"}}) == "lower:1");
    CHECK(name_of("b.example", false, {{"all_proxy", "all"}}) == "all:1080"); // libcurl's port
    CHECK(name_of("b.example", false, {{"ALL_PROXY", "HTTP://[::2]:3/"}}) == "[::2]:3");
    CHECK(name_of("b.example", false, {{"HTTP_PROXY", "http://cgi:1"}}) == "none");
    CHECK(name_of("b.example", false, {{"http_proxy", ""}}) == "none");
    CHECK(name_of("b.example", false, {}) == "none");
}

TEST_CASE("this machine and what no_proxy has need no proxy") {
    for (const auto* here : {"127.0.0.1", "localhost", "::1", "LocalHost"}) {
        CHECK(name_of(here, false, {{"http_proxy", "p:1"}}) == "none");
    }
    CHECK(name_of("b.example", false, {{"http_proxy", "p:1"}, {"NO_PROXY", "b.example"}}) == "none");
    CHECK(name_of("b.example", false, {{"http_proxy", "p:1"}, {"no_proxy", "a"}, {"NO_PROXY", "b.example"}}) == "p:1");
    for (const auto* list : {"*", "b.example", "a, B.Example", ".example", "example", "x,,example.", "b.example "}) {
        CAPTURE(list);
        CHECK(is_exempt("b.example", list));
        CHECK(is_exempt("b.example.", list));
    }
    for (const auto* list : {"", ",", ".", "ample", "a.b.example", "b.example.org", "b.*", "10.0.0.0/8"}) {
        CAPTURE(list);
        CHECK_FALSE(is_exempt("b.example", list));
    }
    for (const auto* list : {"10.1.2.3", "10.0.0.0/8", "10.1.2.3/32", "0.0.0.0/0"}) {
        CHECK(is_exempt("10.1.2.3", list));
        CHECK_FALSE(is_exempt("10.1.2.3", std::string(list) + "x"));
    }
    CHECK_FALSE(is_exempt("11.1.2.3", "10.0.0.0/8"));
    CHECK_FALSE(is_exempt("10.1.2.3", "10.0.0.0/33"));
    CHECK(is_exempt("fe80::1", "[fe80::1]"));
    CHECK(is_exempt("fe80::1", "fe80::/10"));
    CHECK_FALSE(is_exempt("fd80::1", "fe80::/10"));
}

TEST_CASE("a proxy's user and password become a header, and a tunnel is asked for by name and port") {
    const auto proxy = found("b", false, {{"http_proxy", "http://me:p%40ss:%zz@p.example:8"}}).value();
    REQUIRE(proxy);
    CHECK(proxy->name() == "p.example:8");
    CHECK(proxy->authorization == "Basic bWU6cEBzczoleno="); // me:p@ss:%zz
    CHECK(
        proxy->connect_request("b.example", 443) ==
        "CONNECT b.example:443 HTTP/1.1\r\nHost: b.example:443\r\nProxy-Authorization: Basic bWU6cEBzczoleno=\r\n\r\n");
    CHECK(found("b", false, {{"http_proxy", "me@p"}}).value()->authorization == "Basic bWU6");
    CHECK(http_proxy{"p", 1, {}}.connect_request("::2", 80) == "CONNECT [::2]:80 HTTP/1.1\r\nHost: [::2]:80\r\n\r\n");
}

TEST_CASE("a proxy that cannot be used is refused without its password") {
    for (const auto* wrong : {"https://me:hidden@p:1", "socks5://me:hidden@p:1", "http://", "http://me:hidden@", "p:0",
                              "p:x", "p:65536", "[::1", "[::1]x", "http://me:hidden@p q:1"}) {
        CAPTURE(wrong);
        const auto refused = found("b.example", true, {{"https_proxy", wrong}});
        REQUIRE(refused.has_error());
        CHECK(refused.error().kind == error_class::config);
        CHECK(refused.error().message.find("https_proxy") == 0);
        CHECK(refused.error().message.find("hidden") == std::string::npos);
    }
}
