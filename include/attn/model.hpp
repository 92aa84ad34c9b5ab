#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// A checkpoint folder.
struct CheckpointFolder {
  std::filesystem::path path;
  /// File with a row that describes the model, instead of the row of a known family.
  std::optional<std::filesystem::path> architecture;
  FileAccess files;
};

/// A description to read: family, layers, heads, widths, positions, norm, activation, mask,
/// tokenizer, number of parameters, and tensors and settings that play no part. Throws Error as
/// run() does for files that are missing, malformed or not supported.
std::string model_text(const CheckpointFolder& folder);
/// The description as one JSON object.
std::string model_json(const CheckpointFolder& folder);

/// The row of the table of families that the model is computed by, with all inherited members, as
/// JSON that CheckpointFolder::architecture and a document's "architecture" accept.
std::string model_row(const CheckpointFolder& folder);

/// The problems that run() would meet, whatever texts the model reads. Does not throw.
Validation validate_model(const CheckpointFolder& folder);

/// The most probable tokens at one position: of the token after it, or of a mask token the tokens
/// in its place.
struct Prediction {
  struct Token {
    std::int64_t id = 0;
    std::string text;  ///< plain text of the token; empty without a tokenizer
    double probability = 0;
  };
  std::size_t position = 0;
  std::vector<Token> likeliest;  ///< at most ten, the most probable first
};

/// The classes that a classifier finds for a text or a picture, or for one of its tokens.
struct Classification {
  struct Class {
    std::string label;
    double logit = 0;
    std::optional<double> probability;  ///< absent for numbers that a regression gives
  };
  std::optional<std::size_t> position;  ///< of the token; absent = of the whole
  std::vector<Class> classes;           ///< at most ten, the largest logit first
};

/// The tokens that follow one prompt: generated ones, or those of a given text.
struct GeneratedText {
  std::size_t prompt = 0;  ///< tokens before it
  std::vector<std::int64_t> ids;
  std::vector<std::string> tokens;    ///< as a reader writes them; empty without a tokenizer
  std::vector<double> probabilities;  ///< of each token after those before it
};

/// The input and the predictions of a model, one list for each sample.
struct ModelReport {
  std::string family;
  std::vector<std::vector<std::string>> tokens;          ///< empty without a tokenizer
  std::vector<std::vector<std::string>> decoder_tokens;  ///< of an encoder-decoder
  std::vector<std::vector<std::string>> text_tokens;     ///< of texts that go with pictures
  bool next = false;  ///< whether each prediction is the token after its sample
  std::vector<std::vector<Prediction>> predictions;
  /// By a model that classifies; of an answer to a question its first and its last token.
  std::vector<std::vector<Classification>> classifications;
  /// Similarity of each text to each, where a folder of sentence-transformers makes vectors of
  /// them.
  std::vector<std::vector<double>> similarities;
  /// Parts of the first row of them, [B,L0,L] float64: of each token of the first text and each of
  /// another one. Absent where a similarity is no sum of such parts.
  Tensor token_similarity;
  std::vector<GeneratedText> generated;      ///< one for each sample; empty = nothing was asked for
  std::optional<double> generation_seconds;  ///< that generating took; absent if a text is given
  /// Parts and layers of the tensor "shares" [layers,H,tokens,parts], of what was generated.
  std::vector<std::string> answer_parts;
  std::vector<std::size_t> answer_layers;
  /// Sentences on the parts that are switched off or taken from another text; empty = the model is
  /// as its folder has it.
  std::vector<std::string> changes;
};

}  // namespace attn
