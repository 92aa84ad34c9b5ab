#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

#include "result/result_reader.hpp"

namespace attn {

/// Maps of a layer at each step of decoding, as `generate(output_attentions=True)` leaves them.
struct LayerOfSteps {
  std::size_t layer = 0;
  std::vector<std::string> tensors;  ///< one a step, in their order
};

/// Names that are a step's number, a point and a layer's after a common beginning,
/// "attentions.2.0", by layers: of the beginning of the first such name, or of `pattern`,
/// "attentions.{step}.{layer}". Nothing for fewer than two steps, or where one is missing.
std::vector<LayerOfSteps> steps_of_layers(const std::vector<std::string>& names,
                                          const std::optional<std::string>& pattern);
/// Whether a name is one of these, and its beginning: "attentions.".
bool is_a_step(const std::string& name);
std::string beginning_of_steps(const std::string& name);
/// Pattern of all steps and layers that begin so.
std::string pattern_of_steps(const std::string& beginning);

/// Rows of each step after the first one, which has those of a prompt.
enum class StepRows {
  one,  ///< the row of the token that it decodes
  all,  ///< the rows of the steps before it, too, where keys and values were not kept
};
/// How tensors of these shapes, [B,H,Lq,Lk], are steps; none if they are not: those after the first
/// have one key more a step, or always as many, as in cross-attention.
std::optional<StepRows> rows_of_steps(const std::vector<Shape>& shapes);

/// A map over the prompt and what followed it, [B,H,Lq,Lk].
struct StitchedSteps {
  Tensor numbers;             ///< 0 where a step had no key
  Tensor allowed;             ///< absent where every step sees all keys, as in cross-attention
  std::vector<Shape> shapes;  ///< of the steps whose rows are stitched
};

/// The steps one below the other, or the last one where it has all rows. `beams`
/// [sequences,steps], absent without a search by beams, says which sample of each step a sequence
/// went on from; below 0 it has ended. Throws Error(input) if a number is no sample's, or if the
/// map exceeds the limits; the error names `file`.
StitchedSteps stitched(std::vector<Tensor> steps, const Tensor& beams, const Limits& limits,
                       const std::string& file);

/// Weights [E] or [E,H] of the edges of a graph, and the nodes [2,E] that each leads from and to,
/// as PyTorch Geometric has them; or the numbers of a sparse matrix and the starts of its rows or
/// columns ("indptr"), or their rows ("row"), as scipy.sparse.save_npz writes them.
struct EdgeList {
  std::string nodes, weights;  ///< names of the tensors
};

/// Lists of edges in a file: tensors of such shapes beside each other.
std::vector<EdgeList> edge_lists(ResultReader& file);

/// The map [N,N], or [H,N,N], of all nodes: row i has the weights of the edges that lead to node i,
/// in the columns of the nodes that they lead from. Weights of one edge that is there several times
/// are added. A sparse matrix is the map itself; one whose "indptr" may be that of rows or columns
/// has the reading whose rows sum to 1, else rows. Throws Error(input) for more elements than the
/// limit, and for places outside of a sparse matrix.
Tensor map_of_edges(ResultReader& file, const EdgeList& list);

}  // namespace attn
