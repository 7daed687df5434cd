// Replacements for the LAPACK routines that SciPy provides, so that C++ tests need no Python: the
// textbook loops, with Fortran's signatures. Only what linalg.cpp uses: lower triangles,
// column-major; dtptrs on an upper packed matrix.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/linalg.hpp"

namespace reference {

inline void dpotrf(const char*, int* size, double* a, int*, int* info) {
  const int n = *size;
  *info = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      double sum = a[j * n + i];
      for (int k = 0; k < j; ++k) sum -= a[k * n + i] * a[k * n + j];
      if (i == j && !(sum > 0.0)) {
        *info = j + 1;
        return;
      }
      a[j * n + i] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  }
}

inline void dpotrs(const char*, int* size, int* columns, double* a, int*, double* b, int*,
                   int* info) {
  const int n = *size;
  *info = 0;
  for (int c = 0; c < *columns; ++c) {
    double* x = b + c * n;
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) x[i] -= a[k * n + i] * x[k];
      x[i] /= a[i * n + i];
    }
    for (int i = n; i-- > 0;) {
      for (int k = i + 1; k < n; ++k) x[i] -= a[i * n + k] * x[k];
      x[i] /= a[i * n + i];
    }
  }
}

// Cyclic Jacobi: rotate away one off-diagonal entry after the other until none is left.
inline void dsyevr(const char*, const char*, const char*, int* size, double* a, int*, double*,
                   double*, int*, int*, double*, int* found, double* values, double* vectors, int*,
                   int*, double* work, int* length, int* whole_work, int*, int* info) {
  const int n = *size;
  *info = 0;
  *found = n;
  if (*length == -1) {
    *work = 1.0;
    *whole_work = 1;
    return;
  }
  std::vector<double> m(a, a + n * n), v(static_cast<std::size_t>(n * n), 0.0);
  const auto at = [n](int i, int j) { return static_cast<std::size_t>(j * n + i); };
  for (int i = 0; i < n; ++i) {
    v[at(i, i)] = 1.0;
    for (int j = 0; j < i; ++j) m[at(j, i)] = m[at(i, j)];
  }
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (m[at(p, q)] == 0.0) continue;
        const double angle = 0.5 * std::atan2(2.0 * m[at(p, q)], m[at(q, q)] - m[at(p, p)]);
        const double c = std::cos(angle);
        const double s = std::sin(angle);
        const auto turn = [c, s](double& x, double& y) {
          const double turned = c * x - s * y;
          y = s * x + c * y;
          x = turned;
        };
        for (int k = 0; k < n; ++k) turn(m[at(k, p)], m[at(k, q)]);
        for (int k = 0; k < n; ++k) turn(m[at(p, k)], m[at(q, k)]);
        for (int k = 0; k < n; ++k) turn(v[at(k, p)], v[at(k, q)]);
      }
    }
  }
  std::vector<int> order(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
  std::sort(order.begin(), order.end(), [&](int i, int j) { return m[at(i, i)] < m[at(j, j)]; });
  for (int j = 0; j < n; ++j) {
    const int from = order[static_cast<std::size_t>(j)];
    values[j] = m[at(from, from)];
    for (int i = 0; i < n; ++i) vectors[at(i, j)] = v[at(i, from)];
  }
}

// Solves U x = b, or with "T" U' x = b; column j of U has j + 1 numbers.
inline void dtptrs(const char*, const char* trans, const char*, int* size, int*, double* u,
                   double* b, int*, int* info) {
  const int n = *size;
  *info = 0;
  const auto at = [u](int i, int j) { return u[j * (j + 1) / 2 + i]; };
  if (*trans == 'T') {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < i; ++k) b[i] -= at(k, i) * b[k];
      b[i] /= at(i, i);
    }
  } else {
    for (int i = n; i-- > 0;) {
      for (int k = i + 1; k < n; ++k) b[i] -= at(i, k) * b[k];
      b[i] /= at(i, i);
    }
  }
}

inline void install_lapack() {
  using budgetron::lapack::install;
  install("dpotrf", reinterpret_cast<void*>(&dpotrf));
  install("dpotrs", reinterpret_cast<void*>(&dpotrs));
  install("dsyevr", reinterpret_cast<void*>(&dsyevr));
  install("dtptrs", reinterpret_cast<void*>(&dtptrs));
}

}  // namespace reference
