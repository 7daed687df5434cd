#include "fleet/fleet.hpp"

namespace budgetron {

template class Fleet<float>;
template class Fleet<double>;

}  // namespace budgetron
