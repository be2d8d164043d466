/// Drives a run machine, for the tests of what it decides.
#pragma once

#include "actors/run/run_machine.hpp"
#include "tests/support/catch.hpp"

#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace chalk::test {

using namespace chalk::actors; // of a test's own helpers

inline const result<void> fine{};
inline const result<std::optional<std::filesystem::path>> clean{std::optional<std::filesystem::path>{}};
inline const harness_end killed{"killed by signal 9 (SIGKILL)", false, {}};

/// Drives a machine and keeps what it asked for.
struct run_driver {
    run_machine machine;
    run_commands last;
    std::vector<run_do::report> reports;
    std::vector<event_body> appended;
    int records = 0;
    int removes = 0;
    int kills = 0;

    explicit run_driver(run_mode mode = {}) : machine(mode, {}) {}

    run_driver& operator<<(run_commands commands) {
        last = std::move(commands);
        for (const auto& c : last) {
            if (const auto* r = std::get_if<run_do::report>(&c)) {
                reports.push_back(*r);
            } else if (const auto* a = std::get_if<run_do::append>(&c)) {
                appended.push_back(a->body);
            }
            records += std::holds_alternative<run_do::record>(c) ? 1 : 0;
            removes += std::holds_alternative<run_do::remove>(c) ? 1 : 0;
            kills += std::holds_alternative<run_do::kill>(c) ? 1 : 0;
        }
        return *this;
    }
    template<class Command>
    [[nodiscard]] bool asked() const {
        for (const auto& c : last) {
            if (std::holds_alternative<Command>(c)) {
                return true;
            }
        }
        return false;
    }
    run_driver& to_running() {
        return *this << machine.begin() << machine.prepared(fine) << machine.started(fine)
                     << machine.event_added(std::nullopt);
    }
    run_driver& clean_up() { return *this << machine.removed(clean) << machine.recorded(fine); }
    [[nodiscard]] outcome only_outcome() const {
        REQUIRE(reports.size() == 1);
        return reports.front().result;
    }
};

} // namespace chalk::test
