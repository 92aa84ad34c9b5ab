#include "attn/run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "document/mask_reader.hpp"
#include "document/options.hpp"
#include "document/reader.hpp"
#include "pictures/dimension_chart.hpp"
#include "pictures/map_selection.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/selected_map.hpp"
#include "pictures/stages_picture.hpp"
#include "pictures/weights_picture.hpp"
#include "result/file_tasks.hpp"
#include "result/output_folder.hpp"
#include "result/result_writer.hpp"
#include "run/computation.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/count_text.hpp"
#include "support/mapped_file.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

std::vector<std::string> named(std::vector<std::string> labels, std::size_t count,
                               const char* prefix) {
  for (std::size_t i = labels.size(); i < count; ++i)
    labels.push_back(prefix + std::to_string(i + 1));
  return labels;
}

std::string file_stem(PlotKind kind) {
  for (const PlotKindInfo& row : plot_kinds()) {
    if (row.kind == kind) return std::string(row.name);
  }
  return "";
}

bool shows_weights(PlotKind kind) {
  return kind != PlotKind::dimensions && kind != PlotKind::mask;
}

// A map of bins has no single positions.
void check_pooled(const RunOptions& options) {
  const MapSelection& selection = options.selection;
  const auto refuse = [](const char* field) {
    throw Error(ErrorKind::usage,
                std::string(field) + " chooses positions, and pooled weights have bins", field,
                std::string("leave out ") + field +
                    ", or the document's \"pool\" and DocumentOptions::pool.size");
  };
  if (selection.queries) refuse("MapSelection::queries");
  if (selection.keys) refuse("MapSelection::keys");
  if (selection.drop_first > 0) refuse("MapSelection::drop_first");
  if (selection.merge_pieces) refuse("MapSelection::merge_pieces");
  if (selection.renormalize) refuse("MapSelection::renormalize");
  if (std::find(options.plots.begin(), options.plots.end(), PlotKind::stages) !=
      options.plots.end()) {
    throw Error(ErrorKind::usage, "the stages of pooled weights cannot be drawn",
                "RunOptions::plots",
                "leave out stages, or the document's \"pool\" and DocumentOptions::pool.size");
  }
}

bool is_stage(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);  // npos + 1 = 0
  return name == "scores" || name == "capped" || name == "masked" || name == "lse";
}

std::string extension(PictureFormat format) {
  for (const auto& [name, value] : picture_formats()) {
    if (value == format) return "." + std::string(name);
  }
  return "";
}

/// One kind of a document on its way from the request to files.
class KindRun {
 public:
  KindRun(const RunOptions& options, const Document& document, Plan plan, std::filesystem::path out)
      : options_(options), plan_(std::move(plan)), out_(std::move(out)) {
    const std::optional<Pooling>& pool = plan_.options().pool;
    if (pool) check_pooled(options);
    plots_ = options.plots;
    if (!pool && !wants_weights() && !options.reported_weights &&
        element_count(plan_.attentions[0].geometry.weights_shape()) >
            options.most_weights_for_heatmap &&
        std::erase(plots_, PlotKind::heatmap) > 0) {
      warn(
          "the heatmap of so many weights is left out: ask for a map of bins with "
          "DocumentOptions::pool 1024");
    }
    plan_.options().weights = wants_weights() || draws_weights() || options.reported_weights;
    plan_.options().stages = options.stages || wants(PlotKind::stages);
    plan_.options().threads = options.threads;
    report_.document = document.name();
    report_.title = plan_.title;
    report_.description = plan_.description;
    report_.kind = plan_.kind;
    report_.dtype = plan_.options().dtype;
    report_.sample = options.sample;
    report_.head = options.head;
    for (const auto& tokens : plan_.recovered_tokens) {
      std::string text;
      for (const std::string& token : tokens) text += (text.empty() ? "" : " ") + token;
      report_.recovered.push_back(std::move(text));
    }
  }

  std::size_t scores() const { return plan_.scores_count(); }

  void compute(const std::function<void(std::size_t)>& progress) {
    plan_.options().progress = progress;
    const auto start = std::chrono::steady_clock::now();
    computed_ = attn::compute(plan_);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (computed_.empty_rows > 0) {
      plan_.warnings.push_back(
          count_text(computed_.empty_rows, "query has", "queries have") + " no key left to see: " +
          (computed_.empty_rows == 1 ? "its" : "their") + " weights and output are zero");
    }
    report_.shapes = plan_.shapes;
    report_.shapes.insert(report_.shapes.end(), computed_.shapes.begin(), computed_.shapes.end());
    for (std::size_t i = 0; i < plan_.attentions.size(); ++i) {
      if (computed_.attentions[i].weights) {
        const Maps maps = maps_of(i);
        maps.check(options_.sample, options_.head);
        heatmaps_.push_back(heatmap_of(i));
        report_.weights.push_back(reported(i, maps));
      } else {
        heatmaps_.emplace_back();
        report_.weights.emplace_back().name = plan_.attentions[i].prefix + "weights";
      }
      report_.weights.back().mask = mask_text(plan_.attentions[i].mask);
    }
  }

  // Every picture but the comparison: one for each attention, or for all layers.
  void plan_pictures(std::vector<std::function<void()>>& tasks) {
    for (const PlotKind kind : plots_) {
      for (const PlannedPicture& planned : planned_pictures(kind)) {
        picture_names_.push_back(planned.name + extension(options_.format));
        pictures_.emplace_back();
        tasks.push_back([this, kind, maps = planned.maps, at = pictures_.size() - 1] {
          pictures_[at] = draw(kind, maps);
        });
      }
    }
  }

  void write(const Provenance* provenance) {
    for (const Picture& picture : pictures_) {
      for (const std::string& warning : picture.warnings) {
        if (std::find(plan_.warnings.begin(), plan_.warnings.end(), warning) ==
            plan_.warnings.end()) {
          plan_.warnings.push_back(warning);
        }
      }
    }
    if (out_ != options_.out) make_folders_below(options_.out, out_.filename());
    make_output_folder(out_);
    FileTasks tasks;
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      tasks.add(out_ / picture_names_[i],
                [&picture = pictures_[i]](AtomicFile& file) { file.write(picture.bytes); });
    }
    // The result comes last, so that it names only what is there.
    ResultFile file;
    file.kind = report_.kind;
    file.dtype = report_.dtype;
    file.title = plan_.title;
    file.description = plan_.description;
    file.labels = computed_.attentions.back().labels;
    file.shapes = report_.shapes;
    file.warnings = plan_.warnings;
    file.pictures = picture_names_;
    file.provenance = provenance;
    if (options_.timing) file.seconds = seconds_;
    for (const auto& [name, tensor] : computed_.tensors) {
      const bool weights = name == "weights" || name.ends_with(".weights") ||
                           name.ends_with("pooled_weights") || name.ends_with("pooled_allowed");
      if (weights && !wants_weights()) continue;
      if (is_stage(name) && !options_.stages) continue;
      file.tensors.emplace_back(name, tensor);
    }
    file.places =
        plan_tensors(file.tensors, options_.tensors, plan_.attentions[0].heads_only(), out_, tasks);
    report_.files = tasks.write(options_.threads);
    report_.files.push_back(out_ / "result.json");
    write_result(file, report_.files.back(), options_.threads);
    report_.warnings = plan_.warnings;
  }

  void warn(std::string warning) { plan_.warnings.push_back(std::move(warning)); }
  RunReport& report() { return report_; }
  bool draws_weights() const { return std::any_of(plots_.begin(), plots_.end(), shows_weights); }
  const Heatmap& heatmap() const { return heatmaps_[0]; }

 private:
  bool wants(PlotKind kind) const {
    return std::find(plots_.begin(), plots_.end(), kind) != plots_.end();
  }
  bool wants_weights() const { return options_.weights && plan_.weights; }

  /// A picture and the attentions that it shows.
  struct PlannedPicture {
    std::string name;
    std::vector<std::size_t> maps;
  };

  // The first picture of a kind goes by the bare name.
  std::vector<PlannedPicture> planned_pictures(PlotKind kind) const {
    std::vector<PlannedPicture> planned;
    if (kind == PlotKind::comparison) return planned;
    const std::string stem = file_stem(kind);
    if (kind == PlotKind::dimensions) return {{stem, {}}};
    // A grid shows the layers' attentions of one sort together, and their mask is the same.
    const bool together = kind == PlotKind::grid || kind == PlotKind::mask;
    std::vector<std::string> sorts;
    for (std::size_t i = 0; i < plan_.attentions.size(); ++i) {
      std::string sort = plan_.attentions[i].prefix;
      if (!sort.empty()) sort.pop_back();
      if (together) sort.erase(0, sort.rfind('.') + 1);  // npos + 1 = 0
      const auto known = std::find(sorts.begin(), sorts.end(), sort);
      if (known == sorts.end()) {
        sorts.push_back(sort);
        planned.push_back({i == 0 ? stem : stem + "." + sort, {i}});
      } else {
        planned[static_cast<std::size_t>(known - sorts.begin())].maps.push_back(i);
      }
    }
    return planned;
  }

  Maps maps_of(std::size_t attention) const {
    return Maps(computed_.attentions[attention].weights, plan_.attentions[attention].heads_only());
  }

  template <class Use>
  auto with_maps(std::size_t attention, const Use& use) const {
    const ComputedAttention& map = computed_.attentions[attention];
    const Maps maps = maps_of(attention);
    std::optional<Maps> allowed;
    if (map.allowed) allowed.emplace(map.allowed, plan_.attentions[attention].heads_only());
    return use(SelectedMaps{maps, allowed ? &*allowed : nullptr, map.labels, plan_.title,
                            options_.sample, options_.head, options_.selection});
  }

  Heatmap heatmap_of(std::size_t attention) const {
    Heatmap heatmap =
        with_maps(attention, [](const SelectedMaps& maps) { return selected_heatmap(maps); });
    const std::string& cells = computed_.attentions[attention].cells;
    if (!cells.empty()) heatmap.title += "\n" + cells;
    return heatmap;
  }

  ReportedWeights reported(std::size_t attention, const Maps& maps) const {
    const ComputedAttention& map = computed_.attentions[attention];
    ReportedWeights result;
    result.name =
        plan_.attentions[attention].prefix + (plan_.options().pool ? "pooled_weights" : "weights");
    result.heatmap = heatmaps_[attention];
    if (wants_weights()) {
      result.weights = maps.matrix(options_.sample, options_.head);
      result.query_labels =
          named(Labels::of_sample(map.labels.query, options_.sample), maps.queries(), "Q_");
      result.key_labels =
          named(Labels::of_sample(map.labels.key, options_.sample), maps.keys(), "K_");
    }
    if (map.allowed && !plan_.options().pool) {
      const auto allowed = map.allowed.values<std::uint8_t>();
      result.cells = allowed.size();
      result.hidden =
          static_cast<std::size_t>(std::count(allowed.begin(), allowed.end(), std::uint8_t{0}));
    }
    return result;
  }

  Picture draw(PlotKind kind, const std::vector<std::size_t>& of) const {
    if (kind == PlotKind::dimensions) {
      // Titles, axis names and sizes that are asked for are meant for the weights.
      PlotOptions plot = options_.plot;
      plot.title.reset();
      plot.xlabel.reset();
      plot.ylabel.reset();
      plot.figsize.reset();
      return draw_dimensions(dimension_chart(report_.shapes), plot, options_.format);
    }
    const PlannedAttention& attention = plan_.attentions[of[0]];
    if (kind == PlotKind::mask) {
      return draw_mask(
          mask_map(attention, options_.sample, options_.head, plan_.title, options_.selection, 1),
          options_.plot, options_.format);
    }
    if (kind == PlotKind::grid && of.size() > 1) return draw_layers(of);
    if (kind == PlotKind::heatmap && options_.selection.heads != MapSelection::Heads::all) {
      return draw_heatmap(heatmaps_[of[0]], options_.plot, options_.format);
    }
    return with_maps(of[0], [&](const SelectedMaps& maps) {
      if (kind != PlotKind::stages) return draw_weights(kind, maps, options_.plot, options_.format);
      const ComputedAttention& map = computed_.attentions[of[0]];
      const Stages stages{map.scores,  map.capped,  map.masked,
                          map.weights, map.allowed, attention.heads_only()};
      const HeatmapGrid grid = stages_grid(stages, stage_formulas(plan_, attention), maps);
      return draw_stages(grid, maps, options_.plot, options_.format);
    });
  }

  // Layers × heads of the chosen sample.
  Picture draw_layers(const std::vector<std::size_t>& of) const {
    const MapSelection::Heads heads = options_.selection.heads;
    const bool together = heads == MapSelection::Heads::mean || heads == MapSelection::Heads::max;
    HeatmapGrid grid{of.size(), 1, {}};
    for (std::size_t layer = 0; layer < of.size(); ++layer) {
      with_maps(of[layer], [&](const SelectedMaps& maps) {
        grid.columns = together ? 1 : maps.weights.heads();
        for (std::size_t head = 0; head < grid.columns; ++head) {
          grid.panels.push_back(selected_heatmap(maps, options_.sample, head));
          std::string& title = grid.panels.back().title;
          title = "Layer " + std::to_string(layer + 1);
          if (!together) title += ", Head " + std::to_string(head + 1);
        }
        return 0;
      });
    }
    return draw_grid(grid, options_.plot, options_.format);
  }

  const RunOptions& options_;
  std::vector<PlotKind> plots_;
  Plan plan_;
  std::filesystem::path out_;
  Computed computed_;
  double seconds_ = 0;
  RunReport report_;
  std::vector<Heatmap> heatmaps_;
  std::vector<std::string> picture_names_;
  std::vector<Picture> pictures_;
};

// The first heatmap of each kind as a column, if they are of one size.
std::vector<std::vector<Heatmap>> compared(const std::vector<std::unique_ptr<KindRun>>& runs) {
  std::vector<std::vector<Heatmap>> columns;
  for (const auto& run : runs) {
    Heatmap panel = run->heatmap();
    if (!panel.weights || panel.weights.shape() != runs[0]->heatmap().weights.shape()) return {};
    panel.title = info(run->report().kind).name;
    columns.push_back({std::move(panel)});
  }
  return columns;
}

}  // namespace

RunOutcome run(const RunOptions& given) {
  return with_whole_files(given.files, [&](const FileAccess& access) {
    RunOptions options = given;
    options.files = access;
    if (!options.provenance) return run_document(options, open_document(options));
    Provenance provenance;
    provenance.watch(options.files);
    return run_document(options, open_document(options), &provenance);
  });
}

RunOutcome run_document(const RunOptions& given, Document document, const Provenance* provenance) {
  RunOptions options = given;
  // 1. Read and check, all kinds before the first is computed.
  if (!options.weights) {
    JsonValue no;
    no.data = false;
    document.override_with("weights", std::move(no), "RunOptions::weights");
  }
  std::vector<Plan> plans = read_plans(document);
  std::vector<std::unique_ptr<KindRun>> runs;
  for (Plan& plan : plans) {
    std::filesystem::path out = plans.size() > 1 ? options.out / info(plan.kind).name : options.out;
    runs.push_back(std::make_unique<KindRun>(options, document, std::move(plan), std::move(out)));
  }

  if (provenance != nullptr) options.plot.provenance = provenance->text();

  // 2. Compute.
  std::size_t all = 0;
  std::atomic<std::size_t> done = 0;
  for (const auto& run : runs) all += run->scores();
  for (const auto& run : runs) {
    run->compute([&](std::size_t scores) {
      const std::size_t now = done += scores;
      // What single precision could not hold is computed, and counted, once more.
      if (options.progress) options.progress(std::min(now, all), all);
    });
  }

  // 3. Draw.
  std::vector<std::function<void()>> tasks;
  for (const auto& run : runs) run->plan_pictures(tasks);
  std::optional<Picture> side_by_side;
  if (runs.size() > 1 && runs[0]->draws_weights()) {
    if (const auto columns = compared(runs); !columns.empty()) {
      tasks.push_back(
          [&, columns] { side_by_side = draw_comparison(columns, options.plot, options.format); });
    } else {
      runs[0]->warn("the kinds' weights differ in size: no comparison is drawn");
    }
  }
  parallel_for(tasks.size(), options.threads, [&](std::size_t i) { tasks[i](); });

  // 4. Write.
  if (options.files.mapped) options.files.mapped->check();
  RunOutcome outcome;
  if (runs.size() > 1) make_output_folder(options.out);
  for (const auto& run : runs) run->write(provenance);
  if (side_by_side) {
    outcome.comparison =
        options.out / (file_stem(PlotKind::comparison) + extension(options.format));
    write_whole_file(*outcome.comparison, side_by_side->bytes);
  }
  for (const auto& run : runs) outcome.reports.push_back(std::move(run->report()));
  return outcome;
}

}  // namespace attn
