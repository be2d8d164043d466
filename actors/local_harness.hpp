/// The real harness of a --no-containerized run: private folders on this machine and the harness actor over them.
#pragma once

#include "actors/harness/place_pool.hpp"
#include "actors/run/local_site.hpp"

namespace chalk::actors {

/// Runs have their folders from `places`. `python` is the folder that holds the package chalk, `file_tool` the helper
/// behind the student's file tools.
[[nodiscard]] local_harness_factory make_local_harness_factory(boost::asio::io_context& io,
                                                               std::shared_ptr<place_pool> places,
                                                               std::filesystem::path python,
                                                               std::filesystem::path file_tool);

} // namespace chalk::actors
