#include "protocol/cluster/tls_credentials.hpp"

#include "protocol/cluster/channel.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace chalk::cluster {

namespace {

using pem_text = std::unique_ptr<BIO, free_tls_object<::BIO_free_all>>;

pem_text pem_text_of(const std::string& pem) {
    return pem_text(::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// Never asks at a terminal, as OpenSSL would for what is encrypted.
int no_password(char*, int, int, void*) {
    return -1;
}

failure bad_identity(std::string_view which, std::string_view why) {
    ::ERR_clear_error(); // or the next session of this thread would take it for its own
    return config_failure(fmt::format("the cluster's {} cannot be used: {}", which, why));
}

/// After the last object that a PEM text holds: is it at its end, rather than at something broken?
bool at_pem_end() {
    const auto code = ::ERR_peek_last_error();
    const bool end = code == 0 || (ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE);
    ::ERR_clear_error();
    return end;
}

result<void> believe_authorities(X509_STORE& store, const std::string& pem) {
    const auto text = pem_text_of(pem);
    int count = 0;
    while (const shown_certificate_owner one{::PEM_read_bio_X509(text.get(), nullptr, no_password, nullptr)}) {
        if (::X509_check_ca(one.get()) == 0) {
            return bad_identity("authority", "its certificate may not sign others");
        }
        ::X509_STORE_add_cert(&store, one.get());
        ++count;
    }
    if (!at_pem_end() || count == 0) {
        return bad_identity("authority", "no certificate in PEM");
    }
    return {};
}

result<void> heed_revocations(X509_STORE& store, const std::string& pem) {
    using list_owner = std::unique_ptr<X509_CRL, free_tls_object<::X509_CRL_free>>;
    const auto text = pem_text_of(pem);
    int count = 0;
    while (const list_owner one{::PEM_read_bio_X509_CRL(text.get(), nullptr, no_password, nullptr)}) {
        ::X509_STORE_add_crl(&store, one.get());
        ++count;
    }
    if (!at_pem_end() || count == 0) {
        return bad_identity("revocation list", "no list (CRL) in PEM; one that revokes nobody must be there, too");
    }
    ::X509_STORE_set_flags(&store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
    return {};
}

result<void> show_certificate(SSL_CTX& context, const std::string& pem) {
    const auto text = pem_text_of(pem);
    const shown_certificate_owner own(::PEM_read_bio_X509(text.get(), nullptr, no_password, nullptr));
    if (!own) {
        return bad_identity("own certificate", "no certificate in PEM");
    }
    if (::SSL_CTX_use_certificate(&context, own.get()) != 1) {
        return bad_identity("own certificate", "its key is too weak or of an unknown kind");
    }
    while (const shown_certificate_owner between{::PEM_read_bio_X509(text.get(), nullptr, no_password, nullptr)}) {
        ::SSL_CTX_add1_chain_cert(&context, between.get());
    }
    if (!at_pem_end()) {
        return bad_identity("own certificate", "what follows the first certificate is broken");
    }
    return {};
}

result<void> hold_key(SSL_CTX& context, const std::string& pem) {
    const auto text = pem_text_of(pem);
    const std::unique_ptr<EVP_PKEY, free_tls_object<::EVP_PKEY_free>> key(
        ::PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr));
    if (!key) {
        return bad_identity("own key", "no private key in PEM, or an encrypted one");
    }
    if (::SSL_CTX_use_PrivateKey(&context, key.get()) != 1 || ::SSL_CTX_check_private_key(&context) != 1) {
        return bad_identity("own key", "it is not the key of the certificate");
    }
    return {};
}

/// The one channel that a caller asks for. Several are a choice that it leaves to us, and so are refused.
int choose_channel(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* asked, unsigned length,
                   void*) {
    if (length < 1 || asked[0] != length - 1 ||
        !channel_of({reinterpret_cast<const char*>(asked) + 1, std::size_t{length} - 1})) {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    *chosen = asked + 1;
    *size = asked[0];
    return SSL_TLSEXT_ERR_OK;
}

tls_context_owner strict_context() {
    tls_context_owner context(::SSL_CTX_new(::TLS_method()));
    if (!context || ::SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
        ::SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
        return nullptr;
    }
    ::SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    ::SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
    ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    ::SSL_CTX_set_verify_depth(context.get(), 4);
    ::SSL_CTX_set_max_cert_list(context.get(), 32 * 1024); // what a stranger can make us hold
    // Partial writes: the pump keeps what is left. Released buffers: most connections idle.
    ::SSL_CTX_set_mode(context.get(),
                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    ::SSL_CTX_set_read_ahead(context.get(), 1);
    ::SSL_CTX_set_alpn_select_cb(context.get(), choose_channel, nullptr);
    return context;
}

/// The own certificate as a peer with this authority and list will see it.
result<void> check_ourselves(SSL_CTX& context) {
    STACK_OF(X509)* between = nullptr;
    ::SSL_CTX_get0_chain_certs(&context, &between);
    for (const int purpose : {X509_PURPOSE_SSL_CLIENT, X509_PURPOSE_SSL_SERVER}) {
        if (const auto problem = check_certificate(*::SSL_CTX_get_cert_store(&context),
                                                   *::SSL_CTX_get0_certificate(&context), between, purpose)) {
            return bad_identity("own certificate", "peers would refuse it: " + problem->text);
        }
    }
    return {};
}

} // namespace

result<std::shared_ptr<const tls_credentials>> tls_credentials::read(const tls_identity& identity) {
    ::ERR_clear_error();
    auto context = strict_context();
    if (!context) {
        ::ERR_clear_error();
        return harness_failure("TLS 1.3 cannot be set up on this machine");
    }
    auto& store = *::SSL_CTX_get_cert_store(context.get());
    if (auto done = believe_authorities(store, identity.ca_pem); !done) {
        return done.error();
    }
    if (auto done = heed_revocations(store, identity.crl_pem); !done) {
        return done.error();
    }
    if (auto done = show_certificate(*context, identity.certificate_pem); !done) {
        return done.error();
    }
    if (auto done = hold_key(*context, identity.key_pem); !done) {
        return done.error();
    }
    if (auto done = check_ourselves(*context); !done) {
        return done.error();
    }
    return std::shared_ptr<const tls_credentials>(new tls_credentials(std::move(context)));
}

tls_session_owner tls_credentials::session(tls_role ours) const {
    tls_session_owner made(::SSL_new(context_.get()));
    if (made && ours == tls_role::accepts) {
        ::SSL_set_accept_state(made.get());
    } else if (made) {
        ::SSL_set_connect_state(made.get());
    }
    return made;
}

std::optional<certificate_problem> tls_credentials::check(const shown_certificate& peer, tls_role shown_by) const {
    return peer.check(*::SSL_CTX_get_cert_store(context_.get()), shown_by);
}

} // namespace chalk::cluster
