#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/named.hpp"
#include "attn/plot.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"

namespace attn {

enum class PlotKind {
  heatmap,
  dimensions,
  grid,
  mask,
  stages,
  lines,
  shapes,
  strip,
  positions,
  curves,
  steps,
  comparison,
  difference,
  last = difference  ///< of all
};

/// A kind of picture, as users meet it.
struct PlotKindInfo {
  PlotKind kind;
  std::string_view name, meaning;
  std::size_t least_files = 1, most_files = 1;  ///< that one picture shows
  /// Whether run() draws it when asked to. It draws a comparison of several kinds by itself.
  bool of_runs = true;
};

/// All of them, in the order they are listed to users.
std::span<const PlotKindInfo> plot_kinds() noexcept;

/// Positions from `first` up to `end`, which does not belong to them; absent = from the start, to
/// the end; negative = counted from the end.
struct PositionRange {
  std::optional<std::int64_t> first, end;
};

/// Which pieces make a word, where the pieces themselves bear no mark of it: the words in their
/// order, whose letters are those of the pieces, or the positions of the pieces of each, from the
/// first up to the end.
struct PieceWords {
  std::vector<std::string> words;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
};

/// From a file: a list of words (JSON, or text with a word a line), of [first, end] positions, or
/// for each piece of the number of its word or null, as `word_ids()` of tokenizers gives them.
/// Throws Error(file) or Error(input).
PieceWords read_piece_words(const std::filesystem::path& path, const FileAccess& access = {});

/// Which part of the weights pictures show.
struct MapSelection {
  enum class Heads { one, mean, max, all } heads = Heads::one;
  /// Heads that are drawn, or taken together; absent = all.
  std::optional<std::vector<PositionRange>> chosen_heads;
  /// Of a stack of maps the layers that are drawn, or taken together; absent = all.
  std::optional<std::vector<PositionRange>> layers;
  enum class Layers { each, mean, max } layers_together = Layers::each;
  std::optional<PositionRange> queries, keys;
  std::size_t drop_first = 0;  ///< so many leading keys are left out, as those of an attention sink
  std::vector<std::string> drop;  ///< keys that are left out, each by its position or its label
  bool renormalize = false;       ///< rows of the keys that are left are divided by their sums
  bool merge_pieces = false;  ///< pieces of words become words: keys are summed, queries averaged
  std::optional<PieceWords> words;  ///< absent = the pieces tell by their marks
  bool hide_mask = false;           ///< hidden cells look like plain zeros
  bool one_sample = false;          ///< a grid shows the chosen sample only, not all of them

  /// Whether a picture of one head shows its weights as they are.
  bool plain() const;
};

/// What a model reads as one sample: a text, or a pair of them.
struct ModelText {
  std::string text;
  std::optional<std::string> pair;
};

/// A head of a layer: "5", or of an encoder-decoder "encoder.5", "decoder.5" or "cross.5".
struct LayerHead {
  std::string layer;
  std::size_t head = 0;
};

/// An input document, and what is set in place of what it says.
struct DocumentOptions {
  std::filesystem::path input;  ///< "-" = standard input; empty = none, which takes a model

  std::optional<std::filesystem::path> model;         ///< a checkpoint folder
  std::optional<std::filesystem::path> architecture;  ///< a file with a row that describes it
  std::vector<ModelText> texts;                       ///< that it reads
  std::optional<std::vector<std::size_t>> layers;     ///< of a model those whose weights are wanted
  bool logits = false;                                ///< whether they are written too
  std::vector<LayerHead> heads_off;  ///< their outputs are zeros before the output projection

  std::vector<Kind> attention;  ///< several are computed one after the other
  std::optional<DType> dtype;   ///< one of document_dtypes()
  std::optional<std::size_t> heads;
  std::optional<double> scale;
  std::optional<std::int64_t> seed;
  std::optional<std::vector<std::int64_t>> valid_lens;
  std::optional<Pooling> pool;
  bool causal = false;
  std::optional<std::filesystem::path> gradient;  ///< a file with that of the output

  std::size_t threads = 0;  ///< 0 = as many as the machine has; never changes a result
  FileAccess files;         ///< how large files may be, and which may be named
};

/// What to do with one input document. Of several kinds each is written into a folder of its name.
struct RunOptions : DocumentOptions {
  std::filesystem::path out = "attention_results";  ///< folder of the results, made if missing
  /// Takes the result, piece by piece, in the place of the folder: the text of result.json with all
  /// tensors in it. Nothing is drawn and no file is written then.
  std::function<void(std::string_view)> answer;
  bool answer_in_one_line = false;

  /// Names of the tensors that are written, "output" or "layers.0.self.weights"; the last part of a
  /// name stands for all that end in it. Empty = all.
  std::vector<std::string> only;
  bool stages = false;            ///< whether the steps of the score are written too
  bool weights = true;            ///< whether the weights are written
  bool reported_weights = false;  ///< whether reports have them even if nothing else needs them
  bool timing =
      false;  ///< whether result.json tells the seconds taken (its bytes then differ each time)
  /// Whether result.json and the pictures tell the program's version, the CPU target and a hash of
  /// each input file.
  bool provenance = false;
  /// Where the tensors are written: into result.json, or beside it as `weights.npy`…,
  /// `tensors.npz`, `tensors.safetensors` or `weights.csv`…
  TensorFormat tensors = TensorFormat::json;
  std::size_t sample = 0, head = 0;  ///< drawn and reported, from 0
  std::vector<PlotKind> plots{PlotKind::heatmap, PlotKind::dimensions};
  /// A heatmap that alone needs more weights than so many is left out, with a warning.
  std::size_t most_weights_for_heatmap = std::numeric_limits<std::size_t>::max();
  MapSelection selection;
  PictureFormat format = PictureFormat::png;
  PlotOptions plot;

  /// Called now and then by any thread, several at once too, with the scores computed so far and
  /// those there are in all.
  std::function<void(std::size_t done, std::size_t all)> progress;
};

/// The chosen sample and head of one attention's weights, for a report.
struct ReportedWeights {
  std::string name;  ///< "weights", "self.weights", "layers.0.cross.weights"…
  Tensor weights;    ///< [Lq,Lk], or the bins' if they are pooled; absent if not wanted
  std::vector<std::string> query_labels, key_labels;  ///< made up (Q_1…) if none were given
  Heatmap heatmap;   ///< as pictures show it; without weights if they were not computed
  std::string mask;  ///< its parts in words; empty without one
  std::size_t hidden = 0, cells = 0;  ///< how many of all weights the mask hides
};

/// What a model holds likeliest at one position: the token after it, or of a mask token what it
/// stands for.
struct Prediction {
  struct Token {
    std::int64_t id = 0;
    std::string text;  ///< as a reader would write it; empty without a tokenizer
    double probability = 0;
  };
  std::size_t position = 0;
  std::vector<Token> likeliest;  ///< at most ten, the likeliest first
};

/// What a model read and what it predicts, one list a sample.
struct ModelReport {
  std::string family;
  std::vector<std::vector<std::string>> tokens;          ///< empty without a tokenizer
  std::vector<std::vector<std::string>> decoder_tokens;  ///< of an encoder-decoder
  bool next = false;  ///< whether predictions are of the next token after each sample
  std::vector<std::vector<Prediction>> predictions;
};

/// What a run of one kind did, for people and programs.
struct RunReport {
  std::string document, title, description;
  Kind kind = Kind::scaled_dot_product;
  DType dtype = DType::float32;
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of the inputs, weights and output
  /// Of the inputs that come from files the types that these hold, "float16", where they are not
  /// the one that is computed in.
  std::vector<std::pair<std::string, std::string>> file_types;
  Tensor output;  ///< absent if it is not written
  std::size_t sample = 0, head = 0;
  std::vector<ReportedWeights> weights;
  std::vector<std::string>
      recovered;                     ///< a sample: the tokens its embeddings were turned back into
  std::optional<ModelReport> model;  ///< of Kind::model
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;  ///< written, in the order of writing
};

/// One report a kind, and the picture that compares several.
struct RunOutcome {
  std::vector<RunReport> reports;
  std::optional<std::filesystem::path> comparison;
};

/// Computes one document and writes `result.json` and the pictures asked for: into the folder, or
/// with several kinds into one folder each, and beside them `comparison` with their heatmaps on one
/// colour scale. Everything is computed and drawn before the first file is written. Throws Error;
/// then no file is half written.
RunOutcome run(const RunOptions& options);

/// The report to read: shapes, the chosen weights as a table with two decimals, what is masked, the
/// files.
std::string report_text(const RunOutcome& outcome);
/// The same as one JSON object; with several kinds, an object with a list of them.
std::string report_json(const RunOutcome& outcome);

/// What an axis of a tensor of maps is.
enum class MapAxis { layer, batch, head, query, key };
std::span<const Named<MapAxis>> map_axes() noexcept;

/// A picture of numbers that already exist: a result, any tensor file, or {"weights":…,"labels":…}
/// / {"shapes":…}. A mask is drawn from an input document too; nothing is computed then.
struct PlotRequest {
  PlotKind kind = PlotKind::heatmap;
  std::filesystem::path input;  ///< "-" = standard input
  /// What a comparison shows beside it, or what follows; of weights the files of the other layers.
  std::vector<std::filesystem::path> others;
  /// Of the tensor to draw; "{n}" in it stands for the numbers of layers, each a tensor. Absent:
  /// the weights of a result, or the tensors of a file whose rows are weights, each a layer.
  std::optional<std::string> name;
  /// Of the tensor to draw, before query and key, which may be left out. Absent: [Lq,Lk],
  /// [B,Lq,Lk] or [B,H,Lq,Lk].
  std::vector<MapAxis> axes;
  /// A file with {"query":[…],"key":[…]}, one list for both, or a label a line, instead of the
  /// input's own.
  std::optional<std::filesystem::path> labels;
  std::size_t sample = 0, head = 0;
  MapSelection selection;
  PictureFormat format = PictureFormat::png;
  PlotOptions options;
  FileAccess files;         ///< how large files may be, and which may be named
  bool provenance = false;  ///< whether the picture tells what RunOptions::provenance asks for
};

/// Throws Error: (file) if a file cannot be read, (input) if it holds nothing that such a picture
/// shows, or options do not fit it.
Picture draw(const PlotRequest& request);

/// The map of the sample and head that PlotKind::heatmap would draw; what could not be done as
/// asked is added to `warnings`. Throws as draw().
Heatmap read_heatmap(const PlotRequest& request, std::vector<std::string>* warnings = nullptr);

/// The map as a result with one tensor, which draw() and compare() read: its numbers as "weights",
/// its labels, and its title as "description".
std::string heatmap_json(const Heatmap& heatmap);

/// Writes the bytes to a file that appears whole or not at all. Throws Error(file).
void write_picture(const Picture& picture, const std::filesystem::path& path);

/// By the name's extension. Throws Error(input) for one that is not .png, .svg or .pdf.
PictureFormat picture_format(const std::filesystem::path& path);

}  // namespace attn
