/// Who the files of a staged tree belong to on the host, so that they are root's and the student's inside.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/sandbox_layout.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include <sys/types.h>

namespace chalk::image {

struct tree_owners {
    /// Added to every owner: 0 for trees that are shown through an idmapped mount, else the first id of the range.
    std::uint32_t base = 0;
    /// Set where this process may not give files away (no root): trees are then made as ours, and given away as a whole
    /// by this: everything below `tree` to root inside, what is below one of `students` to the student.
    std::function<result<void>(const std::filesystem::path& tree, const std::vector<std::filesystem::path>& students)>
        hand_over;

    [[nodiscard]] uid_t root() const { return hand_over ? unchanged : base; }
    [[nodiscard]] uid_t student() const { return hand_over ? unchanged : base + sandbox_layout::student_uid; }
    [[nodiscard]] result<void> finish(const std::filesystem::path& tree,
                                      const std::vector<std::filesystem::path>& students = {}) const {
        return hand_over ? hand_over(tree, students) : result<void>{};
    }

  private:
    static constexpr uid_t unchanged = static_cast<uid_t>(-1); ///< as chown(2) has it
};

} // namespace chalk::image
