#include "protocol/core/sha256.hpp"

#include "tests/support/catch.hpp"

TEST_CASE("SHA-256 of the standard's examples") { // FIPS 180-2, appendix B
    CHECK(chalk::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(chalk::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(chalk::sha256("abc")[0] == 0xba);
}

TEST_CASE("a SHA-256 in pieces is that of the whole, wherever they part") {
    const std::string whole = "path\n{\"model\":\"m\"}";
    for (std::size_t at = 0; at <= whole.size(); ++at) {
        chalk::sha256_sum sum;
        sum.add(std::string_view(whole).substr(0, at));
        sum.add(std::string_view(whole).substr(at));
        CAPTURE(at);
        CHECK(chalk::hex_of(sum.finish()) == chalk::sha256_hex(whole));
    }
}
