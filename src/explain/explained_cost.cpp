#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "explain/explained_steps.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Size = NamedSize;

/// Rows "what: B·H·Lq = 2·4·5 = 40".
class CostTable {
 public:
  explicit CostTable(std::string unit) : unit_(std::move(unit)) {}

  void add(const std::string& what, std::span<const Size> factors) {
    std::string formula, put_in;
    std::size_t product = 1;
    for (const Size& factor : factors) {
      formula += (formula.empty() ? "" : "·") + factor.letter;
      put_in += (put_in.empty() ? "" : "·") + std::to_string(factor.value);
      product *= factor.value;
    }
    what_.push_back(what);
    formula_.push_back(formula);
    put_in_.push_back(put_in);
    count_.push_back(std::to_string(product));
    sum_ += product;
  }

  bool empty() const { return what_.empty(); }

  Explanation::Table finish() && {
    const Excerpt rows = Excerpt::all(what_.size());
    std::string total = what_.size() > 1 ? std::to_string(sum_) : "";
    return {{{"", std::move(what_), false, total.empty() ? "" : translated("total")},
             {translated("formula"), std::move(formula_), false, ""},
             {translated("with the sizes"), std::move(put_in_), false, ""},
             {unit_, std::move(count_), true, total}},
            rows,
            {}};
  }

 private:
  std::string unit_;
  std::vector<std::string> what_, formula_, put_in_, count_;
  std::size_t sum_ = 0;
};

/// The cost of one attention after projections, and of the projections around it.
class Cost {
 public:
  Cost(Kind kind, const Geometry& geometry, std::size_t element_size, Explanation& explanation)
      : B_{"B", geometry.batch},
        H_{"H", geometry.heads},
        G_{geometry.kv_heads == geometry.heads ? "H" : "G", geometry.kv_heads},
        Lq_{"Lq", geometry.queries},
        Lk_{"Lk", geometry.keys},
        dq_{"d_q", geometry.query_width},
        dk_{"d_k", geometry.key_width},
        dv_{"d_v", geometry.value_width},
        h_{"h", geometry.hidden},
        s_{"s", element_size},
        to_(explanation) {
    for (const ProductInfo& product : info(kind).products) {
      products_.push_back({std::string(product.what), sizes_of(product, geometry)});
      for (Size& size : products_.back().second) {
        own_query_width_ = own_query_width_ || size.letter == dq_.letter;
        if (size.letter == "G") size = G_;
      }
    }
  }

  void state_sizes() const {
    std::string text;
    const auto add = [&](const Size& size, const std::string& what) {
      if (!text.empty()) text += translated(", ");
      text += size.letter + "\u00a0=\u00a0" + what;
    };
    add(B_, translated_count(B_.value, "{1} sample", "{1} samples"));
    add(H_, translated_count(H_.value, "{1} head", "{1} heads"));
    add(Lq_, translated_count(Lq_.value, "{1} query", "{1} queries"));
    add(Lk_, translated_count(Lk_.value, "{1} key", "{1} keys"));
    if (G_.letter == "G") add(G_, translated_count(G_.value, "{1} key head", "{1} key heads"));
    if (own_query_width_)
      add(dq_, translated_count(dq_.value, "{1} number per query", "{1} numbers per query"));
    if (dk_.value > 0)
      add(dk_, translated_count(dk_.value, "{1} number per key", "{1} numbers per key"));
    if (dv_.value > 0)
      add(dv_, translated_count(dv_.value, "{1} number per value", "{1} numbers per value"));
    add(s_, translated_count(s_.value, "{1} byte per number", "{1} bytes per number"));
    to_.paragraph(text +
                  translated(". All samples, heads and queries are counted, and hidden keys too."));
  }

  void scores(CostTable& table) const {
    for (const auto& [what, sizes] : products_) table.add(what, sizes);
    if (dv_.value > 0) table.add(translated("weights·v"), std::vector{B_, H_, Lq_, Lk_, dv_});
  }

  void projections(const Projections& p, CostTable& table) const {
    const auto wide = [](const char* letter, const Linear& linear, std::size_t axis) {
      return Size{letter, linear.weight.shape()[axis]};
    };
    table.add("x W_qᵀ", std::vector{B_, Lq_, wide("E", p.query, 1), H_, dk_});
    table.add("x W_kᵀ", std::vector{B_, Lk_, wide("E", p.key, 1), G_, dk_});
    table.add("x W_vᵀ", std::vector{B_, Lk_, wide("E", p.value, 1), G_, dv_});
    if (p.output.weight)
      table.add(translated("joined W_oᵀ"), std::vector{B_, Lq_, H_, dv_, wide("E", p.output, 0)});
  }

  void feed_forward(const TransformerLayer& layer, CostTable& table) const {
    const Size E{"E", layer.linear1.weight.shape()[1]}, F{"F", layer.linear1.weight.shape()[0]};
    table.add("x W1ᵀ", std::vector{B_, Lq_, E, F});
    if (layer.linear3.weight) table.add("x W3ᵀ", std::vector{B_, Lq_, E, F});
    table.add("a W2ᵀ", std::vector{B_, Lq_, F, E});
  }

  void bytes(CostTable& table) const {
    if (dk_.value > 0) {
      table.add(translated("queries"), std::vector{B_, H_, Lq_, own_query_width_ ? dq_ : dk_, s_});
      table.add(translated("keys"), std::vector{B_, G_, Lk_, dk_, s_});
    }
    if (dv_.value > 0) table.add(translated("values"), std::vector{B_, G_, Lk_, dv_, s_});
    table.add(translated("weights"), std::vector{B_, H_, Lq_, Lk_, s_});
    if (dv_.value > 0) table.add(translated("output"), std::vector{B_, H_, Lq_, dv_, s_});
  }

  // Growth with the lengths.
  void growth(bool two_sequences) const {
    const bool same = !two_sequences && Lq_.value == Lk_.value;
    std::string letters = Lq_.letter + "·" + Lk_.letter;
    std::string put_in = std::to_string(Lq_.value) + "·" + std::to_string(Lk_.value);
    std::size_t product = Lq_.value * Lk_.value * H_.value;
    if (H_.value > 1) {
      letters = "H·" + letters;
      put_in = std::to_string(H_.value) + "·" + put_in;
    }
    bool of_head = false;
    if (!products_.empty()) {
      const Size& each = products_.back().second.back();
      of_head = each.letter == dk_.letter;
      letters += "·" + each.letter;
      put_in += "·" + std::to_string(each.value);
      product *= each.value;
    }
    std::string text = translated(
        "The scores of one sample grow as O({1}), here {2} = {3}: ", letters, put_in, product);
    text += same ? translated(
                       "twice the length costs four times as much, in time and in the "
                       "memory of the weights.")
                 : translated(
                       "twice the queries or twice the keys cost twice as much, in time "
                       "and in the memory of the weights.");
    if (H_.value > 1 && of_head) {
      text += translated(
          " H·d_k = {1} is the whole width: more and narrower heads need no more multiply-adds.",
          H_.value * dk_.value);
    }
    to_.paragraph(text);
  }

 private:
  Size B_, H_, G_, Lq_, Lk_, dq_, dk_, dv_, h_, s_;
  std::vector<std::pair<std::string, std::vector<Size>>> products_;  // of the scores
  bool own_query_width_ = false;  // whether queries may be of another width than keys
  Explanation& to_;
};

}  // namespace

void explain_cost(const Plan& plan, DType dtype, Explanation& to) {
  const std::size_t element = size_of(dtype);
  const auto explain = [&](const PlannedAttention& attention, const Projections* projections,
                           bool two_sequences) {
    const Cost cost(plan.kind, attention.geometry, element, to);
    cost.state_sizes();
    CostTable products(translated("multiply-adds")), bytes(translated("bytes"));
    if (projections) cost.projections(*projections, products);
    cost.scores(products);
    cost.bytes(bytes);
    if (!products.empty()) to.put(std::move(products).finish());
    to.put(std::move(bytes).finish());
    cost.growth(two_sequences);
  };
  const PlannedAttention& first = plan.attentions[0];
  std::visit(
      Overloaded{[&](const AttentionRequest&) {
                   to.step(translated("Cost"));
                   explain(first, nullptr, false);
                 },
                 [&](const ProjectedAttentionRequest& request) {
                   to.step(translated("Cost"));
                   explain(first, &request.projections, static_cast<bool>(request.states.key));
                 },
                 [&](const TransformerRequest& request) {
                   const TransformerLayer& layer = request.layers[0];
                   const bool several = request.layers.size() > 1;
                   to.part(translated("Cost"));
                   to.step(several ? translated("Cost of a layer's self-attention")
                                   : translated("Cost of the self-attention"));
                   explain(first, &layer.self_attn, false);
                   if (request.decoder) {
                     to.step(several ? translated("Cost of a layer's cross-attention")
                                     : translated("Cost of the cross-attention"));
                     explain(plan.attentions[1], &layer.multihead_attn, true);
                   }
                   to.step(several ? translated("Cost of a layer's feed-forward network")
                                   : translated("Cost of the feed-forward network"));
                   CostTable products(translated("multiply-adds"));
                   Cost(plan.kind, first.geometry, element, to).feed_forward(layer, products);
                   to.put(std::move(products).finish());
                   to.paragraph(translated(
                       "It grows with the length alone, not with its square: O(Lq·E·F)."));
                 },
                 [](const ModelRequest&) {}},
      plan.computation);
}

}  // namespace attn
