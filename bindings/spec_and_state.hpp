// Converts specs and saved states between Python and the core: dicts of numbers, texts and arrays.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "base/spec.hpp"
#include "base/state.hpp"

namespace budgetron {

inline std::shared_ptr<Spec> to_spec(const nanobind::dict& dict) {
  auto spec = std::make_shared<Spec>();
  for (const auto& [key, value] : dict) {
    const auto name = nanobind::cast<std::string>(key);
    if (nanobind::isinstance<nanobind::dict>(value)) {
      spec->set(name, to_spec(nanobind::cast<nanobind::dict>(value)));
    } else if (nanobind::isinstance<nanobind::bool_>(value)) {
      spec->set(name, nanobind::cast<bool>(value));
    } else if (nanobind::isinstance<nanobind::int_>(value)) {
      spec->set(name, nanobind::cast<std::int64_t>(value));
    } else if (nanobind::isinstance<nanobind::float_>(value)) {
      spec->set(name, nanobind::cast<double>(value));
    } else if (nanobind::isinstance<nanobind::str>(value)) {
      spec->set(name, nanobind::cast<std::string>(value));
    } else {
      throw std::invalid_argument("spec: '" + name + "' is not a number, a text or a part");
    }
  }
  return spec;
}

inline nanobind::dict to_dict(State state) {
  nanobind::dict dict;
  for (auto& [name, array] : state) {
    std::visit([&](auto& values) { dict[name.c_str()] = to_numpy(std::move(values)); }, array);
  }
  return dict;
}

template <class T>
bool take_array(State& state, const std::string& name, const nanobind::handle& value) {
  Vector<T> array;
  if (!nanobind::try_cast(value, array, false)) return false;
  state[name] = std::vector<T>(array.data(), array.data() + array.size());
  return true;
}

inline State to_state(const nanobind::dict& dict) {
  State state;
  for (const auto& [key, value] : dict) {
    const auto name = nanobind::cast<std::string>(key);
    if (!(take_array<double>(state, name, value) || take_array<float>(state, name, value) ||
          take_array<std::int64_t>(state, name, value) ||
          take_array<std::int32_t>(state, name, value) ||
          take_array<std::uint64_t>(state, name, value))) {
      throw std::invalid_argument("state: field '" + name + "' is not a 1-d array of numbers");
    }
  }
  return state;
}

}  // namespace budgetron
