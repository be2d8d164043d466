/// OpenSSL's objects with their owners, and what its error queue says. Used by the cluster's certificates and TLS.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

namespace chalk::cluster {

template<auto Release>
struct openssl_release {
    template<class T>
    void operator()(T* object) const noexcept {
        Release(object);
    }
};

using bio_owner = std::unique_ptr<BIO, openssl_release<::BIO_free_all>>;
using bignum_owner = std::unique_ptr<BIGNUM, openssl_release<::BN_free>>;
using key_owner = std::unique_ptr<EVP_PKEY, openssl_release<::EVP_PKEY_free>>;
using certificate_owner = std::unique_ptr<X509, openssl_release<::X509_free>>;
using crl_owner = std::unique_ptr<X509_CRL, openssl_release<::X509_CRL_free>>;
using revoked_owner = std::unique_ptr<X509_REVOKED, openssl_release<::X509_REVOKED_free>>;
using integer_owner = std::unique_ptr<ASN1_INTEGER, openssl_release<::ASN1_INTEGER_free>>;
using time_owner = std::unique_ptr<ASN1_TIME, openssl_release<::ASN1_TIME_free>>;
using extension_owner = std::unique_ptr<X509_EXTENSION, openssl_release<::X509_EXTENSION_free>>;
using names_owner = std::unique_ptr<GENERAL_NAMES, openssl_release<::GENERAL_NAMES_free>>;
using store_owner = std::unique_ptr<X509_STORE, openssl_release<::X509_STORE_free>>;
using store_context_owner = std::unique_ptr<X509_STORE_CTX, openssl_release<::X509_STORE_CTX_free>>;
using tls_context_owner = std::unique_ptr<SSL_CTX, openssl_release<::SSL_CTX_free>>;
using tls_session_owner = std::unique_ptr<SSL, openssl_release<::SSL_free>>;

/// error_class::harness: "cannot <what>: <the library's first reason>". Empties this thread's error queue.
[[nodiscard]] failure openssl_failure(std::string_view what);

/// error_class::config: "<whose> is <not what it should be>". Empties this thread's error queue.
[[nodiscard]] failure unreadable(std::string_view whose, std::string_view what_it_is_not);

/// For reading; the text must outlive it. Null for want of memory alone.
[[nodiscard]] bio_owner bio_over(std::string_view text);
/// For every reading of PEM: what is encrypted is refused, where OpenSSL would ask at a terminal.
[[nodiscard]] int no_passphrase(char*, int, int, void*) noexcept;
/// After a PEM text has given its last object: is it at its end, rather than at something broken? Empties this
/// thread's error queue.
[[nodiscard]] bool at_pem_end();
/// What was written to a BIO_s_mem.
[[nodiscard]] std::string text_of(BIO& memory);

/// Whole seconds. Null for want of memory alone.
[[nodiscard]] time_owner to_asn1(wall_time at);
/// error_class::config when it is none.
[[nodiscard]] result<wall_time> time_from(const ASN1_TIME* at);

/// An extension in the notation of OpenSSL's configuration files. `subject` and `issuer` may be null where the notation
/// does not need them.
[[nodiscard]] extension_owner make_extension(int nid, const char* value, X509* subject, X509* issuer);

} // namespace chalk::cluster
