// Whatever a CLI agent's program, which runs as the student, prints on a line says something to the record or nothing.
// What it says can be recorded.

#include "config/cli_agent.hpp"

#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view line(reinterpret_cast<const char*>(data), size);
    for (const auto& agent : chalk::config::cli_agents()) {
        const auto said = chalk::config::read_line(agent, line);
        const bool something = said.last || !said.texts.empty() || !said.uses.empty() || !said.failures.empty();
        if (something && !said.understood) {
            std::abort();
        }
        for (const auto* texts : {&said.texts, &said.uses, &said.failures}) {
            for (const auto& text : *texts) {
                if (chalk::parse_json(chalk::dump_json(text)).value().get<std::string>() != text) {
                    std::abort();
                }
            }
        }
    }
    return 0;
}
