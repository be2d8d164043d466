#include "protocol/journal/database.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sqlite3.h>

namespace chalk::journal {

namespace {

// Only somebody else's tool holds the file for as long as this: our readers never lock it, our writer has DIR/lock.
constexpr int busy_timeout_ms = 5000;

trouble trouble_of(int code, int system_error) noexcept {
    switch (code & 0xff) {
    case SQLITE_FULL:
        return trouble::disk_full;
    case SQLITE_IOERR:
        return system_error == ENOSPC || system_error == EDQUOT ? trouble::disk_full : trouble::input_output;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return trouble::busy;
    case SQLITE_CONSTRAINT:
        return trouble::contradiction;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return trouble::damaged;
    default:
        return trouble::other;
    }
}

/// A path in a SQLite URI: every byte that could mean something is escaped.
std::string uri_of(const std::filesystem::path& file, std::string_view parameters) {
    std::string uri = "file:";
    for (const char c : file.string()) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                           c == '.' || c == '_' || c == '-';
        uri += plain ? std::string(1, c) : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    }
    return uri + "?" + std::string(parameters);
}

} // namespace

void statement::finalize::operator()(sqlite3_stmt* s) const noexcept {
    sqlite3_finalize(s);
}

// Binding fails only for an index that the statement does not have, a fault that the first test of it shows: step()
// would then miss the value. Out of memory is the other cause, and step() reports that itself.
void statement::bind(int at, std::int64_t value) {
    sqlite3_bind_int64(handle_.get(), at, value);
}
void statement::bind(int at, double value) {
    sqlite3_bind_double(handle_.get(), at, value);
}
void statement::bind(int at, std::string_view text) {
    // A null pointer would bind NULL; the lifetime is the caller's affair.
    sqlite3_bind_text64(handle_.get(), at, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                        SQLITE_UTF8);
}
void statement::bind(int at, std::nullopt_t) {
    sqlite3_bind_null(handle_.get(), at);
}

result<bool> statement::step() {
    const int code = sqlite3_step(handle_.get());
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code == SQLITE_DONE) {
        return false;
    }
    return owner_->failed();
}

result<void> statement::run() {
    auto row = step();
    reset();
    if (!row) {
        return row.error();
    }
    return {};
}

void statement::reset() noexcept {
    sqlite3_reset(handle_.get()); // repeats the last step's error, which was reported
    sqlite3_clear_bindings(handle_.get());
}

bool statement::is_null(int at) const noexcept {
    return sqlite3_column_type(handle_.get(), at) == SQLITE_NULL;
}
std::int64_t statement::integer(int at) const noexcept {
    return sqlite3_column_int64(handle_.get(), at);
}
double statement::real(int at) const noexcept {
    return sqlite3_column_double(handle_.get(), at);
}
std::string statement::text(int at) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_.get(), at));
    return text == nullptr ? std::string{}
                           : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_.get(), at)));
}

result<std::unique_ptr<database>> database::open(const std::filesystem::path& file, access how) {
    std::unique_ptr<database> opened(new database(file)); // its constructor is private
    const int flags = how == access::read    ? SQLITE_OPEN_READONLY
                      : how == access::write ? SQLITE_OPEN_READWRITE
                                             : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    auto done = opened->open_handle(flags, false);
    // A journal that was closed in order has no write-ahead file, and none can be made beside it where nobody may
    // write: then nobody writes to the journal either.
    std::error_code ignored; // a file that cannot be asked for is not there
    if (!done && how == access::read && std::filesystem::exists(file, ignored) &&
        !std::filesystem::exists(file.string() + "-wal", ignored)) {
        done = opened->open_handle(flags, true);
    }
    if (!done) {
        return done.error();
    }
    return opened;
}

result<void> database::open_handle(int flags, bool immutable) {
    sqlite3_close_v2(handle_);
    handle_ = nullptr;
    const auto uri = uri_of(file_, immutable ? "immutable=1" : "");
    if (sqlite3_open_v2(uri.c_str(), &handle_, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE,
                        nullptr) != SQLITE_OK) {
        return failed();
    }
    sqlite3_busy_timeout(handle_, busy_timeout_ms);
    return execute("SELECT count(*) FROM sqlite_schema"); // opening reads nothing yet
}

database::~database() {
    sqlite3_close_v2(handle_); // waits for statements that outlive it
}

result<statement> database::prepare(std::string_view sql) {
    statement made;
    sqlite3_stmt* handle = nullptr;
    if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &handle,
                           nullptr) != SQLITE_OK) {
        return failed();
    }
    made.handle_.reset(handle);
    made.owner_ = this;
    return made;
}

result<void> database::execute(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
        return failed();
    }
    return {};
}

result<std::int64_t> database::query_integer(std::string_view sql) {
    auto query = prepare(sql);
    if (!query) {
        return query.error();
    }
    auto row = query->step();
    if (!row) {
        return row.error();
    }
    return *row ? query->integer(0) : 0;
}

std::int64_t database::changes() const noexcept {
    return sqlite3_changes64(handle_);
}

failure database::contradiction(std::string what) {
    trouble_ = trouble::contradiction;
    return harness_failure(std::move(what));
}

failure database::failed() {
    const int code = handle_ == nullptr ? SQLITE_NOMEM : sqlite3_extended_errcode(handle_);
    const int system_error = handle_ == nullptr ? 0 : sqlite3_system_errno(handle_);
    const std::string said = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    const std::string system = system_error == 0 ? "" : ": " + std::generic_category().message(system_error);
    const auto file = file_.string();
    trouble_ = trouble_of(code, system_error);
    switch (trouble_) {
    case trouble::disk_full:
        return harness_failure(fmt::format("{}: the disk is full; free some space on it", file));
    case trouble::input_output:
        return harness_failure(fmt::format("{}: {}{}", file, said, system));
    case trouble::busy:
        return harness_failure(
            fmt::format("{}: another process holds it ({}); end what has the file open for writing", file, said));
    case trouble::damaged:
        if ((code & 0xff) == SQLITE_NOTADB) {
            return config_failure(
                fmt::format("{} is no journal of chalk's, or its beginning is overwritten ({})", file, said));
        }
        return damaged(file_, said);
    default:
        break;
    }
    const auto kind = (code & 0xff) == SQLITE_CANTOPEN || (code & 0xff) == SQLITE_READONLY ||
                              (code & 0xff) == SQLITE_PERM || (code & 0xff) == SQLITE_AUTH
                          ? error_class::config
                          : error_class::harness;
    return {kind, fmt::format("{}: {}{}", file, said, system)};
}

} // namespace chalk::journal
