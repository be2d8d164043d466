#include "protocol/gateway/exchange_store.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"
#include "protocol/core/units.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <unistd.h>

namespace chalk::gateway {

namespace fs = std::filesystem;

namespace {

constexpr bytes largest_recording = 128_MiB;

/// JSON text holds UTF-8 alone; of what is not, each byte is kept as a code point of Latin-1.
std::string widen(const std::string& raw) {
    std::string out;
    for (const char c : raw) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80U) {
            out += c;
        } else {
            out += static_cast<char>(0xC0U | (byte >> 6U));
            out += static_cast<char>(0x80U | (byte & 0x3FU));
        }
    }
    return out;
}

std::string narrow(const std::string& wide) {
    std::string out;
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const auto byte = static_cast<unsigned char>(wide[i]);
        if (byte < 0x80U || i + 1 == wide.size()) {
            out += wide[i];
        } else {
            const auto low = static_cast<unsigned char>(wide[++i]);
            out += static_cast<char>(((byte & 0x03U) << 6U) | (low & 0x3FU));
        }
    }
    return out;
}

} // namespace

result<exchange_store> exchange_store::open(const fs::path& folder, bool may_write) {
    std::error_code error;
    if (may_write) {
        fs::create_directories(folder, error);
        if (error || ::access(folder.c_str(), W_OK) != 0) {
            return config_failure(fmt::format("--record: cannot write in {}: {}", folder.string(),
                                              error ? error.message() : std::strerror(errno)));
        }
    } else if (!fs::is_directory(folder, error)) {
        return config_failure(fmt::format("--replay: {} is no folder", folder.string()));
    }
    exchange_store store;
    store.folder_ = folder;
    return store;
}

fs::path exchange_store::file_of(const exchange_key& key) const {
    return folder_ / fmt::format("{}-{}-{}.json", key.digest, key.seed, key.ordinal);
}

result<recorded_exchange> exchange_store::load(const exchange_key& key) const {
    const auto file = file_of(key);
    std::error_code error;
    if (!fs::exists(file, error)) {
        return model_failure(fmt::format("there is no recording of this request (run {}, time {}): {}", key.seed,
                                         key.ordinal + 1, file.string()));
    }
    auto text = read_file(file, largest_recording);
    if (!text) {
        return model_failure(text.error().message);
    }
    const auto parsed = parse_json(*text);
    try {
        if (parsed) {
            recorded_exchange out;
            out.model = parsed->at("model").get<std::string>();
            out.head.status = parsed->at("status").get<unsigned>();
            out.head.headers.emplace_back("content-type", parsed->at("content_type").get<std::string>());
            out.whole = parsed->at("whole").get<bool>();
            out.body = parsed->at("body").get<std::string>();
            if (parsed->at("latin1").get<bool>()) {
                out.body = narrow(out.body);
            }
            return out;
        }
    } catch (const json::exception&) {
        // the same end as text that is no JSON
    }
    return model_failure(fmt::format("{} is no recording", file.string()));
}

result<void> exchange_store::save(const exchange_key& key, const recorded_exchange& what) const {
    const auto file = file_of(key);
    auto part = file;
    part += ".part";
    const bool utf8 = to_valid_utf8(what.body) == what.body;
    {
        std::ofstream out(part, std::ios::binary | std::ios::trunc);
        out << dump_json({{"model", what.model},
                          {"status", what.head.status},
                          {"content_type", std::string(curl::find_header(what.head.headers, "content-type"))},
                          {"whole", what.whole},
                          {"latin1", !utf8},
                          {"body", utf8 ? what.body : widen(what.body)}},
                         1);
        out.close();
        if (!out) {
            return model_failure(fmt::format("cannot write {}", part.string()));
        }
    }
    std::error_code error;
    fs::rename(part, file, error);
    if (error) {
        return model_failure(fmt::format("cannot write {}: {}", file.string(), error.message()));
    }
    return {};
}

} // namespace chalk::gateway
