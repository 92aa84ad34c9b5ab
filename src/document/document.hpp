#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/attention.hpp"
#include "attn/io.hpp"
#include "attn/layers.hpp"
#include "attn/run.hpp"

#include "document/labels.hpp"
#include "document/problems.hpp"
#include "io/json_value.hpp"

namespace attn {

/// An input document as parsed, with what the command line puts in its place.
class Document {
 public:
  /// Reads and parses a file ("-" = standard input), which may stand anywhere; `access` rules its
  /// size, its nesting and the files that it names. Throws Error(file) or Error(input).
  static Document open(const std::filesystem::path& path, const FileAccess& access = {},
                       const JsonOptions& options = {.dtype = DType::float32});
  static Document parse(std::string_view text, std::string name, std::filesystem::path folder,
                        const FileAccess& access = {},
                        const JsonOptions& options = {.dtype = DType::float32});

  /// Replaces (or adds) a top-level member, or the member `inner` of a top-level object. Errors
  /// there name the flag.
  void override_with(std::string_view key, JsonValue value, std::string flag);
  void override_inside(std::string_view key, std::string_view inner, JsonValue value,
                       std::string flag);

  /// The error with its JSON pointer put into words a user can follow: "doc.json, /query/1", or the
  /// flag that gave the value. An error that names a flag already stays as it is.
  Error placed(const Error& error) const;

  const JsonValue& root() const noexcept { return root_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  const std::string& name() const noexcept { return name_; }
  const FileAccess& access() const noexcept { return access_; }

 private:
  JsonValue root_;
  std::string name_;
  std::filesystem::path folder_;
  FileAccess access_;
  std::vector<std::pair<std::string, std::string>> flags_;  ///< JSON pointer → flag
};

/// A document checked and ready to compute, for one kind of attention.
struct DocumentRequest {
  Kind kind = Kind::scaled_dot_product;
  /// As the kind's family has it.
  std::variant<AttentionRequest, ProjectedAttentionRequest, TransformerRequest> attention;
  bool heads_only = false;          ///< results have an axis of heads, but none of samples
  std::vector<NamedTensor> tokens;  ///< token_ids, embedded, recovered_ids
  std::vector<std::vector<std::string>> recovered_tokens;
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of the inputs
  Labels labels;
  std::string title, description;
  bool weights = true;
  std::size_t scores_count = 0;   ///< of all attentions
  std::size_t weights_count = 0;  ///< of one attention, all samples and heads
  std::vector<std::string> warnings;

  AttentionOptions& options() noexcept;
  const AttentionOptions& options() const noexcept;
};

/// The kinds a document asks for: one, or a list. Throws Error(input) if there is none, one is
/// unknown or stands twice.
std::vector<Kind> read_kinds(const JsonValue& root);

/// Reads every part of the document as `kind`, one of `kinds`, needs it. All problems go to
/// `problems`, those of shapes that do not fit together too; the request is to be computed only if
/// there are none.
DocumentRequest read_document(const Document& document, Kind kind, std::span<const Kind> kinds,
                              Problems& problems);

}  // namespace attn
