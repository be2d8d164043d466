/// The embedded runtime: sandboxes of Linux namespaces on the host's own kernel, made by chalk-nest. Needs no engine,
/// no image and, where newuidmap is installed, no root.
///
/// Owner: the node actor. Destroying it ends every sandbox that is left.
#pragma once

#include "runtimes/namespaces/namespaces_options.hpp"
#include "runtimes/runtime.hpp"

#include <boost/asio/io_context.hpp>

#include <memory>

namespace chalk {

/// `io` serves what the sandboxes' harnesses write to stderr; it must run as long as sandboxes do.
[[nodiscard]] std::unique_ptr<runtime> make_namespaces_runtime(boost::asio::io_context& io, namespaces_options options);

} // namespace chalk
