/// SQLite, as far as the journal needs it: a connection, prepared statements, and failures that a person can act on.
///
/// Not thread-safe: one thread at a time uses a connection and its statements.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/journal/trouble.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace chalk::journal {

class statement {
  public:
    statement() = default;

    // Parameters count from 1. Text is not copied: it must live until reset() or the next step.
    void bind(int at, std::int64_t value);
    void bind(int at, std::uint64_t value) { bind(at, static_cast<std::int64_t>(value)); } ///< the same 64 bits
    void bind(int at, std::uint32_t value) { bind(at, static_cast<std::int64_t>(value)); }
    void bind(int at, double value);
    void bind(int at, std::string_view text);
    void bind(int at, const std::string& text) { bind(at, std::string_view(text)); }
    void bind(int at, std::nullopt_t);
    template<class T>
    void bind(int at, const std::optional<T>& value) {
        value ? bind(at, *value) : bind(at, std::nullopt);
    }

    /// True: there is a row. The failure is the connection's (database::failed()).
    [[nodiscard]] result<bool> step();
    /// Runs a statement that returns no rows, and makes it ready for the next time.
    [[nodiscard]] result<void> run();
    void reset() noexcept;

    // Columns count from 0. Text and its like are valid until the next step.
    [[nodiscard]] bool is_null(int at) const noexcept;
    [[nodiscard]] std::int64_t integer(int at) const noexcept;
    [[nodiscard]] std::uint64_t number(int at) const noexcept { return static_cast<std::uint64_t>(integer(at)); }
    [[nodiscard]] double real(int at) const noexcept;
    [[nodiscard]] std::string text(int at) const;

  private:
    friend class database;
    struct finalize {
        void operator()(sqlite3_stmt* s) const noexcept;
    };
    std::unique_ptr<sqlite3_stmt, finalize> handle_;
    class database* owner_ = nullptr;
};

class database {
  public:
    enum class access { read, write, create };

    /// Stays at its place: statements point at it.
    [[nodiscard]] static result<std::unique_ptr<database>> open(const std::filesystem::path& file, access how);
    database(const database&) = delete;
    database& operator=(const database&) = delete;
    ~database();

    [[nodiscard]] result<statement> prepare(std::string_view sql);
    /// One or several statements without parameters; rows are dropped.
    [[nodiscard]] result<void> execute(const std::string& sql);
    /// First column of the first row; 0 without a row.
    [[nodiscard]] result<std::int64_t> query_integer(std::string_view sql);

    /// Rows that the last statement changed.
    [[nodiscard]] std::int64_t changes() const noexcept;
    [[nodiscard]] trouble last_trouble() const noexcept { return trouble_; }
    void note_trouble(trouble what) noexcept { trouble_ = what; }
    [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
    [[nodiscard]] const std::filesystem::path& file() const noexcept { return file_; }

    /// The failure of the call that has just failed, and notes its trouble. error_class::config where the user named a
    /// file that is none of ours or cannot be opened, else error_class::harness.
    [[nodiscard]] failure failed();
    /// A record contradicts the journal, as `what` says: notes trouble::contradiction.
    [[nodiscard]] failure contradiction(std::string what);

  private:
    explicit database(std::filesystem::path file) : file_(std::move(file)) {}
    [[nodiscard]] result<void> open_handle(int flags, bool immutable);

    std::filesystem::path file_;
    sqlite3* handle_ = nullptr;
    trouble trouble_ = trouble::none;
};

} // namespace chalk::journal
