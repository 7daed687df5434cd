// The code of Spec, compiled once: every part reads its parameters from one.
#include "base/spec.hpp"

#include <stdexcept>
#include <utility>

namespace budgetron {

namespace {

template <class T>
const T& typed(const std::string& name, const Spec::Value& value) {
  const T* found = std::get_if<T>(&value);
  if (found == nullptr) throw std::invalid_argument("spec: '" + name + "' has the wrong type");
  return *found;
}

}  // namespace

void Spec::set(const std::string& name, Value value) { values_[name] = std::move(value); }

bool Spec::has(std::string_view name) const { return values_.contains(std::string(name)); }

const Spec::Value& Spec::get(const std::string& name) const {
  asked_.insert(name);
  const auto found = values_.find(name);
  if (found == values_.end()) throw std::invalid_argument("spec: '" + name + "' is missing");
  return found->second;
}

template <class T>
const T& Spec::as(std::string_view name) const {
  const std::string key(name);
  return typed<T>(key, get(key));
}

double Spec::number(std::string_view name) const {
  const std::string key(name);
  const Value& value = get(key);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return typed<double>(key, value);
}

std::int64_t Spec::integer(std::string_view name) const {
  const std::string key(name);
  const Value& value = get(key);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;  // Python's True is 1
  return typed<std::int64_t>(key, value);
}

std::size_t Spec::count(std::string_view name) const {
  const std::int64_t value = integer(name);
  if (value < 0) throw std::invalid_argument("spec: '" + std::string(name) + "' is negative");
  return static_cast<std::size_t>(value);
}

bool Spec::flag(std::string_view name) const { return as<bool>(name); }

const std::string& Spec::text(std::string_view name) const { return as<std::string>(name); }

const Spec& Spec::part(std::string_view name) const { return *as<std::shared_ptr<Spec>>(name); }

Spec Spec::with(const std::string& name, Value value) const {
  Spec changed = *this;
  changed.set(name, std::move(value));
  return changed;
}

Spec Spec::with(const std::string& part, const std::string& name, Value value) const {
  Spec changed = *this;
  auto inner = std::make_shared<Spec>(this->part(part));
  inner->set(name, std::move(value));
  changed.set(part, std::move(inner));
  return changed;
}

void Spec::set_in(const std::string& part, const std::string& name, Value value) {
  std::get<std::shared_ptr<Spec>>(values_.at(part))->set(name, std::move(value));
}

std::size_t Spec::bytes() const {
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

void Spec::check_all_used() const {
  for (const auto& [name, value] : values_) {
    if (!asked_.contains(name)) throw std::invalid_argument("spec: nothing reads '" + name + "'");
    if (const auto* part = std::get_if<std::shared_ptr<Spec>>(&value)) (*part)->check_all_used();
  }
}

}  // namespace budgetron
