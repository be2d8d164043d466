/// Until when a sandbox may live, as its first process sees it: a page that chalk writes (lease_page.hpp) and that can
/// only be read here. It moves while one looks; a look costs no system call.
#pragma once

#include <cstdint>
#include <optional>

namespace chalk::nest {

class lease_view {
  public:
    /// Of a page from lease_page; it stays mapped until the process ends or executes something, in its copies too, and
    /// needs `page` no longer. nullopt, with errno: that is no such page.
    [[nodiscard]] static std::optional<lease_view> map(int page);

    /// CLOCK_BOOTTIME in nanoseconds; 0: no lease, so without end.
    [[nodiscard]] std::int64_t until() const noexcept;
    [[nodiscard]] bool is_over() const noexcept;

  private:
    explicit lease_view(const void* page) : page_(page) {}
    const void* page_;
};

} // namespace chalk::nest
