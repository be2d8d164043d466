#include "protocol/cluster/serial_number.hpp"

#include "protocol/cluster/openssl_objects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chalk::cluster {

namespace {

constexpr int serial_bits = 128;
constexpr std::size_t serial_digits = serial_bits / 4;

result<serial_number> to_serial(const BIGNUM* number) {
    std::array<unsigned char, serial_bits / 8> raw{};
    if (number == nullptr || ::BN_is_negative(number) != 0 ||
        ::BN_bn2binpad(number, raw.data(), static_cast<int>(raw.size())) < 0) {
        return unreadable("a serial number", "not one of 128 bits");
    }
    return serial_number{fmt::format("{:02x}", fmt::join(raw, ""))};
}

} // namespace

result<serial_number> random_serial() {
    const bignum_owner number(::BN_new());
    if (!number || ::BN_rand(number.get(), serial_bits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) != 1) {
        return openssl_failure("draw a serial number");
    }
    return to_serial(number.get());
}

result<serial_number> parse_serial(std::string_view text) {
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (text.size() != serial_digits || !std::all_of(text.begin(), text.end(), is_digit)) {
        return config_failure("a serial number has 32 digits of 0-9 and a-f");
    }
    return serial_number{std::string(text)};
}

result<serial_number> serial_from(const ASN1_INTEGER* serial) {
    return to_serial(bignum_owner(::ASN1_INTEGER_to_BN(serial, nullptr)).get());
}

integer_owner to_asn1(const serial_number& serial) {
    BIGNUM* raw = nullptr;
    ::BN_hex2bn(&raw, serial.hex.c_str());
    const bignum_owner number(raw);
    return integer_owner(number ? ::BN_to_ASN1_INTEGER(number.get(), nullptr) : nullptr);
}

} // namespace chalk::cluster
