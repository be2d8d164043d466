#include "actors/cluster/messages.hpp"

#include "actors/cluster/link_system.hpp"
#include "tests/support/catch.hpp"

#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include <limits>
#include <vector>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

struct wire {
    link_system_settings settings{{}, *load_link_library().value()};
    caf::actor_system system{settings};

    template<class T>
    std::vector<char> save(const T& what) {
        std::vector<char> bytes;
        caf::binary_serializer sink(system, bytes);
        // As a link does: inside a message, with the type's name.
        REQUIRE_FALSE(sink(caf::make_message(what)));
        return bytes;
    }
    caf::error load(const std::vector<char>& bytes, caf::message& what) {
        caf::binary_deserializer source(system, bytes);
        return what.load(source);
    }
    template<class T>
    T through(const T& what) {
        caf::message back;
        REQUIRE_FALSE(load(save(what), back));
        REQUIRE(back.match_elements<T>());
        return back.get_as<T>(0);
    }
};

hello node_hello() {
    hello what;
    what.node = node_id::parse("rack-7").value();
    what.offer.version = "0.1.0";
    what.offer.capacity = {8_GiB, 100_GiB, 4'000, 16'000, 1'024};
    what.offer.runtimes = {"container", "namespaces"};
    what.offer.labels = {"gpu=none", "zone=a b"};
    what.offer.held = {"sha256:00", "sha256:ff"};
    what.asked = lease_clock::question{7};
    what.held = {3, std::numeric_limits<std::uint64_t>::max()};
    return what;
}

} // namespace

TEST_CASE("a hello comes out of the wire as it went in") {
    wire w;
    for (auto sent : {node_hello(), hello{node_id::parse("n").value(), {}, {}, {}}}) {
        REQUIRE(check_hello(sent));
        const auto got = w.through(sent);
        CHECK(got.node == sent.node);
        CHECK(got.offer.version == sent.offer.version);
        CHECK(got.offer.capacity == sent.offer.capacity);
        CHECK(got.offer.runtimes == sent.offer.runtimes);
        CHECK(got.offer.labels == sent.offer.labels);
        CHECK(got.offer.held == sent.offer.held);
        CHECK(got.asked == sent.asked);
        CHECK(got.held == sent.held);
    }
}

TEST_CASE("what is said of leases comes out of the wire as it went in") {
    wire w;
    const lease_number number{2, 9};
    const lease_clock::question asked{-1};
    const auto granted = w.through(lease_granted{number, 60s, asked});
    CHECK((granted.number == number && granted.length == 60s && granted.asked == asked));
    const auto renewed = w.through(lease_renewed{number, lease_terms::longest, asked});
    CHECK((renewed.number == number && renewed.length == lease_terms::longest && renewed.asked == asked));
    const auto renew = w.through(renew_lease{number, asked});
    CHECK((renew.number == number && renew.asked == asked));
    CHECK(w.through(lease_given_up{number}).number == number);
}

TEST_CASE("a hello beyond its bounds is refused on both sides") {
    wire w;
    std::vector<hello> bad(7, node_hello());
    bad[0].offer.version = std::string(longest_version + 1, 'v');
    bad[1].offer.labels.insert(std::string(label_limits.longest + 1, 'l'));
    bad[2].offer.labels.insert("");
    bad[3].offer.runtimes.insert(std::string(runtime_limits.longest + 1, 'r'));
    bad[6].offer.held.insert("a\n\nb");
    for (std::size_t i = 0; i <= label_limits.most; ++i) {
        bad[4].offer.labels.insert("label " + std::to_string(i));
    }
    for (std::size_t i = 0; i <= held_limits.most; ++i) {
        bad[5].offer.held.insert(std::to_string(i));
    }
    for (const auto& sent : bad) {
        CHECK_FALSE(check_hello(sent));
        caf::message back;
        CHECK(w.load(w.save(sent), back));
    }
    caf::message back;
    CHECK(w.load(w.save(lease_granted{{1, 1}, 0ms, {}}), back));
    CHECK(w.load(w.save(lease_renewed{{1, 1}, lease_terms::longest + 1ms, {}}), back));
    const auto nameless = w.save(hello{});
    CHECK(w.load(nameless, back));
    // What an actor gets in its place: CAF drops the error and keeps the envelope.
    caf::binary_deserializer source(w.system, nameless);
    REQUIRE_FALSE(source(back));
    CHECK(back.empty());
}

TEST_CASE("a message that is cut short, or claims more than it has, is an error and costs nothing") {
    wire w;
    const auto whole = w.save(node_hello());
    for (std::size_t length = 0; length < whole.size(); ++length) {
        caf::message back;
        CHECK(w.load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)}, back));
    }
    // Each byte in turn becomes a length that is not there, or a value: never a crash, never a large allocation.
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto broken = whole;
        broken[at] = '\x7f';
        caf::message back;
        (void)w.load(broken, back);
        broken[at] = '\xff';
        (void)w.load(broken, back);
    }
}

TEST_CASE("what is said of runs comes out of the wire as it went in") {
    wire w;
    const assignment_name one{{7, 3}, attempt_number{2}, {5, 9}};
    const assignment_name other{{std::numeric_limits<std::uint64_t>::max(), 0}, attempt_number{1}, {1, 1}};
    const auto kept = w.through(runs_kept{{one, other}, {one}});
    CHECK((kept.running == std::set{one, other} && kept.ended == std::set{one}));
    const auto assigned = w.through(run_assigned{one, "{}"});
    CHECK((assigned.name == one && assigned.sheet == "{}"));
    const auto ended = w.through(run_ended{other, "result"});
    CHECK((ended.name == other && ended.sheet == "result"));
    CHECK(w.through(run_dropped{one}).name == one);
    CHECK(w.through(result_taken{one}).name == one);
    CHECK(w.through(run_noted{one, "{}"}).spent == "{}");
    CHECK(w.through(sweep_described{"sheet"}).sheet == "sheet");
    CHECK(w.through(runs_cancelled{"why", true}).at_once);
    CHECK(w.through(runs_cut_off{"why"}).why == "why");
    CHECK(w.through(node_told{"full", true}).is_short);
    CHECK(w.through(digest_changed{"sha256:00", true}).holds);
    CHECK(w.through(node_probed{true, ""}).passed);
    CHECK(w.through(join_refused{"no"}).why == "no");
    const auto over = w.through(lease_over{{1, 2}, "late"});
    CHECK((over.number == lease_number{1, 2} && over.why == "late"));
}

TEST_CASE("a message of runs beyond its bounds is refused") {
    wire w;
    caf::message back;
    const assignment_name one{{1, 1}, attempt_number{1}, {1, 1}};
    CHECK(w.load(w.save(run_ended{one, std::string(longest_result_sheet + 1, 'x')}), back));
    CHECK(w.load(w.save(run_assigned{one, std::string(longest_run_sheet + 1, 'x')}), back));
    CHECK(w.load(w.save(node_told{std::string(longest_word + 1, 'x'), false}), back));
    for (const char* text : {"1", "1 1 1 1 1", "1 1 0 1 1\n", "1 1 4294967296 1 1\n", "-1 1 1 1 1\n", "a\n", "\n"}) {
        CAPTURE(text);
        CHECK_FALSE(split_assignments(text));
    }
    CHECK(split_assignments("")->empty());
    CHECK(bounded_word(std::string(longest_word, 'x')).size() == longest_word);
    CHECK(bounded_word(std::string(longest_word + 1, 'x')).size() == longest_word);
    std::string wide;
    while (wide.size() <= longest_word) {
        wide += "\xe2\x82\xac";
    }
    CHECK(bounded_word(wide).size() <= longest_word);
}
