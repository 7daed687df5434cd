// A heap that finds the model that loses least: eight children per node, 8 bytes per model.
//
// A model's priority is  log2(price) + seen / half-life:  the price is the loss of dropping an
// example, and it counts half for a key that has not been seen for a half-life. Until the key is
// seen again this number does not change, so the heap stays in order while time passes.
//
// Seeing a key raises its priority. The heap learns of it only when the model reaches the top: the
// filed priority is never above the true one, so the top is the least model once it is filed with
// its true priority. A priority that falls is updated at once (`lower`). Equal priorities are
// ordered by key: the least model does not depend on the order in which models came.
//
// Entries are stored in segments, so that growing copies nothing. Cost: O(log n) per filing, at
// most one per row of the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "fleet/arena.hpp"

namespace budgetron {

class PriceHeap {
 public:
  static constexpr std::size_t kBytesAKey = 8;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const {
    return segments_.size() * kSegment * sizeof(Entry) +
           segments_.capacity() * sizeof(segments_[0]);
  }
  [[nodiscard]] static std::size_t segment_bytes() { return kSegment * sizeof(Entry); }

  void add(BlockHandle handle, float priority, const BlockArena& arena) {
    if (size_ == segments_.size() * kSegment) {
      segments_.push_back(std::make_unique<Entry[]>(kSegment));
    }
    raise(size_++, {priority, handle}, arena);
  }
  void remove(std::size_t at, const BlockArena& arena) {
    const Entry last = entry(--size_);
    if (at != size_) refile(at, last, arena);
    // Keep one spare segment, or adding and removing in turn would allocate every time.
    if (size_ + 2 * kSegment <= segments_.size() * kSegment) segments_.pop_back();
  }
  // The model at this place has a new handle.
  void move(std::size_t at, BlockHandle handle) { entry(at).handle = handle; }
  // Its true priority may be below the filed one.
  void lower(BlockHandle handle, float priority, const BlockArena& arena) {
    const std::size_t at = arena[handle].head().heap_at;
    if (priority < entry(at).priority) raise(at, {priority, handle}, arena);
  }
  // The least model; `priority(block)` is its true priority. Precondition: there is at least one.
  template <class Priority>
  BlockHandle least(const BlockArena& arena, Priority priority) {
    while (true) {
      const BlockHandle handle = entry(0).handle;
      const float now = priority(arena[handle]);
      if (!(entry(0).priority < now)) return handle;
      sink(0, {now, handle}, arena);
    }
  }

  void check_invariants(const BlockArena& arena) const {
    for (std::size_t at = 0; at < size_; ++at) {
      const bool ordered = at == 0 || !before(entry(at), entry((at - 1) / kChildren), arena);
      if (!ordered || arena[entry(at).handle].head().heap_at != at) {
        throw std::logic_error("heap invariant broken");
      }
    }
  }

 private:
  static constexpr std::size_t kSegment = 1024;
  static constexpr std::size_t kChildren = 8;

  struct Entry {
    float priority = 0.0F;
    BlockHandle handle = kNoBlock;
  };

  [[nodiscard]] Entry& entry(std::size_t at) { return segments_[at / kSegment][at % kSegment]; }
  [[nodiscard]] const Entry& entry(std::size_t at) const {
    return segments_[at / kSegment][at % kSegment];
  }
  static bool before(const Entry& a, const Entry& b, const BlockArena& arena) {
    if (a.priority != b.priority) return a.priority < b.priority;
    return arena[a.handle].head().key < arena[b.handle].head().key;
  }
  void put(std::size_t at, const Entry& what, const BlockArena& arena) {
    entry(at) = what;
    arena[what.handle].head().heap_at = static_cast<std::uint32_t>(at);
  }
  void raise(std::size_t at, const Entry& what, const BlockArena& arena) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!before(what, entry(parent), arena)) break;
      put(at, entry(parent), arena);
      at = parent;
    }
    put(at, what, arena);
  }
  void sink(std::size_t at, const Entry& what, const BlockArena& arena) {
    while (true) {
      const std::size_t first = at * kChildren + 1;
      if (first >= size_) break;
      std::size_t least = first;
      for (std::size_t child = first + 1; child < std::min(first + kChildren, size_); ++child) {
        if (before(entry(child), entry(least), arena)) least = child;
      }
      if (!before(entry(least), what, arena)) break;
      put(at, entry(least), arena);
      at = least;
    }
    put(at, what, arena);
  }
  void refile(std::size_t at, const Entry& what, const BlockArena& arena) {
    if (at > 0 && before(what, entry((at - 1) / kChildren), arena)) {
      raise(at, what, arena);
    } else {
      sink(at, what, arena);
    }
  }

  std::size_t size_ = 0;
  std::vector<std::unique_ptr<Entry[]>> segments_;
};

}  // namespace budgetron
