#include "cli/main/roles.hpp"

#include "actors/harness/inner.hpp"
#include "runtimes/namespaces/nest/nest.hpp"
#include "runtimes/namespaces/nest/program_pages.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

namespace chalk::cli {

namespace {

bool is(const char* argument, std::string_view word) {
    return argument == word;
}

std::optional<int> descriptor(const char* argument) {
    int number = -1;
    const char* end = argument + std::strlen(argument);
    const auto parsed = std::from_chars(argument, end, number);
    return parsed.ec == std::errc() && parsed.ptr == end && number > 2 ? std::optional(number) : std::nullopt;
}

/// run --no-containerized --channel-fd FD: the config comes over the descriptor, never in argv
/// (docs/protocols/host-channel.md).
int be_harness(int argc, char** argv) {
    if (argc != 5 || !is(argv[1], "run") || !is(argv[2], "--no-containerized") || !is(argv[3], "--channel-fd")) {
        std::fputs("chalk: a harness takes --channel-fd FD alone\n", stderr);
        return 2;
    }
    const auto channel = descriptor(argv[4]);
    if (!channel) {
        std::fprintf(stderr, "chalk: --channel-fd %s: not a descriptor\n", argv[4]);
        return 2;
    }
    try {
        return actors::run_inner_harness(*channel);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "chalk: %s\n", e.what());
        return 1;
    }
}

} // namespace

std::optional<int> play_inner_role(int argc, char** argv) {
    if (argc == 5 && is(argv[1], "run") && is(argv[3], "--channel-fd")) {
        return be_harness(argc, argv);
    }
    if (argc == 4 && is(argv[1], "nest")) { // nest FD ROOM
        const auto owner = descriptor(argv[2]);
        if (!owner) {
            return 2;
        }
        nest::remember_command_line(argc, argv);
        nest::move_program_to_huge_pages();
        return nest::run_nest(*owner, be_harness);
    }
    return std::nullopt;
}

} // namespace chalk::cli
