#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/model.hpp"
#include "attn/plot.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// A model whose heads are read from its weights alone, without a text.
struct CircuitsOptions {
  CheckpointFolder model;
  /// Tokens, by their texts or ids, whose rows of the full circuits are listed.
  std::vector<std::string> tokens;
  /// Heads whose rows these are, such as "2.1"; empty = the head that copies most.
  std::vector<std::string> heads;
  std::size_t listed = 5;               ///< tokens of a row
  std::optional<std::size_t> top = 10;  ///< heads and pairs that a table lists; absent = all
  std::size_t threads = 0;
  std::optional<std::filesystem::path> out;  ///< folder of tables and pictures; absent = none
  bool plots = false;
  PictureFormat format = PictureFormat::png;
  PlotOptions plot;
};

/// Numbers of one head (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits").
struct CircuitHead {
  std::string name;               ///< "2.1"
  std::optional<double> copying;  ///< Σ λ / Σ |λ| of the eigenvalues of the full circuit
  double ov_norm = 0, qk_norm = 0;
  std::vector<double> ov_values, qk_values;  ///< singular values, the largest first
};

/// A row of a head's full circuits.
struct CircuitRow {
  struct Token {
    std::int64_t id = 0;
    std::string text;
    double number = 0;
  };
  std::string head;
  Token token;
  /// Where the token stands among those that the head raises where it looks at the token, from 0.
  std::optional<std::size_t> rank;
  std::vector<Token> raised;  ///< the most raised first; empty where a model has no such circuit
  std::vector<Token> sought;  ///< those that the head looks at from the token, the likeliest first
};

/// Names of the inputs of a later head that earlier ones feed, in the order of compositions.
inline constexpr std::array<std::string_view, 3> composition_names{"query", "key", "value"};

struct CircuitsOutcome {
  std::string family;
  std::vector<CircuitHead> heads;
  /// Composition scores float64 [heads,heads] by input, from row to column; NaN where the row's
  /// layer is not before the column's.
  std::array<Tensor, composition_names.size()> compositions;
  std::vector<CircuitRow> rows;
  std::vector<std::string> warnings;
  std::vector<std::filesystem::path> files;
};

/// Reads the heads of a model's last stack from its weights, in double precision. `progress` takes
/// the layers that are finished and all of them. Throws Error as run() does, and Error(input) for
/// heads and tokens that there are not.
CircuitsOutcome read_circuits(
    const CircuitsOptions& options,
    const std::function<void(std::size_t done, std::size_t all)>& progress = {});

/// The outcome as tables to read, the heads that copy most and the strongest pairs first; as one
/// JSON object; and as comma-separated values with a line for each number of heads and pairs.
std::string circuits_text(const CircuitsOutcome& outcome, std::optional<std::size_t> top = 10);
std::string circuits_json(const CircuitsOutcome& outcome);
std::string circuits_csv(const CircuitsOutcome& outcome);

}  // namespace attn
