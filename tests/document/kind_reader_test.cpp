#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "document/document_problems.hpp"
#include "document/reader.hpp"
#include "run/run_document.hpp"

namespace {

struct Refused {
  std::string document, said;
};

TEST_CASE("numbers beyond the range of a 16-bit type are refused, and not taken for infinities") {
  const auto problem = [](const std::string& number, const std::string& type) {
    return problems_of(R"({"attention":"softmax","dtype":")" + type + R"(","scores":[[)" + number +
                       ",1]]}");
  };
  CHECK(problem("65519", "float16").empty());
  CHECK(problem("\"-inf\"", "float16").empty());
  CHECK(problem("-65520", "float16") ==
        "the number -65520 is beyond the range of float16\n  where: doc.json, /scores\n"
        "  help:  set \"dtype\" to \"float32\"");
  CHECK(problem("65520", "bfloat16").empty());
  CHECK(problem("3.4e38", "bfloat16") ==
        "the number 3.4e+38 is beyond the range of bfloat16\n  where: doc.json, /scores\n"
        "  help:  set \"dtype\" to \"float32\"");
  CHECK(problems_of(R"({"attention":"self","dtype":"float16","x":[[1]],"parameters":
            {"W_q.weight":[[1]],"W_k.weight":[[1e5]],"W_v.weight":[[1]]}})") ==
        "the number 1e+05 is beyond the range of float16\n"
        "  where: doc.json, /parameters/W_k.weight\n  help:  set \"dtype\" to \"float32\"");
}

TEST_CASE("keys without a meaning for a document's kind are problems at their place") {
  const std::string sdpa = R"({"attention":"sdpa","query":{"zeros":[2,3,4]})";
  const std::string layer =
      R"({"attention":"encoder_layer","feed_forward":3,"x":{"zeros":[1,2,4]},"seed":1,)"
      R"("parameters":{"init":"torch"})";
  for (const Refused& refused : std::vector<Refused>{
           {sdpa + R"(,"gradient":{}})",
            "the gradient has no output\n  where: doc.json, /gradient/output\n"
            "  help:  give the gradient of the output, in its shape"},
           {sdpa + R"(,"gradient":{"output":{"zeros":[2,3]}}})",
            "the gradient of the output [2,3] does not have the output's shape [2,3,4]\n"
            "  where: doc.json, /gradient/output\n  help:  give one number for each of the output"},
           {layer + R"(,"gradient":{"output":{"zeros":[1,2,4]}}})",
            "there are no gradients through layers\n  where: doc.json, /gradient\n"
            "  help:  leave it out, or choose a kind without layers"},
           {R"({"attention":"decoder_layer","feed_forward":3,"x":{"zeros":[1,2,4]},"seed":1,)"
            R"("memory":{"zeros":[1,3,4]},"parameters":{"init":"torch"},"mask":{"causal":true},)"
            R"("memory_mask":{"alibi":true}})",
            "ALiBi has no meaning for a decoder layer's cross-attention\n"
            "  where: doc.json, /memory_mask/alibi\n  help:  leave it out, or put it into "
            "\"mask\""},
           {sdpa + R"(,"valid_lens":[1,2,3]})",
            "valid_lens [3] does not fit 2 samples of 3 queries\n  where: doc.json, /valid_lens\n"
            "  help:  give one number per sample, [2], or one per query, [2,3]"},
           {sdpa + R"(,"mask":{"bias":{"zeros":[2,3,5]}},"valid_lens":[1,2,3]})",
            "valid_lens [3] does not fit 2 samples of 3 queries\n  where: doc.json, /valid_lens\n"
            "  help:  give one number per sample, [2], or one per query, [2,3]\n\n"
            "bias [2,3,5] does not broadcast against the weights [2,3,3]\n"
            "  where: doc.json, /mask/bias\n"
            "  help:  each axis, counted from the last, must be 1 or that of the weights"},
           {sdpa + R"(,"labels":{"query":["a"]}})",
            "1 label for 3 queries\n  where: doc.json, /labels/query\n"
            "  help:  give one label for each of the queries"},
           {sdpa + R"(,"labels":{"query":{"file":"/nowhere/labels.txt"}}})",
            "cannot open \"/nowhere/labels.txt\": No such file or directory\n"
            "  where: doc.json, /labels/query/file\n"
            "  help:  check the name, and the folder it is looked for in"},
           {sdpa + R"(,"rotary":{"scaling":{"factor":2}}})",
            "\"rope_type\" is missing\n  where: doc.json, /rotary/scaling/rope_type\n"
            "  help:  give linear, dynamic, llama3 or yarn"},
           {sdpa + R"(,"rotary":{"scaling":{"rope_type":"dynamic","factor":2}}})",
            "\"original_max_position_embeddings\" is missing\n"
            "  where: doc.json, /rotary/scaling/original_max_position_embeddings\n"
            "  help:  give it as the model's configuration does"},
           {sdpa + R"(,"rotary":{"scaling":{"rope_type":"llama3","factor":8}}})",
            "\"low_freq_factor\" is missing\n"
            "  where: doc.json, /rotary/scaling/low_freq_factor\n"
            "  help:  give it as the model's configuration does\n\n"
            "\"high_freq_factor\" is missing\n"
            "  where: doc.json, /rotary/scaling/high_freq_factor\n"
            "  help:  give it as the model's configuration does\n\n"
            "\"original_max_position_embeddings\" is missing\n"
            "  where: doc.json, /rotary/scaling/original_max_position_embeddings\n"
            "  help:  give it as the model's configuration does"},
           {sdpa + R"(,"rotary":{"scaling":{"rope_type":"linear","factor":"2"}}})",
            "expected a number, found a string\n  where: doc.json, /rotary/scaling/factor\n"
            "  help:  write it without quotes: 2"},
           {sdpa + R"(,"rotary":{"theta":10,"cos":{"ones":[3,2]},"sin":{"zeros":[3,2]}}})",
            "\"theta\" has no meaning where cosines and sines are given\n"
            "  where: doc.json, /rotary/theta\n  help:  leave it out: the tables say all angles"},
           {sdpa + R"(,"mask":{"alibi":false}})",
            "expected true or an array of slopes, found false\n  where: doc.json, /mask/alibi\n"
            "  help:  give true, or one slope per query head such as [0.5, 0.25]"},
           {sdpa + R"(,"mask":{"sinks":7}})",
            "unknown key \"sinks\"\n  where: doc.json, /mask/sinks\n"
            "  help:  write it at the top of the document, outside of /mask"},
           {sdpa + R"(,"mask":{"colour":7}})",
            "unknown key \"colour\"\n  where: doc.json, /mask/colour\n"
            "  help:  known: causal, align, window, global, padding, keep, attention_mask, allow, "
            "block, documents, "
            "cu_seqlens, cu_seqlens_q, cu_seqlens_k, prefix, chunk, dilation, where, bias, alibi, "
            "fill"},
           {sdpa + R"(,"mask":{"global":7}})",
            "expected an array of positions, found a number\n  where: doc.json, /mask/global\n"
            "  help:  give an array such as [0, 5]"},
           {sdpa + R"(,"mask":{"fill":"x"}})",
            "the fill is neither a finite number nor \"-inf\"\n  where: doc.json, /mask/fill\n"
            "  help:  give a finite number such as -1e9, or leave it out for -inf"},
           {R"({"attention":"sdpa","query":{"arange":6,"shape":[2,2]}})",
            "the shape [2,2] has 4 elements, but arange has 6\n  where: doc.json, /query/shape\n"
            "  help:  make the sizes' product equal to arange"},
           {R"({"attention":"sdpa","query":{"full":[2,2]}})",
            "\"full\" is given without a \"value\"\n  where: doc.json, /query\n"
            "  help:  add \"value\", the number of every element"},
           {R"({"attention":"sdpa","query":{}})",
            "this object is not a tensor\n  where: doc.json, /query\n"
            "  help:  give nested arrays, or an object with \"shape\" and \"data\", or with one of "
            "\"file\", \"zeros\", \"ones\", \"full\", \"arange\", \"randn\", \"rand\""},
           {R"({"attention":"sdpa","text":"a","tokenizer":{}})",
            "the tokenizer has no vocabulary\n  where: doc.json, /tokenizer/wordpiece\n"
            "  help:  give \"wordpiece\", the name of a vocab.txt"},
           {R"({"attention":"sdpa","tokens":["a"],"embedding":{"vocabulary":{},"dimension":2}})",
            "the vocabulary names no file\n  where: doc.json, /embedding/vocabulary\n"
            "  help:  give a list of tokens or {\"file\": …}"},
           {R"({"attention":"sdpa","tokens":["a"],"seed":1,)"
            R"("embedding":{"vocabulary":["a"],"dimension":2,"init":"zeros"}})",
            "unknown initialization \"zeros\"\n  where: doc.json, /embedding/init\n"
            "  help:  known: torch"},
           {R"({"attention":"sdpa","token_ids":[0],"embedding":{"table":[[1,2]],"pad":"_"}})",
            "there is no vocabulary to find \"_\" in\n  where: doc.json, /embedding/pad\n"
            "  help:  give its id, or a \"vocabulary\""}}) {
    CAPTURE(refused.document);
    CHECK(problems_of(refused.document) == refused.said);
  }
}

}  // namespace

namespace {

// Warnings of a document of two queries with these members.
std::vector<std::string> warnings_of(const std::string& members) {
  const std::string text = R"({"attention":"sdpa","query":[[1,0],[0,1]],)" + members + "}";
  return run_document(text).reports[0].warnings;
}

}  // namespace

TEST_CASE("keys that act on what the document lacks are told with the reason") {
  const auto without = [](const std::string& key, const std::string& reason) {
    return std::vector{"\"" + key + "\" has no effect: " + reason};
  };
  CHECK(warnings_of(R"("eps":1e-6)") == without("eps", "there is no norm"));
  CHECK(warnings_of(R"("softcap_after":"bias")") ==
        without("softcap_after", "there is no \"softcap\""));
  CHECK(warnings_of(R"("softcap":5,"softcap_after":"bias")").empty());
  CHECK(warnings_of(R"("dropout":{"p":0.5})") ==
        without("dropout", "it acts with \"training\": true alone"));
  CHECK(warnings_of(R"("seed":3,"dropout":{"p":0.5,"training":true})").empty());
  CHECK(warnings_of(R"("seed":3)") == without("seed", "nothing is drawn at random"));
  CHECK(warnings_of(R"("seed":3,"value":{"randn":[2,2]})").empty());
  CHECK(warnings_of(R"("seed":3,"value":{"randn":[2,2],"seed":4})") ==
        without("seed", "nothing is drawn at random"));
  CHECK(warnings_of(R"("tables":{"t":[1,2],"tt":[1,2]},"score":"s + tt[j]")") ==
        without("tables.t", "no expression reads it"));
  CHECK(warnings_of(R"("tables":{"t":[1,2]},"mask":{"where":"t[j] > 0"})").empty());
  CHECK(problems_of(R"({"attention":"sdpa","query":[[1,2]],"scale":1e40})") ==
        "the number 1e+40 is beyond the range of float32\n  where: doc.json, /scale\n"
        "  help:  give a smaller one");
  CHECK(warnings_of(R"("scale":0)") ==
        std::vector<std::string>{"\"scale\" is 0: all scores are 0 before biases are added"});
}

TEST_CASE("parts of a mask that act on others alone are told where these are missing") {
  const auto without = [](const std::string& key, const std::string& reason) {
    return std::vector{"\"" + key + "\" has no effect: " + reason};
  };
  CHECK(warnings_of(R"("mask":{"prefix":1})") ==
        without("mask.prefix",
                "neither causal nor a window nor chunk hides a key; write \"causal\": true beside "
                "it, or leave it out"));
  CHECK(warnings_of(R"("mask":{"prefix":1,"causal":true})").empty());
  CHECK(warnings_of(R"("mask":{"fill":-1e9})") ==
        without("mask.fill",
                "no key is hidden; write what hides keys beside it, such as \"causal\": true"));
  CHECK(warnings_of(R"("mask":{"fill":-1e9},"valid_lens":[1])").empty());
  CHECK(warnings_of(R"("mask":{"causal":false,"align":"lower_right"})") ==
        without("mask.align",
                "nothing depends on where queries stand among the keys; add \"causal\": true or "
                "\"window\": {\"left\": …, \"right\": …} to the mask"));
  CHECK(warnings_of(R"("mask":{"align":"lower_right","alibi":{"symmetric":true}})").empty());
  CHECK(warnings_of(R"("mask":{"align":"lower_right"},"rotary":{})").empty());
}

TEST_CASE("what one kind of several draws is not told as missing by another") {
  const std::string text = R"({"attention":["sdpa","general"],"seed":1,"query":[[1,0],[0,1]],
    "parameters":{"general":{"W":{"randn":[2,2]}}}})";
  const DocumentResult result = run_document(text);
  CHECK(result.reports[0].warnings.empty());
  CHECK(result.reports[1].warnings.empty());
}
