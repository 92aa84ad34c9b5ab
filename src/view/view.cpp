#include "attn/view.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "maps/computed_maps.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "maps/seen_picture.hpp"
#include "report/facts.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"
#include "view/page_input.hpp"
#include "view/page_maker.hpp"
#include "view/score_vectors.hpp"
#include "why/splits.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

using Sink = std::function<void(std::string_view)>;

// Only these layers of a model are computed, if they are chosen by their numbers.
void choose_layers(const ViewOptions& options, Document& document) {
  if (!options.maps.selection.layers) return;
  DocumentOptions chosen;
  std::vector<std::size_t>& layers = chosen.layers.emplace();
  for (const PositionRange& range : *options.maps.selection.layers) {
    if (!range.first || !range.end || *range.first < 0 || *range.end != *range.first + 1) return;
    layers.push_back(static_cast<std::size_t>(*range.first));
  }
  put_options(chosen, document);
}

// Splits of the scores of one head in every sample.
void put_splits(const Plan& plan, const ViewOptions& options, PageMaker& page) {
  const ModelRequest* const model = model_of(plan);
  if (model == nullptr) refuse_split_without_model("ViewOptions::why");
  WhyOptions why;
  why.head = options.why;
  const ModelPlace head = split_head(*options.why, model->folder->architecture);
  if (!model->options.wanted.chooses(head.layer)) {
    throw Error(ErrorKind::usage, translated("the page leaves out layer {1}", head.layer),
                "ViewOptions::why", translated("choose this layer too"));
  }
  std::vector<ScoreSplit> splits;
  for (std::size_t b = 0; b < model->texts.ids.size(); ++b) {
    splits.push_back(
        std::move(*split(why, *model->folder, model->texts.of_sample(b), model->options).scores));
  }
  page.take(splits);
}

// Has a pass say what the model would predict after each layer. Keeps references to both.
PassObserver early_predictions(const ModelRequest& model, PredictionsByLayer& by_layer) {
  const auto& predicted = model.options.wanted.predicted;
  const auto take = [&](const SamplePlace& at, std::size_t position, const Tensor& logits) {
    if (by_layer.empty()) {
      for (const auto& positions : predicted) by_layer.emplace_back(positions.size());
    }
    const auto& own = predicted[at.sample];
    by_layer[at.sample][static_cast<std::size_t>(std::ranges::find(own, position) - own.begin())]
        .push_back(
            {at.place.layer, prediction_of(position, logits, *model.folder).likeliest.front()});
  };
  return {.lens_at = take};
}

ViewOutcome view_document(Document document, const ViewOptions& options, const Sink& sink) {
  refuse_for_document(options.maps.selection.chosen_samples.has_value(),
                      "MapSelection::chosen_samples");
  if (document.root().find("model") != nullptr) choose_layers(options, document);
  const Plan plan = plan_of_view(options, document);
  GatheredVectors gathered = options.vectors > 0 ? GatheredVectors(plan) : GatheredVectors();
  std::vector<PassObserver> observers;
  if (options.vectors > 0 || options.stages) {
    gathered.add_layers(plan);
    observers.push_back(gathered.observer(options.stages));
  }
  PredictionsByLayer by_layer;
  if (const ModelRequest* const model = model_of(plan)) {
    observers.push_back(early_predictions(*model, by_layer));
  }
  PageMaker page(options, planned_input(plan, options), true, sink);
  if (options.why) put_splits(plan, options, page);
  const auto take = [&](AttentionMap map, std::size_t) {
    if (!map.numbers) return;
    gathered.put_stages(map);
    const auto vectors = gathered.take(map);
    if (const auto shown = planned_map(plan, std::move(map), options)) page.take(*shown, vectors);
  };
  ComputedFacts facts = compute(plan, {.map = take}, std::move(observers));
  page.take(std::move(facts.predictions), plan.model && plan.model->next);
  page.take(std::move(facts.classifications));
  page.take(std::move(by_layer));
  ViewOutcome outcome = page.finish();
  outcome.warnings.insert(outcome.warnings.end(), facts.warnings.begin(), facts.warnings.end());
  return outcome;
}

ViewOutcome view_files(const MapFiles& files, const ViewOptions& options, const Sink& sink) {
  if (options.why) refuse_split_without_model("ViewOptions::why");
  std::vector<FiledMaps> stacks =
      all_stacks(files, options.maps, options.stages ? MapContents::stages : MapContents::weights);
  PageMaker page(options, filed_input(stacks, *files[0], options), false, sink);
  const bool floats = files[0]->holds_floats();
  const std::optional<SeenPicture> picture = picture_of(*files[0]);
  for (FiledMaps& stack : stacks) {
    stack.each([&](AttentionMap map) {
      map = filed_map(std::move(map), floats, options);
      add_picture(map, picture);
      page.take(map);
    });
  }
  return page.finish();
}

}  // namespace

RunOutcome run_and_view(const RunOptions& options, const ViewOptions& given) {
  return run_with_maps_file(options, [&](const Plan& plan, const std::filesystem::path& folder) {
    check_viewable(plan);
    const auto view = std::make_shared<ViewOptions>(given);
    view->document = options.document;
    view->stages = options.stages;
    view->commands.result = {(folder / "result.json").string()};
    // Held until all is computed and drawn, as pictures are.
    const auto page = std::make_shared<std::string>();
    const auto maker =
        std::make_shared<PageMaker>(*view, planned_input(plan, *view), true,
                                    [page](std::string_view piece) { page->append(piece); });
    const auto gathered = std::make_shared<GatheredVectors>(plan);
    MapsFile file;
    file.name = "view.html";
    file.take = [view, &plan, maker, gathered](const AttentionMap& map) {
      const auto vectors = gathered->take(map);
      if (const auto shown = planned_map(plan, map, *view)) maker->take(*shown, vectors);
    };
    file.finish = [page, maker] {
      maker->finish();
      Picture picture;
      picture.bytes = std::move(*page);
      return picture;
    };
    return file;
  });
}

namespace {

// The page of the input, by calls of `page`. `done` may throw for the files that were read.
ViewOutcome view_input(const ViewOptions& given, const Sink& page,
                       const std::function<void(const FileAccess&)>& done) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    ViewOptions options = given;
    options.document.files = access;
    OpenedInput input = open_input(options.document, options.maps);
    ViewOutcome outcome = std::visit(
        Overloaded{
            [&](Document& document) { return view_document(std::move(document), options, page); },
            [&](const MapFiles& files) { return view_files(files, options, page); }},
        input);
    done(access);
    return outcome;
  });
}

}  // namespace

ViewOutcome view(const ViewOptions& options, const Sink& page) {
  return view_input(options, page, [](const FileAccess&) {});
}

ViewOutcome view(const ViewOptions& options, const std::filesystem::path& page) {
  AtomicFile file(page, Existing::followed);
  ViewOutcome outcome = view_input(
      options, [&](std::string_view piece) { file.write(piece); },
      [&](const FileAccess& access) { access.mapped->refuse_output(page); });
  file.commit();
  return outcome;
}

std::string view_text(const ViewOutcome& outcome) {
  std::string text =
      translated("{1} of {2}, {3} cells, {4} bytes",
                 translated_count(outcome.maps, "{1} map", "{1} maps"),
                 translated_count(outcome.attentions, "{1} attention", "{1} attentions"),
                 outcome.cells, outcome.bytes) +
      "\n";
  for (const std::string& note : outcome.notes) text += note + "\n";
  return text;
}

std::string view_json(const ViewOutcome& outcome, const std::filesystem::path& file) {
  return json_text(object({{"file", file.string()},
                           {"attentions", outcome.attentions},
                           {"maps", outcome.maps},
                           {"cells", outcome.cells},
                           {"bytes", outcome.bytes},
                           {"notes", outcome.notes},
                           {"warnings", outcome.warnings}}));
}

}  // namespace attn
