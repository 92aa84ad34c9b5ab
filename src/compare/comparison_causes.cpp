#include <cmath>
#include <cstddef>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/compare.hpp"

#include "compare/compared_tensors.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Places as ranges, "1–3, 5", or "1 to 90 in part" where the list would be long.
std::string places_text(const std::vector<std::size_t>& places) {
  constexpr std::size_t most_ranges = 8;
  std::string text;
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < places.size(); ++ranges) {
    std::size_t last = i;
    while (last + 1 < places.size() && places[last + 1] == places[last] + 1) ++last;
    text += (text.empty() ? "" : name_separator()) + std::to_string(places[i]);
    if (last > i) text += "–" + std::to_string(places[last]);
    i = last + 1;
  }
  return ranges <= most_ranges ? text
                               : translated("{1} to {2} in part", places.front(), places.back());
}

std::string confinement_text(const TensorComparison::Confined& confined) {
  struct Words {
    std::string_view axis, one, several;
  };
  static constexpr Words words[]{
      {"layer", to_translate("layer {1} of {2}"), to_translate("layers {1} of {2}")},
      {"sample", to_translate("sample {1} of {2}"), to_translate("samples {1} of {2}")},
      {"head", to_translate("head {1} of {2}"), to_translate("heads {1} of {2}")},
      {"query", to_translate("query {1} of {2}"), to_translate("queries {1} of {2}")},
      {"key", to_translate("key {1} of {2}"), to_translate("keys {1} of {2}")},
      {"component", to_translate("component {1} of {2}"), to_translate("components {1} of {2}")}};
  const std::string places = places_text(confined.places);
  for (const auto& [axis, one, several] : words) {
    if (axis != confined.axis) continue;
    return translated(confined.places.size() == 1 ? one : several, places, confined.size);
  }
  return translated("places {1} of the {2} along axis {3}", places, confined.size, confined.number);
}

// Letters of the layout by which `order` leads to the usual one; none where no layout does.
std::string layout_of(const Shape& order, std::string_view name) {
  static constexpr std::string_view usual[]{"", "L", "LD", "BLD", "BHLD"};
  static constexpr std::string_view of_sums[]{"", "", "", "BHL"};
  const auto letters = is_sums(name) ? std::span<const std::string_view>(of_sums)
                                     : std::span<const std::string_view>(usual);
  if (is_map(name) || order.size() >= letters.size() || letters[order.size()].empty()) return "";
  std::string layout(order.size(), ' ');
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    layout[order[axis]] = letters[order.size()][axis];
  }
  return layout;
}

// An expression that joins the heads of a NumPy array x of that shape:
// "x.swapaxes(1, 2).reshape(2, 5, 24)".
std::string joining_of(const Shape& shape) {
  const std::size_t rank = shape.size();
  std::string sizes =
      std::to_string(shape[rank - 2]) + ", " + std::to_string(shape[rank - 3] * shape[rank - 1]);
  if (rank > 3) sizes = std::to_string(shape[0]) + ", " + sizes;
  return "x.swapaxes(" + std::to_string(rank - 3) + ", " + std::to_string(rank - 2) + ").reshape(" +
         sizes + ")";
}

// The cause that a factor between all numbers hints at.
std::string factor_text(double factor) {
  constexpr double close = 1e-4;
  const auto is = [&](double number) { return std::abs(factor / number - 1) < close; };
  const std::string digits = with_digits(factor, 6);
  if (is(std::numbers::log2e)) {
    return translated(
        "the first one is {1} times the second, and 1 / ln 2 is {2}: the first one is "
        "in base 2, so multiply it by ln 2",
        digits, with_digits(std::numbers::log2e, 6));
  }
  if (is(std::numbers::ln2)) {
    return translated(
        "the first one is {1} times the second, and ln 2 is {2}: the second one is in "
        "base 2, so multiply it by ln 2",
        digits, with_digits(std::numbers::ln2, 6));
  }
  return translated(
      "the first one is {1} times the second: look for a scale that one of them lacks", digits);
}

// "with its heads in the order [1,0,3,2] the first one agrees".
std::string moved_text(const TensorComparison::Moved& moved) {
  static constexpr std::pair<std::string_view, std::string_view> of_axes[]{
      {"layer", to_translate("with its layers in the order {1} the first one agrees")},
      {"sample", to_translate("with its samples in the order {1} the first one agrees")},
      {"head", to_translate("with its heads in the order {1} the first one agrees")},
      {"query", to_translate("with its queries in the order {1} the first one agrees")},
      {"key", to_translate("with its keys in the order {1} the first one agrees")},
      {"component", to_translate("with its components in the order {1} the first one agrees")}};
  constexpr std::size_t most_places = 16;
  const std::vector<std::size_t>& places = moved.places;
  const bool whole = places.size() <= most_places;
  std::string order =
      text(Shape(places.begin(), whole ? places.end() : places.begin() + most_places));
  if (!whole) order.replace(order.size() - 1, 1, ",…]");
  for (const auto& [axis, words] : of_axes) {
    if (axis == moved.axis) return translated(words, order);
  }
  return translated("with the places along its axis {1} in the order {2} the first one agrees",
                    moved.number, order);
}

// The heads that differ where one file repeats all key heads of `groups` in turn, and the other
// one each by itself.
std::vector<std::size_t> heads_shared_otherwise(std::size_t heads, std::size_t groups) {
  std::vector<std::size_t> differing;
  for (std::size_t head = 0; head < heads; ++head) {
    if (head % groups != head / (heads / groups)) differing.push_back(head);
  }
  return differing;
}

// The cause that queries which alone agree, the first or the last, hint at; empty for others.
std::string cause_by_queries(const TensorComparison::Confined& confined, std::string_view name) {
  const std::vector<std::size_t>& places = confined.places;
  if (places.size() < 2 || places.back() - places.front() + 1 != places.size()) return "";
  const std::size_t first = places.front(), last = confined.size - 1 - places.back();
  if ((first > 0) == (last > 0)) return "";
  if (first == 1) {
    if (is_sums(name)) return "";  // which have the score
    return translated(
        "query 0 alone agrees: under a causal mask it sees one key, whatever its score is; look at "
        "scale, softcap, and positions");
  }
  if (first > 1) {
    return translated(
        "the first {1} queries alone agree: a causal window may be {1} keys wide in one of both, "
        "\"window\": {\"left\": {2}}, as \"left\" does not count the query itself, or the keys "
        "from {1} on are hidden in one of both, \"valid_lens\"",
        first, first - 1);
  }
  if (last == 1) {
    return translated(
        "the last query alone agrees: one of both may lack a causal mask, which hides no key from "
        "it");
  }
  return translated(
      "the last {1} queries alone agree: a window may end {2} keys after the query in one of both, "
      "\"window\": {\"right\": {2}}, or the causal mask of {2} more queries than keys is missing "
      "in one of both",
      last, last - 1);
}

// The cause that the places along an axis hint at; empty where they hint at none.
std::string confinement_cause(const TensorComparison::Confined& confined, std::string_view name) {
  const std::vector<std::size_t>& places = confined.places;
  if (confined.axis == "query") return cause_by_queries(confined, name);
  if (confined.axis != "head") return "";
  for (std::size_t groups = 2; groups < confined.size; ++groups) {
    if (confined.size % groups != 0 || heads_shared_otherwise(confined.size, groups) != places)
      continue;
    return translated(
        "one of both may repeat {1} key heads in another order: query head h reads key head h // "
        "{2}, as repeat_interleave does",
        groups, confined.size / groups);
  }
  return "";
}

// Causes that the numbers themselves show; a line each.
void add_causes_of_numbers(const TensorComparison& tensor, std::vector<std::string>& lines) {
  if (tensor.nan_for_zero) {
    lines.push_back(
        translated("what differs is NaN in one file and 0 in the other, as rows of queries that "
                   "see no key: CompareRequest::seen_only leaves them out"));
  }
  if (tensor.rows_are_multiples) {
    lines.push_back(
        translated("each row of the first one is a multiple of that of the second: one of both may "
                   "lack the division by the sum of the exponentials"));
  }
  if (tensor.factor_of_lone_key) {
    lines.push_back(
        translated("where a query sees one key alone the first one is {1} times the second: the "
                   "scores of one of both may lack the scale, or have another",
                   with_digits(*tensor.factor_of_lone_key, 6)));
  }
}

}  // namespace

std::vector<std::string> causes_of(const TensorComparison& tensor) {
  std::vector<std::string> lines;
  if (!tensor.confined.empty()) {
    std::string all;
    for (const TensorComparison::Confined& one : tensor.confined) {
      all += (all.empty() ? "" : name_separator()) + confinement_text(one);
    }
    lines.push_back(translated("only in {1}", all));
  }
  if (tensor.aligned_otherwise) {
    lines.push_back(
        translated("by what has a weight, the causal masks begin at other corners: \"align\" is "
                   "\"{1}\" in the first one and \"{2}\" in the second; write the one that is "
                   "meant into \"mask\"",
                   *tensor.aligned_otherwise ? "lower_right" : "upper_left",
                   *tensor.aligned_otherwise ? "upper_left" : "lower_right"));
  }
  // A mask or shared heads change all samples: where places along another axis are confined too, it
  // is something else.
  if (tensor.confined.size() == 1 && !tensor.moved && !tensor.aligned_otherwise) {
    if (std::string cause = confinement_cause(tensor.confined[0], tensor.name); !cause.empty())
      lines.push_back(std::move(cause));
  }
  if (tensor.moved) lines.push_back(moved_text(*tensor.moved));
  if (tensor.agreeing_order) {
    const std::string layout = layout_of(*tensor.agreeing_order, tensor.name);
    lines.push_back(translated("with its axes in the order {1} the first one agrees",
                               text(*tensor.agreeing_order)) +
                    (layout.empty() ? "" : ": CompareRequest::layout " + layout));
  }
  if (tensor.agrees_joined) {
    const TensorComparison::Side& split =
        tensor.a.shape.size() > tensor.b.shape.size() ? tensor.a : tensor.b;
    lines.push_back(translated("with the heads of {1} joined both agree: in NumPy {2}",
                               text(split.shape), joining_of(split.shape)));
  }
  if (!tensor.layout_of_a.empty())
    lines.push_back(translated("in the layout {1} the first one agrees: {2}", tensor.layout_of_a,
                               "CompareRequest::layout " + tensor.layout_of_a));
  if (!tensor.layout_of_b.empty())
    lines.push_back(translated("in the layout {1} the second one agrees: {2}", tensor.layout_of_b,
                               "CompareRequest::layout_b " + tensor.layout_of_b));
  if (tensor.agreeing_factor) lines.push_back(factor_text(*tensor.agreeing_factor));
  add_causes_of_numbers(tensor, lines);
  if (!tensor.agreeing_type.empty()) {
    const Tolerances allowed = *tolerances_of(tensor.agreeing_type);
    lines.push_back(translated(
        "it is within the tolerances of {1}: CompareRequest::rtol {2} CompareRequest::atol {3}",
        tensor.agreeing_type, with_short_exponent(number_text(allowed.rtol)),
        with_short_exponent(number_text(allowed.atol))));
  }
  return lines;
}

}  // namespace attn
