#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/spec.hpp"
#include "attn/tensor.hpp"

#include "attention/expression.hpp"
#include "attention/expression_rows.hpp"
#include "attention/geometry.hpp"

namespace attn {

/// All members of a mask. One more does not compile until it is named here, and then until the rows
/// of documents, the comparison of masks and the tests have it. The words for `allow` hide nothing
/// and are no part of it.
constexpr auto members_of(const Mask& mask) {
  const auto& [causal, align, window, global, padding, allow, block, allow_is, bias, alibi,
               valid_lens, documents, of_windows, prefix, chunk, dilation, where, fill] = mask;
  return std::tie(causal, align, window, global, padding, allow, block, bias, alibi, valid_lens,
                  documents, prefix, chunk, dilation, where, fill);
}
using MaskMembers = decltype(members_of(std::declval<const Mask&>()));

/// A part of a mask that can hide keys.
struct HidingPart {
  std::string_view name;
  bool (*present)(const Mask& mask);
  /// Whether a mask may be causal by it, which hides more than far keys or the ends of samples.
  bool may_be_causal;
};
/// All hiding parts, at most 32.
std::span<const HidingPart* const> hiding_parts() noexcept;

/// Whether `where` compares rows of queries and keys. Throws Error(input) if it is no truth for
/// these sizes.
bool compares_rows(const Mask& mask, const Geometry& geometry);

/// The shape in which all elements of a tensor of another shape broadcast against the weights: its
/// axes in their order, the last being the keys, some of size 1 left out or put between, and
/// samples and heads apart where the first of three axes has both. The first axis that fits is
/// taken. Absent if there is none.
std::optional<Shape> fitting_shape(const Shape& shape, const Geometry& geometry);

/// The places of the queries among the keys. They are known before queries are rotated, and so
/// before a mask can compare them.
class QueryPlaces {
 public:
  /// Throws Error(input) naming a number, the padding or the valid lengths of the mask if they do
  /// not fit. Keeps no reference to its arguments.
  QueryPlaces(const Mask& mask, const Geometry& geometry);

  /// Query i stands at key i + offset.
  std::ptrdiff_t offset(std::size_t batch) const {
    return offsets_.empty() ? static_cast<std::ptrdiff_t>(past_) : offsets_[batch];
  }

  /// The number of leading keys that are valid for this query; all of them without valid_lens.
  std::size_t valid_keys(std::size_t batch, std::size_t query) const;

  /// Whether each key [Lk] is padding; empty without padding.
  std::span<const std::uint8_t> padding(std::size_t batch) const;

 private:
  void adopt_padding(const Geometry& geometry);
  void adopt_valid_lens(const Geometry& geometry);
  std::ptrdiff_t find_offset(std::size_t batch) const;

  Tensor padding_, valid_lens_;
  std::size_t queries_, keys_, past_;
  std::size_t padding_stride_ = 0, lens_batch_stride_ = 0, lens_query_stride_ = 0;
  /// One offset per sample; empty if it is the number of past keys for all.
  std::vector<std::ptrdiff_t> offsets_;
};

/// A Mask checked against the sizes of one attention: the keys that a query sees, and the biases of
/// its scores.
class Visibility {
 public:
  /// `compared`: the queries and keys as the scores compare them, which are read if `where`
  /// compares rows; else they may be absent. Throws Error(input) naming the part of the mask that
  /// does not fit, Error(internal) if `where` lacks the rows. Keeps no reference to its arguments.
  Visibility(const Mask& mask, const Geometry& geometry, const Sequences& compared);

  /// Throws Error(input) as the constructor does. Reads no rows and no elements of tensors that are
  /// shapes alone.
  static void check(const Mask& mask, const Geometry& geometry);

  /// Sets seen[j], j < Lk, to 1 if no part of the mask, a bias of −inf included, hides key j from
  /// this query; else to 0.
  void see(std::size_t batch, std::size_t head, std::size_t query,
           std::span<std::uint8_t> seen) const;

  /// Parts of the mask that hide() asks: `where`, the bias, and the others.
  struct Asked {
    bool where, bias, others;
  };
  /// Sets seen[j] to 0 if one of these parts hides the key first + j from this query; else keeps
  /// it.
  void hide(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
            std::span<std::uint8_t> seen, const Asked& asked) const;

  /// The names of all parts that hide the key from this query; none if it is seen.
  std::vector<std::string_view> hidden_by(std::size_t batch, std::size_t head, std::size_t query,
                                          std::size_t key) const;

  /// Sets bit i of parts[j], j < Lk, to whether hiding_parts()[i] hides key j from this query.
  void hidden_by(std::size_t batch, std::size_t head, std::size_t query,
                 std::span<std::uint32_t> parts) const;

  /// Whether heads may see different keys or have different biases.
  bool differs_by_head() const {
    return allow_.head != 0 || block_.head != 0 || bias_.head != 0 ||
           (where_ && where_->tree.reads_head());
  }

  bool has_where() const { return where_ != nullptr; }
  /// Whether anything but `where` and the bias hides keys.
  bool has_others() const { return has_others_; }

  /// Throws Error(input) with the place if `where` read outside a table for a key that nothing else
  /// hides, in any call so far.
  void check_where() const {
    if (where_) faults_->check(where_->tree);
  }

  /// The bias of the score of that key; 0 without a bias.
  double bias(std::size_t batch, std::size_t head, std::size_t query, std::size_t key) const;

  /// The biases of a query's scores, `step` numbers from one key to the next; null without a bias.
  struct BiasRow {
    const double* first = nullptr;
    std::size_t step = 0;
  };
  BiasRow bias_row(std::size_t batch, std::size_t head, std::size_t query) const;

  const QueryPlaces& places() const { return places_; }
  std::size_t valid_keys(std::size_t batch, std::size_t query) const {
    return places_.valid_keys(batch, query);
  }
  std::ptrdiff_t offset(std::size_t batch) const { return places_.offset(batch); }

  /// Keys [first, end): none if they are equal.
  struct Interval {
    std::size_t first, end;
  };

  /// The keys that window, chunk, causality, prefix and valid lengths leave this query. It sees no
  /// others; with only_intervals() it sees all of them.
  Interval interval(std::size_t batch, std::size_t query) const;

  /// Whether interval() describes all parts of the mask but `where`, and `where` too if
  /// `with_where`.
  bool only_intervals(bool with_where = true) const;

  /// Masks the query's scores: adds the bias, then writes the fill for keys that are not seen. A
  /// bias of −inf stays −inf whatever the score (NaN too) and the fill are.
  void mask(std::size_t batch, std::size_t head, std::size_t query,
            std::span<const std::uint8_t> seen, std::span<double> scores) const;

 private:
  /// The mask without the rows that `where` compares.
  Visibility(const Mask& mask, const Geometry& geometry);

  /// A tensor broadcast against [B,H,Lq,Lk]: an axis that is repeated has stride 0.
  struct Broadcast {
    Tensor tensor;
    std::size_t batch = 0, head = 0, query = 0, key = 0;  ///< strides, in elements
    std::size_t at(std::size_t b, std::size_t h, std::size_t i) const {
      return b * batch + h * head + i * query;
    }
  };
  static Broadcast broadcast(const Tensor& tensor, DType dtype, const Geometry& geometry,
                             const char* name);

  /// Keys from `first` on, from the viewpoint of one query.
  struct Keys {
    std::size_t batch, head, query;
    std::ptrdiff_t position;  ///< of the query among the keys
    std::size_t first;
  };
  /// A hiding part with the functions that find its keys, and all of them in the order in which
  /// they are named.
  struct Row;
  static std::span<const Row> rows() noexcept;
  friend std::span<const HidingPart* const> hiding_parts() noexcept;
  Keys keys_of(std::size_t batch, std::size_t head, std::size_t query, std::size_t first) const;
  void hide(const Row& row, const Keys& keys, std::span<std::uint8_t> seen) const;
  void hide_elsewhere(const Keys& keys, std::span<std::uint8_t> seen) const;
  bool is_global(std::ptrdiff_t position) const;
  std::size_t prefix(std::size_t batch) const;

  // visibility_checks.cpp: the parts of the mask, each checked against the sizes.
  void adopt_global();
  void adopt_documents(const Geometry& geometry);
  void adopt_prefix(const Geometry& geometry);

  QueryPlaces places_;
  Mask mask_;
  std::vector<const Row*> present_;
  bool has_others_ = false;
  std::size_t queries_, keys_, past_;
  std::size_t documents_stride_ = 0, prefix_stride_ = 0;
  Broadcast allow_, block_, bias_;
  std::vector<std::uint8_t> is_global_;  ///< one per key; empty without a window

  std::shared_ptr<const CompiledExpression> where_;
  std::shared_ptr<const ComparedRows> rows_;  ///< that `where` compares, or null
  std::shared_ptr<RegisterPool> registers_;
  std::shared_ptr<ExpressionFaults> faults_;
};

/// Keys that no part of a mask hides, but a large negative number of its bias (the smallest of the
/// type, −1e9, −100 with scores of usual sizes): 1 where the weight is 0, or below the smallest
/// normal number, in the type of the result, and the bias is further below the largest bias that
/// the query sees than half of the way there. bool of the shape of the weights [Lq,Lk],
/// [B,Lq,Lk] or [B,H,Lq,Lk]; absent if there is none. `dtype` is that of the result.
Tensor hidden_in_effect(const Mask& mask, const Geometry& geometry, const Tensor& weights,
                        DType dtype);

}  // namespace attn
