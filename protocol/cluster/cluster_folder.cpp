#include "protocol/cluster/cluster_folder.hpp"

#include "protocol/cluster/cluster_files.hpp"
#include "protocol/cluster/staged_file.hpp"
#include "protocol/core/read_file.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cluster {

namespace fs = std::filesystem;

namespace {

constexpr bytes most_certificate = 64_KiB;

/// True when the certificate in `file` can do nothing any more, so that another one may take its place.
bool is_worthless(const fs::path& file, const cluster_state& state, wall_time now) {
    const auto pem = read_file(file, most_certificate);
    const auto certificate = pem ? parse_certificate(*pem, file.string()) : pem.error();
    if (!certificate) {
        return false;
    }
    const auto serial = serial_from(::X509_get0_serialNumber(certificate->get()));
    const auto valid = validity_of(**certificate);
    return serial && valid && (state.revoked.contains(*serial) || valid->until < now);
}

/// Nothing of the user's is overwritten.
result<void> check_place(const fs::path& folder, const node_name& node, const cluster_state& state, wall_time now) {
    const auto exists = [](const fs::path& file) {
        std::error_code failed;
        return fs::symlink_status(file, failed).type() != fs::file_type::not_found;
    };
    const auto certificate = certificate_file(folder, node);
    if (exists(certificate) && !is_worthless(certificate, state, now)) {
        return config_failure(
            fmt::format("{} is there already, and {}'s certificate in it may still be used: to replace it, "
                        "revoke it first; to have two for a while, move {}.pem and {}.key away",
                        certificate.string(), node.str(), node.str(), node.str()));
    }
    if (!exists(certificate) && exists(key_file(folder, node))) {
        return config_failure(fmt::format("{} is there without its certificate: move it away, or remove it",
                                          key_file(folder, node).string()));
    }
    const auto alike = std::find_if(state.issued.begin(), state.issued.end(), [&](const issued_certificate& one) {
        return same_but_for_capitals(one.name, node);
    });
    if (alike != state.issued.end()) {
        return config_failure(fmt::format("there is a node {}: {} differs from it in nothing but capitals",
                                          alike->name.str(), node.str()));
    }
    return {};
}

/// Stages all, then puts the index in place first: a certificate that exists can always be revoked by name.
result<void> save_issued(const fs::path& folder, const std::vector<issued_certificate>& issued,
                         const certified_key& pem) {
    const auto& node = issued.back().name;
    auto index = staged_file::write(index_file(folder), to_text(issued), public_mode);
    if (!index) {
        return index.error();
    }
    auto key = staged_file::write(key_file(folder, node), pem.key, secret_mode);
    if (!key) {
        return key.error();
    }
    auto certificate = staged_file::write(certificate_file(folder, node), pem.certificate, public_mode);
    if (!certificate) {
        return certificate.error();
    }
    for (auto* file : {&*index, &*key, &*certificate}) {
        if (auto placed = file->put_in_place(); !placed) {
            return placed;
        }
    }
    return {};
}

} // namespace

result<issued_certificate> issue_certificate(const fs::path& folder, const node_name& node, std::chrono::days valid,
                                             wall_time now) {
    const auto lock = lock_cluster(folder);
    if (!lock) {
        return lock.error();
    }
    auto state = read_cluster(folder);
    if (!state) {
        return state.error();
    }
    if (auto free = check_place(folder, node, *state, now); !free) {
        return free.error();
    }
    const auto by = read_authority(folder);
    if (!by) {
        return by.error();
    }
    auto serial = random_serial();
    if (!serial) {
        return serial.error();
    }
    issued_certificate made{std::move(*serial), node, valid_for(valid, now)};
    const auto pem = by->issue(node, made.serial, made.valid);
    if (!pem) {
        return pem.error();
    }
    state->issued.push_back(made);
    if (auto saved = save_issued(folder, state->issued, *pem); !saved) {
        return saved.error();
    }
    return made;
}

result<std::vector<issued_certificate>> revoke_certificates(const fs::path& folder, const node_name& node,
                                                            wall_time now) {
    const auto lock = lock_cluster(folder);
    if (!lock) {
        return lock.error();
    }
    auto state = read_cluster(folder);
    if (!state) {
        return state.error();
    }
    std::vector<issued_certificate> fresh;
    std::optional<wall_time> before;
    for (const auto& one : state->issued) {
        if (one.name != node) {
            continue;
        }
        if (const auto [at, added] = state->revoked.emplace(one.serial, now); added) {
            fresh.push_back(one);
        } else {
            before = at->second;
        }
    }
    if (fresh.empty()) {
        return before ? config_failure(fmt::format("{} was revoked already, at {}", node.str(), format_time(*before)))
                      : config_failure(fmt::format("this cluster has issued no certificate to {}", node.str()));
    }
    const auto by = read_authority(folder);
    if (!by) {
        return by.error();
    }
    const auto list = write_revocation_list(*by, state->revoked, now);
    if (!list) {
        return list.error();
    }
    auto staged = staged_file::write(revoked_file(folder), *list, public_mode);
    if (!staged) {
        return staged.error();
    }
    if (auto placed = staged->put_in_place(); !placed) {
        return placed.error();
    }
    return fresh;
}

result<cluster_listing> list_certificates(const fs::path& folder) {
    auto state = read_cluster(folder);
    if (!state) {
        return state.error();
    }
    const auto own = validity_of(*state->authority);
    if (!own) {
        return own.error();
    }
    cluster_listing listing{common_name(*state->authority), *own, {}};
    for (auto& one : state->issued) {
        const auto revoked = state->revoked.find(one.serial);
        listing.certificates.push_back({std::move(one), revoked == state->revoked.end()
                                                            ? std::nullopt
                                                            : std::optional<wall_time>(revoked->second)});
    }
    return listing;
}

} // namespace chalk::cluster
