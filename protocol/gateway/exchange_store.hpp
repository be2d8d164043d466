/// Exchanges with providers in a folder, to be recorded once and replayed without a provider. One file an exchange,
/// named by the request's digest, the run's seed and how often that run had asked the same before: repeats of a run
/// stay distinct, and a run that asks the same twice gets both answers in order.
///
/// A file holds what was answered and which model was asked; never a key, a header of the request or the prompt.
///
/// Owner: the gateway. Reads and writes small files of the page cache, without syncs, on the io thread.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/net/curl_client.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace chalk::gateway {

struct exchange_key {
    std::string digest;
    std::string seed;
    std::uint64_t ordinal = 0;
};

struct recorded_exchange {
    std::string model;
    curl::http_head head; ///< content-type alone of its headers
    std::string body;
    bool whole = true; ///< false: the stream broke where the body ends
};

class exchange_store {
  public:
    /// Makes the folder where it is missing. error_class::config with path and cause.
    [[nodiscard]] static result<exchange_store> open(const std::filesystem::path& folder, bool may_write);

    /// error_class::model: there is no such recording, or it cannot be read.
    [[nodiscard]] result<recorded_exchange> load(const exchange_key& key) const;
    /// Replaces what was there. error_class::model with path and cause.
    [[nodiscard]] result<void> save(const exchange_key& key, const recorded_exchange& what) const;

    [[nodiscard]] std::filesystem::path file_of(const exchange_key& key) const;

  private:
    std::filesystem::path folder_;
};

} // namespace chalk::gateway
