#include "result/tensor_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "attention/attention_name.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

struct Meaning {
  std::string_view name, values;
  std::string_view rows = {}, columns = {};  // where these are no queries and keys
};

constexpr std::array<Meaning, 11> maps{
    {{"weights", ""},
     {"pooled_weights", ""},
     {"dropped", to_translate("Attention weight (after dropout)")},
     {"allowed", to_translate("Seen (0=Hidden, 1=Seen)")},
     {"scores", to_translate("Score (after scale)")},
     {"capped", to_translate("Score (after softcap)")},
     {"masked", to_translate("Score (after bias and mask)")},
     {"rollout", to_translate("Share of the Input Token")},
     {"similarity", to_translate("Similarity"), to_translate("Picture"), to_translate("Text")},
     {"sentence_similarity", to_translate("Similarity"), to_translate("Text"),
      to_translate("Text")},
     {"token_similarity", to_translate("Part of the Similarity"), to_translate("Token of Text 0"),
      to_translate("Token")}}};

const Meaning* find(std::string_view name) {
  const std::size_t point = name.rfind('.');
  if (point != std::string_view::npos) name.remove_prefix(point + 1);
  for (const Meaning& meaning : maps) {
    if (meaning.name == name) return &meaning;
  }
  return nullptr;
}

constexpr std::string_view place = "{n}", digits = "0123456789";

}  // namespace

TensorMeaning meaning_of(std::string_view name) {
  if (find(name) == nullptr) return TensorMeaning::positions;
  return name.ends_with("weights") ? TensorMeaning::weights : TensorMeaning::other_map;
}

std::pair<std::string, std::string> axes_of(std::string_view name) {
  const Meaning* const meaning = find(name);
  if (meaning == nullptr || meaning->rows.empty()) return {};
  return {translated(meaning->rows), translated(meaning->columns)};
}

bool has_rows_of_first_text(std::string_view name) {
  return name == "token_similarity";
}

bool is_map(std::string_view name) {
  return meaning_of(name) != TensorMeaning::positions;
}

bool is_result_name(std::string_view name) {
  return is_map(name) || name == "output" || name == "lse" || name.ends_with(".lse");
}

std::vector<std::string_view> leading_axes(std::string_view tensor, std::size_t count,
                                           bool heads_only) {
  constexpr std::array<std::string_view, 3> of_shares{"sample", "layer", "head"};
  if (tensor == "shares") {
    return {of_shares.end() - static_cast<std::ptrdiff_t>(count), of_shares.end()};
  }
  std::vector<std::string_view> axes(count, "sample");
  if (count == 1 && heads_only) axes[0] = "head";
  if (count > 1) axes[1] = "head";
  return axes;
}

bool has_rows_of_weights(const Tensor& tensor) {
  constexpr double most_rounding = 0.01;
  if (!tensor || tensor.rank() < 2 || tensor.size() == 0) return false;
  const std::size_t columns = tensor.shape().back();
  bool any = false;
  // Row by row, so that the first row of a large tensor of other numbers ends the search.
  for (std::size_t first = 0; first < tensor.size(); first += columns) {
    const Tensor row = part_of(tensor, first, {columns}).converted(DType::float64);
    double sum = 0;
    for (const double number : row.values<double>()) {
      if (!(number >= 0)) return false;
      sum += number;
    }
    if (sum != 0 && !(std::abs(sum - 1) <= most_rounding)) return false;
    any = any || sum != 0;
  }
  return any;
}

std::optional<std::string> meaning_of_values(std::string_view name) {
  const Meaning* meaning = find(name);
  if (!meaning) return translated("Value");
  if (meaning->values.empty()) return std::nullopt;
  return translated(meaning->values);
}

std::vector<NumberedName> names_of_pattern(const std::vector<std::string>& names,
                                           std::string_view pattern) {
  std::vector<NumberedName> found;
  const std::size_t at = pattern.find(place);
  if (at == pattern.npos) return found;
  const std::string_view before = pattern.substr(0, at), after = pattern.substr(at + place.size());
  for (const std::string& name : names) {
    if (name.size() <= before.size() + after.size() || !name.starts_with(before) ||
        !name.ends_with(after)) {
      continue;
    }
    const char* const end = name.data() + name.size() - after.size();
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(name.data() + before.size(), end, number);
    if (error == std::errc() && stop == end) found.push_back({name, number});
  }
  std::stable_sort(found.begin(), found.end(), [](const NumberedName& a, const NumberedName& b) {
    return a.number < b.number;
  });
  return found;
}

std::optional<std::string> pattern_of(std::string_view name) {
  const std::size_t last = name.find_last_of(digits);
  if (last == name.npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of(digits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  return std::string(name.substr(0, first)) + std::string(place) +
         std::string(name.substr(last + 1));
}

void count_from_zero(std::vector<NumberedName>& names) {
  if (names.empty() || names.front().number != 1) return;
  if (AttentionName(names.front().name).layer() == 1) return;
  for (NumberedName& name : names) --name.number;
}

bool maps_are_of_heads(std::span<const std::pair<std::string, Shape>> shapes) {
  const auto query = std::ranges::find(shapes, "query", &std::pair<std::string, Shape>::first);
  return query != shapes.end() && query->second.size() == 2;
}

}  // namespace attn
