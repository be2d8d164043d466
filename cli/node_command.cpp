#include "cli/cluster/execute_node.hpp"
#include "cli/commands.hpp"

#include <cstdlib>
#include <memory>

namespace chalk::cli {

namespace {

/// Of a daemon that runs as root, or of the user.
std::string default_node_folder() {
    const char* state = std::getenv("STATE_DIRECTORY"); // by systemd
    if (state != nullptr && *state != '\0') {
        return state;
    }
    const char* home = std::getenv("HOME");
    return home != nullptr && *home != '\0' ? std::string(home) + "/.local/state/chalk/node" : "chalk-node";
}

} // namespace

void add_node_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* node = app.add_subcommand("node", "Be one machine of a cluster");
    const auto o = std::make_shared<node_options>();
    o->folder = default_node_folder();
    auto* join = node->add_option("--join", o->join, "come to a coordinator (`chalk sweep --listen`)");
    join->type_name("HOST:PORT");
    auto* listen = node->add_option("--listen", o->listen, "let coordinators come (`chalk sweep --node`)");
    listen->type_name("ADDR:PORT")->excludes(join);
    node->add_option("--tls", o->identity.folder, "folder with ca.pem, revoked.pem and this node's certificate and key")
        ->required()
        ->type_name("DIR");
    node->add_option("--tls-name", o->identity.name, "whose certificate in --tls is this node's")->type_name("NAME");
    node->add_option("--allow", o->identity.allow, "a coordinator that may come; without it whoever has a certificate")
        ->type_name("NAME");
    node->add_option("--dir", o->folder, "where it keeps results until they are delivered, and environments")
        ->type_name("DIR")
        ->capture_default_str();
    node->add_option("--label", o->labels, "what runs may ask for; may be given again")->type_name("KEY=VALUE");
    node->add_option("--cache", o->cache_gib, "GiB of environments to keep")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 20U))
        ->capture_default_str();
    node->add_option("--max-concurrent", o->how.max_concurrent, "runs at once, at most")->check(CLI::PositiveNumber);
    node->add_option("--overcommit", o->how.overcommit, "share memory and cpus out this many times")
        ->check(CLI::Range(1.0, 100.0));
    node->add_option("--prices", o->how.prices, "what models cost")->type_name("FILE");
    node->add_option("--proxy", o->how.proxy, "base URL that all model calls go to")->type_name("URL");
    node->add_flag("--no-proxy", o->how.no_proxy, "model calls go straight to the providers");
    node->callback([join, listen, o, &keys, &code] {
        if (join->count() + listen->count() == 0) {
            throw CLI::RequiredError("--join or --listen");
        }
        code = execute_node(*o, keys);
    });
}

} // namespace chalk::cli
