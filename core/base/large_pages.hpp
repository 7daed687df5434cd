// Memory allocated directly from the operating system, in large pages if it has them, and returned
// to it when it is freed.
//
// A read at a random address in small pages waits as long for the page table as for the cache line.
// And malloc keeps freed memory for later, so the process would stay larger than its limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace budgetron {

inline constexpr std::size_t kLargePage = std::size_t{1} << 21;

#if defined(__linux__)
// Returns zeros. `bytes` is a multiple of the system's page size, or the system rounds it up.
inline std::byte* map_pages(std::size_t bytes) {
  void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(p);
}
inline void unmap_pages(std::byte* p, std::size_t bytes) { munmap(p, bytes); }
#endif

struct LargePageDelete {
  void operator()(std::byte* p) const {
#if defined(__linux__)
    unmap_pages(p, kLargePage);
#else
    ::operator delete(p, std::align_val_t{kLargePage});
#endif
  }
};
using LargePage = std::unique_ptr<std::byte[], LargePageDelete>;

// Returns kLargePage bytes that are not initialised.
inline LargePage large_page() {
#if defined(__linux__)
  std::byte* const wide = map_pages(2 * kLargePage);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(wide) % kLargePage;
  const std::size_t before = over == 0 ? 0 : kLargePage - over;
  if (before > 0) unmap_pages(wide, before);
  unmap_pages(wide + before + kLargePage, kLargePage - before);
  LargePage page(wide + before);
#if defined(MADV_HUGEPAGE)
  madvise(page.get(), kLargePage, MADV_HUGEPAGE);  // only advice: if it is refused, pages are small
#endif
  return page;
#else
  return LargePage(
      static_cast<std::byte*>(::operator new(kLargePage, std::align_val_t{kLargePage})));
#endif
}

// An allocator for vectors that grow by copying many kB.
template <class T>
struct PageAllocator {
  using value_type = T;
  PageAllocator() = default;
  template <class U>
  PageAllocator(const PageAllocator<U>&) {}  // NOLINT: conversions are what allocators do
  T* allocate(std::size_t n) {
#if defined(__linux__)
    if (n * sizeof(T) >= kMapped) return reinterpret_cast<T*>(map_pages(n * sizeof(T)));
#endif
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) {
#if defined(__linux__)
    if (n * sizeof(T) >= kMapped) {
      unmap_pages(reinterpret_cast<std::byte*>(p), n * sizeof(T));
      return;
    }
#endif
    ::operator delete(p);
  }
  template <class U>
  bool operator==(const PageAllocator<U>&) const {
    return true;
  }

 private:
  // Eight small pages: rounding up to a page wastes little.
  static constexpr std::size_t kMapped = std::size_t{1} << 15;
};

}  // namespace budgetron
