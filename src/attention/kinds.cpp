#include <array>
#include <utility>

#include "attn/spec.hpp"

#include "support/nearest_name.hpp"
#include "support/overloaded.hpp"

namespace attn {
namespace {

using Names = std::string_view;

constexpr std::array<Names, 1> scaled_dot_product_aliases{"sdpa"};
constexpr std::array<Names, 1> general_aliases{"luong"};
constexpr std::array<Names, 1> additive_aliases{"bahdanau"};
constexpr std::array<ParameterInfo, 1> general_parameters{{{"W", "[dq,dk]"}}};
constexpr std::array<ParameterInfo, 3> additive_parameters{
    {{"W_k.weight", "[h,dk]"}, {"W_q.weight", "[h,dq]"}, {"w_v.weight", "[1,h]"}}};
constexpr std::array<ParameterInfo, 8> projections{{{"W_q.weight", "[H·d,E]"},
                                                    {"W_q.bias", "[H·d]", true},
                                                    {"W_k.weight", "[G·d,E]"},
                                                    {"W_k.bias", "[G·d]", true},
                                                    {"W_v.weight", "[G·dv,E]"},
                                                    {"W_v.bias", "[G·dv]", true},
                                                    {"W_o.weight", "[out,H·dv]", true},
                                                    {"W_o.bias", "[out]", true}}};
constexpr std::string_view vaswani = "Vaswani et al. 2017, section 3.2.2";
constexpr std::string_view layer_source = "Vaswani et al. 2017, section 3.1";

constexpr std::array<KindInfo, 10> table{{
    {Kind::softmax,
     Family::given_scores,
     "softmax",
     {},
     "scores as given",
     {},
     false,
     "Bridle 1990"},
    {Kind::dot_product,
     Family::score,
     "dot_product",
     {},
     "q·k",
     {},
     false,
     "Luong et al. 2015, section 3.1"},
    {Kind::scaled_dot_product,
     Family::score,
     "scaled_dot_product",
     scaled_dot_product_aliases,
     "q·k / √d_k",
     {},
     true,
     "Vaswani et al. 2017, section 3.2.1"},
    {Kind::general, Family::score, "general", general_aliases, "qᵀ W k", general_parameters, false,
     "Luong et al. 2015, section 3.1"},
    {Kind::additive, Family::score, "additive", additive_aliases, "w_vᵀ tanh(W_q q + W_k k)",
     additive_parameters, false, "Bahdanau et al. 2015, appendix A.1.2"},
    {Kind::self,
     Family::projected,
     "self",
     {},
     "(W_q x)·(W_k x) / √d_k",
     projections,
     true,
     vaswani},
    {Kind::cross,
     Family::projected,
     "cross",
     {},
     "(W_q x)·(W_k memory) / √d_k",
     projections,
     true,
     vaswani},
    {Kind::multi_head,
     Family::projected,
     "multi_head",
     {},
     "(W_q x)·(W_k x) / √d_k in each head",
     projections,
     true,
     vaswani},
    {Kind::encoder_layer,
     Family::transformer,
     "encoder_layer",
     {},
     "self-attention, add & norm, feed-forward, add & norm",
     {},
     true,
     layer_source},
    {Kind::decoder_layer,
     Family::transformer,
     "decoder_layer",
     {},
     "self-attention, cross-attention and feed-forward, each add & norm",
     {},
     true,
     layer_source},
}};

constexpr bool rows_stand_at_their_kind() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_kind());

template <std::size_t... I>
Score empty_score(Kind kind, std::index_sequence<I...>) {
  Score score = ScaledDotProduct{};
  const auto try_alternative = [&](auto empty) {
    if (empty.kind == kind) score = std::move(empty);
  };
  (try_alternative(std::variant_alternative_t<I, Score>{}), ...);
  return score;
}

}  // namespace

std::span<const KindInfo> kinds() noexcept {
  return table;
}

const KindInfo& info(Kind kind) noexcept {
  return table[static_cast<std::size_t>(kind)];
}

const KindInfo* find_kind(std::string_view name) noexcept {
  for (const KindInfo& row : table) {
    if (row.name == name) return &row;
    for (const std::string_view alias : row.aliases) {
      if (alias == name) return &row;
    }
  }
  return nullptr;
}

Kind kind_of(const Score& score) noexcept {
  return std::visit([](const auto& alternative) { return alternative.kind; }, score);
}

Score score_of(Kind kind) {
  return empty_score(kind, std::make_index_sequence<std::variant_size_v<Score>>());
}

const Sequences* sequences_of(const Score& score) noexcept {
  return std::visit(Overloaded{[](const GivenScores&) -> const Sequences* { return nullptr; },
                               [](const Sequences& sequences) { return &sequences; }},
                    score);
}

Sequences* sequences_of(Score& score) noexcept {
  return const_cast<Sequences*>(sequences_of(std::as_const(score)));
}

const Tensor& value_of(const Score& score) noexcept {
  return std::visit(
      Overloaded{
          [](const GivenScores& given) -> const Tensor& { return given.value; },
          [](const Sequences& sequences) -> const Tensor& { return sequences.value_or_key(); }},
      score);
}

std::vector<Tensor*> parameters_of(Score& score) {
  using Tensors = std::vector<Tensor*>;
  return std::visit(
      Overloaded{[](GivenScores&) { return Tensors(); }, [](DotProduct&) { return Tensors(); },
                 [](ScaledDotProduct&) { return Tensors(); },
                 [](General& general) { return Tensors{&general.W}; },
                 [](Additive& additive) {
                   return Tensors{&additive.W_k, &additive.W_q, &additive.w_v};
                 }},
      score);
}

std::string nearest_known(std::string_view name, std::span<const std::string_view> known) {
  return suggestion(name, known);
}

bool Mask::hides() const noexcept {
  return causal || window || padding || allow || block || valid_lens;
}

bool Mask::present() const noexcept {
  return hides() || bias;
}

}  // namespace attn
