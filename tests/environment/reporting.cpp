/// An environment whose tool says how far it is.
#include <cmath>

#include "chalk/environment.hpp"

namespace {

using namespace chalk::sdk;

class reporting : public task {
  public:
    std::string name() const override { return "reporting"; }
    std::vector<std::string> steps() const override { return {"only"}; }
    std::vector<tool> tools() override {
        tool count{"count", "counts to three", {{"type", "object"}}, [](const json&) { return run(); }, std::nullopt};
        tool odd{"odd",
                 "reports what is no number",
                 {{"type", "object"}},
                 [](const json&) -> tool_output {
                     report_progress(std::nan(""));
                     return {};
                 },
                 std::nullopt};
        tool huge{"huge",
                  "gives back too much",
                  {{"type", "object"}},
                  [](const json&) {
                      return tool_output{std::string(65UL << 20U, 'x'), false};
                  },
                  std::nullopt};
        return {count, odd, huge};
    }
    json pre_hook() override {
        report_progress(1); // nobody's
        log(log_level::info, "of no call");
        return nullptr;
    }
    step_start start_step(std::size_t) override { return {"count", json::object()}; }
    score judge(std::size_t, const json&) override { return {}; }

  private:
    static tool_output run() {
        for (int i = 1; i <= 3; ++i) {
            report_progress(i, 3, "at " + std::to_string(i));
        }
        log(log_level::warning, "counted");
        return {"done", false};
    }
};

} // namespace

int main() {
    reporting task;
    return serve(task);
}
