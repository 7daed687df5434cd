// The model in Python. Arrays are passed as pointers; their dtype, dimensions and order are checked
// once, here. The GIL is released around every loop over rows.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include "arrays.hpp"
#include "base/linalg.hpp"
#include "io/csr_check.hpp"
#include "model/model.hpp"
#include "module.hpp"
#include "named_row.hpp"
#include "python_batch.hpp"
#include "python_model.hpp"
#include "spec_and_state.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace budgetron {
namespace {

Answer answer_called(const std::string& name) {
  if (name == "probabilities") return Answer::probabilities;
  if (name == "interval") return Answer::interval;
  if (name == "set") return Answer::set;
  if (name == "deviation") return Answer::deviation;
  throw std::invalid_argument("no answer is called '" + name + "'");
}

// The answers, and how many classes they have.
template <class Real>
nb::tuple answer(PythonModel<Real>& model, const nb::handle& rows, std::size_t threads, Answer kind,
                 double coverage) {
  const PythonRows<Real> held(rows);
  Answers answers;
  {
    const nb::gil_scoped_release released;
    answers = model.predict(held.batch(), threads, kind, coverage);
  }
  return nb::make_tuple(to_numpy(std::move(answers.numbers), {held.batch().count, answers.width}),
                        answers.classes);
}

// The numbers of one row, copied from the model while it is locked.
std::vector<double>& numbers_of_one() {
  thread_local std::vector<double> numbers;
  return numbers;
}
void take_one(std::span<const double> numbers) {
  numbers_of_one().assign(numbers.begin(), numbers.end());
}
// One decision as a float, several as an array.
nb::object decision_of_one() {
  const std::vector<double>& numbers = numbers_of_one();
  if (numbers.size() == 1) return nb::float_(numbers[0]);
  return to_numpy(std::vector<double>(numbers));
}

template <class Real>
nb::object learn_one(PythonModel<Real>& model, const Sample<Real>& x, double target,
                     double weight) {
  model.learn_one(x, target, weight, take_one);
  nb::object decision = decision_of_one();
  model.call_listener();
  model.call_alarm();
  return decision;
}
template <class Real>
nb::object predict_one(PythonModel<Real>& model, const Sample<Real>& x) {
  model.predict_one(x, take_one);
  return decision_of_one();
}
template <class Real>
nb::object answer_one(PythonModel<Real>& model, const Sample<Real>& x,
                      const std::string& what = "probabilities", double coverage = 0.9) {
  model.answer_one(x, answer_called(what), coverage, take_one);
  return to_numpy(std::vector<double>(numbers_of_one()));
}

// Stored examples as CSR parts, in storage order.
template <class Real>
struct Examples {
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int32_t> indices;
  std::vector<Real> values;

  void take(const Expansion<Real>& f) {
    OwnedSample<Real> sample;
    for (std::size_t i = 0; i < f.size(); ++i) {
      f.support().extract(i, sample);
      const Sample<Real> view = sample.view();
      for (std::size_t k = 0; k < view.count; ++k) {
        if (view.values[k] == Real(0)) continue;
        indices.push_back(view.feature(k));
        values.push_back(view.values[k]);
      }
      indptr.push_back(static_cast<std::int64_t>(values.size()));
    }
  }
  nb::tuple give() {
    return nb::make_tuple(to_numpy(std::move(indptr)), to_numpy(std::move(indices)),
                          to_numpy(std::move(values)));
  }
};

// Calls a method of a model under the shared lock.
template <auto method, class Real>
auto look(PythonModel<Real>& model) {
  return model.inspect([&](const auto&) {
    using Value = std::remove_cvref_t<decltype((model.*method)())>;  // never a reference
    return Value((model.*method)());
  });
}

// One of the model's counts.
template <auto count, class Real>
std::int64_t look_at_count(PythonModel<Real>& model) {
  return look<&Model<Real>::counts>(model).*count;
}

// Calls `look(f)` under the shared lock, if the learner stores examples.
template <class Real, class Look>
void look_at_examples(PythonModel<Real>& model, Look look) {
  model.inspect([&](const Learner<Real>& learner) {
    if (learner.expansion() != nullptr) look(*learner.expansion());
  });
}

template <class Real>
nb::tuple support(PythonModel<Real>& model) {
  Examples<Real> examples;
  look_at_examples(model, [&](const Expansion<Real>& f) { examples.take(f); });
  return examples.give();
}

// How features are shown to the learner: centres, sizes, and their means over the rows.
template <class Real>
nb::tuple units(PythonModel<Real>& model, const Vector<std::int32_t>& features) {
  std::vector<double> centres(features.size(), 0.0);
  std::vector<double> sizes(features.size(), 1.0);
  std::vector<double> means(features.size(), std::numeric_limits<double>::quiet_NaN());
  model.inspect([&](const auto&) {
    if (model.preparation() == nullptr) return;
    for (std::size_t k = 0; k < features.size(); ++k) {
      const auto shown = model.preparation()->shown(features.data()[k]);
      centres[k] = shown.centre;
      sizes[k] = shown.size;
      means[k] = shown.mean;
    }
  });
  return nb::make_tuple(to_numpy(std::move(centres)), to_numpy(std::move(sizes)),
                        to_numpy(std::move(means)));
}

// Explains the answer to a sparse row: the stored examples, their ids, k(x_i, x), the share of each
// in every output, and the constant added to the shares; then, for the straight part, the features
// of the row that have a weight, their shares, and its own constant.
template <class Real>
nb::tuple explain(PythonModel<Real>& model, const Vector<std::int32_t>& indices,
                  const Vector<Real>& values) {
  Examples<Real> examples;
  std::vector<std::int64_t> ids;
  std::vector<double> kernels;
  std::vector<double> shares;
  double constant = 0.0;
  std::vector<std::int32_t> features;
  std::vector<double> straight;
  std::vector<double> intercept;
  std::size_t outputs = look<&Model<Real>::outputs>(model);
  model.explain({values.data(), indices.data(), values.size()},
                [&](const Learner<Real>& learner, const std::vector<Share<Real>>& all,
                    const Sample<Real>& x, double scale, double added) {
                  constant = added;
                  intercept.assign(outputs, 0.0);
                  if (const StraightPart* part = learner.straight_part()) {
                    part->each(x, [&](std::size_t j, double value) {
                      if (j > 0 && value != 0.0) features.push_back(part->feature(j - 1));
                      for (std::size_t k = 0; k < outputs; ++k) {
                        const double share = scale * learner.weight(j, k) * value;
                        if (j == 0) intercept[k] = share;
                        if (j > 0 && value != 0.0) straight.push_back(share);
                      }
                    });
                  }
                  Row<Real> row;
                  for (const Share<Real>& share : all) {
                    const Expansion<Real>& f = *share.examples;
                    examples.take(f);
                    outputs = f.outputs();
                    f.row(x, row);
                    for (std::size_t i = 0; i < f.size(); ++i) {
                      const double kernel = static_cast<double>(row.values[i]);
                      ids.push_back(f.id(i));
                      kernels.push_back(kernel);
                      for (std::size_t k = 0; k < outputs; ++k) {
                        shares.push_back(scale * share.coef(i, k) * kernel);
                      }
                    }
                  }
                });
  const std::size_t count = ids.size();
  const std::size_t seen = features.size();
  return nb::make_tuple(
      examples.give(), to_numpy(std::move(ids)), to_numpy(std::move(kernels)),
      to_numpy(std::move(shares), {count, outputs}), constant, to_numpy(std::move(features)),
      to_numpy(std::move(straight), {seen, outputs}), to_numpy(std::move(intercept)));
}

// The terms of `predict`: the stored examples that contribute, and the coef of each in every
// output; then the factor of the sum, and the constant that is added.
template <class Real>
nb::tuple answering(PythonModel<Real>& model) {
  Examples<Real> examples;
  std::vector<double> coefs;
  double scale = 1.0;
  double constant = 0.0;
  std::size_t count = 0;
  std::size_t outputs = look<&Model<Real>::outputs>(model);
  model.explain({}, [&](const Learner<Real>&, const std::vector<Share<Real>>& all,
                        const Sample<Real>&, double factor, double added) {
    scale = factor;
    constant = added;
    for (const Share<Real>& share : all) {
      examples.take(*share.examples);
      outputs = share.examples->outputs();
      count += share.examples->size();
      for (std::size_t i = 0; i < share.examples->size(); ++i) {
        for (std::size_t k = 0; k < outputs; ++k) coefs.push_back(share.coef(i, k));
      }
    }
  });
  return nb::make_tuple(examples.give(), to_numpy(std::move(coefs), {count, outputs}), scale,
                        constant);
}

// For a learner with a feature map: the frequencies of these features, and the weights of the
// cosines, then of the sines, in every output of `predict`. None for other learners.
template <class Real>
nb::object feature_map(PythonModel<Real>& model, const Vector<std::int32_t>& features) {
  std::vector<Real> frequencies;
  std::vector<double> weights;
  std::size_t components = 0;
  std::size_t outputs = look<&Model<Real>::outputs>(model);
  model.inspect_coefs([&](const Learner<Real>& learner, const auto& coef) {
    std::vector<Real> drawn;
    components = learner.frequencies(0, drawn);
    if (components == 0) return;
    for (std::size_t j = 0; j < features.size(); ++j) {
      learner.frequencies(features.data()[j], drawn);
      frequencies.insert(frequencies.end(), drawn.begin(), drawn.end());
    }
    const std::size_t half = learner.coef_view().count / 2;  // padded
    for (const std::size_t first : {std::size_t{0}, half}) {
      for (std::size_t i = 0; i < components; ++i) {
        for (std::size_t k = 0; k < outputs; ++k) weights.push_back(coef(first + i, k));
      }
    }
  });
  if (components == 0) return nb::none();
  return nb::make_tuple(to_numpy(std::move(frequencies), {features.size(), components}),
                        to_numpy(std::move(weights), {2 * components, outputs}));
}

// The straight part: its features, their weights and the constant, in every output. None if there
// is none.
template <class Real>
nb::object straight(PythonModel<Real>& model) {
  std::vector<std::int32_t> features;
  std::vector<double> weights;
  std::vector<double> intercept;
  std::size_t outputs = look<&Model<Real>::outputs>(model);
  bool any = false;
  model.inspect([&](const Learner<Real>& learner) {
    const StraightPart* const part = learner.straight_part();
    any = part != nullptr;
    if (!any) return;
    intercept.assign(outputs, 0.0);
    for (std::size_t j = 0; j < part->size(); ++j) {
      if (j > 0) features.push_back(part->feature(j - 1));
      for (std::size_t k = 0; k < outputs; ++k) {
        if (j == 0) intercept[k] = learner.weight(j, k);
        if (j > 0) weights.push_back(learner.weight(j, k));
      }
    }
  });
  if (!any) return nb::none();
  const std::size_t count = features.size();
  return nb::make_tuple(to_numpy(std::move(features)),
                        to_numpy(std::move(weights), {count, outputs}),
                        to_numpy(std::move(intercept)));
}

// The coefs of the stored examples in f; `own`: those in the learner's expansion itself.
template <class Real>
nb::object coefs(PythonModel<Real>& model, bool own) {
  std::vector<double> out;
  std::size_t size = 0;
  std::size_t outputs = look<&Model<Real>::outputs>(model);
  model.inspect([&](const Learner<Real>& learner) {
    const Expansion<Real>* const f = learner.expansion();
    if (f == nullptr) return;
    size = f->size();
    outputs = f->outputs();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < outputs; ++k) {
        out.push_back(own ? f->coef(i, k) : learner.coef(i, k));
      }
    }
  });
  return to_numpy(std::move(out), {size, outputs});
}

template <class Real>
nb::object ids(PythonModel<Real>& model) {
  std::vector<std::int64_t> out;
  look_at_examples(model,
                   [&](const Expansion<Real>& f) { out.assign(f.ids(), f.ids() + f.size()); });
  return to_numpy(std::move(out));
}

template <class Real>
nb::object drifts(PythonModel<Real>& model) {
  return to_numpy(model.inspect([](const Learner<Real>& learner) {
    const std::span<const std::int64_t> rounds = learner.drifts();
    return std::vector<std::int64_t>(rounds.begin(), rounds.end());
  }));
}

// Centre, scale and number of changes; None if targets are learned as they come.
template <class Real>
nb::object target_units(PythonModel<Real>& model) {
  if (model.target_units() == nullptr) return nb::none();
  const TargetUnits units = model.inspect([&](const auto&) { return *model.target_units(); });
  return nb::make_tuple(units.centre(), units.scale(), units.changes());
}

// How many values were missing, in total and per feature: features and counts.
template <class Real>
nb::tuple gaps(PythonModel<Real>& model) {
  const auto* preparation = model.preparation();
  const GapCounts found = preparation == nullptr
                              ? GapCounts()
                              : model.inspect([&](const auto&) { return preparation->gaps(); });
  return nb::make_tuple(found.total(), to_numpy(std::vector<std::int32_t>(found.features())),
                        to_numpy(std::vector<std::int64_t>(found.counts())));
}

// Relevances by feature number, empty while all are 1, and how often they have changed.
template <class Real>
nb::tuple relevance(PythonModel<Real>& model) {
  const auto* preparation = model.preparation();
  if (preparation == nullptr) return nb::make_tuple(to_numpy(std::vector<double>()), 0);
  auto found = model.inspect([&](const auto&) {
    return std::pair(preparation->metric().relevance(), preparation->metric().changes());
  });
  return nb::make_tuple(to_numpy(std::move(found.first)), found.second);
}

// Kind, loss and loss of the guess; None if there is no verdict.
template <class Real>
nb::object verdict(PythonModel<Real>& model) {
  const Verdict found = model.inspect([&](const auto&) { return model.verdict(); });
  if (!found.reached()) return nb::none();
  return nb::make_tuple(found.name(), found.loss(), found.guess_loss());
}

template <class Real>
std::size_t size(PythonModel<Real>& model) {
  std::size_t size = 0;
  look_at_examples(model, [&](const Expansion<Real>& f) { size = f.size(); });
  return size;
}

// A dense row as a sample; NamedRow reads rows of named features.
template <class Real>
Sample<Real> dense_row(const Vector<Real>& x) {
  return {x.data(), nullptr, x.size()};
}

template <class Real>
void bind_model(nb::module_& m, const char* name) {
  using M = PythonModel<Real>;
  static PyType_Slot collecting[] = {{Py_tp_traverse, reinterpret_cast<void*>(&M::traverse)},
                                     {Py_tp_clear, reinterpret_cast<void*>(&M::clear)},
                                     {0, nullptr}};
  nb::class_<M>(m, name, nb::type_slots(collecting))
      .def(
          "__init__",
          [](M* self, const nb::dict& spec, const std::string& task, std::size_t classes,
             std::uint64_t seed, bool wide, const std::string& scale, const std::string& gamma,
             std::size_t width, const std::string& average, std::size_t slots,
             std::size_t warmup_rows, std::size_t warmup_values, const std::string& target_scale,
             std::size_t flags, double gamma_factor, double delta_factor, bool metric, bool race,
             std::size_t bytes, bool intervals) {
            const Task kind = task == "regression" ? Task::regression
                              : task == "novelty"  ? Task::novelty
                                                   : Task::classification;
            const PreparationRules rules{scale,       gamma,         width,        flags,
                                         warmup_rows, warmup_values, gamma_factor, delta_factor,
                                         metric,      race};
            ByteLimit limit{flags > 0 ? 2 * width : width, slots};  // a flag per feature
            limit.bytes = bytes;
            new (self) M(*to_spec(spec), kind, classes, seed, wide, rules, average, limit,
                         target_scale == "auto", intervals);
          },
          "spec"_a, "task"_a, "classes"_a, "seed"_a, "wide"_a = false, "scale"_a = "none",
          "gamma_rule"_a = "fixed", "width"_a = 0, "average"_a = "last", "slots"_a = 0,
          "warmup_rows"_a = 0, "warmup_values"_a = 0, "target_scale"_a = "none", "flags"_a = 0,
          "gamma_factor"_a = 1.0, "delta_factor"_a = 0.0, "metric"_a = false, "race"_a = false,
          "bytes"_a = 0, "intervals"_a = false)
      .def("learn", &M::learn, "batch"_a)
      .def_prop_ro("surveys", &look<&Model<Real>::surveys, Real>)
      .def("survey", &M::survey, "batch"_a)
      .def("settle",
           [](M& self) {
             const nb::gil_scoped_release released;
             self.settle();
           })
      .def(
          "predict",
          [](M& self, const nb::handle& rows, std::size_t threads, bool probabilities) {
            const Answer kind = probabilities ? Answer::probabilities : Answer::outputs;
            return answer(self, rows, threads, kind, 0.9);
          },
          "rows"_a, "threads"_a = 1, "probabilities"_a = false)
      .def(
          "answer",
          [](M& self, const nb::handle& rows, const std::string& what, double coverage,
             std::size_t threads) {
            return answer(self, rows, threads, answer_called(what), coverage);
          },
          "rows"_a, "what"_a, "coverage"_a = 0.9, "threads"_a = 1)
      .def(
          "learn_one",
          [](M& self, Vector<Real> x, double target, double weight) {
            return learn_one(self, dense_row(x), target, weight);
          },
          "x"_a.noconvert(), "target"_a, "weight"_a = 1.0)
      .def(
          "predict_one", [](M& self, Vector<Real> x) { return predict_one(self, dense_row(x)); },
          "x"_a.noconvert())
      .def(
          "probabilities_one",
          [](M& self, Vector<Real> x) { return answer_one(self, dense_row(x)); }, "x"_a.noconvert())
      .def(
          "join",
          [](M& self, std::size_t after, std::vector<int> order) {
            self.join({look<&Model<Real>::classes>(self), after, std::move(order)});
          },
          "after"_a, "order"_a)
      .def_prop_ro("classes", &look<&Model<Real>::classes, Real>)
      .def_prop_ro("outputs", &look<&Model<Real>::outputs, Real>)
      .def_prop_ro("seen", &look_at_count<&Counts::seen, Real>)
      .def_prop_ro("mistakes", &look_at_count<&Counts::mistakes, Real>)
      .def_prop_ro("updates", &look_at_count<&Counts::updates, Real>)
      .def_prop_ro("coarse", &look<&Model<Real>::coarse, Real>)
      .def("set_look_ahead",
           [](M& self, const std::string& mode) {
             if (mode != "auto" && mode != "always" && mode != "never") {
               throw std::invalid_argument("set_look_ahead takes 'auto', 'always' or 'never'");
             }
             self.set_look_ahead(mode == "auto"     ? LookAheadMode::automatic
                                 : mode == "always" ? LookAheadMode::always
                                                    : LookAheadMode::never);
           })
      .def_prop_ro("rows_ahead", &look<&Model<Real>::rows_ahead, Real>)
      .def_prop_ro("values_recomputed", &look<&Model<Real>::values_recomputed, Real>)
      .def_prop_ro("scale",
                   [](M& self) {
                     return self.inspect([&](const auto&) {
                       const auto* preparation = self.preparation();
                       return preparation != nullptr ? preparation->scale() : "none";
                     });
                   })
      .def_prop_ro("clip",
                   [](M& self) {
                     return self.inspect([&](const auto&) {
                       const auto* preparation = self.preparation();
                       return preparation != nullptr ? preparation->clip()
                                                     : std::numeric_limits<double>::infinity();
                     });
                   })
      .def_prop_ro("gamma", &look<&Model<Real>::gamma, Real>)
      .def("relevance", &relevance<Real>)
      .def_prop_ro("delta", &look<&Model<Real>::delta, Real>)
      .def_prop_ro("unit_changes", &look<&Model<Real>::unit_changes, Real>)
      .def_prop_ro("takes_gaps", &look<&Model<Real>::takes_gaps, Real>)
      .def_prop_ro("gaps", &gaps<Real>)
      .def_prop_ro("size", &size<Real>)
      .def_prop_ro("memory_bytes", &M::memory_bytes)
      .def(
          "lower",
          [](M& self, std::size_t budget, std::size_t slots) {
            self.lower(budget, slots);
            self.call_listener();
          },
          "budget"_a, "slots"_a)
      .def_prop_ro("can_hold", &look<&Model<Real>::can_hold, Real>)
      .def_prop_ro("unsettled", &look<&Model<Real>::unsettled, Real>)
      .def(
          "hold", [](M& self, const std::vector<std::uint64_t>& base) { self.hold(base); },
          "base"_a)
      .def_prop_ro("base", &look<&Model<Real>::base, Real>)
      .def("decide_held",
           [](M& self) {
             self.decide_held();
             self.call_listener();
           })
      .def("listen", &M::listen, "listener"_a.none())
      .def("set_alarm", &M::set_alarm, "alarm"_a)
      .def("call_alarm", &M::call_alarm)
      .def_prop_ro("verdict", &verdict<Real>)
      .def("support", &support<Real>)
      .def("coefs", &coefs<Real>, "own"_a = false)
      .def("answering", &answering<Real>)
      .def("feature_map", &feature_map<Real>, "features"_a.noconvert())
      .def("straight", &straight<Real>)
      .def("ids", &ids<Real>)
      .def("units", &units<Real>, "features"_a.noconvert())
      .def("explain", &explain<Real>, "indices"_a.noconvert(), "values"_a.noconvert())
      .def(
          "learn_named",
          [](M& self, const nb::dict& names, const nb::handle& x, double target, double weight) {
            const NamedRowLease<Real> row;
            return learn_one(self, row->read(names, x, true, self.takes_gaps()), target, weight);
          },
          "names"_a, "x"_a, "target"_a, "weight"_a = 1.0)
      .def(
          "predict_named",
          [](M& self, const nb::dict& names, const nb::handle& x) {
            const NamedRowLease<Real> row;
            return predict_one(self, row->read(names, x, false, self.takes_gaps()));
          },
          "names"_a, "x"_a)
      .def(
          "probabilities_named",
          [](M& self, const nb::dict& names, const nb::handle& x) {
            const NamedRowLease<Real> row;
            return answer_one(self, row->read(names, x, false, self.takes_gaps()));
          },
          "names"_a, "x"_a)
      .def(
          "answer_named",
          [](M& self, const nb::dict& names, const nb::handle& x, const std::string& what,
             double coverage) {
            const NamedRowLease<Real> row;
            const Sample<Real> read = row->read(names, x, false, self.takes_gaps());
            return answer_one(self, read, what, coverage);
          },
          "names"_a, "x"_a, "what"_a, "coverage"_a)
      .def_prop_ro("target_units", &target_units<Real>)
      .def("drifts", &drifts<Real>)
      .def("save", [](M& self) { return to_dict(self.save()); })
      .def(
          "load", [](M& self, const nb::dict& state) { self.load(to_state(state)); }, "state"_a)
      .def(
          "copy",
          [](M& self, M& other) {
            const nb::gil_scoped_release released;
            self.load(other.save());
          },
          "other"_a)
      .def("check_invariants", &M::check_invariants);
}

}  // namespace
}  // namespace budgetron

#ifdef Py_LIMITED_API
extern "C" int PyGILState_Check(void);  // every CPython has it; the stable ABI does not declare it
#endif

void bind_model(nb::module_& m) {
  budgetron::while_waiting = {
      []() -> void* { return PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr; },
      [](void* thread) { PyEval_RestoreThread(static_cast<PyThreadState*>(thread)); }};
  m.def(
      "live_models", [] { return budgetron::live_models.load(); },
      "The number of models that exist, for tests that look for leaks.");
  budgetron::bind_model<float>(m, "Model32");
  budgetron::bind_model<double>(m, "Model64");
  m.def("instruction_set", &budgetron::instruction_set,
        "The instruction set of the kernel row: baseline, avx2 or avx512.");
  m.def(
      "csr_in_order",
      [](const budgetron::Vector<std::int32_t>& indptr,
         const budgetron::Vector<std::int32_t>& indices, std::size_t rows, std::size_t width) {
        const nb::gil_scoped_release released;
        return indptr.size() == rows + 1 &&
               budgetron::csr_in_order(indptr.data(), rows, indices.data(), indices.size(), width);
      },
      "indptr"_a, "indices"_a, "rows"_a, "width"_a,
      "Whether CSR is sorted, without duplicates and within its bounds.");
  m.def(
      "named_row",
      [](const nb::dict& names, const nb::handle& x, bool gaps) {
        const budgetron::NamedRowLease<double> lease;
        const auto row = lease->read(names, x, false, gaps);
        return nb::make_tuple(
            to_numpy(std::vector<std::int32_t>(row.indices, row.indices + row.count)),
            to_numpy(std::vector<double>(row.values, row.values + row.count)));
      },
      "names"_a, "x"_a, "gaps"_a = false,
      "The feature numbers and values of a row of named features; `gaps`: some may be missing.");
  m.def(
      "give_back_memory",
      [] {
#if defined(__GLIBC__)
        malloc_trim(0);
#endif
      },
      "Return freed memory to the system, if the C library keeps it.");
  m.def("lapack_routines", &budgetron::lapack::routines);
  m.def(
      "install_lapack",
      [](const std::string& routine, const nb::capsule& address) {
        budgetron::lapack::install(routine, address.data());
      },
      "routine"_a, "address"_a);
  m.def(
      "install_thread_control",
      [](std::uintptr_t get, std::uintptr_t set) {
        budgetron::lapack::install_thread_control(reinterpret_cast<int (*)()>(get),
                                                  reinterpret_cast<void (*)(int)>(set));
      },
      "get"_a, "set"_a);
}
