// Memory on 64-byte boundaries, so that a vector load never crosses a cache line, and the padding
// that lets every SIMD loop run without a tail.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace budgetron {

// Stored examples are padded to this many lanes; sums over examples run in this many fixed lanes
// on every instruction set, so AVX2 and AVX-512 give the same bits.
inline constexpr std::size_t kLanes = 16;

inline constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}  // NOLINT: conversions are what allocators do
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{64}); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

}  // namespace budgetron
