#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attn/view.hpp"

#include "maps/filed_maps.hpp"
#include "result/result_reader.hpp"
#include "view/viewed_attention.hpp"

namespace attn {

/// The maps of a result or of files of tensors: all stacks of layers that are in them.
class FiledAttentions {
 public:
  /// `first` is the input, which is open already. Keeps a reference to the options. Throws
  /// Error(file) or Error(input) as draw() does.
  FiledAttentions(const ViewOptions& options, std::shared_ptr<ResultReader> first);

  /// What is known before the walk.
  ViewedInput input();
  void walk(const std::function<void(const ViewedAttention&)>& take);

 private:
  ViewedAttention viewed(const AttentionMap& map) const;

  const ViewOptions& options_;
  std::shared_ptr<ResultReader> first_;
  std::vector<FiledMaps> stacks_;
};

}  // namespace attn
