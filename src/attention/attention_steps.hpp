#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "kernels/matrix_product.hpp"

namespace attn {

/// The steps of one attention, in the order in which a query's row is computed.
enum class RowStep {
  given,        ///< the tensors of the request
  preparation,  ///< norms and rotation of queries and keys
  product,      ///< scores before the scale
  scale,
  own_score,  ///< the expression of the score
  softcap,
  bias,  ///< of the mask and of distances
  softmax,
  own_weight,  ///< the expression of the weight
  output,      ///< the weighted sum of the values
  gate
};

/// The row of one query.
struct RowPlace {
  std::size_t batch = 0, head = 0, query = 0;
};

/// A step that makes NaN or an infinity.
struct NotFiniteStep {
  RowStep step = RowStep::given;
  std::string_view tensor = {};  ///< of RowStep::given, as documents call it: "key", "W_q"
  std::size_t key = 0;           ///< whose row that is, where the tensor has rows of keys
};

/// The first step that makes NaN or an infinity of a query's row, which is computed again: in the
/// type of the request if that has 16 bits, else in double precision, which attend() turns to where
/// float32 does not hold a number. Keys that are hidden play no part. Absent if all numbers of the
/// row are finite, dropout left out. Throws Error as attend() does.
std::optional<NotFiniteStep> first_not_finite(const AttentionRequest& request, RowPlace place);

/// Steps of the scores of an attention, [B,H,Lq,Lk] each, and of each row the log-sum-exp,
/// [B,H,Lq], as attend() gives them with AttentionOptions::stages.
struct ScoreStages {
  Tensor scores, capped, masked, lse;
};

/// The steps alone, in the precision of the request. Products of queries and keys are computed by
/// kernels, all others as attend() does. A step that changes nothing shares the tensor of the step
/// before it. Weights of the same request, where they are known, spare the exponentials of the
/// log-sum-exp. Throws as attend() does.
ScoreStages score_stages(const AttentionRequest& request, const Tensor& weights = {});

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
