// The instruction sets that the processor has and whose registers the operating system saves:
// cpuid and xgetbv.
//
// The compilers' __builtin_cpu_supports gives the same answer, but it needs a variable of libgcc
// that not every linker finds (Zig's, which builds wheels for an old glibc, does not).
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace budgetron {

struct Processor {
  bool avx2 = false;    // with fused multiply-add
  bool avx512 = false;  // F, DQ, BW and VL
};

inline Processor processor() {
  Processor found;
#if defined(__x86_64__)
  const auto has = [](unsigned bits, unsigned all) { return (bits & all) == all; };
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kFma = 1u << 12, kSaves = 1u << 27, kAvx = 1u << 28;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || !has(c, kFma | kSaves | kAvx)) return found;
  unsigned saved = 0, rest = 0;  // registers that the system saves at a thread switch
  __asm__ volatile("xgetbv" : "=a"(saved), "=d"(rest) : "c"(0));
  constexpr unsigned kYmm = 0x06, kZmm = 0xE0;
  if (!has(saved, kYmm) || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return found;
  constexpr unsigned kAvx2 = 1u << 5, kF = 1u << 16, kDq = 1u << 17, kBw = 1u << 30, kVl = 1u << 31;
  found.avx2 = has(b, kAvx2);
  found.avx512 = found.avx2 && has(saved, kZmm) && has(b, kF | kDq | kBw | kVl);
#endif
  return found;
}

}  // namespace budgetron
