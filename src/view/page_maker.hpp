#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/view.hpp"

#include "maps/attention_map.hpp"
#include "statistics/stack_analyses.hpp"
#include "view/map_rows.hpp"
#include "view/packed_cells.hpp"
#include "view/page_input.hpp"
#include "view/score_vectors.hpp"
#include "view/view_data.hpp"
#include "why/splits.hpp"

namespace attn {

struct Plan;

/// The page's own files, as they were when the program was built.
struct PageSource {
  std::string_view skeleton;  ///< with {{language}}, {{head}} and {{data}} where these belong
  std::string_view style, script;
  std::string_view style_hash, script_hash;  ///< SHA-256, in hexadecimal digits
};

PageSource page_source() noexcept;

/// Writes the page when all of it is there: its head, the description of the blocks of numbers and
/// the script, then the blocks, so that the page is shown while they are read. Nothing but the
/// page's own script and style, whose hashes it names, runs in it.
class PageWriter {
 public:
  /// `language` is a tag of HTML, "en"; `title` any text.
  PageWriter(std::function<void(std::string_view)> sink, const std::string& language,
             const std::string& title);

  /// Gives the number of the block. `base64` is what packed_block() makes.
  std::size_t add_block(std::string_view base64);

  /// `json` is what view_data_json() makes; the block `first` goes before the others. Returns how
  /// many bytes were written in all.
  std::size_t finish(std::string_view json, std::size_t first);

 private:
  void write(std::string_view text);
  void write_block(std::size_t block);

  std::function<void(std::string_view)> sink_;
  std::string start_;
  std::vector<std::string> blocks_;
  std::size_t bytes_ = 0;
};

/// Effects of the heads of attentions by their names, one per sample.
using EffectsByAttention = std::map<std::string, std::vector<ViewData::Effects>>;

/// The lens of each sample, with the directions of the heads of attentions by their names,
/// [1,H,tokens,dv]: what their weighted values add to the logits.
using LensBySample =
    std::vector<std::optional<std::pair<ViewData::Lens, std::map<std::string, Tensor>>>>;

/// What a corpus says of the heads of attentions, by their names.
using EvidenceByAttention = std::map<std::string, std::vector<ViewData::HeadEvidence>>;

/// Turns attentions into a page as they come: each one's maps are rounded, pooled and packed at
/// once, and only their description is kept.
class PageMaker {
 public:
  /// Begins the page. Keeps a reference to the options.
  PageMaker(const ViewOptions& options, const ViewedInput& input, bool computed,
            std::function<void(std::string_view)> sink);

  /// Takes a map of planned_map() or filed_map(), and the vectors of its scores if they are known.
  void take(const AttentionMap& map, const std::optional<ScoreVectors>& vectors = {});

  /// Takes the splits of a head's scores, one per sample, before the attention's map.
  void take(const std::vector<ScoreSplit>& splits);
  /// Takes the effects of all heads of attentions, by their names, one per sample, before the maps.
  /// `way`: how heads are switched off, "zero" or "mean".
  void take(EffectsByAttention effects, const std::string& way) {
    effects_ = std::move(effects);
    data_.effects = way;
  }

  /// Takes what a corpus says, before the maps.
  void take(ViewData::Evidence evidence, EvidenceByAttention heads) {
    data_.evidence = std::move(evidence);
    evidence_ = std::move(heads);
  }
  /// Takes the answers that follow the samples' texts.
  void take(std::vector<ViewData::Answer> answers) { data_.answers = std::move(answers); }
  /// Takes what wrote the logits of the answers' tokens, by samples, and the lenses, before the
  /// maps and after the answers.
  void take(std::vector<std::vector<ViewData::Answer::Source>> sources, LensBySample lenses);
  /// Takes another page, as HTML, whose samples stand beside those of this one.
  void take_second(std::string_view html);
  void take(std::vector<ViewData::StoryStep> story) { data_.story = std::move(story); }
  void take(ViewData::Paths paths) { data_.paths = std::move(paths); }

  /// Takes the predictions of a model, one list per sample. `next`: of the token after the text.
  void take(std::vector<std::vector<Prediction>> predictions, bool next);
  /// Takes what a classifier says of each sample.
  void take(std::vector<std::vector<Classification>> classifications) {
    data_.classifications = std::move(classifications);
  }
  /// Takes what the states that leave each layer would predict in their place.
  void take(PredictionsByLayer by_layer) { data_.by_layer = std::move(by_layer); }

  /// Ends the page. `warnings` are of the input.
  ViewOutcome finish();

 private:
  /// One tensor of an attention.
  struct Taken {
    std::string name;
    Tensor maps, allowed;
    bool weights = false;
    bool first = false;      ///< whether thumbnails are made of it
    std::string cells = {};  ///< as AttentionMap::cells
  };
  std::vector<ViewData::Maps> add_tensor(const Taken& tensor);
  /// Vectors of each sample, of the heads that the map has; none if they exceed the limit.
  std::vector<ViewData::Vectors> add_vectors(const AttentionMap& map, const ScoreVectors& vectors);
  /// Directions of the lens of a sample for each head that the map has.
  std::vector<ViewData::Cells> add_lens(const AttentionMap& map, std::size_t sample);
  void add_notes();
  /// Adds the pictures of the map, once for all maps of as many patches. Returns the number of the
  /// first.
  std::size_t add_pictures(const AttentionMap& map);
  /// Takes a layer for the rollout of pictures, which needs all layers and heads.
  void roll_out(const AttentionMap& map);

  const ViewOptions& options_;
  CellPlan plan_;
  PageWriter page_;
  ViewData data_;
  std::map<std::string, std::vector<std::vector<ViewData::Why>>> splits_;  ///< of samples, by name
  EffectsByAttention effects_;
  EvidenceByAttention evidence_;
  LensBySample lenses_;
  TokenLists tokens_;
  Thumbnails thumbnails_;
  std::optional<Rollout> rollout_;
  std::vector<AttentionMap> rollouts_;  ///< by layers; they follow all other maps
  ViewOutcome outcome_;
  double largest_error_ = 0;                            ///< of weights
  std::size_t coded_ = 0, pooled_ = 0;                  ///< maps
  std::size_t most_keys_ = 0;                           ///< of a map
  std::size_t vector_bytes_ = 0, without_vectors_ = 0;  ///< the last counts attentions
};

/// Splits the scores of heads in every sample, and hands them to the page. `heads`: as
/// ViewOptions::why. The plan has a model. Throws Error as split() does, and Error(usage) for heads
/// of layers that are left out and for more scores than a page keeps.
void put_score_parts(const Plan& plan, const std::string& heads, PageMaker& page);

/// Switches off the heads of a plan's model one by one, in passes of their own, and hands over what
/// each does to the first prediction of a sample and to the tokens of its answer. `way`: as
/// ViewOptions::effects. Throws Error(usage) where nothing is predicted or other heads are off.
void put_effects(const Plan& plan, const std::string& way, PageMaker& page);

/// Throws Error(usage).
[[noreturn]] void refuse_effects_without_prediction();

/// Patches the paths between the heads of the options' model, and hands over the strongest. Throws
/// Error as read_heads() does.
void put_paths(const ViewOptions& options, PageMaker& page);

/// Reads the corpus with the model of the options, and hands over what its texts say of each head.
/// Throws Error as read_corpus() does.
void put_evidence(const ViewOptions& options, PageMaker& page);

/// Throws Error(usage).
[[noreturn]] void refuse_corpus_without_model();

/// Splits the logits of the tokens that follow each text of a plan's model, and of the likeliest
/// ones of its first prediction, and hands them to the page. The plan has a model. Throws Error as
/// split_logits() does.
void put_logit_parts(const Plan& plan, PageMaker& page);

}  // namespace attn
