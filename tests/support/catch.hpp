/// Bridges Catch2 2.x (Debian 12) and 3.x (Ubuntu 24.04): tests include this header and nothing of Catch2's own.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
namespace chalk::test {
using catch_approx = Catch::Approx;
}
#else
#include <catch2/catch.hpp>
namespace chalk::test {
using catch_approx = Catch::Detail::Approx;
}
#endif

#include "tests/support/skip.hpp"

/// Leaves the test case as skipped. Say what is missing and how to get it; main.cpp counts and prints it.
#define CHALK_SKIP(reason)                                                                                             \
    do {                                                                                                               \
        ::chalk::test::note_skip(reason);                                                                              \
        return;                                                                                                        \
    } while (false)
