// The fleet in Python. Keys come as (n, 2) arrays of uint64 (core/fleet/key_id.hpp), rows as
// C-ordered arrays; the GIL is released around every loop over rows.
#include "fleet/fleet.hpp"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "module.hpp"
#include "python_batch.hpp"
#include "python_model.hpp"
#include "spec_and_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace budgetron {
namespace {

using Keys = Matrix<std::uint64_t>;
static_assert(sizeof(KeyId) == 2 * sizeof(std::uint64_t));

std::span<const KeyId> to_keys(const Keys& keys) {
  if (keys.shape(1) != 2) throw std::invalid_argument("keys must have the shape (n, 2)");
  return {reinterpret_cast<const KeyId*>(keys.data()), keys.shape(0)};
}
nb::object from_keys(const std::vector<KeyId>& keys) {
  std::vector<std::uint64_t> words(2 * keys.size());
  if (!keys.empty()) std::memcpy(words.data(), keys.data(), sizeof(KeyId) * keys.size());
  return to_numpy(std::move(words), {keys.size(), 2});
}
PackedModels to_models(const Keys& keys, const nb::bytes& bytes) {
  const std::span<const KeyId> each = to_keys(keys);
  const auto* from = reinterpret_cast<const std::byte*>(bytes.c_str());
  return {{each.begin(), each.end()}, {from, from + bytes.size()}, {}};
}
nb::tuple from_models(PackedModels models) {
  return nb::make_tuple(from_keys(models.keys), nb::bytes(models.bytes.data(), models.bytes.size()),
                        to_numpy(std::move(models.ends)));
}

template <class Real>
Batch<Real> to_rows(const Matrix<Real>& X, std::size_t count) {
  if (X.shape(0) != count) throw std::invalid_argument("numbers of keys and rows differ");
  Batch<Real> rows;
  rows.count = count;
  rows.width = X.shape(1);
  rows.values = X.data();
  return rows;
}

template <class Real>
nb::tuple learn(Fleet<Real>& fleet, const Keys& keys, const Matrix<Real>& X,
                const Vector<double>& y, const nb::object& weights, bool record) {
  const std::span<const KeyId> each = to_keys(keys);
  Batch<Real> rows = to_rows<Real>(X, each.size());
  bool fits = y.size() == rows.count;
  rows.targets = y.data();
  Vector<double> given;
  if (!weights.is_none()) {
    read_array(weights, "weights", given);
    rows.weights = given.data();
    fits = fits && given.size() == rows.count;
  }
  if (!fits) throw std::invalid_argument("numbers of rows, targets and weights differ");
  std::vector<double> decisions(record ? rows.count * fleet.outputs() : 0);
  std::size_t done = 0;
  {
    const nb::gil_scoped_release released;
    done = fleet.learn(each, rows, record ? decisions.data() : nullptr);
  }
  if (!record) return nb::make_tuple(done, nb::none());
  decisions.resize(done * fleet.outputs());
  return nb::make_tuple(done, to_numpy(std::move(decisions), {done, fleet.outputs()}));
}

template <class Real>
nb::object predict(Fleet<Real>& fleet, const Keys& keys, const Matrix<Real>& X,
                   bool probabilities) {
  const std::span<const KeyId> each = to_keys(keys);
  const Batch<Real> rows = to_rows<Real>(X, each.size());
  std::vector<double> answers;
  {
    const nb::gil_scoped_release released;
    answers = fleet.predict(each, rows, probabilities ? Answer::probabilities : Answer::outputs);
  }
  return to_numpy(std::move(answers),
                  {rows.count, probabilities ? fleet.classes() : fleet.outputs()});
}

template <class Real>
nb::dict info(Fleet<Real>& fleet) {
  const FleetCounts& counts = fleet.counts();
  nb::dict info;
  info["seen"] = counts.seen;
  info["mistakes"] = counts.mistakes;
  info["changes"] = counts.changes;
  info["growths"] = counts.growths;
  info["leavers"] = counts.leavers;
  info["lost"] = counts.lost;
  info["moved"] = counts.moved;
  info["returned"] = counts.returned;
  info["keys"] = fleet.keys();
  info["charged"] = fleet.charged();
  info["limit"] = fleet.limit();
  info["bytes"] = fleet.bytes();
  info["content"] = fleet.content();
  info["sizes"] = to_numpy(fleet.sizes());
  return info;
}

template <class Real>
void bind_fleet(nb::module_& m, const char* name) {
  using F = Fleet<Real>;
  nb::class_<F>(m, name)
      .def(
          "__init__",
          [](F* self, PythonModel<Real>* shared, const nb::dict& spec, std::size_t classes,
             std::size_t width, std::uint64_t seed, std::size_t memory, std::size_t shared_bytes,
             double half_life, bool adds_shared, bool has_file, bool regression) {
            new (self) F(shared, *to_spec(spec), classes, width, seed,
                         {memory, shared_bytes, half_life, adds_shared, has_file, regression});
          },
          "shared"_a.none(), "spec"_a, "classes"_a, "width"_a, "seed"_a, "memory"_a,
          "shared_bytes"_a, "half_life"_a, "adds_shared"_a, "has_file"_a, "regression"_a,
          nb::keep_alive<1, 2>())
      .def("learn", &learn<Real>, "keys"_a, "X"_a.noconvert(), "y"_a.noconvert(),
           "weights"_a.none(), "record"_a)
      .def("predict", &predict<Real>, "keys"_a, "X"_a.noconvert(), "probabilities"_a)
      .def("info", &info<Real>)
      .def("knows",
           [](F& fleet, const Keys& keys) {
             std::vector<std::int64_t> known;
             for (const KeyId& key : to_keys(keys)) known.push_back(fleet.knows(key));
             return to_numpy(std::move(known));
           })
      .def("all_keys", [](F& fleet) { return from_keys(fleet.all_keys()); })
      .def("look",
           [](F& fleet, const Keys& keys) -> nb::object {
             std::vector<double> examples;
             std::vector<double> coefs;
             if (!fleet.look(to_keys(keys)[0], examples, coefs)) return nb::none();
             return nb::make_tuple(to_numpy(std::move(examples)), to_numpy(std::move(coefs)));
           })
      .def("bring", [](F& fleet, const Keys& keys,
                       const nb::bytes& bytes) { fleet.bring(to_models(keys, bytes)); })
      .def("forget_brought", &F::forget_brought)
      .def_prop_ro("room", &F::room)
      .def_prop_ro("file_bytes", &F::file_bytes)
      .def("take_out",
           [](F& fleet) {
             nb::list models;
             const auto back = fleet.take_out([&](const KeyId& key, auto bytes) {
               models.append(nb::make_tuple(nb::bytes(&key, sizeof(KeyId)),
                                            nb::bytes(bytes.data(), bytes.size())));
             });
             return nb::make_tuple(models, from_keys(back));
           })
      .def("pack", [](F& fleet, std::size_t bucket,
                      std::size_t buckets) { return from_models(fleet.pack(bucket, buckets)); })
      .def("unpack", [](F& fleet, const Keys& keys,
                        const nb::bytes& bytes) { fleet.unpack(to_models(keys, bytes)); })
      .def("drop", [](F& fleet, const Keys& keys) { fleet.drop(to_keys(keys)); })
      .def("check", [](F& fleet, const Keys& keys,
                       const nb::bytes& bytes) { fleet.check(to_models(keys, bytes)); })
      .def("watch", &F::watch)
      .def("take_events",
           [](F& fleet) {
             nb::list events;
             for (const FleetEvent& event : fleet.take_events()) {
               events.append(nb::make_tuple(event.name(), event.key.low, event.key.high,
                                            event.round, event.examples));
             }
             return events;
           })
      .def("save", [](F& fleet) { return to_dict(fleet.save()); })
      .def("load", [](F& fleet, const nb::dict& state) { fleet.load(to_state(state)); })
      .def("check_invariants", &F::check_invariants);
}

}  // namespace
}  // namespace budgetron

void bind_fleet(nb::module_& m) {
  budgetron::bind_fleet<float>(m, "Fleet32");
  budgetron::bind_fleet<double>(m, "Fleet64");
  m.def("fleet_buckets", [](const budgetron::Keys& keys, std::size_t n) {
    std::vector<std::int64_t> buckets;
    for (const budgetron::KeyId& key : budgetron::to_keys(keys)) {
      buckets.push_back(static_cast<std::int64_t>(key.bucket(n)));
    }
    return to_numpy(std::move(buckets));
  });
}
