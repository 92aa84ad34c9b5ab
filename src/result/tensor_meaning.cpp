#include "result/tensor_meaning.hpp"

#include <array>

#include "support/translated.hpp"

namespace attn {
namespace {

struct Meaning {
  std::string_view name, values;
};

constexpr std::array<Meaning, 7> maps{
    {{"weights", ""},
     {"pooled_weights", ""},
     {"dropped", to_translate("Attention Weight (after dropout)")},
     {"allowed", to_translate("Seen (0=Hidden, 1=Seen)")},
     {"scores", to_translate("Score (after scale)")},
     {"capped", to_translate("Score (after softcap)")},
     {"masked", to_translate("Score (after bias and mask)")}}};

const Meaning* find(std::string_view name) {
  const std::size_t point = name.rfind('.');
  if (point != std::string_view::npos) name.remove_prefix(point + 1);
  for (const Meaning& meaning : maps) {
    if (meaning.name == name) return &meaning;
  }
  return nullptr;
}

}  // namespace

bool is_map(std::string_view name) {
  return find(name) != nullptr;
}

std::optional<std::string> meaning_of_values(std::string_view name) {
  const Meaning* meaning = find(name);
  if (!meaning) return translated("Value");
  if (meaning->values.empty()) return std::nullopt;
  return translated(meaning->values);
}

}  // namespace attn
