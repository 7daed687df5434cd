// The list of learners that are whole steps of their own, beside the round: a new page adds its
// header and its line here.
#include "registry.hpp"

#include <stdexcept>
#include <string>

#include "round.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Learner<Real>> make_learner(const Spec& spec, std::size_t outputs) {
  const std::string& kind = spec.text("kind");
  if (kind == "round") return std::make_unique<Round<Real>>(spec, outputs);
  throw std::invalid_argument("no learner is called '" + kind + "'");
}

template std::unique_ptr<Learner<float>> make_learner<float>(const Spec&, std::size_t);
template std::unique_ptr<Learner<double>> make_learner<double>(const Spec&, std::size_t);

}  // namespace budgetron
