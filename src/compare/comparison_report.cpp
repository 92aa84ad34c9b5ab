#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <type_traits>

#include "attn/compare.hpp"

#include "io/json_writer.hpp"
#include "support/in_quotes.hpp"
#include "support/number_text.hpp"
#include "support/text_table.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

std::string three_digits(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", number);
  return text.data();
}

std::string number_text(const TensorComparison::Number& number) {
  return std::visit(
      [](auto value) {
        std::array<char, 32> text{};
        const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
        return std::string(text.data(), end);
      },
      number);
}

std::string largest_text(const TensorComparison::Largest& largest) {
  return three_digits(largest.error) + (largest.index ? " at " + text(*largest.index) : "");
}

// A name from a file may hold anything; in quotes it cannot act on a terminal.
std::string shown(const std::string& name) {
  if (name.empty()) return "(unnamed)";
  const std::string quoted = in_quotes(name);
  return quoted.size() == name.size() + 2 ? name : quoted;
}

bool is_compared(const TensorComparison& tensor) {
  return tensor.outcome == Outcome::within || tensor.outcome == Outcome::beyond;
}

// "float32", "float32 and float64", or "int64, exactly".
std::string types_text(const TensorComparison& tensor) {
  const std::string &a = tensor.a.type, &b = tensor.b.type;
  return (a == b ? a : a + " and " + b) + (tensor.exact ? ", exactly" : "");
}

std::string table(const Comparison& comparison) {
  std::array<TextColumn, 6> columns{{{{"tensor"}},
                                     {{"shape"}},
                                     {{"type"}},
                                     {{"largest |a − b|"}},
                                     {{"largest |a − b| / |b|"}},
                                     {{"beyond"}}}};
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_compared(tensor)) continue;
    const std::array<std::string, 6> cells{
        shown(tensor.name),
        text(tensor.a.shape),
        types_text(tensor),
        largest_text(tensor.absolute),
        largest_text(tensor.relative),
        std::to_string(tensor.beyond) + " of " + std::to_string(tensor.elements)};
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(cells[c]);
  }
  return columns[0].cells.size() == 1 ? "" : text_table(columns);
}

std::string difference_text(const TensorComparison& tensor, const Comparison& comparison) {
  switch (tensor.outcome) {
    case Outcome::beyond:
      return "the first beyond the tolerance is at " + text(tensor.first_beyond->index) + ": " +
             number_text(tensor.first_beyond->a) + " against " +
             number_text(tensor.first_beyond->b);
    case Outcome::shapes_differ:
      return "the shape is " + text(tensor.a.shape) + " against " + text(tensor.b.shape);
    case Outcome::only_in_a:
      return "only in " + comparison.a;
    case Outcome::only_in_b:
      return "only in " + comparison.b;
    case Outcome::within:
      break;
  }
  return "";
}

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::within:
      return "within";
    case Outcome::beyond:
      return "beyond";
    case Outcome::shapes_differ:
      return "shapes_differ";
    case Outcome::only_in_a:
      return "only_in_a";
    case Outcome::only_in_b:
      return "only_in_b";
  }
  return "";
}

void write_side(JsonWriter& json, const char* key, const TensorComparison::Side& side) {
  json.key(key);
  json.begin_object();
  json.key("shape");
  json.value(side.shape);
  json.key("dtype");
  json.value(side.type);
  json.end_object();
}

void write_largest(JsonWriter& json, const char* key, const TensorComparison::Largest& largest) {
  json.key(key);
  json.begin_object();
  json.key("error");
  json.value(largest.error);
  json.key("index");
  if (largest.index) {
    json.value(*largest.index);
  } else {
    json.null();
  }
  json.end_object();
}

void write_number(JsonWriter& json, const char* key, const TensorComparison::Number& number) {
  json.key(key);
  std::visit([&](auto value) { json.value(value); }, number);
}

void write_tensor(JsonWriter& json, const TensorComparison& tensor) {
  json.begin_object();
  json.key("name");
  json.value(tensor.name);
  json.key("outcome");
  json.value(outcome_name(tensor.outcome));
  if (tensor.outcome != Outcome::only_in_b) write_side(json, "a", tensor.a);
  if (tensor.outcome != Outcome::only_in_a) write_side(json, "b", tensor.b);
  if (is_compared(tensor)) {
    json.key("exact");
    json.value(tensor.exact);
    write_largest(json, "largest_absolute", tensor.absolute);
    write_largest(json, "largest_relative", tensor.relative);
    json.key("elements");
    json.value(tensor.elements);
    json.key("beyond");
    json.value(tensor.beyond);
  }
  if (tensor.first_beyond) {
    json.key("first_beyond");
    json.begin_object();
    json.key("index");
    json.value(tensor.first_beyond->index);
    write_number(json, "a", tensor.first_beyond->a);
    write_number(json, "b", tensor.first_beyond->b);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

std::string comparison_text(const Comparison& comparison) {
  std::string text = comparison.a + " against " + comparison.b + ", tolerance |a − b| ≤ " +
                     attn::number_text(comparison.atol) + " + " +
                     attn::number_text(comparison.rtol) + "·|b|\n";
  const std::string compared = table(comparison);
  if (!compared.empty()) text += "\n" + compared;
  std::size_t differing = 0;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.outcome == Outcome::within) continue;
    if (differing++ == 0) text += "\nDifferences\n";
    text += "  " + shown(tensor.name) + ": " + difference_text(tensor, comparison) + "\n";
  }
  text += "\n";
  if (comparison.tensors.size() == 1) {
    text += differing == 0 ? "The tensor agrees.\n" : "The tensor differs.\n";
  } else if (differing == 0) {
    text += "All " + std::to_string(comparison.tensors.size()) + " tensors agree.\n";
  } else {
    text += std::to_string(differing) + " of " + std::to_string(comparison.tensors.size()) +
            " tensors " + (differing == 1 ? "differs.\n" : "differ.\n");
  }
  return text;
}

std::string comparison_json(const Comparison& comparison) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  json.begin_object();
  json.key("a");
  json.value(comparison.a);
  json.key("b");
  json.value(comparison.b);
  json.key("rtol");
  json.value(comparison.rtol);
  json.key("atol");
  json.value(comparison.atol);
  json.key("agree");
  json.value(comparison.agree());
  json.key("tensors");
  json.begin_array();
  for (const TensorComparison& tensor : comparison.tensors) write_tensor(json, tensor);
  json.end_array();
  if (!comparison.pictured.empty()) {
    json.key("pictured");
    json.value(comparison.pictured);
  }
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : comparison.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  json.finish();
  return text;
}

}  // namespace attn
