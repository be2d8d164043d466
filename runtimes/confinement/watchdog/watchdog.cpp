#include "runtimes/confinement/watchdog/watchdog.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

namespace chalk::confinement {

namespace {

class thread_watchdog final : public watchdog {
  public:
    thread_watchdog(watchdog_settings settings, std::function<void(std::string)> tripped)
        : settings_(std::move(settings)), tripped_(std::move(tripped)),
          thread_([this](const std::stop_token& ending) { watch(ending); }) {}

  private:
    void watch(const std::stop_token& ending) {
        std::mutex mutex; // guards nothing: it is what the wait needs
        std::unique_lock lock(mutex);
        std::condition_variable_any wake;
        const bytes before = measure_usage(settings_.student, settings_.folders, ending).disk;
        while (!ending.stop_requested()) {
            auto used = measure_usage(settings_.student, settings_.folders, ending);
            used.disk = used.disk - before;
            auto passed = passed_limit(used, settings_.limits);
            if (passed && kill_all_of(settings_.student) > 0) {
                tripped_(std::move(*passed));
            }
            wake.wait_for(lock, ending, settings_.interval, [] { return false; });
        }
    }

    const watchdog_settings settings_;
    const std::function<void(std::string)> tripped_;
    std::jthread thread_; ///< last: it uses all of the above
};

} // namespace

std::unique_ptr<watchdog> watchdog::start(watchdog_settings settings, std::function<void(std::string)> tripped) {
    return std::make_unique<thread_watchdog>(std::move(settings), std::move(tripped));
}

} // namespace chalk::confinement
