#include <cmath>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "document/document_problems.hpp"
#include "document/reader.hpp"

namespace attn {
namespace {

// Row-major numbers [B,L,..] of a document and as JSON.
struct Numbers {
  std::vector<double> all;
  Shape shape;

  std::string json() const {
    std::string text = R"({"shape":[)";
    for (std::size_t i = 0; i < shape.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(shape[i]);
    }
    text += R"(],"data":[)";
    for (std::size_t i = 0; i < all.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(all[i]);
    }
    return text + "]}";
  }
};

class Draws {
 public:
  Numbers numbers(Shape shape, double middle, double spread) {
    Numbers own{{}, std::move(shape)};
    std::uniform_real_distribution<double> draw(middle - spread, middle + spread);
    // Numbers of six digits, as the document has them.
    for (std::size_t i = 0; i < element_count(own.shape); ++i) {
      own.all.push_back(std::round(draw(random_) * 1e6) / 1e6);
    }
    return own;
  }

 private:
  std::mt19937 random_{7};
};

constexpr std::size_t batch = 2, heads = 4, groups = 2, length = 5, dk = 3, dv = 2;

struct Rule {
  const char* name;
  std::size_t decays;  // 0 = none, else as many per key head
  bool beta, past;
};

struct Inputs {
  Numbers query, key, value, decay, beta, past;
};

// The output [B,L,H·dv] and the last state [B,G,dk,dv], token by token as the rule says.
void follow(const Inputs& in, const Rule& rule, double scale, std::vector<double>& output,
            std::vector<double>& last) {
  output.assign(batch * length * heads * dv, 0);
  for (std::size_t b = 0; b < batch; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t g = h / (heads / groups);
      std::vector<double> S(dk * dv, 0);
      for (std::size_t i = 0; rule.past && i < S.size(); ++i) {
        S[i] = in.past.all[(b * groups + g) * dk * dv + i];
      }
      for (std::size_t t = 0; t < length; ++t) {
        const std::size_t token = b * length + t;
        const double* k = in.key.all.data() + (token * groups + g) * dk;
        const double* v = in.value.all.data() + (token * groups + g) * dv;
        const double* q = in.query.all.data() + (token * heads + h) * dk;
        for (std::size_t d = 0; rule.decays > 0 && d < dk; ++d) {
          const std::size_t own = rule.decays == 1 ? g : g * dk + d;
          const double decay = in.decay.all[token * groups * rule.decays + own];
          for (std::size_t c = 0; c < dv; ++c) S[d * dv + c] *= std::exp(decay);
        }
        for (std::size_t c = 0; c < dv; ++c) {
          double written = v[c];
          if (rule.beta) {
            for (std::size_t d = 0; d < dk; ++d) written -= S[d * dv + c] * k[d];
            written *= in.beta.all[token];
          }
          for (std::size_t d = 0; d < dk; ++d) S[d * dv + c] += k[d] * written;
          double read = 0;
          for (std::size_t d = 0; d < dk; ++d) read += q[d] * S[d * dv + c];
          output[(token * heads + h) * dv + c] = scale * read;
        }
      }
      for (std::size_t i = 0; i < S.size(); ++i) last[(b * groups + g) * dk * dv + i] = S[i];
    }
  }
}

Plan planned(const std::string& text) {
  const Document document = Document::parse(text, "doc.json", {});
  Problems problems;
  const std::vector<Kind> kinds = read_kinds(document.root());
  Plan plan = read_plan(document, kinds.front(), kinds, problems);
  problems.throw_all();
  return plan;
}

double furthest(const Tensor& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double furthest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    furthest = std::max(furthest, std::abs(got.values<double>()[i] - want[i]));
  }
  return furthest;
}

TEST_CASE("linear attention weighs values as its state does, whatever the rule") {
  Draws draws;
  for (const Rule& rule :
       {Rule{"linear", 0, false, false}, Rule{"gated", 1, false, false},
        Rule{"gated columns", dk, false, true}, Rule{"delta", 0, true, false},
        Rule{"delta with a past", 0, true, true}, Rule{"gated delta", 1, true, true},
        Rule{"gated delta columns", dk, true, false}}) {
    CAPTURE(rule.name);
    const Inputs in{draws.numbers({batch, length, heads * dk}, 0, 1),
                    draws.numbers({batch, length, groups * dk}, 0, 1),
                    draws.numbers({batch, length, groups * dv}, 0, 1),
                    draws.numbers({batch, length, groups * rule.decays}, -0.5, 0.5),
                    draws.numbers({batch, length, 1}, 0.5, 0.5),
                    draws.numbers({batch, groups, dk, dv}, 0, 1)};
    std::string members;
    const auto add = [&](bool given, const char* name, const Numbers& numbers) {
      if (given) {
        members += (members.empty() ? "\"" : ",\"") + std::string(name) + "\":" + numbers.json();
      }
    };
    add(rule.decays > 0, "decay", in.decay);
    add(rule.beta, "beta", in.beta);
    add(rule.past, "past_state", in.past);
    const Plan plan = planned(R"({"attention":"dot_product","scale":0.7,"dtype":"float64",)"
                              R"("heads":4,"kv_heads":2,"query":)" +
                              in.query.json() + R"(,"key":)" + in.key.json() + R"(,"value":)" +
                              in.value.json() + R"(,"linear_attention":{)" + members + "}}");
    std::vector<double> output, last(batch * groups * dk * dv);
    follow(in, rule, 0.7, output, last);
    const AttentionResult result = attend(std::get<AttentionRequest>(plan.computation));
    CHECK(furthest(result.output, output) < 1e-13);
    REQUIRE(plan.tokens.size() == 1);
    CHECK(plan.tokens[0].name == "present_state");
    CHECK(furthest(plan.tokens[0].tensor, last) < 1e-13);
    const std::size_t past = rule.past ? dk : 0;
    CHECK(result.weights.shape() == Shape{batch, heads, length, past + length});
    CHECK(result.weights.values<double>()[past + 1] == 0);  // the second key, of the first query
  }
}

TEST_CASE("what does not go with linear attention is a problem at its place") {
  const auto problem = [](const std::string& more, const std::string& key = "[3,2]") {
    return problems_of(
        R"({"attention":"scaled_dot_product","query":{"ones":[3,2]},"key":{"ones":)" + key + "}," +
        more + "}");
  };
  CHECK(problem(R"("linear_attention":{},"mask":{"causal":true})") ==
        "\"mask\" and \"linear_attention\" cannot both be given\n  where: doc.json, /mask\n"
        "  help:  leave one of them out: linear attention sees the keys up to each query, and its "
        "weights are not those of a softmax");
  CHECK(problem(R"("linear_attention":{"decay":{"ones":[3,3]}})") ==
        "decay [3,3] does not fit: expected [B,3,1] or [B,3,2]\n"
        "  where: doc.json, /linear_attention/decay\n"
        "  help:  B is the number of samples: 1, which stands for all, or 1");
  CHECK(problem(R"("linear_attention":{"past_state":{"ones":[1,1,2,3]}})") ==
        "past_state [1,1,2,3] does not fit: expected [1,1,2,2]\n"
        "  where: doc.json, /linear_attention/past_state\n"
        "  help:  give a matrix of d_k rows and d_v columns for each sample and key head");
  CHECK(problem(R"("linear_attention":{})", "[4,2]") ==
        "linear attention reads one token after the other, but there are 3 queries and 4 keys\n"
        "  where: doc.json, /key\n"
        "  help:  give as many keys as queries, and what was read before them as \"past_state\"");
  CHECK(problem(R"("linear_attention":{"gamma":1})") ==
        "unknown key \"gamma\"\n  where: doc.json, /linear_attention/gamma\n"
        "  help:  known: decay, beta, past_state");
}

}  // namespace
}  // namespace attn
