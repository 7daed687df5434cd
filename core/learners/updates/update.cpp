// The list of updates: a new one adds its header and its line here.
#include "learners/updates/update.hpp"

#include <stdexcept>
#include <string>

#include "learners/updates/gradient.hpp"
#include "learners/updates/passive_aggressive.hpp"
#include "learners/updates/perceptron.hpp"

namespace budgetron {

namespace {

template <class Made, class... Given>
std::unique_ptr<Made> made(const Given&... given) {
  auto update = std::make_unique<Made>(given...);
  update->object_bytes = sizeof(Made);
  return update;
}

}  // namespace

std::unique_ptr<Update> make_update(const Spec& spec) {
  const std::string& kind = spec.text("kind");
  if (kind == "perceptron") return made<PerceptronUpdate>(spec);
  if (kind == "shrinking") return made<ShrinkingUpdate>(spec);
  if (kind == "avp") return made<AvpUpdate>(spec);
  if (kind == "alma") return made<AlmaUpdate>(spec);
  if (kind == "tube") return made<TubeUpdate>(spec);
  if (kind == "passive-aggressive") return made<PassiveAggressiveUpdate>(spec, 1.0);
  if (kind == "tube-passive-aggressive") {
    return made<PassiveAggressiveUpdate>(spec, -spec.number("epsilon"));
  }
  if (kind == "gradient") return made<GradientUpdate>(spec);
  if (kind == "pegasos") return made<PegasosUpdate>(spec);
  throw std::invalid_argument("no update is called '" + kind + "'");
}

}  // namespace budgetron
