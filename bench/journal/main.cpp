// chalk-bench-journal FOLDER ATTEMPTS BATCH [CELLS]: appends ATTEMPTS attempts (a start and an end each) in batches of
// BATCH, and prints one JSON object: attempts a second, batches and checkpoints, the time of reading all of it back for
// a resume, and the floor: a plain file that gets as many bytes a batch and one fdatasync. With CELLS the runs come as
// a fair scheduler hands them out, one of each cell in turn.
#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::journal;

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

void must(const result<void>& done) {
    if (!done) {
        fmt::print(stderr, "chalk-bench-journal: {}\n", done.error().message);
        std::exit(1);
    }
}

void add_attempt(std::vector<record>& records, std::uint64_t run, std::uint64_t repeats) {
    attempt_started start;
    start.run = run_number{run};
    start.cell = cell_number{run / repeats};
    start.repeat = run % repeats;
    start.id = *run_id::parse(fmt::format("bench.{:016x}.{}", run / repeats, run % repeats));
    start.node = "local";
    start.at = std::chrono::system_clock::now();
    start.seed = run;
    start.reserved = {20000, 0.5};
    attempt_ended end;
    end.run = start.run;
    end.at = start.at + seconds(5);
    end.how = outcome::passed();
    end.score = 0.5;
    end.step_scores = {0.25, 0.75};
    end.spent = {{1234, 200, 345, 20}, 0.0125};
    end.took = {milliseconds(5),  milliseconds(200), milliseconds(4000),
                milliseconds(90), milliseconds(9),   milliseconds(4500)};
    end.transcript = fmt::format("runs/{}/attempt-1/transcript.json", start.id.str());
    records.emplace_back(std::move(start));
    records.emplace_back(std::move(end));
}

/// Batches a second of `size` bytes each with one sync.
double floor_batches(const std::filesystem::path& file, std::uint64_t batches, std::size_t size) {
    const unique_fd fd(::open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600));
    const std::string bytes(size, 'x');
    const auto start = clock_type::now();
    for (std::uint64_t i = 0; i < batches; ++i) {
        if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
            ::fdatasync(fd.get()) != 0) {
            must(harness_failure("cannot write " + file.string()));
        }
    }
    return static_cast<double>(batches) / seconds_since(start);
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 4) {
        fmt::print(stderr, "usage: chalk-bench-journal FOLDER ATTEMPTS BATCH [CELLS]\n");
        return 2;
    }
    const std::filesystem::path folder = argv[1];
    const auto attempts = std::strtoull(argv[2], nullptr, 10);
    const auto batch = std::strtoull(argv[3], nullptr, 10);
    const auto cells = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : attempts;
    const auto repeats = attempts / cells;

    auto file = journal_file::create(folder);
    if (!file) {
        must(file.error());
    }
    sweep_opened opened;
    opened.name = "bench";
    opened.cells = cells;
    opened.repeats = repeats;
    opened.total_runs = attempts;
    must(file->append(std::vector<record>{opened}));
    double appending = 0; // making the records is the caller's work, and left out
    for (std::uint64_t at = 0; at < attempts; at += batch) {
        std::vector<record> records;
        for (auto i = at; i < std::min(attempts, at + batch); ++i) {
            add_attempt(records, i % cells * repeats + i / cells, repeats);
        }
        const auto start = clock_type::now();
        must(file->append(records));
        appending += seconds_since(start);
    }
    const auto figures = file->written();
    file = harness_failure("closed"); // the last checkpoint
    const auto size = std::filesystem::file_size(folder / journal_name);

    const auto start = clock_type::now();
    auto reader = journal_reader::open(folder);
    if (!reader) {
        must(reader.error());
    }
    const auto finished = reader->finished_runs();
    const auto unfinished = reader->unfinished_runs();
    if (!finished || !unfinished || finished->size() != attempts || !unfinished->empty()) {
        must(harness_failure("the journal does not hold what was written"));
    }
    const double reading = seconds_since(start);
    const auto floor =
        floor_batches(folder / "floor", figures.batches, static_cast<std::size_t>(size / figures.batches));

    fmt::print("{{\"per_s\":{:.0f},\"batches\":{},\"checkpoints\":{},\"bytes_per_attempt\":{},\"batches_per_s\":{:.1f},"
               "\"floor_batches_per_s\":{:.1f},\"resume_read_s\":{:.3f}}}\n",
               static_cast<double>(attempts) / appending, figures.batches, figures.checkpoints, size / attempts,
               static_cast<double>(figures.batches) / appending, floor, reading);
    return 0;
}
