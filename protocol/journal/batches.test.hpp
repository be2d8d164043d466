/// Journals whose writer is a process of its own, so that it can die as a process does, and what they hold afterwards:
/// whole batches.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"

#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::test {

using namespace chalk::journal; // of a test's own helpers

inline constexpr std::uint64_t batch_size = 40; // more rows than fit on one page: half a batch would be seen

/// Batch `index`: runs index * batch_size and on, each started and ended.
inline std::vector<record> batch(std::uint64_t index) {
    std::vector<record> records;
    for (std::uint64_t run = index * batch_size; run < (index + 1) * batch_size; ++run) {
        records.emplace_back(a_start(run, 1));
        auto end = an_end(run, outcome::passed(), 0.5);
        end.transcript = fmt::format("runs/run-{}/attempt-1/transcript.json", run);
        records.emplace_back(std::move(end));
    }
    return records;
}

inline constexpr std::uint64_t many_cells = 1'000'000;

/// Forks; `work` says in the child what went wrong, or nothing. `watch`, which runs here, reads it to the end.
inline void in_child(const std::function<void(int out)>& work, const std::function<void(int in, pid_t child)>& watch) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const unique_fd in(ends[0]);
    unique_fd out(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        work(out.get());
        ::_exit(0);
    }
    out.reset();
    watch(in.get(), child);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
}

inline void say(int out, const std::string& text) {
    if (::write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        ::_exit(1);
    }
}

inline std::string read_all(int in) {
    std::string text;
    std::array<char, 4096> part{};
    ssize_t size = 0;
    while ((size = ::read(in, part.data(), part.size())) > 0) {
        text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
}

/// In a child: what it must do before anything else can be tested.
inline void must(int out, const result<void>& done) {
    if (!done) {
        say(out, done.error().message);
        ::_exit(1);
    }
}

/// Whole batches that the journal holds. Fails the test when one is not whole, or there is a gap.
inline std::uint64_t whole_batches(const journal_reader& reader) {
    std::uint64_t runs = 0;
    bool in_order = true;
    const auto read = reader.for_each_run([&](const run_row& run) {
        in_order = in_order && run.run == run_number{runs} && run.counted() != nullptr;
        ++runs;
        return true;
    });
    REQUIRE(read);
    CHECK(in_order);
    CHECK(runs % batch_size == 0);
    return runs / batch_size;
}

inline std::uint64_t whole_batches(const std::filesystem::path& folder) {
    auto reader = journal_reader::open(folder);
    REQUIRE(reader);
    CHECK(reader->check());
    CHECK(reader->open_attempts()->empty());
    return whole_batches(*reader);
}

} // namespace chalk::test
