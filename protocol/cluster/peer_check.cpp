#include "protocol/cluster/peer_check.hpp"

#include "protocol/cluster/certificates.hpp"
#include "protocol/cluster/revocation_list.hpp"

#include <fmt/format.h>
#include <openssl/err.h>

#include <stdexcept>

namespace chalk::cluster {

namespace {

/// A name that may be a stranger's, harmless in a log.
std::string claimed_name(const X509* certificate) {
    const auto names = certificate == nullptr ? std::vector<std::string>() : dns_names(*certificate);
    const auto name = names.size() == 1 ? node_name::parse(names.front()) : config_failure("no single name");
    return name ? "the certificate of " + name->str() : std::string("a certificate");
}

peer_refusal from_verify_code(long code, const X509* certificate) {
    const auto who = claimed_name(certificate);
    switch (code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
    case X509_V_ERR_CERT_CHAIN_TOO_LONG: // somebody else stands between
        return {refusal_reason::foreign_authority, who + " is not signed by this cluster's authority"};
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return {refusal_reason::not_yet_valid, who + " is not valid yet; compare the machines' clocks"};
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return {refusal_reason::expired, who + " has expired"};
    case X509_V_ERR_CERT_REVOKED:
        return {refusal_reason::revoked, who + " was revoked"};
    case X509_V_ERR_UNABLE_TO_GET_CRL:
    case X509_V_ERR_CRL_SIGNATURE_FAILURE:
    case X509_V_ERR_CRL_NOT_YET_VALID:
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return {refusal_reason::stale_list,
                fmt::format("{} cannot be held against the list of revoked certificates: {}", who,
                            ::X509_verify_cert_error_string(code))};
    case X509_V_ERR_INVALID_PURPOSE:
        return {refusal_reason::wrong_use, who + " is not for this side of a connection"};
    default:
        return {refusal_reason::bad_certificate, fmt::format("{}: {}", who, ::X509_verify_cert_error_string(code))};
    }
}

bool is_listed(X509_CRL& list, X509& certificate) {
    X509_REVOKED* entry = nullptr;
    return ::X509_CRL_get0_by_cert(&list, &entry, &certificate) == 1;
}

} // namespace

void throw_exception_from_error(const peer_refusal& why, const boost::source_location&) {
    throw std::logic_error("value() of a refused peer: " + why.message);
}

result<peer_check> peer_check::make(std::string_view authority_pem, std::string_view revoked_pem, allow_list allowed) {
    auto authority = parse_certificate(authority_pem, "the authority's certificate");
    if (!authority) {
        return authority.error();
    }
    if (::X509_check_ca(authority->get()) == 0) {
        return unreadable("the authority's certificate", "not one that may sign others");
    }
    auto revoked = parse_revocation_list(revoked_pem, **authority);
    if (!revoked) {
        return revoked.error();
    }
    store_owner store(::X509_STORE_new());
    if (!store || ::X509_STORE_add_cert(store.get(), authority->get()) != 1 ||
        ::X509_STORE_add_crl(store.get(), revoked->get()) != 1 ||
        ::X509_STORE_set_flags(store.get(), X509_V_FLAG_CRL_CHECK | X509_V_FLAG_X509_STRICT) != 1 ||
        ::X509_STORE_set_depth(store.get(), 0) != 1) { // nobody between a node and its authority
        return openssl_failure("set up the check of certificates");
    }
    return peer_check(std::move(*authority), std::move(store), std::move(*revoked), std::move(allowed));
}

peer_result<node_name> peer_check::named(long verified, X509* certificate) const {
    ::ERR_clear_error();
    const bool is_authority = certificate != nullptr && ::X509_check_ca(certificate) != 0;
    if (verified != X509_V_OK) {
        auto why = from_verify_code(verified, certificate);
        if (why.reason == refusal_reason::foreign_authority) {
            return why;
        }
        // These two fail for several reasons, and what they are says more.
        if (::X509_cmp_current_time(::X509_get0_notAfter(authority_.get())) < 0) {
            return peer_refusal{refusal_reason::expired, "the cluster's authority has expired"};
        }
        if (!is_authority) {
            return why;
        }
    }
    if (certificate == nullptr) {
        return peer_refusal{refusal_reason::no_certificate, "the peer showed no certificate"};
    }
    if (is_authority) {
        return peer_refusal{refusal_reason::not_a_node, "an authority's certificate is not a node's"};
    }
    if (is_listed(*revoked_, *certificate)) {
        return from_verify_code(X509_V_ERR_CERT_REVOKED, certificate);
    }
    const auto names = dns_names(*certificate);
    if (names.size() != 1) {
        return peer_refusal{refusal_reason::no_single_name,
                            fmt::format("a certificate with {} names (DNS) where a node has one", names.size())};
    }
    auto name = node_name::parse(names.front());
    if (!name) {
        return peer_refusal{refusal_reason::no_single_name,
                            "a certificate whose name no node can have: " + name.error().message};
    }
    return std::move(*name);
}

peer_result<node_name> peer_check::if_allowed(peer_result<node_name> name) const {
    if (name && !allowed_.allows(*name)) {
        return peer_refusal{refusal_reason::not_allowed, name->str() + " is not on the list of nodes that may connect",
                            *name};
    }
    return name;
}

peer_result<node_name> peer_check::judge(long verified, X509* certificate) const {
    return if_allowed(named(verified, certificate));
}

peer_result<node_name> peer_check::verify(X509& certificate, tls_role shown_by) const {
    return if_allowed(identify(certificate, shown_by));
}

peer_result<node_name> peer_check::identify(X509& certificate, tls_role shown_by) const {
    const store_context_owner context(::X509_STORE_CTX_new());
    if (!context || ::X509_STORE_CTX_init(context.get(), store_.get(), &certificate, nullptr) != 1 ||
        ::X509_STORE_CTX_set_default(context.get(), shown_by == tls_role::connects ? "ssl_client" : "ssl_server") !=
            1) {
        return peer_refusal{refusal_reason::bad_certificate, openssl_failure("check a certificate").message};
    }
    const bool good = ::X509_verify_cert(context.get()) == 1;
    const int code = ::X509_STORE_CTX_get_error(context.get());
    // Never X509_V_OK for what did not verify, whatever the library left there.
    return named(good ? X509_V_OK : code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code, &certificate);
}

} // namespace chalk::cluster
