#include "protocol/core/sandbox_layout.hpp"
#include "protocol/core/unique_fd.hpp"
#include "runtimes/confinement/check/probe.hpp"
#include "runtimes/confinement/firewall/firewall.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"
#include "runtimes/confinement/firewall/reach.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include <netinet/in.h>
#include <sys/socket.h>

namespace chalk::confinement::check {

namespace {

using firewall::target;
using verdict = probe_result::verdict;

constexpr milliseconds patience{1'200};

/// A listener on all addresses; connections are made by the kernel. Port 0: any.
struct listener {
    unique_fd socket;
    std::uint16_t port = 0;

    static listener open(std::uint16_t port) {
        listener made;
        made.socket.reset(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const int off = 0;
        ::setsockopt(made.socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        sockaddr_in6 any{};
        any.sin6_family = AF_INET6;
        any.sin6_port = htons(port);
        socklen_t size = sizeof any;
        if (!made.socket || ::bind(made.socket.get(), reinterpret_cast<const sockaddr*>(&any), size) != 0 ||
            ::listen(made.socket.get(), 16) != 0 ||
            ::getsockname(made.socket.get(), reinterpret_cast<sockaddr*>(&any), &size) != 0) {
            made.socket.reset();
        }
        made.port = ntohs(any.sin6_port);
        return made;
    }
};

std::string words(const firewall::attempt& one) {
    if (one.answered && one.error == 0) {
        return "an answer";
    }
    return std::generic_category().message(one.error);
}

/// The same targets as root and as the user.
struct both {
    firewall::attempt root;
    firewall::attempt user;
};

class firewall_prober {
  public:
    firewall_prober(const settings& how, leftovers& left) : how_(how), left_(left), user_(how.user) {}

    std::vector<probe_result> run() {
        open_ = listener::open(0);
        closed_ = listener::open(0);
        auto rules = firewall::make_rules({how_.user, {closed_.port}, how_.reach});
        if (how_.alter_rules) {
            rules = how_.alter_rules(std::move(rules));
        }
        auto applied = firewall::apply(rules, how_.user, firewall::check_table);
        if (!applied) {
            // Not ours to set: then it is the runtime's rules that count, and they are the student's.
            user_ = how_.student;
            closed_ = listener::open(sandbox_layout::gateway_port);
            whose_ = fmt::format("the runtime's rules, tried as user {} ({})", user_, applied.error().message);
        } else {
            whose_ = fmt::format("rules of this check by {}, tried as user {}", firewall::to_string(*applied), user_);
        }
        own_addresses();
        closed_port();
        outside();
        private_networks();
        if (applied) {
            if (auto removed = firewall::remove(*applied, firewall::check_table); !removed) {
                left_.push_back(removed.error().message);
            }
        }
        return std::move(results_);
    }

  private:
    std::optional<both> try_both(const target& to) {
        auto seen = try_all_both({to});
        return seen.empty() ? std::nullopt : std::optional(seen.front());
    }

    /// Together, since each may take all of the patience. Empty: could not be tried.
    std::vector<both> try_all_both(const std::vector<target>& targets) {
        const auto as_root = firewall::try_to_reach(targets, 0, patience);
        const auto as_user = firewall::try_to_reach(targets, user_, patience);
        std::vector<both> all;
        for (std::size_t i = 0; as_root && as_user && i < targets.size(); ++i) {
            all.push_back({as_root->at(i), as_user->at(i)});
        }
        return all;
    }

    void add(std::string name, std::string expected, std::string seen, verdict how) {
        results_.push_back({std::move(name), std::move(expected), std::move(seen), how});
    }

    void own_addresses() {
        for (const char* address : {"127.0.0.1", "::1"}) {
            const auto name = fmt::format("firewall: own address {}", address);
            const std::string expected = "the student reaches a server on its own machine";
            const auto seen = try_both({address, open_.port, false});
            if (!seen || seen->root.error != 0) {
                add(name, expected, "root does not reach it either", verdict::skip);
                continue;
            }
            add(name, expected, fmt::format("{}; {}", words(seen->user), whose_),
                seen->user.error == 0 ? verdict::pass : verdict::fail);
        }
    }

    void closed_port() {
        for (const char* address : {"127.0.0.1", "::1"}) {
            const auto name = fmt::format("firewall: closed port on {}", address);
            const std::string expected = "root reaches it, the student does not";
            const auto seen = try_both({address, closed_.port, false});
            if (!seen || seen->root.error != 0) {
                add(name, expected, fmt::format("root does not reach port {} either", closed_.port), verdict::skip);
                continue;
            }
            add(name, expected, fmt::format("{}; {}", words(seen->user), whose_),
                seen->user.error != 0 ? verdict::pass : verdict::fail);
        }
    }

    /// Silence alone proves nothing: what root sees is said with it.
    void closed_target(const std::string& name, const target& to, const both* seen) {
        const std::string expected = "no answer for the student";
        if (!firewall::has_route(to)) {
            add(name, expected, fmt::format("{}: there is no route, for nobody", to.str()), verdict::pass);
            return;
        }
        if (seen == nullptr) {
            add(name, expected, "could not be tried", verdict::fail);
            return;
        }
        add(name, expected,
            fmt::format("{}: student: {}, root: {}; {}", to.str(), words(seen->user), words(seen->root), whose_),
            seen->user.answered ? verdict::fail : verdict::pass);
    }

    void outside() {
        const auto& targets = firewall::outside_targets();
        const auto seen = try_all_both(targets);
        for (std::size_t i = 0; i < targets.size(); ++i) {
            closed_target("firewall: outside, " + targets[i].str(), targets[i], seen.empty() ? nullptr : &seen[i]);
        }
    }

    void private_networks() {
        const std::vector<target> targets = {
            {"10.1.2.3", 443, false}, {"172.16.9.9", 443, false}, {"192.168.9.9", 443, false}, {"fd77::1", 443, false}};
        const auto all = try_all_both(targets);
        for (std::size_t i = 0; i < targets.size(); ++i) {
            const auto* seen = all.empty() ? nullptr : &all[i];
            const auto name = "firewall: private network, " + targets[i].str();
            if (how_.reach == firewall::network_reach::local) {
                closed_target(name, targets[i], seen);
                continue;
            }
            const std::string expected = "what answers root answers the student (CHALK_STUDENT_NETWORK=internal)";
            if (seen == nullptr || !seen->root.answered) {
                add(name, expected, "nothing answers root there", verdict::skip);
            } else {
                add(name, expected, words(seen->user), seen->user.answered ? verdict::pass : verdict::fail);
            }
        }
    }

    const settings& how_;
    leftovers& left_;
    uid_t user_;
    std::string whose_;
    listener open_;
    listener closed_;
    std::vector<probe_result> results_;
};

} // namespace

std::vector<probe_result> probe_firewall(const settings& how, leftovers& left) {
    return firewall_prober(how, left).run();
}

} // namespace chalk::confinement::check
