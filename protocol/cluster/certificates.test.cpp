#include "protocol/cluster/certificates.test.hpp"

#include "tests/support/catch.hpp"

#include <openssl/err.h>

#include <set>

namespace chalk::cluster {

namespace {

using namespace test;

std::string extension_text(X509& certificate, int nid) {
    const int at = ::X509_get_ext_by_NID(&certificate, nid, -1);
    if (at < 0) {
        return "none";
    }
    const bio_owner text(::BIO_new(::BIO_s_mem()));
    auto* extension = ::X509_get_ext(&certificate, at);
    ::X509V3_EXT_print(text.get(), extension, 0, 0);
    return (::X509_EXTENSION_get_critical(extension) != 0 ? "critical " : "") + text_of(*text);
}

std::string curve_of(X509& certificate) {
    char name[32] = {};
    ::EVP_PKEY_get_group_name(::X509_get0_pubkey(&certificate), name, sizeof name, nullptr);
    return name;
}

} // namespace

TEST_CASE("an authority signs nodes and lists, and no other authority") {
    const auto made = new_authority("fleet");
    auto& certificate = made.certificate();
    CHECK(common_name(certificate) == "fleet");
    CHECK(extension_text(certificate, NID_basic_constraints) == "critical CA:TRUE, pathlen:0");
    CHECK(extension_text(certificate, NID_key_usage) == "critical Certificate Sign, CRL Sign");
    CHECK(curve_of(certificate) == "prime256v1");
    CHECK(::X509_get_signature_nid(&certificate) == NID_ecdsa_with_SHA256);
}

TEST_CASE("a node's certificate is for both sides of TLS, under its name") {
    const auto node = issued_by(new_authority(), "node1");
    CHECK(dns_names(*node) == std::vector<std::string>{"node1"});
    CHECK(extension_text(*node, NID_basic_constraints) == "critical CA:FALSE");
    CHECK(extension_text(*node, NID_key_usage) == "critical Digital Signature");
    CHECK(extension_text(*node, NID_ext_key_usage) == "TLS Web Client Authentication, TLS Web Server Authentication");
    CHECK(curve_of(*node) == "prime256v1");
    CHECK(::X509_get_signature_nid(node.get()) == NID_ecdsa_with_SHA256);
    CHECK(::X509_get_version(node.get()) == X509_VERSION_3);
}

TEST_CASE("a certificate is valid from an hour ago, for clocks that lag") {
    const auto at = std::chrono::floor<seconds>(now());
    const auto valid = valid_for(std::chrono::days(30), at + milliseconds(700));
    CHECK(valid.from == at - std::chrono::hours(1));
    CHECK(valid.until == at + std::chrono::days(30));
    const auto read = validity_of(*issued_by(new_authority(), "node1", valid)).value();
    CHECK(read.from == valid.from);
    CHECK(read.until == valid.until);
}

TEST_CASE("validity reaches beyond the year 2050, where its form changes") {
    const auto valid = valid_for(std::chrono::days(36'500), now());
    const auto made = new_authority("long", valid);
    CHECK(validity_of(made.certificate()).value().until == valid.until);
}

TEST_CASE("serial numbers are of 128 bits, none like another, and survive a certificate") {
    const auto ours = new_authority();
    std::set<serial_number> seen;
    for (int i = 0; i < 300; ++i) {
        const auto serial = random_serial().value();
        CHECK(parse_serial(serial.hex) == serial);
        CHECK(serial_from(to_asn1(serial).get()) == serial);
        seen.insert(serial);
    }
    CHECK(seen.size() == 300);
    for (const auto* hex : {"00000000000000000000000000000001", "ffffffffffffffffffffffffffffffff"}) {
        const auto pem = ours.issue(name("node1"), {hex}, days(-1, 10)).value();
        const auto read = parse_certificate(pem.certificate, "").value();
        CHECK(serial_from(::X509_get0_serialNumber(read.get())) == serial_number{hex});
    }
    for (const auto* bad : {"", "1", "0000000000000000000000000000000G", "0000000000000000000000000000000A",
                            "000000000000000000000000000000001"}) {
        CHECK_FALSE(parse_serial(bad));
    }
}

TEST_CASE("a certificate cannot outlive its authority") {
    const auto ours = new_authority("short", {now(), now() + std::chrono::hours(20 * 24 + 12)});
    const auto refused = ours.issue(name("node1"), random_serial().value(), valid_for(std::chrono::days(21), now()));
    REQUIRE_FALSE(refused);
    CHECK(
        refused.error() ==
        config_failure("a certificate cannot outlive its authority, which ends in 20 days: the node's may be valid for "
                       "as many at most"));
    CHECK(ours.issue(name("node1"), random_serial().value(), valid_for(std::chrono::days(20), now())));
}

TEST_CASE("an authority survives being written and read") {
    const auto ours = new_authority();
    const auto pem = ours.pem().value();
    const auto read = authority::load(pem).value();
    CHECK(::X509_cmp(&read.certificate(), &ours.certificate()) == 0);
    CHECK(read.pem().value().key == pem.key);
}

TEST_CASE("an authority is not read from what is none") {
    const auto pem = new_authority().pem().value();
    const auto other = new_authority().pem().value();
    const auto node = new_authority().issue(name("node1"), random_serial().value(), days(-1, 10)).value();
    const auto why = [](const certified_key& text) {
        const auto read = authority::load(text);
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::config);
        return read.error().message;
    };
    CHECK(why({"rubbish", pem.key}) == "the authority's certificate is no certificate in PEM");
    CHECK(why({pem.certificate, ""}) == "the authority's key is no private key in PEM, or encrypted");
    CHECK(why({pem.certificate, other.key}) == "the authority's key is not the one of its certificate");
    CHECK(why(node) == "the authority's certificate is not one that may sign others");
}

TEST_CASE("an encrypted key is refused, and nobody is asked for its passphrase") {
    const auto ours = new_authority();
    const bio_owner text(::BIO_new(::BIO_s_mem()));
    unsigned char secret[] = "secret";
    REQUIRE(::PEM_write_bio_PKCS8PrivateKey(text.get(), &ours.key(), ::EVP_aes_128_cbc(),
                                            reinterpret_cast<char*>(secret), 6, nullptr, nullptr) == 1);
    const auto read = authority::load({ours.pem().value().certificate, text_of(*text)});
    REQUIRE_FALSE(read);
    CHECK(read.error().message == "the authority's key is no private key in PEM, or encrypted");
}

TEST_CASE("one certificate is read, whole, and nobody is asked for a passphrase") {
    const auto pem = new_authority().pem().value().certificate;
    const auto why = [](const std::string& text) {
        const auto read = parse_certificate(text, "it");
        REQUIRE_FALSE(read);
        return read.error().message;
    };
    CHECK(parse_certificate("comment\n" + pem + "comment\n", "it"));
    CHECK(why(pem.substr(0, 200)) == "it is no certificate in PEM");
    CHECK(why(pem + pem) == "it is several certificates, and must be one");
    CHECK(why(pem + "-----BEGIN CERTIFICATE-----\nAAAA") == "it is followed by something broken");
    auto locked = pem;
    locked.insert(locked.find('\n') + 1,
                  "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,000102030405060708090a0b0c0d0e0f\n\n");
    CHECK(why(locked) == "it is no certificate in PEM");
    CHECK(::ERR_peek_error() == 0);
}

TEST_CASE("a list of revoked certificates has what was put in, and lasts as long as its authority") {
    const auto ours = new_authority();
    const auto at = std::chrono::floor<seconds>(now());
    revocations revoked;
    for (int i = 0; i < 50; ++i) {
        revoked.emplace(random_serial().value(), at - std::chrono::hours(i));
    }
    const auto list =
        parse_revocation_list(write_revocation_list(ours, revoked, at).value(), ours.certificate()).value();
    CHECK(revocations_of(*list).value() == revoked);
    CHECK(time_from(::X509_CRL_get0_lastUpdate(list.get())) == at - std::chrono::hours(1));
    CHECK(time_from(::X509_CRL_get0_nextUpdate(list.get())) == validity_of(ours.certificate()).value().until);
    CHECK(::X509_CRL_get_version(list.get()) == X509_CRL_VERSION_2);
}

TEST_CASE("a name is one that a file, a flag and a certificate can bear") {
    for (const auto* good : {"a", "node-1", "Node_1.example.org", "10.0.0.7", "0"}) {
        CHECK(node_name::parse(good).value().str() == good);
    }
    CHECK(node_name::parse(std::string(64, 'x')));
    for (const auto* bad :
         {"", ".", "..", ".hidden", "-rf", "_x", "a b", "a/b", "a*", "a,DNS:b", "a:b", "a\nb", "\xc3\xa4"}) {
        CHECK_FALSE(node_name::parse(bad));
    }
    CHECK_FALSE(node_name::parse(std::string(65, 'x')));
    CHECK_FALSE(node_name::parse(std::string_view("a\0b", 3)));
    CHECK(node_name::parse("a/b").error() ==
          config_failure("a name holds only letters, digits, '.', '_' and '-'; its character 2 is another"));
    CHECK(same_but_for_capitals(name("Node.A"), name("node.a")));
    CHECK_FALSE(same_but_for_capitals(name("node"), name("node")));
    CHECK_FALSE(same_but_for_capitals(name("node"), name("nodes")));
}

} // namespace chalk::cluster
