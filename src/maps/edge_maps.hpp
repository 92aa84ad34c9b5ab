#pragma once

#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "result/result_reader.hpp"

namespace attn {

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
