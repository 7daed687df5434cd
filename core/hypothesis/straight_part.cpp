#include "hypothesis/straight_part.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace budgetron {

void StraightPart::clear() {
  slots_ = FeatureTable();
  features_ = {};
  variances_ = {};
  for (AlignedVector<double>& set : weights_) set = {};
  size_ = stride_ = 0;
  in_order_ = true;
}

// Allocates a quarter more if features come one by one.
void StraightPart::grow(std::size_t size) {
  if (size > stride_) set_stride(std::max(size, size_ > 0 ? size + size / 4 : 0));
  size_ = size;
}

void StraightPart::set_stride(std::size_t stride) {
  for (std::size_t set = 0; set < sets_; ++set) {
    AlignedVector<double> moved(outputs_ * stride, 0.0);
    for (std::size_t k = 0; k < outputs_; ++k) {
      std::copy_n(weights(k, set), size_, moved.data() + k * stride);
    }
    weights_[set].swap(moved);
  }
  stride_ = stride;
}

void StraightPart::change_units(const UnitChange& change, std::vector<UnitStep>* steps) {
  constexpr double most = 1e100;  // so that variances stay finite
  rounds_ = 0;
  if (steps != nullptr) steps->assign(size_, UnitStep{});
  for (std::size_t j = 1; j < size_; ++j) {
    const UnitStep step = change.step(features_[j - 1]);
    if (!(step.ratio > 1.0 / most && step.ratio < most && std::abs(step.shift) < most)) continue;
    if (steps != nullptr) (*steps)[j] = step;
    for (std::size_t k = 0; k < sets_ * outputs_; ++k) {
      double* const w = weights(k % outputs_, k / outputs_);
      w[0] += step.shift * w[j];
      w[j] *= step.ratio;
    }
    if (variances_.empty()) continue;
    variances_[0] += step.shift * step.shift * variances_[j];
    variances_[j] *= step.ratio * step.ratio;
  }
  if (outputs_ > 1) balance();
}

// The outputs of several classes sum to 0. Rows never correct a sum that rounding leaves, and
// changes of units would let it grow.
void StraightPart::balance() {
  for (std::size_t set = 0; set < sets_; ++set) {
    for (std::size_t j = 0; j < size_; ++j) {
      double sum = 0.0;
      for (std::size_t k = 0; k < outputs_; ++k) sum += weights(k, set)[j];
      const double mean = sum / static_cast<double>(outputs_);
      for (std::size_t k = 0; k < outputs_; ++k) weights(k, set)[j] -= mean;
    }
  }
}

void StraightPart::reserve(std::size_t width, std::size_t features, bool diagonal) {
  slots_.reserve(width, features);
  features_.reserve(features);
  set_stride(1 + features);
  if (diagonal) variances_.reserve(1 + features);
}

// Saved by coordinate, K numbers each, without the padding.
void StraightPart::visit_weights(StateVisitor& visitor, const std::string& name, std::size_t set) {
  if (visitor.mode() == StateVisitor::Mode::count) {
    visitor.scratch(weights_[set]);
    return;
  }
  std::vector<double> numbers;
  for (std::size_t j = 0; j < size_ && !visitor.loading(); ++j) {
    for (std::size_t k = 0; k < outputs_; ++k) numbers.push_back(weights(k, set)[j]);
  }
  visitor.field(name, numbers);
  if (!visitor.loading()) return;
  require(numbers.size() == outputs_ * size_ && all_finite(numbers), "straight part");
  for (std::size_t j = 0; j < size_; ++j) {
    for (std::size_t k = 0; k < outputs_; ++k) weights(k, set)[j] = numbers[j * outputs_ + k];
  }
}

void StraightPart::visit_state(StateVisitor& visitor) {
  visitor.field("features", features_);
  visitor.field("coordinates", size_);
  if (visitor.loading()) {
    require(size_ == (size_ > 0 ? 1 : 0) + features_.size(), "straight part");
    const std::vector<std::int32_t> features = std::move(features_);
    features_.clear();
    features_.reserve(std::max(features.size() + 1, stride_) - 1);
    slots_.clear();
    in_order_ = true;
    for (const std::int32_t feature : features) {
      require(feature >= 0 && slots_.find(feature) == kNoSlot, "straight part");
      place(feature);
    }
  }
  if (visitor.loading()) {
    const std::size_t size = std::exchange(size_, 0);
    set_stride(std::max(size, stride_));
    size_ = size;
  }
  visit_weights(visitor, "weights", 0);
  if (sets_ > 1) visit_weights(visitor, "reflex_weights", 1);
  visitor.field("variances", variances_);
  visitor.field("rows", rounds_);
  visitor.field("mean_square", mean_square_);
  visitor.field("nonzeros", nonzeros_);
  visitor.object(slots_.bytes());
  if (!visitor.loading()) return;
  if (!variances_.empty()) variances_.reserve(stride_);
  for (const double variance : variances_) {
    require(variance > 0.0 && std::isfinite(variance), "straight part");
  }
  require((variances_.empty() || variances_.size() == size_) && rounds_ <= kRounds &&
              mean_square_ >= 0.0 && mean_square_ <= kLargest && nonzeros_ >= 0.0 &&
              std::isfinite(nonzeros_),
          "straight part");
}

void StraightPart::check_invariants() const {
  const auto fail = [](const std::string& what) {
    throw std::logic_error("straight part invariant broken: " + what);
  };
  if (size_ > 0 && size_ != 1 + features_.size()) fail("its size");
  for (std::size_t slot = 0; slot < features_.size(); ++slot) {
    if (slots_.find(features_[slot]) != slot) fail("a feature is not where it is looked for");
  }
  if (size_ > stride_) fail("the room for weights");
  for (std::size_t set = 0; set < sets_; ++set) {
    if (weights_[set].size() != outputs_ * stride_) fail("the room for weights");
    for (std::size_t i = 0; i < weights_[set].size(); ++i) {
      if (!std::isfinite(weights_[set][i])) fail("a weight is not finite");
      if (i % stride_ >= size_ && weights_[set][i] != 0.0) fail("a weight without a feature");
    }
  }
  if (!variances_.empty() && variances_.size() != size_) fail("the number of variances");
  for (const double variance : variances_) {
    if (!(variance > 0.0 && std::isfinite(variance))) fail("a variance is not positive");
  }
}

}  // namespace budgetron
