#include "protocol/cluster/certificates.hpp"

#include <fmt/format.h>
#include <openssl/pem.h>

#include <array>

namespace chalk::cluster {

namespace {

constexpr std::chrono::hours clock_allowance{1};

struct certificate_extension {
    int nid;
    std::string value;
};

/// What must be there for a strict verifier (X509_V_FLAG_X509_STRICT) too.
const std::array<certificate_extension, 3> authority_extensions = {{
    {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
    {NID_key_usage, "critical,keyCertSign,cRLSign"},
    {NID_subject_key_identifier, "hash"},
}};

std::array<certificate_extension, 6> node_extensions(const node_name& name) {
    return {{
        {NID_basic_constraints, "critical,CA:FALSE"},
        {NID_key_usage, "critical,digitalSignature"},
        {NID_ext_key_usage, "clientAuth,serverAuth"}, // a node dials and is dialled
        {NID_subject_key_identifier, "hash"},
        {NID_authority_key_identifier, "keyid:always"},
        {NID_subject_alt_name, "DNS:" + name.str()}, // safe in this notation by a name's grammar
    }};
}

bool set_serial(X509& certificate, const serial_number& serial) {
    const auto number = to_asn1(serial);
    return number && ::X509_set_serialNumber(&certificate, number.get()) == 1;
}

bool set_validity(X509& certificate, const validity& valid) {
    const auto from = to_asn1(valid.from);
    const auto until = to_asn1(valid.until);
    return from && until && ::X509_set1_notBefore(&certificate, from.get()) == 1 &&
           ::X509_set1_notAfter(&certificate, until.get()) == 1;
}

bool set_common_name(X509& certificate, const node_name& name) {
    const auto* text = reinterpret_cast<const unsigned char*>(name.str().data());
    return ::X509_NAME_add_entry_by_NID(::X509_get_subject_name(&certificate), NID_commonName, MBSTRING_ASC, text,
                                        static_cast<int>(name.str().size()), -1, 0) == 1;
}

/// All but the issuer's name, the extensions and the signature.
certificate_owner unsigned_certificate(const node_name& name, const serial_number& serial, const validity& valid,
                                       EVP_PKEY& key) {
    certificate_owner made(::X509_new());
    if (!made || ::X509_set_version(made.get(), X509_VERSION_3) != 1 || !set_serial(*made, serial) ||
        !set_validity(*made, valid) || !set_common_name(*made, name) || ::X509_set_pubkey(made.get(), &key) != 1) {
        return nullptr;
    }
    return made;
}

template<class Extensions>
bool add_and_sign(X509& certificate, const Extensions& extensions, X509& issuer, EVP_PKEY& issuer_key) {
    if (::X509_set_issuer_name(&certificate, ::X509_get_subject_name(&issuer)) != 1) {
        return false;
    }
    for (const auto& one : extensions) {
        const auto extension = make_extension(one.nid, one.value.c_str(), &certificate, &issuer);
        if (!extension || ::X509_add_ext(&certificate, extension.get(), -1) != 1) {
            return false;
        }
    }
    return ::X509_sign(&certificate, &issuer_key, ::EVP_sha256()) > 0;
}

key_owner new_key() {
    return key_owner(::EVP_EC_gen("P-256"));
}

result<certified_key> to_pem(X509& certificate, EVP_PKEY& key) {
    const bio_owner public_part(::BIO_new(::BIO_s_mem()));
    const bio_owner secret_part(::BIO_new(::BIO_s_secmem())); // wiped when it is freed
    if (!public_part || !secret_part || ::PEM_write_bio_X509(public_part.get(), &certificate) != 1 ||
        ::PEM_write_bio_PrivateKey(secret_part.get(), &key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
        return openssl_failure("write a certificate");
    }
    return certified_key{text_of(*public_part), text_of(*secret_part)};
}

} // namespace

validity valid_for(std::chrono::days length, wall_time now) {
    const auto whole = std::chrono::floor<seconds>(now);
    return {whole - clock_allowance, whole + length};
}

result<authority> authority::create(const node_name& cluster, const validity& valid) {
    const auto serial = random_serial();
    if (!serial) {
        return serial.error();
    }
    auto key = new_key();
    auto made = key ? unsigned_certificate(cluster, *serial, valid, *key) : nullptr;
    if (!made || !add_and_sign(*made, authority_extensions, *made, *key)) {
        return openssl_failure("make an authority");
    }
    return authority(std::move(made), std::move(key));
}

result<authority> authority::load(const certified_key& pem) {
    auto certificate = parse_certificate(pem.certificate, "the authority's certificate");
    if (!certificate) {
        return certificate.error();
    }
    if (::X509_check_ca(certificate->get()) == 0) {
        return unreadable("the authority's certificate", "not one that may sign others");
    }
    auto key = parse_key(pem.key, **certificate, "the authority's key");
    if (!key) {
        return key.error();
    }
    return authority(std::move(*certificate), std::move(*key));
}

result<certified_key> authority::pem() const {
    return to_pem(*certificate_, *key_);
}

result<certified_key> authority::issue(const node_name& name, const serial_number& serial,
                                       const validity& valid) const {
    const auto own = validity_of(*certificate_);
    if (!own) {
        return own.error();
    }
    if (valid.until > own->until) {
        const auto days = std::chrono::floor<std::chrono::days>(own->until - valid.from - clock_allowance).count();
        return config_failure("a certificate cannot outlive its authority, which " +
                              (days > 0
                                   ? fmt::format("ends in {} days: the node's may be valid for as many at most", days)
                                   : std::string("has ended or does so within a day")));
    }
    auto key = new_key();
    const auto made = key ? unsigned_certificate(name, serial, valid, *key) : nullptr;
    if (!made || !add_and_sign(*made, node_extensions(name), *certificate_, *key_)) {
        return openssl_failure("make a certificate");
    }
    return to_pem(*made, *key);
}

} // namespace chalk::cluster
