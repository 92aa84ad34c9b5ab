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
#include "support/translated.hpp"

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
  return three_digits(largest.error) +
         (largest.index ? translated(" at {1}", text(*largest.index)) : "");
}

// A name from a file may hold anything; in quotes it cannot act on a terminal.
std::string shown(const std::string& name) {
  if (name.empty()) return translated("(unnamed)");
  const std::string quoted = in_quotes(name);
  return quoted.size() == name.size() + 2 ? name : quoted;
}

bool is_compared(const TensorComparison& tensor) {
  return tensor.outcome == Outcome::within || tensor.outcome == Outcome::beyond;
}

// "float32", "float32 and float64", or "int64, exactly".
std::string types_text(const TensorComparison& tensor) {
  const std::string &a = tensor.a.type, &b = tensor.b.type;
  return (a == b ? a : translated("{1} and {2}", a, b)) +
         (tensor.exact ? translated(", exactly") : "");
}

// "[2,3]", or of tensors of other lengths what of them was compared.
std::string shape_text(const TensorComparison& tensor) {
  if (tensor.a.shape == tensor.compared && tensor.b.shape == tensor.compared) {
    return text(tensor.compared);
  }
  return translated("{1} of {2} and {3}", text(tensor.compared), text(tensor.a.shape),
                    text(tensor.b.shape));
}

// How the errors spread, of the tensors that have some.
std::string spread_table(const Comparison& comparison) {
  std::array<TextColumn, 6> columns{{{{translated("tensor")}},
                                     {{translated("mean |a − b|")}},
                                     {{translated("median")}},
                                     {{translated("90 % below")}},
                                     {{translated("99 % below")}},
                                     {{"‖a − b‖ / ‖b‖"}}}};
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_compared(tensor) || tensor.absolute.error == 0) continue;
    const TensorComparison::Spread& spread = tensor.spread;
    columns[0].cells.push_back(shown(tensor.name));
    columns[1].cells.push_back(three_digits(spread.mean));
    columns[2].cells.push_back(three_digits(spread.median));
    columns[3].cells.push_back(three_digits(spread.percent90));
    columns[4].cells.push_back(three_digits(spread.percent99));
    columns[5].cells.push_back(three_digits(spread.relative_norm));
  }
  return columns[0].cells.size() == 1 ? "" : text_table(columns);
}

bool is_alone(const TensorComparison& tensor) {
  return tensor.outcome == Outcome::only_in_a || tensor.outcome == Outcome::only_in_b;
}

// "All 3 tensors agree.", of those that count.
std::string verdict(std::size_t counting, std::size_t differing, std::size_t ignored) {
  std::string text;
  if (counting == 0) {
    text = translated("The files have no tensor in common.");
  } else if (ignored > 0) {
    text = counting == 1 ? (differing == 0 ? translated("The tensor that both files have agrees.")
                                           : translated("The tensor that both files have differs."))
           : differing == 0
               ? translated("All {1} tensors that both files have agree.", counting)
               : translated_count(differing, "{1} of {2} tensors that both files have differs.",
                                  "{1} of {2} tensors that both files have differ.", counting);
  } else {
    text = counting == 1    ? (differing == 0 ? translated("The tensor agrees.")
                                              : translated("The tensor differs."))
           : differing == 0 ? translated("All {1} tensors agree.", counting)
                            : translated_count(differing, "{1} of {2} tensors differs.",
                                               "{1} of {2} tensors differ.", counting);
  }
  return text + "\n";
}

std::string table(const Comparison& comparison) {
  std::array<TextColumn, 6> columns{{{{translated("tensor")}},
                                     {{translated("shape")}},
                                     {{translated("type")}},
                                     {{translated("largest |a − b|")}},
                                     {{translated("largest |a − b| / |b|")}},
                                     {{translated("beyond")}}}};
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_compared(tensor)) continue;
    const std::array<std::string, 6> cells{
        shown(tensor.name),
        shape_text(tensor),
        types_text(tensor),
        largest_text(tensor.absolute),
        largest_text(tensor.relative),
        translated("{1} of {2}", tensor.beyond, tensor.elements)};
    for (std::size_t c = 0; c < cells.size(); ++c) columns[c].cells.push_back(cells[c]);
  }
  return columns[0].cells.size() == 1 ? "" : text_table(columns);
}

std::string difference_text(const TensorComparison& tensor, const Comparison& comparison) {
  switch (tensor.outcome) {
    case Outcome::beyond:
      return translated("the first beyond the tolerance is at {1}: {2} against {3}",
                        text(tensor.first_beyond->index), number_text(tensor.first_beyond->a),
                        number_text(tensor.first_beyond->b));
    case Outcome::shapes_differ:
      return translated("the shape is {1} against {2}", text(tensor.a.shape), text(tensor.b.shape));
    case Outcome::only_in_a:
      return translated("only in {1}", comparison.a);
    case Outcome::only_in_b:
      return translated("only in {1}", comparison.b);
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
  if (is_alone(tensor)) json.member("counts", tensor.counts);
  if (is_compared(tensor)) {
    json.key("exact");
    json.value(tensor.exact);
    write_largest(json, "largest_absolute", tensor.absolute);
    write_largest(json, "largest_relative", tensor.relative);
    json.member("mean_absolute", tensor.spread.mean);
    json.member("median_absolute", tensor.spread.median);
    json.member("absolute_90_percent", tensor.spread.percent90);
    json.member("absolute_99_percent", tensor.spread.percent99);
    json.member("relative_norm", tensor.spread.relative_norm);
    if (tensor.a.shape != tensor.compared || tensor.b.shape != tensor.compared) {
      json.key("compared");
      json.value(tensor.compared);
    }
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
  std::string text = translated("{1} against {2}, tolerance {3}", comparison.a, comparison.b,
                                "|a − b| ≤ " + attn::number_text(comparison.atol) + " + " +
                                    attn::number_text(comparison.rtol) + "·|b|") +
                     "\n";
  const std::string compared = table(comparison);
  if (!compared.empty()) text += "\n" + compared;
  const std::string spread = spread_table(comparison);
  if (!spread.empty()) text += "\n" + spread;
  std::size_t differing = 0, ignored = 0;
  std::string alone;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.outcome == Outcome::within) continue;
    if (is_alone(tensor) && !tensor.counts) {
      ++ignored;
      alone += "  " + shown(tensor.name) + ": " + difference_text(tensor, comparison) + "\n";
      continue;
    }
    if (differing++ == 0) text += "\nDifferences\n";
    text += "  " + shown(tensor.name) + ": " + difference_text(tensor, comparison) + "\n";
  }
  if (!alone.empty()) text += "\nNot compared\n" + alone;
  text += "\n" + verdict(comparison.tensors.size() - ignored, differing, ignored);
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
