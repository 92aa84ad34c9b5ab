#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "result/result_reader.hpp"

namespace attn {

/// Name of the chosen layers in errors.
inline constexpr const char* layers_field = "MapSelection::layers";

/// Tensors of an attention that are read in addition to its weights.
enum class MapContents {
  weights,  ///< the mask
  stages,   ///< the mask and the stages of the scores
  mask,     ///< the mask, which may be there without weights
};

/// Files with the maps of one input, which stacks share.
using MapFiles = std::vector<std::shared_ptr<ResultReader>>;

/// The first file, and the further ones of the request, which are opened. Throws Error(file) or
/// Error(input).
MapFiles map_files(std::shared_ptr<ResultReader> first, const MapRequest& request);

/// A map in a file, which may be a layer of a stack.
struct FiledLayer {
  ResultReader* file = nullptr;
  std::string tensor;
  std::size_t number = 0;                 ///< from 0
  std::string place;                      ///< "Layer 2", if the tensor's name does not say
  std::optional<std::size_t> index = {};  ///< in the tensor's axis of layers
  std::string nodes = {};  ///< tensor of the nodes of a list of edges, whose weights the tensor is
  std::vector<std::string> steps = {};  ///< tensors of decoding that make the map, one a step
};

/// Maps of files that belong together, before their numbers are read.
struct FiledLayers {
  std::vector<FiledLayer> layers;
  bool is_stack = false;              ///< whether the layers have numbers
  std::vector<std::string> left_out;  ///< other tensors of weights, which are not part of the stack
};

/// The tensor of that name, those of all layers if it has an {n}, or the weights of the files.
/// `english`: places of layers are named in English, whatever the language is. Throws Error(input)
/// if there are no tensors of the name, or no weights.
FiledLayers layers_in(const MapFiles& files, const std::optional<std::string>& name,
                      MapContents contents, bool english);

/// Layers in the order of the ranges; all without ranges. Throws Error(input) naming the field for
/// layers that are not there.
std::vector<FiledLayer> wanted_layers(const FiledLayers& all,
                                      const std::optional<std::vector<PositionRange>>& ranges);

/// "Layer 2" of number 1.
std::string layer_text(std::size_t number, bool english);

}  // namespace attn
