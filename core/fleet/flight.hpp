// Models on their way to and from a file, as bytes: part of the memory, and bounded.
//
// `in` holds models that the caller fetched for coming rows; they enter with their rows. `out`
// holds models that had to leave; the caller writes them to the file. A fleet stops learning when
// `out` is full, even if rows are left, so that
//
//   bytes of in <= room + one model,   bytes of out <= 2 room + what one row moves out
//
// Cost: O(1) per model, and a copy of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fleet/block.hpp"
#include "fleet/key_id.hpp"
#include "simd/small_row.hpp"

namespace budgetron {

class Flight {
 public:
  // `room`: see above.
  explicit Flight(std::size_t room) : room_(room) {}

  [[nodiscard]] std::size_t room() const { return room_; }
  // The most bytes that models in flight may take: in, out, the transaction that writes them, and
  // for one row a model that enters, those that leave for it, and those that leave when it grows.
  [[nodiscard]] static std::size_t most_bytes(std::size_t room, std::size_t largest) {
    return 6 * room + 5 * weight(largest);
  }
  [[nodiscard]] std::size_t bytes() const { return in_bytes_ + out_bytes_; }
  [[nodiscard]] bool full() const { return out_bytes_ >= 2 * room_; }

  // ---- out ----

  void put_out(const Block& block) {
    ModelBytes bytes;
    bytes.reserve(block.byte_count() + SmallRowFunctions::kSlack);
    append(bytes, block);
    bytes.resize(bytes.size() + SmallRowFunctions::kSlack);
    out_bytes_ += weight(bytes.size());
    out_[block.head().key] = std::move(bytes);
  }
  // Calls take(key, bytes) for all models in `out`, and drops each afterwards.
  template <class Take>
  void take_out(Take take) {
    for (auto each = out_.begin(); each != out_.end(); each = out_.erase(each)) {
      take(each->first, whole(each->second));
    }
    out_bytes_ = 0;
  }
  // The keys whose model came back from the file since the last call.
  std::vector<KeyId> take_back() { return std::exchange(back_, {}); }

  // ---- in ----

  void put_in(const KeyId& key, std::span<const std::byte> model) {
    ModelBytes bytes;
    bytes.reserve(model.size() + SmallRowFunctions::kSlack);
    bytes.assign(model.begin(), model.end());
    bytes.resize(bytes.size() + SmallRowFunctions::kSlack);
    in_bytes_ += weight(bytes.size());
    in_[key] = std::move(bytes);
  }
  void clear_in() {
    in_.clear();
    in_bytes_ = 0;
  }

  // ---- either ----

  [[nodiscard]] bool contains_out(const KeyId& key) const { return out_.contains(key); }
  // A view of a model as it is, or an empty view.
  [[nodiscard]] Block find(const KeyId& key, const BlockLayout& layout) {
    for (auto* side : {&out_, &in_}) {
      const auto found = side->find(key);
      if (found != side->end()) return Block::in_file(layout, found->second.data());
    }
    return {};
  }
  // Moves a model out of here; false if it is not here.
  bool take(const KeyId& key, ModelBytes& bytes) {
    if (take_from(out_, out_bytes_, key, bytes)) return true;
    if (!take_from(in_, in_bytes_, key, bytes)) return false;
    back_.push_back(key);
    return true;
  }
  void erase(const KeyId& key) {
    ModelBytes bytes;
    if (!take_from(out_, out_bytes_, key, bytes)) take_from(in_, in_bytes_, key, bytes);
  }

  // The bytes of a block in the form of a file, without its old place.
  static void append(ModelBytes& to, const Block& block) {
    const std::size_t at = to.size();
    to.insert(to.end(), block.bytes(), block.bytes() + block.byte_count());
    reinterpret_cast<BlockHead*>(to.data() + at)->heap_at =
        static_cast<std::uint32_t>(block.size());
  }
  static std::span<const std::byte> whole(const ModelBytes& bytes) {
    return std::span<const std::byte>(bytes).subspan(0, bytes.size() - SmallRowFunctions::kSlack);
  }

 private:
  using Models = std::unordered_map<KeyId, ModelBytes, KeyHash>;
  static constexpr std::size_t kNode = 128;  // of a map node, and the overhead of malloc

  static std::size_t weight(std::size_t bytes) { return bytes + kNode; }
  static bool take_from(Models& models, std::size_t& sum, const KeyId& key, ModelBytes& bytes) {
    const auto found = models.find(key);
    if (found == models.end()) return false;
    bytes = std::move(found->second);
    sum -= weight(bytes.size());
    models.erase(found);
    return true;
  }

  std::size_t room_;
  std::size_t in_bytes_ = 0;
  std::size_t out_bytes_ = 0;
  Models out_;
  Models in_;
  std::vector<KeyId> back_;
};

}  // namespace budgetron
