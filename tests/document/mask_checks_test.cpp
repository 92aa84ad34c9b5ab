#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "document/document.hpp"
#include "document/mask_reader.hpp"
#include "document/reader.hpp"
#include "error_from.hpp"

namespace {

attn::Plan plan_of(const std::string& document) {
  return attn::read_plans(attn::Document::parse(document, "document", {})).at(0);
}

using Warnings = std::vector<std::string>;

// A scaled dot product of B samples, H heads (0 = no such axis), Lq queries and Lk keys with these
// further members.
attn::Plan planned(std::size_t samples, std::size_t heads, std::size_t queries, std::size_t keys,
                   const std::string& members) {
  const auto shape = [&](std::size_t length) {
    return "[" + std::to_string(samples) + "," +
           (heads > 0 ? std::to_string(heads) + "," : std::string()) + std::to_string(length) +
           ",2]";
  };
  return plan_of(R"({"attention": "scaled_dot_product", "query": {"ones": )" + shape(queries) +
                 R"(}, "key": {"ones": )" + shape(keys) + "}, " + members + "}");
}

const attn::Mask& mask_of(const attn::Plan& plan) {
  return std::get<attn::AttentionRequest>(plan.computation).mask;
}

attn::Tensor weights(const attn::Plan& plan) {
  return attn::attend(std::get<attn::AttentionRequest>(plan.computation)).weights;
}

Warnings warned(std::size_t samples, std::size_t heads, std::size_t queries, std::size_t keys,
                const std::string& members) {
  return planned(samples, heads, queries, keys, members).warnings;
}

std::string refused(const std::string& members, std::size_t samples = 2, std::size_t heads = 3,
                    std::size_t queries = 4, std::size_t keys = 5) {
  return error_from([&] { planned(samples, heads, queries, keys, members); });
}

}  // namespace

TEST_CASE("keep hides keys per sample, per query or per head, whatever sizes are equal") {
  // Two samples, queries, heads and keys: no shape tells one axis from another.
  const attn::Tensor keys = weights(planned(2, 2, 2, 2, R"("mask": {"keep": [[1,0],[1,1]]})"));
  for (const std::size_t head : {0U, 1U}) {
    for (const std::size_t query : {0U, 1U}) {
      CHECK(keys.at({0, head, query, 1}) == 0);
      CHECK(keys.at({1, head, query, 1}) == 0.5);
    }
  }
  const attn::Tensor queries = weights(planned(
      2, 2, 2, 2, R"("mask": {"attention_mask": [[[true,false],[true,true]],[[1,1],[0,1]]]})"));
  CHECK(queries.at({0, 1, 0, 1}) == 0);
  CHECK(queries.at({0, 0, 1, 0}) == 0.5);
  CHECK(queries.at({1, 0, 1, 0}) == 0);
  const attn::Tensor heads =
      weights(planned(1, 2, 2, 2, R"("attention_mask": [[[[1,0],[1,0]],[[1,1],[0,1]]]])"));
  CHECK(heads.at({0, 0, 1, 1}) == 0);
  CHECK(heads.at({0, 1, 1, 0}) == 0);
  CHECK(heads.at({0, 1, 0, 0}) == 0.5);
}

TEST_CASE("keep holds together with the other parts of a mask, and aligns as padding does") {
  const attn::Tensor both = weights(planned(
      1, 0, 3, 3,
      R"("mask": {"keep": [[0,1,1]], "padding": [[0,0,1]], "allow": [[1,1,1]], "causal": true})"));
  CHECK(both.at({0, 2, 1}) == 1);
  const attn::Tensor twice = weights(
      planned(1, 0, 2, 3, R"("mask": {"keep": [[[0,1,1],[1,1,1]]], "allow": [[1,1,0],[1,0,1]]})"));
  CHECK(twice.at({0, 0, 1}) == 1);
  CHECK(twice.at({0, 1, 0}) == 0.5);
  const attn::Tensor aligned = weights(planned(
      1, 0, 1, 4, R"("mask": {"keep": [[0,1,1,0]], "causal": true, "align": "lower_right"})"));
  CHECK(aligned.at({0, 0, 2}) == 0.5);
  CHECK(aligned.at({0, 0, 3}) == 0);
}

TEST_CASE("numbers of keep that are negative and never 1 are added to the scores, with a note") {
  const attn::Plan plan =
      planned(2, 2, 1, 2, R"("mask": {"keep": [[0,-1e4],[0,0]]}, "dtype": "float64")");
  CHECK(plan.warnings ==
        Warnings{"mask.keep holds negative numbers and no 1: they are added to the scores, as an "
                 "additive mask; \"bias\" says so"});
  CHECK(std::get<attn::AttentionRequest>(plan.computation).mask.bias.shape() ==
        attn::Shape{2, 1, 1, 2});
  CHECK(weights(plan).at({0, 1, 0, 1}) == 0);
  CHECK(weights(plan).at({1, 1, 0, 1}) == 0.5);
}

TEST_CASE("keep that fits no reading, or is no mask, is refused") {
  CHECK(refused(R"("mask": {"keep": [[1,1,1,1]]})") ==
        "mask.keep [1,4] does not fit 2 samples, 4 queries and 5 keys\n  where: document, "
        "/mask/keep\n  help:  give [B,Lk], [B,Lq,Lk] or [B,1 or H,Lq,Lk] with [B,H,Lq,Lk] = "
        "[2,3,4,5]");
  CHECK(refused(R"("mask": {"keep": {"ones": [6,4,5]}})") ==
        "mask.keep [6,4,5] does not fit 2 samples, 4 queries and 5 keys\n  where: document, "
        "/mask/keep\n  help:  write \"reshape\": [2,3,4,5]");
  CHECK(refused(R"("attention_mask": [[0,2,1,1,1]])") ==
        "attention_mask holds 2, neither 0 nor 1\n  where: document, /attention_mask\n  help:  "
        "give 1 or true where a key is seen and 0 or false where not; numbers that are added to "
        "the scores go into \"bias\"");
  CHECK(refused(R"("attention_mask": [[1,1,1,1,1]], "mask": {"keep": [[1,1,1,1,1]]})") ==
        "attention_mask is given twice: it is another name of mask.keep\n  where: document, "
        "/attention_mask\n  help:  leave one of them out");
  CHECK(refused(R"("mask": {"keep": [[0,-1,0,0,0]], "bias": [0,0,0,0,0]})") ==
        "mask.keep and mask.bias cannot both be given\n  where: document, /mask/keep\n  help:  "
        "leave one of them out");
}

TEST_CASE("a mask that fits in another shape is told that shape") {
  CHECK(refused(R"("mask": {"block": {"zeros": [6,4,5]}})") ==
        "block [6,4,5] does not broadcast against the weights [2,3,4,5]\n  where: document, "
        "/mask/block\n  help:  write \"reshape\": [2,3,4,5] beside its file or its flat numbers, "
        "or give "
        "each axis, counted from the last, the size 1 or that of the weights");
  CHECK(refused(R"("mask": {"allow": {"ones": [2,5]}})") ==
        "allow [2,5] does not broadcast against the weights [2,3,4,5]\n  where: document, "
        "/mask/allow\n  help:  write \"keep\": … instead of \"allow\" for a row per sample");
  CHECK(refused(R"("mask": {"block": {"zeros": [2,5]}})") ==
        "block [2,5] does not broadcast against the weights [2,3,4,5]\n  where: document, "
        "/mask/block\n  help:  write \"padding\": … instead of \"block\" for a row per sample");
  CHECK(refused(R"("mask": {"bias": {"ones": [2,4,5]}})").find("\"reshape\": [2,1,4,5]") !=
        std::string::npos);
  CHECK(refused(R"("mask": {"bias": {"ones": [2,1,4,5]}})", 2, 0).find("\"reshape\": [2,4,5]") !=
        std::string::npos);
  CHECK(refused(R"("mask": {"allow": {"ones": [5,4]}})") ==
        "allow [5,4] does not broadcast against the weights [2,3,4,5]\n  where: document, "
        "/mask/allow\n  help:  each axis, counted from the last, must be 1 or that of the weights");
}

TEST_CASE("a first axis of as many parts as there are samples is told how it is read") {
  CHECK(warned(3, 2, 3, 4, R"("mask": {"allow": {"ones": [3,4]}})") ==
        Warnings{"mask.allow [3,4] is read as queries × keys for all samples, but there are 3 "
                 "samples too: for one part per sample write \"reshape\": [3,1,1,4], and "
                 "\"reshape\": [1,1,3,4] if it is right"});
  CHECK(warned(2, 2, 3, 4, R"("mask": {"bias": {"zeros": [2,3,4]}})") ==
        Warnings{"mask.bias [2,3,4] is read as heads × queries × keys for all samples, but there "
                 "are 2 samples too: for one part per sample write \"reshape\": [2,1,3,4], and "
                 "\"reshape\": [1,2,3,4] if it is right"});
  CHECK(warned(3, 2, 3, 4, R"("mask": {"allow": {"ones": [1,1,3,4]}})").empty());
  CHECK(warned(3, 2, 3, 4, R"("mask": {"allow": {"ones": [3,1,1,4]}})").empty());
  CHECK(warned(1, 2, 3, 4, R"("mask": {"allow": {"ones": [3,4]}})").empty());
}

TEST_CASE("a bias of truths or of 0 and 1 is warned of") {
  const Warnings expected{
      "mask.bias holds nothing but 0 and 1, or truths: they are added to the scores and hide no "
      "key; write \"allow\" if 1 means seen, or \"block\" if 1 means hidden"};
  CHECK(warned(1, 1, 2, 2, R"("mask": {"bias": [[true,false],[true,true]]})") == expected);
  CHECK(warned(1, 1, 2, 2, R"("mask": {"bias": [[0,1],[0,0]]})") == expected);
  CHECK(warned(1, 1, 2, 2, R"("mask": {"bias": [[0,0],[0,0]]})").empty());
  CHECK(warned(1, 1, 2, 2, R"("mask": {"bias": [[0,1],[0,0.5]]})").empty());
}

TEST_CASE("padding that begins every sample is warned of") {
  const Warnings expected{
      "mask.padding begins every sample with padding: 1 means padding there; write \"keep\" if 1 "
      "means a token"};
  CHECK(warned(2, 0, 3, 3, R"("mask": {"padding": [[1,1,0],[1,1,1]]})") == expected);
  CHECK(warned(2, 0, 3, 3, R"("mask": {"padding": [[1,1,0],[0,0,0]]})").empty());
  CHECK(warned(2, 0, 3, 3, R"("mask": {"padding": [[0,0,1],[0,0,0]]})").empty());
  CHECK(warned(2, 0, 3, 3, R"("mask": {"padding": [[0,0,1],[1,1,1]]})") ==
        Warnings{"mask.padding hides every key of sample 1: 1 means padding there; write \"keep\" "
                 "if 1 means a token"});
  CHECK(warned(1, 0, 3, 3, R"("mask": {"padding": [[1,0,1]]})").empty());
}

TEST_CASE("a part that hides everything, or all but later keys, is warned of") {
  CHECK(warned(1, 0, 2, 2, R"("mask": {"allow": {"zeros": [2,2]}})") ==
        Warnings{"mask.allow hides every key from every query: 1 means seen there; write \"block\" "
                 "if 1 means hidden"});
  CHECK(warned(1, 0, 2, 2, R"("mask": {"allow": [[0,1],[0,0]]})") ==
        Warnings{"mask.allow shows each query the keys after it alone: 1 means seen there; write "
                 "\"block\" if 1 means hidden"});
  CHECK(warned(1, 0, 2, 2, R"("mask": {"block": [[1,0],[1,1]]})") ==
        Warnings{"mask.block shows each query the keys after it alone: 1 means hidden there; write "
                 "\"allow\" if 1 means seen"});
  CHECK(warned(1, 0, 2, 2, R"("mask": {"padding": [[1,1]]})") ==
        Warnings{"mask.padding hides every key from every query: 1 means padding there; write "
                 "\"keep\" if 1 means a token"});
  CHECK(warned(1, 0, 2, 2, R"("attention_mask": [[0,0]])") ==
        Warnings{"attention_mask hides every key from every query: 1 means seen there; write "
                 "\"padding\" or \"block\" if 1 means hidden, or \"bias\" if the numbers are added "
                 "to the scores"});
  CHECK(warned(2, 0, 2, 2, R"("valid_lens": [0,0])") ==
        Warnings{"valid_lens hides every key from every query: give the number of leading keys "
                 "that are seen"});
  CHECK(warned(1, 0, 2, 2, R"("mask": {"bias": [["-inf","-inf"]]})") ==
        Warnings{"mask.bias hides every key from every query: give 0 where a key is seen"});
  CHECK(warned(1, 0, 2, 2, R"("mask": {"allow": [[1,0],[1,1]], "block": [[0,1],[0,0]]})").empty());
}

TEST_CASE("causality of other numbers of queries and keys asks for the alignment") {
  CHECK(warned(1, 0, 2, 5, R"("mask": {"causal": true})") ==
        Warnings{"mask.causal with 2 queries and 5 keys: the last query sees the first 2 keys; "
                 "write \"align\": \"lower_right\" if it stands at the last key, as with a cache, "
                 "or \"align\": \"upper_left\" if it is right"});
  CHECK(warned(1, 0, 1, 5, R"("mask": {"causal": true})") ==
        Warnings{"mask.causal with 1 query and 5 keys: the last query sees the first key; write "
                 "\"align\": \"lower_right\" if it stands at the last key, as with a cache, or "
                 "\"align\": \"upper_left\" if it is right"});
  CHECK(warned(1, 0, 5, 2, R"("mask": {"causal": true})") ==
        Warnings{"mask.causal with 5 queries and 2 keys: query 1 sees the last key already; write "
                 "\"align\": \"lower_right\" if only the last query does, or \"align\": "
                 "\"upper_left\" if it is right"});
  CHECK(warned(1, 0, 2, 5, R"("mask": {"causal": true, "align": "upper_left"})").empty());
  CHECK(warned(1, 0, 2, 2, R"("mask": {"causal": true}, "past_key": {"ones": [1,3,2]},
               "past_value": {"ones": [1,3,2]})")
            .empty());
}

TEST_CASE("queries and keys with more heads than positions are told how they are read") {
  CHECK(warned(2, 6, 3, 3, R"("scale": 1)") ==
        Warnings{"query [2,6,3,2] is read as [B,H,L,D], 6 heads of 3 positions: if it is "
                 "[B,L,H,D], write \"layout\": \"BLHD\" in query, key and value, and \"layout\": "
                 "\"BHLD\" if it is right"});
  CHECK(warned(2, 8, 4, 4, R"("scale": 1)").size() == 1);
  // Fewer key heads may share what look like positions.
  CHECK(warned(2, 6, 4, 2, R"("scale": 1)").size() == 1);
  CHECK(warned(2, 4, 3, 3, R"("scale": 1)").empty());
  CHECK(warned(2, 32, 5, 5, R"("scale": 1)").empty());
  CHECK(warned(2, 3, 6, 6, R"("scale": 1)").empty());
  CHECK(warned(2, 6, 1, 1, R"("scale": 1)").empty());
  CHECK(warned(2, 6, 3, 4, R"("scale": 1)").empty());
  CHECK(plan_of(R"({"attention": "scaled_dot_product",
                    "query": {"ones": [2,6,3,2], "layout": "BHLD"}})")
            .warnings.empty());
}

TEST_CASE("sequences that end at the samples' number ask for the layout of packed tensors") {
  const std::string help =
      "write \"layout\": \"LHD\" in query, key and value if they are [L,H,D]: without it the "
      "first axis is that of 16 samples";
  CHECK(refused(R"("mask": {"cu_seqlens": [0, 5, 16]})", 16, 0, 4, 2) ==
        "the sequences end at 16, and there are 2 keys\n  where: document, /mask/cu_seqlens\n"
        "  help:  " +
            help);
  CHECK(refused(R"("mask": {"cu_seqlens": {"query": [0, 5, 16], "key": [0, 5, 16]}})", 16, 0, 4, 2)
            .ends_with(help));
}

TEST_CASE("packed queries [T,H,D] are told how they are read") {
  const auto packed = [](const std::string& sizes) {
    return plan_of(R"({"attention": "scaled_dot_product", "query": {"ones": )" + sizes + "}}")
        .warnings;
  };
  CHECK(packed("[24,4,16]") ==
        Warnings{"query [24,4,16] is read as [B,L,D], 24 samples of 4 positions: if it is [L,H,D], "
                 "write \"layout\": \"LHD\" in query, key and value, and \"layout\": \"BLD\" if it "
                 "is right"});
  CHECK(packed(R"([24,4,16], "layout": "BLD")").empty());
  CHECK(packed("[8,4,16]").empty());
  CHECK(packed("[24,5,16]").empty());
  CHECK(packed("[24,4,3]").empty());
  // Lengths that do not fit say it too.
  CHECK(error_from([] {
          plan_of(R"({"attention": "scaled_dot_product", "query": {"ones": [2,24,2,16]},
                      "valid_lens": [24, 20]})");
        }).find("query [2,24,2,16] is read as [B,H,L,D], 24 heads of 2 positions") !=
        std::string::npos);
}

TEST_CASE("biases by distance that miss later keys, or favour distant ones, are told") {
  CHECK(warned(1, 2, 3, 3, R"("mask": {"alibi": true})") ==
        Warnings{"mask.alibi adds nothing to keys after the query, and the mask hides none of "
                 "them: write {\"symmetric\": true} for −slope·|i − j|, as in flash-attention, or "
                 "add \"causal\": true"});
  CHECK(warned(1, 2, 3, 3, R"("mask": {"alibi": {"symmetric": true}})").empty());
  CHECK(warned(1, 2, 3, 3, R"("mask": {"alibi": true, "causal": true})").empty());
  CHECK(warned(1, 2, 3, 3, R"("mask": {"alibi": [-0.5, 0.25], "causal": true})") ==
        Warnings{"mask.alibi has a negative slope, which favours distant keys: −slope·distance is "
                 "added, so write it without its sign if near keys are meant"});
}

TEST_CASE("a scale that is the usual divisor is told") {
  const std::string query = R"({"attention": "scaled_dot_product", "query": {"ones": [3,64]},)";
  CHECK(
      plan_of(query + R"("scale": 8})").warnings ==
      Warnings{"\"scale\" multiplies the scores, and 8 is √64, by which they are usually divided: "
               "write 0.125 for that, or leave it out where it is the default"});
  CHECK(plan_of(query + R"("scale": 0.125})").warnings.empty());
  CHECK(plan_of(query + R"("scale": 1})").warnings.empty());
}

TEST_CASE("padded queries that are aligned at the end are told how kernels place them") {
  const std::string lens = R"("valid_lens": {"query": [3, 4], "key": [5, 5]}, "mask": )";
  CHECK(warned(2, 0, 4, 5, lens + R"({"causal": true, "align": "lower_right"})") ==
        Warnings{"\"align\": \"lower_right\" puts the last of all 4 queries at the last valid key, "
                 "padding included; kernels with seqused_q put the last valid one there: for these "
                 "write \"where\": \"j <= i + shift[b]\" in place of causal, with \"tables\": "
                 "{\"shift\": […]}, valid keys − valid queries of each sample"});
  CHECK(warned(2, 0, 4, 5,
               R"("valid_lens": {"query": [4, 4], "key": [5, 5]}, "mask": )"
               R"({"causal": true, "align": "lower_right"})")
            .empty());
  // What it says to write puts the last valid query at the last valid key.
  const attn::Plan shifted = planned(2, 0, 4, 5, R"("valid_lens": {"query": [3, 4], "key": [5, 5]},
          "mask": {"where": "j <= i + shift[b]"}, "tables": {"shift": [2, 1]})");
  const attn::Tensor seen = weights(shifted);
  CHECK(seen.at({0, 2, 4}) > 0);
  CHECK(seen.at({0, 1, 4}) == 0);
  CHECK(seen.at({1, 3, 4}) > 0);
}

TEST_CASE("sequences of queries and keys apart are seen each by its own, aligned by themselves") {
  const std::string ends = R"("cu_seqlens": {"query": [0,2,2,3], "key": [0,3,4,6]})";
  const auto seen = [&](const std::string& more) {
    std::string text;
    const attn::Tensor tensor = weights(planned(1, 0, 3, 6, "\"mask\": {" + ends + more + "}"));
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 6; ++j) text += tensor.at({0, i, j}) > 0 ? '1' : '0';
      text += ' ';
    }
    return text;
  };
  CHECK(seen("") == "111000 111000 000011 ");
  CHECK(seen(R"(, "causal": true)") == "100000 110000 000010 ");
  CHECK(seen(R"(, "causal": true, "align": "lower_right")") == "110000 111000 000011 ");
  CHECK(seen(R"(, "window": {"left": 0, "right": 0}, "align": "lower_right")") ==
        "010000 001000 000001 ");
  CHECK(seen(R"(, "allow": [[1,0,1,1,1,1]])") == "101000 101000 000011 ");
  const auto told = [&](const std::string& more) {
    return planned(1, 0, 3, 6, "\"mask\": {" + ends + more + "}").warnings;
  };
  CHECK(told(R"(, "causal": true)") ==
        std::vector<std::string>{
            "causal with sequences of other lengths of queries and keys: the first query of each "
            "sees its first key alone; write \"align\": \"lower_right\" if the last query stands "
            "at the last key, as with a cache, or \"align\": \"upper_left\" if it is right"});
  CHECK(told(R"(, "causal": true, "align": "upper_left")").empty());
  CHECK(told("").empty());
  // Reports name what the document says.
  const auto words = [&](const std::string& more) {
    const attn::Plan plan = planned(1, 0, 3, 6, "\"mask\": {" + ends + more + "}");
    return attn::mask_text(plan.attentions[0].mask);
  };
  CHECK(words("") == "cu_seqlens");
  CHECK(words(R"(, "causal": true, "align": "lower_right")") ==
        "causal aligned to the last key, cu_seqlens");
  const auto legend = [&](const std::string& more) {
    const attn::Plan plan = planned(1, 0, 3, 6, "\"mask\": {" + ends + more + "}");
    return attn::hidden_legend("allow", plan.attentions[0].mask);
  };
  CHECK(legend("") == "other sequence");
  CHECK(legend(R"(, "causal": true, "align": "lower_right")") ==
        "hidden by causal aligned to the last key, cu_seqlens");
  CHECK(legend(R"(, "allow": [[1,0,1,1,1,1]])") == "not allowed");
  const std::string two_keys = R"("mask": {"cu_seqlens_q": {"arange": 2, "slice": "::1"},)"
                               R"("cu_seqlens_k": [0, 6], "causal": true, "align": "lower_right"})";
  CHECK(weights(planned(1, 0, 1, 6, two_keys)).at({0, 0, 5}) > 0);
}

TEST_CASE("sequences that do not fit each other are refused") {
  CHECK(refused(R"("mask": {"cu_seqlens": [0, 9]})", 1, 0) ==
        "the sequences end at 9, and there are 5 keys\n  where: document, /mask/cu_seqlens\n"
        "  help:  end each list with 5, past keys included");
  CHECK(refused(R"("mask": {"cu_seqlens_q": [0, 4]})", 1, 0) ==
        "the sequences of the keys are missing\n  where: document, /mask/cu_seqlens_q\n  help:  "
        "give both: {\"query\": [0, …], \"key\": [0, …]}");
  CHECK(refused(R"("mask": {"cu_seqlens": {"query": [0, 4], "key": [0, 2, 5]}})", 1, 0) ==
        "the numbers of sequences differ: 1 of queries and 2 of keys\n  where: document, "
        "/mask/cu_seqlens\n  help:  give "
        "both the same number; one may be empty, as in [0, 4, 4, 9]");
  CHECK(refused(R"("mask": {"cu_seqlens": {"query": [0, 4], "key": [0, 5]}, "chunk": 2})", 1, 0) ==
        "mask.cu_seqlens and mask.chunk cannot both be given\n  where: document, "
        "/mask/cu_seqlens\n  help:  leave one of them out");
}

TEST_CASE(
    "positions along all queries and keys are refused beside sequences that are packed apart") {
  const std::string ends = R"(, "mask": {"cu_seqlens": {"query": [0,1,4], "key": [0,2,4]}})";
  const auto said = [&](const std::string& members) { return refused(members + ends, 1, 1, 4, 4); };
  CHECK(said(R"("rotary": {})") ==
        "positions count along all queries and keys, not in each of the sequences that cu_seqlens "
        "packs apart\n  where: document, /rotary\n  help:  give \"positions\" of the queries and "
        "\"key_positions\", from 0 in each sequence");
  CHECK(said(R"("relative_bias": {"table": [[1]], "buckets": 1, "max_distance": 8})")
            .starts_with("distances count along all queries and keys, not in each of the sequences "
                         "that cu_seqlens packs apart\n  where: document, /relative_bias\n"));
  // In the first sequence both are at 0: nothing is turned.
  const auto first = [&](const std::string& members) {
    return weights(planned(1, 1, 4, 4, members + ends)).at({0, 0, 0, 1});
  };
  CHECK(first(R"("rotary": {"positions": [0,0,1,2], "key_positions": [0,0,0,1]})") ==
        first(R"("scale": 0.7071067811865475)"));
}

TEST_CASE("valid lengths of queries leave the rows beyond empty, and are not counted as such") {
  const attn::Plan plan = planned(
      2, 2, 3, 4, R"("valid_lens": {"query": [1, 3], "key": [4, 2]}, "mask": {"causal": false})");
  CHECK(plan.rows_beyond == 4);
  const attn::Tensor rows = weights(plan);
  CHECK(rows.at({0, 0, 0, 3}) == 0.25);
  CHECK(rows.at({0, 1, 1, 0}) == 0);
  CHECK(rows.at({1, 1, 2, 1}) == 0.5);
  CHECK(rows.at({1, 1, 2, 2}) == 0);
  // The part that hides is the one that was given, with a number for each query.
  CHECK(!mask_of(plan).allow);
  CHECK(mask_of(plan).valid_lens.shape() == attn::Shape{2, 3});
  CHECK(mask_of(plan).valid_lens.at({0, 0}) == 4);
  CHECK(mask_of(plan).valid_lens.at({0, 1}) == 0);
  CHECK(mask_of(plan).valid_lens.at({1, 2}) == 2);
  // The last queries stand at the end of the valid keys, 4 and 2.
  const attn::Tensor aligned =
      weights(planned(2, 2, 3, 4,
                      R"("valid_lens": {"query": [1, 3], "key": [4, 2]}, )"
                      R"("mask": {"causal": true, "align": "lower_right"})"));
  CHECK(aligned.at({0, 0, 0, 1}) == 0.5);
  CHECK(aligned.at({0, 0, 1, 0}) == 0);
  CHECK(aligned.at({1, 0, 1, 0}) == 1);
  CHECK(aligned.at({1, 0, 2, 1}) == 0.5);
  CHECK(refused(R"("valid_lens": {"query": [5, 1]})") ==
        "the valid length 5 is not between 0 and 4\n  where: document, /valid_lens/query\n  help:  "
        "give the number of leading queries that are valid");
}

TEST_CASE("lists of a mask may be other tensors than arrays") {
  const attn::Plan plan = planned(
      2, 2, 2, 4,
      R"("mask": {"alibi": {"arange": 4, "shape": [2, 2]}, "window": {"left": 1},)"
      R"("global": {"arange": 1}, "cu_seqlens": {"shape": [2, 3], "data": [0,2,4, 0,3,4]}})");
  CHECK(mask_of(plan).alibi->samples == 2);
  CHECK(mask_of(plan).alibi->slopes == std::vector<double>{0, 1, 2, 3});
  CHECK(mask_of(plan).global == std::vector<std::size_t>{0});
  CHECK(mask_of(plan).documents.shape() == attn::Shape{2, 4});
  CHECK(mask_of(plan).documents.at({1, 2}) == 0);
  CHECK(refused(R"("mask": {"alibi": {"ones": [3, 3]}})") ==
        "ALiBi's slopes [3,3] do not fit 2 samples and 3 query heads\n  where: document, "
        "/mask/alibi\n  help:  give [H], or [B,H] = [2,3]");
}

TEST_CASE("slopes of each sample are those of its own") {
  const attn::Tensor both =
      weights(planned(2, 2, 2, 2, R"("mask": {"alibi": [[0, 1], [2, 0.5]]}, "dtype": "float64")"));
  const auto lower = [](double slope) { return 1 / (1 + std::exp(slope)); };
  CHECK(both.at({0, 0, 1, 0}) == doctest::Approx(lower(0)));
  CHECK(both.at({0, 1, 1, 0}) == doctest::Approx(lower(1)));
  CHECK(both.at({1, 0, 1, 0}) == doctest::Approx(lower(2)));
  CHECK(both.at({1, 1, 1, 0}) == doctest::Approx(lower(0.5)));
}

TEST_CASE("the encoder of a transformer has a mask of its own, named so where it does not fit") {
  const auto transformer = [](const std::string& members) {
    return plan_of(R"({"attention": "transformer", "heads": 2, "feed_forward": 4, "seed": 1,
                       "x": {"ones": [2,3,4]}, "memory": {"ones": [2,5,4]},
                       "mask": {"causal": true}, "parameters": {"init": "torch"}, )" +
                   members + "}");
  };
  const attn::Plan plan = transformer(
      R"("source_mask": {"keep": [[1,1,1,1,1],[1,1,0,0,0]]}, "memory_valid_lens": [5, 2])");
  REQUIRE(plan.attentions.size() == 3);
  CHECK(plan.attentions[0].name.text() == "decoder.layers.0.self");
  CHECK(plan.attentions[0].mask.causal);
  CHECK(plan.attentions[1].name.text() == "decoder.layers.0.cross");
  CHECK(plan.attentions[1].mask.valid_lens.size() == 2);
  CHECK(plan.attentions[2].name.text() == "encoder.layers.0.self");
  CHECK(plan.attentions[2].mask.padding.at({1, 2}) == 1);
  CHECK(plan.attentions[2].geometry.keys == 5);
  CHECK(plan.warnings.empty());

  CHECK(transformer(R"("source_mask": {"allow": {"zeros": [5,5]}})").warnings ==
        Warnings{"source_mask.allow hides every key from every query: 1 means seen there; write "
                 "\"block\" if 1 means hidden"});
  CHECK(error_from([&] { transformer(R"("source_mask": {"allow": {"ones": [2,4]}})"); }) ==
        "allow [2,4] does not broadcast against the weights [2,2,5,5]\n  where: document, "
        "/source_mask/allow\n  help:  each axis, counted from the last, must be 1 or that of the "
        "weights");
  CHECK(error_from([&] { transformer(R"("source_valid_lens": [5, 6])"); }) ==
        "the valid length 6 is not between 0 and 5\n  where: document, /source_valid_lens/1\n  "
        "help:  give the number of leading keys that are valid");
}
