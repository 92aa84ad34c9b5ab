#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/view.hpp"

#include "view/cell_plan.hpp"
#include "view/page_writer.hpp"
#include "view/shown_tokens.hpp"
#include "view/thumbnails.hpp"
#include "view/view_data.hpp"
#include "view/viewed_attention.hpp"

namespace attn {

/// Turns attentions into a page as they come: each one's maps are rounded, pooled and packed at
/// once, and only what tells of them is kept.
class PageMaker {
 public:
  /// Begins the page. Keeps a reference to the options.
  PageMaker(const ViewOptions& options, const ViewedInput& input, bool computed,
            std::function<void(std::string_view)> sink);

  void take(const ViewedAttention& attention);

  /// Ends the page. `warnings` are of the input.
  ViewOutcome finish();

 private:
  /// One tensor of an attention.
  struct Taken {
    std::string name;
    Tensor maps, allowed;
    bool weights = false;
    bool first = false;  ///< whether thumbnails are made of it
  };
  std::vector<ViewData::Maps> add_tensor(const Taken& tensor);
  void add_notes();

  const ViewOptions& options_;
  CellPlan plan_;
  PageWriter page_;
  ViewData data_;
  TokenLists tokens_;
  Thumbnails thumbnails_;
  ViewOutcome outcome_;
  double largest_error_ = 0;            ///< of weights
  std::size_t coded_ = 0, pooled_ = 0;  ///< maps
};

}  // namespace attn
