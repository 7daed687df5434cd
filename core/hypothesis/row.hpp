// The kernel row of one sample against an expansion, and a block of rows that wait for their
// rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "simd/kernel_block.hpp"
#include "storage/row_terms.hpp"

namespace budgetron {

// The row with the scratch it is computed in. Dropping or replacing stored examples during the
// round keeps `values` in step with them.
template <class Real>
struct Row : RowTerms<Real> {
  AlignedVector<Real> values;      // k(x_i, x), padded
  AlignedVector<Real> distances;   // ||x_i - x||^2, where a learner asked for them
  AlignedVector<double> features;  // phi(x), for learners with a feature map, padded
  AlignedVector<double> parts;     // what a decision was made of, where the learner needs it again
  double self = 1.0;               // k(x, x)
  bool coarse = false;             // x is so large that float32 rounds it by 1e-3 of a width
  std::uint32_t new_features = 0;  // features of x that a feature map has not met before

  void visit_state(StateVisitor& visitor) {
    RowTerms<Real>::visit_state(visitor);
    visitor.scratch(values);
    visitor.scratch(distances);
    visitor.scratch(features);
    visitor.scratch(parts);
  }
};

// Rows that wait for their rounds with the kernel values they will need.
template <class Real>
struct RowBlock {
  Row<Real> rows[kBlockRows];
  std::uint64_t time = 0;  // of the support they were computed from

  const Real* samples = nullptr;  // dense, of this width
  std::size_t width = 0;
  AlignedVector<Real> values;  // the samples, packed
  std::vector<std::size_t> offsets;
  std::size_t features = 0;

  std::int64_t recomputed = 0;  // kernel values of waiting rows, computed once more
};

}  // namespace budgetron
