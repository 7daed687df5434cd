#include "hypothesis/expansion.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/median.hpp"
#include "hypothesis/capacity.hpp"
#include "hypothesis/saved_examples.hpp"

namespace budgetron {
namespace {

// A lazy factor outside this range is multiplied into the coefs, before either loses digits.
constexpr double kLeastScale = 1e-6;
constexpr double kLargestScale = 1e6;
// If the bound on the rounding of gamma d^2 (Laplacian: gamma d) is larger than this, distances are
// computed from differences.
constexpr double kRounding = 1e-4;
// A block of rows multiplies zeros too; with a smaller share of nonzero values it is slower than
// single rows, which skip zeros.
constexpr double kLeastDensity = 0.6;
// Sparse rows may add features up to here to a dense matrix.
constexpr std::size_t kFarthest = 65536;

}  // namespace

template <class Real>
Expansion<Real>::Expansion(const Kernel& kernel, std::size_t outputs, std::size_t capacity)
    : kernel_(kernel),
      outputs_(outputs),
      capacity_(capacity),
      support_(make_store<Real>(true, kernel.kind == KernelKind::laplacian)) {
  make_table();
}

// The table of Gaussians for binary rows.
template <class Real>
void Expansion<Real>::make_table() {
  if (!std::is_same_v<Real, float> || kernel_.kind != KernelKind::rbf) return;
  table_.resize(kGaussianTableBytes);
  row_functions<Real>().tabulate(task(Row<Real>()), table_.data());
}

// Replaces the store by an empty one of this layout; a byte limit chooses the layout itself.
template <class Real>
void Expansion<Real>::lay_out(bool dense, ByteLimit limit) {
  const std::uint64_t time = support_->clock();
  support_.reset();
  support_ = make_store<Real>(dense, kernel_.kind == KernelKind::laplacian, limit);
  support_->set_clock(time + 1);
  if (keeps_distances_) support_->keep_squared_norms();
  if (limit.given()) support_->reserve(capacity_);
}

// A feature number far beyond the matrix (such as the flag of a gap in a dense row) would make it
// huge: then the examples move to a sparse store. This changes no bit of f.
template <class Real>
void Expansion<Real>::make_way(const Sample<Real>& x) {
  if (!support_->dense() || support_->limit().given() || x.dense()) return;
  if (x.reach() <= std::max(kFarthest, support_->slots().size())) return;
  const SavedExamples<Real> saved(*support_);
  lay_out(false, {});
  saved.load_into(*support_);
  support_->reserve(stride_);
}

template <class Real>
void Expansion<Real>::grow() {
  const std::size_t wanted = next_capacity(support_->size(), capacity_);
  support_->reserve(wanted);
  set_stride(support_->stride());
  if (keeps_gram_) gram_.reserve(wanted * (wanted + 1) / 2);
}

// Allocates coefs and ids for so many examples, and not a byte more.
template <class Real>
void Expansion<Real>::set_stride(std::size_t stride) {
  AlignedVector<double> moved(outputs_ * stride, 0.0);
  for (std::size_t k = 0; k < outputs_; ++k) {
    std::copy_n(coefs_.data() + k * stride_, size(), moved.data() + k * stride);
  }
  coefs_.swap(moved);
  std::vector<std::int64_t> ids(stride, 0);
  std::copy_n(ids_.begin(), std::min(stride, ids_.size()), ids.begin());
  ids_.swap(ids);
  stride_ = stride;
}

template <class Real>
void Expansion<Real>::reserve(const ByteLimit& limit) {
  lay_out(limit.all(), limit);
  set_stride(support_->stride());
  if (keeps_gram_) gram_.reserve(capacity_ * (capacity_ + 1) / 2);
  if ((keeps_norm_ && !keeps_gram_) || limit.changes) reserve_row(side_row_);
  reserve_sample(side_sample_);
  if (!limit.changes) return;
  reserve_sample(converted_);
  if (!limit.finds_gamma) return;
  order_.reserve(capacity_);
  distances_.reserve(std::min(kPairs, capacity_ * (capacity_ - 1) / 2));
}

template <class Real>
void Expansion<Real>::reserve_row(Row<Real>& row) const {
  row.values.resize(std::max(row.values.size(), stride_));
  if (keeps_distances_) row.distances.resize(std::max(row.distances.size(), stride_));
  row.reserve_terms(support_->most_terms());
  if (!support_->dense()) row.listed.reserve(support_->most_values());
}

template <class Real>
std::size_t Expansion<Real>::features() const {
  std::vector<std::int32_t> features;
  OwnedSample<Real> sample;
  for (std::size_t i = 0; i < size(); ++i) {
    support_->extract(i, sample);
    for (std::size_t k = 0; k < sample.values.size(); ++k) {
      if (sample.values[k] != Real(0)) features.push_back(sample.view().feature(k));
    }
  }
  std::ranges::sort(features);
  return features.size() - std::ranges::unique(features).size();
}

template <class Real>
RowTask<Real> Expansion<Real>::task(const Row<Real>& row) const {
  RowTask<Real> task{};
  const ValueColumns<Real>& columns = support_->columns();
  task.support = columns.bytes() ? nullptr : columns.reals();
  task.ones = columns.bytes() ? columns.ones() : nullptr;
  task.stride = columns.stride();
  task.examples = padded(size());
  task.values = row.term_values.data();
  task.slots = row.term_slots.data();
  task.count = row.terms;
  task.hits = row.hits.data();
  task.hit_count = row.hit_count;
  task.binary = row.binary;
  task.norms = support_->norms();
  task.norm = row.norm;
  task.kind = kernel_.kind;
  task.gamma = static_cast<Real>(kernel_.gamma);
  task.coef0 = static_cast<Real>(kernel_.coef0);
  task.degree = kernel_.degree;
  task.table = table_.empty() ? nullptr : table_.data();
  task.farthest = static_cast<double>(row.norm) + support_->largest_norm();
  return task;
}

template <class Real>
void Expansion<Real>::row(const Sample<Real>& x, Row<Real>& out) const {
  support_->gather(x, out);
  if (out.values.size() < stride_) out.values.resize(stride_);
  if (drowns(out.norm)) {
    row_by_differences(x, out);
    return;
  }
  const auto& functions = row_functions<Real>();
  RowTask<Real> work = task(out);
  work.row = out.values.data();
  if (keeps_distances_) {
    if (out.distances.size() < stride_) out.distances.resize(stride_);
    work.distances = out.distances.data();
    if (kernel_.kind != KernelKind::rbf) {
      // This leaves Gaussian values in the row; the actual row overwrites them.
      RowTask<Real> apart = work;
      apart.kind = KernelKind::rbf;
      apart.norms = support_->squared_norms();
      apart.norm = functions.squared_norm.of(x.values, x.count);
      functions.row(apart);
    }
  }
  functions.row(work);
  finish_row(out);
}

// Whether the rounding of norms hides the distances.
template <class Real>
bool Expansion<Real>::drowns(Real norm) const {
  if (!kernel_.isotropic()) return false;
  const double share =
      static_cast<double>(std::numeric_limits<Real>::epsilon()) * kernel_.gamma / kRounding;
  const double x = static_cast<double>(norm);
  // The first bound is above the second, and costs nothing.
  return share * (x + support_->largest_norm()) > 1.0 &&
         share * (x + support_->largest_norm_now()) > 1.0;
}

// Passes the distances to the row function as if they were norms, with x = 0.
template <class Real>
void Expansion<Real>::row_by_differences(const Sample<Real>& x, Row<Real>& out) const {
  constexpr std::size_t tile = 8 * kLanes;
  alignas(64) Real sums[tile];
  const bool laplacian = kernel_.kind == KernelKind::laplacian;
  if (keeps_distances_ && out.distances.size() < stride_) out.distances.resize(stride_);
  RowTask<Real> work = task(Row<Real>());
  work.support = support_->columns().reals();
  work.ones = nullptr;
  work.norms = sums;
  for (std::size_t first = 0; first < padded(size()); first += tile) {
    const std::size_t last = std::min(first + tile, padded(size()));
    work.examples = last - first;
    work.row = out.values.data() + first;
    if (keeps_distances_ || !laplacian) {
      support_->add_differences(x, true, first, last, sums, out.listed);
      if (keeps_distances_) std::copy_n(sums, last - first, out.distances.data() + first);
    }
    if (laplacian) support_->add_differences(x, false, first, last, sums, out.listed);
    row_functions<Real>().row(work);
  }
  finish_row(out);
}

template <class Real>
void Expansion<Real>::finish_row(Row<Real>& out) const {
  out.self = kernel_.isotropic() ? 1.0 : static_cast<double>(row_functions<Real>().self(task(out)));
  out.coarse = kernel_.rounds_coarsely(out.norm);
}

// Packs the samples for the current support; false if a block does not suit them.
template <class Real>
bool Expansion<Real>::pack(RowBlock<Real>& block) const {
  const std::span<const std::uint32_t> slots = support_->slots();
  if (block.width > slots.size()) return false;
  block.values.resize(block.width * kBlockRows + kBlockPadding);
  block.offsets.resize(block.width);
  Real norms[kBlockRows];
  const bool laplacian = kernel_.kind == KernelKind::laplacian;
  PackTask<Real> work{block.samples,        slots.data(), block.width,
                      support_->stride(),   laplacian,    block.values.data(),
                      block.offsets.data(), norms,        0};
  block.features = block_functions<Real>().pack(work);
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    block.rows[r].norm = norms[r];
    if (block.rows[r].values.size() < stride_) block.rows[r].values.resize(stride_);
    if (keeps_distances_ && block.rows[r].distances.size() < stride_) {
      block.rows[r].distances.resize(stride_);
    }
  }
  return static_cast<double>(work.nonzeros) >=
         kLeastDensity * static_cast<double>(block.width * kBlockRows);
}

// The input of the block functions; `rows` has space for kBlockRows.
template <class Real>
BlockTask<Real> Expansion<Real>::task(RowBlock<Real>& block, std::size_t from,
                                      RowTask<Real>* rows) const {
  for (std::size_t r = 0; r < kBlockRows; ++r) {
    rows[r] = task(block.rows[r]);
    rows[r].row = block.rows[r].values.data();
    if (keeps_distances_) rows[r].distances = block.rows[r].distances.data();
  }
  return {rows, from, block.values.data(), block.offsets.data(), block.features};
}

template <class Real>
bool Expansion<Real>::fill(RowBlock<Real>& block, const Real* samples, std::size_t width) const {
  // Distances that are not a by-product need a pass of their own.
  if (size() == 0 || (keeps_distances_ && kernel_.kind != KernelKind::rbf)) return false;
  block.samples = samples;
  block.width = width;
  if (!pack(block)) return false;
  for (const Row<Real>& row : block.rows) {
    if (drowns(row.norm) || std::isnan(row.norm)) return false;  // NaN: a value is missing
  }
  RowTask<Real> rows[kBlockRows];
  block_functions<Real>().values(task(block, 0, rows), 0, padded(size()));
  block.time = support_->clock();
  return true;
}

template <class Real>
Row<Real>& Expansion<Real>::take(RowBlock<Real>& block, std::size_t r) const {
  // A block no longer suits the row: a large example was stored, or all examples left and sparse
  // ones followed.
  if (!support_->dense() || drowns(block.rows[r].norm)) {
    row({block.samples + r * block.width, nullptr, block.width}, block.rows[r]);
    return block.rows[r];
  }
  if (block.time != support_->clock()) {
    bring_up_to_date(block, r);
    block.time = support_->clock();
  }
  finish_row(block.rows[r]);
  return block.rows[r];
}

// Brings the rows from r on up to date. Usually the only change is that the row before was stored.
template <class Real>
void Expansion<Real>::bring_up_to_date(RowBlock<Real>& block, std::size_t r) const {
  const auto waiting = static_cast<std::int64_t>(kBlockRows - r);
  if (support_->slots_moved() > block.time) pack(block);
  RowTask<Real> rows[kBlockRows];
  const BlockTask<Real> work = task(block, r, rows);
  if (support_->clock() == block.time + 1 && support_->slots_moved() <= block.time && r > 0 &&
      support_->newest_values() == block.samples + (r - 1) * block.width) {
    block_functions<Real>().values_of_one(work, support_->newest(), r - 1);
    block.recomputed += waiting;
    return;
  }
  for (std::size_t i = 0; i < size(); i += kLanes) {
    if (support_->changed(i / kLanes) <= block.time) continue;
    block_functions<Real>().values(work, i, i + kLanes);
    block.recomputed += waiting * static_cast<std::int64_t>(kLanes);
  }
}

template <class Real>
void Expansion<Real>::decide(const Row<Real>& row, std::span<double> outputs) const {
  const auto dot = row_functions<Real>().dot;
  const std::size_t n = padded(size());
  for (std::size_t k = 0; k < outputs_; ++k) {
    outputs[k] = n > 0 ? factor() * dot(row.values.data(), stored_coefs(k), n) : 0.0;
  }
}

template <class Real>
void Expansion<Real>::row_of_stored(std::size_t i, Row<Real>& out) const {
  support_->extract(i, side_sample_);
  row(side_sample_.view(), out);
}

template <class Real>
double Expansion<Real>::stored_self(std::size_t i) const {
  if (kernel_.isotropic()) return 1.0;
  RowTask<Real> work{};
  work.kind = kernel_.kind;
  work.gamma = static_cast<Real>(kernel_.gamma);
  work.coef0 = static_cast<Real>(kernel_.coef0);
  work.degree = kernel_.degree;
  work.norm = support_->norms()[i];
  return static_cast<double>(row_functions<Real>().self(work));
}

template <class Real>
void Expansion<Real>::rescale(double factor) {
  if (factor == 0.0) {
    clear_coefs();
    return;
  }
  scale_ *= factor;
  if (scale_ < kLeastScale || scale_ > kLargestScale) fold();
}

template <class Real>
void Expansion<Real>::fold() {
  if (scale_ == 1.0) return;
  for (double& coef : coefs_) coef *= scale_;
  squared_norm_ *= scale_ * scale_;
  scale_ = 1.0;
}

template <class Real>
void Expansion<Real>::clear_coefs() {
  std::fill(coefs_.begin(), coefs_.end(), 0.0);
  scale_ = 1.0;
  squared_norm_ = 0.0;
}

template <class Real>
void Expansion<Real>::shift(std::span<const double> weights, std::span<const double> values,
                            std::span<const double> coefs) {
  double change = 0.0;  // ||f + h||^2 - ||f||^2 = sum_i (2 a_i + h's coef at i) h(x_i)
  for (std::size_t k = 0; k < outputs_; ++k) {
    const double c = coefs[k] / factor();
    double* a = stored_coefs(k);
    if (keeps_norm_) {
      double share = 0.0;
      for (std::size_t i = 0; i < size(); ++i) {
        share += (2.0 * a[i] + c * weights[i]) * (c * values[i]);
      }
      change += share;
    }
    for (std::size_t i = 0; i < size(); ++i) a[i] += c * weights[i];
  }
  if (keeps_norm_) {
    squared_norm_ = std::max(0.0, squared_norm_ + (outputs_ == 1 ? change : 2.0 * change));
  }
}

template <class Real>
void Expansion<Real>::decide_stored(std::vector<double>& outputs) const {
  outputs.assign(outputs_ * size(), 0.0);
  for (std::size_t k = 0; k < outputs_; ++k) {
    const double* a = stored_coefs(k);
    double* f = outputs.data() + k * size();
    const Real* gram_row = gram_.data();
    for (std::size_t i = 0; i < size(); gram_row += ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < i; ++j) {
        const double value = static_cast<double>(gram_row[j]);
        sum += a[j] * value;
        f[j] += a[i] * value;
      }
      f[i] = sum + a[i] * static_cast<double>(gram_row[i]);
    }
    for (std::size_t i = 0; i < size(); ++i) f[i] *= factor();
  }
}

template <class Real>
void Expansion<Real>::decide_examples(std::vector<double>& outputs) const {
  outputs.resize(size() * outputs_);
  for (std::size_t i = 0; i < size(); ++i) {
    row_of_stored(i, side_row_);
    decide(side_row_, {outputs.data() + i * outputs_, outputs_});
  }
}

// Both ways add the examples in their order. In a dense store eight features are summed at a time,
// so that no sum waits for its last term.
template <class Real>
void Expansion<Real>::add_weighed(std::span<const double> weights, std::span<double> sums) const {
  constexpr std::size_t together = 8;
  const std::span<const std::uint32_t> slots = support_->slots();
  const std::size_t width = std::min(sums.size(), slots.size());
  for (std::size_t first = 0; first < width; first += together) {
    const std::size_t count = std::min(together, width - first);
    const Real* columns[together];
    double parts[together] = {};
    for (std::size_t c = 0; c < together; ++c) {
      const std::size_t j = first + std::min(c, count - 1);
      columns[c] = support_->columns().reals() + slots[j] * support_->columns().stride();
      parts[c] = sums[j];
    }
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t c = 0; c < together; ++c) {
        parts[c] += weights[i] * static_cast<double>(columns[c][i]);
      }
    }
    std::copy_n(parts, count, sums.data() + first);
  }
  for (std::size_t i = 0; i < size() && !support_->dense(); ++i) {
    support_->extract(i, side_sample_);
    const Sample<Real> x = side_sample_.view();
    for (std::size_t k = 0; k < x.count && x.feature(k) < std::ssize(sums); ++k) {
      sums[static_cast<std::size_t>(x.feature(k))] += weights[i] * static_cast<double>(x.values[k]);
    }
  }
}

template <class Real>
void Expansion<Real>::convert(const UnitChange& change) {
  if (!change.converts) return;
  for (std::size_t i = 0; i < size(); ++i) {
    support_->extract(i, side_sample_);
    const bool older = ids_[i] < change.since;
    change.convert(side_sample_.view(), converted_, older, true);
    // If there is no room for the features that it lacked, these stay 0.
    if (!support_->fits(converted_.view())) {
      change.convert(side_sample_.view(), converted_, older, false);
    }
    support_->replace(i, converted_.view());
  }
  support_->set_largest_norm(support_->largest_norm_now());
}

template <class Real>
double Expansion<Real>::median_squared_distance() {
  const std::size_t n = size();
  if (n < kFewest || !kernel_.isotropic()) return 0.0;
  const bool reserved = distances_.capacity() > 0;
  order_.resize(n);
  std::iota(order_.begin(), order_.end(), std::uint32_t{0});
  std::sort(order_.begin(), order_.end(), [this](std::uint32_t i, std::uint32_t j) {
    return ids_[i] != ids_[j] ? ids_[i] < ids_[j] : i < j;
  });
  // Use every `step`-th pair (i, j), j < i, in the order of age.
  const std::size_t step = (n * (n - 1) / 2 + kPairs - 1) / kPairs;
  distances_.clear();
  // Each example is in several pairs: without a limit of memory it is extracted once, in the order
  // in which examples are stored, which is the fastest.
  std::vector<OwnedSample<Real>> samples(support_->limit().given() ? 0 : n);
  for (std::size_t i = 0; i < samples.size(); ++i) support_->extract(i, samples[i]);
  const auto sample = [&](std::size_t i, OwnedSample<Real>& out) {
    if (!samples.empty()) return samples[order_[i]].view();
    support_->extract(order_[i], out);
    return out.view();
  };
  std::size_t j = 0;
  for (std::size_t i = 1; i < n; ++i) {
    const Sample<Real> x = j < i ? sample(i, side_sample_) : Sample<Real>();
    for (; j < i; j += step) {
      const double distance = squared_distance(x, sample(j, converted_));
      if (distance != 0.0) distances_.push_back(distance);
    }
    j -= i;
  }
  const double found = median(distances_);
  if (!reserved) {
    std::vector<std::uint32_t>().swap(order_);
    std::vector<double>().swap(distances_);
  }
  return found;
}

template <class Real>
void Expansion<Real>::set_gamma(double gamma) {
  kernel_.gamma = gamma;
  make_table();
  if (keeps_gram_) {
    for (std::size_t i = 0; i < size(); ++i) {
      row_of_stored(i, side_row_);
      set_gram_row(i, side_row_.values.data(), static_cast<Real>(side_row_.self), i + 1);
    }
  }
  if (keeps_norm_) refresh_norm();
}

template <class Real>
double Expansion<Real>::inner(std::span<const double> p, std::span<const double> q) const {
  double sum = 0.0;
  for (std::size_t k = 0; k < p.size(); ++k) sum += p[k] * q[k];
  return outputs_ == 1 ? sum : 2.0 * sum;
}

template <class Real>
double Expansion<Real>::coef_size(std::size_t i) const {
  if (outputs_ == 1) return std::abs(coef(i, 0));
  double sum = 0.0;
  for (std::size_t k = 0; k < outputs_; ++k) sum += coef(i, k) * coef(i, k);
  return std::sqrt(2.0 * sum);
}

template <class Real>
void Expansion<Real>::coef_sizes(std::vector<double>& sizes) const {
  sizes.resize(size());
  coef_functions<Real>().sizes(coefs_.data(), stride_, outputs_, factor(), size(), sizes.data());
}

template <class Real>
void Expansion<Real>::stored_sizes(std::vector<double>& sizes) const {
  sizes.resize(size());
  coef_functions<Real>().sizes(coefs_.data(), stride_, outputs_, 1.0, size(), sizes.data());
}

template <class Real>
double Expansion<Real>::pull(std::size_t i) const {
  if (!keeps_gram_) row_of_stored(i, side_row_);
  double sum = 0.0;
  for (std::size_t k = 0; k < outputs_; ++k) {
    const double* a = stored_coefs(k);
    double f = 0.0;
    if (keeps_gram_) {
      for (std::size_t j = 0; j < size(); ++j) f += a[j] * static_cast<double>(gram(i, j));
    } else {
      f = row_functions<Real>().dot(side_row_.values.data(), a, padded(size()));
    }
    sum += a[i] * f;
  }
  return outputs_ == 1 ? sum : 2.0 * sum;
}

template <class Real>
double Expansion<Real>::norm_share(std::size_t i) const {
  double square = 0.0;  // <a_i, a_i>
  for (std::size_t k = 0; k < outputs_; ++k) square += stored_coefs(k)[i] * stored_coefs(k)[i];
  if (square == 0.0) return 0.0;
  if (outputs_ > 1) square *= 2.0;
  return 2.0 * pull(i) - square * stored_self(i);
}

template <class Real>
double Expansion<Real>::pull_of_all() const {
  double norm = 0.0;
  for (std::size_t i = 0; i < size(); ++i) norm += pull(i);
  return std::max(0.0, norm);
}

template <class Real>
double Expansion<Real>::find_squared_norm() const {
  return factor() * factor() * pull_of_all();
}

template <class Real>
void Expansion<Real>::refresh_norm() {
  squared_norm_ = pull_of_all();
}

template <class Real>
void Expansion<Real>::forget(std::size_t i, EventKind why) {
  if (why != EventKind::none) report(why, i);
  if (keeps_norm_) squared_norm_ = std::max(0.0, squared_norm_ - norm_share(i));
  for (std::size_t k = 0; k < outputs_; ++k) stored_coefs(k)[i] = 0.0;
}

template <class Real>
void Expansion<Real>::copy_gram_row(std::size_t i, const Row<Real>& row) {
  if (i == size()) gram_.resize((i + 1) * (i + 2) / 2);
  set_gram_row(i, row.values.data(), static_cast<Real>(row.self), size());
}

// Sets row and column i of the Gram matrix of n examples to values[j], and the diagonal to `self`.
template <class Real>
void Expansion<Real>::set_gram_row(std::size_t i, const Real* values, Real self, std::size_t n) {
  Real* const own = gram_.data() + i * (i + 1) / 2;
  std::copy_n(values, i, own);
  own[i] = self;
  for (std::size_t j = i + 1; j < n; ++j) gram_[j * (j + 1) / 2 + i] = values[j];
}

// Example i, whose coefs are 0, becomes (x, coefs). The caller changes the support.
template <class Real>
void Expansion<Real>::enter(std::size_t i, const Sample<Real>&, Row<Real>& row,
                            std::span<const double> coefs, std::int64_t id) {
  if (keeps_norm_) {
    // ||f + c k(x,.)||^2 = ||f||^2 + 2 <c, f(x)> + <c, c> k(x, x), all before scale and rate
    double change = 0.0;
    for (std::size_t k = 0; k < outputs_; ++k) {
      const double c = coefs[k] / factor();
      const double f =
          row_functions<Real>().dot(row.values.data(), stored_coefs(k), padded(size()));
      change += 2.0 * c * f + c * c * row.self;
    }
    squared_norm_ = std::max(0.0, squared_norm_ + (outputs_ == 1 ? change : 2.0 * change));
  }
  if (keeps_gram_) copy_gram_row(i, row);
  for (std::size_t k = 0; k < outputs_; ++k) stored_coefs(k)[i] = coefs[k] / factor();
  ids_[i] = id;
  row.values[i] = static_cast<Real>(row.self);
  if (keeps_distances_) row.distances[i] = Real(0);
}

template <class Real>
void Expansion<Real>::add(const Sample<Real>& x, Row<Real>& row, std::span<const double> coefs,
                          std::int64_t id) {
  if (size() == 0 && x.dense() != support_->dense() && !support_->limit().given()) {
    lay_out(x.dense(), {});
    support_->reserve(stride_);
  }
  make_way(x);
  if (size() == stride_) grow();
  if (row.values.size() < stride_) row.values.resize(stride_);
  if (keeps_distances_ && row.distances.size() < stride_) row.distances.resize(stride_);
  enter(size(), x, row, coefs, id);
  support_->append(x, row.norm);
}

template <class Real>
void Expansion<Real>::replace(std::size_t i, const Sample<Real>& x, Row<Real>& row,
                              std::span<const double> coefs, std::int64_t id, EventKind why) {
  make_way(x);
  forget(i, why);
  enter(i, x, row, coefs, id);
  support_->replace(i, x, row.norm);
}

template <class Real>
void Expansion<Real>::remove(std::size_t i, Row<Real>& row, EventKind why) {
  forget(i, why);
  const std::size_t last = size() - 1;
  if (i != last) {
    for (std::size_t k = 0; k < outputs_; ++k) {
      double* a = stored_coefs(k);
      a[i] = a[last];
      a[last] = 0.0;
    }
    ids_[i] = ids_[last];
    row.values[i] = row.values[last];
    if (keeps_distances_) row.distances[i] = row.distances[last];
    if (keeps_gram_) {
      const Real* const moved = gram_.data() + last * (last + 1) / 2;
      set_gram_row(i, moved, moved[last], last);
    }
  }
  if (keeps_gram_) gram_.resize(last * (last + 1) / 2);
  support_->remove(i);
}

template <class Real>
void Expansion<Real>::keep(std::span<const std::uint32_t> stays, EventKind why) {
  const std::size_t before = size();
  std::size_t to = 0;
  for (std::size_t i = 0; i < before; ++i) {
    if (stays[i] != i) {
      if (why != EventKind::none) report(why, i);
      continue;
    }
    if (to != i) {
      support_->extract(i, side_sample_);
      support_->replace(to, side_sample_.view());
      for (std::size_t k = 0; k < outputs_; ++k) stored_coefs(k)[to] = stored_coefs(k)[i];
      ids_[to] = ids_[i];
    }
    ++to;
  }
  for (std::size_t last = before; last > to; --last) {
    for (std::size_t k = 0; k < outputs_; ++k) stored_coefs(k)[last - 1] = 0.0;
    support_->remove(last - 1);
  }
  if (keeps_gram_) gram_.resize(to * (to + 1) / 2);
}

template <class Real>
void Expansion<Real>::rearrange(const ClassChange& change) {
  rearrange_outputs(coefs_, stride_, change);
  outputs_ = ClassChange::outputs(change.after);
}

template <class Real>
void Expansion<Real>::visit_state(StateVisitor& visitor) {
  visit_support(visitor);
  visitor.fixed("outputs", outputs_);
  visitor.field("scale", scale_);
  visitor.field("rate", rate_);
  visitor.field("squared_norm", squared_norm_);
  visitor.field("coefs", coefs_);
  visitor.field("ids", ids_);
  visitor.field("gram", gram_);
  visitor.scratch(table_);
  if (visitor.loading()) check_loaded();
  visitor.part("side_row", side_row_);
  visitor.scratch(side_sample_.values);
  visitor.scratch(side_sample_.indices);
  visitor.scratch(converted_.values);
  visitor.scratch(converted_.indices);
  visitor.scratch(order_);
  visitor.scratch(distances_);
}

template <class Real>
void Expansion<Real>::visit_support(StateVisitor& visitor) {
  if (visitor.mode() == StateVisitor::Mode::count) return support_->count_bytes(visitor);
  SavedExamples<Real> saved;
  if (!visitor.loading()) saved = SavedExamples<Real>(*support_);
  visitor.part("support", saved);
  if (!visitor.loading()) return;
  lay_out(saved.dense(), support_->limit());
  saved.load_into(*support_);
}

// There is one id per stored example, and padding; memory is allocated only after this check.
template <class Real>
void Expansion<Real>::check_loaded() {
  stride_ = ids_.size();
  require(size() <= stride_ && (capacity_ == 0 || size() <= capacity_) &&
              stride_ == padded(stride_) && coefs_.size() == outputs_ * stride_,
          "expansion");
  require(gram_.size() == (keeps_gram_ ? size() * (size() + 1) / 2 : 0), "Gram matrix");
  require(all_finite(coefs_) && std::isfinite(factor()) && factor() != 0.0 && squared_norm_ >= 0.0,
          "coefs");
  for (const std::int64_t id : ids_) require(id >= 0, "ids");
  for (std::size_t k = 0; k < outputs_; ++k) {
    for (std::size_t i = size(); i < stride_; ++i) {
      require(stored_coefs(k)[i] == 0.0, "padding");
    }
  }
  // The state may come from a larger budget, or is loaded into a byte limit.
  const std::size_t most = padded(capacity_);
  if (capacity_ > 0 && (stride_ > most || (stride_ < most && support_->stride() == most))) {
    set_stride(most);
  }
  support_->reserve(stride_);
  require(support_->stride() == stride_, "support");
}

template <class Real>
void Expansion<Real>::check_invariants() const {
  support_->check_invariants();
  const auto fail = [](const std::string& what) {
    throw std::logic_error("expansion invariant broken: " + what);
  };
  if (capacity_ > 0 && size() > capacity_) fail("more examples than the capacity");
  double norm = 0.0;
  Row<Real> fresh;
  for (std::size_t i = 0; i < size(); ++i) {
    row_of_stored(i, fresh);
    if (keeps_gram_) {
      for (std::size_t j = 0; j < size(); ++j) {
        const double difference = static_cast<double>(gram(i, j) - fresh.values[j]);
        const double size = std::max(1.0, std::abs(static_cast<double>(fresh.values[j])));
        if (std::abs(difference) >
            64.0 * static_cast<double>(std::numeric_limits<Real>::epsilon()) * size) {
          fail("the Gram matrix is stale");
        }
      }
    }
    std::vector<double> f(outputs_);
    decide(fresh, f);
    for (std::size_t k = 0; k < outputs_; ++k) norm += coef(i, k) * f[k];
  }
  if (outputs_ > 1) norm *= 2.0;
  if (keeps_norm_) {
    const double tolerance = std::is_same_v<Real, float> ? 1e-3 : 1e-7;
    if (std::abs(norm - squared_norm()) > tolerance * (1.0 + norm)) fail("the norm is stale");
  }
  for (std::size_t k = 0; k < outputs_; ++k) {
    for (std::size_t i = size(); i < stride_; ++i) {
      if (stored_coefs(k)[i] != 0.0) fail("a padding coef is not zero");
    }
  }
}

template class Expansion<float>;
template class Expansion<double>;

}  // namespace budgetron
