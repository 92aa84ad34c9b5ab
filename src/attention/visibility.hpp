#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "attn/spec.hpp"

#include "attention/expression.hpp"
#include "attention/expression_rows.hpp"
#include "attention/geometry.hpp"

namespace attn {

/// A part of a mask that can hide keys.
struct HidingPart {
  std::string_view name;
  bool (*present)(const Mask& mask);
  bool interval;  ///< whether it leaves an interval of keys, which Visibility::interval() includes
};
/// All hiding parts, at most 32.
std::span<const HidingPart* const> hiding_parts() noexcept;

/// A Mask checked against the sizes of one attention: the keys that a query sees, and the biases of
/// its scores.
class Visibility {
 public:
  /// Throws Error(input) naming the part of the mask that does not fit. Keeps no reference to its
  /// arguments.
  Visibility(const Mask& mask, const Geometry& geometry);

  /// Sets seen[j], j < Lk, to 1 if no part of the mask, a bias of −inf included, hides key j from
  /// this query; else to 0.
  void see(std::size_t batch, std::size_t head, std::size_t query,
           std::span<std::uint8_t> seen) const;

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

  /// Whether `where` compares rows of queries and keys, which compare() gives. Without them it sees
  /// no key.
  bool compares_rows() const { return where_ && where_->tree.reads_rows(); }
  void compare(std::shared_ptr<const ComparedRows> rows);

  /// Finds the keys between which `where` leaves each query all that it sees, for interval() and
  /// only_intervals(). For many cells, once all is known that `where` reads.
  void find_intervals(const Geometry& geometry, std::size_t threads);

  /// Throws Error(input) with the place if `where` read outside a table for a key that nothing else
  /// hides, in any call so far.
  void check_where() const {
    if (where_) faults_->check(where_->tree);
  }

  /// Where `where` leaves gaps, once its intervals are found: whether any of some queries sees a
  /// key of each group of kernels::key_group keys. Empty where all of interval() may be seen.
  std::vector<std::uint8_t> seen_groups(std::size_t batch, std::size_t head,
                                        std::size_t first_query, std::size_t queries) const;

  /// The bias of the score of that key; 0 without a bias.
  double bias(std::size_t batch, std::size_t head, std::size_t query, std::size_t key) const;

  /// The number of leading keys that are valid for this query; all of them without valid_lens.
  std::size_t valid_keys(std::size_t batch, std::size_t query) const;

  /// Query i stands at key i + offset.
  std::ptrdiff_t offset(std::size_t batch) const {
    return offsets_.empty() ? static_cast<std::ptrdiff_t>(past_) : offsets_[batch];
  }

  /// Keys [first, end): none if they are equal.
  struct Interval {
    std::size_t first, end;
  };

  /// The keys that window, causality, valid lengths and, once found, `where` leave this query. It
  /// sees no others; with only_intervals() it sees all of them.
  Interval interval(std::size_t batch, std::size_t head, std::size_t query) const;

  /// Whether interval() describes the mask completely.
  bool only_intervals() const;

  /// Writes the terms of the scores of `added.size()` keys from `first` on, for masks without fill:
  /// −∞ hides a key, whatever its score is. Biases are bounded by the largest number of the type
  /// divided by 2⁷, which leaves room for a score.
  /// `terms` unless null are further terms of these keys, added in double precision: a bias and a
  /// term that cancel each other leave no rounding.
  void add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
           std::span<float> added, const double* terms = nullptr) const;
  void add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
           std::span<double> added, const double* terms = nullptr) const;

  /// Masks the query's scores: adds the bias, then writes the fill for keys that are not seen. A
  /// bias of −inf stays −inf whatever the score (NaN too) and the fill are.
  void mask(std::size_t batch, std::size_t head, std::size_t query,
            std::span<const std::uint8_t> seen, std::span<double> scores) const;

 private:
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
    std::size_t prefix;  ///< number of leading keys that rules of places do not hide
  };
  /// A hiding part with the function that finds its keys, and all of them in the order in which
  /// they are named.
  struct Row;
  static std::span<const Row> rows() noexcept;
  friend std::span<const HidingPart* const> hiding_parts() noexcept;
  Keys keys_of(std::size_t batch, std::size_t head, std::size_t query, std::size_t first) const;

  template <class T>
  void add_terms(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                 std::span<T> added, const double* terms) const;
  bool is_global(std::ptrdiff_t position) const;
  Interval window_of(std::ptrdiff_t position) const;
  Interval chunk_of(std::ptrdiff_t position) const;
  std::size_t prefix(std::size_t batch) const;

  // visibility_checks.cpp: the parts of the mask, each checked against the sizes.
  void check_numbers() const;
  void adopt_global();
  void adopt_padding(const Geometry& geometry);
  void adopt_valid_lens(const Geometry& geometry);
  void adopt_documents(const Geometry& geometry);
  void adopt_prefix(const Geometry& geometry);
  std::ptrdiff_t find_offset(std::size_t batch) const;

  Mask mask_;
  std::vector<const Row*> present_;
  bool only_bias_ = true;  ///< whether no other part hides keys
  std::size_t queries_, keys_, past_;
  std::size_t padding_stride_ = 0, lens_batch_stride_ = 0, lens_query_stride_ = 0;
  std::size_t documents_stride_ = 0, prefix_stride_ = 0;
  Broadcast allow_, block_, bias_;
  Interval places_of(std::size_t batch, std::size_t query) const;
  Interval where_interval(std::size_t batch, std::size_t head, std::size_t query, bool& whole,
                          std::span<std::uint8_t> groups) const;
  void hide_elsewhere(const Keys& keys, std::span<std::uint8_t> seen) const;

  std::shared_ptr<const CompiledExpression> where_;
  std::shared_ptr<RegisterPool> registers_;
  std::vector<Interval> found_;             ///< [batch, heads or 1, queries], or empty
  std::vector<std::uint8_t> found_groups_;  ///< [batch, heads or 1, queries in sixteens, groups]
  std::size_t found_heads_ = 1;
  bool found_whole_ = false;  ///< whether `where` hides no key within them
  std::shared_ptr<const ComparedRows> rows_;
  std::shared_ptr<ExpressionFaults> faults_;
  /// One offset per sample; empty if it is the number of past keys for all.
  std::vector<std::ptrdiff_t> offsets_;
  std::vector<std::uint8_t> is_global_;  ///< one per key; empty without a window
};

}  // namespace attn
