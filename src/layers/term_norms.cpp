#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "attention/linear.hpp"
#include "kernels/row_functions.hpp"
#include "layers/layer.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Σ f(a[i]) in eight sums, so that none waits for the one before it.
template <class T, class F>
double sum_of(const T* a, std::size_t count, const F& f) {
  constexpr std::size_t parts = 8;
  std::array<double, parts> sums{};
  std::size_t i = 0;
  for (; i + parts <= count; i += parts) {
    for (std::size_t k = 0; k < parts; ++k) sums[k] += f(static_cast<double>(a[i + k]));
  }
  double sum = 0;
  for (; i < count; ++i) sum += f(static_cast<double>(a[i]));
  for (const double part : sums) sum += part;
  return sum;
}

/// One sample's self-attention in a layer, with all that its output is the sum of.
struct AttendedBlock {
  Tensor value;         ///< [1,L,G·d], of G heads of values
  Tensor weights;       ///< [1,H,L,L]
  Tensor heads;         ///< [1,L,H·d], before the output projection; zeros for heads that are off
  StoredLinear output;  ///< the output projection
  double scale = 1;     ///< of what it makes
  Tensor residual;      ///< [1,L,D], what the branch is added to
  std::vector<std::size_t> heads_off;
  std::optional<Norm> branch_norm, sum_norm;  ///< of the branch, and of the sum
};

// The effect of a norm on a term of its input x: (term − its mean) · weight / σ(x), the mean in a
// layer norm alone.
class NormOfTerms {
 public:
  NormOfTerms(const std::optional<Norm>& norm, std::size_t width, double eps)
      : centred_(norm && norm->kind == NormKind::layer), is_there_(norm), eps_(eps) {
    if (!norm) return;
    const Tensor weight = norm->weight.converted(DType::float64);
    weight_.assign(weight.values<double>().begin(), weight.values<double>().end());
    weight_.resize(width, 1);
  }

  bool is_there() const { return is_there_; }

  // 1/σ of a whole row.
  template <class T>
  double scale(const T* row, std::size_t width) const {
    if (!is_there_) return 1;
    const double mean = mean_of(row, width);
    const double sum = sum_of(row, width, [=](double x) { return (x - mean) * (x - mean); });
    return 1 / std::sqrt(sum / static_cast<double>(width) + eps_);
  }

  // All but the division by σ.
  template <class T>
  void turn(T* term, std::size_t width) const {
    if (!is_there_) return;
    const double mean = mean_of(term, width);
    for (std::size_t i = 0; i < width; ++i) {
      term[i] = static_cast<T>((static_cast<double>(term[i]) - mean) * weight_[i]);
    }
  }

 private:
  template <class T>
  double mean_of(const T* row, std::size_t width) const {
    if (!centred_) return 0;
    return sum_of(row, width, [](double x) { return x; }) / static_cast<double>(width);
  }

  bool centred_, is_there_;
  double eps_;
  std::vector<double> weight_;
};

template <class T>
class TermReader {
 public:
  TermReader(const AttendedBlock& block, double eps, std::size_t threads)
      : block_(block),
        threads_(threads),
        length_(block.weights.shape()[2]),
        heads_(block.weights.shape()[1]),
        head_width_(block.heads.shape()[2] / heads_),
        width_(block.residual.shape()[2]),
        branch_norm_(block.branch_norm, width_, eps),
        sum_norm_(block.sum_norm, width_, eps),
        weights_(block.weights.values<T>()) {}

  TermNorms read() {
    read_terms();
    read_rows();
    TermNorms norms;
    lengths_.resize(heads_ * length_);
    norms.of_all_heads = norms_of_sums(false);
    norms.of_heads = norms_of_heads();
    const bool turns = branch_norm_.is_there() || sum_norm_.is_there();
    const Tensor block = turns ? norms_of_sums(true) : norms.of_all_heads;
    read_block(block, norms);
    return norms;
  }

 private:
  T weight(std::size_t h, std::size_t i, std::size_t j) const {
    return weights_[(h * length_ + i) * length_ + j];
  }
  const T* term(std::size_t h, std::size_t j) const { return places_[h] + j * width_; }

  // 1. The terms f_h(x_j), [L,D] of each head.
  void read_terms() {
    const std::size_t inside = heads_ * head_width_, value_width = block_.value.shape()[2];
    const std::size_t queries_a_value = inside / value_width;
    const MatrixRows source = block_.output.weight.source();
    const std::size_t stride = source.side_by_side ? width_ : inside;
    const std::shared_ptr<T> matrix = new_elements<T>(width_ * inside);
    if constexpr (sizeof(T) == 4) {
      source.floats(0, width_, stride, matrix.get());
    } else {
      source.doubles(0, width_, stride, matrix.get());
    }
    const std::span<const T> values = block_.value.values<T>();
    for (std::size_t h = 0; h < heads_; ++h) {
      const bool off =
          std::find(block_.heads_off.begin(), block_.heads_off.end(), h) != block_.heads_off.end();
      std::vector<T> x(length_ * head_width_);
      const std::size_t first = h / queries_a_value * head_width_;
      for (std::size_t j = 0; j < length_ && !off; ++j) {
        std::copy_n(values.data() + j * value_width + first, head_width_,
                    x.data() + j * head_width_);
      }
      for (std::size_t at = 0; block_.scale != 1 && at < x.size(); ++at) {
        x[at] = static_cast<T>(x[at] * block_.scale);
      }
      const std::size_t column = h * head_width_;
      const T* own = matrix.get() + (source.side_by_side ? column * stride : column);
      const Product product{part_of(own, stride, source.side_by_side), {}};
      const Tensor terms =
          apply(std::span(&product, 1), Tensor({length_, head_width_}, std::move(x)), threads_)
              .front();
      terms_.push_back(terms);
      places_.push_back(terms.template values<T>().data());
    }
  }  // NOLINT(clang-analyzer-*): a std::function frees what it holds

  // A head's columns of the output projection, [D,d].
  MatrixRows part_of(const T* from, std::size_t stride, bool side_by_side) const {
    MatrixRows rows;
    rows.rows = width_;
    rows.columns = head_width_;
    rows.side_by_side = side_by_side;
    const auto make = [=, width = head_width_](std::size_t first, std::size_t count,
                                               std::size_t to_stride, T* to) {
      for (std::size_t i = 0; i < (side_by_side ? width : count); ++i) {
        const T* line = from + (side_by_side ? i * stride + first : (first + i) * stride);
        std::copy_n(line, side_by_side ? count : width, to + i * to_stride);
      }
    };
    if constexpr (sizeof(T) == 4) {
      rows.floats = make;
    } else {
      rows.doubles = make;
    }
    return rows;
  }

  // 2. What the norms divide by: the σ of whole rows of the branch, then of the sum.
  void read_rows() {
    const auto scaled = [&](const Tensor& x) {
      if (block_.scale == 1) return x;
      return mapped(
          threads_, [&](double number) { return number * block_.scale; }, x);
    };
    bare_ = scaled(apply(StoredLinear{block_.output.weight, {}}, block_.heads, threads_));
    const Tensor& bias = block_.output.bias;
    const Tensor branch =
        bias ? sum(bare_, scaled(bias.converted(bare_.dtype())), threads_) : bare_;
    const T *rows = branch.values<T>().data(), *residual = block_.residual.values<T>().data();
    std::vector<double> norm_bias(width_);
    if (block_.branch_norm && block_.branch_norm->bias) {
      const Tensor stored = block_.branch_norm->bias.converted(DType::float64);
      std::copy_n(stored.values<double>().begin(), width_, norm_bias.begin());
    }
    branch_scales_.resize(length_);
    sum_scales_.resize(length_);
    parallel_for(length_, threads_, [&](std::size_t i) {
      branch_scales_[i] = branch_norm_.scale(rows + i * width_, width_);
      std::vector<T> sum(rows + i * width_, rows + (i + 1) * width_);
      branch_norm_.turn(sum.data(), width_);
      for (std::size_t k = 0; k < width_; ++k) {
        sum[k] =
            static_cast<T>(sum[k] * branch_scales_[i] + norm_bias[k] + residual[i * width_ + k]);
      }
      sum_scales_[i] = sum_norm_.scale(sum.data(), width_);
    });
  }

  // 3. ‖A f‖ = A·‖f‖.
  Tensor norms_of_heads() const {
    const std::shared_ptr<T> norms = new_elements<T>(heads_ * length_ * length_);
    parallel_for(heads_ * length_, threads_, [&](std::size_t row) {
      const double* lengths = lengths_.data() + row / length_ * length_;
      const T* from = weights_.data() + row * length_;
      T* to = norms.get() + row * length_;
      for (std::size_t j = 0; j < length_; ++j) {
        to[j] = static_cast<T>(static_cast<double>(from[j]) * lengths[j]);
      }
    });
    return filled({heads_, length_, length_}, norms);
  }

  // 4. ‖Σ_h a_h f_h‖² = aᵀ G a, of some keys at a time, whose weights stand side by side; of terms
  // as they are, whose own lengths [H,L] are kept too, or as they come out of the norms, but for σ.
  Tensor norms_of_sums(bool turned) {
    constexpr std::size_t keys = kernels::form_keys;
    std::vector<T> norms(length_ * length_);
    parallel_for((length_ + keys - 1) / keys, threads_, [&](std::size_t block) {
      const std::size_t first = block * keys, count = std::min(keys, length_ - first);
      const std::vector<double> products = products_of(first, count, turned);
      for (std::size_t h = 0; h < heads_ && !turned; ++h) {
        for (std::size_t k = 0; k < count; ++k) {
          const double square = products[(h * (h + 1) / 2 + h) * keys + k];
          lengths_[h * length_ + first + k] = std::sqrt(square);
        }
      }
      // The last keys, if they are fewer, stand before zeros.
      std::vector<T> last(count < keys ? heads_ * keys : 0);
      std::vector<double> scratch(heads_ * keys);
      for (std::size_t i = 0; i < length_; ++i) {
        const T* a = weights_.data() + i * length_ + first;
        for (std::size_t h = 0; h < heads_ && !last.empty(); ++h) {
          std::copy_n(a + h * length_ * length_, count, last.data() + h * keys);
        }
        std::array<double, keys> sums{};
        const bool whole = last.empty();
        if (!kernels::quadratic_forms(kernels::QuadraticForms<T>{
                whole ? a : last.data(), whole ? length_ * length_ : keys, heads_, products.data(),
                sums.data(), scratch.data()})) {
          continue;
        }
        const double scale = turned ? branch_scales_[i] * sum_scales_[i] : 1;
        for (std::size_t k = 0; k < count; ++k) {
          norms[i * length_ + first + k] =
              static_cast<T>(std::sqrt(std::max(sums[k], 0.0)) * scale);
        }
      }
    });
    return {{length_, length_}, std::move(norms)};
  }

  // The products of terms of some keys, as quadratic_forms() takes them. In double precision: of
  // lengths that cancel little is left.
  std::vector<double> products_of(std::size_t first, std::size_t count, bool turned) const {
    constexpr std::size_t keys = kernels::form_keys;
    const std::size_t padded = kernels::padded_width(width_);
    std::vector<double> products(heads_ * (heads_ + 1) / 2 * keys), vectors(heads_ * padded);
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t h = 0; h < heads_; ++h) {
        std::copy_n(term(h, first + k), width_, vectors.data() + h * padded);
        if (turned) turn(vectors.data() + h * padded);
      }
      kernels::pair_products(vectors.data(), heads_, padded, products.data() + k);
    }
    // Each product off the diagonal stands for two of the form.
    std::size_t at = 0;
    for (std::size_t g = 0; g < heads_; ++g) {
      for (std::size_t h = 0; h <= g; ++h, at += keys) {
        for (std::size_t k = 0; k < keys && h < g; ++k) products[at + k] *= 2;
      }
    }
    return products;
  }

  // A term through both norms, but for the divisions by σ.
  template <class Number>
  void turn(Number* row) const {
    branch_norm_.turn(row, width_);
    sum_norm_.turn(row, width_);
  }

  // 5. Where the residual is added, and what of others is mixed in.
  void read_block(const Tensor& others, TermNorms& norms) const {
    std::vector<T> block(others.values<T>().begin(), others.values<T>().end()), mixing(length_);
    const T *bare = bare_.values<T>().data(), *residual = block_.residual.values<T>().data();
    parallel_for(length_, threads_, [&](std::size_t i) {
      const double scale = branch_scales_[i] * sum_scales_[i];
      std::vector<T> all(bare + i * width_, bare + (i + 1) * width_);
      std::vector<T> kept(residual + i * width_, residual + (i + 1) * width_);
      turn(all.data());
      sum_norm_.turn(kept.data(), width_);
      std::vector<double> own_terms(width_);
      for (std::size_t h = 0; h < heads_; ++h) {
        const double a = static_cast<double>(weight(h, i, i));
        const T* from = term(h, i);
        for (std::size_t k = 0; k < width_; ++k) own_terms[k] += a * static_cast<double>(from[k]);
      }
      turn(own_terms.data());
      double own_square = 0, other_square = 0;
      for (std::size_t k = 0; k < width_; ++k) {
        const double other = (static_cast<double>(all[k]) - own_terms[k]) * scale;
        const double own = own_terms[k] * scale + static_cast<double>(kept[k]) * sum_scales_[i];
        own_square += own * own;
        other_square += other * other;
      }
      const double own = std::sqrt(own_square), other = std::sqrt(other_square);
      block[i * length_ + i] = static_cast<T>(own);
      mixing[i] = static_cast<T>(own + other > 0 ? other / (own + other) : 0);
    });
    norms.of_block = Tensor({length_, length_}, std::move(block));
    norms.mixing = Tensor({length_}, std::move(mixing));
  }

  const AttendedBlock& block_;
  std::size_t threads_, length_, heads_, head_width_, width_;
  NormOfTerms branch_norm_, sum_norm_;
  std::span<const T> weights_;
  std::vector<Tensor> terms_;
  std::vector<const T*> places_;  // of the terms' numbers
  Tensor bare_;                   // the branch without the projection's bias
  std::vector<double> branch_scales_, sum_scales_;
  std::vector<double> lengths_;  // of the terms, [H,L]
};

}  // namespace

TermNorms term_norms(const Layer& layer, const LayerStep& step) {
  const double eps = layer.spec.self.eps;
  const std::size_t threads = layer.spec.self.threads;
  AttendedBlock block{std::get<ScaledDotProduct>(step.self_request.score).value,
                      step.self.weights,
                      step.self.output,
                      layer.weights.self.output,
                      layer.spec.branch_scale,
                      step.sublayers.front().residual,
                      step.self_off,
                      layer.weights.after_attention,
                      {}};
  if (!layer.spec.parallel) block.sum_norm = layer.weights.after_attention_sum;
  return with_float_type(block.weights.dtype(),
                         [&]<class T>() { return TermReader<T>(block, eps, threads).read(); });
}

}  // namespace attn
