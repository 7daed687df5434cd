// The kernel and its parameters. Names and formulas are scikit-learn's; they are in kernel_row.hpp.
#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "base/spec.hpp"
#include "simd/kernel_row.hpp"

namespace budgetron {

struct Kernel {
  KernelKind kind = KernelKind::rbf;
  double gamma = 1.0;
  double coef0 = 0.0;
  int degree = 3;

  // Whether k depends on x - z alone, with k(x, x) = 1.
  [[nodiscard]] bool isotropic() const {
    return kind == KernelKind::rbf || kind == KernelKind::laplacian;
  }

  // Whether float32 rounds a row of this squared norm by more than a thousandth of the Gaussian's
  // width, 1/sqrt(2 gamma); an angle of its Fourier features has the same rounding.
  template <class Real>
  [[nodiscard]] bool rounds_coarsely(Real squared_norm) const {
    constexpr auto eps = static_cast<double>(std::numeric_limits<Real>::epsilon());
    return std::is_same_v<Real, float> && kind == KernelKind::rbf &&
           eps * eps * 2.0 * gamma * static_cast<double>(squared_norm) > 1e-6;
  }
};

inline Kernel make_kernel(const Spec& spec) {
  Kernel kernel;
  const std::string& kind = spec.text("kind");
  if (kind == "linear") {
    kernel.kind = KernelKind::linear;
    return kernel;
  }
  kernel.gamma = spec.number("gamma");
  if (kind == "rbf") return kernel;
  if (kind == "laplacian") {
    kernel.kind = KernelKind::laplacian;
    return kernel;
  }
  kernel.coef0 = spec.number("coef0");
  if (kind == "sigmoid") {
    kernel.kind = KernelKind::sigmoid;
    return kernel;
  }
  if (kind != "poly") throw std::invalid_argument("no kernel is called '" + kind + "'");
  kernel.kind = KernelKind::poly;
  kernel.degree = static_cast<int>(spec.integer("degree"));
  return kernel;
}

}  // namespace budgetron
