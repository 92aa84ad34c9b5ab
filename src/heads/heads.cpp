#include "attn/heads.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <variant>

#include "attention/attention_name.hpp"
#include "document/document.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"
#include "heads/head_pictures.hpp"
#include "heads/heads_table.hpp"
#include "heads/model_analyses.hpp"
#include "heads/token_analyses.hpp"
#include "maps/attention_map.hpp"
#include "maps/computed_maps.hpp"
#include "maps/filed_maps.hpp"
#include "maps/opened_input.hpp"
#include "maps/selected_map.hpp"
#include "models/model_folder.hpp"
#include "result/output_folder.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_names.hpp"
#include "statistics/stack_analyses.hpp"
#include "support/mapped_file.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Tensor of the rollout of a layer: `layers.0.rollout` of `layers.0.self`, "rollout" of a single
// attention.
std::string rollout_name(const AttentionName& attention) {
  return attention.is_self() ? attention.with_part("rollout").text() : attention.tensor("rollout");
}

std::string in_words(const HeadCounting& counting) {
  std::string text = counting.ignore_special
                         ? translated("Rows of special tokens do not count.")
                         : translated("Rows of all tokens count, also of special ones.");
  text += translated(
      " Rows without any weight, such as those of padding, never count; keys that a mask hides "
      "have no weight, and the largest possible entropy is that of the keys that are seen.");
  text += translated(" Separators: ");
  if (counting.separators.empty()) {
    text += translated("those of the tokenizer or, without one, [SEP], </s> and the like.");
  } else {
    for (const std::string& name : counting.separators) {
      text += (name == counting.separators.front() ? "" : ", ") + in_quotes(name);
    }
    text += ".";
  }
  return text;
}

// Cells of a rollout [B,L,L] that a token can reach: those with a share, or that a head of the
// layer sees, whose mask is [B,H,L,L] or has axes of 1.
Tensor reached(const Tensor& rollout, const Tensor& allowed) {
  const Shape& shape = rollout.shape();
  const Shape& seen = allowed.shape();
  const auto cells = allowed.values<std::uint8_t>();
  std::vector<std::uint8_t> reached(rollout.size());
  const Tensor shares = rollout.converted(DType::float64);
  const std::size_t length = shape[1];
  for (std::size_t at = 0; at < reached.size(); ++at) {
    const std::size_t b = at / (length * length), i = at / length % length, j = at % length;
    bool any = shares.values<double>()[at] != 0;
    for (std::size_t h = 0; h < seen[1] && !any; ++h) {
      const std::size_t sample = seen[0] == 1 ? 0 : b, row = seen[2] == 1 ? 0 : i;
      any = cells[((sample * seen[1] + h) * seen[2] + row) * seen[3] + (seen[3] == 1 ? 0 : j)] != 0;
    }
    reached[at] = any ? 1 : 0;
  }
  return {shape, std::move(reached)};
}

/// One reading of an input.
class Reading {
 public:
  explicit Reading(const HeadsOptions& options)
      : options_(options), distances_(options.document.threads) {
    outcome_.counted = in_words(options.counting);
    outcome_.statistics = options.statistics;
    if (outcome_.statistics.empty()) {
      for (const HeadStatisticInfo& info : head_statistics()) {
        outcome_.statistics.push_back(info.statistic);
      }
    }
  }

  HeadsOutcome read() {
    std::visit(Overloaded{[&](Document document) {
                            choose_computed_layers(document);
                            compute(document);
                          },
                          [&](const MapFiles& files) { read_files(files); }},
               open_input(options_.document, options_.maps));
    finish_distances();
    if (options_.out) write();
    return std::move(outcome_);
  }

 private:
  bool wants(HeadAnalysis analysis) const {
    return std::count(options_.analyses.begin(), options_.analyses.end(), analysis) > 0;
  }

  void refuse_what_takes_a_model() const {
    for (const HeadAnalysisInfo& info : head_analyses()) {
      if (!info.needs_model || !wants(info.analysis)) continue;
      throw Error(ErrorKind::usage,
                  translated("the analysis {1} takes a model, not maps alone", info.name),
                  "HeadsOptions::analyses", translated("leave it out, or name a model and a text"));
    }
    check_logits(false, translated("leave it out, or name a model and a text"));
    if (options_.without_heads_of.empty()) return;
    throw Error(
        ErrorKind::usage, translated("only a model can be computed without one of its heads"),
        "HeadsOptions::without_heads_of", translated("leave it out, or name a model and a text"));
  }

  void read_files(const MapFiles& files) {
    refuse_what_takes_a_model();
    MapRequest maps = options_.maps;
    maps.selection = selection_of_maps(maps.selection, options_.document);
    std::vector<FiledMaps> stacks = all_stacks(files, maps, MapContents::weights);
    of_files_ = true;
    bool first = true;
    each_of(stacks, [&](AttentionMap map) {
      check_is_map(map);
      if (std::exchange(first, false)) warn(doubts_of(map, maps, false));
      map = chosen_part(std::move(map), maps.selection);
      // Layers of one tensor, or of tensors of one name in several files.
      if (map.layer && !map.name.layer() && !pattern_of(map.tensor)) {
        map.name = AttentionName("", *map.layer, "");
      }
      take(with_tokens(std::move(map), options_.counting));
    });
  }

  void choose_computed_layers(Document& document) const {
    const MapSelection& selection = options_.maps.selection;
    const bool of_model = document.root().find("model") != nullptr;
    refuse_for_document(selection.layers && !of_model, "MapSelection::layers");
    if (choose_layers(selection, document)) return;
    throw Error(ErrorKind::usage, translated("layers of a model are chosen by their numbers"),
                "MapSelection::layers", translated("give numbers from 0, such as 1 or 0,3"));
  }

  void compute(const Document& document) {
    const bool traced = wants(HeadAnalysis::lens) && options_.logit;
    const bool whole = traced || wants(HeadAnalysis::loss) || wants(HeadAnalysis::rollout) ||
                       wants(HeadAnalysis::norms) || wants(HeadAnalysis::distances) ||
                       wants(HeadAnalysis::contacts) || takes_part(options_.maps.selection) ||
                       document.root().find("generate") != nullptr ||
                       document.root().find("continue") != nullptr;
    bool rows = false;
    Plan plan = plan_of_statistics(document, options_.document.threads, whole ? nullptr : &rows);
    outcome_.warnings = plan.warnings;
    ModelRequest* const model = model_of(plan);
    std::optional<Lens> lens;
    std::optional<TokenLens> token;
    std::optional<TokenLosses> losses;
    std::vector<PassObserver> observers;
    // Without a part of the model, the other text is for each head in its turn.
    std::optional<Patch> patch;
    if (model != nullptr) {
      std::optional<Patch>& given = model->options.patch;
      if (given && given->at.empty()) patch.swap(given);
    }
    if (model == nullptr) {
      refuse_what_takes_a_model();
    } else {
      check_logits(patch.has_value(),
                   translated("add DocumentOptions::patch without DocumentOptions::patch_at"));
      begin(*model, *plan.model);
      if (wants(HeadAnalysis::norms)) observers.push_back(norms_into(tensors_, *model));
      if (wants(HeadAnalysis::contacts)) check_contacts(*model);
      if (wants(HeadAnalysis::lens)) {
        observers.push_back(lens.emplace(*model, options_.lens_tokens).observer());
      }
      if (traced) observers.push_back(token.emplace(*model, options_).observer());
      if (wants(HeadAnalysis::loss)) observers.push_back(losses.emplace(*model).observer());
    }
    if (rows) {
      read_rows(plan, std::move(observers));
    } else {
      read_maps(plan, std::move(observers));
    }
    if (model == nullptr) return;
    if (shares_ && outcome_.shares->attentions.empty()) {
      outcome_.shares.reset();  // no layer that was chosen has any
    } else if (shares_) {
      tensors_.emplace_back("shares", outcome_.shares->shares = shares_->finish());
    }
    seen_ = picture_of(plan);
    if (lens) lens->finish(tensors_, outcome_.lens);
    if (token) token->finish(tensors_, outcome_.trace);
    if (losses) losses->finish(tensors_, outcome_.losses);
    if (wants(HeadAnalysis::gradients)) {
      outcome_.gradients = text_gradients(*model, options_, tensors_);
    }
    if (wants(HeadAnalysis::induction)) {
      outcome_.induction = induction_test(*model, options_);
      const auto& tokenizer = model->folder->tokenizer;
      const bool begun =
          tokenizer && (tokenizer->special_ids().first || tokenizer->special_ids().classifier);
      const std::size_t n = options_.induction_length, length = 2 * n + (begun ? 1 : 0);
      const auto made_for = model->folder->architecture.made_for;
      if (made_for && length > *made_for) {
        outcome_.warnings.push_back(
            translated("HeadsOptions::induction_length {1} makes texts of {2} tokens, and the "
                       "model was made for {3}: write HeadsOptions::induction_length {4} at most",
                       n, length, *made_for, (*made_for - (begun ? 1 : 0)) / 2));
      }
    }
    if (patch) outcome_.patches = head_patches(*model, *patch, options_);
    if (!options_.without_heads_of.empty()) {
      outcome_.differences = head_differences(*model, options_.without_heads_of);
    }
  }

  // Throws Error(usage) for what is asked of a patch or of logits where there are none.
  void check_logits(bool patched, const std::string& advice) const {
    if (patched) return;
    const auto refuse = [&](const char* field) {
      const bool named = !options_.document.patch_at.empty();
      throw Error(ErrorKind::usage,
                  named ? translated("DocumentOptions::patch_at names the part that is patched, so "
                                     "that none are tried in turn")
                        : translated("there is no text to patch parts from"),
                  field, named ? translated("leave one of them out") : advice);
    };
    if (!options_.sweep.empty()) refuse("HeadsOptions::sweep");
    if (options_.by_position) refuse("HeadsOptions::by_position");
    if (options_.attribution) refuse("HeadsOptions::attribution");
    if (options_.frozen_patterns) refuse("HeadsOptions::frozen_patterns");
    if (options_.paths) refuse("HeadsOptions::paths");
    if (!options_.logit || wants(HeadAnalysis::lens) || wants(HeadAnalysis::gradients)) return;
    throw Error(ErrorKind::usage, translated("the choice of a logit has no effect on this report"),
                options_.against_logit ? "HeadsOptions::against_logit" : "HeadsOptions::logit",
                translated("add a lens, gradients, a text to patch from, or a corpus: "
                           "HeadsOptions::analyses, DocumentOptions::patch, "
                           "HeadsCorpusOptions::corpus; attn-cli run splits the logit of one "
                           "text"));
  }

  // Notes what is known of a model's texts before they are computed.
  void begin(const ModelRequest& model, const ModelReport& report) {
    if (wants(HeadAnalysis::rollout) &&
        !std::ranges::all_of(model.folder->architecture.stacks.front().layers,
                             &ModelLayer::has_map)) {
      outcome_.warnings.emplace_back(
          translated("the rollout leaves out what layers without a map mix"));
    }
    if (wants(HeadAnalysis::rollout) && model.folder->architecture.stacks.front().staged) {
      outcome_.warnings.emplace_back(translated("the rollout ends where patches are merged"));
    }
    for (const auto& ids : model.texts.ids) lengths_.push_back(ids.size());
    for (const auto& ids : model.texts.decoder_ids) decoder_lengths_.push_back(ids.size());
    outcome_.tokens = report.tokens;
    if (model.answer) {
      shares_.emplace(model);
      outcome_.shares.emplace();
      outcome_.shares->parts = model.parts.names;
      for (const GeneratedText& text : report.generated) {
        auto& tokens = outcome_.shares->tokens.emplace_back(text.tokens);
        if (tokens.empty()) tokens = written_tokens(std::nullopt, text.ids);
      }
    }
  }

  void read_rows(const Plan& plan, std::vector<PassObserver> observers) {
    labels_ = plan.attentions[0].labels.query;
    warn(walk_rows(
        plan, options_.counting, nullptr, reads_scores(options_.statistics),
        [&](const TextNumbers& numbers) {
          AttentionMap map;
          map.name = AttentionName(numbers.name);
          map.same_positions = true;
          map.key_tokens.resize(1);
          put_statistics(map, numbers.values);
        },
        std::move(observers)));
  }

  void read_maps(const Plan& plan, std::vector<PassObserver> observers) {
    warn(compute_maps(
        plan, options_.counting, reads_scores(options_.statistics),
        [&](const AttentionMap& map) { take(map); },
        [&](const NamedTensor& result) {
          if (result.name == "contacts" && wants(HeadAnalysis::contacts)) {
            tensors_.emplace_back(result.name, result.tensor);
          }
        },
        std::move(observers)));
  }

  void warn(const std::vector<std::string>& warnings) {
    outcome_.warnings.insert(outcome_.warnings.end(), warnings.begin(), warnings.end());
  }

  void put_statistics(const AttentionMap& map, const std::vector<HeadValues>& values) {
    AttentionHeads& heads = outcome_.attentions.emplace_back();
    heads.name = map.name.text();
    heads.numbers = map.heads;
    heads.same_positions = map.same_positions;
    heads.tokens_known = !map.key_tokens.empty();
    for (const HeadValues& own : values) heads.heads.emplace_back(own.begin(), own.end());
  }

  void take(const AttentionMap& map) {
    if (shares_ && shares_->reads(map.name)) {
      shares_->add(map.name, map.numbers);
      outcome_.shares->attentions.push_back(map.name.text());
    }
    // Files hand over the chosen part; of what is computed only statistics leave out the rest.
    const AttentionMap part =
        map.planned ? chosen_part(map, options_.maps.selection) : AttentionMap();
    const AttentionMap& counted = map.planned ? part : map;
    put_statistics(counted, values_of(counted, options_.counting, options_.document.threads));
    count_repeated(counted, options_.counting, outcome_.attentions.back());
    for (std::size_t b = labels_.size(); b < map.numbers.shape()[0]; ++b) {
      labels_.push_back(Labels::of_sample(map.labels.query, b));
    }
    if (wants(HeadAnalysis::rollout) && map.same_positions) roll_out(map);
    if (wants(HeadAnalysis::distances) && map.same_positions) {
      const Shape& shape = map.numbers.shape();
      if (shape_.empty()) shape_ = {shape[0], shape[2], shape[3]};
      if (shape_ == Shape{shape[0], shape[2], shape[3]}) {
        distances_.add(map.numbers);
        for (std::size_t h = 0; h < shape[1]; ++h) heads_on_map_.push_back(map.name);
      }
    }
  }

  void roll_out(const AttentionMap& map) {
    const std::string stack(map.name.stack());
    const Shape& shape = map.numbers.shape();
    std::vector<std::size_t> lengths = map.name.in_decoder() ? decoder_lengths_ : lengths_;
    if (lengths.empty()) lengths.assign(shape[0], shape[2]);
    if (std::ranges::max(lengths) > shape[2]) return;  // patches were merged
    const auto [found, is_new] = rollouts_.try_emplace(stack, nullptr);
    if (is_new) {
      found->second =
          std::make_unique<Rollout>(options_.rollout, lengths, options_.document.threads);
    }
    const std::string name = rollout_name(map.name);
    Tensor rollout = found->second->next(map.numbers);
    if (map.allowed) {
      tensors_.emplace_back(AttentionName::of_tensor(name).tensor("allowed"),
                            reached(rollout, map.allowed));
    }
    tensors_.emplace_back(name, std::move(rollout));
  }

  void finish_distances() {
    if (!wants(HeadAnalysis::distances)) return;
    if (heads_on_map_.empty()) {
      outcome_.warnings.emplace_back(
          translated("the map of heads is left out: there is no attention of a text over itself"));
      return;
    }
    const Tensor distances = distances_.distances();
    tensors_.emplace_back("head_distances", distances);
    tensors_.emplace_back("head_map", scaled_to_plane(distances));
  }

  // result.json with the tensors, the tables, and the pictures.
  void write() {
    std::vector<HeadPicture> pictures;
    if (options_.plots) {
      HeadsOptions options = options_;
      if (of_files_ && options.maps.selection.chosen_samples) options.sample = 0;
      pictures = head_pictures(options, outcome_, tensors_, labels_, heads_on_map_, seen_);
    }
    ResultFolder folder(*options_.out, false);
    for (HeadPicture& picture : pictures) {
      folder.add(picture.name, std::move(picture.picture.bytes));
      for (const std::string& warning : picture.picture.warnings) {
        if (std::count(outcome_.warnings.begin(), outcome_.warnings.end(), warning) == 0) {
          outcome_.warnings.push_back(warning);
        }
      }
    }
    folder.add("heads.csv", heads_csv(outcome_, options_.table.wide));
    folder.add("heads.json", heads_json(outcome_));
    if (outcome_.patches) {
      const HeadPatches& patches = *outcome_.patches;
      if (!patches.sweeps.empty()) folder.add("patches.csv", patches_csv(patches));
      if (!patches.paths.empty()) folder.add("paths.csv", paths_csv(patches));
    }
    if (!outcome_.differences.empty())
      folder.add("differences.csv", differences_csv(outcome_.differences));
    if (outcome_.shares) folder.add("shares.csv", shares_csv(*outcome_.shares));
    if (!tensors_.empty()) folder.add("result.json", tensors_json());
    outcome_.files = folder.write_all(options_.document.files.mapped.get());
  }

  std::string tensors_json() const {
    Fact::Members tensors;
    if (seen_) {
      tensors.push_back({"image", seen_->image});
      tensors.push_back({"grid", seen_->grid()});
    }
    for (const auto& [name, tensor] : tensors_) tensors.push_back({name, tensor});
    Fact::List layers;
    for (std::size_t n = 0; outcome_.shares && n < outcome_.shares->attentions.size(); ++n)
      layers.push_back(AttentionName(outcome_.shares->attentions[n]).layer().value_or(0));
    const bool labelled = !labels_.empty() && !labels_[0].empty();
    const Fact labels = label_facts(labels_);
    return json_text(
        object({{"format", 1},
                {"labels", only_if(labelled, object({{"query", labels}, {"key", labels}}))},
                {"shares", outcome_.shares
                               ? object({{"layers", layers}, {"parts", outcome_.shares->parts}})
                               : Fact::absent()},
                {"tensors", tensors}}),
        JsonLayout::indented, options_.document.threads);
  }

  const HeadsOptions& options_;
  bool of_files_ = false;
  HeadsOutcome outcome_;
  NamedTensors tensors_;
  std::optional<SeenPicture> seen_;  // by a model of pictures
  std::optional<AnswerShares> shares_;
  HeadDistances distances_;
  Shape shape_;                              // of the maps on the map of heads, without heads
  std::vector<AttentionName> heads_on_map_;  // the attention of each head
  std::vector<std::size_t> lengths_, decoder_lengths_;
  std::map<std::string, std::unique_ptr<Rollout>> rollouts_;
  std::vector<std::vector<std::string>> labels_;
};

void check(const HeadsOptions& options) {
  const auto refuse = [](const std::string& what, const char* field, const std::string& help) {
    throw Error(ErrorKind::usage, what, field, help);
  };
  const RolloutOptions& rollout = options.rollout;
  if (!(rollout.residual >= 0 && rollout.residual <= 1)) {
    refuse(translated("the residual's share is not between 0 and 1"), "RolloutOptions::residual",
           translated("give the share of a layer's own input in its output, such as 0.5"));
  }
  if (!(rollout.discarded >= 0 && rollout.discarded < 1)) {
    refuse(translated("the share of discarded weights is not between 0 and 1"),
           "RolloutOptions::discarded",
           translated("give the share of the smallest weights of a row to leave out, such as 0.9"));
  }
  if (options.lens_tokens == 0 || options.induction_length < 2 || options.induction_samples == 0) {
    refuse(translated("a count is too small"),
           options.lens_tokens == 0       ? "HeadsOptions::lens_tokens"
           : options.induction_length < 2 ? "HeadsOptions::induction_length"
                                          : "HeadsOptions::induction_samples",
           translated("give at least 1, and at least 2 tokens to repeat"));
  }
}

}  // namespace

HeadsOutcome read_heads(const HeadsOptions& given) {
  check(given);
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    HeadsOptions options = given;
    options.document.files = access;
    return Reading(options).read();
  });
}

}  // namespace attn
