// Picks the row, block, coef, Fourier and panel functions of the best instruction set this machine
// has, once, at first use.
#include <cstdlib>
#include <string_view>

#include "simd/coef_ops.hpp"
#include "simd/fourier.hpp"
#include "simd/kernel_block.hpp"
#include "simd/kernel_row.hpp"
#include "simd/packed_triangle.hpp"

namespace budgetron {

extern const RowFunctions<float> row_functions_float_baseline;
extern const RowFunctions<double> row_functions_double_baseline;
extern const PanelFunctions panel_functions_baseline;
extern const BlockFunctions<float> block_functions_float_baseline;
extern const BlockFunctions<double> block_functions_double_baseline;
extern const CoefFunctions<float> coef_functions_float_baseline;
extern const CoefFunctions<double> coef_functions_double_baseline;
extern const FourierFunctions<float> fourier_functions_float_baseline;
extern const FourierFunctions<double> fourier_functions_double_baseline;
#if defined(__x86_64__)
extern const RowFunctions<float> row_functions_float_avx2;
extern const RowFunctions<double> row_functions_double_avx2;
extern const PanelFunctions panel_functions_avx2;
extern const BlockFunctions<float> block_functions_float_avx2;
extern const BlockFunctions<double> block_functions_double_avx2;
extern const CoefFunctions<float> coef_functions_float_avx2;
extern const CoefFunctions<double> coef_functions_double_avx2;
extern const FourierFunctions<float> fourier_functions_float_avx2;
extern const FourierFunctions<double> fourier_functions_double_avx2;
extern const RowFunctions<float> row_functions_float_avx512;
extern const RowFunctions<double> row_functions_double_avx512;
extern const PanelFunctions panel_functions_avx512;
extern const BlockFunctions<float> block_functions_float_avx512;
extern const BlockFunctions<double> block_functions_double_avx512;
extern const CoefFunctions<float> coef_functions_float_avx512;
extern const CoefFunctions<double> coef_functions_double_avx512;
extern const FourierFunctions<float> fourier_functions_float_avx512;
extern const FourierFunctions<double> fourier_functions_double_avx512;
#endif

namespace {

struct Choice {
  const char* name = "baseline";
  const RowFunctions<float>* floats = &row_functions_float_baseline;
  const RowFunctions<double>* doubles = &row_functions_double_baseline;
  const PanelFunctions* panels = &panel_functions_baseline;
  const BlockFunctions<float>* float_blocks = &block_functions_float_baseline;
  const BlockFunctions<double>* double_blocks = &block_functions_double_baseline;
  const CoefFunctions<float>* float_coefs = &coef_functions_float_baseline;
  const CoefFunctions<double>* double_coefs = &coef_functions_double_baseline;
  const FourierFunctions<float>* float_maps = &fourier_functions_float_baseline;
  const FourierFunctions<double>* double_maps = &fourier_functions_double_baseline;
};

Choice choose() {
  Choice choice;
#if defined(__x86_64__)
  const char* set = std::getenv("BUDGETRON_ISA");
  const std::string_view wanted = set != nullptr ? set : "";
  if (wanted == "baseline") return choice;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    choice = {"avx2",
              &row_functions_float_avx2,
              &row_functions_double_avx2,
              &panel_functions_avx2,
              &block_functions_float_avx2,
              &block_functions_double_avx2,
              &coef_functions_float_avx2,
              &coef_functions_double_avx2,
              &fourier_functions_float_avx2,
              &fourier_functions_double_avx2};
    if (wanted == "avx2") return choice;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      choice = {"avx512",
                &row_functions_float_avx512,
                &row_functions_double_avx512,
                &panel_functions_avx512,
                &block_functions_float_avx512,
                &block_functions_double_avx512,
                &coef_functions_float_avx512,
                &coef_functions_double_avx512,
                &fourier_functions_float_avx512,
                &fourier_functions_double_avx512};
    }
  }
#endif
  return choice;
}

const Choice& chosen() {
  static const Choice choice = choose();
  return choice;
}

}  // namespace

template <>
const RowFunctions<float>& row_functions<float>() {
  return *chosen().floats;
}
template <>
const RowFunctions<double>& row_functions<double>() {
  return *chosen().doubles;
}
template <>
const BlockFunctions<float>& block_functions<float>() {
  return *chosen().float_blocks;
}
template <>
const BlockFunctions<double>& block_functions<double>() {
  return *chosen().double_blocks;
}
template <>
const CoefFunctions<float>& coef_functions<float>() {
  return *chosen().float_coefs;
}
template <>
const CoefFunctions<double>& coef_functions<double>() {
  return *chosen().double_coefs;
}
template <>
const FourierFunctions<float>& fourier_functions<float>() {
  return *chosen().float_maps;
}
template <>
const FourierFunctions<double>& fourier_functions<double>() {
  return *chosen().double_maps;
}
const PanelFunctions& panel_functions() { return *chosen().panels; }
const char* instruction_set() { return chosen().name; }

}  // namespace budgetron
