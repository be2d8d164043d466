/// Bridges Catch2 2.x (Debian 12) and 3.x (Ubuntu 24.04): tests include this header and nothing of Catch2's own.
#pragma once

#include <boost/system/result.hpp>

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

/// A result in an assertion: `REQUIRE(parse(text))` shows the failure's message.
template<class T, class E>
struct Catch::StringMaker<boost::system::result<T, E>> {
    static std::string convert(const boost::system::result<T, E>& r) {
        if constexpr (requires { r.error().message; }) {
            return r ? std::string("a value") : "failure: " + std::string(r.error().message);
        } else {
            return r ? "a value" : "an error";
        }
    }
};

/// Leaves the test case as skipped. Say what is missing and how to get it; main.cpp counts and prints it.
#define CHALK_SKIP(reason)                                                                                             \
    do {                                                                                                               \
        ::chalk::test::note_skip(reason);                                                                              \
        return;                                                                                                        \
    } while (false)
