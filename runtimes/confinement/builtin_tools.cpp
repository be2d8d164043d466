#include "runtimes/confinement/builtin_tools.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::confinement {
namespace {

constexpr seconds bash_timeout{120};
constexpr std::uint64_t longest_bash_timeout = 3'600; // seconds
constexpr milliseconds file_timeout{30'000};
/// Above what the file tool itself prints at most, so that its own word on where to go on is never cut out.
constexpr bytes file_output_cap = 512_KiB;
/// The kernel takes 128 KiB in one word of a command line (MAX_ARG_STRLEN).
constexpr std::size_t longest_word = 128U * 1024U - 1U;
constexpr std::uint64_t default_lines = 2'000;

json text_property(const char* description) {
    return {{"type", "string"}, {"description", description}};
}

json whole_number(const char* description, std::uint64_t least, std::uint64_t most) {
    return {{"type", "integer"}, {"minimum", least}, {"maximum", most}, {"description", description}};
}

json object_schema(json properties, std::vector<std::string> required) {
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

std::vector<mcp::tool_spec> make_specs() {
    auto path = text_property("Absolute, or relative to the working directory");
    path["minLength"] = 1;
    path["maxLength"] = 4'095;
    auto old_text = text_property("Text that is in the file exactly once, white space included");
    old_text["minLength"] = 1;
    return {
        {"bash",
         "Run a shell command and get what it prints. Each call starts anew in the working directory; processes left "
         "in the background go on running.",
         object_schema({{"command", text_property("What the shell shall run")},
                        {"timeout_s", whole_number("Seconds until the command is stopped; 120 unless given", 1,
                                                   longest_bash_timeout)}},
                       {"command"})},
        {"read_file", "Read a text file, or some of its lines.",
         object_schema({{"path", path},
                        {"offset", whole_number("First line to read, counted from 1", 1, 1'000'000'000)},
                        {"limit", whole_number("How many lines to read; 2000 unless given", 1, 1'000'000)}},
                       {"path"})},
        {"write_file", "Write a file, replacing what it held. Missing folders are made.",
         object_schema({{"path", path}, {"content", text_property("The whole new content")}}, {"path", "content"})},
        {"edit_file", "Replace one place in a text file.",
         object_schema({{"path", path}, {"old_text", old_text}, {"new_text", text_property("What to put there")}},
                       {"path", "old_text", "new_text"})},
    };
}

/// The file tool as a descriptor that the student may execute although it can reach neither its folder nor, perhaps,
/// the file: then a copy in memory is.
result<unique_fd> open_program(const std::string& path) {
    const auto failed = [&path](const char* step) {
        return harness_failure(fmt::format("cannot {} the file tool {}: {}", step, path, std::strerror(errno)));
    };
    unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) {
        return failed("open");
    }
    constexpr mode_t for_all = S_IRUSR | S_IXUSR | S_IXGRP | S_IXOTH;
    if ((info.st_mode & for_all) == for_all) {
        return file;
    }
    unique_fd copy(::memfd_create("chalk_file_tool", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!copy) {
        return failed("copy");
    }
    for (off_t left = info.st_size; left > 0;) {
        const auto n = ::sendfile(copy.get(), file.get(), nullptr, static_cast<std::size_t>(left));
        if (n <= 0) {
            return failed("copy");
        }
        left -= n;
    }
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (::fchmod(copy.get(), 0555) != 0 || ::fcntl(copy.get(), F_ADD_SEALS, seals) != 0) {
        return failed("copy");
    }
    return copy;
}

/// What the shell's user would see, and what a prompt would not show: how it ended.
mcp::tool_output bash_output(const command_result& ended, seconds timeout) {
    std::string text = ended.output;
    const auto say = [&text](const std::string& line) {
        if (!text.empty() && text.back() != '\n') {
            text += '\n';
        }
        text += line;
    };
    if (ended.timed_out) {
        say(fmt::format("[stopped after {} s, with everything it started]", timeout.count()));
    } else if (ended.cancelled) {
        say("[cancelled]");
    } else if (!ended.status.success()) {
        say(fmt::format("[{}]", process::describe(ended.status)));
    }
    if (ended.memory_exhausted) {
        say("[the memory limit was reached]");
    }
    if (text.empty()) {
        text = "[no output]";
    }
    auto out = mcp::tool_output::text(std::move(text), ended.timed_out || ended.cancelled || ended.status.signal != 0);
    out.truncated = ended.omitted_bytes > 0;
    return out;
}

mcp::tool_output file_output(const command_result& ended) {
    if (ended.timed_out) {
        return mcp::tool_output::text(fmt::format("[not done within {} s]", file_timeout.count() / 1000), true);
    }
    std::string text = ended.output;
    if (!ended.status.success() && ended.status.code != 1) {
        text += fmt::format("[{}]", process::describe(ended.status));
    }
    return mcp::tool_output::text(text.empty() ? "[empty file]" : std::move(text), !ended.status.success());
}

/// What no schema says: limits of the kernel's that would otherwise fail as if the sandbox had.
std::optional<result<mcp::tool_output>> unusable(std::string_view name, const json& arguments) {
    if (find_builtin_tool(name) == nullptr) {
        return result<mcp::tool_output>(harness_failure(fmt::format("chalk has no tool of its own named '{}'", name)));
    }
    const auto* key = name == "bash" ? "command" : "path";
    const auto word = arguments.at(key).get<std::string>();
    if (word.find('\0') != std::string::npos) {
        return mcp::tool_output::text(fmt::format("{} must not hold a NUL character", key), true);
    }
    if (word.size() > longest_word) {
        return mcp::tool_output::text(fmt::format("{} is too long ({} bytes, at most {}); write it to a file first",
                                                  key, word.size(), longest_word),
                                      true);
    }
    return std::nullopt;
}

class tools_of_student final : public builtin_tools {
  public:
    tools_of_student(std::shared_ptr<student_commands> commands, unique_fd file_tool)
        : commands_(std::move(commands)), file_tool_(std::make_shared<unique_fd>(std::move(file_tool))) {}

    std::uint64_t run(std::string_view name, const json& arguments,
                      std::function<void(result<mcp::tool_output>)> done) override {
        if (auto wrong = unusable(name, arguments)) {
            done(std::move(*wrong));
            return 0;
        }
        if (name == "bash") {
            return run_shell(arguments, std::move(done));
        }
        student_command what;
        what.argv = {"chalk_file_tool"};
        if (name == "read_file") {
            what.argv.insert(what.argv.end(), {"read", arguments.at("path").get<std::string>(),
                                               std::to_string(arguments.value("offset", std::uint64_t{1})),
                                               std::to_string(arguments.value("limit", default_lines))});
        } else if (name == "write_file") {
            what.argv.insert(what.argv.end(), {"write", arguments.at("path").get<std::string>()});
            what.input = arguments.at("content").get<std::string>();
        } else {
            const auto old_text = arguments.at("old_text").get<std::string>();
            what.argv.insert(what.argv.end(),
                             {"edit", arguments.at("path").get<std::string>(), std::to_string(old_text.size())});
            what.input = old_text + arguments.at("new_text").get<std::string>();
        }
        what.executable_fd = file_tool_->get();
        what.timeout = file_timeout;
        what.output_cap = file_output_cap;
        return commands_->run(std::move(what), [open = file_tool_, done = std::move(done)](auto ended) {
            done(ended ? result<mcp::tool_output>(file_output(*ended)) : ended.error());
        });
    }

  private:
    std::uint64_t run_shell(const json& arguments, std::function<void(result<mcp::tool_output>)> done) {
        const seconds timeout(arguments.value("timeout_s", static_cast<std::uint64_t>(bash_timeout.count())));
        student_command what;
        what.argv = {::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh", "-c",
                     arguments.at("command").get<std::string>()};
        what.timeout = timeout;
        return commands_->run(std::move(what), [timeout, done = std::move(done)](auto ended) {
            done(ended ? result<mcp::tool_output>(bash_output(*ended, timeout)) : ended.error());
        });
    }

    std::shared_ptr<student_commands> commands_;
    std::shared_ptr<unique_fd> file_tool_; ///< shared with the calls that are about to start it
};

} // namespace

const std::vector<mcp::tool_spec>& builtin_tool_specs() {
    static const auto specs = make_specs();
    return specs;
}

const mcp::tool_spec* find_builtin_tool(std::string_view name) {
    const auto& specs = builtin_tool_specs();
    const auto found = std::find_if(specs.begin(), specs.end(), [name](const auto& spec) { return spec.name == name; });
    return found == specs.end() ? nullptr : &*found;
}

result<std::shared_ptr<builtin_tools>> builtin_tools::make(std::shared_ptr<student_commands> commands) {
    auto program = open_program(commands->settings().file_tool);
    if (!program) {
        return program.error();
    }
    return std::shared_ptr<builtin_tools>(std::make_shared<tools_of_student>(std::move(commands), std::move(*program)));
}

} // namespace chalk::confinement
