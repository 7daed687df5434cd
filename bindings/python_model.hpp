// A model as Python holds it: it reads batches, learns in pieces and calls a listener.
//
// A batch is learned in pieces of 256 rows, which gives the same bits. Between pieces the lock is
// free, so that other threads can predict, and the listener is called.
//
// The learning thread calls the listener without holding a lock, so the listener may look into the
// model. If the listener raises, it is not called again: the model learns the rest of the batch,
// then the exception is raised.
//
// The alarm is called with the model's verdict (verdict.hpp): after a single row, and after a batch
// when `call_alarm` is called.
//
// Ctrl-C ends a call between two pieces, within kPatience: the rows before that have been learned.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>

#include "model/model.hpp"
#include "python_batch.hpp"

namespace budgetron {

inline constexpr std::size_t kPiece = 256;  // rows; less than a millisecond for most models
inline constexpr std::chrono::milliseconds kPatience{100};

template <class Real>
class PythonModel : public Model<Real> {
 public:
  using Model<Real>::Model;

  // None: no listener. Otherwise it is called with a list of (kind, round, example, other, coef).
  void listen(nanobind::object listener) {
    const bool heard = !listener.is_none();
    this->watch(heard);
    const nanobind::ft_lock_guard guard(mutex_);
    listener_ = heard ? std::move(listener) : nanobind::object();
    heard_ = heard;
  }

  // Needs the GIL, like the functions below.
  void call_listener() {
    if (!heard_.load(std::memory_order_relaxed)) return;
    nanobind::object listener;
    {
      const nanobind::ft_lock_guard guard(mutex_);
      listener = listener_;
    }
    nanobind::list events;
    for (const Event& event : this->take_events()) {
      events.append(
          nanobind::make_tuple(event.name(), event.round, event.example, event.other, event.coef));
    }
    if (listener.is_valid() && nanobind::len(events) > 0) listener(events);
  }

  // A function that is called once with a verdict: (kind, loss, loss of the guess).
  void set_alarm(nanobind::object alarm) {
    const nanobind::ft_lock_guard guard(mutex_);
    alarm_ = std::move(alarm);
  }
  void call_alarm() {
    this->tell([this](const Verdict& verdict) {
      nanobind::object alarm;
      {
        const nanobind::ft_lock_guard guard(mutex_);
        alarm = alarm_;
      }
      if (alarm.is_valid()) alarm(verdict.name(), verdict.loss(), verdict.guess_loss());
    });
  }

  // Learns a batch; returns its decisions, (rows, outputs), or None if they are not recorded.
  nanobind::object learn(const nanobind::handle& arrays) {
    const PythonBatch<Real> held(arrays);
    std::vector<double> decisions;
    Batch<Real> batch = held.batch();
    if (held.record()) batch.decisions = &decisions;
    std::size_t outputs = 0;
    std::exception_ptr raised;
    {
      const nanobind::gil_scoped_release released;
      if (held.record()) {
        outputs = this->inspect([this](const auto&) { return this->outputs(); });
        decisions.reserve(batch.count * outputs);
      }
      auto asked = std::chrono::steady_clock::now();
      for (std::size_t begin = 0; begin < batch.count; begin += kPiece) {
        if (begin > 0 && std::chrono::steady_clock::now() - asked > kPatience) {
          const nanobind::gil_scoped_acquire acquired;
          if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
          asked = std::chrono::steady_clock::now();
        }
        Model<Real>::learn(batch.piece(begin, std::min(begin + kPiece, batch.count)));
        if (!heard_.load(std::memory_order_relaxed) || raised != nullptr) continue;
        const nanobind::gil_scoped_acquire acquired;
        try {
          call_listener();
        } catch (...) {
          raised = std::current_exception();
        }
      }
    }
    if (raised != nullptr) std::rethrow_exception(raised);
    if (!held.record()) return nanobind::none();
    return to_numpy(std::move(decisions), {batch.count, outputs});
  }

  // Counts a batch in the first pass of `fit`.
  void survey(const nanobind::handle& arrays) {
    const PythonBatch<Real> held(arrays);
    const nanobind::gil_scoped_release released;
    Model<Real>::survey(held.batch());
  }

  // For Python's garbage collector: a listener often refers to the model it listens to.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nanobind::inst_ready(self)) {
      Py_VISIT(nanobind::inst_ptr<PythonModel>(self)->listener_.ptr());
      Py_VISIT(nanobind::inst_ptr<PythonModel>(self)->alarm_.ptr());
    }
    return 0;
  }
  static int clear(PyObject* self) {
    nanobind::inst_ptr<PythonModel>(self)->listener_.reset();
    nanobind::inst_ptr<PythonModel>(self)->alarm_.reset();
    return 0;
  }

 private:
  nanobind::object listener_;
  std::atomic<bool> heard_ = false;
  nanobind::object alarm_;
  nanobind::ft_mutex mutex_;  // guards listener and alarm; empty in a Python with a GIL
};

}  // namespace budgetron
