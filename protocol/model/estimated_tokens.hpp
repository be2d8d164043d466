/// What a text costs where nobody counted: four bytes a token, rounded up.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chalk::model {

[[nodiscard]] constexpr std::uint64_t estimated_tokens(std::size_t bytes) {
    return (bytes + 3) / 4;
}

} // namespace chalk::model
