/// Where things are inside a sandbox; docs/reference/data-folders.md has the table of owners and modes, and a test
/// holds a real sandbox against it. An environment sees the same places through the SDKs' path constants.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

namespace chalk::sandbox_layout {

inline const std::filesystem::path workdir = "/workdir";                     ///< root's, 1777: the student's home
inline const std::filesystem::path student_data = "/workdir/data";           ///< readable by the student
inline const std::filesystem::path shared_data = "/workdir/shared";          ///< readable by the student
inline const std::filesystem::path root_data = "/root_data";                 ///< root alone
inline const std::filesystem::path intermediate_data = "/intermediate_data"; ///< root alone
inline const std::filesystem::path environment = "/root/environment";        ///< the environment's source, root alone
inline const std::filesystem::path out = "/out";                             ///< the run's artifacts, root alone
inline const std::filesystem::path bundle = "/chalk";                        ///< chalk itself, root alone, read-only
inline const std::filesystem::path bundle_chalk = "/chalk/chalk";            ///< static launcher of bundle/bin/chalk
inline const std::filesystem::path bundle_python = "/chalk/python";          ///< PYTHONPATH of the environment host

inline const std::filesystem::path private_run = "/run/chalk";     ///< root alone: keeps the next from others
inline const std::filesystem::path gateway = "/run/chalk/gateway"; ///< the folder of the run's model socket
inline const std::filesystem::path gateway_socket = "/run/chalk/gateway/model.sock";

inline constexpr uid_t student_uid = 1000;
inline constexpr gid_t student_gid = 1000;

/// Where the harness listens in a sandbox whose network is its own, unless the config says otherwise. Fixed, because
/// the firewall is set before the harness starts; outside the range from which the kernel gives out ports.
inline constexpr std::uint16_t tool_server_port = 18801;
inline constexpr std::uint16_t gateway_port = 18802; ///< for agents that are programs: the model gateway, forwarded

} // namespace chalk::sandbox_layout
