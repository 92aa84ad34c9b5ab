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

/// Tensors of an attention that are read in addition to its weights.
enum class MapContents {
  weights,  ///< the mask
  stages,   ///< the mask and the stages of the scores
  mask,     ///< the mask, which may be there without weights
};

/// Maps of files: one, or a stack of layers, in an axis of a tensor, in several tensors or in
/// several files. Only maps that are wanted are read.
class FiledMaps {
 public:
  /// Opens the files that are not `opened`, and finds the tensors.
  /// `english`: places of layers are named in English, whatever the language is. Throws
  /// Error(file), or Error(input) if there are no tensors of the name, or no weights.
  explicit FiledMaps(MapRequest request, MapContents contents = MapContents::weights,
                     std::vector<std::shared_ptr<ResultReader>> opened = {}, bool english = false);

  /// Hands over the wanted layers one after the other, so that only one needs to be in memory, or
  /// their mean or largest as one map. Throws Error(input) naming the field for layers that are not
  /// there.
  void each(const std::function<void(AttentionMap map)>& take);
  /// All that each() hands over.
  std::vector<AttentionMap> chosen();

  /// Map for a picture that shows one: the chosen one, else the first of the stack.
  /// Throws Error(input) naming the field if several are.
  AttentionMap one();

  /// Number of layers, wanted or not.
  std::size_t layers() const noexcept { return layers_.size(); }

  const std::vector<std::shared_ptr<ResultReader>>& files() const { return files_; }

  /// Hands over all wanted layers of stacks that share their files, in the order in which the first
  /// file lists their tensors.
  friend void each_of(std::vector<FiledMaps>& stacks,
                      const std::function<void(AttentionMap map)>& take);

  /// Names of the tensors of the first file, and any of them as a map.
  const std::vector<std::string>& names() const { return files_[0]->names(); }
  AttentionMap named(const std::string& tensor);
  /// Tensor that is drawn first, and its shape in the file.
  const std::string& first() const { return layers_[0].tensor; }
  Shape shape_of_first() { return numbers(layers_[0]).shape(); }
  /// Other tensors of weights, which are no part of the stack.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  /// A layer and where it is.
  struct Layer {
    ResultReader* file = nullptr;
    std::string tensor;
    std::size_t number = 0;                 ///< from 0
    std::string place;                      ///< "Layer 2", if the tensor's name does not say
    std::optional<std::size_t> index = {};  ///< in the tensor's axis of layers
  };

  std::string layer_text(std::size_t number) const;
  void find(ResultReader& file);
  void find_weights(ResultReader& file);
  void find_by_values(ResultReader& file);
  void add(ResultReader& file, const std::vector<std::string>& tensors);
  void add_numbered(ResultReader& file, const std::vector<std::string>& names,
                    const std::string& pattern);
  void number_files();
  void take_axis_apart();
  bool has_axis(MapAxis axis) const;
  std::vector<Layer> wanted_layers() const;
  Tensor numbers(const Layer& layer);
  Tensor arranged(const Tensor& tensor, const Layer& layer) const;
  TensorMeaning meaning_of_numbers(const AttentionMap& map, const ResultReader& file) const;
  Labels labels_of(const AttentionMap& map, ResultReader& file) const;
  bool takes_together() const {
    return request_.selection.layers_together != MapSelection::Layers::each;
  }
  AttentionMap read(const Layer& layer);
  /// One layer, or all of them taken together.
  AttentionMap read(const std::vector<Layer>& layers);
  AttentionMap together(const std::vector<Layer>& layers);

  MapRequest request_;
  MapContents contents_;
  std::vector<std::shared_ptr<ResultReader>> files_;
  std::vector<Layer> layers_;
  bool english_;
  bool is_stack_ = false;  ///< whether the layers have numbers
  std::vector<std::string> left_out_;
  std::vector<MapAxis> axes_;  ///< all of them; empty = the usual ones
  /// The tensor that was read last, which may hold all layers.
  struct {
    const ResultReader* file = nullptr;
    std::string name;
    Tensor tensor;
  } read_;
};

/// All stacks of the files: that of FiledMaps and, each as a stack of its own, the maps that it
/// leaves out. `first` is the first file, or null. A tensor of five axes that are not named is a
/// stack [layers,B,H,Lq,Lk]. Throws as FiledMaps() does.
std::vector<FiledMaps> all_stacks(const MapRequest& request, MapContents contents,
                                  std::shared_ptr<ResultReader> first = nullptr);
void each_of(std::vector<FiledMaps>& stacks, const std::function<void(AttentionMap map)>& take);

/// Whether three axes are taken as [samples,queries,keys], and the warning that they may be heads.
bool is_samples_of_one_head(const AttentionMap& map);
std::string samples_of_one_head_warning();

}  // namespace attn
