/// chalk-nest nest FD           the helper of one chalk, its socket at descriptor FD (nest.hpp)
/// chalk-nest init PROGRAM...   a sandbox's first process (init.hpp)
/// chalk-nest give ...          changes owners of files (give.hpp)
#include "runtimes/namespaces/nest/init.hpp"
#include "runtimes/namespaces/nest/nest.hpp"
#include "runtimes/namespaces/nest/program/give.hpp"

#include <cstdlib>
#include <string_view>

int main(int argc, char** argv, char** environment) {
    const std::string_view role = argc >= 3 ? argv[1] : "";
    if (role == "nest") {
        return chalk::nest::run_nest(std::atoi(argv[2]), nullptr);
    }
    if (role == "give") {
        return chalk::nest::run_give(argc - 2, argv + 2);
    }
    if (role == "init") {
        return chalk::nest::run_init(0, argv + 2, environment,
                                     chalk::nest::lease_view::map(chalk::nest::init_lease_fd));
    }
    return 2; // started by chalk alone; there is nothing for a user here
}
