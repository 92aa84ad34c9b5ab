#include "view/page_maker.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "heads/head_maps.hpp"
#include "maps/selected_map.hpp"
#include "plot/colour/colour.hpp"
#include "result/result_reader.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr const char* usual_map = "YlOrRd";
constexpr const char* usual_dark_map = "magma";  // its zero is dark, as the page
constexpr const char* map_about_zero = "RdBu_r";
constexpr double least_range = 0.1;  // of numbers that are no weights

bool speaks_chinese() {
  return is_translated("Self-Attention");
}

std::string code_of(plot::Colour colour) {
  return hexadecimal(plot::packed(colour), 6);
}

std::string table_of(const plot::ColourMap& map) {
  std::string table;
  for (std::size_t i = 0; i < plot::ColourMap::size(); ++i) table += code_of(map[i]);
  return table;
}

ViewData::MapColours colours_of(const std::string& name, Background background) {
  const plot::ColourMap map(name);
  FigureOptions figure;
  figure.background = background;
  // In the order of pictures.
  const auto apart = [&](std::size_t index) { return "#" + code_of(map.apart(index)); };
  return {name,     table_of(map), "#" + code_of(plot::beside(plot::paper_of(figure), map).hidden),
          apart(0), apart(1),      apart(2),
          apart(3)};
}

ViewData::Colours colours_of(const ViewOptions& options) {
  const std::string diverging =
      options.cmap && plot::is_diverging(*options.cmap) ? *options.cmap : map_about_zero;
  const auto on = [&](Background background, const char* usual) {
    return ViewData::CellColours{colours_of(options.cmap.value_or(usual), background),
                                 colours_of(diverging, background)};
  };
  ViewData::Colours colours;
  colours.light = on(Background::white, usual_map);
  colours.dark = on(Background::dark, usual_dark_map);
  return colours;
}

// Whether a folder was made for a moment: its name says nothing. A folder that is named from the
// one that the user is in has a name of the user's.
bool is_temporary(const std::filesystem::path& folder) {
  std::error_code none;
  const std::filesystem::path temporary = std::filesystem::temp_directory_path(none);
  return folder.is_absolute() && folder.parent_path() / "" == temporary / "";
}

std::string title_of(const ViewOptions& options, const ViewedInput& input) {
  if (options.title) return *options.title;
  if (!input.title.empty()) return input.title;
  const std::filesystem::path from =
      result_in(options.document.input.empty() && options.document.model ? *options.document.model
                                                                         : options.document.input);
  // A result goes by the name of its folder, and so does a folder that is written with a slash.
  std::string name = from.filename().string();
  const std::string folder = from.parent_path().filename().string();
  if (name.empty() || (name == "result.json" && !folder.empty())) {
    name = is_temporary(from.parent_path()) ? "" : folder;
  }
  if (name.empty() || name == "-") name = input.shown;
  return name.empty() ? translated("Attention Maps") : translated("Attention Maps of {1}", name);
}

std::string tensor_title(const std::string& tensor, bool weights) {
  if (weights) return translated("Attention weight");
  return meaning_of_values(tensor).value_or(translated("Attention weight"));
}

// Rounded up to two digits, so that it stays a bound.
std::string bound_text(double bound) {
  if (!(bound > 0)) return "0";
  const double unit = std::pow(10.0, std::floor(std::log10(bound)) - 1);
  return with_digits(std::ceil(bound / unit) * unit, 2);
}

// Place of the map among several: "Layer 1, Self-Attention".
std::string place_among_maps(const AttentionMap& map) {
  if (map.place.empty()) return AttentionName::of_tensor(map.tensor).title();
  return map.layer ? translated("Layer {1}", *map.layer) : map.place;
}

// Effects of the heads that the page has; no numbers = all.
ViewData::Effects chosen_heads(const ViewData::Effects& all,
                               const std::vector<std::size_t>& numbers) {
  if (numbers.empty()) return all;
  ViewData::Effects chosen;
  for (const std::size_t head : numbers) {
    chosen.divergence.push_back(all.divergence[head]);
    chosen.probabilities.push_back(all.probabilities[head]);
    chosen.likeliest.push_back(all.likeliest[head]);
    chosen.logit.push_back(all.logit[head]);
    if (!all.estimated.empty()) chosen.estimated.push_back(all.estimated[head]);
    if (!all.answer.empty()) chosen.answer.push_back(all.answer[head]);
  }
  return chosen;
}

// Adds the mean divergence over the samples as one more statistic of each head, NaN without any.
void add_mean_effects(ViewData::Attention& attention) {
  for (std::size_t h = 0; h < attention.statistics.size(); ++h) {
    double sum = 0, count = 0;
    for (const ViewData::Sample& sample : attention.samples) {
      if (!sample.effects) continue;
      sum += sample.effects->divergence[h];
      ++count;
    }
    attention.statistics[h].push_back(count > 0 ? sum / count
                                                : std::numeric_limits<double>::quiet_NaN());
  }
}

// Statistics of weights that are even over the keys that each query of the first head sees.
std::vector<double> even_statistics(const AttentionMap& map, const ViewOptions& options) {
  const Shape& shape = map.numbers.shape();
  const std::size_t samples = shape[0], queries = shape[2], keys = shape[3];
  std::vector<double> weights(samples * queries * keys);
  const std::span<double> all(weights);
  std::vector<double> values(keys);
  std::vector<std::uint8_t> hidden(keys);
  for (std::size_t b = 0; b < samples; ++b) {
    const MapRows rows(map.numbers, map.allowed, b, 0);
    for (std::size_t i = 0; i < queries; ++i) {
      rows.read(i, values, hidden);
      const auto seen = static_cast<double>(std::ranges::count(hidden, 0));
      for (std::size_t j = 0; j < keys; ++j) {
        all[(b * queries + i) * keys + j] = hidden[j] == 0 ? 1 / seen : 0;
      }
    }
  }
  AttentionMap even = map;
  even.numbers = Tensor({samples, 1, queries, keys}, std::move(weights));
  even.score_values.clear();
  const HeadValues statistics = values_of(even, options.counting, options.document.threads).front();
  return {statistics.begin(), statistics.begin() + weight_statistic_count};
}

// Name of the numbers without their attention: "weights", "scores".
std::string quantity_of(const AttentionMap& map) {
  if (map.holds_weights()) return "weights";
  return map.tensor.substr(map.tensor.rfind('.') + 1);  // npos + 1 = 0
}

}  // namespace

PageMaker::PageMaker(const ViewOptions& options, const ViewedInput& input, bool computed,
                     std::function<void(std::string_view)> sink)
    : options_(options),
      plan_(cell_plan(input.sizes, options.cells)),
      page_(std::move(sink), speaks_chinese() ? "zh-CN" : "en", title_of(options, input)) {
  data_.language = speaks_chinese() ? "zh" : "en";
  data_.title = title_of(options, input);
  data_.description = input.description;
  data_.commands = options.commands;
  data_.computed = computed;
  data_.samples = input.samples;
  data_.colours = colours_of(options);
  outcome_.warnings = input.warnings;
}

std::vector<ViewData::Maps> PageMaker::add_tensor(const Taken& tensor) {
  const Shape& shape = tensor.maps.shape();
  const std::size_t samples = shape[0], heads = shape[1], threads = options_.document.threads;
  const auto rows_of = [&](std::size_t at) {
    return MapRows(tensor.maps, tensor.allowed, at / heads, at % heads);
  };
  std::vector<FiniteRange> ranges(samples * heads);
  parallel_for(ranges.size(), threads,
               [&](std::size_t at) { ranges[at] = finite_range(rows_of(at)); });
  FiniteRange all;
  for (const FiniteRange& range : ranges) all.add(range);
  data_.range(tensor.name).add(all);
  const bool diverging = !tensor.first || (!all.empty() && all.least < 0);

  const CellType exact =
      tensor.maps.dtype() == DType::float64 ? CellType::float64 : CellType::float32;
  std::vector<PackedMap> packed(samples * heads);
  std::vector<ReducedMap> small(tensor.first ? packed.size() : 0);
  parallel_for(packed.size(), threads, [&](std::size_t at) {
    const MapRows rows = rows_of(at);
    packed[at] = packed_map(rows, ranges[at], plan_, exact, diverging);
    if (tensor.first) small[at] = Thumbnails::of(rows, diverging);
  });
  for (const ReducedMap& map : small) thumbnails_.add(map, diverging);

  std::vector<ViewData::Maps> of_samples;
  for (std::size_t at = 0; at < packed.size(); ++at) {
    if (at % heads == 0) {
      of_samples.push_back(
          {tensor.name, tensor_title(tensor.name, tensor.weights), tensor.cells, diverging, {}});
    }
    const PackedMap& map = packed[at];
    ViewData::Cells cells = ViewData::Cells::of(map, page_.add_block(map.cells));
    if (!map.hidden.empty()) cells.hidden = page_.add_block(map.hidden);
    if (!map.strongest.empty()) {
      cells.strongest = page_.add_block(map.strongest);
      cells.strongest_keys = map.strongest_keys;
      ++pooled_;
    }
    if (!is_exact(map.type)) ++coded_;
    if (tensor.weights) largest_error_ = std::max(largest_error_, map.error);
    outcome_.cells += map.rows * map.columns;
    ++outcome_.maps;
    of_samples.back().heads.push_back(cells);
  }
  return of_samples;
}

std::size_t PageMaker::add_pictures(const AttentionMap& map) {
  const SeenPicture& seen = *map.picture;
  const auto known = std::ranges::find_if(data_.pictures, [&](const ViewData::Picture& one) {
    return one.rows == seen.rows && one.columns == seen.columns;
  });
  const auto first = static_cast<std::size_t>(known - data_.pictures.begin());
  if (known != data_.pictures.end()) return first;
  // The same pixels in larger patches.
  for (std::size_t b = 0; first > 0 && b < seen.image.shape()[0]; ++b) {
    ViewData::Picture merged = data_.pictures[b];
    merged.rows = seen.rows;
    merged.columns = seen.columns;
    merged.patch = seen.patch;
    data_.pictures.push_back(merged);
  }
  if (first > 0) return first;
  const Tensor image = seen.image.converted(DType::float32);
  const auto numbers = image.values<float>();
  const std::size_t height = image.shape()[2], width = image.shape()[3], area = height * width;
  for (std::size_t b = 0; b < image.shape()[0]; ++b) {
    std::string bytes(3 * area, '\0');
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t i = 0; i < area; ++i) {
        const float part = std::clamp(numbers[(3 * b + c) * area + i], 0.0F, 1.0F);
        bytes[3 * i + c] = static_cast<char>(static_cast<std::uint8_t>(255 * part + 0.5F));
      }
    }
    data_.pictures.push_back(
        {width, height, seen.rows, seen.columns, seen.patch, page_.add_block(packed_block(bytes))});
  }
  return first;
}

void PageMaker::roll_out(const AttentionMap& map) {
  const Shape& shape = map.numbers.shape();
  const MapSelection& chosen = options_.maps.selection;
  const bool next = map.holds_weights() && map.name.layer() == rollouts_.size();
  if (!next || shape[2] != shape[3] || takes_part(chosen) || chosen.layers) return;
  // Shares of patches that were merged are not followed.
  if (!rollouts_.empty() && rollouts_.front().numbers.shape()[2] != shape[2]) return;
  if (!rollout_) {
    rollout_.emplace(RolloutOptions(), std::vector<std::size_t>(shape[0], shape[2]),
                     options_.document.threads);
  }
  AttentionMap& after = rollouts_.emplace_back();
  after.name = map.name.with_part("rollout");
  after.tensor = after.name.text();
  after.meaning = TensorMeaning::other_map;
  after.allowed_known = true;
  after.labels = map.labels;
  after.query_tokens = map.query_tokens;
  after.key_tokens = map.key_tokens;
  after.same_positions = map.same_positions;
  after.picture = map.picture;
  after.numbers = rollout_->next(map.numbers).reshaped({shape[0], 1, shape[2], shape[3]});
}

void PageMaker::take(const AttentionMap& map, const std::optional<ScoreVectors>& vectors) {
  std::size_t first_picture = 0;
  if (map.picture && map.cells.empty()) {
    first_picture = add_pictures(map);
    roll_out(map);
  }
  const Shape& shape = map.numbers.shape();
  // Bins of positions, whose labels are those of their first ones.
  const bool joined = !map.cells.empty();
  const Labels& labels = joined ? map.planned->labels : map.labels;
  const std::string title = place_among_maps(map);
  if (map.name.layer() || map.layer) data_.layered = true;
  most_keys_ = std::max(most_keys_, shape[3]);
  const std::vector<std::vector<std::string>> reasons = hidden_reasons(map);
  ViewData::Attention attention;
  attention.name = map.name.text();
  attention.stack = stack_of(map);
  attention.title = title.empty() ? attention.stack : title;
  attention.heads = shape[1];
  attention.heads_a_group = map.heads_per_group;
  attention.numbers = map.heads;
  std::vector<std::vector<ViewData::Maps>> tensors;
  tensors.push_back(add_tensor(
      {quantity_of(map), map.numbers, map.allowed, map.holds_weights(), true, map.cells}));
  // Before the mask nothing is hidden.
  const std::initializer_list<Taken> stages = {
      {"scores", map.scores, {}}, {"capped", map.capped, {}}, {"masked", map.masked, map.allowed}};
  for (const Taken& stage : stages) {
    if (stage.maps && stage.maps.shape() == shape) tensors.push_back(add_tensor(stage));
  }
  std::vector<ViewData::Vectors> of_samples;
  // Bins have no arithmetic.
  if (vectors && options_.vectors > 0 && !joined) of_samples = add_vectors(map, *vectors);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    ViewData::Sample& sample = attention.samples.emplace_back();
    sample.same_positions = map.same_positions;
    sample.queries = joined ? map.planned->geometry.queries : shape[2];
    sample.keys = joined ? map.planned->geometry.keys : shape[3];
    const auto special = [&](const std::vector<MapTokens>& tokens) {
      return tokens.empty() || joined ? std::vector<std::uint8_t>() : tokens[b].special;
    };
    const TokenLists::Axes axes =
        tokens_.add(Labels::of_sample(labels.query, b), special(map.query_tokens),
                    Labels::of_sample(labels.key, b), special(map.key_tokens));
    sample.query_tokens = axes.queries;
    sample.key_tokens = axes.keys;
    if (map.picture && !joined) {
      sample.picture = first_picture + std::min(b, map.picture->image.shape()[0] - 1);
    }
    sample.hidden_because = reasons[b];
    if (b < of_samples.size()) sample.vectors = std::move(of_samples[b]);
    if (const auto split = splits_.find(attention.name); split != splits_.end()) {
      sample.why = split->second[b];
    }
    if (const auto off = effects_.find(attention.name); off != effects_.end()) {
      const ViewData::Effects& all = off->second[b];
      if (!all.divergence.empty()) sample.effects = chosen_heads(all, map.heads);
    }
    sample.lens = add_lens(map, b);
    for (auto& tensor : tensors) sample.maps.push_back(std::move(tensor[b]));
  }
  if (map.holds_weights() && !joined) {
    for (const HeadValues& values : values_of(map, options_.counting, options_.document.threads)) {
      attention.statistics.emplace_back(values.begin(), values.begin() + weight_statistic_count);
    }
  }
  if (data_.effects) add_mean_effects(attention);
  if (const auto seen = evidence_.find(attention.name); seen != evidence_.end()) {
    if (!joined) attention.even = even_statistics(map, options_);
    for (std::size_t h = 0; h < attention.heads; ++h) {
      attention.evidence.push_back(seen->second[map.heads.empty() ? h : map.heads[h]]);
    }
  }
  data_.attentions.push_back(std::move(attention));
}

void PageMaker::take(const std::vector<ScoreSplit>& splits) {
  constexpr std::size_t most_terms = 5;
  for (std::size_t b = 0; b < splits.size(); ++b) {
    const ScoreSplit& split = splits[b];
    auto& samples = splits_[split.head.attention().text()];
    samples.resize(splits.size());
    ViewData::Why& why = samples[b].emplace_back();
    why.head = split.head.head.value();
    why.query_parts = texts_of(split.query_parts);
    why.key_parts = texts_of(split.key_parts);
    const std::size_t B = split.key_parts.size(), each = split.query_parts.size() * B;
    for (std::size_t n = 0; n < split.pairs.size(); ++n) {
      ViewData::Why::Pair& pair = why.pairs.emplace_back();
      std::tie(pair.query, pair.key) = split.pairs[n];
      pair.score = split.scores[n];
      const auto terms = split.parts.values<double>().subspan(n * each, each);
      std::vector<double> strengths;
      for (const double term : terms) strengths.push_back(std::abs(term));
      for (const std::size_t at : largest_of(strengths, most_terms)) {
        if (terms[at] != 0) pair.strongest.push_back({at / B, at % B, terms[at]});
      }
    }
  }
}

void PageMaker::take(std::vector<std::vector<Prediction>> predictions, bool next) {
  data_.predictions = std::move(predictions);
  data_.predicts_next = next;
}

void PageMaker::add_notes() {
  if (pooled_ > 0) {
    data_.notes.push_back(translated(
        "The maps have {1} cells in all, and the page keeps at most {2}: maps of more than {3} "
        "queries or keys are reduced to cells that show the largest value of several. Of each "
        "query the strongest keys, {4} of them, are kept with their values.",
        grouped(plan_.all), grouped(options_.cells), plan_.side, plan_.strongest_keys));
  }
  if (without_vectors_ > 0) {
    data_.notes.push_back(translated(
        "The arithmetic of {1} attentions is left out: queries and keys of all would take more "
        "than {2} bytes.",
        without_vectors_, grouped(options_.vectors)));
  }
  if (coded_ > 0) {
    data_.notes.push_back(translated(
        "Values are rounded to {1} steps between 0 and the largest of their row: weights are off "
        "by at most {2}.",
        codes_of(plan_.codes).highest, bound_text(largest_error_)));
  }
}

ViewOutcome PageMaker::finish() {
  for (const AttentionMap& map : std::exchange(rollouts_, {})) {
    take(map);
    data_.attentions.back().stack = translated("Attention Rollout");
    data_.attentions.back().title = translated("Layer {1}", *map.name.layer());
  }
  data_.tokens = tokens_.all();
  std::size_t samples = 0;
  for (const auto& attention : data_.attentions) {
    samples = std::max(samples, attention.samples.size());
  }
  for (std::size_t b = data_.samples.size(); b < samples; ++b) {
    data_.samples.push_back(translated("Sample {1}", b));
  }
  const FiniteRange weights =
      data_.attentions.empty() ? FiniteRange() : data_.ranges.front().second;
  if (options_.color_range.scope == ColorRange::Scope::given) {
    data_.colours.least = options_.color_range.low;
    data_.colours.most = options_.color_range.high;
  } else {
    const bool whole = !weights.empty() && data_.ranges.front().first == "weights";
    data_.colours.most = whole             ? plot::end_of_whole_rows(weights.most, most_keys_, 0)
                         : weights.empty() ? least_range
                                           : std::max(weights.most, least_range);
  }
  const double furthest =
      weights.empty() ? 0 : std::max(std::abs(weights.least), std::abs(weights.most));
  data_.thumbnail_side = Thumbnails::side;
  data_.thumbnails = page_.add_block(
      packed_block(thumbnails_.codes(data_.colours.least, data_.colours.most, furthest)));
  add_notes();
  outcome_.attentions = data_.attentions.size();
  outcome_.notes = data_.notes;
  outcome_.bytes = page_.finish(view_data_json(data_), data_.thumbnails);
  return std::move(outcome_);
}

}  // namespace attn
