#include "io/csr_check.hpp"

namespace budgetron {
namespace {

// Counts the features that are not larger than the one before.
std::size_t count_descents(const std::int32_t* features, std::size_t count) {
  constexpr std::size_t kChunk = 1u << 20;  // 32 bits can count the descents of a chunk
  std::size_t descents = 0;
  for (std::size_t k = 1; k < count;) {
    const std::size_t end = count - k < kChunk ? count : k + kChunk;
    std::uint32_t found = 0;
    for (; k < end; ++k) found += features[k] <= features[k - 1] ? 1u : 0u;
    descents += found;
  }
  return descents;
}

}  // namespace

bool csr_in_order(const std::int32_t* bounds, std::size_t rows, const std::int32_t* features,
                  std::size_t count, std::size_t width) {
  if (bounds[0] != 0 || static_cast<std::size_t>(bounds[rows]) != count) return false;
  std::size_t allowed = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const std::int32_t begin = bounds[i];
    const std::int32_t end = bounds[i + 1];
    if (begin == end) continue;
    if (begin > end || end > bounds[rows]) return false;
    if (features[begin] < 0 || static_cast<std::size_t>(features[end - 1]) >= width) return false;
    allowed += begin > 0 && features[begin] <= features[begin - 1];
  }
  return count_descents(features, count) == allowed;
}

}  // namespace budgetron
