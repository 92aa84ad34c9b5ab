#include "attn/view.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "maps/computed_maps.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "maps/seen_picture.hpp"
#include "models/model_folder.hpp"
#include "report/facts.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "view/page_input.hpp"
#include "view/page_maker.hpp"
#include "view/score_vectors.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

using Sink = std::function<void(std::string_view)>;

// Steps of a story that a page has saved.
std::vector<ViewData::StoryStep> story_of(const std::filesystem::path& file,
                                          const FileAccess& access) {
  const auto mapped = MappedFile::open(FileName::by_user(file), access);
  const auto refuse = [] {
    return input_error(translated("this is not a story of a page"), "ViewOptions::story",
                       translated("give a file that was saved by a page"));
  };
  if (!looks_like_json(mapped->bytes())) throw refuse();
  const JsonValue root = [&] {
    try {
      return parse_json(mapped->text());
    } catch (const Error& error) {
      throw error.inside("ViewOptions::story");
    }
  }();
  std::vector<ViewData::StoryStep> story;
  const JsonValue* const steps = root.is(JsonValue::Type::object) ? root.find("steps") : nullptr;
  if (steps == nullptr || !steps->is(JsonValue::Type::array)) throw refuse();
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const JsonValue& step = steps->element(i);
    if (!step.is(JsonValue::Type::object)) throw refuse();
    const JsonValue *const text = step.find("text"), *const view = step.find("view");
    for (const JsonValue* const one : {text, view}) {
      if (one == nullptr || !one->is(JsonValue::Type::string)) throw refuse();
    }
    story.push_back({text->string(), view->string()});
  }
  return story;
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

// The page of what is compared, by the same options: another model with the same texts, or another
// input.
std::string second_page(const ViewOptions& options) {
  ViewOptions other = options;
  other.against.reset();
  other.effects.reset();
  other.corpus.reset();
  other.story.reset();
  other.why.reset();
  other.paths.reset();
  other.document = without_changes(options.document);
  other.maps.others.clear();
  const bool model = options.document.model && options.document.input.empty();
  if (model) refuse_result_beside_model(*options.against, "ViewOptions::against");
  (model ? other.document.model.emplace() : other.document.input) = *options.against;
  other.title = options.against->filename().empty()
                    ? options.against->parent_path().filename().string()
                    : options.against->filename().string();
  std::string page;
  try {
    view(other, [&](std::string_view piece) { page += piece; });
  } catch (const Error& error) {
    std::error_code none;
    if (other.document.model == options.against &&
        !std::filesystem::exists(*options.against, none)) {
      throw Error(
          error.kind(), translated("there is no model {1}", in_quotes(options.against->string())),
          "ViewOptions::against",
          translated("the same texts are compared in another model; to compare two texts, "
                     "compute each with attn-cli run into a folder of its own, and view one "
                     "folder against the other"));
    }
    throw error.inside("ViewOptions::against");
  }
  return page;
}

ViewOutcome view_document(Document document, const ViewOptions& options, const Sink& sink) {
  refuse_for_document(options.maps.selection.chosen_samples.has_value(),
                      "MapSelection::chosen_samples");
  if (document.root().find("model") != nullptr) choose_layers(options.maps.selection, document);
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
  if (plan.model) {
    std::vector<ViewData::Answer> answers;
    for (const GeneratedText& one : plan.model->generated) {
      answers.push_back({one.prompt, one.probabilities, {}});
    }
    page.take(std::move(answers));
  }
  if (options.why) {
    if (model_of(plan) == nullptr) refuse_split_without_model("ViewOptions::why");
    if (*options.why != "answer") put_score_parts(plan, *options.why, page);
    put_logit_parts(plan, page);
  }
  if (options.against) page.take_second(second_page(options));
  if (options.effects) put_effects(plan, *options.effects, page);
  if (options.corpus) put_evidence(options, page);
  if (options.paths) put_paths(options, page);
  if (options.story) page.take(story_of(*options.story, options.document.files));
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
  if (options.corpus) refuse_corpus_without_model();
  if (options.effects) refuse_effects_without_prediction();
  std::vector<FiledMaps> stacks =
      all_stacks(files, options.maps, options.stages ? MapContents::stages : MapContents::weights);
  PageMaker page(options, filed_input(stacks, *files[0], options), false, sink);
  if (options.paths) put_paths(options, page);
  if (options.story) page.take(story_of(*options.story, options.document.files));
  if (options.against) page.take_second(second_page(options));
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

// A page has all queries of what is computed, and opens at the one that its address names.
[[noreturn]] void tell_address(const std::string& query) {
  std::size_t position = 0;
  throw Error(ErrorKind::usage, translated("a page of what is computed has all queries"),
              "MapSelection::query",
              parse_number(query, position)
                  ? translated("leave it out, and write {1} after the page's address, which opens "
                               "it there",
                               "#query=" + query)
                  : translated("leave it out, and choose the query in the page, whose address then "
                               "names it"));
}

// The page of the input, by calls of `page`. `done` may throw for the files that were read.
ViewOutcome view_input(const ViewOptions& given, const Sink& page,
                       const std::function<void(const FileAccess&)>& done) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    ViewOptions options = given;
    options.document.files = access;
    DocumentOptions own = options.document;
    if (options.paths && own.patch && !own.patch_at.empty()) {
      throw Error(ErrorKind::usage,
                  translated("DocumentOptions::patch_at names the part that is patched, so that "
                             "none are tried in turn"),
                  "ViewOptions::paths", translated("leave one of them out"));
    }
    // Paths alone read the other text: the maps are those of the text itself.
    if (options.paths) own.patch.reset();
    MapRequest maps = options.maps;
    const std::optional<std::string> query = std::exchange(maps.selection.query, std::nullopt);
    OpenedInput input = open_input(own, maps);
    if (query && std::holds_alternative<Document>(input)) tell_address(*query);
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
      translated("{1} ({2}, {3} cells), {4} bytes",
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
