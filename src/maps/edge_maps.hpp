#pragma once

#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "result/result_reader.hpp"

namespace attn {

/// Weights [E] or [E,H] of the edges of a graph, and the nodes [2,E] that each leads from and to,
/// as PyTorch Geometric has them.
struct EdgeList {
  std::string nodes, weights;  ///< names of the tensors
};

/// Lists of edges in a file: tensors of such shapes beside each other.
std::vector<EdgeList> edge_lists(ResultReader& file);

/// The map [N,N], or [H,N,N], of all nodes: row i has the weights of the edges that lead to node i,
/// in the columns of the nodes that they lead from. Weights of one edge that is there several times
/// are added. Throws Error(input) for more elements than the limit.
Tensor map_of_edges(ResultReader& file, const EdgeList& list);

}  // namespace attn
