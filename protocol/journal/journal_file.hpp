/// A sweep's journal on disk, DIR/journal.sqlite: the one writer. What append() has confirmed survives SIGKILL and a
/// power cut; what it has not is there as a whole or not at all. Schema: docs/protocols/journal.md.
///
/// Owner: the journal actor, which calls it on a thread that may block. One thread at a time. When it dies, the next
/// journal_file over the same folder goes on behind the last batch that was confirmed.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/journal/records.hpp"
#include "protocol/journal/trouble.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace chalk::journal {

class journal_file {
  public:
    /// What has been written since the file was opened.
    struct figures {
        std::uint64_t batches = 0;     ///< transactions, each with one sync
        std::uint64_t records = 0;     ///< in them
        std::uint64_t checkpoints = 0; ///< each with two or three syncs more
    };

    /// Makes the folder where it is absent, and a new journal in it; holds the folder's lock (folder_lock.hpp) from
    /// then on. error_class::config: the folder holds a sweep already (the remedy: `chalk sweep resume`), or another
    /// process runs one there.
    [[nodiscard]] static result<journal_file> create(const std::filesystem::path& folder);

    /// Takes up an existing journal, and holds the folder's lock: brings its schema up to date, and checks the whole
    /// file first, which takes about a second for each GB. error_class::config: no sweep, another process runs it, a
    /// newer schema; error_class::harness: the file is damaged (the remedy: `chalk sweep export`).
    [[nodiscard]] static result<journal_file> resume(const std::filesystem::path& folder);

    journal_file(journal_file&&) noexcept;
    journal_file& operator=(journal_file&&) noexcept;
    ~journal_file();

    /// All of `records`, in their order, in one transaction: durable when it returns, or none of them was written and
    /// the journal is as it was. error_class::harness: the disk is full, it cannot be written, another process holds
    /// the file; all of these may be tried again with the same records. Also a record that contradicts the journal (an
    /// attempt of a closed run, an end without a start): trying again will not help, and the message names the run.
    [[nodiscard]] result<void> append(std::span<const record> records);

    /// Why the last append() failed; none when it did not.
    [[nodiscard]] trouble last_trouble() const noexcept;

    [[nodiscard]] const figures& written() const noexcept;
    [[nodiscard]] const std::filesystem::path& folder() const noexcept;

  private:
    struct state;
    explicit journal_file(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

} // namespace chalk::journal
