#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace attn {

/// Name of one attention of a computation or file: "" where there is only one, "self", "cross",
/// `layers.3.self`, "encoder.layers.0.self", "decoder.layers.2.cross". A name of another program,
/// such as "blocks.7.attn" or `layers.foo`, keeps its text; it has a layer only where digits follow
/// `layers.`. Names of tensors are an attention's name, a point and a quantity:
/// `layers.3.self.weights`.
class AttentionName {
 public:
  AttentionName() = default;
  /// Takes a name apart; a point at its end is left out.
  explicit AttentionName(std::string_view text);
  /// Name of an attention of layer `layer`, from 0, of the stack "encoder", "decoder" or "".
  AttentionName(std::string_view stack, std::size_t layer, std::string_view part);

  /// The attention that a tensor belongs to: all before the last point of the tensor's name.
  static AttentionName of_tensor(std::string_view tensor);

  const std::string& text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }
  /// Name of one of its tensors: `layers.3.self.weights` of "weights".
  std::string tensor(std::string_view quantity) const { return prefix() + std::string(quantity); }
  /// Text before the names of its tensors: `layers.3.self.`, or "" of a single attention.
  std::string prefix() const { return text_.empty() ? "" : text_ + "."; }

  /// Number of its layer, from 0.
  std::optional<std::size_t> layer() const noexcept { return layer_; }
  /// Text before the layers, without a point: "encoder", "decoder" or "" of programs' own results.
  std::string_view stack() const noexcept;
  /// Text after the layer's number, or all of it without one: "self", "cross".
  std::string_view part() const noexcept;
  bool is_self() const noexcept;
  bool is_cross() const noexcept;
  bool in_decoder() const noexcept { return stack() == "decoder"; }

  /// The other attention of its layer: `layers.3.cross` of `layers.3.self` and "cross".
  AttentionName with_part(std::string_view part) const;

  /// Name without the layer's number: "encoder.layers.self". Attentions that follow one another in
  /// the layers of one stack have it in common.
  std::string without_layer() const;
  /// Stack and part alone, for names of files: "encoder.self".
  std::string stack_name() const;
  /// Pattern of the names of its stack: "encoder.layers.{n}.self"; nothing without a layer.
  std::optional<std::string> pattern() const;
  /// Name whose layer's number has leading zeros up to `digits`, so that names of files sort in
  /// the order of layers: `layers.02.self`.
  std::string padded(std::size_t digits) const;
  /// Number of digits of the layer's number; 0 without one.
  std::size_t layer_digits() const noexcept { return digits_; }

  /// "Encoder Layer 3, Self-Attention"; empty where the name says nothing of the kind.
  std::string title() const;
  /// Title of the stack, whose attentions are rows of an overview: "Encoder Self-Attention",
  /// "Cross-Attention", "Attention".
  std::string stack_title() const;
  /// Short title for a row of layers: "Decoder Layer 3, Cross"; the text without a layer.
  std::string row_title() const;
  /// Short name of an attention of a layer, from 0: "1", "encoder.1", "cross.1"; the whole name
  /// where it says more.
  std::string layer_name() const;
  /// Name of one of its heads, after that name and a point: "1.2", "encoder.1.2", "cross.1.2"; "2"
  /// of a single attention.
  std::string head_name(std::size_t head) const;

  friend bool operator==(const AttentionName& a, const AttentionName& b) noexcept {
    return a.text_ == b.text_;
  }

 private:
  std::string text_;
  std::optional<std::size_t> layer_;
  std::size_t first_ = 0, digits_ = 0;  // place of the layer's digits in the text
};

/// Text before the names of what belongs to a layer, from 0: `layers.3.`, "encoder.layers.3.".
std::string layer_prefix(std::string_view stack, std::size_t layer);

}  // namespace attn
