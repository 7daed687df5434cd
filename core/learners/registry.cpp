// The list of learners other than the round, each with a step of its own: a new one adds its header
// and its line here.
#include "learners/registry.hpp"

#include <stdexcept>
#include <string>

#include "learners/avm.hpp"
#include "learners/budgetron.hpp"
#include "learners/fogd.hpp"
#include "learners/forgetron.hpp"
#include "learners/nogd.hpp"
#include "learners/novelty.hpp"
#include "learners/pomdr.hpp"
#include "learners/projectron_plus.hpp"
#include "learners/round.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Learner<Real>> make_learner(const Spec& spec, std::size_t outputs) {
  const std::string& kind = spec.text("kind");
  if (kind == "round") return std::make_unique<Round<Real>>(spec, outputs);
  if (kind == "fogd") return std::make_unique<Fogd<Real>>(spec, outputs);
  if (kind == "nogd") return std::make_unique<Nogd<Real>>(spec, outputs);
  if (kind == "avm") return std::make_unique<Avm<Real>>(spec, outputs);
  if (kind == "forgetron") return std::make_unique<Forgetron<Real>>(spec, outputs);
  if (kind == "projectron-plus") return std::make_unique<ProjectronPlus<Real>>(spec, outputs);
  if (kind == "pomdr") return std::make_unique<Pomdr<Real>>(spec, outputs);
  if (kind == "budgetron") return std::make_unique<Budgetron<Real>>(spec, outputs);
  if (kind == "novelty") return std::make_unique<Novelty<Real>>(spec, outputs);
  throw std::invalid_argument("no learner is called '" + kind + "'");
}

template std::unique_ptr<Learner<float>> make_learner<float>(const Spec&, std::size_t);
template std::unique_ptr<Learner<double>> make_learner<double>(const Spec&, std::size_t);

}  // namespace budgetron
