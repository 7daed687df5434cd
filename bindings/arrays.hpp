// NumPy arrays: read without a copy, or made from vectors that move into them.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

namespace budgetron {

// Arrays to read, in C order.
template <class T>
using Vector =
    nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
template <class T>
using Matrix =
    nanobind::ndarray<const T, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// An array to write into.
using Writable =
    nanobind::ndarray<double, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

}  // namespace budgetron

// Arrays that own their memory.
template <class T>
nanobind::object to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  nanobind::capsule owner(owned.get(),
                          [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  owned.release();
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T>(data, shape.size(), shape.data(), owner));
}

template <class T>
nanobind::object to_numpy(std::vector<T> values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}
