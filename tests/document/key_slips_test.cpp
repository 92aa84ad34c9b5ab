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
            "/mask/sliding_window",
            R"(write "window": {"left": 3, "right": 0} for a window of 4, which counts the query )"
            "itself"},
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
           {R"("text":"The people")", missing, kind,
            "a text is read by a model: name it with DocumentOptions::model, or write \"model\" "
            "into the document"},
           {R"("attention":"mha")", unknown + "\"mha\"", kind, "did you mean \"multi_head\"?"},
           {R"("attention":"nn.MultiheadAttention")", unknown + "\"nn.MultiheadAttention\"", kind,
            "did you mean \"multi_head\"?"},
           {R"("attention":"self-attention")", unknown + "\"self-attention\"", kind,
            "did you mean \"self\"?"},
           {R"("attention":"flash")", unknown + "\"flash\"", kind,
            "did you mean \"scaled_dot_product\"?"},
           {R"("attention":"DotProductAttention")", unknown + "\"DotProductAttention\"", kind,
            "did you mean \"scaled_dot_product\"?"},
           {R"("attention":"AdditiveAttention")", unknown + "\"AdditiveAttention\"", kind,
            "did you mean \"additive\"?"},
           {R"("attention":"TransformerEncoderLayer")", unknown + "\"TransformerEncoderLayer\"",
            kind, "did you mean \"encoder_layer\"?"},
           {R"("attention":"sdpa","query":{"path":"q.npy"})", "unknown key \"path\"", "/query/path",
            "did you mean \"file\"?"},
           {R"("attention":"sdpa","query":{"normal":[2,2]})", "unknown key \"normal\"",
            "/query/normal", "write {\"randn\": [2, 2]}"},
           {R"("attention":"sdpa","query":{"normal":{"mean":0,"std":1},"size":[2,3,4]})",
            "unknown key \"normal\"", "/query/normal", "write {\"randn\": [2, 3, 4]}"},
           {R"("attention":"sdpa","query":{"random":"normal","shape":[2,3]})",
            "unknown key \"random\"", "/query/random", "write {\"randn\": [2, 3]}"},
           {R"("attention":"sdpa","query":{"uniform":true})", "unknown key \"uniform\"",
            "/query/uniform", "write {\"rand\": […]}"},
           {R"("attention":"self","x":[[1]],"parameters":"random")",
            "expected an object, found a string", "/parameters",
            "write {\"init\": \"torch\"}, or the learned weights"},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
}

TEST_CASE("null, truths and JSON in quotes get what to write in their place") {
  const std::string out = "leave the key out; otherwise ";
  for (const KeySlip& slip : {
           KeySlip{R"("scale":null)", "expected a number, found null", "/scale",
                   out + "give a number"},
           {R"("mask":null)", "expected an object, found null", "/mask",
            out + "write {\"causal\": true}"},
           {R"("mask":{"causal":null})", "expected true or false, found null", "/mask/causal",
            out + "give true or false"},
           {R"("sinks":null)", "null is not a tensor", "/sinks",
            out + "give nested arrays of numbers, such as [[1,2],[3,4]]"},
           {R"("attn_mask":null)", "unknown key \"attn_mask\"", "/attn_mask",
            "leave the key out: what is absent is not written"},
           {R"("mask":{"window":{"left":null}})", "expected a number, found null",
            "/mask/window/left", "leave it out, or write -1, for all keys on that side"},
           {R"("mask":{"src_mask":null})", "unknown key \"src_mask\"", "/mask/src_mask",
            "leave the key out: what is absent is not written"},
           {R"("scale":true)", "expected a number, found true", "/scale",
            "leave it out: \"scaled_dot_product\" divides by √d_k"},
           {R"("scale":false)", "expected a number, found false", "/scale",
            "give a number; 1 leaves the scores as they are"},
           {R"("key":"[[1,0],[0,1]]")", "the string \"[[1,0],[0,1]]\" is not a tensor", "/key",
            "write it without quotes: [[1,0],[0,1]]"},
           {R"("mask":"{\"causal\": true}")", "expected an object, found a string", "/mask",
            "write it without quotes: {\"causal\": true}"},
           {R"("key":"[q]")", "the string \"[q]\" is not a tensor", "/key",
            "give nested arrays of numbers, such as [[1,2],[3,4]]"},
           {R"("lables":["a","b"])", "unknown key \"lables\"", "/lables",
            "did you mean \"labels\"?"},
       }) {
    check_slip(R"({"attention":"sdpa","query":[[1,0],[0,1]],)" + slip.members + "}", slip);
  }
}

TEST_CASE("keys and values in the wrong place or form get the one that is meant") {
  const std::string sdpa = R"("attention":"sdpa","seed":0,)";
  for (const KeySlip& slip : {
           KeySlip{R"("attention":"softmax","scores":[[1]],"score":[[1,2]])",
                   "expected a string, found an array", "/score",
                   "give an expression such as \"s - 0.1 * abs(i - j)\", or numbers as \"scores\""},
           {sdpa + R"j("query":[[1]],"scale":"1/sqrt(64)")j", "expected a number, found a string",
            "/scale", "give a number such as 0.125: JSON has no formulas"},
           {sdpa + R"j("query":[[1]],"scale":"1/sqrt(d_model)")j",
            "expected a number, found a string", "/scale",
            "give a number such as 0.125: JSON has no formulas"},
           {sdpa + R"j("query":[[1]],"scale":"1/sqrt(d_k)")j", "expected a number, found a string",
            "/scale", "leave it out: \"scaled_dot_product\" divides by √d_k"},
           {sdpa + R"j("query":[[1]],"scale":"head_dim ** -0.5")j",
            "expected a number, found a string", "/scale",
            "leave it out: \"scaled_dot_product\" divides by √d_k"},
           {sdpa + R"("query":{"randn":[2,2],"index":1})",
            "expected a list of whole numbers, found a number", "/query/index",
            "write it in brackets, such as [3]"},
           {sdpa + R"("query":{"randn":[1,2,3,4],"layout":"BTNH"})", "\"BTNH\" is not a layout",
            "/query/layout", "write \"BLHD\", with L for positions"},
           {sdpa + R"("query":{"randn":[1,2,3,4],"layout":"BSHD"})", "\"BSHD\" is not a layout",
            "/query/layout", "write \"BLHD\", with L for positions"},
           {sdpa + R"("query":{"randn":[1,2,3,4],"layout":"t, n, d"})",
            "\"t, n, d\" is not a layout", "/query/layout", "write \"LHD\", with L for positions"},
           {sdpa + R"("query":{"file":"q.npz","key":"q"})", "unknown key \"key\"", "/query/key",
            "did you mean \"name\"?"},
           {sdpa + R"("query":[[1]],"mask":{"mask":1})", "unknown key \"mask\"", "/mask/mask",
            "known: causal, align, window, global, padding, keep, attention_mask, allow, block, "
            "documents, cu_seqlens, cu_seqlens_q, cu_seqlens_k, prefix, chunk, dilation, where, "
            "bias, alibi, fill"},
           {sdpa + R"("query":[[1]],"mask":{"causal":true,"align":"bottom_right"})",
            "unknown alignment \"bottom_right\"", "/mask/align", "did you mean \"lower_right\"?"},
           {sdpa + R"("query":[["1"]])", "expected a number, found the string \"1\"", "/query/0/0",
            "write it without quotes: 1"},
           {sdpa + R"("query":{"arange":[2,3]})", "expected a number, found an array",
            "/query/arange", R"(write {"arange": 6, "shape": [2,3]})"},
           {sdpa + R"("query":{"randn":[2,2],"permute":[1,0]})", "unknown key \"permute\"",
            "/query/permute", "did you mean \"transpose\"?"},
           {sdpa + R"("query":[[1]],"gradient":{"query":[[1]]})", "unknown key \"query\"",
            "/gradient/query", "known: output"},
           {sdpa + R"("query":[[1]],"W":[[1]])", "unknown key \"W\"", "/W",
            "write \"parameters\": {\"W\": …}"},
           {sdpa + R"("query":[[1]],"softmax":true)", "unknown key \"softmax\"", "/softmax",
            "leave it out: weights are a softmax of the scores"},
           {R"("attention":"encoder_layer","heads":1,"feed_forward":2,"norm":"rms","x":[[1,2]],)"
            R"("seed":1,"parameters":{"init":"torch"})",
            "unknown norm \"rms\"", "/norm", R"(write "norm_kind": "rms")"},
           {R"("attention":"encoder_layer","heads":1,"feed_forward":2,"norm":"LayerNorm",)"
            R"("x":[[1,2]],"seed":1,"parameters":{"init":"torch"})",
            "unknown norm \"LayerNorm\"", "/norm", R"(write "norm_kind": "layer")"},
           {sdpa + R"("query":[[1]],"labels":{"rows":["a"]})", "unknown key \"rows\"",
            "/labels/rows", "did you mean \"query\"?"},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
}

TEST_CASE("a key of other libraries for one that is there already is left out") {
  const std::string sdpa = R"("attention":"sdpa","query":[[1,0],[0,1]],)";
  for (const KeySlip& slip : {
           KeySlip{sdpa + R"("q":[[1]])", "unknown key \"q\"", "/q",
                   "leave it out: \"query\" is there already"},
           {sdpa + R"("valid_lens":[2],"lengths":[2])", "unknown key \"lengths\"", "/lengths",
            "leave it out: \"valid_lens\" is there already"},
           {sdpa + R"("lengths":[2])", "unknown key \"lengths\"", "/lengths",
            "write \"valid_lens\", the number of valid keys of each sample, or \"mask\": "
            "{\"padding\": …}"},
           {sdpa + R"("mask":{"causal":true},"window":2)", "unknown key \"window\"", "/window",
            R"(write "mask": {"window": {"left": …, "right": …}}, the keys seen before and after )"
            "a query"},
           {R"("attention":"self","tokens":["a","b"],"seed":1,"parameters":{"init":"torch"},)"
            R"("embedding":{"num_embeddings":2,"vocabulary":["a","b"],"dimension":2,)"
            R"("init":"torch"})",
            "unknown key \"num_embeddings\"", "/embedding/num_embeddings",
            "leave it out: \"vocabulary\" is there already"},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
}

TEST_CASE("names of sizes in D2L get what they are here, by the kind of attention") {
  const std::string states = R"("seed":1,"x":[[1,2]],"parameters":{"init":"torch"},)";
  for (const KeySlip& slip : {
           KeySlip{R"("attention":"multi_head","heads":1,)" + states + R"("num_hiddens":2)",
                   "unknown key \"num_hiddens\"", "/num_hiddens",
                   "leave it out: the widths follow from the tensors"},
           {R"("attention":"additive","seed":1,"query":[[1]],"parameters":{"init":"torch",)"
            R"("hidden":8},"num_hiddens":8)",
            "unknown key \"num_hiddens\"", "/num_hiddens",
            "leave it out: \"hidden\" is there already"},
           {R"("attention":"additive","query":[[1]],"parameters":{"W_q.weight":[[1]],)"
            R"("W_k.weight":[[1]],"w_v.weight":[[1]]},"num_hiddens":1)",
            "unknown key \"num_hiddens\"", "/num_hiddens",
            "leave it out: the widths follow from the tensors"},
           {R"("attention":"encoder_layer","heads":1,"feed_forward":4,)" + states +
                R"("ffn_num_hiddens":4)",
            "unknown key \"ffn_num_hiddens\"", "/ffn_num_hiddens",
            "leave it out: \"feed_forward\" is there already"},
           {R"("attention":"softmax","scores":[[1]],"X":[[1]])", "unknown key \"X\"", "/X",
            "leave it out: \"scores\" is there already"},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
  CHECK(problems_of(R"({"attention":"additive","query":[[1]],"seed":1,"num_hiddens":8,)"
                    R"("parameters":{"init":"torch"}})")
            .starts_with("unknown key \"num_hiddens\"\n  where: doc.json, /num_hiddens\n"
                         "  help:  write \"parameters\": {\"init\": \"torch\", \"hidden\": …}"));
  // A kind that is not known yet is what it seems to be.
  const attn::Document document =
      attn::Document::parse(R"({"attention":"masked_softmax","X":[[1]]})", "doc.json", {});
  attn::Problems problems;
  attn::check_document_keys(document.root(), problems);
  REQUIRE(problems.errors().size() == 1);
  CHECK(document.placed(problems.errors()[0]).what() ==
        std::string("unknown key \"X\"\n  where: doc.json, /X\n"
                    "  help:  write \"scores\", of which softmax makes weights"));
}

TEST_CASE("what one of several kinds needs and another refuses is given by kind") {
  const std::string drawn = R"("seed":1,"parameters":{"init":"torch"})";
  for (const KeySlip& slip : {
           KeySlip{R"("attention":["additive","sdpa"],"query":[[1,2]],)" + drawn,
                   "\"hidden\" is missing", "/parameters/hidden",
                   "give the number of hidden units of additive attention, such as 8"},
           {R"("attention":["self","additive"],"query":[[1,2]],)" + drawn, "\"hidden\" is missing",
            "/parameters/hidden",
            "give each kind its own: \"parameters\": {\"self\": {\"init\": \"torch\"}, "
            "\"additive\": {\"init\": \"torch\", \"hidden\": 8}}"},
           {R"("attention":["self","additive"],"query":[[1,2]],"seed":1,"parameters":)"
            R"({"init":"torch","hidden":4})",
            "unknown key \"hidden\"", "/parameters/hidden",
            "give each kind its own: \"parameters\": {\"self\": {\"init\": \"torch\"}, "
            "\"additive\": {\"init\": \"torch\", \"hidden\": 4}}"},
           {R"("attention":["self","additive"],"x":[[1,2]],"seed":1,"parameters":{)"
            R"("self":{"init":"torch"},"additive":{"init":"torch","hidden":8}})",
            "\"x\" has no meaning for additive attention", "/x",
            "write \"query\" in place of \"x\": all kinds of this document take it"},
           {R"("attention":["encoder_layer","additive"],"heads":1,"feed_forward":2,"x":[[1,2]],)"
            R"("seed":1,"parameters":{"encoder_layer":{"init":"torch"},)"
            R"("additive":{"init":"torch","hidden":8}})",
            "\"x\" has no meaning for additive attention", "/x",
            "compute additive attention in a document of its own, with \"query\""},
       }) {
    check_slip("{" + slip.members + "}", slip);
  }
}
