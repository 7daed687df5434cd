// Looks up what a row and sparse examples have in common: terms, and hits with features in posting
// lists (row_terms.hpp).
#include <algorithm>
#include <cmath>

#include "storage/sparse_store.hpp"

namespace budgetron {

template <class Real>
void SparseStore<Real>::gather(const Sample<Real>& x, RowTerms<Real>& row) const {
  TermWriter<Real> terms(row, std::min(x.count, most_terms_), listed_values_ > 0);
  if (x.dense() || x.count > most_terms_ || this->unknown_ != kNoSlot) {
    row.norm = this->norm_of(x);
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0)) continue;
      const Stored there = stored(x.feature(k));
      const std::uint32_t slot = there.anywhere() ? there.slot : this->unknown_;
      if (slot != kNoSlot || !there.few.empty()) terms.add(x.values[k], slot, there.few);
    }
    terms.finish();
    mark_binary(row, false);
    return;
  }
  const std::span<const std::uint32_t> words(words_);
  Real* const values = terms.values();
  std::uint32_t* const slots = terms.slots();
  std::size_t k = 0;
  std::size_t count = 0;
  std::uint32_t flags = 0;
  bool ones = true;
  for (; k < x.count && !hashed(x.indices[k]); ++k) {
    const Real value = x.values[k];
    const auto feature = static_cast<std::size_t>(x.indices[k]);
    const std::uint32_t word = feature < words.size() ? words[feature] : kNoSlot;
    const bool there = (value != Real(0)) & (word != kNoSlot);
    ones &= value == Real(1);
    values[count] = value;
    slots[count] = word;
    count += there;
    flags |= there ? word : 0;
  }
  if (is_list(flags)) {
    add_words(terms, count);
  } else {
    terms.set_count(count);
  }
  row.norm = ones ? static_cast<Real>(k) : row_functions<Real>().squared_norm(x.values, k);
  if (k < x.count) gather_hashed(x, k, terms, row.norm);
  terms.finish();
  mark_binary(row, ones && k == x.count);
}

// The first `count` slots hold words of features; words of posting lists become hits.
template <class Real>
void SparseStore<Real>::add_words(TermWriter<Real>& terms, std::size_t count) const {
  for (std::size_t t = 0; t < count; ++t) {
    const Stored there = stored_by(terms.slots()[t]);
    terms.add(terms.values()[t], there.slot, there.few);
  }
}

// The terms of x from its feature k on, which are all in the hash table. All features are looked up
// first, so that no lookup waits for the memory of another, and no branch predicts which are there.
template <class Real>
void SparseStore<Real>::gather_hashed(const Sample<Real>& x, std::size_t k, TermWriter<Real>& terms,
                                      Real& norm) const {
  std::uint32_t which[kBatch];
  std::uint32_t places[kBatch];
  while (k < x.count) {
    const std::size_t count = std::min(kBatch, x.count - k);
    BucketTask<Real> work = buckets_.task({x.indices + k, count}, x.values + k, which, places);
    work.norm = norm;
    const std::size_t found = buckets_.find(work);
    norm = work.norm;
    for (std::size_t f = 0; f < found; ++f) {
      const Real value = x.values[k + which[f]];
      const Stored there = stored_at(places[f]);
      if (value != Real(0)) terms.add(value, there.slot, there.few);
    }
    k += count;
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
