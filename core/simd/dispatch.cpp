// Dispatch: picks the functions of the best instruction set this machine has, once, at first use.
//
//   who calls              declares              compiled once per instruction set
//   ---------------------  --------------------  -----------------------------------------
//   ExampleStore,          kernel_row.hpp        kernel_row.cpp (with kernel_row_binary.hpp,
//     Expansion, learners                          gaussian_table.hpp and kernel_values.hpp)
//   Expansion: row blocks  kernel_block.hpp      kernel_block.cpp (with kernel_values.hpp)
//   Expansion, budgets     coef_ops.hpp          coef_ops.cpp
//   FOGD                   fourier.hpp           fourier.cpp
//   PostingTable           hash_probe.hpp        hash_probe.cpp
//   Covariance             packed_triangle.hpp   packed_triangle.cpp
//   Units                  unit_counts.hpp       unit_counts.cpp
//   small models of fleets small_row.hpp         small_row.cpp
//                                |                      |
//                         row_functions(), ...   row_functions_float_avx2, ...
//                                |                      |
//                                +--- dispatch.cpp -----+
//                                one InstructionSet each: baseline, avx2, avx512
//
// All of them are written in vec.hpp (vector types) and math.hpp (exp, tanh, cosine, sine).
// BUDGETRON_ISA=baseline or avx2 in the environment picks a lesser set than the machine has.
#include <cstdlib>
#include <string_view>
#include <type_traits>

#include "simd/coef_ops.hpp"
#include "simd/fourier.hpp"
#include "simd/hash_probe.hpp"
#include "simd/kernel_block.hpp"
#include "simd/kernel_row.hpp"
#include "simd/packed_triangle.hpp"
#include "simd/processor.hpp"
#include "simd/small_row.hpp"
#include "simd/unit_counts.hpp"

namespace budgetron {
namespace {

// The functions of one SIMD file, for rows of both types.
template <template <class> class Functions>
struct Both {
  const Functions<float>* floats;
  const Functions<double>* doubles;

  template <class Real>
  [[nodiscard]] const Functions<Real>& of() const {
    if constexpr (std::is_same_v<Real, float>) {
      return *floats;
    } else {
      return *doubles;
    }
  }
};

// All functions of one instruction set.
struct InstructionSet {
  const char* name;
  Both<RowFunctions> row;
  Both<BlockFunctions> block;
  Both<CoefFunctions> coef;
  Both<FourierFunctions> fourier;
  Both<HashFunctions> hash;
  Both<UnitCountFunctions> unit_counts;
  Both<TriangleFunctions> triangle;
  const SmallRowFunctions* small_row;
};

}  // namespace

// Each table is defined at the end of its SIMD file.
#define BUDGETRON_DECLARE(Functions, table, set)     \
  extern const Functions<float> table##_float_##set; \
  extern const Functions<double> table##_double_##set;
#define BUDGETRON_BOTH(table, set) {&table##_float_##set, &table##_double_##set}
#define BUDGETRON_INSTRUCTION_SET(set)                                              \
  BUDGETRON_DECLARE(RowFunctions, row_functions, set)                               \
  BUDGETRON_DECLARE(BlockFunctions, block_functions, set)                           \
  BUDGETRON_DECLARE(CoefFunctions, coef_functions, set)                             \
  BUDGETRON_DECLARE(FourierFunctions, fourier_functions, set)                       \
  BUDGETRON_DECLARE(HashFunctions, hash_functions, set)                             \
  BUDGETRON_DECLARE(UnitCountFunctions, unit_count_functions, set)                  \
  BUDGETRON_DECLARE(TriangleFunctions, triangle_functions, set)                     \
  extern const SmallRowFunctions small_row_functions_##set;                         \
  static constexpr InstructionSet set = {#set,                                      \
                                         BUDGETRON_BOTH(row_functions, set),        \
                                         BUDGETRON_BOTH(block_functions, set),      \
                                         BUDGETRON_BOTH(coef_functions, set),       \
                                         BUDGETRON_BOTH(fourier_functions, set),    \
                                         BUDGETRON_BOTH(hash_functions, set),       \
                                         BUDGETRON_BOTH(unit_count_functions, set), \
                                         BUDGETRON_BOTH(triangle_functions, set),   \
                                         &small_row_functions_##set};

BUDGETRON_INSTRUCTION_SET(baseline)
#if defined(__x86_64__)
BUDGETRON_INSTRUCTION_SET(avx2)
BUDGETRON_INSTRUCTION_SET(avx512)
#endif

namespace {

const InstructionSet& choose() {
#if defined(__x86_64__)
  const char* set = std::getenv("BUDGETRON_ISA");
  const std::string_view wanted = set != nullptr ? set : "";
  if (wanted == "baseline") return baseline;
  const Processor here = processor();
  if (!here.avx2) return baseline;
  return here.avx512 && wanted != "avx2" ? avx512 : avx2;
#else
  return baseline;
#endif
}

[[gnu::always_inline]] inline const InstructionSet& chosen() {
  static const InstructionSet set = choose();
  return set;
}

}  // namespace

#define BUDGETRON_ACCESS(Functions, table, member) \
  template <class Real>                            \
  const Functions<Real>& table() {                 \
    return chosen().member.template of<Real>();    \
  }                                                \
  template const Functions<float>& table<float>(); \
  template const Functions<double>& table<double>();

BUDGETRON_ACCESS(RowFunctions, row_functions, row)
BUDGETRON_ACCESS(BlockFunctions, block_functions, block)
BUDGETRON_ACCESS(CoefFunctions, coef_functions, coef)
BUDGETRON_ACCESS(FourierFunctions, fourier_functions, fourier)
BUDGETRON_ACCESS(HashFunctions, hash_functions, hash)
BUDGETRON_ACCESS(UnitCountFunctions, unit_count_functions, unit_counts)
BUDGETRON_ACCESS(TriangleFunctions, triangle_functions, triangle)
const SmallRowFunctions& small_row_functions() { return *chosen().small_row; }
const char* instruction_set() { return chosen().name; }

}  // namespace budgetron
