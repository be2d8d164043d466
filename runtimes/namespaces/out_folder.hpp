/// The host's folder that a sandbox sees as /out. While the sandbox lives nobody but its root may look inside;
/// afterwards folder and contents are the host's as before.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/namespaces/ids.hpp"

#include <filesystem>
#include <functional>

#include <sys/stat.h>

namespace chalk::namespaces {

class out_folder {
  public:
    /// Changes owners below a folder, for processes that may not: (folder, to the sandbox's root or back). Empty:
    /// chown.
    using owner_change = std::function<result<void>(const std::filesystem::path&, bool to_sandbox)>;

    /// `idmapped`: the mount translates owners, so that only the mode is set. Otherwise it is handed to the first of
    /// `ids`.
    [[nodiscard]] static result<out_folder> lend(const std::filesystem::path& folder, bool idmapped,
                                                 const id_range& ids, owner_change change);
    [[nodiscard]] result<void> give_back();

  private:
    std::filesystem::path folder_;
    struct stat before_ {};
    bool lent_owner_ = false;
    owner_change change_;
};

} // namespace chalk::namespaces
