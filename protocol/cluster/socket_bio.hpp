/// What OpenSSL reads and writes a non-blocking socket by. Its own kind would raise SIGPIPE where the peer has gone.
#pragma once

#include <openssl/bio.h>

namespace chalk::cluster {

/// Null for want of memory alone. The socket remains the caller's and must outlive it.
[[nodiscard]] BIO* new_socket_bio(int socket);

} // namespace chalk::cluster
