// One round, as a learner sees it: the row's kernel values and what the target says about f(x).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/random.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

// The kernel row of one sample against an expansion, with the scratch it is computed in. Dropping
// or replacing stored examples during the round keeps `values` in step with them.
template <class Real>
struct Row {
  AlignedVector<Real> values;      // k(x_i, x), padded
  AlignedVector<Real> distances;   // ||x_i - x||^2, where a learner asked for them
  AlignedVector<double> features;  // phi(x), for learners with a feature map, padded
  Real norm = 0;                   // ||x||^2 (laplacian: ||x||_1)
  double self = 1.0;               // k(x, x)
  bool coarse = false;             // x is so large that float32 rounds it by 1e-3 of a width
  std::uint32_t strangers = 0;     // features of x that a feature map has not met before

  std::vector<Real> term_values;          // the features of x that have a slot ...
  std::vector<std::uint32_t> term_slots;  // ... and where
  std::size_t terms = 0;                  // so many of them
  std::vector<Hit<Real>> hits;  // with features that few examples have (kernel_row.hpp) ...
  std::vector<std::uint32_t> hits_before;  // ... of which so many before each term, and in all
  bool thin = false;                       // whether there are any
  bool all_ones = false;                   // of a support in bytes: all values of both are 1
  std::vector<std::int32_t> listed;        // features of an example (distances.hpp)

  void reserve_terms(std::size_t count) {
    term_values.reserve(count);
    term_slots.reserve(count);
  }
  void visit_state(StateVisitor& visitor) {
    visitor.scratch(values);
    visitor.scratch(distances);
    visitor.scratch(features);
    visitor.scratch(term_values);
    visitor.scratch(term_slots);
    visitor.scratch(hits);
    visitor.scratch(hits_before);
    visitor.scratch(listed);
  }
};

// The numbers an update rule decides by. Classification: direction u = y, or (e_y - e_z)/2 with z
// the best wrong class, and margin = y f(x), in general <u, f(x)>. Regression: error = target -
// f(x), u = sign(error) (+1 for 0), and margin = <u, f(x) - target> = -|error|. Either way f does
// better the larger the margin, and to move f(x) along u is to raise it.
//
// A row of weight w moves f by w times as much: u is w times the direction above, the margin stays
// that of the direction itself.
struct Facts {
  double margin = 0.0;
  double weight = 1.0;  // > 0
  double error = 0.0;
  double target = 0.0;     // of regression
  double self = 1.0;       // k(x, x)
  std::int64_t round = 0;  // rounds before this one
};

template <class Real>
struct Turn : Facts {
  Sample<Real> x;
  Row<Real>* row = nullptr;
  std::span<const double> outputs;    // f(x), K numbers, before any update
  std::span<const double> direction;  // u, K numbers
  Random* random = nullptr;
};

}  // namespace budgetron
