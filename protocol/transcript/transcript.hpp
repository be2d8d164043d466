/// The record of a run: a fold over its events. The same fold runs beside the harness (for the judge) and on the host
/// (for the file), so that a transcript exists even when a sandbox dies. Schema: protocol/transcript/schema.json,
/// described in docs/reference/transcript.md.
#pragma once

#include "protocol/event/event.hpp"

#include <filesystem>

namespace chalk {

/// What identifies the run, known before its first event.
struct transcript_header {
    std::string run_id;
    std::uint32_t attempt = 1;
    std::string environment;
    std::string environment_digest; ///< sha256:<hex>, empty where none was taken
    std::string task;
    std::string agent;
    std::string model;
    std::string runtime; ///< "namespaces", "none" with --no-containerized
    std::string chalk_version;
    json config; ///< the resolved run config, without secrets
};

/// Folds events into a transcript document. Not thread-safe: its owner feeds it.
class transcript_builder {
  public:
    explicit transcript_builder(transcript_header header);

    void add(const event_ptr& e);

    /// The document so far. Valid against the schema at any time; without a final event, `outcome` is null.
    [[nodiscard]] json document() const;

    /// Sum of the steps' scores over the number of the task's steps: a step that was skipped counts 0. nullopt while
    /// nothing was scored, and for a run that ended in an error or was cancelled.
    [[nodiscard]] std::optional<double> score() const;

  private:
    transcript_header header_;
    std::vector<event_ptr> events_;
};

/// The schema, as text (draft 7), for tools and tests.
[[nodiscard]] std::string_view transcript_schema();

/// error_class::config with the cause when the document breaks the schema.
[[nodiscard]] result<void> check_transcript(const json& document);

/// Reads a transcript file that fits the schema. error_class::config with file, line where there is one, and cause.
[[nodiscard]] result<json> read_transcript(const std::filesystem::path& file);

} // namespace chalk
