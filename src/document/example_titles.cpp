#include "document/example_titles.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "support/translated.hpp"

namespace attn {
namespace {

// Titles of data/*.json.
constexpr auto titles = std::to_array<std::string_view>({
    to_translate("Additive attention"),
    to_translate("Causal attention"),
    to_translate("Cross-attention"),
    to_translate("Decoder layer"),
    to_translate("Encoder layer"),
    to_translate("Multi-head attention"),
    to_translate("Padded sentences"),
    to_translate("Scaled dot-product attention in four dimensions"),
    to_translate("Self-attention"),
    to_translate("Sliding window with a global token"),
    to_translate("Softmax of a score matrix"),
    to_translate("Two sentences"),
});

}  // namespace

std::string shown_title(const std::string& title) {
  return std::find(titles.begin(), titles.end(), title) == titles.end() ? title : translated(title);
}

}  // namespace attn
