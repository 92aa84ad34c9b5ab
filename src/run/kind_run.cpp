#include "run/kind_run.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <variant>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "document/mask_reader.hpp"
#include "maps/attention_map.hpp"
#include "maps/map_selection.hpp"
#include "pictures/reader_language.hpp"
#include "result/tensor_names.hpp"
#include "statistics/head_values.hpp"
#include "support/atomic_file.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/seconds_since.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

// Whether no blank comes before a token where words are pieces of WordPiece, as tokenizers' decoder
// of that name clears blanks away.
bool follows_closely(std::string_view token) {
  constexpr std::string_view beginnings[]{".", "?", "!", ",", "n't", "'m", "'s", "'ve", "'re"};
  return std::ranges::any_of(
      beginnings, [&](std::string_view beginning) { return token.starts_with(beginning); });
}

// The text that tokens spell: pieces after "##" continue a word, "▁" and "Ġ" begin one, and special
// tokens such as [CLS] or <s> are left out.
std::string put_together(const std::vector<std::string>& tokens) {
  constexpr std::string_view continuing = "##";
  const bool marked = std::ranges::any_of(tokens, [](const std::string& token) {
    return token.starts_with("▁") || token.starts_with("Ġ");
  });
  std::string text;
  for (std::string_view token : tokens) {
    const bool special = token.size() > 2 && ((token.front() == '[' && token.back() == ']') ||
                                              (token.front() == '<' && token.back() == '>'));
    if (special) continue;
    bool begins = !marked && !follows_closely(token);
    if (token.starts_with("▁") || token.starts_with("Ġ")) {
      token.remove_prefix(token.starts_with("▁") ? std::string_view("▁").size()
                                                 : std::string_view("Ġ").size());
      begins = true;
    } else if (token.size() > continuing.size() && token.starts_with(continuing)) {
      token.remove_prefix(continuing.size());
      begins = false;
    }
    if (begins && !text.empty()) text += ' ';
    text += token;
  }
  return text;
}

// Steps of scores and weights beside scale, mask and softmax, "softcap 50; …"; empty without any.
std::string other_steps(const AttentionOptions& options, bool first) {
  std::string text;
  const auto add = [&](const std::string& step) {
    text += (text.empty() ? "" : translated("; ")) + step;
  };
  if (options.softcap) add(translated("softcap {1}", number_text(*options.softcap)));
  if (first && options.sinks)
    add(translated("a sink per head takes a share of each row, whose weights sum to less than 1"));
  if (options.fused_rounding && is_half(options.dtype))
    add(translated("rounded as fused kernels round"));
  return text;
}

// Pictures of one kind: more than models have layers.
constexpr std::size_t most_pictures = 200;

using Clock = std::chrono::steady_clock;

}  // namespace

Tensor ShownMatrices::copied(const Tensor& matrix) {
  if (!matrix) return matrix;
  const std::size_t bytes = matrix.size() * size_of(matrix.dtype());
  if (!room_) {
    size_ = count_ * bytes;
    room_ = new_elements<std::byte>(size_);
  }
  std::shared_ptr<std::byte> owner = room_;
  std::byte* to = room_.get() + used_;
  if (bytes > size_ - used_) {
    owner = new_elements<std::byte>(bytes);
    to = owner.get();
  } else {
    // The next matrix begins where a number of any type may.
    constexpr std::size_t line = 64;
    used_ = std::min(size_, (used_ + bytes + line - 1) / line * line);
  }
  std::memcpy(to, matrix.bytes(), bytes);
  return Tensor::borrowed(matrix.shape(), matrix.dtype(), to, owner);
}

KindRun::KindRun(const RunOptions& options, const Document& document, Plan plan,
                 std::filesystem::path out, const MakeMapsFile& make)
    : options_(options), plan_(std::move(plan)), folder_(std::move(out), options.sync) {
  plots_ = choose_results(options, plan_);
  report_.document = document.name();
  report_.title = plan_.title;
  report_.description = plan_.description;
  report_.kind = plan_.kind;
  report_.dtype = plan_.options().dtype;
  report_.sample = options.sample;
  report_.head = options.head;
  std::size_t recovered = 0, unknown = 0;
  for (const auto& tokens : plan_.recovered_tokens) {
    std::string text;
    for (const std::string& token : tokens) {
      text += (text.empty() ? "" : " ") + token;
      unknown += token == "[UNK]" || token == "<unk>" ? 1 : 0;
    }
    recovered += tokens.size();
    report_.recovered.push_back(std::move(text));
    report_.recovered_texts.push_back(put_together(tokens));
  }
  if (unknown > 0) {
    plan_.warnings.push_back(
        translated("{1} of {2} recovered tokens are unknown ones: the vocabulary cannot spell what "
                   "they stand for, and the text leaves them out",
                   unknown, recovered));
  }
  if (options.stages || !report_.recovered.empty()) {
    for (const NamedTensor& token : plan_.tokens)
      report_.tokens.emplace_back(token.name, token.tensor);
  }
  const auto* request = std::get_if<AttentionRequest>(&plan_.computation);
  const auto* given = request != nullptr ? std::get_if<GivenScores>(&request->score) : nullptr;
  if (given != nullptr && has_rows_of_weights(given->scores)) {
    plan_.warnings.emplace_back(
        translated("the rows of the scores sum to one: if they are weights already, draw them with "
                   "plot() as {\"weights\": …}"));
  }
  format_ = options.tensors.value_or(TensorFormat::json);
  if (!plan_.attentions.empty()) {
    const MapSelection& chosen = options.selection;
    const Geometry& geometry = plan_.attentions[0].geometry;
    refuse_from_end(chosen.chosen_samples, "MapSelection::chosen_samples", geometry.batch);
    refuse_from_end(chosen.chosen_heads, "MapSelection::chosen_heads", geometry.heads);
  }
  choice_ = {options.sample, options.head, options.selection};
  const MapSelection& selection = options.selection;
  const ModelRequest* const model = model_of(plan_);
  chooses_heads_ = model != nullptr && !model->folder->architecture.vision && options.head == 0 &&
                   !selection.chosen_heads && selection.heads == MapSelection::Shown::one &&
                   plan_.attentions[0].geometry.heads > 1;
  report_.chooses_heads = chooses_heads_;
  if (make) maps_file_ = make(plan_, folder_.path());
}

void KindRun::compute(const Progress& progress) {
  report_.weights.resize(plan_.attentions.size());
  maps_.resize(plan_.attentions.size());
  shown_ = ShownMatrices(plan_.attentions.size());
  if (const ModelRequest* model = model_of(plan_); model != nullptr && !model->why.empty()) {
    split(*model, progress);
  }
  if (plan_.model && !options_.answer && options_.only.empty() && wants_weights()) {
    const auto tensors = foreseen();
    choose_format(tensors);
    if (TensorStream::takes(format_)) {
      folder_.make();
      stream_.emplace(format_, tensors, folder_.path(), options_.document.threads, options_.sync);
    }
  }
  const auto start = Clock::now();
  const auto untimed = [this](const auto& work) {
    const auto since = Clock::now();
    work();
    seconds_ -= seconds_since(since);
  };
  ComputedFacts facts = attn::compute(
      plan_,
      {.tensor = [&](NamedTensor tensor) { untimed([&] { take(std::move(tensor)); }); },
       .map = [&](AttentionMap map, std::size_t at) { untimed([&] { take(std::move(map), at); }); },
       .progress = progress});
  for (NamedTensor& tensor : why_tensors_) take(std::move(tensor));
  seconds_ += seconds_since(start);
  const std::size_t empty = facts.empty_rows - std::min(facts.empty_rows, plan_.rows_beyond);
  if (empty > 0) {
    plan_.warnings.push_back(
        translated_count(empty, "{1} query has no key left to see: its weights and output are zero",
                         "{1} queries have no key left to see: their weights and output are zero"));
  }
  for (std::string& warning : facts.warnings) plan_.warnings.push_back(std::move(warning));
  std::ranges::move(choices_in_vain_, std::back_inserter(plan_.warnings));
  if (plan_.model) {
    report_.model = std::move(plan_.model);
    report_.model->predictions = std::move(facts.predictions);
    report_.model->classifications = std::move(facts.classifications);
    report_.model->similarities = std::move(facts.similarities);
    report_.model->token_similarity = std::move(facts.token_similarity);
  }
  check_only(options_, plan_, tensors_);
  report_.shapes = plan_.shapes;
  report_.file_types = plan_.file_types;
  report_.shapes.insert(report_.shapes.end(), facts.shapes.begin(), facts.shapes.end());
}

void KindRun::plan_pictures(std::vector<std::function<void()>>& tasks) {
  for (const PlotKind kind : plots_) {
    std::vector<NamedPicture> all = pictures_of(kind, plan_.attentions, report_.model.has_value());
    if (all.size() > most_pictures) {
      warn(
          translated("only the first {1} of {2} pictures of the kind {3} are drawn: draw the "
                     "others from the result",
                     most_pictures, all.size(), all[0].name));
      all.resize(most_pictures);
    }
    for (const NamedPicture& planned : all) {
      picture_names_.push_back(planned.name + extension(options_.format));
      pictures_.emplace_back();
      failures_.emplace_back();
      tasks.push_back([this, kind, maps = planned.attentions, at = pictures_.size() - 1] {
        failures_[at] = failure_of_picture(picture_names_[at],
                                           [&] { pictures_[at] = draw(picture_kind(kind), maps); });
      });
    }
  }
  if (!maps_file_.take) return;
  picture_names_.push_back(maps_file_.name);
  pictures_.push_back(maps_file_.finish());
  failures_.emplace_back();
}

void KindRun::answer(JsonWriter& json, const Provenance* provenance) {
  facts_of(result(provenance)).write(json);
  report_.warnings = plan_.warnings;
}

bool KindRun::wants_weights() const {
  return attn::wants_weights(options_, plan_);
}

bool KindRun::is_written(std::string_view name) const {
  return attn::is_written(name, options_, plan_);
}

ResultFile KindRun::result(const Provenance* provenance) const {
  ResultFile file;
  file.kind = report_.kind;
  file.dtype = report_.dtype;
  file.title = plan_.title;
  file.description = plan_.description;
  // Where patches are merged, layers have names of their own, which are those of overlays anyway.
  const ModelRequest* const model = model_of(plan_);
  if (model == nullptr || !model->folder->architecture.stacks.front().staged) {
    file.labels = maps_.back().map.labels;
  }
  file.shapes = report_.shapes;
  file.model = report_.model ? &*report_.model : nullptr;
  for (const auto& why : why_) {
    ResultSplits& own = file.splits.emplace_back();
    own.of = &why->splits;
    if (!own.of->logit || own.of->logit->label) continue;
    const LogitSplit& logit = *own.of->logit;
    const auto text_of = [&](std::size_t token) {
      return written_token(*model_of(plan_)->folder, static_cast<std::int64_t>(token)).value_or("");
    };
    own.logit_text = text_of(logit.token);
    if (logit.against) own.against_text = text_of(*logit.against);
  }
  if (report_.model && wants_weights()) file.seen = seen_keys();
  const Geometry& geometry = plan_.attentions[0].geometry;
  if (geometry.kv_heads < geometry.heads) file.kv_heads = geometry.kv_heads;
  file.warnings = plan_.warnings;
  file.pictures = picture_names_;
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    const Picture& picture = pictures_[i];
    if (!picture.caption.empty())
      file.captions.push_back({picture_names_[i], picture.caption, picture.description});
  }
  file.provenance = provenance;
  if (options_.timing) file.seconds = seconds_;
  for (const auto& tensor : tensors_) {
    if (is_written(tensor.first)) file.tensors.push_back(tensor);
  }
  return file;
}

// Seen keys of a model's attentions. Layers that share a mask have one entry.
std::vector<SeenKeys> KindRun::seen_keys() const {
  std::vector<SeenKeys> all;
  std::vector<const void*> known;
  for (std::size_t i = 0; i < plan_.attentions.size(); ++i) {
    const Tensor& allowed = maps_[i].map.allowed;
    if (!allowed) continue;
    const auto same = std::find(known.begin(), known.end(), allowed.bytes());
    const auto at = static_cast<std::size_t>(same - known.begin());
    if (same == known.end()) {
      known.push_back(allowed.bytes());
      all.push_back({{}, ranges_of(allowed)});
    }
    all[at].attentions.push_back(plan_.attentions[i].name.prefix());
  }
  return all;
}

void KindRun::write(const Provenance* provenance, const std::optional<WrittenFile>& comparison) {
  for (const Picture& picture : pictures_) {
    for (const std::string& warning : picture.warnings) {
      if (std::find(plan_.warnings.begin(), plan_.warnings.end(), warning) ==
          plan_.warnings.end()) {
        plan_.warnings.push_back(warning);
      }
    }
  }
  folder_.make();
  for (std::size_t i = 0; i < pictures_.size(); ++i) {
    if (failures_[i]) {
      report_.failed_pictures.push_back(std::move(*failures_[i]));
      continue;
    }
    folder_.add(picture_names_[i],
                [&picture = pictures_[i]](HashedFile& file) { file.write(picture.bytes); });
  }
  if (!stream_) {
    std::vector<std::pair<std::string, Tensor>> written;
    for (const auto& tensor : tensors_) {
      if (is_written(tensor.first)) written.push_back(tensor);
    }
    choose_format(written);
    // Files of tensors have once what all heads see; nested arrays have the shape of the weights.
    for (auto& [name, numbers] : tensors_) {
      const bool once = format_ != TensorFormat::json && holds_seen_keys(name);
      if (once && is_written(name)) numbers = once_for_heads(numbers);
    }
  }
  ResultFile result = this->result(provenance);
  result.comparison = comparison;
  const std::filesystem::path& input = options_.document.input;
  if (options_.says_document && !input.empty() && input != "-") {
    std::error_code none;
    result.document = std::filesystem::proximate(input, folder_.path(), none).generic_string();
  }
  result.places =
      stream_ ? stream_->finish(folder_)
              : plan_tensors(result.tensors, format_, plan_.attentions[0].heads_only(), folder_);
  report_.files = folder_.write(options_.document.threads,
                                [&](const std::vector<WrittenFile>& others, HashedFile& file) {
                                  result.files = others;
                                  write_result(result, file, options_.document.threads);
                                });
  LeftOver older = left_over(folder_.path(), report_.files);
  for (std::filesystem::path& file : older.files) remove_after(std::move(file));
  report_.warnings = plan_.warnings;
  // The result itself does not depend on what was there before it.
  if (options_.says_document && !older.document.empty() && older.document != result.document) {
    report_.warnings.push_back(
        translated("the result of another document in {1} is replaced: that of {2}",
                   in_quotes(folder_.path().native()),
                   in_quotes((folder_.path() / older.document).lexically_normal().native())));
  }
}

void KindRun::remove_after(std::filesystem::path file) {
  const auto& inputs = options_.document.files.mapped;
  if (inputs && inputs->input_at(file)) return;
  folder_.remove_after(file);
  report_.removed.push_back(std::move(file));
}

void KindRun::choose_format(std::span<const std::pair<std::string, Tensor>> tensors) {
  if (options_.tensors || format_ != TensorFormat::json) return;
  const double bytes = bytes_as_json(tensors);
  if (bytes <= most_json_of(plan_, options_)) return;
  format_ = TensorFormat::safetensors;
  plan_.warnings.push_back(
      translated("the tensors are in tensors.safetensors: in result.json they would take about "
                 "{1}; RunOptions::tensors json writes them there anyway",
                 bytes_text(bytes)));
}

bool KindRun::draws_weights() const {
  return std::ranges::any_of(plots_, &PictureKind::shows_weights, picture_kind);
}

// Splits are computed before the model, as files are begun with the shapes of all tensors.
void KindRun::split(const ModelRequest& model, const Progress& progress) {
  const std::size_t samples = model.why.size();
  if (options_.sample >= samples) {
    throw input_error(
        translated_count(samples, "there is no sample {2}: the document has {1} sample",
                         "there is no sample {2}: the document has {1} samples", options_.sample),
        "RunOptions::sample", give_below(samples));
  }
  for (std::size_t b = 0; b < samples; ++b) {
    why_.push_back(std::make_shared<const RunSplits>(named_splits(
        attn::split(model.why[b], *model.folder, model.texts.of_sample(b), model.options, progress),
        plan_, report_.document, b)));
    const auto put = [&](const char* name, const Tensor& tensor) {
      if (!tensor) return;
      why_tensors_.push_back(
          {split_tensor(name, b, samples), tensor.converted(model.options.dtype)});
    };
    const auto& [scores, logit] = why_.back()->splits;
    if (scores) put("why.scores", scores->parts);
    if (!logit) continue;
    put("contribution.parts", logit->parts);
    put("contribution.tokens", logit->tokens);
    put("contribution.cross_tokens", logit->cross_tokens);
  }
  report_.splits = why_;
}

std::vector<std::pair<std::string, Tensor>> KindRun::foreseen() const {
  auto tensors = foreseen_results(options_, plan_);
  for (const NamedTensor& tensor : why_tensors_) tensors.emplace_back(tensor.name, tensor.tensor);
  return tensors;
}

// Whether the weights stay in memory for the result.
bool KindRun::keeps_weights() const {
  return !stream_ && wants_weights();
}

// Whether pictures are drawn of the whole map, and not of its chosen heatmap or of few rows.
bool KindRun::draws_whole(const AttentionMap& map) const {
  return std::any_of(plots_.begin(), plots_.end(), [&](PlotKind kind) {
    if (!picture_kind(kind).shows_weights()) return false;
    if (kind == PlotKind::heatmap) return side_by_side(options_.selection);
    return !map.picture || !picture_kind(kind).shows_picture();
  });
}

void KindRun::take(NamedTensor tensor) {
  auto& [name, numbers] = tensor;
  const bool output = name == "output", written = is_written(name);
  if (stream_ && holds_seen_keys(name)) numbers = once_for_heads(numbers);
  if (stream_ && written) stream_->put(name, numbers);
  if (output && written) report_.output = numbers;
  // Elements that are in a file already, or in no file, are not kept.
  if (!written || (stream_ && !output)) {
    numbers = shape_only(numbers.shape(), numbers.dtype());
  }
  tensors_.emplace_back(std::move(name), std::move(numbers));
}

void KindRun::take(AttentionMap map, std::size_t at) {
  const PlannedAttention& attention = plan_.attentions[at];
  DrawnMap& drawn = maps_[at];
  drawn.column = info(plan_.kind).name;
  drawn.formulas = stage_formulas(plan_, attention);
  drawn.map = std::move(map);
  ReportedWeights& reported = report_.weights[at];
  reported.name = drawn.map.tensor;
  reported.mask = mask_text(attention.mask);
  reported.other_steps = other_steps(plan_.attention_options(), !attention.name.is_cross());
  reported.query_labels = Labels::of_sample(attention.labels.query, options_.sample);
  reported.queries = attention.geometry.queries;
  reported.keys = attention.geometry.keys;
  reported.head = options_.head;
  if (chooses_heads_ && drawn.map.numbers && drawn.map.numbers.rank() == 4 &&
      options_.sample < drawn.map.numbers.shape()[0]) {
    reported.head = telling_head(drawn.map.numbers, drawn.map.allowed, options_.sample,
                                 attention.name.is_self(), options_.document.threads);
  }
  if (at == 0) report_.head = reported.head;
  if (drawn.map.numbers) report(at, reported);
  if (drawn.map.numbers && maps_file_.take) maps_file_.take(drawn.map);
  const bool over_picture = std::ranges::any_of(plots_, &PictureKind::shows_picture, picture_kind);
  if (drawn.map.numbers && drawn.map.picture && over_picture) {
    drawn.asked = asked_rows(drawn.map, choice_of(at));
  }
  if (!drawn.map.numbers || keeps_weights() || draws_whole(drawn.map)) return;
  const bool same = reported.weights.bytes() == reported.heatmap.weights.bytes();
  reported.heatmap.weights = shown_.copied(reported.heatmap.weights);
  reported.weights = same ? reported.heatmap.weights : shown_.copied(reported.weights);
  drawn.chosen = reported.heatmap;
  drawn.map.numbers = shape_only(drawn.map.numbers.shape(), drawn.map.numbers.dtype());
}

void KindRun::report(std::size_t at, ReportedWeights& result) {
  DrawnMap& drawn = maps_[at];
  const AttentionMap& map = drawn.map;
  const MapChoice choice = choice_of(at);
  const SelectedMap chosen = made_in(options_.plot.figure.style, [&] {
    SelectedMap selected(map, choice);
    drawn.chosen = heatmap_of(selected);
    // A terminal shows it as the report counts.
    selected.first_number = 0;
    result.heatmap = *drawn.chosen;
    result.heatmap.first_number = 0;
    result.heatmap.title = title_of(selected);
    return selected;
  });
  if (at == 0) {
    choices_in_vain_ = choices_without_effect(map, choice);
    const bool own_titles = !options_.plot.figure.title && !options_.plot.titles;
    if (own_titles && draws_weights()) {
      if (auto counting = counting_warning(SelectedMap(map, choice)))
        choices_in_vain_.push_back(std::move(*counting));
    }
  }
  if (wants_weights()) {
    result.weights = chosen.numbers.matrix(options_.sample, result.head);
    // Cells of several positions that have no labels are named in pictures alone.
    const Labels& given = plan_.attentions[at].labels;
    const auto labels = [&](const auto& of_input, const auto& of_map) {
      const bool any = !Labels::of_sample(of_input, options_.sample).empty();
      return any ? Labels::of_sample(of_map, options_.sample) : std::vector<std::string>();
    };
    result.query_labels = labels(given.query, map.labels.query);
    result.key_labels = labels(given.key, map.labels.key);
  }
  if (map.allowed && !plan_.pool()) {
    const auto allowed = map.allowed.values<std::uint8_t>();
    result.cells = allowed.size();
    result.hidden =
        static_cast<std::size_t>(std::count(allowed.begin(), allowed.end(), std::uint8_t{0}));
  }
  if (map.hidden_in_effect) {
    const auto hidden = map.hidden_in_effect.values<std::uint8_t>();
    result.hidden_in_effect =
        static_cast<std::size_t>(std::count(hidden.begin(), hidden.end(), std::uint8_t{1}));
    result.cells = hidden.size();
    warn(
        translated("{1}: {2} of {3} are 0 by large negative numbers of the bias alone: \"-inf\" "
                   "hides these keys, also from a query that sees no others",
                   map.tensor, result.hidden_in_effect, result.cells));
  }
}

// The choice for one attention, whose head is known once its map is taken.
MapChoice KindRun::choice_of(std::size_t at) const {
  MapChoice choice = choice_;
  choice.head = report_.weights[at].head;
  return choice;
}

Drawing KindRun::drawing_of(std::vector<DrawnMap> maps) const {
  return {std::move(maps), report_.shapes, choice_, options_.plot, options_.format, drawn_splits()};
}

DrawnSplits KindRun::drawn_splits() const {
  if (why_.empty()) return {};
  const auto& own = why_[options_.sample];
  return {{own, &own->splits}, own->tokens, own->read, own->token, own->against};
}

Picture KindRun::draw(const PictureKind& kind, const std::vector<std::size_t>& of) const {
  std::vector<DrawnMap> maps;
  maps.reserve(of.size());
  for (const std::size_t at : of) maps.push_back(maps_[at]);
  Drawing drawing = drawing_of(std::move(maps));
  if (of.size() == 1) drawing.choice = choice_of(of[0]);
  if (kind.shows == PictureKind::Shows::sizes) {
    FigureOptions& options = drawing.options.figure;
    options.title.reset();
    options.xlabel.reset();
    options.ylabel.reset();
    options.figsize.reset();
  }
  return drawn_in(drawing.options.figure.style, [&] { return kind.draw(drawing); });
}

}  // namespace attn
