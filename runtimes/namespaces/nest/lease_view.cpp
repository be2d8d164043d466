#include "runtimes/namespaces/nest/lease_view.hpp"

#include "runtimes/namespaces/orders.hpp"

#include <ctime>

#include <sys/mman.h>

namespace chalk::nest {

std::optional<lease_view> lease_view::map(int page) {
    const void* mapped = ::mmap(nullptr, namespaces::lease_page_size, PROT_READ, MAP_SHARED, page, 0);
    return mapped == MAP_FAILED ? std::nullopt : std::optional(lease_view(mapped));
}

std::int64_t lease_view::until() const noexcept {
    return static_cast<const namespaces::lease_end*>(page_)->load();
}

bool lease_view::is_over() const noexcept {
    const std::int64_t end = until();
    timespec now{};
    // Without a lease there is no clock to look at.
    return end != 0 && (::clock_gettime(CLOCK_BOOTTIME, &now) != 0 || now.tv_sec * 1'000'000'000 + now.tv_nsec >= end);
}

} // namespace chalk::nest
