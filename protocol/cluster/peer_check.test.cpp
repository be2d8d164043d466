#include "protocol/cluster/peer_check.hpp"

#include "protocol/cluster/certificates.test.hpp"
#include "tests/support/catch.hpp"

namespace chalk::cluster {

namespace {

using namespace test;

peer_check check_of(const authority& by, const revocations& revoked = {}, allow_list allowed = allow_list::everyone()) {
    return peer_check::make(by.pem().value().certificate, list_of(by, revoked), std::move(allowed)).value();
}

serial_number serial_number_of(X509& certificate) {
    return serial_from(::X509_get0_serialNumber(&certificate)).value();
}

certificate_owner odd_node(const authority& by, const char* common_name, std::vector<odd_extension> extensions) {
    const key_owner key(::EVP_EC_gen("P-256"));
    return odd_certificate(by.certificate(), by.key(), *key, common_name, with_usual(std::move(extensions)));
}

/// As TLS does it, with another certificate that the peer sends along.
peer_result<node_name> with_chain(const peer_check& check, X509& certificate, X509& along) {
    const std::unique_ptr<STACK_OF(X509), openssl_release<[](STACK_OF(X509) * chain) { sk_X509_free(chain); }>> chain(
        sk_X509_new_null());
    sk_X509_push(chain.get(), &along);
    const store_context_owner context(::X509_STORE_CTX_new());
    REQUIRE(::X509_STORE_CTX_init(context.get(), check.store(), &certificate, chain.get()) == 1);
    REQUIRE(::X509_STORE_CTX_set_default(context.get(), "ssl_client") == 1);
    const bool good = ::X509_verify_cert(context.get()) == 1;
    CHECK(good == (::X509_STORE_CTX_get_error(context.get()) == X509_V_OK));
    return check.judge(::X509_STORE_CTX_get_error(context.get()), &certificate);
}

/// The same on both sides, unless said otherwise.
void refused(const peer_check& check, X509& certificate, refusal_reason reason, const std::string& message) {
    for (const auto side : {tls_role::connects, tls_role::accepts}) {
        const auto peer = check.verify(certificate, side);
        REQUIRE_FALSE(peer);
        CHECK(name_of(peer.error().reason) == name_of(reason));
        CHECK(peer.error().message == message);
    }
}

} // namespace

TEST_CASE("a node of the cluster is let in on both sides, by its name") {
    const auto ours = new_authority();
    const auto node = issued_by(ours, "node-1.example_x");
    for (const auto& allowed :
         {allow_list::everyone(), allow_list::only({name("other"), name("node-1.example_x"), name("a")})}) {
        const auto check = check_of(ours, {}, allowed);
        CHECK(check.verify(*node, tls_role::connects) == name("node-1.example_x"));
        CHECK(check.verify(*node, tls_role::accepts) == name("node-1.example_x"));
        CHECK(check.judge(X509_V_OK, node.get()) == name("node-1.example_x"));
    }
}

TEST_CASE("a name that the allow list lacks is refused, capitals counted") {
    const auto ours = new_authority();
    const auto check = check_of(ours, {}, allow_list::only({name("node1"), name("node2")}));
    refused(check, *issued_by(ours, "node3"), refusal_reason::not_allowed,
            "node3 is not on the list of nodes that may connect");
    refused(check, *issued_by(ours, "Node1"), refusal_reason::not_allowed,
            "Node1 is not on the list of nodes that may connect");
    // It says whom, since the certificate was good.
    CHECK(check.verify(*issued_by(ours, "node3"), tls_role::connects).error().name == name("node3"));
}

TEST_CASE("a list of no names lets nobody in, while our own certificate may be off the list") {
    const auto ours = new_authority();
    const auto node = issued_by(ours, "node1");
    const auto check = check_of(ours, {}, allow_list::only({}));
    refused(check, *node, refusal_reason::not_allowed, "node1 is not on the list of nodes that may connect");
    CHECK_FALSE(check.judge(X509_V_OK, node.get()));
    CHECK(check.identify(*node, tls_role::connects) == name("node1"));
    CHECK(check.identify(*node, tls_role::accepts) == name("node1"));
}

TEST_CASE("a certificate is refused before and after its time") {
    const auto ours = new_authority();
    const auto check = check_of(ours);
    refused(check, *issued_by(ours, "late", days(-10, -1)), refusal_reason::expired,
            "the certificate of late has expired");
    refused(check, *issued_by(ours, "early", days(1, 10)), refusal_reason::not_yet_valid,
            "the certificate of early is not valid yet; compare the machines' clocks");
}

TEST_CASE("when the authority has expired, that is what is said") {
    const auto ours = new_authority("old", days(-100, -1));
    const auto node = issued_by(ours, "node1", days(-50, -2));
    refused(check_of(ours), *node, refusal_reason::expired, "the cluster's authority has expired");
}

TEST_CASE("a revoked certificate is refused, and only that one of its name") {
    const auto ours = new_authority();
    const auto lost = issued_by(ours, "node1");
    const auto fresh = issued_by(ours, "node1");
    const auto check = check_of(ours, {{serial_number_of(*lost), now()}});
    refused(check, *lost, refusal_reason::revoked, "the certificate of node1 was revoked");
    CHECK(check.verify(*fresh, tls_role::connects) == name("node1"));
    // Also for a TLS context that did not look at the list.
    const auto after_handshake = check.judge(X509_V_OK, lost.get());
    REQUIRE_FALSE(after_handshake);
    CHECK(after_handshake.error().reason == refusal_reason::revoked);
}

TEST_CASE("another authority's node is refused, even when the two are called alike") {
    const auto ours = new_authority("testing");
    const auto check = check_of(ours);
    const auto* message = "the certificate of node1 is not signed by this cluster's authority";
    refused(check, *issued_by(new_authority("other"), "node1"), refusal_reason::foreign_authority, message);
    refused(check, *issued_by(new_authority("testing"), "node1"), refusal_reason::foreign_authority, message);
}

TEST_CASE("an authority's certificate is not a node's") {
    const auto ours = new_authority();
    const auto check = check_of(ours);
    refused(check, ours.certificate(), refusal_reason::not_a_node, "an authority's certificate is not a node's");
    refused(check, new_authority("other").certificate(), refusal_reason::foreign_authority,
            "a certificate is not signed by this cluster's authority");
    // With a node's name in it and all uses allowed.
    const auto second =
        odd_node(ours, "x", {{NID_basic_constraints, "critical,CA:TRUE"}, {NID_subject_alt_name, "DNS:node1"}});
    refused(check, *second, refusal_reason::not_a_node, "an authority's certificate is not a node's");
    CHECK_FALSE(check.judge(X509_V_OK, &ours.certificate()));
}

TEST_CASE("a node's certificate cannot sign another one") {
    const auto ours = new_authority();
    const auto check = check_of(ours);
    const auto pem = ours.issue(name("node1"), random_serial().value(), days(-1, 10)).value();
    const auto node = parse_certificate(pem.certificate, "").value();
    const auto text = bio_over(pem.key);
    const key_owner node_key(::PEM_read_bio_PrivateKey(text.get(), nullptr, nullptr, nullptr));
    const auto forged =
        odd_certificate(*node, *node_key, *node_key, "node2", with_usual({{NID_subject_alt_name, "DNS:node2"}}));

    // As TLS does it, with the chain that the peer sends.
    const auto peer = with_chain(check, *forged, *node);
    REQUIRE_FALSE(peer);
    CHECK(name_of(peer.error().reason) == "foreign_authority");
    CHECK(peer.error().message == "the certificate of node2 is not signed by this cluster's authority");
}

TEST_CASE("a peer that sends its own authority along is refused as without") {
    const auto ours = new_authority("testing");
    const auto theirs = new_authority("testing");
    const auto peer = with_chain(check_of(ours), *issued_by(theirs, "node1"), theirs.certificate());
    REQUIRE_FALSE(peer);
    CHECK(name_of(peer.error().reason) == "foreign_authority");
    // Ours changes nothing.
    CHECK(with_chain(check_of(ours), *issued_by(ours, "node1"), ours.certificate()) == name("node1"));
}

TEST_CASE("an authority that another one signed is none of this cluster's") {
    const auto ours = new_authority();
    const key_owner key(::EVP_EC_gen("P-256"));
    const auto between = odd_certificate(
        ours.certificate(), ours.key(), *key, "between",
        with_usual({{NID_basic_constraints, "critical,CA:TRUE"}, {NID_key_usage, "critical,keyCertSign,cRLSign"}}));
    const auto node = odd_certificate(*between, *key, *key, "node1", with_usual({{NID_subject_alt_name, "DNS:node1"}}));
    const auto peer = with_chain(check_of(ours), *node, *between);
    REQUIRE_FALSE(peer);
    CHECK(name_of(peer.error().reason) == "foreign_authority");
}

TEST_CASE("a certificate for one side of TLS is refused on the other") {
    const auto ours = new_authority();
    const auto check = check_of(ours);
    const auto server =
        odd_node(ours, "node1", {{NID_subject_alt_name, "DNS:node1"}, {NID_ext_key_usage, "serverAuth"}});
    CHECK(check.verify(*server, tls_role::accepts) == name("node1"));
    const auto peer = check.verify(*server, tls_role::connects);
    REQUIRE_FALSE(peer);
    CHECK(name_of(peer.error().reason) == "wrong_use");
    CHECK(peer.error().message == "the certificate of node1 is not for this side of a connection");
}

TEST_CASE("the one name of the kind DNS counts, and no other") {
    const auto ours = new_authority();
    const auto check = check_of(ours, {}, allow_list::only({name("node1")}));
    const auto named = [&](const char* alternative) {
        return odd_node(ours, "node1", {{NID_subject_alt_name, alternative}});
    };
    refused(check, *odd_node(ours, "node1", {}), refusal_reason::no_single_name,
            "a certificate with 0 names (DNS) where a node has one");
    refused(check, *named("email:node1@example.org"), refusal_reason::no_single_name,
            "a certificate with 0 names (DNS) where a node has one");
    refused(check, *named("DNS:node1,DNS:node2"), refusal_reason::no_single_name,
            "a certificate with 2 names (DNS) where a node has one");
    refused(check, *named("DNS:*.example.org"), refusal_reason::no_single_name,
            "a certificate whose name no node can have: a name holds only letters, digits, '.', '_' and '-'; its "
            "character 1 is another");
    const auto too_long = "DNS:" + std::string(node_name::max_length + 1, 'n');
    refused(check, *named(too_long.c_str()), refusal_reason::no_single_name,
            "a certificate whose name no node can have: a name has at most 64 characters; this one has 65");
    refused(check, *named("DNS:node2"), refusal_reason::not_allowed,
            "node2 is not on the list of nodes that may connect");
}

TEST_CASE("a name with a zero byte in it is not the name before that byte") {
    const auto ours = new_authority();
    const key_owner key(::EVP_EC_gen("P-256"));
    // GeneralNames of one dNSName, by hand: SEQUENCE { [2] "node1\0x" }.
    const auto made = odd_node(ours, "node1", {{NID_subject_alt_name, "DER:30:09:82:07:6e:6f:64:65:31:00:78"}});
    const auto peer = check_of(ours).judge(X509_V_OK, made.get());
    REQUIRE_FALSE(peer);
    CHECK(peer.error().reason == refusal_reason::no_single_name);
}

TEST_CASE("a peer without a certificate is refused, whatever the handshake said") {
    const auto check = check_of(new_authority());
    const auto none = check.judge(X509_V_OK, nullptr);
    REQUIRE_FALSE(none);
    CHECK(none.error().reason == refusal_reason::no_certificate);
    CHECK(none.error().message == "the peer showed no certificate");
    // A failed handshake keeps no certificate, but its reason.
    const auto failed = check.judge(X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, nullptr);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().reason == refusal_reason::foreign_authority);
}

TEST_CASE("a list of revoked certificates from the future, or from too long ago, cannot be used") {
    const auto ours = new_authority();
    const auto with_list = [&](const std::string& list) {
        return peer_check::make(ours.pem().value().certificate, list, allow_list::everyone()).value();
    };
    refused(with_list(outdated_list_of(ours)), *issued_by(ours, "node1"), refusal_reason::stale_list,
            "the certificate of node1 cannot be held against the list of revoked certificates: CRL has expired");
    const auto check = with_list(list_of(ours, {}, now() + std::chrono::days(2)));
    refused(check, *issued_by(ours, "node1"), refusal_reason::stale_list,
            "the certificate of node1 cannot be held against the list of revoked certificates: CRL is not yet valid");
}

TEST_CASE("a check is not made of what is no authority or no list of its own") {
    const auto ours = new_authority();
    const auto theirs = new_authority("other");
    const auto pem = ours.pem().value().certificate;
    const auto node = ours.issue(name("node1"), random_serial().value(), days(-1, 10)).value().certificate;
    const auto why = [](std::string_view authority, std::string_view revoked) {
        const auto made = peer_check::make(authority, revoked, allow_list::everyone());
        REQUIRE_FALSE(made);
        CHECK(made.error().kind == error_class::config);
        return made.error().message;
    };
    CHECK(why("", list_of(ours)) == "the authority's certificate is no certificate in PEM");
    CHECK(why(pem + pem, list_of(ours)) == "the authority's certificate is several certificates, and must be one");
    CHECK(why(node, list_of(ours)) == "the authority's certificate is not one that may sign others");
    CHECK(why(pem, "") == "the list of revoked certificates is no CRL in PEM");
    CHECK(why(pem, pem) == "the list of revoked certificates is no CRL in PEM");
    CHECK(why(pem, list_of(ours) + list_of(ours)) ==
          "the list of revoked certificates is several CRLs, and must be one");
    CHECK(why(pem, list_of(ours) + "-----BEGIN X509 CRL-----\nAAAA") ==
          "the list of revoked certificates is followed by something broken");
    CHECK(why(pem, list_of(theirs)) == "the list of revoked certificates is not signed by this cluster's authority");
}

} // namespace chalk::cluster
