#include "protocol/cluster/certificate_index.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/event/event.hpp"

#include <fmt/format.h>

namespace chalk::cluster {

namespace {

std::string text_at(const json& line, const char* key) {
    const auto found = line.find(key);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

result<issued_certificate> parse_index_line(std::string_view text) {
    const auto line = parse_json(text);
    if (!line || !line->is_object()) {
        return config_failure("no JSON object");
    }
    auto serial = parse_serial(text_at(*line, "serial"));
    if (!serial) {
        return serial.error();
    }
    auto name = node_name::parse(text_at(*line, "name"));
    if (!name) {
        return name.error();
    }
    const auto from = parse_time(text_at(*line, "from"));
    const auto until = parse_time(text_at(*line, "until"));
    if (!from || !until) {
        return config_failure("no \"from\" and \"until\" that are times");
    }
    return issued_certificate{std::move(*serial), std::move(*name), {*from, *until}};
}

} // namespace

std::string to_text(const std::vector<issued_certificate>& issued) {
    std::string text;
    for (const auto& one : issued) {
        text += dump_json({{"serial", one.serial.hex},
                           {"name", one.name.str()},
                           {"from", format_time(one.valid.from)},
                           {"until", format_time(one.valid.until)}});
        text += '\n';
    }
    return text;
}

result<std::vector<issued_certificate>> parse_index(std::string_view text, std::string_view whose) {
    std::vector<issued_certificate> issued;
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        auto one = parse_index_line(text.substr(0, end));
        if (!one) {
            return config_failure(fmt::format("{}, line {}: {}", whose, issued.size() + 1, one.error().message));
        }
        issued.push_back(std::move(*one));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return issued;
}

} // namespace chalk::cluster
