#include "protocol/store/bulk_messages.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace chalk::store {

namespace {

constexpr std::size_t length_size = 4;
constexpr std::size_t head_size = length_size + 1;
constexpr std::size_t sum_size = sizeof(sha256_digest);

enum class frame_type : std::uint8_t {
    want_tree = 1,
    manifest_piece = 2,
    want_chunks = 3,
    chunk = 4,
    offer = 5,
    landed = 6,
    error = 7,
};

enum class subject_kind : std::uint8_t { none = 0, tree = 1, chunk = 2, offer = 3 };

struct body_bounds {
    std::size_t least;
    std::size_t most;
};

/// How long a body may be. nullopt: no such type.
std::optional<body_bounds> bounds_of(std::uint8_t type) noexcept {
    constexpr std::size_t piece_head = sum_size + 8;
    constexpr std::size_t offer_rest = 8 + 1 + 1 + 4 + 8 + sum_size;
    switch (frame_type{type}) {
    case frame_type::want_tree:
        return body_bounds{sum_size, sum_size};
    case frame_type::manifest_piece:
        return body_bounds{piece_head + 1, piece_head + max_piece};
    case frame_type::want_chunks:
        return body_bounds{piece_head, piece_head + max_chunks_a_want * sum_size};
    case frame_type::chunk:
        return body_bounds{sum_size + 1, sum_size + max_piece};
    case frame_type::offer:
        return body_bounds{offer_rest + 1, offer_rest + run_id::max_length};
    case frame_type::landed:
        return body_bounds{8 + sum_size, 8 + sum_size};
    case frame_type::error:
        return body_bounds{2 + sum_size, 2 + sum_size + max_error_text};
    }
    return std::nullopt;
}

class body_writer {
  public:
    explicit body_writer(frame_type type) : frame_(head_size, '\0') { frame_[length_size] = static_cast<char>(type); }

    template<class Number>
    body_writer& number(Number value) {
        for (auto shift = 8 * sizeof value; shift > 0; shift -= 8) {
            frame_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (shift - 8));
        }
        return *this;
    }
    body_writer& sum(const sha256_digest& value) {
        frame_.append(value.begin(), value.end());
        return *this;
    }
    body_writer& text(std::string_view value) {
        frame_ += value;
        return *this;
    }

    result<std::string> finish() {
        const auto bounds = bounds_of(static_cast<std::uint8_t>(frame_[length_size]));
        const auto body = frame_.size() - head_size;
        if (!bounds || body < bounds->least || body > bounds->most) {
            return harness_failure(fmt::format("bulk: a message of type {} cannot have {} bytes",
                                               static_cast<int>(frame_[length_size]), body));
        }
        for (std::size_t i = 0; i < length_size; ++i) {
            frame_[i] = static_cast<char>((body + 1) >> (8 * (length_size - 1 - i)));
        }
        return std::move(frame_);
    }

  private:
    std::string frame_;
};

/// The bounds were checked: only what is inside a body can still be wrong.
class body_reader {
  public:
    explicit body_reader(std::string_view body) : rest_(body) {}

    template<class Number>
    Number number() {
        std::uint64_t value = 0;
        for (const char c : take(sizeof(Number))) {
            value = value << 8U | static_cast<std::uint8_t>(c);
        }
        return static_cast<Number>(value);
    }
    sha256_digest sum() {
        sha256_digest value{};
        const auto part = take(value.size());
        std::copy(part.begin(), part.end(), value.begin());
        return value;
    }
    /// Shorter where the body is.
    std::string_view take(std::size_t size) {
        const auto part = rest_.substr(0, size);
        rest_.remove_prefix(part.size());
        return part;
    }
    [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

  private:
    std::string_view rest_;
};

failure refuse_frame(std::string_view cause) {
    return harness_failure(fmt::format("bulk: {}", cause));
}

result<bulk_message> read_piece(body_reader body) {
    manifest_piece piece{{body.sum()}, body.number<std::uint32_t>(), body.number<std::uint32_t>(), {}};
    piece.data = body.rest();
    if (piece.total > max_manifest_text.count || piece.offset > piece.total ||
        piece.data.size() > piece.total - piece.offset) {
        return refuse_frame(
            fmt::format("a manifest's piece of {} bytes at {} of {}", piece.data.size(), piece.offset, piece.total));
    }
    return bulk_message(std::move(piece));
}

result<bulk_message> read_want_chunks(body_reader body) {
    want_chunks want{{body.sum()}, body.number<std::uint32_t>(), {}};
    const auto count = body.number<std::uint32_t>();
    if (body.rest().size() != std::uint64_t{count} * sum_size) {
        return refuse_frame(fmt::format("a want of {} chunks has {} bytes of names", count, body.rest().size()));
    }
    want.chunks.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        want.chunks.push_back({body.sum()});
    }
    return bulk_message(std::move(want));
}

result<bulk_message> read_offer(body_reader body) {
    offer made;
    made.number = offer_number{body.number<std::uint64_t>()};
    const auto part = body.number<std::uint8_t>();
    if (part != static_cast<std::uint8_t>(result_part::transcript) &&
        part != static_cast<std::uint8_t>(result_part::artifacts)) {
        return refuse_frame(fmt::format("an offer of part {}, which there is not", part));
    }
    made.part = result_part{part};
    const auto length = body.number<std::uint8_t>();
    auto run = run_id::parse(body.take(length));
    if (!run) {
        return refuse_frame(fmt::format("an offer: {}", run.error().message));
    }
    if (body.rest().size() != 4 + 8 + sum_size) {
        return refuse_frame("an offer whose run id has another length than it says");
    }
    made.run = std::move(*run);
    made.attempt = attempt_number{body.number<std::uint32_t>()};
    made.token = result_token{body.number<std::uint64_t>()};
    made.tree = {body.sum()};
    return bulk_message(std::move(made));
}

std::optional<bulk_subject> read_subject(std::uint8_t kind, std::string_view text) {
    body_reader body(text);
    switch (subject_kind{kind}) {
    case subject_kind::none:
        return bulk_subject();
    case subject_kind::tree:
        return bulk_subject(tree_digest{body.sum()});
    case subject_kind::chunk:
        return bulk_subject(chunk_digest{body.sum()});
    case subject_kind::offer:
        return bulk_subject(offer_number{body.number<std::uint64_t>()});
    }
    return std::nullopt;
}

result<bulk_message> read_error(body_reader body) {
    const auto code = body.number<std::uint8_t>();
    const auto kind = body.number<std::uint8_t>();
    const auto about = read_subject(kind, body.take(sum_size));
    if (code < static_cast<std::uint8_t>(bulk_fault::unknown_tree) ||
        code > static_cast<std::uint8_t>(bulk_fault::broken_rule) || !about) {
        return refuse_frame(fmt::format("an error with code {} about a thing of kind {}", code, kind));
    }
    return bulk_message(bulk_error{bulk_fault{code}, *about, to_valid_utf8(std::string(body.rest()))});
}

/// `type` is known and `text` has a length that it may have.
result<bulk_message> read_body(std::uint8_t type, std::string_view text) {
    body_reader body(text);
    switch (frame_type{type}) {
    case frame_type::want_tree:
        return bulk_message(want_tree{{body.sum()}});
    case frame_type::manifest_piece:
        return read_piece(body);
    case frame_type::want_chunks:
        return read_want_chunks(body);
    case frame_type::chunk: {
        chunk_sent sent{{body.sum()}, {}};
        sent.data = body.rest();
        return bulk_message(std::move(sent));
    }
    case frame_type::offer:
        return read_offer(body);
    case frame_type::landed: {
        const auto number = offer_number{body.number<std::uint64_t>()};
        return bulk_message(landed{number, {body.sum()}});
    }
    case frame_type::error:
        return read_error(body);
    }
    return refuse_frame(fmt::format("a message of type {}, which there is not", type));
}

/// The sum's place in the frame, whatever it is.
void write_subject(body_writer& body, const bulk_subject& about) {
    const auto put = [&](subject_kind kind, const sha256_digest& sum) { body.number(kind).sum(sum); };
    std::visit(overloaded{[&](std::monostate) { put(subject_kind::none, {}); },
                          [&](const tree_digest& tree) { put(subject_kind::tree, tree.sum); },
                          [&](const chunk_digest& chunk) { put(subject_kind::chunk, chunk.sum); },
                          [&](offer_number number) {
                              body.number(subject_kind::offer).number(number);
                              body.text(std::string(sum_size - sizeof number, '\0'));
                          }},
               about);
}

/// Cut where a character ends.
std::string error_text(const std::string& message) {
    auto text = to_valid_utf8(message);
    if (text.size() > max_error_text) {
        auto end = max_error_text;
        while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0U) == 0x80U) {
            --end;
        }
        text.resize(end);
    }
    return text;
}

} // namespace

result<std::string> to_frame(const bulk_message& message) {
    return std::visit(
        overloaded{
            [](const want_tree& m) { return body_writer(frame_type::want_tree).sum(m.tree.sum).finish(); },
            [](const manifest_piece& m) {
                body_writer body(frame_type::manifest_piece);
                return body.sum(m.tree.sum).number(m.total).number(m.offset).text(m.data).finish();
            },
            [](const want_chunks& m) {
                body_writer body(frame_type::want_chunks);
                body.sum(m.tree.sum).number(m.credits).number(static_cast<std::uint32_t>(m.chunks.size()));
                for (const auto& chunk : m.chunks) {
                    body.sum(chunk.sum);
                }
                return body.finish();
            },
            [](const chunk_sent& m) { return body_writer(frame_type::chunk).sum(m.name.sum).text(m.data).finish(); },
            [](const offer& m) {
                body_writer body(frame_type::offer);
                body.number(m.number).number(m.part).number(static_cast<std::uint8_t>(m.run.str().size()));
                return body.text(m.run.str()).number(m.attempt).number(m.token).sum(m.tree.sum).finish();
            },
            [](const landed& m) { return body_writer(frame_type::landed).number(m.number).sum(m.tree.sum).finish(); },
            [](const bulk_error& m) {
                body_writer body(frame_type::error);
                write_subject(body.number(m.code), m.about);
                return body.text(error_text(m.message)).finish();
            }},
        message);
}

result<void> bulk_decoder::feed(std::string_view data, const std::function<result<void>(bulk_message&&)>& on_message) {
    if (dead_) {
        return refuse_frame("the stream was given up");
    }
    while (!data.empty()) {
        if (auto taken = take(data, on_message); !taken) {
            dead_ = true;
            frame_ = {};
            return taken;
        }
    }
    return {};
}

result<void> bulk_decoder::take(std::string_view& data, const std::function<result<void>(bulk_message&&)>& on_message) {
    const auto fill = [&](std::size_t size) {
        const auto part = data.substr(0, size - std::min(size, frame_.size()));
        frame_ += part;
        data.remove_prefix(part.size());
        return frame_.size() >= size;
    };
    if (!fill(head_size)) {
        return {};
    }
    const auto length = body_reader(frame_).number<std::uint32_t>();
    const auto type = static_cast<std::uint8_t>(frame_[length_size]);
    const auto bounds = bounds_of(type);
    if (!bounds) {
        return refuse_frame(fmt::format("a message of type {}, which there is not", type));
    }
    if (length < bounds->least + 1 || length - 1 > bounds->most) {
        return refuse_frame(fmt::format("a message of type {} cannot have the length {}", type, length));
    }
    if (!fill(length_size + length)) {
        return {};
    }
    auto message = read_body(type, std::string_view(frame_).substr(head_size));
    frame_.clear();
    return message ? on_message(std::move(*message)) : message.error();
}

} // namespace chalk::store
