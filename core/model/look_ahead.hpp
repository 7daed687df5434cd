// Looking ahead in the rows of a call: kernel rows computed in blocks before their rounds.
//
// A row that waits is brought up to date when its round comes (Expansion::take), so each round
// sees, to the bit, what it would have computed itself. Whether to look ahead is a matter of speed
// alone: dense rows without many zeros, an expansion that is all there is to deciding, and not
// where so many rounds change a support so small that the blocks would be computed over and over.
// That is judged by the share of rounds that changed the support of late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/batch.hpp"
#include "learners/learner.hpp"

namespace budgetron {

// Where it pays; or, to prove that it changes nothing and to measure what it saves, all or nothing.
enum class LookAhead { automatic, always, never };

template <class Real>
class Ahead {
 public:
  explicit Ahead(LookAhead when = LookAhead::automatic) : when_(when) {}

  // Other rows, or another learner, from here on.
  void start() { next_ = kBlockRows; }
  // The end of a call: what a block takes is given back, a model holds none between calls.
  void rest() {
    start();
    if (block_ == nullptr) return;
    again_ += block_->recomputed;
    block_.reset();
  }
  // Whether the last row given was followed by others of its block.
  [[nodiscard]] bool waiting() const { return next_ < kBlockRows; }

  // Row i, to be asked for in turn; null if it is not computed ahead.
  Row<Real>* row(const Learner<Real>& learner, const Batch<Real>& rows, std::size_t i) {
    const Expansion<Real>* f = learner.by_row();
    if (!waiting() && !(f != nullptr && rows.dense() && fill(*f, rows, i))) return nullptr;
    const std::uint64_t time = block_->time;
    Row<Real>& row = f->take(*block_, next_++);
    changes_ += ((time != block_->time ? 1.0 : 0.0) - changes_) * kMemory;
    return &row;
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }            // in blocks
  [[nodiscard]] std::int64_t columns_again() const { return again_; }  // of them, in past calls

 private:
  static constexpr double kMemory = 1.0 / 32;
  // Stored examples at which a block pays though every round changes one of them.
  static constexpr double kWorthwhile = 200.0;
  static constexpr std::size_t kPause = 60;  // rows alone after a block that did not pay

  bool fill(const Expansion<Real>& f, const Batch<Real>& rows, std::size_t i) {
    if (rows.count - i < kBlockRows) return false;
    if (when_ == LookAhead::never) return false;
    if (++skipped_ <= kPause && when_ != LookAhead::always) return false;
    const bool few = static_cast<double>(f.size()) >= kWorthwhile * changes_;
    if (block_ == nullptr) block_ = std::make_unique<RowBlock<Real>>();
    const bool pays = (few || when_ == LookAhead::always) &&
                      f.fill(*block_, rows.values + i * rows.width, rows.width);
    if (!pays) {
      changes_ *= 0.5;  // it may have become otherwise
      skipped_ = 0;
      return false;
    }
    skipped_ = kPause;
    next_ = 0;
    rows_ += static_cast<std::int64_t>(kBlockRows);
    return true;
  }

  std::unique_ptr<RowBlock<Real>> block_;
  std::int64_t again_ = 0;
  std::size_t next_ = kBlockRows;  // row of the block
  std::size_t skipped_ = kPause;
  LookAhead when_;
  double changes_ = 0.0;  // share of rounds that changed the support, of late
  std::int64_t rows_ = 0;
};

}  // namespace budgetron
