// From a spec to a learner.
#pragma once

#include <memory>

#include "learner.hpp"
#include "spec.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Learner<Real>> make_learner(const Spec& spec, std::size_t outputs);

}  // namespace budgetron
