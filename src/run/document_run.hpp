#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/pictures.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "models/model_folder.hpp"
#include "result/provenance.hpp"
#include "why/splits.hpp"

namespace attn {

/// Sets in a plan which results a run writes, draws and reports, and returns the kinds of pictures
/// that it draws. Adds a warning for each picture that is left out. Throws Error(usage) for options
/// that have no meaning for the plan.
std::vector<PlotKind> choose_results(const RunOptions& options, Plan& plan);

/// Warnings of options of pictures that none of the pictures of a run honours; of several kinds a
/// comparison is drawn too, and splits show what is chosen of the weights.
std::vector<std::string> without_effect(const RunOptions& options, bool several_kinds, bool splits);

/// Whether a tensor of that name says which keys are seen: "allowed", "self.allowed".
bool holds_seen_keys(std::string_view tensor);

/// Whether a run writes weights.
bool wants_weights(const RunOptions& options, const Plan& plan);

/// Whether a run writes the tensor of that name, whatever it draws. Numbers that are made of
/// weights, "shares" and "contacts", it writes if weights are wanted, if the document names parts
/// of the text to share among, or if RunOptions::only names them.
bool is_written(std::string_view name, const RunOptions& options, const Plan& plan);

/// Tensors that the result of a plan of a model has, but for RunOptions::only and for splits:
/// tokens with their elements, others as shapes.
std::vector<std::pair<std::string, Tensor>> foreseen_results(const RunOptions& options,
                                                             const Plan& plan);

/// Throws Error(input) for a name in RunOptions::only that no tensor of the result will have, as
/// far as names are known before the computation.
void check_only(const RunOptions& options, const Plan& plan);
/// Throws Error(input) for a name that none of the computed tensors has.
void check_only(const RunOptions& options, const Plan& plan,
                std::span<const std::pair<std::string, Tensor>> computed);

/// Bytes of JSON above which the tensors of a plan go into a file of their own, unasked.
double most_json_of(const Plan& plan, const RunOptions& options) noexcept;

/// About the bytes of the tensors that a run writes for a plan; 0 if only some of them are wanted.
double foreseen_bytes(const Plan& plan, const RunOptions& options);

/// File next to a result, made of all its maps while they are computed.
struct MapsFile {
  std::string name;
  /// Takes the map of an attention, whose numbers may be freed afterwards.
  std::function<void(const AttentionMap& map)> take;
  std::function<Picture()> finish;
};

/// Makes the file for a plan, which outlives it and is about to be computed with its weights, and
/// for the folder of its result.
using MakeMapsFile = std::function<MapsFile(const Plan& plan, const std::filesystem::path& folder)>;

/// Splits of a model's scores and logits in one sample, with the names of what they are about.
struct RunSplits {
  WhySplits splits;
  std::shared_ptr<const ModelFolder> folder;
  std::string document;
  std::size_t sample = 0, samples = 1;
  std::vector<std::string> tokens;  ///< of the text, or of an encoder-decoder's decoder
  std::vector<std::string> read;    ///< of the encoder's text; of other models as `tokens`
  std::string token;                ///< whose logit is split, in quotes; empty without a logit
  std::string against = {};         ///< whose logit is taken away from it; empty = none
};

/// Names what was split in a sample of a model's plan.
RunSplits named_splits(WhySplits splits, const Plan& plan, const std::string& document,
                       std::size_t sample);

/// run() of a document that is read already; `options.input` is not looked at. `provenance`, which
/// has watched the document being read, goes into the results; null = none. `make`, which may be
/// empty, makes a file of the maps of each kind. Throws Error as run() does.
RunOutcome run_document(const RunOptions& options, Document document,
                        const Provenance* provenance = nullptr, const MakeMapsFile& make = {});

/// run() with such a file next to each result.
RunOutcome run_with_maps_file(const RunOptions& options, const MakeMapsFile& make);

}  // namespace attn
