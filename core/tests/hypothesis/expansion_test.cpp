// The support and the expansion under random adding, replacing and removing, dense and sparse, with
// every invariant recomputed after each step, and the decision against a plain sum.
#include "hypothesis/expansion.hpp"

#include <cmath>
#include <type_traits>

#include "storage/sparse_store.hpp"
#include "tests/harness.hpp"

using namespace budgetron;

namespace {

// The rows that the expansion should hold, in a simple form.
template <class Real>
struct Mirror {
  std::vector<std::vector<Real>> rows;
  std::vector<std::vector<double>> coefs;
};

template <class Real>
double kernel_value(const Kernel& kernel, const std::vector<Real>& x, const std::vector<Real>& z) {
  double dot = 0.0;
  double squared = 0.0;
  double absolute = 0.0;
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double a = static_cast<double>(x[j]);
    const double b = static_cast<double>(z[j]);
    dot += a * b;
    squared += (a - b) * (a - b);
    absolute += std::abs(a - b);
  }
  switch (kernel.kind) {
    case KernelKind::rbf:
      return std::exp(-kernel.gamma * squared);
    case KernelKind::laplacian:
      return std::exp(-kernel.gamma * absolute);
    case KernelKind::poly:
      return std::pow(kernel.gamma * dot + kernel.coef0, kernel.degree);
    case KernelKind::linear:
      return dot;
    case KernelKind::sigmoid:
      return std::tanh(kernel.gamma * dot + kernel.coef0);
  }
  return 0.0;
}

// `ones`: the rows of the first 80 rounds are sparse and all their values are 1.
template <class Real>
void exercise(KernelKind kind, std::size_t outputs, bool gram, std::size_t capacity,
              bool ones = false) {
  constexpr std::size_t width = 9;
  const Kernel kernel{kind, 0.3, 0.5, 2};
  Expansion<Real> f(kernel, outputs, capacity);
  f.keep_norm();
  if (gram) f.keep_gram();
  Mirror<Real> mirror;
  Random random(11);
  Row<Real> row;
  std::vector<double> decision(outputs);
  for (std::int64_t round = 0; round < 120; ++round) {
    // A row with zeros, as a dense or as a sparse sample.
    std::vector<Real> x(width, Real(0));
    std::vector<Real> values;
    std::vector<std::int32_t> indices;
    for (std::size_t j = 0; j < width; ++j) {
      if (random.below(2) == 0) continue;
      x[j] = ones && round < 80 ? Real(1) : static_cast<Real>(random.uniform() * 2.0 - 1.0);
      values.push_back(x[j]);
      indices.push_back(static_cast<std::int32_t>(j));
    }
    const bool dense = random.below(2) == 0 && !(ones && round < 80);
    const Sample<Real> sample = dense ? Sample<Real>{x.data(), nullptr, width}
                                      : Sample<Real>{values.data(), indices.data(), values.size()};
    f.row(sample, row);
    f.decide(row, decision);
    const double tolerance = std::is_same_v<Real, float> ? 1e-4 : 1e-10;
    for (std::size_t k = 0; k < outputs; ++k) {
      double expected = 0.0;
      for (std::size_t i = 0; i < mirror.rows.size(); ++i) {
        expected += mirror.coefs[i][k] * kernel_value(kernel, mirror.rows[i], x);
      }
      CHECK(std::abs(decision[k] - expected) < tolerance * (1.0 + std::abs(expected)));
    }
    std::vector<double> coefs(outputs);
    for (double& coef : coefs) coef = random.uniform() - 0.5;
    const std::size_t action = random.below(4);
    if (f.size() < 20 && (action < 2 || f.size() == 0)) {
      f.add(sample, row, coefs, round);
      mirror.rows.push_back(x);
      mirror.coefs.push_back(coefs);
    } else if (action < 3) {
      const std::size_t i = random.below(f.size());
      f.replace(i, sample, row, coefs, round);
      mirror.rows[i] = x;
      mirror.coefs[i] = coefs;
    } else {
      const std::size_t i = random.below(f.size());
      f.remove(i, row);
      mirror.rows[i] = mirror.rows.back();
      mirror.coefs[i] = mirror.coefs.back();
      mirror.rows.pop_back();
      mirror.coefs.pop_back();
    }
    const double factor = 0.2 + random.uniform();  // sometimes so small that it is folded in
    f.scale(factor);
    for (auto& row_coefs : mirror.coefs) {
      for (double& coef : row_coefs) coef *= factor;
    }
    CHECK_EQ(f.size(), mirror.rows.size());
    f.check_invariants();
    if (ones && round == 79) CHECK_EQ(f.support().columns().bytes(), kind != KernelKind::laplacian);
    if (round == 119) CHECK(!f.support().columns().bytes());
  }
}

}  // namespace

TEST(expansion_equals_a_plain_sum) {
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::laplacian, KernelKind::poly,
                                KernelKind::linear, KernelKind::sigmoid}) {
    exercise<double>(kind, 1, false, 0);
    exercise<double>(kind, 3, true, 20);
    exercise<float>(kind, 1, true, 20);
    exercise<double>(kind, 1, false, 0, true);
    exercise<float>(kind, 1, true, 20, true);
  }
}

// A row of ones against bytes and against numbers gives the same bits, wherever vectors, tiles and
// tables end.
template <class Real>
void compare_ones(KernelKind kind, std::size_t examples, std::size_t terms, bool distances) {
  const Kernel kernel{kind, 0.03, 0.5, 3};
  const std::size_t width = 2 * terms;
  Random random(examples + terms);
  Expansion<Real> bytes(kernel, 1, 0);
  Expansion<Real> numbers(kernel, 1, 0);
  if (distances) {
    bytes.keep_distances();
    numbers.keep_distances();
  }
  const std::vector<Real> values(width, Real(1));
  std::vector<std::int32_t> indices;
  const auto draw = [&] {
    indices.clear();
    for (std::size_t j = 0; j < width; ++j) {
      if (random.below(2) == 0) indices.push_back(static_cast<std::int32_t>(j * j));
    }
    return Sample<Real>{values.data(), indices.data(), indices.size()};
  };
  Row<Real> row;
  Row<Real> expected;
  const double coef[] = {1.0};
  const Real other = Real(0.5);
  const std::int32_t far = 1 << 20;
  for (std::size_t i = 0; i < examples; ++i) {
    const Sample<Real> x = draw();
    for (Expansion<Real>* f : {&bytes, &numbers}) {
      // At the end only one of them has seen values other than 1.
      const Sample<Real> first = i == 0 && f == &numbers ? Sample<Real>{&other, &far, 1} : x;
      row.norm = f->support().norm_of(first);
      f->add(first, row, coef, static_cast<std::int64_t>(i));  // the norm of f is not needed
    }
  }
  const Sample<Real> again = draw();
  for (Expansion<Real>* f : {&bytes, &numbers}) {
    f->row(again, row);
    f->replace(0, again, row, coef, 1000000);
  }
  CHECK(bytes.support().columns().bytes());
  CHECK(!numbers.support().columns().bytes());
  for (const bool ones : {true, false}) {
    std::vector<Real> scaled(width, ones ? Real(1) : Real(0.7));
    Sample<Real> x = draw();
    x.values = scaled.data();
    bytes.row(x, row);
    numbers.row(x, expected);
    CHECK_EQ(row.binary, ones && indices.size() < 256);
    for (std::size_t i = 0; i < examples; ++i) {
      CHECK_EQ(row.values[i], expected.values[i]);
      if (distances) CHECK_EQ(row.distances[i], expected.distances[i]);
    }
  }
}

TEST(rows_of_ones_have_the_same_bits_in_bytes) {
  for (const KernelKind kind : {KernelKind::rbf, KernelKind::poly, KernelKind::linear}) {
    for (const std::size_t examples : {1u, 16u, 17u, 48u, 130u, 305u, 700u}) {
      compare_ones<float>(kind, examples, 14, false);
      compare_ones<double>(kind, examples, 14, false);
    }
    for (const std::size_t terms : {3u, 8u, 20u, 28u, 60u, 130u, 300u, 600u}) {
      compare_ones<float>(kind, 40, terms, terms == 20);
    }
    compare_ones<float>(kind, 5000, 4, false);
  }
}

// Counts larger than a byte can hold: of features with slots, of others, and of both.
TEST(ones_beyond_what_a_byte_counts) {
  for (const std::size_t count : {254u, 255u, 256u, 257u, 300u, 513u}) {
    for (const std::size_t shared : {std::size_t{0}, count / 2, count - 3, count}) {
      Expansion<float> f(Kernel{KernelKind::linear}, 1, 0);
      const std::vector<float> values(count, 1.0f);
      std::vector<std::int32_t> indices(count);
      for (std::size_t j = 0; j < count; ++j) indices[j] = static_cast<std::int32_t>(j);
      Row<float> row;
      const double coef[] = {1.0};
      std::int64_t id = 0;
      // Features of a single example have no slot; those of two do.
      for (const std::size_t taken : {count, shared}) {
        const Sample<float> x{values.data(), indices.data(), taken};
        f.row(x, row);
        f.add(x, row, coef, id++);
      }
      f.row({values.data(), indices.data(), count}, row);
      CHECK(f.support().columns().bytes());
      CHECK_EQ(row.hit_count > 0, shared < count);
      CHECK_EQ(row.values[0], static_cast<float>(count));
      CHECK_EQ(row.values[1], static_cast<float>(shared));
    }
  }
}

TEST(slots_are_given_back) {
  SparseStore<double> support(false);
  Random random(5);
  const auto wide = [&](std::size_t i) {
    return static_cast<std::int32_t>(1000000 + 1000 * i + random.below(900));
  };
  std::size_t most = 0;
  for (int round = 0; round < 3000; ++round) {
    const double values[3] = {1.0, 2.0, 3.0};
    const std::int32_t indices[3] = {wide(0), wide(1), wide(2)};
    const Sample<double> x{values, indices, 3};
    if (support.size() < 8) {
      support.append(x);
    } else {
      support.replace(random.below(8), x);
    }
    StateVisitor counter = StateVisitor::counter();
    support.count_bytes(counter);
    if (round == 500) most = counter.bytes();
    if (round > 500) CHECK(counter.bytes() <= 2 * most);
  }
  support.check_invariants();
}

// The first stored row fixes the layout, until the store is empty. Rows computed ahead notice that
// it has changed.
TEST(the_first_stored_row_fixes_the_layout) {
  Expansion<float> f({KernelKind::rbf, 0.3, 0.5, 2}, 1, 128);
  const std::int32_t indices[3] = {0, 1, 2};
  const float values[3] = {1.0f, 0.5f, 2.0f};
  const double coef = 1.0;
  Row<float> row;
  const auto add = [&](bool dense) {
    const Sample<float> x{values, dense ? nullptr : indices, 3};
    f.row(x, row);
    f.add(x, row, {&coef, 1}, 0);
  };
  std::vector<float> rows(3 * kBlockRows);
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = 0.25f * static_cast<float>(k + 1);
  RowBlock<float> block;
  for (const bool dense : {true, false, true}) {
    add(dense);
    add(!dense);
    CHECK_EQ(f.support().dense(), dense);
    CHECK_EQ(f.fill(block, rows.data(), 3), dense);
    while (f.size() > 0) f.remove(0, row);
    add(!dense);
    CHECK_EQ(f.support().dense(), !dense);
    for (std::size_t r = 0; r < kBlockRows && dense; ++r) {
      const Row<float>& taken = f.take(block, r);
      f.row({rows.data() + 3 * r, nullptr, 3}, row);
      CHECK_EQ(taken.values[0], row.values[0]);
    }
    f.check_invariants();
    f.remove(0, row);
  }
}

TEST(rearranging_two_classes_to_three_keeps_their_difference) {
  AlignedVector<double> matrix = {1.0, -2.0, 0.5};
  rearrange_outputs(matrix, 3, {2, 3, {0, -1, 1}});
  CHECK_EQ(matrix.size(), 9u);
  for (std::size_t i = 0; i < 3; ++i) CHECK_EQ(matrix[3 + i], 0.0);
  CHECK_EQ(matrix[6] - matrix[0], 1.0);
  CHECK_EQ(matrix[7] - matrix[1], -2.0);
  CHECK_EQ(matrix[8] - matrix[2], 0.5);
}
