/// Until when the sandboxes of a runtime may live, where their first processes read it by themselves: they keep it also
/// when this process is stopped. One page of shared memory, which this process alone can write: it is sealed against
/// every other mapping and write before anybody gets its descriptor.
///
/// Owner: the runtime. When it dies with its process, so do the sandboxes, by other means (nest/nest.hpp).
#pragma once

#include "protocol/core/boot_time.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <memory>
#include <optional>

namespace chalk::namespaces {

class lease_page {
  public:
    /// Without a lease. error_class::sandbox.
    [[nodiscard]] static result<std::unique_ptr<lease_page>> make();
    lease_page(const lease_page&) = delete;
    lease_page& operator=(const lease_page&) = delete;
    ~lease_page();

    /// All sandboxes end at that moment unless it is moved before; absent: they have no lease. Thread-safe, never
    /// blocks. A later end costs no system call; a first or an earlier one wakes the sandboxes' first processes.
    void set(std::optional<node_time> until) noexcept;

    /// For nest_orders, borrowed.
    [[nodiscard]] int page() const noexcept { return page_.get(); }
    [[nodiscard]] int bell() const noexcept { return bell_.get(); }

  private:
    lease_page() = default;
    unique_fd page_;
    unique_fd bell_;
    lease_end* end_ = nullptr; ///< in the page
};

} // namespace chalk::namespaces
