#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/document.hpp"
#include "document/document_problems.hpp"
#include "document/reader.hpp"
#include "temporary_folder.hpp"

namespace {

using Warnings = std::vector<std::string>;

Warnings warned(const std::string& members, const std::filesystem::path& folder = {}) {
  return attn::read_plans(attn::Document::parse("{" + members + "}", "document", folder))
      .at(0)
      .warnings;
}

// Of a scaled dot product of these sizes of query and key.
Warnings warned(const std::string& query, const std::string& key, const std::string& members) {
  return warned(R"("attention": "sdpa", "query": {"ones": )" + query + R"(}, "key": {"ones": )" +
                key + "}, " + members);
}

// What is checked without computing.
Warnings checked(const std::string& text) {
  Warnings warnings;
  attn::validation_of(
      "document", {},
      [&](const attn::FileAccess& access) {
        return attn::Document::parse(text, "document", {}, access);
      },
      [&](const attn::Plan& plan) {
        warnings.insert(warnings.end(), plan.warnings.begin(), plan.warnings.end());
      });
  return warnings;
}

std::string placed(const std::string& parts, int last = 1) {
  return parts + " with 2 queries and 6 keys: the last query stands at key " +
         std::to_string(last) +
         "; write \"mask\": {\"align\": \"lower_right\"} if it stands at the last key, as with a "
         "cache, or \"align\": \"upper_left\" if it is right";
}

}  // namespace

TEST_CASE("fewer queries than keys are told where something other than causality places them") {
  const auto of = [](const std::string& members) { return warned("[2,2]", "[6,2]", members); };
  CHECK(of(R"("mask": {"window": {"left": 1, "right": 1}})") == Warnings{placed("mask.window")});
  CHECK(of(R"("mask": {"chunk": 2})") == Warnings{placed("mask.chunk")});
  CHECK(of(R"("mask": {"alibi": {"symmetric": true}})") == Warnings{placed("mask.alibi")});
  CHECK(of(R"("rotary": {})") == Warnings{placed("rotary")});
  CHECK(of(R"("relative_bias": {"table": {"ones": [32,1]}})") == Warnings{placed("relative_bias")});
  CHECK(of(R"("mask": {"window": {"left": 1, "right": 1}}, "rotary": {})") ==
        Warnings{placed("mask.window, rotary")});
  CHECK(of(R"("mask": {"align": "lower_right"}, "rotary": {})").empty());
  CHECK(of(R"("mask": {"align": "upper_left"}, "rotary": {})").empty());
  CHECK(of(R"("rotary": {"positions": [4,5], "key_positions": [0,1,2,3,4,5]})").empty());
  CHECK(of(R"("scale": 1)").empty());
  CHECK(warned("[6,2]", "[2,2]", R"("rotary": {})").empty());
  CHECK(warned("[2,2]", "[2,2]", R"("rotary": {}, "past_key": {"ones": [4,2]},
               "past_value": {"ones": [4,2]})")
            .empty());
}

TEST_CASE("a window of exchanged sides is told, where causality leaves the query's own key alone") {
  const auto told = [](const std::string& right) {
    return Warnings{
        "mask.window with \"left\": 0 beside \"causal\": true shows each query the key at its own "
        "place alone: \"left\" counts the keys before a query; write {\"left\": " +
        right + ", \"right\": 0} if they are meant"};
  };
  const auto of = [](const std::string& mask) {
    return warned("[4,2]", "[4,2]", "\"mask\": {" + mask + "}");
  };
  CHECK(of(R"("causal": true, "window": {"left": 0, "right": 3})") == told("3"));
  CHECK(of(R"("causal": true, "window": {"left": 0, "right": -1})") == told("-1"));
  CHECK(of(R"("causal": true, "window": {"left": 3, "right": 0})").empty());
  CHECK(of(R"("causal": true, "window": {"left": 0, "right": 0})").empty());
  CHECK(of(R"("window": {"left": 0, "right": 3})").empty());
}

TEST_CASE("lengths that leave out the new keys behind a past are told") {
  const auto of = [](const std::string& lens) {
    return warned("[2,1,2]", "[2,1,2]",
                  R"("past_key": {"ones": [2,6,2]},
                  "past_value": {"ones": [2,6,2]}, "valid_lens": )" +
                      lens);
  };
  const Warnings told{
      "valid_lens counts past and new keys together, and no sample has more than the 6 past ones: "
      "its queries do not see their own keys; add 1 to each number if it counts the past alone"};
  CHECK(of("[6,6]") == told);
  CHECK(of("[6,4]") == told);
  CHECK(of("[7,5]").empty());
  CHECK(of("[7,7]").empty());
}

TEST_CASE("a mask of zeros and ones in the place of lengths is told, and truths are refused") {
  CHECK(warned("[2,3,2]", "[2,3,2]", R"("valid_lens": [[1,1,0],[1,1,1]])") ==
        Warnings{"valid_lens holds nothing but 0 and 1, the numbers of keys that each query sees: "
                 "write \"attention_mask\": … if 1 means a key that is seen"});
  CHECK(warned("[2,3,2]", "[2,3,2]", R"("valid_lens": [[1,2,3],[1,1,1]])").empty());
  CHECK(warned("[2,3,2]", "[2,3,2]", R"("valid_lens": [1,1])").empty());
  CHECK(problems_of(R"({"attention":"sdpa","query":{"ones":[3,2]},)"
                    R"("valid_lens":[true,true,false]})") ==
        "expected numbers of keys, found truths\n  where: doc.json, /valid_lens\n"
        "  help:  write \"attention_mask\": … if true means a key that is seen");
  CHECK(problems_of(R"({"attention":"decoder_layer","x":{"ones":[3,2]},"memory":{"ones":[2,2]},)"
                    R"("seed":1,"heads":1,"feed_forward":2,"parameters":{"init":"torch"},)"
                    R"("mask":{"causal":true},"memory_valid_lens":[[true,false]]})") ==
        "expected numbers of keys, found truths\n  where: doc.json, /memory_valid_lens\n"
        "  help:  write \"memory_mask\": {\"keep\": …} if true means a key that is seen");
}

TEST_CASE("a layout that makes heads of the positions is told") {
  const auto of = [](const std::string& shape, const std::string& layout) {
    return warned(R"("attention": "sdpa", "query": {"ones": )" + shape + ", " + layout + "}");
  };
  const std::string blhd = R"("layout": "BLHD")";
  CHECK(of("[1,8,128,16]", blhd) ==
        Warnings{"query is read as [1,128,8,16], 128 heads of 8 positions, by its \"layout\": if "
                 "the tensors are [B,H,L,D] already, leave \"layout\" out, and if it is right, "
                 "write \"transpose\": [0,2,1,3] in its place"});
  CHECK(of("[1,8,128,16]", R"("transpose": [0,2,1,3])").empty());
  CHECK(of("[1,8,128,16]", R"("layout": "BHLD")").empty());
  CHECK(of("[1,128,8,16]", blhd).empty());
  CHECK(of("[1,8,64,128]", blhd).empty());
  CHECK(of("[1,4,8,16]", blhd).empty());
  CHECK(of("[1,5,128,16]", blhd).empty());
}

TEST_CASE("a reshape in the place of a transpose is told") {
  const auto of = [](const std::string& view) {
    return warned(R"("attention": "sdpa", "query": {"ones": [2,6,4,8], )" + view + "}");
  };
  const auto told = [](const std::string& to, const std::string& order) {
    return Warnings{"query.reshape writes the numbers of [2,6,4,8] one after the other into " + to +
                    ", so that rows mix those of several: write \"transpose\": " + order +
                    " in its place if the axes are to change places"};
  };
  CHECK(of(R"("reshape": [2,4,6,8])") == told("[2,4,6,8]", "[0,2,1,3]"));
  CHECK(of(R"("reshape": [2,4,-1,8])") == told("[2,4,6,8]", "[0,2,1,3]"));
  CHECK(
      warned(R"("attention": "sdpa", "query": {"ones": [2,4,6,8], "reshape": [2,4,6,8]})").empty());
  CHECK(of(R"("reshape": [2,3,8,8])").empty());
  CHECK(of(R"("reshape": [12,4,8])").empty());
  // An axis of one has no numbers to mix.
  CHECK(warned(R"("attention": "sdpa", "query": {"ones": [1,3,4], "reshape": [3,1,4]})").empty());
}

TEST_CASE("rates of linear attention above 0 are told to be logarithms") {
  const auto of = [](const std::string& rate) {
    return warned("[3,2]", "[3,2]",
                  R"("linear_attention": {"decay": {"full": [3,1], "value": )" + rate + "}}");
  };
  const std::string grows =
      ": a rate above 0 makes the state grow, since the factor of a token is e to its power";
  CHECK(of("0.9") == Warnings{"linear_attention.decay holds 0.9" + grows +
                              "; write -0.105361, the natural logarithm, for a factor of 0.9"});
  CHECK(of("2") == Warnings{"linear_attention.decay holds 2" + grows});
  CHECK(of("0").empty());
  CHECK(of("-0.1").empty());
}

TEST_CASE("parameters of decoder layers in an encoder layer are told") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> tensors;
  const auto add = [&](const std::string& name, const attn::Shape& shape) {
    tensors.push_back(
        {name, attn::Tensor(shape, std::vector<float>(attn::element_count(shape), 1))});
  };
  for (const char* attention : {"self_attn.", "multihead_attn."}) {
    add(std::string(attention) + "in_proj_weight", {6, 2});
    add(std::string(attention) + "out_proj.weight", {2, 2});
  }
  add("linear1.weight", {3, 2});
  add("linear2.weight", {2, 3});
  for (const char* norm : {"norm1", "norm2", "norm3"}) {
    add(norm + std::string(".weight"), {2});
    add(norm + std::string(".bias"), {2});
  }
  folder.write("decoder.npz", attn::npz_bytes(tensors));
  const std::string with_file =
      R"("heads": 1, "x": {"ones": [2,2]}, "parameters": {"file": "decoder.npz"}, "attention": )";
  CHECK(warned(with_file + "\"encoder_layer\"", folder.path()) ==
        Warnings{"the parameters are those of decoder layers: multihead_attn.in_proj_weight has no "
                 "part in an encoder_layer; \"attention\": \"decoder_layer\", with a \"memory\", "
                 "computes all of them"});
  CHECK(
      warned(with_file + R"("decoder_layer", "memory": {"ones": [2,2]}, "mask": {"causal": true})",
             folder.path())
          .empty());
}

TEST_CASE("more layers than the parameters hold are refused with their number") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> tensors;
  for (const char* layer : {"layers.0.", "layers.1."}) {
    const auto add = [&](const std::string& name, const attn::Shape& shape) {
      tensors.push_back(
          {layer + name, attn::Tensor(shape, std::vector<float>(attn::element_count(shape), 1))});
    };
    add("self_attn.in_proj_weight", {6, 2});
    add("linear1.weight", {3, 2});
    add("linear2.weight", {2, 3});
  }
  folder.write("two.npz", attn::npz_bytes(tensors));
  CHECK(problems_of(R"({"attention":"encoder_layer","heads":1,"layers":6,"x":{"ones":[2,2]},)"
                    R"("parameters":{"file":"two.npz"}})",
                    folder.path()) ==
        "the parameters hold 2 layers, and \"layers\" is 6\n  where: doc.json, /layers\n"
        "  help:  write \"layers\": 2");
}

TEST_CASE("padding that is written into sequences of tokens is told to be seen") {
  const auto of = [](const std::string& tokens, const std::string& pad = "",
                     const std::string& more = "") {
    return warned(R"("attention": "sdpa", "tokens": )" + tokens +
                  R"(, "embedding": {"vocabulary": ["<pad>","the","cat"],
                  "table": [[1,0],[0,1],[1,1]])" +
                  pad + "}" + more);
  };
  const std::string leave =
      "leave it out at the ends of sequences: shorter ones are padded, and that padding is hidden";
  CHECK(of(R"([["the","cat"],["the","<pad>"]])") ==
        Warnings{"tokens ends a sequence with \"<pad>\", which is seen as any other token: write "
                 "\"pad\": \"<pad>\" in the embedding, and " +
                 leave});
  const Warnings told{"tokens ends a sequence with the pad token \"<pad>\", which is seen there: " +
                      leave};
  CHECK(of(R"([["the","cat"],["the","<pad>"]])", R"(, "pad": "<pad>")") == told);
  CHECK(of(R"(["the","<pad>"])", R"(, "pad": 0)") == told);
  CHECK(of(R"([["the","cat"],["the"]])", R"(, "pad": "<pad>")").empty());
  CHECK(of(R"([["the","cat"],["the","<pad>"]])", "", R"(, "valid_lens": [2,1])").empty());
  CHECK(
      of(R"([["the","cat"],["the","<pad>"]])", "", R"(, "mask": {"keep": [[1,1],[1,0]]})").empty());
  CHECK(of(R"([["<pad>","the"]])").empty());
}

TEST_CASE("a slice that leaves three positions may be of the wrong axis of a fused tensor") {
  const auto of = [](const std::string& sizes, const std::string& slice) {
    return warned(R"("attention": "sdpa", "query": {"ones": )" + sizes + R"(, "slice": ")" + slice +
                  R"(", "layout": "BLHD"})");
  };
  CHECK(of("[2,6,3,4,16]", "[:, 1]") ==
        Warnings{"the slice \"[:, 1]\" leaves 3 positions to query: if the file is [B,L,3,H,D], "
                 "write \"slice\": \":, :, 1\" there, and likewise in key and value"});
  CHECK(of("[2,6,3,4,16]", ":, :, 1").empty());
  CHECK(of("[2,3,3,4,16]", ":, :, 1").empty());
  CHECK(of("[2,3,6,4,16]", ":, 1").empty());
}

TEST_CASE("a table of pages that ends with page 0 may be filled up with it") {
  const auto of = [](const std::string& members) { return warned("[2,1,2]", "[4,3,2]", members); };
  CHECK(of(R"("block_table": [[1,2],[3,0]])") ==
        Warnings{"block_table ends with page 0 in sample 1, whose keys are read: if it fills the "
                 "row up, write -1 in its place, or give \"valid_lens\""});
  CHECK(of(R"("block_table": [[1,2],[3,0]], "valid_lens": [6,3])").empty());
  CHECK(of(R"("block_table": [[1,2],[3,-1]])").empty());
  CHECK(of(R"("block_table": [[0,2],[3,1]])").empty());
  CHECK(of(R"("block_table": [[0],[0]])").empty());
}

TEST_CASE("pages whose heads may stand before their keys are told") {
  const auto of = [](const std::string& pages, const std::string& members = "") {
    return warned("[2,32,1,4]", pages, R"("block_table": [[0,1],[2,3]])" + members);
  };
  CHECK(of("[6,8,16,4]") ==
        Warnings{"the pages of key are read as [N,P,H,D], 8 keys of 16 heads: write \"layout\": "
                 "\"BHLD\" into key and value if their pages are [N,H,P,D], and \"layout\": "
                 "\"BLHD\" if it is right"});
  CHECK(of("[6,8,16,4]", R"(, "valid_lens": [16,14])").size() == 1);
  CHECK(of("[6,16,8,4]").empty());
  CHECK(of("[6,1,16,4]").empty());
  CHECK(of("[6,4,8,4]").empty());
  for (const char* layout : {"BHLD", "BLHD"}) {
    CAPTURE(layout);
    CHECK(of(std::string("[6,8,16,4], \"layout\": \"") + layout + '"').empty());
  }
}

TEST_CASE("what is doubtful is told without computing too") {
  CHECK(checked(R"({"attention":"sdpa","seed":1,"query":{"randn":[2,128,8,64]}})") ==
        Warnings{"query [2,128,8,64] is read as [B,H,L,D], 128 heads of 8 positions: if it is "
                 "[B,L,H,D], write \"layout\": \"BLHD\" in query, key and value, and \"layout\": "
                 "\"BHLD\" if it is right"});
  CHECK(checked(R"({"attention":"sdpa","query":[[1,0],[0,1]],"key":[[1,0],[0,1],[1,1]],)"
                R"("value":[[1],[2],[3]],"mask":{"causal":true}})") ==
        Warnings{"mask.causal with 2 queries and 3 keys: the last query sees the first 2 keys; "
                 "write \"align\": \"lower_right\" if it stands at the last key, as with a cache, "
                 "or \"align\": \"upper_left\" if it is right"});
  // Of parts with a problem nothing is told.
  CHECK(checked(R"({"attention":"sdpa","query":[[1,0],[0,1]],"mask":{"keep":[[1,2]]}})").empty());
}

TEST_CASE("a key that is taken as the value that is not given is told") {
  const auto told = [](const std::string& form) {
    return Warnings{"\"key\" is the value too, as \"value\" is not given: write \"value\": " +
                    form + ", or the same as \"key\" if that is meant"};
  };
  const std::string rows = R"("query": [[1,2]], "key": [[3,4]])", sdpa = R"("attention": "sdpa", )";
  CHECK(warned(sdpa + rows) == told("[[…]]"));
  CHECK(warned(R"("attention": "dot_product", )" + rows) == told("[[…]]"));
  const TemporaryFolder folder;
  const attn::Tensor tensor({1, 2}, std::vector<float>{3, 4});
  folder.write("k.npy", attn::npy_bytes(tensor));
  folder.write("qk.npz", attn::npz_bytes(std::vector<attn::NamedTensor>{{"k", tensor}}));
  CHECK(warned(sdpa + R"("query": [[1,2]], "key": {"file": "k.npy"})", folder.path()) ==
        told(R"({"file": "…"})"));
  CHECK(warned(sdpa + R"("query": [[1,2]], "key": {"file": "qk.npz", "name": "k"})",
               folder.path()) == told(R"({"file": "…", "name": "…"})"));
  CHECK(warned(sdpa + rows + R"(, "value": [[3,4]])").empty());
  CHECK(warned(sdpa + R"("query": [[1,2]])").empty());
  CHECK(warned(sdpa + R"("query": {"ones": [1,2]}, "key": {"ones": [1,2]})").empty());
  const std::string drawn = R"("seed": 1, "parameters": {"init": "torch"}, )";
  CHECK(warned(R"("attention": "cross", )" + drawn + rows).empty());
  CHECK(warned(R"("attention": "cross", "x": [[1,2]], "memory": [[3,4]], )" +
               drawn.substr(0, drawn.size() - 2))
            .empty());
}

TEST_CASE("a file of four axes without the layout of the tensors beside it is told") {
  const TemporaryFolder folder;
  folder.write("q.npy", attn::npy_bytes(attn::Tensor({1, 2, 2, 1}, {1.0, 2.0, 3.0, 4.0})));
  folder.write("token.npy", attn::npy_bytes(attn::Tensor({1, 2, 1, 1}, {1.0, 2.0})));
  const auto of = [&](const std::string& query, const std::string& file = "q.npy") {
    return warned(R"("attention": "sdpa", "query": {"file": ")" + file + '"' + query +
                      R"(}, "key": {"file": "q.npy", "layout": "BLHD"})" +
                      R"(, "value": {"file": "q.npy", "layout": "BLHD"})",
                  folder.path());
  };
  CHECK(of("") ==
        Warnings{"query is read as [B,H,L,D], but key has \"layout\": \"BLHD\": write that into "
                 "query too, or \"layout\": \"BHLD\" if it is right"});
  CHECK(of(R"(, "layout": "BHLD")").empty());
  // One token of two heads has no other reading.
  CHECK(of("", "token.npy").empty());
}

TEST_CASE("queries of one sample over the pages of several are told") {
  const auto of = [](const std::string& query, const std::string& members) {
    return warned(query, "[4,3,1,2]", members);
  };
  const std::string tables = R"("block_table": [[1,2],[3,-1]])";
  CHECK(of("[1,1,5,2]", tables) ==
        Warnings{"the 2 rows of block_table share the queries of one sample"});
  CHECK(of("[1,1,2,2]", tables) ==
        Warnings{"the 2 rows of block_table share the queries of one sample; if each has a query "
                 "of its own, write \"reshape\": [2,1,1,2], \"layout\": \"BLHD\" into the "
                 "query"});
  CHECK(of("[2,1,1,2]", tables).empty());
}

TEST_CASE(
    "queries of one token in each sample, which have no axis of length, are told their view") {
  const auto of = [](const std::string& layout) {
    return R"({"attention": "sdpa", "query": {"ones": [2,4,8])" + layout +
           R"(}, "key": {"ones": [2,2,6,8]}, "value": {"ones": [2,2,6,8]}})";
  };
  CHECK(problems_of(of("")) ==
        "query [2,4,8] and key [2,2,6,8] have different numbers of axes\n  where: doc.json, /key\n"
        "  help:  write \"reshape\": [2,4,1,8] into the query if it is [B,H,D], a token of each "
        "sample");
  // Of other widths it is another mistake.
  CHECK(problems_of(R"({"attention": "sdpa", "query": {"ones": [2,4,8]},
                        "key": {"ones": [2,2,6,4]}})")
            .ends_with("help:  give both the same number of axes"));
  CHECK(checked(of(R"(, "layout": "LHD")")) ==
        Warnings{"query is read as [1,4,2,8] by its \"layout\", 2 tokens of one sample, which the "
                 "2 samples of the key share: if each has a token of its own, write \"reshape\": "
                 "[2,4,1,8] instead of the layout"});
  CHECK(checked(of(R"(, "reshape": [2,4,1,8])")).empty());
}

TEST_CASE("whole numbers of 16 bits that are those of bfloat16 numbers are told") {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  for (const std::string type : {"int16", "uint16"}) {
    // 1, -2, 0.5 and 3, the lower byte first.
    const std::string header =
        "{'descr': '<"s + type[0] + "2', 'fortran_order': False, 'shape': " + "(2, 2)}" + "\n";
    const auto size = static_cast<char>(header.size());
    folder.write("q.npy",
                 "\x93NUMPY\x01\0"s + size + '\0' + header + "\x80\x3f\0\xc0\0\x3f\x40\x40"s);
    CHECK(warned(R"("attention": "sdpa", "query": {"file": "q.npy"})", folder.path()) ==
          Warnings{"query has the type " + type +
                   " and looks like the bits of bfloat16 numbers: write the numbers with "
                   "tensor.float().numpy(), or the tensor as bfloat16 into .safetensors or .pt"});
  }
}
