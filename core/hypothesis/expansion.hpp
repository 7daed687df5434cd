// The hypothesis  f = scale * rate * sum_i a_i k(x_i, .).  Every learner is written in its
// operations.
//
// scale is the lazy product of all shrinking so far. rate is a factor that a learner sets directly,
// as Pegasos does with 1/(lambda t); the stored a_i then never change, and ties stay exact.
//
// a_i is a vector of K numbers: K = 1 for two classes (a_i carries the label's sign) and for
// regression, K = the number of classes beyond two. With K > 1 coefs have the inner product
// <p, q> = 2 p.q, which makes every two-class formula read unchanged (see papers/page.py).
//
// Kept on request: ||f||^2, incrementally, and the Gram matrix, from the kernel rows of the rounds
// that stored each example. Coefs, scale and norm are float64 for every Real.
//
// Invariants: coefs of the padding are 0; gram(i, j) = k(x_i, x_j); squared_norm() is the norm of
// the stored expansion. check_invariants() recomputes them.
//
// Cost: row O(B d) (sparse: O(B nnz)); decide O(B K); scale O(1); add and replace O(d + B K). If
// the norm is kept without the Gram matrix, replace and remove need one more kernel row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hypothesis/class_change.hpp"
#include "hypothesis/events.hpp"
#include "hypothesis/kernel.hpp"
#include "hypothesis/row.hpp"
#include "hypothesis/turn.hpp"
#include "hypothesis/unit_change.hpp"
#include "simd/coef_ops.hpp"
#include "simd/kernel_block.hpp"
#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
class Expansion {
 public:
  // `capacity`: the most examples it will hold; 0: no limit.
  Expansion(const Kernel& kernel, std::size_t outputs, std::size_t capacity);

  // ---- what it keeps --------------------------------------------------------------------------
  void keep_norm() { keeps_norm_ = true; }
  void keep_gram() { keeps_gram_ = true; }
  // Keeps ||x_i - x||^2 in every row: free with the Gaussian kernel, a second pass with others.
  void keep_distances() {
    keeps_distances_ = true;
    support_->keep_squared_norms();
  }

  // Allocates all memory in advance. Call it before anything is stored.
  void reserve(const ByteLimit& limit);
  // The same for a row, and for an extracted example.
  void reserve_row(Row<Real>& row) const;
  void reserve_sample(OwnedSample<Real>& sample) const { sample.reserve(support_->most_values()); }

  [[nodiscard]] std::size_t size() const { return support_->size(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  // Whether x can be added; whether its features fit into the byte limit (byte_limit.hpp) beside
  // the stored ones, or alone.
  [[nodiscard]] bool has_room(const Sample<Real>& x) const {
    return (capacity_ == 0 || size() < capacity_) && support_->fits(x);
  }
  [[nodiscard]] bool fits(const Sample<Real>& x) const { return support_->fits(x); }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const { return support_->fits_alone(x); }
  [[nodiscard]] std::size_t features() const;  // how many features at least one example has
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const ExampleStore<Real>& support() const { return *support_; }
  [[nodiscard]] std::int64_t id(std::size_t i) const { return ids_[i]; }
  [[nodiscard]] const std::int64_t* ids() const { return ids_.data(); }
  // The index of the oldest example; 0 if nothing is stored.
  [[nodiscard]] std::size_t oldest() const {
    return size() > 0 ? coef_functions<Real>().oldest(ids_.data(), size()) : 0;
  }
  // The example with the least score(i); the oldest if several are equal. Precondition: size() > 0.
  template <class Score>
  [[nodiscard]] std::size_t least(Score score) const {
    std::size_t best = 0;
    double least = score(best);
    for (std::size_t i = 1; i < size(); ++i) {
      const double value = score(i);
      if (value < least || (value == least && id(i) < id(best))) {
        best = i;
        least = value;
      }
    }
    return best;
  }

  // The same for scores already computed; `least` is the least of them.
  [[nodiscard]] std::size_t least_of(std::span<const double> scores, double least) const {
    const auto find = coef_functions<Real>().find;
    std::size_t best = find(scores.data(), 0, size(), least);
    if (best == size()) return 0;  // all scores overflowed
    for (std::size_t i = best; (i = find(scores.data(), i + 1, size(), least)) < size();) {
      if (id(i) < id(best)) best = i;
    }
    return best;
  }

  // ---- evaluating -----------------------------------------------------------------------------
  void row(const Sample<Real>& x, Row<Real>& out) const;
  void decide(const Row<Real>& row, std::span<double> outputs) const;
  // Computes the kernel rows of kBlockRows dense samples, contiguous in memory, which must stay
  // there; the values are those of `row`. False if that is not possible or does not pay.
  bool fill(RowBlock<Real>& block, const Real* samples, std::size_t width) const;
  // Row r of the block, brought up to date: what changed since is recomputed in all rows from r on.
  Row<Real>& take(RowBlock<Real>& block, std::size_t r) const;
  // The input of the row function for a row whose terms were gathered, without outputs.
  [[nodiscard]] RowTask<Real> task(const Row<Real>& row) const;
  // The kernel row of stored example i, recomputed.
  void row_of_stored(std::size_t i, Row<Real>& out) const;
  [[nodiscard]] double stored_self(std::size_t i) const;  // k(x_i, x_i)

  // ---- coefs ----------------------------------------------------------------------------------
  void scale(double factor) {  // f <- factor f, O(1)
    if (factor != 1.0) rescale(factor);
  }
  void multiply(double factor) {  // the same, in the stored coefs, O(B K)
    scale_ *= factor;
    fold();
  }
  void set_rate(double rate) { rate_ = rate; }                    // O(1)
  [[nodiscard]] double factor() const { return scale_ * rate_; }  // true coef = factor * stored
  [[nodiscard]] std::size_t stride() const { return stride_; }    // numbers between two outputs
  [[nodiscard]] double* stored_coefs(std::size_t output) {
    return coefs_.data() + output * stride_;
  }
  [[nodiscard]] const double* stored_coefs(std::size_t output) const {
    return coefs_.data() + output * stride_;
  }
  [[nodiscard]] double coef(std::size_t i, std::size_t output) const {
    return factor() * coefs_[output * stride_ + i];
  }
  void set_coef(std::size_t i, std::size_t output, double value) {
    coefs_[output * stride_ + i] = value / factor();
  }
  // <p, q>, and |a_i| = sqrt <a_i, a_i>
  [[nodiscard]] double inner(std::span<const double> p, std::span<const double> q) const;
  [[nodiscard]] double coef_size(std::size_t i) const;
  void coef_sizes(std::vector<double>& sizes) const;    // of all examples
  void stored_sizes(std::vector<double>& sizes) const;  // the same without scale and rate

  // ---- storing --------------------------------------------------------------------------------
  // `row` is the kernel row of x, whose norm is stored too; it is updated together with the stored
  // examples. The log gets `why` an example leaves (events.hpp).
  void add(const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs, std::int64_t id);
  void replace(std::size_t i, const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs,
               std::int64_t id, EventKind why = EventKind::evict);
  // The last example moves to index i.
  void remove(std::size_t i, Row<Real>& row, EventKind why = EventKind::evict);
  void add(const Turn<Real>& turn, std::span<const double> coefs) {
    add(turn.x, *turn.row, coefs, turn.round);
  }
  void replace(std::size_t i, const Turn<Real>& turn, std::span<const double> coefs,
               EventKind why = EventKind::evict) {
    replace(i, turn.x, *turn.row, coefs, turn.round, why);
  }
  // Example i stays if stays[i] is i; the others leave; the order is kept. Call set_gamma
  // afterwards. O(all values)
  void keep(std::span<const std::uint32_t> stays, EventKind why = EventKind::evict);
  void clear_coefs();
  // f <- f + sum_i weights_i c k(x_i, .), c = `coefs`. `values` is this sum without c at every x_i;
  // it is read only if the norm is kept. O(B K)
  void shift(std::span<const double> weights, std::span<const double> values,
             std::span<const double> coefs);

  // ---- units ----------------------------------------------------------------------------------
  // Converts the stored examples to other units; call set_gamma afterwards. O(all values)
  void convert(const UnitChange& change);
  // The median of the nonzero squared distances between stored examples, over at most kPairs pairs;
  // 0 if there is none, or if there are fewer than kFewest examples. O(kPairs d)
  [[nodiscard]] double median_squared_distance();
  // Changes the kernel's gamma; recomputes Gram matrix and norm. O(B) rows
  void set_gamma(double gamma);
  // f(x_i) at every x_i, all outputs of one example together. O(B) rows
  void decide_examples(std::vector<double>& outputs) const;
  // sums[j] += sum_i weights[i] * (value j of example i), for the features below sums.size().
  void add_weighed(std::span<const double> weights, std::span<double> sums) const;
  // A scratch row; norms use it too, and nothing else.
  [[nodiscard]] Row<Real>& side_row() const { return side_row_; }
  [[nodiscard]] bool watched() const { return log_ != nullptr; }

  // ---- events ---------------------------------------------------------------------------------
  void watch(EventLog* log) { log_ = log; }  // null: nothing is reported
  void report(const Event& event) const {
    if (log_ != nullptr) log_->add(event);
  }
  // Reports an event of stored example i, as it is now.
  void report(EventKind kind, std::size_t i, std::int64_t other = -1) const {
    if (log_ != nullptr) log_->add({kind, id(i), other, coef_size(i)});
  }
  // Reports an event of the new example.
  void report(EventKind kind, const Turn<Real>& turn, std::span<const double> coefs,
              std::int64_t other = -1) const {
    if (log_ != nullptr) log_->add({kind, turn.round, other, std::sqrt(inner(coefs, coefs))});
  }

  // ---- norm and Gram matrix -------------------------------------------------------------------
  [[nodiscard]] bool keeps_norm() const { return keeps_norm_; }
  [[nodiscard]] double squared_norm() const { return factor() * factor() * squared_norm_; }
  void set_squared_norm(double value) { squared_norm_ = value / (factor() * factor()); }
  // ||f||^2 recomputed from the stored examples. O(B^2 K); without the Gram matrix B rows.
  [[nodiscard]] double find_squared_norm() const;
  // Recomputes ||f||^2 after coefs were changed in place. O(B^2 K); without the Gram matrix B rows.
  void refresh_norm();
  [[nodiscard]] Real gram(std::size_t i, std::size_t j) const {
    return i >= j ? gram_[i * (i + 1) / 2 + j] : gram_[j * (j + 1) / 2 + i];
  }
  // f(x_i) at every x_i, outputs x size, from the Gram matrix. O(B^2 K)
  void decide_stored(std::vector<double>& outputs) const;

  void rearrange(const ClassChange& change);
  void visit_state(StateVisitor& visitor);
  void check_invariants() const;

 private:
  static constexpr std::size_t kPairs = 1024;
  static constexpr std::size_t kFewest = 20;

  void make_table();
  void lay_out(bool dense, ByteLimit limit);
  void make_way(const Sample<Real>& x);
  void grow();
  void set_stride(std::size_t stride);
  void visit_support(StateVisitor& visitor);
  void check_loaded();
  void rescale(double factor);
  void fold();  // multiplies scale into the stored coefs
  // <a_i, f(x_i)> with the stored numbers, before scale and rate.
  [[nodiscard]] double pull(std::size_t i) const;
  // ||f||^2, before scale and rate.
  [[nodiscard]] double pull_of_all() const;
  // The change of the squared norm (before scale and rate) when example i leaves.
  [[nodiscard]] double norm_share(std::size_t i) const;
  void forget(std::size_t i, EventKind why);  // sets the coefs of i to 0 and updates the norm
  void enter(std::size_t i, const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs,
             std::int64_t id);
  void copy_gram_row(std::size_t i, const Row<Real>& row);
  void set_gram_row(std::size_t i, const Real* values, Real self, std::size_t n);
  [[nodiscard]] bool drowns(Real norm) const;
  void row_by_differences(const Sample<Real>& x, Row<Real>& out) const;
  void finish_row(Row<Real>& row) const;  // fills the fields of a row besides its values
  bool pack(RowBlock<Real>& block) const;
  BlockTask<Real> task(RowBlock<Real>& block, std::size_t from, RowTask<Real>* rows) const;
  void bring_up_to_date(RowBlock<Real>& block, std::size_t r) const;

  Kernel kernel_;
  std::size_t outputs_;
  std::size_t capacity_;
  bool keeps_norm_ = false;
  bool keeps_gram_ = false;
  bool keeps_distances_ = false;
  std::unique_ptr<ExampleStore<Real>> support_;
  std::size_t stride_ = 0;
  AlignedVector<double> coefs_;  // outputs x stride, before scale and rate
  std::vector<std::int64_t> ids_;
  double scale_ = 1.0;
  double rate_ = 1.0;
  double squared_norm_ = 0.0;          // of sum_i a_i k(x_i, .), before scale and rate
  std::vector<Real> gram_;             // lower triangle, rows of growing length
  AlignedVector<std::uint8_t> table_;  // simd/gaussian_table.hpp
  mutable Row<Real> side_row_;         // the row of a stored example, for norms
  mutable OwnedSample<Real> side_sample_;
  OwnedSample<Real> converted_;       // scratch: the example that is converted
  std::vector<std::uint32_t> order_;  // scratch: the examples by age, and ...
  std::vector<double> distances_;     // ... distances between them, for their median
  EventLog* log_ = nullptr;
};

}  // namespace budgetron
