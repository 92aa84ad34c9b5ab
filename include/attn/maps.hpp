#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/named.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The meaning of one axis of a tensor of maps.
enum class MapAxis { layer, batch, head, query, key };
std::span<const Named<MapAxis>> map_axes() noexcept;

/// Positions from `first` up to, but without, `end`. Absent = from the start, to the end; negative
/// = counted from the end.
struct PositionRange {
  std::optional<std::int64_t> first, end;
};

/// The pieces of each word, for tokens that bear no mark of it. Either `words` has the words in
/// their order, whose letters are those of the pieces, or `pieces` has the positions [first, end)
/// of each word's pieces.
struct PieceWords {
  std::vector<std::string> words;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
};

/// Reads words from a file: a list of words (JSON, or text with a word a line), a list of [first,
/// end] positions, or a list with the number of its word or null for each piece, as `word_ids()` of
/// tokenizers gives them. Throws Error(file) or Error(input).
PieceWords read_piece_words(const std::filesystem::path& path, const FileAccess& access = {});

/// The part of the weights that pictures show.
struct MapSelection {
  /// One map of an axis, the mean or the largest of several, or all that are chosen, each by
  /// itself.
  enum class Shown { one, mean, max, all };
  Shown heads = Shown::one, samples = Shown::one;
  /// Heads and samples that are shown or combined; absent = all.
  std::optional<std::vector<PositionRange>> chosen_heads, chosen_samples;
  /// Layers of a stack of maps that are shown or combined; absent = all.
  std::optional<std::vector<PositionRange>> layers;
  /// `all` is `each`, but not for what shows one layer alone.
  enum class Layers { each, mean, max, all } layers_together = Layers::each;
  std::optional<PositionRange> queries, keys;
  /// One query, by its label or its position, such as "[CLS]" or "3,5", in the place of `queries`.
  std::optional<std::string> query;
  std::size_t drop_first = 0;     ///< number of leading keys left out, such as an attention sink
  std::vector<std::string> drop;  ///< keys left out, each by its position or its label
  bool renormalize = false;       ///< whether rows of the remaining keys are divided by their sums
  bool merge_pieces = false;  ///< pieces of words become words: keys are summed, queries averaged
  std::optional<PieceWords> words;  ///< absent = the marks of the pieces decide
  /// Tokens become one block for each sentence, or for each part that brackets name: keys are
  /// summed, queries averaged, so that rows keep their sums.
  enum class Blocks { none, sentence, part } blocks = Blocks::none;
  bool hide_mask = false;  ///< whether hidden cells look like plain zeros

  /// Whether the mean or the largest of several is shown.
  static bool together(Shown shown) { return shown == Shown::mean || shown == Shown::max; }
  bool joins_layers() const {
    return layers_together == Layers::mean || layers_together == Layers::max;
  }
  /// Whether a map shows the weights of one sample and head unchanged.
  bool plain() const;
};

/// Choice among the maps of an input that is a result or any file of tensors: one map, or a stack
/// of the maps of all layers.
struct MapRequest {
  /// Further files: one per layer of a stack, map of a comparison, or decoding step.
  std::vector<std::filesystem::path> others;
  /// Name of the tensor, or of one tensor per layer with "{n}" in the place of the layer's number.
  /// Absent: the weights of a result, or the tensors of a file whose rows are weights, as layers.
  std::optional<std::string> name;
  /// Part of the tensor that NumPy's basic indexing takes, "0, :, 64:128", before `reshape`.
  std::optional<std::string> slice;
  /// Sizes of the axes that the tensor is taken by, in place of its own; 0 is the size that is
  /// left, of one axis at most. Empty = its own.
  Shape reshape;
  /// Axes of the tensor before query and key, which may be left out. Absent: [Lq,Lk], [B,Lq,Lk] or
  /// [B,H,Lq,Lk].
  std::vector<MapAxis> axes;
  /// File that replaces the input's labels: {"query":[…],"key":[…]}, one list for both, or one
  /// label per line.
  std::optional<std::filesystem::path> labels;
  MapSelection selection;

  /// Whether the tensor is taken in another shape than its own.
  bool changes_shape() const { return slice || !reshape.empty(); }
};

}  // namespace attn
