/// The names of peers that may come in, besides that their certificates are good. A list that was never filled lets
/// nobody in.
#pragma once

#include <set>
#include <string>
#include <utility>

namespace chalk::cluster {

class allow_list {
  public:
    allow_list() = default;
    /// Exactly these, byte by byte.
    explicit allow_list(std::set<std::string> names) : names_(std::move(names)) {}
    /// Whoever has a certificate of our authority.
    [[nodiscard]] static allow_list everyone() {
        allow_list all;
        all.everyone_ = true;
        return all;
    }

    [[nodiscard]] bool allows(const std::string& name) const { return everyone_ || names_.contains(name); }

  private:
    std::set<std::string> names_;
    bool everyone_ = false;
};

} // namespace chalk::cluster
