// Makes a learner from a spec.
#pragma once

#include <memory>

#include "base/spec.hpp"
#include "learners/learner.hpp"

namespace budgetron {

template <class Real>
std::unique_ptr<Learner<Real>> make_learner(const Spec& spec, std::size_t outputs);

}  // namespace budgetron
