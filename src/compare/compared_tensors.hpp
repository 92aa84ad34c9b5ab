#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/compare.hpp"
#include "attn/tensor.hpp"

#include "document/labels.hpp"

namespace attn {

/// The tolerances of a type; none of a type that has none.
std::optional<Tolerances> tolerances_of(std::string_view type) noexcept;

inline bool is_compared(const TensorComparison& tensor) {
  using Outcome = TensorComparison::Outcome;
  return tensor.outcome == Outcome::within || tensor.outcome == Outcome::beyond;
}
/// Whether only one of the files has the tensor.
inline bool is_alone(const TensorComparison& tensor) {
  using Outcome = TensorComparison::Outcome;
  return tensor.outcome == Outcome::only_in_a || tensor.outcome == Outcome::only_in_b;
}

/// The tensors that belong together, by their names in either file, and the name they go by.
struct ComparedNames {
  std::string name;
  std::optional<std::string> a, b;
};

/// Names of the tensors of a file, and the name that one without a name goes by.
struct NamesInFile {
  std::vector<std::string> names;
  std::string unnamed;
};

/// In the order of `a`, then those of `b` alone: all that the request asks for. Throws Error(input)
/// naming the field for a name that neither file has.
std::vector<ComparedNames> compared_names(const CompareRequest& request, const NamesInFile& a,
                                          const NamesInFile& b);

/// Whether a tensor of that name holds log-sum-exps.
bool is_sums(std::string_view name);

/// Log-sum-exps as the layout of a file may mean them, the likeliest first: beside outputs "LHD"
/// they are [H,L] or [L,H], of a layout without D its letters alone say which. Others as they are.
/// `field` is named in errors.
std::vector<Tensor> sums_in_layout(const Tensor& sums, const std::string& layout,
                                   const std::string& field);

/// The layout by which a tensor that has no axis of samples agrees with one of a single sample;
/// empty if there is none. `sums`: they are log-sum-exps.
std::string agreeing_layout(const Tensor& lacking, const Tensor& whole, bool sums,
                            Tolerances allowed);

/// Names of the axes of a tensor, fewer where they are not known. `given` are those of maps in the
/// request; none = the usual ones.
std::vector<std::string_view> axis_names(std::string_view name, std::size_t rank,
                                         const std::vector<MapAxis>& given);

/// The part of a tensor that is to be compared, if it has the axes that the request says, by
/// default [B,H,…,…]. Throws Error(input) naming the field for what is not there.
Tensor compared_part(const Tensor& tensor, const std::string& name, const MapRequest& maps,
                     const Labels& labels);

/// The first elements of each axis, as many as `shape` has.
Tensor leading_part(const Tensor& tensor, const Shape& shape);

/// Where the elements of two tensors differ; indices count in row-major order.
struct ElementDifferences {
  struct Largest {
    double error = 0;
    std::size_t index = 0;  ///< of the first one; without meaning if the error is 0
  };
  Largest absolute, relative;
  std::size_t beyond = 0;
  std::optional<std::size_t> first_beyond;
  /// Sums of |a − b|, (a − b)² and b²: infinite where a NaN or an infinity has no equal; those
  /// that have are left out. Wider than a double, as squares are.
  long double sum = 0, squares = 0, squares_of_b = 0;
};

/// Compares two tensors of one shape element by element: in double precision, or exactly where both
/// hold integers or booleans. They agree if |a − b| ≤ atol + rtol·|b|.
ElementDifferences element_differences(const Tensor& a, const Tensor& b, Tolerances allowed,
                                       std::size_t threads);

/// The axes along which some positions alone have elements that differ by more than is allowed,
/// without the names of the axes.
std::vector<TensorComparison::Confined> confined_differences(const Tensor& a, const Tensor& b,
                                                             Tolerances allowed);

/// Another order of the axes of `a` by which it agrees with `b`, if there is one.
std::optional<Shape> agreeing_order(const Tensor& a, const Tensor& b, Tolerances allowed);

/// Another order of the positions along an axis of `a` by which it agrees with `b`, without the
/// name of the axis. Axes that would take too long to try are left out.
std::optional<TensorComparison::Moved> moved_places(const Tensor& a, const Tensor& b,
                                                    Tolerances allowed);

/// Whether each row along the last axis is a multiple of the other's, not all by one factor.
bool are_multiples_by_row(const Tensor& a, const Tensor& b, Tolerances allowed);

/// Whether all elements out of tolerance are NaN in one where the other has 0.
bool are_nan_for_zero(const Tensor& a, const Tensor& b, Tolerances allowed);

/// The factor other than 1 between log-sum-exps [B,H,L] or [H,L] of the first query for which it is
/// the same in all heads and samples.
std::optional<double> factor_of_lone_key(const Tensor& a, const Tensor& b);

/// Whether maps whose rows end as those of causal masks do, at the last key that is not zero, have
/// masks that begin at other corners: true for "lower_right" in a and "upper_left" in b.
std::optional<bool> aligned_otherwise(const Tensor& a, const Tensor& b);

/// Whether one of them has heads, [B,H,L,D] or [H,L,D], and the other the same elements with these
/// joined, [B,L,H·D] or [L,H·D].
bool agree_joined(const Tensor& a, const Tensor& b, Tolerances allowed);

/// A number other than 1 that makes all elements of `b` agree with `a`, if there is one and several
/// elements tell.
std::optional<double> agreeing_factor(const Tensor& a, const Tensor& b, Tolerances allowed);

/// The errors |a − b| below which those shares of them lie, to the digits of a float32. `left_out`
/// of them, which are zeros, do not count.
std::vector<double> error_quantiles(const Tensor& a, const Tensor& b,
                                    const std::vector<double>& shares, std::size_t left_out = 0);

/// Compares the elements of two tensors of one shape, within the tolerances of the request, and
/// puts into `comparison` how they differ and the outcome. `left_out` of them are zeros in both and
/// do not count.
void compare_elements(const Tensor& a, const Tensor& b, const CompareRequest& request,
                      std::size_t left_out, TensorComparison& comparison);

/// Warnings of options that what was compared leaves without effect, of tensors of one shape that
/// only their names keep apart, and of a stack of what the other file has one by one.
///
/// `rows_known`: whether some tensor told which queries see a key.
void warn_of_comparison(const CompareRequest& request, bool rows_known, Comparison& comparison);

/// Puts into `comparison`, whose name, types and outcome are known, what may have made the elements
/// differ: another order of axes or layout, joined heads, a factor, the rounding of a type, some
/// positions alone.
void explain_difference(const Tensor& a, const Tensor& b, const CompareRequest& request,
                        TensorComparison& comparison);

/// Possible causes of the difference, and what to write then; a line each.
std::vector<std::string> causes_of(const TensorComparison& tensor);

/// Whether each query, in row-major order of its axes, sees no key.
struct UnseenRows {
  Shape shape;  ///< of the axes: [B,H or 1,Lq], [H or 1,Lq] or [Lq]
  std::vector<char> unseen;
};

/// Rows without a key by one tensor of a result: no truth in a row of "allowed", minus infinity in
/// "lse", nothing but zeros or NaN in a row of "weights".
UnseenRows unseen_rows(const Tensor& tensor, std::string_view quantity);

/// Rows that see no key by either of them, of which one may know nothing, or all heads once.
UnseenRows unseen_in_either(const UnseenRows& a, const UnseenRows& b);

/// The tensor with zeros in all elements of the rows of queries that see no key, and how many
/// elements and rows these are. Rows are found by the axes of `rows`; those of a tensor that has no
/// axis of heads are left out if no head sees a key. A tensor without such axes is left as it is.
struct Cleared {
  Tensor tensor;
  std::size_t rows = 0, elements = 0;
};
Cleared without_unseen(const Tensor& tensor, std::string_view name, const UnseenRows& rows);

}  // namespace attn
