#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <mutex>
#include <set>
#include <variant>

#include "attn/error.hpp"
#include "attn/heads.hpp"
#include "attn/model.hpp"
#include "attn/run.hpp"

#include "batch/items.hpp"
#include "document/reader.hpp"
#include "heads/corpus_sums.hpp"
#include "heads/head_maps.hpp"
#include "io/content_hash.hpp"
#include "models/model_folder.hpp"
#include "result/output_folder.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

using Clock = std::chrono::steady_clock;

std::string hash_of(const std::string& text) {
  return content_hash(std::as_bytes(std::span(text)));
}

// All that the sums depend on beside the texts.
std::string fingerprint_of(const HeadsCorpusOptions& options) {
  const HeadCounting& counting = options.heads.counting;
  std::string text = number_text(counting.sink_threshold) + "," +
                     std::to_string(static_cast<int>(counting.ignore_special)) +
                     std::to_string(static_cast<int>(counting.without_first_key)) +
                     std::to_string(static_cast<int>(counting.without_self)) +
                     std::to_string(static_cast<int>(counting.measure)) + "," +
                     std::to_string(options.kept) + "," + std::to_string(options.reach);
  for (const std::string& separator : counting.separators) text += "," + separator;
  if (const auto& model = options.heads.document.model) {
    text += model_json({*model, options.heads.document.architecture, options.heads.document.files});
  }
  if (options.logit) text += ",logit " + *options.logit;
  if (options.average) text += ",average " + std::to_string(*options.average);
  return hash_of(text);
}

std::string file_of(const Shard& shard) {
  if (shard.count == 1) return "corpus.json";
  return "corpus." + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) + ".json";
}

// The sums in a file, which is named after their shard.
StoredSums stored_in(const std::filesystem::path& path) {
  const auto file = MappedFile::open(FileName::by_document(path));
  try {
    StoredSums stored = read_sums(file->text());
    const std::string name = file_of(stored.shard);
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

/// The texts of one shard, added up by several threads.
class CorpusReading {
 public:
  CorpusReading(const HeadsCorpusOptions& options,
                const std::function<void(std::size_t, std::size_t)>& progress,
                const std::atomic<bool>* stop)
      : options_(options),
        of_a_text_(options.heads),
        progress_(progress),
        stop_(stop),
        shard_(options.shard.value_or(Shard())),
        threads_(
            std::min(thread_count(jobs_in_memory(options.heads.document.threads)), most_threads)),
        parts_(threads_) {
    of_a_text_.document.threads = 1;  // texts at a time are better shared than numbers
    run_.document = of_a_text_.document;
    run_.document.files.models = std::make_shared<ModelFolders>();
    run_.out = options.out;
  }

  HeadsCorpusOutcome read() {
    path_ = options_.out / file_of(shard_);
    fingerprint_ = fingerprint_of(options_);
    BatchOptions list;
    list.inputs = {options_.corpus.string()};
    list.run = run_;
    const DocumentList texts(list);
    MappedFiles inputs;
    texts.add_inputs(inputs);
    inputs.refuse_output(path_);
    for (const char* name : {"heads.csv", "by_offset.csv", "result.json"}) {
      inputs.refuse_output(options_.out / name);
    }
    make_output_folder(options_.out).keep();
    if (options_.resume) resume(texts);
    saved_ = Clock::now();
    while (before_.lines < texts.size() && !stopped()) read_block(texts);
    before_.done = before_.lines == texts.size();
    save();
    HeadsCorpusOutcome outcome = outcome_of(before_, path_);
    outcome.interrupted = !before_.done;
    if (before_.done && shard_.count == 1) report_corpus(options_, before_, outcome);
    return outcome;
  }

  static HeadsCorpusOutcome outcome_of(const CorpusSums& sums, const std::filesystem::path& path) {
    HeadsCorpusOutcome outcome;
    outcome.texts = sums.texts;
    outcome.failed = sums.failed;
    for (const FailedText& failure : sums.failures) {
      outcome.warnings.push_back(
          translated("text {1} is left out: {2}", failure.line, failure.problem));
    }
    outcome.files.push_back(path);
    return outcome;
  }

 private:
  bool stopped() const { return stop_ != nullptr && *stop_; }

  std::string next_hash(const DocumentText& text) const {
    return hash_of(before_.lines_hash + std::string(text.text));
  }
  std::string next_hash(const DocumentList& texts, std::size_t index) const {
    return next_hash(texts.text(index, run_.document.files));
  }

  // Sums of an earlier reading, if its options and the lines it read are unchanged.
  void resume(const DocumentList& texts) {
    std::error_code none;
    if (!std::filesystem::exists(path_, none)) return;
    const StoredSums stored = stored_in(path_);
    if (stored.fingerprint != fingerprint_) {
      throw input_error(
          translated("the sums were made with a different model or different options"),
          path_.string(),
          translated("give the same as before, or another folder with HeadsOptions::out"));
    }
    const std::string wanted = stored.sums.lines_hash;
    for (std::size_t i = 0; i < stored.sums.lines && i < texts.size(); ++i) {
      before_.lines_hash = next_hash(texts, i);
    }
    if (before_.lines_hash != wanted || stored.sums.lines > texts.size()) {
      throw input_error(translated("the lines that were read already have changed since"),
                        options_.corpus.string(),
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
      DocumentText text = texts.text(end, run_.document.files);
      before_.lines_hash = next_hash(text);
      if (end % shard_.count == shard_.index) own.emplace_back(end, std::move(text));
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
    if (passed.count() >= options_.seconds_between) save();
  }

  void read_text(const DocumentList& texts, std::size_t index, const DocumentText& text,
                 CorpusSums& sums) const {
    const std::uint64_t line = index + 1;
    try {
      const ListedDocument listed = texts[index];
      const Document document = open_batch_document(listed, text, run_.document, listed.place());
      bool rows = false;
      Plan plan = plan_of_statistics(of_a_text_, document, &rows);
      if (auto* model = std::get_if<ModelRequest>(&plan.computation)) model->predicted.clear();
      // All of a text or nothing.
      std::vector<TextNumbers> numbers;
      if (rows) {
        walk_rows(plan, options_.heads.counting, &options_, true,
                  [&](const TextNumbers& own) { numbers.push_back(own); });
      } else {
        compute_maps(plan, options_.heads.counting, true, [&](const AttentionMap& map) {
          numbers.push_back(text_numbers(map, options_));
        });
      }
      std::vector<PartSums> parts;
      if (options_.logit) parts = contributions(plan);
      sums.add(numbers, line, options_);
      sums.add(parts);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal || error.kind() == ErrorKind::usage) throw;
      sums.fail(line, error.problem());
    }
  }

  // Contributions of the parts of the model to the logit at the last position of the text.
  std::vector<PartSums> contributions(const Plan& plan) const {
    const auto* model = std::get_if<ModelRequest>(&plan.computation);
    if (model == nullptr) refuse_split_without_model("HeadsCorpusOptions::logit");
    WhyOptions why;
    why.logit = options_.logit;
    const LogitSplit logit = *split(why, *model->folder, model->texts.of_sample(0), *model).logit;
    std::vector<PartSums> parts;
    for (std::size_t p = 0; p < logit.places.size(); ++p) {
      parts.push_back({logit.places[p].text(), {}});
      parts.back().contribution.add(logit.parts.values<double>()[p]);
    }
    return parts;
  }

  void save() {
    for (CorpusSums& part : parts_) {
      before_.add(part, options_);
      part = {};
    }
    write_whole_file(path_, sums_text(before_, fingerprint_, shard_));
    saved_ = Clock::now();
  }

  const HeadsCorpusOptions& options_;
  HeadsOptions of_a_text_;
  const std::function<void(std::size_t, std::size_t)>& progress_;
  const std::atomic<bool>* stop_;
  Shard shard_;
  std::size_t threads_;
  RunOptions run_;
  std::filesystem::path path_;
  std::string fingerprint_;
  CorpusSums before_;              // what is saved, and what is said of lines
  std::vector<CorpusSums> parts_;  // what each thread has added since
  Clock::time_point saved_;
};

// Mean maps of more positions would take more than 16 MB a head.
constexpr std::size_t most_average_positions = 1024;

// A corpus is read as it is, and for statistics alone.
void check_of_corpus(const HeadsCorpusOptions& options) {
  const HeadsOptions& heads = options.heads;
  const DocumentOptions& document = heads.document;
  const auto refuse = [](bool given, std::string problem, std::string place) {
    if (!given) return;
    throw Error(ErrorKind::usage, std::move(problem), std::move(place),
                translated("leave it out, or read one text"));
  };
  const std::string statistics = translated("of a corpus only statistics are read"),
                    answers = translated("a corpus is read as it is, without answers"),
                    texts = translated("the corpus has the texts"),
                    patches =
                        translated("a corpus is read as it is, without parts of another text");
  refuse(!heads.without_heads_of.empty(), statistics, "HeadsOptions::without_heads_of");
  refuse(!heads.analyses.empty(), statistics, "HeadsOptions::analyses");
  refuse(document.generate.has_value(), answers, "DocumentOptions::generate");
  refuse(document.continued.has_value(), answers, "DocumentOptions::continued");
  refuse(!document.parts.empty(), answers, "DocumentOptions::parts");
  refuse(document.parts_between_special_tokens, answers,
         "DocumentOptions::parts_between_special_tokens");
  refuse(document.patch.has_value(), patches, "DocumentOptions::patch");
  refuse(document.patch_at.has_value(), patches, "DocumentOptions::patch_at");
  refuse(!document.input.empty(), texts, document.input.string());
  refuse(!document.texts.empty(), texts, "DocumentOptions::texts");
  refuse(!document.images.empty(), texts, "DocumentOptions::images");
  refuse(document.chat, texts, "DocumentOptions::chat");
  refuse(!document.token_ids.empty(), texts, "DocumentOptions::token_ids");
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
  std::vector<std::filesystem::path> files;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(options.out, none)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("corpus.") && name.find("-of-") != std::string::npos &&
        name.ends_with(".json")) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    throw input_error(translated("there are no sums of shards"), options.out.string(),
                      translated("name the folder that the shards were read into"));
  }
  CorpusSums all;
  std::string fingerprint;
  std::size_t count = 0;
  std::set<std::size_t> found;
  for (const auto& path : files) {
    const StoredSums stored = stored_in(path);
    if (count == 0) {
      count = stored.shard.count;
      fingerprint = stored.fingerprint;
      all.lines = stored.sums.lines;
      all.lines_hash = stored.sums.lines_hash;
    }
    if (!stored.sums.done) {
      throw input_error(translated("the shard is not finished"), path.string(),
                        translated("go on with it by HeadsCorpusOptions::resume"));
    }
    if (stored.fingerprint != fingerprint || stored.shard.count != count ||
        stored.sums.lines_hash != all.lines_hash || stored.sums.lines != all.lines) {
      throw input_error(
          translated("the shard is of another corpus, model or number of shards than {1}",
                     files[0].filename().string()),
          path.string(), translated("keep the shards of one corpus in a folder of their own"));
    }
    found.insert(stored.shard.index);
    all.add(stored.sums, options);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (found.contains(i)) continue;
    throw input_error(translated("shard {1} of {2} is missing", i, count), options.out.string(),
                      translated("read it, or bring its file here"));
  }
  all.done = true;
  const std::filesystem::path path = options.out / file_of({});
  write_whole_file(path, sums_text(all, fingerprint, {}));
  HeadsCorpusOutcome outcome = CorpusReading::outcome_of(all, path);
  report_corpus(options, all, outcome);
  return outcome;
}

}  // namespace attn
