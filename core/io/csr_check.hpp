// Checks CSR data from outside: the features of every row are sorted, distinct and below the width.
//
// The order is checked along all rows at once, in SIMD: only at the start of a row may a feature
// not be larger than the one before. A sorted row is within bounds if its first and last features
// are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace budgetron {

// `bounds` has rows + 1 ends of rows within `count` features; the matrix has `width` columns.
bool csr_in_order(const std::int32_t* bounds, std::size_t rows, const std::int32_t* features,
                  std::size_t count, std::size_t width);

}  // namespace budgetron
