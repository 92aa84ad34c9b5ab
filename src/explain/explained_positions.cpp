#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "support/translated.hpp"
#include "tokens/embedding.hpp"

namespace attn {
namespace {

const Tensor* found(const Plan& plan, std::string_view name) {
  const auto at = std::find_if(plan.tokens.begin(), plan.tokens.end(),
                               [&](const NamedTensor& tensor) { return tensor.name == name; });
  return at == plan.tokens.end() ? nullptr : &at->tensor;
}

/// The embedding of one sequence: [B,L] ids and [B,L,E] states, or [L] and [L,E].
class EmbeddedSample {
 public:
  EmbeddedSample(const Tensor& ids, const Tensor& states, std::size_t sample)
      : ids_(ids),
        states_(states.converted(DType::float64)),
        length_(ids.shape().back()),
        first_(ids.rank() == 2 ? (ids.shape()[0] == 1 ? 0 : sample) * length_ : 0) {}

  std::size_t length() const { return length_; }
  std::size_t width() const { return states_.shape().back(); }
  std::int64_t id(std::size_t i) const { return ids_.values<std::int64_t>()[first_ + i]; }
  std::span<const double> state(std::size_t i) const {
    return states_.values<double>().subspan((first_ + i) * width(), width());
  }

 private:
  const Tensor& ids_;
  Tensor states_;
  std::size_t length_, first_;
};

void show_query(const Plan& plan, const EmbeddedSample& embedding, QueryChoice choice,
                const PositionNames& names, Explanation& to) {
  const auto x = embedding.state(choice.query);
  to.paragraph(translated("{1} is the token {2} of the vocabulary. Its row of the table:",
                          names.in_prose(choice.query), embedding.id(choice.query)));
  if (!plan.positions_added) {
    show_vectors({named_vector("x", x)}, to);
    to.paragraph(translated("No position is added to it."));
    return;
  }
  const Tensor all = sinusoidal_positions(embedding.length(), embedding.width(), DType::float64);
  const auto place =
      all.values<double>().subspan(choice.query * embedding.width(), embedding.width());
  // The sum is rounded, so that taking the position from it leaves another row.
  const EmbeddedSample rows(*found(plan, "token_ids"), plan.token_rows, choice.sample);
  const auto row = rows.state(choice.query);
  show_vectors({named_vector(translated("row"), row)}, to);
  to.paragraph(
      translated("The encoding of its position, p = {1}, is added: E = {2} numbers (Vaswani et al. "
                 "2017, section 3.5):",
                 choice.query, embedding.width()));
  to.formula("PE[p,2i] = sin(p / 10000^(2i/E)), PE[p,2i+1] = cos(p / 10000^(2i/E))",
             "PE_{p,2i} = \\sin\\left(p / 10000^{2i/E}\\right), \\qquad PE_{p,2i+1} = "
             "\\cos\\left(p / 10000^{2i/E}\\right)");
  show_vectors(
      {named_vector(translated("row"), row), named_vector("PE", place), named_vector("x", x)}, to);
}

void show_others(const EmbeddedSample& embedding, const PositionNames& names, Explanation& to) {
  Explanation::Vectors states{{}, to.excerpt(embedding.length(), 16, 8, 4), keys_left_out};
  for (const std::size_t j : states.rows.indices())
    states.vectors.push_back(named_vector(names.in_table("x", j), embedding.state(j)));
  to.put(std::move(states));
}

}  // namespace

void explain_embedding(const Plan& plan, QueryChoice choice, Explanation& to) {
  const Tensor *ids = found(plan, "token_ids"), *memory_ids = found(plan, "memory_token_ids");
  if (plan.model || (!ids && !memory_ids)) return;
  if (std::holds_alternative<TransformerRequest>(plan.computation))
    to.part(translated("Embedding"));
  to.step(translated("Tokens become hidden states"));
  const PlannedAttention& first = plan.attentions[0];
  const PlannedAttention& last = plan.attentions.back();
  if (ids) {
    const EmbeddedSample embedding(*ids, *found(plan, "embedded"), choice.sample);
    const PositionNames names(Labels::of_sample(first.labels.query, choice.sample),
                              first.geometry.queries, to_translate("query {1}"));
    show_query(plan, embedding, choice, names, to);
    if (embedding.length() > 1 && !memory_ids) {
      to.paragraph(translated("The other tokens likewise:"));
      show_others(embedding, names, to);
    }
  }
  if (memory_ids) {
    const EmbeddedSample memory(*memory_ids, *found(plan, "memory_embedded"), choice.sample);
    to.paragraph(plan.positions_added
                     ? translated("The tokens that keys and values are made of, rows of the table "
                                  "with their places added:")
                     : translated("The tokens that keys and values are made of, rows of the "
                                  "table:"));
    show_others(memory,
                {Labels::of_sample(last.labels.key, choice.sample), last.geometry.keys,
                 to_translate("key {1}")},
                to);
  }
}

namespace {

using Numbers = std::vector<double>;

void explain_norm(const Norm& norm, const ExplainedQuery& query, bool of_query, Explanation& to) {
  const bool layer = norm.kind == NormKind::layer;
  to.step(of_query ? translated("The norm of the query") : translated("The norm of the key"));
  std::string text =
      layer ? translated(of_query ? to_translate("Each head's query is divided by its standard "
                                                 "deviation, after its mean was taken away, and "
                                                 "multiplied by the weight, eps being {1}")
                                  : to_translate("Each head's key is divided by its standard "
                                                 "deviation, after its mean was taken away, and "
                                                 "multiplied by the weight, eps being {1}"),
                         shown_number(query.request().eps))
            : translated(of_query ? to_translate("Each head's query is divided by the root of its "
                                                 "mean square and multiplied by the weight, eps "
                                                 "being {1}")
                                  : to_translate("Each head's key is divided by the root of its "
                                                 "mean square and multiplied by the weight, eps "
                                                 "being {1}"),
                         shown_number(query.request().eps));
  to.paragraph(text + (norm.bias ? translated("; then the bias is added.") : translated(".")));
  to.formula((layer ? translated("y = (x - mean) / √(variance + eps) · weight")
                    : translated("y = x / √(mean of x² + eps) · weight")) +
                 (norm.bias ? translated(" + bias") : ""),
             std::string(layer ? "y = \\frac{x - \\mu}{\\sqrt{\\sigma^2 + \\epsilon}}"
                               : "y = \\frac{x}{\\sqrt{\\frac{1}{d} \\sum_c x_c^2 + \\epsilon}}") +
                 " \\odot \\gamma" + (norm.bias ? " + \\beta" : ""));
  const Tensor weight = norm.weight.converted(DType::float64),
               bias = norm.bias.converted(DType::float64);
  std::vector<Explanation::Vectors::Row> rows{
      named_vector(translated("weight"), weight.values<double>())};
  if (bias) rows.push_back(named_vector(translated("bias"), bias.values<double>()));
  show_vectors(std::move(rows), to);
}

// The query before its rotation and after it; its norm comes before or last.
Numbers before_rotation(const ExplainedQuery& query) {
  const auto given = query.given_query();
  return query.request().norms_after_rotary ? Numbers(given.begin(), given.end())
                                            : query.normed_query();
}
Numbers after_rotation(const ExplainedQuery& query) {
  const auto compared = query.query();
  return query.request().norms_after_rotary ? query.normed_query()
                                            : Numbers(compared.begin(), compared.end());
}

// The angle of each pair of the query's columns.
void explain_angles(const ExplainedQuery& query, Explanation& to) {
  const HeadPreparation& preparation = query.preparation();
  const QueryChoice& choice = query.choice();
  const std::int64_t position = preparation.query_positions().at(choice.sample, choice.query);
  const RotaryAngles angles = preparation.angles(choice.sample, {position});
  const bool interleaved = preparation.rotary()->interleaved;
  const Numbers before = before_rotation(query), after = after_rotation(query);
  Explanation::Column pair{translated("columns"), {}, false, {}};
  Numbers turned_by, first, second, first_turned, second_turned, cosines, sines;
  const Excerpt shown = to.excerpt(angles.pairs, 16, 8, 4);
  for (const std::size_t n : shown.indices()) {
    const std::size_t a = interleaved ? 2 * n : n, b = interleaved ? a + 1 : n + angles.pairs;
    pair.cells.push_back(translated("{1} and {2}", a, b));
    if (preparation.frequencies()) {
      turned_by.push_back(static_cast<double>(position) * preparation.frequencies()->per_pair[n]);
    }
    cosines.push_back(angles.cos[n]);
    sines.push_back(angles.sin[n]);
    first.push_back(before[a]);
    second.push_back(before[b]);
    first_turned.push_back(after[a]);
    second_turned.push_back(after[b]);
  }
  Explanation::Table table{{std::move(pair)},
                           shown,
                           {to_translate("… {1} more pair …"), to_translate("… {1} more pairs …")}};
  // More columns do not fit a line: the frequency is the angle by the position.
  if (preparation.frequencies())
    table.columns.push_back(number_column(translated("angle"), turned_by));
  table.columns.push_back(number_column("cos", cosines));
  table.columns.push_back(number_column("sin", sines));
  table.columns.push_back(number_column("a", first));
  table.columns.push_back(number_column("b", second));
  table.columns.push_back(number_column("a'", first_turned));
  table.columns.push_back(number_column("b'", second_turned));
  to.put(std::move(table));
}

void explain_rotary(const ExplainedQuery& query, Explanation& to) {
  const HeadPreparation& preparation = query.preparation();
  const QueryChoice& choice = query.choice();
  to.step(translated("The query and the keys are rotated by their positions"));
  const std::int64_t position = preparation.query_positions().at(choice.sample, choice.query);
  std::string text = translated("The query is at position {1}. ", position);
  if (preparation.frequencies()) {
    text += translated(
        "Each pair of columns (a, b) is rotated by the angle position · frequency, in radians");
    const double amplitude = preparation.frequencies()->amplitude;
    if (amplitude != 1) {
      text += translated("; cosines and sines are multiplied by {1}", shown_number(amplitude));
    }
  } else {
    text += translated("The cosines and sines of its pairs of columns (a, b) are given");
  }
  to.paragraph(text + translated("."));
  to.formula("a' = a·cos - b·sin, b' = b·cos + a·sin",
             "\\begin{pmatrix} a \\\\ b \\end{pmatrix} \\mapsto \\begin{pmatrix} \\cos & -\\sin "
             "\\\\ \\sin & \\cos \\end{pmatrix} \\begin{pmatrix} a \\\\ b \\end{pmatrix}");
  explain_angles(query, to);
  show_vectors({named_vector("q", before_rotation(query)),
                named_vector(translated("q rotated"), after_rotation(query))},
               to);
}

void show_keys(const ExplainedQuery& query, Explanation& to) {
  Explanation::Vectors given{{}, query.shown_keys(), keys_left_out}, compared = given;
  for (const std::size_t j : query.shown_keys().indices()) {
    given.vectors.push_back(named_vector(query.key_names().in_table("k", j), query.given_key(j)));
    compared.vectors.push_back(named_vector(query.key_names().in_table("k", j), query.key(j)));
  }
  to.paragraph(translated("The keys before:"));
  to.put(std::move(given));
  to.paragraph(
      query.geometry().past > 0
          ? translated("The keys as they are compared; those of the cache were so already:")
          : translated("The keys as they are compared:"));
  to.put(std::move(compared));
}

}  // namespace

void explain_preparation(const ExplainedQuery& query, Explanation& to) {
  if (!query.preparation()) return;
  const AttentionRequest& request = query.request();
  const std::size_t head = query.choice().head;
  const std::size_t kv_head = head / (query.geometry().heads / query.geometry().kv_heads);
  const bool after = request.norms_after_rotary;
  if (request.rotary && after) explain_rotary(query, to);
  if (request.query_norm) {
    explain_norm(*norm_of_head(request.query_norm, head), query, true, to);
    const Numbers half = query.normed_query();
    show_vectors({after ? named_vector("q", half) : named_vector("q", query.given_query()),
                  after ? named_vector("y", query.query()) : named_vector("y", half)},
                 to);
  }
  if (request.key_norm) explain_norm(*norm_of_head(request.key_norm, kv_head), query, false, to);
  if (request.rotary && !after) explain_rotary(query, to);
  if (request.rotary || request.key_norm) show_keys(query, to);
}

void explain_position_bias(const ExplainedQuery& query, Explanation& to) {
  const PositionBias& bias = query.position_bias();
  if (!bias) return;
  const QueryChoice& choice = query.choice();
  const std::ptrdiff_t place =
      static_cast<std::ptrdiff_t>(choice.query) + query.visibility().offset(choice.sample);
  const AttentionRequest& request = query.request();
  to.step(translated("What distances add"));
  to.paragraph(
      translated("The query is at position p = {1} among the keys; the distance of key j is j - p.",
                 place));
  if (request.mask.alibi) {
    const double slope = bias.slope(choice.sample, choice.head);
    to.formula(translated("ALiBi adds -slope · |distance|, the slope of head {1} being {2}",
                          choice.head, shown_number(slope)) +
                   (request.mask.alibi->symmetric ? "" : translated("; later keys get nothing")),
               "s_j \\leftarrow s_j - " + shown_number(slope) + "\\,|j - p|");
  }
  if (request.relative_bias) {
    to.paragraph(
        translated("The relative bias adds what the table has for the bucket of the distance, one "
                   "of {1}, and this head.",
                   request.relative_bias->buckets));
  }
  Explanation::Column distances{translated("distance"), {}, true, {}},
      buckets{translated("bucket"), {}, true, {}};
  Numbers alibi, relative, total;
  const auto scores = query.scores_before_biases();
  for (const std::size_t j : query.shown_keys().indices()) {
    const std::int64_t distance = static_cast<std::int64_t>(j) - place;
    distances.cells.push_back(std::to_string(distance));
    alibi.push_back(bias.alibi(choice.sample, choice.head, distance));
    if (request.relative_bias) buckets.cells.push_back(std::to_string(bias.bucket(distance)));
    relative.push_back(bias.relative(choice.head, distance));
    total.push_back(scores[j] + bias.term(choice.sample, choice.head, distance));
  }
  Explanation::Table table{
      {query.key_column(), std::move(distances)}, query.shown_keys(), keys_left_out};
  table.columns.push_back(query.key_numbers(translated("score"), scores));
  if (request.mask.alibi) table.columns.push_back(number_column("ALiBi", alibi));
  if (request.relative_bias) {
    table.columns.push_back(std::move(buckets));
    table.columns.push_back(number_column(translated("bias"), relative));
  }
  table.columns.push_back(number_column(translated("biased"), total));
  to.put(std::move(table));
}

}  // namespace attn
