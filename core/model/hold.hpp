// A model between a base and a merge (docs/develop/decisions/0066). Workers that will be merged
// start
// from one base, each learns rows of its own, and all must use the same coordinates:
//
//   a worker keeps its stored examples, the units of features and targets, gamma and the metric,
//   calls no drift, and has no contenders; rows are counted in all statistics as usual
//
// After the merge, `Model::decide_held` makes the decisions that follow from the statistics.
//
// `base` is the digest of the base, so that a worker's changes are added to no other base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/state.hpp"

namespace budgetron {

struct Hold {
  static constexpr std::size_t kWords = 4;  // of a digest of 256 bits

  std::vector<std::uint64_t> base = {};

  [[nodiscard]] bool on() const { return !base.empty(); }

  void visit_state(StateVisitor& visitor) {
    if (visitor.mode() == StateVisitor::Mode::count && !on()) return;
    visitor.object(sizeof(*this));
    visitor.field("base", base);
    if (visitor.loading()) require(base.size() == kWords, "digest of the base");
  }
};

}  // namespace budgetron
