// The first rows of a stream, kept until gamma and scale are final, to be learned again.
//
// It keeps each row as the learner saw it (if units are found from them: as it came), in its
// layout, with target and weight, and each class that joined, in the order of the stream. So a
// replay shows a new learner what the old one saw, and each target means the same class.
//
// With a byte limit whose memory is enough for rows of full width all rows are kept dense, and no
// memory is needed for feature numbers.
//
// Cost: the squared distances of n rows O(n^2 non-zeros). Memory: the rows, at most kRows, and
// their distances.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/median.hpp"
#include "base/sample.hpp"
#include "base/state.hpp"
#include "hypothesis/expansion.hpp"
#include "model/gaps.hpp"
#include "simd/unit_counts.hpp"

namespace budgetron {

template <class Real>
class Warmup {
 public:
  static constexpr std::size_t kRows = 200;  // fewer if memory is limited

  // `classes`: the number known before the first row.
  explicit Warmup(std::size_t classes) : classes_(classes) {}

  [[nodiscard]] std::size_t size() const { return targets_.size(); }
  [[nodiscard]] std::size_t classes() const { return classes_; }

  // Allocates memory for so many rows and so many values in total; no more are kept.
  void reserve(std::size_t rows, std::size_t values, std::size_t width, bool distances) {
    most_rows_ = rows;
    most_values_ = values;
    dense_width_ = width > 0 && values >= rows * width ? width : 0;
    values_.reserve(values);
    if (dense_width_ == 0) indices_.reserve(values);
    widths_.reserve(rows);
    ends_.reserve(rows);
    targets_.reserve(rows);
    weights_.reserve(rows);
    views_.reserve(rows);
    if (distances) distances_.reserve(rows * (rows - 1) / 2);
  }
  // Also allocates memory for rows of this width as the learner sees them.
  void reserve_shown(std::size_t width) {
    shown_.reserve(width);
    other_.reserve(width);
  }
  [[nodiscard]] bool full() const { return size() == most_rows_; }
  [[nodiscard]] bool fits(const Sample<Real>& x) const {
    return std::max(x.count, dense_width_) <= most_values_ - values_.size();
  }

  // Whether a row has a gap.
  [[nodiscard]] bool gaps() const { return gaps_; }

  void add(const Sample<Real>& x, double target, double weight) {
    append(x);
    gaps_ |= has_gaps(x);
    targets_.push_back(target);
    weights_.push_back(weight);
  }

  void join(const ClassChange& change) {
    join_rows_.push_back(static_cast<std::int64_t>(size()));
    join_sizes_.push_back(static_cast<std::int64_t>(change.after));
    join_orders_.insert(join_orders_.end(), change.order.begin(), change.order.end());
  }

  // The median of the nonzero squared distances between all pairs of rows, each shown by show(x,
  // out); 0 if there is none. A row that makes up more than half of them counts once, because most
  // pairs would contain it.
  template <class Show>
  [[nodiscard]] double median_squared_distance(Show show) {
    look();
    distances_.clear();
    OwnedSample<Real> rows;
    const bool once = most_values_ == kNoLimit;  // otherwise there is no memory for all of them
    if (once) show_all(show, rows);
    const auto shown = [&](std::size_t i, OwnedSample<Real>& out) {
      return once ? views_[i] : show(views_[i], out);
    };
    const auto equal = [&](std::size_t i, std::size_t j) {
      const Sample<Real> x = shown(i, shown_);
      return squared_distance(x, shown(j, other_)) == 0.0;
    };
    const std::size_t most = majority(equal);
    if (most < views_.size()) {  // its first place stays
      std::size_t left = most + 1;
      for (std::size_t i = left; i < views_.size(); ++i) {
        if (!equal(i, most)) views_[left++] = views_[i];
      }
      views_.resize(left);
    }
    if (once && alike()) {
      add_distances_in_groups();
    } else {
      for (std::size_t i = 1; i < views_.size(); ++i) {
        const Sample<Real> x = shown(i, shown_);
        for (std::size_t j = 0; j < i; ++j) add_distance(squared_distance(x, shown(j, other_)));
      }
    }
    views_.clear();
    return median(distances_);
  }

  // The rows kept so far; valid until something changes.
  [[nodiscard]] std::span<const Sample<Real>> rows() {
    look();
    return views_;
  }
  // Rows with gaps are compared as show(x, out) shows them.
  template <class Show>
  [[nodiscard]] bool all_equal(Show show) {
    look();
    const Sample<Real> first = gaps_ ? show(views_[0], shown_) : views_[0];
    for (const Sample<Real>& x : views_) {
      if (squared_distance(gaps_ ? show(x, other_) : x, first) != 0.0) return false;
    }
    return true;
  }
  // Drops the rows, and starts again with the classes known now.
  void begin_anew() {
    if (!join_sizes_.empty()) classes_ = static_cast<std::size_t>(join_sizes_.back());
    forget_rows();
    targets_.clear();
    weights_.clear();
    join_rows_.clear();
    join_sizes_.clear();
    join_orders_.clear();
  }

  // Calls join(change) and learn(x, target, weight) in the order of the stream.
  template <class Join, class Learn>
  void replay(Join join, Learn learn) {
    look();
    const std::vector<Sample<Real>>& rows = views_;
    std::size_t classes = classes_;
    auto order = join_orders_.begin();
    std::size_t next = 0;
    for (std::size_t i = 0; i <= rows.size(); ++i) {
      for (; next < join_rows_.size() && join_rows_[next] == static_cast<std::int64_t>(i); ++next) {
        ClassChange change{classes, static_cast<std::size_t>(join_sizes_[next])};
        const auto end = order + static_cast<std::ptrdiff_t>(change.after);
        change.order.assign(order, end);
        order = end;
        classes = change.after;
        join(change);
      }
      if (i < rows.size()) learn(rows[i], targets_[i], weights_[i]);
    }
  }

  // Frees the memory.
  void free() { *this = Warmup(classes_); }

  void visit_state(StateVisitor& visitor) {
    visitor.field("classes", classes_);
    visitor.field("widths", widths_);
    visitor.field("ends", ends_);
    visitor.field("values", values_);
    visitor.field("indices", indices_);
    visitor.field("targets", targets_);
    visitor.field("weights", weights_);
    visitor.field("join_rows", join_rows_);
    visitor.field("join_sizes", join_sizes_);
    visitor.field("join_orders", join_orders_);
    if (visitor.mode() == StateVisitor::Mode::load) check();
    visitor.scratch(views_);
    visitor.scratch(distances_);
    for (const OwnedSample<Real>* row : {&shown_, &other_}) {
      visitor.scratch(row->values);
      visitor.scratch(row->indices);
    }
  }

 private:
  static constexpr std::int32_t kSparse = -1;
  static constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

  // The first place of a row that more than half are equal to; size() if there is none (Boyer and
  // Moore's majority vote, and a count). Precondition: views_ is set.
  template <class Equal>
  [[nodiscard]] std::size_t majority(Equal equal) const {
    std::size_t leader = 0;
    std::size_t votes = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (votes == 0) leader = i;
      votes = votes == 0 || equal(i, leader) ? votes + 1 : votes - 1;
    }
    std::size_t first = size();
    std::size_t count = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!equal(i, leader)) continue;
      if (count++ == 0) first = i;
    }
    return 2 * count > size() ? first : size();
  }

  void append(const Sample<Real>& x) {
    if (!x.dense() && dense_width_ > 0) {
      const std::size_t start = values_.size();
      values_.resize(start + dense_width_, Real(0));
      for (std::size_t k = 0; k < x.count; ++k) {
        values_[start + static_cast<std::size_t>(x.indices[k])] = x.values[k];
      }
      append_end(static_cast<std::int32_t>(dense_width_));
      return;
    }
    values_.insert(values_.end(), x.values, x.values + x.count);
    if (!x.dense()) indices_.insert(indices_.end(), x.indices, x.indices + x.count);
    append_end(x.dense() ? static_cast<std::int32_t>(x.count) : kSparse);
  }
  void append_end(std::int32_t width) {
    widths_.push_back(width);
    ends_.push_back(static_cast<std::int64_t>(values_.size()));
  }

  void forget_rows() {
    values_.clear();
    indices_.clear();
    widths_.clear();
    ends_.clear();
    gaps_ = false;
  }

  // Points views_ at the rows as they are shown, which `rows` holds.
  template <class Show>
  void show_all(Show show, OwnedSample<Real>& rows) {
    for (Sample<Real>& view : views_) {
      const Sample<Real> x = show(view, shown_);
      rows.values.insert(rows.values.end(), x.values, x.values + x.count);
      if (!x.dense()) rows.indices.insert(rows.indices.end(), x.indices, x.indices + x.count);
      view = {nullptr, x.dense() ? nullptr : &kNoIndices, x.count};
    }
    const Real* values = rows.values.data();
    const std::int32_t* indices = rows.indices.data();
    for (Sample<Real>& view : views_) {
      view.values = values;
      values += view.count;
      if (view.dense() || view.count == 0) continue;
      view.indices = indices;
      indices += view.count;
    }
  }
  // Whether all views are dense rows of one width.
  [[nodiscard]] bool alike() const {
    return std::all_of(views_.begin(), views_.end(), [this](const Sample<Real>& x) {
      return x.dense() && x.count == views_[0].count;
    });
  }
  void add_distance(double distance) {
    if (distance != 0.0) distances_.push_back(distance);
  }
  // The distances between all pairs, each row to a group of rows at a time. A sum has its terms in
  // the order of the features, as in squared_distance. Precondition: alike().
  void add_distances_in_groups() {
    constexpr std::size_t group = UnitCountFunctions<Real>::kRowsAtOnce;
    const std::size_t width = views_.empty() ? 0 : views_[0].count;
    std::vector<double> columns(width * group);  // value f of row j of the group
    double sums[group];
    for (std::size_t first = 0; first + 1 < views_.size(); first += group) {
      const std::size_t count = std::min(group, views_.size() - first);
      for (std::size_t j = 0; j < count; ++j) {
        const Real* const x = views_[first + j].values;
        for (std::size_t f = 0; f < width; ++f) columns[f * group + j] = static_cast<double>(x[f]);
      }
      for (std::size_t i = first + 1; i < views_.size(); ++i) {
        unit_count_functions<Real>().distances(views_[i].values, columns.data(), width, sums);
        for (std::size_t j = 0; j < std::min(count, i - first); ++j) add_distance(sums[j]);
      }
    }
  }

  // Points views_ at the rows.
  void look() {
    views_.clear();
    std::size_t start = 0;
    std::size_t index = 0;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      const auto end = static_cast<std::size_t>(ends_[i]);
      const bool sparse = widths_[i] == kSparse;
      const std::int32_t* indices = indices_.empty() ? &kNoIndices : indices_.data() + index;
      views_.push_back({values_.data() + start, sparse ? indices : nullptr, end - start});
      if (sparse) index += end - start;
      start = end;
    }
  }

  void check() {
    const std::string what = "warm-up rows";
    const Sample<Real> all{values_.data(), nullptr, values_.size()};
    gaps_ = has_gaps(all);
    require(widths_.size() == size() && ends_.size() == size() && size() < most_rows_ &&
                values_.size() <= most_values_ && weights_.size() == size() &&
                join_sizes_.size() == join_rows_.size() && !has_infinity(all) &&
                all_finite(weights_),
            what);
    std::size_t start = 0;
    std::size_t index = 0;
    for (std::size_t i = 0; i < size(); ++i) {
      const auto end = static_cast<std::size_t>(ends_[i]);
      require(end >= start && end <= values_.size(), what);
      const std::size_t count = end - start;
      if (widths_[i] == kSparse) {
        require(
            count <= indices_.size() - index && strictly_increasing(indices_.data() + index, count),
            what);
        index += count;
      } else {
        require(widths_[i] >= 0 && static_cast<std::size_t>(widths_[i]) == count, what);
      }
      start = end;
    }
    require(start == values_.size() && index == indices_.size(), what);
    check_joins();
  }

  // Each change keeps the old classes, names no unknown one, and comes after the change before.
  void check_joins() const {
    const std::string what = "warm-up classes";
    std::size_t classes = classes_;
    std::size_t order = 0;
    std::int64_t row = 0;
    for (std::size_t i = 0; i < join_rows_.size(); ++i) {
      const auto after = static_cast<std::size_t>(join_sizes_[i]);
      require(after > classes && after <= join_orders_.size() - order && join_rows_[i] >= row &&
                  join_rows_[i] <= static_cast<std::int64_t>(size()),
              what);
      for (const std::size_t end = order + after; order < end; ++order) {
        require(
            join_orders_[order] >= -1 && join_orders_[order] < static_cast<std::int64_t>(classes),
            what);
      }
      classes = after;
      row = join_rows_[i];
    }
    require(order == join_orders_.size(), what);
  }

  std::size_t classes_;
  std::vector<Real> values_;           // of all rows
  std::vector<std::int32_t> indices_;  // of the sparse rows
  std::vector<std::int32_t> widths_;   // per row: its width if dense, else kSparse
  std::vector<std::int64_t> ends_;     // per row: the end of its values
  std::vector<double> targets_;
  std::vector<double> weights_;
  std::vector<std::int64_t> join_rows_;   // per class change: how many rows came before it ...
  std::vector<std::int64_t> join_sizes_;  // ... and how many classes there are after it
  std::vector<std::int32_t> join_orders_;
  bool gaps_ = false;  // whether a row has gaps
  std::size_t most_rows_ = kRows;
  std::size_t most_values_ = kNoLimit;
  std::size_t dense_width_ = 0;      // of all rows; 0: each row keeps its layout
  std::vector<Sample<Real>> views_;  // of the rows, while they are used
  std::vector<double> distances_;
  OwnedSample<Real> shown_;
  OwnedSample<Real> other_;
};

}  // namespace budgetron
