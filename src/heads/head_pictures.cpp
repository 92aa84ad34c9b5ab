#include "heads/head_pictures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>

#include "heads/head_maps.hpp"
#include "heads/heads_table.hpp"
#include "maps/attention_map.hpp"
#include "pictures/picture_kinds.hpp"
#include "plot/parts.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

const Tensor* find(const NamedTensors& tensors, const std::string& name) {
  for (const auto& [own, tensor] : tensors) {
    if (own == name) return &tensor;
  }
  return nullptr;
}

// Positions up to that of each row [L,L], where all later ones have nothing at all, as where they
// are hidden; absent where they have.
Tensor earlier_positions(const Tensor& matrix) {
  const std::size_t length = matrix.shape()[0];
  if (length < 2 || matrix.shape()[1] != length) return {};
  const Tensor converted = matrix.converted(DType::float64);
  const auto numbers = converted.values<double>();
  std::vector<std::uint8_t> seen(length * length);
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      if (j > i && numbers[i * length + j] != 0) return {};
      seen[i * length + j] = j <= i ? 1 : 0;
    }
  }
  return Tensor(matrix.shape(), std::move(seen));
}

/// Collects the pictures of one reading.
class Pictures {
 public:
  Pictures(const HeadsOptions& options, const std::vector<std::vector<std::string>>& labels,
           const std::optional<SeenPicture>& seen)
      : options_(options), labels_(labels), seen_(seen) {}

  void add(const std::string& name, Picture picture) {
    all_.push_back({name + extension(options_.format), std::move(picture)});
  }

  // One matrix of the chosen sample, tokens × tokens.
  void add_map(const std::string& name, const Tensor& tensor, std::size_t head,
               const std::string& title, const std::string& colours,
               const Tensor* allowed = nullptr) {
    const Maps maps(tensor);
    if (options_.sample >= maps.samples()) return;
    Heatmap heatmap;
    heatmap.weights = maps.matrix(options_.sample, head);
    heatmap.allowed = allowed != nullptr ? Maps(*allowed).matrix(options_.sample, head)
                                         : earlier_positions(heatmap.weights);
    heatmap.query_labels = heatmap.key_labels = tokens(maps.queries());
    PlotOptions plot = options_.plot;
    if (!plot.figure.title) plot.figure.title = title;
    if (!plot.colors.bar_label) plot.colors.bar_label = colours;
    add(name, draw_heatmap(heatmap, plot.heatmap(), options_.format));
    add_overlay(name, tensor, colours);
  }

  // Residues × residues, without the tokens around a protein.
  void add_contacts(const Tensor& contacts, const std::string& title) {
    const Maps maps(contacts);
    if (options_.sample >= maps.samples()) return;
    Heatmap heatmap;
    heatmap.weights = maps.matrix(options_.sample, 0);
    const std::vector<std::string> all = tokens(maps.queries() + 2);
    if (!all.empty()) heatmap.query_labels = {all.begin() + 1, all.end() - 1};
    heatmap.key_labels = heatmap.query_labels;
    PlotOptions plot = options_.plot;
    if (!plot.figure.title) plot.figure.title = title;
    if (!plot.figure.xlabel) plot.figure.xlabel = translated("Residue");
    if (!plot.figure.ylabel) plot.figure.ylabel = translated("Residue");
    if (!plot.colors.bar_label) plot.colors.bar_label = translated("Probability");
    add("contacts", draw_heatmap(heatmap, plot.heatmap(), options_.format));
  }

  // Share of each patch in [CLS], or in all tokens on average, over the picture.
  void add_overlay(const std::string& name, const Tensor& tensor, const std::string& colours) {
    AttentionMap map;
    map.tensor = name;
    map.name = AttentionName::of_tensor(name);
    map.meaning = TensorMeaning::other_map;
    map.numbers = tensor;
    map.labels = {labels_, labels_};
    add_picture(map, seen_);
    if (!map.picture) return;
    Drawing drawing;
    drawing.of.emplace_back().map = std::move(map);
    drawing.choice.sample = options_.sample;
    drawing.options = options_.plot;
    drawing.format = options_.format;
    if (!drawing.options.colors.bar_label) drawing.options.colors.bar_label = colours;
    add("overlay." + name, draw_map_overlay(drawing));
  }

  std::vector<std::string> tokens(std::size_t count) const {
    if (options_.sample >= labels_.size()) return {};
    return labels_[options_.sample].size() == count ? labels_[options_.sample]
                                                    : std::vector<std::string>();
  }

  std::vector<HeadPicture> take() { return std::move(all_); }

 private:
  const HeadsOptions& options_;
  const std::vector<std::vector<std::string>>& labels_;
  const std::optional<SeenPicture>& seen_;
  std::vector<HeadPicture> all_;
};

// Two decimals for the few cells of a map whose numbers have one digit before the point: those of
// different colours would be told apart by one, but smaller numbers would say nothing.
void tell_few_numbers(PlotOptions& plot, const Tensor& values) {
  constexpr std::size_t few = 64;
  if (plot.annotation.format || plot.figure.style != PlotStyle::standard || values.size() > few) {
    return;
  }
  double largest = 0;
  for (const double value : values.values<double>()) {
    if (std::isinf(value)) return;
    if (!std::isnan(value)) largest = std::max(largest, std::abs(value));
  }
  if (largest >= 1 && largest < 10) plot.annotation.format = ".2f";
}

}  // namespace

Picture layers_by_heads(const std::vector<AttentionHeads>& attentions, std::size_t column,
                        const std::string& title, bool weights, const HeadsOptions& options,
                        const std::string& bar) {
  std::size_t most = 0;
  for (const AttentionHeads& attention : attentions) most = std::max(most, attention.heads.size());
  std::vector<double> numbers;
  Heatmap heatmap;
  for (const AttentionHeads& attention : attentions) {
    for (std::size_t h = 0; h < most; ++h) {
      numbers.push_back(h < attention.heads.size() ? attention.heads[h][column]
                                                   : std::numeric_limits<double>::quiet_NaN());
    }
    heatmap.query_labels.push_back(attention.name.empty()
                                       ? translated("Attention")
                                       : AttentionName(attention.name).row_title());
  }
  for (std::size_t h = 0; h < most; ++h) {
    heatmap.key_labels.push_back(
        translated("Head {1}", attentions.empty() ? h : attentions[0].number(h)));
  }
  // Without negative numbers the scale begins at 0.
  heatmap.any_numbers = !weights && std::any_of(numbers.begin(), numbers.end(),
                                                [](double number) { return number < 0; });
  const bool yes_or_no = std::all_of(numbers.begin(), numbers.end(), [](double number) {
    return std::isnan(number) || number == 0 || number == 1;
  });
  heatmap.weights = Tensor({attentions.size(), most}, std::move(numbers));
  PlotOptions plot = options.plot;
  if (!plot.figure.title) plot.figure.title = title;
  // Where cells show their values, each 0 or 1, no bar is needed: its text stands below the map.
  constexpr std::size_t most_with_values = 24;
  if (!bar.empty() && yes_or_no && std::max(most, attentions.size()) <= most_with_values) {
    plot.colors.bar = false;
    if (!plot.figure.xlabel) plot.figure.xlabel = bar;
  }
  // Rows and columns say what they are, and the title what the colours are.
  if (!plot.figure.xlabel) plot.figure.xlabel = "";
  if (!plot.figure.ylabel) plot.figure.ylabel = "";
  if (!plot.colors.bar_label) plot.colors.bar_label = plot.figure.title == title ? bar : title;
  if (!yes_or_no) tell_few_numbers(plot, heatmap.weights);
  return draw_heatmap(heatmap, plot.heatmap(), options.format);
}

std::string statistic_picture(const HeadStatisticInfo& info) {
  return "heads." + std::string(info.name);
}

std::string patch_picture(const PatchedPartInfo& info, bool of_heads) {
  return "heads.patch" + (of_heads ? "" : "." + std::string(info.name));
}

namespace {

void add_statistics(const HeadsOptions& options, const HeadsOutcome& outcome, Pictures& pictures) {
  for (const HeadStatistic statistic : outcome.statistics) {
    const auto column = static_cast<std::size_t>(statistic);
    const HeadStatisticInfo& info = head_statistics()[column];
    const bool any = std::any_of(
        outcome.attentions.begin(), outcome.attentions.end(), [&](const AttentionHeads& attention) {
          return std::any_of(attention.heads.begin(), attention.heads.end(), [&](const auto& head) {
            return !std::isnan(head[column]) && head[column] != 0;
          });
        });
    if (!any) continue;
    pictures.add(
        statistic_picture(info),
        layers_by_heads(outcome.attentions, column, translated(info.title), info.is_share, options,
                        statistic == HeadStatistic::sink
                            ? translated("1: the first key's mean weight is above {1}",
                                         with_digits(options.counting.sink_threshold, 4))
                            : ""));
  }
}

// Effects of a sweep by heads of each layer, or by position of each layer or head.
Heatmap effects_of(const PatchSweep& sweep, const std::vector<std::vector<double>>& differences,
                   double own, const std::vector<std::string>& tokens) {
  std::size_t columns = 0;
  for (const std::vector<double>& row : differences) columns = std::max(columns, row.size());
  std::vector<double> numbers;
  Heatmap heatmap;
  const bool of_heads = sweep.by_position && info(sweep.part).of_heads;
  for (std::size_t n = 0; n < differences.size(); ++n) {
    const ModelPlace place = ModelPlace::parse(sweep.rows[n]).value();
    heatmap.query_labels.push_back(of_heads ? translated("Head {1}", sweep.rows[n])
                                            : place.attention().row_title());
    for (std::size_t c = 0; c < columns; ++c) {
      const bool there = c < differences[n].size();
      numbers.push_back(there ? differences[n][c] - own : std::numeric_limits<double>::quiet_NaN());
    }
  }
  heatmap.key_labels = tokens;
  for (std::size_t h = 0; h < columns && !sweep.by_position; ++h) {
    heatmap.key_labels.push_back(translated("Head {1}", h));
  }
  // Without negative numbers the scale of heads begins at 0.
  heatmap.any_numbers =
      sweep.by_position || std::ranges::any_of(numbers, [](double number) { return number < 0; });
  heatmap.weights = Tensor({differences.size(), columns}, std::move(numbers));
  return heatmap;
}

// The effects, and beside them on one scale those that gradients estimate, if there are any.
Picture draw_effects(const HeadsOptions& options, const PatchSweep& sweep, double own,
                     const std::string& title, const std::vector<std::string>& tokens) {
  PlotOptions plot = options.plot;
  if (!plot.figure.title) plot.figure.title = title;
  if (!plot.figure.xlabel) {
    plot.figure.xlabel = !sweep.by_position ? ""
                         : tokens.empty()   ? translated("Position")
                                            : translated("Input Token");
  }
  if (!plot.figure.ylabel) plot.figure.ylabel = "";  // rows say what they are
  if (!plot.colors.bar_label) plot.colors.bar_label = translated("Effect in Logits");
  Heatmap computed = effects_of(sweep, sweep.patched, own, tokens);
  tell_few_numbers(plot, computed.weights);
  if (sweep.attributed.empty()) return draw_heatmap(computed, plot.heatmap(), options.format);
  HeatmapGrid grid{1, 2, {std::move(computed), effects_of(sweep, sweep.attributed, own, tokens)}};
  grid.panels[0].title = translated("Computed");
  grid.panels[1].title = translated("By Gradients");
  grid.panel_side = 3;
  return draw_grid(grid, plot.grid(), options.format);
}

// Gradients of the chosen sample: layers × heads, and its tokens.
void add_gradients(const HeadsOptions& options, const std::vector<TextGradients>& all,
                   const std::string& sample, Pictures& pictures) {
  const auto found = std::ranges::find(all, options.sample, &TextGradients::sample);
  if (found == all.end()) return;
  const std::string of = found->against.empty()
                             ? translated("the Logit of {1}", in_quotes(found->token))
                             : translated("the Logit of {1} Minus {2}", in_quotes(found->token),
                                          in_quotes(found->against));
  pictures.add(
      "gradients.heads",
      layers_by_heads(found->heads, 0, translated("Gradient × Attention for {1}{2}", of, sample),
                      false, options, translated("Sum of weight × gradient")));
  Heatmap heatmap;
  std::vector<double> numbers = found->inputs;
  heatmap.query_labels.push_back(translated("Gradient"));
  if (!found->integrated.empty()) {
    numbers.insert(numbers.end(), found->integrated.begin(), found->integrated.end());
    heatmap.query_labels.push_back(translated("Integral"));
  }
  heatmap.weights = Tensor({heatmap.query_labels.size(), found->inputs.size()}, std::move(numbers));
  heatmap.key_labels = pictures.tokens(found->inputs.size());
  heatmap.any_numbers = true;
  PlotOptions plot = options.plot;
  if (!plot.figure.title)
    plot.figure.title = translated("What Each Token Gives {1}{2}", of, sample);
  if (!plot.figure.xlabel) plot.figure.xlabel = translated("Input Token");
  if (!plot.figure.ylabel) plot.figure.ylabel = "";
  if (!plot.colors.bar_label) plot.colors.bar_label = translated("Logits");
  pictures.add("gradients.tokens", draw_heatmap(heatmap, plot.heatmap(), options.format));
}

void add_patches(const HeadsOptions& options, const HeadPatches& patches, Pictures& pictures) {
  const std::string token = in_quotes(patches.token), other = in_quotes(patches.other);
  for (const PatchSweep& sweep : patches.sweeps) {
    if (sweep.patched.empty()) continue;
    const auto& info = attn::info(sweep.part);
    const bool of_heads = sweep.part == PatchedPart::heads && !sweep.by_position;
    const std::string title =
        patches.texts ? translated(
                            "{1}: Mean Effect on the Difference of Two Logits "
                            "over {2} Texts",
                            translated(info.title), *patches.texts)
        : of_heads ? translated("Effect of Each Head on the Logit of {1} Minus {2}", token, other)
                   : translated("{1}: Effect on the Logit of {2} Minus {3}", translated(info.title),
                                token, other);
    pictures.add(patch_picture(info, of_heads),
                 draw_effects(options, sweep, patches.own, title,
                              sweep.by_position ? pictures.tokens(sweep.patched.front().size())
                                                : std::vector<std::string>()));
  }
}

// Effects of paths: to the logits by layers and heads, and to inputs of heads from head to head.
void add_paths(const HeadsOptions& options, const HeadPatches& patches, Pictures& pictures) {
  std::vector<AttentionHeads> direct;
  std::map<std::string, std::map<std::pair<std::string, std::string>, double>> ends;
  std::vector<std::string> from;                       // in the order of the paths
  std::map<std::string, std::vector<std::string>> to;  // of each input
  const auto note = [](std::vector<std::string>& names, const std::string& name) {
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  };
  for (const HeadPath& path : patches.paths) {
    const double effect = path.difference - patches.own;
    if (!path.input.empty()) {
      note(from, path.from);
      note(to[path.input], path.to);
      ends[path.input][{path.from, path.to}] = effect;
      continue;
    }
    const std::string layer = ModelPlace::parse(path.from).value().attention().text();
    if (direct.empty() || direct.back().name != layer) direct.emplace_back().name = layer;
    direct.back().heads.push_back({effect});
  }
  const auto of_texts = [&](const std::string& title) {
    return patches.texts ? translated("{1}, Mean over {2} Texts", title, *patches.texts) : title;
  };
  if (!direct.empty()) {
    pictures.add(
        "heads.paths.logits",
        layers_by_heads(direct, 0, of_texts(translated("Direct Effect of Each Head on the Logits")),
                        false, options, translated("Effect in Logits")));
  }
  for (const auto& [input, effects] : ends) {
    std::vector<std::string>& receivers = to[input];
    std::ranges::sort(receivers, {}, [](const std::string& name) {
      const ModelPlace place = ModelPlace::parse(name).value();
      return std::pair(place.layer, place.head);
    });
    Heatmap heatmap;
    std::vector<double> numbers;
    std::vector<std::uint8_t> allowed;
    for (const std::string& sender : from) {
      for (const std::string& receiver : receivers) {
        const auto found = effects.find({sender, receiver});
        allowed.push_back(found == effects.end() ? 0 : 1);
        numbers.push_back(found == effects.end() ? 0 : found->second);
      }
    }
    heatmap.weights = Tensor({from.size(), receivers.size()}, std::move(numbers));
    heatmap.allowed = Tensor({from.size(), receivers.size()}, std::move(allowed));
    heatmap.any_numbers = true;
    heatmap.query_labels = from;
    heatmap.key_labels = receivers;
    PlotOptions plot = options.plot;
    const std::string title = input == "query" ? translated("Paths to the Queries of Later Heads")
                              : input == "key" ? translated("Paths to the Keys of Later Heads")
                                               : translated("Paths to the Values of Later Heads");
    plot.figure.title = plot.figure.title.value_or(of_texts(title));
    plot.figure.xlabel = plot.figure.xlabel.value_or(input == "query" ? translated("To Head")
                                                                      : translated("To Key Head"));
    plot.figure.ylabel = plot.figure.ylabel.value_or(translated("From Head"));
    plot.colors.bar_label = plot.colors.bar_label.value_or(translated("Effect in Logits"));
    pictures.add("heads.paths." + input, draw_heatmap(heatmap, plot.heatmap(), options.format));
  }
}

// The change of the predictions without each head, a cell per layer and head.
void add_differences(const HeadsOptions& options, const std::vector<HeadDifference>& differences,
                     Pictures& pictures) {
  std::vector<AttentionHeads> layers;
  std::string last;
  for (const HeadDifference& difference : differences) {
    if (layers.empty() || difference.layer != last) {
      last = difference.layer;
      layers.emplace_back().name = ModelPlace::parse(last).value().attention().text();
    }
    AttentionHeads& own = layers.back();
    own.heads.resize(std::max(own.heads.size(), difference.head + 1),
                     {std::numeric_limits<double>::quiet_NaN()});
    own.heads[difference.head] = {difference.divergence};
  }
  pictures.add("heads.without",
               layers_by_heads(layers, 0, translated("What Is Lost without Each Head"), false,
                               options, translated("Divergence of the predictions in nats")));
}

// Norms layer by layer and the rollout of the last layer. `sample` ends their titles.
void add_norms_and_rollout(const NamedTensors& tensors, const std::string& sample,
                           Pictures& pictures) {
  std::string last_rollout;
  for (const auto& [name, tensor] : tensors) {
    if (name.ends_with("rollout")) last_rollout = name;
    if (name.ends_with("block_norms") || name.ends_with(".norms_of_all_heads")) {
      const bool block = name.ends_with("block_norms");
      pictures.add_map(name, tensor, 0,
                       AttentionName::of_tensor(name).row_title() + ": " +
                           (block ? translated("Norms of What the Block Adds Up")
                                  : translated("Norms of Weighted Values")) +
                           sample,
                       translated("Norm"));
    }
  }
  if (last_rollout.empty()) return;
  pictures.add_map("rollout", *find(tensors, last_rollout), 0,
                   translated("Attention Rollout") + sample, translated("Share of the Input Token"),
                   find(tensors, AttentionName::of_tensor(last_rollout).tensor("allowed")));
}

// The heads as points [N,2]; `on_map` has the attention of each.
void add_head_map(const HeadsOptions& options, const Tensor& places,
                  const std::vector<AttentionName>& on_map, Pictures& pictures) {
  PointMap map;
  map.points = places;
  std::size_t head = 0;
  for (std::size_t at = 0; at < on_map.size(); ++at) {
    const AttentionName& attention = on_map[at];
    head = at > 0 && on_map[at - 1] == attention ? head + 1 : 0;
    if (head == 0) {
      map.group_names.push_back(attention.empty() ? translated("Attention")
                                                  : attention.row_title());
    }
    map.groups.push_back(map.group_names.size() - 1);
    map.names.push_back(attention.head_name(head));
  }
  map.title = translated("Heads with Similar Maps Are Near Each Other");
  FigureOptions figure = options.plot.figure;
  if (!figure.xlabel) figure.xlabel = translated("Distances: Jensen-Shannon divergences");
  pictures.add("head_map", draw_points(map, figure, options.format));
}

// The shares of the parts of a text in each head's attention of the answer, means over its tokens.
void add_shares(const HeadsOptions& options, const AnswerShareTable& table, Pictures& pictures) {
  std::vector<AttentionName> attentions;
  for (const std::string& name : table.attentions) attentions.emplace_back(name);
  const plot::StackedBars chart = bars_of_shares(attentions, table.parts, mean_shares(table));
  FigureOptions figure = options.plot.figure;
  if (!figure.ylabel) figure.ylabel = translated("Head");
  pictures.add("shares", draw_stacked_bars(chart, figure, options.format));
}

// The likeliest token of each layer at each position of the chosen sample, tinted by its
// probability: the first of probabilities [B,layers,L,k].
void add_lens(const HeadsOptions& options, const Tensor& lens,
              const std::vector<LensTokens>& likeliest, const std::string& sample,
              Pictures& pictures) {
  const Shape& shape = lens.shape();
  if (options.sample >= shape[0]) return;
  const auto probabilities = lens.values<double>();
  std::vector<double> numbers;
  Heatmap heatmap;
  for (std::size_t layer = 0; layer < shape[1]; ++layer) {
    for (std::size_t i = 0; i < shape[2]; ++i) {
      numbers.push_back(
          probabilities[((options.sample * shape[1] + layer) * shape[2] + i) * shape[3]]);
    }
    heatmap.query_labels.push_back(translated("Layer {1}", layer));
  }
  heatmap.cell_texts.resize(shape[1] * shape[2]);
  for (const LensTokens& tokens : likeliest) {
    if (tokens.sample != options.sample) continue;
    heatmap.cell_texts[tokens.layer * shape[2] + tokens.position] =
        tokens.likeliest.front().text.empty() ? std::to_string(tokens.likeliest.front().id)
                                              : tokens.likeliest.front().text;
  }
  heatmap.weights = Tensor({shape[1], shape[2]}, std::move(numbers));
  heatmap.key_labels = pictures.tokens(shape[2]);
  PlotOptions plot = options.plot;
  if (!plot.figure.title) {
    plot.figure.title =
        translated("Logit Lens: the Likeliest Token and Its Probability{1}", sample);
  }
  if (!plot.figure.xlabel) plot.figure.xlabel = translated("Input Token");
  if (!plot.figure.ylabel) plot.figure.ylabel = "";  // rows are named as layers
  if (!plot.colors.bar_label) plot.colors.bar_label = translated("Probability");
  pictures.add("lens", draw_heatmap(heatmap, plot.heatmap(), options.format));
}

}  // namespace

std::vector<HeadPicture> head_pictures(const HeadsOptions& options, const HeadsOutcome& outcome,
                                       const NamedTensors& tensors,
                                       const std::vector<std::vector<std::string>>& labels,
                                       const std::vector<AttentionName>& on_map,
                                       const std::optional<SeenPicture>& seen) {
  Pictures pictures(options, labels, seen);
  add_statistics(options, outcome, pictures);
  if (outcome.patches) {
    add_patches(options, *outcome.patches, pictures);
    add_paths(options, *outcome.patches, pictures);
  }
  if (!outcome.induction.empty()) {
    std::vector<AttentionHeads> attentions;
    for (const InductionHeads& test : outcome.induction) {
      attentions.emplace_back().name = test.name;
      attentions.back().heads = test.heads;
    }
    constexpr std::size_t induction = 2;
    pictures.add("induction",
                 layers_by_heads(attentions, induction,
                                 translated("Induction on Random Tokens, Repeated Once"), true,
                                 options, ""));
  }
  if (!outcome.differences.empty()) add_differences(options, outcome.differences, pictures);
  if (outcome.shares) add_shares(options, *outcome.shares, pictures);
  const std::string sample =
      labels.size() > 1 ? translated(" ({1})", translated("Sample {1}", options.sample)) : "";
  if (!outcome.gradients.empty()) add_gradients(options, outcome.gradients, sample, pictures);
  add_norms_and_rollout(tensors, sample, pictures);
  if (const Tensor* contacts = find(tensors, "contacts")) {
    pictures.add_contacts(*contacts, translated("Predicted Contacts") + sample);
  }
  if (const Tensor* places = find(tensors, "head_map")) {
    add_head_map(options, *places, on_map, pictures);
  }
  if (const Tensor* lens = find(tensors, "lens.probabilities")) {
    add_lens(options, *lens, outcome.lens, sample, pictures);
  }
  return pictures.take();
}

}  // namespace attn
