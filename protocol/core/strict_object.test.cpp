#include "protocol/core/strict_object.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;

namespace {

struct strict_sample {
    bool yes = false;
    std::string text;
    std::uint32_t count = 0;
    std::optional<double> share;
    milliseconds took{0};
    std::vector<std::optional<double>> numbers;
    bytes size;
    std::vector<std::uint64_t> items;
};

result<strict_sample> read_sample(std::string_view text) {
    strict_sample out;
    auto read = read_strictly(text, bytes{400}, "the sample", [&](strict_object& top) {
        top.read("yes", out.yes);
        top.read("text", out.text, 4);
        top.read("count", out.count, 1, 9);
        top.read("share", out.share, 0.0, 1.0);
        top.read("took", out.took, milliseconds(-5), milliseconds(5));
        top.read_numbers("numbers", out.numbers, 2, -1.0, 1.0);
        top.read_object("below", [&](strict_object& below) { below.read("size", out.size); });
        top.read_objects("items", 2, [&](strict_object& item) { item.read("n", out.items.emplace_back()); });
    });
    if (!read) {
        return read.error();
    }
    return out;
}

json sample() {
    return {{"yes", true},
            {"text", "four"},
            {"count", 9},
            {"share", nullptr},
            {"took", -5},
            {"numbers", {1, nullptr}},
            {"below", {{"size", 7}}},
            {"items", json::array({{{"n", 1}}, {{"n", 2}}})}};
}

std::string refused_for(const std::string& pointer, const json& value) {
    auto changed = sample();
    changed[json::json_pointer(pointer)] = value;
    const auto read = read_sample(changed.dump());
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == error_class::harness);
    return read.error().message;
}

} // namespace

TEST_CASE("an object is read strictly when all of it is as it was asked for", "[strict_object]") {
    const auto read = read_sample(sample().dump());
    REQUIRE(read);
    CHECK(read->yes);
    CHECK(read->text == "four");
    CHECK(read->count == 9);
    CHECK_FALSE(read->share);
    CHECK(read->took == milliseconds(-5));
    CHECK(read->numbers == std::vector<std::optional<double>>{1.0, std::nullopt});
    CHECK(read->size == bytes{7});
    CHECK(read->items == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("what is not as it was asked for is refused with its path", "[strict_object]") {
    CHECK(refused_for("/yes", 1) == "the sample: yes: expected true or false");
    CHECK(refused_for("/text", "fives") == "the sample: text: expected a string of at most 4 bytes");
    CHECK(refused_for("/count", 10) == "the sample: count: expected a whole number from 1 to 9");
    CHECK(refused_for("/count", 0).find("from 1 to 9") != std::string::npos);
    CHECK(refused_for("/count", -1).find("from 1 to 9") != std::string::npos);
    CHECK(refused_for("/count", 2.0).find("from 1 to 9") != std::string::npos);
    CHECK(refused_for("/share", 1.5) == "the sample: share: expected a number from 0 to 1");
    CHECK(refused_for("/share", "1").find("expected a number") != std::string::npos);
    CHECK(refused_for("/took", 6) == "the sample: took: expected a whole number from -5 to 5");
    CHECK(refused_for("/took", 18'446'744'073'709'551'615U).find("from -5 to 5") != std::string::npos);
    CHECK(refused_for("/numbers/1", 2) == "the sample: numbers[1]: expected a number from -1 to 1");
    CHECK(refused_for("/numbers", {1, 1, 1}) == "the sample: numbers: expected a list of at most 2");
    CHECK(refused_for("/below", 1) == "the sample: below: expected an object");
    CHECK(refused_for("/below/size", nullptr).starts_with("the sample: below.size: expected a whole number"));
    CHECK(refused_for("/below/more", 1) == "the sample: below.more: unknown key");
    CHECK(refused_for("/items/1/m", 1) == "the sample: items[1].m: unknown key");
    CHECK(refused_for("/items/0", 1) == "the sample: items[0]: expected an object");
    CHECK(refused_for("/other", 1) == "the sample: other: unknown key");
    const auto all = sample();
    for (const auto& [name, value] : all.items()) {
        auto less = all;
        less.erase(name);
        CHECK(read_sample(less.dump()).error().message == "the sample: " + name + ": is missing");
    }
}

TEST_CASE("a text that is no object, too long or nested too deep is refused", "[strict_object]") {
    CHECK(read_sample("[]").error().message == "the sample: expected an object");
    CHECK(read_sample("{").has_error());
    CHECK(read_sample(std::string(401, ' ')).error().message == "the sample: longer than 400 bytes");
    CHECK(read_sample(std::string(100, '[')).has_error());
    CHECK(read_sample(R"({"share": 1e999})").has_error());
}
