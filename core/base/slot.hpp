// A slot is the place where the values (or other numbers) of one feature are stored.
#pragma once

#include <cstdint>

namespace budgetron {

inline constexpr std::uint32_t kNoSlot = 0xFFFFFFFFu;  // a feature without a slot

}  // namespace budgetron
