/// One callable of several, for std::visit.
#pragma once

namespace chalk {

template<class... Functions>
struct overloaded : Functions... {
    using Functions::operator()...;
};
template<class... Functions>
overloaded(Functions...) -> overloaded<Functions...>; // clang before 17 does not deduce aggregates

} // namespace chalk
