/// The smallest environment that exercises everything: one step, one tool, one judge, no Python. Benchmarks run it,
/// since next to nothing of a run's time is its own.
#include "chalk/environment.hpp"

namespace {

class addition final : public chalk::sdk::task {
  public:
    [[nodiscard]] std::string name() const override { return "addition"; }
    [[nodiscard]] std::vector<std::string> steps() const override { return {"add"}; }
    [[nodiscard]] std::optional<std::string> system_prompt() override { return "Answer with tool calls."; }

    [[nodiscard]] std::vector<chalk::sdk::tool> tools() override {
        return {{"submit",
                 "Submits the sum.",
                 {{"type", "object"},
                  {"properties", {{"sum", {{"type", "integer"}, {"description", "what the numbers add up to"}}}}},
                  {"required", {"sum"}},
                  {"additionalProperties", false}},
                 [this](const chalk::sdk::json& arguments) {
                     submitted_ = arguments.at("sum").get<int>();
                     return chalk::sdk::tool_output{"noted", false};
                 },
                 std::nullopt}};
    }

    /// With the task_args {"random": true} the numbers come from the run's seed.
    void load(const chalk::sdk::places&, const chalk::sdk::json& args) override {
        if (seed && args.value("random", false)) {
            constexpr std::uint64_t largest = 99;
            left_ = static_cast<int>(1 + *seed % largest);
            right_ = static_cast<int>(1 + *seed / largest % largest);
        }
    }

    chalk::sdk::json pre_hook() override { return {{"left", left_}, {"right", right_}}; }

    chalk::sdk::step_start start_step(std::size_t) override {
        return {"What is " + std::to_string(left_) + " + " + std::to_string(right_) + "? Submit the sum.",
                chalk::sdk::json::object()};
    }

    chalk::sdk::score judge(std::size_t, const chalk::sdk::json&) override {
        if (!submitted_) {
            return {0, false, "nothing was submitted", nullptr};
        }
        bool right_sum = *submitted_ == left_ + right_;
        return {right_sum ? 1.0 : 0.0, right_sum, right_sum ? "the sum is right" : "the sum is wrong", nullptr};
    }

  private:
    int left_ = 19;
    int right_ = 23;
    std::optional<int> submitted_;
};

} // namespace

int main() {
    addition task;
    return chalk::sdk::serve(task);
}
