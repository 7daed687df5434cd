// Looks up what a row and sparse examples have in common: terms, and hits with
// postings (row_terms.hpp).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "storage/sparse_store.hpp"

namespace budgetron {

template <class Real>
void SparseStore<Real>::gather(const Sample<Real>& x, RowTerms<Real>& row) const {
  TermWriter<Real> terms(row, std::min(x.count, most_terms_), postings_ > 0);
  if (x.dense() || x.count > most_terms_ || this->unknown_ != kNoSlot) {
    row.norm = this->norm_of(x);
    for (std::size_t k = 0; k < x.count; ++k) {
      const Real value = x.values[k];
      const std::uint32_t slot = array_slot(x.feature(k));
      if (value == Real(0)) continue;
      bool there = slot != kNoSlot;
      if (there) {
        terms.add(value, slot);
      } else {
        table_.visit(x.feature(k), [&](const auto& entry) {
          there = true;
          terms.add(value, entry);
        });
      }
      if (!there && this->unknown_ != kNoSlot) terms.add(value, this->unknown_);
    }
    terms.finish();
    mark_binary(row, false);
    return;
  }
  // Most rows of most streams only have features with a slot in the array.
  const std::span<const std::uint32_t> array(array_);
  Real* const values = terms.values();
  std::uint32_t* const slots = terms.slots();
  std::size_t count = 0;
  bool all = true;
  bool ones = true;
  for (std::size_t k = 0; k < x.count && all; ++k) {
    const Real value = x.values[k];
    const auto feature = static_cast<std::size_t>(x.indices[k]);
    const std::uint32_t slot = feature < array.size() ? array[feature] : kNoSlot;
    all = slot != kNoSlot;
    ones &= value == Real(1);
    values[count] = value;
    slots[count] = slot;
    count += value != Real(0);
  }
  if (all) {
    terms.set_count(count);
    row.norm = ones ? static_cast<Real>(x.count) : this->norm_of(x);
  } else {
    row.norm = Real(0);
    gather_all(x, terms, row.norm);
  }
  terms.finish();
  mark_binary(row, ones && all);
}

// Looks the features without a slot in the array up in the hash table, many at once, so that no
// lookup waits for the memory of another. Then adds the terms in the order of the features.
template <class Real>
void SparseStore<Real>::gather_all(const Sample<Real>& x, TermWriter<Real>& terms,
                                   Real& norm) const {
  std::int32_t missing[kBatch];
  std::uint32_t numbers[kBatch];
  std::uint32_t found_slots[kBatch];
  for (std::size_t k = 0; k < x.count; k += kBatch) {
    const std::size_t count = std::min(kBatch, x.count - k);
    std::size_t known = 0;  // the features before this one may have a slot in the array
    std::size_t others = 0;
    for (; known < count && static_cast<std::size_t>(x.indices[k + known]) < array_.size();
         ++known) {
      found_slots[known] = array_[static_cast<std::size_t>(x.indices[k + known])];
      missing[others] = x.indices[k + known];
      numbers[others] = static_cast<std::uint32_t>(known);
      others += found_slots[known] == kNoSlot;
    }
    std::copy(x.indices + k + known, x.indices + k + count, missing + others);
    std::iota(numbers + others, numbers + others + (count - known),
              static_cast<std::uint32_t>(known));
    others += count - known;
    BucketTask<Real> work = table_.task(missing, others);
    work.squares = x.values + k;
    work.squares_count = count;
    work.norm = norm;
    const std::size_t found = table_.find(work);
    norm = work.norm;
    std::size_t at = 0;
    const auto add_known = [&](std::size_t end) {
      for (; at < std::min(end, known); ++at) {
        if (found_slots[at] != kNoSlot && x.values[k + at] != Real(0)) {
          terms.add(x.values[k + at], found_slots[at]);
        }
      }
    };
    for (std::size_t f = 0; f < found; ++f) {
      const std::size_t number = numbers[work.which[f]];
      const Real value = x.values[k + number];
      add_known(number);
      if (value == Real(0)) continue;
      table_.visit(missing[work.which[f]], work.matches[f],
                   [&](const auto& entry) { terms.add(value, entry); });
    }
    add_known(count);
  }
}

// Sets `binary`: the support is in bytes, all common values are 1, and a byte can count them.
// `known`: the values of x are known to be 1.
template <class Real>
void SparseStore<Real>::mark_binary(RowTerms<Real>& row, bool known) const {
  if (!columns_.bytes()) return;
  bool ones = row.terms + row.hit_count < 256;
  if (!known) {
    for (std::size_t k = 0; k < row.terms; ++k) ones &= row.term_values[k] == Real(1);
    for (std::size_t h = 0; h < row.hit_count; ++h) ones &= row.hits[h].value == Real(1);
  }
  row.binary = ones;
}

// Merges, for each example, its sorted features with those of x.
template <class Real>
void SparseStore<Real>::add_differences(const Sample<Real>& x, bool squared, std::size_t first,
                                        std::size_t last, Real* sums,
                                        std::vector<std::int32_t>& listed) const {
  std::fill(sums, sums + (last - first), Real(0));
  const auto term = [squared](Real d) { return squared ? d * d : std::abs(d); };
  for (std::size_t i = first; i < std::min(last, size_); ++i) {
    Real sum(0);
    std::size_t k = 0;
    for (const std::int32_t feature : features_of(i, listed)) {
      for (; k < x.count && x.feature(k) < feature; ++k) sum += term(x.values[k]);
      const bool there = k < x.count && x.feature(k) == feature;
      const Real value = there ? x.values[k++] : Real(0);
      sum += term(value - this->value(stored(feature), i));
    }
    for (; k < x.count; ++k) sum += term(x.values[k]);
    sums[i - first] = sum;
  }
}

template void SparseStore<float>::gather(const Sample<float>&, RowTerms<float>&) const;
template void SparseStore<double>::gather(const Sample<double>&, RowTerms<double>&) const;
template void SparseStore<float>::add_differences(const Sample<float>&, bool, std::size_t,
                                                  std::size_t, float*,
                                                  std::vector<std::int32_t>&) const;
template void SparseStore<double>::add_differences(const Sample<double>&, bool, std::size_t,
                                                   std::size_t, double*,
                                                   std::vector<std::int32_t>&) const;

}  // namespace budgetron
