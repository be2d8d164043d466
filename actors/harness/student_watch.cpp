#include "actors/harness/student_watch.hpp"

#include "actors/harness/weak_handle.hpp"

#include <utility>

namespace chalk::actors {

std::unique_ptr<confinement::watchdog> watch_student(const harness_options& options, const harness_core& to) {
    if (!options.watched_disk || !options.student.become) {
        return nullptr;
    }
    confinement::watchdog_settings what;
    what.student = options.student.become->uid;
    what.limits.disk = options.watched_disk;
    what.folders = {options.places.workdir, "/tmp", "/var/tmp", "/dev/shm"};
    return confinement::watchdog::start(std::move(what), [to = weak_handle<harness_core>(to)](std::string passed) {
        to.send(watchdog_tripped{std::move(passed)});
    });
}

} // namespace chalk::actors
