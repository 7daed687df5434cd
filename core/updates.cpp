// The list of updates: a new one adds its header and its line here.
#include "updates.hpp"

#include <stdexcept>
#include <string>

#include "updates/gradient.hpp"
#include "updates/passive_aggressive.hpp"
#include "updates/perceptron.hpp"

namespace budgetron {

std::unique_ptr<Update> make_update(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "perceptron") return std::make_unique<PerceptronUpdate>(spec);
  if (kind == "shrinking") return std::make_unique<ShrinkingUpdate>(spec);
  if (kind == "avp") return std::make_unique<AvpUpdate>(spec);
  if (kind == "alma") return std::make_unique<AlmaUpdate>(spec);
  if (kind == "tube") return std::make_unique<TubeUpdate>(spec);
  if (kind == "passive-aggressive") return std::make_unique<PassiveAggressiveUpdate>(spec, 1.0);
  if (kind == "tube-passive-aggressive") {
    return std::make_unique<PassiveAggressiveUpdate>(spec, -spec.number("epsilon"));
  }
  if (kind == "gradient") return std::make_unique<GradientUpdate>(spec);
  if (kind == "pegasos") return std::make_unique<PegasosUpdate>(spec);
  throw std::invalid_argument("no update is called '" + kind + "'");
}

}  // namespace budgetron
