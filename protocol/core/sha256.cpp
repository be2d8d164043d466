#include "protocol/core/sha256.hpp"

#include <openssl/evp.h>

#include <new>

namespace chalk {

void sha256_sum::release::operator()(evp_md_ctx_st* context) const noexcept {
    ::EVP_MD_CTX_free(context);
}

sha256_sum::sha256_sum() : context_(::EVP_MD_CTX_new()) {
    // It fails for want of memory alone: the algorithm is part of the library.
    if (!context_ || ::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr) != 1) {
        throw std::bad_alloc();
    }
}

void sha256_sum::add(std::string_view piece) {
    ::EVP_DigestUpdate(context_.get(), piece.data(), piece.size());
}

sha256_digest sha256_sum::finish() {
    sha256_digest sum{};
    ::EVP_DigestFinal_ex(context_.get(), sum.data(), nullptr);
    return sum;
}

sha256_digest sha256(std::string_view text) {
    sha256_sum sum;
    sum.add(text);
    return sum.finish();
}

std::string hex_of(const sha256_digest& sum) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string hex;
    hex.reserve(2 * sum.size());
    for (const auto byte : sum) {
        hex += digits[byte >> 4U];
        hex += digits[byte & 0xfU];
    }
    return hex;
}

std::string sha256_hex(std::string_view text) {
    return hex_of(sha256(text));
}

} // namespace chalk
