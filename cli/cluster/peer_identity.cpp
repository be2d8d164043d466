#include "cli/cluster/peer_identity.hpp"

#include "protocol/cluster/certificates.hpp"
#include "protocol/cluster/cluster_folder.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <system_error>
#include <utility>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr bytes largest_pem = 1_MiB;
/// A list of revoked certificates grows for as long as its cluster lives.
constexpr bytes largest_revocations = 64_MiB;

/// Names of whose certificates there are keys in `folder`.
std::set<std::string> keys_in(const fs::path& folder) {
    std::set<std::string> names;
    std::error_code ec;
    for (fs::directory_iterator at(folder, ec), end; !ec && at != end; at.increment(ec)) {
        if (at->path().extension() == ".key" && at->path() != cluster::authority_key_file(folder)) {
            names.insert(at->path().stem().string());
        }
    }
    return names;
}

struct own_files {
    cluster::node_name name;
    fs::path certificate;
    fs::path key;
};

result<own_files> find_own_files(const identity_options& options) {
    const fs::path nodes = options.folder / "nodes";
    std::string name = options.name;
    if (name.empty()) {
        auto names = keys_in(options.folder);
        names.merge(keys_in(nodes));
        if (names.size() != 1) {
            return config_failure(
                names.empty()
                    ? fmt::format("{} has no NAME.key: `chalk cluster cert issue NAME` makes one, with its NAME.pem",
                                  options.folder.string())
                    : fmt::format("{} has the keys of {}: say with --name whose this machine is",
                                  options.folder.string(), fmt::join(names, ", ")));
        }
        name = *names.begin();
    }
    auto parsed = cluster::node_name::parse(name);
    if (!parsed) {
        return parsed.error();
    }
    std::error_code ec;
    const fs::path where = fs::exists(nodes / (name + ".key"), ec) ? nodes : options.folder;
    return own_files{std::move(*parsed), where / (name + ".pem"), where / (name + ".key")};
}

} // namespace

result<peer_identity> read_identity(const identity_options& options) {
    auto own = find_own_files(options);
    if (!own) {
        return own.error();
    }
    cluster::tls_identity tls;
    const std::pair<std::string*, fs::path> files[] = {{&tls.ca_pem, cluster::authority_file(options.folder)},
                                                       {&tls.crl_pem, cluster::revoked_file(options.folder)},
                                                       {&tls.certificate_pem, own->certificate},
                                                       {&tls.key_pem, own->key}};
    for (const auto& [text, file] : files) {
        auto read = read_file(file, text == &tls.crl_pem ? largest_revocations : largest_pem);
        if (!read) {
            return read.error();
        }
        *text = std::move(*read);
    }
    const auto certificate = cluster::parse_certificate(tls.certificate_pem, own->certificate.string());
    if (!certificate) {
        return certificate.error();
    }
    if (const auto names = cluster::dns_names(**certificate); names != std::vector{own->name.str()}) {
        return config_failure(fmt::format("{} is not a certificate of {}: it is of {}", own->certificate.string(),
                                          own->name.str(),
                                          names.empty() ? "nobody" : fmt::format("{}", fmt::join(names, ", "))));
    }
    std::set<cluster::node_name> allowed;
    for (const auto& peer : options.allow) {
        auto name = cluster::node_name::parse(peer);
        if (!name) {
            return config_failure("--allow: " + name.error().message);
        }
        allowed.insert(std::move(*name));
    }
    return peer_identity{std::move(own->name), std::move(tls),
                         allowed.empty() ? cluster::allow_list::everyone()
                                         : cluster::allow_list::only(std::move(allowed))};
}

} // namespace chalk::cli
