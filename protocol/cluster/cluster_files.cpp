#include "protocol/cluster/cluster_files.hpp"

#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>

namespace chalk::cluster {

namespace fs = std::filesystem;

namespace {

constexpr bytes most_pem = 16_MiB;    // of revoked certificates: some 400,000
constexpr bytes most_index = 256_MiB; // some 1,500,000 certificates
constexpr milliseconds lock_poll{10};

/// "<file>: <why>".
failure of_file(const fs::path& file, const failure& why) {
    return {why.kind, fmt::format("{}: {}", file.string(), why.message)};
}

/// A folder that is none of a cluster is the likeliest mistake.
result<std::string> read_authority_text(const fs::path& folder) {
    std::error_code failed;
    if (!fs::exists(authority_file(folder), failed)) {
        return config_failure(
            fmt::format("{} is no cluster's folder: it has no ca.pem; `chalk cluster cert init --out DIR` "
                        "makes one",
                        folder.string()));
    }
    return read_file(authority_file(folder), most_pem);
}

result<revocations> read_revoked(const fs::path& folder, X509& authority) {
    const auto file = revoked_file(folder);
    auto pem = read_file(file, most_pem);
    if (!pem) {
        // Not made anew: what was revoked would be forgotten.
        return of_file(file, config_failure(pem.error().message + "; copy it back from a machine of the cluster"));
    }
    auto list = parse_revocation_list(*pem, authority);
    if (!list) {
        return of_file(file, list.error());
    }
    auto revoked = revocations_of(**list);
    return revoked ? std::move(revoked) : of_file(file, revoked.error());
}

} // namespace

fs::path authority_file(const fs::path& folder) {
    return folder / "ca.pem";
}
fs::path authority_key_file(const fs::path& folder) {
    return folder / "ca.key";
}
fs::path revoked_file(const fs::path& folder) {
    return folder / "revoked.pem";
}
fs::path index_file(const fs::path& folder) {
    return folder / "issued.jsonl";
}
fs::path lock_file(const fs::path& folder) {
    return folder / "lock";
}
fs::path nodes_folder(const fs::path& folder) {
    return folder / "nodes";
}
fs::path certificate_file(const fs::path& folder, const node_name& node) {
    return nodes_folder(folder) / (node.str() + ".pem");
}
fs::path key_file(const fs::path& folder, const node_name& node) {
    return nodes_folder(folder) / (node.str() + ".key");
}

result<unique_fd> lock_cluster(const fs::path& folder) {
    // First, so that a folder that is no cluster's stays as it was.
    if (auto text = read_authority_text(folder); !text) {
        return text.error();
    }
    const auto file = lock_file(folder);
    unique_fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, public_mode));
    if (!fd) {
        return config_failure(fmt::format("cannot open {}: {}", file.string(), std::generic_category().message(errno)));
    }
    const auto deadline = std::chrono::steady_clock::now() + folder_lock_wait;
    while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return harness_failure(
                fmt::format("cannot lock {}: {}", file.string(), std::generic_category().message(errno)));
        }
        if (std::chrono::steady_clock::now() >= deadline) {
            return harness_failure(fmt::format("another command has been changing {} for {} s", folder.string(),
                                               folder_lock_wait.count()));
        }
        std::this_thread::sleep_for(lock_poll); // flock has no deadline of its own
    }
    return fd;
}

result<cluster_state> read_cluster(const fs::path& folder) {
    const auto pem = read_authority_text(folder);
    if (!pem) {
        return pem.error();
    }
    auto authority = parse_certificate(*pem, authority_file(folder).string());
    if (!authority) {
        return authority.error();
    }
    const auto index = read_file(index_file(folder), most_index);
    if (!index) {
        return index.error();
    }
    auto issued = parse_index(*index, index_file(folder).string());
    if (!issued) {
        return issued.error();
    }
    auto revoked = read_revoked(folder, **authority);
    if (!revoked) {
        return revoked.error();
    }
    return cluster_state{std::move(*authority), std::move(*issued), std::move(*revoked)};
}

result<authority> read_authority(const fs::path& folder) {
    auto certificate = read_authority_text(folder);
    if (!certificate) {
        return certificate.error();
    }
    auto key = read_file(authority_key_file(folder), most_pem);
    if (!key) {
        return key.error();
    }
    auto read = authority::load({std::move(*certificate), std::move(*key)});
    return read ? std::move(read) : of_file(folder, read.error());
}

} // namespace chalk::cluster
