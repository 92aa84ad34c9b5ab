#include "document/document.hpp"

#include <array>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/document_problems.hpp"
#include "temporary_folder.hpp"

namespace {

// What is said of a file of tensors [2,2] of these names that is given in the place of a document.
std::string problems_of_tensors(const std::vector<std::string>& names) {
  std::vector<attn::NamedTensor> tensors;
  for (const std::string& name : names) {
    tensors.push_back({name, attn::Tensor({2, 2}, std::vector<float>{1, 2, 3, 4})});
  }
  const TemporaryFolder folder;
  const auto file = folder.write("qkv.npz", attn::npz_bytes(tensors));
  const attn::Validation found = attn::validate(file);
  std::string all;
  for (const attn::Error& problem : found.problems) all += std::string(problem.what()) + "\n";
  const std::string place = file.string();
  for (std::size_t at; (at = all.find(place)) != all.npos;)
    all.replace(at, place.size(), "qkv.npz");
  return all;
}

// A sound document of two queries and keys of width 2, with more members.
std::string with(const std::string& members) {
  return R"({"attention":"sdpa","query":[[1,2],[3,4]])" + (members.empty() ? "" : "," + members) +
         "}";
}

}  // namespace

TEST_CASE("a sound document has no problems") {
  CHECK(problems_of(with("")).empty());
  CHECK(
      problems_of(
          with(R"("mask":{"causal":true},"valid_lens":[2],"scale":0.5,"labels":{"key":["a","b"]})"))
          .empty());
}

TEST_CASE("a file of tensors by the names of keys is a document") {
  CHECK(problems_of_tensors({"query", "key", "value"}).empty());
  CHECK(problems_of_tensors({"value", "key", "past_key", "past_value", "query"}).empty());
  const std::string cure =
      "  where: qkv.npz\n"
      "  help:  save it with the names query, key and value, as numpy.savez(\"qkv.npz\", query=q, "
      "key=k, value=v) does, or name its tensors in a document: \"query\": {\"file\": …, \"name\": "
      "…}; attn-cli plot, show and view draw maps that exist\n";
  CHECK(problems_of_tensors({"q", "out", "v"}) ==
        "this file of tensors is not a document: it has no tensor \"query\"\n" + cure);
  for (const auto& [query, key, value] : {std::array<std::string, 3>{"q", "k", "v"},
                                          {"q_proj", "k_proj", "v_proj"},
                                          {"query_states", "key_states", "value_states"}}) {
    CHECK(problems_of_tensors({value, query, "scale", key}) ==
          "this file of tensors is not a document: it has no tensor \"query\"\n"
          "  where: qkv.npz\n"
          "  help:  name its tensors in a document: {\"attention\": \"scaled_dot_product\", "
          "\"query\": {\"file\": \"qkv.npz\", \"name\": \"" +
              query + "\"}, \"key\": {\"file\": \"qkv.npz\", \"name\": \"" + key +
              "\"}, \"value\": {\"file\": \"qkv.npz\", \"name\": \"" + value + "\"}}\n");
  }
  CHECK(problems_of_tensors({"query", "key"}) ==
        "this file of tensors is not a document: it has no tensor \"value\"\n" + cure);
  CHECK(problems_of_tensors({"query", "key", "value", "mask"}) ==
        "this file does not say what its tensor \"mask\" means\n"
        "  where: qkv.npz\n"
        "  help:  call it attention_mask where 1 is a key that is seen, or name it in a document: "
        "\"mask\": {\"block\": {\"file\": …, \"name\": …}}\n");
  CHECK(problems_of_tensors({"query", "key", "value", "valeu"}) ==
        "unknown key \"valeu\"\n  where: qkv.npz, /valeu\n  help:  leave it out if \"value\" is "
        "meant, which is given too\n");
  for (const std::string stray : {"output", "is_causal", "softmax_lse"}) {
    CHECK(problems_of_tensors({"query", "key", "value", stray}) ==
          "nothing reads \"" + stray +
              "\" in this file\n"
              "  where: qkv.npz\n"
              "  help:  leave it out of the file and give options apart, such as "
              "DocumentOptions::causal and DocumentOptions::scale, or name the file's tensors in a "
              "document: \"query\": {\"file\": …, \"name\": …}\n");
  }
}

TEST_CASE("malformed JSON is refused with line and column") {
  CHECK(problems_of("{\"attention\": \"sdpa\",\n \"query\": [[1,2],]}") ==
        "not valid JSON: expected a value, found ']'\n"
        "  where: doc.json, line 2, column 18\n"
        "  help:  remove the comma before ']'");
}

TEST_CASE("a document that is no object is refused") {
  CHECK(problems_of("[1]") ==
        "an input document is an object, but this is an array\n"
        "  where: doc.json\n"
        "  help:  write {\"attention\": …, \"query\": …}");
}

TEST_CASE("an unknown key names the nearest known one") {
  CHECK(problems_of(with(R"("valid_len":[1])")) ==
        "unknown key \"valid_len\"\n"
        "  where: doc.json, /valid_len\n"
        "  help:  did you mean \"valid_lens\"?");
}

TEST_CASE("an unknown kind names the nearest known one") {
  CHECK(problems_of(R"({"attention":"scaled_dot_prodct","query":[[1]]})") ==
        "unknown kind of attention \"scaled_dot_prodct\"\n"
        "  where: doc.json, /attention\n"
        "  help:  did you mean \"scaled_dot_product\"?");
}

TEST_CASE("a ragged array is refused at its first odd row") {
  CHECK(problems_of(R"({"attention":"sdpa","query":[[[1,2],[3,4]],[[1,2],[3]]]})") ==
        "row 1 has 1 number, but the rows before it have 2\n"
        "  where: doc.json, /query/1/1\n"
        "  help:  give all rows of a tensor the same length");
}

TEST_CASE("shapes that do not fit are both named") {
  CHECK(problems_of(with(R"("key":[[1,2,3]])")) ==
        "query [2,2] and key [1,3] have different widths: 2 and 3\n"
        "  where: doc.json, /key\n"
        "  help:  give both the same width; \"general\" and \"additive\" attention compare "
        "different ones");
}

TEST_CASE("a valid length beyond the keys is refused with its place") {
  CHECK(problems_of(with(R"("valid_lens":[3])")) ==
        "the valid length 3 is not between 0 and 2\n"
        "  where: doc.json, /valid_lens/0\n"
        "  help:  give the number of leading keys that are valid");
}

TEST_CASE("a mask that does not broadcast is refused with both shapes") {
  CHECK(problems_of(with(R"("mask":{"allow":[[1,1,1]]})")) ==
        "allow [1,3] does not broadcast against the weights [2,2]\n"
        "  where: doc.json, /mask/allow\n"
        "  help:  each axis, counted from the last, must be 1 or that of the weights");
}

TEST_CASE("a random tensor without a seed is refused") {
  CHECK(problems_of(R"({"attention":"sdpa","query":{"randn":[2,2]}})") ==
        "a random tensor needs a seed\n"
        "  where: doc.json, /query/randn\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
}

TEST_CASE("a number that must be finite is refused otherwise") {
  CHECK(problems_of(with(R"("scale":"nan")")) ==
        "\"nan\" is not a finite number\n"
        "  where: doc.json, /scale\n"
        "  help:  give a finite number");
}

TEST_CASE("axes of size zero and shapes that overflow are refused before anything is allocated") {
  CHECK(problems_of(R"({"attention":"sdpa","query":{"zeros":[0,2]}})") ==
        "the number 0 is not a size\n"
        "  where: doc.json, /query/zeros/0\n"
        "  help:  give whole numbers from 1 to 2^53");
  CHECK(
      problems_of(R"({"attention":"sdpa","query":{"zeros":[4294967296,4294967296,4294967296]}})") ==
      "the shape [4294967296,4294967296,4294967296] has more elements than memory can address\n"
      "  where: doc.json, /query/zeros\n"
      "  help:  check the shape for a misplaced digit");
}

TEST_CASE("a hundred thousand nested brackets are refused, not followed") {
  const std::string deep(100000, '[');
  CHECK(problems_of(R"({"attention":"sdpa","query":)" + deep) ==
        "arrays and objects are nested deeper than 512 levels\n"
        "  where: doc.json, /query/0/0/0/0/0/0/0/…\n"
        "  help:  look for brackets that are not closed, or raise the limit with Limits::nesting");
}

TEST_CASE("every problem is found, not only the first") {
  CHECK(problems_of(
            R"({"attention":"sdpa","query":[[1],[2,3]],"scale":"x","mask":{"casual":true}})") ==
        "expected a number, found a string\n"
        "  where: doc.json, /scale\n"
        "  help:  give a number\n"
        "\n"
        "row 1 has 2 numbers, but the row before it has 1\n"
        "  where: doc.json, /query/1\n"
        "  help:  give all rows of a tensor the same length\n"
        "\n"
        "unknown key \"casual\"\n"
        "  where: doc.json, /mask/casual\n"
        "  help:  did you mean \"causal\"?");
}

TEST_CASE("a key of another kind is refused") {
  CHECK(
      problems_of(R"({"attention":"softmax","scores":[[1]],"query":[[1]]})") ==
      "\"query\" has no meaning for softmax attention\n"
      "  where: doc.json, /query\n"
      "  help:  leave it out, or choose \"scaled_dot_product\", which computes the scores of query "
      "and key");
  CHECK(problems_of(R"({"attention":"softmax","scores":[[1]],"past_key":[[1]]})") ==
        "\"past_key\" has no meaning for softmax attention\n"
        "  where: doc.json, /past_key\n"
        "  help:  leave it out: softmax takes \"scores\" and, if wanted, \"value\"");
}

TEST_CASE("what stands in the place of scores is told apart from what they are computed of") {
  const std::string missing =
      "\n\nsoftmax attention has no scores\n"
      "  where: doc.json, /scores\n"
      "  help:  give \"scores\" of shape [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]";
  for (const std::string key : {"query", "key", "x"}) {
    CHECK(problems_of(R"({"attention":"softmax",")" + key + R"(":[[1]]})") ==
          "\"" + key +
              "\" has no meaning for softmax attention\n"
              "  where: doc.json, /" +
              key + "\n  help:  write \"scores\" in place of \"" + key + "\" if these are scores" +
              missing);
  }
  const std::string choose =
      "  help:  choose \"scaled_dot_product\", which computes the scores of query and key";
  CHECK(problems_of(R"({"attention":"softmax","query":[[1]],"key":[[1]]})") ==
        "\"query\" has no meaning for softmax attention\n"
        "  where: doc.json, /query\n" +
            choose +
            "\n\n\"key\" has no meaning for softmax attention\n"
            "  where: doc.json, /key\n" +
            choose + missing);
}

TEST_CASE("at most a thousand unknown keys are listed") {
  std::string members;
  for (int i = 0; i < 1500; ++i) members += R"("unknown_)" + std::to_string(i) + R"(":1,)";
  members.pop_back();
  const std::string problems = problems_of(with(members));
  CHECK(problems.find("unknown key \"unknown_999\"\n") != std::string::npos);
  CHECK(problems.find("unknown key \"unknown_1000\"\n") == std::string::npos);
  CHECK(problems.find("500 unknown keys more\n  where: doc.json\n  help:  see docs/documents.md") !=
        std::string::npos);
}

TEST_CASE("labels must fit the queries and keys") {
  CHECK(problems_of(with(R"("labels":{"query":["a"]})")) ==
        "1 label for 2 queries\n"
        "  where: doc.json, /labels/query\n"
        "  help:  give one label for each of the queries");
}

TEST_CASE("errors of overridden values name the flag") {
  attn::Document document = attn::Document::parse(with(""), "doc.json", {});
  attn::JsonValue lens;
  lens.data = attn::JsonValue::Array({attn::parse_json("5")});
  document.override_with("valid_lens", lens, "DocumentOptions::valid_lens");
  attn::Problems problems;
  const auto kinds = attn::read_kinds(document.root());
  attn::read_plan(document, kinds[0], kinds, problems);
  REQUIRE(problems.errors().size() == 1);
  CHECK(std::string(document.placed(problems.errors()[0]).what()) ==
        "the valid length 5 is not between 0 and 2\n"
        "  where: DocumentOptions::valid_lens\n"
        "  help:  give the number of leading keys that are valid");
}

TEST_CASE("a missing parameter is named with the shape it should have") {
  CHECK(problems_of(R"({"attention":"general","query":[[1,2]]})") ==
        "the parameter W is missing\n"
        "  where: doc.json, /parameters/W\n"
        "  help:  give it the shape [2,2]: the query is 2 wide, the key 2; for random numbers "
        "write \"parameters\": {\"W\": {\"randn\": [2,2]}}, \"seed\": 0");
}

namespace {

using attn::DocumentNames;
using attn::input_error;

std::string named(const DocumentNames& names, const std::string& problem, const std::string& where,
                  const std::string& help) {
  return names.named(input_error(problem, where, help)).what();
}

TEST_CASE("a tensor is renamed in its place and before its shape, nowhere else") {
  DocumentNames names;
  names.tensor("query", "x");
  names.tensor("key", "memory");
  CHECK(named(names, "query [2,3] and key [4] of a key, past_key [5]", "/key/1", "a query") ==
        "x [2,3] and memory [4] of a key, past_key [5]\n  where: /memory/1\n  help:  a query");
  CHECK(named(names, "wrong", "/keys", "") == "wrong\n  where: /keys");
}

TEST_CASE("a parameter is renamed where its name is a word of its own") {
  DocumentNames names;
  names.parameter("W_q.weight", "query.weight", "/parameters/self/query.weight");
  names.parameter("W_q.bias", "m.W_q.bias", "/parameters/file");
  CHECK(named(names, "W_q.weight is not self_attn.W_q.weight", "/parameters/W_q.weight",
              "see W_q.bias and W_q.weight") ==
        "query.weight is not self_attn.W_q.weight\n"
        "  where: /parameters/self/query.weight\n"
        "  help:  see m.W_q.bias and query.weight");
  CHECK(named(names, "wrong", "/parameters/W_q.bias", "") == "wrong\n  where: /parameters/file");
}

}  // namespace
