#include "explain/explained_embedding.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "explain/explained_linear.hpp"
#include "support/translated.hpp"
#include "tokens/embedding.hpp"

namespace attn {
namespace {

using Numbers = std::vector<double>;

const Tensor* found(const Plan& plan, std::string_view name) {
  const auto at = std::find_if(plan.tokens.begin(), plan.tokens.end(),
                               [&](const NamedTensor& tensor) { return tensor.name == name; });
  return at == plan.tokens.end() ? nullptr : &at->tensor;
}

/// The embedding of one sequence: [B,L] ids and [B,L,E] states, or [L] and [L,E].
class Embedding {
 public:
  Embedding(const Tensor& ids, const Tensor& states, std::size_t sample)
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

void show_query(const Plan& plan, const Embedding& embedding, QueryChoice choice,
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
  Numbers row;
  for (std::size_t d = 0; d < x.size(); ++d) row.push_back(x[d] - place[d]);
  show_vectors({named_vector(translated("row"), row)}, to);
  to.paragraph(
      translated("What tells its place, p = {1}, is added, E = {2} numbers (Vaswani et al. 2017, "
                 "section 3.5):",
                 choice.query, embedding.width()));
  to.formula("PE[p,2i] = sin(p / 10000^(2i/E)), PE[p,2i+1] = cos(p / 10000^(2i/E))",
             "PE_{p,2i} = \\sin\\left(p / 10000^{2i/E}\\right), \\qquad PE_{p,2i+1} = "
             "\\cos\\left(p / 10000^{2i/E}\\right)");
  show_vectors(
      {named_vector(translated("row"), row), named_vector("PE", place), named_vector("x", x)}, to);
}

void show_others(const Embedding& embedding, const PositionNames& names, Explanation& to) {
  Explanation::Vectors states{{}, to.excerpt(embedding.length(), 16, 8, 4), keys_left_out};
  for (const std::size_t j : states.rows.indices())
    states.vectors.push_back(named_vector(names.in_table("x", j), embedding.state(j)));
  to.put(std::move(states));
}

}  // namespace

void explain_embedding(const Plan& plan, QueryChoice choice, Explanation& to) {
  const Tensor *ids = found(plan, "token_ids"), *memory_ids = found(plan, "memory_token_ids");
  if (std::holds_alternative<ModelRequest>(plan.computation) || (!ids && !memory_ids)) return;
  if (std::holds_alternative<TransformerRequest>(plan.computation))
    to.part(translated("Embedding"));
  to.step(translated("Tokens become hidden states"));
  const PlannedAttention& first = plan.attentions[0];
  const PlannedAttention& last = plan.attentions.back();
  if (ids) {
    const Embedding embedding(*ids, *found(plan, "embedded"), choice.sample);
    const PositionNames names(Labels::of_sample(first.labels.query, choice.sample),
                              first.geometry.queries, to_translate("query {1}"));
    show_query(plan, embedding, choice, names, to);
    if (embedding.length() > 1 && !memory_ids) {
      to.paragraph(translated("The other tokens likewise:"));
      show_others(embedding, names, to);
    }
  }
  if (memory_ids) {
    const Embedding memory(*memory_ids, *found(plan, "memory_embedded"), choice.sample);
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

}  // namespace attn
