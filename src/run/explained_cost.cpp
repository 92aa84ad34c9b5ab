#include "run/explained_cost.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/projected_attention.hpp"
#include "attention/transformer.hpp"
#include "support/count_text.hpp"

namespace attn {
namespace {

/// A size with the letter that stands for it in formulas.
struct Size {
  std::string letter;
  std::size_t value = 1;
};

/// Rows "what: B·H·Lq = 2·4·5 = 40".
class CostTable {
 public:
  explicit CostTable(const char* unit) : unit_(unit) {}

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
    return {{{"", std::move(what_), false, total.empty() ? "" : "all"},
             {"formula", std::move(formula_), false, ""},
             {"with the sizes", std::move(put_in_), false, ""},
             {unit_, std::move(count_), true, total}},
            rows,
            ""};
  }

 private:
  std::string unit_;
  std::vector<std::string> what_, formula_, put_in_, count_;
  std::size_t sum_ = 0;
};

/// The cost of one attention after projections, and of the projections around it.
class Cost {
 public:
  Cost(const Geometry& geometry, std::size_t element_size, Explanation& explanation)
      : B_{"B", geometry.batch},
        H_{"H", geometry.heads},
        G_{geometry.kv_heads == geometry.heads ? "H" : "G", geometry.kv_heads},
        Lq_{"Lq", geometry.queries},
        Lk_{"Lk", geometry.keys},
        dq_{"d_q", geometry.query_width},
        dk_{"d_k", geometry.key_width},
        dv_{"d_v", geometry.value_width},
        s_{"s", element_size},
        to_(explanation) {}

  void state_sizes() const {
    std::string text = "B = " + count_text(B_.value, "sample") +
                       ", H = " + count_text(H_.value, "head") +
                       ", Lq = " + count_text(Lq_.value, "query", "queries") +
                       ", Lk = " + count_text(Lk_.value, "key");
    if (dk_.value > 0) text += ", d_k = " + std::to_string(dk_.value) + " wide keys";
    if (dv_.value > 0) text += ", d_v = " + std::to_string(dv_.value) + " wide values";
    if (G_.letter == "G") text += ", G = " + count_text(G_.value, "key head");
    text += "; s = " + std::to_string(s_.value) +
            " bytes a number. All samples, heads and queries "
            "are counted, hidden keys too.";
    to_.paragraph(text);
  }

  void scores(const AttentionRequest& request, CostTable& table) const {
    if (request.kind == Kind::additive) {
      const Size h{"h", request.W_k.shape()[0]};
      table.add("W_q q", std::vector{B_, H_, Lq_, dq_, h});
      table.add("W_k k", std::vector{B_, G_, Lk_, dk_, h});
      table.add("w_v·tanh", std::vector{B_, H_, Lq_, Lk_, h});
    } else if (request.kind == Kind::general) {
      table.add("qᵀW", std::vector{B_, H_, Lq_, dq_, dk_});
      table.add("qᵀW·k", std::vector{B_, H_, Lq_, Lk_, dk_});
    } else if (request.kind != Kind::softmax) {
      table.add("q·k", std::vector{B_, H_, Lq_, Lk_, dk_});
    }
    if (dv_.value > 0) table.add("weights·v", std::vector{B_, H_, Lq_, Lk_, dv_});
  }

  void projections(const Projections& p, CostTable& table) const {
    const auto rows = [](const Size& heads, const Size& width) {
      return Size{heads.letter + "·" + width.letter, heads.value * width.value};
    };
    const auto wide = [](const char* letter, const Linear& linear, std::size_t axis) {
      return Size{letter, linear.weight.shape()[axis]};
    };
    table.add("x W_qᵀ", std::vector{B_, Lq_, wide("E", p.query, 1), rows(H_, dk_)});
    table.add("x W_kᵀ", std::vector{B_, Lk_, wide("E", p.key, 1), rows(G_, dk_)});
    table.add("x W_vᵀ", std::vector{B_, Lk_, wide("E", p.value, 1), rows(G_, dv_)});
    if (p.output.weight)
      table.add("joined W_oᵀ", std::vector{B_, Lq_, rows(H_, dv_), wide("E", p.output, 0)});
  }

  void feed_forward(const TransformerLayer& layer, CostTable& table) const {
    const Size E{"E", layer.linear1.weight.shape()[1]}, F{"F", layer.linear1.weight.shape()[0]};
    table.add("x W1ᵀ", std::vector{B_, Lq_, E, F});
    table.add("a W2ᵀ", std::vector{B_, Lq_, F, E});
  }

  void bytes(const AttentionRequest& request, CostTable& table) const {
    if (dk_.value > 0) {
      const bool own_width = request.kind == Kind::general || request.kind == Kind::additive;
      table.add("queries", std::vector{B_, H_, Lq_, own_width ? dq_ : dk_, s_});
      table.add("keys", std::vector{B_, G_, Lk_, dk_, s_});
    }
    if (dv_.value > 0) table.add("values", std::vector{B_, G_, Lk_, dv_, s_});
    table.add("weights", std::vector{B_, H_, Lq_, Lk_, s_});
    if (dv_.value > 0) table.add("output", std::vector{B_, H_, Lq_, dv_, s_});
  }

  // How it grows with the lengths.
  void growth(bool to_itself, const AttentionRequest& request) const {
    const std::string heads = H_.value > 1 ? "H·" : "";
    const std::string heads_value = H_.value > 1 ? std::to_string(H_.value) + "·" : "";
    std::string width = H_.value > 1 ? "d" : "D";
    std::size_t width_value = dk_.value;
    if (request.kind == Kind::additive) {
      width = "h";
      width_value = request.W_k.shape()[0];
    }
    const std::string shown_width =
        request.kind == Kind::softmax ? "" : "·" + std::to_string(width_value);
    const std::string letter = request.kind == Kind::softmax ? "" : "·" + width;
    const bool same = to_itself && Lq_.value == Lk_.value;
    const std::string formula =
        same ? "O(" + heads + "L²" + letter + ")" : "O(" + heads + "La·Lb" + letter + ")";
    const std::string put_in = same ? heads_value + std::to_string(Lq_.value) + "²" + shown_width
                                    : heads_value + std::to_string(Lq_.value) + "·" +
                                          std::to_string(Lk_.value) + shown_width;
    std::string text = "The scores of one sample grow as " + formula + ", here " + put_in + ": ";
    text += same ? "a sequence twice as long costs four times as much, in time and in the memory "
                   "of the weights."
                 : "either sequence twice as long doubles it, both together make it four times.";
    if (H_.value > 1 && request.kind != Kind::additive) {
      text += " H·d is the whole width, " + std::to_string(H_.value * dk_.value) +
              ": more and narrower heads cost the same products.";
    }
    to_.paragraph(text);
  }

 private:
  Size B_, H_, G_, Lq_, Lk_, dq_, dk_, dv_, s_;
  Explanation& to_;
};

}  // namespace

void explain_cost(const DocumentRequest& request, Explanation& to) {
  const AttentionRequest& attention = request.attention;
  const std::size_t element = size_of(attention.dtype);
  const auto explain = [&](const Geometry& geometry, const Projections* projections,
                           bool to_itself) {
    const Cost cost(geometry, element, to);
    cost.state_sizes();
    CostTable multiplications("multiplications"), bytes("bytes");
    if (projections) cost.projections(*projections, multiplications);
    cost.scores(attention, multiplications);
    cost.bytes(attention, bytes);
    if (!multiplications.empty()) to.put(std::move(multiplications).finish());
    to.put(std::move(bytes).finish());
    cost.growth(to_itself, attention);
  };

  const bool to_itself = !attention.key && attention.kind != Kind::softmax;
  if (info(attention.kind).family == Family::transformer) {
    TransformerRequest transformer = request.transformer;
    transformer.attention = attention;
    const TransformerGeometry geometry = check_transformer(transformer);
    const TransformerLayer& layer = transformer.layers[0];
    const std::string of = transformer.layers.size() > 1 ? " of a layer" : "";
    to.part("Cost");
    to.step("What the self-attention" + of + " costs");
    explain(geometry.self, &layer.self_attn, to_itself);
    if (transformer.decoder) {
      to.step("What the cross-attention" + of + " costs");
      explain(geometry.cross, &layer.multihead_attn, false);
    }
    to.step("What the feed-forward" + of + " costs");
    CostTable multiplications("multiplications");
    Cost(geometry.self, element, to).feed_forward(layer, multiplications);
    to.put(std::move(multiplications).finish());
    to.paragraph("It grows with the length alone, not with its square: O(L·E·F).");
    return;
  }
  to.step("What it costs");
  if (info(attention.kind).family == Family::projected) {
    Shape output;
    explain(check_projected({attention, request.projections}, "", output), &request.projections,
            to_itself);
  } else {
    explain(check_geometry(attention), nullptr, to_itself);
  }
}

}  // namespace attn
