#include "protocol/store/bulk_messages.hpp"

#include "protocol/store/chunk_outbox.hpp"
#include "protocol/store/manifest_transfer.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>

using namespace chalk;
using namespace chalk::store;

namespace {

const tree_digest some_tree{sha256("tree")};

bulk_error an_error(bulk_subject about, std::string text) {
    return {bulk_fault::unknown_chunk, about, std::move(text)};
}

std::vector<bulk_message> one_of_each() {
    return {want_tree{some_tree},
            manifest_piece{some_tree, 10, 3, "1234567"},
            want_chunks{some_tree, 7, {name_chunk("a"), name_chunk("b")}},
            want_chunks{some_tree, 1, {}},
            chunk_sent{name_chunk("a"), "a"},
            chunk_sent{name_chunk("b"), std::string(max_piece, 'b')},
            offer{offer_number{0x0102030405060708U}, result_part::artifacts, run_id::parse("run-1").value(),
                  attempt_number{2}, result_token{0xffffffffffffffffU}, some_tree},
            landed{offer_number{9}, some_tree},
            an_error({}, ""),
            an_error(some_tree, "no such tree"),
            an_error(name_chunk("a"), "gone"),
            an_error(offer_number{9}, "late")};
}

std::string frames_of(const std::vector<bulk_message>& messages) {
    std::string stream;
    for (const auto& one : messages) {
        stream += to_frame(one).value();
    }
    return stream;
}

/// Each message again as its frame, which is all there is to compare; empty with `why` set when the stream is refused.
std::vector<std::string> decode_in_pieces(std::string_view stream, std::size_t piece, std::string* why = nullptr) {
    bulk_decoder decoder;
    std::vector<std::string> frames;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        const auto fed = decoder.feed(stream.substr(at, piece), [&](bulk_message&& message) -> result<void> {
            frames.push_back(to_frame(message).value());
            return {};
        });
        if (!fed) {
            REQUIRE(why != nullptr);
            *why = fed.error().message;
            CHECK_FALSE(decoder.feed("x", [](bulk_message&&) -> result<void> { return {}; }));
            return {};
        }
    }
    CHECK(decoder.between_frames());
    return frames;
}

std::string with_length(std::uint32_t length, const std::string& rest) {
    std::string frame;
    for (int shift = 24; shift >= 0; shift -= 8) {
        frame += static_cast<char>(length >> static_cast<unsigned>(shift));
    }
    return frame + rest;
}

/// Why a frame of this type and body is refused.
std::string refusal_of_frame(char type, const std::string& body) {
    std::string why;
    (void)decode_in_pieces(with_length(static_cast<std::uint32_t>(body.size() + 1), type + body), 100'000, &why);
    return why;
}

} // namespace

TEST_CASE("every message is read as it was written, however the stream is cut") {
    const auto messages = one_of_each();
    std::vector<std::string> expected;
    for (const auto& one : messages) {
        expected.push_back(to_frame(one).value());
        CHECK(expected.back().size() <= max_bulk_frame);
    }
    for (const std::size_t piece : {1U, 7U, 4096U, 100'000'000U}) {
        CHECK(decode_in_pieces(frames_of(messages), piece) == expected);
    }
}

TEST_CASE("a frame is laid out as the protocol's page says") {
    const auto frame = to_frame(offer{offer_number{1}, result_part::transcript, run_id::parse("ab").value(),
                                      attempt_number{2}, result_token{3}, some_tree});
    const std::string sum(some_tree.sum.begin(), some_tree.sum.end());
    using namespace std::string_literals;
    CHECK(frame.value() ==
          "\0\0\0\x39\5"s + "\0\0\0\0\0\0\0\1"s + "\1"s + "\2ab"s + "\0\0\0\2"s + "\0\0\0\0\0\0\0\3"s + sum);
    CHECK(to_frame(landed{offer_number{4}, some_tree}).value() == "\0\0\0\x29\6"s + "\0\0\0\0\0\0\0\4"s + sum);
}

TEST_CASE("a length is refused before its body is awaited, and an unknown type with it") {
    std::string why;
    for (const auto length : {0U, 1U, 32U, 34U, 0xf0000000U, 0xffffffffU}) {
        INFO(length);
        (void)decode_in_pieces(with_length(length, "\1"), 1, &why); // want_tree: 33
        CHECK(why.find(fmt::format("cannot have the length {}", length)) != std::string::npos);
    }
    (void)decode_in_pieces(with_length(max_piece + 34, "\4"), 100, &why); // a chunk with a byte too many
    CHECK(why.find("cannot have the length") != std::string::npos);
    for (const char type : {'\0', '\x08', '\xff'}) {
        (void)decode_in_pieces(with_length(33, std::string(1, type)), 100, &why);
        CHECK(why.find("which there is not") != std::string::npos);
    }
}

TEST_CASE("a body that contradicts itself is refused with the cause") {
    using namespace std::string_literals;
    const std::string sum(32, 's');
    CHECK(refusal_of_frame(2, sum + "\0\0\0\5"s + "\0\0\0\4"s + "12").find("2 bytes at 4 of 5") != std::string::npos);
    CHECK(refusal_of_frame(2, sum + "\0\0\0\5"s + "\0\0\0\6"s + "1").find("at 6 of 5") != std::string::npos);
    CHECK(refusal_of_frame(2, sum + "\x7f\0\0\0"s + "\0\0\0\0"s + "1").find("of 2130706432") != std::string::npos);
    CHECK(refusal_of_frame(3, sum + "\0\0\0\1"s + "\0\0\0\2"s + sum).find("a want of 2 chunks") != std::string::npos);
    CHECK(refusal_of_frame(3, sum + "\0\0\0\1"s + "\xff\xff\xff\xff"s + sum).find("4294967295") != std::string::npos);
    CHECK(refusal_of_frame(3, sum + "\0\0\0\1"s + "\0\0\0\1"s + sum + "x").find("33 bytes") != std::string::npos);
    const auto offered = [&](const std::string& part, const std::string& run) {
        return refusal_of_frame(5, std::string(8, '\0') + part + run + std::string(12, '\0') + sum);
    };
    CHECK(offered("\1", "\1a").empty());
    CHECK(offered("\3", "\1a").find("part 3") != std::string::npos);
    CHECK(offered("\1", "\2..").find("an offer: ") != std::string::npos);
    CHECK(offered("\1", "\3a/b").find("an offer: ") != std::string::npos);
    CHECK(offered("\1", "\1ab").find("another length") != std::string::npos);
    CHECK(offered("\1", "\x63"s + "ab").find("an offer: ") != std::string::npos);
    CHECK(refusal_of_frame(7, "\6\0"s + sum).find("code 6") != std::string::npos);
    CHECK(refusal_of_frame(7, "\1\4"s + sum).find("kind 4") != std::string::npos);
    CHECK(refusal_of_frame(7, "\1\0"s + sum + "text").empty());
}

TEST_CASE("what breaks a bound is not sent, and an error's text is cut where a character ends") {
    CHECK_FALSE(to_frame(chunk_sent{name_chunk(""), ""}));
    CHECK_FALSE(to_frame(chunk_sent{name_chunk(""), std::string(max_piece + 1, 'x')}));
    CHECK_FALSE(to_frame(want_chunks{some_tree, 1, std::vector<chunk_digest>(max_chunks_a_want + 1)}));
    CHECK_FALSE(to_frame(offer{})); // of no run
    std::string text = "x";
    for (int i = 0; i < 600; ++i) {
        text += "\xc3\xa9";
    }
    const auto frame = to_frame(an_error({}, text));
    CHECK(frame.value().size() == 5 + 34 + 1023);
    CHECK(decode_in_pieces(*frame, 1).front() == *frame);
    CHECK(decode_in_pieces(to_frame(an_error({}, "bad \xff")).value(), 1).size() == 1);
}

TEST_CASE("who takes the messages ends the decoding with a failure of his own") {
    bulk_decoder decoder;
    int seen = 0;
    const auto fed = decoder.feed(frames_of(one_of_each()), [&](bulk_message&&) -> result<void> {
        return ++seen == 3 ? result<void>(harness_failure("enough")) : result<void>();
    });
    REQUIRE_FALSE(fed);
    CHECK(fed.error().message == "enough");
    CHECK(seen == 3);
}

TEST_CASE("a manifest crosses in pieces that fit in frames") {
    std::vector<tree_entry> entries;
    for (int i = 0; i < 20'000; ++i) {
        entries.push_back({fmt::format("{:0>100}", i), entry_kind::folder, false, {}, {}, {}});
    }
    const auto tree = tree_manifest::make(std::move(entries)).value();
    manifest_sender sender(tree.digest(), std::make_shared<const std::string>(tree.text()));
    manifest_receiver receiver(tree.digest());
    std::size_t pieces = 0;
    std::optional<tree_manifest> got;
    while (const auto piece = sender.next()) {
        REQUIRE_FALSE(got);
        REQUIRE(to_frame(*piece));
        got = receiver.add(*piece).value();
        ++pieces;
    }
    CHECK(pieces == 3);
    REQUIRE(got);
    CHECK(got->digest() == tree.digest());
}

TEST_CASE("a manifest's pieces are refused when they are another's, out of order, or damaged") {
    const auto tree = tree_manifest::make({{"f", entry_kind::folder, false, {}, {}, {}}}).value();
    const auto text = tree.text();
    const auto total = static_cast<std::uint32_t>(text.size());
    const auto refusal = [&](const std::vector<manifest_piece>& pieces) {
        manifest_receiver receiver(tree.digest());
        for (const auto& piece : pieces) {
            if (const auto added = receiver.add(piece); !added) {
                return added.error().message;
            }
        }
        return std::string();
    };
    const manifest_piece whole{tree.digest(), total, 0, text};
    CHECK(refusal({whole}).empty());
    CHECK(refusal({{some_tree, total, 0, text}}).find("another tree") != std::string::npos);
    CHECK(refusal({{tree.digest(), total, 1, text.substr(1)}}).find("at 1 of") != std::string::npos);
    const manifest_piece start{tree.digest(), total, 0, text.substr(0, 5)};
    CHECK(refusal({start, start}).find("where 5 of") != std::string::npos);
    CHECK(refusal({start, {tree.digest(), total + 1, 5, "x"}}).find("where 5 of") != std::string::npos);
    CHECK(refusal({start, {tree.digest(), total, 5, text}}).find("where 5 of") != std::string::npos);
    CHECK(refusal({{tree.digest(), 0xffffffffU, 0, text}}).find("of 4294967295") != std::string::npos);
    auto damaged = whole;
    damaged.data.back() = ' ';
    CHECK(refusal({damaged}).find("arrived damaged") != std::string::npos);
    manifest_receiver no_manifest(tree_digest{sha256("x")});
    CHECK(no_manifest.add({tree_digest{sha256("x")}, 1, 0, "x"}).error().message.find("line 1") != std::string::npos);
}

TEST_CASE("an outbox sends in the order of the wants, a chunk a credit, and takes no more than its bounds") {
    chunk_outbox outbox;
    CHECK_FALSE(outbox.next());
    REQUIRE(outbox.want({some_tree, 0, {name_chunk("a"), name_chunk("b"), name_chunk("c")}}));
    CHECK_FALSE(outbox.next()); // no room over there
    REQUIRE(outbox.want({some_tree, 2, {}}));
    CHECK(outbox.next()->chunk == name_chunk("a"));
    CHECK(outbox.next()->chunk == name_chunk("b"));
    CHECK_FALSE(outbox.next());
    CHECK(outbox.waiting() == 1);
    REQUIRE(outbox.want({some_tree, chunk_outbox::max_credits, {}}));
    CHECK_FALSE(outbox.want({some_tree, 1, {}}));
    CHECK_FALSE(outbox.want({some_tree, 0xffffffffU, {}}));
    CHECK_FALSE(outbox.want({some_tree, 0, std::vector<chunk_digest>(chunk_outbox::max_waiting)}));
    CHECK(outbox.waiting() == 1);
    CHECK(outbox.credits() == chunk_outbox::max_credits);
}
