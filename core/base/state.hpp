// One walk over all state, so that saving, loading and counting bytes can never disagree.
//
// Every stateful piece has `void visit_state(StateVisitor&)` that names each of its fields once:
//
//   visitor.field("mistakes", mistakes_);      a scalar or a vector of numbers: saved and loaded
//   visitor.part("budget", *budget_);          a piece with a visit_state of its own
//   visitor.scratch(buffer_);                  memory that is counted but not saved
//
//   visitor.fixed("outputs", outputs_);        saved; the loaded value must equal the current one
//   visitor.part_if(any, "gaps", gaps_);       a part that is saved only if `any`
//
// A piece whose memory layout is not its saved form asks `mode()` and packs (see ExampleStore).
//
// Loading trusts nothing: a saved state may come from a forged file. Each piece checks (`require`)
// that the fields it read fit together and fit the rest, so that a state that loads can be used.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/aligned_vector.hpp"

namespace budgetron {

// A saved field: a flat array of numbers of one type. A scalar is an array of one.
using StateArray = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int64_t>,
                                std::vector<std::int32_t>, std::vector<std::uint64_t>>;
using State = std::map<std::string, StateArray>;

// A check while loading: throws unless the state of `what` could have been saved.
[[noreturn, gnu::cold]] void refuse_state(std::string_view what);
inline void require(bool holds, std::string_view what) {
  if (!holds) refuse_state(what);
}

template <class Numbers>
bool all_finite(const Numbers& numbers) {
  for (const auto number : numbers) {
    if (!std::isfinite(number)) return false;
  }
  return true;
}

// Whether the feature numbers are at least 0 and strictly increasing.
inline bool strictly_increasing(const std::int32_t* features, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    if (features[k] < 0 || (k > 0 && features[k] <= features[k - 1])) return false;
  }
  return true;
}

class StateVisitor {
 public:
  enum class Mode { save, load, count };

  static StateVisitor saver() { return StateVisitor(Mode::save, nullptr); }
  static StateVisitor loader(const State& from) { return StateVisitor(Mode::load, &from); }
  static StateVisitor counter() { return StateVisitor(Mode::count, nullptr); }

  [[nodiscard]] Mode mode() const { return mode_; }
  [[nodiscard]] bool loading() const { return mode_ == Mode::load; }
  [[nodiscard]] State&& take() { return std::move(saved_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // Scalars: double, float, integers (all of them are counts), bool. Their own bytes are counted
  // with the object that holds them (`object`).
  template <class T>
    requires std::is_arithmetic_v<T>
  void field(std::string_view name, T& value) {
    using Stored = std::conditional_t<
        std::is_floating_point_v<T>, double,
        std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>;
    if (mode_ == Mode::count) return;
    const Stored stored = scalar(name, static_cast<Stored>(value));
    if (mode_ == Mode::load) value = static_cast<T>(stored);
  }

  // Numbers of a type of StateArray.
  template <class T, class Allocator>
  [[gnu::cold]] void field(std::string_view name, std::vector<T, Allocator>& values);

  [[gnu::cold]] void fixed(std::string_view name, std::size_t value);

  // Call after loading: every field of the state must have been read.
  [[gnu::cold]] void check_all_read() const;

  template <class Part>
  void part(std::string_view name, Part& part) {
    const std::size_t before = enter(name);
    part.visit_state(*this);
    prefix_.resize(before);
  }

  // A part that most states do not have: saved if `any`, loaded if it is there.
  template <class Part>
  void part_if(bool any, std::string_view name, Part& part) {
    if (visits(any, name)) this->part(name, part);
  }

  // Memory that is not part of the saved state.
  template <class T, class Allocator>
  void scratch(const std::vector<T, Allocator>& values) {
    if (mode_ == Mode::count) bytes_ += values.capacity() * sizeof(T);
  }
  void object(std::size_t bytes) {
    if (mode_ == Mode::count) bytes_ += bytes;
  }

 private:
  StateVisitor(Mode mode, const State* from) : mode_(mode), from_(from) {}

  [[nodiscard]] std::string path(std::string_view name) const {
    return prefix_ + std::string(name);
  }
  // Lengthens the prefix by a part; returns its length before.
  [[gnu::cold]] std::size_t enter(std::string_view name);
  [[nodiscard, gnu::cold]] bool visits(bool any, std::string_view name) const;

  // Saves a number, or returns the loaded one.
  template <class Stored>
  [[gnu::cold]] Stored scalar(std::string_view name, Stored value);
  template <class T>
  const std::vector<T>& loaded(std::string_view name);

  Mode mode_;
  const State* from_;
  State saved_;
  std::set<std::string> read_;
  std::size_t bytes_ = 0;
  std::string prefix_;
};

}  // namespace budgetron
