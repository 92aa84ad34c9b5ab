#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/io.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// True if the bytes are text and one of the first lines is a row of numbers or an alignment.
bool looks_like_text_matrix(std::span<const std::byte> bytes);

/// Matrices in a text: comma-, semicolon-, tab- or blank-separated numbers, a row a line, with
/// empty lines between several. A first row or column of words are labels, and so are the sentences
/// of alignments as Nematus and amun (`ID ||| TARGET ||| SCORE ||| SOURCE ||| SIZES`, then a row
/// for each target word) and Marian (`TARGET ||| 0.1,0.9 0.8,0.2`) write them.
class TextMatrices {
 public:
  /// Reads all numbers. Throws Error(input) at "line 3" for rows of different lengths and for what
  /// is no number, and for more elements than the limit.
  TextMatrices(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
               const Limits& limits = {});

  /// "" of a lone matrix without a sentence's number, else `NUMBER.weights` by the number of the
  /// sentence or of the matrix.
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// The labels: `rows` and `columns`, after the number of their matrix if there is one.
  const std::vector<OtherMember>& others() const noexcept { return others_; }
  const Tensor& read(std::size_t index) const { return tensors_[index]; }
  std::string stored_type(std::size_t) const { return name(DType::float64); }

 private:
  friend class TextMatrixReader;

  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
  std::vector<OtherMember> others_;
};

/// The maps of a table whose columns are indices and weights, as data frames and lists of edges
/// have them: `layer`, `sample`, `head`, `query` and `key` (or `target` and `source`), then one
/// weight, or one for each key where there is no column of keys. Axes in this order, [query,key]
/// last; 0 where the table has no row. Absent for a header without such names. Throws Error(input)
/// for indices that are no whole numbers or stand twice, and for more elements than the limit.
std::optional<Tensor> indexed_table(const std::vector<std::string>& header,
                                    const std::vector<std::vector<std::string>>& rows,
                                    const Limits& limits);

}  // namespace attn
