#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"
#include "attn/written_file.hpp"

#include "document/labels.hpp"
#include "report/facts.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "result/seen_keys.hpp"
#include "result/tensor_files.hpp"
#include "why/splits.hpp"

namespace attn {

/// The content of result.json.
struct ResultFile {
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  std::string title, description;
  Labels labels;
  const ModelReport* model = nullptr;   ///< null = no model
  const WhySplits* why = nullptr;       ///< of a model; null = none
  std::vector<SeenKeys> seen;           ///< of a model's attentions
  std::optional<std::size_t> kv_heads;  ///< where heads share key and value heads
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<TensorPlace> places;  ///< one a tensor; empty = all are written in result.json itself
  std::vector<std::string> warnings;
  std::vector<std::string> pictures;       ///< relative to the result
  std::vector<WrittenFile> files;          ///< beside result.json
  std::optional<WrittenFile> comparison;   ///< picture of this and other kinds, in the folder above
  const Provenance* provenance = nullptr;  ///< null = left out
  std::optional<double> seconds;           ///< of the computation; absent = no timing
};

/// The labels of all samples, or a list of them for each sample; absent if there are none.
Fact label_facts(const std::vector<std::vector<std::string>>& lists);

/// The tokens that follow the texts of a model: lists with an entry for each sample.
Fact generated_facts(const ModelReport& model);

/// The predictions of a model, an entry for each sample: the likeliest next tokens, or for each
/// mask token its position and the likeliest tokens there.
Fact prediction_facts(const ModelReport& model);

/// The names of a split's parts, with the pairs or the position and token that it is of.
Fact facts_of(const ScoreSplit& split);
Fact facts_of(const LogitSplit& split);

/// The object that result.json holds. Tensors share their elements with it.
Fact facts_of(const ResultFile& result);

/// Writes the text of result.json. `threads` turn numbers into text (0 = as many as the machine
/// has), the same bytes whatever their number. Throws Error(file).
void write_result(const ResultFile& result, HashedFile& file, std::size_t threads);

}  // namespace attn
