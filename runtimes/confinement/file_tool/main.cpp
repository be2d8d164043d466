/// Reads, writes or edits one file as whoever runs it: the student, with the student's rights and limits. Static and
/// without libstdc++'s run time, since it starts in any image.
///
///   chalk_file_tool read PATH FIRST_LINE LINES
///   chalk_file_tool write PATH                  content on standard input
///   chalk_file_tool edit PATH LENGTH            LENGTH bytes of old text, then the new text, on standard input
///
/// Prints what the model shall see. Exit code 1: the file could not be read or changed, and nothing was changed.

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr std::size_t most_read_output = 256U * 1024U;
constexpr std::size_t most_edited = 32U * 1024U * 1024U;
constexpr std::size_t most_input = 64U * 1024U * 1024U;

/// The program is one short call: what it allocates is given back by its end.
struct text {
    char* data = nullptr;
    std::size_t size = 0;
    std::size_t room = 0;
};

void print(const char* part, std::size_t size) {
    while (size > 0) {
        const auto n = ::write(STDOUT_FILENO, part, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            ::_exit(1);
        }
        part += n;
        size -= static_cast<std::size_t>(n);
    }
}

void print(const char* words) {
    print(words, std::strlen(words));
}

void print_number(unsigned long long value) {
    char digits[24];
    std::size_t at = sizeof digits;
    do {
        digits[--at] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value > 0);
    print(digits + at, sizeof digits - at);
}

[[noreturn]] void fail(const char* path, const char* why) {
    print(path);
    print(": ");
    print(why);
    print("\n");
    ::_exit(1);
}

[[noreturn]] void fail_errno(const char* path) {
    fail(path, std::strerror(errno));
}

unsigned long long number(const char* words) {
    char* end = nullptr;
    errno = 0;
    const auto value = std::strtoull(words, &end, 10);
    if (errno != 0 || end == words || *end != '\0') {
        fail(words, "not a number");
    }
    return value;
}

/// Does not wait for a FIFO's other end, and takes nothing but a regular file.
int open_regular(const char* path, int flags, struct stat& info) {
    const int fd = ::open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno == ENXIO) {
        fail(path, "not a regular file");
    }
    if (fd < 0 || ::fstat(fd, &info) != 0) {
        fail_errno(path);
    }
    if (S_ISDIR(info.st_mode)) {
        fail(path, "is a directory");
    }
    if (!S_ISREG(info.st_mode)) {
        fail(path, "not a regular file");
    }
    return fd;
}

text read_all(int fd, std::size_t most, const char* name) {
    text out;
    for (;;) {
        if (out.size == out.room) {
            out.room = out.room == 0 ? 64U * 1024U : out.room * 2;
            out.data = static_cast<char*>(std::realloc(out.data, out.room));
            if (out.data == nullptr) {
                fail(name, "no memory");
            }
        }
        const auto n = ::read(fd, out.data + out.size, out.room - out.size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            fail_errno(name);
        }
        if (n == 0) {
            return out;
        }
        out.size += static_cast<std::size_t>(n);
        if (out.size > most) {
            fail(name, "too big for this tool");
        }
    }
}

bool write_all(int fd, const char* part, std::size_t size) {
    while (size > 0) {
        const auto n = ::write(fd, part, size);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        part += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

/// For files that a rename would take from their owner, their other names or their place. Not atomic.
void write_in_place(const char* path, const text& content) {
    struct stat info {};
    const int fd = open_regular(path, O_WRONLY, info);
    if (!write_all(fd, content.data, content.size) || ::ftruncate(fd, static_cast<off_t>(content.size)) != 0 ||
        ::close(fd) != 0) {
        fail_errno(path);
    }
}

void make_parents(const char* path) {
    char folder[PATH_MAX];
    std::strcpy(folder, path); // its length was checked
    for (char* at = std::strchr(folder + 1, '/'); at != nullptr; at = std::strchr(at + 1, '/')) {
        *at = '\0';
        if (::mkdir(folder, 0777) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES) {
            fail_errno(folder);
        }
        *at = '/'; // a parent that exists and may not be written to is no obstacle; a missing one shows below
    }
}

/// A reader sees the old content or the new, never a part.
void replace(const char* path, const text& content, mode_t mode, bool new_file) {
    char temporary[PATH_MAX];
    std::strcpy(temporary, path);
    char* name = std::strrchr(temporary, '/');
    name = name == nullptr ? temporary : name + 1;
    constexpr char pattern[] = ".chalk-write-XXXXXX";
    if (static_cast<std::size_t>(name - temporary) + sizeof pattern > sizeof temporary) {
        fail(path, "name too long");
    }
    std::strcpy(name, pattern);
    const int fd = ::mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        if (!new_file && (errno == EACCES || errno == EPERM || errno == EROFS)) {
            write_in_place(path, content);
            return;
        }
        fail_errno(path);
    }
    if (!write_all(fd, content.data, content.size) || ::fchmod(fd, mode) != 0 || ::close(fd) != 0 ||
        ::rename(temporary, path) != 0) {
        const int error = errno;
        ::unlink(temporary);
        errno = error;
        fail_errno(path);
    }
}

/// `given`, or where a symbolic link leads: the link itself stays.
const char* target(const char* given, char (&resolved)[PATH_MAX]) {
    if (std::strlen(given) >= PATH_MAX) {
        fail(given, "name too long");
    }
    if (::realpath(given, resolved) != nullptr) {
        return resolved;
    }
    if (errno != ENOENT) {
        fail_errno(given);
    }
    return given;
}

void store(const char* path, const text& content) {
    struct stat info {};
    if (::stat(path, &info) != 0) {
        if (errno != ENOENT) {
            fail_errno(path);
        }
        const mode_t mask = ::umask(0);
        ::umask(mask);
        make_parents(path);
        struct stat link {};
        if (::lstat(path, &link) == 0) {
            fail(path, "is a symbolic link to nowhere");
        }
        replace(path, content, 0666U & ~mask, true);
        return;
    }
    if (!S_ISREG(info.st_mode)) {
        fail(path, S_ISDIR(info.st_mode) ? "is a directory" : "not a regular file");
    }
    if (::access(path, W_OK) != 0) {
        fail_errno(path); // a rename would get around the file's own mode
    }
    if (info.st_uid != ::geteuid() || info.st_nlink > 1) {
        write_in_place(path, content);
    } else {
        replace(path, content, info.st_mode & 07777U, false);
    }
}

void read_lines(const char* path, unsigned long long first, unsigned long long lines) {
    struct stat info {};
    const int fd = open_regular(path, O_RDONLY, info);
    static char part[64 * 1024];
    unsigned long long line = 1;
    std::size_t printed = 0;
    bool looked = false;
    bool pending_line = false; // bytes of `line` were seen
    for (;;) {
        const auto n = ::read(fd, part, sizeof part);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            fail_errno(path);
        }
        if (n == 0) {
            break;
        }
        if (!looked && std::memchr(part, 0, static_cast<std::size_t>(n)) != nullptr) {
            fail(path, "is a binary file");
        }
        looked = true;
        std::size_t from = 0; // where what is to be printed starts
        for (std::size_t at = 0; at < static_cast<std::size_t>(n); ++at) {
            const bool wanted = line >= first && line - first < lines;
            if (line >= first && !wanted) {
                print(part + from, at - from);
                print("[the file goes on: continue with offset ");
                print_number(line);
                print("]\n");
                return;
            }
            if (!wanted) {
                from = at + 1;
            } else if (++printed > most_read_output) {
                print(part + from, at - from);
                print("\n[cut inside line ");
                print_number(line);
                print(": too much for one call; ask for fewer lines]\n");
                return;
            }
            pending_line = part[at] != '\n';
            line += part[at] == '\n' ? 1U : 0U;
        }
        print(part + from, static_cast<std::size_t>(n) - from);
    }
    const auto count = line - (pending_line ? 0U : 1U);
    if (first > count && first > 1) {
        print(path);
        print(": has only ");
        print_number(count);
        print(" lines\n");
        ::_exit(1);
    }
}

/// Overlapping places count too: each would be a different edit.
const char* only_place(const text& in, const char* what, std::size_t size, const char* path) {
    const auto* found = static_cast<const char*>(::memmem(in.data, in.size, what, size));
    if (found == nullptr) {
        fail(path, "the old text is not in the file; it must match exactly, white space included");
    }
    const auto left = in.size - static_cast<std::size_t>(found + 1 - in.data);
    if (::memmem(found + 1, left, what, size) != nullptr) {
        fail(path, "the old text is in the file more than once; give more of what surrounds the place");
    }
    return found;
}

/// `path` is where `given` leads.
void edit(const char* given, const char* path, std::size_t old_size) {
    const auto input = read_all(STDIN_FILENO, most_input, "input");
    if (old_size == 0 || old_size > input.size) {
        fail(path, "the old text is empty");
    }
    struct stat info {};
    const auto before = read_all(open_regular(path, O_RDONLY, info), most_edited, path);
    const char* place = only_place(before, input.data, old_size, path);
    const auto head = static_cast<std::size_t>(place - before.data);
    text after;
    after.size = before.size - old_size + (input.size - old_size);
    after.data = static_cast<char*>(std::malloc(after.size + 1));
    if (after.data == nullptr) {
        fail(path, "no memory");
    }
    std::memcpy(after.data, before.data, head);
    std::memcpy(after.data + head, input.data + old_size, input.size - old_size);
    std::memcpy(after.data + head + input.size - old_size, place + old_size, before.size - head - old_size);
    store(path, after);
    print("edited ");
    print(given);
    print("\n");
}

} // namespace

int main(int count, char** arguments) {
    if (count < 3) {
        fail("chalk_file_tool", "needs an action and a path");
    }
    const char* action = arguments[1];
    const char* given = arguments[2];
    static char resolved[PATH_MAX];
    if (std::strcmp(action, "read") == 0 && count == 5) {
        read_lines(given, number(arguments[3]), number(arguments[4]));
    } else if (std::strcmp(action, "write") == 0 && count == 3) {
        const auto content = read_all(STDIN_FILENO, most_input, "input");
        store(target(given, resolved), content);
        print("wrote ");
        print_number(content.size);
        print(" bytes to ");
        print(given);
        print("\n");
    } else if (std::strcmp(action, "edit") == 0 && count == 4) {
        edit(given, target(given, resolved), static_cast<std::size_t>(number(arguments[3])));
    } else {
        fail(action, "no such action");
    }
    return 0;
}
