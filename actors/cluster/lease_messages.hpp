/// By what a node joins, and keeps its lease (docs/protocols/cluster-messages.md).
///
/// A peer is trusted, and a fault of it should still not take our memory. CAF's deserializer checks a string's length
/// against what is left of the message, and nothing else: it makes room for any claimed number of bytes of a
/// vector<char>, and reads lists as long as there is something to read, which costs many times their size. So a list is
/// one string on the wire, and every length has a bound, here. A message that is refused reaches its actor as one
/// without elements, which answers it as any that it does not know: sec::unexpected_message.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "actors/cluster/lease_clock.hpp"
#include "actors/cluster/lease_terms.hpp"
#include "actors/cluster/node_id.hpp"
#include "actors/cluster/node_offer.hpp"
#include "actors/messages.hpp"

#include <caf/all.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace chalk::actors {

/// Node to coordinator, the first on each link: who it is, what it has, and a question for a lease. A node that has one
/// from before the link broke names it.
struct hello {
    node_id node;
    node_offer offer; ///< with the version of its chalk
    lease_clock::question asked{};
    lease_number held{}; ///< zeros: none
};

/// Answer to hello: the node may run until `length` after it asked.
struct lease_granted {
    lease_number number;
    milliseconds length{0};
    lease_clock::question asked{};
};

/// Node to coordinator: it wants to go on.
struct renew_lease {
    lease_number number;
    lease_clock::question asked{};
};

/// Answer to renew_lease: until `length` after that question.
struct lease_renewed {
    lease_number number;
    milliseconds length{0};
    lease_clock::question asked{};
};

/// Node to coordinator: nothing of that lease runs any more.
struct lease_given_up {
    lease_number number;
};

struct name_limits {
    std::size_t most;    ///< names
    std::size_t longest; ///< bytes of one
};
constexpr name_limits runtime_limits{64, 64};
constexpr name_limits label_limits{256, 256};
constexpr name_limits held_limits{65'536, 128};
constexpr std::size_t longest_version = 64;

/// What a hello may hold, both ways: ask before it is sent. error_class::config names the field and its bound.
[[nodiscard]] result<void> check_hello(const hello& what);

using name_set = std::set<std::string, std::less<>>;
/// One name a line. Names that check_hello() let through.
[[nodiscard]] std::string join_names(const name_set& names);
/// error_class::config when there are too many, or one is empty or too long.
[[nodiscard]] result<name_set> split_names(std::string_view text, name_limits limits);

/// A length that can be one of a lease.
[[nodiscard]] caf::error check_lease_length(milliseconds length);

template<class Inspector, class Of>
typename Inspector::result_type inspect(Inspector& f, epoch_number<Of>& x) {
    return f(caf::meta::type_name("epoch_number"), x.epoch, x.count);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, resources& x) {
    return f(caf::meta::type_name("resources"), x.memory.count, x.disk.count, x.processes, x.milli_cpus, x.open_files);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, hello& x) {
    std::string node;
    std::string runtimes;
    std::string labels;
    std::string held;
    if constexpr (Inspector::reads_state) {
        node = x.node.str();
        runtimes = join_names(x.offer.runtimes);
        labels = join_names(x.offer.labels);
        held = join_names(x.offer.held);
    }
    auto load = [&]() -> caf::error {
        auto name = node_id::parse(node);
        auto of_runtimes = split_names(runtimes, runtime_limits);
        auto of_labels = split_names(labels, label_limits);
        auto of_held = split_names(held, held_limits);
        if (!name || !of_runtimes || !of_labels || !of_held || x.offer.version.size() > longest_version) {
            return caf::make_error(caf::sec::invalid_argument, "a hello beyond its bounds");
        }
        x.node = std::move(*name);
        x.offer.runtimes = std::move(*of_runtimes);
        x.offer.labels = std::move(*of_labels);
        x.offer.held = std::move(*of_held);
        return caf::none;
    };
    return f(caf::meta::type_name("hello"), node, x.offer.version, x.offer.capacity, runtimes, labels, held, x.asked,
             x.held, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, lease_granted& x) {
    auto load = [&] { return check_lease_length(x.length); };
    return f(caf::meta::type_name("lease_granted"), x.number, x.length, x.asked, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, renew_lease& x) {
    return f(caf::meta::type_name("renew_lease"), x.number, x.asked);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, lease_renewed& x) {
    auto load = [&] { return check_lease_length(x.length); };
    return f(caf::meta::type_name("lease_renewed"), x.number, x.length, x.asked, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, lease_given_up& x) {
    return f(caf::meta::type_name("lease_given_up"), x.number);
}

} // namespace chalk::actors
