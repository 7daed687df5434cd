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
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/aligned_vector.hpp"

namespace budgetron {

// A saved field: a flat array of numbers of one type. A scalar is an array of one.
using StateArray = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int64_t>,
                                std::vector<std::int32_t>, std::vector<std::uint64_t>>;
using State = std::map<std::string, StateArray>;

// A check while loading: throws unless the state of `what` could have been saved.
inline void require(bool holds, const std::string& what) {
  if (!holds) throw std::invalid_argument("state: damaged " + what);
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
  void field(const std::string& name, T& value) {
    using Stored = std::conditional_t<
        std::is_floating_point_v<T>, double,
        std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>>;
    if (mode_ == Mode::save) {
      saved_[path(name)] = std::vector<Stored>{static_cast<Stored>(value)};
    } else if (mode_ == Mode::load) {
      const auto& from = loaded<Stored>(name);
      require(from.size() == 1, path(name));
      if constexpr (std::is_same_v<Stored, std::int64_t>) {
        require(from[0] >= 0 && from[0] <= kMostCount, path(name));
      }
      value = static_cast<T>(from[0]);
    }
  }

  template <class T, class Allocator>
  void field(const std::string& name, std::vector<T, Allocator>& values) {
    if (mode_ == Mode::save) {
      saved_[path(name)] = std::vector<T>(values.begin(), values.end());
    } else if (mode_ == Mode::load) {
      const auto& from = loaded<T>(name);
      values.assign(from.begin(), from.end());
    } else {
      bytes_ += values.capacity() * sizeof(T);
    }
  }

  void fixed(const std::string& name, std::size_t value) {
    std::size_t same = value;
    field(name, same);
    require(same == value, path(name));
  }

  // Call after loading: every field of the state must have been read.
  void check_all_read() const {
    for (const auto& [name, values] : *from_) require(read_.contains(name), "field " + name);
  }

  template <class Part>
  void part(const std::string& name, Part& part) {
    const std::string before = prefix_;
    prefix_ += name + "/";
    part.visit_state(*this);
    prefix_ = before;
  }

  // A part that most states do not have: saved if `any`, loaded if it is there.
  template <class Part>
  void part_if(bool any, const std::string& name, Part& part) {
    if (mode_ == Mode::load) {
      const auto first = from_->lower_bound(path(name) + "/");
      any = first != from_->end() && first->first.starts_with(path(name) + "/");
    }
    if (any || mode_ == Mode::count) this->part(name, part);
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
  // The largest count that a file may have: from here a count can grow for ever without overflow.
  static constexpr std::int64_t kMostCount = std::int64_t{1} << 62;

  StateVisitor(Mode mode, const State* from) : mode_(mode), from_(from) {}

  [[nodiscard]] std::string path(const std::string& name) const { return prefix_ + name; }

  template <class T>
  const std::vector<T>& loaded(const std::string& name) {
    read_.insert(path(name));
    const auto found = from_->find(path(name));
    if (found == from_->end()) throw std::invalid_argument("state has no field " + path(name));
    const auto* values = std::get_if<std::vector<T>>(&found->second);
    if (values == nullptr) {
      throw std::invalid_argument("state field has another type: " + path(name));
    }
    return *values;
  }

  Mode mode_;
  const State* from_;
  State saved_;
  std::set<std::string> read_;
  std::size_t bytes_ = 0;
  std::string prefix_;
};

}  // namespace budgetron
