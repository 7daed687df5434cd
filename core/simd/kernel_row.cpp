// The kernel row in SIMD: see kernel_row.hpp. Compiled once per instruction set with BUDGETRON_ISA
// set.
//
// The code uses GCC/Clang vector types of the machine's full width, in local arrays with constant
// bounds, which the compiler keeps in registers. The multiply-add is written out per instruction
// set instead of left to contraction, so the bits are those of this source.
//
// The sums are kept in the output row. Each pass adds four terms and reads four slots sequentially,
// which suits the caches. The alternative, blocks of sums kept in registers, reads all slots in
// pieces of 256 bytes: on Zen 3 it took 1 to 1.3 times as long beyond L1, 0.9 to 1 times within.
#include "simd/kernel_row.hpp"

#include "simd/kernel_row_binary.hpp"
#include "simd/kernel_values.hpp"
#include "simd/vec.hpp"

namespace budgetron {
namespace {

// A support that fits into L2 is read in short pieces of its slots, so that sums, norms and coefs
// stay in L1; a larger support is read in long pieces, which suits L3.
constexpr std::size_t kNearBytes = 393216;  // of an L2 of 512 kB
constexpr std::size_t kNearTileBytes = 4096;
constexpr std::size_t kTerms = 4;  // terms per pass: one load and one store of a sum per four terms

// The values of the support, as Real or as bytes.
inline const float* support_of(const RowTask<float>& task, float) { return task.support; }
inline const double* support_of(const RowTask<double>& task, double) { return task.support; }
template <class Real>
inline const std::uint8_t* support_of(const RowTask<Real>& task, std::uint8_t) {
  return task.ones;
}

// Adds `terms` terms, starting at term k, to the sums of the examples [first, last). If the sums
// are not `begun` they start from 0. Number: the stored type, Real or bytes.
template <class Real, class Number, KernelKind kind, std::size_t terms>
inline void add_terms(const RowTask<Real>& task, std::size_t k, std::size_t first, std::size_t last,
                      bool begun) {
  constexpr std::size_t vectors = kDotLanes / kWidth<Real>;  // examples are padded to kLanes
  Vector<Real> v[terms];
  const Number* s[terms];
#pragma GCC unroll 4
  for (std::size_t t = 0; t < terms; ++t) {
    v[t] = all<Real>(task.values[k + t]);
    s[t] = support_of(task, Number()) + task.slots[k + t] * task.stride;
  }
  Real* const row = task.row;
  for (std::size_t i = first; i < last; i += kDotLanes) {
    Vector<Real> sums[vectors] = {};
    if (begun) {
#pragma GCC unroll 8
      for (std::size_t b = 0; b < vectors; ++b) sums[b] = load<Real>(row + i + b * kWidth<Real>);
    }
#pragma GCC unroll 4
    for (std::size_t t = 0; t < terms; ++t) {
#pragma GCC unroll 8
      for (std::size_t b = 0; b < vectors; ++b) {
        const Vector<Real> stored = load_stored<Real>(s[t] + i + b * kWidth<Real>);
        sums[b] = accumulate<Real, kind>(v[t], stored, sums[b]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t b = 0; b < vectors; ++b) store<Real>(row + i + b * kWidth<Real>, sums[b]);
  }
}

template <class Real, class Number, KernelKind kind>
inline void add_run(const RowTask<Real>& task, std::size_t k, std::size_t end, std::size_t first,
                    std::size_t last, bool begun) {
  if (k == end && !begun)
    add_terms<Real, Number, kind, 0>(task, k, first, last, false);  // no terms: sets the sums to 0
  for (; k + kTerms <= end; k += kTerms, begun = true) {
    add_terms<Real, Number, kind, kTerms>(task, k, first, last, begun);
  }
  if (k + 2 <= end) {
    add_terms<Real, Number, kind, 2>(task, k, first, last, begun);
    k += 2;
    begun = true;
  }
  if (k < end) add_terms<Real, Number, kind, 1>(task, k, first, last, begun);
}

// Adds terms and hits in the order of their features.
template <class Real, class Number, KernelKind kind>
void add_all(const RowTask<Real>& task, std::size_t first, std::size_t last) {
  std::size_t k = 0;
  bool begun = false;
  for (const Hit<Real>* hit = task.hits; hit != task.hits + task.hit_count; ++hit) {
    if (k != hit->term || !begun) {
      add_run<Real, Number, kind>(task, k, hit->term, first, last, begun);
      k = hit->term;
      begun = true;
    }
    if (hit->example < first || hit->example >= last) continue;
    Real& sum = task.row[hit->example];
    sum = multiply_add(all<Real>(hit->value), all<Real>(hit->stored), all<Real>(sum))[0];
  }
  add_run<Real, Number, kind>(task, k, task.count, first, last, begun);
}

template <class Real, KernelKind kind>
void row_of(const RowTask<Real>& task) {
  const bool near = task.count * task.examples * sizeof(Real) <= kNearBytes;
  const std::size_t tile = (near ? kNearTileBytes : kTileBytes) / sizeof(Real);
  for (std::size_t first = 0; first < task.examples; first += tile) {
    const std::size_t last = task.examples - first < tile ? task.examples : first + tile;
    if (task.ones == nullptr || kind == KernelKind::laplacian) {
      add_all<Real, Real, kind>(task, first, last);
    } else if (task.binary) {
      binary_row<Real, kind>(task, first, last);
      continue;
    } else {
      add_all<Real, std::uint8_t, kind>(task, first, last);
    }
    finish_values<Real, kind>(task, task.row + first, first, last);
  }
}

template <class Real>
void row(const RowTask<Real>& task) {
  with_kind(task.kind, [&]<KernelKind kind>() { row_of<Real, kind>(task); });
}

template <class Real>
void tabulate_row(const RowTask<Real>& task, std::uint8_t* table) {
  tabulate<Real>(task, row<Real>, table);
}

// A norm with one more value.
template <class Real, bool l1>
inline Vector<Real> with_value(Vector<Real> norm, Vector<Real> v) {
  return l1 ? norm + absolute(v) : multiply_add(v, v, norm);
}

template <class Real, bool l1>
Real norm_of(const Real* values, std::size_t count) {
  Vector<Real> norm{};
  for (std::size_t k = 0; k < count; ++k) norm = with_value<Real, l1>(norm, all<Real>(values[k]));
  return norm[0];
}

// The terms of a dense row and its norm in one loop: the norm is a chain of dependent additions,
// and the other work runs while it waits.
template <class Real, bool l1>
std::size_t gather(const Real* values, const std::uint32_t* slots, std::size_t count,
                   Real* term_values, std::uint32_t* term_slots, Real* norm) {
  Vector<Real> sum{};
  std::size_t terms = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Real value = values[k];
    sum = with_value<Real, l1>(sum, all<Real>(value));
    term_values[terms] = value;
    term_slots[terms] = slots[k];
    terms += (value != Real(0)) & (slots[k] != kNoSlot);
  }
  *norm = sum[0];
  return terms;
}

template <class Real>
Real self(const RowTask<Real>& task) {
  Vector<Real> x[1] = {all<Real>(task.norm)};
  switch (task.kind) {
    case KernelKind::rbf:
    case KernelKind::laplacian:
      return Real(1);
    case KernelKind::poly:
      finish<Real, KernelKind::poly>(task, nullptr, x, nullptr);
      break;
    case KernelKind::linear:
      return task.norm;
    case KernelKind::sigmoid:
      finish<Real, KernelKind::sigmoid>(task, nullptr, x, nullptr);
  }
  return x[0][0];
}

// Lanes are added in halves: 16 to 8, 8 to 4, ... on every instruction set.
template <class Real>
double dot(const Real* values, const double* coefs, std::size_t n) {
  constexpr std::size_t width = kWidth<double>;
  constexpr int vectors = static_cast<int>(kDotLanes / width);
  Doubles sums[vectors] = {};
  for (std::size_t i = 0; i < n; i += kDotLanes) {
#pragma GCC unroll 8
    for (int b = 0; b < vectors; ++b) {
      const std::size_t at = i + static_cast<std::size_t>(b) * width;
      sums[b] = multiply_add(load_doubles(values + at), load<double>(coefs + at), sums[b]);
    }
  }
#pragma GCC unroll 8
  for (int half = vectors / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int b = 0; b < half; ++b) sums[b] = sums[b] + sums[b + half];
  }
  double lanes[width];
#pragma GCC unroll 8
  for (std::size_t j = 0; j < width; ++j) lanes[j] = sums[0][static_cast<int>(j)];
#pragma GCC unroll 8
  for (std::size_t half = width / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < half; ++j) lanes[j] += lanes[j + half];
  }
  return lanes[0];
}

double least(const double* numbers, std::size_t n) {
  constexpr std::size_t width = kWidth<double>;
  constexpr std::size_t together = 4;  // independent chains
  double found = numbers[0];
  std::size_t i = 0;
  Doubles chains[together];
  for (Doubles& chain : chains) chain = all<double>(found);
  for (; i + together * width <= n; i += together * width) {
#pragma GCC unroll 4
    for (std::size_t c = 0; c < together; ++c) {
      chains[c] = smaller(chains[c], load_loose<double>(numbers + i + c * width));
    }
  }
  const Doubles both = smaller(smaller(chains[0], chains[1]), smaller(chains[2], chains[3]));
  for (std::size_t j = 0; j < width; ++j) {
    const double lane = both[static_cast<int>(j)];
    found = lane < found ? lane : found;
  }
  for (; i < n; ++i) found = numbers[i] < found ? numbers[i] : found;
  return found;
}

// Most groups have no such number, so one test covers a whole group.
std::size_t at_most(const double* numbers, std::size_t n, double bound, std::uint32_t* places) {
  constexpr std::size_t group = 2 * kWidth<double>;
  const Doubles limit = all<double>(bound);
  std::size_t count = 0;
  const auto look = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      places[count] = static_cast<std::uint32_t>(i);
      count += numbers[i] <= bound;
    }
  };
  std::size_t i = 0;
  for (; i + group <= n; i += group) {
    const Doubles first = load_loose<double>(numbers + i);
    const Doubles second = load_loose<double>(numbers + i + kWidth<double>);
    if (any(smaller(first, second) <= limit)) look(i, i + group);
  }
  look(i, n);
  return count;
}

}  // namespace

extern const RowFunctions<float> BUDGETRON_CONCAT(row_functions_float_, BUDGETRON_ISA);
extern const RowFunctions<double> BUDGETRON_CONCAT(row_functions_double_, BUDGETRON_ISA);
const RowFunctions<float> BUDGETRON_CONCAT(row_functions_float_, BUDGETRON_ISA) = {
    row<float>,
    {norm_of<float, false>, gather<float, false>},
    {norm_of<float, true>, gather<float, true>},
    tabulate_row<float>,
    self<float>,
    dot<float>,
    least,
    at_most,
    first_least<float>};
const RowFunctions<double> BUDGETRON_CONCAT(row_functions_double_, BUDGETRON_ISA) = {
    row<double>,
    {norm_of<double, false>, gather<double, false>},
    {norm_of<double, true>, gather<double, true>},
    tabulate_row<double>,
    self<double>,
    dot<double>,
    least,
    at_most,
    first_least<double>};

}  // namespace budgetron
