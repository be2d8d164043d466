#include "config/cluster_file.hpp"

#include "config/read_keys.hpp"

#include <cmath>

namespace chalk::config {

namespace {

constexpr std::uint64_t longest_lease_s = 7ULL * 24 * 3600;

struct cluster_key {
    key_spec spec;
    void (*set)(cluster_file&, const json&);
};

const std::vector<cluster_key>& cluster_keys() {
    static const std::vector<cluster_key> keys = {
        {{.path = "listen",
          .shown_default = "nowhere",
          .doc = "ADDR:PORT where nodes come by themselves (`chalk node --join`)."},
         [](cluster_file& f, const json& v) { f.listen = v.get<std::string>(); }},
        {{.path = "nodes",
          .kind = value_kind::text_list,
          .shown_default = "none",
          .doc = "HOST:PORT of nodes that listen (`chalk node --listen`)."},
         [](cluster_file& f, const json& v) { f.nodes = v.get<std::vector<std::string>>(); }},
        {{.path = "tls",
          .required = true,
          .doc = "The folder with ca.pem, revoked.pem and this machine's certificate and key; relative to the file."},
         [](cluster_file& f, const json& v) { f.tls = v.get<std::string>(); }},
        {{.path = "name",
          .shown_default = "the one certificate in tls",
          .doc = "Whose certificate this machine shows."},
         [](cluster_file& f, const json& v) { f.name = v.get<std::string>(); }},
        {{.path = "allow",
          .kind = value_kind::text_list,
          .shown_default = "whoever the cluster's authority has signed",
          .doc = "Names of the nodes that may take part."},
         [](cluster_file& f, const json& v) { f.allow = v.get<std::vector<std::string>>(); }},
        {{.path = "lease_s",
          .kind = value_kind::amount,
          .maximum = longest_lease_s,
          .shown_default = "60",
          .doc = "How long a node goes on without its coordinator, and about how long a lost node's runs wait."},
         [](cluster_file& f, const json& v) {
             f.lease = milliseconds(static_cast<milliseconds::rep>(std::ceil(v.get<double>() * 1000)));
         }},
        {{.path = "metrics",
          .shown_default = "nowhere",
          .doc = "ADDR:PORT where the coordinator's metrics are, in the OpenMetrics text format."},
         [](cluster_file& f, const json& v) { f.metrics = v.get<std::string>(); }},
    };
    return keys;
}

} // namespace

const key_table& cluster_file_table() {
    static const key_table table = [] {
        std::vector<const key_spec*> specs;
        for (const auto& key : cluster_keys()) {
            specs.push_back(&key.spec);
        }
        return key_table(std::move(specs), [](const key_spec&) { return json(); });
    }();
    return table;
}

json to_json(const cluster_file& file) {
    json out{{"tls", file.tls.string()}, {"nodes", file.nodes}, {"allow", file.allow}};
    for (const auto& [name, text] :
         {std::pair{"listen", &file.listen}, {"name", &file.name}, {"metrics", &file.metrics}}) {
        if (!text->empty()) {
            out[name] = *text;
        }
    }
    if (file.lease) {
        out["lease_s"] = static_cast<double>(file.lease->count()) / 1000;
    }
    return out;
}

result<cluster_file> load_cluster_file(const std::string& file) {
    auto source = read_config_source(file);
    if (!source) {
        return source.error();
    }
    cluster_file made;
    const auto read =
        read_keys(source->document, cluster_file_table(), {}, [&](const key_spec& spec, const json& value) {
            for (const auto& key : cluster_keys()) {
                if (&key.spec == &spec) {
                    key.set(made, value);
                }
            }
        });
    if (!read) {
        return read.error();
    }
    if (made.listen.empty() && made.nodes.empty()) {
        return source->document.at("", "a cluster needs `listen`, or `nodes`, or both");
    }
    if (made.tls.is_relative()) {
        made.tls = source->folder / made.tls;
    }
    return made;
}

} // namespace chalk::config
