#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/io.hpp"
#include "attn/maps.hpp"
#include "attn/model.hpp"
#include "attn/pictures.hpp"
#include "attn/plot.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"
#include "attn/written_file.hpp"

namespace attn {

/// The computation of one input document and its outputs. Each of several kinds is written into a
/// folder with the name of the kind.
struct RunOptions {
  DocumentOptions document;
  std::filesystem::path out = "attention_results";  ///< folder of the results, made if missing
  /// Receives the text of result.json with all tensors in it, piece by piece. No file is written
  /// and no picture is drawn then.
  std::function<void(std::string_view)> answer;
  bool answer_in_one_line = false;

  /// Names of the tensors that are written, such as "output" or "layers.0.self.weights"; the last
  /// part of a name selects all tensors that end in it, and "gradient" all gradients. Empty = all.
  std::vector<std::string> only;
  bool stages = false;            ///< whether the steps of the score are written
  bool weights = true;            ///< whether the weights are written
  bool reported_weights = false;  ///< whether reports hold weights that nothing else needs
  bool timing = false;  ///< whether result.json has the seconds taken, which differ each time
  /// Whether result.json and the pictures have the program's version, the CPU target and a hash of
  /// each input file.
  bool provenance = false;
  /// Whether result.json says its document, by the path from its own folder. A later run of another
  /// document warns that it has replaced the result.
  bool says_document = false;
  /// Place of the tensors: in result.json, or beside it as `weights.npy`…, `tensors.npz`,
  /// `tensors.safetensors` or `weights.csv`…; absent = in result.json, or in `tensors.safetensors`
  /// with a warning where the shapes ask for more than 64 MB of JSON, or 8 MB of a model.
  std::optional<TensorFormat> tensors;
  /// Whether run() waits until all is on the disk, so that a power failure leaves the older result
  /// or the new one.
  bool sync = true;
  /// Drawn and reported, from 0. Of a model of texts whose heads are not chosen by `head` or
  /// `selection`, the head of each attention that tells most is: the one whose weights are least
  /// explained by the key alone and by the distance alone.
  std::size_t sample = 0, head = 0;
  std::vector<PlotKind> plots{PlotKind::heatmap, PlotKind::dimensions};
  /// Whether `plots` were asked for. Otherwise the sizes of a model's tensors are not drawn.
  bool plots_chosen = false;
  /// Number of weights above which a heatmap that alone needs them is left out, with a warning.
  std::size_t most_weights_for_heatmap = std::numeric_limits<std::size_t>::max();
  MapSelection selection;
  PictureFormat format = PictureFormat::png;
  PlotOptions plot;

  /// Called before the computation with a line that says how much will be written, if that is more
  /// than 64 MB.
  std::function<void(const std::string& text)> foresee;
  /// Called from time to time with the number of scores computed and the number of all scores. Any
  /// thread may call it, also several at once.
  std::function<void(std::size_t done, std::size_t all)> progress;
};

/// The weights of one attention, of the chosen sample and head.
struct ReportedWeights {
  std::string name;  ///< "weights", "self.weights", "layers.0.cross.weights"…
  Tensor weights;    ///< [Lq,Lk], or [bins,bins] if they are pooled; absent if not wanted
  std::vector<std::string> query_labels;  ///< of the rows; empty if the document has none
  std::vector<std::string> key_labels;    ///< of the columns; only with the weights
  std::size_t head = 0;                   ///< whose weights these are, from 0
  std::size_t queries = 0, keys = 0;      ///< numbers of positions that rows and columns stand for
  Heatmap heatmap;   ///< as pictures show it; without weights if they were not computed
  std::string mask;  ///< the parts of the mask in words; empty without a mask
  /// Steps of scores and weights beside scale, mask and softmax, in words: softcap, sinks,
  /// the rounding of fused kernels; empty if nothing does.
  std::string other_steps;
  std::size_t hidden = 0, cells = 0;  ///< number of weights that the mask hides, and of all weights
  /// Number of weights that are 0 by large negative numbers of the bias alone.
  std::size_t hidden_in_effect = 0;
};

struct RunSplits;

/// The outcome of one kind.
struct RunReport {
  std::string document, title, description;
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of the inputs, weights and output
  /// Names of inputs and the element types of their files, such as "float16", where these differ
  /// from `dtype`.
  std::vector<std::pair<std::string, std::string>> file_types;
  Tensor output;  ///< absent if it is not written
  std::size_t sample = 0, head = 0;
  std::vector<ReportedWeights> weights;
  bool chooses_heads = false;  ///< whether each of these shows the head that tells most
  /// The ids of the tokens, their embeddings and the ids recovered from these, if the steps are
  /// written or tokens are recovered.
  std::vector<std::pair<std::string, Tensor>> tokens;
  std::vector<std::string> recovered;  ///< for each sample the tokens nearest to its embeddings
  std::vector<std::string> recovered_texts;  ///< these put together to words
  std::optional<ModelReport> model;          ///< of Kind::model
  /// Splits that the document asks for, of each text; see explain_splits().
  std::vector<std::shared_ptr<const RunSplits>> splits;
  std::vector<std::string> warnings;
  /// Why pictures that were asked for are not there: an error of each, whose place is its file.
  std::vector<Error> failed_pictures;
  std::vector<WrittenFile> files;  ///< in the order of writing
  /// Files of an older result in the folder that the new one does not have. They were unchanged
  /// since that run and have been deleted.
  std::vector<std::filesystem::path> removed;
};

/// A report for each kind, and the file of the picture that compares several kinds.
struct RunOutcome {
  std::vector<RunReport> reports;
  std::optional<WrittenFile> comparison;
};

/// Computes one document and writes `result.json` and the pictures: into the folder, or with
/// several kinds into one folder each, and beside these `comparison` with their heatmaps on one
/// colour scale. Everything is computed and drawn before the first file is written. A picture that
/// cannot be made, such as one too large for memory, leaves the others. Throws Error; then no file
/// is half written.
RunOutcome run(const RunOptions& options);

/// A report to read: shapes, the chosen weights as a table with two decimals, the mask, the files.
/// Tables show as many columns as `width` columns of a terminal hold, and at most 14.
std::string report_text(const RunOutcome& outcome,
                        std::size_t width = std::numeric_limits<std::size_t>::max());
/// The report as one JSON object; with several kinds, an object with a list of reports.
std::string report_json(const RunOutcome& outcome);

}  // namespace attn
