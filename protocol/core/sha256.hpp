/// SHA-256 (FIPS 180-4) of text, at once or in pieces.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st; // OpenSSL's

namespace chalk {

using sha256_digest = std::array<std::uint8_t, 32>;

/// One sum that is built up in pieces; where they part does not count.
class sha256_sum {
  public:
    /// Throws std::bad_alloc, nothing else.
    sha256_sum();
    void add(std::string_view piece);
    /// Of all that was added. The sum is over: nothing may be added or asked afterwards.
    [[nodiscard]] sha256_digest finish();

  private:
    struct release {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, release> context_;
};

[[nodiscard]] sha256_digest sha256(std::string_view text);
/// 64 lower-case hex digits.
[[nodiscard]] std::string sha256_hex(std::string_view text);
[[nodiscard]] std::string hex_of(const sha256_digest& sum);

} // namespace chalk
