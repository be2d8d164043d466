/// What two machines of a cluster say on their connection for bulk data (docs/protocols/cluster-bulk.md): environments
/// from the coordinator to nodes, results from nodes to the coordinator, both fetched by the side that wants them.
///
/// A frame is a length (4 bytes, big-endian, of what follows it), a type (1 byte) and a body. Numbers are big-endian,
/// sums are 32 bytes. Plain values; the bounds below hold for both directions.
#pragma once

#include "protocol/core/ids.hpp"
#include "protocol/core/result.hpp"
#include "protocol/store/tree_manifest.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace chalk::store {

inline constexpr std::size_t max_piece = chunk_size.count;     ///< bytes of content in one frame
inline constexpr std::size_t max_chunks_a_want = 1024;         ///< names in one want_chunks
inline constexpr std::size_t max_trees_wanted = 4;             ///< asked for and not answered, a connection
inline constexpr std::size_t max_offers_open = 64;             ///< made and not answered, a connection
inline constexpr std::size_t max_error_text = 1024;            ///< bytes
inline constexpr std::size_t max_bulk_frame = max_piece + 128; ///< with its length and type

/// Chosen by the side that offers; names the offer on its connection.
enum class offer_number : std::uint64_t {};

/// Of an assignment of (run, attempt) to a node: the coordinator knows a late result by it. Opaque here.
enum class result_token : std::uint64_t {};

/// "Send me the manifest of this tree." Answered by its pieces, or by an error about the tree; no more than
/// max_trees_wanted wait for their answer.
struct want_tree {
    tree_digest tree;
};

/// A part of a manifest's text, in order. The receiver holds the whole against `tree`.
struct manifest_piece {
    tree_digest tree;
    std::uint32_t total = 0;  ///< bytes of the whole text, at most max_manifest_text
    std::uint32_t offset = 0; ///< of this piece
    std::string data;         ///< 1 to max_piece bytes
};

/// "Send me these, in this order; I have room for `credits` chunks more." Either may be none. A chunk takes a credit.
struct want_chunks {
    tree_digest tree;
    std::uint32_t credits = 0;
    std::vector<chunk_digest> chunks;
};

struct chunk_sent {
    chunk_digest name;
    std::string data; ///< 1 to max_piece bytes; not held against the name yet
};

enum class result_part : std::uint8_t { transcript = 1, artifacts = 2 };

/// Node to coordinator: "this is a result of the run; fetch it."
struct offer {
    offer_number number{};
    result_part part = result_part::transcript;
    run_id run;
    attempt_number attempt{};
    result_token token{};
    tree_digest tree;
};

/// Coordinator to node: it is on disk, also after a power cut. The node may forget it.
struct landed {
    offer_number number{};
    tree_digest tree;
};

enum class bulk_fault : std::uint8_t {
    unknown_tree = 1,  ///< the tree named is not here
    unknown_chunk = 2, ///< the chunk named is not here, or its file has changed
    offer_refused = 3, ///< nobody waits for such a result
    no_room = 4,       ///< the receiver cannot take what it was offered
    broken_rule = 5,   ///< the sender of the error closes the connection
};

using bulk_subject = std::variant<std::monostate, tree_digest, chunk_digest, offer_number>;

struct bulk_error {
    bulk_fault code = bulk_fault::broken_rule;
    bulk_subject about;  ///< none: the connection
    std::string message; ///< for a log; valid UTF-8
};

using bulk_message = std::variant<want_tree, manifest_piece, want_chunks, chunk_sent, offer, landed, bulk_error>;

/// A whole frame. error_class::harness when the message breaks a bound; an error's text is cut.
[[nodiscard]] result<std::string> to_frame(const bulk_message& message);

/// Takes a stream apart, in pieces of any size. Holds one frame at most, and of that only what has come: a length is
/// not believed, and one that its type cannot have is refused before its body is awaited.
class bulk_decoder {
  public:
    /// Calls `on_message` for each frame that `data` completes. error_class::harness with the cause when a frame breaks
    /// a rule, or what `on_message` failed with; nothing is taken from then on.
    [[nodiscard]] result<void> feed(std::string_view data,
                                    const std::function<result<void>(bulk_message&&)>& on_message);

    /// The stream may end here.
    [[nodiscard]] bool between_frames() const noexcept { return frame_.empty(); }

  private:
    [[nodiscard]] result<void> take(std::string_view& data,
                                    const std::function<result<void>(bulk_message&&)>& on_message);

    std::string frame_; ///< what has come of the one that is incomplete
    bool dead_ = false;
};

} // namespace chalk::store
