#include "base/linalg.hpp"

#include <mutex>
#include <stdexcept>

namespace budgetron::lapack {
namespace {

using Potrf = void (*)(const char*, int*, double*, int*, int*);
using Potrs = void (*)(const char*, int*, int*, double*, int*, double*, int*, int*);
using Syevr = void (*)(const char*, const char*, const char*, int*, double*, int*, double*, double*,
                       int*, int*, double*, int*, double*, double*, int*, int*, double*, int*, int*,
                       int*, int*);
using Tptrs = void (*)(const char*, const char*, const char*, int*, int*, double*, double*, int*,
                       int*);

Potrf potrf = nullptr;
Potrs potrs = nullptr;
Syevr syevr = nullptr;
Tptrs tptrs = nullptr;

int (*get_threads)() = nullptr;
void (*set_threads)(int) = nullptr;

// Limits BLAS to one thread while at least one of these objects exists. The last one restores the
// number that the first one found.
class OneThread {
 public:
  OneThread() {
    if (set_threads == nullptr) return;
    const std::lock_guard lock(mutex());
    if (alive()++ == 0) {
      before() = get_threads();
      set_threads(1);
    }
  }
  ~OneThread() {
    if (set_threads == nullptr) return;
    const std::lock_guard lock(mutex());
    if (--alive() == 0) set_threads(before());
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex shared;
    return shared;
  }
  static int& alive() {
    static int count = 0;
    return count;
  }
  static int& before() {
    static int threads = 1;
    return threads;
  }
};

template <class Function>
Function installed(Function function) {
  if (function == nullptr) throw std::logic_error("LAPACK has not been installed");
  return function;
}

}  // namespace

const std::vector<std::string>& routines() {
  static const std::vector<std::string> names = {"dpotrf", "dpotrs", "dsyevr", "dtptrs"};
  return names;
}

void install(const std::string& routine, void* address) {
  if (routine == "dpotrf") potrf = reinterpret_cast<Potrf>(address);
  if (routine == "dpotrs") potrs = reinterpret_cast<Potrs>(address);
  if (routine == "dsyevr") syevr = reinterpret_cast<Syevr>(address);
  if (routine == "dtptrs") tptrs = reinterpret_cast<Tptrs>(address);
}

void install_thread_control(int (*get)(), void (*set)(int)) {
  get_threads = get;
  set_threads = set;
}

bool cholesky(std::size_t n, double* a) {
  const OneThread one_thread;
  int size = static_cast<int>(n);
  int info = 0;
  if (n > 0) installed(potrf)("L", &size, a, &size, &info);
  return info == 0;
}

void cholesky_solve(std::size_t n, const double* factor, double* b) {
  const OneThread one_thread;
  int size = static_cast<int>(n);
  int one = 1;
  int info = 0;
  if (n == 0) return;
  // LAPACK's C declarations have no const; dpotrs only reads the factor.
  installed(potrs)("L", &size, &one, const_cast<double*>(factor), &size, b, &size, &info);
}

namespace {

// Calls dsyevr on A. Lengths of -1 ask for the sizes that the work arrays should have.
int run_eigen(std::size_t n, double* a, double* values, double* vectors, int* spans,
              double* numbers, int length, int* wholes, int whole_length) {
  int size = static_cast<int>(n);
  int info = 0;
  int found = 0;
  int unused = 0;
  double bound = 0.0;
  double tolerance = 0.0;  // 0: the routine's own tolerance
  installed(syevr)("V", "A", "L", &size, a, &size, &bound, &bound, &unused, &unused, &tolerance,
                   &found, values, vectors, &size, spans, numbers, &length, wholes, &whole_length,
                   &info);
  return info;
}

}  // namespace

void EigenWork::resize(std::size_t n) {
  double wanted = 0.0;
  int wanted_whole = 0;
  run_eigen(n, nullptr, nullptr, nullptr, nullptr, &wanted, -1, &wanted_whole, -1);
  spans.resize(2 * n);
  numbers.resize(static_cast<std::size_t>(wanted));
  wholes.resize(static_cast<std::size_t>(wanted_whole));
}

void eigen(std::size_t n, double* a, double* values, double* vectors, EigenWork& work) {
  if (n == 0) return;
  const OneThread one_thread;
  work.resize(n);
  const int info = run_eigen(n, a, values, vectors, work.spans.data(), work.numbers.data(),
                             static_cast<int>(work.numbers.size()), work.wholes.data(),
                             static_cast<int>(work.wholes.size()));
  if (info != 0) throw std::runtime_error("the eigenvalues of a Gram matrix did not converge");
}

void packed_solve(std::size_t n, const double* factor, double* b, bool transposed) {
  int size = static_cast<int>(n);
  int one = 1;
  int info = 0;
  if (n == 0) return;
  // The rows of a lower triangle L are the columns of the upper triangle U = L': L b = U' b.
  installed(tptrs)("U", transposed ? "N" : "T", "N", &size, &one, const_cast<double*>(factor), b,
                   &size, &info);
}

}  // namespace budgetron::lapack
