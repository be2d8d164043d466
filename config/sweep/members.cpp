#include "config/sweep/members.hpp"

#include <utility>

namespace chalk::config {

namespace {

void collect(const json_document& document, const json& object, const std::string& path, const std::string& around,
             const std::function<bool(const std::string&)>& opens, std::vector<member>& out) {
    for (const auto& key : document.names_at(object, path)) {
        const auto& value = object.at(key);
        auto name = around.empty() ? key : around + "." + key;
        auto where = join_path(path, key);
        if (value.is_object() && opens(name)) {
            collect(document, value, where, name, opens, out);
        } else {
            out.push_back({std::move(name), std::move(where), &value});
        }
    }
}

} // namespace

std::vector<member> members_of(const json_document& document, const json& object, const std::string& path,
                               const std::function<bool(const std::string&)>& opens) {
    std::vector<member> out;
    collect(document, object, path, "", opens, out);
    return out;
}

} // namespace chalk::config
