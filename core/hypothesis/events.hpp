// Events: what happens to stored examples, for a listener.
//
// Examples leave an expansion in one function (Expansion::forget), which reports it to the log. If
// a budget or learner knows more (which two examples merged, that the stream changed), it reports
// that itself. Models are made without a log: then the cost is one branch per example that leaves.
// A log is not part of the model's state: the model learns the same with or without it.
//
//   evict    `example` left, and its part of f with it
//   project  `example` left or was not stored; stored examples took over part of it
//   merge    `example` and `other` became one
//   refuse   `example`, the new one, was not stored
//   drift    the learner saw the stream change
//   rescale  targets are counted in another unit (target_units.hpp)
//   restart  a new learner learned all rows so far: gamma or scale changed (preparation.hpp)
//   units    units changed and stored examples were converted; `coef` is the mean |change of f| at
//            them
//
// Examples are named by the round that stored them, the new one by the current round.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace budgetron {

// `none`: the event of an example that leaves was already reported.
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
  // `round` is read at every event.
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
