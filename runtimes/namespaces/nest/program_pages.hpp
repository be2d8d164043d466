/// The program's own code on huge pages, for a process whose copies each run only for some milliseconds.
#pragma once

namespace chalk::nest {

/// Moves what can only be read or executed of the program's file to anonymous huge pages, as far as whole huge pages
/// are in it. Copies of this process (fork) then map it with a handful of entries, where pages of a file are faulted in
/// anew by each copy and let go of one by one at its end; and the processor looks up fewer addresses. Addresses and
/// contents stay as they are. Does nothing where the kernel has no huge pages to give, or refuses. Call it with one
/// thread.
void move_program_to_huge_pages() noexcept;

} // namespace chalk::nest
