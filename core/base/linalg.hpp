// Dense symmetric solves with the LAPACK that SciPy contains.
//
// The bindings install the function pointers of scipy.linalg.cython_lapack at import; nothing is
// linked. All matrices are column-major float64. Only the lower triangle of a symmetric matrix is
// read.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace budgetron::lapack {

// The names of the routines in use, and where to put their addresses.
const std::vector<std::string>& routines();
void install(const std::string& routine, void* address);

// Functions that get and set the number of BLAS threads. Once they are installed, every
// factorisation runs on one thread. Several threads round differently, so results would depend on
// the number of cores; and for matrices of this size they wait for each other more than they work
// (B = 400: seconds instead of 40 ms on two busy cores).
void install_thread_control(int (*get)(), void (*set)(int));

// A <- L with A = L L', lower triangle. False if A is not positive definite.
bool cholesky(std::size_t n, double* a);

// b <- (L L')^-1 b, with one right-hand side per call: BLAS rounds several right-hand sides
// differently, and two classes must give the same bits with one output and with two.
void cholesky_solve(std::size_t n, const double* factor, double* b);

// Eigenvalues in ascending order, and the eigenvectors in the same order as the columns of an n x n
// matrix. Destroys A. The caller owns the workspace and may allocate it in advance.
struct EigenWork {
  std::vector<int> spans;
  std::vector<double> numbers;
  std::vector<int> wholes;

  void resize(std::size_t n);
};
void eigen(std::size_t n, double* a, double* values, double* vectors, EigenWork& work);

// b <- L^-1 b, or with `transposed` (L')^-1 b, for packed lower L in ROW-major rows of growing
// length (row i has i + 1 numbers): the layout of a factor that grows by bordering.
void packed_solve(std::size_t n, const double* factor, double* b, bool transposed);

}  // namespace budgetron::lapack
