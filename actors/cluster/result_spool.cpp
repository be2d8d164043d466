#include "actors/cluster/result_spool.hpp"

#include "actors/cluster/run_messages.hpp"
#include "actors/sinks/transcript_files.hpp"
#include "protocol/cluster/staged_file.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr const char* result_file_name = "result.json";

failure spool_failure(std::string_view what, const fs::path& where, const std::error_code& why) {
    return harness_failure(fmt::format("cannot {} {}: {}", what, where.string(), why.message()));
}

bool is_whole(const fs::path& attempt) {
    std::error_code error;
    const fs::path file = attempt / result_file_name;
    if (!fs::is_regular_file(fs::symlink_status(file, error)) || error) {
        return false;
    }
    const auto size = fs::file_size(file, error);
    return !error && size > 0 && size <= longest_result_sheet;
}

} // namespace

std::string to_folder_name(const assignment_name& name) {
    return fmt::format("{}-{}.{}.{}-{}", name.run.cell, name.run.index, static_cast<std::uint32_t>(name.attempt),
                       name.token.epoch, name.token.count);
}

std::optional<assignment_name> parse_folder_name(std::string_view text) {
    constexpr std::string_view after = "-..-";
    std::array<std::uint64_t, 5> numbers{};
    std::string_view rest = text;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto [end, trouble] = std::from_chars(rest.data(), rest.data() + rest.size(), numbers[i]);
        if (trouble != std::errc{}) {
            return std::nullopt;
        }
        rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
        if (i < after.size()) {
            if (rest.empty() || rest.front() != after[i]) {
                return std::nullopt;
            }
            rest.remove_prefix(1);
        }
    }
    const auto [cell, index, attempt, epoch, count] = numbers;
    if (!rest.empty() || attempt == 0 || attempt > std::numeric_limits<std::uint32_t>::max()) {
        return std::nullopt;
    }
    const assignment_name name{{cell, index}, attempt_number{static_cast<std::uint32_t>(attempt)}, {epoch, count}};
    return to_folder_name(name) == text ? std::optional(name) : std::nullopt; // 007 is not how we write 7
}

result<result_spool::found> result_spool::open() {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
        return spool_failure("make the folder", folder_, error);
    }
    found all;
    std::vector<fs::path> died;
    for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
        std::error_code of_one;
        const auto name = parse_folder_name(it->path().filename().string());
        if (!name || it->symlink_status(of_one).type() != fs::file_type::directory) {
            all.left.push_back(fmt::format("{} is no result of a run: it is left alone", it->path().string()));
        } else if (is_whole(it->path())) {
            all.whole.push_back(*name);
        } else {
            died.push_back(it->path());
        }
    }
    if (error) {
        return spool_failure("read the folder", folder_, error);
    }
    for (const auto& attempt : died) {
        fs::remove_all(attempt, error);
        if (error) {
            all.left.push_back(spool_failure("remove", attempt, error).message);
        }
    }
    std::sort(all.whole.begin(), all.whole.end());
    return all;
}

result<void> result_spool::begin(const assignment_name& name) {
    std::error_code error;
    const fs::path attempt = folder_of(name);
    if (fs::create_directories(attempt, error); error) {
        return spool_failure("make the folder", attempt, error);
    }
    return {};
}

std::vector<result<void>> result_spool::keep(const std::vector<entry>& ended) {
    std::vector<file_job> jobs;
    jobs.reserve(ended.size());
    for (const auto& one : ended) {
        // Of an attempt that never came so far as to have files. What fails here fails in the writing too.
        static_cast<void>(begin(one.name));
        jobs.push_back({folder_of(one.name) / result_file_name, [&one] { return one.sheet; }});
    }
    auto kept = write_durably(jobs);
    if (auto named = cluster::sync_names(folder_); !named) {
        for (auto& one : kept) {
            one = one ? result<void>(named.error()) : one;
        }
    }
    return kept;
}

result<std::string> result_spool::read(const assignment_name& name) const {
    auto text = read_file(folder_of(name) / result_file_name, bytes{longest_result_sheet});
    return text ? std::move(text) : harness_failure(text.error().message);
}

result<void> result_spool::remove(const assignment_name& name) {
    std::error_code error;
    const fs::path attempt = folder_of(name);
    if (fs::remove(attempt / result_file_name, error); error && error != std::errc::not_a_directory) {
        return spool_failure("remove the result in", attempt, error);
    }
    if (fs::remove_all(attempt, error); error) {
        return spool_failure("remove", attempt, error);
    }
    return {};
}

} // namespace chalk::actors
