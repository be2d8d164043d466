#include "protocol/cluster/cluster_folder.hpp"

#include "protocol/cluster/certificates.test.hpp"
#include "protocol/cluster/peer_check.hpp"
#include "protocol/core/read_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <atomic>
#include <future>
#include <map>

#include <sys/stat.h>

namespace chalk::cluster {

namespace {

using namespace test;
namespace fs = std::filesystem;

constexpr std::chrono::days long_enough{30};

/// Everything below a folder, by its path in it.
std::map<std::string, std::string> picture(const fs::path& folder) {
    std::map<std::string, std::string> all;
    for (const auto& one : fs::recursive_directory_iterator(folder)) {
        all[one.path().lexically_relative(folder)] = one.is_regular_file() ? read_or_empty(one.path()) : "not a file";
    }
    return all;
}

mode_t mode_of(const fs::path& file) {
    struct stat info = {};
    REQUIRE(::stat(file.c_str(), &info) == 0);
    return info.st_mode & 07777U;
}

struct made_cluster {
    made_cluster() { REQUIRE(create_cluster(folder, name("fleet"), default_authority_days, now())); }
    chalk::test::temporary_folder in;
    fs::path folder = in.path() / "cluster";

    [[nodiscard]] result<issued_certificate> issue(const char* node) const {
        return issue_certificate(folder, name(node), long_enough, now());
    }
    [[nodiscard]] auto revoke(const char* node) const { return revoke_certificates(folder, name(node), now()); }
    [[nodiscard]] peer_result<node_name> let_in(const std::string& pem) const {
        const auto check = peer_check::make(read_or_empty(authority_file(folder)), read_or_empty(revoked_file(folder)),
                                            allow_list::everyone())
                               .value();
        return check.verify(*parse_certificate(pem, "the test's").value(), tls_role::connects);
    }
    [[nodiscard]] std::string pem_of(const char* node) const {
        return read_or_empty(certificate_file(folder, name(node)));
    }
};

} // namespace

TEST_CASE("a new cluster's folder has an authority, an empty list and secrets that stay secret") {
    const made_cluster made;
    const auto files = picture(made.folder);
    std::vector<std::string> names;
    for (const auto& [file, text] : files) {
        names.push_back(file);
    }
    CHECK(names == std::vector<std::string>{"ca.key", "ca.pem", "issued.jsonl", "nodes", "revoked.pem"});
    CHECK(mode_of(made.folder) == 0700);
    CHECK(mode_of(made.folder / "ca.key") == 0600);
    CHECK(mode_of(made.folder / "nodes") == 0700);
    const auto listing = list_certificates(made.folder).value();
    CHECK(listing.cluster == "fleet");
    CHECK(listing.certificates.empty());
    CHECK(picture(made.in.path()).size() == 6); // nothing beside the folder
}

TEST_CASE("a new cluster takes an absent or an empty folder, and nothing else") {
    const chalk::test::temporary_folder in;
    const auto create = [&](const fs::path& folder) {
        return create_cluster(folder, name("fleet"), default_authority_days, now());
    };
    CHECK(create(in.path() / "deep/er/"));
    fs::create_directory(in.path() / "empty");
    CHECK(create(in.path() / "empty"));

    in.write("used/file", "mine");
    in.write("plain", "mine");
    fs::create_symlink("nowhere", in.path() / "link");
    const auto before = picture(in.path());
    for (const auto* taken : {"used", "plain", "link", "empty", "deep/er"}) {
        const auto refused = create(in.path() / taken);
        REQUIRE_FALSE(refused);
        CHECK(refused.error() ==
              config_failure((in.path() / taken).string() +
                             " is there already, and not an empty folder; a new cluster needs one of "
                             "its own"));
    }
    CHECK_FALSE(create(in.path() / "plain/below"));
    CHECK(picture(in.path()) == before);
}

TEST_CASE("of several who create one cluster at once, one does") {
    const chalk::test::temporary_folder in;
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(std::async(std::launch::async, [&] {
            return bool(create_cluster(in.path() / "cluster", name("fleet"), default_authority_days, now()));
        }));
    }
    CHECK(std::count_if(all.begin(), all.end(), [](auto& one) { return one.get(); }) == 1);
    CHECK(list_certificates(in.path() / "cluster"));
    CHECK(picture(in.path()).size() == 6);
}

TEST_CASE("what is issued is let in, and its key is a secret") {
    const made_cluster made;
    const auto issued = made.issue("node1").value();
    CHECK(mode_of(key_file(made.folder, name("node1"))) == 0600);
    CHECK(made.let_in(made.pem_of("node1")) == name("node1"));
    const auto listed = list_certificates(made.folder).value().certificates;
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].issued.serial == issued.serial);
    CHECK(listed[0].issued.name == name("node1"));
    CHECK(listed[0].issued.valid.until == issued.valid.until);
    CHECK_FALSE(listed[0].revoked);
}

TEST_CASE("a certificate that may still be used is not overwritten") {
    const made_cluster made;
    REQUIRE(made.issue("node1"));
    const auto before = picture(made.folder);
    const auto refused = made.issue("node1");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == error_class::config);
    CHECK(refused.error().message.find("node1.pem is there already") != std::string::npos);
    CHECK(picture(made.folder) == before);

    // A file that is no certificate is somebody's too, and so is a lone key.
    made.in.write("cluster/nodes/node2.pem", "mine");
    made.in.write("cluster/nodes/node3.key", "mine");
    CHECK(made.issue("node2").error().message.find("node2.pem is there already") != std::string::npos);
    CHECK(made.issue("node3").error().message.find("node3.key is there without its certificate") != std::string::npos);
    CHECK(read_or_empty(made.folder / "nodes/node3.key") == "mine");
}

TEST_CASE("a revoked certificate is refused, is revoked once, and makes room for another") {
    const made_cluster made;
    REQUIRE(made.issue("node1"));
    REQUIRE(made.issue("node2"));
    const auto lost = made.pem_of("node1");
    CHECK(made.revoke("node1").value().size() == 1);
    CHECK(made.let_in(lost).error().reason == refusal_reason::revoked);
    CHECK(made.let_in(made.pem_of("node2")) == name("node2"));

    const auto again = made.revoke("node1");
    REQUIRE_FALSE(again);
    CHECK(again.error().kind == error_class::config);
    CHECK(again.error().message.starts_with("node1 was revoked already, at 2"));
    CHECK(made.revoke("node3").error() == config_failure("this cluster has issued no certificate to node3"));

    REQUIRE(made.issue("node1"));
    CHECK(made.let_in(made.pem_of("node1")) == name("node1"));
    CHECK(made.let_in(lost).error().reason == refusal_reason::revoked);
    const auto listed = list_certificates(made.folder).value().certificates;
    REQUIRE(listed.size() == 3);
    CHECK(listed[0].revoked);
    CHECK_FALSE(listed[1].revoked);
    CHECK_FALSE(listed[2].revoked);
}

TEST_CASE("a certificate is revoked by name when its files are gone, and so are all of that name") {
    const made_cluster made;
    std::vector<std::string> old;
    for (int i = 0; i < 3; ++i) {
        REQUIRE(made.issue("node1"));
        old.push_back(made.pem_of("node1"));
        fs::remove(certificate_file(made.folder, name("node1")));
        fs::remove(key_file(made.folder, name("node1")));
    }
    CHECK(made.revoke("node1").value().size() == 3);
    for (const auto& pem : old) {
        CHECK(made.let_in(pem).error().reason == refusal_reason::revoked);
    }
}

TEST_CASE("an expired certificate makes room for another") {
    const made_cluster made;
    REQUIRE(issue_certificate(made.folder, name("node1"), std::chrono::days(1), now() - std::chrono::days(3)));
    CHECK(made.let_in(made.pem_of("node1")).error().reason == refusal_reason::expired);
    REQUIRE(made.issue("node1"));
    CHECK(made.let_in(made.pem_of("node1")) == name("node1"));
}

TEST_CASE("two nodes whose names differ in capitals alone are refused") {
    const made_cluster made;
    REQUIRE(made.issue("node1"));
    CHECK(made.issue("Node1").error() ==
          config_failure("there is a node node1: Node1 differs from it in nothing but capitals"));
}

TEST_CASE("commands at the same time lose nothing of each other") {
    const made_cluster made;
    std::vector<std::future<int>> all;
    for (int who = 0; who < 4; ++who) {
        all.push_back(std::async(std::launch::async, [&, who] {
            int good = 0;
            for (int i = 0; i < 4; ++i) {
                const auto node = name(("node" + std::to_string(who) + "-" + std::to_string(i)).c_str());
                good += issue_certificate(made.folder, node, long_enough, now()) ? 1 : 0;
                good += revoke_certificates(made.folder, node, now()) ? 1 : 0;
            }
            return good;
        }));
    }
    for (auto& one : all) {
        CHECK(one.get() == 8);
    }
    const auto listed = list_certificates(made.folder).value().certificates;
    CHECK(listed.size() == 16);
    CHECK(std::all_of(listed.begin(), listed.end(), [](const auto& one) { return one.revoked.has_value(); }));
}

TEST_CASE("an issue that fails changes nothing") {
    const made_cluster made;
    REQUIRE(made.issue("node1"));
    const auto check_nothing_changed = [&](error_class kind) {
        const auto before = picture(made.folder);
        const auto refused = made.issue("node2");
        REQUIRE_FALSE(refused);
        INFO(refused.error().message);
        CHECK(refused.error().kind == kind);
        CHECK(picture(made.folder) == before);
        CHECK_FALSE(fs::exists(made.folder / ".issued.jsonl.new"));
    };
    // A folder in the place of a file that is to be written: what a full disk is to it.
    made.in.write("cluster/nodes/.node2.pem.new/x", "");
    check_nothing_changed(error_class::harness);
    fs::remove_all(made.folder / "nodes/.node2.pem.new");

    const auto key = read_or_empty(authority_key_file(made.folder));
    made.in.write("cluster/ca.key", "rubbish");
    check_nothing_changed(error_class::config);
    made.in.write("cluster/ca.key", key);

    // What was revoked must not be forgotten.
    const auto list = read_or_empty(revoked_file(made.folder));
    fs::remove(revoked_file(made.folder));
    check_nothing_changed(error_class::config);
    made.in.write("cluster/revoked.pem", write_revocation_list(new_authority("fleet"), {}, now()).value());
    check_nothing_changed(error_class::config);
    made.in.write("cluster/revoked.pem", list);

    const auto index = read_or_empty(made.folder / "issued.jsonl");
    made.in.write("cluster/issued.jsonl", index + "{\"serial\":1}\n");
    CHECK(made.issue("node2").error().message.find("issued.jsonl, line 2: a serial number") != std::string::npos);
    check_nothing_changed(error_class::config);
    made.in.write("cluster/issued.jsonl", index);

    // What an interrupted one left is no obstacle.
    made.in.write("cluster/nodes/.node2.pem.new", "half");
    CHECK(made.issue("node2"));
    CHECK_FALSE(fs::exists(made.folder / "nodes/.node2.pem.new"));
}

TEST_CASE("a folder that is no cluster's is named as one, and stays as it is") {
    const chalk::test::temporary_folder in;
    const auto expected =
        config_failure(in.path().string() + " is no cluster's folder: it has no ca.pem; `chalk cluster "
                                            "cert init --out DIR` makes one");
    CHECK(issue_certificate(in.path(), name("node1"), long_enough, now()).error() == expected);
    CHECK(revoke_certificates(in.path(), name("node1"), now()).error() == expected);
    CHECK(list_certificates(in.path()).error() == expected);
    CHECK(picture(in.path()).empty());
}

} // namespace chalk::cluster
