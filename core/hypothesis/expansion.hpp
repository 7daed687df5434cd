// The hypothesis  f = scale * rate * sum_i a_i k(x_i, .),  the vocabulary every learner is written
// in.
//
// scale is the lazy product of all shrinking so far; rate is a factor that a learner sets outright,
// as Pegasos does with 1/(lambda t), whose a_i then never change and whose ties stay exact.
//
// a_i is a vector of K numbers: K = 1 for two classes (a_i carries the label's sign) and for
// regression, K = the number of classes beyond two. With K > 1 coefs have the inner product
// <p, q> = 2 p.q, which makes every two-class formula read unchanged (see papers/page.py).
//
// Kept on request: ||f||^2, incrementally, and the Gram matrix, from the kernel rows of the rounds
// that stored each example. Coefs, scale and norm are float64 whatever Real is.
//
// Invariants: coefs of the padding are 0; gram(i, j) = k(x_i, x_j); squared_norm() is the norm
// of what is stored. check_invariants() recomputes them.
//
// Cost: row O(B d) (sparse: O(B nnz)); decide O(B K); scale O(1); add and replace O(d + B K), with
// the norm kept one more kernel row on replace and remove unless the Gram matrix is kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
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
  // `capacity` = the most examples it will hold, 0 for no limit.
  Expansion(const Kernel& kernel, std::size_t outputs, std::size_t capacity);

  // ---- what it keeps --------------------------------------------------------------------------
  void keep_norm() { keeps_norm_ = true; }
  void keep_gram() { keeps_gram_ = true; }
  // ||x_i - x||^2 in every row: free with the Gaussian kernel, a second pass with any other.
  void keep_distances() {
    keeps_distances_ = true;
    support_.keep_squared_norms();
  }

  // Takes all the memory there will be. Called before anything is stored.
  void reserve(const ByteLimit& limit);
  // The same for a row, and for an example taken out.
  void reserve_row(Row<Real>& row) const;
  void reserve_sample(OwnedSample<Real>& sample) const { sample.reserve(support_.most_values()); }

  [[nodiscard]] std::size_t size() const { return support_.size(); }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  // Whether x can be added; whether its features find slots (byte_limit.hpp) as things are, in the
  // place of example i, or where nothing else is stored.
  [[nodiscard]] bool has_room(const Sample<Real>& x) const {
    return (capacity_ == 0 || size() < capacity_) && support_.fits(x);
  }
  [[nodiscard]] bool fits(const Sample<Real>& x) const { return support_.fits(x); }
  [[nodiscard]] bool fits_instead(std::size_t i, const Sample<Real>& x) const {
    return support_.fits_instead(i, x);
  }
  [[nodiscard]] bool fits_alone(const Sample<Real>& x) const { return support_.fits_alone(x); }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const ExampleStore<Real>& support() const { return support_; }
  [[nodiscard]] std::int64_t id(std::size_t i) const { return ids_[i]; }
  [[nodiscard]] const std::int64_t* ids() const { return ids_.data(); }
  // 0 if nothing is stored.
  [[nodiscard]] std::size_t oldest() const {
    return size() > 0 ? coef_functions<Real>().oldest(ids_.data(), size()) : 0;
  }
  // The example with the least score(i), the oldest of the tied. Needs size() > 0.
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

  // The same of scores that are at hand, `least` the least of them.
  [[nodiscard]] std::size_t least_of(std::span<const double> scores, double least) const {
    const auto find = coef_functions<Real>().find;
    std::size_t best = find(scores.data(), 0, size(), least);
    if (best == size()) return 0;  // all overflowed
    for (std::size_t i = best; (i = find(scores.data(), i + 1, size(), least)) < size();) {
      if (id(i) < id(best)) best = i;
    }
    return best;
  }

  // ---- evaluating -----------------------------------------------------------------------------
  void row(const Sample<Real>& x, Row<Real>& out) const;
  void decide(const Row<Real>& row, std::span<double> outputs) const;
  // The rows of kBlockRows dense samples, one after the other in memory, which must stay there; the
  // same values that `row` finds. False if that is not possible or does not pay.
  bool fill(RowBlock<Real>& block, const Real* samples, std::size_t width) const;
  // Row r of the block as it is now: what changed since is computed anew, in all rows from r on.
  Row<Real>& take(RowBlock<Real>& block, std::size_t r) const;
  // The task of the row function for a row whose terms were gathered, without where to write.
  [[nodiscard]] RowTask<Real> task(const Row<Real>& row) const;
  // The kernel row of stored example i, computed afresh.
  void row_of_stored(std::size_t i, Row<Real>& out) const;
  [[nodiscard]] double stored_self(std::size_t i) const;  // k(x_i, x_i)

  // ---- coefs ----------------------------------------------------------------------------------
  void scale(double factor) {  // f <- factor f, O(1)
    if (factor != 1.0) rescale(factor);
  }
  void multiply(double factor) {  // the same, in the coefs themselves, O(B K)
    scale_ *= factor;
    fold();
  }
  void set_rate(double rate) { rate_ = rate; }                    // O(1)
  [[nodiscard]] double factor() const { return scale_ * rate_; }  // true coef = factor * stored
  [[nodiscard]] std::size_t stride() const { return stride_; }    // from output to output
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
  void coef_sizes(std::vector<double>& sizes) const;    // of all
  void stored_sizes(std::vector<double>& sizes) const;  // the same before scale and rate

  // ---- storing --------------------------------------------------------------------------------
  // `row` is the kernel row of x; it is kept in step with the stored examples. `why` an example
  // leaves is reported to the log (events.hpp).
  void add(const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs, std::int64_t id);
  void replace(std::size_t i, const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs,
               std::int64_t id, EventKind why = EventKind::evict);
  // The last example moves to i.
  void remove(std::size_t i, Row<Real>& row, EventKind why = EventKind::evict);
  void add(const Turn<Real>& turn, std::span<const double> coefs) {
    add(turn.x, *turn.row, coefs, turn.round);
  }
  void replace(std::size_t i, const Turn<Real>& turn, std::span<const double> coefs,
               EventKind why = EventKind::evict) {
    replace(i, turn.x, *turn.row, coefs, turn.round, why);
  }
  // Example i stays if stays[i] is i, the others leave; the order is kept. Then set_gamma must be
  // called. O(all values)
  void keep(std::span<const std::uint32_t> stays, EventKind why = EventKind::evict);
  void clear_coefs();
  // f <- f + sum_i weights_i c k(x_i, .), c = `coefs`. `values`, its sum without c at every x_i, is
  // read if the norm is kept. O(B K)
  void shift(std::span<const double> weights, std::span<const double> values,
             std::span<const double> coefs);

  // ---- units ----------------------------------------------------------------------------------
  // Stored examples in other units; then set_gamma must be called. O(all values)
  void convert(const UnitChange& change);
  // The median squared distance other than 0 between the stored examples, of at most kPairs pairs;
  // 0 if there is none, or if there are fewer than kFewest examples. O(kPairs d)
  [[nodiscard]] double median_squared_distance();
  // The kernel from now on; Gram matrix and norm anew. O(B) rows
  void set_gamma(double gamma);
  // f(x_i) at every x_i, outputs of one after those of the other. O(B) rows
  void decide_examples(std::vector<double>& outputs) const;
  // A row to compute in, which takes turns with norms and nothing else.
  [[nodiscard]] Row<Real>& side_row() const { return side_row_; }
  [[nodiscard]] bool watched() const { return log_ != nullptr; }

  // ---- events ---------------------------------------------------------------------------------
  void watch(EventLog* log) { log_ = log; }  // null: nothing is reported
  void report(const Event& event) const {
    if (log_ != nullptr) log_->add(event);
  }
  // Of stored example i, as it is now.
  void report(EventKind kind, std::size_t i, std::int64_t other = -1) const {
    if (log_ != nullptr) log_->add({kind, id(i), other, coef_size(i)});
  }
  // Of the newcomer.
  void report(EventKind kind, const Turn<Real>& turn, std::span<const double> coefs,
              std::int64_t other = -1) const {
    if (log_ != nullptr) log_->add({kind, turn.round, other, std::sqrt(inner(coefs, coefs))});
  }

  // ---- norm and Gram matrix -------------------------------------------------------------------
  [[nodiscard]] bool keeps_norm() const { return keeps_norm_; }
  [[nodiscard]] double squared_norm() const { return factor() * factor() * squared_norm_; }
  void set_squared_norm(double value) { squared_norm_ = value / (factor() * factor()); }
  // ||f||^2 from the stored examples. O(B^2 K); without the Gram matrix B rows.
  [[nodiscard]] double find_squared_norm() const;
  // ||f||^2 anew, after coefs were changed in place. O(B^2 K); without the Gram matrix B rows.
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
  void grow();
  void set_stride(std::size_t stride);
  void check_loaded();
  void rescale(double factor);
  void fold();  // scale into the stored coefs
  // <a_i, f(x_i)> of the stored numbers, before scale and rate.
  [[nodiscard]] double pull(std::size_t i) const;
  // ||f||^2, before scale and rate.
  [[nodiscard]] double pull_of_all() const;
  // What the squared norm (of the stored numbers) changes by when example i leaves.
  [[nodiscard]] double norm_share(std::size_t i) const;
  void forget(std::size_t i, EventKind why);  // coefs of i to 0, norm accordingly
  void enter(std::size_t i, const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs,
             std::int64_t id);
  void copy_gram_row(std::size_t i, const Row<Real>& row);
  void set_gram_row(std::size_t i, const Real* values, Real self, std::size_t n);
  [[nodiscard]] bool drowns(Real norm) const;
  void row_by_differences(const Sample<Real>& x, Row<Real>& out) const;
  void look_up_distances(RowTask<Real>& task) const;
  void finish_row(Row<Real>& row) const;  // what a row says besides its values
  bool pack(RowBlock<Real>& block) const;
  BlockTask<Real> task(RowBlock<Real>& block, std::size_t from, RowTask<Real>* rows) const;
  void bring_up_to_date(RowBlock<Real>& block, std::size_t r) const;

  Kernel kernel_;
  std::size_t outputs_;
  std::size_t capacity_;
  bool keeps_norm_ = false;
  bool keeps_gram_ = false;
  bool keeps_distances_ = false;
  ExampleStore<Real> support_;
  std::size_t stride_ = 0;
  AlignedVector<double> coefs_;  // outputs x stride, before scale and rate
  std::vector<std::int64_t> ids_;
  double scale_ = 1.0;
  double rate_ = 1.0;
  double squared_norm_ = 0.0;          // of sum_i a_i k(x_i, .), before scale and rate
  std::vector<Real> gram_;             // lower triangle, rows of growing length
  AlignedVector<std::uint8_t> table_;  // see RowTask
  mutable Row<Real> side_row_;         // the row of a stored example, for norms
  mutable OwnedSample<Real> side_sample_;
  OwnedSample<Real> converted_;       // the example that changes its units
  std::vector<std::uint32_t> order_;  // of the examples' ages, and ...
  std::vector<double> distances_;     // ... between them, for their median
  EventLog* log_ = nullptr;
};

}  // namespace budgetron
