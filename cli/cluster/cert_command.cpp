#include "cli/cluster/cert_command.hpp"

#include "cli/cluster/cert_list.hpp"
#include "cli/refused.hpp"
#include "protocol/cluster/cluster_folder.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace chalk::cli {

namespace {

namespace fs = std::filesystem;

struct cert_options {
    fs::path folder;
    std::string name;
    std::int64_t days = 0;
    bool as_json = false;
};

constexpr std::int64_t most_days = 36'500;

exit_code refuse_cert(std::string_view command, const failure& why) {
    return refuse(fmt::format("chalk cluster cert {}", command), why, exit_code::run_error);
}

exit_code init_cluster(const cert_options& options) {
    const auto name = cluster::node_name::parse(options.name);
    if (!name) {
        return refuse_cert("init", name.error());
    }
    const auto made = cluster::create_cluster(options.folder, *name, std::chrono::days(options.days),
                                              std::chrono::system_clock::now());
    if (!made) {
        return refuse_cert("init", made.error());
    }
    fmt::print("made the cluster {} in {}\n"
               "{} is its secret: whoever has it can add machines; keep the folder to yourself, and a copy of it safe\n"
               "next: chalk cluster cert issue NAME --cluster {}\n",
               name->str(), options.folder.string(), cluster::authority_key_file(options.folder).string(),
               options.folder.string());
    return exit_code::fine;
}

exit_code issue_cert(const cert_options& options) {
    const auto name = cluster::node_name::parse(options.name);
    if (!name) {
        return refuse_cert("issue", name.error());
    }
    const auto made = cluster::issue_certificate(options.folder, *name, std::chrono::days(options.days),
                                                 std::chrono::system_clock::now());
    if (!made) {
        return refuse_cert("issue", made.error());
    }
    fmt::print("issued a certificate to {}, valid until {}, serial number {}\n"
               "copy to {}, where chalk alone can read them:\n"
               "  {}\n  {}\n  {}\n  {}  (a secret: over a channel you trust)\n"
               "ca.key stays here\n",
               name->str(), format_time(made->valid.until), made->serial.hex, name->str(),
               cluster::authority_file(options.folder).string(), cluster::revoked_file(options.folder).string(),
               cluster::certificate_file(options.folder, *name).string(),
               cluster::key_file(options.folder, *name).string());
    return exit_code::fine;
}

exit_code revoke_cert(const cert_options& options) {
    const auto name = cluster::node_name::parse(options.name);
    if (!name) {
        return refuse_cert("revoke", name.error());
    }
    const auto revoked = cluster::revoke_certificates(options.folder, *name, std::chrono::system_clock::now());
    if (!revoked) {
        return refuse_cert("revoke", revoked.error());
    }
    for (const auto& one : *revoked) {
        fmt::print("revoked the certificate {} of {}\n", one.serial.hex, one.name.str());
    }
    fmt::print("copy {} to every machine of the cluster: until it is there, a machine still lets {} in\n",
               cluster::revoked_file(options.folder).string(), name->str());
    return exit_code::fine;
}

exit_code list_certs(const cert_options& options) {
    const auto listing = cluster::list_certificates(options.folder);
    if (!listing) {
        return refuse_cert("list", listing.error());
    }
    const auto now = std::chrono::system_clock::now();
    return put(options.as_json ? dump_json(cert_json(*listing, now), 2) + "\n"
                               : cert_page(*listing, now, style_of_stdout()));
}

std::shared_ptr<cert_options> add_cert_folder(CLI::App& command) {
    auto options = std::make_shared<cert_options>();
    command.add_option("--cluster", options->folder, "the cluster's folder")->required()->type_name("DIR");
    return options;
}

void add_cert_days(CLI::App& command, cert_options& options, std::chrono::days otherwise) {
    options.days = otherwise.count();
    command.add_option("--days", options.days, "how long it is valid")
        ->check(CLI::Range(std::int64_t{1}, most_days))
        ->capture_default_str();
}

} // namespace

void add_cert_command(CLI::App& parent, exit_code& code) {
    auto* cert = parent.add_subcommand("cert", "Certificates by which the machines of a cluster know each other");
    cert->require_subcommand(1);

    auto* init = cert->add_subcommand("init", "make a new cluster's authority");
    const auto made = std::make_shared<cert_options>();
    made->name = "cluster";
    init->add_option("--out", made->folder, "the cluster's folder, absent or empty")->required()->type_name("DIR");
    init->add_option("--name", made->name, "what the cluster is called")->capture_default_str();
    add_cert_days(*init, *made, cluster::default_authority_days);
    init->callback([made, &code] { code = init_cluster(*made); });

    auto* issue = cert->add_subcommand("issue", "make a machine's certificate, and say what to copy there");
    const auto issued = add_cert_folder(*issue);
    issue->add_option("NAME", issued->name, "the machine's name in the cluster")->required();
    add_cert_days(*issue, *issued, cluster::default_node_days);
    issue->callback([issued, &code] { code = issue_cert(*issued); });

    auto* revoke =
        cert->add_subcommand("revoke", "revoke a machine's certificates, whether its files are there or not");
    const auto revoked = add_cert_folder(*revoke);
    revoke->add_option("NAME", revoked->name, "the machine's name in the cluster")->required();
    revoke->callback([revoked, &code] { code = revoke_cert(*revoked); });

    auto* list = cert->add_subcommand("list", "which certificates there are, and what became of them");
    const auto listed = add_cert_folder(*list);
    list->add_flag("--json", listed->as_json, "print one JSON object");
    list->callback([listed, &code] { code = list_certs(*listed); });
}

} // namespace chalk::cli
