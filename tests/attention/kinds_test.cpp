#include <set>
#include <string>
#include <string_view>
#include <variant>

#include <doctest/doctest.h>

#include "attn/spec.hpp"

namespace {

using attn::find_kind;
using attn::info;
using attn::Kind;
using attn::KindInfo;
using attn::kinds;

TEST_CASE("the kinds stand in the order they are listed to users") {
  std::string names;
  for (const KindInfo& row : kinds()) names += std::string(row.name) + " ";
  CHECK(names ==
        "softmax dot_product scaled_dot_product general additive self cross multi_head "
        "encoder_layer decoder_layer transformer ");
}

TEST_CASE("every kind is found by its name and its aliases") {
  for (const KindInfo& row : kinds()) {
    CAPTURE(row.name);
    CHECK(find_kind(row.name) == &row);
    CHECK(&info(row.kind) == &row);
    for (const std::string_view alias : row.aliases) CHECK(find_kind(alias) == &row);
  }
  CHECK(find_kind("sdpa")->kind == Kind::scaled_dot_product);
  CHECK(find_kind("luong")->kind == Kind::general);
  CHECK(find_kind("bahdanau")->kind == Kind::additive);
}

TEST_CASE("every score is that of a kind, and has the parameters of its row") {
  std::set<std::size_t> alternatives;
  for (const KindInfo& row : kinds()) {
    CAPTURE(row.name);
    attn::Score score = attn::score_of(row.kind);
    const bool projects =
        row.family == attn::Family::projected || row.family == attn::Family::transformer;
    CHECK(kind_of(score) == (projects ? Kind::scaled_dot_product : row.kind));
    CHECK((sequences_of(score) == nullptr) == (row.family == attn::Family::given_scores));
    alternatives.insert(score.index());
    if (!projects) CHECK(parameters_of(score).size() == row.parameters.size());
  }
  CHECK(alternatives.size() == std::variant_size_v<attn::Score>);
}

TEST_CASE("no name or alias stands for two kinds") {
  std::set<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    CHECK(names.insert(row.name).second);
    for (const std::string_view alias : row.aliases) CHECK(names.insert(alias).second);
  }
}

TEST_CASE("other names are no kinds") {
  CHECK(find_kind("") == nullptr);
  CHECK(find_kind("Softmax") == nullptr);
  CHECK(find_kind("scaled-dot-product") == nullptr);
  CHECK(find_kind("sdp") == nullptr);
}

TEST_CASE("every kind states its formula and its source") {
  for (const KindInfo& row : kinds()) {
    CAPTURE(row.name);
    CHECK_FALSE(row.score.empty());
    CHECK_FALSE(row.source.empty());
  }
}

TEST_CASE("scaled dot products, projected ones among them, are scaled by the width") {
  for (const KindInfo& row : kinds()) {
    CAPTURE(row.name);
    const bool projects =
        row.family == attn::Family::projected || row.family == attn::Family::transformer;
    CHECK(row.scales_by_width == (projects || row.kind == Kind::scaled_dot_product));
  }
}

TEST_CASE("parameters are listed in their order of construction") {
  const auto listed = [](Kind kind) {
    std::string text;
    for (const attn::ParameterInfo& parameter : info(kind).parameters) {
      text += std::string(parameter.name) + std::string(parameter.shape) +
              (parameter.optional ? "? " : " ");
    }
    return text;
  };
  CHECK(listed(Kind::scaled_dot_product).empty());
  CHECK(listed(Kind::general) == "W[dq,dk] ");
  CHECK(listed(Kind::additive) == "W_k.weight[h,dk] W_q.weight[h,dq] w_v.weight[1,h] ");
  CHECK(listed(Kind::multi_head) ==
        "W_q.weight[H·d,E] W_q.bias[H·d]? W_k.weight[G·d,E] W_k.bias[G·d]? W_v.weight[G·dv,E] "
        "W_v.bias[G·dv]? W_o.weight[out,H·dv]? W_o.bias[out]? W_gate.weight[H·dv,E]? "
        "W_gate.bias[H·dv]? ");
  CHECK(listed(Kind::self) == listed(Kind::multi_head));
  CHECK(listed(Kind::cross) == listed(Kind::multi_head));
}

}  // namespace
