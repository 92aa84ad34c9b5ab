#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/maps.hpp"
#include "attn/named.hpp"
#include "attn/plot.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Tolerances for the numbers of a type.
struct Tolerances {
  double rtol, atol;
};

/// Types with the tolerances that torch.testing.assert_close has for them, the narrowest first;
/// by short names, "bf16", and then by those of "dtype", "bfloat16".
std::span<const Named<Tolerances>> tolerances_of_types() noexcept;

/// Two files of tensors to compare: results of this program or anything TensorFile reads.
///
/// Elements agree if |a − b| ≤ atol + rtol·|b|; NaN agrees with NaN, an infinity with itself alone.
/// Where both tensors hold integers or booleans, a tolerance that is not given is 0.
struct CompareRequest {
  static constexpr double default_rtol = 1e-5, default_atol = 1e-6;

  /// Files, or folders of results; "-" = standard input, for one of them.
  std::filesystem::path a, b;
  std::optional<double> rtol, atol;  ///< finite, at least 0
  /// Names of tensors to compare, where "{n}" is any number; the last part of a name means all that
  /// end in it. Tensors that either file lacks count as different. Empty = all.
  std::vector<std::string> only;
  /// Names that tensors go by in place of their own, in either file: {"out", "output"}; "" is a
  /// tensor without a name.
  std::vector<std::pair<std::string, std::string>> renamed;
  /// Order of the axes of tensors of `a` and of `b`, by the letters B, H, L and D: "BLHD". Tensors
  /// with as many axes are put into the order B, H, L, D; maps are left alone. Log-sum-exps have
  /// the layout's letters without D, in its order or in that of B, H, L, as the other file's fit;
  /// a layout without D is theirs alone: "BLH".
  std::string layout, layout_b;
  /// Whether rows of queries that see no key in either file are left out: by `allowed`, `lse` or
  /// `weights` beside the tensor, the first of them that the file has.
  bool seen_only = false;
  bool strict = false;   ///< whether a tensor that only one file has counts as different
  bool overlap = false;  ///< whether tensors of other lengths are compared where both have elements
  /// Part of the tensors that is compared: its name is one of `only`; layers are also those of
  /// names. Tensors of other ranks than the axes say are compared whole; where queries or keys are
  /// chosen, outputs and other tensors that are no maps are left out.
  MapRequest maps;
  std::size_t threads = 0;  ///< 0 = as many as the machine has; never changes a result
  FileAccess files;         ///< how large files may be, and where they may be
  std::optional<PictureFormat>
      picture;              ///< whether a picture of the difference is wanted, and which
  bool provenance = false;  ///< whether the picture states what RunOptions::provenance adds
  double dpi = 300;         ///< pixels per inch of a picture in PNG
};

/// The tensor of one name in both files.
struct TensorComparison {
  enum class Outcome { within, beyond, shapes_differ, only_in_a, only_in_b };
  struct Side {
    Shape shape;
    std::string type;  ///< that the file holds: "bfloat16", "float32", "int32"…
  };
  /// An error and the index of its element, the first one of several. Without any error it is 0 and
  /// has no index.
  struct Largest {
    double error = 0;
    std::optional<Shape> index;
  };
  using Number = std::variant<std::int64_t, float, double>;  ///< as stored; a boolean is 0 or 1
  struct Element {
    Shape index;
    Number a, b;
  };
  /// Statistics of |a − b| over all elements, and norms of the tensors as vectors; infinite where a
  /// NaN or an infinity has no equal.
  struct Spread {
    double mean = 0, median = 0, percent90 = 0, percent99 = 0;
    double relative_norm = 0;  ///< ‖a − b‖₂ / ‖b‖₂; infinite if b alone is all zeros
  };

  /// An axis along which some positions alone have elements out of tolerance.
  struct Confined {
    std::string axis;  ///< "sample", "head", "query"…; empty where this is not known
    std::size_t number = 0, size = 0;  ///< of the axis, from 0, and how many positions it has
    std::vector<std::size_t> places;
  };

  /// The order in which the positions of `a` along an axis agree with those of `b`.
  struct Moved {
    std::string axis;  ///< as in Confined
    std::size_t number = 0;
    std::vector<std::size_t> places;
  };

  std::string name;  ///< empty for two arrays without one in files of different names
  Outcome outcome = Outcome::within;
  bool exact = false;  ///< integers or booleans in both, and no tolerance given
  bool counts = true;  ///< whether a tensor that only one side has is a difference
  Side a, b;           ///< of a tensor that is there
  Shape compared;      ///< what of both was compared, from the first element on
  Largest absolute;    ///< of |a − b|; infinite where a NaN or an infinity has no equal
  Largest relative;    ///< of |a − b| / |b|
  Spread spread;
  std::size_t elements = 0, beyond = 0;  ///< all of them, and those beyond the tolerance
  std::optional<Element> first_beyond;   ///< in row-major order
  std::vector<Confined> confined;        ///< of several elements out of tolerance
  std::optional<Moved> moved;            ///< heads, samples… in another order
  std::optional<Shape> agreeing_order;   ///< of the axes of a, by which it agrees with b
  bool agrees_joined =
      false;  ///< whether it agrees with b as soon as the heads of either are joined
  std::string layout_of_a, layout_of_b;   ///< by which one that lacks the samples' axis agrees
  std::optional<double> agreeing_factor;  ///< of all elements of b, which makes them agree with a
  bool rows_are_multiples = false;        ///< whether each row of a is a multiple of that of b
  bool nan_for_zero = false;  ///< whether all differences are NaN in one where the other is 0
  /// The factor between log-sum-exps of a query that is the same in all heads and samples, as it is
  /// where the query sees a single key and the scores have other scales.
  std::optional<double> factor_of_lone_key;
  /// Whether the causal mask of a map is "lower_right" in a, and "upper_left" in b, or the other
  /// way round, where these differ; by its zeros.
  std::optional<bool> aligned_otherwise;
  std::string agreeing_type;      ///< whose tolerances would do where none are given: "bfloat16"
  std::size_t rows_left_out = 0;  ///< of queries that see no key
};

struct Comparison {
  std::string a, b;                       ///< the files' names
  double rtol = 0, atol = 0;              ///< of floating-point numbers
  std::vector<TensorComparison> tensors;  ///< in the order of a, then those of b alone
  std::optional<Picture> picture;
  std::string pictured;  ///< what the picture shows: "output[0]"
  std::vector<std::string> warnings;

  /// Whether what both files have is within the tolerance, and there is something; a tensor that
  /// only one of them has counts where it was asked for.
  bool agree() const noexcept;
};

/// Compares tensor by tensor, those of one name. A tensor without a name goes by its file's,
/// `output.npy`; a file's only tensor of this sort is compared with the only tensor of the other,
/// or the only one that is asked for, whatever its name. Names that one file alone has go together
/// where they differ in folders before one: "reference/output" with "output". Where no name is in
/// both files, tensors go together whose shape each file has once. The picture is a heatmap of a −
/// b, for the matrix with the largest error; without a matrix in both files there is a warning
/// instead. Throws Error(input) if a file is malformed or both hold no tensor, Error(file) if one
/// cannot be read.
Comparison compare(const CompareRequest& request);

/// The comparison to read: a line a tensor, then what differs.
std::string comparison_text(const Comparison& comparison);
/// The comparison as one JSON object.
std::string comparison_json(const Comparison& comparison);

}  // namespace attn
