#include "attention/attention_name.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view layers = "layers.";

// The first place from `from` on, at the start of the text or after a point, where `layers` begins;
// npos if there is none.
std::size_t find_layers(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find(layers, from); at != text.npos; at = text.find(layers, at + 1)) {
    if (at == 0 || text[at - 1] == '.') return at;
  }
  return text.npos;
}

// Whether one of the parts between points is `part`.
bool has_part(std::string_view text, std::string_view part) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('.'), text.size());
    if (text.substr(0, end) == part) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

bool is_last_part(std::string_view text, std::string_view part) {
  return text == part || (text.ends_with(part) && text[text.size() - part.size() - 1] == '.');
}

}  // namespace

AttentionName::AttentionName(std::string_view text) {
  if (text.ends_with('.')) text.remove_suffix(1);
  text_ = text;
  for (std::size_t at = find_layers(text_, 0); at != text.npos; at = find_layers(text_, at + 1)) {
    const std::size_t first = at + layers.size();
    const std::size_t end = std::min(text.find('.', first), text.size());
    std::size_t layer = 0;
    const char* const last = text.data() + end;
    const auto [stop, error] = std::from_chars(text.data() + first, last, layer);
    if (error != std::errc() || stop != last) continue;
    layer_ = layer;
    first_ = first;
    digits_ = end - first;
    return;
  }
}

AttentionName::AttentionName(std::string_view stack, std::size_t layer, std::string_view part)
    : AttentionName(layer_prefix(stack, layer) + std::string(part)) {}

AttentionName AttentionName::of_tensor(std::string_view tensor) {
  return AttentionName(tensor.substr(0, tensor.rfind('.') + 1));  // npos + 1 = 0
}

std::string_view AttentionName::stack() const noexcept {
  if (!layer_ || first_ == layers.size()) return {};
  return std::string_view(text_).substr(0, first_ - layers.size() - 1);
}

std::string_view AttentionName::part() const noexcept {
  if (!layer_) return text_;
  const std::size_t end = first_ + digits_;
  return end == text_.size() ? std::string_view() : std::string_view(text_).substr(end + 1);
}

bool AttentionName::is_self() const noexcept {
  return is_last_part(text_, "self");
}

bool AttentionName::is_cross() const noexcept {
  return is_last_part(text_, "cross");
}

AttentionName AttentionName::with_part(std::string_view part) const {
  const std::size_t point = text_.rfind('.');
  return AttentionName(text_.substr(0, point + 1) + std::string(part));  // npos + 1 = 0
}

std::string AttentionName::without_layer() const {
  if (!layer_) return text_;
  const std::string before = text_.substr(0, first_ - 1);
  const std::string_view after = part();
  return after.empty() ? before : before + "." + std::string(after);
}

std::string AttentionName::stack_name() const {
  const std::string before = AttentionName(stack()).prefix();
  return before + std::string(part());
}

std::optional<std::string> AttentionName::pattern() const {
  if (!layer_) return std::nullopt;
  return text_.substr(0, first_) + "{n}" + text_.substr(first_ + digits_);
}

std::string AttentionName::padded(std::size_t digits) const {
  std::string name = text_;
  if (layer_ && digits_ < digits) name.insert(first_, digits - digits_, '0');
  return name;
}

std::string AttentionName::title() const {
  std::string title;
  if (layer_) {
    const std::string_view before = stack();
    title = translated(has_part(before, "decoder")   ? to_translate("Decoder Layer {1}")
                       : has_part(before, "encoder") ? to_translate("Encoder Layer {1}")
                                                     : to_translate("Layer {1}"),
                       *layer_);
  }
  const bool self = has_part(part(), "self");
  if (!self && !has_part(part(), "cross")) return title;
  if (!title.empty()) title += translated(", ");
  return title + (self ? translated("Self-Attention") : translated("Cross-Attention"));
}

std::string AttentionName::stack_title() const {
  if (is_cross()) return translated("Cross-Attention");
  if (!is_self()) return translated("Attention");
  return text_.starts_with("encoder.")   ? translated("Encoder Self-Attention")
         : text_.starts_with("decoder.") ? translated("Decoder Self-Attention")
                                         : translated("Self-Attention");
}

std::string AttentionName::row_title() const {
  if (!layer_) return text_;
  const std::string title = AttentionName(text_.substr(0, first_ + digits_)).title();
  return is_cross() ? translated("{1}, Cross", title) : title;
}

std::string AttentionName::layer_name() const {
  if (!layer_ || (!part().empty() && part() != "self" && part() != "cross")) return text_;
  const std::string before(is_cross() ? std::string_view("cross") : stack());
  return (before.empty() ? "" : before + ".") + std::to_string(*layer_);
}

std::string AttentionName::head_name(std::size_t head) const {
  const std::string layer = layer_name();
  return (layer.empty() ? "" : layer + ".") + std::to_string(head);
}

std::string layer_prefix(std::string_view stack, std::size_t layer) {
  std::string before(stack);
  if (!before.empty()) before += '.';
  return before + std::string(layers) + std::to_string(layer) + ".";
}

}  // namespace attn
