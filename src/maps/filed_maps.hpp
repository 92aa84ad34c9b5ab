#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "maps/attention_map.hpp"
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
  bool in_order_given = false;        ///< whether files without numbers in their names are layers
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

/// Maps of files: one, or a stack of layers, in an axis of a tensor, in several tensors or in
/// several files. Only maps that are wanted are read.
class FiledMaps {
 public:
  /// Finds the tensors in the files. `english`: places of layers are named in English, whatever the
  /// language is. Throws Error(input) if there are no tensors of the name, or no weights.
  FiledMaps(MapFiles files, MapRequest request, MapContents contents = MapContents::weights,
            bool english = false);

  /// Hands over the wanted layers one after the other, so that only one needs to be in memory, or
  /// their mean or largest as one map. Throws Error(input) naming the field for layers that are not
  /// there.
  void each(const std::function<void(AttentionMap map)>& take);
  /// All that each() hands over.
  std::vector<AttentionMap> chosen();

  /// Map for a picture that shows one: the chosen one, else the first of the stack.
  /// Throws Error(input) naming the field if several are.
  AttentionMap one();

  /// The steps of decoding of the layer that one() hands over, each with its own keys; none where
  /// it is no map of steps.
  std::vector<AttentionMap> steps();

  /// The warning that one() hands over one of several layers, which the request does not choose.
  std::optional<std::string> others_of_one() const;

  /// The warning that files are layers in the order in which they were given.
  std::optional<std::string> files_as_layers() const;

  /// Number of layers, wanted or not.
  std::size_t layers() const noexcept { return found_.layers.size(); }

  /// Hands over all wanted layers of stacks that share their files, in the order in which the first
  /// file lists their tensors.
  friend void each_of(std::vector<FiledMaps>& stacks,
                      const std::function<void(AttentionMap map)>& take);

  /// Names of the tensors of the first file, and any of them as a map.
  const std::vector<std::string>& names() const { return files_[0]->names(); }
  AttentionMap named(const std::string& tensor);
  /// Tensor that is drawn first, and its shape in the file.
  const std::string& first() const { return found_.layers[0].tensor; }
  Shape shape_of_first() { return numbers(found_.layers[0]).shape(); }
  /// Other tensors of weights, which are no part of the stack.
  const std::vector<std::string>& left_out() const { return found_.left_out; }

  friend std::vector<FiledMaps> all_stacks(const MapFiles& files, const MapRequest& request,
                                           MapContents contents);

 private:
  bool has_axis(MapAxis axis) const;
  std::vector<FiledLayer> wanted() const {
    return wanted_layers(found_, request_.selection.layers);
  }
  void take_axis_apart(bool english);
  Tensor numbers(const FiledLayer& layer);
  Tensor of_steps(const FiledLayer& layer);
  Tensor arranged(const Tensor& tensor, const FiledLayer& layer) const;
  TensorMeaning meaning_of_numbers(const AttentionMap& map, const ResultReader& file) const;
  Labels labels_of(const AttentionMap& map, ResultReader& file, bool of_steps) const;
  bool takes_together() const { return request_.selection.joins_layers(); }
  AttentionMap read(const FiledLayer& layer);
  /// One layer, or all of them taken together.
  AttentionMap read(const std::vector<FiledLayer>& layers);
  AttentionMap together(const std::vector<FiledLayer>& layers);

  MapFiles files_;
  MapRequest request_;
  mutable std::optional<Labels> given_labels_;  // of the request's file, once it was read
  MapContents contents_;
  std::vector<MapAxis> axes_;  ///< all of them; empty = the usual ones
  FiledLayers found_;
  bool guesses_layers_ = false;  ///< whether the first of five axes is taken for layers unasked
  /// The tensor that was read last, which may hold all layers.
  struct {
    const ResultReader* file = nullptr;
    std::string name;
    Tensor tensor;
    Shape in_file;
    Tensor allowed;            ///< of steps of decoding
    std::vector<Shape> steps;  ///< their shapes
  } read_;
};

/// The labels in a file that the user names. Throws Error(file) or Error(input) naming it.
/// Labels of all positions of a map: the lists name these, or those alone that the selection
/// leaves. One list for both sides names those of its length. Lists that fit neither are refused
/// later.
Labels fitting_labels(Labels labels, const MapSelection& selection, std::size_t queries,
                      std::size_t keys);
Labels read_label_file(const std::filesystem::path& path, const FileAccess& access);

/// All stacks of the files: that of FiledMaps and, each as a stack of its own, the maps that it
/// leaves out. A tensor of five axes that are not named is a stack [layers,B,H,Lq,Lk]. Throws as
/// FiledMaps() does.
std::vector<FiledMaps> all_stacks(const MapFiles& files, const MapRequest& request,
                                  MapContents contents);
void each_of(std::vector<FiledMaps>& stacks, const std::function<void(AttentionMap map)>& take);

}  // namespace attn
