// Times the kernel row and the round around it; one JSON object on standard output.
//
// Per shape and type, in microseconds a row, the best of many short bursts:
//
//   row_function   RowFunctions::row alone: terms to kernel values
//   row            Expansion::row: gathering the terms, then the above
//   dot            RowFunctions::dot: kernel values to the decision
//   round          Model::learn over many rows, none of which updates
//   round_one      Model::learn_one, likewise
//   row_major_plain, row_major_vectorised   the loops of row_major.hpp over the same examples
//
// The measurements of a shape take turns, so that a busy machine slows all of them or none.
// run.py makes the table. Usage: row_bench [BURSTS]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model.hpp"
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

using namespace budgetron;

constexpr std::size_t kQueries = 16;      // rows asked about, in turn
constexpr double kBurstSeconds = 150e-6;  // short enough to often run undisturbed
volatile double sink;                     // what was computed was wanted

struct Shape {
  std::size_t examples;
  std::size_t features;
  std::size_t nonzeros;  // = features: dense
  bool dense;            // how rows are handed over
};

constexpr Shape kShapes[] = {
    {400, 68, 68, true},   {600, 8, 8, true},    {300, 123, 123, true},
    {300, 123, 14, false}, {300, 123, 14, true}, {1000, 784, 784, true},
};

// ---- timing ------------------------------------------------------------------------------------

struct Measurement {
  const char* name;
  std::function<void(std::size_t)> run;                   // so many calls
  std::size_t calls = 1;                                  // a burst
  double best = std::numeric_limits<double>::infinity();  // seconds a call
};

double seconds_of(const Measurement& m) {
  m.run(1);  // brings its memory back into the caches
  const auto start = std::chrono::steady_clock::now();
  m.run(m.calls);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return spent.count();
}

void measure(std::vector<Measurement>& measurements, int bursts) {
  for (Measurement& m : measurements) {
    while (seconds_of(m) < kBurstSeconds || m.calls < kQueries) m.calls *= 2;
  }
  for (int burst = 0; burst < bursts; ++burst) {
    for (Measurement& m : measurements) {
      m.best = std::min(m.best, seconds_of(m) / static_cast<double>(m.calls));
    }
  }
}

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

// ---- examples and model ------------------------------------------------------------------------

// Rows both as the row-major loop and as the library reads them.
template <class Real>
struct Data {
  Data(const Shape& shape, std::size_t count, std::uint32_t seed) : rows{count, shape.features} {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<std::size_t> places(shape.features);
    for (std::size_t j = 0; j < places.size(); ++j) places[j] = j;
    grid.resize(count * shape.features, Real(0));
    ends.push_back(0);
    for (std::size_t i = 0; i < count; ++i) {
      std::shuffle(places.begin(), places.end(), random);
      for (std::size_t k = 0; k < shape.nonzeros; ++k) {
        grid[i * shape.features + places[k]] = static_cast<Real>(normal(random));
      }
      for (std::size_t j = 0; j < shape.features; ++j) {
        const Real value = grid[i * shape.features + j];
        if (value == Real(0)) continue;
        values.push_back(value);
        indices.push_back(static_cast<std::int32_t>(j));
      }
      ends.push_back(static_cast<std::int64_t>(values.size()));
    }
  }

  [[nodiscard]] Rows<Real> view(bool dense) const {
    Rows<Real> view;
    view.count = rows.count;
    if (dense) {
      view.values = grid.data();
      view.width = rows.width;
    } else {
      view.values = values.data();
      view.indices = indices.data();
      view.ends = ends.data();
    }
    return view;
  }

  struct {
    std::size_t count;
    std::size_t width;
  } rows;
  std::vector<Real> grid;
  std::vector<Real> values;
  std::vector<std::int32_t> indices;
  std::vector<std::int64_t> ends;
};

// A Perceptron that halves when it is full; it is filled and then never asked to.
Spec machine(const Shape& shape, double gamma) {
  const auto part = [](const char* kind) {
    auto spec = std::make_shared<Spec>();
    spec->set("kind", std::string(kind));
    return spec;
  };
  const auto kernel = part("rbf");
  kernel->set("gamma", gamma);
  const auto budget = part("halve");
  budget->set("size", static_cast<std::int64_t>(shape.examples));
  budget->set("ridge", 5e-4);
  budget->set("norm", 0.0);
  Spec spec = *part("round");
  spec.set("kernel", kernel);
  spec.set("update", part("perceptron"));
  spec.set("budget", budget);
  spec.set("radius", std::numeric_limits<double>::infinity());
  return spec;
}

void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("expected that ") + what);
}

template <class Real>
std::vector<Measurement> time_shape(const Shape& shape, int bursts) {
  const double gamma = 1.0 / static_cast<double>(shape.nonzeros);
  const Data<Real> stored(shape, shape.examples, 1);
  const Data<Real> queries(shape, kQueries, 2);
  const Rows<Real> stored_rows = stored.view(shape.dense);
  const Rows<Real> query_rows = queries.view(shape.dense);

  // Each row is learned as what it was not taken for, so all are stored; asked about as what it is
  // taken for, no row is.
  Model<Real> model(machine(shape, gamma), Task::classification, 2, 0);
  for (std::size_t i = 0; i < shape.examples; ++i) {
    const bool positive = model.predict_one(stored_rows[i])[0] >= 0.0;
    model.learn_one(stored_rows[i], positive ? 0.0 : 1.0);
  }
  std::vector<double> targets(kQueries);
  for (std::size_t i = 0; i < kQueries; ++i) {
    targets[i] = model.predict_one(query_rows[i])[0] >= 0.0 ? 1.0 : 0.0;
  }
  const Expansion<Real>& f =
      *model.inspect([](const Learner<Real>& learner) { return learner.expansion(); });
  require(f.size() == shape.examples, "every example was stored");
  const std::int64_t updates = model.counts().updates;

  const RowFunctions<Real>& functions = row_functions<Real>();
  std::vector<Row<Real>> rows(kQueries);
  std::vector<RowTask<Real>> tasks(kQueries);
  AlignedVector<Real> values(padded(shape.examples));
  for (std::size_t i = 0; i < kQueries; ++i) {
    f.support().gather(query_rows[i], rows[i]);
    tasks[i].support = f.support().values();
    tasks[i].stride = f.support().stride();
    tasks[i].examples = padded(shape.examples);
    tasks[i].values = rows[i].term_values.data();
    tasks[i].slots = rows[i].term_slots.data();
    tasks[i].count = rows[i].term_values.size();
    tasks[i].norms = f.support().norms();
    tasks[i].norm = rows[i].norm;
    tasks[i].kind = KernelKind::rbf;
    tasks[i].gamma = static_cast<Real>(gamma);
    tasks[i].row = values.data();
  }
  Row<Real> row;

  std::vector<Real> reference(shape.examples);
  std::vector<RowMajorTask<Real>> plain_tasks(kQueries);
  for (std::size_t i = 0; i < kQueries; ++i) {
    plain_tasks[i] = {stored.grid.data(),       shape.examples,
                      shape.features,           queries.grid.data() + i * shape.features,
                      static_cast<Real>(gamma), reference.data()};
  }
  const RowMajorLoops<Real>& loops = row_major<Real>();

  // All of them must mean the same row.
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
         for (std::size_t i = 0; i < calls; i += kQueries) {
           model.learn(query_rows, targets.data(), nullptr, false);
         }
       }},
      {"round_one",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) {
           sink = model.learn_one(query_rows[i % kQueries], targets[i % kQueries])[0];
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
  require(model.counts().updates == updates, "no timed round updated the model");
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
