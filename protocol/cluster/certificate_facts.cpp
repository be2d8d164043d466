/// What a certificate says of itself.
#include "protocol/cluster/certificates.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace chalk::cluster {

namespace {

std::string asn1_bytes(const ASN1_STRING* text) {
    if (text == nullptr) {
        return {};
    }
    const auto* data = reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text));
    return {data, static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

} // namespace

result<certificate_owner> parse_certificate(std::string_view pem, std::string_view whose) {
    ::ERR_clear_error();
    const auto text = bio_over(pem);
    certificate_owner first(text ? ::PEM_read_bio_X509(text.get(), nullptr, no_passphrase, nullptr) : nullptr);
    if (!first) {
        return unreadable(whose, "no certificate in PEM");
    }
    // A second one would be left out of account silently.
    if (certificate_owner second(::PEM_read_bio_X509(text.get(), nullptr, no_passphrase, nullptr)); second) {
        return unreadable(whose, "several certificates, and must be one");
    }
    if (!at_pem_end()) {
        return unreadable(whose, "followed by something broken");
    }
    return first;
}

result<key_owner> parse_key(std::string_view pem, const X509& certificate, std::string_view whose) {
    const auto text = bio_over(pem);
    key_owner key(text ? ::PEM_read_bio_PrivateKey(text.get(), nullptr, no_passphrase, nullptr) : nullptr);
    if (!key) {
        return unreadable(whose, "no private key in PEM, or encrypted");
    }
    if (::X509_check_private_key(&certificate, key.get()) != 1) {
        return unreadable(whose, "not the one of its certificate");
    }
    return key;
}

result<validity> validity_of(const X509& certificate) {
    const auto from = time_from(::X509_get0_notBefore(&certificate));
    const auto until = time_from(::X509_get0_notAfter(&certificate));
    if (!from || !until) {
        return unreadable("a certificate's validity", "no pair of dates");
    }
    return validity{*from, *until};
}

std::string common_name(const X509& certificate) {
    const auto* subject = ::X509_get_subject_name(&certificate);
    const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    return at < 0 ? std::string() : asn1_bytes(::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
}

std::vector<std::string> dns_names(const X509& certificate) {
    const names_owner names(
        static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::vector<std::string> found;
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
        int kind = 0;
        const void* value = ::GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
        if (kind == GEN_DNS) {
            found.push_back(asn1_bytes(static_cast<const ASN1_STRING*>(value)));
        }
    }
    return found;
}

} // namespace chalk::cluster
