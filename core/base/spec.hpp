// A spec says what to build: a tree of named values. The Python dataclasses write it, the registry
// reads it.
//
// The core has no defaults: a missing name is an error, and so is a name that nothing reads. So all
// defaults are in the dataclasses (src/budgetron/parts/), and a parameter that only Python or only
// C++ knows is an error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>

namespace budgetron {

class Spec {
 public:
  using Value = std::variant<bool, std::int64_t, double, std::string, std::shared_ptr<Spec>>;

  void set(const std::string& name, Value value);

  [[nodiscard, gnu::cold]] bool has(std::string_view name) const;

  [[nodiscard, gnu::cold]] double number(std::string_view name) const;
  [[nodiscard, gnu::cold]] std::int64_t integer(std::string_view name) const;
  [[nodiscard, gnu::cold]] std::size_t count(std::string_view name) const;
  [[nodiscard, gnu::cold]] bool flag(std::string_view name) const;
  [[nodiscard, gnu::cold]] const std::string& text(std::string_view name) const;
  [[nodiscard, gnu::cold]] const Spec& part(std::string_view name) const;

  // A copy of this spec with another value for `name`; this one does not change.
  [[nodiscard]] Spec with(const std::string& name, Value value) const;
  // A copy with another value for `name` of its part `part`.
  [[nodiscard]] Spec with(const std::string& part, const std::string& name, Value value) const;

  // Sets `name` of its part `part`, also for other specs that share the part.
  void set_in(const std::string& part, const std::string& name, Value value);

  // The bytes it holds, with texts and the nodes of its trees (three pointers and a colour each).
  [[nodiscard]] std::size_t bytes() const;

  // Call after building: every name must have been read, here and in the parts.
  void check_all_used() const;

 private:
  const Value& get(const std::string& name) const;
  template <class T>
  const T& as(std::string_view name) const;

  std::map<std::string, Value> values_;
  mutable std::set<std::string> asked_;
};

}  // namespace budgetron
