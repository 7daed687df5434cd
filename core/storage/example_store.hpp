// The stored examples behind one interface: append, replace, remove, extract, and `gather`, which
// looks up what a row has in common with them.
//
//                            ExampleStore: norms, changes
//                         /                                      \.
//   DenseStore: a matrix, one slot per feature     SparseStore: slots and postings
//                         \                              |  LimitedStore: slots in fixed memory
//                     ValueColumns: slot = one feature, column i = example i
//
// The first row that is stored fixes the layout, as it fixes the dtype (Expansion::add), unless a
// later feature is so far that a matrix would be too wide (Expansion::make_way); a byte limit
// (byte_limit.hpp) fixes it in advance. A row of the other layout is converted when it
// enters: a dense store writes the zeros of a sparse row, a sparse store leaves the zeros of a
// dense row out. Sums take terms in the order of the features, and adding 0 * s changes no bit:
// results do not depend on the layout.
//
// Examples sit in columns 0..size-1; removing one moves the last into its column.
//
// Invariants: padding columns and absent features are 0; norms[i] is the norm of column i by the
// row's own arithmetic.
//
// Cost: append, replace, remove and extract are O(features of the example), O(width) in a dense
// store; growing is O(all).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_vector.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "storage/byte_limit.hpp"
#include "storage/row_terms.hpp"
#include "storage/value_columns.hpp"

namespace budgetron {

template <class Real>
class ExampleStore {
 public:
  virtual ~ExampleStore() = default;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] const ValueColumns<Real>& columns() const { return columns_; }
  [[nodiscard]] const Real* norms() const { return norms_.front().values.data(); }
  [[nodiscard]] double largest_norm() const { return largest_norm_; }

  // Times of changes, for caches of what was computed from the store: the time now; when one of the
  // examples [kLanes group, kLanes (group + 1)) last changed; when slots last moved.
  [[nodiscard]] std::uint64_t clock() const { return clock_; }
  [[nodiscard]] std::uint64_t changed(std::size_t group) const { return changed_[group]; }
  [[nodiscard]] std::uint64_t slots_moved() const { return slots_moved_; }
  void set_clock(std::uint64_t time) { clock_ = time; }  // continues the clock of another store
  // The example stored last, and the address of the values it was copied from; null if another
  // example was moved to its column.
  [[nodiscard]] std::size_t newest() const { return newest_; }
  [[nodiscard]] const Real* newest_values() const { return newest_values_; }
  // ||x_i||^2: the norm itself, or kept beside it on request.
  void keep_squared_norms() {
    const NormFunctions<Real>* const squared = &row_functions<Real>().squared_norm;
    if (norms_.back().functions != squared)
      norms_.push_back({squared, AlignedVector<Real>(stride_)});
  }
  [[nodiscard]] const Real* squared_norms() const { return norms_.back().values.data(); }
  // The largest norm of the current examples; the other is that of all that were ever stored.
  [[nodiscard]] double largest_norm_now() const {
    return size_ > 0 ? static_cast<double>(*std::max_element(norms(), norms() + size_)) : 0.0;
  }
  void set_largest_norm(double norm) { largest_norm_ = norm; }

  // ---- looking up -----------------------------------------------------------------------------
  // The norm and the terms of x: the input of the kernel row function.
  virtual void gather(const Sample<Real>& x, RowTerms<Real>& row) const = 0;
  // ||x_i - x||^2 or ||x_i - x||_1 for the examples [first, last), as sums of differences of
  // features; 0 for padding. For norms so large that rounding hides the distances. `listed` is
  // scratch.
  virtual void add_differences(const Sample<Real>& x, bool squared, std::size_t first,
                               std::size_t last, Real* sums,
                               std::vector<std::int32_t>& listed) const = 0;
  // Where the values of a feature are: in a slot, or in postings, or nowhere. Valid until the store
  // changes.
  struct Stored {
    std::int32_t feature;
    std::uint32_t slot = kNoSlot;
    bool anywhere = false;
  };
  [[nodiscard]] virtual Stored stored(std::int32_t feature) const = 0;
  // The value of example i there.
  [[nodiscard]] Real value(const Stored& stored, std::size_t i) const {
    return stored.slot != kNoSlot ? columns_.at(stored.slot, i) : posted(stored.feature, i);
  }
  [[nodiscard]] virtual bool dense() const = 0;
  // The slots of features 0, 1, ...; empty in a sparse store.
  [[nodiscard]] virtual std::span<const std::uint32_t> slots() const { return {}; }
  virtual void extract(std::size_t i, OwnedSample<Real>& out) const = 0;
  [[nodiscard]] Real norm_of(const Sample<Real>& x) const { return norms_.front().of(x); }

  // ---- a byte limit ---------------------------------------------------------------------------
  [[nodiscard]] const ByteLimit& limit() const { return limit_; }
  // Whether the features of x fit beside the stored ones; whether they fit into an empty store.
  [[nodiscard]] virtual bool fits(const Sample<Real>&) const { return true; }
  [[nodiscard]] virtual bool fits_alone(const Sample<Real>&) const { return true; }
  // The most terms that `gather` writes, and the most values that `extract` returns.
  [[nodiscard]] virtual std::size_t most_terms() const { return limit_.width; }
  [[nodiscard]] std::size_t most_values() const { return std::min(limit_.width, limit_.slots); }

  // ---- storing --------------------------------------------------------------------------------
  // Allocates memory for so many examples; with a byte limit, all that will ever be used.
  void reserve(std::size_t examples) {
    if (padded(examples) > stride_) set_stride(padded(examples));
  }
  // `norm` is that of x.
  void append(const Sample<Real>& x, Real norm) {
    if (size_ == stride_) reserve(std::max<std::size_t>(kLanes, 2 * stride_));
    write(size_, x);
    set_norms(size_++, x, norm);
  }
  void replace(std::size_t i, const Sample<Real>& x, Real norm) {
    if (!covers(x)) erase(i);
    write(i, x);
    set_norms(i, x, norm);
  }
  void append(const Sample<Real>& x) { append(x, norm_of(x)); }
  void replace(std::size_t i, const Sample<Real>& x) { replace(i, x, norm_of(x)); }
  void remove(std::size_t i);

  // ---- memory and invariants ------------------------------------------------------------------
  virtual void count_bytes(StateVisitor& visitor) const {
    columns_.scratch(visitor);
    visitor.scratch(norms_);
    for (const Norms& norms : norms_) visitor.scratch(norms.values);
    visitor.scratch(changed_);
  }
  // Recomputes everything that is kept incrementally; throws std::logic_error if it differs.
  void check_invariants() const;

 protected:
  // `l1`: for the Laplacian kernel, whose norms are ||x||_1, and which also sums |v - s| over
  // features that no example has: they read a slot of zeros. `bytes`: see ValueColumns.
  ExampleStore(bool l1, bool bytes, const ByteLimit& limit)
      : columns_(bytes), limit_(limit), norms_{{&row_functions<Real>().squared_norm, {}}} {
    if (!l1) return;
    norms_.front().functions = &row_functions<Real>().absolute_norm;
    first_slot_ = 1;
    unknown_ = kZeroSlot;
    columns_.add_slot();
  }

  // What add_differences adds for a difference.
  static auto term(bool squared) {
    return [squared](Real d) { return squared ? d * d : std::abs(d); };
  }
  // The value in a posting; 0 if there is none.
  [[nodiscard]] virtual Real posted(std::int32_t, std::size_t) const { return Real(0); }
  // Writes x into column i, which is empty, or whose values x covers.
  virtual void write(std::size_t i, const Sample<Real>& x) = 0;
  [[nodiscard]] virtual bool covers(const Sample<Real>&) const { return false; }
  virtual void erase(std::size_t i) = 0;                           // column i becomes empty
  virtual void move(std::size_t from, std::size_t to) = 0;         // `to` must be empty
  virtual void set_columns(std::size_t) {}                         // gets memory for so many
  [[nodiscard]] virtual std::string broken_invariant() const = 0;  // of the values; "" if all hold

  [[nodiscard]] const NormFunctions<Real>& norm_functions() const {
    return *norms_.front().functions;
  }
  void set_stride(std::size_t stride);

  static constexpr std::uint32_t kZeroSlot = 0;

  std::uint32_t first_slot_ = 0;     // the first slot of a feature
  std::uint32_t unknown_ = kNoSlot;  // the slot that a feature without a slot reads
  std::size_t size_ = 0;
  std::size_t stride_ = 0;
  std::uint64_t clock_ = 0;
  std::uint64_t slots_moved_ = 0;
  ValueColumns<Real> columns_;
  const ByteLimit limit_;

 private:
  struct Norms {
    const NormFunctions<Real>* functions;
    AlignedVector<Real> values;  // per example

    [[nodiscard]] Real of(const Sample<Real>& x) const { return functions->of(x.values, x.count); }
  };

  void set_norms(std::size_t i, const Sample<Real>& x, Real norm) {
    record_change(i, x.values);
    norms_.front().values[i] = norm;
    largest_norm_ = std::max(largest_norm_, static_cast<double>(norm));
    for (std::size_t k = 1; k < norms_.size(); ++k) norms_[k].values[i] = norms_[k].of(x);
  }
  // Records that column i now holds another example, copied from these values.
  void record_change(std::size_t i, const Real* values) {
    changed_[i / kLanes] = ++clock_;
    newest_ = i;
    newest_values_ = values;
  }

  double largest_norm_ = 0.0;  // of all examples ever stored: an upper bound for the current ones
  std::vector<Norms> norms_;   // the kernel's norm, and ||x_i||^2 if it is kept
  std::size_t newest_ = 0;
  const Real* newest_values_ = nullptr;
  std::vector<std::uint64_t> changed_;  // per kLanes examples
};

// Makes an empty store. A byte limit chooses the layout itself.
template <class Real>
std::unique_ptr<ExampleStore<Real>> make_store(bool dense, bool l1, const ByteLimit& limit = {});

}  // namespace budgetron
