// Reads a row in River's form, a dict of feature name -> value, as a sparse sample.
//
// `names` is a dict of name -> feature number. Its method `fresh(unknown, learning)` gives the
// numbers of unknown names, or refuses them. It is called only for rows with unknown names; all
// other rows, nearly all of a stream, are read without calling back into Python.
//
// Zeros are left out: an absent feature and a 0 mean the same. None, NaN and pandas' NA are missing
// values, if the model accepts these. Any other value that is not a finite number is a ValueError
// with the name of its feature, and changes nothing. If two names have the same number (they may be
// hashes), their values are added.
//
// Cost: one dict lookup per feature, and a sort if names come out of order.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/sample.hpp"

namespace budgetron {

namespace nb = nanobind;

// Each thread keeps its own object between rows, so that reading a row allocates nothing.
template <class Real>
class NamedRow {
 public:
  // Reads the row x; if `learning`, unknown names join `names`. `gaps`: values may be missing.
  Sample<Real> read(const nb::dict& names, const nb::handle& x, bool learning, bool gaps) {
    if (!nb::isinstance<nb::dict>(x)) {
      const nb::str text = nb::str("a row is a dict of features, not {!r:.80}");
      throw nb::type_error(nb::cast<nb::str>(text.attr("format")(x)).c_str());
    }
    const nb::ft_object2_guard guard(names, x);
    terms_.clear();
    nb::list unknown;
    std::vector<double> unknown_values;
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(x.ptr(), &at, &key, &value) != 0;) {
      const nb::object name = nb::borrow(key);
      const double number = sound(name, nb::borrow(value), gaps);
      PyObject* known = PyDict_GetItemWithError(names.ptr(), key);
      if (known != nullptr) {
        add(PyLong_AsLong(known), number);
      } else if (PyErr_Occurred() != nullptr) {
        throw nb::python_error();
      } else {
        unknown.append(name);
        unknown_values.push_back(number);
      }
    }
    if (!unknown_values.empty()) name_features(names, unknown, unknown_values, learning);
    return sample();
  }

 private:
  using Term = std::pair<std::int32_t, Real>;

  // The value, NaN if it is missing.
  static double sound(const nb::object& name, const nb::object& value, bool gaps) {
    const double number =
        PyFloat_CheckExact(value.ptr()) ? float_of(value.ptr()) : converted(value);
    if (std::isfinite(static_cast<Real>(number)) || (gaps && std::isnan(number))) return number;
    const nb::str text =
        std::isnan(number)
            ? nb::str("feature {!r} is {!r:.80}; scale=\"auto\" treats it as a missing value")
            : nb::str("feature {!r} is {!r:.80}: values must be finite numbers");
    const nb::object message = text.attr("format")(name, value);
    throw std::invalid_argument(nb::cast<nb::str>(message).c_str());
  }

  // NaN if the value is missing, infinity if it is not a number.
  static double converted(const nb::object& value) {
    if (value.is_none() || is_pandas_na(value)) return std::nan("");
    const double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred() == nullptr) return number;
    if (PyErr_ExceptionMatches(PyExc_Exception) == 0) throw nb::python_error();
    PyErr_Clear();
    return std::numeric_limits<double>::infinity();
  }
  // The stable ABI (Python 3.12 and later) has functions where CPython's own headers have fields.
#ifdef Py_LIMITED_API
  static double float_of(PyObject* value) { return PyFloat_AsDouble(value); }
  static bool is_pandas_na(const nb::object& value) {
    const nb::str type = nb::type_name(value.type());
    return std::string_view(type.c_str()).ends_with("NAType");
  }
#else
  static double float_of(PyObject* value) { return PyFloat_AS_DOUBLE(value); }
  static bool is_pandas_na(const nb::object& value) {
    const std::string_view type = Py_TYPE(value.ptr())->tp_name;
    return type.ends_with("NAType");
  }
#endif

  void add(long feature, double value) {
    if (value != 0.0) terms_.emplace_back(static_cast<std::int32_t>(feature), Real(value));
  }

  void name_features(const nb::dict& names, const nb::list& unknown,
                     const std::vector<double>& values, bool learning) {
    const nb::list numbers = nb::cast<nb::list>(names.attr("fresh")(unknown, learning));
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (learning) names[unknown[k]] = numbers[k];
      add(nb::cast<long>(numbers[k]), values[k]);
    }
  }

  Sample<Real> sample() {
    const auto before = [](const Term& a, const Term& b) { return a.first < b.first; };
    if (!std::is_sorted(terms_.begin(), terms_.end(), before)) {
      std::stable_sort(terms_.begin(), terms_.end(), before);
    }
    indices_.clear();
    values_.clear();
    for (const auto& [feature, value] : terms_) {
      if (!indices_.empty() && indices_.back() == feature) {
        values_.back() += value;
      } else {
        indices_.push_back(feature);
        values_.push_back(value);
      }
    }
    if (indices_.capacity() == 0) indices_.reserve(1);  // a row without values still has indices
    return {values_.data(), indices_.data(), values_.size()};
  }

  std::vector<Term> terms_;
  std::vector<std::int32_t> indices_;
  std::vector<Real> values_;
};

// Lends one of the thread's rows to a call. A thread needs several if computing the value of a
// feature calls another model. Call it with the GIL held.
template <class Real>
class NamedRowLease {
 public:
  NamedRowLease() {
    if (used() == rows().size()) rows().push_back(std::make_unique<NamedRow<Real>>());
    row_ = rows()[used()++].get();
  }
  ~NamedRowLease() { --used(); }
  NamedRowLease(const NamedRowLease&) = delete;
  NamedRowLease& operator=(const NamedRowLease&) = delete;

  NamedRow<Real>* operator->() const { return row_; }

 private:
  static std::vector<std::unique_ptr<NamedRow<Real>>>& rows() {
    thread_local std::vector<std::unique_ptr<NamedRow<Real>>> kept;
    return kept;
  }
  static std::size_t& used() {
    thread_local std::size_t count = 0;
    return count;
  }

  NamedRow<Real>* row_;
};

}  // namespace budgetron
