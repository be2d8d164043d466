/// A model gateway for tests: opens the sockets that its first argument asks for, prints "ready", and serves until its
/// standard input ends. A line "spent N" is answered by what run N has spent; "restart" by a new gateway on the same
/// paths. Keys and servers come from the environment, as chalk's own do.
///
/// Usage: chalk_gateway_fixture '{"runs":[{"path":...,"models":[...],"base_url":...,"max_tokens":...,"max_usd":...,
///     "seed":...}],"prices":FILE,"record":DIR,"replay":DIR,"proxy":URL,"first_wait_ms":...,"retries":...,"most":...}'
#include "protocol/core/json_text.hpp"
#include "protocol/gateway/gateway.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <iostream>
#include <string>

using chalk::json;
namespace gw = chalk::gateway;

namespace {

template<class T>
std::optional<T> maybe(const json& from, const char* key) {
    const auto found = from.find(key);
    return found == from.end() ? std::nullopt : std::optional<T>(found->get<T>());
}

gw::account_settings account_of(const json& run) {
    return {run.at("models").get<std::vector<std::string>>(), run.value("base_url", std::string()),
            gw::run_budget{maybe<std::uint64_t>(run, "max_tokens"), maybe<double>(run, "max_usd")},
            run.value("seed", std::string("0-0"))};
}

[[noreturn]] void fail(const std::string& why) {
    fmt::print(stderr, "{}\n", why);
    std::exit(2);
}

gw::gateway_settings settings_of(const json& asked) {
    gw::gateway_settings settings;
    settings.providers = gw::read_provider_settings(chalk::own_keys::take());
    settings.providers.proxy = asked.value("proxy", std::string());
    if (const auto file = maybe<std::string>(asked, "prices")) {
        auto prices = gw::price_table::load(*file);
        if (!prices) {
            fail(prices.error().message);
        }
        settings.prices = std::move(*prices);
    }
    settings.record = maybe<std::string>(asked, "record");
    settings.replay = maybe<std::string>(asked, "replay");
    settings.retry.first_wait = chalk::milliseconds(asked.value("first_wait_ms", 10));
    settings.retry.retries = asked.value("retries", settings.retry.retries);
    settings.concurrency.first = asked.value("most", settings.concurrency.first);
    settings.call_deadline = chalk::milliseconds(asked.value("call_deadline_ms", 60'000));
    return settings;
}

} // namespace

int main(int count, char** arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    const auto asked = json::parse(count > 1 ? arguments[1] : "{}");
    chalk::io_thread io;
    const auto settings = settings_of(asked);
    std::vector<gw::run_socket> runs;
    for (const auto& run : asked.at("runs")) {
        runs.push_back(
            {run.at("path").get<std::string>(), std::nullopt, std::make_shared<gw::account>(account_of(run))});
    }
    std::shared_ptr<gw::gateway> serving;
    const auto serve = [&] {
        serving.reset();
        auto made = gw::gateway::make(io.context(), settings);
        if (!made) {
            fail(made.error().message);
        }
        serving = *made;
        for (const auto& run : runs) {
            if (const auto opened = serving->open(run); !opened) {
                fail(opened.error().message);
            }
        }
        fmt::print("ready\n");
        std::fflush(stdout);
    };
    serve();
    for (std::string line; std::getline(std::cin, line);) {
        if (line == "restart") {
            serve();
        } else if (line.starts_with("spent ")) {
            fmt::print("{}\n", chalk::dump_json(gw::to_json(runs.at(std::stoul(line.substr(6))).payer->so_far())));
            std::fflush(stdout);
        }
    }
    return 0;
}
