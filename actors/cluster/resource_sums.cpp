#include "actors/cluster/resource_sums.hpp"

#include <algorithm>
#include <limits>

namespace chalk::actors {

namespace {

template<class Count>
void add_up(Count& to, Count what) {
    to = what > std::numeric_limits<Count>::max() - to ? std::numeric_limits<Count>::max() : to + what;
}

template<class Count>
void take_off(Count& from, Count what) {
    from -= std::min(from, what);
}

template<class Count>
Count enlarged_count(Count n, double share) {
    const double more = static_cast<double>(n) * (1 + share);
    const auto most = static_cast<double>(std::numeric_limits<Count>::max());
    return more >= most ? std::numeric_limits<Count>::max() : static_cast<Count>(more);
}

bool has_room(std::uint64_t want, std::uint64_t used, std::uint64_t have) {
    return used <= have && want <= have - used;
}

} // namespace

bool fits_beside(const resources& wanted, const resources& used, const resources& capacity) noexcept {
    return has_room(wanted.memory.count, used.memory.count, capacity.memory.count) &&
           has_room(wanted.disk.count, used.disk.count, capacity.disk.count) &&
           has_room(wanted.processes, used.processes, capacity.processes) &&
           has_room(wanted.milli_cpus, used.milli_cpus, capacity.milli_cpus) &&
           has_room(wanted.open_files, used.open_files, capacity.open_files);
}

void take_up(resources& used, const resources& wanted) noexcept {
    add_up(used.memory.count, wanted.memory.count);
    add_up(used.disk.count, wanted.disk.count);
    add_up(used.processes, wanted.processes);
    add_up(used.milli_cpus, wanted.milli_cpus);
    add_up(used.open_files, wanted.open_files);
}

void give_back(resources& used, const resources& wanted) noexcept {
    take_off(used.memory.count, wanted.memory.count);
    take_off(used.disk.count, wanted.disk.count);
    take_off(used.processes, wanted.processes);
    take_off(used.milli_cpus, wanted.milli_cpus);
    take_off(used.open_files, wanted.open_files);
}

resources enlarged(const resources& what, double share) noexcept {
    return {.memory = {enlarged_count(what.memory.count, share)},
            .disk = {enlarged_count(what.disk.count, share)},
            .processes = enlarged_count(what.processes, share),
            .milli_cpus = enlarged_count(what.milli_cpus, share),
            .open_files = enlarged_count(what.open_files, share)};
}

std::uint32_t dominant_share(const resources& used, const resources& capacity) noexcept {
    const auto share = [](std::uint64_t use, std::uint64_t have) -> std::uint32_t {
        if (use == 0) {
            return 0;
        }
        return use >= have
                   ? whole_share
                   : static_cast<std::uint32_t>(whole_share * (static_cast<double>(use) / static_cast<double>(have)));
    };
    return std::max({share(used.memory.count, capacity.memory.count), share(used.disk.count, capacity.disk.count),
                     share(used.processes, capacity.processes), share(used.milli_cpus, capacity.milli_cpus),
                     share(used.open_files, capacity.open_files)});
}

} // namespace chalk::actors
