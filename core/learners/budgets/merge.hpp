// Merge (BSGD: Wang, Crammer & Vucetic 2012). Gaussian kernel only.
//
// Over budget, the lightest example m and an example n of its sign (<a_m, a_n> > 0) are replaced by
// one point between them. With kappa = k(x_m, x_n) and w = |a_m|/(|a_m| + |a_n|) <= 1/2,
//
//   h    maximises  w kappa^((1-h)^2) + (1-w) kappa^(h^2)  over [0, 1/2]
//   z    = h x_m + (1-h) x_n,   a_z = a_m kappa^((1-h)^2) + a_n kappa^(h^2)
//   cost = |a_m|^2 + |a_n|^2 + 2 <a_m, a_n> kappa - |a_z|^2
//
// and n is the example with the least cost, the oldest if several are equal. If no n has the sign
// of m, m is dropped. Candidates are compared with h from a table; only for the chosen pair is h
// computed by search. The cost is stationary in h: the table's median error of 4e-6 (3e-4 at the
// 99th percentile, 0.035 at worst, near w = 1/2, kappa = e^-2) changes |a_z|/(|a_m| + |a_n|) by
// 1e-11 (9e-8, 8e-5).
//
// Cost: O(B K), and one kernel row unless m is the new example (two to four more if the norm is
// kept).
#pragma once

#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "learners/budgets/budget.hpp"
#include "learners/budgets/lightest.hpp"

namespace budgetron {

// The h above. The derivative has the sign of w (1-h) kappa^(1-2h) - (1-w) h, which changes once:
// Newton steps, and bisection where they would leave the interval that contains the change.
inline double best_merge(double w, double kappa) {
  if (kappa <= 0.0) return 0.0;
  const double log_kappa = std::log(kappa);
  double low = 0.0;
  double high = 0.5;
  double h = w;  // the answer for kappa = 1
  for (int i = 0; i < 100; ++i) {
    const double term = w * std::exp((1.0 - 2.0 * h) * log_kappa);
    const double value = term * (1.0 - h) - (1.0 - w) * h;
    const double slope = -term * (1.0 + 2.0 * log_kappa * (1.0 - h)) - (1.0 - w);
    (value > 0.0 ? low : high) = h;
    double next = h - value / slope;
    if (!(low < next && next < high)) next = 0.5 * (low + high);
    const bool settled = std::abs(next - h) <= 1e-16;
    h = next;
    if (settled) break;
  }
  return h;
}

// best_merge on a grid over [0, 1/2] x [0, 1], read by bilinear interpolation. It is smooth except
// near (1/2, e^-2), where the maximum splits in two.
class MergeTable {
 public:
  static const MergeTable& shared() {
    static const MergeTable table;
    return table;
  }
  [[nodiscard]] double operator()(double w, double kappa) const {
    const double x = 2.0 * w * kCells;
    const double y = kappa * kCells;
    const auto i = std::min<std::size_t>(static_cast<std::size_t>(x), kCells - 1);
    const auto j = std::min<std::size_t>(static_cast<std::size_t>(y), kCells - 1);
    const double p = x - static_cast<double>(i);
    const double q = y - static_cast<double>(j);
    const float* corner = values_.data() + i * (kCells + 1) + j;
    const double low =
        (1.0 - q) * static_cast<double>(corner[0]) + q * static_cast<double>(corner[1]);
    corner += kCells + 1;
    const double high =
        (1.0 - q) * static_cast<double>(corner[0]) + q * static_cast<double>(corner[1]);
    return (1.0 - p) * low + p * high;
  }

 private:
  static constexpr std::size_t kCells = 64;
  MergeTable() {
    for (std::size_t i = 0; i <= kCells; ++i) {
      for (std::size_t j = 0; j <= kCells; ++j) {
        values_[i * (kCells + 1) + j] = static_cast<float>(
            best_merge(static_cast<double>(i) / (2.0 * kCells), static_cast<double>(j) / kCells));
      }
    }
  }
  std::array<float, (kCells + 1) * (kCells + 1)> values_{};
};

// h x + (1-h) z: dense if both are, otherwise with the union of their features that are not 0, for
// which a byte limit has memory.
template <class Real>
void blend(const Sample<Real>& x, const Sample<Real>& z, double h, OwnedSample<Real>& out) {
  out.dense = x.dense() && z.dense();
  const bool lists = !out.dense;
  // A branch on zeros is unpredictable, so zeros are overwritten, in memory that is there already.
  const std::size_t there = lists ? out.indices.capacity() : out.values.capacity();
  out.values.resize(std::min(there, out.values.capacity()));
  out.indices.resize(lists ? out.values.size() : 0);
  std::size_t count = 0;
  for (std::size_t i = 0, j = 0; i < x.count || j < z.count;) {
    const bool from_x = j == z.count || (i < x.count && x.feature(i) <= z.feature(j));
    const bool from_z = i == x.count || (j < z.count && z.feature(j) <= x.feature(i));
    const std::int32_t feature = from_x ? x.feature(i) : z.feature(j);
    double sum = 0.0;
    if (from_x) sum += h * static_cast<double>(x.values[i++]);
    if (from_z) sum += (1.0 - h) * static_cast<double>(z.values[j++]);
    const auto value = static_cast<Real>(sum);
    const bool kept = !lists | (value != Real(0));
    if (count == out.values.size()) [[unlikely]] {
      if (!kept) continue;
      out.values.push_back(value);
      if (lists) out.indices.push_back(feature);
    }
    out.values[count] = value;
    if (lists) out.indices[count] = feature;
    count += kept;
  }
  out.values.resize(count);
  if (lists) out.indices.resize(count);
}

template <class Real>
class Merge final : public Budget<Real> {
 public:
  explicit Merge(const Spec& spec) : size_(spec.count("size")), table_(MergeTable::shared()) {}

  [[nodiscard]] std::size_t capacity() const override { return size_; }
  void prepare(Expansion<Real>& f) const override {
    if (f.kernel().kind != KernelKind::rbf) {
      throw std::invalid_argument("merging needs the Gaussian kernel");
    }
  }

  void admit(Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs) override {
    if (f.size() < size_) {
      f.add(turn, coefs);
      return;
    }
    // Stored examples have their indices; the new one has the number `newcomer`.
    const std::size_t newcomer = f.size();
    const std::size_t m = lightest(f, turn, coefs, weights_);
    const Sample<Real> x_m = sample(f, turn, m, x_m_);
    if (m != newcomer) f.row(x_m, side_);
    const Pair pair = cheapest(f, turn, coefs, m);
    if (pair.n == m) {
      ++removals_;
      if (m != newcomer) {
        f.replace(m, turn, coefs);
      } else {
        f.report(EventKind::refuse, turn, coefs);
      }
      return;
    }
    ++merges_;
    if (m == newcomer) {
      f.report(EventKind::merge, turn, coefs, f.id(pair.n));
    } else {
      f.report(EventKind::merge, m, pair.n == newcomer ? turn.round : f.id(pair.n));
    }
    const double h = best_merge(pair.w, pair.kappa);
    const double p = std::pow(pair.kappa, (1.0 - h) * (1.0 - h));
    const double q = std::pow(pair.kappa, h * h);
    read_coefs(f, pair.n, coefs, other_);
    for (std::size_t k = 0; k < coefs.size(); ++k) other_[k] = p * mine_[k] + q * other_[k];
    blend(x_m, sample(f, turn, pair.n, x_n_), h, z_);

    if (m == newcomer) {
      put(f, turn, pair.n);
    } else if (pair.n == newcomer) {
      put(f, turn, m);
    } else {
      put(f, turn, m);
      if (f.keeps_norm()) f.row(turn.x, *turn.row);
      f.replace(pair.n, turn, coefs, EventKind::none);
    }
  }

  void lower_to(std::size_t size, Expansion<Real>& f, Row<Real>& row, Random&) override {
    while (f.size() > size) f.remove(lightest(f), row);
  }
  void reserve(const Expansion<Real>& f) override {
    f.reserve_row(side_);
    products_.reserve(size_ + 1);
    weights_.reserve(size_);
    minus_squares_.reserve(size_ + 1);
    distances_.reserve(size_);
    candidates_.reserve(size_);
    mine_.reserve(f.outputs());
    other_.reserve(f.outputs());
    for (OwnedSample<Real>* point : {&x_m_, &x_n_, &z_}) f.reserve_sample(*point);
  }
  void visit_state(StateVisitor& visitor) override {
    visitor.field("merges", merges_);
    visitor.field("removals", removals_);
    visitor.part("side", side_);
    visitor.scratch(products_);
    weights_.visit_state(visitor);
    visitor.scratch(minus_squares_);
    visitor.scratch(distances_);
    visitor.scratch(candidates_);
    visitor.scratch(mine_);
    visitor.scratch(other_);
    for (const OwnedSample<Real>* point : {&x_m_, &x_n_, &z_}) {
      visitor.scratch(point->values);
      visitor.scratch(point->indices);
    }
  }

 private:
  struct Pair {
    std::size_t n;  // equal to m: none
    double w = 0.0;
    double kappa = 0.0;
  };
  // A cost below this share of (|a_m| + |a_n|)^2 is rounding: duplicates cost nothing.
  static constexpr double kNoCost = 1e-10;

  // A search for the n with the least cost, the oldest if several are equal.
  struct Search {
    Pair best;
    double least = std::numeric_limits<double>::infinity();
    std::int64_t id = 0;
  };

  // The n that merges with m at the least cost; leaves a_m in mine_.
  //
  // For a given kappa the cost grows with |a_n|, so it is at least the cost for |a_n| = |a_m|:
  // 2 |a_m|^2 (1 - sqrt(kappa))^2 down to kappa = e^-2, and no less below. Once the cost of the
  // nearest candidate is known, only examples near enough to cost less are considered.
  Pair cheapest(const Expansion<Real>& f, const Turn<Real>& turn, std::span<const double> coefs,
                std::size_t m) {
    const std::size_t newcomer = f.size();
    const Real* row = m == newcomer ? turn.row->values.data() : side_.values.data();
    read_coefs(f, m, coefs, mine_);
    multiply_coefs(f, coefs);
    products_[m] = 0.0;  // not with itself
    const double square_m = f.inner(mine_, mine_);
    Search search{{m}};
    if (products_[newcomer] > 0.0) {
      try_pair(newcomer, static_cast<double>(turn.row->values[m]), square_m, turn.round, search);
    }
    const auto& functions = row_functions<Real>();
    find_distances(row);
    const double nearest = functions.least(distances_.data(), newcomer);
    if (nearest > 0.0) return search.best;  // no other example has the sign of m
    candidates_.resize(newcomer);
    functions.at_most(distances_.data(), newcomer, nearest, candidates_.data());
    try_stored(f, candidates_[0], square_m, search);
    const double largest = -functions.least(minus_squares_.data(), newcomer + 1);
    const double farthest = -least_kappa(search.least, square_m, largest);
    const std::size_t count =
        functions.at_most(distances_.data(), newcomer, farthest, candidates_.data());
    for (std::size_t c = 0; c < count; ++c) {
      try_stored(f, candidates_[c], square_m, search);
    }
    return search.best;
  }

  // -kappa for examples that may merge with m, 1 for the others.
  void find_distances(const Real* row) {
    distances_.resize(products_.size() - 1);
    double* const distances = distances_.data();
    const double* const products = products_.data();
    for (std::size_t n = 0; n < distances_.size(); ++n) {
      const double distance = -static_cast<double>(row[n]);
      distances[n] = products[n] > 0.0 ? distance : 1.0;
    }
  }

  void try_stored(const Expansion<Real>& f, std::size_t n, double square_m, Search& search) const {
    try_pair(n, -distances_[n], square_m, f.id(n), search);
  }
  // Computes the cost of merging n with m, and updates the search.
  void try_pair(std::size_t n, double kappa, double square_m, std::int64_t id,
                Search& search) const {
    const double size_m = std::sqrt(square_m);
    const double product = products_[n];
    const double square_n = -minus_squares_[n];
    const double size = size_m + std::sqrt(square_n);
    const double w = std::min(0.5, size_m / size);
    const double h = table_(w, kappa);
    // kappa = 0 means h = 0 and 0^0 = 1; the smallest positive number gives the same.
    const double log_kappa = std::log(std::max(kappa, std::numeric_limits<double>::min()));
    const double p = std::exp((1.0 - h) * (1.0 - h) * log_kappa);
    const double q = std::exp(h * h * log_kappa);
    const double merged = p * p * square_m + q * q * square_n + 2.0 * p * q * product;
    double cost = square_m + square_n + 2.0 * product * kappa - merged;
    if (cost < kNoCost * size * size) cost = 0.0;
    if (cost < search.least || (cost == search.least && id < search.id)) {
      search = {{n, w, kappa}, cost, id};
    }
  }

  // Below this kappa a merge costs more than `cost`, and is also not a free one (kNoCost). The
  // bound is lowered by far more than its rounding.
  static double least_kappa(double cost, double square_m, double largest) {
    const double size = std::sqrt(square_m) + std::sqrt(largest);
    const double most = std::max(cost, kNoCost * size * size) * (1.0 + 1e-9);
    const double far = 1.0 - std::exp(-1.0);
    if (!(most < 2.0 * square_m * far * far)) return 0.0;
    const double root = 1.0 - std::sqrt(0.5 * most / square_m);
    return root * root * (1.0 - 1e-9);
  }

  // <a_m, a_n> and -<a_n, a_n> for all n, the new example last: output by output, in the memory
  // order of coefs.
  void multiply_coefs(const Expansion<Real>& f, std::span<const double> newcomer) {
    const std::size_t count = f.size();
    const double by = f.factor();
    products_.resize(count + 1);
    minus_squares_.resize(count + 1);
    for (std::size_t k = 0; k < f.outputs(); ++k) {
      const double* a = f.stored_coefs(k);
      const double mine = mine_[k];
      if (k == 0) {
        for (std::size_t n = 0; n < count; ++n) {
          const double coef = by * a[n];
          products_[n] = mine * coef;
          minus_squares_[n] = -(coef * coef);
        }
        products_[count] = mine * newcomer[k];
        minus_squares_[count] = -(newcomer[k] * newcomer[k]);
        continue;
      }
      for (std::size_t n = 0; n < count; ++n) {
        const double coef = by * a[n];
        products_[n] += mine * coef;
        minus_squares_[n] -= coef * coef;
      }
      products_[count] += mine * newcomer[k];
      minus_squares_[count] -= newcomer[k] * newcomer[k];
    }
    if (f.outputs() == 1) return;
    for (double& product : products_) product *= 2.0;
    for (double& square : minus_squares_) square *= 2.0;
  }

  static void read_coefs(const Expansion<Real>& f, std::size_t i, std::span<const double> newcomer,
                         std::vector<double>& out) {
    out.assign(newcomer.begin(), newcomer.end());
    if (i == f.size()) return;
    for (std::size_t k = 0; k < out.size(); ++k) out[k] = f.coef(i, k);
  }
  static Sample<Real> sample(const Expansion<Real>& f, const Turn<Real>& turn, std::size_t i,
                             OwnedSample<Real>& buffer) {
    if (i == f.size()) return turn.x;
    f.support().extract(i, buffer);
    return buffer.view();
  }
  // Puts (z, a_z) in the place of example i. The values of its row matter only if the norm of f is
  // kept. Otherwise the row of x carries the norm of z to the store, and has its own again
  // afterwards.
  void put(Expansion<Real>& f, const Turn<Real>& turn, std::size_t i) {
    Row<Real>& row = f.keeps_norm() ? side_ : *turn.row;
    if (f.keeps_norm()) f.row(z_.view(), row);
    const Real norm = std::exchange(row.norm, f.support().norm_of(z_.view()));
    f.replace(i, z_.view(), row, other_, turn.round, EventKind::none);
    row.norm = norm;
  }

  std::size_t size_;
  const MergeTable& table_;
  std::int64_t merges_ = 0;
  std::int64_t removals_ = 0;
  Weights weights_;
  Row<Real> side_;                         // the row of x_m, then of z
  std::vector<double> products_;           // <a_m, a_n>
  std::vector<double> minus_squares_;      // -<a_n, a_n>
  std::vector<double> distances_;          // -kappa of candidates, 1 for others
  std::vector<std::uint32_t> candidates_;  // those near enough
  std::vector<double> mine_;               // a_m
  std::vector<double> other_;              // a_n, then a_z
  OwnedSample<Real> x_m_, x_n_, z_;
};

}  // namespace budgetron
