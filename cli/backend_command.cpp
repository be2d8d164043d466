#include "cli/refused.hpp"
#include "protocol/backend/sender.hpp"
#include "protocol/backend/spool.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/core/own_keys.hpp"
#include "protocol/gateway/routes.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <vector>

#include <unistd.h>

namespace chalk::cli {

namespace {

namespace fs = std::filesystem;

struct backend_options {
    std::vector<fs::path> files; ///< empty: all that were left
    std::uint32_t wait_s = 0;
    bool json = false;
};

/// What became of one spool.
struct report {
    fs::path file;
    std::string run_id;
    std::uint32_t attempt = 0;
    std::string backend;
    std::size_t events = 0;
    std::uint64_t left = 0;
    std::string why; ///< empty: nothing is left, or nothing was tried
    bool in_use = false;
};

constexpr seconds give_up_after{60};

std::string backend_name(const std::string& uri) {
    return backend::parse_uri(uri).value().display(); // a spool's was looked at
}

report describe(const backend::found_spool& spool) {
    return {spool.path,
            spool.of.run_id,
            spool.of.attempt,
            backend_name(spool.uri),
            spool.events.size(),
            spool.events.size(),
            {},
            false};
}

/// Sends one spool and waits for its end; removes it when the backend has all.
report send(boost::asio::io_context& io, const backend::found_spool& spool, const std::string& token,
            const std::string& ca_file, seconds wait) {
    auto out = describe(spool);
    const auto ended = std::make_shared<std::promise<backend::delivery::settle>>();
    auto settled = ended->get_future();
    const auto last_word = std::make_shared<std::promise<std::string>>();
    auto said = last_word->get_future();
    auto sender = backend::sender::make(io, {spool.uri, token, ca_file}, spool.of,
                                        {[last_word, first = true](const backend::delivery::say& what) mutable {
                                             if (std::exchange(first, false)) {
                                                 last_word->set_value(what.text);
                                             }
                                         },
                                         [ended](const backend::delivery::settle& how) { ended->set_value(how); }});
    for (const auto& line : spool.events) {
        sender->publish(line, false);
    }
    sender->end();
    if (settled.wait_for(wait) != std::future_status::ready) {
        out.why = said.wait_for(seconds(0)) == std::future_status::ready
                      ? said.get()
                      : fmt::format("it took not all within {} s", wait.count());
        return out;
    }
    const auto how = settled.get();
    out.left = how.left;
    out.why = how.why;
    if (how.left == 0) {
        ::unlink(spool.path.c_str());
    }
    return out;
}

json to_json(const report& one) {
    return {{"file", one.file.string()}, {"run_id", one.run_id}, {"attempt", one.attempt}, {"backend", one.backend},
            {"events", one.events},      {"left", one.left},     {"in_use", one.in_use},   {"why", one.why}};
}

void print(const report& one, bool sent) {
    if (one.in_use) {
        fmt::print("{}: in use by another chalk\n", one.file.string());
    } else if (!sent) {
        fmt::print("{}: run {}, attempt {}, {} events for {}\n", one.file.string(), one.run_id, one.attempt, one.events,
                   one.backend);
    } else if (one.left == 0) {
        fmt::print("run {}, attempt {}: {} has all {} events\n", one.run_id, one.attempt, one.backend, one.events);
    } else {
        fmt::print("run {}, attempt {}: not all of {} events were taken: {}; they stay in {}\n", one.run_id,
                   one.attempt, one.events, one.why, one.file.string());
    }
}

/// `act` is given each spool that nobody else has.
template<class Act>
exit_code for_each_spool(const backend_options& options, bool sends, Act act) {
    auto files = options.files;
    if (files.empty()) {
        auto left = backend::list_spools(backend::default_spool_folder());
        if (!left) {
            return refuse("chalk backend", left.error(), exit_code::machine_lacks);
        }
        files = std::move(*left);
    }
    exit_code code = exit_code::fine;
    json all = json::array();
    for (const auto& file : files) {
        auto taken = backend::take_spool(file);
        if (!taken) {
            code = refuse("chalk backend", taken.error(), exit_code::machine_lacks);
            continue;
        }
        report one;
        one.file = file;
        one.in_use = true;
        if (*taken) {
            one = act(**taken);
        }
        if (sends && one.left > 0) {
            code = exit_code::run_error;
        }
        if (options.json) {
            all.push_back(to_json(one));
        } else {
            print(one, sends);
        }
    }
    if (options.json) {
        fmt::print("{}\n", dump_json(all, 2));
    } else if (files.empty()) {
        fmt::print("no events wait for a backend\n");
    }
    return code;
}

exit_code send_all(const backend_options& options, const own_keys& keys) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto providers = gateway::read_provider_settings(keys);
    const auto token = keys.find(backend::token_variable);
    io_thread io;
    return for_each_spool(options, true, [&](const backend::found_spool& spool) {
        return send(io.context(), spool, token, providers.ca_file, seconds(options.wait_s));
    });
}

} // namespace

void add_backend_command(CLI::App& app, const own_keys& keys, exit_code& code) {
    auto* command = app.add_subcommand("backend", "Events that a backend has not taken yet");
    command->require_subcommand(1);
    const auto options = std::make_shared<backend_options>();
    options->wait_s = give_up_after.count();
    auto* list = command->add_subcommand("list", "which runs' events wait");
    list->add_flag("--json", options->json, "as JSON");
    list->callback([options, &code] { code = for_each_spool(*options, false, describe); });
    auto* send = command->add_subcommand("send", "send them");
    send->add_option("FILE", options->files, "spools to send (default: all that wait)");
    send->add_option("--wait", options->wait_s, "seconds to try for each run")->check(CLI::Range(1, 86'400));
    send->add_flag("--json", options->json, "as JSON");
    send->callback([options, &keys, &code] { code = send_all(*options, keys); });
}

} // namespace chalk::cli
