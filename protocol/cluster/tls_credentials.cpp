#include "protocol/cluster/tls_credentials.hpp"

#include "protocol/cluster/certificates.hpp"
#include "protocol/cluster/channel.hpp"

namespace chalk::cluster {

namespace {

/// OpenSSL's own check, by the store of a peer_check. What fails is kept for that one to say why: a session whose
/// handshake failed has no certificate any more.
int verify_and_keep(X509_STORE_CTX* checking, void*) {
    const int good = ::X509_verify_cert(checking);
    if (good != 1) {
        const auto* session =
            static_cast<const SSL*>(::X509_STORE_CTX_get_ex_data(checking, ::SSL_get_ex_data_X509_STORE_CTX_idx()));
        auto* refused = static_cast<certificate_owner*>(SSL_get_app_data(session));
        X509* shown = ::X509_STORE_CTX_get0_cert(checking);
        if (refused != nullptr && shown != nullptr && ::X509_up_ref(shown) == 1) {
            refused->reset(shown);
        }
    }
    return good;
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
    ::SSL_CTX_set_cert_verify_callback(context.get(), verify_and_keep, nullptr);
    ::SSL_CTX_set_max_cert_list(context.get(), 32 * 1024); // what a stranger can make us hold
    // Partial writes: the pump keeps what is left. Released buffers: most connections idle. No chain: the peer has the
    // authority, and OpenSSL would verify our own certificate, list and all, to find it in each handshake.
    ::SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                          SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    ::SSL_CTX_set_read_ahead(context.get(), 1);
    ::SSL_CTX_set_alpn_select_cb(context.get(), choose_channel, nullptr);
    return context;
}

/// The own certificate as a peer with this authority and list will see it, on either side.
result<void> check_ourselves(const peer_check& peers, X509& own) {
    for (const auto side : {tls_role::accepts, tls_role::connects}) {
        if (const auto name = peers.identify(own, side); !name) {
            return config_failure("peers would refuse our own certificate: " + name.error().message);
        }
    }
    return {};
}

} // namespace

result<std::shared_ptr<const tls_credentials>> tls_credentials::read(const tls_identity& identity, allow_list allowed) {
    auto peers = peer_check::make(identity.ca_pem, identity.crl_pem, std::move(allowed));
    if (!peers) {
        return peers.error();
    }
    const auto own = parse_certificate(identity.certificate_pem, "our own certificate");
    if (!own) {
        return own.error();
    }
    const auto key = parse_key(identity.key_pem, **own, "our own key");
    if (!key) {
        return key.error();
    }
    if (auto done = check_ourselves(*peers, **own); !done) {
        return done.error();
    }
    auto context = strict_context();
    if (!context) {
        return openssl_failure("set up TLS");
    }
    if (::SSL_CTX_use_certificate(context.get(), own->get()) != 1 ||
        ::SSL_CTX_use_PrivateKey(context.get(), key->get()) != 1) {
        return unreadable("our own certificate", "not one for TLS: its key is too weak, or of an unknown kind");
    }
    ::SSL_CTX_set1_cert_store(context.get(), peers->store());
    return std::shared_ptr<const tls_credentials>(new tls_credentials(std::move(context), std::move(*peers)));
}

tls_session_owner tls_credentials::session(tls_role ours, certificate_owner& refused) const {
    tls_session_owner made(::SSL_new(context_.get()));
    if (!made || SSL_set_app_data(made.get(), &refused) != 1) {
        return nullptr;
    }
    if (ours == tls_role::accepts) {
        ::SSL_set_accept_state(made.get());
    } else {
        ::SSL_set_connect_state(made.get());
    }
    return made;
}

} // namespace chalk::cluster
