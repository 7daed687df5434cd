// The extension module budgetron._core.
#include "module.hpp"

NB_MODULE(_core, m) {
  m.doc() = "Compiled core of budgetron. Use the estimators of `budgetron` instead.";
  bind_model(m);
  bind_libsvm(m);
}
