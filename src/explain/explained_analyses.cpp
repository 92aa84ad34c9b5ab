#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "layers/layer.hpp"
#include "maps/computed_maps.hpp"
#include "statistics/stack_analyses.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

/// Norms of the terms of one position in a layer.
struct NormsOfPosition {
  std::size_t layer = 0;
  std::vector<double> heads, block;  ///< of each token: of all heads together, of the whole block
  double mixing = 0;
};

std::vector<double> row_of(const Tensor& matrix, std::size_t row) {
  const std::size_t width = matrix.shape().back();
  const Tensor own = part_of(matrix, row * width, {width}).converted(DType::float64);
  const auto numbers = own.values<double>();
  return {numbers.begin(), numbers.end()};
}

class AnalysedPosition {
 public:
  AnalysedPosition(const ModelRequest& given, const std::vector<std::string>& labels,
                   QueryChoice choice, const std::vector<HeadAnalysis>& analyses, Explanation& to)
      : request_(given),
        query_(choice.query),
        analyses_(analyses),
        names_(labels, given.texts.ids[choice.sample].size(), to_translate("token {1}")),
        to_(to) {
    check();
    request_.texts = request_.texts.of_sample(choice.sample);
    compute();
  }

  void explain() {
    to_.part(translated("Through all layers"));
    if (wants(HeadAnalysis::rollout)) explain_rollout();
    if (wants(HeadAnalysis::norms)) explain_norms();
    if (wants(HeadAnalysis::lens)) explain_lens();
  }

 private:
  bool wants(HeadAnalysis analysis) const {
    return std::find(analyses_.begin(), analyses_.end(), analysis) != analyses_.end();
  }

  void check() const {
    const ModelFolder& folder = *request_.folder;
    for (const HeadAnalysis analysis :
         {HeadAnalysis::distances, HeadAnalysis::induction, HeadAnalysis::contacts,
          HeadAnalysis::loss, HeadAnalysis::gradients}) {
      if (!wants(analysis)) continue;
      throw Error(
          ErrorKind::usage,
          translated("the analysis {1} is of heads, not of one position",
                     head_analyses()[static_cast<std::size_t>(analysis)].name),
          "ExplainOptions::analyses",
          translated("give rollout, norms or lens; attn-cli heads has tables of all others"));
    }
    if (folder.architecture.encoder_decoder()) {
      throw Error(ErrorKind::usage,
                  translated("analyses of one position go through one stack of layers, and an "
                             "encoder-decoder has two"),
                  "ExplainOptions::analyses", translated("leave them out"));
    }
    if (wants(HeadAnalysis::norms)) {
      check_term_norms(folder.architecture, "ExplainOptions::analyses");
    }
    if (wants(HeadAnalysis::lens) && !has_head(folder.architecture, folder.weights)) {
      throw input_error(
          translated("the checkpoint has no head that gives logits, through which a lens looks"),
          "ExplainOptions::analyses",
          translated("leave the lens out, or use the folder of the whole model"));
    }
  }

  // One pass through the model, of which one row a layer is kept.
  void compute() {
    ModelOptions options = request_.options;
    options.wanted = {.weights = wants(HeadAnalysis::rollout) || wants(HeadAnalysis::norms)};
    PassObserver reading;
    if (wants(HeadAnalysis::norms)) {
      reading.layer = [this](const SamplePlace& at, const Layer& layer, const LayerStep& step) {
        if (!step.self.weights) return;
        const TermNorms norms = term_norms(layer, step);
        norms_.push_back({at.place.layer, row_of(norms.of_all_heads, query_),
                          row_of(norms.of_block, query_),
                          norms.mixing.converted(DType::float64).values<double>()[query_]});
      };
    }
    if (wants(HeadAnalysis::lens)) {
      reading.lens = [this](const SamplePlace&, const Tensor& logits) {
        const std::size_t words = logits.shape().back();
        const Tensor row = rows_of(logits.reshaped({logits.size() / words, words}), query_, 1);
        lens_.push_back(prediction_of(query_, row.reshaped({words}), *request_.folder));
      };
    }
    Rollout rollout(RolloutOptions(), {request_.texts.ids[0].size()}, options.threads);
    if (wants(HeadAnalysis::rollout)) {
      reading.tensor = [&](const PassTensor& what, const Tensor& tensor) {
        if (what.quantity != PassTensor::Quantity::weights) return;
        mapped_.push_back(what.place.layer);
        rollout_.push_back(row_of(rollout.next(tensor), query_));
      };
    }
    run_model({request_.folder->architecture, request_.folder->weights, request_.texts, options},
              {reading});
  }

  void explain_rollout() {
    to_.step(translated("Where the state comes from, by rollout"));
    to_.formula(
        "Â = ½·(1/H)·Σ_h A_h + ½·I,  R_l = Â_l·R_(l-1)",
        R"(\hat A = \tfrac12 \tfrac1H \sum_h A_h + \tfrac12 I,\quad R_l = \hat A_l R_{l-1})");
    const std::vector<double>& last = rollout_.back();
    const std::vector<std::size_t> shown = shown_of(last);
    to_.paragraph(translated(
        "If all values were alike, this much of what arrives at {1} would come from each input "
        "token (Abnar & Zuidema 2020). After layer {2} the largest share is that of {3}: {4} of 1.",
        names_.in_prose(query_), mapped_.back(), names_.in_prose(shown.front()),
        shown_number(last[shown.front()])));
    Explanation::Table table{{tokens_column(shown)}, Excerpt::all(shown.size()), {}};
    for (std::size_t n = 0; n < rollout_.size(); ++n) {
      if (!shows_layer(n)) continue;
      table.columns.push_back(
          number_column(translated("layer {1}", mapped_[n]), picked(rollout_[n], shown)));
    }
    to_.put(std::move(table));
    tell_left_out(last, shown);
    to_.paragraph(
        translated("It knows neither what values hold nor what feed-forward layers do; under a "
                   "causal mask the first tokens gather much for that reason alone."));
  }

  void explain_norms() {
    to_.step(translated("Where the state comes from, by the length of vectors"));
    to_.formula("||Σ_h A_h[i,j]·f_h(x_j)||,  f_h(x) = W_O,h (W_V x + b_V)",
                R"(\Big\|\sum_h A_h[i,j]\,f_h(x_j)\Big\|,\quad f_h(x) = W_{O,h}(W_V x + b_V))");
    to_.paragraph(translated(
        "The lengths of the vectors that each layer's attention adds up at {1} (Kobayashi et al. "
        "2020), and how much of other tokens is then mixed in, 0 to 1 (Kobayashi et al. 2021):",
        names_.in_prose(query_)));
    Explanation::Column layers{translated("layer"), {}, true, ""};
    Explanation::Column first{translated("longest of"), {}, false, ""}, second = first;
    second.header = translated("then of");
    std::vector<double> lengths, next_lengths, mixing;
    for (const NormsOfPosition& own : norms_) {
      const std::vector<std::size_t> order = largest_of(own.heads, 2);
      layers.cells.push_back(std::to_string(own.layer));
      first.cells.push_back(names_.in_table(order.front()));
      second.cells.push_back(order.size() > 1 ? names_.in_table(order[1]) : "");
      lengths.push_back(own.heads[order.front()]);
      next_lengths.push_back(order.size() > 1 ? own.heads[order[1]] : 0);
      mixing.push_back(own.mixing);
    }
    to_.put(Explanation::Table{{layers, first, number_column(translated("length"), lengths), second,
                                number_column(translated("length"), next_lengths),
                                number_column(translated("mixed in"), mixing)},
                               Excerpt::all(norms_.size()),
                               {}});
    to_.paragraph(
        translated("A sink with a large weight often has a short vector. Long vectors can cancel "
                   "one another, and the feed-forward layers in between are not included."));
  }

  void explain_lens() {
    const bool next = request_.folder->architecture.stacks.back().causal;
    to_.step(translated("What each layer would predict"));
    to_.paragraph(
        next ? translated(
                   "What the state at {1} would predict to come next, if it left the model after "
                   "that layer, through the last norm and the logits (nostalgebraist 2020):",
                   names_.in_prose(query_))
             : translated(
                   "What the state at {1} would predict to be there, if it left the model after "
                   "that layer, through the last norm and the logits (nostalgebraist 2020):",
                   names_.in_prose(query_)));
    constexpr std::size_t most = 3;
    Explanation::Column layers{translated("layer"), {}, true, ""};
    std::vector<Explanation::Column> columns{layers};
    for (std::size_t k = 0; k < most; ++k) {
      Explanation::Column tokens{
          k == 0 ? translated("likeliest") : translated("then"), {}, false, ""};
      std::vector<double> probabilities;
      for (std::size_t n = 0; n < lens_.size(); ++n) {
        if (k == 0) columns[0].cells.push_back(std::to_string(n));
        const auto& likeliest = lens_[n].likeliest;
        const bool there = k < likeliest.size();
        tokens.cells.push_back(there ? token_text(likeliest[k]) : "");
        probabilities.push_back(there ? likeliest[k].probability : 0);
      }
      columns.push_back(std::move(tokens));
      columns.push_back(number_column(translated("probability"), probabilities));
    }
    to_.put(Explanation::Table{std::move(columns), Excerpt::all(lens_.size()), {}});
    to_.paragraph(
        translated("Early layers need not speak the last one's language: what looks like noise "
                   "may be information all the same."));
  }

  static std::string token_text(const Prediction::Token& token) {
    return token.text.empty() ? std::to_string(token.id) : "\"" + one_line(token.text) + "\"";
  }

  // The first, some between and the last of many layers.
  bool shows_layer(std::size_t n) const {
    constexpr std::size_t most = 4;
    const std::size_t last = rollout_.size() - 1;
    if (to_.full || last < most) return true;
    return n == 0 || n == last / 3 || n == 2 * last / 3 || n == last;
  }

  // The positions that a table shows, those with the most first.
  std::vector<std::size_t> shown_of(const std::vector<double>& shares) const {
    constexpr std::size_t most = 8;
    std::vector<std::size_t> shown = largest_of(shares, to_.full ? shares.size() : most);
    while (!to_.full && shown.size() > 1 && shares[shown.back()] == 0) shown.pop_back();
    return shown;
  }

  Explanation::Column tokens_column(const std::vector<std::size_t>& positions) const {
    Explanation::Column column{translated("token"), {}, false, ""};
    for (const std::size_t position : positions) column.cells.push_back(names_.in_table(position));
    return column;
  }

  static std::vector<double> picked(const std::vector<double>& numbers,
                                    const std::vector<std::size_t>& positions) {
    std::vector<double> result;
    result.reserve(positions.size());
    for (const std::size_t position : positions) result.push_back(numbers[position]);
    return result;
  }

  void tell_left_out(const std::vector<double>& shares, const std::vector<std::size_t>& shown) {
    if (shown.size() == shares.size()) return;
    const std::vector<double> told = picked(shares, shown);
    const double rest = std::accumulate(shares.begin(), shares.end(), 0.0) -
                        std::accumulate(told.begin(), told.end(), 0.0);
    to_.paragraph(translated_count(
        shares.size() - shown.size(), "{1} more token has {2} of it after the last layer.",
        "{1} more tokens have {2} of it after the last layer.", shown_number(rest)));
  }

  ModelRequest request_;
  std::size_t query_;
  const std::vector<HeadAnalysis>& analyses_;
  PositionNames names_;
  Explanation& to_;
  std::vector<std::size_t> mapped_;           // layers that have a map
  std::vector<std::vector<double>> rollout_;  // of each of them, the position's row
  std::vector<NormsOfPosition> norms_;
  std::vector<Prediction> lens_;
};

}  // namespace

void explain_analyses(const ModelRequest& request, const std::vector<std::string>& labels,
                      QueryChoice choice, const std::vector<HeadAnalysis>& analyses,
                      Explanation& explanation) {
  AnalysedPosition(request, labels, choice, analyses, explanation).explain();
}

}  // namespace attn
