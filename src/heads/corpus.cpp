#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <tuple>

#include "attn/error.hpp"
#include "attn/heads.hpp"
#include "attn/run.hpp"

#include "batch/document_work.hpp"
#include "batch/fingerprint.hpp"
#include "batch/input_kinds.hpp"
#include "batch/items.hpp"
#include "batch/summary.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"
#include "heads/model_analyses.hpp"
#include "heads/token_analyses.hpp"
#include "io/hashed_files.hpp"
#include "models/model_folder.hpp"
#include "report/facts.hpp"
#include "result/output_folder.hpp"
#include "support/atomic_file.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/parallel_for.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

// Naming all members makes a new member a compile error until it is described.
void describe(const HeadCounting& counting, Description& description) {
  const auto& [ignore_special, separators, sink_threshold, without_first_key, without_self,
               measure] = counting;
  description.add("HeadCounting::ignore_special", ignore_special);
  description.add("HeadCounting::separators", separators);
  description.add("HeadCounting::sink_threshold", sink_threshold);
  description.add("HeadCounting::without_first_key", without_first_key);
  description.add("HeadCounting::without_self", without_self);
  description.add("HeadCounting::measure", measure);
}

void describe(const HeadsOptions& heads, Description& description) {
  const auto& [document, maps, statistics, counting, analyses, rollout, lens_tokens,
               induction_length, induction_samples, without_heads_of, logit, against_logit, sweep,
               by_position, attribution, frozen_patterns, gradient_steps, baseline, paths,
               receivers, out, plots, sample, format, plot, table, progress] = heads;
  // A corpus has all statistics, and maps of documents alone.
  std::ignore =
      std::tie(maps, statistics, rollout, lens_tokens, induction_length, induction_samples);
  // Sums are the same whatever is shown of them.
  std::ignore = std::tie(out, plots, sample, format, plot, table, progress);
  describe(document, description);
  describe(counting, description);
  description.add("HeadsOptions::analyses", analyses);
  description.add("HeadsOptions::without_heads_of", without_heads_of);
  description.add("HeadsOptions::logit", logit);
  description.add("HeadsOptions::against_logit", against_logit);
  description.add("HeadsOptions::sweep", sweep);
  description.add("HeadsOptions::by_position", by_position);
  description.add("HeadsOptions::attribution", attribution);
  description.add("HeadsOptions::frozen_patterns", frozen_patterns);
  description.add("HeadsOptions::gradient_steps", gradient_steps);
  description.add("HeadsOptions::baseline", baseline);
  description.add("HeadsOptions::paths", paths);
  description.add("HeadsOptions::receivers", receivers);
}

// The options that the sums depend on.
Description description_of(const HeadsCorpusOptions& options) {
  const auto& [heads, corpus, out, shard, resume, kept, reach, average, seconds_between] = options;
  // The texts have a hash, and shards are compared apart.
  std::ignore = std::tie(corpus, out, shard, resume, seconds_between);
  Description description;
  describe(heads, description);
  description.add("HeadsCorpusOptions::kept", kept);
  description.add("HeadsCorpusOptions::reach", reach);
  description.add("HeadsCorpusOptions::average", average);
  return description;
}

constexpr ShardFiles sums_files{"corpus", ".json"};

// The sums in a file, which is named after their shard.
StoredSums stored_in(const std::filesystem::path& path) {
  const auto file = MappedFile::open(FileName::by_document(path));
  try {
    StoredSums stored = read_sums(file->text());
    const std::string name = sums_files.name(stored.shard);
    if (path.filename() == name) return stored;
    throw input_error(translated("the file holds the sums of shard {1} of {2}", stored.shard.index,
                                 stored.shard.count),
                      "", translated("remove it if it is a copy, or name it {1}", name));
  } catch (const Error& error) {
    throw error.inside(path.string());
  }
}

// Each thread has sums of its own; more threads than any machine has would only spend time and
// memory on theirs.
constexpr std::size_t most_threads = 256;

// Whether parts of the model are patched from another text of each line.
bool patches_parts(const HeadsOptions& heads) {
  return !heads.sweep.empty() || heads.by_position || heads.frozen_patterns || heads.paths ||
         heads.attribution;
}

/// The texts of one shard, added up by several threads.
class CorpusReading : DocumentWork {
 public:
  CorpusReading(const HeadsCorpusOptions& asked,
                const std::function<void(std::size_t, std::size_t)>& progress,
                const std::atomic<bool>* stop)
      : DocumentWork(batch_of(asked), {}, stop),
        asked_(asked),
        progress_(progress),
        threads_(
            std::min(thread_count(jobs_in_memory(asked.heads.document.threads)), most_threads)),
        path_(asked.out / sums_files.name(options_.shard)),
        parts_(threads_) {
    files_.models = std::make_shared<ModelFolders>(ModelFolders::Files::told_once);
    files_.mapped = inputs_;
    read_.watch(files_);
  }

  HeadsCorpusOutcome read() {
    const DocumentList texts(options_);
    texts.add_inputs(*inputs_);
    inputs_->refuse_output(path_);
    check_report(asked_, *inputs_);
    NewFolders made = make_output_folder(asked_.out);
    const OutputLock lock = OutputLock::of_file(path_);
    if (asked_.resume) resume(texts);
    saved_ = Clock::now();
    while (before_.lines < texts.size() && !is_stopped()) read_block(texts);
    before_.done = before_.lines == texts.size();
    add_parts();
    if (before_.done && before_.texts == 0 && options_.shard.count == 1) return without_texts();
    made.keep();
    save();
    HeadsCorpusOutcome outcome = outcome_of(before_, path_);
    outcome.interrupted = !before_.done;
    if (before_.done && options_.shard.count == 1) {
      report_corpus(asked_, before_, inputs_.get(), outcome);
    }
    return outcome;
  }

  // Of a corpus without a text that could be read nothing is written.
  HeadsCorpusOutcome without_texts() const {
    HeadsCorpusOutcome outcome = outcome_of(before_, {});
    outcome.files.clear();
    outcome.table = translated(
                        "No text of the corpus could be read: there are no means, and "
                        "nothing is written.") +
                    "\n";
    outcome.json = json_text(object({{"texts", outcome.texts}, {"failed", outcome.failed}}));
    return outcome;
  }

  static HeadsCorpusOutcome outcome_of(const CorpusSums& sums, const std::filesystem::path& path) {
    HeadsCorpusOutcome outcome;
    outcome.texts = sums.texts;
    outcome.failed = sums.failed;
    for (const TextNote& failure : sums.failures) {
      outcome.warnings.push_back(
          translated("line {1} is left out: {2}", failure.at.line, failure.words));
    }
    for (const TextNote& warning : sums.warnings) {
      outcome.warnings.push_back(translated("line {1}: {2}", warning.at.line, warning.words));
    }
    if (sums.warned > 1) {
      outcome.warnings.push_back(
          translated("there are warnings of {1} texts of {2}; each is shown "
                     "once, with the first of its texts",
                     sums.warned, sums.texts));
    }
    outcome.files.push_back(path);
    return outcome;
  }

 private:
  std::string next_hash(const DocumentText& text) const {
    const std::string both = before_.lines_hash + std::string(text.text);
    return content_hash(std::as_bytes(std::span(both)));
  }
  std::string next_hash(const DocumentList& texts, std::size_t index) const {
    return next_hash(texts.text(index, files_));
  }

  // Sums of an earlier reading, if its options and the lines it read are unchanged.
  void resume(const DocumentList& texts) {
    std::error_code none;
    if (!std::filesystem::exists(path_, none)) return;
    const StoredSums stored = stored_in(path_);
    const auto refuse = [&](const std::string& difference) {
      throw input_error(
          difference, path_.string(),
          translated("give the same as before, or another folder with HeadsOptions::out"));
    };
    const std::string fields = differing_fields(stored.options, description_.fields());
    if (!fields.empty())
      refuse(translated("the sums were made with different options: {1}", fields));
    for (const auto& [name, hash] : stored.inputs) read_.add(name, hash);
    if (const auto changed = hashes_.first_changed(read_.inputs(), asked_.heads.document.files)) {
      refuse(translated("{1} has changed since the sums were made", in_quotes(*changed)));
    }
    const std::string wanted = stored.sums.lines_hash;
    for (std::size_t i = 0; i < stored.sums.lines && i < texts.size(); ++i) {
      before_.lines_hash = next_hash(texts, i);
    }
    if (before_.lines_hash != wanted || stored.sums.lines > texts.size()) {
      throw input_error(translated("the lines that were read already have changed since"),
                        asked_.corpus.string(),
                        translated("start again, in another folder with HeadsOptions::out"));
    }
    before_ = stored.sums;
  }

  // Some hundred texts, which all threads share.
  void read_block(const DocumentList& texts) {
    constexpr std::size_t texts_a_thread = 32;
    std::vector<std::pair<std::size_t, DocumentText>> own;
    std::size_t end = before_.lines;
    while (end < texts.size() && own.size() < texts_a_thread * threads_) {
      DocumentText text = texts.text(end, files_);
      before_.lines_hash = next_hash(text);
      if (end % options_.shard.count == options_.shard.index)
        own.emplace_back(end, std::move(text));
      ++end;
    }
    std::atomic<std::size_t> next = 0;
    parallel_for(threads_, threads_, [&](std::size_t part) {
      for (std::size_t at = next++; at < own.size(); at = next++) {
        read_text(texts, own[at].first, own[at].second, parts_[part]);
      }
    });
    before_.lines = end;
    if (progress_) progress_(before_.lines, texts.size());
    const std::chrono::duration<double> passed = Clock::now() - saved_;
    if (passed.count() >= asked_.seconds_between) save();
  }

  // The line of the corpus's file; of documents in a folder, whose lines do not tell them apart,
  // the number.
  TextPlace place_of(const ListedDocument& listed, std::uint64_t number) const {
    if (listed.line == 0 || listed.path != asked_.corpus) return number;
    return {listed.line, listed.line - number};
  }

  void read_text(const DocumentList& texts, std::size_t index, const DocumentText& text,
                 CorpusSums& sums) const {
    const ListedDocument listed = texts[index];
    const TextPlace place = place_of(listed, index + 1);
    BatchItem item;
    TextReading own;
    attempt(item, [&](const FileAccess& access) { own = reading_of(listed, text, access); });
    // All of a text or nothing.
    if (!item.error) {
      attempt(item, [&](const FileAccess&) {
        sums.add(own.numbers, place, asked_);
        CorpusSums::add(own.parts, sums.parts);
        CorpusSums::add(own.analyses, sums.analyses);
        sums.of_differences = sums.of_differences || own.of_difference;
        if (own.patches) sums.patches.add(*own.patches);
        sums.warn(place, own.warnings);
      });
    }
    if (!item.error) return;
    const ErrorKind kind = item.error->kind();
    // An option that is wrong is so for every line.
    const bool of_all = names_option(item.error->where());
    if (of_all || kind == ErrorKind::internal || kind == ErrorKind::usage) throw *item.error;
    sums.fail(place, *item.error);
  }

  [[noreturn]] void refuse_analyses_without_model() const {
    throw Error(
        ErrorKind::usage,
        translated("a lens, losses, gradients and heads that are left out take a model"),
        asked_.heads.analyses.empty() ? "HeadsOptions::without_heads_of" : "HeadsOptions::analyses",
        translated("leave it out, or name a model"));
  }

  struct TextReading {
    std::vector<TextNumbers> numbers;
    std::vector<NamedMoments> parts, analyses;
    bool of_difference = false;
    std::optional<HeadPatches> patches;
    std::vector<std::string> warnings;
  };

  TextReading reading_of(const ListedDocument& listed, const DocumentText& text,
                         const FileAccess& access) const {
    const Document document =
        open_batch_document(listed, text, options_of_one(access).document, listed.place());
    const auto& analyses = asked_.heads.analyses;
    bool rows = false;
    Plan plan = plan_of_statistics(document, 1, analyses.empty() ? &rows : nullptr);
    ModelRequest* const model = model_of(plan);
    // Without a part of the model, the other text of a line is for each part in its turn.
    std::optional<Patch> patch;
    std::vector<std::vector<std::size_t>> predicted;
    if (model != nullptr) {
      predicted = std::exchange(model->options.wanted.predicted, {});
      std::optional<Patch>& given = model->options.patch;
      if (given && given->at.empty()) patch.swap(given);
    }
    if (!patch && patches_parts(asked_.heads)) {
      throw input_error(translated("there is no text to patch parts from"), "/patch",
                        translated("give each line one: \"patch\": {\"text\": …}"));
    }
    TextReading own;
    own.warnings = plan.warnings;
    std::optional<TextAnalyses> further;
    std::vector<PassObserver> observers;
    if (!analyses.empty() || !asked_.heads.without_heads_of.empty()) {
      if (model == nullptr) refuse_analyses_without_model();
      observers = further.emplace(*model, asked_.heads).observers();
    }
    const auto more = rows
                          ? walk_rows(
                                plan, asked_.heads.counting, &asked_, true,
                                [&](const TextNumbers& numbers) { own.numbers.push_back(numbers); },
                                std::move(observers))
                          : compute_maps(
                                plan, asked_.heads.counting, true,
                                [&](const AttentionMap& map) {
                                  own.numbers.push_back(text_numbers(map, asked_));
                                },
                                {}, std::move(observers));
    own.warnings.insert(own.warnings.end(), more.begin(), more.end());
    put_contributions(model, own);
    if (further) {
      model->options.wanted.predicted = predicted;
      for (const auto& [name, number] : further->numbers()) {
        own.analyses.push_back({name, {}});
        own.analyses.back().moments.add(number);
      }
    }
    if (patch) own.patches = head_patches(*model, *patch, asked_.heads);
    return own;
  }

  // Contributions of the parts of the model to the logit that the options name, or else the line,
  // at the last position of the text or that of the line.
  void put_contributions(const ModelRequest* model, TextReading& own) const {
    const HeadsOptions& heads = asked_.heads;
    if (heads.logit && model == nullptr) refuse_split_without_model("HeadsOptions::logit");
    WhyOptions why;
    if (model != nullptr && !model->why.empty()) why = model->why.front();
    why.head.reset();
    why.key.reset();
    if (heads.logit) why.logit = heads.logit;
    if (heads.against_logit) why.against_logit = heads.against_logit;
    if (!why.logit) return;
    own.of_difference = why.against_logit.has_value();
    const LogitSplit logit =
        *split(why, *model->folder, model->texts.of_sample(0), model->options).logit;
    for (std::size_t p = 0; p < logit.places.size(); ++p) {
      own.parts.push_back({logit.places[p].text(), {}});
      own.parts.back().moments.add(logit.parts.values<double>()[p]);
    }
  }

  void add_parts() {
    for (CorpusSums& part : parts_) {
      before_.add(part, asked_);
      part = {};
    }
  }

  void save() {
    add_parts();
    const FileHashList& inputs = read_.inputs();
    for (; known_inputs_ < inputs.size(); ++known_inputs_) {
      inputs_->add(path_of_text(inputs[known_inputs_].first));
    }
    inputs_->refuse_output(path_);
    write_whole_file(
        path_,
        sums_text(
            {before_, options_.shard, description_.fields(), {inputs.begin(), inputs.end()}}));
    saved_ = Clock::now();
  }

  static BatchOptions batch_of(const HeadsCorpusOptions& asked) {
    BatchOptions batch;
    batch.inputs = {asked.corpus.string()};
    batch.run.document = asked.heads.document;
    batch.run.document.threads = 1;  // texts at a time are better shared than numbers
    batch.run.out = asked.out;
    batch.shard = asked.shard.value_or(Shard());
    return batch;
  }

  const HeadsCorpusOptions& asked_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  std::size_t threads_;
  std::filesystem::path path_;
  const Description description_{description_of(asked_)};
  const std::shared_ptr<MappedFiles> inputs_ = std::make_shared<MappedFiles>();
  std::size_t known_inputs_ = 0;  // of those that were read
  FileHashes hashes_;
  Provenance read_{hashes_.provenance()};
  CorpusSums before_;              // what is saved, and what is said of lines
  std::vector<CorpusSums> parts_;  // what each thread has added since
  Clock::time_point saved_;
};

// Mean maps of more positions would take more than 16 MB a head.
constexpr std::size_t most_average_positions = 1024;

// The error of a file that is not what a corpus is.
Error not_a_corpus(const std::string& problem, const std::string& help) {
  return {ErrorKind::usage, problem, "HeadsCorpusOptions::corpus", help};
}

// Throws Error(usage) for a corpus that is packed or one array.
void check_lines(const std::filesystem::path& corpus) {
  const std::string ending = corpus.extension().string();
  if (ending == ".gz") {
    throw not_a_corpus(translated("\"{1}\" is compressed", corpus.string()),
                       translated("write {1}, and name the file that it makes",
                                  "gunzip -k " + path_text(corpus.native())));
  }
  std::error_code none;
  if ((ending != ".json" && !has_lines(corpus)) || !std::filesystem::is_regular_file(corpus, none))
    return;
  std::array<char, 256> begin{};
  std::ifstream file(corpus, std::ios::binary);
  file.read(begin.data(), begin.size());
  const std::string_view text(begin.data(), static_cast<std::size_t>(file.gcount()));
  if (const std::string help = lines_of_array(text, corpus); !help.empty())
    throw not_a_corpus(translated("the corpus is one array, not a text on each line"), help);
  if (const std::string help = lines_of_spread(text, corpus); !help.empty()) {
    throw not_a_corpus(translated("the file has a document over several lines, not one on each"),
                       help);
  }
}

// Throws Error(usage) for a corpus that is no file of texts, or of documents where there is no
// model.
void check_corpus(const std::filesystem::path& corpus, bool model) {
  std::error_code none;
  if (std::filesystem::exists(corpus / "config.json", none)) {
    throw not_a_corpus(
        translated("{1} is the folder of a model, not a corpus", in_quotes(corpus.string())),
        translated("give it with DocumentOptions::model, and a file with one text per line"));
  }
  std::ifstream file(corpus, std::ios::binary);
  if (std::filesystem::is_regular_file(corpus, none) && (file >> std::ws).peek() == EOF) {
    throw not_a_corpus(translated("{1} has no text", in_quotes(corpus.string())),
                       translated("write a text on each line of a .txt file, or a document on each "
                                  "line of a .jsonl file"));
  }
  check_lines(corpus);
  if (model && is_prose(corpus)) {
    throw not_a_corpus(translated("this is plain text, not an input document"),
                       call_it_texts(corpus));
  }
  const std::string ending = corpus.extension().string();
  const bool table = ending == ".csv" || ending == ".tsv",
             folder = std::filesystem::is_directory(corpus, none);
  if (table || (model && folder)) {
    const std::string name = in_quotes(corpus.string());
    throw not_a_corpus(
        table ? translated("{1} is a table, not a corpus", name)
              : translated("{1} is a folder, and a corpus is one file", name),
        translated(
            "give a .txt file with a text on each line, or a .jsonl with a document on each, "
            "such as {1}",
            R"({"text": "…"})"));
  }
  if (!model && !folder && !has_lines(corpus) && ending != ".json") {
    throw not_a_corpus(
        translated("there is no model that reads the texts"),
        translated("name its folder with DocumentOptions::model; without one a corpus is a "
                   ".jsonl of documents"));
  }
}

// Throws Error(usage) for options that have no meaning for a corpus, which is read as it is.
void check_of_corpus(const HeadsCorpusOptions& options) {
  const HeadsOptions& heads = options.heads;
  const DocumentOptions& document = heads.document;
  check_corpus(options.corpus, document.model.has_value());
  if (patches_parts(heads) && options.corpus.extension() == ".txt") {
    throw not_a_corpus(translated("lines of a .txt file have no text to patch parts from"),
                       translated("give a .jsonl file with {1} on each line",
                                  R"({"text": …, "patch": {"text": …}})"));
  }
  const auto of_texts = [](HeadAnalysis analysis) {
    return analysis == HeadAnalysis::lens || analysis == HeadAnalysis::loss ||
           analysis == HeadAnalysis::gradients;
  };
  const std::string answers = translated("a corpus is read as it is, without answers"),
                    texts = translated("the corpus has the texts"),
                    patches = translated(
                        "the lines of a corpus have the texts that parts are taken from");
  struct Refused {
    bool given;
    std::string problem, place;
  };
  const Refused refused[]{
      {!std::ranges::all_of(heads.analyses, of_texts),
       translated("of a corpus only statistics, a lens, losses and gradients are read"),
       "HeadsOptions::analyses"},
      {document.generate.has_value(), answers, "DocumentOptions::generate"},
      {document.continued.has_value(), answers, "DocumentOptions::continued"},
      {!document.parts.empty(), answers, "DocumentOptions::parts"},
      {document.parts_between_special_tokens, answers,
       "DocumentOptions::parts_between_special_tokens"},
      {document.patch.has_value(), patches, "DocumentOptions::patch"},
      {!document.patch_at.empty(), patches, "DocumentOptions::patch_at"},
      {!document.input.empty(), texts, document.input.string()},
      {!document.texts.empty(), texts, "DocumentOptions::texts"},
      {!document.images.empty(), texts, "DocumentOptions::images"},
      {!document.sounds.empty(), texts, "DocumentOptions::sounds"},
      {document.chat, texts, "DocumentOptions::chat"},
      {!document.token_ids.empty(), texts, "DocumentOptions::token_ids"}};
  for (const auto& [given, problem, place] : refused) {
    if (given)
      throw Error(ErrorKind::usage, problem, place, translated("leave it out, or read one text"));
  }
  if (options.average.value_or(0) <= most_average_positions) return;
  throw Error(
      ErrorKind::usage, translated("mean maps of {1} positions are too large", *options.average),
      "HeadsCorpusOptions::average", translated("give at most {1}", most_average_positions));
}

}  // namespace

HeadsCorpusOutcome read_corpus(const HeadsCorpusOptions& options,
                               const std::function<void(std::size_t, std::size_t)>& progress,
                               const std::atomic<bool>* stop) {
  check_of_corpus(options);
  return CorpusReading(options, progress, stop).read();
}

HeadsCorpusOutcome merge_corpus(const HeadsCorpusOptions& options) {
  const std::filesystem::path path = options.out / sums_files.name({});
  std::error_code none;
  std::vector<std::filesystem::path> files = sums_files.in(options.out, none);
  std::erase(files, path);
  if (files.empty()) {
    throw input_error(translated("there are no sums of shards"), options.out.string(),
                      translated("name the folder that the shards were read into"));
  }
  const OutputLock lock = OutputLock::of_file(path);
  StoredSums all;
  std::size_t count = 0;
  std::set<std::size_t> found;
  JoinedParts shards;
  for (const auto& file : files) {
    const StoredSums stored = stored_in(file);
    if (count == 0) {
      count = stored.shard.count;
      all.options = stored.options;
      all.sums.lines = stored.sums.lines;
      all.sums.lines_hash = stored.sums.lines_hash;
    }
    if (!stored.sums.done) {
      throw input_error(translated("the shard is not finished"), file.string(),
                        translated("go on with it by HeadsCorpusOptions::resume"));
    }
    const bool other_texts = stored.shard.count != count || stored.sums.lines != all.sums.lines ||
                             stored.sums.lines_hash != all.sums.lines_hash;
    const std::string difference =
        other_texts ? translated("the shard is of another corpus or number of shards than {1}",
                                 files[0].filename().string())
                    : shards.add(file.filename().string(), stored.options,
                                 FileHashList(stored.inputs.begin(), stored.inputs.end()));
    if (!difference.empty()) {
      throw input_error(difference, file.string(),
                        translated("keep the shards of one corpus in a folder of their own"));
    }
    all.inputs.insert(stored.inputs.begin(), stored.inputs.end());
    found.insert(stored.shard.index);
    all.sums.add(stored.sums, options);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (found.contains(i)) continue;
    throw input_error(
        translated("shard {1} of {2} is missing", i, count), options.out.string(),
        translated("read it with {1}, or put its file into this folder",
                   "HeadsCorpusOptions::shard " + std::to_string(i) + "/" + std::to_string(count)));
  }
  all.sums.done = true;
  write_whole_file(path, sums_text(all));
  HeadsCorpusOutcome outcome = CorpusReading::outcome_of(all.sums, path);
  report_corpus(options, all.sums, nullptr, outcome);
  return outcome;
}

}  // namespace attn
