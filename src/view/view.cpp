#include "attn/view.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <stdlib.h>  // mkdtemp

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "heads/corpus_sums.hpp"
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
#include "support/utf8.hpp"
#include "tensor/operations.hpp"
#include "view/page_input.hpp"
#include "view/page_maker.hpp"
#include "view/score_vectors.hpp"
#include "why/patch_sweep.hpp"
#include "why/splits.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

using Sink = std::function<void(std::string_view)>;

Ablation way_of(const std::string& name) {
  if (name == "zero") return Ablation::zero;
  if (name == "mean") return Ablation::mean;
  throw Error(ErrorKind::usage, translated("unknown way to switch heads off: {1}", in_quotes(name)),
              "ViewOptions::effects", translated("give zero or mean"));
}

// Natural logarithms of the probabilities of logits.
std::vector<double> log_probabilities(std::vector<double> logits) {
  const double most = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - most);
  for (double& logit : logits) logit -= most + std::log(sum);
  return logits;
}

// Passes of every sample without each head, beside the first prediction of the whole model.
void put_effects(const Plan& plan, const ViewOptions& options, PageMaker& page) {
  constexpr std::size_t most_tokens = 5;
  const Ablation way = way_of(*options.effects);
  const ModelRequest* const model = model_of(plan);
  const bool predicts =
      model != nullptr && std::ranges::any_of(model->options.wanted.predicted,
                                              [](const auto& sample) { return !sample.empty(); });
  if (!predicts) {
    throw Error(ErrorKind::usage, translated("nothing is predicted here"), "ViewOptions::effects",
                translated("give a whole model, and for a masked one a text with its mask token"));
  }
  if (!model->options.heads_off.empty() || model->options.patch) {
    throw Error(ErrorKind::usage, translated("heads are switched off in the model as it is"),
                "ViewOptions::effects", translated("leave out the other change"));
  }
  const ModelFolder& folder = *model->folder;
  const Architecture& architecture = folder.architecture;
  const auto& predicted = model->options.wanted.predicted;
  EffectsByAttention all;
  for (std::size_t b = 0; b < predicted.size(); ++b) {
    if (predicted[b].empty()) continue;
    const auto take = [&](std::size_t layer, std::size_t, const std::vector<double>& whole_logits,
                          const std::vector<double>& logits) {
      auto& samples = all[ModelPlace{last_stack_of(architecture), layer}.attention().text()];
      samples.resize(predicted.size());
      ViewData::Effects& effects = samples[b];
      const std::vector<double> whole = log_probabilities(whole_logits),
                                without = log_probabilities(logits);
      double divergence = 0;
      for (std::size_t i = 0; i < whole.size(); ++i) {
        const double share = std::exp(whole[i]);
        if (share > 0) divergence += share * (whole[i] - without[i]);
      }
      effects.divergence.push_back(divergence);
      std::vector<double>& shares = effects.probabilities.emplace_back();
      for (const std::size_t i : largest_of(whole, most_tokens)) {
        shares.push_back(std::exp(without[i]));
      }
      const std::size_t likeliest = largest_of(without, 1).front();
      effects.likeliest.push_back(written_token(folder, static_cast<std::int64_t>(likeliest))
                                      .value_or("#" + std::to_string(likeliest)));
    };
    without_each_head({architecture, folder.weights, model->texts.of_sample(b), model->options},
                      way, predicted[b].front(), take);
  }
  page.take(std::move(all), *options.effects);
}

// Folder for what is read again at once; it goes with the object.
class PassingFolder {
 public:
  PassingFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "attn-corpus-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw Error(ErrorKind::file, translated("cannot make a folder"), name,
                  translated("set TMPDIR to a folder that can be written to"));
    }
    path_ = name;
  }
  ~PassingFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PassingFolder(const PassingFolder&) = delete;
  PassingFolder& operator=(const PassingFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The lines of a corpus with these numbers, blank ones not counted, as far as a page shows them.
std::map<std::uint64_t, std::string> lines_of_corpus(const std::filesystem::path& corpus,
                                                     const std::set<std::uint64_t>& wanted) {
  constexpr std::size_t most_bytes = 400;
  std::map<std::uint64_t, std::string> lines;
  std::ifstream file(corpus);
  std::string line;
  std::uint64_t number = 0;
  while (std::getline(file, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!wanted.contains(++number)) continue;
    if (corpus.extension() == ".jsonl") {
      const JsonValue document = parse_json(line);
      const JsonValue* const text =
          document.is(JsonValue::Type::object) ? document.find("text") : nullptr;
      if (text != nullptr && text->is(JsonValue::Type::string)) line = text->string();
    }
    if (line.size() > most_bytes) {
      std::size_t end = most_bytes;
      while (end > 0 && continues_character(line[end])) --end;
      line = line.substr(0, end) + "…";
    }
    lines.emplace(number, line);
  }
  return lines;
}

ViewData::HeadEvidence evidence_of(const HeadSums& sums,
                                   const std::vector<std::uint64_t>& texts_by_offset,
                                   const std::map<std::uint64_t, std::size_t>& rows) {
  ViewData::HeadEvidence head;
  for (std::size_t s = 0; s < weight_statistic_count; ++s) {
    head.mean.push_back(sums.statistics[s].mean());
    head.error.push_back(sums.statistics[s].error());
    auto& strongest = head.strongest.emplace_back();
    for (const KeptText& text : sums.most[s])
      strongest.emplace_back(rows.at(text.line), text.value);
  }
  for (std::size_t at = 0; at < sums.by_offset.size(); ++at) {
    const auto texts = static_cast<double>(texts_by_offset[at]);
    head.by_distance.push_back(texts > 0 ? static_cast<double>(sums.by_offset[at].value()) / texts
                                         : std::numeric_limits<double>::quiet_NaN());
  }
  return head;
}

// What the texts of the corpus say of each head of the model.
void put_evidence(const ViewOptions& options, PageMaker& page) {
  if (!options.document.model) {
    throw Error(ErrorKind::usage, translated("a corpus is read by a model"), "ViewOptions::corpus",
                translated("give a model with DocumentOptions::model"));
  }
  const PassingFolder folder;
  HeadsCorpusOptions corpus;
  corpus.heads.document.model = options.document.model;
  corpus.heads.document.architecture = options.document.architecture;
  corpus.heads.document.threads = options.document.threads;
  corpus.heads.counting = options.counting;
  corpus.corpus = *options.corpus;
  corpus.out = folder.path();
  read_corpus(corpus);
  const auto stored = MappedFile::open(FileName::by_user(folder.path() / "corpus.json"));
  const CorpusSums sums = read_sums(stored->text()).sums;
  std::set<std::uint64_t> wanted;
  for (const AttentionSums& attention : sums.attentions) {
    for (const HeadSums& head : attention.heads) {
      for (const auto& most : head.most) {
        for (const KeptText& text : most) wanted.insert(text.line);
      }
    }
  }
  ViewData::Evidence evidence{sums.texts, corpus.reach, {}};
  std::map<std::uint64_t, std::size_t> rows;
  const auto lines = lines_of_corpus(corpus.corpus, wanted);
  for (const std::uint64_t line : wanted) {
    rows[line] = evidence.texts.size();
    const auto text = lines.find(line);
    evidence.texts.push_back(text == lines.end() ? "" : text->second);
  }
  EvidenceByAttention all;
  for (const AttentionSums& attention : sums.attentions) {
    for (const HeadSums& head : attention.heads) {
      all[attention.name].push_back(evidence_of(head, attention.texts_by_offset, rows));
    }
  }
  page.take(std::move(evidence), std::move(all));
}

// Steps of a story that a page has saved.
std::vector<ViewData::StoryStep> story_of(const std::filesystem::path& file,
                                          const FileAccess& access) {
  const auto mapped = MappedFile::open(FileName::by_user(file), access);
  const JsonValue root = parse_json(mapped->text());
  std::vector<ViewData::StoryStep> story;
  const JsonValue* const steps = root.is(JsonValue::Type::object) ? root.find("steps") : nullptr;
  const auto refuse = [] {
    return input_error(translated("this is not a story of a page"), "ViewOptions::story",
                       translated("give a file that was saved by a page"));
  };
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
  other.maps.others.clear();
  (options.document.model && options.document.input.empty() ? other.document.model.emplace()
                                                            : other.document.input) =
      *options.against;
  other.title = options.against->filename().empty()
                    ? options.against->parent_path().filename().string()
                    : options.against->filename().string();
  std::string page;
  view(other, [&](std::string_view piece) { page += piece; });
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
  if (options.effects) put_effects(plan, options, page);
  if (options.corpus) put_evidence(options, page);
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
  if (options.corpus) {
    throw Error(ErrorKind::usage, translated("a corpus is read by a model"), "ViewOptions::corpus",
                translated("give a model with DocumentOptions::model"));
  }
  if (options.effects) {
    throw Error(ErrorKind::usage, translated("nothing is predicted here"), "ViewOptions::effects",
                translated("give a whole model, and for a masked one a text with its mask token"));
  }
  std::vector<FiledMaps> stacks =
      all_stacks(files, options.maps, options.stages ? MapContents::stages : MapContents::weights);
  PageMaker page(options, filed_input(stacks, *files[0], options), false, sink);
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
