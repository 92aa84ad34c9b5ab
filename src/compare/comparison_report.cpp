#include <algorithm>
#include <cstddef>
#include <iterator>
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

// The first tensor that one of the files has alone; `none` if there is none.
std::string first_alone(const Comparison& comparison, TensorComparison::Outcome of,
                        const char* none) {
  const auto found = std::ranges::find(comparison.tensors, of, &TensorComparison::outcome);
  return found == comparison.tensors.end() || found->name.empty() ? none : shown(found->name);
}

// "All 3 tensors agree.": `compared` tensors are in both files, `differing` of them differ;
// `missing` ones count because they were wanted, `ignored` ones do not. `renamed` is a pair of
// names that may go together.
std::string verdict(std::size_t compared, std::size_t differing, std::size_t missing,
                    std::size_t ignored, const std::string& renamed) {
  if (compared == 0) {
    return (missing == 0   ? translated("The files have no tensor in common.")
            : missing == 1 ? translated("The tensor is only in one of the files.")
                           : translated("All {1} tensors are only in one of the files.", missing)) +
           "\n" +
           translated("CompareRequest::renamed {1} compares tensors of other names.", renamed) +
           "\n";
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

// Help that gives both the same axes where they differ by axes of one element alone.
std::string axis_hint(const TensorComparison& tensor) {
  const auto without_ones = [](Shape shape) {
    std::erase(shape, std::size_t{1});
    return shape;
  };
  const bool same_rank = tensor.a.shape.size() == tensor.b.shape.size();
  if (same_rank || without_ones(tensor.a.shape) != without_ones(tensor.b.shape)) return "";
  const Shape& longer =
      tensor.a.shape.size() > tensor.b.shape.size() ? tensor.a.shape : tensor.b.shape;
  const std::string sizes = text(longer);
  return "; " + translated("they differ by axes of one element alone: compare them with {1}",
                           "MapRequest::reshape " + sizes.substr(1, sizes.size() - 2) +
                               (tensor.name.empty() ? "" : " CompareRequest::only " + tensor.name));
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

// Help that compares the part of both where axes before the last differ in length, as where one has
// filling.
std::string overlap_hint(const TensorComparison& tensor) {
  const Shape &a = tensor.a.shape, &b = tensor.b.shape;
  if (a.size() != b.size() || a.size() < 2 || a.back() != b.back() || a[0] != b[0]) return "";
  // Axes that are longer here and shorter there are in another order.
  bool longer = false, shorter = false;
  for (std::size_t axis = 0; axis < a.size(); ++axis) {
    longer = longer || a[axis] > b[axis];
    shorter = shorter || a[axis] < b[axis];
  }
  if (longer && shorter) return "";
  return "; " + translated("{1} compares the part that both have", "CompareRequest::overlap");
}

std::string difference_text(const TensorComparison& tensor, const Comparison& comparison) {
  switch (tensor.outcome) {
    case Outcome::beyond:
      return translated("the first one out of tolerance is at {1}: {2} and {3}",
                        text(tensor.first_beyond->index), value_text(tensor.first_beyond->a),
                        value_text(tensor.first_beyond->b));
    case Outcome::shapes_differ:
      return translated("the shapes are {1} and {2}", text(tensor.a.shape), text(tensor.b.shape)) +
             layout_hint(tensor) + overlap_hint(tensor) + axis_hint(tensor) +
             width_hint(tensor, comparison.tensors.size() == 1);
    case Outcome::only_in_a:
      return translated("only in {1}", printable(comparison.a));
    case Outcome::only_in_b:
      return translated("only in {1}", printable(comparison.b));
    case Outcome::within:
      break;
  }
  return "";
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
  const std::vector<std::string> causes =
      tensor.outcome == Outcome::within ? std::vector<std::string>() : causes_of(tensor);
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
       {"agreeing_type", unless_empty(tensor.agreeing_type)},
       {"causes", only_if(!causes.empty(), causes)}});
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
  text += "\n" + verdict(comparison.tensors.size() - ignored - missing, differing, missing, ignored,
                         first_alone(comparison, Outcome::only_in_a, "A") + "=" +
                             first_alone(comparison, Outcome::only_in_b, "B"));
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
