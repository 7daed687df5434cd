// Gathering: the terms of a row x, and its hits with features in posting lists (row_terms.hpp).
#include <algorithm>

#include "storage/example_store.hpp"

namespace budgetron {

template <class Real>
class ExampleStore<Real>::TermWriter {
 public:
  // `has_lists`: some features are in lists or single values; else there are no hits to count.
  TermWriter(RowTerms<Real>& row, std::size_t most, bool has_lists)
      : row_(row), has_lists_(has_lists) {
    if (row.term_values.size() < most) {
      row.term_values.resize(most);
      row.term_slots.resize(most);
    }
    if (has_lists && row.hits_before.size() < most + 1) row.hits_before.resize(most + 1);
  }
  [[nodiscard]] Real* values() { return row_.term_values.data(); }
  [[nodiscard]] std::uint32_t* slots() { return row_.term_slots.data(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  void set_count(std::size_t count) { count_ = count; }

  void set_no_hits() { std::fill_n(row_.hits_before.begin(), count_, 0u); }

  // Few values or, if there are none, a slot.
  void add(Real value, std::uint32_t slot, std::span<const Posting<Real>> few) {
    values()[count_] = value;
    slots()[count_] = slot;
    if (has_lists_) row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
    count_ += few.empty();
    if (hits_ + few.size() > row_.hits.size()) [[unlikely]] {
      row_.hits.resize(2 * (hits_ + few.size()));
    }
    Hit<Real>* hit = row_.hits.data() + hits_;
    for (const Posting<Real>& posting : few) *hit++ = {posting.example, posting.value, value};
    hits_ += few.size();
  }
  void finish() {
    row_.terms = count_;
    if (has_lists_) row_.hits_before[count_] = static_cast<std::uint32_t>(hits_);
    row_.has_hits = hits_ > 0;
  }

 private:
  RowTerms<Real>& row_;
  const bool has_lists_;
  std::size_t count_ = 0;
  std::size_t hits_ = 0;
};

template <class Real>
void ExampleStore<Real>::gather(const Sample<Real>& x, RowTerms<Real>& row) const {
  const auto& functions = row_functions<Real>();
  row.binary = false;
  if (limit_.given() && !l1_ && !limit_.all()) {
    row.norm = norm_of(x);
    row.term_values.clear();
    row.term_slots.clear();
    for (std::size_t k = 0; k < x.count; ++k) {
      const std::uint32_t slot = slots_.find(x.feature(k));
      if (x.values[k] == Real(0) || slot == kNoSlot) continue;
      row.term_values.push_back(x.values[k]);
      row.term_slots.push_back(slot);
    }
    row.terms = row.term_values.size();
    row.has_hits = false;
    return;
  }
  TermWriter terms(row, x.count, listed_values_ > 0);
  const std::vector<std::uint32_t>& direct = slots_.direct();
  if (x.dense() && !l1_ && x.count <= direct.size()) {
    terms.set_count(functions.gather(x.values, direct.data(), x.count, terms.values(),
                                     terms.slots(), &row.norm));
    if (listed_values_ > 0) lists_to_hits(terms);
    terms.finish();
    mark_binary(row, false);
    return;
  }
  if (l1_ || x.dense() || limit_.given()) {
    row.norm = norm_of(x);
    for (std::size_t k = 0; k < x.count; ++k) {
      const Stored there = stored(x.feature(k));
      if (x.values[k] == Real(0) || (!l1_ && !there.anywhere())) continue;
      terms.add(x.values[k], there.anywhere() ? there.slot : kZeroSlot, there.few);
    }
    terms.finish();
    mark_binary(row, false);
    return;
  }
  std::size_t k = 0;
  std::size_t count = 0;
  bool ones = true;
  for (; k < x.count && !in_bucket(x.indices[k]); ++k) {
    ones &= x.values[k] == Real(1);
    const auto feature = static_cast<std::size_t>(x.indices[k]);
    const std::uint32_t word = feature < direct.size() ? direct[feature] : kNoSlot;
    terms.values()[count] = x.values[k];
    terms.slots()[count] = word;
    count += (x.values[k] != Real(0)) & (word != kNoSlot);
  }
  terms.set_count(count);
  if (listed_values_ > 0) lists_to_hits(terms);
  row.norm = ones ? static_cast<Real>(k) : functions.squared_norm(x.values, k);
  if (k < x.count) gather_hashed(x, k, terms, row.norm);
  terms.finish();
  mark_binary(row, ones && k == x.count);
}

// Whether what x has in common with binary examples, kept as bytes, are ones, and no more of them
// than a byte counts. `known`: they are ones.
template <class Real>
void ExampleStore<Real>::mark_binary(RowTerms<Real>& row, bool known) const {
  if (!columns_.bytes()) return;
  const std::size_t hits = row.has_hits ? row.hits_before[row.terms] : 0;
  bool ones = row.terms + hits < 256;
  if (!known) {
    for (std::size_t k = 0; k < row.terms; ++k) ones &= row.term_values[k] == Real(1);
    for (std::size_t h = 0; h < hits; ++h) ones &= row.hits[h].value == Real(1);
  }
  row.binary = ones;
}

// The slots written so far are words: those of lists become hits.
template <class Real>
void ExampleStore<Real>::lists_to_hits(TermWriter& terms) const {
  const std::size_t count = terms.count();
  std::uint32_t all = 0;
  for (std::size_t t = 0; t < count; ++t) all |= terms.slots()[t];
  if ((all & kListFlag) == 0) return terms.set_no_hits();
  terms.set_count(0);
  for (std::size_t t = 0; t < count; ++t) {
    const Stored there = stored_by(terms.slots()[t]);
    terms.add(terms.values()[t], there.slot, there.few);
  }
}

// The terms from x's feature k on, all of them in the hash table. First all are looked up, so that
// no lookup waits for the memory of another, and no branch guesses which are there.
template <class Real>
void ExampleStore<Real>::gather_hashed(const Sample<Real>& x, std::size_t k, TermWriter& terms,
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

template void ExampleStore<float>::gather(const Sample<float>&, RowTerms<float>&) const;
template void ExampleStore<double>::gather(const Sample<double>&, RowTerms<double>&) const;

}  // namespace budgetron
