#include <algorithm>
#include <span>

#include "attention/expression.hpp"
#include "attention/matrix.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::span<const double> numbers(const Matrix& matrix, std::size_t row) {
  return {matrix.data() + row * matrix.shape(1), matrix.shape(1)};
}

// The keys of the query's head, [Lk,d_k].
Matrix keys_of(const ExplainedQuery& query) {
  Matrix keys = xt::empty<double>({query.keys(), query.key(0).size()});
  for (std::size_t j = 0; j < query.keys(); ++j) {
    const auto key = query.key(j);
    std::copy(key.begin(), key.end(), keys.data() + j * key.size());
  }
  return keys;
}

// "t[0] + t[1] + … + t[9]" of the text of one term.
template <class Term>
std::string series(std::size_t count, const Term& term) {
  std::string text = term("0");
  if (count > 1) text += " + " + term("1");
  if (count > 3) text += " + …";
  if (count > 2) text += " + " + term(std::to_string(count - 1));
  return text;
}

std::string indexed(const std::string& name, std::size_t index) {
  return name + "[" + std::to_string(index) + "]";
}

/// The scores of one query, before the scale, as steps.
class ScoreSteps {
 public:
  ScoreSteps(const ExplainedQuery& query, Explanation& explanation)
      : query_(query), to_(explanation) {}

  // The steps of each score. They give the unscaled score of every key.
  Vector operator()(const GivenScores&) {
    to_.step(translated("The given scores"));
    const auto scores = query_.given_scores();
    to_.paragraph(translated_count(query_.keys(),
                                   "The document gives the score of {2} with each of the {1} key.",
                                   "The document gives the score of {2} with each of the {1} keys.",
                                   query_.query_names().in_prose(query_.choice().query)));
    to_.put(
        Explanation::Table{{query_.key_column(), query_.key_numbers(translated("score"), scores)},
                           query_.shown_keys(),
                           keys_left_out});
    return vector(scores);
  }
  Vector operator()(const DotProduct&) { return dot_products(); }
  Vector operator()(const ScaledDotProduct&) { return dot_products(); }

  Vector operator()(const General& score) {
    to_.step(translated("The query through the matrix W"));
    const Matrix W = matrix(score.W);
    const std::size_t rows = W.shape(0), columns = W.shape(1);
    show_query(translated("The query, d_q = {1} wide:", rows));
    to_.formula(
        "u = qᵀW: u[c] = " +
            series(rows, [](const std::string& r) { return "q[" + r + "]·W[" + r + ",c]"; }),
        "u = q^\\top W, \\qquad u_c = \\sum_{r=0}^{" + std::to_string(rows - 1) +
            "} q_r\\,W_{r,c}");
    const Matrix columns_of_W = xt::transpose(W);
    const Vector u = xt::sum(columns_of_W * vector(query_.query()), {1});
    Explanation::Sums sums{{}, to_.components(columns), {}};
    for (const std::size_t c : sums.rows.indices())
      sums.sums.push_back(
          product_sum(indexed("u", c), query_.query(), numbers(columns_of_W, c), u(c)));
    to_.put(std::move(sums));
    to_.step(translated("Dot products of u and the keys"));
    return times_keys(u, "u");
  }

  Vector operator()(const Additive& score) {
    const Matrix W_q = matrix(score.W_q), W_k = matrix(score.W_k), w_v = matrix(score.w_v);
    const std::size_t hidden = W_k.shape(0);
    // 1. The query.
    to_.step(translated("The query in the hidden space"));
    show_query(translated("The query, d_q = {1} wide:", query_.geometry().query_width));
    to_.formula(translated("a = W_q q, h = {1} numbers: a[u] = Σ W_q[u,c]·q[c]", hidden),
                "a = W_q\\,q, \\qquad a_u = \\sum_c W_{q,u,c}\\,q_c");
    const Vector a = xt::sum(W_q * vector(query_.query()), {1});
    Explanation::Sums sums{{}, to_.components(hidden), {}};
    for (const std::size_t u : sums.rows.indices())
      sums.sums.push_back(product_sum(indexed("a", u), numbers(W_q, u), query_.query(), a(u)));
    to_.put(std::move(sums));
    // 2. The keys.
    to_.step(translated("The keys in the hidden space"));
    to_.formula(translated("b = W_k k for each key: b[u] = Σ W_k[u,c]·k[c]"),
                "b_j = W_k\\,k_j, \\qquad b_{j,u} = \\sum_c W_{k,u,c}\\,k_{j,c}");
    const Matrix b = times_transposed(keys_of(query_), W_k);
    put_of_keys("b", b);
    // 3. Together.
    to_.step(translated("tanh of their sum"));
    to_.formula("t = tanh(a + b)", "t_j = \\tanh(a + b_j)");
    const Matrix t = xt::tanh(a + b);
    put_of_keys("t", t);
    to_.step(translated("The scores"));
    to_.formula(
        translated("score = w_v·t = ") +
            series(hidden, [](const std::string& u) { return "w_v[" + u + "]·t[" + u + "]"; }),
        "s_j = w_v \\cdot t_j = \\sum_{u=0}^{" + std::to_string(hidden - 1) +
            "} w_{v,u}\\,t_{j,u}");
    return of_keys(w_v, t);
  }

 private:
  void show_query(const std::string& what) {
    const auto q = query_.query();
    to_.paragraph(what);
    to_.put(Explanation::Vectors{{{"q", {q.begin(), q.end()}}}, Excerpt::all(1), {}});
    const Geometry& geometry = query_.geometry();
    if (geometry.kv_heads < geometry.heads) {
      to_.paragraph(translated_count(
          geometry.kv_heads,
          "Query head {2} reads key and value head {3}: {4} query heads share {1} key head.",
          "Query head {2} reads key and value head {3}: {4} query heads share {1} key heads.",
          query_.choice().head, query_.choice().head / (geometry.heads / geometry.kv_heads),
          geometry.heads));
    }
    if (geometry.past > 0) {
      to_.paragraph(geometry.past == 1
                        ? translated("Key 0 comes from the cache, past_key and past_value.")
                        : translated("Keys 0 to {1} come from the cache, past_key and past_value.",
                                     geometry.past - 1));
    }
  }

  // u·k[j] for every key, term by term.
  Vector times_keys(const Vector& u, const std::string& name) {
    const std::string last = std::to_string(u.size() - 1);
    to_.formula(name + "·k = " +
                    series(u.size(),
                           [&](const std::string& c) { return name + "[" + c + "]·k[" + c + "]"; }),
                name + " \\cdot k_j = \\sum_{c=0}^{" + last + "} " + name + "_c\\,k_{j,c}");
    return of_keys(xt::view(u, xt::newaxis(), xt::all()), keys_of(query_));
  }

  // The products of weights [1,n] with what each key has, [Lk,n].
  Vector of_keys(const Matrix& weights, const Matrix& of_key) {
    Vector scores = xt::sum(weights * of_key, {1});
    for (double& score : scores) score = query_.in_step(score);
    Explanation::Sums sums{{}, query_.shown_keys(), keys_left_out};
    for (const std::size_t j : query_.shown_keys().indices())
      sums.sums.push_back(product_sum(query_.key_names().in_table(j), numbers(weights, 0),
                                      numbers(of_key, j), scores(j)));
    to_.put(std::move(sums));
    return scores;
  }

  Vector dot_products() {
    to_.step(translated("Dot products of the query and the keys"));
    show_query(translated("The query, d_k = {1} wide:", query_.geometry().query_width));
    return times_keys(vector(query_.query()), "q");
  }

  void put_of_keys(const std::string& name, const Matrix& vectors) {
    Explanation::Vectors block{{}, query_.shown_keys(), keys_left_out};
    for (const std::size_t j : query_.shown_keys().indices())
      block.vectors.push_back(
          named_vector(query_.key_names().in_table(name, j), numbers(vectors, j)));
    to_.put(std::move(block));
  }

  const ExplainedQuery& query_;
  Explanation& to_;
};

void explain_scale(const ExplainedQuery& query, const Vector& unscaled, Explanation& to) {
  const AttentionRequest& request = query.request();
  const bool by_width = info(kind_of(request.score)).scales_by_width;
  const double scale = scale_of(request, query.geometry());
  std::vector<double> scaled = query.row(query.result().scores);
  for (std::size_t j = 0; request.score_expression && j < scaled.size(); ++j)
    scaled[j] = query.in_step(unscaled(j) * scale);
  if (!by_width && scale == 1) return;
  const std::string width = std::to_string(query.geometry().query_width);
  const std::string shown = shown_number(scale);
  to.step(translated("Scale"));
  if (request.scale) {
    to.paragraph(translated("The scale is given: {1}.", shown) +
                 (by_width
                      ? translated(" Without it, it would be 1/√d_k = 1/√{1} = {2}.", width,
                                   shown_number(default_scale(request.score, query.geometry())))
                      : translated(" Without it, it would be 1.")));
    to.formula(translated("score = scale · product = {1} · product", shown),
               "s_j = " + shown + " \\cdot s_j'");
  } else {
    to.paragraph(
        translated("The more products are summed, the more the sum varies; dividing by √d_k (d_k = "
                   "{1}, the query's width) keeps scores comparable across widths.",
                   width));
    to.formula(translated("scale = 1/√d_k = 1/√{1} = {2}, score = scale · q·k", width, shown),
               "s_j = \\frac{q \\cdot k_j}{\\sqrt{d_k}} = \\frac{q \\cdot k_j}{\\sqrt{" + width +
                   "}} = " + shown + " \\cdot q \\cdot k_j");
  }
  to.put(Explanation::Table{
      {query.key_column(),
       query.key_numbers(translated("product"), {unscaled.data(), unscaled.size()}),
       query.key_numbers(translated("score"), scaled)},
      query.shown_keys(),
      keys_left_out});
}

// The expression of the score, and the same with the numbers of each shown key.
void explain_own_score(const ExplainedQuery& query, const Vector& unscaled, Explanation& to) {
  const AttentionRequest& request = query.request();
  if (!request.score_expression) return;
  to.step(translated("The score by expression"));
  const double scale = scale_of(request, query.geometry());
  const ExpressionTree tree(request.score_expression, ExpressionUse::score, "/score",
                            query.geometry());
  to.formula("score = " + tree.text(), "\\text{" + tree.text() + "}");
  for (const std::size_t j : query.shown_keys().indices()) {
    ExpressionCell cell = query.cell(j);
    cell.given = query.in_step(unscaled(j) * scale);
    to.item(query.key_names().in_prose(j) + ": " + tree.with_numbers(cell) + " = " +
            shown_number(query.row(query.result().scores)[j]));
  }
}

}  // namespace

void explain_scores(const ExplainedQuery& query, Explanation& explanation) {
  const Vector unscaled = std::visit(ScoreSteps(query, explanation), query.request().score);
  explain_scale(query, unscaled, explanation);
  explain_own_score(query, unscaled, explanation);
}

void explain_softcap(const ExplainedQuery& query, Explanation& explanation) {
  if (!query.request().softcap) return;
  const std::string c = shown_number(*query.request().softcap);
  const bool biased = query.capped_last() && query.request().mask.bias;
  explanation.step(translated("Softcap"));
  explanation.paragraph(translated("No score leaves the range from -{1} to {1}.", c));
  explanation.formula(biased ? translated("capped = {1}·tanh((score + bias) / {1})", c)
                             : translated("capped = {1}·tanh(score / {1})", c),
                      "s_j \\leftarrow " + c + "\\,\\tanh\\left(\\frac{s_j" +
                          (biased ? " + b_j" : "") + "}{" + c + "}\\right)");
  Explanation::Table table{
      {query.key_column(),
       query.key_numbers(translated("score"), query.capped_last()
                                                  ? query.scores_by_distance()
                                                  : query.row(query.result().scores))},
      query.shown_keys(),
      keys_left_out};
  if (biased) table.columns.push_back(query.key_numbers(translated("bias"), query.bias()));
  table.columns.push_back(
      query.key_numbers(translated("capped"), query.row(query.result().capped)));
  explanation.put(std::move(table));
}

}  // namespace attn
