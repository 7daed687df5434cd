// What the C++ benchmarks share: timing in turns, rows of a shape, and a model that stores a given
// number of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/model.hpp"

namespace bench {

using namespace budgetron;

inline constexpr std::size_t kQueries = 16;      // query rows, in turn
inline constexpr double kBurstSeconds = 150e-6;  // short enough to run undisturbed often
inline volatile double sink;                     // keeps the compiler from dropping computations

struct Shape {
  std::size_t examples;
  std::size_t features;
  std::size_t nonzeros;  // = features: dense
  bool dense;            // the layout of the rows
};

// ---- timing ------------------------------------------------------------------------------------

struct Measurement {
  const char* name;
  std::function<void(std::size_t)> run;                   // runs so many calls
  std::size_t calls = 1;                                  // per burst
  double best = std::numeric_limits<double>::infinity();  // seconds per call
};

inline double seconds_of(const Measurement& m) {
  m.run(1);  // brings its memory back into the caches
  const auto start = std::chrono::steady_clock::now();
  m.run(m.calls);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return spent.count();
}

inline void measure(std::vector<Measurement>& measurements, int bursts) {
  for (Measurement& m : measurements) {
    while (seconds_of(m) < kBurstSeconds || m.calls < kQueries) m.calls *= 2;
  }
  for (int burst = 0; burst < bursts; ++burst) {
    for (Measurement& m : measurements) {
      m.best = std::min(m.best, seconds_of(m) / static_cast<double>(m.calls));
    }
  }
}

// ---- examples and model ------------------------------------------------------------------------

// Rows in the layouts of the row-major loop and of the library.
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

  [[nodiscard]] Batch<Real> view(bool dense) const {
    Batch<Real> view;
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

// A Perceptron that halves when it is full; it is filled exactly, so that it never halves.
inline Spec machine(const Shape& shape, double gamma) {
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

inline void require(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(std::string("expected that ") + what);
}

// A model that stores `rows`: the label of each differs from its prediction.
template <class Real>
std::unique_ptr<Model<Real>> filled(const Shape& shape, double gamma, const Batch<Real>& rows) {
  auto model = std::make_unique<Model<Real>>(machine(shape, gamma), Task::classification, 2, 0);
  for (std::size_t i = 0; i < rows.count; ++i) {
    const bool positive = model->predict_one(rows[i])[0] >= 0.0;
    model->learn_one(rows[i], positive ? 0.0 : 1.0);
  }
  return model;
}

// The predicted classes of the rows: learning them with these labels updates nothing.
template <class Real>
std::vector<double> taken_for(Model<Real>& model, const Batch<Real>& rows) {
  std::vector<double> targets(rows.count);
  for (std::size_t i = 0; i < rows.count; ++i) {
    targets[i] = model.predict_one(rows[i])[0] >= 0.0 ? 1.0 : 0.0;
  }
  return targets;
}

template <class Real>
const Expansion<Real>& expansion(Model<Real>& model) {
  return *model.inspect([](const Learner<Real>& learner) { return learner.expansion(); });
}

// The input of the row function for every query; `rows` hold their terms and `values` the result.
template <class Real>
std::vector<RowTask<Real>> row_tasks(const Expansion<Real>& f, const Batch<Real>& queries,
                                     std::vector<Row<Real>>& rows, AlignedVector<Real>& values) {
  rows.resize(queries.count);
  values.resize(padded(f.size()));
  std::vector<RowTask<Real>> tasks(queries.count);
  for (std::size_t i = 0; i < queries.count; ++i) {
    f.support().gather(queries[i], rows[i]);
    tasks[i] = f.task(rows[i]);
    tasks[i].row = values.data();
  }
  return tasks;
}

}  // namespace bench
