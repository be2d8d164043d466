#include "protocol/backend/delivery.hpp"

#include "tests/support/catch.hpp"

#include <optional>

using namespace chalk;
using namespace chalk::backend;

namespace {

const trouble away{{}, "connection refused"};
const trouble busy{{503U, {}}, "HTTP 503"};
const trouble denied{{401U, {}}, "HTTP 401"};

template<class Command>
std::optional<Command> find(const delivery::commands& all) {
    for (const auto& one : all) {
        if (const auto* c = std::get_if<Command>(&one)) {
            return *c;
        }
    }
    return std::nullopt;
}

delivery::send sent(const delivery::commands& all) {
    const auto found = find<delivery::send>(all);
    REQUIRE(found);
    return *found;
}

} // namespace

TEST_CASE("events go out one request after the other, in order, and what came meanwhile goes in the next") {
    delivery d;
    const auto first = sent(d.add(10, false));
    CHECK((first.first == 1 && first.last == 1));
    CHECK(d.add(10, false).empty());
    CHECK(d.add(10, true).empty());
    const auto after = d.on_acknowledged(1);
    CHECK((sent(after).first == 2 && sent(after).last == 3));
    CHECK(find<delivery::forget>(after)->up_to == 1);
    const auto end = d.on_acknowledged(3);
    CHECK_FALSE(find<delivery::send>(end));
    REQUIRE(find<delivery::settle>(end));
    CHECK(find<delivery::settle>(end)->left == 0);
}

TEST_CASE("a request holds so many events and bytes, but an event of any size") {
    delivery d({patient_retry, 2, 100});
    CHECK(sent(d.add(500, false)).last == 1);
    (void)d.add(60, false);
    (void)d.add(60, false);
    (void)d.add(10, false);
    (void)d.add(10, false);
    CHECK(sent(d.on_acknowledged(1)).last == 2);
    const auto next = sent(d.on_acknowledged(2));
    CHECK((next.first == 3 && next.last == 4));
}

TEST_CASE("a backend that is away is tried again with longer waits, and the log hears of it once") {
    delivery d;
    (void)d.add(1, false);
    auto said = d.on_trouble(away, 0, {});
    CHECK(find<delivery::say>(said)->level == log_level::warning);
    milliseconds before = find<delivery::pause>(said)->wait;
    for (int i = 0; i < 20; ++i) {
        CHECK(d.add(1, false).empty()); // no attempt before the pause is over
        CHECK(sent(d.on_pause_over()).first == 1);
        said = d.on_trouble(i % 2 == 0 ? busy : away, 0, {});
        CHECK_FALSE(find<delivery::say>(said));
        const auto wait = find<delivery::pause>(said)->wait;
        CHECK(wait >= before);
        before = wait;
    }
    CHECK(before == patient_retry.longest_wait);
    (void)d.on_pause_over();
    const auto back = d.on_acknowledged(21);
    CHECK(find<delivery::say>(back)->level == log_level::info);
    (void)d.add(1, false);
    CHECK(find<delivery::pause>(d.on_trouble(away, 0, {}))->wait == patient_retry.first_wait);
}

TEST_CASE("waits differ by chance, so that many runs do not come back at once") {
    delivery d;
    (void)d.add(1, false);
    CHECK(find<delivery::pause>(d.on_trouble(away, 0.9, {}))->wait < patient_retry.first_wait);
}

TEST_CASE("a part that was acknowledged is not sent again, the rest is") {
    delivery d({patient_retry, 3, 100});
    (void)d.add(1, false);
    (void)d.add(1, false);
    (void)d.add(1, false);
    (void)d.add(1, false);
    CHECK(sent(d.on_acknowledged(1)).last == 4);
    const auto rest = sent(d.on_acknowledged(2));
    CHECK((rest.first == 3 && rest.last == 4));
}

TEST_CASE("an answer that acknowledges nothing new is no progress: it is asked again after a pause") {
    delivery d;
    (void)d.add(1, false);
    const auto next = d.on_acknowledged(0);
    CHECK(find<delivery::pause>(next));
    CHECK_FALSE(find<delivery::send>(next));
}

TEST_CASE("a refusal ends the sending; what is left is told when the run ends") {
    delivery d;
    (void)d.add(1, false);
    const auto told = d.on_trouble(denied, 0, {});
    CHECK(find<delivery::say>(told)->level == log_level::error);
    CHECK_FALSE(find<delivery::pause>(told));
    CHECK_FALSE(find<delivery::settle>(told));
    CHECK(d.add(1, false).empty());
    const auto end = d.add(1, true);
    REQUIRE(find<delivery::settle>(end));
    CHECK(find<delivery::settle>(end)->left == 3);
    CHECK(find<delivery::settle>(end)->why == "HTTP 401");
}

TEST_CASE("what an earlier sender brought is acknowledged ahead of what this one has sent, and not sent again") {
    delivery d({patient_retry, 1, 100});
    (void)d.add(1, false);
    (void)d.add(1, false);
    (void)d.add(1, true);
    const auto end = d.on_acknowledged(3);
    CHECK_FALSE(find<delivery::send>(end));
    REQUIRE(find<delivery::settle>(end));
    CHECK(find<delivery::settle>(end)->left == 0);
}

TEST_CASE("an acknowledgement that takes back, or that is of what there is not, ends the sending") {
    for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{9}}) {
        delivery d;
        (void)d.add(1, false);
        (void)d.add(1, true);
        (void)d.on_acknowledged(1);
        const auto end = d.on_acknowledged(wrong);
        CHECK(find<delivery::say>(end)->level == log_level::error);
        REQUIRE(find<delivery::settle>(end));
        CHECK(find<delivery::settle>(end)->left == 1);
    }
}

TEST_CASE("a stream without a final event ends when its owner says so, once") {
    delivery d;
    (void)d.add(1, false);
    CHECK_FALSE(find<delivery::settle>(d.on_acknowledged(1)));
    CHECK(find<delivery::settle>(d.end())->left == 0);
    CHECK(d.end().empty());
}

TEST_CASE("answers that nobody waits for change nothing") {
    delivery d;
    CHECK(d.on_acknowledged(1).empty());
    CHECK(d.on_trouble(away, 0, {}).empty());
    CHECK(d.on_pause_over().empty());
}
