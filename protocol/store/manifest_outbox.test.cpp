#include "protocol/store/manifest_outbox.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace chalk;
using namespace chalk::store;

namespace {

/// The name of no tree that there is; the outbox takes its owner's word for what a text is.
tree_digest tree_number(std::size_t number) {
    return {sha256(fmt::format("tree {}", number))};
}

shared_manifest_text manifest_of_pieces(std::size_t pieces) {
    return std::make_shared<const std::string>((pieces - 1) * max_piece + 1, 'm');
}

} // namespace

TEST_CASE("no more trees wait for their manifest than a few, so that many small requests hold no memory") {
    manifest_outbox outbox;
    for (std::size_t i = 0; i < max_trees_wanted; ++i) {
        REQUIRE(outbox.want({tree_number(i)}));
    }
    CHECK_FALSE(outbox.want({tree_number(9)}));
    CHECK_FALSE(outbox.want({tree_number(0)})); // the same once more is one more
    // One that is under way is not answered yet.
    outbox.begin(manifest_of_pieces(2));
    CHECK_FALSE(outbox.want({tree_number(9)}));
    CHECK(outbox.next_piece());
    CHECK_FALSE(outbox.want({tree_number(9)}));
    CHECK(outbox.next_piece());
    CHECK(outbox.want({tree_number(9)}));
    CHECK_FALSE(outbox.want({tree_number(9)}));
    outbox.refuse();
    CHECK(outbox.wanted() == max_trees_wanted - 1);
}

TEST_CASE("one manifest is under way at a time, in the order in which they were wanted") {
    manifest_outbox outbox;
    CHECK_FALSE(outbox.next_tree());
    CHECK_FALSE(outbox.next_piece());
    REQUIRE(outbox.want({tree_number(1)}));
    REQUIRE(outbox.want({tree_number(2)}));
    REQUIRE(outbox.want({tree_number(3)}));
    CHECK_FALSE(outbox.next_piece()); // its text is not here yet
    CHECK(outbox.next_tree() == tree_number(1));
    CHECK(outbox.next_tree() == tree_number(1));
    outbox.begin(manifest_of_pieces(2));
    CHECK_FALSE(outbox.next_tree());
    auto piece = outbox.next_piece();
    REQUIRE(piece);
    CHECK(piece->tree == tree_number(1));
    CHECK(piece->total == max_piece + 1);
    CHECK(piece->data.size() == max_piece);
    CHECK_FALSE(outbox.next_tree());
    piece = outbox.next_piece();
    REQUIRE(piece);
    CHECK(piece->offset == max_piece);
    CHECK(piece->data == "m");
    CHECK_FALSE(outbox.next_piece());
    CHECK(outbox.next_tree() == tree_number(2));
    outbox.refuse();
    CHECK(outbox.next_tree() == tree_number(3));
}

TEST_CASE("connections share one text of a manifest, and let go of it with the last piece") {
    const auto text = manifest_of_pieces(1);
    manifest_outbox one;
    manifest_outbox other;
    for (auto* outbox : {&one, &other}) {
        REQUIRE(outbox->want({tree_number(1)}));
        outbox->begin(text);
    }
    CHECK(text.use_count() == 3);
    CHECK(one.next_piece());
    CHECK(other.next_piece());
    CHECK(text.use_count() == 1);
}
