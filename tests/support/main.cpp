// Catch2's main, with skips counted and printed at the end.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using namespace Catch;
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "tests/support/skip.hpp"

#include <iostream>
#include <vector>

namespace {

struct skipped_case {
    std::string reason;
};

std::vector<skipped_case>& skipped() {
    static std::vector<skipped_case> list;
    return list;
}

std::size_t cases_run = 0;

} // namespace

namespace chalk::test {

void note_skip(const std::string& reason) {
    skipped().push_back({reason});
}

} // namespace chalk::test

#if __has_include(<catch2/catch_all.hpp>)
class case_counter : public Catch::EventListenerBase {
  public:
    using Catch::EventListenerBase::EventListenerBase;
    void testCaseEnded(const Catch::TestCaseStats&) override { ++cases_run; }
};
#else
class case_counter : public Catch::TestEventListenerBase {
  public:
    using Catch::TestEventListenerBase::TestEventListenerBase;
    void testCaseEnded(const Catch::TestCaseStats&) override { ++cases_run; }
};
#endif
CATCH_REGISTER_LISTENER(case_counter)

int main(int argc, char** argv) {
    const int failed = Catch::Session().run(argc, argv);
    for (const auto& one : skipped()) {
        std::cout << "SKIPPED: " << one.reason << '\n';
    }
    if (!skipped().empty()) {
        std::cout << skipped().size() << " of " << cases_run << " test cases skipped\n";
    }
    if (failed == 0 && cases_run > 0 && skipped().size() == cases_run) {
        return chalk::test::all_skipped_exit_code;
    }
    return failed;
}
