#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "attention/attention_name.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_pictures.hpp"
#include "heads/heads_table.hpp"
#include "pictures/drawing.hpp"
#include "pictures/picture_kinds.hpp"
#include "plot/numbers/ticks.hpp"
#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "result/output_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

std::string statistics_csv(const CorpusSums& sums, const std::vector<HeadStatistic>& chosen) {
  std::string text(csv_place_columns);
  text += ",statistic,value,standard_error,deviation,texts\n";
  for (const AttentionSums& attention : sums.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const std::string place = csv_place(attention.name, h);
      for (const HeadStatisticInfo& info : head_statistics()) {
        if (std::ranges::count(chosen, info.statistic) == 0) continue;
        const Moments& moments =
            attention.heads[h].statistics[static_cast<std::size_t>(info.statistic)];
        text += place + "," + std::string(info.name) + "," + in_csv(moments.mean()) + "," +
                in_csv(moments.error()) + "," + in_csv(moments.deviation()) + "," +
                std::to_string(moments.count) + "\n";
      }
    }
  }
  return text;
}

// The texts that each head has most of a statistic in, a line for each text.
std::string most_csv(const CorpusSums& sums, const std::vector<HeadStatistic>& chosen) {
  std::string text(csv_place_columns);
  text += ",statistic,rank,line,value\n";
  for (const AttentionSums& attention : sums.attentions) {
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const std::string place = csv_place(attention.name, h);
      for (const HeadStatisticInfo& info : head_statistics()) {
        if (std::ranges::count(chosen, info.statistic) == 0) continue;
        std::size_t rank = 0;
        for (const KeptText& kept :
             attention.heads[h].most[static_cast<std::size_t>(info.statistic)]) {
          text += place + "," + std::string(info.name) + "," + std::to_string(++rank) + "," +
                  std::to_string(kept.at.line) + "," + number_text(kept.value) + "\n";
        }
      }
    }
  }
  return text;
}

std::vector<double> means_by_offset(const AttentionSums& attention, std::size_t head) {
  std::vector<double> means;
  for (std::size_t i = 0; i < attention.texts_by_offset.size(); ++i) {
    const std::uint64_t count = attention.texts_by_offset[i];
    means.push_back(count == 0 ? std::numeric_limits<double>::quiet_NaN()
                               : static_cast<double>(attention.heads[head].by_offset[i].value() /
                                                     static_cast<long double>(count)));
  }
  return means;
}

std::string offsets_csv(const CorpusSums& sums) {
  std::string text(csv_place_columns);
  text += ",offset,value,standard_error,texts\n";
  for (const AttentionSums& attention : sums.attentions) {
    const auto reach = static_cast<std::ptrdiff_t>(attention.texts_by_offset.size() / 2);
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const HeadSums& head = attention.heads[h];
      for (std::size_t i = 0; i < head.by_offset.size(); ++i) {
        const Moments weights{attention.texts_by_offset[i], head.by_offset[i],
                              head.squares_by_offset[i]};
        text += csv_place(attention.name, h) + "," +
                std::to_string(static_cast<std::ptrdiff_t>(i) - reach) + "," +
                in_csv(weights.mean()) + "," + in_csv(weights.error()) + "," +
                std::to_string(weights.count) + "\n";
      }
    }
  }
  return text;
}

// A line for each part of a logit, or for each number of the analyses.
std::string moments_csv(const std::vector<NamedMoments>& all) {
  std::string text = "part,value,standard_error,deviation,texts\n";
  for (const NamedMoments& part : all) {
    const Moments& moments = part.moments;
    text += part.name + "," + in_csv(moments.mean()) + "," + in_csv(moments.error()) + "," +
            in_csv(moments.deviation()) + "," + std::to_string(moments.count) + "\n";
  }
  return text;
}

// The first numbers of the analyses.
std::string analyses_text(const std::vector<NamedMoments>& all, std::optional<std::size_t> top) {
  TextTable table{
      {{translated("number")}, {translated("mean"), true}, {translated("standard error"), true}}};
  const std::size_t shown = std::min(all.size(), top.value_or(all.size()));
  for (std::size_t n = 0; n < shown; ++n) {
    table.add({all[n].name, shown_statistic(all[n].moments.mean()),
               shown_statistic(all[n].moments.error())});
  }
  return "\n" + translated("Means of the analyses; analyses.csv has all of them.") + "\n\n" +
         table.text();
}

// The parts with the largest means.
std::string contributions_text(const CorpusSums& sums) {
  constexpr std::size_t most = 10;
  std::vector<const NamedMoments*> parts;
  for (const NamedMoments& part : sums.parts) parts.push_back(&part);
  std::stable_sort(parts.begin(), parts.end(), [](const NamedMoments* a, const NamedMoments* b) {
    return std::abs(a->moments.mean()) > std::abs(b->moments.mean());
  });
  TextTable table{{{translated("part")},
                   {translated("contribution"), true},
                   {translated("standard error"), true}}};
  for (std::size_t n = 0; n < std::min(most, parts.size()); ++n) {
    const Moments& moments = parts[n]->moments;
    table.add({parts[n]->name, shown_statistic(moments.mean()), shown_statistic(moments.error())});
  }
  const std::string what =
      sums.of_differences
          ? translated(
                "Mean contributions to the difference of the logits; contributions.csv has "
                "all parts.")
          : translated("Mean contributions to the logit; contributions.csv has all parts.");
  return "\n" + what + "\n\n" + table.text();
}

Picture contributions_picture(const CorpusSums& sums, const HeadsOptions& options) {
  WhySplits splits;
  LogitSplit& logit = splits.logit.emplace();
  std::vector<double> means;
  for (const NamedMoments& part : sums.parts) {
    const auto place = ModelPlace::parse(part.name);
    if (!place) continue;
    logit.places.push_back(*place);
    means.push_back(part.moments.mean());
  }
  const Shape shape{means.size()};
  logit.parts = Tensor(shape, std::move(means));
  if (sums.of_differences) logit.against = 0;
  Drawing drawing;
  drawing.options = options.plot;
  drawing.format = options.format;
  drawing.split.splits = std::shared_ptr<const WhySplits>(std::shared_ptr<void>(), &splits);
  if (!drawing.options.figure.title) {
    drawing.options.figure.title =
        sums.of_differences
            ? translated("Mean Contribution to the Difference of the Logits over {1} Texts",
                         sums.texts)
            : translated("Mean Contribution to the Logit over {1} Texts", sums.texts);
  }
  return draw_contributions(drawing);
}

// The means as the outcome of one reading, for the same table and pictures.
HeadsOutcome means_of(const CorpusSums& sums, const HeadsOptions& options) {
  HeadsOutcome outcome;
  outcome.statistics = options.statistics;
  if (outcome.statistics.empty()) {
    for (const HeadStatisticInfo& info : head_statistics()) {
      outcome.statistics.push_back(info.statistic);
    }
  }
  for (const AttentionSums& attention : sums.attentions) {
    AttentionHeads& heads = outcome.attentions.emplace_back();
    heads.name = attention.name;
    for (const HeadSums& head : attention.heads) {
      std::vector<double>& means = heads.heads.emplace_back();
      std::vector<double>& errors = heads.errors.emplace_back();
      for (const Moments& moments : head.statistics) {
        means.push_back(moments.mean());
        errors.push_back(moments.error());
      }
    }
  }
  if (!sums.patches.empty()) outcome.patches = sums.patches.means();
  return outcome;
}

// The mean maps of an attention.
struct MeanMaps {
  const AttentionSums* attention = nullptr;
  std::vector<Tensor> heads;  // [m,m] each
  Tensor allowed;             // bool [m,m], as earlier_keys() gives it
};

// The keys of each query up to its own, bool [m,m], if in each of these cells a head has weight and
// in no other. Absent where they do not tell what the queries see: after a window, or where no head
// has weight in such a cell.
Tensor earlier_keys(const std::vector<Tensor>& maps) {
  const Shape& shape = maps[0].shape();
  std::vector<std::uint8_t> allowed(maps[0].size());
  for (std::size_t at = 0; at < allowed.size(); ++at) {
    const bool weighs =
        std::ranges::any_of(maps, [&](const Tensor& map) { return map.values<double>()[at] != 0; });
    if (weighs != (at % shape[1] <= at / shape[1])) return {};
    allowed[at] = weighs ? 1 : 0;
  }
  return {shape, std::move(allowed)};
}

std::vector<MeanMaps> mean_maps(const CorpusSums& sums) {
  std::vector<MeanMaps> all;
  for (const AttentionSums& attention : sums.attentions) {
    if (attention.texts_by_position.empty()) continue;
    MeanMaps& own = all.emplace_back();
    own.attention = &attention;
    for (const HeadSums& head : attention.heads) {
      own.heads.push_back(head.average.means(attention.texts_by_position));
    }
    own.allowed = earlier_keys(own.heads);
  }
  return all;
}

// result.json with the mean maps of each attention [1,H,m,m], the keys that its queries see where
// these are the earlier ones, and the mean weights by offset [H, 2·reach + 1].
std::string mean_maps_json(const std::vector<MeanMaps>& all, std::size_t texts,
                           std::size_t threads) {
  Fact::Members tensors;
  for (const MeanMaps& own : all) {
    std::vector<double> by_offset;
    for (std::size_t h = 0; h < own.heads.size(); ++h) {
      const std::vector<double> means = means_by_offset(*own.attention, h);
      by_offset.insert(by_offset.end(), means.begin(), means.end());
    }
    const Shape& shape = own.heads[0].shape();
    const AttentionName name(own.attention->name);
    tensors.push_back({name.tensor("weights"), concatenated(own.heads).reshaped(
                                                   {1, own.heads.size(), shape[0], shape[1]})});
    if (own.allowed) {
      tensors.push_back({name.tensor("allowed"), own.allowed.reshaped({1, 1, shape[0], shape[1]})});
    }
    tensors.push_back(
        {name.tensor("by_offset"),
         Tensor({own.heads.size(), own.attention->texts_by_offset.size()}, std::move(by_offset))});
  }
  return json_text(
      object({{"format", 1},
              {"title", translated_count(texts, "Mean of {1} Text", "Mean of {1} Texts")},
              {"tensors", tensors}}),
      JsonLayout::indented, threads);
}

// Mean maps as layers × heads.
Picture mean_maps_picture(const std::vector<MeanMaps>& all, const HeadsOptions& options) {
  HeatmapGrid grid{0, 0, {}};
  for (const MeanMaps& own : all) {
    for (std::size_t h = 0; h < own.heads.size(); ++h) {
      Heatmap& panel = grid.panels.emplace_back();
      panel.weights = own.heads[h];
      panel.allowed = own.allowed;
      panel.title = translated("Head {1}", h);
      for (std::size_t i = 0; i < panel.weights.shape()[0]; ++i) {
        panel.key_labels.push_back(std::to_string(i));
      }
      panel.query_labels = panel.key_labels;
    }
    grid.columns = std::max(grid.columns, own.heads.size());
    grid.row_titles.push_back(AttentionName(own.attention->name).row_title());
    ++grid.rows;
  }
  PlotOptions plot = options.plot;
  plot.figure.title = plot.figure.title.value_or(translated("Mean Weights over the Texts"));
  plot.figure.xlabel = plot.figure.xlabel.value_or(translated("Key Position"));
  plot.figure.ylabel = plot.figure.ylabel.value_or(translated("Query Position"));
  return draw_grid(grid, plot.grid(), options.format);
}

// Mean weight by how far the key is before its query, a curve for each layer: the mean of its
// heads.
Picture distances_picture(const std::vector<MeanMaps>& all, const HeadsOptions& options) {
  Heatmap curves;
  std::vector<std::vector<double>> layers;
  std::size_t reach = 0;
  for (const MeanMaps& maps : all) {
    const AttentionSums& attention = *maps.attention;
    reach = attention.texts_by_offset.size() / 2;
    std::vector<double> means(reach + 1);
    for (std::size_t h = 0; h < attention.heads.size(); ++h) {
      const std::vector<double> own = means_by_offset(attention, h);
      for (std::size_t d = 0; d <= reach; ++d) {
        means[d] += own[reach - d] / static_cast<double>(attention.heads.size());
      }
    }
    layers.push_back(std::move(means));
    curves.key_labels.push_back(AttentionName(attention.name).row_title());
  }
  // Distances that no text has are left out.
  const auto known = [&](std::size_t d) { return !std::isnan(layers[0][d]); };
  std::size_t rows = 0;
  while (rows <= reach && known(rows)) ++rows;
  std::vector<double> numbers;
  for (std::size_t d = 0; d < rows; ++d) {
    for (const std::vector<double>& means : layers) numbers.push_back(means[d]);
    curves.query_labels.push_back(std::to_string(d));
  }
  curves.weights = Tensor({rows, layers.size()}, std::move(numbers));
  FigureOptions figure = options.plot.figure;
  figure.title = figure.title.value_or(translated("Mean Weight by Distance"));
  figure.xlabel = figure.xlabel.value_or(translated("Query Position − Key Position"));
  figure.ylabel = figure.ylabel.value_or(translated("Weight"));
  return draw_curves(curves, {figure, {}}, options.format);
}

// Weight by the distance of the key from its query, a row a head.
Picture offsets_picture(const CorpusSums& sums, const HeadsOptions& options) {
  Heatmap heatmap;
  std::vector<double> numbers;
  std::size_t rows = 0, columns = 0;
  for (const AttentionSums& attention : sums.attentions) {
    columns = attention.texts_by_offset.size();
    for (std::size_t h = 0; h < attention.heads.size(); ++h, ++rows) {
      const std::vector<double> means = means_by_offset(attention, h);
      numbers.insert(numbers.end(), means.begin(), means.end());
      heatmap.query_labels.push_back(AttentionName(attention.name).head_name(h));
    }
  }
  // Distances that no text has are left out, as are later keys from where on no head sees any;
  // such ones between others are hidden.
  const auto in_column = [&](std::size_t i, const auto& holds) {
    bool all = true;
    for (std::size_t h = 0; h < rows; ++h) all = all && holds(numbers[h * columns + i]);
    return all;
  };
  const auto unknown = [](double mean) { return std::isnan(mean); };
  const auto nothing = [](double mean) { return mean == 0; };
  std::size_t first = 0, end = columns;
  while (first + 1 < end && in_column(first, unknown)) ++first;
  while (end > first + 1 && in_column(end - 1, unknown)) --end;
  while (end > columns / 2 + 1 && in_column(end - 1, nothing)) --end;
  std::vector<double> shown;
  std::vector<std::uint8_t> allowed;
  for (std::size_t h = 0; h < rows; ++h) {
    for (std::size_t i = first; i < end; ++i) {
      shown.push_back(numbers[h * columns + i]);
      allowed.push_back(i > columns / 2 && in_column(i, nothing) ? 0 : 1);
    }
  }
  for (std::size_t i = first; i < end; ++i) {
    const auto offset = static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(columns / 2);
    heatmap.key_labels.push_back(plot::with_minus_signs(std::to_string(offset)));
  }
  heatmap.weights = Tensor({rows, end - first}, std::move(shown));
  heatmap.allowed = Tensor({rows, end - first}, std::move(allowed));
  PlotOptions plot = options.plot;
  plot.figure.title = plot.figure.title.value_or(translated("Mean Weight by Relative Position"));
  plot.figure.xlabel = plot.figure.xlabel.value_or(translated("Key Position − Query Position"));
  plot.figure.ylabel = plot.figure.ylabel.value_or(translated("Head"));
  return draw_heatmap(heatmap, plot.heatmap(), options.format);
}

struct ReportFile {
  std::string name;
  std::function<std::string()> bytes;
};

std::string heads_csv(const HeadsCorpusOptions& options, const HeadsOutcome& means,
                      const CorpusSums& sums) {
  return options.heads.table.wide ? heads_csv(means, true) : statistics_csv(sums, means.statistics);
}

// As asked_csv() of one text.
std::string asked_csv(const HeadsCorpusOptions& options, const HeadsOutcome& means,
                      const CorpusSums& sums) {
  std::vector<std::string> tables;
  if (!sums.patches.sweeps.empty()) tables.push_back(patches_csv(sums.patches));
  if (!sums.patches.paths.empty()) tables.push_back(paths_csv(sums.patches));
  const bool without = std::ranges::any_of(sums.analyses, [](const NamedMoments& number) {
    return number.name.starts_with("without.");
  });
  if (without) tables.push_back(moments_csv(sums.analyses));
  if (tables.empty() || !options.heads.statistics.empty())
    tables.insert(tables.begin(), heads_csv(options, means, sums));
  return joined_csv(tables);
}

// The files of a report, in their order; without sums, the names of all that there may be.
std::vector<ReportFile> report_files(const HeadsCorpusOptions& options, const CorpusSums* sums,
                                     const HeadsOutcome& means,
                                     const std::vector<MeanMaps>& averages) {
  const HeadsOptions& heads = options.heads;
  const bool split = sums == nullptr || !sums->parts.empty(),
             patched = sums == nullptr || !sums->patches.sweeps.empty(),
             averaged = sums != nullptr ? !averages.empty() : options.average.has_value(),
             drawn = heads.plots && (sums == nullptr || !sums->attentions.empty());
  std::vector<ReportFile> files;
  const auto add = [&](bool wanted, const std::string& name, std::function<std::string()> bytes) {
    if (wanted) files.push_back({name, std::move(bytes)});
  };
  const std::string picture = extension(heads.format);
  add(true, "heads.csv", [&, sums] { return heads_csv(options, means, *sums); });
  add(true, "most.csv", [&, sums] { return most_csv(*sums, means.statistics); });
  add(true, "by_offset.csv", [sums] { return offsets_csv(*sums); });
  add(split, "contributions.csv", [sums] { return moments_csv(sums->parts); });
  add(sums == nullptr || !sums->analyses.empty(), "analyses.csv",
      [sums] { return moments_csv(sums->analyses); });
  add(patched, "patches.csv", [sums] { return patches_csv(sums->patches); });
  add(sums == nullptr || !sums->patches.paths.empty(), "paths.csv",
      [sums] { return paths_csv(sums->patches); });
  add(averaged, "result.json",
      [&, sums] { return mean_maps_json(averages, sums->texts, heads.document.threads); });
  if (drawn && sums != nullptr) {
    for (HeadPicture& one : head_pictures(heads, means, {}, {}, {})) {
      add(true, one.name, [bytes = std::move(one.picture.bytes)] { return bytes; });
    }
  }
  for (const HeadStatisticInfo& info : head_statistics()) {
    add(drawn && sums == nullptr, statistic_picture(info) + picture, {});
  }
  for (const PatchedPartInfo& info : patched_parts()) {
    for (const bool of_heads : {false, true}) {
      add(drawn && sums == nullptr, patch_picture(info, of_heads) + picture, {});
    }
  }
  for (const char* end : {"logits", "query", "key", "value"}) {
    add(drawn && sums == nullptr, std::string("heads.paths.") + end + picture, {});
  }
  add(drawn, "by_offset" + picture, [&, sums] { return offsets_picture(*sums, heads).bytes; });
  add(drawn && averaged, "average" + picture,
      [&] { return mean_maps_picture(averages, heads).bytes; });
  add(drawn && averaged, "by_distance" + picture,
      [&] { return distances_picture(averages, heads).bytes; });
  add(drawn && split, "contributions" + picture,
      [&, sums] { return contributions_picture(*sums, heads).bytes; });
  return files;
}

}  // namespace

void check_report(const HeadsCorpusOptions& options, const MappedFiles& inputs) {
  for (const ReportFile& file : report_files(options, nullptr, {}, {})) {
    inputs.refuse_output(options.out / file.name);
  }
}

void report_corpus(const HeadsCorpusOptions& options, const CorpusSums& sums,
                   const MappedFiles* inputs, HeadsCorpusOutcome& outcome) {
  ResultFolder folder(options.out, false);
  HeadsOutcome means = means_of(sums, options.heads);
  const std::vector<MeanMaps> averages = mean_maps(sums);
  for (const ReportFile& file : report_files(options, &sums, means, averages)) {
    folder.add(file.name, file.bytes());
  }
  for (std::filesystem::path& file : folder.write_all(inputs)) {
    outcome.files.push_back(std::move(file));
  }
  outcome.csv = asked_csv(options, means, sums);
  means.counted = translated(
      "Means over {1} texts; heads.csv has standard errors and deviations, most.csv the texts with "
      "the largest values, by_offset.csv weights by relative position.",
      sums.texts);
  outcome.table = heads_text(means, options.heads.table);
  if (!sums.parts.empty()) outcome.table += contributions_text(sums);
  if (!sums.analyses.empty()) {
    outcome.table += analyses_text(sums.analyses, options.heads.table.top);
  }
  means.warnings = outcome.warnings;
  outcome.json = heads_json(means);
}

}  // namespace attn
