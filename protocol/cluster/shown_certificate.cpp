#include "protocol/cluster/shown_certificate.hpp"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <string_view>

namespace chalk::cluster {

namespace {

bool is_usable_name(std::string_view name) {
    const auto letter_or_digit = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    };
    return !name.empty() && name.size() <= 253 && letter_or_digit(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
}

std::string single_dns_name(const X509& certificate) {
    const std::unique_ptr<GENERAL_NAMES, free_tls_object<::GENERAL_NAMES_free>> all(
        static_cast<GENERAL_NAMES*>(::X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::string name;
    for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
        const auto* one = sk_GENERAL_NAME_value(all.get(), i);
        if (one->type != GEN_DNS) {
            continue;
        }
        // Its length, not its first zero, is its end.
        const std::string_view text(reinterpret_cast<const char*>(::ASN1_STRING_get0_data(one->d.dNSName)),
                                    static_cast<std::size_t>(::ASN1_STRING_length(one->d.dNSName)));
        if (!name.empty() || !is_usable_name(text)) {
            return {};
        }
        name = text;
    }
    return name;
}

refusal_reason reason_of(long verify_code) {
    switch (verify_code) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return refusal_reason::foreign_ca;
    case X509_V_ERR_CERT_NOT_YET_VALID:
    case X509_V_ERR_CRL_NOT_YET_VALID:
        return refusal_reason::not_yet_valid;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CRL_HAS_EXPIRED:
        return refusal_reason::expired;
    case X509_V_ERR_CERT_REVOKED:
        return refusal_reason::revoked;
    default:
        return refusal_reason::bad_certificate;
    }
}

} // namespace

std::optional<certificate_problem> problem_of(long verify_code) {
    if (verify_code == X509_V_OK) {
        return std::nullopt;
    }
    const auto reason = reason_of(verify_code);
    std::string text = ::X509_verify_cert_error_string(verify_code);
    if (reason == refusal_reason::foreign_ca) {
        text = "not of the cluster's authority (" + text + ")";
    }
    return certificate_problem{reason, std::move(text)};
}

std::optional<certificate_problem> check_certificate(X509_STORE& store, X509& leaf, STACK_OF(X509) * chain,
                                                     int purpose) {
    const std::unique_ptr<X509_STORE_CTX, free_tls_object<::X509_STORE_CTX_free>> context(::X509_STORE_CTX_new());
    if (!context || ::X509_STORE_CTX_init(context.get(), &store, &leaf, chain) != 1 ||
        ::X509_STORE_CTX_set_purpose(context.get(), purpose) != 1) {
        ::ERR_clear_error();
        return certificate_problem{refusal_reason::bad_certificate, "it cannot be checked"};
    }
    const bool good = ::X509_verify_cert(context.get()) == 1;
    const long code = ::X509_STORE_CTX_get_error(context.get());
    ::ERR_clear_error();
    if (good) {
        return std::nullopt;
    }
    // Never a good code for what did not verify, whatever the library left there.
    return problem_of(code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code);
}

shown_certificate::shown_certificate(shown_certificate_owner leaf, shown_chain_owner chain)
    : leaf_(std::move(leaf)), chain_(std::move(chain)), name_(single_dns_name(*leaf_)) {}

std::optional<shown_certificate> shown_certificate::of(SSL& session) {
    shown_certificate_owner leaf(::SSL_get1_peer_certificate(&session));
    if (!leaf) {
        return std::nullopt;
    }
    auto* chain = ::SSL_get_peer_cert_chain(&session);
    return shown_certificate(std::move(leaf),
                             shown_chain_owner(chain == nullptr ? nullptr : ::X509_chain_up_ref(chain)));
}

std::optional<certificate_problem> shown_certificate::check(X509_STORE& store, tls_role shown_by) const {
    return check_certificate(store, *leaf_, chain_.get(),
                             shown_by == tls_role::connects ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
}

} // namespace chalk::cluster
