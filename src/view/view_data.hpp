#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/model.hpp"
#include "attn/view.hpp"

#include "view/map_rows.hpp"
#include "view/packed_cells.hpp"

namespace attn {

/// Likeliest token by the states that leave a layer.
struct LayerPrediction {
  std::size_t layer = 0;
  Prediction::Token token;
};
/// Those of each layer, for each prediction of each sample; none = not known.
using PredictionsByLayer = std::vector<std::vector<std::vector<LayerPrediction>>>;

/// Data of the page without its blocks of numbers, as page/data.d.ts describes them.
struct ViewData {
  struct Cells {
    CellType type = CellType::float32;
    std::size_t rows = 0, columns = 0, cells = 0;  ///< the last is the number of the block
    std::optional<std::size_t> hidden, strongest;  ///< blocks
    std::size_t strongest_keys = 0;
    double error = 0;

    /// A packed map, of which `block` has the cells alone.
    static Cells of(const PackedMap& map, std::size_t block) {
      return {map.type, map.rows, map.columns, block, {}, {}, 0, map.error};
    }
  };
  struct Maps {
    std::string tensor, title;
    std::string cells;  ///< meaning of a cell where it is not the largest of what was pooled
    bool diverging = false;
    std::vector<Cells> heads;
  };
  /// Vectors whose products are the scores; key heads that are shared have one block.
  struct Vectors {
    std::vector<Cells> query, key, value;  ///< one per head
    double scale = 1;
    std::optional<double> softcap;
    bool biased = false, sink = false;
  };
  /// Picture that a model saw: its pixels are a block of three bytes each, row after row.
  struct Picture {
    std::size_t width = 0, height = 0, rows = 0, columns = 0, patch = 0, pixels = 0;
  };
  /// Strongest parts of each score of one head.
  struct Why {
    struct Pair {
      std::size_t query = 0, key = 0;
      double score = 0;
      struct Term {
        std::size_t query_part = 0, key_part = 0;
        double value = 0;
      };
      std::vector<Term> strongest;  ///< the largest first
    };
    std::size_t head = 0;  ///< number of the head in its layer
    std::vector<std::string> query_parts, key_parts;
    std::vector<Pair> pairs;
  };
  /// Change of what a model predicts first in a sample, one entry per head of an attention that is
  /// off in a pass of its own.
  struct Effects {
    struct OnAnswer {
      double divergence = 0, probability = 0;  ///< the last of the answer's token
      std::string likeliest;
    };
    std::vector<double> divergence;                  ///< KL(whole ‖ without) in nats
    std::vector<std::vector<double>> probabilities;  ///< of the whole model's likeliest tokens
    std::vector<std::string> likeliest;              ///< without the head
    std::vector<double> logit;  ///< change of the logit of the whole model's likeliest token
    /// The same to first order, by one gradient; empty where it is not known.
    std::vector<double> estimated;
    std::vector<std::vector<OnAnswer>> answer;  ///< [head][token of the answer]
  };
  /// Statistics of one head over the texts of a corpus, NaN where they have no meaning.
  struct HeadEvidence {
    std::vector<double> mean, error;  ///< of each statistic of weights
    std::vector<std::vector<std::pair<std::size_t, double>>>
        strongest;                    ///< of each: rows of Evidence::texts and their values
    std::vector<double> by_distance;  ///< mean weight at key − query = −reach … reach
  };
  struct Evidence {
    std::size_t count = 0, reach = 0;
    std::vector<std::string> texts;
  };
  struct StoryStep {
    std::string text, view;
  };
  /// Tokens that follow a sample's text, generated or given.
  struct Answer {
    /// What the heads add to the logit of one of the tokens, where it is predicted.
    struct Source {
      struct Head {
        std::string attention;
        std::size_t head = 0;
        double value = 0;
        std::size_t key = 0;  ///< the token from which most of it comes
        double copied = 0;    ///< the part from earlier copies of the token
      };
      std::vector<double> tokens, cross_tokens;  ///< sums over all heads, by the tokens they read
      std::vector<Head> heads;                   ///< the strongest ones, and the one that copies
    };
    std::size_t first = 0;              ///< position of the first of them
    std::vector<double> probabilities;  ///< of each where it stands
    std::vector<Source> sources;        ///< of each; empty = not asked for
  };
  /// What paths between heads of the first sample do to the difference of two logits, if they carry
  /// what they carry in another text.
  struct Paths {
    struct End {
      std::string attention;
      std::size_t head = 0;
    };
    struct Path {
      End from;
      std::optional<End> to;  ///< absent = the logits
      std::string input;      ///< of that head: "query", "key" or "value"
      double effect = 0;      ///< the change of the difference
    };
    std::string token, other;    ///< the logit of the first minus that of the other
    double own = 0, source = 0;  ///< the difference in the text and in the other one
    std::vector<Path> paths;     ///< to the logits all of them, between heads the strongest
  };
  /// The likeliest tokens of the first prediction, before the cap of their logits.
  struct Lens {
    struct Token {
      std::string text;
      double probability = 0, logit = 0;
    };
    std::size_t position = 0;
    std::optional<double> softcap;
    std::vector<Token> tokens;
  };
  struct Sample {
    bool same_positions = false;
    std::size_t queries = 0, keys = 0, query_tokens = 0, key_tokens = 0;
    std::optional<std::size_t> picture;  ///< whose patches are the last keys
    std::vector<std::string> hidden_because;
    std::vector<Maps> maps;
    std::optional<Vectors> vectors;
    std::vector<Why> why;  ///< of some heads
    std::optional<Effects> effects;
    std::vector<Cells> lens;  ///< one per head [tokens of the lens,dv]; empty = not asked for
  };
  struct Attention {
    std::string name, title, stack;
    std::size_t heads = 0, heads_a_group = 1;
    std::vector<std::size_t> numbers;  ///< of the heads, if not all of them are there
    std::vector<Sample> samples;
    std::vector<std::vector<double>>
        statistics;  ///< [head][statistic of weights], NaN where it has no meaning; with effects
                     ///< the mean divergence follows
    std::vector<double> even;  ///< the statistics of even weights; empty = not known
    std::vector<HeadEvidence> evidence;
  };
  /// A colour map, and the colours of what has none in it.
  struct MapColours {
    std::string name, table, hidden, nan, minus_infinity, infinity, not_positive;
  };
  struct CellColours {
    MapColours weights, diverging;
  };
  struct Colours {
    CellColours light, dark;  ///< of the page
    double least = 0, most = 1;
  };

  std::string language, title, description;
  bool layered = false;  ///< whether attentions are those of layers
  ViewCommands commands;
  bool computed = false;  ///< whether `commands.compute` goes before plotting
  std::vector<std::string> samples;
  std::vector<std::vector<Prediction>> predictions;          ///< of samples; may be fewer
  std::vector<std::vector<Classification>> classifications;  ///< likewise
  bool predicts_next = false;
  std::vector<Answer> answers;  ///< of samples; empty = none
  std::vector<std::optional<Lens>> lenses;
  std::optional<std::size_t> second;  ///< block of another page that stands beside this one
  std::optional<Evidence> evidence;
  std::vector<StoryStep> story;
  std::optional<Paths> paths;
  std::optional<std::string> effects;  ///< how heads are switched off, "zero" or "mean"
  /// The predictions by layer, likewise; fewer or none where they are not known.
  PredictionsByLayer by_layer;
  std::vector<ShownTokens> tokens;
  std::vector<Picture> pictures;
  std::vector<Attention> attentions;
  Colours colours;
  /// By the name of the tensor, of all maps of the page.
  std::vector<std::pair<std::string, FiniteRange>> ranges;
  std::vector<std::string> notes;
  std::size_t thumbnail_side = 0, thumbnails = 0;  ///< the last is the number of the block

  FiniteRange& range(const std::string& tensor);
};

/// JSON in which nothing ends an element of HTML or a line of JavaScript.
std::string view_data_json(const ViewData& data);

}  // namespace attn
