/// One question to a sandbox about what it holds the student to, and the answer that was seen. A probe tries; it does
/// not read settings where it can help it. Each undoes what it did.
#pragma once

#include "protocol/core/units.hpp"
#include "runtimes/confinement/firewall/rules.hpp"

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace chalk::confinement::check {

struct probe_result {
    enum class verdict {
        pass,
        fail, ///< the student gets less protection than it should
        skip, ///< it cannot be asked here, and `seen` says why
    };
    std::string name;
    std::string expected;
    std::string seen;
    verdict how = verdict::fail;
};

[[nodiscard]] std::string_view to_string(probe_result::verdict how) noexcept;

struct settings {
    uid_t user = 0;              ///< an unused one, on which limits and rules are tried
    uid_t student = 1000;        ///< whose rules are looked at where none can be set
    bytes student_memory;        ///< what the student may use at most
    std::uint32_t processes = 0; ///< and how many it may have
    std::string home = "/workdir";
    std::vector<int> cgroup_procs; ///< open cgroup.procs files of the student's groups
    /// Changes the rules before they are set: how a test shows that a probe sees what it is there for.
    std::function<std::vector<firewall::rule>(std::vector<firewall::rule>)> alter_rules;
    firewall::network_reach reach = firewall::network_reach::local;
};

/// What a probe could not undo: "process 17 of user 61000".
using leftovers = std::vector<std::string>;

/// Each gives one result or several; blocking, seconds at most.
[[nodiscard]] std::vector<probe_result> probe_firewall(const settings& how, leftovers& left);
[[nodiscard]] std::vector<probe_result> probe_limits(const settings& how, leftovers& left);
[[nodiscard]] std::vector<probe_result> probe_disk(const settings& how, leftovers& left);
[[nodiscard]] std::vector<probe_result> probe_session(const settings& how, leftovers& left);

} // namespace chalk::confinement::check
