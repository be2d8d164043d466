#include "chalk/protected_store.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::sdk {

namespace {

constexpr std::size_t longest_key = 200;
constexpr std::string_view key_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

[[noreturn]] void throw_errno(const std::string& what) {
    throw std::system_error(errno, std::generic_category(), what);
}

class descriptor {
  public:
    explicit descriptor(int number) noexcept : number_(number) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }
    [[nodiscard]] int get() const noexcept { return number_; }

  private:
    int number_;
};

void write_all(int to, std::string_view bytes, const std::string& file) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(to, bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR) {
                continue;
            }
            throw_errno("writing " + file);
        }
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
}

/// The folder and what is missing above it; the folder itself for its owner alone, even when it was there.
void make_private_folder(const std::string& folder) {
    const std::filesystem::path path(folder);
    if (path.has_parent_path()) {
        std::filesystem::create_directories(path.parent_path());
    }
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        throw_errno("making the folder " + folder);
    }
    if (::chmod(folder.c_str(), 0700) != 0) {
        throw_errno("making the folder " + folder + " private");
    }
}

std::string folder_at_home() {
    // Not from the user database: a static program cannot count on reading it.
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == '\0') {
        throw std::runtime_error("the protected store is below the home folder, but HOME is not set");
    }
    return (std::filesystem::path(home) / ".config/chalk/protected").string();
}

} // namespace

protected_store::protected_store() : folder_(folder_at_home()) {}

std::string protected_store::file_of(std::string_view key) const {
    if (key.empty() || key.front() == '.' || key.size() > longest_key ||
        key.find_first_not_of(key_characters) != std::string_view::npos) {
        throw std::invalid_argument("an entry's name has letters, digits, '.', '_' and '-' only: '" + std::string(key) +
                                    "'");
    }
    return folder_ + "/" + std::string(key);
}

void protected_store::write(std::string_view key, std::string_view bytes) const {
    const std::string file = file_of(key);
    make_private_folder(folder_);
    const std::string temporary = file + "." + std::to_string(::getpid()) + ".tmp";
    const descriptor out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (out.get() < 0) {
        throw_errno("opening " + temporary);
    }
    try {
        write_all(out.get(), bytes, temporary);
        if (std::rename(temporary.c_str(), file.c_str()) != 0) {
            throw_errno("renaming " + temporary);
        }
    } catch (...) {
        ::unlink(temporary.c_str());
        throw;
    }
}

void protected_store::write_json(std::string_view key, const nlohmann::json& value) const {
    write(key, value.dump());
}

std::string protected_store::read(std::string_view key) const {
    const std::string file = file_of(key);
    const descriptor in(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (in.get() < 0) {
        if (errno == ENOENT) {
            throw std::out_of_range("the protected store has no entry '" + std::string(key) + "'");
        }
        throw_errno("opening " + file);
    }
    std::string bytes;
    std::array<char, 65536> chunk{};
    for (;;) {
        const ssize_t got = ::read(in.get(), chunk.data(), chunk.size());
        if (got == 0) {
            return bytes;
        }
        if (got > 0) {
            bytes.append(chunk.data(), static_cast<std::size_t>(got));
        } else if (errno != EINTR) {
            throw_errno("reading " + file);
        }
    }
}

nlohmann::json protected_store::read_json(std::string_view key) const {
    return nlohmann::json::parse(read(key));
}

} // namespace chalk::sdk
