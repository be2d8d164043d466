/// /chalk/chalk inside a sandbox. Starts DIR/lib/loader with DIR/bin/chalk and its libraries, DIR being the folder this
/// program lies in, so that nothing of the image's own libraries is used, whatever its libc. What could lead the loader
/// elsewhere is taken out of the environment first: the harness is root.
#include "runtimes/bundle/layout.hpp"

#include <climits>
#include <cstring>
#include <initializer_list>

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace {

constexpr int cannot_start = 127;

bool starts_with(const char* text, const char* prefix) {
    return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

/// LD_PRELOAD and its kind, character set modules, allocator tuning.
bool misleads(const char* variable) {
    return starts_with(variable, "LD_") || starts_with(variable, "GCONV_PATH=") ||
           starts_with(variable, "GLIBC_TUNABLES=") || starts_with(variable, "LOCPATH=");
}

/// False: the path does not fit.
bool join(char (&out)[PATH_MAX], const char* folder, const char* below) {
    const std::size_t length = std::strlen(folder);
    if (length + 1 + std::strlen(below) >= sizeof out) {
        return false;
    }
    std::memmove(out, folder, length);
    out[length] = '/';
    std::strcpy(out + length + 1, below);
    return true;
}

bool own_folder(char (&out)[PATH_MAX]) {
    ssize_t size = ::readlink("/proc/self/exe", out, sizeof out - 1);
    if (size <= 0) { // no /proc yet: what we were started as, when that is a path from the root
        const char* started_as = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
        if (started_as == nullptr || *started_as != '/' || std::strlen(started_as) >= sizeof out) {
            return false;
        }
        std::strcpy(out, started_as);
        size = static_cast<ssize_t>(std::strlen(out));
    }
    out[size] = '\0';
    char* last = std::strrchr(out, '/');
    if (last == nullptr) {
        return false;
    }
    *last = '\0';
    return true;
}

[[noreturn]] void fail(const char* text) {
    (void)!::write(STDERR_FILENO, text, std::strlen(text));
    ::_exit(cannot_start);
}

} // namespace

int main(int argc, char** argv, char** environment) {
    using namespace chalk::bundle_layout;
    static char folder[PATH_MAX];
    static char loader_path[PATH_MAX];
    static char libraries_path[PATH_MAX];
    static char program_path[PATH_MAX];
    if (!own_folder(folder) || !join(loader_path, folder, loader) || !join(libraries_path, folder, libraries) ||
        !join(program_path, folder, program)) {
        fail("chalk: cannot find the folder that it lies in\n");
    }
    constexpr int added = 8;
    constexpr int most = 1024;
    static char* arguments[most + added];
    if (argc > most) {
        fail("chalk: too many arguments\n");
    }
    static char no_cache[] = "--inhibit-cache";
    static char path[] = "--library-path";
    static char name[] = "--argv0";
    int count = 0;
    for (char* one :
         {loader_path, no_cache, path, libraries_path, name, argc > 0 ? argv[0] : program_path, program_path}) {
        arguments[count++] = one;
    }
    for (int i = 1; i < argc; ++i) {
        arguments[count++] = argv[i];
    }
    char** kept = environment;
    for (char** one = environment; *one != nullptr; ++one) {
        if (!misleads(*one)) {
            *kept++ = *one;
        }
    }
    *kept = nullptr;
    ::execve(loader_path, arguments, environment);
    fail("chalk: cannot start its own loader\n");
}
