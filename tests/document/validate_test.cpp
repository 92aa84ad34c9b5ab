#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "temporary_folder.hpp"

TEST_CASE("every problem of a document is told, with its pointer") {
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

TEST_CASE("lengths, masks and labels that do not fit are told together, beside what is no number") {
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[3,2,2]},"valid_lens":[1,1],)"
                    R"("mask":{"allow":[[1,1,1]]},"labels":{"query":["a"]},"scale":"x"})") ==
        std::vector<std::string>{
            "/scale: expected a number, found a string; give a number",
            "/valid_lens: valid_lens [2] does not fit 3 samples of 2 queries; give one number a "
            "sample, [3], or one a query, [3,2]",
            "/mask/allow: allow [1,3] does not broadcast against the weights [3,2,2]; each axis, "
            "counted from the last, must be 1 or that of the weights",
            "/labels/query: 1 label for 2 queries; give one label for each of the queries"});
}

TEST_CASE("a seed that is no number leaves what is drawn with its sizes, for all kinds") {
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
            "/valid_lens: valid_lens [3] does not fit 2 samples of 3 queries; give one number a "
            "sample, [2], or one a query, [2,3]",
            "/labels: 1 label for 3 queries and 3 keys; give one label for each of them"});
}

TEST_CASE("valid lengths of one sample do not count for several") {
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[3,2,2]},"valid_lens":[1]})") ==
        std::vector<std::string>{
            "/valid_lens: valid_lens [1] does not fit 3 samples; give one number a sample, [3]"});
  CHECK(problems_in(R"({"attention":"sdpa","query":{"ones":[1,2,2]},"valid_lens":[1]})").empty());
}

TEST_CASE("what is made or drawn for positions, biases and sinks is checked by its shape alone") {
  CHECK(
      problems_in(R"({"attention":"sdpa","query":{"ones":[1,64,5000,4]},"seed":1,"weights":false,)"
                  R"("rotary":{"positions":{"arange":5000}},"sinks":{"randn":[64]},)"
                  R"("relative_bias":{"table":{"randn":[32,64]},"buckets":32,)"
                  R"("max_distance":128}})")
          .empty());
}

TEST_CASE("keys of other libraries and other ways to write a mask are told what to write") {
  CHECK(problems_in(R"({"attention":"sdpa","query":[[1]],"num_heads":1,"is_causal":true,)"
                    R"("embed_dim":1})") ==
        std::vector<std::string>{
            "/num_heads: unknown key \"num_heads\"; write \"heads\"",
            "/is_causal: unknown key \"is_causal\"; write \"mask\": {\"causal\": true}",
            "/embed_dim: unknown key \"embed_dim\"; leave it out: the tensors tell how wide they "
            "are"});
  CHECK(problems_in(R"({"attention":"sdpa","query":[[1]],"mask":"causal"})") ==
        std::vector<std::string>{
            "/mask: expected an object, found the name of one of its parts; write "
            "{\"causal\": true}"});
  CHECK(problems_in(R"({"attention":"sdpa","query":[[1]],"mask":[[1]]})") ==
        std::vector<std::string>{
            "/mask: expected an object, found an array; write {\"allow\": …} of 1 where a key is "
            "seen, {\"block\": …} of 1 where it is not, or {\"bias\": …} of numbers that are added "
            "to the scores"});
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

TEST_CASE("a problem that several kinds share is told once") {
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

TEST_CASE("usual slips are told with what to write instead") {
  const TemporaryFolder folder;
  const auto help_for = [&](const std::string& document) {
    const attn::Validation validation = attn::validate(folder.write("slip.json", document));
    return validation.problems.empty() ? "valid" : validation.problems[0].help();
  };
  const std::string start = R"({"attention":"sdpa","query":[[1,2]],)";
  CHECK(help_for(start + R"("mask"：{"causal":true}})") == "： is no punctuation of JSON: write :");
  CHECK(help_for(R"({"attention":"sdpa","query":[[1，2]]})") ==
        "， is no punctuation of JSON: write ,");
  CHECK(help_for(R"({“attention”:"sdpa"})") == "“ is no punctuation of JSON: write \"");
  CHECK(help_for(R"({"attention":"sdpa","query":"q.npy"})") ==
        "give nested arrays of numbers, such as [[1,2],[3,4]], or a file, {\"file\": …}");
  CHECK(help_for(start + R"("dropout":0.1})") ==
        "write {\"p\": …, \"training\": true}; without training nothing is dropped");
  CHECK(help_for(start + R"("mask":{"window":2}})") ==
        "write {\"left\": …, \"right\": …}, the keys seen before and after a query; -1 is all of "
        "them");
  CHECK(help_for(start + R"("valid_lens":3})") ==
        "give one number a sample, such as [3], or one a query");
  CHECK(
      help_for(start + R"("labels":"a b"})") ==
      "give {\"query\": […], \"key\": […]}, one list for both, or {\"file\": \"tokens.txt\"} with "
      "a label a line");
  CHECK(
      help_for(R"({"attention":"self","x":[[1,2,3]],"parameters":{"W_q.weight":[[1,2],[1,2],[1,2]],
    "W_k.weight":[[1,2],[1,2],[1,2]],"W_v.weight":[[1,2],[1,2],[1,2]]}})") ==
      "its second axis is the width of what it is applied to, [1,3]; weights that are multiplied "
      "as x·W come with \"transpose\": true");
}
