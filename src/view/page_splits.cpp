#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/plan.hpp"
#include "models/model_folder.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "view/page_maker.hpp"
#include "why/splits.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

constexpr std::size_t most_heads = 5, most_tokens = 5;

// Sums of the columns of rows [heads,keys], or nothing.
std::vector<double> sums_of_columns(const Tensor& rows) {
  if (!rows) return {};
  const std::size_t keys = rows.shape()[1];
  std::vector<double> sums(keys, 0.0);
  const auto numbers = rows.values<double>();
  for (std::size_t i = 0; i < numbers.size(); ++i) sums[i % keys] += numbers[i];
  return sums;
}

// What each head adds to the logit, by the tokens that it reads. `copies`: whether a token is an
// earlier copy of the one that the logit is of.
void add_heads(const Tensor& rows, const std::vector<ModelPlace>& places,
               const std::vector<std::uint8_t>& copies,
               std::vector<ViewData::Answer::Source::Head>& heads) {
  for (std::size_t h = 0; h < places.size(); ++h) {
    const std::size_t keys = rows.shape()[1];
    const auto row = rows.values<double>().subspan(h * keys, keys);
    ViewData::Answer::Source::Head head;
    head.attention = places[h].attention().text();
    head.head = places[h].head.value();
    head.key = largest_of(row, 1).front();
    for (std::size_t j = 0; j < keys; ++j) {
      head.value += row[j];
      if (j < copies.size() && copies[j] != 0) head.copied += row[j];
    }
    heads.push_back(std::move(head));
  }
}

// `ids`: the text with its answer, of which the token after the split's position is one.
ViewData::Answer::Source source_of(const LogitSplit& split, const std::vector<std::int64_t>& ids) {
  ViewData::Answer::Source source;
  source.tokens = sums_of_columns(split.tokens);
  source.cross_tokens = sums_of_columns(split.cross_tokens);
  std::vector<std::uint8_t> copies;
  for (std::size_t j = 0; j <= split.position; ++j) {
    copies.push_back(ids[j] == ids[split.position + 1] ? 1 : 0);
  }
  std::vector<ViewData::Answer::Source::Head> all;
  add_heads(split.tokens, split.heads, copies, all);
  add_heads(split.cross_tokens, split.cross_heads, {}, all);
  if (all.empty()) return source;
  std::vector<double> values;
  for (const auto& head : all) values.push_back(head.value);
  for (const std::size_t at : largest_of(values, most_heads)) source.heads.push_back(all[at]);
  const auto copier = std::ranges::max_element(all, {}, &ViewData::Answer::Source::Head::copied);
  const bool listed = std::ranges::any_of(source.heads, [&](const auto& head) {
    return head.attention == copier->attention && head.head == copier->head;
  });
  if (copier->copied > 0 && !listed) source.heads.push_back(*copier);
  return source;
}

// Directions of all heads of each attention, [1,H,tokens,dv] by its name.
std::map<std::string, Tensor> directions_of(const std::vector<LogitSplit>& splits) {
  std::map<std::string, std::vector<std::size_t>> rows;  // of the heads of an attention
  const std::vector<ModelPlace>& heads = splits.front().heads;
  for (std::size_t row = 0; row < heads.size(); ++row) {
    rows[heads[row].attention().text()].push_back(row);
  }
  std::map<std::string, Tensor> all;
  for (const auto& [name, own] : rows) {
    const std::size_t width = splits.front().directions[own.front()].size();
    std::vector<float> numbers;
    for (const std::size_t row : own) {
      for (const LogitSplit& split : splits) {
        for (const double number : split.directions[row]) {
          numbers.push_back(static_cast<float>(number));
        }
      }
    }
    all.emplace(name, Tensor({1, own.size(), splits.size(), width}, std::move(numbers)));
  }
  return all;
}

// The likeliest tokens of a prediction, and what a head's values would add to their logits.
ViewData::Lens lens_of(const ModelFolder& folder, const std::vector<LogitSplit>& splits,
                       const LogitsHead& head, const std::vector<double>& capped) {
  ViewData::Lens lens;
  lens.position = splits.front().position;
  lens.softcap = head.softcap;
  const double sum = log_sum_exp(capped);
  for (const LogitSplit& split : splits) {
    const auto id = static_cast<std::int64_t>(split.token);
    lens.tokens.push_back({written_token(folder, id).value_or("#" + std::to_string(id)),
                           std::exp(capped[split.token] - sum), split.logit});
  }
  return lens;
}

// Names of the heads whose scores are split.
std::vector<std::string> split_heads(const ModelRequest& model, const std::string& named) {
  const Architecture& architecture = model.folder->architecture;
  if (named != "all") return {named};
  std::vector<std::string> all;
  const ModelStack& stack = architecture.stacks.back();
  for (std::size_t layer = 0; layer < stack.layers.size(); ++layer) {
    if (!model.options.wanted.chooses_map(stack, layer)) continue;
    for (std::size_t head = 0; head < architecture.of(stack).heads; ++head) {
      all.push_back(ModelPlace{last_stack_of(architecture), layer}.with_head(head).text());
    }
  }
  return all;
}

}  // namespace

void put_score_parts(const Plan& plan, const std::string& heads, PageMaker& page) {
  constexpr std::size_t most_pairs = 200'000;  // of query and key: about 20 MB of the page
  const ModelRequest* const model = model_of(plan);
  std::size_t pairs = 0;
  for (const std::string& name : split_heads(*model, heads)) {
    WhyOptions why;
    why.head = name;
    const ModelPlace head = split_head(name, model->folder->architecture);
    if (!model->options.wanted.chooses(head.layer)) {
      throw Error(ErrorKind::usage, translated("the page leaves out layer {1}", head.layer),
                  "ViewOptions::why", translated("choose this layer too"));
    }
    std::vector<ScoreSplit> splits;
    for (std::size_t b = 0; b < model->texts.ids.size(); ++b) {
      splits.push_back(
          std::move(*split(why, *model->folder, model->texts.of_sample(b), model->options).scores));
      pairs += splits.back().pairs.size();
    }
    if (pairs > most_pairs) {
      throw Error(ErrorKind::usage,
                  translated("the page keeps the parts of at most {1} scores, and these heads have "
                             "more",
                             grouped(most_pairs)),
                  "ViewOptions::why", translated("name one head, or choose fewer layers"));
    }
    page.take(splits);
  }
}

void put_logit_parts(const Plan& plan, PageMaker& page) {
  const ModelRequest& model = *model_of(plan);
  const ModelFolder& folder = *model.folder;
  const Architecture& architecture = folder.architecture;
  const auto& predicted = model.options.wanted.predicted;
  const auto& generated = plan.model->generated;
  std::vector<std::vector<ViewData::Answer::Source>> sources;
  LensBySample lenses;
  for (std::size_t b = 0; b < predicted.size(); ++b) {
    sources.emplace_back();
    lenses.emplace_back();
    if (predicted[b].empty() || is_changed(model.options) || architecture.vision) continue;
    const ModelTexts text = model.texts.of_sample(b);
    const ChosenLogit chosen(architecture, folder.weights, text, std::nullopt);
    if (!chosen.labels.empty()) continue;
    const std::vector<std::int64_t>& ids = text.read_by(architecture.stacks.back()).front();
    FrozenChoice choice;
    choice.stack = last_stack_of(architecture);
    std::vector<LogitRow> answers;
    for (std::size_t p = b < generated.size() ? generated[b].prompt : ids.size(); p < ids.size();
         ++p) {
      answers.push_back({choice.positions.size(), static_cast<std::size_t>(ids[p])});
      choice.positions.push_back(p - 1);
    }
    choice.positions.push_back(predicted[b].front());
    const FrozenPass pass = std::move(
        freeze({architecture, folder.weights, text, model.options}, {&choice, 1}, {}).front());
    const std::size_t threads = model.options.threads;
    for (const LogitSplit& split :
         split_logits(architecture, chosen.head, pass, answers, threads)) {
      sources.back().push_back(source_of(split, ids));
    }
    const LogitsHead head = read_head(architecture, folder.weights);
    const std::size_t last = choice.positions.size() - 1;
    const Tensor state = state_of(rows_at(pass.output, pass.positions), last);
    const Tensor logits = head.logits(state, architecture.eps, threads);
    const auto numbers = logits.values<double>();
    const std::vector<double> capped(numbers.begin(), numbers.end());
    std::vector<LogitRow> likeliest;
    for (const std::size_t token : largest_of(capped, most_tokens)) {
      likeliest.push_back({last, token});
    }
    const auto splits = split_logits(architecture, chosen.head, pass, likeliest, threads);
    lenses.back().emplace(lens_of(folder, splits, head, capped), directions_of(splits));
  }
  page.take(std::move(sources), std::move(lenses));
}

}  // namespace attn
