#include "heads/attention_maps.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/reader.hpp"
#include "heads/row_reading.hpp"
#include "maps/attention_map.hpp"
#include "maps/computed_maps.hpp"
#include "result/tensor_names.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Where there is no tokenizer to ask.
constexpr std::array<std::string_view, 8> usual_separators{
    "[SEP]",           "</s>",       "<eos>",      "<|endoftext|>",
    "<|end_of_text|>", "<|im_end|>", "<|eot_id|>", "<end_of_turn>"};
constexpr std::array<std::string_view, 9> other_special{
    "[CLS]",       "[PAD]", "[MASK]", "<s>", "<pad>", "<mask>", "<bos>", "<|begin_of_text|>",
    "<|im_start|>"};

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool is_among(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<MapTokens> tokens_of(const std::vector<std::vector<std::string>>& labels,
                                 std::size_t samples, const HeadCounting& counting) {
  std::vector<MapTokens> tokens;
  for (std::size_t b = 0; b < samples && !labels.empty(); ++b) {
    tokens.push_back(labelled_tokens(Labels::of_sample(labels, b), counting));
  }
  return tokens;
}

AttentionMaps maps_of(const PlannedAttention& attention, const AttentionMap& map) {
  AttentionMaps maps;
  maps.name = attention.name;
  const Maps sizes(map.numbers, map.heads_only);
  maps.weights = sizes.all();
  maps.allowed_known = true;
  if (map.allowed) maps.allowed = Maps(map.allowed, map.heads_only).all();
  maps.same_positions = sizes.queries() == sizes.keys() && !maps.name.is_cross();
  for (std::size_t b = 0; b < sizes.samples(); ++b) {
    maps.labels.push_back(Labels::of_sample(attention.labels.query, b));
  }
  return maps;
}

// Names of the maps in a file: of weights, or, where none is called so, of all that can be maps.
std::vector<std::string> map_names(const ResultReader& file) {
  std::vector<std::string> weights, others;
  for (const std::string& name : file.names()) {
    if (is_map(name) && name.ends_with("weights") && !name.ends_with("pooled_weights")) {
      weights.push_back(name);
    }
  }
  if (!weights.empty()) return weights;
  if (const auto only = file.only_name()) return {*only};
  for (const auto& [name, shape] : file.shapes()) {
    if (shape.size() >= 3 && shape.size() <= 5) others.push_back(name);
  }
  return others;
}

}  // namespace

MapTokens model_tokens(const ModelFolder& folder, const std::vector<std::int64_t>& ids,
                       const HeadCounting& counting) {
  MapTokens tokens;
  tokens.ids = ids;
  if (!folder.tokenizer) return tokens;
  const SpecialIds& known = folder.tokenizer->special_ids();
  std::vector<std::int64_t> separators;
  for (const std::string& name : counting.separators) {
    for (const std::string& spelling : {name, "Ġ" + name, "▁" + name}) {
      if (const auto id = folder.tokenizer->id(spelling)) separators.push_back(*id);
    }
  }
  if (counting.separators.empty()) {
    for (const auto& id : {known.separator, known.last}) {
      if (id) separators.push_back(*id);
    }
  }
  for (const std::int64_t id : ids) {
    const bool special = id == known.pad || id == known.mask || id == known.first ||
                         id == known.last || id == known.separator || id == known.classifier;
    tokens.special.push_back(special ? 1 : 0);
    tokens.separator.push_back(std::count(separators.begin(), separators.end(), id) > 0 ? 1 : 0);
  }
  return tokens;
}

MapTokens labelled_tokens(const std::vector<std::string>& labels, const HeadCounting& counting) {
  MapTokens tokens;
  std::map<std::string, std::int64_t, std::less<>> ids;
  for (const std::string& label : labels) {
    const std::string_view word = without_spaces(label);
    tokens.ids.push_back(
        ids.try_emplace(label, static_cast<std::int64_t>(ids.size())).first->second);
    const bool usual = is_among(word, usual_separators);
    const bool separator = counting.separators.empty()
                               ? usual
                               : std::find(counting.separators.begin(), counting.separators.end(),
                                           word) != counting.separators.end();
    tokens.special.push_back(usual || is_among(word, other_special) ? 1 : 0);
    tokens.separator.push_back(separator ? 1 : 0);
  }
  return tokens;
}

std::vector<std::size_t> seen_keys(const AttentionMaps& maps, std::size_t sample,
                                   std::size_t head) {
  const std::size_t queries = maps.weights.shape()[2], keys = maps.weights.shape()[3];
  if (!maps.allowed) {
    return maps.allowed_known ? std::vector(queries, keys) : std::vector<std::size_t>();
  }
  const Shape& shape = maps.allowed.shape();
  const auto allowed = maps.allowed.values<std::uint8_t>();
  const std::size_t b = shape[0] == 1 ? 0 : sample, h = shape[1] == 1 ? 0 : head;
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < queries; ++i) {
    const std::size_t row = shape[2] == 1 ? 0 : i;
    const std::uint8_t* from = allowed.data() + ((b * shape[1] + h) * shape[2] + row) * shape[3];
    std::size_t count = 0;
    for (std::size_t j = 0; j < keys; ++j) count += from[shape[3] == 1 ? 0 : j];
    seen.push_back(count);
  }
  return seen;
}

std::vector<HeadValues> values_of(const AttentionMaps& maps, const HeadCounting& counting,
                                  std::size_t threads) {
  const Shape& shape = maps.weights.shape();
  const std::size_t samples = shape[0], heads = shape[1];
  const Maps matrices(maps.weights);
  std::vector<HeadValues> values(samples * heads);
  // Where one mask is for all heads it is counted once.
  const bool alike = !maps.allowed || maps.allowed.shape()[1] == 1;
  std::vector<std::vector<std::size_t>> seen;
  for (std::size_t b = 0; b < samples; ++b) seen.push_back(seen_keys(maps, b, 0));
  std::vector<MapPositions> positions;
  for (std::size_t b = 0; b < samples; ++b) {
    positions.emplace_back(shape[2], shape[3], maps.queries.empty() ? nullptr : &maps.queries[b],
                           maps.keys.empty() ? nullptr : &maps.keys[b], maps.same_positions);
  }
  parallel_for(samples * heads, threads, [&](std::size_t at) {
    const std::size_t b = at / heads, h = at % heads;
    CountedMap map;
    map.weights = matrices.matrix(b, h);
    map.seen = alike ? seen[b] : seen_keys(maps, b, h);
    values[at] = head_values(map, positions[b], counting);
  });
  return means_of_samples(values, samples);
}

std::vector<HeadValues> means_of_samples(const std::vector<HeadValues>& values,
                                         std::size_t samples) {
  const std::size_t heads = values.size() / samples;
  std::vector<HeadValues> means(heads);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t s = 0; s < head_statistic_count; ++s) {
      double sum = 0;
      std::size_t count = 0;
      for (std::size_t b = 0; b < samples; ++b) {
        const double value = values[b * heads + h][s];
        if (std::isnan(value)) continue;
        sum += value;
        ++count;
      }
      means[h][s] = sum / static_cast<double>(count);  // NaN if there is none
    }
  }
  return means;
}

Plan plan_of_maps(const HeadsOptions& options, const Document& document, bool* rows) {
  bool by_rows = false;
  const auto choose = [&](Plan& plan) {
    plan.options().weights = true;
    plan.options().threads = options.document.threads;
    by_rows = rows != nullptr && reads_by_rows(plan);
    if (by_rows) ask_for_rows(plan);
  };
  std::vector<Plan> plans = read_plans(document, choose);
  if (plans.size() > 1) {
    throw Error(ErrorKind::usage, translated("the document asks for several kinds of attention"),
                "DocumentOptions::attention", translated("choose one of them"));
  }
  if (plans[0].options().pool) {
    throw Error(ErrorKind::usage,
                translated("pooled weights have no single positions to tell statistics of"),
                "DocumentOptions::pool", translated("leave the pooling out"));
  }
  choose(plans[0]);
  if (rows != nullptr) *rows = by_rows;
  return std::move(plans[0]);
}

AttentionMaps planned_maps(const Plan& plan, const AttentionMap& map, std::size_t at,
                           const HeadCounting& counting) {
  const auto* model = std::get_if<ModelRequest>(&plan.computation);
  const PlannedAttention& attention = plan.attentions[at];
  AttentionMaps maps = maps_of(attention, map);
  const std::size_t samples = maps.weights.shape()[0];
  if (model == nullptr) {
    maps.queries = tokens_of(attention.labels.query, samples, counting);
    maps.keys = tokens_of(attention.labels.key, samples, counting);
    return maps;
  }
  const bool decoder = attention.name.in_decoder();
  const auto& own = decoder ? model->texts.decoder_ids : model->texts.ids;
  const auto& others = decoder && !attention.name.is_cross() ? own : model->texts.ids;
  for (std::size_t b = 0; b < samples; ++b) {
    maps.queries.push_back(model_tokens(*model->folder, own[b], counting));
    maps.keys.push_back(model_tokens(*model->folder, others[b], counting));
    // Behind a text's end nothing is special, and no rows are there.
    for (MapTokens* tokens : {&maps.queries.back(), &maps.keys.back()}) {
      const std::size_t length = maps.weights.shape()[tokens == &maps.queries.back() ? 2 : 3];
      std::int64_t unlike = -1;
      while (tokens->ids.size() < length) tokens->ids.push_back(unlike--);
      tokens->special.resize(length);
      tokens->separator.resize(length);
    }
  }
  return maps;
}

std::vector<std::vector<Prediction>> walk_maps(
    const Plan& plan, const HeadCounting& counting,
    const std::function<void(const AttentionMaps&)>& take) {
  const auto take_map = [&](const AttentionMap& map, std::size_t at) {
    if (map.numbers) take(planned_maps(plan, map, at, counting));
  };
  return compute(plan, {.tensor = {}, .map = take_map}).predictions;
}

void walk_file(ResultReader& file, const HeadCounting& counting, std::vector<std::string>& warnings,
               const std::function<void(const AttentionMaps&)>& take) {
  const std::vector<std::string> names = map_names(file);
  if (names.empty()) {
    throw input_error(translated("the file holds no maps"), file.name(),
                      translated("give weights of attention: [queries,keys] or with axes of "
                                 "samples and heads before them"));
  }
  bool samples_only = false;
  for (const std::string& tensor : names) {
    const Tensor weights = file.numbers(tensor);
    const Shape& shape = weights.shape();
    if (shape.size() < 2 || shape.size() > 5) {
      throw input_error(
          translated("the tensor \"{1}\" {2} holds no maps", tensor, text(shape)), file.name(),
          translated("give [queries,keys], or with axes of samples and heads before them"));
    }
    // Layers in one tensor.
    const std::size_t layers = shape.size() == 5 ? shape[0] : 1;
    for (std::size_t layer = 0; layer < layers; ++layer) {
      AttentionMaps maps;
      const bool of_weights = tensor == "weights" || tensor.ends_with(".weights");
      if (names.size() > 1) {
        maps.name = of_weights ? AttentionName::of_tensor(tensor) : AttentionName(tensor);
      }
      Tensor one = weights;
      if (layers > 1) {
        maps.name = AttentionName("", layer, "");
        const Shape inner(shape.begin() + 1, shape.end());
        one = part_of(weights, layer * element_count(inner), inner);
      }
      samples_only = samples_only || one.rank() == 3;
      const Maps sizes(one);
      maps.weights = one.reshaped({sizes.samples(), sizes.heads(), sizes.queries(), sizes.keys()});
      const std::string allowed = tensor.ends_with("weights")
                                      ? AttentionName::of_tensor(tensor).tensor("allowed")
                                      : "allowed";
      if (Tensor seen = layers == 1 ? file.booleans(allowed) : Tensor()) {
        const Maps masks(seen);
        maps.allowed =
            seen.reshaped({masks.samples(), masks.heads(), masks.queries(), masks.keys()});
      }
      maps.same_positions = sizes.queries() == sizes.keys() && !maps.name.is_cross();
      const Labels labels = file.labels(tensor);
      const auto fits = [&](const std::vector<std::vector<std::string>>& lists, std::size_t count) {
        return !lists.empty() && std::all_of(lists.begin(), lists.end(), [&](const auto& list) {
          return list.size() == count;
        });
      };
      if (fits(labels.query, sizes.queries())) {
        maps.queries = tokens_of(labels.query, sizes.samples(), counting);
        for (std::size_t b = 0; b < sizes.samples(); ++b) {
          maps.labels.push_back(Labels::of_sample(labels.query, b));
        }
      }
      if (fits(labels.key, sizes.keys())) {
        maps.keys = tokens_of(labels.key, sizes.samples(), counting);
      }
      take(maps);
    }
  }
  if (samples_only) {
    warnings.emplace_back(translated(
        "a tensor of three axes is taken as samples of one head each, [samples,queries,keys]: "
        "reshape it to [1,heads,queries,keys] if they are heads"));
  }
}

}  // namespace attn
