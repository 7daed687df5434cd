// The extension module budgetron._core.
//
// If the core refuses a spec, rows or a saved state, it throws std::invalid_argument: this is a
// user's mistake, in Python a BudgetronError. A broken invariant is a std::logic_error.
#include "module.hpp"

#include <exception>
#include <stdexcept>

namespace nb = nanobind;

namespace {

void raise_budgetron_errors() {
  const nb::object type = nb::module_::import_("budgetron.errors").attr("BudgetronError");
  nb::register_exception_translator(
      [](const std::exception_ptr& thrown, void* raised) {
        try {
          std::rethrow_exception(thrown);
        } catch (const std::invalid_argument& error) {
          PyErr_SetString(static_cast<PyObject*>(raised), error.what());
        }
      },
      type.inc_ref().ptr());  // lives as long as the module
}

}  // namespace

NB_MODULE(_core, m) {
  raise_budgetron_errors();
  m.doc() = "Compiled core of budgetron. Use the estimators of `budgetron` instead.";
  bind_model(m);
  bind_libsvm(m);
  bind_fleet(m);
}
