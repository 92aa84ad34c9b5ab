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
#include "result/output_folder.hpp"
#include "run/document_run.hpp"
#include "run/kind_run.hpp"
#include "support/atomic_file.hpp"
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

// Warnings of options of pictures that none of the pictures honours. What is chosen of the weights
// acts on reports and splits too.
std::vector<std::string> without_effect(const RunOptions& options, bool several_kinds) {
  if (options.reported_weights || options.why || options.most_weights_for_heatmap == 0) return {};
  std::vector<PlotKind> kinds = options.plots;
  if (several_kinds) kinds.push_back(PlotKind::comparison);
  PlotRequest pictures;
  pictures.options = options.plot;
  pictures.maps.selection = options.selection;
  return options_without_effect(pictures, kinds);
}

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
  // 1. Read and check, all kinds before the first is computed.
  if (!options.weights) {
    JsonValue no;
    no.data = false;
    document.override_with("weights", std::move(no), "RunOptions::weights");
  }
  std::vector<Plan> plans =
      read_plans(document, [&](Plan& sketch) { choose_results(options, sketch); });
  OutputLock lock;  // of the folder that the kinds share, before those of their own
  NewFolders made;
  std::vector<std::unique_ptr<KindRun>> runs;
  for (Plan& plan : plans) {
    std::filesystem::path out =
        plans.size() > 1 ? place_below(options.out, info(plan.kind).name) : options.out;
    runs.push_back(
        std::make_unique<KindRun>(options, document, std::move(plan), std::move(out), make));
  }

  for (const auto& run : runs) run->check_names();
  if (provenance != nullptr) options.plot.figure.provenance = provenance->text();

  if (options.foresee) {
    double bytes = 0;
    for (const auto& run : runs) bytes += run->foreseen_bytes();
    if (bytes > most_json)
      options.foresee(translated("about {1} will be written", bytes_text(bytes)));
  }

  // 2. Compute.
  std::size_t all = 0;
  std::atomic<std::size_t> done = 0;
  for (const auto& run : runs) all += run->scores();
  for (const auto& run : runs) {
    run->compute([&](std::size_t scores) {
      const std::size_t now = done += scores;
      // Scores that single precision could not hold are computed, and counted, twice.
      if (options.progress) options.progress(std::min(now, all), all);
    });
  }

  // 3. Draw.
  std::vector<std::function<void()>> tasks;
  for (const auto& run : runs) run->plan_pictures(tasks);
  std::optional<Picture> side_by_side;
  std::optional<Error> side_by_side_failure;
  const std::string comparison_name =
      std::string(picture_kind(PlotKind::comparison).info.name) + extension(options.format);
  if (runs.size() > 1 && runs[0]->draws_weights()) {
    if (auto maps = compared(runs); !maps.empty()) {
      tasks.push_back([&, drawing = Drawing{std::move(maps),
                                            {},
                                            {options.sample, options.head, options.selection},
                                            options.plot,
                                            options.format}] {
        const InEnglish english(drawing.options.figure.style == PlotStyle::matplotlib);
        side_by_side_failure = failure_of_picture(comparison_name, [&] {
          side_by_side = picture_kind(PlotKind::comparison).draw(drawing);
        });
      });
    }
  }
  parallel_for(tasks.size(), options.document.threads, [&](std::size_t i) { tasks[i](); });

  // 4. Write.
  if (options.document.files.mapped) options.document.files.mapped->check();
  RunOutcome outcome;
  if (options.answer) {
    answer(runs, options, provenance);
    for (const auto& run : runs) outcome.reports.push_back(std::move(run->report()));
    return outcome;
  }
  if (runs.size() > 1) {
    made.add(make_output_folder(options.out));
    lock = lock_folder(options.out, made);
    for (const auto& run : runs) {
      made.add(make_folder_below(options.out, info(run->report().kind).name));
    }
  }
  std::optional<HashedFile> comparison;
  if (side_by_side) {
    comparison.emplace(place_below(options.out, comparison_name));
    comparison->write(side_by_side->bytes);
    if (options.sync) comparison->file().sync();
    outcome.comparison = comparison->written();
  }
  for (const auto& run : runs) run->write(provenance, outcome.comparison);
  for (std::filesystem::path& file : comparisons_left_over(
           options.out, outcome.comparison ? outcome.comparison->path : std::filesystem::path())) {
    runs[0]->remove_after(std::move(file));
  }
  if (const auto& inputs = options.document.files.mapped) {
    for (const auto& run : runs) {
      for (const WrittenFile& file : run->report().files) inputs->refuse_output(file.path);
    }
    if (comparison) inputs->refuse_output(outcome.comparison->path);
  }
  for (const auto& run : runs) run->mark_unfinished();
  if (comparison) comparison->file().commit();
  for (const auto& run : runs) run->commit();
  for (const std::filesystem::path& folder : made.keep()) {
    if (options.sync) sync_folder(folder / "..");
  }
  if (runs.size() > 1 && options.sync) sync_folder(options.out);
  for (const auto& run : runs) outcome.reports.push_back(std::move(run->report()));
  std::ranges::move(without_effect(options, runs.size() > 1),
                    std::back_inserter(outcome.reports[0].warnings));
  if (side_by_side_failure) {
    outcome.reports[0].failed_pictures.push_back(std::move(*side_by_side_failure));
  }
  return outcome;
}

}  // namespace attn
