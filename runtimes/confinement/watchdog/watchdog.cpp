#include "runtimes/confinement/watchdog/watchdog.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace chalk::confinement {

namespace {

class thread_watchdog final : public watchdog {
  public:
    thread_watchdog(watchdog_settings settings, std::function<void(std::string)> tripped)
        : settings_(std::move(settings)), tripped_(std::move(tripped)), thread_([this] { watch(); }) {}

    ~thread_watchdog() override {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }

  private:
    void watch() {
        std::unique_lock lock(mutex_);
        while (!ending_) {
            lock.unlock();
            if (auto passed = passed_limit(measure_usage(settings_.student, settings_.folders), settings_.limits)) {
                kill_all_of(settings_.student);
                tripped_(std::move(*passed));
            }
            lock.lock();
            wake_.wait_for(lock, settings_.interval, [this] { return ending_; });
        }
    }

    const watchdog_settings settings_;
    const std::function<void(std::string)> tripped_;
    std::mutex mutex_; ///< guards ending_
    std::condition_variable wake_;
    bool ending_ = false;
    std::thread thread_; ///< last: it uses all of the above
};

} // namespace

std::unique_ptr<watchdog> watchdog::start(watchdog_settings settings, std::function<void(std::string)> tripped) {
    return std::make_unique<thread_watchdog>(std::move(settings), std::move(tripped));
}

} // namespace chalk::confinement
