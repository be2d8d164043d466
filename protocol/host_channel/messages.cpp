#include "protocol/host_channel/messages.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

namespace chalk::host_channel {

namespace {

/// Thrown and caught in this file only: a reader of nested fields is far shorter this way.
struct bad_field : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const json& field(const json& object, const char* name) {
    auto found = object.find(name);
    if (found == object.end()) {
        throw bad_field(fmt::format("{}: missing", name));
    }
    return *found;
}

std::string text_of(const json& object, const char* name) {
    const auto& value = field(object, name);
    if (!value.is_string()) {
        throw bad_field(fmt::format("{}: expected a string", name));
    }
    return value.get<std::string>();
}

template<class Unsigned>
Unsigned number_of(const json& value, const char* name) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<Unsigned>::max()) {
        throw bad_field(fmt::format("{}: expected a number from 0 to {}", name, std::numeric_limits<Unsigned>::max()));
    }
    return value.get<Unsigned>();
}

int descriptor_of(const json& value, const char* name) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > 1'048'576) {
        throw bad_field(fmt::format("{}: expected the number of a descriptor", name));
    }
    return value.get<int>();
}

const json& array_of(const json& object, const char* name) {
    const auto& value = field(object, name);
    if (!value.is_array()) {
        throw bad_field(fmt::format("{}: expected an array", name));
    }
    return value;
}

student_firewall read_firewall(const json& value) {
    if (!value.is_object()) {
        throw bad_field("student.firewall: expected an object");
    }
    student_firewall read;
    const auto state = text_of(value, "state");
    using states = student_firewall::state;
    for (const auto how : {states::none, states::applied, states::wanted}) {
        if (state == to_string(how)) {
            read.how = how;
            for (const auto& port : array_of(value, "closed_ports")) {
                read.closed_ports.push_back(number_of<std::uint16_t>(port, "student.firewall.closed_ports"));
            }
            const auto& internal = field(value, "internal");
            if (!internal.is_boolean()) {
                throw bad_field("student.firewall.internal: expected true or false");
            }
            read.internal = internal.get<bool>();
            return read;
        }
    }
    throw bad_field(fmt::format("student.firewall.state: expected none, applied or wanted, not \"{}\"", state));
}

student_description read_student(const json& value) {
    if (!value.is_object()) {
        throw bad_field("student: expected an object");
    }
    student_description student;
    student.uid = number_of<uid_t>(field(value, "uid"), "student.uid");
    student.gid = number_of<gid_t>(field(value, "gid"), "student.gid");
    student.home = text_of(value, "home");
    const auto& cgroup = field(value, "cgroup");
    if (!cgroup.is_object()) {
        throw bad_field("student.cgroup: expected an object");
    }
    for (const auto& procs : array_of(cgroup, "procs")) {
        student.cgroup_procs.push_back(descriptor_of(procs, "student.cgroup.procs"));
    }
    if (auto calls = cgroup.find("calls_folder"); calls != cgroup.end() && !calls->is_null()) {
        student.cgroup_calls_folder = descriptor_of(*calls, "student.cgroup.calls_folder");
    }
    const auto& v2 = field(cgroup, "v2");
    if (!v2.is_boolean()) {
        throw bad_field("student.cgroup.v2: expected true or false");
    }
    student.cgroup_v2 = v2.get<bool>();
    for (const auto& variable : array_of(value, "environment")) {
        if (!variable.is_string() || variable.get_ref<const std::string&>().find('=') == std::string::npos) {
            throw bad_field("student.environment: expected strings of the form NAME=value");
        }
        student.environment.push_back(variable.get<std::string>());
    }
    student.confinement_note = text_of(value, "confinement_note");
    if (const auto watched = value.find("watched_disk_bytes"); watched != value.end() && !watched->is_null()) {
        student.watched_disk = bytes{number_of<std::uint64_t>(*watched, "student.watched_disk_bytes")};
    }
    student.firewall = read_firewall(field(value, "firewall"));
    return student;
}

harness_mode read_mode(const std::string& text) {
    for (auto mode : {harness_mode::run, harness_mode::prepare, harness_mode::describe}) {
        if (text == to_string(mode)) {
            return mode;
        }
    }
    throw bad_field(fmt::format("mode: expected run, prepare or describe, not \"{}\"", text));
}

described read_described(const json& value) {
    described all;
    for (const auto& entry : array_of(value, "tasks")) {
        if (!entry.is_object()) {
            throw bad_field("tasks: expected objects");
        }
        described_task task;
        task.name = text_of(entry, "name");
        if (!field(entry, "required_hardware").is_null()) {
            task.required_hardware = text_of(entry, "required_hardware");
        }
        task.steps = number_of<std::size_t>(field(entry, "steps"), "tasks.steps");
        all.tasks.push_back(std::move(task));
    }
    return all;
}

/// Names the message in every failure, which the reader of one field cannot.
template<class Read>
auto guarded(std::string_view what, Read&& read) -> result<decltype(read())> {
    try {
        return read();
    } catch (const bad_field& why) {
        return harness_failure(fmt::format("host channel: {}: {}", what, why.what()));
    } catch (const json::exception& why) {
        return harness_failure(fmt::format("host channel: {}: {}", what, why.what()));
    }
}

result<json> parse_object(std::string_view line) {
    auto parsed = parse_json(line);
    if (!parsed || !parsed->is_object()) {
        return harness_failure("host channel: a line that is no JSON object");
    }
    auto& value = *parsed;
    auto type = value.find("type");
    if (type == value.end() || !type->is_string()) {
        return harness_failure("host channel: type: expected a string");
    }
    return {boost::system::in_place_value, std::move(value)};
}

} // namespace

std::string_view to_string(harness_mode mode) noexcept {
    switch (mode) {
    case harness_mode::run:
        return "run";
    case harness_mode::prepare:
        return "prepare";
    case harness_mode::describe:
        return "describe";
    }
    return "run";
}

std::string_view to_string(student_firewall::state how) noexcept {
    switch (how) {
    case student_firewall::state::none:
        return "none";
    case student_firewall::state::applied:
        return "applied";
    case student_firewall::state::wanted:
        return "wanted";
    }
    return "none";
}

json to_json(const student_description& student) {
    json cgroup{{"procs", student.cgroup_procs}, {"calls_folder", nullptr}, {"v2", student.cgroup_v2}};
    if (student.cgroup_calls_folder) {
        cgroup["calls_folder"] = *student.cgroup_calls_folder;
    }
    return {{"uid", student.uid},
            {"gid", student.gid},
            {"home", student.home},
            {"cgroup", std::move(cgroup)},
            {"environment", student.environment},
            {"confinement_note", student.confinement_note},
            {"watched_disk_bytes", student.watched_disk ? json(student.watched_disk->count) : json()},
            {"firewall",
             {{"state", to_string(student.firewall.how)},
              {"closed_ports", student.firewall.closed_ports},
              {"internal", student.firewall.internal}}}};
}

result<student_description> parse_student(const json& value) {
    return guarded("Start", [&] { return read_student(value); });
}

std::string to_line(const start& message) {
    return dump_json({{"type", "Start"},
                      {"mode", to_string(message.mode)},
                      {"config", message.config},
                      {"student", to_json(message.student)},
                      {"model_socket", message.model_socket.empty() ? json() : json(message.model_socket)}});
}

std::string to_line(const cancel& message) {
    return dump_json({{"type", "Cancel"}, {"reason", message.reason}});
}

std::string to_line(const prepared&) {
    return R"({"type":"Prepared"})";
}

std::string to_line(const described& message) {
    auto tasks = json::array();
    for (const auto& task : message.tasks) {
        json entry{{"name", task.name}, {"required_hardware", nullptr}, {"steps", task.steps}};
        if (task.required_hardware) {
            entry["required_hardware"] = *task.required_hardware;
        }
        tasks.push_back(std::move(entry));
    }
    return dump_json({{"type", "Described"}, {"tasks", std::move(tasks)}});
}

result<host_message> parse_host_message(std::string_view line) {
    auto value = parse_object(line);
    if (!value) {
        return value.error();
    }
    const auto& type = (*value)["type"].get_ref<const std::string&>();
    if (type == "Start") {
        return guarded(type, [&]() -> host_message {
            const auto& config = field(*value, "config");
            if (!config.is_object()) {
                throw bad_field("config: expected an object");
            }
            start out{read_mode(text_of(*value, "mode")), config, read_student(field(*value, "student"))};
            if (const auto socket = value->find("model_socket"); socket != value->end() && !socket->is_null()) {
                out.model_socket = text_of(*value, "model_socket");
            }
            return out;
        });
    }
    if (type == "Cancel") {
        return guarded(type, [&]() -> host_message { return cancel{text_of(*value, "reason")}; });
    }
    return harness_failure(fmt::format("host channel: the host sent a message of unknown type \"{}\"", type));
}

result<harness_message> parse_harness_message(std::string_view line) {
    // Events are nearly all of the traffic and are parsed once only. Inside a string the key's quotes would be escaped,
    // so a line that holds it has it as a key, which Prepared and Described have not.
    if (line.find(R"("seq":)") == std::string_view::npos) {
        auto value = parse_object(line);
        if (!value) {
            return value.error();
        }
        const auto& type = (*value)["type"].get_ref<const std::string&>();
        if (type == "Prepared") {
            return prepared{};
        }
        if (type == "Described") {
            return guarded(type, [&]() -> harness_message { return read_described(*value); });
        }
    }
    auto parsed = parse_event(line);
    if (!parsed) {
        return parsed.error();
    }
    return harness_message{std::move(*parsed)};
}

} // namespace chalk::host_channel
