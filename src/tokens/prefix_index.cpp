#include "tokens/prefix_index.hpp"

#include <algorithm>
#include <utility>

namespace attn {
namespace {

// The first eight bytes as a number that sorts as they do.
std::uint64_t sorting_key(std::string_view text) {
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    key = key << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return key;
}

}  // namespace

PrefixIndex::PrefixIndex(std::vector<std::string_view> texts) : texts_(std::move(texts)) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> keys;
  keys.reserve(texts_.size());
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    if (texts_[i].empty()) continue;
    keys.emplace_back(sorting_key(texts_[i]), static_cast<std::uint32_t>(i));
  }
  std::sort(keys.begin(), keys.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : texts_[a.second] < texts_[b.second];
  });
  order_.reserve(keys.size());
  for (const auto& [key, i] : keys) {
    order_.push_back(i);
    ++firsts_[(key >> 56) + 1];
  }
  for (std::size_t i = 1; i < firsts_.size(); ++i) firsts_[i] += firsts_[i - 1];
}

}  // namespace attn
