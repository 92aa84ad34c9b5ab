#include "models/model_place.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Part = ModelPlace::Part;

constexpr auto part_names =
    std::to_array<std::pair<std::string_view, Part>>({{"embedding", Part::embedding},
                                                      {"position", Part::position},
                                                      {"token_type", Part::token_type},
                                                      {"output", Part::output},
                                                      {"bias", Part::bias},
                                                      {"mixer", Part::mixer},
                                                      {"layer_input", Part::layer_input},
                                                      {"feed_forward", Part::feed_forward},
                                                      {"residual", Part::residual}});

std::optional<Part> part_named(std::string_view name) {
  const auto* const row =
      std::ranges::find(part_names, name, &decltype(part_names)::value_type::first);
  if (row == part_names.end()) return std::nullopt;
  return row->second;
}

std::string_view name_of(Part part) {
  return std::ranges::find(part_names, part, &decltype(part_names)::value_type::second)->first;
}

// Takes what comes before the first point, and the point.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find('.'));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

bool parse_positions(std::string_view list, std::vector<std::size_t>& positions) {
  while (true) {
    const std::size_t comma = list.find(',');
    if (!parse_number(list.substr(0, comma), positions.emplace_back())) return false;
    if (comma == list.npos) return true;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::optional<ModelPlace> ModelPlace::parse(std::string_view text) {
  ModelPlace place;
  if (const std::size_t colon = text.find(':'); colon != text.npos) {
    if (!parse_positions(text.substr(colon + 1), place.positions)) return std::nullopt;
    text = text.substr(0, colon);
  }
  std::string_view rest = text, word = take_word(rest);
  if (word == "encoder" || word == "decoder" || word == "cross") {
    place.stack = word == "encoder" ? Stack::encoder : Stack::decoder;
    if (word == "cross") place.part = Part::cross;
    text = rest;
    word = take_word(rest);
  }
  const bool in_layer = parse_number(word, place.layer);
  if (in_layer && word.size() == text.size()) return place;
  if (in_layer && parse_number(rest, place.head.emplace())) return place;
  place.head.reset();
  if (in_layer && rest == "attention") return place;  // all of its heads
  const auto part = part_named(in_layer ? rest : text);
  if (!part || place.crosses()) return std::nullopt;
  place.part = *part;
  const bool named = place.stack == Stack::only || in_layer || *part == Part::output;
  return named && place.in_layer() == in_layer ? std::optional(place) : std::nullopt;
}

std::string ModelPlace::text() const {
  std::string text;
  if (in_layer()) {
    text = attention().layer_name();
    if (head) text += "." + std::to_string(*head);
    if (part > Part::cross) text += "." + std::string(name_of(part));
  } else {
    // Terms of the embedding and biases are those of the stack that is read.
    if (part == Part::output) text = AttentionName(name_of(stack)).prefix();
    text += name_of(part);
  }
  for (std::size_t n = 0; n < positions.size(); ++n) {
    text += (n == 0 ? ":" : ",") + std::to_string(positions[n]);
  }
  return text;
}

AttentionName ModelPlace::attention() const {
  return {name_of(stack), layer, crosses() ? "cross" : "self"};
}

std::string_view name_of(ModelPlace::Stack stack) {
  switch (stack) {
    case ModelPlace::Stack::only:
      return "";
    case ModelPlace::Stack::encoder:
      return "encoder";
    case ModelPlace::Stack::decoder:
      return "decoder";
    case ModelPlace::Stack::captions:
      break;
  }
  return "text";
}

bool is_before(const ModelPlace& a, const ModelPlace& b) {
  return std::pair(a.stack, a.layer) < std::pair(b.stack, b.layer);
}

std::vector<std::string> texts_of(std::span<const ModelPlace> places) {
  std::vector<std::string> texts;
  texts.reserve(places.size());
  for (const ModelPlace& place : places) texts.push_back(place.text());
  return texts;
}

std::vector<std::size_t> heads_in(const ModelPlace& attention, std::span<const ModelPlace> heads) {
  std::vector<std::size_t> numbers;
  for (const ModelPlace& head : heads) {
    if (head.is_head() && head.whole() == attention) numbers.push_back(*head.head);
  }
  return numbers;
}

bool has_stack(const Architecture& model, ModelPlace::Stack stack) {
  return model.encoder_decoder() == (stack != ModelPlace::Stack::only);
}

const ModelStack& stack_in(const Architecture& model, ModelPlace::Stack stack) {
  return model.stacks[stack == ModelPlace::Stack::decoder ? 1 : 0];
}

ModelPlace::Stack stack_of(const Architecture& model, const ModelStack& stack) {
  return !model.encoder_decoder() ? ModelPlace::Stack::only
         : stack.crosses          ? ModelPlace::Stack::decoder
                                  : ModelPlace::Stack::encoder;
}

ModelPlace::Stack last_stack_of(const Architecture& model) {
  return stack_of(model, model.stacks.back());
}

std::size_t first_layer_with_map(const ModelStack& stack) {
  const auto found = std::ranges::find_if(stack.layers, &ModelLayer::has_map);
  return found == stack.layers.end() ? 0 : static_cast<std::size_t>(found - stack.layers.begin());
}

void check_layer(const ModelStack& stack, std::size_t layer, const std::string& place) {
  const std::size_t count = stack.layers.size();
  if (layer < count) return;
  throw input_error(translated("there is no layer {1}: the model has {2}", layer,
                               translated_count(count, "{1} layer", "{1} layers")),
                    place, give_below(count));
}

void check_layer_with_map(const ModelStack& stack, std::size_t layer, const std::string& place) {
  check_layer(stack, layer, place);
  if (stack.layers[layer].has_map()) return;
  std::string others;
  for (std::size_t n = 0; n < stack.layers.size(); ++n) {
    if (stack.layers[n].has_map())
      others += (others.empty() ? "" : name_separator()) + std::to_string(n);
  }
  throw input_error(translated("layer {1} has no attention weights, and so no map", layer), place,
                    others.empty() ? translated("no layer of the model has one")
                                   : translated("layers with maps: {1}", others));
}

void check_head(const Architecture& model, const ModelPlace& head, const std::string& place) {
  const ModelStack& stack = stack_in(model, head.stack);
  check_layer_with_map(stack, head.layer, place);
  const std::size_t heads = stack.layers[head.layer].heads;
  if (head.head < heads) return;
  throw input_error(translated("there is no head {1}: each layer has {2}", *head.head,
                               translated_count(heads, "{1} head", "{1} heads")),
                    place, give_below(heads));
}

}  // namespace attn
