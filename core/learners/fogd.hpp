// FOGD: online gradient descent on random Fourier features (Lu, Hoi, Wang, Zhao, Liu 2016,
// algorithm 1).
//
//   z(x) = [cos(omega_1.x) .. cos(omega_D.x), sin(omega_1.x) .. sin(omega_D.x)] / sqrt(D)
//   f(x) = w.z(x) ;   w <- w - step slope z(x) u
//
// omega is drawn from the kernel's spectral density, so that z(x).z(x') is k(x, x') in expectation
// (Rahimi & Recht 2007): N(0, 2 gamma) per feature for the Gaussian kernel, Cauchy(0, gamma) for
// the Laplacian. The D frequencies of a feature depend on (seed, feature) alone: not on the order
// in which features appear, nor on when the model was saved. They are kept from the feature's first
// nonzero value on; a model file lists the features and draws the frequencies again.
//
// Only the weights are stored. Frequencies are feature-major, D contiguous, so that a value of x
// adds to D angles at once (fourier.hpp). Features have the rows' type, like kernel values; weights
// are float64.
//
// Cost: D multiply-adds per non-zero of x, D cosines and sines, 2 D K for f and 2 D per output that
// moves. With a byte limit (byte_limit.hpp) frequencies without a slot are drawn each time. Memory:
// D Reals per feature seen, 2 D K float64 weights.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/feature_table.hpp"
#include "hypothesis/loss.hpp"
#include "hypothesis/padded_matrix.hpp"
#include "learners/learner.hpp"
#include "simd/fourier.hpp"

namespace budgetron {

template <class Real>
class Fogd final : public Learner<Real> {
 public:
  Fogd(const Spec& spec, std::size_t outputs)
      : kernel_(make_kernel(spec.part("kernel"))),
        loss_(spec.part("loss")),
        components_(spec.count("n_components")),
        stride_(padded(components_)),
        step_(spec.number("step")),
        seed_(static_cast<std::uint64_t>(spec.integer("seed"))),
        root_(1.0 / std::sqrt(static_cast<double>(components_))),
        outputs_(outputs),
        weights_(outputs, 2 * stride_) {
    if (!kernel_.isotropic())
      throw std::invalid_argument("fogd: the kernel has no spectral density");
  }

  void decide(const Sample<Real>& x, Row<Real>& row, std::span<double> outputs) const override {
    map(x, row);
    for (std::size_t k = 0; k < outputs_; ++k) {
      outputs[k] = root_ * decide_with(row, weights_.row(k), 2 * stride_);
    }
    row.self = 1.0;
  }
  [[nodiscard]] CoefView coef_view() const override {
    return {2 * stride_, weights_.row(0), weights_.stride(), root_, nullptr};
  }
  [[nodiscard]] double decide_with(const Row<Real>& row, const double* weights,
                                   std::size_t count) const override {
    return row_functions<Real>().dot(row.values.data(), weights, count);
  }

  std::size_t frequencies(std::int32_t feature, std::vector<Real>& out) const override {
    out.resize(components_);
    draw(feature, out.data());
    return components_;
  }

  // No examples are stored: f stays the same function of the coordinates, but for the width.
  UnitsChanged change_units(const UnitChange& change, double) override {
    const double gamma = kernel_.gamma / change.spread;
    const Real usable = static_cast<Real>(gamma);
    if (change.finds_gamma && gamma != kernel_.gamma && std::isfinite(usable) && usable > Real(0)) {
      kernel_.gamma = gamma;
      for (std::size_t slot = 0; slot < features_.size(); ++slot) {
        draw(features_[slot], frequencies_.data() + slot * stride_);
      }
    }
    return {.gamma = kernel_.gamma};
  }

  bool learn(const Turn<Real>& turn) override {
    if (turn.row->new_features > 0) remember(turn.x, turn.row->new_features);
    const double slope = loss_.slope(turn.margin);
    if (slope == 0.0) return false;
    for (std::size_t k = 0; k < outputs_; ++k) {
      const double by = -step_ * slope * root_ * turn.direction[k];
      if (by == 0.0) continue;
      fourier_functions<Real>().add_scaled(weights_.row(k), turn.row->values.data(), by,
                                           2 * stride_);
    }
    return true;
  }

  // Frequencies of features without a slot are drawn again whenever the feature occurs.
  void reserve(const ByteLimit& limit) override {
    limit_ = limit;
    slots_.reserve(limit.width, limit.slots);
    features_.reserve(limit.slots);
    frequencies_.reserve(limit.slots * stride_);
  }
  void reserve_row(Row<Real>& row) const override {
    row.values.resize(2 * stride_);
    row.distances.resize(stride_);
    row.term_values.resize(limit_.slots + 1);
    row.term_slots.resize(limit_.slots + 1);
  }
  [[nodiscard]] std::size_t most_coefs() const override { return 2 * stride_; }

  // The last frequencies leave. f is a mean over D frequencies; it becomes the mean over the rest.
  void lower(std::size_t components, std::size_t slots, Row<Real>&, Random&) override {
    components = std::min(components, components_);
    const std::size_t stride = padded(components);
    PaddedMatrix fewer(outputs_, 2 * stride);
    const double growth =
        std::sqrt(static_cast<double>(components_) / static_cast<double>(components));
    for (std::size_t k = 0; k < outputs_; ++k) {
      for (std::size_t i = 0; i < components; ++i) {
        fewer.row(k)[i] = growth * weights_.row(k)[i];
        fewer.row(k)[stride + i] = growth * weights_.row(k)[stride_ + i];
      }
    }
    weights_.swap(fewer);
    components_ = components;
    stride_ = stride;
    root_ = 1.0 / std::sqrt(static_cast<double>(components));
    if (slots > 0 && features_.size() > slots) features_.resize(slots);
    draw_again();
  }

  void scale_targets(double factor) override { weights_.multiply(factor); }

  void rearrange(const ClassChange& change) override {
    weights_.rearrange(change);
    outputs_ = weights_.rows();
  }

  void visit_state(StateVisitor& visitor) override {
    visitor.object(sizeof(*this) + slots_.bytes());
    visitor.fixed("outputs", outputs_);
    visitor.field("features", features_);  // in slot order, which is the order of drawing
    visitor.scratch(frequencies_);
    if (visitor.mode() == StateVisitor::Mode::load) draw_again();
    visit_weights(visitor);
  }

  void check_invariants() const override {
    std::vector<Real> column(components_);
    for (std::size_t slot = 0; slot < features_.size(); ++slot) {
      draw(features_[slot], column.data());
      for (std::size_t i = 0; i < stride_; ++i) {
        const Real expected = i < components_ ? column[i] : Real(0);
        if (frequencies_[slot * stride_ + i] != expected) {
          throw std::logic_error("fogd invariant broken: frequencies are not their feature's");
        }
      }
      if (slots_.find(features_[slot]) != slot) {
        throw std::logic_error("fogd invariant broken: a feature has another's slot");
      }
    }
  }

 private:
  // Cosines and sines of omega.x into row.values; the padding is 0.
  void map(const Sample<Real>& x, Row<Real>& row) const {
    if (row.values.size() < 2 * stride_) row.values.resize(2 * stride_);
    const std::size_t terms = gather(x, row);
    if (row.new_features > 0) begin_angles(x, row);
    Real* const cosines = row.values.data();
    fourier_functions<Real>().map(
        {frequencies_.data(), stride_, row.term_values.data(), row.term_slots.data(), terms,
         row.new_features > 0 ? row.distances.data() : nullptr, cosines, cosines + stride_});
    std::fill(cosines + components_, cosines + stride_, Real(0));
    row.norm = row_functions<Real>().squared_norm.of(x.values, x.count);
    row.coarse = kernel_.rounds_coarsely(row.norm);
  }

  // The terms of x that have a slot; returns their number, and counts the other features.
  std::size_t gather(const Sample<Real>& x, Row<Real>& row) const {
    // One more may be overwritten.
    const std::size_t most = std::min(x.count, features_.size()) + 1;
    if (row.term_values.size() < most) row.term_values.resize(most);
    if (row.term_slots.size() < most) row.term_slots.resize(most);
    Real* const values = row.term_values.data();
    std::uint32_t* const slots = row.term_slots.data();
    std::size_t terms = 0;
    std::uint32_t new_features = 0;
    for (std::size_t k = 0; k < x.count; ++k) {
      const bool there = x.values[k] != Real(0);
      const std::uint32_t slot = slots_.find(x.feature(k));
      values[terms] = x.values[k];
      slots[terms] = slot;
      terms += there & (slot != kNoSlot);
      new_features += there & (slot == kNoSlot);
    }
    row.new_features = new_features;
    return terms;
  }

  // Adds the angles of features without a slot, drawn only for this row, into row.distances.
  void begin_angles(const Sample<Real>& x, Row<Real>& row) const {
    row.distances.assign(stride_, Real(0));
    for (std::size_t k = 0; k < x.count; ++k) {
      if (x.values[k] == Real(0) || slots_.find(x.feature(k)) != kNoSlot) continue;
      draw(x.feature(k),
           [&](std::size_t i, Real frequency) { row.distances[i] += x.values[k] * frequency; });
    }
  }

  // Calls `take(i, frequency)` with the frequencies of one feature.
  template <class Take>
  void draw(std::int32_t feature, Take take) const {
    Random random = Random::of_feature(seed_, feature);
    if (kernel_.kind == KernelKind::laplacian) {
      for (std::size_t i = 0; i < components_; ++i) {
        take(i, static_cast<Real>(kernel_.gamma * random.cauchy()));
      }
      return;
    }
    const double deviation = std::sqrt(2.0 * kernel_.gamma);
    for (std::size_t i = 0; i < components_; i += 2) {
      const auto [first, second] = random.normal_pair();
      take(i, static_cast<Real>(deviation * first));
      if (i + 1 < components_) take(i + 1, static_cast<Real>(deviation * second));
    }
  }
  void draw(std::int32_t feature, Real* column) const {
    draw(feature, [column](std::size_t i, Real frequency) { column[i] = frequency; });
  }

  void remember(std::int32_t feature) {
    const std::size_t slot = features_.size();
    slots_.insert(feature, static_cast<std::uint32_t>(slot));
    features_.push_back(feature);
    frequencies_.resize((slot + 1) * stride_, Real(0));
    draw(feature, frequencies_.data() + slot * stride_);
  }

  // x has this many features without a slot.
  void remember(const Sample<Real>& x, std::size_t new_features) {
    if (x.dense() && !limit_.given())
      frequencies_.reserve((features_.size() + new_features) * stride_);
    for (std::size_t k = 0; k < x.count; ++k) {
      if (limit_.given() && features_.size() == limit_.slots) return;
      const bool strange = slots_.find(x.feature(k)) == kNoSlot;
      if (x.values[k] != Real(0) && strange) remember(x.feature(k));
    }
  }

  void draw_again() {
    const std::vector<std::int32_t> features = features_;
    slots_.clear();
    features_.clear();
    frequencies_.clear();
    if (!limit_.given()) frequencies_.reserve(features.size() * stride_);
    for (const std::int32_t feature : features) {
      require(feature >= 0 && slots_.find(feature) == kNoSlot &&
                  (!limit_.given() || (features_.size() < limit_.slots &&
                                       static_cast<std::size_t>(feature) < limit_.width)),
              "features");
      remember(feature);
    }
  }

  // Saved like in the page, (2 D, K), without the padding between cosines and sines.
  void visit_weights(StateVisitor& visitor) {
    if (visitor.mode() == StateVisitor::Mode::count) {
      weights_.visit_state(visitor, "", 0, 0);
      return;
    }
    std::vector<double> numbers;
    if (visitor.mode() == StateVisitor::Mode::save) {
      weights_.pack(outputs_, 0, components_, numbers);
      weights_.pack(outputs_, stride_, components_, numbers);
    }
    visitor.field("weights", numbers);
    if (visitor.mode() == StateVisitor::Mode::save) return;
    require(numbers.size() == 2 * components_ * outputs_ && all_finite(numbers), "weights");
    weights_ = PaddedMatrix(outputs_, 2 * stride_);
    weights_.unpack(outputs_, 0, components_, numbers.data());
    weights_.unpack(outputs_, stride_, components_, numbers.data() + components_ * outputs_);
  }

  Kernel kernel_;
  Loss loss_;
  std::size_t components_;  // D
  std::size_t stride_;      // D, padded
  double step_;
  std::uint64_t seed_;
  double root_;  // 1/sqrt(D)
  std::size_t outputs_;
  ByteLimit limit_;
  FeatureTable slots_;
  std::vector<std::int32_t> features_;  // per slot
  AlignedVector<Real> frequencies_;     // omega: slots x stride, the padding 0
  PaddedMatrix weights_;                // outputs x (cosines, sines), each padded
};

}  // namespace budgetron
