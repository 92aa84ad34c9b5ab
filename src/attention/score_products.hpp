#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "kernels/matrix_product.hpp"

namespace attn {

/// The scaled products of the queries and keys of an attention in T, any rows of one head at a
/// time. The score is a product of queries and keys without a past.
template <class T>
class ScoreProducts {
 public:
  /// Keys of one head as the kernel reads them.
  struct PackedKeys {
    std::size_t batch, head;
    std::vector<T> panels;
  };

  ScoreProducts(const AttentionRequest& request, const Geometry& geometry,
                const QueryPlaces& places)
      : group_(geometry.heads / geometry.kv_heads),
        keys_(geometry.keys),
        width_(geometry.query_width),
        scale_(static_cast<T>(scale_of(request, geometry))) {
    const Sequences* const given = sequences_of(request.score);
    const HeadPreparation preparation(request, geometry, places);
    const Sequences own = preparation ? preparation.prepared(*given, dtype_of<T>()) : *given;
    query_ = HeadRows<T>(own.query, geometry.heads);
    key_ = HeadRows<T>(own.key_or_query(), geometry.kv_heads);
  }

  PackedKeys packed(std::size_t batch, std::size_t head) const {
    const std::size_t panel = kernels::product_panel<T>();
    PackedKeys keys{batch, head, std::vector<T>((keys_ + panel - 1) / panel * panel * width_)};
    const T* const first = key_(batch, head / group_, 0).data();
    for (std::size_t j = 0; j < keys_; j += panel) {
      kernels::pack_panel(kernels::PanelRows<T>{first + j * key_.stride(), key_.stride(),
                                                std::min(panel, keys_ - j), width_},
                          keys.panels.data() + j * width_);
    }
    return keys;
  }

  /// Writes the scores [count,Lk] of the queries from `first` on.
  void multiply(const PackedKeys& keys, std::size_t first, std::size_t count, T* to) const {
    kernels::multiply_rows(kernels::RowProduct<T>{query_(keys.batch, keys.head, first).data(),
                                                  query_.stride(), count, width_,
                                                  keys.panels.data(), keys_, nullptr, to, keys_});
    for (std::size_t n = 0; n < count * keys_; ++n) to[n] *= scale_;
  }

 private:
  std::size_t group_, keys_, width_;
  T scale_;
  HeadRows<T> query_, key_;
};

}  // namespace attn
