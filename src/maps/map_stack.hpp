#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "maps/attention_map.hpp"
#include "maps/numbered_names.hpp"
#include "result/result_reader.hpp"

namespace attn {

/// The tensors of an attention that are read beside its weights.
enum class MapContents {
  weights,  ///< the weights and the mask
  stages,   ///< these and the stages of the scores
  mask,     ///< the mask, with or without weights
};

/// The maps that a request draws: one, or a stack of layers, in an axis of a tensor, in several
/// tensors or in several files. What is not chosen is not read.
class MapStack {
 public:
  /// Opens the files and finds the tensors. Throws Error(file), or Error(input) if there are none
  /// of the name, or no weights.
  /// `first` is the first file, if it is open already; `english` the language of titles.
  MapStack(const MapRequest& request, const FileAccess& access, MapContents contents,
           std::shared_ptr<ResultReader> first = nullptr, bool english = false);

  /// The layers that are chosen, each by itself, or their mean or largest as one.
  std::vector<AttentionMap> chosen();
  /// The same one after the other, so that no more than one needs to be in memory, each with the
  /// number of its layer from 0.
  void walk(const std::function<void(const AttentionMap& map, std::size_t layer)>& take);

  /// The one that is drawn where a picture shows one: the first of a stack of which none is chosen.
  /// Throws Error(input) naming the field if several are.
  AttentionMap one();

  /// How many layers there are, chosen or not.
  std::size_t layers() const noexcept { return layers_.size(); }

  /// The tensors of the first file, the one that is drawn first, and any of them as a map.
  const std::vector<std::string>& names() const { return files_[0]->names(); }
  const std::string& first() const { return layers_[0].tensor; }
  AttentionMap named(const std::string& tensor);
  /// Its shape as the file has it, and other tensors of weights, which are no part of the stack.
  Shape shape_of_first() { return numbers(layers_[0]).shape(); }
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  /// One layer and where it stands.
  struct Layer {
    ResultReader* file = nullptr;
    std::string tensor;
    std::size_t number = 0;  ///< from 0
    std::string where;       ///< "Layer 2", if the tensor's name does not tell
    bool in_axis = false;    ///< whether it is a part of the tensor,
    std::size_t index = 0;   ///< at this place of the axis of layers
  };

  std::string layer_text(std::size_t number) const;
  void find(ResultReader& file);
  void find_weights(ResultReader& file);
  void find_by_values(ResultReader& file);
  void add(ResultReader& file, const std::vector<std::string>& tensors);
  void add(ResultReader& file, const std::vector<NumberedName>& tensors);
  void number_files();
  void take_axis_apart();
  std::vector<Layer> chosen_layers() const;
  std::string known_layers() const;
  Tensor numbers(const Layer& layer);
  AttentionMap read(const Layer& layer);
  Tensor arranged(const Tensor& tensor, const Layer& layer) const;
  AttentionMap together(const std::vector<Layer>& layers);

  const MapRequest& request_;
  bool english_;
  FileAccess access_;
  MapContents contents_;
  std::vector<std::shared_ptr<ResultReader>> files_;
  std::vector<Layer> layers_;
  bool is_stack_ = false;  ///< whether the layers have numbers
  std::vector<std::string> left_out_;
  std::vector<MapAxis> axes_;  ///< all of them; empty = the usual ones
  /// The tensor that was read last: all layers of an axis are in one.
  struct {
    const ResultReader* file = nullptr;
    std::string name;
    Tensor tensor;
  } read_;
};

}  // namespace attn
