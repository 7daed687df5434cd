// A key in the core: 16 bytes, made by the caller (src/budgetron/fleet/keys.py). Short keys are
// held exactly, long ones as 120 bits of a hash.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace budgetron {

struct KeyId {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  friend bool operator==(const KeyId&, const KeyId&) = default;
  friend auto operator<=>(const KeyId&, const KeyId&) = default;

  // The finalizer of SplitMix64 over both halves: every output bit depends on every input bit.
  [[nodiscard]] std::uint64_t hash() const {
    std::uint64_t z = low * 0x9E3779B97F4A7C15u ^ std::rotl(high, 32);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  // The part of a fleet of n parts that the key belongs to; uses other bits than the key table.
  // Part i of n is parts i m to (i + 1) m - 1 of n m.
  [[nodiscard]] std::size_t bucket(std::size_t n) const {
    std::uint64_t z = hash() + 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 33)) * 0xFF51AFD7ED558CCDu;
    z ^= z >> 33;
    return static_cast<std::size_t>(((z >> 32) * n) >> 32);  // n < 2^32
  }
};

struct KeyHash {
  std::size_t operator()(const KeyId& id) const { return static_cast<std::size_t>(id.hash()); }
};

}  // namespace budgetron
