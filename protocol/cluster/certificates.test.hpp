/// Certificates for tests: good ones shortly, and such as the authority never makes.
#pragma once

#include "protocol/cluster/certificates.hpp"
#include "protocol/cluster/revocation_list.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace chalk::cluster::test {

inline node_name name(const char* text) {
    return node_name::parse(text).value();
}

inline wall_time now() {
    return std::chrono::system_clock::now();
}

inline validity days(int from, int until) {
    return {now() + std::chrono::days(from), now() + std::chrono::days(until)};
}

inline authority new_authority(const char* called = "testing", const validity& valid = days(-100, 100)) {
    return authority::create(name(called), valid).value();
}

/// A small number, for tests that revoke by it.
inline serial_number serial(unsigned number) {
    return {fmt::format("{:032x}", number)};
}

inline certificate_owner issued_by(const authority& by, const char* called, const validity& valid = days(-1, 10)) {
    const auto pem = by.issue(name(called), random_serial().value(), valid).value();
    return parse_certificate(pem.certificate, "the test's").value();
}

struct odd_extension {
    int nid;
    const char* value;
};

/// Signed by `issuer` with `issuer_key`; for `key`.
inline certificate_owner odd_certificate(X509& issuer, EVP_PKEY& issuer_key, EVP_PKEY& key, const char* common_name,
                                         const std::vector<odd_extension>& extensions) {
    certificate_owner made(::X509_new());
    ::X509_set_version(made.get(), X509_VERSION_3);
    ::X509_set_serialNumber(made.get(), to_asn1(random_serial().value()).get());
    ::X509_set1_notBefore(made.get(), to_asn1(now() - std::chrono::hours(1)).get());
    ::X509_set1_notAfter(made.get(), to_asn1(now() + std::chrono::hours(1)).get());
    ::X509_NAME_add_entry_by_NID(::X509_get_subject_name(made.get()), NID_commonName, MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
    ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(&issuer));
    ::X509_set_pubkey(made.get(), &key);
    for (const auto& one : extensions) {
        const auto extension = make_extension(one.nid, one.value, made.get(), &issuer);
        if (!extension) {
            throw std::runtime_error(std::string("no extension: ") + one.value);
        }
        ::X509_add_ext(made.get(), extension.get(), -1);
    }
    if (::X509_sign(made.get(), &issuer_key, ::EVP_sha256()) <= 0) {
        throw std::runtime_error("cannot sign");
    }
    return made;
}

/// What a strict verifier wants of any node's certificate.
inline std::vector<odd_extension> with_usual(std::vector<odd_extension> extensions) {
    extensions.push_back({NID_subject_key_identifier, "hash"});
    extensions.push_back({NID_authority_key_identifier, "keyid:always"});
    return extensions;
}

template<class Write>
std::string pem_by(const Write& write) {
    const bio_owner text(::BIO_new(::BIO_s_mem()));
    if (write(text.get()) != 1) {
        throw std::runtime_error("cannot write PEM");
    }
    return text_of(*text);
}

/// A node's, with any names and uses, in the notation of OpenSSL's configuration files.
inline certified_key odd_node_pem(const authority& by, const std::string& alternative_names,
                                  const char* uses = "clientAuth,serverAuth") {
    const key_owner key(::EVP_EC_gen("P-256"));
    std::vector<odd_extension> extensions = {{NID_ext_key_usage, uses}};
    if (!alternative_names.empty()) {
        extensions.push_back({NID_subject_alt_name, alternative_names.c_str()});
    }
    const auto made = odd_certificate(by.certificate(), by.key(), *key, "odd", with_usual(std::move(extensions)));
    return {pem_by([&](BIO* out) { return ::PEM_write_bio_X509(out, made.get()); }), pem_by([&](BIO* out) {
                return ::PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
            })};
}

inline std::string list_of(const authority& by, const revocations& revoked = {}, wall_time at = now()) {
    return write_revocation_list(by, revoked, at).value();
}

/// A list that should have been renewed a minute ago.
inline std::string outdated_list_of(const authority& by) {
    const auto list = parse_revocation_list(list_of(by), by.certificate()).value();
    ::X509_CRL_set1_nextUpdate(list.get(), to_asn1(now() - std::chrono::minutes(1)).get());
    if (::X509_CRL_sign(list.get(), &by.key(), ::EVP_sha256()) <= 0) {
        throw std::runtime_error("cannot sign");
    }
    return pem_by([&](BIO* out) { return ::PEM_write_bio_X509_CRL(out, list.get()); });
}

} // namespace chalk::cluster::test
