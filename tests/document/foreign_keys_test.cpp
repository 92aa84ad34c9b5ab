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
  for (
      const Slip& slip : {
          Slip{R"("alibi_slopes":[1])", "/alibi_slopes",
               R"(write "mask": {"alibi": {"slopes": …}})"},
          {R"("context_lens":[1])", "/context_lens", "write \"valid_lens\""},
          {R"("unidirectional":1)", "/unidirectional", R"(write "mask": {"causal": true})"},
          {R"("sliding_window":4)", "/sliding_window",
           R"(write "mask": {"window": {"left": 3, "right": 0}} for a window of 4, which counts )"
           "the query itself"},
          {R"("block_size":16)", "/block_size",
           R"(leave it out: the pages of "key" and "value" have their length)"},
          {R"("seqused_k":[1])", "/seqused_k", "write \"valid_lens\""},
          {R"("max_seqlen_q":2)", "/max_seqlen_q",
           "leave it out: the lengths follow from the tensors"},
          {R"("max_s":2)", "/max_s", "leave it out: the lengths follow from the tensors"},
          {R"("mask":{"cu_seqlens_q":[0,2],"cu_seqlens_k":[0,2],"max_seqlen_q":2})",
           "/mask/max_seqlen_q", "leave it out: the lengths follow from the tensors"},
          {R"("sinks":[1],"sinsk":[1])", "/sinsk",
           R"(leave it out if "sinks" is meant, which is given too)"},
          {R"("past_key":{"randn":[1,1,2,2],"dtype":"bfloat16"})", "/past_key/dtype",
           "write \"dtype\" at the top of the document, which is what is computed in; numbers "
           "rounded to bfloat16 come from a .safetensors or .pt file"},
          {R"("mask":{"padding":[2,1]})", "/mask/padding",
           R"(write "valid_lens": [2, 1] at the top of the document if these are lengths)"},
          {R"("enable_gqa":true)", "/enable_gqa",
           "leave it out: query heads share key heads wherever there are fewer of these"},
          {R"("device":"cuda")", "/device", "leave it out: attention is computed on the processor"},
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
          {R"("kv":[[1]])", "/kv",
           R"(write "query", "key" and "value", each with its "slice" of a file that holds several, )"
           R"(such as {"file": …, "slice": ":, :, 0", "layout": "BLHD"} of [B,L,3,H,D])"},
          {R"("query_seq_lengths":[2])", "/query_seq_lengths",
           R"(write "valid_lens": {"query": […], "key": […]})"},
          {R"("k_cache":[[1]])", "/k_cache",
           R"(write "past_key" and "past_value", or "key" and "value" where the new ones are in )"
           R"(the cache too)"},
          {R"("kv_indptr":[0,1])", "/kv_indptr",
           R"(write "block_table", a row of pages for each sample, filled up with -1, and )"
           R"("valid_lens")"},
          {R"("layout":"BLHD")", "/layout",
           R"(write "layout": "BLHD" into each of query, key and value)"},
          {R"("attn_mask_type":"padding_causal")", "/attn_mask_type",
           R"(write "mask": {"causal": true}, "valid_lens" where samples are padded, or both)"},
          {R"("deterministic":true)", "/deterministic",
           "leave it out: the same input gives the same numbers"},
          {R"("cache_position":[5])", "/cache_position",
           R"(write "mask": {"causal": true, "align": "lower_right"}, and "rotary": )"
           R"({"positions": …} for its angles)"},
          {R"("learnable_sink":[1])", "/learnable_sink", "write \"sinks\", one number per head"},
          {R"("query_pre_attn_scalar":256)", "/query_pre_attn_scalar",
           R"(write "scale", 1 divided by the root of that number)"},
          {R"("comment":"a")", "/comment", R"(write "description")"},
          {R"("positional_encoding":true)", "/positional_encoding",
           R"(write "embedding": {"position": "sinusoidal"} beside "tokens" or "token_ids": )"
           "positions are added to embeddings"},
          {R"("temperature":2)", "/temperature",
           R"(write "score": "s / 2" for a softmax at the temperature 2)"},
          {R"("mask":{"file":"m.npy"})", "/mask/file",
           R"(write "allow": … of 1 where a query sees a key, "block": … of 1 where it does not, )"
           R"(or "bias": … of numbers that are added to the scores, each nested arrays or )"
           R"({"file": …})"},
          {R"("memory_attention_mask":[[1]])", "/memory_attention_mask",
           R"(write "memory_mask": {"keep": …} of 1 where a key is seen)"},
          {R"("mask":{"local_window_size":[3,0]})", "/mask/local_window_size",
           R"(write "window": {"left": …, "right": …}, the keys seen before and after a query)"},
          {R"("mask":{"sink":1})", "/mask/sink",
           "write \"global\": [0], the positions of these tokens"},
          {R"("mask":{"look_ahead":true})", "/mask/look_ahead",
           R"(write "causal": true, which hides the keys after a query)"},
          {R"("mask":{"subsequent":true})", "/mask/subsequent",
           R"(write "causal": true, which hides the keys after a query)"},
          {R"("mask":{"future":true})", "/mask/future",
           R"(write "causal": true, which hides the keys after a query)"},
          {R"("mask":{"tgt_mask":[[1]]})", "/mask/tgt_mask",
           R"(write "allow": … of 1 where a query sees a key, "block": … of 1 where it does not, )"
           R"(or "bias": … of numbers that are added to the scores, each nested arrays or )"
           R"({"file": …})"},
          {R"("mask":{"padding_idx":0})", "/mask/padding_idx",
           R"(write "padding", of true where a key is padding)"},
          {R"("mask":{"key_padding_mask":[[1]]})", "/mask/key_padding_mask",
           R"(write "padding", of true where a key is padding)"},
          {R"("mask":{"documents":{"q":[0,0],"kv":[0,0]}})", "/mask/documents",
           R"(write "cu_seqlens": {"query": …, "key": …})"},
          {R"("mask":["causal","padding"])", "/mask",
           R"(write each part as a member, such as {"causal": true, "padding": [[false,true]]})"},
          {R"("mask":{"causal":"lower_right"})", "/mask/causal",
           R"(write "causal": true, "align": "lower_right")"},
          {R"("mask":{"padding":1})", "/mask/padding",
           "give one truth for each key, such as [[false,true]]"},
          {R"("sinks":0.5)", "/sinks",
           "give an array of numbers, one for each that is meant, such as [0.5,0.5]"},
          {R"("labels":{"query":["a","b"],"value":["c","d"]})", "/labels/value",
           "leave it out: a value has the label of its key"},
          {R"("tokens":["a","b"])", "/tokens",
           R"(write "labels": {"query": […], "key": […]} if they name the tokens)"},
          {R"("weights":[[1]])", "/weights",
           R"(give true or false; weights that exist are drawn by attn-cli plot, and scores of )"
           R"(softmax are "scores")"},
          {R"("attn_bias":"LowerTriangularMask")", "/attn_bias",
           R"(write "mask": {"causal": true})"},
          {R"("mask":{"type":"causal"})", "/mask/type",
           R"(write what hides keys as a key of its own, such as {"causal": true})"},
          {R"("k_scale":0.5)", "/k_scale",
           "leave it out: give the tensor with its numbers multiplied by it"},
          {R"("kv_cache_dtype":"fp8")", "/kv_cache_dtype",
           "leave it out: a tensor has the type that its file holds"},
          {R"("cu_seqlens_q":[0,2])", "/cu_seqlens_q",
           R"(write "mask": {"cu_seqlens": {"query": …, "key": …}}, where the sequences of each )"
           "begin and the last one ends"},
          {R"("rotary_cos":[[1]])", "/rotary_cos",
           R"(write "rotary": {"cos": …, "sin": …}, each with a row for each position)"},
          {R"("cos_sin_cache":[[1]])", "/cos_sin_cache",
           R"(write "rotary": {"cos": …, "sin": …}, each with its "slice" of the file, such as )"
           R"({"file": …, "slice": ":, :32"} of [N,64])"},
          {R"("rotary_dim":2)", "/rotary_dim",
           R"(write "rotary": {"width": …}, the number of columns that turn)"},
          {R"("is_neox_style":true)", "/is_neox_style",
           R"(write "rotary": {"interleaved": true} where columns 2n and 2n + 1 turn together)"},
          {R"("kv_lora_rank":512)", "/kv_lora_rank",
           "leave it out: widths follow from the tensors, in which query and key hold their parts "
           "with and without positions side by side"},
          {R"("q_pe":[[1]])", "/q_pe",
           R"(write "query" and "key" of the parts joined along the last axis, in NumPy )"
           "numpy.concatenate([…], -1)"},
          {R"("qkv_bias":true)", "/qkv_bias",
           R"(write "parameters": {"in_proj_weight": …, "in_proj_bias": …} of a kind that projects, )"
           R"(such as multi_head, or {"init": "torch", "bias": true})"},
          {R"("q_scaling":1)", "/q_scaling",
           R"(write "scale", 1 divided by that number and by the root of the head's width)"},
          {R"("cache_batch_idx":[2,0])", "/cache_batch_idx",
           R"(write "block_table": [[2],[0]] if the samples have rows 2 and 0 of a cache [N,L,H,D], )"
           R"(and "valid_lens")"},
          {R"("leftpad_k":[1])", "/leftpad_k",
           R"(write "mask": {"padding": …}, of true where a key is padding)"},
          {R"("diagonal_band_left_bound":4)", "/diagonal_band_left_bound",
           R"(write "mask": {"window": {"left": 3, "right": 0}} for a window of 4, which counts )"
           "the query itself"},
          {R"("is_inference":true)", "/is_inference",
           "leave it out: it chooses how a kernel works, and changes no number"},
          {R"("page_table":[[0]])", "/page_table",
           R"(write "block_table", a row of pages for each sample, filled up with -1, and )"
           R"("valid_lens")"},
          {R"("kv_layout":"HND")", "/kv_layout",
           R"(leave it out for pages [N,P,H,D]; write "layout": "BHLD" into key and value for )"
           "[N,H,P,D]"},
          {R"("p":0.1)", "/p", R"(write "dropout": {"p": …, "training": true})"},
          {R"("return_attention_probs":true)", "/return_attention_probs",
           R"(write "weights": true or false)"},
          {R"("num_sink_tokens":4)", "/num_sink_tokens",
           R"(write "mask": {"causal": true, "window": {"left": …}, "global": [0,1,2,3]} for 4 )"
           "first tokens that all later ones see"},
          {R"("mask_value":-1e9)", "/mask_value", R"(write "mask": {"fill": …})"},
          {R"("attention_chunk":2)", "/attention_chunk", R"(write "mask": {"chunk": …})"},
          {R"("attention_scale":2)", "/attention_scale",
           "write \"scale\", which multiplies the scores"},
          {R"("softcap_value":2)", "/softcap_value", "write \"softcap\""},
          {R"("flash_attention":true)", "/flash_attention",
           "leave it out: the same input gives the same numbers"},
          {R"("mask":{"bottom_right":true})", "/mask/bottom_right",
           R"(write "mask": {"causal": true, "align": "lower_right"} where queries stand at the last )"
           R"(keys, or {"where": "j <= i + 2"} for an offset of 2)"},
          {R"("mask":{"kv_lens":[1]})", "/mask/kv_lens",
           R"(write "valid_lens": {"query": […], "key": […]}, at the top of the document, outside )"
           "of /mask"},
          {R"("mask":{"seqused_k":[1]})", "/mask/seqused_k",
           R"(write "valid_lens", at the top of the document, outside of /mask)"},
          {R"("mask":{"enable_gqa":true})", "/mask/enable_gqa",
           "leave it out: query heads share key heads wherever there are fewer of these"},
          {R"("mask":{"left":3})", "/mask/left",
           R"(write "window": {"left": …, "right": …}, the keys seen before and after a query)"},
          {R"("mask":{"left_window":3})", "/mask/left_window",
           R"(write "window": {"left": …, "right": …}, the keys seen before and after a query)"},
          {R"("mask":{"local":3})", "/mask/local",
           R"(write "window": {"left": …, "right": …}, the keys seen before and after a query)"},
          {R"("mask":{"prefix_len":3})", "/mask/prefix_len", "write \"prefix\""},
          {R"("mask":{"chunk_size":3})", "/mask/chunk_size", "write \"chunk\""},
          {R"("mask":{"sink_tokens":1})", "/mask/sink_tokens",
           "write \"global\": [0], the positions of these tokens"},
          {R"("mask":{"diagonal":1})", "/mask/diagonal",
           R"(write "where": "j <= i + 1" for the diagonal 1)"},
          {R"("mask":{"prefix":"1"})", "/mask/prefix", "write it without quotes: 1"},
          {R"("mask":{"alibi_slopes":[1]})", "/mask/alibi_slopes",
           R"(write "alibi": {"slopes": …})"},
          {R"("rotary":{"rope_type":"linear"})", "/rotary/rope_type",
           R"(write "scaling": {"type": "linear", "factor": …})"},
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
           {R"("transformer","src":[[1]])", "/src", "leave it out: \"memory\" is there already"},
           {R"("transformer","tgt":[[1]])", "/tgt", "leave it out: \"x\" is there already"},
           {R"("encoder_layer","source_valid_lens":[3])", "/source_valid_lens",
            "write \"valid_lens\": this kind has no sequence but its own"},
           {R"("encoder_layer","activation":"gelu_new")", "/activation",
            "did you mean \"gelu_tanh\"?"},
       }) {
    check_help(layer, slip, folder);
  }
}

TEST_CASE("kinds and sources of numbers get what is meant") {
  const TemporaryFolder folder;
  const std::string missing = R"("attention":"sdpa","query":)";
  for (
      const Slip& slip : {
          Slip{R"("attention":"gqa")", "/attention",
               R"(write "scaled_dot_product", whose query heads share key heads where there are )"
               R"(fewer of these, or "multi_head" with "kv_heads")"},
          {R"("attention":"GroupQueryAttention")", "/attention",
           R"(write "scaled_dot_product", whose query heads share key heads where there are )"
           R"(fewer of these, or "multi_head" with "kv_heads")"},
          {R"("attention":"MQA")", "/attention",
           R"(write "scaled_dot_product", whose query heads share key heads where there are )"
           R"(fewer of these, or "multi_head" with "kv_heads")"},
          {R"("attention":"flash_attention_2")", "/attention",
           R"(did you mean "scaled_dot_product"?)"},
          {R"("attention":"fa3")", "/attention", R"(did you mean "scaled_dot_product"?)"},
          {R"("attention":"PagedAttention")", "/attention",
           R"(write "scaled_dot_product", and beside it "block_table", a row of pages for each )"
           R"(sample, and "valid_lens")"},
          {R"("attention":"cosine")", "/attention",
           R"j(write "dot_product", and "score": "s / (norm(q) * norm(k))" beside it)j"},
          {R"("attention":"sdpa","query":[[1]],"scale":"sqrt")", "/scale",
           R"(leave it out: "scaled_dot_product" divides by √d_k)"},
          {R"("attention":"linear_attention")", "/attention",
           R"(write "scaled_dot_product", and "linear_attention": {} beside it)"},
          {R"("attention":"softmax","scores":[[1,2],[3,4]],"dim":-1)", "/dim",
           R"(leave it out: the softmax goes over the keys, the last axis of "scores"; for )"
           R"(another write "scores": {"data": …, "shape": …, "transpose": true})"},
          {R"("attention":"softmax","logits":[[1,2],[3,4]])", "/logits",
           R"(write "scores", of which softmax makes weights)"},
          {R"("attention":"self","tokens":[1,2,3],"embedding":{"table":[[1]]})", "/tokens",
           R"(write "token_ids")"},
          {R"("attention":"self","tokens":"the cat","embedding":{"table":[[1]]})", "/tokens",
           R"(write ["the", "cat"])"},
          {R"("attention":"self","tokens":["a"],"embedding":"random")", "/embedding",
           R"(write {"vocabulary": […], "dimension": 8, "init": "torch"})"},
          {R"("attention":"self","tokens":["a"],"embedding":{"vocabulary":"vocab.txt"})",
           "/embedding/vocabulary", R"(write {"file": "vocab.txt"})"},
          {R"("attention":"self","tokens":["a"],"embedding":{"table":[[1]],"position":true})",
           "/embedding/position", R"(write "sinusoidal")"},
          {R"("attention":"additive","query":[[1,0]],"key":[[1,1]],"parameters":)"
           R"({"W_q.weight":[[1,0]],"W_k.weight":[[1,0]],"v":[1]})",
           "/parameters/v", R"(write "w_v.weight", [1,h])"},
          {R"("attention":"self","x":[[1]],"parameters":{"W_q.weight":[[1]],"W_k.weight":[[1]],)"
           R"("W_v.weight":[[1]],"transpose":true})",
           "/parameters/transpose",
           R"(write it into each weight, beside its "file" or its "data"; rows of nested arrays )"
           R"(are outputs)"},
          {R"("model_name":"gpt2")", "/attention", R"(write "model" in place of "model_name")"},
          {R"("documents":[{}])", "/attention",
           "write each document into a file of its own, or a line each into a .jsonl file for "
           "batch"},
          {missing + "\"torch.rand(2, 5)\"", "/query",
           R"(write {"rand": [2,5]}, and one "seed" at the top of the document)"},
          {missing + "\"np.zeros((2, 5))\"", "/query", R"(write {"zeros": [2,5]})"},
          {missing + R"({"randint":[2,5]})", "/query/randint",
           "there are no random integers: write the numbers, or give a file"},
          {missing + R"({"randn":[2,5],"std":2})", "/query/std",
           R"(leave it out: "randn" has the mean 0 and the standard deviation 1; other numbers )"
           R"(come from a file, {"file": …})"},
          {missing + R"({"eye":2})", "/query/eye", "write the rows, such as [[1,0],[0,1]]"},
          {missing + R"({"shape":[2,2],"data":[[1,2],[3,4]]})", "/query/data",
           R"(write the numbers of "data" in one list, row after row, or nested arrays alone, )"
           R"(without "shape" and "data")"},
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
           "/key",
           R"(if its rows are columns, add "transpose": true beside its "file" or "data", or write )"
           R"(the columns of nested arrays as rows)"},
          {R"("attention":"multi_head","x":[[1]],"tokens":["a"],"embedding":{"vocab_size":3})",
           "/embedding/vocab_size", R"(write "vocabulary", a list of tokens or {"file": …})"},
      }) {
    check_help("", slip, folder);
  }
}

TEST_CASE("sizes and axes that do not fit get the reading that would") {
  const TemporaryFolder folder;
  folder.write("q.npy", attn::npy_bytes(attn::Tensor({2, 2}, std::vector<float>(4, 1))));
  folder.write("b.npy", attn::npy_bytes(attn::Tensor({2, 2}, std::vector<float>{0, -5, 0, 0})));
  folder.write("d.npy", attn::npy_bytes(attn::Tensor({2, 6, 4, 8}, std::vector<float>(384, 1))));
  const std::string pages =
      R"("attention":"sdpa","query":{"ones":[2,1,2]},"key":{"ones":[4,4,2]},"block_table":)";
  const std::string heads =
      R"("attention":"sdpa","query":{"ones":[2,32,1,8]},"key":{"ones":[6,8,16,8]},)";
  const std::string cached =
      R"("attention":"sdpa","query":{"ones":[2,4,1,8]},"past_value":{"ones":[2,4,6,8]},)";
  for (
      const Slip& slip : {
          Slip{pages + R"([[0,1],[2,3]],"valid_lens":[5,9])", "/valid_lens/1",
               "give the number of leading keys that are valid; \"block_table\" names pages of 8 "
               "keys for each sample"},
          {pages + "[[0,1],[2,3,1]]", "/block_table/1", "fill shorter rows up with -1"},
          {heads + R"("block_table":[[0,1],[2,3]],"valid_lens":[20,30])", "/valid_lens/0",
           "give the number of leading keys that are valid; \"block_table\" names pages of 16 keys "
           R"(for each sample; write "layout": "BHLD" into key and value if their pages are )"
           "[N,H,P,D]"},
          {heads + R"("block_table":[[0,1,-1],[2,3,-1]],"valid_lens":[20,24])", "/block_table",
           "name the pages of all valid keys, or give fewer in valid_lens; write \"layout\": "
           R"("BHLD" into key and value if their pages are [N,H,P,D])"},
          {R"("attention":"sdpa","query":{"ones":[2,4,1,8]},"key":{"ones":[6,2,16,8]},)"
           R"("block_table":[[0,1],[2,3]])",
           "/key", R"(write "layout": "BHLD" into key and value if their pages are [N,H,P,D])"},
          {cached + R"("past_key":{"ones":[2,6,4,8]})", "/past_key",
           R"(write "layout": "BLHD" into it if it is [B,L,H,D])"},
          {R"("attention":"sdpa","query":{"ones":[2,4,6,8]},)"
           R"("gradient":{"output":{"ones":[2,6,4,8]}})",
           "/gradient/output", R"(write "layout": "BLHD" into it if it is [B,L,H,D])"},
          {R"("attention":"sdpa","query":{"ones":[2,4,6,8]},"gradient":{"output":{"file":"d.npy"}})",
           "/gradient/output",
           R"(write "gradient": {"output": {"file": "d.npy", "layout": "BLHD"}} into the document )"
           "instead if it is [B,L,H,D]"},
          {R"("attention":"sdpa","query":{"ones":[2,4,6,8]},"key":{"ones":[2,2,6,8]},)"
           R"("value":{"ones":[2,6,2,8]})",
           "/value", R"(write "layout": "BLHD" into it if it is [B,L,H,D])"},
          {R"("attention":"sdpa","query":{"ones":[2,4,1,8]},"key":{"ones":[8,4,2,8]},)"
           R"("valid_lens":[7,5])",
           "/key",
           "give both the same batch axis, or one of them a batch axis of 1; if these are the "
           "pages "
           R"(of a cache, give "block_table")"},
          {R"("attention":"sdpa","heads":4,"query":{"ones":[2,6,64]},"key":{"ones":[2,6,32]})",
           "/key", R"(write "kv_heads": 2 if the key has heads of width 16)"},
          {R"("attention":"sdpa","query":{"file":"q.npy","shape":[1,4]})", "/query/shape",
           "name the file that was written with this entry, or write \"reshape\": [1,4] in its "
           "place"},
          {R"("attention":"sdpa","query":{"ones":[2,3]},"mask":{"allow":{"file":"b.npy"}})",
           "/mask/allow", R"(give only 0 and 1; numbers that are added to the scores are "bias")"},
          {R"("attention":"sdpa","query":{"ones":[1,1,2,3]},"mask":{"allow":{"ones":[1,1,9,9]}})",
           "/mask/allow", R"(take the part of this length: "slice": "..., :2, :2")"},
          {R"("attention":"sdpa","query":{"ones":[2,3]},"mask":{"window":{"left":1,"right":null}})",
           "/mask/window/right", "leave it out, or write -1, for all keys on that side"},
          {R"("attention":"sdpa","query":{"file":"q"})", "/query/file", R"(did you mean "q.npy"?)"},
          {R"("attention":"sdpa","query":{"file":"q.npz"})", "/query/file",
           R"(did you mean "q.npy"?)"},
          {R"("attention":"sdpa","query":{"file":"states.npy"})", "/query/file",
           "check the name: it is looked for in the folder \"" + folder.path().string() + "\""},
          {R"("attention":"self","x":{"ones":[2,6]},"parameters":{"W_q.weight":{"ones":[6,2,4]},)"
           R"("W_k.weight":{"ones":[8,6]},"W_v.weight":{"ones":[8,6]}})",
           "/parameters/W_q.weight",
           R"(join its heads: write {"file": …, "name": …, "reshape": [6,8], "transpose": true})"},
          {R"("attention":"self","x":{"ones":[2,6]},"parameters":{"W_q.weight":{"ones":[2,6,4]},)"
           R"("W_k.weight":{"ones":[8,6]},"W_v.weight":{"ones":[8,6]}})",
           "/parameters/W_q.weight",
           R"(join its heads: write {"file": …, "name": …, "view": [{"transpose": [0,2,1]}, )"
           R"({"reshape": [8,6]}]})"},
          {R"("attention":"decoder_layer","heads":1,"seed":1,"feed_forward":2,"x":{"ones":[2,2]},)"
           R"("memory":{"ones":[5,2]},"parameters":{"init":"torch"},"mask":{"causal":true},)"
           R"("valid_lens":[4])",
           "/valid_lens",
           "give the number of leading keys that are valid; those of the memory are "
           R"("memory_valid_lens")"},
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

TEST_CASE("names in the constructors of tutorials get the document's own") {
  const TemporaryFolder folder;
  const std::string transformer = R"("attention":"transformer","seed":0,"x":{"randn":[2,4,8]},
    "memory":{"randn":[2,4,8]},"parameters":{"init":"torch"},)";
  const std::string sizes = "leave it out: sizes follow from the tensors, or from the text";
  const std::string widths = "leave it out: the widths follow from the tensors";
  const std::string both =
      "write \"feed_forward\", the hidden width of the feed-forward part, if it is that; the other "
      "widths follow from the tensors";
  const std::string vocabulary =
      "leave it out: the size of a vocabulary follows from \"embedding\"";
  const std::string lengths = ", the number of valid keys of each sample, or ";
  for (const auto& [key, help] : std::initializer_list<std::pair<std::string, std::string>>{
           {"N", "write \"layers\""},
           {"num_encoder_layers", "write \"layers\""},
           {"nlayers", "write \"layers\""},
           {"depth", "write \"layers\""},
           {"h", "write \"heads\""},
           {"num_query_heads", "write \"heads\""},
           {"dff", "write \"feed_forward\""},
           {"d_hid", "write \"feed_forward\""},
           {"hidden_dim", both},
           {"mlp_ratio", both},
           {"d_q", widths},
           {"kdim", widths},
           {"n_embd", widths},
           {"ffn_num_outputs", widths},
           {"num_steps", sizes},
           {"batch_size", sizes},
           {"max_len", sizes},
           {"src_vocab", vocabulary},
           {"vocab_size", vocabulary},
           {"drop_prob", R"(write "dropout": {"p": …, "training": true})"},
           {"rate", R"(write "dropout": {"p": …, "training": true})"},
           {"epsilon", "write \"eps\""},
           {"hidden_act", "write \"activation\""},
           {"normalize_before", R"(write "norm": "pre" or "post")"},
           {"use_bias",
            R"(write "parameters": {"init": "torch", "bias": false} for none; given parameters )"
            "have the biases that they name"},
           {"kernel_initializer", R"(write "parameters": {"init": "torch"})"},
           {"look_ahead_mask", R"(write "mask": {"causal": true})"},
           {"dec_padding_mask",
            "write \"memory_valid_lens\"" + lengths + R"("memory_mask": {"padding": …})"},
           {"enc_valid_lens",
            "write \"source_valid_lens\"" + lengths + R"("source_mask": {"padding": …})"},
           {"enc_outputs", "leave it out: \"memory\" is there already"},
           {"trg", "leave it out: \"x\" is there already"},
           {"return_attention", R"(write "weights": true or false)"},
       }) {
    check_help(transformer, {'"' + key + "\":1", '/' + key, help}, folder);
  }
}

TEST_CASE("names of what a kind lacks get the kinds that have it") {
  const TemporaryFolder folder;
  const std::string kinds = R"("encoder_layer", "decoder_layer", "transformer")";
  for (const std::string attention :
       {R"("attention":"sdpa","query":[[1]],)", R"("attention":"multi_head","x":[[1]],)"}) {
    check_help(attention,
               {R"("N":6)", "/N", "leave it out, or choose a kind that takes \"layers\": " + kinds},
               folder);
    check_help(
        attention,
        {R"("layers":6)", "/layers", "leave it out, or choose a kind that takes it: " + kinds},
        folder);
    check_help(attention,
               {R"("d_ff":6)", "/d_ff",
                "leave it out, or choose a kind that takes \"feed_forward\": " + kinds},
               folder);
  }
  const std::string drawn =
      R"("query":[[1]],"seed":1,"parameters":{"init":"torch","num_hiddens":8})";
  check_help(R"("attention":"additive",)", {drawn, "/parameters/num_hiddens", "write \"hidden\""},
             folder);
  check_help(R"("attention":"general",)",
             {drawn, "/parameters/num_hiddens", "leave it out: the widths follow from the tensors"},
             folder);
}
