#include "actors/harness/tool_registry.hpp"

#include "actors/harness/environment_answers.hpp"
#include "config/defaults.hpp"
#include "runtimes/confinement/builtin_tools.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::mcp {

void throw_exception_from_error(const tool_output& why, const boost::source_location&) {
    throw std::logic_error("value() of a tool's error: " + why.as_text());
}

} // namespace chalk::mcp

namespace chalk::actors {

result<tool_registry> tool_registry::make(const json& tools, const std::vector<std::string>& builtin) {
    tool_registry all;
    for (const auto& value : tools) {
        auto tool = tool_of(value);
        if (!tool) {
            return tool.error();
        }
        all.entries_.push_back(
            {std::move(tool->spec), false, tool->timeout.value_or(config::defaults::environment_tool)});
    }
    for (const auto& name : builtin) {
        const auto* spec = confinement::find_builtin_tool(name);
        if (spec == nullptr) {
            std::vector<std::string> known;
            for (const auto& one : confinement::builtin_tool_specs()) {
                known.push_back(one.name);
            }
            return task_failure(fmt::format("configure_tools: chalk has no builtin tool \"{}\"; it has {}", name,
                                            fmt::join(known, ", ")));
        }
        all.entries_.push_back({*spec, true, milliseconds{0}});
    }
    for (std::size_t i = 0; i < all.entries_.size(); ++i) {
        if (!all.by_name_.emplace(all.entries_[i].spec.name, i).second) {
            return task_failure(fmt::format("configure_tools: two tools are called \"{}\"", all.entries_[i].spec.name));
        }
    }
    return all;
}

const tool_registry::entry* tool_registry::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &entries_[found->second];
}

boost::system::result<const tool_registry::entry*, mcp::tool_output> tool_registry::find(const tool_call& call) const {
    const auto* tool = find(call.name);
    if (tool == nullptr) {
        std::vector<std::string_view> names;
        names.reserve(entries_.size());
        for (const auto& one : entries_) {
            names.push_back(one.spec.name);
        }
        return mcp::tool_output::text(
            names.empty() ? fmt::format("there is no tool \"{}\"; this task has none", call.name)
                          : fmt::format("there is no tool \"{}\"; the tools are {}", call.name, fmt::join(names, ", ")),
            true);
    }
    if (auto valid = mcp::validate_arguments(tool->spec, call.arguments); !valid) {
        return mcp::tool_output::text(valid.error().message, true);
    }
    return tool;
}

std::vector<mcp::tool_spec> tool_registry::specs() const {
    std::vector<mcp::tool_spec> all;
    all.reserve(entries_.size());
    for (const auto& one : entries_) {
        all.push_back(one.spec);
    }
    return all;
}

bool tool_registry::has_builtin() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const entry& one) { return one.builtin; });
}

} // namespace chalk::actors
