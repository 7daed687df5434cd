// The library's only random generator: xoshiro256++ (Blackman & Vigna, "Scrambled linear
// pseudorandom number generators", 2021), seeded with four outputs of SplitMix64 as its authors
// advise.
//
// Its state is 32 bytes and is saved with the model. It gives the same numbers on every platform,
// which std:: distributions do not guarantee. papers/random.py is the same generator in Python, for
// the trace tests.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "base/state.hpp"

namespace budgetron {

class Random {
 public:
  static constexpr const char* name = "xoshiro256++";

  explicit Random(std::uint64_t seed = 0) {
    for (auto& word : words_) {
      seed += 0x9E3779B97F4A7C15u;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
      word = z ^ (z >> 31);
    }
  }

  // The generator of one feature: the same sequence whenever the feature appears.
  static Random of_feature(std::uint64_t seed, std::int32_t feature) {
    return Random(seed * 0x9E3779B97F4A7C15u + static_cast<std::uint64_t>(feature) + 1);
  }

  std::uint64_t next() {
    auto& s = words_;
    const std::uint64_t result = std::rotl(s[0] + s[3], 23) + s[0];
    const std::uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = std::rotl(s[3], 45);
    return result;
  }

  // Uniform in [0, 1), with 53 bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Uniform in 0..n-1. The bias of the plain product is below n 2^-53.
  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(uniform() * static_cast<double>(n));
  }

  // Two standard normals from two uniforms (Box & Muller 1958), the cosine one first.
  std::pair<double, double> normal_pair() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    const double angle = 2.0 * std::numbers::pi * uniform();
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

  // A standard Cauchy number from one uniform number.
  double cauchy() { return std::tan(std::numbers::pi * (uniform() - 0.5)); }

  void visit_state(StateVisitor& visitor) {
    std::vector<std::uint64_t> words(words_.begin(), words_.end());
    if (visitor.mode() == StateVisitor::Mode::count) return;
    visitor.field("words", words);
    require(words.size() == words_.size(), "generator");
    std::copy(words.begin(), words.end(), words_.begin());
  }

 private:
  std::array<std::uint64_t, 4> words_{};
};

}  // namespace budgetron
