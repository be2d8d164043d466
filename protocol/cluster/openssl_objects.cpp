#include "protocol/cluster/openssl_objects.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <ctime>

namespace chalk::cluster {

failure openssl_failure(std::string_view what) {
    const auto code = ::ERR_get_error();
    const char* reason = code == 0 ? nullptr : ::ERR_reason_error_string(code);
    ::ERR_clear_error(); // or the next TLS call of this thread would take it for its own
    return harness_failure(fmt::format("cannot {}: {}", what, reason == nullptr ? "no reason given" : reason));
}

failure unreadable(std::string_view whose, std::string_view what_it_is_not) {
    ::ERR_clear_error();
    return config_failure(fmt::format("{} is {}", whose, what_it_is_not));
}

bio_owner bio_over(std::string_view text) {
    return bio_owner(::BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

int no_passphrase(char*, int, int, void*) noexcept {
    return -1;
}

bool at_pem_end() {
    const auto code = ::ERR_peek_last_error();
    const bool end = code == 0 || (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE);
    ::ERR_clear_error();
    return end;
}

std::string text_of(BIO& memory) {
    char* data = nullptr;
    const auto size = BIO_get_mem_data(&memory, &data);
    return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

time_owner to_asn1(wall_time at) {
    return time_owner(::ASN1_TIME_set(nullptr, std::chrono::system_clock::to_time_t(std::chrono::floor<seconds>(at))));
}

result<wall_time> time_from(const ASN1_TIME* at) {
    std::tm parts{};
    if (at == nullptr || ::ASN1_TIME_to_tm(at, &parts) != 1) {
        return unreadable("a date", "none");
    }
    return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

extension_owner make_extension(int nid, const char* value, X509* subject, X509* issuer) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    ::X509V3_set_ctx(&context, issuer, subject, nullptr, nullptr, 0);
    return extension_owner(::X509V3_EXT_nconf_nid(nullptr, &context, nid, value));
}

} // namespace chalk::cluster
