#include "actors/node/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chalk::actors {

namespace {

template<class Visit>
bool every_resource(const resources& wanted, const resources& used, const resources& capacity, Visit visit) {
    return visit("bytes of memory", wanted.memory.count, used.memory.count, capacity.memory.count) &&
           visit("bytes of disk", wanted.disk.count, used.disk.count, capacity.disk.count) &&
           visit("processes", wanted.processes, used.processes, capacity.processes) &&
           visit("thousandths of a cpu", wanted.milli_cpus, used.milli_cpus, capacity.milli_cpus) &&
           visit("open files", wanted.open_files, used.open_files, capacity.open_files);
}

} // namespace

ledger::ledger(resources capacity, std::optional<std::size_t> max_runs) : capacity_(capacity), max_runs_(max_runs) {}

bool ledger::fits(const resources& wanted) const noexcept {
    if (closed_ || (max_runs_ && admitted_.size() >= *max_runs_)) {
        return false;
    }
    // Written as a subtraction, since used never exceeds capacity and a sum could wrap.
    return every_resource(
        wanted, used_, capacity_,
        [](const char*, std::uint64_t want, std::uint64_t use, std::uint64_t have) { return want <= have - use; });
}

void ledger::admit(ticket who, const resources& wanted) {
    used_.memory.count += wanted.memory.count;
    used_.disk.count += wanted.disk.count;
    used_.processes += wanted.processes;
    used_.milli_cpus += wanted.milli_cpus;
    used_.open_files += wanted.open_files;
    admitted_.emplace(who, wanted);
}

result<admission> ledger::request(ticket who, const resources& wanted) {
    std::string problem;
    every_resource(wanted, {}, capacity_,
                   [&problem](const char* what, std::uint64_t want, std::uint64_t, std::uint64_t have) {
                       if (want > have) {
                           problem = fmt::format("a run needs {} {}, this machine has {} to give", want, what, have);
                       }
                       return problem.empty();
                   });
    if (!problem.empty()) {
        return config_failure(std::move(problem));
    }
    if (max_runs_ && *max_runs_ == 0) {
        return config_failure("no run is allowed at once (--max-concurrent 0)");
    }
    if (queue_.empty() && fits(wanted)) {
        admit(who, wanted);
        return admission::admitted;
    }
    queue_.push_back({who, wanted});
    return admission::queued;
}

std::vector<ticket> ledger::release(ticket who) {
    if (const auto held = admitted_.find(who); held != admitted_.end()) {
        const resources& back = held->second;
        used_.memory.count -= back.memory.count;
        used_.disk.count -= back.disk.count;
        used_.processes -= back.processes;
        used_.milli_cpus -= back.milli_cpus;
        used_.open_files -= back.open_files;
        admitted_.erase(held);
    } else {
        std::erase_if(queue_, [who](const waiting_run& w) { return w.who == who; });
    }
    return let_in();
}

std::vector<ticket> ledger::set_max_runs(std::optional<std::size_t> runs) {
    max_runs_ = runs;
    return let_in();
}

std::vector<ticket> ledger::set_closed(bool closed) {
    closed_ = closed;
    return let_in();
}

std::vector<ticket> ledger::let_in() {
    std::vector<ticket> now;
    while (!queue_.empty() && fits(queue_.front().wanted)) {
        admit(queue_.front().who, queue_.front().wanted);
        now.push_back(queue_.front().who);
        queue_.pop_front();
    }
    return now;
}

resources overcommitted(resources capacity, double factor) {
    const double f = std::clamp(factor, 1.0, 1000.0);
    capacity.memory.count = static_cast<std::uint64_t>(static_cast<double>(capacity.memory.count) * f);
    capacity.milli_cpus = static_cast<std::uint32_t>(std::min(static_cast<double>(capacity.milli_cpus) * f, 4e9));
    return capacity;
}

} // namespace chalk::actors
