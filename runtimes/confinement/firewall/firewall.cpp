#include "runtimes/confinement/firewall/firewall.hpp"

#include "runtimes/confinement/firewall/iptables.hpp"
#include "runtimes/confinement/firewall/netlink.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

namespace chalk::firewall {

namespace {

/// Deletes an older table of that name first, which a new network namespace does not have.
int set_nft_rules(const std::vector<rule>& rules, uid_t student, std::string_view table) {
    const std::string batch = nft_batch(rules, student, table);
    int failed = send_batch(batch);
    if (failed == EEXIST) {
        failed = send_batch(nft_removal(table));
        failed = failed == 0 ? send_batch(batch) : failed;
    }
    return failed;
}

} // namespace

std::string_view to_string(back_end which) noexcept {
    return which == back_end::nftables ? "nftables" : "iptables-legacy";
}

result<back_end> apply(const std::vector<rule>& rules, uid_t student, std::string_view table,
                       std::optional<back_end> only) {
    std::string reasons;
    for (const auto which : {back_end::nftables, back_end::iptables_legacy}) {
        if (only && *only != which) {
            continue;
        }
        const int failed =
            which == back_end::nftables ? set_nft_rules(rules, student, table) : set_legacy_rules(rules, student);
        if (failed == 0) {
            return which;
        }
        reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : ", ", to_string(which),
                               std::generic_category().message(failed));
    }
    return harness_failure(fmt::format("cannot set the student's firewall rules ({})", reasons));
}

result<void> remove(back_end which, std::string_view table) {
    const int failed = which == back_end::nftables ? send_batch(nft_removal(table)) : clear_legacy_rules();
    if (failed != 0) {
        return harness_failure(fmt::format("cannot remove the firewall rules of {}: {}", to_string(which),
                                           std::generic_category().message(failed)));
    }
    return {};
}

} // namespace chalk::firewall
