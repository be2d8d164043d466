/// chalk's own keys for models and services. They are in the environment of whoever starts chalk, and leave this
/// process's before it does anything: no child of any command inherits one, and /proc shows none.
///
/// Owner: main, which hands them to the commands that need them.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace chalk {

/// The variables, by name.
[[nodiscard]] const std::vector<std::string_view>& own_key_names();

class own_keys {
  public:
    /// Moves them out of the environment: unset, and overwritten where they lay. Call it before there are threads and
    /// children.
    [[nodiscard]] static own_keys take();

    own_keys() = default;
    /// Empty: it was not set.
    [[nodiscard]] std::string find(std::string_view name) const;

  private:
    std::map<std::string, std::string, std::less<>> values_;
};

} // namespace chalk
