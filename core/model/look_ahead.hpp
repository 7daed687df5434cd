// Computes the kernel rows of a batch in blocks of kBlockRows, ahead of their rounds.
//
// A block reads every stored value once for all of its rows. A waiting row is brought up to date
// when its round comes (Expansion::take), so each round gets the same bits as without a block.
// Looking ahead only saves time. It needs dense rows with few zeros and a learner that decides by
// its expansion alone. It does not pay if the support is small and most rounds change it, because
// the block would be recomputed again and again. The recent share of rounds that changed the
// support decides. Rows may be transformed before the learner sees them, as long as all are
// transformed alike; call `start` when that changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/batch.hpp"
#include "learners/learner.hpp"

namespace budgetron {

// Automatic: only if it pays. The others are for tests, which check that no bit changes, and for
// benchmarks, which measure the saving.
enum class LookAheadMode { automatic, always, never };

template <class Real>
class LookAhead {
 public:
  explicit LookAhead(LookAheadMode mode = LookAheadMode::automatic) : mode_(mode) {}

  // Forgets the waiting rows: the next rows, or the learner, are others.
  void start() { next_ = kBlockRows; }
  // Frees the block at the end of a call: a model holds none between calls.
  void release() {
    start();
    std::vector<Real>().swap(shown_);
    if (block_ == nullptr) return;
    values_recomputed_ += block_->recomputed;
    block_.reset();
  }
  // Whether rows of the block are left.
  [[nodiscard]] bool waiting() const { return next_ < kBlockRows; }

  // The kernel row of row i; null if it was not computed ahead. Ask for rows in their order.
  [[gnu::always_inline]] Row<Real>* row(const Learner<Real>& learner, const Batch<Real>& rows,
                                        std::size_t i) {
    return row(learner, rows, i, nullptr);
  }
  // `show(x, out)` writes row x as the learner should see it.
  template <class Show>
  [[gnu::always_inline]] Row<Real>* row(const Learner<Real>& learner, const Batch<Real>& rows,
                                        std::size_t i, Show show) {
    const Expansion<Real>* f = learner.by_row();
    if (!waiting() && !(f != nullptr && rows.dense() && fill(*f, rows, i, show))) return nullptr;
    const std::uint64_t time = block_->time;
    Row<Real>& row = f->take(*block_, next_++);
    changes_ += ((time != block_->time ? 1.0 : 0.0) - changes_) * kMemory;
    return &row;
  }

  // The row that `row` returned last, as the learner should see it.
  [[nodiscard]] Sample<Real> sample() const {
    return {block_->samples + (next_ - 1) * block_->width, nullptr, block_->width};
  }

  // In past calls: rows computed in blocks, and kernel values of these that were recomputed.
  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t values_recomputed() const { return values_recomputed_; }

 private:
  static constexpr double kMemory = 1.0 / 32;
  // With so many stored examples a block pays even if every round changes one of them.
  static constexpr double kWorthwhile = 200.0;
  static constexpr std::size_t kPause = 60;  // single rows after a block that did not pay

  template <class Show>
  bool fill(const Expansion<Real>& f, const Batch<Real>& rows, std::size_t i, Show show) {
    if (rows.count - i < kBlockRows) return false;
    if (mode_ == LookAheadMode::never) return false;
    if (++skipped_ <= kPause && mode_ != LookAheadMode::always) return false;
    const bool few = static_cast<double>(f.size()) >= kWorthwhile * changes_;
    if (block_ == nullptr) block_ = std::make_unique<RowBlock<Real>>();
    const bool pays = (few || mode_ == LookAheadMode::always) &&
                      f.fill(*block_, samples(rows, i, show), rows.width);
    if (!pays) {
      changes_ *= 0.5;  // the share may have changed
      skipped_ = 0;
      return false;
    }
    skipped_ = kPause;
    next_ = 0;
    rows_ += static_cast<std::int64_t>(kBlockRows);
    return true;
  }

  const Real* samples(const Batch<Real>& rows, std::size_t i, std::nullptr_t) {
    return rows.values + i * rows.width;
  }
  template <class Show>
  const Real* samples(const Batch<Real>& rows, std::size_t i, Show show) {
    shown_.resize(kBlockRows * rows.width);
    for (std::size_t r = 0; r < kBlockRows; ++r) show(rows[i + r], shown_.data() + r * rows.width);
    return shown_.data();
  }

  std::unique_ptr<RowBlock<Real>> block_;
  std::vector<Real> shown_;  // transformed rows of the block
  std::int64_t values_recomputed_ = 0;
  std::size_t next_ = kBlockRows;  // next row of the block
  std::size_t skipped_ = kPause;
  LookAheadMode mode_;
  double changes_ = 0.0;  // recent share of rounds that changed the support
  std::int64_t rows_ = 0;
};

}  // namespace budgetron
