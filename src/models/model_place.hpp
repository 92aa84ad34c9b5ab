#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attention/attention_name.hpp"
#include "models/architecture.hpp"

namespace attn {

/// A place in a model: a layer's attention, one of its heads, another part of a layer, or a term of
/// the residual stream that no layer writes. Layers, heads and positions count from 0.
struct ModelPlace {
  enum class Stack {
    only,
    encoder,
    decoder,
    captions  ///< of a model of pictures: its texts'
  };
  enum class Part {
    // Parts of no layer: terms of the embedding, what leaves a stack, and biases together.
    embedding,
    position,
    token_type,
    output,
    bias,
    // Parts of a layer: its attentions, what else writes into the residual stream, and the states
    // that leave the layer.
    self,
    cross,
    mixer,  ///< what mixes tokens without attention weights
    feed_forward,
    layer_input,  ///< what a layer reads of its tokens besides the states
    residual
  };

  Stack stack = Stack::only;
  std::size_t layer = 0;
  Part part = Part::self;
  std::optional<std::size_t> head = {};     ///< of an attention; absent = all of them
  std::vector<std::size_t> positions = {};  ///< empty = all

  /// Reads a name as text() writes it, and "2.attention" for "2"; absent if it is none. The place
  /// need not be there.
  static std::optional<ModelPlace> parse(std::string_view text);
  /// "2" for the self-attention of layer 2, "2.1" for its head 1, "2.feed_forward", "2.residual",
  /// "2.mixer"; of an encoder-decoder "encoder.2.1", "decoder.2.1", and "cross.2.1" of
  /// the decoder's attention to what leaves the encoder; "embedding", "position", "token_type",
  /// "bias", "encoder.output". Positions follow a colon: "2.1:3,4".
  std::string text() const;

  bool in_layer() const { return part >= Part::self; }
  bool crosses() const { return part == Part::cross; }
  /// Whether it is an attention or a head of one, at all positions.
  bool is_attention() const { return (part == Part::self || crosses()) && positions.empty(); }
  bool is_head() const { return is_attention() && head; }
  /// All of the attention that it is in, or of the layer's self-attention.
  ModelPlace whole() const { return {stack, layer, crosses() ? part : Part::self}; }
  /// A head of that attention.
  ModelPlace with_head(std::size_t number) const {
    ModelPlace one = whole();
    one.head = number;
    return one;
  }
  /// The name of that attention in results: "decoder.layers.2.cross".
  AttentionName attention() const;

  bool operator==(const ModelPlace&) const = default;
};

/// "", "encoder", "decoder" or "text", as names of results begin.
std::string_view name_of(ModelPlace::Stack stack);

/// Whether a pass leaves the layer of `a` before that of `b`.
bool is_before(const ModelPlace& a, const ModelPlace& b);

/// The texts of places.
std::vector<std::string> texts_of(std::span<const ModelPlace> places);

/// The heads of an attention, among heads of a model.
std::vector<std::size_t> heads_in(const ModelPlace& attention, std::span<const ModelPlace> heads);

/// Whether the model has such a stack.
bool has_stack(const Architecture& model, ModelPlace::Stack stack);
/// A stack that the model has.
const ModelStack& stack_in(const Architecture& model, ModelPlace::Stack stack);
/// Which of the model's stacks it is.
ModelPlace::Stack stack_of(const Architecture& model, const ModelStack& stack);
ModelPlace::Stack last_stack_of(const Architecture& model);

/// The first layer that has a map; 0 if none has.
std::size_t first_layer_with_map(const ModelStack& stack);

/// Throws Error(input) at `place` for a layer that the stack does not have.
void check_layer(const ModelStack& stack, std::size_t layer, const std::string& place);
/// Throws also for a layer that has no map and so no heads.
void check_layer_with_map(const ModelStack& stack, std::size_t layer, const std::string& place);
/// Throws also for a head that the layer does not have; its stack must be there.
void check_head(const Architecture& model, const ModelPlace& head, const std::string& place);

}  // namespace attn
