#include <array>
#include <utility>

#include "attn/spec.hpp"

#include "support/overloaded.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Names = std::string_view;

constexpr std::array<Names, 1> scaled_dot_product_aliases{"sdpa"};
constexpr std::array<Names, 1> general_aliases{"luong"};
constexpr std::array<Names, 1> additive_aliases{"bahdanau"};
constexpr std::array<ParameterInfo, 1> general_parameters{{{"W", "[dq,dk]"}}};
constexpr std::array<ParameterInfo, 3> additive_parameters{
    {{"W_k.weight", "[h,dk]"}, {"W_q.weight", "[h,dq]"}, {"w_v.weight", "[1,h]"}}};
constexpr std::array<ParameterInfo, 10> projections{{{"W_q.weight", "[H·d,E]"},
                                                     {"W_q.bias", "[H·d]", true},
                                                     {"W_k.weight", "[G·d,E]"},
                                                     {"W_k.bias", "[G·d]", true},
                                                     {"W_v.weight", "[G·dv,E]"},
                                                     {"W_v.bias", "[G·dv]", true},
                                                     {"W_o.weight", "[out,H·dv]", true},
                                                     {"W_o.bias", "[out]", true},
                                                     {"W_gate.weight", "[H·dv,E]", true},
                                                     {"W_gate.bias", "[H·dv]", true}}};
constexpr std::array<ProductInfo, 1> dot_products{{{"q·k", "B·H·Lq·Lk·d_k"}}};
constexpr std::array<ProductInfo, 2> general_products{
    {{"qᵀW", "B·H·Lq·d_q·d_k"}, {"qᵀW·k", "B·H·Lq·Lk·d_k"}}};
constexpr std::array<ProductInfo, 3> additive_products{
    {{"W_q q", "B·H·Lq·d_q·h"}, {"W_k k", "B·G·Lk·d_k·h"}, {"w_v·tanh", "B·H·Lq·Lk·h"}}};
constexpr std::string_view vaswani = to_translate("Vaswani et al. 2017, section 3.2.2");
constexpr std::string_view layer_source = to_translate("Vaswani et al. 2017, section 3.1");

constexpr std::string_view softmax_example =
    R"(  "scores": [[1.0, 0.5, 0.2], [0.3, 1.2, 0.8], [0.7, 0.1, 1.5]],
  "valid_lens": [[1, 2, 3]])";
constexpr std::string_view products_example = R"(  "query": [[1.0, 0.0], [0.0, 1.0]],
  "key": [[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]],
  "value": [[1.0], [2.0], [3.0]],
  "mask": {"causal": true, "align": "lower_right"},
  "labels": {"query": ["one", "two"], "key": ["a", "b", "c"]})";
constexpr std::string_view general_example = R"(  "query": [[1.0, 0.0], [0.0, 1.0]],
  "key": [[1.0, 1.0, 0.5], [2.0, 0.0, -1.0]],
  "value": [[1.0], [2.0]],
  "parameters": {"W": [[1.0, 0.0, 0.5], [0.0, 1.0, -0.5]]})";
constexpr std::string_view additive_example = R"(  "seed": 1,
  "query": {"randn": [1, 2, 4]},
  "key": {"randn": [1, 5, 3]},
  "value": {"randn": [1, 5, 2]},
  "valid_lens": [4],
  "parameters": {"init": "torch", "hidden": 6})";
constexpr std::string_view self_example = R"(  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "labels": {"query": ["the", "cat", "sat", "down"]},
  "parameters": {"init": "torch"})";
constexpr std::string_view cross_example = R"(  "seed": 1,
  "x": {"randn": [1, 3, 8]},
  "memory": {"randn": [1, 5, 8]},
  "parameters": {"init": "torch", "output_projection": false})";
constexpr std::string_view multi_head_example = R"(  "heads": 2,
  "seed": 1,
  "tokens": [["the", "cat", "sat"], ["the", "cat", "sat", "on", "it"]],
  "embedding": {
    "vocabulary": ["[PAD]", "the", "cat", "sat", "on", "it"],
    "dimension": 8, "init": "torch", "pad": "[PAD]", "position": "sinusoidal"
  },
  "parameters": {"init": "torch"})";
constexpr std::string_view encoder_layer_example = R"(  "heads": 2,
  "feed_forward": 16,
  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "valid_lens": [3],
  "parameters": {"init": "torch"})";
constexpr std::string_view decoder_layer_example = R"(  "heads": 2,
  "feed_forward": 16,
  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "memory": {"randn": [1, 6, 8]},
  "mask": {"causal": true},
  "memory_valid_lens": [5],
  "parameters": {"init": "torch"})";

constexpr std::string_view transformer_example = R"(  "heads": 2,
  "feed_forward": 16,
  "seed": 1,
  "x": {"randn": [1, 4, 8]},
  "memory": {"randn": [1, 6, 8]},
  "mask": {"causal": true},
  "source_valid_lens": [5],
  "memory_valid_lens": [5],
  "parameters": {"init": "torch"})";

// clang-format off
constexpr std::array<KindInfo, 12> table{{
    {Kind::softmax, Family::given_scores, "softmax", {}, to_translate("scores as given"), {}, {},
     false, "Bridle 1990", softmax_example},
    {Kind::dot_product, Family::score, "dot_product", {}, "q·k", {}, dot_products, false,
     to_translate("Luong et al. 2015, section 3.1"), products_example},
    {Kind::scaled_dot_product, Family::score, "scaled_dot_product", scaled_dot_product_aliases,
     "q·k / √d_k", {}, dot_products, true, to_translate("Vaswani et al. 2017, section 3.2.1"),
     products_example},
    {Kind::general, Family::score, "general", general_aliases, "qᵀ W k", general_parameters,
     general_products, false, to_translate("Luong et al. 2015, section 3.1"), general_example},
    {Kind::additive, Family::score, "additive", additive_aliases, "w_vᵀ tanh(W_q q + W_k k)",
     additive_parameters, additive_products, false,
     to_translate("Bahdanau et al. 2015, appendix A.1.2"), additive_example},
    {Kind::self, Family::projected, "self", {}, "(W_q x)·(W_k x) / √d_k", projections, dot_products,
     true, vaswani, self_example},
    {Kind::cross, Family::projected, "cross", {}, "(W_q x)·(W_k memory) / √d_k", projections,
     dot_products, true, vaswani, cross_example},
    {Kind::multi_head, Family::projected, "multi_head", {},
     to_translate("(W_q x)·(W_k x) / √d_k in each head"), projections, dot_products, true, vaswani,
     multi_head_example},
    {Kind::encoder_layer, Family::transformer, "encoder_layer", {},
     to_translate("self-attention, add & norm, feed-forward, add & norm"), {}, dot_products, true,
     layer_source, encoder_layer_example},
    {Kind::decoder_layer, Family::transformer, "decoder_layer", {},
     to_translate("self-attention, cross-attention and feed-forward, each add & norm"), {},
     dot_products, true, layer_source, decoder_layer_example},
    {Kind::transformer, Family::transformer, "transformer", {},
     to_translate("a stack of encoder layers over memory, one of decoder layers over x"), {},
     dot_products, true, layer_source, transformer_example},
    {Kind::model, Family::model, "model", {}, "q·k · scale", {}, {}, false, vaswani, ""},
}};
// clang-format on

constexpr bool rows_stand_at_their_kind() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].kind) != i) return false;
  }
  return true;
}
static_assert(rows_stand_at_their_kind());

// Whether each alternative of Score has a row with its products.
template <class... Alternatives>
constexpr bool has_rows(const std::variant<Alternatives...>*) {
  const auto has_row = [](Kind kind) {
    const auto at = static_cast<std::size_t>(kind);
    return at < table.size() &&
           (table[at].family == Family::given_scores ||
            (table[at].family == Family::score && !table[at].products.empty()));
  };
  return (... && has_row(Alternatives::kind));
}
static_assert(has_rows(static_cast<const Score*>(nullptr)));

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
  return std::span(table).first(static_cast<std::size_t>(Kind::model));
}

const KindInfo& info(Kind kind) noexcept {
  return table[static_cast<std::size_t>(kind)];
}

const KindInfo* find_kind(std::string_view name) noexcept {
  for (const KindInfo& row : kinds()) {
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

}  // namespace attn
