// Rows and batches from Python, in the form that the core reads.
//
// Rows are a C-ordered array or an object with `indptr`, `indices` and `values` (SparseRows of
// src/budgetron/_csr.py, whose structure is checked there). A batch (src/budgetron/_batch.py) has
// rows, targets, weights and flags. Dtype, dimensions and order of the arrays are checked here,
// once; nothing is converted or copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "base/batch.hpp"

namespace budgetron {

// The names of the attributes that are read, made only once.
struct AttributeNames {
  static nanobind::handle name(const char* text) { return PyUnicode_InternFromString(text); }
  const nanobind::handle indptr = name("indptr"), indices = name("indices"),
                         values = name("values"), rows = name("rows"), y = name("y"),
                         weights = name("weights"), record = name("record"),
                         chances = name("chances"), spans = name("spans"),
                         coverage = name("coverage"), unseen = name("unseen"),
                         calibrate = name("calibrate"), surveyed = name("surveyed");

  static const AttributeNames& get() {
    static const AttributeNames names;
    return names;
  }
};

// Reads an array of T; TypeError if it has another type.
template <class T>
void read_array(const nanobind::handle& array, const char* name, Vector<T>& out) {
  if (nanobind::try_cast(array, out, false)) return;
  const std::string text = std::string(name) + " is not a 1-d C-ordered array of the dtype needed";
  throw nanobind::type_error(text.c_str());
}

// Keeps the arrays of rows alive while the core reads them.
template <class Real>
class PythonRows {
 public:
  explicit PythonRows(const nanobind::handle& rows) {
    if (PyObject_CheckBuffer(rows.ptr()) != 0) {
      if (!nanobind::try_cast(rows, dense_, false)) {
        throw nanobind::type_error("rows are not a 2-d C-ordered array of the model's dtype");
      }
      view_.count = dense_.shape(0);
      view_.width = dense_.shape(1);
      view_.values = dense_.data();
      return;
    }
    const AttributeNames& names = AttributeNames::get();
    read_array(rows.attr(names.indptr), "indptr", ends_);
    read_array(rows.attr(names.indices), "indices", indices_);
    read_array(rows.attr(names.values), "values", values_);
    view_.count = ends_.size() > 0 ? ends_.size() - 1 : 0;
    view_.values = values_.data();
    view_.ends = ends_.data();
    view_.indices = indices_.data();
  }

  [[nodiscard]] const Batch<Real>& batch() const { return view_; }

 private:
  Matrix<Real> dense_;
  Vector<std::int64_t> ends_;
  Vector<std::int32_t> indices_;
  Vector<Real> values_;
  Batch<Real> view_;
};

// The same for rows to learn.
template <class Real>
class PythonBatch {
 public:
  explicit PythonBatch(const nanobind::handle& batch)
      : rows_(batch.attr(AttributeNames::get().rows)), view_(rows_.batch()) {
    const AttributeNames& names = AttributeNames::get();
    read_array(batch.attr(names.y), "y", targets_);
    view_.targets = targets_.data();
    bool fits = targets_.size() == view_.count;
    const nanobind::object weights = batch.attr(names.weights);
    if (!weights.is_none()) {
      read_array(weights, "weights", weights_);
      view_.weights = weights_.data();
      fits = fits && weights_.size() == view_.count;
    }
    const nanobind::object chances = batch.attr(names.chances);
    if (!chances.is_none()) {
      if (!nanobind::try_cast(chances, chances_, false)) {
        throw nanobind::type_error("chances is not a writable 1-d C-ordered float64 array");
      }
      view_.chances = chances_.data();
      fits = fits && chances_.size() == view_.count;
    }
    const nanobind::object spans = batch.attr(names.spans);
    if (!spans.is_none()) {
      if (!nanobind::try_cast(spans, spans_, false)) {
        throw nanobind::type_error("spans is not a writable 1-d C-ordered float64 array");
      }
      view_.spans = spans_.data();
      view_.coverage = nanobind::cast<double>(batch.attr(names.coverage));
      fits = fits && spans_.size() == 2 * view_.count;
    }
    if (!fits) throw std::invalid_argument("numbers of rows, targets, weights and chances differ");
    record_ = nanobind::cast<bool>(batch.attr(names.record));
    view_.unseen = nanobind::cast<bool>(batch.attr(names.unseen));
    view_.calibrate = nanobind::cast<bool>(batch.attr(names.calibrate));
    view_.surveyed = nanobind::cast<bool>(batch.attr(names.surveyed));
  }

  [[nodiscard]] const Batch<Real>& batch() const { return view_; }
  [[nodiscard]] bool record() const { return record_; }

 private:
  PythonRows<Real> rows_;
  Batch<Real> view_;
  Vector<double> targets_;
  Vector<double> weights_;
  Writable chances_;
  Writable spans_;
  bool record_ = false;
};

}  // namespace budgetron
