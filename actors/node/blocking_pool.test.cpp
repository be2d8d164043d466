#include "actors/node/blocking_pool.hpp"

#include "tests/support/catch.hpp"

#include <atomic>
#include <barrier>
#include <future>
#include <thread>

using namespace chalk::actors;

TEST_CASE("the pool runs everything that was submitted, on other threads") {
    std::atomic<int> ran = 0;
    std::promise<void> all;
    const auto caller = std::this_thread::get_id();
    std::atomic<bool> elsewhere = true;
    auto pool = make_blocking_pool(4);
    for (int i = 0; i < 1000; ++i) {
        pool->submit([&] {
            elsewhere = elsewhere && std::this_thread::get_id() != caller;
            if (++ran == 1000) {
                all.set_value();
            }
        });
    }
    all.get_future().wait();
    CHECK(elsewhere);
}

TEST_CASE("the pool uses as many threads as it was given, and no more") {
    auto pool = make_blocking_pool(3);
    // The barrier opens only when three works are under way at once.
    std::barrier together(3);
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
    std::promise<void> all;
    std::atomic<int> ran = 0;
    for (int i = 0; i < 9; ++i) {
        pool->submit([&] {
            const int here = ++now;
            int seen = most;
            while (here > seen && !most.compare_exchange_weak(seen, here)) {
            }
            together.arrive_and_wait();
            --now;
            if (++ran == 9) {
                all.set_value();
            }
        });
    }
    all.get_future().wait();
    CHECK(most == 3);
}

TEST_CASE("work that never began is dropped when the pool dies, and what began is waited for") {
    std::atomic<int> ran = 0;
    std::promise<void> began;
    std::promise<void> go;
    auto pool = make_blocking_pool(1);
    pool->submit([&] {
        began.set_value();
        go.get_future().wait();
        ++ran;
    });
    began.get_future().wait();
    auto held = std::make_shared<int>(1);
    pool->submit([&ran, held] { ran += 100; });
    std::thread death([&] { pool.reset(); });
    // The queued work is dropped before the pool waits for the first, which may go on only then.
    while (held.use_count() > 1) {
        std::this_thread::yield();
    }
    go.set_value();
    death.join();
    CHECK(ran == 1);
}

TEST_CASE("what is submitted after the end is dropped, and with it what it holds") {
    auto pool = make_blocking_pool(1);
    pool->shut_down();
    auto held = std::make_shared<int>(1);
    bool ran = false;
    pool->submit([held, &ran] { ran = true; });
    CHECK(held.use_count() == 1);
    CHECK_FALSE(ran);
}
