#include <string>

#include <doctest/doctest.h>

#include "document/document_problems.hpp"

// Documents in the words of other libraries.

namespace {

struct KeySlip {
  std::string members, problem, place, help;
};

void check_slip(const std::string& document, const KeySlip& slip) {
  CAPTURE(document);
  CHECK(problems_of(document) ==
        slip.problem + "\n  where: doc.json, " + slip.place + "\n  help:  " + slip.help);
}

}  // namespace

TEST_CASE("keys of other libraries get the document's own") {
  for (const KeySlip& slip : {
           KeySlip{R"("h":1)", "unknown key \"h\"", "/h", "write \"heads\""},
           {R"("causal_mask":true)", "unknown key \"causal_mask\"", "/causal_mask",
            "write \"mask\": {\"causal\": true}"},
           {R"("alibi":true)", "unknown key \"alibi\"", "/alibi",
            "write \"mask\": {\"alibi\": true}"},
           {R"("cu_seqlens":[0,2])", "unknown key \"cu_seqlens\"", "/cu_seqlens",
            "write \"mask\": {\"cu_seqlens\": …}, or {\"documents\": …} with a number per token"},
           {R"("scale_factor":1)", "unknown key \"scale_factor\"", "/scale_factor",
            "write \"scale\", which multiplies the scores"},
           {R"("position_ids":[0,1])", "unknown key \"position_ids\"", "/position_ids",
            "write \"rotary\": {\"positions\": …}"},
           {R"("random_state":1)", "unknown key \"random_state\"", "/random_state",
            "write \"seed\""},
           {R"("words":["a"])", "unknown key \"words\"", "/words",
            "write \"labels\": {\"query\": […], \"key\": […]}"},
           {R"("batch_first":true)", "unknown key \"batch_first\"", "/batch_first",
            "leave it out: the first axis of a tensor is the sample"},
           {R"("cmap":"viridis")", "unknown key \"cmap\"", "/cmap",
            "leave it out: it is a flag of attn-cli run"},
           {R"("colour of the sky":1)", "unknown key \"colour of the sky\"", "/colour of the sky",
            "see docs/documents.md, or the keys in attn-cli schema"},
           {R"("fill":-1e9)", "unknown key \"fill\"", "/fill", "write \"mask\": {\"fill\": …}"},
           {R"("mask":{"valid_lens":[2]})", "unknown key \"valid_lens\"", "/mask/valid_lens",
            "write it at the top of the document, outside of /mask"},
           {R"("mask":"casual")", "expected an object, found a string", "/mask",
            "write {\"causal\": true}"},
           {R"("mask":true)", "expected an object, found true", "/mask",
            "write {\"causal\": true}"},
           {R"("gradient":true)", "expected an object, found true", "/gradient",
            "write {\"output\": …}"},
           {R"("query_norm":true)", "expected an object, found true", "/query_norm",
            "write {\"weight\": …, \"bias\": …, \"kind\": …}"},
           {R"("generate":5)", "\"generate\" has no meaning for scaled_dot_product attention",
            "/generate",
            "it is for models: leave it out, or give the folder of one with DocumentOptions::model "
            "and a text with DocumentOptions::texts"},
           {R"("mask":{"sliding_window":2})", "unknown key \"sliding_window\"",
            "/mask/sliding_window", "did you mean \"window\"?"},
       }) {
    check_slip(R"({"attention":"sdpa","query":[[1,0],[0,1]],)" + slip.members + "}", slip);
  }
}

TEST_CASE("kinds and sources of numbers of other libraries get the document's own") {
  const std::string missing = "the document does not say which attention to compute";
  const std::string unknown = "unknown kind of attention ";
  const std::string kind = "/attention";
  for (const KeySlip& slip : {
           KeySlip{R"("kind":"sdpa")", missing, kind, "write \"attention\" in place of \"kind\""},
           {R"("Attention":"sdpa")", missing, kind,
            "write \"attention\" in place of \"Attention\""},
           {R"("seed":1)", missing, kind, "add \"attention\", such as \"scaled_dot_product\""},
           {R"("attention":"mha")", unknown + "\"mha\"", kind, "did you mean \"multi_head\"?"},
           {R"("attention":"nn.MultiheadAttention")", unknown + "\"nn.MultiheadAttention\"", kind,
            "did you mean \"multi_head\"?"},
           {R"("attention":"self-attention")", unknown + "\"self-attention\"", kind,
            "did you mean \"self\"?"},
           {R"("attention":"flash")", unknown + "\"flash\"", kind,
            "did you mean \"scaled_dot_product\"?"},
           {R"("attention":"TransformerEncoderLayer")", unknown + "\"TransformerEncoderLayer\"",
            kind, "did you mean \"encoder_layer\"?"},
           {R"("attention":"sdpa","query":{"path":"q.npy"})", "unknown key \"path\"", "/query/path",
            "did you mean \"file\"?"},
           {R"("attention":"sdpa","query":{"normal":[2,2]})", "unknown key \"normal\"",
            "/query/normal", "did you mean \"randn\"?"},
           {R"("attention":"self","x":[[1]],"parameters":"random")",
            "expected an object, found a string", "/parameters",
            "write {\"init\": \"torch\"}, or the learned weights"},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
}
