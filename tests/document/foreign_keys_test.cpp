#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "document/document_problems.hpp"
#include "temporary_folder.hpp"

// Keys and values of kernels and of PyTorch's modules.

namespace {

struct Slip {
  std::string members, place, help;
};

// Whether a document with these members is refused at that place with that help.
void check_help(const std::string& before, const Slip& slip, const TemporaryFolder& folder) {
  const std::string document = "{" + before + slip.members + "}";
  CAPTURE(document);
  const std::string told = problems_of(document, folder.path());
  CAPTURE(told);
  CHECK(told.find("\n  where: doc.json, " + slip.place) != std::string::npos);
  CHECK((told + "\n").find("\n  help:  " + slip.help + "\n") != std::string::npos);
}

}  // namespace

TEST_CASE("keys of kernels get the document's own") {
  const TemporaryFolder folder;
  for (const Slip& slip : {
           Slip{R"("alibi_slopes":[1])", "/alibi_slopes",
                R"(write "mask": {"alibi": {"slopes": …}})"},
           {R"("context_lens":[1])", "/context_lens", "write \"valid_lens\""},
           {R"("seqused_k":[1])", "/seqused_k", "write \"valid_lens\""},
           {R"("max_seqlen_q":2)", "/max_seqlen_q",
            "leave it out: the lengths follow from the tensors"},
           {R"("enable_gqa":true)", "/enable_gqa",
            "leave it out: query heads share key heads wherever there are fewer of these"},
           {R"("device":"cuda")", "/device",
            "leave it out: attention is computed on the processor"},
           {R"("s_aux":[1])", "/s_aux", "write \"sinks\", one number per head"},
           {R"("dout":[[1,1],[1,1]])", "/dout", R"(write "gradient": {"output": …})"},
           {R"("past_key_values":[])", "/past_key_values", R"(write "past_key" and "past_value")"},
           {R"("qk_norm":true)", "/qk_norm",
            R"(write "query_norm" and "key_norm", each {"weight": …, "kind": "rms"})"},
           {R"("score_mod":"s")", "/score_mod",
            R"j(write "score", an expression such as "s - 0.1 * abs(i - j)")j"},
           {R"("mask_mod":"s")", "/mask_mod",
            R"(write "mask": {"where": "j <= i"}, an expression that is true where a key is seen)"},
           {R"("decay":0.9)", "/decay", R"(write "linear_attention": {"decay": …})"},
           {R"("attn_bias":"LowerTriangularMask")", "/attn_bias",
            R"(write "mask": {"causal": true})"},
           {R"("mask":{"type":"causal"})", "/mask/type",
            R"(write what hides keys as a key of its own, such as {"causal": true})"},
           {R"("mask":{"sink_tokens":1})", "/mask/sink_tokens",
            "write \"global\": [0], the positions of these tokens"},
           {R"("mask":{"diagonal":1})", "/mask/diagonal",
            R"(write "where": "j <= i + 1" for the diagonal 1)"},
           {R"("mask":{"prefix":"1"})", "/mask/prefix", "write it without quotes: 1"},
           {R"("rotary":{"dim":2})", "/rotary/dim",
            "write \"width\", the number of components that are rotated"},
           {R"("tables":[1,2],"score":"s")", "/tables",
            R"(give each table a name, such as {"slope": [0.5, 0.25]})"},
           {R"j("weight":"softmax(s)")j", "/weight",
            "leave it out: weights are a softmax of the scores"},
           {R"("mask":{"where":"lambda i, j: i >= j"})", "/mask/where",
            "write the expression alone, what is after the colon"},
           {R"j("score":"torch.where(i>=j, s, -inf)")j", "/score", "write condition ? one : other"},
           {R"j("score":"where(i>=j, s, -inf)")j", "/score", "write condition ? one : other"},
           {R"("score":"s if i >= j else -inf")", "/score", "write i >= j ? s : -inf"},
       }) {
    check_help(R"("attention":"sdpa","query":[[1,0],[0,1]],)", slip, folder);
  }
}

TEST_CASE("keys of PyTorch's layers get the document's own, by the kind") {
  const TemporaryFolder folder;
  const std::string layer = R"("seed":0,"x":{"randn":[2,4,8]},"memory":{"randn":[2,4,8]},
    "heads":2,"feed_forward":8,"parameters":{"init":"torch"},"attention":)";
  for (const Slip& slip : {
           Slip{R"("transformer","src_key_padding_mask":[[0]])", "/src_key_padding_mask",
                R"(write "source_valid_lens", the number of valid keys of each sample, or )"
                R"("source_mask": {"padding": …})"},
           {R"("encoder_layer","src_key_padding_mask":[[0]])", "/src_key_padding_mask",
            R"(write "valid_lens", the number of valid keys of each sample, or "mask": )"
            R"({"padding": …})"},
           {R"("decoder_layer","memory_key_padding_mask":[[0]])", "/memory_key_padding_mask",
            R"(write "memory_valid_lens", the number of valid keys of each sample, or )"
            R"("memory_mask": {"padding": …})"},
           {R"("transformer","tgt_is_causal":true)", "/tgt_is_causal",
            R"(write "mask": {"causal": true})"},
           {R"("transformer","src":[[1]])", "/src", "write \"memory\""},
           {R"("transformer","tgt":[[1]])", "/tgt", "write \"x\""},
           {R"("encoder_layer","activation":"gelu_new")", "/activation",
            "did you mean \"gelu_tanh\"?"},
       }) {
    check_help(layer, slip, folder);
  }
}

TEST_CASE("kinds and sources of numbers get what is meant") {
  const TemporaryFolder folder;
  const std::string missing = R"("attention":"sdpa","query":)";
  for (const Slip& slip : {
           Slip{R"("attention":"gqa")", "/attention",
                R"(write "scaled_dot_product", whose query heads share key heads where there are )"
                R"(fewer of these, or "multi_head" with "kv_heads")"},
           {R"("attention":"linear_attention")", "/attention",
            R"(write "scaled_dot_product", and "linear_attention": {} beside it)"},
           {R"("attention":"softmax","scores":[[1,2],[3,4]],"dim":-1)", "/dim",
            R"(leave it out: the softmax goes over the keys, the last axis of "scores"; for )"
            R"(another write "scores": {"data": …, "shape": …, "transpose": true})"},
           {R"("model_name":"gpt2")", "/attention", R"(write "model" in place of "model_name")"},
           {R"("documents":[{}])", "/attention",
            "write each document into a file of its own, or a line each into a .jsonl file for "
            "batch"},
           {missing + "\"torch.rand(2, 5)\"", "/query", R"(write {"rand": [2,5]})"},
           {missing + "\"np.zeros((2, 5))\"", "/query", R"(write {"zeros": [2,5]})"},
           {missing + R"({"randint":[2,5]})", "/query/randint",
            "there are no random integers: write the numbers, or give a file"},
           {missing + R"({"randn":[2,5],"std":2})", "/query/std",
            R"(leave it out: "randn" has the mean 0 and the standard deviation 1; other numbers )"
            R"(come from a file, {"file": …})"},
           {missing + R"({"eye":2})", "/query/eye", "write the rows, such as [[1,0],[0,1]]"},
           {missing + R"({"shape":[2,2],"data":[[1,2],[3,4]]})", "/query/data",
            R"(write nested arrays alone, without "shape" and "data")"},
           {missing + R"({"ones":[2,5],"slice":[0,":"]})", "/query/slice", R"(write "0, :")"},
           {missing + R"({"file":"qkv.npz:q"})", "/query/file",
            R"(write {"file": "qkv.npz", "name": "q"})"},
           {missing + R"({"file":"https://example.org/q.npy"})", "/query/file",
            "download it first: nothing is fetched"},
           {missing + R"({"file":"~/q.npy"})", "/query/file",
            "write the whole path: ~ stands for no folder in a document"},
           {R"("attention":"self","x":[2,192,64],"parameters":{"W_q.weight":[[1]]})", "/x",
            R"(if these are sizes, write {"rand": [2,192,64]})"},
           {R"("attention":"self","x":[[1]],"parameters":"mha.pt")", "/parameters",
            R"(write {"file": "mha.pt"})"},
           {R"("attention":"sdpa","query":{"ones":[3,2]},"key":{"ones":[2,4]},)"
            R"("value":{"ones":[4,2]})",
            "/key", R"(add "transpose": true to it, if its rows are columns)"},
           {R"("attention":"multi_head","x":[[1]],"tokens":["a"],"embedding":{"vocab_size":3})",
            "/embedding/vocab_size", R"(write "vocabulary", a list of tokens or {"file": …})"},
       }) {
    check_help("", slip, folder);
  }
}

TEST_CASE("heads and prefixes that do not fit learned weights say what would") {
  const TemporaryFolder folder;
  const attn::Tensor weight({24, 8}, std::vector<float>(192, 0.1F));
  const std::vector<attn::NamedTensor> parameters{{"in_proj_weight", weight}};
  folder.write("mha.npz", attn::npz_bytes(parameters));
  const std::string document = R"("attention":"multi_head","x":{"ones":[3,8]},)";
  check_help(document,
             {R"("heads":3,"parameters":{"file":"mha.npz"})", "/heads",
              "give a number that divides 8, the width of each"},
             folder);
  check_help(
      document,
      {R"("heads":2,"parameters":{"file":"mha.npz","prefix":"attn."})", "/parameters/file",
       R"(of attn.W_q.weight: no name in the file begins with "attn.": leave "prefix" out, or give another)"},
      folder);
}
