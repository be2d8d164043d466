#include "cli/cluster/cluster_flags.hpp"

#include "actors/sinks/transcript_files.hpp"
#include "protocol/net/host_port.hpp"

#include <cmath>
#include <system_error>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view cluster_name = "cluster.json";

result<void> check_addresses(const config::cluster_file& cluster) {
    for (const auto& node : cluster.nodes) {
        if (auto where = parse_host_port(node); !where) {
            return where.error();
        }
    }
    for (const auto* own : {&cluster.listen, &cluster.metrics}) {
        if (own->empty()) {
            continue;
        }
        if (auto where = parse_host_port(*own, true); !where) {
            return where.error();
        }
    }
    return {};
}

} // namespace

void add_cluster_flags(CLI::App& command, cluster_flags& flags) {
    auto& o = flags.typed;
    command.add_option("--cluster", flags.file, "run on the nodes of a cluster: its file, TOML or JSON")
        ->type_name("FILE");
    command.add_option("--listen", o.listen, "run on nodes that come by themselves (`chalk node --join`)")
        ->type_name("ADDR:PORT");
    command.add_option("--node", o.nodes, "run on a node that listens (`chalk node --listen`); may be given again")
        ->type_name("HOST:PORT");
    command.add_option("--tls", o.tls, "folder with ca.pem, revoked.pem and this machine's certificate and key")
        ->type_name("DIR");
    command.add_option("--tls-name", o.name, "whose certificate in --tls is this machine's")->type_name("NAME");
    command.add_option("--allow", o.allow, "a node that may take part; without it whoever has a certificate may")
        ->type_name("NAME");
    command.add_option("--lease", flags.lease_s, "how long a node goes on without its coordinator")
        ->type_name("SECONDS");
    command.add_option("--metrics", o.metrics, "serve metrics of the cluster there, in the OpenMetrics format")
        ->type_name("ADDR:PORT");
}

result<std::optional<config::cluster_file>> read_cluster_flags(const cluster_flags& flags) {
    config::cluster_file made;
    const auto& typed = flags.typed;
    if (!flags.file.empty()) {
        auto read = config::load_cluster_file(flags.file);
        if (!read) {
            return read.error();
        }
        made = std::move(*read);
    } else if (typed.listen.empty() && typed.nodes.empty()) {
        if (!typed.tls.empty() || !typed.metrics.empty() || !typed.allow.empty() || flags.lease_s != 0) {
            return config_failure("--tls, --allow, --lease and --metrics are about a cluster: give --listen, --node or "
                                  "--cluster too");
        }
        return std::optional<config::cluster_file>();
    }
    const auto prefer = [](auto& to, const auto& from) {
        if (!from.empty()) {
            to = from;
        }
    };
    prefer(made.listen, typed.listen);
    prefer(made.nodes, typed.nodes);
    prefer(made.tls, typed.tls);
    prefer(made.name, typed.name);
    prefer(made.allow, typed.allow);
    prefer(made.metrics, typed.metrics);
    if (flags.lease_s != 0) {
        if (!std::isfinite(flags.lease_s) || flags.lease_s < 1 || flags.lease_s > 7 * 24 * 3600) {
            return config_failure("--lease: expected 1 to 604800 seconds");
        }
        made.lease = milliseconds(std::llround(flags.lease_s * 1000));
    }
    if (made.tls.empty()) {
        return config_failure("a cluster needs --tls DIR: the folder with this machine's certificate, which `chalk "
                              "cluster cert init` and `issue` make");
    }
    if (auto fine = check_addresses(made); !fine) {
        return fine.error();
    }
    return std::optional(std::move(made));
}

result<void> store_cluster(const fs::path& folder, const config::cluster_file& cluster) {
    auto stored = cluster;
    std::error_code ec; // a resume may start elsewhere
    stored.tls = fs::absolute(stored.tls, ec);
    const auto content = [&stored] { return config::to_json(stored).dump(1) + "\n"; };
    auto written = actors::write_durably({{folder / cluster_name, content}});
    return std::move(written.front());
}

result<std::optional<config::cluster_file>> stored_cluster(const fs::path& folder) {
    const auto file = folder / cluster_name;
    std::error_code ec;
    if (!fs::exists(file, ec)) {
        return std::optional<config::cluster_file>();
    }
    auto read = config::load_cluster_file(file.string());
    if (!read) {
        return read.error();
    }
    return std::optional(std::move(*read));
}

} // namespace chalk::cli
