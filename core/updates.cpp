#include "updates.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace budgetron {
namespace {

// Rosenblatt 1958; Freund & Schapire 1999: y f(x) <= 0 adds (x, y). A tie counts as a mistake.
class PerceptronUpdate final : public Update {
 public:
  explicit PerceptronUpdate(const Spec&) {}
  Move move(const Facts& facts) override {
    if (facts.margin > 0.0) return {};
    return {.coef = 1.0, .store = true};
  }
};

// AVP (ahpatron.txt, algorithm 1, line 4): y f(x) < 1 - epsilon adds (x, step y).
class AvpUpdate final : public Update {
 public:
  explicit AvpUpdate(const Spec& spec)
      : step_(spec.number("step")), epsilon_(spec.number("epsilon")) {}
  Move move(const Facts& facts) override {
    if (facts.margin >= 1.0 - epsilon_) return {};
    return {.coef = step_, .store = true};
  }

 private:
  double step_;
  double epsilon_;
};

}  // namespace

std::unique_ptr<Update> make_update(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "perceptron") return std::make_unique<PerceptronUpdate>(spec);
  if (kind == "avp") return std::make_unique<AvpUpdate>(spec);
  throw std::invalid_argument("no update is called '" + kind + "'");
}

}  // namespace budgetron
