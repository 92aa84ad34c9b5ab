#include "document/token_reader.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "document/document_problems.hpp"
#include "run/run_document.hpp"

namespace {

using attn::Shape;
using attn::Tensor;
using attn::united_padding;

// A document of tokens for a kind without parameters; the table is the unit matrix.
std::string with_embedding(const std::string& sequences, const std::string& more = "") {
  return R"({"attention":"sdpa",)" + sequences +
         R"(,"embedding":{"vocabulary":["_","a","b","c"],"table":[[0,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]])" +
         more + "}}";
}

std::vector<std::int64_t> ids(const DocumentResult& result, const char* name = "token_ids") {
  const Tensor tensor = result.tensor(name).converted(attn::DType::int64);
  const auto numbers = tensor.values<std::int64_t>();
  return {numbers.begin(), numbers.end()};
}

using Labels = std::vector<std::string>;

TEST_CASE("tokens are found in the vocabulary and name queries and keys") {
  const DocumentResult result = run_document(with_embedding(R"("tokens":[["a","c"],["b","b"]])"));
  CHECK(ids(result) == std::vector<std::int64_t>{1, 3, 2, 2});
  CHECK(result.tensor("token_ids").shape() == Shape{2, 2});
  CHECK(result.tensor("embedded").shape() == Shape{2, 2, 4});
  CHECK(result.reports[0].weights[0].query_labels == Labels{"a", "c"});
  CHECK(result.reports[0].weights[0].key_labels == Labels{"a", "c"});
}

TEST_CASE("a bare sequence of tokens or ids has no batch axis") {
  const DocumentResult words = run_document(with_embedding(R"("tokens":["a","c","a"])"));
  CHECK(words.tensor("token_ids").shape() == Shape{3});
  CHECK(words.tensor("weights").shape() == Shape{3, 3});
  CHECK(words.bytes == run_document(with_embedding(R"("token_ids":[1,3,1])")).bytes);
}

TEST_CASE("labels of the document go before the tokens' own") {
  const DocumentResult result =
      run_document(with_embedding(R"("labels":{"query":["A","C"]},"tokens":["a","c"])"));
  CHECK(result.reports[0].weights[0].query_labels == Labels{"A", "C"});
  CHECK(result.reports[0].weights[0].key_labels == Labels{"A", "C"});
}

TEST_CASE("memory tokens are the keys, and name them") {
  const DocumentResult result =
      run_document(with_embedding(R"("tokens":["a","c"],"memory_tokens":["b","c","c"])"));
  CHECK(result.tensor("weights").shape() == Shape{2, 3});
  CHECK(ids(result, "memory_token_ids") == std::vector<std::int64_t>{2, 3, 3});
  CHECK(result.reports[0].weights[0].query_labels == Labels{"a", "c"});
  CHECK(result.reports[0].weights[0].key_labels == Labels{"b", "c", "c"});
}

TEST_CASE("embeddings are turned back into the tokens of the largest dot product") {
  const DocumentResult result = run_document(
      with_embedding(R"("tokens":[["a","c","b"],["b"]])", R"(,"pad":"_","recover":true)"));
  // The pad token's row is zero: its dot product with every row is the same, and the first counts.
  CHECK(ids(result, "recovered_ids") == std::vector<std::int64_t>{1, 3, 2, 2, 0, 0});
  CHECK(result.reports[0].recovered == Labels{"a c b", "b _ _"});
}

TEST_CASE("text is cut into the pieces of a vocabulary file") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\nsat\n##s\n");
  const std::string start = R"({"attention":"sdpa","tokenizer":{"wordpiece":"vocab.txt"},)"
                            R"("seed":1,"embedding":{"dimension":4,"init":"torch"},)";
  const DocumentResult result = run_document(start + R"("text":["Cats sat","sat"]})", folder);
  CHECK(ids(result) == std::vector<std::int64_t>{2, 4, 6, 5, 3, 2, 5, 3, 0, 0});
  CHECK(result.reports[0].weights[0].key_labels == Labels{"[CLS]", "cat", "##s", "sat", "[SEP]"});
  CHECK(result.tensor("allowed").shape() == Shape{2, 5, 5});
  CHECK(run_document(start + R"("text":"Cats sat"})", folder).tensor("weights").shape() ==
        Shape{5, 5});
}

TEST_CASE("an embedding without tokens is a warning") {
  const DocumentResult result =
      run_document(R"({"attention":"sdpa","query":[[1]],"embedding":{"table":[[1]]}})");
  REQUIRE(result.reports[0].warnings.size() == 1);
  CHECK(result.reports[0].warnings[0] == "\"embedding\" has no effect: the document has no tokens");
}

TEST_CASE("unknown tokens of several words are warned of with their words") {
  const auto warning = [](const std::string& sequences) {
    const auto result = run_document(with_embedding(sequences, R"(,"pad":"_","unknown":"c")"));
    REQUIRE(result.reports[0].warnings.size() == 1);
    return result.reports[0].warnings[0];
  };
  const std::string unknown = " is not in the vocabulary and counts as unknown: write ";
  CHECK(warning(R"("tokens":["a b","c a"])") ==
        "/tokens/0: the token \"a b\"" + unknown + "[\"a\", \"b\"]");
  CHECK(warning(R"("tokens":["c","a b"])") ==
        "/tokens/1: the token \"a b\"" + unknown + "\"a\", \"b\"");
  CHECK(warning(R"("tokens":[["c","a"],["a b"," ","c"]])") ==
        "/tokens/1/0: the token \"a b\"" + unknown + "\"a\", \"b\"");
}

TEST_CASE("tokens that are not known are refused at their place") {
  CHECK(
      problems_of(with_embedding(R"("tokens":["a","bb"])")) ==
      "token \"bb\" is not in the vocabulary\n"
      "  where: doc.json, /tokens/1\n"
      "  help:  known: \"_\", \"a\", \"b\", \"c\"; or name an \"unknown\" token in the embedding");
  CHECK(problems_of(with_embedding(R"("tokens":["a b c"])")) ==
        "token \"a b c\" is not in the vocabulary\n"
        "  where: doc.json, /tokens/0\n"
        "  help:  write [\"a\", \"b\", \"c\"]");
  CHECK(problems_of(with_embedding(R"("tokens":["a"],"memory_tokens":[["a"],["zzzz"]])")) ==
        "token \"zzzz\" is not in the vocabulary\n"
        "  where: doc.json, /memory_tokens/1/0\n"
        "  help:  known: \"_\", \"a\", \"b\", \"c\"; or name an \"unknown\" token in the "
        "embedding");
  CHECK(problems_of(with_embedding(R"("token_ids":[1,4])")) ==
        "token id 4 is not in 0…3\n"
        "  where: doc.json, /token_ids/1\n"
        "  help:  ids number the rows of the embedding table from 0");
  CHECK(problems_of(with_embedding(R"("token_ids":[[1,2],[1,4]])")) ==
        "token id 4 is not in 0…3\n"
        "  where: doc.json, /token_ids/1/1\n"
        "  help:  ids number the rows of the embedding table from 0");
  CHECK(problems_of(with_embedding(R"("token_ids":[-1])")) ==
        "expected a whole number of at least 0, found -1\n"
        "  where: doc.json, /token_ids/0\n"
        "  help:  give a whole number of at least 0");
}

TEST_CASE("sequences that are none are refused") {
  CHECK(problems_of(with_embedding(R"("tokens":[])")) ==
        "expected sequences of tokens, found an empty array\n"
        "  where: doc.json, /tokens\n"
        "  help:  give sequences of tokens");
  CHECK(problems_of(with_embedding(R"("tokens":[["a"],[]])")) ==
        "expected a sequence of tokens, found an empty array\n"
        "  where: doc.json, /tokens/1\n"
        "  help:  give a sequence of tokens");
  CHECK(problems_of(with_embedding(R"("tokens":["a",["b"]])")) ==
        "expected a string, found an array\n"
        "  where: doc.json, /tokens/1\n"
        "  help:  give a string");
  CHECK(problems_of(with_embedding(R"("tokens":[["a","b"],["a"]])")) ==
        "rows of 2 and of 1 tokens, and no pad token\n"
        "  where: doc.json, /tokens/1\n"
        "  help:  name a \"pad\" token in the embedding, or give rows of one length");
  CHECK(problems_of(with_embedding(R"("tokens":["a"],"token_ids":[1])")) ==
        "a sequence cannot be both \"tokens\" and \"token_ids\"\n"
        "  where: doc.json, /token_ids\n"
        "  help:  give one of them");
  CHECK(problems_of(with_embedding(R"("text":"a")")) ==
        "text needs a tokenizer\n"
        "  where: doc.json, /tokenizer\n"
        "  help:  add \"tokenizer\": {\"wordpiece\": \"vocab.txt\"}");
  // Neither the vocabulary nor hidden states are missing.
  CHECK(problems_of(R"({"attention":"self","seed":1,"text":"a","parameters":{"init":"torch"},)"
                    R"("embedding":{"dimension":4,"init":"torch"}})") ==
        "text needs a tokenizer\n"
        "  where: doc.json, /tokenizer\n"
        "  help:  add \"tokenizer\": {\"wordpiece\": \"vocab.txt\"}");
}

TEST_CASE("an embedding with missing members is refused") {
  const auto embedding = [](const std::string& members) {
    return problems_of(R"({"attention":"sdpa","tokens":["a"],"embedding":{)" + members + "}}");
  };
  const std::string vocabulary = R"("vocabulary":["_","a"])";
  CHECK(problems_of(R"({"attention":"sdpa","tokens":["a"]})") ==
        "tokens need an embedding to become hidden states\n"
        "  where: doc.json, /embedding\n"
        R"(  help:  add "embedding": {"vocabulary": […], "dimension": 8, "init": "torch"} and )"
        R"("seed": 1; learned rows are a "table" in place of "dimension" and "init")");
  CHECK(
      problems_of(R"({"attention":"sdpa","text":"the cat"})") ==
      "tokens need an embedding to become hidden states\n"
      "  where: doc.json, /embedding\n"
      R"(  help:  add "tokenizer": {"wordpiece": "vocab.txt"}, "embedding": {"dimension": 8, )"
      R"("init": "torch"} and "seed": 1; without a vocabulary file write "tokens": ["the", "cat"] )"
      R"(in place of the text, with "vocabulary": ["the", "cat"] in "embedding")");
  CHECK(embedding(R"("table":[[1],[2]])") ==
        "tokens need a vocabulary\n"
        "  where: doc.json, /embedding/vocabulary\n"
        "  help:  give a list of tokens or {\"file\": …}");
  CHECK(embedding(vocabulary) ==
        "the embedding has no table\n"
        "  where: doc.json, /embedding\n"
        "  help:  give \"table\" [V,E], or \"dimension\" and \"init\": \"torch\"");
  CHECK(embedding(vocabulary + R"(,"init":"torch")") ==
        "the embedding has no dimension\n"
        "  where: doc.json, /embedding/dimension\n"
        "  help:  give \"dimension\", the width of its rows");
  CHECK(embedding(R"("init":"torch","dimension":4)") ==
        "the embedding has no vocabulary\n"
        "  where: doc.json, /embedding/vocabulary\n"
        "  help:  give \"vocabulary\", a list of tokens or {\"file\": …}: it determines how many "
        "rows to draw");
  CHECK(embedding(vocabulary + R"(,"init":"torch","dimension":4)") ==
        "the initialization needs a seed\n"
        "  where: doc.json, /embedding/init\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2]],"init":"torch")") ==
        "a table cannot be both given and drawn\n"
        "  where: doc.json, /embedding\n"
        "  help:  leave out \"table\" or \"init\"");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2]],"dimension":3)") ==
        "the dimension is not that of the table [2,1]\n"
        "  where: doc.json, /embedding/dimension\n"
        "  help:  leave it out: it follows from the table's second axis");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2],[3]])") ==
        "the embedding table [3,1] has 3 rows for 2 tokens\n"
        "  where: doc.json, /embedding/table\n"
        "  help:  give one row per token of the vocabulary");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2]],"position":"sinusoid")") ==
        "unknown position \"sinusoid\"\n"
        "  where: doc.json, /embedding/position\n"
        "  help:  did you mean \"sinusoidal\"?");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2]],"pad":"<p>")") ==
        "token \"<p>\" is not in the vocabulary\n"
        "  where: doc.json, /embedding/pad\n"
        "  help:  known: \"_\", \"a\"; else add it to the vocabulary");
  CHECK(embedding(vocabulary + R"(,"table":[[1],[2]],"unknown":2)") ==
        "the table [2,1] has no row 2\n"
        "  where: doc.json, /embedding/unknown\n"
        "  help:  give an id from 0 to 1");
  CHECK(embedding(R"("vocabulary":["a","b","a"],"table":[[1],[2],[3]])") ==
        "the vocabulary holds \"a\" twice: at 0 and 2\n"
        "  where: doc.json, /embedding/vocabulary/2\n"
        "  help:  give every token one id: remove one of the two");
}

TEST_CASE("a vocabulary other than the tokenizer's is refused") {
  const TemporaryFolder folder;
  folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\n");
  const auto with_vocabulary = [&](const std::string& vocabulary) {
    return problems_of(R"({"attention":"sdpa","seed":1,"text":"cat","tokenizer":{"wordpiece":)"
                       R"("vocab.txt"},"embedding":{"dimension":2,"init":"torch","vocabulary":)" +
                           vocabulary + "}}",
                       folder.path());
  };
  CHECK(with_vocabulary(R"({"file":"vocab.txt"})").empty());
  CHECK(with_vocabulary(R"(["cat","dog"])") ==
        "the vocabulary is not that of the tokenizer\n"
        "  where: doc.json, /embedding/vocabulary\n"
        "  help:  leave it out: the tokenizer brings its own");
}

Tensor flags(Shape shape, std::vector<std::uint8_t> elements) {
  return {std::move(shape), std::move(elements)};
}

TEST_CASE("padding of the document and of the tokens hold together") {
  const Tensor tokens = flags({2, 3}, {0, 0, 1, 0, 0, 0});
  const auto is = [](const Tensor& tensor, const Shape& shape,
                     const std::vector<std::uint8_t>& wanted) {
    const auto found = tensor.values<std::uint8_t>();
    return tensor.shape() == shape &&
           std::vector<std::uint8_t>(found.begin(), found.end()) == wanted;
  };
  CHECK(is(united_padding({}, tokens, 0), {2, 3}, {0, 0, 1, 0, 0, 0}));
  CHECK(is(united_padding({}, tokens, 2), {2, 5}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0}));
  CHECK(
      is(united_padding(flags({2, 3}, {1, 0, 0, 0, 1, 0}), tokens, 0), {2, 3}, {1, 0, 1, 0, 1, 0}));
  CHECK(is(united_padding(flags({1, 3}, {1, 0, 0}), tokens, 0), {2, 3}, {1, 0, 1, 1, 0, 0}));
  CHECK(is(united_padding(flags({3}, {0, 1, 0}), flags({3}, {0, 0, 1}), 0), {3}, {0, 1, 1}));
  // A padding that does not fit is left for the mask's own check.
  CHECK(is(united_padding(flags({4}, {0, 1, 0, 1}), tokens, 0), {4}, {0, 1, 0, 1}));
  CHECK(is(united_padding(flags({1, 3}, {1, 0, 0}), {}, 0), {1, 3}, {1, 0, 0}));
}

}  // namespace
