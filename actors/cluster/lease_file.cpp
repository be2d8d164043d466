#include "actors/cluster/lease_file.hpp"

#include "protocol/cluster/staged_file.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"

#include <cstdint>

namespace chalk::actors {

result<void> write_lease_file(const std::filesystem::path& file, lease_number number) {
    const json what{{"epoch", number.epoch}, {"count", number.count}};
    auto staged = cluster::staged_file::write(file, what.dump() + "\n", 0600);
    if (!staged) {
        return staged.error();
    }
    return staged->put_in_place();
}

std::optional<lease_number> read_lease_file(const std::filesystem::path& file) {
    const auto read = parse_json(read_or_empty(file));
    if (!read || !read->is_object() || read->size() != 2) {
        return std::nullopt;
    }
    lease_number number;
    for (const auto& [name, value] : {std::pair("epoch", &number.epoch), std::pair("count", &number.count)}) {
        const auto field = read->find(name);
        if (field == read->end() || !field->is_number_unsigned()) {
            return std::nullopt;
        }
        *value = field->get<std::uint64_t>();
    }
    return number;
}

} // namespace chalk::actors
