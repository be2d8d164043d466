/// What a cluster's authority has signed for nodes: `issued.jsonl`, one JSON object a line, oldest first. It is how a
/// node's certificate is revoked by name when nobody has the certificate any more; losing it loses that, and no more.
/// What was revoked is in the signed list alone (revocation_list.hpp): one place, so that no crash can part two.
#pragma once

#include "protocol/cluster/certificates.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace chalk::cluster {

struct issued_certificate {
    serial_number serial;
    node_name name;
    validity valid;
};

[[nodiscard]] std::string to_text(const std::vector<issued_certificate>& issued);

/// error_class::config with the number of the line that makes no sense; `whose` begins the message.
[[nodiscard]] result<std::vector<issued_certificate>> parse_index(std::string_view text, std::string_view whose);

} // namespace chalk::cluster
