#include "models/window_reader.hpp"

#include <algorithm>
#include <cstdint>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"

namespace attn {

WindowReader::WindowReader(const ConfigurationReader& reader, bool causal)
    : reader_(reader), causal_(causal) {
  part_ = present_member(reader.row(), "window");
  read_types();
  if (part_ == nullptr) {
    if (std::ranges::count(types_, true) > 0) {
      refuse_key("layer_types", translated("models of this type have no layers with a window"),
                 translated("their maps would be those of other layers"));
    }
    return;
  }
  const auto key = reader.listed(*part_, "keys");
  if (key) {
    size_ = reader.count(*key);
  } else if (!reader.given_as_null(*part_, "keys")) {
    if (const JsonValue* own = present_member(*part_, "size")) {
      size_ = static_cast<std::size_t>(own->integer());
    }
  }
  if (!reader.chosen_boolean(*part_, "switch", "switch_keys", true)) size_.reset();
  both_ways_ = reader.chosen_boolean(*part_, "both_sides", "both_sides_keys", !causal_);
}

std::optional<std::size_t> WindowReader::of_layer(std::size_t layer, bool turned) const {
  if (!size_ || part_ == nullptr || !is_windowed(layer, turned)) return std::nullopt;
  // A window that is said to be causal is halved where it is on both sides (EmbeddingGemma).
  const bool halved =
      reader_.chosen_boolean(*part_, "each_side_half", "", false) || (causal_ && both_ways_);
  return halved ? *size_ / 2 : *size_;
}

void WindowReader::read_types() {
  const auto add = [&](const JsonValue& type, const std::string& key) {
    const std::string name = type.is(JsonValue::Type::string) ? type.string() : "";
    const bool window = name == "sliding_attention" || name == "local";
    if (!window && name != "full_attention" && name != "global") {
      refuse_key(key, translated("layers of the type {1} are not computed", in_quotes(name)),
                 translated("their maps would be those of another attention"));
    }
    types_.push_back(window);
  };
  std::string key = "layer_types";
  if (reader_.find(key) == nullptr && part_ != nullptr) {
    key = reader_.listed(*part_, "types_keys").value_or("");
  }
  if (const JsonValue* types = key.empty() ? nullptr : reader_.find(key)) {
    if (!types->is(JsonValue::Type::array)) refuse_type(key, *types, translated("a list of types"));
    for (std::size_t i = 0; i < types->size(); ++i) {
      const JsonValue& entry = types->element(i);
      if (!entry.is(JsonValue::Type::array)) {
        add(entry, key);
        continue;
      }
      if (entry.size() != 2 || !entry.element(0).is(JsonValue::Type::array) ||
          !entry.element(1).is(JsonValue::Type::number) || !entry.element(1).is_integer()) {
        refuse_type(key, entry, translated("a list of types and how often they come"));
      }
      for (std::int64_t time = 0; time < entry.element(1).integer() && time < 1000; ++time) {
        for (std::size_t j = 0; j < entry.element(0).size(); ++j) {
          add(entry.element(0).element(j), key);
        }
      }
    }
  }
}

bool WindowReader::is_windowed(std::size_t layer, bool turned) const {
  if (layer < types_.size()) return types_[layer];
  if (reader_.chosen_boolean(*part_, "where_not_turned", "", false)) return !turned;
  if (const auto first = reader_.chosen(*part_, "from", "from_keys")) {
    return static_cast<double>(layer) >= *first;
  }
  if (present_member(*part_, "alternating_from") != nullptr) return layer % 2 == 1;
  if (const auto every = reader_.chosen(*part_, "full_every", "full_every_keys")) {
    const auto step = std::max<std::size_t>(size_of_number(*every), 1);
    const JsonValue* first = present_member(*part_, "full_first");
    const bool starts_full = first != nullptr && first->boolean();
    return starts_full ? layer % step != 0 : (layer + 1) % step != 0;
  }
  return true;
}

}  // namespace attn
