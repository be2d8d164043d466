/// Names one link of this process with a peer. Never given twice, so that a late word about an old link is known as
/// such.
#pragma once

#include <cstdint>

namespace chalk::actors {

enum class link_number : std::int64_t {};

} // namespace chalk::actors
