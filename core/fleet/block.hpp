// A small model as one block of bytes without pointers:
//
//   head      key, its place in the heap (price_heap.hpp), when it was seen last
//   extra     data of the learner; Budgetron with a straight part: weights and variances
//   values    float32, feature-major: value j of example i at values[j * n + i] (small_row.hpp)
//   coefs     float64: coef k of example i at coefs[k * n + i]
//   triangle  float32, Budgetron only: U and D of P = U D U', column j after column j - 1
//
// A block has room for exactly the examples it holds: it is copied when one enters or leaves. Its
// slab knows their number (arena.hpp). The price of losing an example is computed when needed. A
// file holds the same bytes, with the number of examples in place of the place in the heap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/large_pages.hpp"
#include "fleet/key_id.hpp"

namespace budgetron {

// Models as bytes. Large vectors return their memory to the system when they are freed.
using ModelBytes = std::vector<std::byte, PageAllocator<std::byte>>;

struct BlockHead {
  static constexpr std::uint32_t kFree = 0xFFFFFFFFu;

  KeyId key;
  // Its place in the heap; kFree if the block holds no model; in a file: the number of examples.
  std::uint32_t heap_at = 0;
  // When its key was seen last, by the fleet's clock; in a free block: the next free block.
  std::uint32_t seen = 0;
};
static_assert(sizeof(BlockHead) == 24);

class BlockLayout {
 public:
  // `extra`: bytes of the learner, a multiple of 8. `triangular`: the block has a triangle.
  BlockLayout(std::size_t width, std::size_t outputs, std::size_t extra, bool triangular)
      : width_(width), outputs_(outputs), extra_(extra), triangular_(triangular) {}

  [[nodiscard]] std::size_t width() const { return width_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t extra() const { return extra_; }
  [[nodiscard]] std::size_t values_at() const { return sizeof(BlockHead) + extra_; }
  [[nodiscard]] std::size_t coefs_at(std::size_t n) const {
    return values_at() + (sizeof(float) * width_ * n + 7) / 8 * 8;
  }
  [[nodiscard]] std::size_t triangle_at(std::size_t n) const {
    return coefs_at(n) + sizeof(double) * outputs_ * n;
  }
  [[nodiscard]] std::size_t numbers_in_triangle(std::size_t n) const {
    return triangular_ ? n * (n + 1) / 2 : 0;
  }
  [[nodiscard]] std::size_t bytes(std::size_t n) const {
    return triangle_at(n) + (sizeof(float) * numbers_in_triangle(n) + 7) / 8 * 8;
  }

 private:
  std::size_t width_;
  std::size_t outputs_;
  std::size_t extra_;
  bool triangular_;
};

// A view of one block. An empty view is a model without examples, of an unknown key.
class Block {
 public:
  Block() = default;
  Block(const BlockLayout& layout, std::byte* at, std::size_t examples)
      : layout_(&layout), at_(at), size_(examples) {}
  // A view of a block in the form of a file.
  static Block in_file(const BlockLayout& layout, std::byte* at) {
    return {layout, at, reinterpret_cast<BlockHead*>(at)->heap_at};
  }

  explicit operator bool() const { return at_ != nullptr; }
  [[nodiscard]] std::byte* bytes() const { return at_; }
  [[nodiscard]] BlockHead& head() const { return *reinterpret_cast<BlockHead*>(at_); }
  [[nodiscard]] std::size_t size() const { return size_; }
  template <class T>
  [[nodiscard]] T* extra() const {
    return reinterpret_cast<T*>(at_ + sizeof(BlockHead));
  }
  [[nodiscard]] float* values() const {
    return reinterpret_cast<float*>(at_ + layout_->values_at());
  }
  [[nodiscard]] double* coefs() const {
    return reinterpret_cast<double*>(at_ + layout_->coefs_at(size()));
  }
  [[nodiscard]] float* triangle() const {
    return reinterpret_cast<float*>(at_ + layout_->triangle_at(size()));
  }
  [[nodiscard]] std::size_t byte_count() const { return layout_->bytes(size()); }

  // Copies example i to x; or replaces it.
  void get(std::size_t i, float* x) const {
    const std::size_t n = size();
    for (std::size_t j = 0; j < layout_->width(); ++j) x[j] = values()[j * n + i];
  }
  void put(std::size_t i, const float* x, std::span<const double> coefs) const {
    const std::size_t n = size();
    for (std::size_t j = 0; j < layout_->width(); ++j) values()[j * n + i] = x[j];
    for (std::size_t k = 0; k < layout_->outputs(); ++k) this->coefs()[k * n + i] = coefs[k];
  }
  // Removes example 0, moves the others up, and appends x.
  void shift_in(const float* x, std::span<const double> coefs) const {
    const std::size_t n = size();
    std::memmove(values(), values() + 1, sizeof(float) * (layout_->width() * n - 1));
    std::memmove(this->coefs(), this->coefs() + 1, sizeof(double) * (layout_->outputs() * n - 1));
    put(n - 1, x, coefs);
  }
  // |a_i|^2 with the inner product of the outputs.
  [[nodiscard]] double squared_coef(std::size_t i) const {
    const std::size_t n = size();
    double sum = 0.0;
    for (std::size_t k = 0; k < layout_->outputs(); ++k) {
      sum += coefs()[k * n + i] * coefs()[k * n + i];
    }
    return layout_->outputs() == 1 ? sum : 2.0 * sum;
  }

  // Becomes a copy of `from` with room for one more example, which is not initialised; `from` is
  // one smaller. If `from` is empty, head and extra become 0.
  void copy_with_room(const Block& from) const {
    const std::size_t n = from.size();
    if (from) {
      std::memcpy(at_, from.at_, layout_->values_at());
    } else {
      std::memset(at_, 0, layout_->values_at());
    }
    if (n == 0) return;
    for (std::size_t j = 0; j < layout_->width(); ++j) {
      std::copy_n(from.values() + j * n, n, values() + j * (n + 1));
    }
    for (std::size_t k = 0; k < layout_->outputs(); ++k) {
      std::copy_n(from.coefs() + k * n, n, coefs() + k * (n + 1));
    }
    std::copy_n(from.triangle(), layout_->numbers_in_triangle(n), triangle());
  }
  // Becomes a copy of `from` without example i; the triangle is not initialised.
  void copy_without(const Block& from, std::size_t i) const {
    const std::size_t n = from.size();
    std::memcpy(at_, from.at_, layout_->values_at());
    const auto each = [&](auto* to, const auto* row, std::size_t rows) {
      for (std::size_t j = 0; j < rows; ++j, row += n) {
        to = std::copy_n(row, i, to);
        to = std::copy_n(row + i + 1, n - i - 1, to);
      }
    };
    each(values(), from.values(), layout_->width());
    each(coefs(), from.coefs(), layout_->outputs());
  }

 private:
  const BlockLayout* layout_ = nullptr;
  std::byte* at_ = nullptr;
  std::size_t size_ = 0;  // number of examples
};

}  // namespace budgetron
