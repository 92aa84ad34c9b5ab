#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "document/document.hpp"
#include "document/document_problems.hpp"
#include "run/run_document.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string x = R"("x":{"rand":[2,3,4],"seed":9})";
const std::string memory = R"("memory":{"rand":[2,5,4],"seed":8})";
const std::string init = R"("seed":1,"parameters":{"init":"torch"})";

std::string document(const std::string& kind, const std::vector<std::string>& members) {
  std::string text = R"({"attention":)" + (kind[0] == '[' ? kind : "\"" + kind + "\"");
  for (const std::string& member : members) text += "," + member;
  return text + "}";
}

TEST_CASE("with a list each kind runs as if it were alone, with memory for those that need it") {
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
        run_document(document("multi_head", {x, init, shared[3], shared[5], shared[6], shared[7]}))
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
  const DocumentResult named = run_document(document("multi_head", {x, init, R"("heads":1)"}));
  for (const char* name : {"weights", "output"}) {
    CAPTURE(name);
    const auto a = one.tensor(name), b = named.tensor(name);
    CHECK(std::vector<float>(a.values<float>().begin(), a.values<float>().end()) ==
          std::vector<float>(b.values<float>().begin(), b.values<float>().end()));
  }
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
  CHECK(problems_of(document("transformer", {x, init, R"("feed_forward":4)"})) ==
        "a decoder layer has no memory\n  where: doc.json, /memory\n"
        "  help:  give the source's states, which the encoder layers read, [L,E] or [B,L,E]; "
        "without a source choose \"encoder_layer\"");
}

TEST_CASE("keys that mean nothing to a kind are refused") {
  CHECK(problems_of(document("self", {x, memory, init})) ==
        "\"memory\" has no meaning for self attention\n  where: doc.json, /memory\n"
        "  help:  leave it out, or choose a kind that takes it: \"cross\", \"multi_head\", "
        "\"decoder_layer\", \"transformer\"");
  CHECK(problems_of(document("cross", {x, memory, R"("memory_valid_lens":[3,5])", init})) ==
        "\"memory_valid_lens\" has no meaning for cross attention\n"
        "  where: doc.json, /memory_valid_lens\n"
        "  help:  write \"valid_lens\": where \"memory\" is given, it is about the memory's keys");
  CHECK(problems_of(document("self", {x, R"("memory_valid_lens":[3,5])", init})) ==
        "\"memory_valid_lens\" has no meaning for self attention\n"
        "  where: doc.json, /memory_valid_lens\n"
        "  help:  leave it out, or choose a kind that takes it: \"decoder_layer\", "
        "\"transformer\"");
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
        "  where: doc.json, /feed_forward\n  help:  leave it out: it follows from the parameters");
  CHECK(problems_of(document(
            "multi_head", {x, R"("heads":3)", R"("parameters":{"in_proj_weight":{"ones":[9,4]}})",
                           R"("kv_heads":2)"})) ==
        "in_proj_weight [9,4] cannot be split into query, key and value of 3 heads\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  give it a number of rows that is a multiple of 7: heads + 2·kv_heads parts of "
        "equal size");
  CHECK(
      problems_of(document(
          "multi_head",
          {x, R"("heads":4)", R"("kv_heads":3)",
           R"("parameters":{"W_q.weight":)"
           R"({"ones":[4,4]},"W_k.weight":{"ones":[3,4]},"W_v.weight":{"ones":[3,4]}})"})) ==
      "query has 4 heads, not a multiple of the 3 of key\n  where: doc.json, /kv_heads\n"
      "  help:  make the number of heads of query a multiple of that of key, or write \"layout\": "
      "\"BLHD\" beside each tensor [B,L,H,D]");
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

TEST_CASE("validation finds every problem of a document, with its pointer") {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "doc.json", R"({"attention":"sdpa","query":[[1,2],[3]],"scale":"x","heads":0,"maks":1})");
  const attn::Validation validations[] = {attn::validate(path)};
  const std::string name = path.string();
  CHECK(attn::validation_text(validations) ==
        name +
            ": 4 problems\n"
            "\n"
            "  unknown key \"maks\"\n"
            "    where: " +
            name +
            ", /maks\n"
            "    help:  did you mean \"mask\"?\n"
            "\n"
            "  expected a whole number of at least 1, found 0\n"
            "    where: " +
            name +
            ", /heads\n"
            "    help:  give a whole number of at least 1\n"
            "\n"
            "  expected a number, found a string\n"
            "    where: " +
            name +
            ", /scale\n"
            "    help:  give a number\n"
            "\n"
            "  row 1 has 1 number, but the row before it has 2\n"
            "    where: " +
            name +
            ", /query/1\n"
            "    help:  give all rows of a tensor the same length\n");
}

namespace {

// "where: what; help" of each problem.
std::vector<std::string> problems_in(const std::string& document) {
  const TemporaryFolder folder;
  const auto path = folder.write("doc.json", document);
  std::vector<std::string> told;
  for (const attn::Error& problem : attn::validate(path).problems) {
    told.push_back(problem.where().substr(path.string().size() + 2) + ": " + problem.problem() +
                   "; " + problem.help());
  }
  return told;
}

}  // namespace

TEST_CASE(
    "validation finds lengths, masks and labels that do not fit together with malformed numbers") {
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[3,2,2]},"valid_lens":[1,1],)"
                    R"("mask":{"allow":[[1,1,1]]},"labels":{"query":["a"]},"scale":"x"})") ==
        std::vector<std::string>{
            "/scale: expected a number, found a string; give a number",
            "/valid_lens: valid_lens [2] does not fit 3 samples of 2 queries; give one number per "
            "sample, [3], or one per query, [3,2]",
            "/mask/allow: allow [1,3] does not broadcast against the weights [3,2,2]; each axis, "
            "counted from the last, must be 1 or that of the weights",
            "/labels/query: 1 label for 2 queries; give one label for each of the queries"});
}

TEST_CASE("a malformed seed does not prevent the check of sizes, for all kinds") {
  for (const attn::KindInfo& kind : attn::kinds()) {
    CAPTURE(kind.name);
    std::string document = attn::example_document(kind.kind);
    const std::size_t seed = document.find("\"seed\":");
    if (seed == std::string::npos) {
      document.insert(1, "\"seed\":[1],");
    } else {
      document.replace(seed, document.find_first_of(",}", seed) - seed, "\"seed\":[1]");
    }
    CHECK(problems_in(document) ==
          std::vector<std::string>{"/seed: expected a number, found an array; give a number"});
  }
  CHECK(problems_in(R"({"attention":"self","seed":[1],"x":{"ones":[2,3,2]},"valid_lens":[9,1,2],)"
                    R"("labels":["a"],"parameters":{"init":"torch"}})") ==
        std::vector<std::string>{
            "/seed: expected a number, found an array; give a number",
            "/valid_lens: valid_lens [3] does not fit 2 samples of 3 queries; give one number per "
            "sample, [2], or one per query, [2,3]",
            "/labels: 1 label for 3 queries and 3 keys; give one label for each of them: "
            "{\"query\": […], \"key\": […]}"});
}

TEST_CASE("valid lengths of one sample do not count for several") {
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[3,2,2]},"valid_lens":[1]})") ==
        std::vector<std::string>{
            "/valid_lens: valid_lens [1] does not fit 3 samples; give one number per sample, [3]"});
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[1,2,2]},"valid_lens":[1]})").empty());
}

TEST_CASE(
    "tensors that are made or drawn for positions, biases and sinks are checked by their shapes") {
  CHECK(
      problems_in(R"({"attention":"sdpa","query":{"ones":[1,64,5000,4]},"seed":1,"weights":false,)"
                  R"("rotary":{"positions":{"arange":5000}},"sinks":{"randn":[64]},)"
                  R"("relative_bias":{"table":{"randn":[32,64]},"buckets":32,)"
                  R"("max_distance":128}})")
          .empty());
}

TEST_CASE("help for keys of other libraries and other forms of masks") {
  CHECK(problems_in(R"({"attention":"sdpa","query":[[1]],"num_heads":1,"is_causal":true,)"
                    R"("embed_dim":1})") ==
        std::vector<std::string>{
            "/num_heads: unknown key \"num_heads\"; write \"heads\"",
            "/is_causal: unknown key \"is_causal\"; write \"mask\": {\"causal\": true}",
            "/embed_dim: unknown key \"embed_dim\"; leave it out: the widths follow from the "
            "tensors"});
  CHECK(problems_in(R"({"attention":"sdpa","query":[[1]],"mask":"causal"})") ==
        std::vector<std::string>{
            "/mask: expected an object, found the name of one of its parts; write "
            "{\"causal\": true}"});
  CHECK(
      problems_in(R"({"attention":"sdpa","query":[[1]],"mask":[[1]]})") ==
      std::vector<std::string>{
          "/mask: expected an object, found an array; write {\"allow\": …} of 1 where a query sees "
          "a key, [Lq,Lk] or the weights' shape, {\"block\": …} of 1 where it does not, "
          "{\"bias\": …} of numbers that are added to the scores, or {\"keep\": …} of 1 for the "
          "keys of each sample, [B,Lk]"});
}

TEST_CASE("a problem quotes nothing of a document that a terminal obeys") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("doc.json", R"({"attention":"sdpa","query":[[1]],"\u001b[2J\u009b":1})");
  const attn::Validation validations[] = {attn::validate(path)};
  const std::string text = attn::validation_text(validations);
  CHECK(text.starts_with(path.string() +
                         ": 1 problem\n"
                         "\n"
                         "  unknown key \"\\x1b[2J\\x9b\"\n"
                         "    where: " +
                         path.string() + ", /\\x1b[2J\\x9b\n"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a problem of several kinds is listed once") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("doc.json", R"({"attention":["sdpa","dot_product"],"query":[[1],[2,3]]})");
  CHECK(attn::validate(path).problems.size() == 1);
}

TEST_CASE("a sound document is valid, and JSON says so with an empty list") {
  const TemporaryFolder folder;
  const auto path = folder.write("doc.json", R"({"attention":"sdpa","query":[[1,2]]})");
  const attn::Validation validations[] = {attn::validate(path)};
  CHECK(attn::validation_text(validations) == path.string() + ": valid\n");
  CHECK(attn::validation_json(validations) ==
        "[\n  {\n    \"input\": \"" + path.string() + "\",\n    \"problems\": []\n  }\n]\n");
}

TEST_CASE("a document that is not there is a problem of its file") {
  const attn::Validation validation = attn::validate("missing.json");
  REQUIRE(validation.problems.size() == 1);
  CHECK(validation.problems[0].kind() == attn::ErrorKind::file);
}

TEST_CASE("help for usual mistakes") {
  const TemporaryFolder folder;
  const auto help_for = [&](const std::string& document) {
    const attn::Validation validation = attn::validate(folder.write("slip.json", document));
    return validation.problems.empty() ? "valid" : validation.problems[0].help();
  };
  const std::string start = R"({"attention":"sdpa","query":[[1,2]],)";
  CHECK(help_for(start + R"("mask"：{"causal":true}})") ==
        "： is not punctuation of JSON: write :");
  CHECK(help_for(R"({"attention":"sdpa","query":[[1，2]]})") ==
        "， is not punctuation of JSON: write ,");
  CHECK(help_for(R"({“attention”:"sdpa"})") ==
        "“ is not punctuation of JSON: write the straight quote \"");
  CHECK(help_for(R"({"attention":"sdpa","query":"q.npy"})") ==
        "give nested arrays of numbers, such as [[1,2],[3,4]], or a file, {\"file\": …}");
  CHECK(help_for(start + R"("dropout":0.1})") ==
        "write {\"p\": …, \"training\": true}; without training nothing is dropped");
  for (const char* window : {"2", "[2]"}) {
    CHECK(help_for(start + R"("mask":{"window":)" + window + "}}") ==
          R"(write {"left": 2, "right": 2} for 2 keys before and 2 after a query, or )"
          R"({"left": 1, "right": 0} for a window of 2, which counts the query itself)");
  }
  for (const char* window : {"-1", "1.5", "[1,2,3]", R"("2")"}) {
    CHECK(help_for(start + R"("mask":{"window":)" + window + "}}") ==
          "write {\"left\": …, \"right\": …}, the keys seen before and after a query; -1 is all "
          "of them");
  }
  CHECK(help_for(start + R"("mask":{"window":[3,-1]}})") == R"(write {"left": 3, "right": -1})");
  CHECK(help_for(start + R"("valid_lens":3})") ==
        "give one number per sample, such as [3], or one per query");
  CHECK(help_for(start + R"("labels":"a b"})") ==
        "give {\"query\": […], \"key\": […]}, one list for both, or {\"file\": \"tokens.txt\"} "
        "with one label per line");
  CHECK(
      help_for(R"({"attention":"self","x":[[1,2,3]],"parameters":{"W_q.weight":[[1,2],[1,2],[1,2]],
    "W_k.weight":[[1,2],[1,2],[1,2]],"W_v.weight":[[1,2],[1,2],[1,2]]}})") ==
      "its second axis is the width of what it is applied to, [1,3]; weights that are multiplied "
      "as x·W come with \"transpose\": true beside their \"file\" or \"data\", and as nested "
      "arrays with their columns as rows");
}
