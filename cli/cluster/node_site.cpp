#include "cli/cluster/node_site.hpp"

#include "cli/run/student_network.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

/// The sweep's word, unless this node's operator has said something himself: he may keep students from the machine's
/// own network, and not let them further than the sweep does.
result<firewall::network_reach> reach_on_node(firewall::network_reach of_sweep) {
    const char* own_word = std::getenv("CHALK_STUDENT_NETWORK");
    const auto own = student_reach();
    if (!own || own_word == nullptr || *own_word == '\0') {
        return own ? result<firewall::network_reach>(of_sweep) : own;
    }
    return *own == firewall::network_reach::local ? *own : of_sweep;
}

/// "runs/<run_id>/attempt-<k>/transcript.json": where it will be in the sweep's folder, whichever machine makes it.
std::string place_in_sweep(const run_sheet& run) {
    return (config::attempt_folder({}, run.config.id, run.attempt) / node_site::transcript_name).string();
}

} // namespace

node_site::node_site(sweep_sheet sheet, prepared_runs common) : sheet_(std::move(sheet)), common_(std::move(common)) {
    how_.keep = sheet_.keep;
    how_.no_containerized = common_.sandboxes == nullptr;
    if (common_.sandboxes) {
        how_.runtime = sheet_.runtime;
    }
}

step_result<std::unique_ptr<node_site>> node_site::make(sweep_sheet sheet, std::shared_ptr<runtime> sandboxes,
                                                        const own_keys& keys) {
    prepared_runs common;
    if (sheet.runtime != no_runtime) {
        if (!sandboxes || sandboxes->name() != sheet.runtime) {
            return refused{exit_code::machine_lacks,
                           fmt::format("the sweep {} needs the runtime {}; this node has {}", sheet.name, sheet.runtime,
                                       sandboxes ? sandboxes->name() : no_runtime)};
        }
        common.sandboxes = std::move(sandboxes);
    }
    const auto reach = reach_on_node(sheet.reach);
    if (!reach) {
        return usage_refusal(reach.error());
    }
    common.reach = *reach;
    // With a salt of its own: an attempt of another sweep may have the same numbers.
    if (auto ready = prepare_backend(common, keys); !ready) {
        return ready.error();
    }
    return std::unique_ptr<node_site>(new node_site(std::move(sheet), std::move(common)));
}

result<void> node_site::prepare(std::string_view name, const fs::path& folder) {
    const auto* described = sheet_.find(name);
    if (described == nullptr) {
        return harness_failure(fmt::format("the sweep {} has no environment {}", sheet_.name, name));
    }
    const std::lock_guard one_at_a_time(preparing_);
    const bool noop = name == config::noop_environment;
    const fs::path place = noop ? fs::path(name) : folder;
    if (const auto held = find(name); held && held->base.environment == place) {
        return {};
    }
    auto prepared = std::make_shared<prepared_runs>(common_);
    prepared->base.environment = place;
    prepared->limits.sandbox = described->limits;
    prepared->limits.reservation = described->reservation;
    if (auto loaded = load_environment(*prepared); !loaded) {
        // The coordinator could read it: it is this machine that cannot.
        return harness_failure(fmt::format("environment {}: {}", name, loaded.error().message));
    }
    if (prepared->environment.digest != described->digest) {
        return harness_failure(fmt::format("environment {}: {} has the digest {}, and the coordinator's has {}", name,
                                           place.string(), prepared->environment.digest, described->digest));
    }
    const std::lock_guard lock(mutex_);
    prepared_[std::string(name)] = std::move(prepared);
    return {};
}

bool node_site::holds(std::string_view name) const {
    return find(name) != nullptr;
}

void node_site::drop(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = prepared_.find(name); found != prepared_.end()) {
        prepared_.erase(found);
    }
}

node_site::prepared_ptr node_site::find(std::string_view name) const {
    const std::lock_guard lock(mutex_);
    const auto found = prepared_.find(name);
    return found == prepared_.end() ? nullptr : found->second;
}

actors::order_ptr node_site::order(const run_sheet& run, const fs::path& folder) const {
    const auto name = run.config.environment.string();
    const auto prepared = find(name);
    auto config = run.config;
    config.transcript_file = folder / transcript_name;
    if (prepared) {
        config.environment = prepared->base.environment;
    }
    auto order = make_order(prepared ? *prepared : common_, how_, config, run.key, run.attempt);
    order->deadlines = sheet_.deadlines;
    order->cell_label = run.cell_label;
    if (!order->artifacts_folder.empty()) {
        order->artifacts_folder = folder / artifacts_name;
    }
    if (order->sandboxed) {
        std::error_code ec;
        order->request.out_folder = fs::absolute(order->artifacts_folder, ec);
    }
    // The transcript says what the sweep says, not where this node has put it for a while.
    order->header.task = run.task;
    order->header.environment = name;
    order->header.config["environment"] = name;
    order->header.config["transcript_file"] = place_in_sweep(run);
    if (!prepared) {
        order->refused = harness_failure(fmt::format("the environment {} was not prepared on this node", name));
    }
    return order;
}

} // namespace chalk::cli
