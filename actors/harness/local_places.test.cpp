#include "actors/harness/local_places.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

using namespace chalk;
using namespace chalk::actors;
namespace fs = std::filesystem;

namespace {

struct one_run {
    test::temporary_folder folder;
    fs::path artifacts = folder.path() / "artifacts";
    config::run_config config;
    std::unique_ptr<local_places> places;
    fs::path out;

    one_run() {
        config.environment = folder.path() / "environment";
        fs::create_directories(config.environment);
        places = local_places::make(std::make_shared<place_pool>(), config, artifacts, {}, {}).value();
        out = places->options(config, false).places.out;
    }
    void save(const char* file) const {
        fs::create_directories((out / file).parent_path());
        std::ofstream(out / file) << "x";
    }
};

} // namespace

TEST_CASE("a run that saves nothing makes no folder for its artifacts") {
    const one_run run;
    CHECK(run.places->hand_over());
    CHECK_FALSE(fs::exists(run.artifacts));
    CHECK(run.places->remove(true));
}

TEST_CASE("a run that removed its folder for artifacts has none") {
    const one_run run;
    fs::remove_all(run.out);
    CHECK(run.places->hand_over());
    CHECK_FALSE(fs::exists(run.artifacts));
    CHECK(run.places->remove(true));
    CHECK_FALSE(fs::exists(run.out.parent_path()));
}

TEST_CASE("artifacts come beside those of an earlier run") {
    const one_run run;
    fs::create_directories(run.artifacts / "step-0");
    std::ofstream(run.artifacts / "step-0/old") << "old";
    run.save("step-0/new");
    run.save("step-1/new");
    REQUIRE(run.places->hand_over());
    CHECK(fs::exists(run.artifacts / "step-0/old"));
    CHECK(fs::exists(run.artifacts / "step-0/new"));
    CHECK(fs::exists(run.artifacts / "step-1/new"));
    CHECK(run.places->remove(true));
    CHECK(fs::is_empty(run.out)); // the next run's
}

TEST_CASE("artifacts that cannot be handed over stay where the failure says") {
    one_run run;
    std::ofstream(run.artifacts) << "a file";
    run.save("step-0/a");
    const auto failed = run.places->hand_over();
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind == error_class::harness);
    CHECK(failed.error().message.find(run.out.string()) != std::string::npos);
    run.places.reset(); // whoever forgets to keep it
    CHECK(fs::exists(run.out / "step-0/a"));
    fs::remove_all(run.out.parent_path());
}
