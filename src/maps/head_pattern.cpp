#include "maps/head_pattern.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>

namespace attn {
namespace {

// Where there is no tokenizer to ask.
constexpr std::array<std::string_view, 8> usual_separators{
    "[SEP]",           "</s>",       "<eos>",      "<|endoftext|>",
    "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>"};
constexpr std::array<std::string_view, 9> other_special{
    "[CLS]",       "[PAD]", "[MASK]", "<s>", "<pad>", "<mask>", "<bos>", "<|begin_of_text|>",
    "<|im_start|>"};

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Keys that each query of a map sees, 0 or 1: those that it says or, where it says none, the
// earlier ones if all later ones have nothing.
std::vector<std::uint8_t> seen_cells(const Heatmap& map, std::span<const double> weights) {
  const std::size_t rows = map.weights.shape()[0], columns = map.weights.shape()[1];
  if (map.allowed) {
    const Tensor allowed = map.allowed.converted(DType::boolean);
    const auto cells = allowed.values<std::uint8_t>();
    return {cells.begin(), cells.end()};
  }
  bool later = rows != columns || rows < 2;
  for (std::size_t i = 0; i < rows && !later; ++i) {
    for (std::size_t j = i + 1; j < columns && !later; ++j) later = weights[i * columns + j] != 0;
  }
  std::vector<std::uint8_t> seen(rows * columns, 1);
  for (std::size_t i = 0; i < rows && !later; ++i) {
    for (std::size_t j = i + 1; j < columns; ++j) seen[i * columns + j] = 0;
  }
  return seen;
}

/// A map and the even one over the same keys, with the tokens of both.
struct ReadMap {
  CountedMap own, even;
  std::optional<MapTokens> queries, keys;

  explicit ReadMap(const Heatmap& map) {
    const Shape& shape = map.weights.shape();
    own.weights = map.weights.converted(DType::float64);
    const std::vector<std::uint8_t> seen = seen_cells(map, own.weights.values<double>());
    std::vector<double> numbers(seen.size());
    for (std::size_t i = 0; i < shape[0]; ++i) {
      const auto row = std::span(seen).subspan(i * shape[1], shape[1]);
      const auto count = static_cast<std::size_t>(std::ranges::count(row, 1));
      own.seen.push_back(count);
      for (std::size_t j = 0; j < shape[1]; ++j)
        numbers[i * shape[1] + j] = row[j] != 0 ? 1 / static_cast<double>(count) : 0;
    }
    own.same_positions = shape[0] == shape[1] && map.first_query == map.first_key &&
                         map.query_labels == map.key_labels && !map.of_positions;
    if (map.query_labels.size() == shape[0]) queries = labelled_tokens(map.query_labels, {});
    if (map.key_labels.size() == shape[1]) keys = labelled_tokens(map.key_labels, {});
    own.queries = queries ? &*queries : nullptr;
    own.keys = keys ? &*keys : nullptr;
    even = own;
    even.weights = Tensor(shape, std::move(numbers));
  }
  ReadMap(const ReadMap&) = delete;
  ReadMap& operator=(const ReadMap&) = delete;
};

}  // namespace

MapTokens labelled_tokens(const std::vector<std::string>& labels, const HeadCounting& counting) {
  MapTokens tokens;
  std::map<std::string, std::int64_t, std::less<>> ids;
  for (const std::string& label : labels) {
    const std::string_view word = without_spaces(label);
    tokens.ids.push_back(
        ids.try_emplace(label, static_cast<std::int64_t>(ids.size())).first->second);
    const bool usual = is_among(word, usual_separators);
    const bool separator =
        counting.separators.empty()
            ? usual
            : std::ranges::any_of(counting.separators, [&](std::string_view name) {
                return without_spaces(name) == word;
              });
    tokens.special.push_back(usual || is_among(word, other_special) ? 1 : 0);
    tokens.separator.push_back(separator ? 1 : 0);
  }
  return tokens;
}

Tensor even_weights(const Heatmap& map) {
  return ReadMap(map).even.weights;
}

std::optional<HeadPattern> pattern_of(const Heatmap& map, HeadStatistic statistic) {
  const ReadMap read(map);
  const auto at = static_cast<std::size_t>(statistic);
  const HeadPattern pattern{statistic, head_values(read.own, {})[at],
                            head_values(read.even, {})[at]};
  if (std::isnan(pattern.excess())) return std::nullopt;
  return pattern;
}

std::optional<HeadPattern> strongest_pattern(const Heatmap& map) {
  const ReadMap read(map);
  const HeadValues own = head_values(read.own, {}), even = head_values(read.even, {});
  std::optional<HeadPattern> strongest;
  for (const HeadStatisticInfo& info : head_statistics()) {
    if (info.looks_at.empty()) continue;
    const auto at = static_cast<std::size_t>(info.statistic);
    const HeadPattern pattern{info.statistic, own[at], even[at]};
    const bool more = !strongest || pattern.excess() > strongest->excess();
    if (!std::isnan(pattern.excess()) && more) strongest = pattern;
  }
  return strongest;
}

}  // namespace attn
