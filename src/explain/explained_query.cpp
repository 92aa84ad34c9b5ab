#include "explain/explained_query.hpp"

#include <algorithm>
#include <utility>

#include "attn/error.hpp"

#include "maps/map_selection.hpp"
#include "support/errors.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {

const ChoiceTexts of_samples{
    "ExplainOptions::sample",
    to_translate("there is no sample {2}: the attention has only one sample"),
    to_translate("there is no sample {2}: the attention has {1} samples")};
const ChoiceTexts of_heads{"ExplainOptions::head",
                           to_translate("there is no head {2}: the attention has only one head"),
                           to_translate("there is no head {2}: the attention has {1} heads")};
const ChoiceTexts of_queries{
    "ExplainOptions::query",
    to_translate("there is no query {2}: the attention has only one query"),
    to_translate("there is no query {2}: the attention has {1} queries")};
const ChoiceTexts of_layers{"ExplainOptions::layer",
                            to_translate("there is no layer {2}: the attention has only one layer"),
                            to_translate("there is no layer {2}: the attention has {1} layers")};

void check_choice(const ChoiceTexts& texts, std::size_t index, std::size_t count) {
  if (index < count) return;
  throw input_error(translated(count == 1 ? texts.one : texts.many, count, index), texts.field,
                    count == 1 ? translated("leave it out, or give 0") : give_below(count));
}

void check_digits(int digits) {
  if (digits >= fewest_decimals && digits <= most_decimals_shown) return;
  throw input_error(translated("numbers cannot be shown with {1} decimals", digits),
                    "ExplainOptions::digits",
                    translated("give {1} to {2}", fewest_decimals, most_decimals_shown));
}

std::size_t query_of(const ExplainOptions& options, const std::vector<std::string>& labels,
                     std::size_t count) {
  if (!options.query_token) return options.query;
  if (names_range(*options.query_token) && std::ranges::count(labels, *options.query_token) == 0) {
    throw input_error(translated("\"{1}\" is a range, not one query", *options.query_token),
                      "ExplainOptions::query", translated("give one query, or all"));
  }
  MapSelection token;
  token.query = options.query_token;
  return selected_queries(token, count, labels).first;
}

namespace {

constexpr std::size_t widest_label = 14;

std::vector<double> numbers_of(const Tensor& tensor, std::size_t first, std::size_t count) {
  const Tensor part = part_of(tensor, first, {count}).converted(DType::float64);
  const auto numbers = part.values<double>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

PositionNames::PositionNames(std::vector<std::string> labels, std::size_t count,
                             const char* numbered)
    : labels_(std::move(labels)), count_(count), numbered_(numbered) {}

std::string PositionNames::in_table(std::size_t position) const {
  if (!labels_.empty()) return position_name(labels_, position, numbered_, widest_label);
  return translated(numbered_,
                    padded_left(std::to_string(position), std::to_string(count_ - 1).size()));
}

std::string PositionNames::in_table(const std::string& vector, std::size_t position) const {
  const std::size_t digits = std::to_string(count_ - 1).size();
  std::string number =
      padded_right(vector + "[" + std::to_string(position) + "]", vector.size() + digits + 2);
  if (labels_.empty()) return number;
  return number + " " + shortened(one_line(labels_[position]), widest_label);
}

std::string PositionNames::in_prose(std::size_t position) const {
  return position_name(labels_, position, numbered_);
}

namespace {

Sequences prepared_by(const HeadPreparation& preparation, const AttentionRequest& request) {
  const Sequences* const given = sequences_of(request.score);
  if (given == nullptr) return {};
  Sequences compared = preparation ? preparation.prepared(*given, DType::float64) : *given;
  for (Tensor* tensor : {&compared.query, &compared.key}) {
    if (is_half(request.dtype)) *tensor = tensor->converted(request.dtype);
  }
  return compared;
}

}  // namespace

ExplainedQuery::ExplainedQuery(const AttentionRequest& request, const AttentionResult& result,
                               const PlannedAttention& attention, QueryChoice choice)
    : request_(request),
      result_(result),
      choice_(choice),
      attention_(attention),
      preparation_(request, attention.geometry, QueryPlaces(attention.mask, attention.geometry)),
      compared_(prepared_by(preparation_, request)),
      visibility_(attention.mask, attention.geometry, compared_),
      position_bias_(request, attention.geometry),
      query_names_(Labels::of_sample(attention.labels.query, choice.sample),
                   attention.geometry.queries, to_translate("query {1}")),
      key_names_(Labels::of_sample(attention.labels.key, choice.sample), keys(),
                 to_translate("key {1}")),
      shown_keys_(choice.full ? Excerpt::all(keys())
                              : Excerpt(keys(), most_keys, first_keys, last_keys)) {
  using Rows = HeadRows<double>;
  std::visit(Overloaded{[&](const GivenScores& given) {
                          scores_ = Rows(given.scores, 1);
                          if (given.value) value_ = Rows(given.value, geometry().kv_heads);
                        },
                        [&](const Sequences& of) {
                          given_query_ = Rows(of.query, geometry().heads);
                          given_key_ = Rows(of.key_or_query(), geometry().kv_heads, of.past_key);
                          query_ = Rows(compared_.query, geometry().heads);
                          key_ = Rows(compared_.key_or_query(), geometry().kv_heads, of.past_key);
                          AttentionOptions first = request;
                          if (request.norms_after_rotary) {
                            first.query_norm.reset();
                            first.key_norm.reset();
                          } else {
                            first.rotary.reset();
                          }
                          const HeadPreparation only(first, geometry(), visibility_.places());
                          normed_query_ =
                              Rows(only ? only.prepared(of, DType::float64).query : of.query,
                                   geometry().heads);
                          value_ = Rows(of.value_or_key(), geometry().kv_heads, of.past_value);
                        }},
             request.score);

  std::vector<double> weights = row(result.weights);
  // NaN has no place in an order; all of a row are NaN or hidden then.
  std::ranges::replace_if(
      weights, [](double weight) { return std::isnan(weight); }, 1.0);
  for (const std::size_t key : largest_of(weights, heaviest_keys)) shown_keys_.include(key);
}

std::span<const double> ExplainedQuery::query() const {
  return query_(choice_.sample, choice_.head, choice_.query);
}

std::span<const double> ExplainedQuery::key(std::size_t j) const {
  const std::size_t head = choice_.head / (geometry().heads / geometry().kv_heads);
  return key_(choice_.sample, head, j);
}

std::span<const double> ExplainedQuery::given_query() const {
  return given_query_(choice_.sample, choice_.head, choice_.query);
}

std::vector<double> ExplainedQuery::normed_query() const {
  const auto row = normed_query_(choice_.sample, choice_.head, choice_.query);
  return {row.begin(), row.end()};
}

std::span<const double> ExplainedQuery::given_key(std::size_t j) const {
  const std::size_t head = choice_.head / (geometry().heads / geometry().kv_heads);
  return given_key_(choice_.sample, head, j);
}

std::span<const double> ExplainedQuery::value(std::size_t j) const {
  const std::size_t head = choice_.head / (geometry().heads / geometry().kv_heads);
  return value_(choice_.sample, head, j);
}

std::span<const double> ExplainedQuery::given_scores() const {
  return scores_(choice_.sample, choice_.head, choice_.query);
}

double ExplainedQuery::in_step(double number) const {
  const DType dtype = step_dtype(request_);
  return is_half(dtype) ? nearest_half(static_cast<float>(number), dtype) : number;
}

std::vector<double> ExplainedQuery::row(const Tensor& tensor) const {
  std::vector<double> row = exact_row(tensor);
  for (double& number : row) number = in_results(number);
  return row;
}

std::vector<double> ExplainedQuery::exact_row(const Tensor& tensor) const {
  const std::size_t at =
      (choice_.sample * geometry().heads + choice_.head) * geometry().queries + choice_.query;
  return numbers_of(tensor, at * geometry().keys, geometry().keys);
}

std::vector<double> ExplainedQuery::scores_before_biases() const {
  return row(request_.softcap_after_bias ? result_.scores : result_.capped);
}

std::vector<double> ExplainedQuery::scores_by_distance() const {
  std::vector<double> scores =
      exact_row(request_.softcap_after_bias ? result_.scores : result_.capped);
  const auto place =
      static_cast<std::ptrdiff_t>(choice_.query) + visibility_.offset(choice_.sample);
  for (std::size_t j = 0; position_bias_ && j < scores.size(); ++j)
    scores[j] +=
        position_bias_.term(choice_.sample, choice_.head, static_cast<std::ptrdiff_t>(j) - place);
  for (double& score : scores) score = in_results(score);
  return scores;
}

std::vector<double> ExplainedQuery::bias() const {
  std::vector<double> bias;
  bias.reserve(keys());
  for (std::size_t j = 0; j < keys(); ++j)
    bias.push_back(visibility_.bias(choice_.sample, choice_.head, choice_.query, j));
  return bias;
}

double ExplainedQuery::lse() const {
  const std::size_t at =
      (choice_.sample * geometry().heads + choice_.head) * geometry().queries + choice_.query;
  return in_results(numbers_of(result_.lse, at, 1)[0]);
}

std::size_t ExplainedQuery::output_at() const {
  const std::size_t row =
      geometry().joined
          ? (choice_.sample * geometry().queries + choice_.query) * geometry().heads + choice_.head
          : (choice_.sample * geometry().heads + choice_.head) * geometry().queries + choice_.query;
  return row * geometry().value_width;
}

std::vector<double> ExplainedQuery::output() const {
  std::vector<double> output = numbers_of(result_.output, output_at(), geometry().value_width);
  for (double& number : output) number = in_results(number);
  return output;
}

ExpressionCell ExplainedQuery::cell(std::size_t j) const {
  ExpressionCell cell{.b = choice_.sample,
                      .h = choice_.head,
                      .i = choice_.query,
                      .j = j,
                      .offset = visibility_.offset(choice_.sample)};
  if (geometry().compares_rows()) {
    cell.query = query();
    cell.key = key(j);
  }
  return cell;
}

std::vector<double> ExplainedQuery::gate() const {
  if (!request().gate) return {};
  const Tensor gate = request().gate.converted(DType::float64);
  const auto own = gate.values<double>().subspan(output_at(), geometry().value_width);
  return {own.begin(), own.end()};
}

bool ExplainedQuery::seen(std::size_t j) const {
  return visibility_.hidden_by(choice_.sample, choice_.head, choice_.query, j).empty();
}

Explanation::Column ExplainedQuery::key_column() const {
  Explanation::Column column{translated("key"), {}, false, {}};
  for (const std::size_t j : shown_keys_.indices()) column.cells.push_back(key_names_.in_table(j));
  return column;
}

Explanation::Column ExplainedQuery::key_numbers(std::string header,
                                                std::span<const double> row) const {
  std::vector<double> numbers;
  for (const std::size_t j : shown_keys_.indices()) numbers.push_back(row[j]);
  return number_column(std::move(header), numbers);
}

}  // namespace attn
