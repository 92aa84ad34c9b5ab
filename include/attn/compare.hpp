#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/plot.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Two files of tensors to compare: results of this program or anything TensorFile reads.
///
/// Elements agree if |a − b| ≤ atol + rtol·|b|; NaN agrees with NaN, an infinity with itself alone.
/// Where both tensors hold integers or booleans, a tolerance that is not given is 0.
struct CompareRequest {
  static constexpr double default_rtol = 1e-5, default_atol = 1e-6;

  std::filesystem::path a, b;        ///< "-" = standard input, for one of them
  std::optional<double> rtol, atol;  ///< finite, at least 0
  std::size_t threads = 0;           ///< 0 = as many as the machine has; never changes a result
  FileAccess files;                  ///< how large files may be, and where they may be
  std::optional<PictureFormat>
      picture;              ///< whether a picture of the difference is wanted, and which
  bool provenance = false;  ///< whether the picture tells what RunOptions::provenance asks for
  double dpi = 300;         ///< pixels an inch of a picture in PNG
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

  std::string name;  ///< empty for an array without one
  Outcome outcome = Outcome::within;
  bool exact = false;  ///< integers or booleans in both, and no tolerance given
  Side a, b;           ///< of a tensor that is there
  Largest absolute;    ///< of |a − b|; infinite where a NaN or an infinity has no equal
  Largest relative;    ///< of |a − b| / |b|
  std::size_t elements = 0, beyond = 0;  ///< all of them, and those beyond the tolerance
  std::optional<Element> first_beyond;   ///< in row-major order
};

struct Comparison {
  std::string a, b;                       ///< the files' names
  double rtol = 0, atol = 0;              ///< of floating-point numbers
  std::vector<TensorComparison> tensors;  ///< in the order of a, then those of b alone
  std::optional<Picture> picture;
  std::string pictured;  ///< what the picture shows: "output[0]"
  std::vector<std::string> warnings;

  /// Whether both files have the same tensors, each within the tolerance.
  bool agree() const noexcept;
};

/// Compares tensor by tensor; a file's only tensor without a name is compared with the only tensor
/// of the other, whatever its name. The picture is a heatmap of a − b, for the matrix with the
/// largest error; without a matrix in both files there is a warning instead. Throws Error(input) if
/// a file is malformed or both hold no tensor, Error(file) if one cannot be read.
Comparison compare(const CompareRequest& request);

/// The comparison to read: a line a tensor, then what differs.
std::string comparison_text(const Comparison& comparison);
/// The same as one JSON object.
std::string comparison_json(const Comparison& comparison);

}  // namespace attn
