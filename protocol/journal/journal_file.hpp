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

    /// Brings the schema of an older chalk's journal up to date, and does nothing else: for who has to read it before
    /// resume(). Holds the folder's lock only while it does. Fails as resume() does; nothing where it is up to date.
    [[nodiscard]] static result<void> bring_up_to_date(const std::filesystem::path& folder);

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

    /// The number of this opening among all of this journal, from 1: one more than any before it. It is on the disk
    /// before create() and resume() return, at the cost of one sync, so that whatever is named by it is never named so
    /// again, also after a power cut. A cluster's coordinator has it as its epoch.
    [[nodiscard]] std::uint64_t session() const noexcept;

    [[nodiscard]] const figures& written() const noexcept;
    [[nodiscard]] const std::filesystem::path& folder() const noexcept;

  private:
    struct state;
    explicit journal_file(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

} // namespace chalk::journal
