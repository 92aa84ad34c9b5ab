#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/named.hpp"
#include "attn/spec.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// One sample for a model: a text, or a pair of texts.
struct ModelText {
  std::string text;
  std::optional<std::string> pair;
};

/// A part of a text: characters `from` … `to` − 1.
struct TextPart {
  std::string name;
  std::size_t from = 0, to = 0;
};

/// An input document and the values that replace those it states. An absent or empty field leaves
/// the document's value.
struct DocumentOptions {
  std::filesystem::path input;  ///< "-" = standard input; empty = none, which requires `model`

  std::optional<std::filesystem::path> model;         ///< checkpoint folder
  std::optional<std::filesystem::path> architecture;  ///< file with a row that describes the model
  std::optional<std::filesystem::path> adapter;       ///< folder of a LoRA adapter of the model
  std::vector<ModelText> texts;                       ///< input of the model, a sample each
  std::vector<std::filesystem::path> images;          ///< pictures that the model reads
  std::vector<std::filesystem::path> sounds;          ///< sounds, or their spectrograms
  std::optional<std::vector<std::size_t>>
      layers;           ///< the model's layers with weights; absent = all
  bool logits = false;  ///< whether the model's logits are results
  /// Head whose scores are split in each text, as in WhyOptions, and the query and key of these;
  /// the query is that of logits too.
  std::optional<std::string> why;
  std::optional<std::size_t> why_query, why_key;
  /// Tokens whose logits are split, as in WhyOptions, and those whose logits are taken away from
  /// these: one for all texts, or one for each. Empty = none.
  std::vector<std::string> logit, against_logit;
  /// Heads that are off before the output projection, as in WhyOptions::head: "5.1", "cross.5.1".
  std::vector<std::string> heads_off;
  /// Numbers in the place of their outputs: "zero", or "mean" over all tokens of the texts, or
  /// "mean_by_position".
  std::optional<std::string> ablate;
  std::vector<std::string> ablate_over;  ///< texts of these means; empty = those that are read
  std::optional<std::string> patch;      ///< text that the output of a part of the model comes from
  /// Parts that come from it: "2.1", "2.attention", "2.feed_forward", "2.residual:3,4",
  /// "embedding".
  std::vector<std::string> patch_at;
  std::optional<std::size_t> generate;   ///< tokens to generate after the texts
  std::optional<std::string> continued;  ///< a text in the place of a generated one
  /// Parts of the texts whose shares of the answer's attention are wanted.
  std::vector<TextPart> parts;
  bool parts_between_special_tokens = false;  ///< in their place: what stands between those
  std::optional<std::string> prompt;          ///< name of a prompt that goes before the texts
  bool truncate = false;                      ///< whether texts are cut to the longest one read
  bool chat = false;                          ///< whether the texts go through a chat template
  std::vector<std::vector<std::int64_t>> token_ids;  ///< in the place of texts, a sample each

  std::vector<Kind> attention;         ///< kinds that are computed one after the other
  std::optional<DType> dtype;          ///< one of document_dtypes()
  std::optional<bool> fused_rounding;  ///< of a dtype of 16 bits, one of document_roundings()
  std::optional<std::size_t> heads;
  std::optional<double> scale;
  std::optional<std::int64_t> seed;
  std::optional<std::vector<std::int64_t>> valid_lens;
  std::optional<Pooling> pool;
  bool causal = false;
  std::optional<std::string> score, where, weight;  ///< expressions
  /// Files of the tensors that expressions read, by name.
  std::vector<std::pair<std::string, std::filesystem::path>> tables;
  std::optional<std::filesystem::path> gradient;  ///< file with the gradient of the output

  std::size_t threads = 0;  ///< 0 = one for each processor; never changes a result
  FileAccess files;         ///< limits of files, and which files may be opened
  /// Called after each token that is generated, with the number of tokens generated and the most
  /// that all texts ask for.
  std::function<void(std::size_t done, std::size_t all)> generated;
};

/// Checks a document ("-" = standard input) without computing anything. Files that it names are
/// read. Problems of the document and of its files do not throw: they are the result.
Validation validate(const std::filesystem::path& path, const FileAccess& access = {});

/// The tokens of a document's texts by the tokenizer of its model, or its own, without any
/// computation: pieces, ids, and the bytes of the text that each covers. The model may be a
/// tokenizer alone: its folder, or a file such as tokenizer.json, tekken.json or tokenizer.model.
/// `warnings` gets what the tokenizer's files leave open. Throws Error where there is no tokenizer
/// or no text.
std::string tokens_text(const DocumentOptions& options,
                        std::vector<std::string>* warnings = nullptr);
std::string tokens_json(const DocumentOptions& options,
                        std::vector<std::string>* warnings = nullptr);

/// A report to read: for each document "INPUT: valid", or the number of its problems and their
/// texts.
std::string validation_text(std::span<const Validation> validations);
/// A JSON list of objects with "input" and "problems", a list of objects with "problem", "where"
/// and "help".
std::string validation_json(std::span<const Validation> validations);

/// {"error": {"problem": …, "where": …, "help": …, "exit_code": …}} on one line.
std::string error_json(const Error& error);

/// The JSON Schema (draft 2020-12) of input documents.
std::string document_schema();

/// A small complete document of that kind, ready to run.
std::string example_document(Kind kind);

/// An addition to a kind, such as rotary positions, with a small complete document.
struct ExampleTopic {
  std::string_view name, meaning, document;
};
std::span<const ExampleTopic> example_topics() noexcept;

/// A part of a mask, under its key in documents.
struct MaskPart {
  std::string_view name, meaning;
};
std::span<const MaskPart> mask_parts() noexcept;

/// The types that attention is computed in, under their names in documents.
std::span<const Named<DType>> document_dtypes() noexcept;
/// Whether 16-bit types are rounded as in fused kernels, under its names in documents.
std::span<const Named<bool>> document_roundings() noexcept;
/// The ways to reduce the weights of a block to one, under their names in documents.
std::span<const Named<Pooling::Reduction>> pooling_reductions() noexcept;

}  // namespace attn
