#include "runtimes/namespaces/fixture.test.hpp"

#include "runtimes/image/environment.hpp"
#include "runtimes/namespaces/cgroups.hpp"

namespace chalk::test {

bool has_cgroups() {
    return namespaces::cgroups("test").available();
}

sandbox_request namespaces_fixture::request(const std::string& id) {
    auto source = image::load_environment_source(folder / "environment");
    REQUIRE(source);
    sandbox_request wanted;
    wanted.id = run_id::parse(id).value();
    wanted.environment = *source;
    wanted.environment.mask.insert(wanted.environment.mask.end(), mask.begin(), mask.end());
    wanted.out_folder = folder / "out";
    wanted.limits = limits;
    wanted.gateway_folder = gateway_folder;
    return wanted;
}

script_result namespaces_fixture::run(const std::string& script) {
    made = make_namespaces_runtime(io.context(), options(script));
    auto started = made->start(request());
    INFO((started ? std::string() : started.error().message));
    REQUIRE(started);
    const std::unique_ptr<sandbox> one = std::move(*started);
    const unique_fd channel = one->take_host_channel();
    script_result result;
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(channel.get(), buffer, sizeof buffer)) > 0;) {
        result.said.append(buffer, static_cast<std::size_t>(got));
    }
    result.exit = wait(*one);
    const auto removed = one->remove();
    INFO((removed ? std::string() : removed.error().message));
    CHECK(removed);
    return result;
}

} // namespace chalk::test
