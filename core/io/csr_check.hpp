// Whether CSR from outside is as the core reads it: every row's features in order, none twice, all
// within the width.
//
// Order is looked for along all rows at once, which runs in SIMD: only where a row begins may a
// feature not be above the one before. In order, a row is within bounds if its first and last
// feature are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// `rows` + 1 bounds of rows in `count` features; the matrix is `width` wide.
bool csr_in_order(const std::int32_t* bounds, std::size_t rows, const std::int32_t* features,
                  std::size_t count, std::size_t width);

}  // namespace budgetron
