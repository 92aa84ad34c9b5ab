#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "document/document.hpp"
#include "document/document_problems.hpp"
#include "run/run_document.hpp"

namespace {

const std::string x = R"("x":{"rand":[2,3,4],"seed":9})";
const std::string memory = R"("memory":{"rand":[2,5,4],"seed":8})";
const std::string init = R"("seed":1,"parameters":{"init":"torch"})";

std::string document(const std::string& kind, const std::vector<std::string>& members) {
  std::string text = R"({"attention":)" + (kind[0] == '[' ? kind : "\"" + kind + "\"");
  for (const std::string& member : members) text += "," + member;
  return text + "}";
}

TEST_CASE("with a list each kind runs as if it were alone") {
  const std::vector<std::string> shared{x,
                                        memory,
                                        init,
                                        R"("heads":2)",
                                        R"("feed_forward":6)",
                                        R"("dropout":{"p":0.3,"training":true})",
                                        R"("mask":{"causal":true})",
                                        R"("title":"both")"};
  const TemporaryFolder folder;
  run_document(document(R"(["multi_head","cross","decoder_layer"])", shared), folder);
  CHECK(read_text(folder / "out/multi_head/result.json") ==
        run_document(
            document("multi_head", {x, memory, init, shared[3], shared[5], shared[6], shared[7]}))
            .bytes);
  CHECK(read_text(folder / "out/cross/result.json") ==
        run_document(document("cross", {x, memory, init, shared[5], shared[6], shared[7]})).bytes);
  CHECK(read_text(folder / "out/decoder_layer/result.json") ==
        run_document(document("decoder_layer", shared)).bytes);
}

TEST_CASE("x and memory are the same as query, key and value") {
  const std::string query = R"("query":{"rand":[2,3,4],"seed":9})";
  const std::string key = R"("key":{"rand":[2,5,4],"seed":8})";
  const DocumentResult states = run_document(document("multi_head", {x, memory, init}));
  const DocumentResult sequences = run_document(document("multi_head", {query, key, init}));
  for (const char* name : {"weights", "output"}) {
    CAPTURE(name);
    const auto a = states.tensor(name), b = sequences.tensor(name);
    CHECK(std::vector<float>(a.values<float>().begin(), a.values<float>().end()) ==
          std::vector<float>(b.values<float>().begin(), b.values<float>().end()));
  }
}

TEST_CASE("the weights of multi-head attention have an axis of heads even if there is one") {
  const DocumentResult one = run_document(document("multi_head", {x, init}));
  CHECK(one.tensor("weights").shape() == attn::Shape{2, 1, 3, 3});
  CHECK(one.bytes == run_document(document("multi_head", {x, init, R"("heads":1)"})).bytes);
  CHECK(run_document(document("self", {x, init})).tensor("weights").shape() ==
        attn::Shape{2, 3, 3});
}

TEST_CASE("hidden states are given one way only") {
  const std::string help =
      "  help:  give \"x\" and, where it is needed, \"memory\", or \"query\", \"key\" and "
      "\"value\"";
  CHECK(problems_of(document("multi_head", {x, R"("query":[[1]])", init})) ==
        "\"x\" and \"query\" cannot both be given\n  where: doc.json, /query\n" + help);
  CHECK(problems_of(document("multi_head", {x, R"("key":[[1]])", init})) ==
        "\"x\" and \"key\" cannot both be given\n  where: doc.json, /key\n" + help);
  CHECK(problems_of(document("cross", {memory, R"("query":[[1]])", init})) ==
        "\"memory\" and \"query\" cannot both be given\n  where: doc.json, /query\n" + help);
  const std::string tokens = R"("token_ids":[0],"embedding":{"table":[[1,2,3,4]]})";
  CHECK(problems_of(document("multi_head", {tokens, R"("query":[[1]])", init})) ==
        "\"token_ids\" and \"query\" cannot both be given\n  where: doc.json, /query\n" + help);
  CHECK(problems_of(document("multi_head", {tokens, x, init})) ==
        "\"x\" and tokens cannot both be given\n  where: doc.json, /x\n"
        "  help:  leave one of them out: the tokens' embeddings take its place");
  CHECK(problems_of(document("sdpa", {tokens, R"("query":[[1]])"})) ==
        "\"query\" and tokens cannot both be given\n  where: doc.json, /query\n"
        "  help:  leave one of them out: the tokens' embeddings take its place");
}

TEST_CASE("hidden states that are missing are asked for") {
  CHECK(problems_of(document("multi_head", {init})) ==
        "there are no hidden states\n  where: doc.json, /x\n"
        "  help:  give \"x\" [L,E] or [B,L,E], tokens with an embedding, or \"query\", \"key\" and "
        "\"value\"");
  CHECK(problems_of(document("encoder_layer", {init, R"("feed_forward":4)"})) ==
        "there are no hidden states\n  where: doc.json, /x\n"
        "  help:  give \"x\" [L,E] or [B,L,E], or tokens with an embedding");
  CHECK(problems_of(document("cross", {x, init})) ==
        "cross-attention has no memory\n  where: doc.json, /memory\n"
        "  help:  give the hidden states it attends to, [L,E] or [B,L,E]");
  CHECK(problems_of(document("decoder_layer", {x, init, R"("feed_forward":4)"})) ==
        "a decoder layer has no memory\n  where: doc.json, /memory\n"
        "  help:  give the encoder's hidden states [L,E] or [B,L,E]");
}

TEST_CASE("keys that mean nothing to a kind are refused") {
  CHECK(problems_of(document("self", {x, memory, init})) ==
        "\"memory\" has no meaning for self attention\n  where: doc.json, /memory\n"
        "  help:  leave it out, or choose a kind with cross-attention: \"cross\", \"multi_head\", "
        "\"decoder_layer\"");
  CHECK(problems_of(document("self", {x, R"("heads":2)", init})) ==
        "\"heads\" has no meaning for self attention\n  where: doc.json, /heads\n"
        "  help:  leave it out, or choose \"multi_head\"");
  CHECK(problems_of(document("sdpa", {x, R"("query":[[1]])"})) ==
        "\"x\" has no meaning for scaled_dot_product attention\n  where: doc.json, /x\n"
        "  help:  give \"query\", \"key\" and \"value\", or choose a kind that projects hidden "
        "states");
}

TEST_CASE("errors of the computation speak of x, memory and tokens") {
  CHECK(problems_of(document("multi_head", {R"("x":[[[[1,2,3,4]]]])", init})) ==
        "x [1,1,1,4] is not [L,D] or [B,L,D]\n  where: doc.json, /x\n"
        "  help:  give hidden states without a head axis: the projections make the heads");
  CHECK(problems_of(document("multi_head", {R"("x":[[1,2,3,4]])", memory, init})) ==
        "x [1,4] and memory [2,5,4] have different numbers of axes\n  where: doc.json, /memory\n"
        "  help:  give both the same number of axes");
  CHECK(problems_of(
            document("decoder_layer", {x, R"("memory":{"ones":[3,1,4]})", init,
                                       R"("feed_forward":4)", R"("mask":{"causal":true})"})) ==
        "memory [3,1,4] has 3 samples, but x [2,3,4] has 2\n  where: doc.json, /memory\n"
        "  help:  give both the same batch axis, or one of them a batch axis of 1");
  CHECK(problems_of(document("decoder_layer",
                             {R"("token_ids":[[0]],"embedding":{"table":[[1,2,3,4]]})",
                              R"("memory_token_ids":[0])", init, R"("feed_forward":4)"})) ==
        "token_ids [1,1,4] and memory_token_ids [1,4] have different numbers of axes\n"
        "  where: doc.json, /memory_token_ids\n"
        "  help:  give both the same number of axes");
  CHECK(problems_of(document("multi_head", {R"("token_ids":[0],"embedding":{"table":[[1,2,3,4]]})",
                                            memory, init})) ==
        "token_ids [1,4] and memory [2,5,4] have different numbers of axes\n"
        "  where: doc.json, /memory\n"
        "  help:  give both the same number of axes");
  CHECK(
      problems_of(document("multi_head", {x, init, R"("heads":2)", R"("past_key":{"ones":[2,1,3]})",
                                          R"("past_value":{"ones":[2,1,4]})"})) ==
      "past_key [2,1,3] does not continue the projected rows [2,3,4]\n"
      "  where: doc.json, /past_key\n"
      "  help:  give it the shape [B,P,4] or [B,2,P,2], P rows of the past");
}

TEST_CASE("options of layers are checked") {
  const auto layer = [&](const std::string& option) {
    return problems_of(document("encoder_layer", {x, init, R"("feed_forward":4)", option}));
  };
  CHECK(layer(R"("activation":"Relu")") ==
        "unknown activation \"Relu\"\n  where: doc.json, /activation\n"
        "  help:  did you mean \"relu\"?");
  CHECK(layer(R"("norm":"after")") ==
        "unknown norm \"after\"\n  where: doc.json, /norm\n  help:  known: post, pre");
  CHECK(layer(R"("layers":0)") ==
        "expected a whole number of at least 1, found 0\n  where: doc.json, /layers\n"
        "  help:  give a whole number of at least 1");
  CHECK(layer(R"("eps":0)") ==
        "eps is not a finite positive number\n  where: doc.json, /eps\n"
        "  help:  give a small positive number such as 1e-5");
  CHECK(layer(R"("heads":3)") ==
        "the hidden states are 4 wide, which is not divisible by 3 heads\n"
        "  where: doc.json, /heads\n  help:  choose a number of heads that divides the width");
  const std::string given =
      R"("parameters":{"self_attn.in_proj_weight":{"ones":[12,4]},"self_attn.out_proj.weight":)"
      R"({"ones":[4,4]},"linear1.weight":{"ones":[6,4]},"linear2.weight":{"ones":[4,6]},)"
      R"("norm1.weight":[1,1,1,1],"norm2.weight":[1,1,1,1]})";
  CHECK(problems_of(document("encoder_layer", {x, given, R"("feed_forward":6)"})).empty());
  CHECK(problems_of(document("encoder_layer", {x, given, R"("feed_forward":8)"})) ==
        "feed_forward is 8, but linear1.weight [6,4] has 6 rows\n"
        "  where: doc.json, /feed_forward\n  help:  leave it out: the parameters tell it");
  CHECK(problems_of(document(
            "multi_head", {x, R"("heads":3)", R"("parameters":{"in_proj_weight":{"ones":[9,4]}})",
                           R"("kv_heads":2)"})) ==
        "in_proj_weight [9,4] cannot be split into query, key and value of 3 heads\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  give it a number of rows that is a multiple of 7: heads + 2·kv_heads parts of "
        "equal size");
  CHECK(problems_of(document(
            "multi_head",
            {x, R"("heads":4)", R"("kv_heads":3)",
             R"("parameters":{"W_q.weight":)"
             R"({"ones":[4,4]},"W_k.weight":{"ones":[3,4]},"W_v.weight":{"ones":[3,4]}})"})) ==
        "query has 4 heads, no multiple of the 3 of key\n  where: doc.json, /kv_heads\n"
        "  help:  make the number of heads of query a multiple of that of key");
}

TEST_CASE("a decoder whose self-attention sees ahead is warned of") {
  const std::vector<std::string> members{x, memory, init, R"("feed_forward":4)"};
  const DocumentResult open = run_document(document("decoder_layer", members));
  REQUIRE(open.reports[0].warnings.size() == 1);
  CHECK(open.reports[0].warnings[0] ==
        "the decoder's self-attention is not causal: every query sees the keys after it; \"mask\": "
        "{\"causal\": true} hides them");
  std::vector<std::string> causal = members;
  causal.emplace_back(R"("mask":{"causal":true})");
  CHECK(run_document(document("decoder_layer", causal)).reports[0].warnings.empty());
  // A mask of the user's own may be causal: it is not judged.
  std::vector<std::string> own = members;
  own.emplace_back(R"("mask":{"allow":[[1,0,0],[1,1,0],[1,1,1]]})");
  CHECK(run_document(document("decoder_layer", own)).reports[0].warnings.empty());
}

TEST_CASE("a decoder's labels name its own sequence on both sides of the self-attention") {
  const DocumentResult result = run_document(document(
      "decoder_layer", {x, memory, init, R"("feed_forward":4)", R"("mask":{"causal":true})",
                        R"("labels":{"query":["a","b","c"],"key":["v","w","x","y","z"]})"}));
  REQUIRE(result.reports[0].weights.size() == 2);
  using Labels = std::vector<std::string>;
  CHECK(result.reports[0].weights[0].name == "self.weights");
  CHECK(result.reports[0].weights[0].key_labels == Labels{"a", "b", "c"});
  CHECK(result.reports[0].weights[1].name == "cross.weights");
  CHECK(result.reports[0].weights[1].key_labels == Labels{"v", "w", "x", "y", "z"});
}

}  // namespace
