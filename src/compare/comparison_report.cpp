#include <cmath>
#include <cstddef>
#include <iterator>
#include <numbers>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/compare.hpp"

#include "compare/compared_tensors.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

std::string three_digits(double number) {
  return with_digits(number, 3);
}

std::string value_text(const TensorComparison::Number& number) {
  return std::visit(Overloaded{[](std::int64_t value) { return std::to_string(value); },
                               [](float value) { return float_text(value); },
                               [](double value) { return number_text(value); }},
                    number);
}

std::string largest_text(const TensorComparison::Largest& largest) {
  return three_digits(largest.error) +
         (largest.index ? translated(" at {1}", text(*largest.index)) : "");
}

// A name from a file may hold anything; within quotes its control characters are escaped.
std::string shown(const std::string& name) {
  if (name.empty()) return translated("(unnamed)");
  const std::string quoted = in_quotes(name);
  return quoted.size() == name.size() + 2 ? name : quoted;
}

// "float32", "float32 and float64", or "int64, exactly".
std::string types_text(const TensorComparison& tensor) {
  const std::string &a = tensor.a.type, &b = tensor.b.type;
  return (a == b ? a : translated("{1} and {2}", a, b)) +
         (tensor.exact ? translated(", exactly") : "");
}

// "[2,3]", or "[2,3] of [2,3] and [4,3]" where only a part of both was compared.
std::string shape_text(const TensorComparison& tensor) {
  if (tensor.a.shape == tensor.compared && tensor.b.shape == tensor.compared) {
    return text(tensor.compared);
  }
  return translated("{1} of {2} and {3}", text(tensor.compared), text(tensor.a.shape),
                    text(tensor.b.shape));
}

// Mean and quantiles of the errors of each tensor that has any.
std::string spread_table(const Comparison& comparison) {
  TextTable table{{{translated("tensor")},
                   {translated("mean |a − b|")},
                   {translated("median")},
                   {translated("90 % below")},
                   {translated("99 % below")},
                   {"‖a − b‖ / ‖b‖"}}};
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_compared(tensor) || tensor.absolute.error == 0) continue;
    const TensorComparison::Spread& spread = tensor.spread;
    table.add({shown(tensor.name), three_digits(spread.mean), three_digits(spread.median),
               three_digits(spread.percent90), three_digits(spread.percent99),
               three_digits(spread.relative_norm)});
  }
  return table.has_rows() ? table.text() : "";
}

// "All 3 tensors agree.": `compared` tensors are in both files, `differing` of them differ;
// `missing` ones count because they were wanted, `ignored` ones do not.
std::string verdict(std::size_t compared, std::size_t differing, std::size_t missing,
                    std::size_t ignored) {
  if (compared == 0) {
    if (missing == 0) {
      return translated("The files have no tensor in common.") + "\n" +
             translated("CompareRequest::renamed A=B compares tensors of other names.") + "\n";
    }
    return (missing == 1 ? translated("The tensor is only in one of the files.")
                         : translated("All {1} tensors are only in one of the files.", missing)) +
           "\n" + translated("CompareRequest::renamed A=B compares tensors of other names.") + "\n";
  }
  std::string text;
  if (ignored + missing > 0) {
    text = compared == 1 ? (differing == 0 ? translated("The only common tensor agrees.")
                                           : translated("The only common tensor differs."))
           : differing == 0
               ? (compared == 2 ? translated("Both common tensors agree.")
                                : translated("All {1} common tensors agree.", compared))
               : translated_count(differing, "{1} of {2} common tensors differs.",
                                  "{1} of {2} common tensors differ.", compared);
  } else {
    text = compared == 1    ? (differing == 0 ? translated("The tensor agrees.")
                                              : translated("The tensor differs."))
           : differing == 0 ? (compared == 2 ? translated("Both tensors agree.")
                                             : translated("All {1} tensors agree.", compared))
                            : translated_count(differing, "{1} of {2} tensors differs.",
                                               "{1} of {2} tensors differ.", compared);
  }
  if (missing > 0) {
    text += "\n" + translated_count(missing, "{1} tensor that counts is only in one of the files.",
                                    "{1} tensors that count are only in one of the files.");
  }
  return text + "\n";
}

std::string error_table(const Comparison& comparison) {
  TextTable table{{{translated("tensor")},
                   {translated("shape")},
                   {translated("type")},
                   {translated("largest |a − b|")},
                   {translated("largest |a − b| / |b|")},
                   {translated("out of tolerance")}}};
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_compared(tensor)) continue;
    table.add({shown(tensor.name), shape_text(tensor), types_text(tensor),
               largest_text(tensor.absolute), largest_text(tensor.relative),
               translated("{1} of {2}", grouped(tensor.beyond), grouped(tensor.elements)) +
                   (tensor.rows_left_out == 0
                        ? ""
                        : translated(" ({1} rows left out)", tensor.rows_left_out))});
  }
  return table.has_rows() ? table.text() : "";
}

// Help that names the layout of the first tensor or the second, in which positions stand before
// heads.
std::string layout_hint(const TensorComparison& tensor) {
  Shape turned = tensor.a.shape;
  // Where one of both agrees, its layout is told as the cause.
  if (turned.size() != 4 || is_map(tensor.name) || tensor.agreeing_order) return "";
  std::swap(turned[1], turned[2]);
  if (turned != tensor.b.shape) return "";
  return "; " + translated("if the first is [B,L,H,D], write {1}, and if the second is, {2}",
                           "CompareRequest::layout BLHD", "CompareRequest::layout_b BLHD");
}

// Help that leaves out the columns by which one of both is filled up, and then other tensors, whose
// columns it would leave out too.
std::string width_hint(const TensorComparison& tensor, bool alone) {
  Shape a = tensor.a.shape, b = tensor.b.shape;
  if (a.size() != b.size() || a.empty() || is_map(tensor.name)) return "";
  const std::size_t width = std::min(a.back(), b.back());
  a.back() = b.back() = width;
  if (a != b) return "";
  return "; " +
         translated("if the columns after the first {1} are filling, leave them out with {2}",
                    width,
                    "MapRequest::slice \"..., :" + std::to_string(width) + "\"" +
                        (alone ? "" : " CompareRequest::only " + tensor.name));
}

std::string difference_text(const TensorComparison& tensor, const Comparison& comparison) {
  switch (tensor.outcome) {
    case Outcome::beyond:
      return translated("the first one out of tolerance is at {1}: {2} and {3}",
                        text(tensor.first_beyond->index), value_text(tensor.first_beyond->a),
                        value_text(tensor.first_beyond->b));
    case Outcome::shapes_differ:
      return translated("the shapes are {1} and {2}", text(tensor.a.shape), text(tensor.b.shape)) +
             layout_hint(tensor) + width_hint(tensor, comparison.tensors.size() == 1);
    case Outcome::only_in_a:
      return translated("only in {1}", printable(comparison.a));
    case Outcome::only_in_b:
      return translated("only in {1}", printable(comparison.b));
    case Outcome::within:
      break;
  }
  return "";
}

// "1–3, 5", or "12 positions" where a list would be long.
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

// What a factor between all numbers may come from.
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

// What places along one axis may come from; empty where nothing is known of them.
std::string confinement_cause(const TensorComparison::Confined& confined) {
  const std::vector<std::size_t>& places = confined.places;
  const bool last_agrees =
      places.size() > 1 && places.size() + 1 == confined.size && places.back() + 1 < confined.size;
  if (confined.axis == "query" && last_agrees) {
    return translated(
        "the last query alone agrees: one of both may lack a causal mask, which hides no key from "
        "it");
  }
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

// Possible causes of the difference, and what to write then; a line each.
std::vector<std::string> causes_of(const TensorComparison& tensor) {
  std::vector<std::string> lines;
  if (!tensor.confined.empty()) {
    std::string all;
    for (const TensorComparison::Confined& one : tensor.confined) {
      all += (all.empty() ? "" : name_separator()) + confinement_text(one);
    }
    lines.push_back(translated("only in {1}", all));
  }
  // A cause of both kinds spares no sample.
  if (tensor.confined.size() == 1 && !tensor.moved) {
    if (std::string cause = confinement_cause(tensor.confined[0]); !cause.empty())
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
  if (!tensor.agreeing_type.empty()) {
    const Tolerances allowed = *tolerances_of(tensor.agreeing_type);
    lines.push_back(translated(
        "it is within the tolerances of {1}: CompareRequest::rtol {2} CompareRequest::atol {3}",
        tensor.agreeing_type, with_short_exponent(number_text(allowed.rtol)),
        with_short_exponent(number_text(allowed.atol))));
  }
  return lines;
}

const char* outcome_name(Outcome outcome) {
  constexpr const char* names[] = {"within", "beyond", "shapes_differ", "only_in_a", "only_in_b"};
  static_assert(static_cast<std::size_t>(Outcome::only_in_b) + 1 == std::size(names));
  return names[static_cast<std::size_t>(outcome)];
}

Fact facts_of(const TensorComparison::Side& side) {
  return object({{"shape", side.shape}, {"dtype", side.type}});
}

Fact facts_of(const TensorComparison::Largest& largest) {
  return object({{"error", largest.error}, {"index", largest.index}});
}

Fact facts_of(const TensorComparison::Element& element) {
  const auto number = [](auto value) { return Fact(value); };
  return object({{"index", element.index},
                 {"a", std::visit(number, element.a)},
                 {"b", std::visit(number, element.b)}});
}

Fact facts_of(const TensorComparison::Confined& confined) {
  return object({{"axis", unless_empty(confined.axis)},
                 {"number", confined.number},
                 {"size", confined.size},
                 {"places", Shape(confined.places.begin(), confined.places.end())}});
}

Fact facts_of(const TensorComparison::Moved& moved) {
  return object({{"axis", unless_empty(moved.axis)},
                 {"number", moved.number},
                 {"places", Shape(moved.places.begin(), moved.places.end())}});
}

Fact facts_of(const TensorComparison& tensor) {
  const bool compared = is_compared(tensor);
  const bool in_part = tensor.a.shape != tensor.compared || tensor.b.shape != tensor.compared;
  const auto if_compared = [&](Fact fact) { return only_if(compared, std::move(fact)); };
  return object(
      {{"name", tensor.name},
       {"outcome", outcome_name(tensor.outcome)},
       {"a", only_if(tensor.outcome != Outcome::only_in_b, facts_of(tensor.a))},
       {"b", only_if(tensor.outcome != Outcome::only_in_a, facts_of(tensor.b))},
       {"counts", only_if(is_alone(tensor), tensor.counts)},
       {"exact", if_compared(tensor.exact)},
       {"largest_absolute", if_compared(facts_of(tensor.absolute))},
       {"largest_relative", if_compared(facts_of(tensor.relative))},
       {"mean_absolute", if_compared(tensor.spread.mean)},
       {"median_absolute", if_compared(tensor.spread.median)},
       {"absolute_90_percent", if_compared(tensor.spread.percent90)},
       {"absolute_99_percent", if_compared(tensor.spread.percent99)},
       {"relative_norm", if_compared(tensor.spread.relative_norm)},
       {"compared", only_if(compared && in_part, tensor.compared)},
       {"elements", if_compared(tensor.elements)},
       {"beyond", if_compared(tensor.beyond)},
       {"rows_left_out", only_if(tensor.rows_left_out > 0, tensor.rows_left_out)},
       {"first_beyond", tensor.first_beyond ? facts_of(*tensor.first_beyond) : Fact::absent()},
       {"confined_to",
        only_if(!tensor.confined.empty(),
                list_of(tensor.confined,
                        [](const TensorComparison::Confined& one) { return facts_of(one); }))},
       {"moved", tensor.moved ? facts_of(*tensor.moved) : Fact::absent()},
       {"agreeing_order", only_if(tensor.agreeing_order.has_value(), tensor.agreeing_order)},
       {"agrees_joined", only_if(tensor.agrees_joined, true)},
       {"layout", unless_empty(tensor.layout_of_a)},
       {"layout_b", unless_empty(tensor.layout_of_b)},
       {"agreeing_factor",
        only_if(tensor.agreeing_factor.has_value(), tensor.agreeing_factor.value_or(1))},
       {"agreeing_type", unless_empty(tensor.agreeing_type)}});
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text =
      translated("{1} and {2}, tolerance {3}", printable(comparison.a), printable(comparison.b),
                 "|a − b| ≤ " + with_short_exponent(number_text(comparison.atol)) + " + " +
                     with_short_exponent(number_text(comparison.rtol)) + "·|b|") +
      "\n";
  for (const std::string& table : {error_table(comparison), spread_table(comparison)}) {
    if (!table.empty()) text += "\n" + table;
  }
  std::size_t differing = 0, missing = 0, ignored = 0;
  std::string different, alone, not_compared;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.outcome == Outcome::within) continue;
    const bool only_one = is_alone(tensor);
    std::size_t& count = !only_one ? differing : tensor.counts ? missing : ignored;
    std::string& list = !only_one ? different : tensor.counts ? alone : not_compared;
    ++count;
    list += "  " + shown(tensor.name) + ": " + difference_text(tensor, comparison) + "\n";
    for (const std::string& cause : causes_of(tensor)) list += "    " + cause + "\n";
  }
  if (!different.empty()) text += translated("\nDifferences\n") + different;
  if (!alone.empty()) text += translated("\nOnly in one file\n") + alone;
  if (!not_compared.empty()) text += translated("\nNot compared\n") + not_compared;
  text +=
      "\n" + verdict(comparison.tensors.size() - ignored - missing, differing, missing, ignored);
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  const auto facts_of_tensor = [](const TensorComparison& tensor) { return facts_of(tensor); };
  return json_text(object({{"a", comparison.a},
                           {"b", comparison.b},
                           {"rtol", comparison.rtol},
                           {"atol", comparison.atol},
                           {"agree", comparison.agree()},
                           {"tensors", list_of(comparison.tensors, facts_of_tensor)},
                           {"pictured", unless_empty(comparison.pictured)},
                           {"warnings", comparison.warnings}}));
}

}  // namespace attn
