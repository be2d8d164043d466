#include "config/sweep/sweep_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace chalk::config {

namespace fs = std::filesystem;

sweep_runs::sweep_runs(loaded_sweep_file loaded, fs::path out) : loaded_(std::move(loaded)), out_(std::move(out)) {}

std::shared_ptr<const resolved_cell> sweep_runs::cell(std::uint64_t number) {
    constexpr std::size_t most_kept = 64;
    const auto found = std::find_if(last_used_.begin(), last_used_.end(),
                                    [&](const auto& cell) { return cell->values.number == number; });
    if (found != last_used_.end()) {
        last_used_.splice(last_used_.begin(), last_used_, found);
        return last_used_.front();
    }
    last_used_.push_front(resolve(number));
    if (last_used_.size() > most_kept) {
        last_used_.pop_back();
    }
    return last_used_.front();
}

std::shared_ptr<const resolved_cell> sweep_runs::resolve(std::uint64_t number) const {
    auto cell = std::make_shared<resolved_cell>(resolved_cell{loaded_.matrix.at(number), loaded_.base});
    for (std::size_t i = 0; i < cell->values.indices.size(); ++i) {
        for (const auto& change : loaded_.changes[i][cell->values.indices[i]].keys) {
            change.apply(cell->config);
        }
    }
    return cell;
}

provenance sweep_runs::sources(const resolved_cell& cell) const {
    auto sources = loaded_.base_sources;
    for (std::size_t i = 0; i < cell.values.indices.size(); ++i) {
        const auto& value = loaded_.changes[i][cell.values.indices[i]];
        for (const auto& change : value.keys) {
            sources[change.path] = value.place;
        }
    }
    for (const char* key : {"run_id", "seed", "transcript_file"}) {
        sources[key] = "sweep";
    }
    return sources;
}

run_id sweep_runs::id(const resolved_cell& cell, std::uint64_t repeat) const {
    // The loader has seen that it fits.
    return run_id::parse(fmt::format("{}.{}.{}", loaded_.sweep.name, cell.values.id, repeat)).value();
}

run_config sweep_runs::run(const resolved_cell& cell, std::uint64_t repeat, attempt_number attempt) const {
    auto config = cell.config;
    config.id = id(cell, repeat);
    config.seed = seed_of(loaded_.sweep.seed, repeat);
    config.transcript_file = attempt_folder(out_, config.id, attempt) / "transcript.json";
    return config;
}

std::vector<fs::path> sweep_runs::environments() const {
    std::set<fs::path> found;
    bool always = false; // an axis gives every cell its own
    for (const auto& axis : loaded_.changes) {
        std::size_t given = 0;
        for (const auto& value : axis) {
            for (const auto& change : value.keys) {
                if (change.path == "environment") {
                    found.insert(change.value.get<std::string>());
                    ++given;
                }
            }
        }
        always = always || (given > 0 && given == axis.size());
    }
    if (!always) {
        found.insert(loaded_.base.environment);
    }
    return {found.begin(), found.end()};
}

fs::path attempt_folder(const fs::path& out, const run_id& id, attempt_number attempt) {
    return out / "runs" / id.str() / fmt::format("attempt-{}", static_cast<std::uint32_t>(attempt));
}

} // namespace chalk::config
