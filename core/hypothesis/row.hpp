// The kernel row of one sample and an expansion, and a block of rows that wait for their rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/state.hpp"
#include "simd/kernel_block.hpp"
#include "storage/row_terms.hpp"

namespace budgetron {

// A row with its scratch buffers. When stored examples are dropped or replaced during the round,
// `values` is updated with them.
template <class Real>
struct Row : RowTerms<Real> {
  AlignedVector<Real> values;      // k(x_i, x), padded
  AlignedVector<Real> distances;   // ||x_i - x||^2, if a learner needs them
  AlignedVector<double> features;  // phi(x) of learners with a feature map, padded
  AlignedVector<double> parts;     // the parts of a decision, if the learner needs them again
  AlignedVector<Real> belief;      // scratch for the variance of a decision
  double self = 1.0;               // k(x, x)
  bool coarse = false;  // x is so large that float32 rounds it by 1e-3 of the kernel width
  std::uint32_t new_features = 0;  // features of x that are new to a feature map

  void visit_state(StateVisitor& visitor) {
    RowTerms<Real>::visit_state(visitor);
    visitor.scratch(values);
    visitor.scratch(distances);
    visitor.scratch(features);
    visitor.scratch(parts);
    visitor.scratch(belief);
  }
};

// Rows that wait for their rounds, with kernel values computed in advance.
template <class Real>
struct RowBlock {
  Row<Real> rows[kBlockRows];
  std::uint64_t time = 0;  // when they were computed (ExampleStore::clock)

  const Real* samples = nullptr;  // dense, of this width
  std::size_t width = 0;
  AlignedVector<Real> values;  // the samples, packed
  std::vector<std::size_t> offsets;
  std::size_t features = 0;

  std::int64_t recomputed = 0;  // kernel values of waiting rows that were computed again
};

}  // namespace budgetron
