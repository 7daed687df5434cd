// Vectors as NumPy arrays that own their memory: moved, never copied.
#pragma once

#include <nanobind/ndarray.h>

#include <memory>
#include <utility>
#include <vector>

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
