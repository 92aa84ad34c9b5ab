#include "result/seen_keys.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "support/translated.hpp"

namespace attn {

Tensor ranges_of(const Tensor& allowed) {
  const Shape& shape = allowed.shape();
  const std::size_t samples = shape[0], queries = shape[2], keys = shape[3];
  const auto seen = allowed.values<std::uint8_t>();
  std::vector<std::int64_t> ranges;
  ranges.reserve(samples * queries * 2);
  for (std::size_t row = 0; row < samples * queries; ++row) {
    const auto of_row = seen.subspan(row * keys, keys);
    const auto first = std::find(of_row.begin(), of_row.end(), std::uint8_t{1});
    const auto end = std::find(first, of_row.end(), std::uint8_t{0});
    ranges.push_back(first == of_row.end() ? 0 : first - of_row.begin());
    ranges.push_back(first == of_row.end() ? 0 : end - of_row.begin());
  }
  return {{samples, queries, 2}, std::move(ranges)};
}

Fact facts_of(const std::vector<SeenKeys>& seen) {
  return list_of(seen, [](const SeenKeys& keys) {
    return object({{"attentions", keys.attentions}, {"keys", keys.ranges}});
  });
}

Tensor read_seen_keys(const JsonValue& seen, const std::string& prefix, const Shape& weights,
                      const std::string& pointer, const ReadTensor& read) {
  const auto fit = [&](bool good, const std::string& at) {
    if (good) return;
    throw input_error(
        translated("the keys that queries see do not fit the weights {1}", text(weights)), at,
        translated("give for each sample and query the first key and the one after the last"));
  };
  fit(seen.is(JsonValue::Type::array), pointer);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const JsonValue& entry = seen.element(i);
    const std::string at = pointer_to(pointer, i);
    const JsonValue *names = entry.find("attentions"), *ranges = entry.find("keys");
    fit(names && ranges && names->is(JsonValue::Type::array), at);
    bool meant = false;
    for (std::size_t n = 0; n < names->size(); ++n) {
      meant = meant || expect_string(names->element(n), at) == prefix;
    }
    if (!meant) continue;
    const std::string keys_at = pointer_to(at, "keys");
    const Tensor given = read(*ranges, keys_at);
    fit(weights.size() == 4 && given.shape() == Shape{weights[0], weights[2], 2}, keys_at);
    const std::size_t queries = weights[2], keys = weights[3];
    const auto ends = given.values<double>();
    std::vector<std::uint8_t> allowed(weights[0] * queries * keys);
    for (std::size_t row = 0; row < weights[0] * queries; ++row) {
      const double first = ends[2 * row], end = ends[2 * row + 1];
      fit(first >= 0 && first <= end && end <= static_cast<double>(keys), keys_at);
      const auto cells = allowed.begin() + static_cast<std::ptrdiff_t>(row * keys);
      std::fill(cells + static_cast<std::ptrdiff_t>(first),
                cells + static_cast<std::ptrdiff_t>(end), std::uint8_t{1});
    }
    return {{weights[0], 1, queries, keys}, std::move(allowed)};
  }
  return {};
}

}  // namespace attn
