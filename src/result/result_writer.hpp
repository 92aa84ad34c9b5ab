#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"
#include "attn/written_file.hpp"

#include "document/labels.hpp"
#include "io/json_value.hpp"
#include "report/facts.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "result/tensor_files.hpp"
#include "why/splits.hpp"

namespace attn {

/// The keys that the queries of some attentions see, where each sees one range of them, as with the
/// masks of models: a shorter form of `allowed` in result.json.
struct SeenKeys {
  std::vector<std::string> attentions;  ///< prefixes of their tensors' names, `layers.0.self.`
  Tensor ranges;  ///< int64 [B,Lq,2]: the first key of each query and the one behind its last
};

/// The ranges of a mask of 0 and 1, [B,1,Lq,Lk].
Tensor ranges_of(const Tensor& allowed);

/// The list that result.json holds.
Fact facts_of(const std::vector<SeenKeys>& seen);

/// Reads the float64 tensor at a JSON pointer.
using ReadTensor = std::function<Tensor(const JsonValue& value, const std::string& pointer)>;

/// The mask of one attention in the list that facts_of() makes, as 0 and 1 [B,1,Lq,Lk] for weights
/// of the shape [B,H,Lq,Lk]; absent if the list does not name it. Throws Error(input) at `pointer`
/// for ranges that do not fit.
Tensor read_seen_keys(const JsonValue& seen, const std::string& prefix, const Shape& weights,
                      const std::string& pointer, const ReadTensor& read);

/// Texts about the numbers of a picture, if they were asked for.
struct CaptionedPicture {
  std::string picture, caption, description;
};

/// What was split in a text.
struct ResultSplits {
  const WhySplits* of = nullptr;
  std::string logit_text, against_text;  ///< of the tokens whose logits are split, if known
};

/// Name of a split's tensor of a text: "why.scores", or of several texts `texts.1.why.scores`.
std::string split_tensor(const std::string& name, std::size_t text, std::size_t texts);

/// The content of result.json.
struct ResultFile {
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  std::string title, description;
  std::string document;  ///< path from the folder of the result; empty = not said
  Labels labels;
  const ModelReport* model = nullptr;   ///< null = no model
  std::vector<ResultSplits> splits;     ///< of each text of a model; empty = none
  std::vector<SeenKeys> seen;           ///< of a model's attentions
  std::optional<std::size_t> kv_heads;  ///< where heads share key and value heads
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<TensorPlace> places;  ///< one a tensor; empty = all are written in result.json itself
  std::vector<std::string> warnings;
  std::vector<std::string> pictures;       ///< relative to the result
  std::vector<CaptionedPicture> captions;  ///< of some of them
  std::vector<WrittenFile> files;          ///< beside result.json
  std::optional<WrittenFile> comparison;   ///< picture of this and other kinds, in the folder above
  const Provenance* provenance = nullptr;  ///< null = left out
  std::optional<double> seconds;           ///< of the computation; absent = no timing
};

/// The labels of all samples, or a list of them for each sample; absent if there are none.
Fact label_facts(const std::vector<std::vector<std::string>>& lists);

/// The tokens that follow the texts of a model: lists with an entry for each sample.
Fact generated_facts(const ModelReport& model);

/// The similarities of the vectors of texts, a list for each text.
Fact similarity_facts(const ModelReport& model);

/// What a classifier says, an entry for each sample: its classes, or a list of positions with the
/// classes of each.
Fact classification_facts(const ModelReport& model);

/// The predictions of a model, an entry for each sample: the likeliest next tokens, or for each
/// mask token its position and the likeliest tokens there.
Fact prediction_facts(const ModelReport& model);

/// The names of a split's parts, with the pairs or the position and token that it is of.
Fact facts_of(const ScoreSplit& split);
Fact facts_of(const LogitSplit& split, const std::string& text, const std::string& against);
/// The other token of a difference, by its id, or the other class by its name.
Fact against_of(const LogitSplit& split);

/// The object that result.json holds. Tensors share their elements with it.
Fact facts_of(const ResultFile& result);

/// Writes the text of result.json. `threads` turn numbers into text (0 = as many as the machine
/// has), the same bytes whatever their number. Throws Error(file).
void write_result(const ResultFile& result, HashedFile& file, std::size_t threads);

}  // namespace attn
