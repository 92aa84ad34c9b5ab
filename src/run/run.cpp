#include "attn/run.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "document/reader.hpp"
#include "io/json_writer.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/reader_language.hpp"
#include "result/output_folder.hpp"
#include "run/document_run.hpp"
#include "run/kind_run.hpp"
#include "support/atomic_file.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Map of the first attention of each kind; none if one of them has no weights to show.
std::vector<DrawnMap> compared(const std::vector<std::unique_ptr<KindRun>>& runs) {
  std::vector<DrawnMap> maps;
  for (const auto& run : runs) {
    const std::optional<Heatmap>& chosen = run->first_map().chosen;
    if (!chosen || !chosen->weights) return {};
    maps.push_back(run->first_map());
  }
  return maps;
}

// Writes the result as an object; results of several kinds as a list in an object.
void answer(const std::vector<std::unique_ptr<KindRun>>& runs, const RunOptions& options,
            const Provenance* provenance) {
  JsonWriter json(options.answer, options.document.threads,
                  options.answer_in_one_line ? JsonLayout::line : JsonLayout::indented);
  if (runs.size() == 1) {
    runs[0]->answer(json, provenance);
  } else {
    json.begin_object();
    json.array("runs", runs, [&](const auto& run) { run->answer(json, provenance); });
    json.end_object();
  }
  json.finish();
}

}  // namespace

std::vector<std::string> without_effect(const RunOptions& options, bool several_kinds,
                                        bool splits) {
  if (options.most_weights_for_heatmap == 0) return {};
  std::vector<PlotKind> kinds = options.plots;
  if (several_kinds) kinds.push_back(PlotKind::comparison);
  PlotRequest pictures;
  pictures.options = options.plot;
  pictures.maps.selection = options.selection;
  pictures.format = options.format;
  if (options.reported_weights || splits) {
    // What is chosen of the weights acts on reports, splits and the page too, which has the
    // pictures' title and colours.
    pictures.maps.selection = {};
    pictures.options.figure.title.reset();
    pictures.options.colors.cmap.reset();
    pictures.options.colors.range = {};
  }
  std::vector<std::string> warnings = options_without_effect(pictures, kinds);
  if (kinds.empty() && options.format != RunOptions().format) {
    warnings.push_back(translated("{1} has no effect: no picture is drawn", "RunOptions::format"));
  }
  return warnings;
}

namespace {

// The kinds of a document on their way from the request to files, each step for all of them.
class DocumentRuns {
 public:
  // Reads and checks all kinds before the first is computed. Keeps a reference to the options.
  DocumentRuns(const RunOptions& options, Document& document, const MakeMapsFile& make)
      : options_(options) {
    std::vector<Plan> plans =
        read_plans(document, [&](Plan& sketch) { choose_results(options, sketch); });
    for (Plan& plan : plans) {
      std::filesystem::path out =
          plans.size() > 1 ? place_below(options.out, info(plan.kind).name) : options.out;
      runs_.push_back(
          std::make_unique<KindRun>(options, document, std::move(plan), std::move(out), make));
    }
    for (const auto& run : runs_) run->check_names();
  }

  void foresee() const {
    if (!options_.foresee) return;
    double bytes = 0;
    for (const auto& run : runs_) bytes += run->foreseen_bytes();
    if (bytes > most_json) {
      options_.foresee(translated("about {1} will be written", bytes_text(bytes)));
    }
  }

  void compute() {
    std::size_t all = 0;
    std::atomic<std::size_t> done = 0;
    for (const auto& run : runs_) all += run->scores();
    for (const auto& run : runs_) {
      run->compute([&](std::size_t scores) {
        const std::size_t now = done += scores;
        // Scores that single precision could not hold are computed, and counted, twice.
        if (options_.progress) options_.progress(std::min(now, all), all);
      });
    }
  }

  void draw() {
    std::vector<std::function<void()>> tasks;
    for (const auto& run : runs_) run->plan_pictures(tasks);
    if (runs_.size() > 1 && runs_[0]->draws_weights()) {
      if (auto maps = compared(runs_); !maps.empty()) {
        tasks.push_back(
            [this, drawing = Drawing{std::move(maps),
                                     {},
                                     {options_.sample, options_.head, options_.selection},
                                     options_.plot,
                                     options_.format}] {
              comparison_failure_ = failure_of_picture(comparison_name(), [&] {
                comparison_ = drawn_in(drawing.options.figure.style, [&] {
                  return picture_kind(PlotKind::comparison).draw(drawing);
                });
              });
            });
      }
    }
    parallel_for(tasks.size(), options_.document.threads, [&](std::size_t i) { tasks[i](); });
  }

  // Gives the results to the caller in place of files.
  RunOutcome answer(const Provenance* provenance) {
    attn::answer(runs_, options_, provenance);
    RunOutcome outcome;
    add_reports(outcome);
    return outcome;
  }

  RunOutcome write(const Provenance* provenance) {
    RunOutcome outcome;
    if (runs_.size() > 1) make_folders();
    std::optional<HashedFile> comparison;
    if (comparison_) {
      comparison.emplace(place_below(options_.out, comparison_name()));
      comparison->write(comparison_->bytes);
      if (options_.sync) comparison->file().sync();
      outcome.comparison = comparison->written();
    }
    for (const auto& run : runs_) run->write(provenance, outcome.comparison);
    for (std::filesystem::path& file :
         comparisons_left_over(options_.out, outcome.comparison ? outcome.comparison->path
                                                                : std::filesystem::path())) {
      runs_[0]->remove_after(std::move(file));
    }
    refuse_inputs(outcome.comparison);
    for (const auto& run : runs_) run->mark_unfinished();
    if (comparison) comparison->file().commit();
    for (const auto& run : runs_) run->commit();
    for (const std::filesystem::path& folder : made_.keep()) {
      if (options_.sync) sync_folder(folder / "..");
    }
    if (runs_.size() > 1 && options_.sync) sync_folder(options_.out);
    add_reports(outcome);
    const bool splits = std::ranges::any_of(
        outcome.reports, [](const RunReport& report) { return !report.splits.empty(); });
    std::ranges::move(without_effect(options_, runs_.size() > 1, splits),
                      std::back_inserter(outcome.reports[0].warnings));
    if (comparison_failure_) {
      outcome.reports[0].failed_pictures.push_back(std::move(*comparison_failure_));
    }
    return outcome;
  }

 private:
  std::string comparison_name() const {
    return std::string(picture_kind(PlotKind::comparison).info.name) + extension(options_.format);
  }

  void make_folders() {
    made_.add(make_output_folder(options_.out));
    lock_ = lock_folder(options_.out, made_);
    for (const auto& run : runs_) {
      made_.add(make_folder_below(options_.out, info(run->report().kind).name));
    }
  }

  // Throws if a written file would replace one that was read.
  void refuse_inputs(const std::optional<WrittenFile>& comparison) const {
    const auto& inputs = options_.document.files.mapped;
    if (!inputs) return;
    for (const auto& run : runs_) {
      for (const WrittenFile& file : run->report().files) inputs->refuse_output(file.path);
    }
    if (comparison) inputs->refuse_output(comparison->path);
  }

  void add_reports(RunOutcome& outcome) {
    for (const auto& run : runs_) outcome.reports.push_back(std::move(run->report()));
  }

  const RunOptions& options_;
  OutputLock lock_;  // of the folder that the kinds share, before those of their own
  NewFolders made_;
  std::vector<std::unique_ptr<KindRun>> runs_;
  std::optional<Picture> comparison_;  // of several kinds, side by side
  std::optional<Error> comparison_failure_;
};

}  // namespace

RunOutcome run(const RunOptions& options) {
  return run_with_maps_file(options, {});
}

RunOutcome run_with_maps_file(const RunOptions& given, const MakeMapsFile& make) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    RunOptions options = given;
    options.document.files = access;
    if (!options.provenance) {
      return run_document(options, open_document(options.document), nullptr, make);
    }
    Provenance provenance;
    provenance.watch(options.document.files);
    return run_document(options, open_document(options.document), &provenance, make);
  });
}

RunOutcome run_document(const RunOptions& given, Document document, const Provenance* provenance,
                        const MakeMapsFile& make) {
  RunOptions options = given;
  // The file needs the weights, even if nothing else does.
  options.reported_weights = options.reported_weights || make;
  if (!options.weights) {
    JsonValue no;
    no.data = false;
    document.override_with("weights", std::move(no), "RunOptions::weights");
  }
  DocumentRuns runs(options, document, make);
  if (provenance != nullptr) options.plot.figure.provenance = provenance->text();
  runs.foresee();
  try {
    runs.compute();
  } catch (const Error& error) {
    // What the document or an option says may be wrong for what is computed.
    const Error placed = document.placed(error);
    if (error.where().starts_with('/') || names_option(placed.where())) throw Error(placed);
    throw;
  }
  runs.draw();
  if (options.document.files.mapped) options.document.files.mapped->check();
  return options.answer ? runs.answer(provenance) : runs.write(provenance);
}

}  // namespace attn
