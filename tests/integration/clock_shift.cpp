/// Preloaded into a chalk under test: its wall clock, and no other, is off by the seconds in the file that
/// CHALK_TEST_CLOCK_SHIFT names (one 64 bit number). The file is mapped, so that the clock can jump at any moment, and
/// nobody else's does.
#include <cstdint>
#include <cstdlib>
#include <ctime>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

constexpr long microsecond = 1000; ///< in nanoseconds

const volatile std::int64_t* shift = nullptr;

__attribute__((constructor)) void map_shift() {
    const char* name = std::getenv("CHALK_TEST_CLOCK_SHIFT");
    const int file = name == nullptr ? -1 : ::open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    void* mapped = ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped != MAP_FAILED) {
        shift = static_cast<const volatile std::int64_t*>(mapped);
    }
}

} // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* now) noexcept {
    const long failed = ::syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && shift != nullptr && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        now->tv_sec += *shift;
    }
    return static_cast<int>(failed);
}

int gettimeofday(timeval* now, void* /*zone*/) noexcept {
    timespec exact{};
    clock_gettime(CLOCK_REALTIME, &exact);
    *now = {exact.tv_sec, exact.tv_nsec / microsecond};
    return 0;
}

time_t time(time_t* also) noexcept {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (also != nullptr) {
        *also = now.tv_sec;
    }
    return now.tv_sec;
}
}
