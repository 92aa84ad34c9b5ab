#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/document.hpp"
#include "attn/maps.hpp"
#include "attn/plot.hpp"
#include "attn/run.hpp"
#include "attn/statistics.hpp"

namespace attn {

/// The words of commands that draw the same numbers: what must be run first, if the input is to be
/// computed, the result that is there then, or the input as it is.
struct ViewCommands {
  std::vector<std::string> compute, result, input;
};

/// Contents of a page: the maps of a document, of a model and its texts, or of files.
struct ViewOptions {
  DocumentOptions document;
  /// Choice of the maps. Of its selection the chosen heads and the layers have a meaning, which
  /// also choose among computed maps; the rest is for an input that is a file of maps.
  MapRequest maps;
  bool stages = false;  ///< whether the steps of the score are shown too: scores, capped, masked
  /// Head of a model whose scores are split for the page, as WhyOptions::head names it, "all" heads
  /// of the layers that are shown, or "answer" for none. With it the logits of predicted and of
  /// generated tokens are split too.
  std::optional<std::string> why;
  /// Way in which each head of a model is switched off in a pass of its own, "zero" or "mean", as
  /// DocumentOptions::ablate; the page shows what each pass predicts.
  std::optional<std::string> effects;
  /// Ends of the paths between heads that carry what they carry in another text of a model, that of
  /// DocumentOptions::patch: as HeadsOptions::receivers, empty = all. The maps are those of the
  /// text itself. Absent = no paths.
  std::optional<std::vector<std::string>> paths;
  /// Tokens whose logits' difference paths change, as of HeadsOptions.
  std::optional<std::string> logit, against_logit;
  /// Called with the passes of paths that are finished, and their number.
  std::function<void(std::size_t done, std::size_t all)> progress = {};
  /// Texts, one per line, that a model reads too: the page tells what each head does over all of
  /// them. As HeadsCorpusOptions::corpus.
  std::optional<std::filesystem::path> corpus;
  /// Story that was made in a page: its steps have a text and the address of a view.
  std::optional<std::filesystem::path> story;
  /// Input whose maps the page compares with these: another model where the input is a model with
  /// its texts, else another document, result or file of maps.
  std::optional<std::filesystem::path> against;
  HeadCounting counting;  ///< of the statistics
  std::optional<std::string> title;
  std::optional<std::string> cmap;  ///< a name of colour_maps()
  ColorRange color_range;           ///< of the weights' colours; panels share it
  /// Number of cells kept of all maps together. If there are more, each map is reduced to cells
  /// that hold the largest of several, and to the strongest keys of each query.
  std::size_t cells = 48'000'000;
  /// Number of bytes that queries and keys may take, at two bytes a number before compression. The
  /// attentions that exceed it are left out, which the page says. 0 = none are kept.
  std::size_t vectors = 48'000'000;
  ViewCommands commands;
};

/// Numbers of a page that was made.
struct ViewOutcome {
  std::size_t attentions = 0, maps = 0;  ///< maps of a head, a sample and a tensor
  std::size_t cells = 0;                 ///< that are in the page
  std::size_t bytes = 0;                 ///< of the page
  std::vector<std::string> notes;        ///< what was rounded or reduced
  std::vector<std::string> warnings;
};

/// Makes the page, one HTML document that needs no other file, and hands it on piece by piece.
/// The same input gives the same bytes, whatever `threads` is. Only the maps of one attention are
/// in memory at a time, and what is packed of them, where a model or a file of tensors gives them
/// one by one. Throws Error as run() and draw() do.
ViewOutcome view(const ViewOptions& options, const std::function<void(std::string_view)>& page);

/// Writes the page into a file that appears whole or not at all.
ViewOutcome view(const ViewOptions& options, const std::filesystem::path& page);

/// run(), with view.html next to each result: its maps, which are not computed again.
RunOutcome run_and_view(const RunOptions& options, const ViewOptions& view);

/// Report of a page that was written to a file: text to read, and one JSON object.
std::string view_text(const ViewOutcome& outcome);
std::string view_json(const ViewOutcome& outcome, const std::filesystem::path& file);

}  // namespace attn
