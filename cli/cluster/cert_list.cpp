#include "cli/cluster/cert_list.hpp"

#include "cli/sweep/columns.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

namespace chalk::cli {

namespace {

std::string day_of(wall_time at) {
    return format_time(at).substr(0, 10);
}

/// Revoked says more than expired.
std::string state_of(const cluster::listed_certificate& one, wall_time now) {
    return one.revoked ? "revoked" : one.issued.valid.until < now ? "expired" : "valid";
}

json to_json(const cluster::listed_certificate& one, wall_time now) {
    return {{"name", one.issued.name.str()},
            {"serial", one.issued.serial.hex},
            {"state", state_of(one, now)},
            {"from", format_time(one.issued.valid.from)},
            {"until", format_time(one.issued.valid.until)},
            {"revoked", one.revoked ? json(format_time(*one.revoked)) : json()}};
}

} // namespace

std::string cert_page(const cluster::cluster_listing& listing, wall_time now, const page_style& style) {
    auto text = fmt::format("cluster {}, whose authority ends on {}{}\n", one_line(listing.cluster, style.width),
                            day_of(listing.authority.until), listing.authority.until < now ? ": it has expired" : "");
    if (listing.certificates.empty()) {
        return text + "no certificates yet\n";
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& one : listing.certificates) {
        const auto state = state_of(one, now);
        rows.push_back({one.issued.name.str(), one.revoked ? state + " on " + day_of(*one.revoked) : state,
                        day_of(one.issued.valid.until), one.issued.serial.hex});
    }
    return text + columns_text({"name", "state", "until", "serial number"}, rows, style);
}

json cert_json(const cluster::cluster_listing& listing, wall_time now) {
    json certificates = json::array();
    for (const auto& one : listing.certificates) {
        certificates.push_back(to_json(one, now));
    }
    return {{"cluster", listing.cluster},
            {"from", format_time(listing.authority.from)},
            {"until", format_time(listing.authority.until)},
            {"certificates", std::move(certificates)}};
}

} // namespace chalk::cli
