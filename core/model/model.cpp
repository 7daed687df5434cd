// The two instantiations of Model, compiled once for the bindings and all tests.
#include "model/model.hpp"

namespace budgetron {

template class Model<float>;
template class Model<double>;

}  // namespace budgetron
