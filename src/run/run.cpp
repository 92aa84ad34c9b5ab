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
#include "pictures/drawable.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/stages_picture.hpp"
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

bool show_stages(const std::vector<PlotKind>& plots) {
  return std::any_of(plots.begin(), plots.end(), [](PlotKind kind) {
    return picture_kind(kind).shows == PictureKind::Shows::stages;
  });
}

// A map of bins has no single positions.
void check_pooled(const RunOptions& options) {
  const MapSelection& selection = options.selection;
  const auto refuse = [](const char* field) {
    throw Error(ErrorKind::usage,
                std::string(field) + " chooses positions, and pooled weights have bins", field,
                std::string("leave out ") + field +
                    ", or the document's \"pool\" and DocumentOptions::pool");
  };
  if (selection.queries) refuse("MapSelection::queries");
  if (selection.keys) refuse("MapSelection::keys");
  if (selection.drop_first > 0) refuse("MapSelection::drop_first");
  if (selection.merge_pieces) refuse("MapSelection::merge_pieces");
  if (selection.renormalize) refuse("MapSelection::renormalize");
  if (show_stages(options.plots)) {
    throw Error(ErrorKind::usage, "the stages of pooled weights cannot be drawn",
                "RunOptions::plots",
                "leave out stages, or the document's \"pool\" and DocumentOptions::pool");
  }
}

// Of one kind; more than models have layers.
constexpr std::size_t most_pictures = 200;

// Which attention of a layer it is: "self" of "layers.0.self", "encoder.self" of
// "encoder.layers.0.self".
std::string sort_of(const std::string& name) {
  const std::size_t layers = name.find("layers.");
  if (layers == std::string::npos) return name;
  return name.substr(0, layers) + name.substr(name.rfind('.') + 1);
}

// The place of a layer's number in a name, "layers.11.self", and its digits; none if there is none.
std::pair<std::size_t, std::size_t> layer_number(const std::string& name) {
  constexpr std::string_view before = "layers.";
  const std::size_t at = name.find(before);
  if (at == std::string::npos) return {name.size(), 0};
  const std::size_t first = at + before.size();
  return {first, std::min(name.find('.', first), name.size()) - first};
}

std::size_t layer_digits(const std::string& name) {
  return layer_number(name).second;
}

// Files of layers stand in their order by name: layers.02 before layers.10.
std::string in_order(std::string name, std::size_t digits) {
  const auto [first, own] = layer_number(name);
  if (own > 0 && own < digits) name.insert(first, digits - own, '0');
  return name;
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
    if (plan_.model && std::erase(plots_, PlotKind::stages) > 0) {
      warn("the stages of a model's scores are not drawn: explain() shows those of a query");
    }
    plan_.options().weights = wants_weights() || draws_weights() || options.reported_weights;
    plan_.options().stages = options.stages || show_stages(plots_);
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

  const Plan& plan() const { return plan_; }
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
    if (plan_.model) {
      report_.model = std::move(plan_.model);
      report_.model->predictions = std::move(computed_.predictions);
    }
    report_.shapes = plan_.shapes;
    report_.shapes.insert(report_.shapes.end(), computed_.shapes.begin(), computed_.shapes.end());
    for (std::size_t i = 0; i < plan_.attentions.size(); ++i) {
      report_.weights.emplace_back().name =
          plan_.attentions[i].prefix + (plan_.options().pool ? "pooled_weights" : "weights");
      drawables_.push_back(drawable_of(i));
      if (drawables_[i].weights) report(i, report_.weights.back());
      report_.weights.back().mask = mask_text(plan_.attentions[i].mask);
    }
  }

  // Every picture but the comparison: one for each attention, or for all layers.
  void plan_pictures(std::vector<std::function<void()>>& tasks) {
    for (const PlotKind kind : plots_) {
      std::vector<PlannedPicture> all = planned_pictures(kind);
      if (all.size() > most_pictures) {
        warn("only the first " + std::to_string(most_pictures) + " of " +
             std::to_string(all.size()) + " pictures of the kind " + all[0].name +
             " are drawn: draw the others from the result");
        all.resize(most_pictures);
      }
      for (const PlannedPicture& planned : all) {
        picture_names_.push_back(planned.name + extension(options_.format));
        pictures_.emplace_back();
        tasks.push_back([this, kind, maps = planned.maps, at = pictures_.size() - 1] {
          pictures_[at] = draw(picture_kind(kind), maps);
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
    file.model = report_.model ? &*report_.model : nullptr;
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
  bool draws_weights() const {
    return std::any_of(plots_.begin(), plots_.end(),
                       [](PlotKind kind) { return picture_kind(kind).shows_weights(); });
  }
  const Drawable& drawable() const { return drawables_[0]; }

 private:
  bool wants_weights() const { return options_.weights && plan_.weights; }

  /// A picture and the attentions that it shows.
  struct PlannedPicture {
    std::string name;
    std::vector<std::size_t> maps;
  };

  // The first picture of a kind goes by the bare name.
  std::vector<PlannedPicture> planned_pictures(PlotKind kind) const {
    std::vector<PlannedPicture> planned;
    const PictureKind& row = picture_kind(kind);
    if (row.unit == PictureKind::Unit::several) return planned;
    const std::string stem(row.info.name);
    if (row.unit == PictureKind::Unit::run) return {{stem, {0}}};
    const bool together = row.unit == PictureKind::Unit::sort;
    const std::string& last = plan_.attentions.back().prefix;
    const std::size_t layers = layer_digits(last);
    std::vector<std::string> sorts;
    for (std::size_t i = 0; i < plan_.attentions.size(); ++i) {
      std::string sort = plan_.attentions[i].prefix;
      if (!sort.empty()) sort.pop_back();
      if (together) sort = sort_of(sort);
      // Layers of a model see a window or all.
      if (kind == PlotKind::mask && report_.model && plan_.attentions[i].mask.window) {
        sort += ".window";
      }
      const auto known = std::find(sorts.begin(), sorts.end(), sort);
      if (known == sorts.end()) {
        sorts.push_back(sort);
        planned.push_back({i == 0 ? stem : stem + "." + in_order(sort, layers), {i}});
      } else {
        planned[static_cast<std::size_t>(known - sorts.begin())].maps.push_back(i);
      }
    }
    return planned;
  }

  Drawable drawable_of(std::size_t at) const {
    const PlannedAttention& attention = plan_.attentions[at];
    const ComputedAttention& map = computed_.attentions[at];
    Drawable drawable;
    drawable.column = info(plan_.kind).name;
    drawable.tensor = report_.weights[at].name;
    drawable.weights = map.weights;
    drawable.allowed = map.allowed;
    drawable.scores = map.scores;
    drawable.capped = map.capped;
    drawable.masked = map.masked;
    drawable.heads_only = attention.heads_only();
    drawable.heads_a_group = attention.geometry.heads / attention.geometry.kv_heads;
    drawable.formulas = stage_formulas(plan_, attention);
    drawable.mask = [this, &attention] {
      return mask_map(attention, options_.sample, options_.head, plan_.title, options_.selection,
                      1);
    };
    drawable.labels = map.labels;
    drawable.title = plan_.title;
    drawable.cells = map.cells;
    drawable.shapes = report_.shapes;
    return drawable;
  }

  void report(std::size_t at, ReportedWeights& result) {
    Drawable& drawable = drawables_[at];
    const DrawableMaps maps = maps_of(drawable);
    result.heatmap = heatmap_of(drawable, selected(maps, drawing_of({}), drawable));
    drawable.chosen = result.heatmap;
    if (wants_weights()) {
      result.weights = maps.weights.matrix(options_.sample, options_.head);
      result.query_labels = named(Labels::of_sample(drawable.labels.query, options_.sample),
                                  maps.weights.queries(), "Q_");
      result.key_labels =
          named(Labels::of_sample(drawable.labels.key, options_.sample), maps.weights.keys(), "K_");
    }
    if (drawable.allowed && !plan_.options().pool) {
      const auto allowed = drawable.allowed.values<std::uint8_t>();
      result.cells = allowed.size();
      result.hidden =
          static_cast<std::size_t>(std::count(allowed.begin(), allowed.end(), std::uint8_t{0}));
    }
  }

  Drawing drawing_of(std::vector<Drawable> drawables) const {
    return {std::move(drawables), options_.sample, options_.head,
            options_.selection,   options_.plot,   options_.format};
  }

  Picture draw(const PictureKind& kind, const std::vector<std::size_t>& of) const {
    std::vector<Drawable> drawables;
    for (const std::size_t at : of) drawables.push_back(drawables_[at]);
    Drawing drawing = drawing_of(std::move(drawables));
    if (kind.shows == PictureKind::Shows::sizes) {
      PlotOptions& options = drawing.options;
      options.title.reset();
      options.xlabel.reset();
      options.ylabel.reset();
      options.figsize.reset();
    }
    return kind.draw(drawing);
  }

  const RunOptions& options_;
  std::vector<PlotKind> plots_;
  Plan plan_;
  std::filesystem::path out_;
  Computed computed_;
  double seconds_ = 0;
  RunReport report_;
  std::vector<Drawable> drawables_;
  std::vector<std::string> picture_names_;
  std::vector<Picture> pictures_;
};

// The first attention of each kind, if their maps are of one size.
std::vector<Drawable> compared(const std::vector<std::unique_ptr<KindRun>>& runs) {
  std::vector<Drawable> drawables;
  const auto shown = [](const KindRun& run) {
    const std::optional<Heatmap>& chosen = run.drawable().chosen;
    return chosen ? chosen->weights.shape() : Shape();
  };
  for (const auto& run : runs) {
    if (shown(*run).empty() || shown(*run) != shown(*runs[0])) return {};
    drawables.push_back(run->drawable());
  }
  return drawables;
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
  std::vector<Plan> plans = read_plans(document, [&](Plan& plan) {
    plan.options() = KindRun(options, document, plan, {}).plan().options();
  });
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
    if (auto drawables = compared(runs); !drawables.empty()) {
      tasks.push_back([&, drawing = Drawing{std::move(drawables), options.sample, options.head,
                                            options.selection, options.plot, options.format}] {
        side_by_side = picture_kind(PlotKind::comparison).draw(drawing);
      });
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
    outcome.comparison = options.out / (std::string(picture_kind(PlotKind::comparison).info.name) +
                                        extension(options.format));
    write_whole_file(*outcome.comparison, side_by_side->bytes);
  }
  for (const auto& run : runs) outcome.reports.push_back(std::move(run->report()));
  return outcome;
}

}  // namespace attn
