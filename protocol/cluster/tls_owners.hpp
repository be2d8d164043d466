/// OpenSSL's objects of a TLS connection, with their owners.
#pragma once

#include <openssl/ssl.h>

#include <memory>

namespace chalk::cluster {

template<auto Free>
struct free_tls_object {
    template<class T>
    void operator()(T* object) const noexcept {
        Free(object);
    }
};

inline void free_certificates(STACK_OF(X509) * chain) noexcept {
    sk_X509_pop_free(chain, ::X509_free);
}

using tls_session_owner = std::unique_ptr<SSL, free_tls_object<::SSL_free>>;
using tls_context_owner = std::unique_ptr<SSL_CTX, free_tls_object<::SSL_CTX_free>>;
using shown_certificate_owner = std::unique_ptr<X509, free_tls_object<::X509_free>>;
using shown_chain_owner = std::unique_ptr<STACK_OF(X509), free_tls_object<free_certificates>>;

} // namespace chalk::cluster
