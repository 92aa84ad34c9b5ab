#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "heads/head_maps.hpp"
#include "statistics/exact_sums.hpp"
#include "support/mapped_file.hpp"

namespace attn {

/// Mean and spread of a number over texts, from exact sums.
struct Moments {
  std::uint64_t count = 0;
  ExactSum sum, squares;

  void add(double number);
  void add(const Moments& other);
  double mean() const;       ///< NaN if there is nothing
  double deviation() const;  ///< of a sample: divided by count − 1; NaN of fewer than two
  double error() const;      ///< of the mean
};

/// Where a text stands in the corpus.
struct TextPlace {
  std::uint64_t line = 0;   ///< of the file, from 1; in a folder the number of the document
  std::uint64_t blank = 0;  ///< lines before it that have no text

  TextPlace() = default;
  TextPlace(std::uint64_t own_line, std::uint64_t lines_without_text = 0)
      : line(own_line), blank(lines_without_text) {}
};

/// A text and how much a head is of something in it.
struct KeptText {
  double value = 0;
  TextPlace at;

  /// Larger values first, of equal ones the earlier text.
  bool operator<(const KeptText& other) const {
    return value != other.value ? value > other.value : at.line < other.at.line;
  }
};

/// Sums of one head over the texts.
struct HeadSums {
  std::array<Moments, head_statistic_count> statistics;
  std::array<std::vector<KeptText>, head_statistic_count> most;
  /// Of the mean weight of a text at key − query = −reach … reach, and of its square.
  std::vector<ExactSum> by_offset, squares_by_offset;
  MapSums average;  ///< of the weights between the first positions
};

/// Sums of one attention over the texts.
struct AttentionSums {
  std::string name;
  std::uint64_t most_keys = 0;                 ///< of a text; 0 = not known
  std::vector<std::uint64_t> texts_by_offset;  ///< that are long enough to have it
  /// Number of texts that have each of the first positions; empty without mean maps.
  std::vector<std::uint64_t> texts_by_position;
  std::vector<HeadSums> heads;
};

/// Whether a number can be a mean of weights, and whether it can be one of a statistic.
bool is_weight(double number);
bool is_in_range(std::size_t statistic, double number);

/// Numbers of one attention in one text.
struct TextNumbers {
  std::string name;
  std::vector<HeadValues> values;  ///< of each head
  /// Mean weight of each head at key − query = −reach … reach; NaN where no query has such a
  /// key. Empty where queries and keys are different tokens.
  std::vector<std::vector<double>> by_offset;
  std::size_t keys = 0;  ///< of the longest sample; 0 = not known
  /// Weights [m,m] of each head between the first positions of the first sample, if they are wanted
  /// and queries and keys are the same tokens.
  std::vector<Tensor> first = {};
};
TextNumbers text_numbers(const AttentionMap& map, const HeadsCorpusOptions& options);

/// Contribution of a part of a model to logits, named as in LogitSplit, or a number of an analysis.
struct NamedMoments {
  std::string name;
  Moments moments;
};

/// Beginning of the names of numbers that belong to one position; these stand after all others.
inline constexpr std::string_view position_prefix = "gradients.position.";

/// Effects of parts that are patched one at a time, over texts that each have another text.
struct PatchSums {
  struct Sweep {
    PatchedPart part = PatchedPart::heads;
    bool by_position = false;
    std::vector<std::string> rows;                      ///< as in PatchSweep
    std::vector<std::vector<Moments>> effects;          ///< by row and column
    std::vector<std::vector<Moments>> attributed = {};  ///< to first order; empty = not asked for
  };
  struct Path {
    std::string from, to, input;  ///< as in HeadPath
    Moments effect = {};
  };
  Moments own, source;  ///< the difference in the texts, and in the other texts
  std::vector<Sweep> sweeps;
  std::vector<Path> paths;

  bool empty() const { return sweeps.empty() && paths.empty(); }

  /// Adds one text. Throws Error(input), adding nothing, if other parts were patched. A position is
  /// one of the texts that are long enough to have it.
  void add(const HeadPatches& patches);
  void add(const PatchSums& other);
  HeadPatches means() const;
};

/// Effects as comma-separated values: a line for each part and position.
std::string patches_csv(const PatchSums& sums);
/// The same of paths, a line for each.
std::string paths_csv(const PatchSums& sums);

/// A note on a text: why it could not be read, or a warning.
struct TextNote {
  TextPlace at;
  std::string words;
};

inline constexpr std::size_t most_notes = 10;

/// All that is known of a corpus, or of a shard of it: nothing of it grows with the texts.
struct CorpusSums {
  /// Lines with a text that are passed, those of other shards too.
  std::uint64_t lines = 0;
  std::uint64_t texts = 0, failed = 0, warned = 0;
  std::string lines_hash;  ///< of the lines that are passed
  bool done = false;       ///< whether that is all of the corpus
  /// Whether all numbers were in the ranges of their statistics, in which those of weights made by
  /// an expression need not be.
  bool in_range = true;
  std::vector<TextNote> failures;  ///< the first ones
  std::vector<TextNote> warnings;  ///< the first ones, each with the first of its texts
  std::vector<AttentionSums> attentions;
  std::vector<NamedMoments> parts;  ///< of logits, if they are split
  /// Numbers of analyses: "loss", "lens.0.attention.rank", "without.1.3.divergence".
  std::vector<NamedMoments> analyses;
  PatchSums patches;            ///< empty if nothing is patched
  bool of_differences = false;  ///< whether these are parts of differences of two logits

  /// Adds those of a text to those before. Throws Error(input), adding nothing, if they have other
  /// names. A text may end earlier or later than those before: what is of positions stands last.
  static void add(const std::vector<NamedMoments>& more, std::vector<NamedMoments>& to);

  /// Adds one text. Throws Error(input), adding nothing, if its attentions are others.
  void add(const std::vector<TextNumbers>& numbers, const TextPlace& at,
           const HeadsCorpusOptions& options);
  void fail(const TextPlace& at, const Error& error);
  /// Counts a text if there are warnings of it.
  void warn(const TextPlace& at, const std::vector<std::string>& text_warnings);
  /// Adds the sums of other texts, without what is said of lines. Throws Error(input) if their
  /// attentions are others.
  void add(const CorpusSums& other, const HeadsCorpusOptions& options);
};

/// A file of sums.
struct StoredSums {
  CorpusSums sums;
  Shard shard;
  std::map<std::string, std::string> options;  ///< fields of their Description
  std::map<std::string, std::string> inputs;   ///< hashes of the files that were read, by name
};

/// Text of a file of sums, with a checksum.
std::string sums_text(const StoredSums& stored);

/// Throws Error(input) for a text that does not fit its checksum, for one of another version of the
/// program, and for sums that no texts have: counts that contradict one another, numbers out of
/// range.
StoredSums read_sums(std::string_view text);

/// Throws as MappedFiles::refuse_output() if report_corpus() could replace one of the inputs.
void check_report(const HeadsCorpusOptions& options, const MappedFiles& inputs);

/// Writes heads.csv, most.csv, by_offset.csv, result.json with mean maps and, if they are wanted,
/// pictures of the means into the folder, and puts the table to read into the outcome. Throws as
/// MappedFiles::refuse_output() before anything is written; `inputs` may be null.
void report_corpus(const HeadsCorpusOptions& options, const CorpusSums& sums,
                   const MappedFiles* inputs, HeadsCorpusOutcome& outcome);

/// Whether the maps of one layer of the plan are better read row by row than held whole: those of a
/// model of one stack with more than 2²⁶ weights.
bool reads_by_rows(const Plan& plan);

/// Makes the plan compute rows in place of maps, so that its demand of memory is known.
void ask_for_rows(Plan& plan);

/// Computes a model and hands over the numbers of each attention, equal to those of the maps of
/// compute_maps(): means over samples. With `corpus` also what text_numbers() has of the first
/// sample. `observers` are further ones of the pass. Returns what compute_maps() returns.
std::vector<std::string> walk_rows(const Plan& plan, const HeadCounting& counting,
                                   const HeadsCorpusOptions* corpus, bool scores,
                                   const std::function<void(const TextNumbers&)>& take,
                                   std::vector<PassObserver> observers = {});

}  // namespace attn
