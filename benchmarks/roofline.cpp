// The kernel row against the machine's limits; one JSON object on standard output.
//
// For supports of many shapes (examples x features, dense, float32), in microseconds per row, the
// best of many short bursts taken in turns:
//
//   multiply_adds    examples x features of them, in registers (limits.hpp)
//   read             the support's bytes, read once from the cache level that holds them
//   kernel_values    the vectorised exp: RowFunctions::row of no terms
//   row_function     RowFunctions::row: terms to kernel values
//   row              Expansion::row: gathering the terms, then the above: the bare row
//   alone, blocks    Model::predict without and with rows in blocks, per row
//
// A single row cannot be faster than max(multiply_adds, read) + kernel_values; a row of a block,
// which shares the reading with five others, cannot be faster than multiply_adds + kernel_values.
// run.py makes the tables and the figure. Usage: roofline [BURSTS]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "bench.hpp"
#include "limits.hpp"

extern const Limits limits_baseline;
#if defined(__x86_64__)
extern const Limits limits_avx2;
extern const Limits limits_avx512;
#endif

namespace {

using namespace bench;

constexpr std::size_t kRows = 8 * kBlockRows;

constexpr std::size_t kExamples[] = {100, 200, 400, 1000, 3000};
constexpr std::size_t kFeatures[] = {8, 22, 68, 123, 784};

const Limits& limits() {
#if defined(__x86_64__)
  const std::string_view isa = instruction_set();
  if (isa == "avx512") return limits_avx512;
  if (isa == "avx2") return limits_avx2;
#endif
  return limits_baseline;
}

void print_shape(const Shape& shape, int bursts, bool last) {
  const double gamma = 1.0 / static_cast<double>(shape.nonzeros);
  const Data<float> stored(shape, shape.examples, 1);
  const Data<float> queries(shape, kRows, 2);
  const Batch<float> query_rows = queries.view(true);
  const auto model = filled(shape, gamma, stored.view(true));
  const Expansion<float>& f = expansion(*model);
  require(f.size() == shape.examples, "every example was stored");

  const RowFunctions<float>& functions = row_functions<float>();
  std::vector<Row<float>> rows;
  AlignedVector<float> values;
  const std::vector<RowTask<float>> tasks = row_tasks(f, query_rows, rows, values);
  std::vector<RowTask<float>> empty = tasks;
  for (RowTask<float>& task : empty) task.count = 0;
  Row<float> row;

  const std::size_t products = padded(shape.examples) * shape.features;
  const AlignedVector<float> memory((products + 63) / 64 * 64, 1.0f);
  const auto predict = [&](LookAheadMode when) {
    return [&, when](std::size_t calls) {
      model->set_look_ahead(when);
      for (std::size_t i = 0; i < calls; i += kRows) sink = model->predict(query_rows).numbers[0];
    };
  };

  std::vector<Measurement> measurements = {
      {"multiply_adds",
       [&](std::size_t calls) { sink = limits().multiply_adds(calls * products); }},
      {"read",
       [&](std::size_t calls) { sink = limits().read(memory.data(), memory.size(), calls); }},
      {"kernel_values",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) functions.row(empty[i % kRows]);
         sink = static_cast<double>(values[0]);
       }},
      {"row_function",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) functions.row(tasks[i % kRows]);
         sink = static_cast<double>(values[0]);
       }},
      {"row",
       [&](std::size_t calls) {
         for (std::size_t i = 0; i < calls; ++i) f.row(query_rows[i % kRows], row);
         sink = static_cast<double>(row.values[0]);
       }},
      {"alone", predict(LookAheadMode::never), kRows},
      {"blocks", predict(LookAheadMode::always), kRows},
  };
  measure(measurements, bursts);
  std::printf(R"(    {"examples": %zu, "features": %zu, "bytes": %zu, "microseconds": {)",
              shape.examples, shape.features, products * sizeof(float));
  for (const Measurement& m : measurements) {
    std::printf("%s\"%s\": %.5f", &m == &measurements.front() ? "" : ", ", m.name, m.best * 1e6);
  }
  std::printf("}}%s\n", last ? "" : ",");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int bursts = count > 1 ? std::atoi(arguments[1]) : 200;
  if (bursts < 1) {
    std::fputs("usage: roofline [BURSTS]\n", stderr);
    return 2;
  }
  try {
    std::printf("{\n  \"instruction_set\": \"%s\",\n  \"bursts\": %d,\n  \"shapes\": [\n",
                instruction_set(), bursts);
    for (const std::size_t features : kFeatures) {
      for (const std::size_t examples : kExamples) {
        const bool last = features == kFeatures[std::size(kFeatures) - 1] &&
                          examples == kExamples[std::size(kExamples) - 1];
        print_shape({examples, features, features, true}, bursts, last);
      }
    }
    std::printf("  ]\n}\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "roofline: %s\n", error.what());
    return 1;
  }
  return 0;
}
