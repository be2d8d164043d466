/// What a backend answers, and an address of one.
#include "protocol/backend/messages.hpp"
#include "protocol/model/external_message.hpp"

#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    (void)chalk::backend::parse_acknowledged(text);
    (void)chalk::backend::is_waiting(text);
    (void)chalk::backend::parse_uri(text);
    (void)chalk::model::parse_external_message(text, {});
    return 0;
}
