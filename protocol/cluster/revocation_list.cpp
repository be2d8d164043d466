#include "protocol/cluster/revocation_list.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>

namespace chalk::cluster {

namespace {

constexpr const char* whose_list = "the list of revoked certificates";

bool add_revoked(X509_CRL& list, const serial_number& serial, wall_time at) {
    revoked_owner entry(::X509_REVOKED_new());
    const auto number = to_asn1(serial);
    const auto time = to_asn1(at);
    if (!entry || !number || !time || ::X509_REVOKED_set_serialNumber(entry.get(), number.get()) != 1 ||
        ::X509_REVOKED_set_revocationDate(entry.get(), time.get()) != 1 ||
        ::X509_CRL_add0_revoked(&list, entry.get()) != 1) {
        return false;
    }
    (void)entry.release(); // the list's from here on
    return true;
}

bool set_dates(X509_CRL& list, const X509& authority, wall_time now) {
    const auto from = to_asn1(valid_for({}, now).from);
    return from && ::X509_CRL_set1_lastUpdate(&list, from.get()) == 1 &&
           ::X509_CRL_set1_nextUpdate(&list, ::X509_get0_notAfter(&authority)) == 1;
}

/// A later list has a higher number (RFC 5280, 5.2.3); milliseconds make it one without a record of the last.
bool set_number(X509_CRL& list, wall_time now) {
    const auto ms = std::chrono::floor<milliseconds>(now.time_since_epoch()).count();
    const integer_owner number(::ASN1_INTEGER_new());
    return number && ::ASN1_INTEGER_set_int64(number.get(), ms) == 1 &&
           ::X509_CRL_add1_ext_i2d(&list, NID_crl_number, number.get(), 0, 0) == 1;
}

bool set_issuer(X509_CRL& list, X509& authority) {
    const auto key_id = make_extension(NID_authority_key_identifier, "keyid:always", nullptr, &authority);
    return key_id && ::X509_CRL_set_issuer_name(&list, ::X509_get_subject_name(&authority)) == 1 &&
           ::X509_CRL_add_ext(&list, key_id.get(), -1) == 1;
}

} // namespace

result<std::string> write_revocation_list(const authority& by, const revocations& revoked, wall_time now) {
    const crl_owner list(::X509_CRL_new());
    bool good = list && ::X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) == 1 &&
                set_issuer(*list, by.certificate()) && set_dates(*list, by.certificate(), now) &&
                set_number(*list, now);
    for (const auto& [serial, at] : revoked) {
        good = good && add_revoked(*list, serial, at);
    }
    const bio_owner text(::BIO_new(::BIO_s_mem()));
    if (!good || !text || ::X509_CRL_sort(list.get()) != 1 ||
        ::X509_CRL_sign(list.get(), &by.key(), ::EVP_sha256()) <= 0 ||
        ::PEM_write_bio_X509_CRL(text.get(), list.get()) != 1) {
        return openssl_failure("write the list of revoked certificates");
    }
    return text_of(*text);
}

result<crl_owner> parse_revocation_list(std::string_view pem, X509& authority) {
    ::ERR_clear_error();
    const auto text = bio_over(pem);
    crl_owner list(text ? ::PEM_read_bio_X509_CRL(text.get(), nullptr, no_passphrase, nullptr) : nullptr);
    if (!list) {
        return unreadable(whose_list, "no CRL in PEM");
    }
    // A second one would be left out of account silently.
    if (crl_owner second(::PEM_read_bio_X509_CRL(text.get(), nullptr, no_passphrase, nullptr)); second) {
        return unreadable(whose_list, "several CRLs, and must be one");
    }
    if (!at_pem_end()) {
        return unreadable(whose_list, "followed by something broken");
    }
    auto* key = ::X509_get0_pubkey(&authority);
    if (key == nullptr || ::X509_CRL_verify(list.get(), key) != 1) {
        return unreadable(whose_list, "not signed by this cluster's authority");
    }
    ::ERR_clear_error();
    return list;
}

result<revocations> revocations_of(X509_CRL& list) {
    revocations all;
    auto* entries = ::X509_CRL_get_REVOKED(&list);
    for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
        const auto* entry = sk_X509_REVOKED_value(entries, i);
        auto serial = serial_from(::X509_REVOKED_get0_serialNumber(entry));
        if (!serial) {
            return serial.error();
        }
        const auto at = time_from(::X509_REVOKED_get0_revocationDate(entry));
        if (!at) {
            return at.error();
        }
        all.emplace(std::move(*serial), *at);
    }
    return all;
}

} // namespace chalk::cluster
