/// Which API a model's name and arguments ask for.
#pragma once

#include "protocol/model/dialect/dialect.hpp"

#include <memory>
#include <string>

namespace chalk::model {

struct api_choice {
    std::string full_name; ///< PROVIDER/NAME, as the gateway knows it
    std::string name;      ///< NAME, as the provider knows it
    json args;             ///< for the dialect: without chalk's own keys
    std::shared_ptr<const dialect> speaks;
};

/// error_class::config: an unknown provider, no name, or an argument that is chalk's to set or of the wrong shape.
[[nodiscard]] result<api_choice> choose_api(const std::string& full_name, const json& args);

} // namespace chalk::model
