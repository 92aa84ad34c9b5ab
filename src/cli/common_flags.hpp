#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/explain.hpp"
#include "attn/file_access.hpp"
#include "attn/run.hpp"
#include "attn/spec.hpp"

#include "cli/commands.hpp"

namespace attn::cli {

/// Values of the flags of every command that computes or reports.
struct Common {
  bool json = false, quiet = false, no_color = false;
  std::size_t threads = 0;  ///< 0 = all cores
};

/// Adds --json, --quiet, --no-color and --lang.
void add_report(Flags& flags, Common& common);
/// Adds these, --threads and --cpu. `threads` is the help of
/// --threads if it is not about all computation.
void add_common(Flags& flags, Common& common, const std::string& threads = "");

/// Adds the limits of files: sizes, elements, nesting.
void add_limits(Flags& flags, Limits& limits);
/// Adds the limits of files and --restrict, the folder of files that documents name.
void add_files(Flags& flags, FileAccess& access);

/// Adds --provenance. `where` names the files that the provenance is written into.
void add_provenance(Flags& flags, bool& target, const std::string& where);

/// The kind of that name or alias. Throws Error(usage) at `where`.
Kind kind_named(const std::string& name, const std::string& where);

/// Names and aliases of all kinds.
std::vector<std::string> kind_words();

/// Adds --attention, which takes a kind.
Flag& add_kind(Flags& flags, const std::string& help, std::function<void(Kind)> take);

/// Adds the flags that override the keys of a document.
void add_document(Flags& flags, DocumentOptions& options);

/// The one input document of a command such as "attn-cli run".
Words document_words(DocumentOptions& options, const std::string& command);

/// Throws Error(file) where the folder of a model stands for the input of a command.
void refuse_model_folder(const std::string& input, const std::string& command);

/// Adds the flags about files and pictures that are made of one document or of many. If `page` is
/// given, --plots takes "view" too, which sets it.
void add_results(Flags& flags, RunOptions& options, bool* page = nullptr);

/// Whether results go to standard output ("--out -"). Throws Error(usage) for anything else that
/// would be written there or into a folder beside it; `json`: whether a report is asked for.
bool answers(const RunOptions& options, bool json, const std::string& command);

/// The shard that "1/4" names. Throws Error(usage).
Shard shard_of(const std::string& text);

/// The shard that the environment of Slurm, MPI or Kubernetes assigns to this process, with a note
/// on standard error unless `quiet`; without such an environment the whole.
Shard shard_of_engine(bool quiet);

/// Adds --model, what it reads, and what is changed in it.
void add_model(Flags& flags, DocumentOptions& options);
/// --text and --pair.
void add_texts(Flags& flags, DocumentOptions& options);

/// Adds --layers and --logits, the choice among a model's results.
void add_model_results(Flags& flags, DocumentOptions& options);

/// The tokens whose logits are read: the second one's logit is taken away from the first one's.
struct LogitNames {
  std::optional<std::string>&logit, &against;
};
/// Adds --logit, with that meaning, and --against-logit.
void add_logits(Flags& flags, LogitNames to, const std::string& meaning);
/// Adds --paths, whose ends `take` gets, none for all, and --logit-difference, what they change.
void add_paths(Flags& flags, LogitNames logits, std::function<void(std::vector<std::string>)> take);
/// Adds these and --key, the choice of the numbers of a model that are split into parts.
void add_why(Flags& flags, LogitNames logits, std::function<void(const std::string&)> take_key);
/// Adds --why, these, each of which may be given for each text, and --key, for documents.
void add_splits(Flags& flags, DocumentOptions& options);
/// Makes --query choose the query of a split, where flags ask for one, in place of the pictures'.
void take_query_of_split(RunOptions& options);

/// Takes a layer of a document or of maps, "3" or "encoder.3"; returns whether the text names one.
bool take_layer(const std::string& text, ExplainOptions& options);

/// Takes the head whose scores are split, "2.1" or "cross.2.1". Throws Error(usage) that names the
/// flag.
void take_head_of_layer(const std::string& flag, const std::string& text, ExplainOptions& options);

}  // namespace attn::cli
