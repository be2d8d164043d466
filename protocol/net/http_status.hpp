/// Statuses of HTTP that chalk acts on (RFC 9110).
#pragma once

namespace chalk {

inline constexpr unsigned http_ok = 200;

} // namespace chalk
