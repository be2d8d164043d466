/// What `chalk cluster cert list` prints.
#pragma once

#include "cli/show/terminal.hpp"
#include "protocol/cluster/cluster_folder.hpp"
#include "protocol/core/json_text.hpp"

#include <string>

namespace chalk::cli {

/// A line a certificate: name, state (valid, expired, revoked), until, serial number.
[[nodiscard]] std::string cert_page(const cluster::cluster_listing& listing, wall_time now, const page_style& style);

[[nodiscard]] json cert_json(const cluster::cluster_listing& listing, wall_time now);

} // namespace chalk::cli
