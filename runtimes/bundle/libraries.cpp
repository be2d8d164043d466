#include "runtimes/bundle/libraries.hpp"

#include "protocol/core/unique_fd.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::bundle {

namespace fs = std::filesystem;

namespace {

/// PT_INTERP of a 64-bit executable.
result<fs::path> find_loader(const fs::path& executable) {
    std::ifstream in(executable, std::ios::binary);
    Elf64_Ehdr header{};
    in.read(reinterpret_cast<char*>(&header), sizeof header);
    if (!in || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
        return harness_failure(fmt::format("{} is not a 64-bit executable", executable.string()));
    }
    for (unsigned i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment{};
        in.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
        in.read(reinterpret_cast<char*>(&segment), sizeof segment);
        constexpr std::uint64_t longest = 4096;
        if (in && segment.p_type == PT_INTERP && segment.p_filesz > 1 && segment.p_filesz < longest) {
            std::string path(segment.p_filesz, '\0');
            in.seekg(static_cast<std::streamoff>(segment.p_offset));
            in.read(path.data(), static_cast<std::streamsize>(path.size()));
            path.resize(std::strlen(path.c_str()));
            return fs::path(path);
        }
    }
    return harness_failure(fmt::format("{} names no loader; a static chalk cannot be bundled", executable.string()));
}

} // namespace

result<std::vector<fs::path>> parse_listing(std::string_view listing, const fs::path& loader) {
    std::vector<fs::path> found;
    while (!listing.empty()) {
        const std::size_t end = listing.find('\n');
        const std::string_view line = listing.substr(0, end);
        listing.remove_prefix(end == std::string_view::npos ? listing.size() : end + 1);
        constexpr std::string_view arrow = " => ";
        const std::size_t at = line.find(arrow);
        if (line.find("not found") != std::string_view::npos) {
            return harness_failure(fmt::format("a shared library of chalk is missing:{}", line));
        }
        if (at == std::string_view::npos) {
            continue; // the loader itself, the vdso
        }
        const std::string_view rest = line.substr(at + arrow.size());
        const fs::path path(rest.substr(0, rest.rfind(" (")));
        if (path.filename() != loader.filename()) {
            found.push_back(path);
        }
    }
    return found;
}

result<needed_libraries> find_libraries(const fs::path& executable) {
    const auto loader = find_loader(executable);
    if (!loader) {
        return loader.error();
    }
    auto pipe = process::make_pipe();
    if (!pipe) {
        return pipe.error();
    }
    process::command list;
    list.executable = loader->string();
    list.arguments = {"--list", executable.string()};
    list.descriptors = {{pipe->write.get(), STDOUT_FILENO}};
    list.parent_death_signal = std::nullopt; // it ends by itself, and this thread may not live as long
    const auto child = process::spawn(list);
    pipe->write.reset();
    if (!child) {
        return child.error();
    }
    std::string listing;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(pipe->read.get(), buffer, sizeof buffer)) > 0;) {
        listing.append(buffer, static_cast<std::size_t>(got));
    }
    siginfo_t ended{};
    if (::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(child->pidfd.get()), &ended, WEXITED) != 0 ||
        ended.si_code != CLD_EXITED || ended.si_status != 0) {
        return harness_failure(
            fmt::format("{} cannot list the libraries of {}", loader->string(), executable.string()));
    }
    auto libraries = parse_listing(listing, *loader);
    if (!libraries) {
        return libraries.error();
    }
    return needed_libraries{*loader, std::move(*libraries)};
}

} // namespace chalk::bundle
