/// Takes a key out of what a server sends back. An error that repeats the request's headers, as a response or as an
/// event within a stream, must not carry the key into a sandbox, a recording, a transcript or a log.
///
/// Owner: the exchange whose answer passes through it; the carrier to a backend makes one for each text.
#pragma once

#include <string>
#include <string_view>

namespace chalk::gateway {

class key_filter {
  public:
    /// What stands in a key's place.
    static constexpr std::string_view placeholder = "[key removed]";
    /// Bytes. Shorter ones ("none", "EMPTY") guard nothing, and words of any message hold them: they pass.
    static constexpr std::size_t shortest_key = 8;

    explicit key_filter(std::string key) : key_(std::move(key)) {}

    /// The next piece of a body, without the key. It may be in two pieces: an end that could be its beginning is kept
    /// back until more comes.
    [[nodiscard]] std::string pass(std::string_view piece);
    /// What is still kept back, at the body's end.
    [[nodiscard]] std::string rest();
    /// The same for a text that is whole, whatever is kept back.
    [[nodiscard]] std::string clean(std::string_view whole) const;

  private:
    std::string key_;
    std::string held_;
};

} // namespace chalk::gateway
