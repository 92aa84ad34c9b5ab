#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/document.hpp"
#include "attn/maps.hpp"
#include "attn/statistics.hpp"

namespace attn {

/// Text for a terminal of 80 columns, Markdown with tables and formulas, JSON with the text of each
/// step, or CSV, a row for each part of a split.
enum class ExplanationFormat { text, markdown, json, csv };

/// Choice of an explanation: every step of one input document from the query to its output, with
/// all numbers; for existing maps (a result, a file of tensors, {"weights":…}) the row of weights
/// of a query.
struct ExplainOptions {
  DocumentOptions document;                     ///< its input may also be a result's folder
  std::size_t sample = 0, head = 0, query = 0;  ///< from 0
  /// The query by its token, as in labels, or ROW,COLUMN of a patch, in place of its number.
  std::optional<std::string> query_token;
  bool every_query = false;  ///< all of them, one after the other, in place of `query`
  bool full = false;         ///< every term, key, component and head, however many there are
  int digits = 4;            ///< decimals that numbers are rounded to, 2 to 16
  std::optional<std::size_t> layer;  ///< of several layers the one to walk through; default 0
  /// Which attention of an encoder-decoder model: "encoder", "decoder", or "cross", the decoder's
  /// over what the encoder gives; default the encoder's. Empty for all else.
  std::string stack;
  /// Analyses of a model at the query, at the end: rollout, norms or lens.
  std::vector<HeadAnalysis> analyses;
  /// Whether a model's score is explained by the parts that it is the sum of, in place of a walk
  /// through the computation, and likewise the logit of a token, given by its text or id, or empty
  /// for the likeliest.
  bool why = false;
  std::optional<std::string> logit;
  std::optional<std::string> against_logit;  ///< as in WhyOptions
  std::optional<std::size_t> split_query;    ///< of both; absent = the last token
  std::optional<std::size_t> key;            ///< of the score; absent = that of the largest weight
  std::optional<std::string> key_token;      ///< in its place: the key's token
  MapRequest maps;                           ///< choice among existing maps
  ExplanationFormat format = ExplanationFormat::text;
};

struct ExplainOutcome {
  std::string text;
  std::vector<std::string> warnings;
};

/// Computes the document as run() does, numbers of results rounded to their type and of 16 bits
/// each step, and writes down every step for one query, from the embedding of its token on, or for
/// all queries; of several kinds one after the other. Long sums, vectors and rows are left out in
/// the middle unless all is asked for, and what is left out is counted or named. Maps are not
/// computed: of them the row of the query is explained, in each layer and head that is chosen.
/// Throws Error as run() and draw() do; Error(input) naming the field if there is no such sample,
/// head, query or layer, or if `digits` is out of range; Error(usage) for fields of a document that
/// are set for maps, and the other way round.
ExplainOutcome explain(const ExplainOptions& options);

struct RunSplits;

/// Text of the splits that a run computed (RunReport::splits), as explain() has it: the parts of
/// the score of the last of its queries at the key with the largest weight, and of the logit.
std::string explain_splits(const RunSplits& splits);

}  // namespace attn
