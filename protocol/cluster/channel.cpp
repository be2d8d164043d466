#include "protocol/cluster/channel.hpp"

namespace chalk::cluster {

std::string_view alpn_name(channel which) noexcept {
    return which == channel::control ? "chalk-control/1" : "chalk-bulk/1";
}

std::optional<channel> channel_of(std::string_view alpn) noexcept {
    for (const auto one : {channel::control, channel::bulk}) {
        if (alpn == alpn_name(one)) {
            return one;
        }
    }
    return std::nullopt;
}

} // namespace chalk::cluster
