#include "runtimes/namespaces/nest/program_pages.hpp"

#include "protocol/core/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace chalk::nest {

namespace {

constexpr std::uintptr_t huge_page = 2UL * 1024 * 1024;

/// Copies to small pages would cost memory and gain little.
bool kernel_gives_huge_pages() {
    const unique_fd file(::open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC));
    char text[64] = {};
    return file && ::read(file.get(), text, sizeof text - 1) > 0 && std::strstr(text, "[never]") == nullptr;
}

bool read_all(int program, char* to, std::size_t size, off_t from) {
    while (size > 0) {
        const ssize_t got = ::pread(program, to, size, from);
        if (got <= 0) {
            return false;
        }
        to += got;
        from += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

/// What the file has from `offset` on, which is mapped at `begin`. The copy takes the place of the original in one
/// call, so that this very code may be in it.
void replace(int program, off_t offset, std::uintptr_t begin, std::size_t size, int protection) {
    void* room = ::mmap(nullptr, size + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED) {
        return;
    }
    const auto start = reinterpret_cast<std::uintptr_t>(room);
    const std::uintptr_t aligned = (start + huge_page - 1) / huge_page * huge_page;
    void* copy = reinterpret_cast<void*>(aligned);
    void* original = reinterpret_cast<void*>(begin);
    // A kernel that forbids code in anonymous memory says so before anything has changed. Should the last call fail for
    // want of the kernel's own memory, the original is gone already and the helper ends, as it would at the next fork.
    const bool moved =
        ::mprotect(copy, size, PROT_READ | PROT_WRITE) == 0 && ::madvise(copy, size, MADV_HUGEPAGE) == 0 &&
        read_all(program, static_cast<char*>(copy), size, offset) && ::mprotect(copy, size, protection) == 0 &&
        ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, original) == original;
    ::munmap(room, aligned - start);
    if (!moved) {
        ::munmap(copy, size);
    }
    ::munmap(reinterpret_cast<void*>(aligned + size), start + huge_page - aligned);
}

int move_segments(dl_phdr_info* object, std::size_t, void* program) {
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0 || (segment.p_flags & PF_R) == 0) {
            continue;
        }
        const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
        const std::uintptr_t begin = (from + huge_page - 1) / huge_page * huge_page;
        const std::uintptr_t end = (from + segment.p_filesz) / huge_page * huge_page;
        if (begin < end) {
            replace(*static_cast<int*>(program), static_cast<off_t>(segment.p_offset + (begin - from)), begin,
                    end - begin, (segment.p_flags & PF_X) != 0 ? PROT_READ | PROT_EXEC : PROT_READ);
        }
    }
    return 1; // the program comes first; its libraries stay where they are
}

} // namespace

void move_program_to_huge_pages() noexcept {
    const unique_fd program(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
    if (program && kernel_gives_huge_pages()) {
        int file = program.get();
        ::dl_iterate_phdr(move_segments, &file);
    }
}

} // namespace chalk::nest
