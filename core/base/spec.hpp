// A spec says what to build: a tree of named values. The Python dataclasses write it, the registry
// reads it.
//
// The core has no defaults: a missing name is an error, and so is a name that nothing reads. So all
// defaults are in the dataclasses (src/budgetron/parts/), and a parameter that only Python or only
// C++ knows is an error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace budgetron {

class Spec {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::shared_ptr<Spec>>;

  void set(const std::string& name, Value value) { values_[name] = std::move(value); }

  [[nodiscard]] bool has(const std::string& name) const { return values_.contains(name); }

  [[nodiscard]] double number(const std::string& name) const {
    const Value& value = get(name);
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    return as<double>(name, value);
  }
  [[nodiscard]] std::int64_t integer(const std::string& name) const {
    const Value& value = get(name);
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;  // Python's True is 1
    return as<std::int64_t>(name, value);
  }
  [[nodiscard]] std::size_t count(const std::string& name) const {
    const std::int64_t value = integer(name);
    if (value < 0) throw std::invalid_argument("spec: '" + name + "' is negative");
    return static_cast<std::size_t>(value);
  }
  [[nodiscard]] bool flag(const std::string& name) const { return as<bool>(name, get(name)); }
  [[nodiscard]] const std::string& text(const std::string& name) const {
    return as<std::string>(name, get(name));
  }
  [[nodiscard]] const Spec& part(const std::string& name) const {
    return *as<std::shared_ptr<Spec>>(name, get(name));
  }

  // A copy of this spec with another value for `name`; this one does not change.
  [[nodiscard]] Spec with(const std::string& name, Value value) const {
    Spec changed = *this;
    changed.set(name, std::move(value));
    return changed;
  }
  // A copy with another value for `name` of its part `part`.
  [[nodiscard]] Spec with(const std::string& part, const std::string& name, Value value) const {
    Spec changed = *this;
    auto inner = std::make_shared<Spec>(this->part(part));
    inner->set(name, std::move(value));
    changed.set(part, std::move(inner));
    return changed;
  }

  // Sets `name` of its part `part`, also for other specs that share the part.
  void set_in(const std::string& part, const std::string& name, Value value) {
    std::get<std::shared_ptr<Spec>>(values_.at(part))->set(name, std::move(value));
  }

  // The bytes it holds, with texts and the nodes of its trees (three pointers and a colour each).
  [[nodiscard]] std::size_t bytes() const {
    constexpr std::size_t node = 4 * sizeof(void*);
    constexpr std::size_t shared = 2 * sizeof(void*);  // the reference counts of a shared pointer
    const std::size_t inside = std::string().capacity();
    // short texts are stored in the object itself
    const auto apart = [&](const std::string& text) {
      return text.capacity() > inside ? text.capacity() + 1 : 0;
    };
    std::size_t sum = sizeof(*this);
    for (const auto& [name, value] : values_) {
      sum += node + sizeof(name) + sizeof(value) + apart(name);
      if (const auto* part = std::get_if<std::shared_ptr<Spec>>(&value)) {
        sum += shared + (*part)->bytes();
      }
      if (const auto* text = std::get_if<std::string>(&value)) sum += apart(*text);
    }
    for (const auto& name : asked_) sum += node + sizeof(name) + apart(name);
    return sum;
  }

  // Call after building: every name must have been read, here and in the parts.
  void check_all_used() const {
    for (const auto& [name, value] : values_) {
      if (!asked_.contains(name)) throw std::invalid_argument("spec: nothing reads '" + name + "'");
      if (const auto* part = std::get_if<std::shared_ptr<Spec>>(&value)) (*part)->check_all_used();
    }
  }

 private:
  const Value& get(const std::string& name) const {
    asked_.insert(name);
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("spec: '" + name + "' is missing");
    return found->second;
  }
  template <class T>
  static const T& as(const std::string& name, const Value& value) {
    const T* typed = std::get_if<T>(&value);
    if (typed == nullptr) throw std::invalid_argument("spec: '" + name + "' has the wrong type");
    return *typed;
  }

  std::map<std::string, Value> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace budgetron
