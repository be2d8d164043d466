#include "protocol/store/chunk_cache.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <random>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::store;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t one_page = 4096;

std::unique_ptr<chunk_cache> open_cache(const fs::path& folder, bytes cap, milliseconds deadline = milliseconds{5000}) {
    auto opened = chunk_cache::open(folder, {cap, deadline});
    REQUIRE(opened);
    return std::move(*opened);
}

/// A page of content that no other number has.
std::string numbered_content(std::uint64_t number, std::size_t size = one_page) {
    std::mt19937_64 random(number);
    std::string data(size, '\0');
    for (auto& c : data) {
        c = static_cast<char>(random());
    }
    return data;
}

chunk_digest put_number(chunk_cache& cache, std::uint64_t number) {
    const auto data = numbered_content(number);
    REQUIRE(cache.put(name_chunk(data), data));
    return name_chunk(data);
}

bool finds(chunk_cache& cache, const chunk_digest& name) {
    return cache.get(name).value().has_value();
}

/// Whether it has what put_number() put, without using it.
bool has_page(const chunk_cache& cache, const chunk_digest& name) {
    return cache.holds({name, {one_page}});
}

fs::path object_file(const fs::path& folder, const chunk_digest& name) {
    return folder / "objects" / name.hex().substr(0, 2) / name.hex();
}

std::size_t files_below(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// The order of use, without waiting for the clock.
void set_last_use(const fs::path& file, time_t when) {
    const timespec times[2] = {{when, 0}, {when, 0}};
    REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

} // namespace

TEST_CASE("a cache gives back what was put, for nobody else to read or change, also after it is opened again") {
    const chalk::test::temporary_folder folder;
    const auto place = folder.path() / "a/cache";
    auto cache = open_cache(place, 1_MiB);
    const auto name = name_chunk("hello");
    CHECK_FALSE(cache->holds({name, {5}}));
    CHECK_FALSE(finds(*cache, name));
    REQUIRE(cache->put(name, "hello"));
    REQUIRE(cache->put(name, "hello")); // fine when it is there
    CHECK(cache->holds({name, {5}}));
    // No chunk of a tree that gives it another size: that would be asked for, and refused when it arrives.
    CHECK_FALSE(cache->holds({name, {4}}));
    CHECK_FALSE(cache->holds({name, chunk_size}));
    CHECK(cache->get(name).value() == "hello");
    CHECK(cache->usage().value().objects == 1);
    CHECK(cache->usage().value().total == 4_KiB);
    struct stat about {};
    REQUIRE(::stat(place.c_str(), &about) == 0);
    CHECK((about.st_mode & 0777U) == 0700);
    REQUIRE(::stat(object_file(place, name).c_str(), &about) == 0);
    CHECK((about.st_mode & 0777U) == 0400);
    cache = open_cache(place, 1_MiB);
    CHECK(cache->get(name).value() == "hello");
    CHECK(cache->put(name_chunk(""), ""));
    CHECK(cache->get(name_chunk("")).value() == "");
}

TEST_CASE("a cache keeps manifests too, and takes no other chunk for one") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 1_MiB);
    const auto tree = tree_manifest::make({{"f", entry_kind::folder, false, {}, {}, {}}}).value();
    CHECK_FALSE(cache->get(tree.digest()).value());
    REQUIRE(cache->put(tree));
    CHECK(cache->get(tree.digest()).value()->text() == tree.text());
    REQUIRE(cache->put(name_chunk("x"), "x"));
    CHECK_FALSE(cache->get(tree_digest{name_chunk("x").sum}).value());
}

TEST_CASE("a cache takes nothing under a name that is not its sum") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 1_MiB);
    const auto put = cache->put(name_chunk("hello"), "hellO");
    REQUIRE_FALSE(put);
    CHECK(put.error().code == cache_trouble::mismatch);
    CHECK(cache->usage().value().objects == 0);
}

TEST_CASE("what is damaged on disk counts as absent, is removed, and can be put again") {
    const chalk::test::temporary_folder folder;
    const auto outside = folder.write("outside", "hello");
    const auto place = folder.path() / "cache";
    auto cache = open_cache(place, 1_MiB);
    const auto name = name_chunk("hello");
    const auto file = object_file(place, name);
    const std::function<void()> damages[] = {
        [&] { std::ofstream(file) << "hellO"; }, // one bit or so
        [&] { fs::resize_file(file, 2); },
        [&] { fs::resize_file(file, 0); }, // what a power cut leaves
        [&] { fs::resize_file(file, std::uintmax_t{1} << 40U); },
        [&] {
            fs::remove(file);
            fs::create_symlink(outside, file); // the content is right, the place is not ours
        },
        [&] {
            fs::remove(file);
            fs::create_directories(file / "deep");
        },
        [&] {
            fs::remove(file);
            REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
        },
    };
    for (const auto& damage : damages) {
        for (const bool read_first : {true, false}) {
            REQUIRE(cache->put(name, "hello"));
            fs::permissions(file, fs::perms::owner_all);
            damage();
            if (read_first) {
                CHECK_FALSE(finds(*cache, name));
                CHECK_FALSE(fs::exists(fs::symlink_status(file)));
                CHECK(cache->usage().value().total == bytes{0});
            }
            REQUIRE(cache->put(name, "hello"));
            CHECK(cache->get(name).value() == "hello");
            CHECK(cache->usage().value().total == 4_KiB);
        }
    }
    CHECK(fs::exists(outside));
}

TEST_CASE("a cache that is full removes what was used least recently, and no more than it must") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 16_KiB);
    std::vector<chunk_digest> names;
    for (std::uint64_t i = 0; i < 4; ++i) {
        names.push_back(put_number(*cache, i));
        set_last_use(object_file(folder.path(), names[i]), static_cast<time_t>(1000 + i));
    }
    CHECK(finds(*cache, names[0])); // used just now
    const auto fifth = put_number(*cache, 4);
    CHECK(has_page(*cache, names[0]));
    CHECK_FALSE(has_page(*cache, names[1]));
    CHECK(has_page(*cache, names[2]));
    CHECK(has_page(*cache, names[3]));
    CHECK(has_page(*cache, fifth));
    CHECK(cache->usage().value().total == 16_KiB);
    (void)put_number(*cache, 2); // to put what is there is to use it
    (void)put_number(*cache, 5);
    CHECK(has_page(*cache, names[2]));
    CHECK_FALSE(has_page(*cache, names[3]));
}

TEST_CASE("what is pinned is never removed; a cache full of it refuses at once, and removes nothing") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 16_KiB);
    std::vector<chunk_digest> names;
    for (std::uint64_t i = 0; i < 3; ++i) {
        names.push_back(put_number(*cache, i));
        set_last_use(object_file(folder.path(), names[i]), static_cast<time_t>(1000 + i));
    }
    auto first = cache->pin({names[0], names[1]}).value();
    const auto later = name_chunk(numbered_content(7));
    auto second = std::optional(cache->pin({later, names[1]}).value()); // before it is there
    (void)put_number(*cache, 7);
    (void)put_number(*cache, 8); // in place of the one that nobody pinned
    CHECK_FALSE(has_page(*cache, names[2]));
    {
        const auto third = cache->pin({name_chunk(numbered_content(8))}).value();
        const auto data = numbered_content(9);
        const auto refused = cache->put(name_chunk(data), data);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == cache_trouble::full);
        CHECK(refused.error().message.find("16384 bytes 16384 are in use") != std::string::npos);
        CHECK(cache->usage().value().objects == 4);
    }
    // More than fits, with something that could go: still nothing goes.
    const auto large = numbered_content(10, 3 * one_page);
    CHECK(cache->put(name_chunk(large), large).error().code == cache_trouble::full);
    CHECK(cache->usage().value().objects == 4);
    set_last_use(object_file(folder.path(), later), 1);
    second.reset();
    (void)put_number(*cache, 11);
    CHECK_FALSE(has_page(*cache, later));
    CHECK(has_page(*cache, names[1])); // pinned once more
    CHECK(files_below(folder.path() / "pins") == 1);
    first = cache->pin(std::vector<chunk_digest>()).value();
    CHECK(files_below(folder.path() / "pins") == 1); // the old one went
}

TEST_CASE("what somebody else put among the objects is left alone, and in nobody's way") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 16_KiB);
    const auto name = put_number(*cache, 1);
    const auto shard = name.hex().substr(0, 2);
    const auto stray = name_chunk("stray").hex();
    REQUIRE(stray.substr(0, 2) != shard);
    folder.write("objects/notes.txt", "mine");
    folder.write("objects/AB/" + stray, "mine");
    folder.write(fmt::format("objects/{}/notes.txt", shard), "mine");
    folder.write(fmt::format("objects/{}/{}", shard, stray), "mine"); // no chunk is looked for here
    const auto unused = shard == "00" ? "01" : "00";
    folder.write(fmt::format("objects/{}", unused), "mine");
    fs::create_directory_symlink("absent", folder.path() / "objects/ff~");
    cache = open_cache(folder.path(), 16_KiB);
    CHECK(cache->usage().value().objects == 1);
    CHECK(finds(*cache, name));
    for (std::uint64_t i = 2; i < 8; ++i) {
        const auto data = numbered_content(i);
        if (!name_chunk(data).hex().starts_with(unused)) {
            (void)put_number(*cache, i); // some of them in place of others
        }
    }
    CHECK(cache->usage().value().objects == 4);
    CHECK(fs::exists(folder.path() / "objects/notes.txt"));
    CHECK(fs::exists(folder.path() / "objects/AB" / stray));
    CHECK(fs::exists(folder.path() / "objects" / shard / stray));
}

TEST_CASE("a chunk that is larger than the cache is refused as one that does not fit") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 4_KiB);
    const auto data = numbered_content(1, one_page + 1);
    CHECK(cache->put(name_chunk(data), data).error().code == cache_trouble::full);
}

TEST_CASE("two owners of one cache see each other's chunks and pins and count together") {
    const chalk::test::temporary_folder folder;
    auto one = open_cache(folder.path(), 16_KiB);
    auto other = open_cache(folder.path(), 16_KiB);
    const auto name = put_number(*one, 1);
    set_last_use(object_file(folder.path(), name), 1);
    CHECK(finds(*other, name));
    set_last_use(object_file(folder.path(), name), 1);
    auto pin = std::optional(other->pin({name}).value());
    for (std::uint64_t i = 2; i < 8; ++i) {
        (void)put_number(i % 2 == 0 ? *one : *other, i);
        CHECK(one->usage().value().total <= 16_KiB);
    }
    CHECK(has_page(*one, name));
    pin.reset();
    set_last_use(object_file(folder.path(), name), 1);
    (void)put_number(*one, 9);
    CHECK_FALSE(has_page(*one, name));
}

TEST_CASE("threads that put and get at once keep to the cap") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 64_KiB, milliseconds{60'000});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 random(t);
            for (int i = 0; i < 50; ++i) {
                const auto data = numbered_content(random() % 40);
                const auto name = name_chunk(data);
                const auto put = cache->put(name, data);
                const auto got = cache->get(name);
                wrong += put && got && (!*got || **got == data) ? 0 : 1;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(wrong == 0);
    CHECK(cache->usage().value().total <= 64_KiB);
    CHECK(files_below(folder.path() / "incoming") == 0);
}

TEST_CASE("a process that holds the lock and does not go on makes others fail at their deadline, not wait for ever") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 1_MiB, milliseconds{20});
    std::timed_mutex threads;
    {
        const auto held = cache_lock::take(folder.path(), threads, milliseconds{1000}).value();
        const auto put = cache->put(name_chunk("x"), "x");
        REQUIRE_FALSE(put);
        CHECK(put.error().code == cache_trouble::busy);
    }
    CHECK(cache->put(name_chunk("x"), "x"));
}

TEST_CASE("a cache without its ledger, or with another start's, counts its files again") {
    const chalk::test::temporary_folder folder;
    auto cache = open_cache(folder.path(), 12_KiB);
    for (std::uint64_t i = 0; i < 3; ++i) {
        set_last_use(object_file(folder.path(), put_number(*cache, i)), static_cast<time_t>(1000 + i));
    }
    for (const auto* ledger : {"", "nonsense\n", "chalk chunk cache 1 another-start                    0\n"}) {
        std::ofstream(folder.path() / "lock", std::ios::trunc) << ledger;
        (void)put_number(*cache, 10);
        CHECK(cache->usage().value().total == 12_KiB);
    }
}

TEST_CASE("a disk that takes no more fails the one put, and leaves the cache as it was") {
    const chalk::test::temporary_folder folder;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        // A limit of the process's own stands in for the disk: it refuses in the middle of a write also.
        ::signal(SIGXFSZ, SIG_IGN);
        const rlimit limit{2 * one_page, 2 * one_page};
        const auto large = numbered_content(1, 5 * one_page);
        const auto small = numbered_content(2);
        auto cache = chunk_cache::open(folder.path(), {1_MiB, milliseconds{5000}});
        if (!cache || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
            ::_exit(2);
        }
        const auto refused = (*cache)->put(name_chunk(large), large);
        if (refused || refused.error().code != cache_trouble::disk || !(*cache)->put(name_chunk(small), small)) {
            ::_exit(3);
        }
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(files_below(folder.path() / "incoming") == 0);
    auto cache = open_cache(folder.path(), 1_MiB);
    CHECK(cache->usage().value().total == 4_KiB);
    CHECK(finds(*cache, name_chunk(numbered_content(2))));
}

TEST_CASE("a cache whose writer is killed at any moment is whole again when it is opened") {
    const chalk::test::temporary_folder folder;
    std::mt19937 random(5);
    for (int round = 0; round < 30; ++round) {
        int told[2];
        REQUIRE(::pipe2(told, O_CLOEXEC) == 0);
        const pid_t child = ::fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            // Nothing of the test's own machinery from here on; it is killed, and ends by itself if it is not.
            ::alarm(60);
            auto cache = chunk_cache::open(folder.path(), {256_KiB, milliseconds{5000}});
            for (std::uint64_t i = 0; cache && i < 100'000; ++i) {
                const auto data = numbered_content(static_cast<std::uint64_t>(round) * 100'000 + i, 20'000);
                const auto pin = (*cache)->pin({name_chunk(data)});
                const bool put = pin && (*cache)->put(name_chunk(data), data);
                if (!put || ::write(told[1], "p", 1) != 1) {
                    break;
                }
            }
            ::_exit(1);
        }
        ::close(told[1]);
        const unique_fd from(told[0]);
        char one = 0;
        // After some whole puts, and then somewhere in the middle of what comes.
        for (auto puts = random() % 20 + 1; puts > 0 && ::read(from.get(), &one, 1) == 1; --puts) {
        }
        for (auto spin = random() % 200'000; spin > 0; --spin) {
            one = static_cast<char>(one + static_cast<char>(spin));
        }
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        REQUIRE(WIFSIGNALED(status)); // it had not ended by itself, with a failure

        auto cache = open_cache(folder.path(), 256_KiB);
        CHECK(files_below(folder.path() / "incoming") == 0);
        CHECK(files_below(folder.path() / "pins") == 0);
        CHECK(cache->usage().value().total <= 256_KiB);
        std::size_t sound = 0;
        for (const auto& shard : fs::directory_iterator(folder.path() / "objects")) {
            for (const auto& file : fs::directory_iterator(shard.path())) {
                const auto sum = parse_sha256(file.path().filename().string());
                REQUIRE(sum);
                CHECK(finds(*cache, {*sum}));
                ++sound;
            }
        }
        CHECK(sound > 0);
        CHECK(sound == cache->usage().value().objects);
    }
}
