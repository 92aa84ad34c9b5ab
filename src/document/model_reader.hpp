#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "document/answer_reader.hpp"
#include "document/document.hpp"
#include "document/plan.hpp"
#include "io/json_value.hpp"
#include "models/model_folder.hpp"
#include "models/vision.hpp"

namespace attn {

/// The plan of a document with a model: its folder, its input and the wanted results. Problems go
/// to `problems`; the plan may be computed only if there are none. `only_checks`: it will not be
/// computed, and is without tokens, labels and positions of predictions.
Plan read_model_plan(const Document& document, Problems& problems, bool only_checks);

/// Reads what the stacks of a model read in a document: texts or ids of tokens, captions of
/// pictures and texts of a decoder. They go into the texts of the request, whose folder is open,
/// and their tokens, unless the document is only checked, into the report.
class ModelTextReader {
 public:
  struct Options {
    bool special_tokens;  ///< whether the tokenizer puts them around a text
    bool only_checks;
  };
  /// Refers to all of these, which must stay.
  ModelTextReader(const JsonValue& root, const FileAccess& access, Options options,
                  Problems& problems, ModelRequest& request, ModelReport& report)
      : root_(root),
        access_(access),
        options_(options),
        problems_(problems),
        request_(request),
        report_(report) {}

  /// Reads what the encoder or the only stack reads. Throws Error(input) at the key; a text without
  /// a token is a problem, and the others are read too.
  void read_texts();

  /// Reads texts that are compared with pictures. Throws as read_texts() does.
  void read_captions();

  /// Reads what the decoder reads, one for each text of the encoder: its start token alone, if the
  /// document gives nothing. Throws as read_texts() does.
  void read_decoder_texts();

  /// Adds a problem for each key of a decoder's texts.
  void refuse_decoder_texts();

  /// Throws Error(input) for more samples than the limits allow, before they take memory, and
  /// Error(memory) for more than there is. `tokens`: the least number of tokens of each.
  void check_samples(const JsonValue& list, std::size_t tokens, const std::string& at) const;

  /// The prompts that were read, if "parts" are asked for.
  const std::vector<Prompt>& prompts() const noexcept { return prompts_; }

  /// A warning of texts that the folder's library would cut, if there are any.
  std::optional<std::string> not_cut() const;

  /// Warnings of texts that were read otherwise than they may have been meant.
  const std::vector<std::string>& slips() const noexcept { return slips_; }

  /// A warning of tokens that the vocabulary does not know, if there are any.
  std::optional<std::string> unknown_tokens() const;

 private:
  using Ids = std::vector<std::int64_t>;
  using Pieces = std::vector<std::vector<std::string>>;

  /// The stack that reads a sequence: the encoder or the only one, which alone has token types and
  /// prompts, or the decoder.
  enum class Stack { first, decoder };
  /// Texts cut into tokens; without their pieces where the document is only checked.
  struct Sequences {
    std::vector<Ids> ids, types;
    Pieces pieces;
    bool typed = false;
  };

  const Architecture& model() const { return request_.folder->architecture; }
  const Tokenizer& tokenizer_of(Stack stack) const;
  std::optional<std::size_t> types_in_table() const;
  Sequences read_sequences(const JsonValue& value, const std::string& at, Stack stack);
  void read_sequence(const JsonValue& value, const std::string& at, Stack stack, Sequences& to);
  void refuse_other_tokenizer() const;
  void read_token_types(const JsonValue& types);
  void find_special_ids();
  void fill_captions();
  void read_prompt();
  void cut_text(std::vector<TextToken>& tokens, const std::string& at) const;
  std::vector<std::string> stored(const Ids& ids) const;
  bool is_closing(std::int64_t id, std::optional<std::int64_t> last) const;
  Pieces written(const std::vector<Ids>& samples, const std::optional<Tokenizer>& tokenizer) const;

  const JsonValue& root_;
  const FileAccess& access_;
  const Options options_;
  Problems& problems_;
  ModelRequest& request_;
  ModelReport& report_;
  std::vector<Prompt> prompts_;
  std::vector<std::string> slips_;
  std::size_t tokens_of_texts_ = 0, unknown_tokens_ = 0;
  std::size_t longest_found_ = 0;  // tokens of the longest text
  std::string before_;             // a prompt that goes before each text
  bool truncates_ = false;
  std::string unknown_token_;
};

/// Pictures of a document, prepared by the processor of a model's folder.
struct PreparedPictures {
  std::vector<Tensor> inputs;       ///< of the model, [3,H,W] each
  Tensor image;                     ///< [B,3,H,W], what it sees before it is normalised
  PatchGrid grid;                   ///< patches of each
  std::vector<std::string> tokens;  ///< names of the tokens of each
  std::vector<std::string> warnings;
};

/// Reads "image", the name of a PNG or JPEG file or a list of names, null if it is absent. For a
/// list `check` gets the tokens of a picture as soon as they are known, and throws if there is no
/// room for them. Throws Error(input) at "/image" or a place in it if pictures are missing, not
/// readable or of different sizes, Error(file) if a file or the processor's settings are missing.
PreparedPictures prepare_pictures(const JsonValue* value, const Document& document,
                                  const ModelFolder& folder, DType dtype,
                                  const std::function<void(std::size_t tokens)>& check);

/// Sounds of a document, as spectrograms.
struct PreparedSounds {
  std::vector<Tensor> inputs;       ///< of the model, [bands,frames] each
  std::vector<std::string> tokens;  ///< names of the tokens of each
  std::vector<std::string> warnings;
};

/// Reads "sound", the name of a file or a list of names, null if it is absent: a file of tensors
/// with a spectrogram [bands,frames] or [1,bands,frames], or a sound, of which the processor of the
/// model's folder makes one. Throws Error(input) at "/sound" or a place in it if sounds are
/// missing, not readable or of another length or rate, Error(file) if a file or the processor's
/// settings are missing.
PreparedSounds prepare_sounds(const JsonValue* value, const Document& document,
                              const ModelFolder& folder, const ModelOptions& options);

// Choices of a document among a model's results, and its changes of the model. Each function
// reads one key into the request, whose folder is open, and throws Error(input) at the key.

/// Reads "layers". Throws as well for a model, or a choice of its layers, without any map.
void read_layers(const JsonValue& root, ModelRequest& request);

/// The layers among the chosen ones that have no map, "0, 2"; empty if there are none.
std::string layers_without_map(const ModelRequest& request);

/// Reads "heads_off".
void read_heads_off(const JsonValue& root, ModelRequest& request);

/// Reads "ablate" and "ablate_over". `special_tokens`: whether the tokenizer puts them around a
/// text.
void read_ablation(const JsonValue& root, bool special_tokens, ModelRequest& request);

/// A sentence for each of "heads_off" and "patch" that the request has.
std::vector<std::string> changes_of(const ModelRequest& request);

/// Reads "patch", when the texts of the request are known. `special_tokens`: whether the tokenizer
/// puts them around a text.
void read_patch(const JsonValue& root, bool special_tokens, ModelRequest& request);

/// Reads "why", "logit" and "against_logit", when the texts of the request are known. Throws as
/// well for what the model or a text does not have.
void read_why(const JsonValue& root, ModelRequest& request);

/// Reads "logits". Throws as well if they are wanted and the file has no head that gives them.
void read_logits(const JsonValue& root, ModelRequest& request);

}  // namespace attn
