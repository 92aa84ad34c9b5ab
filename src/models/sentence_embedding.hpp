#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "io/json_value.hpp"

namespace attn {

/// What makes one vector of the states of a text, as sentence-transformers has it in modules.json
/// and beside it (Reimers and Gurevych 2019, "Sentence-BERT", section 3).
struct SentenceModules {
  /// Side by side in the vector, in the order of the list.
  enum class Pooling { first, largest, mean, mean_by_root, weighted_mean, last };
  /// Work on the pooled vector: a Linear layer with a function, or division by its length.
  struct Step {
    Linear dense;                            ///< absent = division
    std::function<double(double)> function;  ///< empty = none
  };
  enum class Similarity { cosine, dot, euclidean, manhattan };

  std::vector<Pooling> pooling;
  std::vector<Step> steps;
  Similarity similarity = Similarity::cosine;
  std::map<std::string, std::string> prompts;  ///< by their names
  std::string default_prompt;                  ///< name of one of them; empty = none
  bool lowercases = false;                     ///< whether texts are made small before they are cut
  std::optional<std::size_t> longest;          ///< tokens that the library reads of a text

  /// E, of states of that width.
  std::size_t width(std::size_t states) const;
  /// The vector [1,E] of the states [1,L,D] of a text, computed in double precision.
  Tensor embedding(const Tensor& states) const;
  /// Whether a similarity is a sum over the tokens of both texts: it is one of products, and what
  /// follows the pooling adds nothing and bends nothing.
  bool sums_over_tokens() const;
  /// What each token of the first text (rows) and of another one (columns) gives to their
  /// similarity, [B,L0,L] of the states [1,L,D] of each text, float64: cells of a text add up to
  /// it. Texts that are shorter end in zeros. Of the largest numbers, each is its token's.
  Tensor token_similarity(const std::vector<Tensor>& states) const;
  /// The similarities [B,B] of vectors [B,E]; of distances the negative.
  Tensor similarities(const Tensor& vectors) const;
};

/// Reads a JSON file by its path in the folder; absent if it is not there.
using ReadSettings = std::function<std::optional<JsonValue>(const std::filesystem::path& file)>;

/// Reads modules.json and what it names; null, with a warning, for modules that are not known, and
/// without one where the folder has no modules.json. `width` is that of the model's states. Throws
/// Error(file) and Error(input) naming the file for what is missing or malformed.
std::shared_ptr<const SentenceModules> read_sentence_modules(const std::filesystem::path& folder,
                                                             std::size_t width,
                                                             const ReadSettings& read,
                                                             const FileAccess& access,
                                                             std::vector<std::string>& warnings);

/// The name of a similarity, as the library has it.
std::string name_of(SentenceModules::Similarity similarity);

}  // namespace attn
