// Events: what happens to stored examples, for a listener.
//
// Examples leave an expansion in one place (Expansion::forget), which reports it to the log. Where
// more is known (with which example one merges, that the stream changed) the budget or learner
// reports. Models are made without a log: then the cost is one branch where an example leaves, and
// nothing elsewhere. A log is no part of the model's state: with or without it the model learns the
// same.
//
//   evict    `example` left, and its share of f with it
//   project  `example` left or was not stored; stored examples took over part of its share
//   merge    `example` and `other` became one
//   refuse   `example`, the newcomer, was not stored
//   drift    the learner saw the stream change
//   rescale  targets are counted in another unit (target_units.hpp)
//   restart  a new learner learned all rows so far: gamma or scale changed (preparation.hpp)
//   units    units changed and stored examples were converted; `coef` is the mean |change of f| at
//            them
//
// Examples are named by the round that stored them, the newcomer by its own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace budgetron {

// `none`: an example leaves whose event was already reported.
enum class EventKind : std::uint8_t {
  evict,
  project,
  merge,
  refuse,
  drift,
  rescale,
  restart,
  units,
  none
};

struct Event {
  EventKind kind = EventKind::none;
  std::int64_t example = -1;  // -1: none
  std::int64_t other = -1;
  double coef = 0.0;       // |a_i| of the example when it left
  std::int64_t round = 0;  // rounds before this one

  [[nodiscard]] const char* name() const {
    constexpr const char* names[] = {"evict",   "project", "merge", "refuse", "drift",
                                     "rescale", "restart", "units", ""};
    return names[static_cast<std::size_t>(kind)];
  }
};

class EventLog {
 public:
  // `round` is read whenever something happens.
  explicit EventLog(const std::int64_t& round) : round_(&round) {}

  void add(Event event) {
    event.round = *round_;
    events_.push_back(event);
  }
  [[nodiscard]] std::vector<Event> take() { return std::exchange(events_, {}); }
  [[nodiscard]] std::size_t bytes() const {
    return sizeof(*this) + events_.capacity() * sizeof(Event);
  }

 private:
  const std::int64_t* round_;
  std::vector<Event> events_;
};

}  // namespace budgetron
