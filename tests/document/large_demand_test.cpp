#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "document/document.hpp"
#include "document/reader.hpp"

using namespace attn;

namespace {

std::string many_of(const std::string& part, std::size_t count) {
  std::string text;
  text.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

// The first line of each problem that validation finds, at most `most` of them.
std::string first_problems(const std::string& document, std::size_t most = 2) {
  const Validation found = validation_of("doc.json", {}, [&](const FileAccess& access) {
    return Document::parse(document, "doc.json", {}, access);
  });
  std::string all;
  for (std::size_t i = 0; i < std::min(most, found.problems.size()); ++i) {
    all += (i == 0 ? "" : "; ") + found.problems[i].problem().substr(0, 80);
  }
  return all;
}

}  // namespace

TEST_CASE("small documents that ask for much are refused by their sizes alone") {
  const std::string query = R"("query":[[1,0],[0,1]])";
  const std::string labels = many_of("\"\",", 500'000);
  struct Row {
    std::string document, problems;
  };
  for (const Row& row : {
           Row{R"({"attention":"sdpa","query":{"full":[31000,31000],"value":1}})",
               "the document asks for 2.88G elements in all, 961M to read and 1.92G "},
           {R"({"attention":"sdpa","query":{"ones":[1,1]},"labels":[)" + labels + R"(""]})",
            "500001 labels for 1 query and 1 key"},
           {R"({"attention":"sdpa",)" + query + R"(,"labels":{"query":[)" + labels + R"(""]}})",
            "500001 labels for 2 queries"},
           {R"({"attention":"sdpa","query":{"data":[1],"shape":[1,1],"reshape":[)" +
                many_of("1,", 500'000) + "1]}}",
            "the tensor has more than 32 axes"},
           {R"({"attention":"sdpa","query":{"data":[1],"shape":[1,1],"index":[)" +
                many_of("0,", 500'000) + "0]}}",
            "the tensor has more than 32 axes"},
           {R"({"attention":[)" + many_of("\"sdpa\",", 200'000) + R"("sdpa"],)" + query + "}",
            "the kind \"scaled_dot_product\" is given twice"},
           {R"({"attention":"encoder_layer","layers":1000000,"x":[[1,2]],"feed_forward":2,"seed":1,
                "parameters":{"init":"torch"}})",
            "layers is 1000000, but the maximum is 1"},
           {R"({"attention":"sdpa","query":{"ones":[100000,1]},"pool":{"size":40000}})",
            "the document asks for 3.2G elements in all, 100k to read and 3.2G "},
           {R"({"attention":"sdpa",)" + query + R"(,"zzz":[)" + many_of("[],", 300'000) + "1]}",
            "unknown key \"zzz\""},
           {R"({"attention":"sdpa",)" + query + R"(,"zzz":[)" + many_of("[\"a\",[0]],", 50'000) +
                "1]}",
            "unknown key \"zzz\""},
       }) {
    CAPTURE(row.document.substr(0, 100));
    CHECK(first_problems(row.document).substr(0, row.problems.size()) == row.problems);
  }
}

TEST_CASE("thousands of problems are listed, and further ones left out") {
  std::string keys;
  for (int i = 0; i < 3000; ++i) keys += "\"m" + std::to_string(i) + "\":0,";
  const Validation found = validation_of("doc.json", {}, [&](const FileAccess& access) {
    return Document::parse(
        R"({"attention":"sdpa","query":[[1,2]],"mask":{)" + keys + R"("causal":true}})", "doc.json",
        {}, access);
  });
  CHECK(found.problems.size() == 2000);
}

TEST_CASE("a step is not run where no further problem is kept") {
  Problems problems;
  while (!problems.is_full()) problems.add({ErrorKind::input, "one of many", "", ""});
  bool was_run = false;
  CHECK_FALSE(problems.attempt([&] { was_run = true; }));
  CHECK_FALSE(was_run);
}
