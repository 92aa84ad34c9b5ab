#include "view/page_input.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "attention/visibility.hpp"
#include "document/mask_reader.hpp"
#include "heads/head_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/seen_picture.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t most_letters = 80;  // of a sample's title

std::vector<std::size_t> chosen_heads(const PlannedAttention& attention,
                                      const MapSelection& selection) {
  return numbers_in(selection.chosen_heads, attention.geometry.heads, "MapSelection::chosen_heads",
                    counted_heads);
}

// Layers that are shown; none = all, also those without numbers.
std::vector<std::size_t> chosen_layers(const Plan& plan, const MapSelection& selection) {
  if (!selection.layers) return {};
  std::size_t count = 0;
  for (const PlannedAttention& attention : plan.attentions) {
    if (const auto layer = attention.name.layer()) count = std::max(count, *layer + 1);
  }
  if (count == 0) {
    throw input_error(translated("there is one map, and no stack of layers"),
                      "MapSelection::layers", translated("leave it out"));
  }
  return numbers_in(selection.layers, count, "MapSelection::layers", counted_layers);
}

bool is_chosen(const PlannedAttention& attention, const std::vector<std::size_t>& layers) {
  const auto layer = attention.name.layer();
  return layers.empty() || (layer && std::count(layers.begin(), layers.end(), *layer) > 0);
}

// First letters of a text, on one line.
std::string shortened(const std::string& text) {
  std::string line;
  std::size_t letters = 0;
  for (const char c : text) {
    if (!continues_character(c) && letters++ == most_letters) return line + "…";
    line += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return line;
}

std::vector<std::string> sample_titles(const Plan& plan, const ViewOptions& options) {
  std::vector<std::string> titles;
  if (!plan.model) return titles;
  if (const auto picture = picture_of(plan)) {
    const auto& files = options.document.images;
    const auto& texts = options.document.texts;
    const std::size_t pictures = picture->image.shape()[0];
    for (std::size_t i = 0; i < std::max(pictures, texts.size()); ++i) {
      std::string& title = titles.emplace_back();
      if (i < pictures) {
        title = i < files.size() ? files[i].filename().string() : translated("Picture {1}", i);
      }
      if (i < texts.size()) title += (title.empty() ? "" : " / ") + shortened(texts[i].text);
    }
    return titles;
  }
  for (const auto& file : options.document.sounds) titles.push_back(file.filename().string());
  if (!titles.empty()) return titles;
  if (!options.document.texts.empty()) {
    for (const ModelText& text : options.document.texts) {
      titles.push_back(shortened(text.pair ? text.text + " / " + *text.pair : text.text));
    }
    return titles;
  }
  for (const auto& tokens : plan.model->tokens) {
    std::string text;
    for (const std::string& token : tokens) text += token;
    titles.push_back(shortened(text));
  }
  return titles;
}

}  // namespace

Plan plan_of_view(const ViewOptions& options, const Document& document) {
  return plan_of_maps(document, [&](Plan& plan) {
    ComputingOptions computing = plan.options();
    computing.weights = true;
    computing.stages = options.stages && model_of(plan) == nullptr;
    computing.threads = options.document.threads;
    plan.choose(computing);
  });
}

ViewedInput planned_input(const Plan& plan, const ViewOptions& options) {
  ViewedInput input;
  input.title = plan.title;
  input.description = plan.description;
  input.samples = sample_titles(plan, options);
  input.shown = input.samples.empty() ? std::string(info(plan.kind).name) : input.samples.front();
  input.warnings = plan.warnings;
  const std::vector<std::size_t> layers = chosen_layers(plan, options.maps.selection);
  for (const PlannedAttention& attention : plan.attentions) {
    if (!is_chosen(attention, layers)) continue;
    const std::size_t heads = chosen_heads(attention, options.maps.selection).size();
    std::size_t tensors = 1;
    if (options.stages && (plan.model || plan.options().stages)) {
      tensors +=
          1 + (plan.attention_options().softcap ? 1 : 0) + (attention.mask.present() ? 1 : 0);
    }
    const auto cells = [&](std::size_t positions) {
      return plan.pool() ? std::min(positions, plan.pool()->size) : positions;
    };
    input.sizes.push_back({attention.geometry.batch * heads * tensors,
                           cells(attention.geometry.queries), cells(attention.geometry.keys)});
  }
  return input;
}

std::optional<AttentionMap> planned_map(const Plan& plan, AttentionMap map,
                                        const ViewOptions& options) {
  if (!is_chosen(*map.planned, chosen_layers(plan, options.maps.selection))) return std::nullopt;
  // Stages that are equal to the one before are not shown again.
  if (!plan.model && !plan.attention_options().softcap) map.capped = {};
  if (!plan.model && !map.planned->mask.present()) map.masked = {};
  return chosen_part(with_tokens(std::move(map), options.counting, model_of(plan)),
                     options.maps.selection);
}

ViewedInput filed_input(std::vector<FiledMaps>& stacks, const ResultReader& first,
                        const ViewOptions& options) {
  ViewedInput input;
  input.title = first.title();
  input.shown = first.kind().value_or(first.names().empty() ? "" : first.names().front());
  bool stages = false;
  for (FiledMaps& stack : stacks) {
    stack.each([&](AttentionMap whole) {
      check_is_map(whole);
      if (input.sizes.empty()) input.warnings = doubts_of(whole, options.maps, false);
      const AttentionMap map = chosen_part(std::move(whole), options.maps.selection);
      const Maps sizes(map.numbers, map.heads_only);
      stages = stages || map.scores;
      std::size_t tensors = 1;
      for (const Tensor* stage : {&map.scores, &map.capped, &map.masked}) {
        if (*stage) ++tensors;
      }
      input.sizes.push_back(
          {sizes.samples() * sizes.heads() * tensors, sizes.queries(), sizes.keys()});
    });
  }
  if (auto order = stacks.empty() ? std::nullopt : stacks[0].files_as_layers())
    input.warnings.push_back(std::move(*order));
  if (options.stages && !stages) {
    input.warnings.emplace_back(translated(
        "the input holds no steps of the score: compute it with run() and RunOptions::stages"));
  }
  return input;
}

AttentionMap filed_map(AttentionMap map, bool holds_floats, const ViewOptions& options) {
  map = chosen_part(std::move(map), options.maps.selection);
  if (holds_floats) {
    for (Tensor* tensor : {&map.numbers, &map.scores, &map.capped, &map.masked}) {
      if (*tensor) *tensor = tensor->converted(DType::float32);
    }
  }
  map = with_tokens(std::move(map), options.counting);
  const Labels& labels = map.labels;
  map.same_positions = map.same_positions && (labels.query == labels.key || labels.either);
  return map;
}

std::string stack_of(const AttentionMap& map) {
  const bool named = map.tensor.empty() || is_map(map.tensor);
  return named ? map.name.stack_title() : pattern_of(map.name.text()).value_or(map.name.text());
}

namespace {

// Bit for each part of the mask that hides any key of the sample. Looks at heads until all
// `present` bits are found.
std::uint32_t hiding(const Visibility& visibility, const Geometry& sizes, std::size_t sample,
                     std::uint32_t present) {
  std::uint32_t found = 0;
  std::vector<std::uint32_t> parts(sizes.keys);
  const std::size_t heads = visibility.differs_by_head() ? sizes.heads : 1;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < sizes.queries && found != present; ++i) {
      visibility.hidden_by(sample, h, i, parts);
      for (const std::uint32_t one : parts) found |= one;
    }
  }
  return found;
}

// Cells that a mask hides in one sample.
class Hidden {
 public:
  Hidden(const Tensor& allowed, std::size_t sample)
      : queries_(allowed.shape()[2]), keys_(allowed.shape()[3]) {
    const Shape& shape = allowed.shape();
    const std::size_t first = (shape[0] == 1 ? 0 : sample) * shape[1] * queries_ * keys_;
    seen_ = allowed.values<std::uint8_t>().subspan(first, queries_ * keys_);
  }

  std::vector<std::string> reasons(bool same_positions) const {
    const bool causal = same_positions && queries_ == keys_ && queries_ > 1 && hides_all_later();
    std::vector<std::uint8_t> key_seen(keys_), query_sees(queries_);
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = 0; j < keys_; ++j) {
        if (hides(i, j)) continue;
        key_seen[j] = query_sees[i] = 1;
      }
    }
    bool keys = false, queries = false, others = false;
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = 0; j < keys_; ++j) {
        if (!hides(i, j) || (causal && j > i)) continue;
        (key_seen[j] == 0 ? keys : query_sees[i] == 0 ? queries : others) = true;
      }
    }
    std::vector<std::string> sentences;
    const auto add = [&](bool there, const char* sentence) {
      if (there) sentences.push_back(translated(sentence));
    };
    add(causal, to_translate("causal: keys after the query"));
    add(keys, to_translate("keys that no query sees, such as those of padding"));
    add(queries, to_translate("queries that see no key"));
    add(others, to_translate("other keys that the mask hides"));
    return sentences;
  }

 private:
  bool hides(std::size_t query, std::size_t key) const { return seen_[query * keys_ + key] == 0; }

  bool hides_all_later() const {
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = i + 1; j < keys_; ++j) {
        if (!hides(i, j)) return false;
      }
    }
    return true;
  }

  std::size_t queries_, keys_;
  std::span<const std::uint8_t> seen_;
};

using Sentences = std::vector<std::vector<std::string>>;

Sentences apparent_reasons(const AttentionMap& map) {
  Sentences reasons(map.numbers.shape()[0]);
  for (std::size_t b = 0; map.allowed && b < reasons.size(); ++b) {
    reasons[b] = Hidden(map.allowed, b).reasons(map.same_positions);
  }
  return reasons;
}

Sentences known_reasons(const PlannedAttention& attention, const Sequences& compared) {
  const Geometry& sizes = attention.geometry;
  Sentences reasons(sizes.batch);
  const std::span<const HidingPart* const> parts = hiding_parts();
  std::uint32_t present = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p]->present(attention.mask)) present |= 1U << p;
  }
  if (present == 0) return reasons;
  const Visibility visibility(attention.mask, sizes, compared);
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    const std::uint32_t found = hiding(visibility, sizes, b, present);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if ((found >> p & 1U) != 0)
        reasons[b].push_back(hidden_sentence(parts[p]->name, attention.mask));
    }
  }
  return reasons;
}

}  // namespace

std::vector<std::vector<std::string>> hidden_reasons(const AttentionMap& map) {
  return map.planned ? known_reasons(*map.planned, map.compared) : apparent_reasons(map);
}

}  // namespace attn
