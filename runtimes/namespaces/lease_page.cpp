#include "runtimes/namespaces/lease_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace {

failure no_lease_page(const char* step) {
    return sandbox_failure(
        fmt::format("cannot make the page of the sandboxes' lease: {}: {}", step, std::strerror(errno)));
}

} // namespace

result<std::unique_ptr<lease_page>> lease_page::make() {
    std::unique_ptr<lease_page> made(new lease_page); // its constructor is private: make_unique cannot
    made->page_.reset(::memfd_create("chalk-lease", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!made->page_ || ::ftruncate(made->page_.get(), lease_page_size) != 0) {
        return no_lease_page("memfd_create");
    }
    void* mapped = ::mmap(nullptr, lease_page_size, PROT_READ | PROT_WRITE, MAP_SHARED, made->page_.get(), 0);
    if (mapped == MAP_FAILED) {
        return no_lease_page("mmap");
    }
    made->end_ = new (mapped) lease_end(0);
    // This mapping stays writable; no other can be made, whoever gets at the descriptor.
    if (::fcntl(made->page_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
        return no_lease_page("seal it");
    }
    made->bell_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made->bell_) {
        return no_lease_page("eventfd");
    }
    return made;
}

lease_page::~lease_page() {
    if (end_ != nullptr) {
        ::munmap(end_, lease_page_size);
    }
}

void lease_page::set(std::optional<node_time> until) noexcept {
    // Whatever comes at or before the machine's start has passed; 0 says something else.
    const std::int64_t next = until ? std::max<std::int64_t>(until->time_since_epoch().count(), 1) : 0;
    const std::int64_t before = end_->exchange(next);
    if (next != 0 && (before == 0 || next < before)) {
        // Their timers stand at a later moment, or at none. A later end they find when the earlier one comes.
        const std::uint64_t once = 1;
        (void)!::write(bell_.get(), &once, sizeof once); // fails only when it rings already
    }
}

} // namespace chalk::namespaces
