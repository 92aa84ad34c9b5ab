#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/pass.hpp"

namespace attn {

/// Rows of numbers in double precision that are changed in place, [count,width].
struct Rows {
  std::size_t width = 0;
  std::vector<double> numbers;

  Rows() = default;
  Rows(std::size_t count, std::size_t own_width)
      : width(own_width), numbers(count * own_width, 0.0) {}

  std::size_t count() const { return width == 0 ? 0 : numbers.size() / width; }
  double* row(std::size_t i) { return numbers.data() + i * width; }
  const double* row(std::size_t i) const { return numbers.data() + i * width; }
};

/// Some rows of a tensor [..,L,width] of one sample.
Rows rows_at(const Tensor& tensor, std::span<const std::size_t> positions);

/// One of the rows as what a head of logits reads, [1,1,width].
Tensor state_of(const Rows& rows, std::size_t row);

/// Σ a[i]·b[i]
double dot(const double* a, const double* b, std::size_t count);
/// to += factor · from
void add_scaled(double factor, const double* from, std::size_t count, double* to);

/// The columns of a stored matrix [out,in] as rows [in,out], so that products with few vectors are
/// sums of rows.
Rows columns_of(const StoredMatrix& matrix);
/// The rows of a stored matrix.
Rows rows_of(const StoredMatrix& matrix);

/// to += Σ factors[n] · row `first` + n
void add_combination(const Rows& rows, std::size_t first, std::span<const double> factors,
                     double* to);

/// A norm whose denominators stay those of given rows x, which makes it linear but for its shift β:
/// part ↦ (part − its mean) · γ / σ(x), the mean in a layer norm alone. Without a norm it leaves
/// its parts as they are.
class FrozenNorm {
 public:
  FrozenNorm() = default;
  FrozenNorm(const std::optional<Norm>& norm, const Rows& x, double eps);

  explicit operator bool() const noexcept { return !divisors_.empty(); }

  /// This norm, and its result times a number, for rows of that width.
  FrozenNorm times(double factor, std::size_t rows, std::size_t width) const;

  /// A part of row `row` through the norm, in place.
  void apply(std::size_t row, double* part) const;
  /// The vector g' with g'·part = g·apply(part) for every part, in place.
  void apply_back(std::size_t row, double* g) const;

  /// part += β
  void add_shift(double* part) const;
  /// g·β
  double along_shift(const double* g) const;

 private:
  void centre(double* row) const;

  bool centred_ = false;
  std::vector<double> weight_, shift_;  // empty = ones, zeros
  std::size_t width_ = 0;
  std::vector<double> divisors_;  // 1/σ of each row
};

/// One sub-layer with its norms frozen, at R positions of a text: the stream goes through
/// `on_stream`, the branch is added to it, and the sum goes through `on_sum`.
struct FrozenSubLayer {
  ModelPlace place;  ///< of what the branch writes
  FrozenNorm on_stream, on_branch, on_sum;
  double scale = 1;  ///< of what the projection makes

  // Outputs [R,H·dv] of an attention's H heads of width dv before the projection, zeros for heads
  // that are off; and, for logits alone, the values [Lk,G·dv] and weights [R·H,Lk] whose sums they
  // are.
  std::size_t heads = 0;
  Rows outputs;
  StoredLinear projection;
  Rows values, weights;
  Rows gates;  ///< [R,H·dv] that the heads' sums were multiplied by; empty = none
  /// The key that each head gives most weight, of the positions one after the other [R·H].
  std::vector<std::size_t> strongest;

  /// [R,D] of a feed-forward or a mixer, after its own norm.
  Rows change;
};

/// The attention whose scores are split: what makes queries and keys of the stream.
struct FrozenAttention {
  LayerSpec spec;
  AttentionWeights weights;
  FrozenNorm read;  ///< the norm of what it reads
  AttentionRequest request;
  Tensor computed;  ///< its weights [1,H,Lq,Lk]
};

/// Choice of what a pass keeps.
struct FrozenChoice {
  ModelPlace::Stack stack = ModelPlace::Stack::only;
  std::vector<std::size_t> positions;  ///< in order
  /// The attention whose scores are split; the layers before it are kept. Absent = all layers are,
  /// with what heads read.
  std::optional<ModelPlace> attention;
};

/// One text's way through a stack, computed by the model's own pass in double precision.
struct FrozenPass {
  std::vector<std::size_t> positions;  ///< R of them, in order
  /// Terms of the embedding [R,E], under their places; what follows them.
  std::vector<std::pair<ModelPlace, Rows>> embedded;
  FrozenNorm embedding_norm;
  StoredLinear embedding_projection;

  std::vector<std::vector<FrozenSubLayer>> layers;
  std::optional<FrozenAttention> attention;
  Tensor memory;  ///< [1,Lm,D'], what cross-attentions read

  FrozenNorm final_norm;
  StoredLinear output_projection;
  Tensor output;  ///< [1,L,D''], the states that leave the stack
};

/// Runs a text of one sample once, as far as the choices need, and keeps what each of them asks
/// for. `progress` may be empty. Throws Error(input) as run_model() does.
std::vector<FrozenPass> freeze(const ModelPass& pass, std::span<const FrozenChoice> choices,
                               const Progress& progress);

}  // namespace attn
