/// Data for hooks, tools and judges that the student must not see; the Python SDK's ProtectedStore reads the same
/// files.
///
///     chalk::sdk::protected_store store;
///     store.write("answer", "42");          // in pre_hook()
///     auto right = store.read("answer");    // in judge()
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace chalk::sdk {

/// Entries are files (0600) in a folder (0700) that only their owner, in a sandbox root, can look into. They outlive
/// this object and the environment host, and are gone with the sandbox.
///
/// An entry's name has 1 to 200 letters, digits, '.', '_' and '-', and does not begin with '.': std::invalid_argument
/// for another. std::system_error for what the file system refuses. Not for two threads that write the same entry.
class protected_store {
  public:
    /// In ~/.config/chalk/protected. std::runtime_error when HOME is not set.
    protected_store();
    /// The folder need not exist; write() makes it.
    explicit protected_store(std::string folder) : folder_(std::move(folder)) {}

    [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

    /// Any bytes. Replaces the entry as a whole: a reader finds the old one or the new one.
    void write(std::string_view key, std::string_view bytes) const;
    /// What Python reads back with `kind=dict` when it is an object.
    void write_json(std::string_view key, const nlohmann::json& value) const;

    /// std::out_of_range when nothing was written under `key`.
    [[nodiscard]] std::string read(std::string_view key) const;
    /// Likewise; nlohmann::json::parse_error when the entry is no JSON.
    [[nodiscard]] nlohmann::json read_json(std::string_view key) const;

  private:
    [[nodiscard]] std::string file_of(std::string_view key) const;

    std::string folder_;
};

} // namespace chalk::sdk
