#include "config/sweep/sweep_filters.hpp"

#include "config/nearest.hpp"
#include "config/run_config_keys.hpp"
#include "config/sweep/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chalk::config {

namespace {

/// What a name in a filter stands for.
struct filter_target {
    std::size_t axis = 0;
    bool whole = false; ///< the axis's own name, of one that moves several keys
};

using filter_targets = std::map<std::string, filter_target>;

filter_targets targets_of(const std::vector<sweep_axis>& axes) {
    filter_targets targets;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        for (const auto& value : axes[i].values) {
            for (const auto& [key, unused] : value.items()) {
                targets.emplace(key, filter_target{i, false});
            }
        }
        targets.emplace(axes[i].name, filter_target{i, true}); // a key of this name comes first
    }
    return targets;
}

class filters_reader {
  public:
    filters_reader(const json_document& document, const std::vector<sweep_axis>& axes)
        : document_(document), axes_(axes), targets_(targets_of(axes)) {}

    result<sweep_filter> read(const json& entry, const std::string& path) const {
        const auto members =
            members_of(document_, entry, path, [this](const std::string& name) { return !targets_.contains(name); });
        if (members.empty()) {
            return document_.at(path, "expected at least one axis or key");
        }
        sweep_filter filter;
        filter.allowed.resize(axes_.size());
        for (const auto& one : members) {
            if (auto narrowed = narrow(filter, one); !narrowed) {
                return narrowed.error();
            }
        }
        return filter;
    }

  private:
    result<void> narrow(sweep_filter& filter, const member& one) const {
        const auto target = targets_.find(one.name);
        if (target == targets_.end()) {
            std::vector<std::string> known;
            for (const auto& [name, unused] : targets_) {
                known.push_back(name);
            }
            return document_.at(one.path, known.empty() ? "there are no axes to filter"
                                                        : "no axis sets this" + suggestion(one.name, known));
        }
        auto matching = match(target->second, one.name, *one.value);
        const bool is_list = none(matching) && one.value->is_array();
        for (std::size_t i = 0; is_list && i < one.value->size(); ++i) {
            const auto of_item = match(target->second, one.name, (*one.value)[i]);
            if (none(of_item)) {
                return no_such_value(target->second, one.name, join_path(one.path, i), (*one.value)[i]);
            }
            for (std::size_t j = 0; j < of_item.size(); ++j) {
                matching[j] = matching[j] || of_item[j];
            }
        }
        if (none(matching)) {
            return is_list ? document_.at(one.path, "expected at least one value, got an empty list")
                           : no_such_value(target->second, one.name, one.path, *one.value);
        }
        auto& allowed = filter.allowed[target->second.axis];
        if (!allowed) {
            allowed = std::move(matching);
            return {};
        }
        for (std::size_t j = 0; j < matching.size(); ++j) {
            (*allowed)[j] = (*allowed)[j] && matching[j];
        }
        return {};
    }

    [[nodiscard]] static bool none(const std::vector<bool>& matching) {
        return std::find(matching.begin(), matching.end(), true) == matching.end();
    }

    /// Which values of the axis are, or hold at this key, the wanted one.
    [[nodiscard]] std::vector<bool> match(const filter_target& target, const std::string& name,
                                          const json& wanted) const {
        std::vector<bool> matching;
        for (const auto& value : axes_[target.axis].values) {
            const auto found = target.whole ? value.end() : value.find(name);
            matching.push_back(target.whole ? value == wanted : found != value.end() && *found == wanted);
        }
        return matching;
    }

    failure no_such_value(const filter_target& target, const std::string& name, const std::string& path,
                          const json& wanted) const {
        std::vector<std::string> known;
        for (const auto& value : axes_[target.axis].values) {
            const auto found = target.whole ? value.end() : value.find(name);
            if (found != value.end() && found->is_string()) {
                known.push_back(found->get<std::string>());
            }
        }
        const auto meant = wanted.is_string() ? nearest(wanted.get<std::string>(), known) : std::nullopt;
        return document_.at(path, fmt::format("axis \"{}\" has no value {}{}", axes_[target.axis].name, preview(wanted),
                                              meant ? fmt::format("; did you mean \"{}\"?", *meant) : ""));
    }

    const json_document& document_;
    const std::vector<sweep_axis>& axes_;
    filter_targets targets_;
};

} // namespace

result<std::vector<sweep_filter>> load_filters(const json_document& document, const std::string& key,
                                               const std::vector<sweep_axis>& axes) {
    std::vector<sweep_filter> filters;
    const auto entries = document.value.find(key);
    if (entries == document.value.end()) {
        return filters;
    }
    const filters_reader reader(document, axes);
    for (std::size_t i = 0; i < entries->size(); ++i) {
        auto filter = reader.read((*entries)[i], join_path(key, i));
        if (!filter) {
            return filter.error();
        }
        filters.push_back(std::move(*filter));
    }
    return filters;
}

} // namespace chalk::config
