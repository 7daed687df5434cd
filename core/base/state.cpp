// The code of StateVisitor that is the same for all parts, compiled once: hundreds of fields use
// it.
#include "base/state.hpp"

#include <stdexcept>

namespace budgetron {

namespace {

// The largest count that a file may have: from here a count can grow for ever without overflow.
constexpr std::int64_t kMostCount = std::int64_t{1} << 62;

}  // namespace

void refuse_state(std::string_view what) {
  throw std::invalid_argument("state: damaged " + std::string(what));
}

template <class T>
const std::vector<T>& StateVisitor::loaded(std::string_view name) {
  const std::string key = path(name);
  read_.insert(key);
  const auto found = from_->find(key);
  if (found == from_->end()) throw std::invalid_argument("state has no field " + key);
  const auto* values = std::get_if<std::vector<T>>(&found->second);
  if (values == nullptr) throw std::invalid_argument("state field has another type: " + key);
  return *values;
}

template <class Stored>
Stored StateVisitor::scalar(std::string_view name, Stored value) {
  if (mode_ == Mode::save) {
    saved_[path(name)] = std::vector<Stored>{value};
    return value;
  }
  const std::vector<Stored>& from = loaded<Stored>(name);
  bool holds = from.size() == 1;
  if constexpr (std::is_same_v<Stored, std::int64_t>) {
    holds = holds && from[0] >= 0 && from[0] <= kMostCount;
  }
  if (!holds) refuse_state(path(name));
  return from[0];
}

template <class T, class Allocator>
void StateVisitor::field(std::string_view name, std::vector<T, Allocator>& values) {
  if (mode_ == Mode::save) {
    saved_[path(name)] = std::vector<T>(values.begin(), values.end());
  } else if (mode_ == Mode::load) {
    const std::vector<T>& from = loaded<T>(name);
    values.assign(from.begin(), from.end());
  } else {
    bytes_ += values.capacity() * sizeof(T);
  }
}

void StateVisitor::fixed(std::string_view name, std::size_t value) {
  std::size_t same = value;
  field(name, same);
  if (same != value) refuse_state(path(name));
}

void StateVisitor::check_all_read() const {
  for (const auto& [name, values] : *from_) {
    if (!read_.contains(name)) refuse_state("field " + name);
  }
}

std::size_t StateVisitor::enter(std::string_view name) {
  const std::size_t before = prefix_.size();
  prefix_ += name;
  prefix_ += '/';
  return before;
}

bool StateVisitor::visits(bool any, std::string_view name) const {
  if (mode_ == Mode::load) {
    const std::string inside = path(name) + "/";
    const auto first = from_->lower_bound(inside);
    return first != from_->end() && first->first.starts_with(inside);
  }
  return any || mode_ == Mode::count;
}

template double StateVisitor::scalar(std::string_view, double);
template std::int64_t StateVisitor::scalar(std::string_view, std::int64_t);
template std::uint64_t StateVisitor::scalar(std::string_view, std::uint64_t);
template void StateVisitor::field(std::string_view, std::vector<double>&);
template void StateVisitor::field(std::string_view, std::vector<float>&);
template void StateVisitor::field(std::string_view, std::vector<std::int64_t>&);
template void StateVisitor::field(std::string_view, std::vector<std::int32_t>&);
template void StateVisitor::field(std::string_view, std::vector<std::uint64_t>&);
template void StateVisitor::field(std::string_view, AlignedVector<double>&);
template void StateVisitor::field(std::string_view, AlignedVector<float>&);
template void StateVisitor::field(std::string_view, AlignedVector<std::int32_t>&);

}  // namespace budgetron
