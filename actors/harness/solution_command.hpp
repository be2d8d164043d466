/// What an environment gives as a step's solution: a program that the agent "oracle" runs as the student.
#pragma once

#include <string>
#include <vector>

namespace chalk::actors {

struct solution_command {
    std::vector<std::string> argv;
    std::vector<std::string> environment; ///< NAME=value
};

} // namespace chalk::actors
