#include "cli/cluster/cluster_options.hpp"

#include <string>
#include <string_view>

namespace chalk::cli {

result<void> check_cluster_options(const run_options& how) {
    constexpr std::string_view of_each_node = "each node has its own: give it to `chalk node`";
    constexpr std::string_view recordings = "recordings lie on the machine that asks the models: leave it out, or run "
                                            "the sweep without nodes";
    std::string wrong;
    const auto refuse_if = [&wrong](bool given, std::string_view flag, std::string_view remedy) {
        if (given) {
            wrong.append(wrong.empty() ? "" : "\n  ").append(flag).append(": ").append(remedy);
        }
    };
    refuse_if(how.rootfs.has_value(), "--rootfs",
              "a path of this machine; sandboxes of a cluster have their node's own /usr: leave it out");
    refuse_if(!how.mounts.empty(), "--mount",
              "a path of this machine: put what is in it into the environment (root_data, shared_data), which goes to "
              "the nodes by itself");
    refuse_if(how.prices.has_value(), "--prices", of_each_node);
    refuse_if(how.record.has_value(), "--record", recordings);
    refuse_if(how.replay.has_value(), "--replay", recordings);
    refuse_if(how.proxy.has_value(), "--proxy", of_each_node);
    refuse_if(how.no_proxy, "--no-proxy", of_each_node);
    refuse_if(how.overcommit != 1.0, "--overcommit", of_each_node);
    if (!wrong.empty()) {
        return config_failure("not possible in a cluster:\n  " + wrong);
    }
    return {};
}

} // namespace chalk::cli
