// Times the kernel row and the round around it; one JSON object on standard output.
//
// For each shape and type, in microseconds per row, the best of many short bursts:
//
//   row_function   RowFunctions::row alone: terms to kernel values
//   row            Expansion::row: gathering the terms, then the above
//   dot            RowFunctions::dot: kernel values to the decision
//   round          Model::learn over many rows, none of which updates
//   round_one      Model::learn_one, without updates
//   row_major_plain, row_major_vectorised   the loops of row_major.hpp over the same examples
//
// The measurements of a shape take turns, so that a busy machine slows all of them or none.
// run.py makes the table. Usage: row_bench [BURSTS]
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench.hpp"
#include "row_major.hpp"

extern const RowMajorLoops<float> row_major_float_baseline;
extern const RowMajorLoops<double> row_major_double_baseline;
#if defined(__x86_64__)
extern const RowMajorLoops<float> row_major_float_avx2;
extern const RowMajorLoops<double> row_major_double_avx2;
extern const RowMajorLoops<float> row_major_float_avx512;
extern const RowMajorLoops<double> row_major_double_avx512;
#endif

namespace {

using namespace bench;

constexpr Shape kShapes[] = {
    {400, 68, 68, true},   {600, 8, 8, true},    {300, 123, 123, true},
    {300, 123, 14, false}, {300, 123, 14, true}, {1000, 784, 784, true},
};

// ---- the reference -----------------------------------------------------------------------------

template <class Real>
const RowMajorLoops<Real>& row_major() {
  const auto pick = [](const RowMajorLoops<float>& floats,
                       const RowMajorLoops<double>& doubles) -> const RowMajorLoops<Real>& {
    if constexpr (std::is_same_v<Real, float>) {
      return floats;
    } else {
      return doubles;
    }
  };
#if defined(__x86_64__)
  const std::string_view isa = instruction_set();
  if (isa == "avx512") return pick(row_major_float_avx512, row_major_double_avx512);
  if (isa == "avx2") return pick(row_major_float_avx2, row_major_double_avx2);
#endif
  return pick(row_major_float_baseline, row_major_double_baseline);
}

template <class Real>
std::vector<Measurement> time_shape(const Shape& shape, int bursts) {
  const double gamma = 1.0 / static_cast<double>(shape.nonzeros);
  const Data<Real> stored(shape, shape.examples, 1);
  const Data<Real> queries(shape, kQueries, 2);
  const Batch<Real> stored_rows = stored.view(shape.dense);
  Batch<Real> query_rows = queries.view(shape.dense);

  const auto model = filled(shape, gamma, stored_rows);
  model->set_look_ahead(LookAheadMode::never);  // a round with its own row, like the row beside it
  const std::vector<double> targets = taken_for(*model, query_rows);
  query_rows.targets = targets.data();
  const Expansion<Real>& f = expansion(*model);
  require(f.size() == shape.examples, "every example was stored");
  const std::int64_t updates = model->counts().updates;

  const RowFunctions<Real>& functions = row_functions<Real>();
  std::vector<Row<Real>> rows;
  AlignedVector<Real> values;
  const std::vector<RowTask<Real>> tasks = row_tasks(f, query_rows, rows, values);
  Row<Real> row;

  std::vector<Real> reference(shape.examples);
  std::vector<RowMajorTask<Real>> plain_tasks(kQueries);
  for (std::size_t i = 0; i < kQueries; ++i) {
    plain_tasks[i] = {stored.grid.data(),       shape.examples,
                      shape.features,           queries.grid.data() + i * shape.features,
                      static_cast<Real>(gamma), reference.data()};
  }
  const RowMajorLoops<Real>& loops = row_major<Real>();

  // All of them must compute the same row.
  const auto agree = [&](const Real* found) {
    double worst = 0.0;
    for (std::size_t i = 0; i < shape.examples; ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(found[i] - reference[i])));
    }
    return worst < (std::is_same_v<Real, float> ? 1e-5 : 1e-12);
  };
  for (std::size_t i = 0; i < kQueries; ++i) {
    loops.plain(plain_tasks[i]);
    f.row(query_rows[i], row);
    require(agree(row.values.data()), "the row and the plain loop agree");
    functions.row(tasks[i]);
    require(agree(values.data()), "the bare row and the plain loop agree");
    loops.vectorised(plain_tasks[i]);
    require(agree(values.data()), "the bare row and the vectorised loop agree");
  }

  std::vector<Measurement> measurements = {
      {"row_function",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) functions.row(tasks[i % kQueries]);
         sink = static_cast<double>(values[0]);
       }},
      {"row",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) f.row(query_rows[i % kQueries], row);
         sink = static_cast<double>(row.values[0]);
       }},
      {"dot",
       [&](std::size_t calls) {
         double sum = 0.0;
         for (std::size_t i = 0; i < calls; ++i) {
           sum += functions.dot(row.values.data(), f.stored_coefs(0), padded(shape.examples));
         }
         sink = sum;
       }},
      {"round",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; i += kQueries) model->learn(query_rows);
       }},
      {"round_one",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) {
           sink = model->learn_one(query_rows[i % kQueries], targets[i % kQueries])[0];
         }
       }},
      {"row_major_plain",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) loops.plain(plain_tasks[i % kQueries]);
         sink = static_cast<double>(reference[0]);
       }},
      {"row_major_vectorised",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) loops.vectorised(plain_tasks[i % kQueries]);
         sink = static_cast<double>(reference[0]);
       }},
  };
  measure(measurements, bursts);
  require(model->counts().updates == updates, "no timed round updated the model");
  return measurements;
}

template <class Real>
void print_shapes(int bursts, bool last) {
  for (const Shape& shape : kShapes) {
    const std::vector<Measurement> measurements = time_shape<Real>(shape, bursts);
    std::printf(R"(    {"examples": %zu, "features": %zu, "nonzeros": %zu, "storage": "%s", )"
                R"("dtype": "%s", "microseconds": {)",
                shape.examples, shape.features, shape.nonzeros, shape.dense ? "dense" : "sparse",
                std::is_same_v<Real, float> ? "float32" : "float64");
    for (const Measurement& m : measurements) {
      std::printf("%s\"%s\": %.5f", &m == &measurements.front() ? "" : ", ", m.name, m.best * 1e6);
    }
    std::printf("}}%s\n", last && &shape == std::end(kShapes) - 1 ? "" : ",");
  }
}

}  // namespace

int main(int count, char** arguments) {
  const int bursts = count > 1 ? std::atoi(arguments[1]) : 300;
  if (bursts < 1) {
    std::fputs("usage: row_bench [BURSTS]\n", stderr);
    return 2;
  }
  try {
    std::printf("{\n  \"instruction_set\": \"%s\",\n  \"bursts\": %d,\n  \"shapes\": [\n",
                instruction_set(), bursts);
    print_shapes<float>(bursts, false);
    print_shapes<double>(bursts, true);
    std::printf("  ]\n}\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "row_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
