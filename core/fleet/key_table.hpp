// A hash table from keys to blocks: open addressing with linear probing, 8 bytes per entry.
//
// An entry is a handle and 32 bits of the key's hash, the tag, which also gives the home position;
// the key itself is in the block. The table is split into parts by other bits of the hash, so that
// rebuilding one part needs little extra memory. A part that is more than 85 % full grows by an
// eighth, one that is less than 70 % full shrinks to 80 %: a key takes at most kBytesAKey, also
// after most keys have left. Erasing moves later entries back: there are no tombstones.
//
// Cost: O(1); a lookup reads one line of the table and one of the block.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/large_pages.hpp"
#include "fleet/arena.hpp"
#include "fleet/key_id.hpp"

namespace budgetron {

class KeyTable {
 public:
  static constexpr std::size_t kBytesAKey = 12;  // 8/0.7

  // `parts`: a power of two.
  explicit KeyTable(std::size_t parts) : parts_(parts, Part{Entries(kLeast)}) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t sum = parts_.capacity() * sizeof(Part);
    for (const Part& part : parts_) sum += part.entries.capacity() * sizeof(Entry);
    return sum;
  }
  // The bytes of an empty table.
  [[nodiscard]] static std::size_t least_bytes(std::size_t parts) {
    return parts * (sizeof(Part) + 2 * kLeast * sizeof(Entry));
  }

  [[nodiscard]] BlockHandle find(const KeyId& key, const BlockArena& arena) const {
    return find(key, key.hash(), arena);
  }
  [[nodiscard]] BlockHandle find(const KeyId& key, std::uint64_t hash,
                                 const BlockArena& arena) const {
    const Part& part = this->part(hash);
    for (std::size_t at = home(part, tag(hash));; at = next(part, at)) {
      const Entry& entry = part.entries[at];
      if (entry.handle == kNoBlock) return kNoBlock;
      if (entry.tag == tag(hash) && arena[entry.handle].head().key == key) return entry.handle;
    }
  }
  [[gnu::always_inline]] void prefetch(std::uint64_t hash) const {
    const Part& part = this->part(hash);
    __builtin_prefetch(part.entries.data() + home(part, tag(hash)));
  }
  // The block that is probably the key's: it is not read to compare keys.
  [[nodiscard]] BlockHandle guess(std::uint64_t hash) const {
    const Part& part = this->part(hash);
    for (std::size_t at = home(part, tag(hash));; at = next(part, at)) {
      const Entry& entry = part.entries[at];
      if (entry.handle == kNoBlock || entry.tag == tag(hash)) return entry.handle;
    }
  }

  // Precondition: the key is not in the table.
  void add(const KeyId& key, BlockHandle handle) {
    const std::uint64_t hash = key.hash();
    Part& part = this->part(hash);
    const std::size_t places = part.entries.size();
    if (100 * (part.used + 1) > 85 * places) {
      rebuild(part, places + std::max<std::size_t>(places / 8, 1));
    }
    insert(part, {handle, tag(hash)});
    ++part.used;
    ++size_;
  }
  // Gives a key of the table another block.
  void move(const KeyId& key, BlockHandle from, BlockHandle to) {
    const std::uint64_t hash = key.hash();
    Part& part = this->part(hash);
    part.entries[place_of(part, tag(hash), from)].handle = to;
  }
  void remove(const KeyId& key, BlockHandle handle) {
    const std::uint64_t hash = key.hash();
    Part& part = this->part(hash);
    std::size_t hole = place_of(part, tag(hash), handle);
    for (std::size_t at = next(part, hole); part.entries[at].handle != kNoBlock;
         at = next(part, at)) {
      // An entry may move into the hole unless its home is behind the hole.
      const std::size_t begins = home(part, part.entries[at].tag);
      const bool between =
          hole <= at ? hole < begins && begins <= at : hole < begins || begins <= at;
      if (between) continue;
      part.entries[hole] = part.entries[at];
      hole = at;
    }
    part.entries[hole] = {};
    --part.used;
    --size_;
    if (part.entries.size() > 2 * kLeast && 10 * part.used < 7 * part.entries.size()) {
      rebuild(part, std::max(part.used * 5 / 4 + 1, kLeast));
    }
  }

 private:
  static constexpr std::size_t kLeast = 8;

  struct Entry {
    BlockHandle handle = kNoBlock;
    std::uint32_t tag = 0;
  };
  using Entries = std::vector<Entry, PageAllocator<Entry>>;
  struct Part {
    Entries entries;
    std::size_t used = 0;
  };

  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
  [[nodiscard]] const Part& part(std::uint64_t hash) const {
    return parts_[(hash >> 40) & (parts_.size() - 1)];
  }
  [[nodiscard]] Part& part(std::uint64_t hash) {
    return parts_[(hash >> 40) & (parts_.size() - 1)];
  }
  static std::size_t home(const Part& part, std::uint32_t tag) {
    return static_cast<std::size_t>((std::uint64_t{tag} * part.entries.size()) >> 32);
  }
  static std::size_t next(const Part& part, std::size_t at) {
    return at + 1 == part.entries.size() ? 0 : at + 1;
  }
  static std::size_t place_of(const Part& part, std::uint32_t tag, BlockHandle handle) {
    std::size_t at = home(part, tag);
    while (part.entries[at].handle != handle) at = next(part, at);
    return at;
  }
  static void insert(Part& part, const Entry& entry) {
    std::size_t at = home(part, entry.tag);
    while (part.entries[at].handle != kNoBlock) at = next(part, at);
    part.entries[at] = entry;
  }
  static void rebuild(Part& part, std::size_t places) {
    Part other{Entries(places), part.used};
    for (const Entry& entry : part.entries) {
      if (entry.handle != kNoBlock) insert(other, entry);
    }
    part = std::move(other);
  }

  std::vector<Part> parts_;
  std::size_t size_ = 0;
};

}  // namespace budgetron
