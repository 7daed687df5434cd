// The memory of all blocks: slabs of equal size; all blocks of a slab have the same number of
// examples.
//
//   large page (large_pages.hpp)
//   [ slab 0 | slab 1 | ... | slab 7 ]        slabs of kLargeSlab bytes; smaller ones stand alone
//        |
//   [ block | free | block | ... | kSlack ]   size class n: all blocks have n examples
//               |
//               +--> next free place of the slab
//
// A block is named by its handle, slab * 2^12 + place. Each slab has a free list; each size class
// lists its slabs with a free place; a slab without a model is freed. `tidy` moves the models of
// the emptiest slab of a class into free places of the others while more than two slabs' worth of
// places are free. So the memory in use is at most
//
//   sum of `charge` over all models  +  two slabs per class  +  one page
//
// however the sizes of models change: fragmentation is bounded. `charge` is a block's share of its
// slab, including the waste at the end of the slab. check_invariants() checks the counts.
//
// Cost: O(1) to allocate and free; a move is a copy and two writes elsewhere (`Moved`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/large_pages.hpp"
#include "fleet/block.hpp"
#include "simd/small_row.hpp"

namespace budgetron {

using BlockHandle = std::uint32_t;
inline constexpr BlockHandle kNoBlock = 0xFFFFFFFFu;
inline constexpr std::size_t kLargeSlab = kLargePage / 8;

class BlockArena {
 public:
  // For models of 0 to `budget` examples, in slabs of `slab_size` bytes, whose last kSlack bytes
  // hold no block.
  BlockArena(const BlockLayout& layout, std::size_t budget, std::size_t slab_size)
      : layout_(layout), slab_size_(slab_size), classes_(budget + 1) {
    const std::size_t slab_bytes = slab_size - SmallRowFunctions::kSlack;
    for (std::size_t n = 0; n <= budget; ++n) {
      Class& each = classes_[n];
      each.block_bytes = layout.bytes(n);
      each.per_slab = std::min(slab_bytes / each.block_bytes, kPlaces);
      if (each.per_slab == 0) throw std::invalid_argument("a slab holds no block");
    }
  }

  // Allocates the list of slabs for so many, so that it need not grow.
  void reserve(std::size_t slabs) {
    slabs_.reserve(slabs);
    unused_.reserve(slabs);
    pages_.reserve(slabs * slab_size_ / kLargePage);
  }

  // The memory that a model of n examples is charged.
  [[nodiscard]] std::size_t charge(std::size_t n) const {
    return (slab_size() + classes_[n].per_slab - 1) / classes_[n].per_slab;
  }
  [[nodiscard]] std::size_t slab_size() const { return slab_size_; }
  // The bytes of one allocation.
  [[nodiscard]] std::size_t piece_bytes() const {
    return slab_size_ == kLargeSlab ? kLargePage : slab_size_;
  }
  // All memory in use now.
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = taken_ * slab_size_ + pages_.size() * kLargePage +
                      slabs_.capacity() * sizeof(Slab) + unused_.capacity() * sizeof(std::uint32_t);
    for (const Class& each : classes_) {
      sum += sizeof(Class) + each.open.capacity() * sizeof(std::uint32_t);
    }
    return sum;
  }

  [[nodiscard]] Block operator[](BlockHandle handle) const {
    const Slab& slab = slabs_[handle / kPlaces];
    return {layout_, slab.memory + (handle % kPlaces) * slab.block_bytes, slab.examples};
  }
  // Inlined with its callers: GCC treats a function that only prefetches as one without effect, and
  // drops calls of it.
  [[gnu::always_inline]] void prefetch(BlockHandle handle) const {
    const Slab& slab = slabs_[handle / kPlaces];
    const std::byte* const at = slab.memory + (handle % kPlaces) * slab.block_bytes;
    for (std::size_t line = 0; line < slab.block_bytes; line += 64) {
      __builtin_prefetch(at + line, 1);
    }
  }

  // Allocates a place for n examples. The block is not initialised, but it no longer counts as
  // free.
  BlockHandle take(std::size_t n) {
    Class& of = classes_[n];
    if (of.open.empty()) add_slab(n);
    const std::uint32_t index = of.open.back();
    Slab& slab = slabs_[index];
    std::uint32_t place = slab.first_free;
    if (place != kNone) {
      slab.first_free = block(slab, place).head().seen;
    } else {
      place = slab.begun++;
    }
    block(slab, place).head().heap_at = 0;
    ++slab.live;
    --of.free;
    if (slab.live == of.per_slab) close(of, slab);
    return static_cast<BlockHandle>(index * kPlaces + place);
  }

  void give_back(BlockHandle handle) {
    const auto index = static_cast<std::uint32_t>(handle / kPlaces);
    const auto place = static_cast<std::uint32_t>(handle % kPlaces);
    Slab& slab = slabs_[index];
    Class& of = classes_[slab.examples];
    BlockHead& head = block(slab, place).head();
    head = {};
    head.heap_at = BlockHead::kFree;
    head.seen = slab.first_free;
    slab.first_free = place;
    if (slab.live-- == of.per_slab) open(of, index);
    ++of.free;
    if (slab.live == 0) drop_slab(index);
  }

  // Calls moved(from, to) for every model that moves.
  template <class Moved>
  void tidy(Moved moved) {
    for (Class& of : classes_) {
      while (of.free >= 2 * of.per_slab) empty_one(of, moved);
    }
  }

  // Calls visit(handle, block) for every model.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t index = 0; index < slabs_.size(); ++index) {
      const Slab& slab = slabs_[index];
      for (std::uint32_t place = 0; place < slab.begun; ++place) {
        const Block block = this->block(slab, place);
        if (block.head().heap_at != BlockHead::kFree) {
          visit(static_cast<BlockHandle>(index * kPlaces + place), block);
        }
      }
    }
  }

  void check_invariants() const {
    std::vector<std::size_t> free(classes_.size(), 0);
    for (const Slab& slab : slabs_) {
      if (slab.block_bytes == 0) continue;
      const Class& of = classes_[slab.examples];
      std::size_t live = 0;
      for (std::uint32_t place = 0; place < slab.begun; ++place) {
        live += block(slab, place).head().heap_at != BlockHead::kFree;
      }
      if (live != slab.live || (live < of.per_slab) != (slab.at != kNone)) {
        throw std::logic_error("arena invariant broken: the models of a slab");
      }
      free[slab.examples] += of.per_slab - live;
    }
    for (std::size_t n = 0; n < classes_.size(); ++n) {
      if (free[n] != classes_[n].free) {
        throw std::logic_error("arena invariant broken: free places");
      }
    }
  }

 private:
  static constexpr std::size_t kPlaces = 4096;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;

  struct Slab {
    std::byte* memory = nullptr;  // in `own` or in a page
    ModelBytes own;
    std::size_t block_bytes = 0;
    std::uint32_t examples = 0;  // per model
    std::uint32_t live = 0;      // models in it
    std::uint32_t begun = 0;     // places that have ever held a model
    std::uint32_t first_free = kNone;
    std::uint32_t at = kNone;  // its index in the list of open slabs
  };
  struct Class {
    std::size_t block_bytes = 0;
    std::size_t per_slab = 0;
    std::size_t free = 0;             // free places
    std::vector<std::uint32_t> open;  // slabs with a free place
  };

  [[nodiscard]] Block block(const Slab& slab, std::uint32_t place) const {
    return {layout_, slab.memory + place * slab.block_bytes, slab.examples};
  }
  void open(Class& of, std::uint32_t index) {
    slabs_[index].at = static_cast<std::uint32_t>(of.open.size());
    of.open.push_back(index);
  }
  void close(Class& of, Slab& slab) {
    of.open[slab.at] = of.open.back();
    slabs_[of.open[slab.at]].at = slab.at;
    of.open.pop_back();
    slab.at = kNone;
  }
  void add_slab(std::size_t n) {
    if (unused_.empty()) add_unused();
    const std::uint32_t index = unused_.back();
    Slab& slab = slabs_[index];
    if (slab.memory == nullptr) {
      slab.own.resize(slab_size_);
      slab.memory = slab.own.data();
      ++taken_;
    }
    unused_.pop_back();
    slab.block_bytes = classes_[n].block_bytes;
    slab.examples = static_cast<std::uint32_t>(n);
    slab.live = slab.begun = 0;
    slab.first_free = kNone;
    classes_[n].free += classes_[n].per_slab;
    open(classes_[n], index);
  }
  // Adds slabs without a class: those of a new page, or one that has no memory yet.
  void add_unused() {
    const std::size_t count = piece_bytes() / slab_size_;
    if (slabs_.size() + count > kNoBlock / kPlaces) throw std::bad_alloc();
    if (slab_size_ == kLargeSlab) pages_.push_back(large_page());
    for (std::size_t i = 0; i < count; ++i) {
      Slab& slab = slabs_.emplace_back();
      if (slab_size_ == kLargeSlab) slab.memory = pages_.back().get() + i * slab_size_;
      unused_.push_back(static_cast<std::uint32_t>(slabs_.size() - 1));
    }
  }
  // A slab in a page keeps its memory for later use.
  void free_slab(std::uint32_t index) {
    Slab& slab = slabs_[index];
    std::byte* const memory = slab.own.empty() ? slab.memory : nullptr;
    taken_ -= !slab.own.empty();
    slab = {};
    slab.memory = memory;
    unused_.push_back(index);
  }
  void drop_slab(std::uint32_t index) {
    Slab& slab = slabs_[index];
    Class& of = classes_[slab.examples];
    of.free -= of.per_slab;
    close(of, slab);
    free_slab(index);
  }
  template <class Moved>
  void empty_one(Class& of, Moved& moved) {
    std::uint32_t index = of.open[0];
    for (const std::uint32_t other : of.open) {
      if (slabs_[other].live < slabs_[index].live) index = other;
    }
    // Close the slab first, so that no model is moved back into it.
    close(of, slabs_[index]);
    of.free -= of.per_slab - slabs_[index].live;
    const std::uint32_t begun = slabs_[index].begun;
    for (std::uint32_t place = 0; place < begun; ++place) {
      const Block from = block(slabs_[index], place);
      if (from.head().heap_at == BlockHead::kFree) continue;
      const BlockHandle to = take(slabs_[index].examples);
      std::memcpy((*this)[to].bytes(), from.bytes(), of.block_bytes);
      moved(static_cast<BlockHandle>(index * kPlaces + place), to);
    }
    free_slab(index);
  }

  const BlockLayout& layout_;
  std::size_t slab_size_;
  std::size_t taken_ = 0;         // slabs that stand alone
  std::vector<LargePage> pages_;  // of the other slabs
  std::vector<Slab> slabs_;
  std::vector<std::uint32_t> unused_;  // indices of slabs_ without memory
  std::vector<Class> classes_;         // indexed by the number of examples
};

}  // namespace budgetron
