/// A runtime without sandboxes, for tests of the tree: each "sandbox" is one end of a socket pair whose other end the
/// test holds as the harness's descriptor 3. Strict: it records what it was asked and says what was never expected.
#pragma once

#include "runtimes/runtime.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chalk::test {

/// What the test holds of one sandbox.
struct recorded_sandbox {
    unique_fd harness_end; ///< the harness's descriptor 3
    bool killed = false;
    bool removed = false;
    bool destroyed = false;
    std::function<void(sandbox_exit)> on_exit;
    result<std::optional<std::filesystem::path>> remove_answer{std::optional<std::filesystem::path>{}};

    /// As if every process of it ended.
    void exit(const sandbox_exit& how = {});
    /// Writes one line as the harness.
    void say(const std::string& line);
    /// All that the host has written so far, read without waiting.
    [[nodiscard]] std::string heard();
};

class recording_runtime final : public runtime {
  public:
    [[nodiscard]] std::string_view name() const noexcept override { return "recording"; }
    [[nodiscard]] probe_report probe() override { return {}; }
    [[nodiscard]] result<void> prepare(const sandbox_request& request) override;
    [[nodiscard]] result<std::unique_ptr<sandbox>> start(const sandbox_request& request) override;
    void set_lease(std::optional<node_time> until) override;
    [[nodiscard]] result<std::vector<leftover>> remove_leftovers(bool) override { return std::vector<leftover>{}; }

    /// Answers for runs whose id is a key.
    std::map<std::string, failure> prepare_fails;
    std::map<std::string, failure> start_fails;
    /// "prepare a", "start a", "kill a", "remove a", in order.
    [[nodiscard]] std::vector<std::string> asked() const;
    /// The sandbox of a run; it must have been started.
    [[nodiscard]] std::shared_ptr<recorded_sandbox> of(const std::string& id) const;
    [[nodiscard]] std::size_t started() const;
    /// As it was set last; absent: it was not, or none.
    [[nodiscard]] std::optional<node_time> lease() const;

  private:
    friend class recording_sandbox;
    void note(const std::string& what);

    mutable std::mutex mutex_;
    std::optional<node_time> lease_;
    std::vector<std::string> asked_;
    std::map<std::string, std::shared_ptr<recorded_sandbox>> sandboxes_;
};

} // namespace chalk::test
