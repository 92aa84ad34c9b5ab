#include <string>

#include <doctest/doctest.h>

#include "document/document_problems.hpp"
#include "run/run_document.hpp"

// Keys and values of caches that are kept in pages.

namespace {

// Documents whose weights and outputs have the same bytes.
void check_same(const std::string& paged, const std::string& gathered) {
  CAPTURE(paged);
  const DocumentResult by_pages = run_document(paged), by_hand = run_document(gathered);
  for (const char* name : {"weights", "output", "lse"}) {
    CAPTURE(name);
    const attn::Tensor ours = by_pages.tensor(name), theirs = by_hand.tensor(name);
    REQUIRE(ours.shape() == theirs.shape());
    CHECK(std::equal(ours.values<float>().begin(), ours.values<float>().end(),
                     theirs.values<float>().begin()));
  }
}

}  // namespace

TEST_CASE("a block table gives the rows that gathering by hand gives") {
  // Three pages of two rows; samples of three and two pages.
  const std::string query = R"({"attention":"sdpa","query":[[[1,2]],[[3,-1]]],)";
  check_same(query + R"("key":[[[1,0],[2,0]],[[3,1],[4,1]],[[5,2],[6,2]]],
      "value":[[[1],[2]],[[3],[4]],[[5],[6]]],"block_table":[[2,0,1],[1,0,-1]],"valid_lens":[5,3]})",
             query + R"("key":[[[5,2],[6,2],[1,0],[2,0],[3,1],[4,1]],
      [[3,1],[4,1],[1,0],[2,0],[0,0],[0,0]]],
      "value":[[[5],[6],[1],[2],[3],[4]],[[3],[4],[1],[2],[0],[0]]],"valid_lens":[5,3]})");
  // Two heads in a page; without lengths the rows of absent pages are padding.
  const std::string heads = R"({"attention":"sdpa","query":[[[[1,2]],[[0,1]]]],)";
  check_same(heads + R"("key":[[[[1,0],[7,1]],[[2,0],[8,1]]],[[[3,0],[9,1]],[[4,0],[6,1]]]],
      "block_table":[1,0,-1]})",
             heads + R"("key":[[[[3,0],[4,0],[1,0],[2,0],[0,0],[0,0]],
      [[9,1],[6,1],[7,1],[8,1],[0,0],[0,0]]]],"mask":{"padding":[0,0,0,0,1,1]},
      "value":[[[[3,0],[4,0],[1,0],[2,0],[3,0],[4,0]],[[9,1],[6,1],[7,1],[8,1],[9,1],[6,1]]]]})");
}

TEST_CASE("letters of a layout say which axes of pages are which") {
  // Two pages of three rows and two heads, in either order of these.
  const std::string query = R"({"attention":"sdpa","seed":1,"query":[[[[1,2]],[[0,1]]]],)";
  const std::string table = R"(,"block_table":[1,0]})";
  const std::string pages = R"("key":{"arange":24,"shape":[2,3,2,2])";
  check_same(query + pages + R"(,"layout":"BLHD"})" + table, query + pages + "}" + table);
  check_same(query + pages + R"(,"view":[{"transpose":[0,2,1,3]},{"layout":"BHLD"}]})" + table,
             query + pages + "}" + table);
}

TEST_CASE("rows of absent pages are zeros, and padding behind the past") {
  // A finite fill makes unseen values take part.
  const std::string query = R"({"attention":"sdpa","query":[[[1,2],[3,-1]]],)";
  check_same(query + R"("key":[[[1,0],[2,0]],[[3,1],[4,1]]],"value":[[[1],[2]],[[3],[4]]],
      "block_table":[[1,-1]],"mask":{"fill":-1}})",
             query + R"("key":[[[3,1],[4,1],[0,0],[0,0]]],"value":[[[3],[4],[0],[0]]],
      "mask":{"padding":[[0,0,1,1]],"fill":-1}})");
  const std::string past = query + R"("past_key":[[[1,1]]],"past_value":[[[7]]],)";
  for (const std::string own : {"", R"("padding":[[1,0,0,0,0]],)"}) {
    check_same(past + R"("key":[[[1,0],[2,0]],[[3,1],[4,1]]],"value":[[[1],[2]],[[3],[4]]],
        "block_table":[[1,-1]],"mask":{)" +
                   own + R"("causal":true,"align":"lower_right"}})",
               past + R"("key":[[[3,1],[4,1],[0,0],[0,0]]],"value":[[[3],[4],[0],[0]]],
        "mask":{"padding":[[)" +
                   (own.empty() ? "0" : "1") +
                   R"(,0,0,1,1]],"causal":true,"align":"lower_right"}})");
  }
}

TEST_CASE("the gradient of pages has their shape, and the sum over the places of each") {
  const std::string start =
      R"({"attention":"sdpa","dtype":"float64","heads":2,"query":[[[1,2]],[[3,-1]]],
      "gradient":{"output":[[[1,-2]],[[0.5,3]]]},)";
  const DocumentResult paged =
      run_document(start + R"("key":[[[1,0],[2,0]],[[3,1],[4,1]],[[5,2],[6,2]]],
      "value":[[[1,1],[2,0]],[[3,1],[4,2]],[[0,1],[7,1]]],"block_table":[[1,0,1],[0,-1,-1]]})");
  const DocumentResult rows = run_document(start + R"("key":[[[3,1],[4,1],[1,0],[2,0],[3,1],[4,1]],
      [[1,0],[2,0],[0,0],[0,0],[0,0],[0,0]]],"value":[[[3,1],[4,2],[1,1],[2,0],[3,1],[4,2]],
      [[1,1],[2,0],[0,0],[0,0],[0,0],[0,0]]],"valid_lens":[6,2]})");
  for (const char* name : {"gradient.key", "gradient.value"}) {
    CAPTURE(name);
    const attn::Tensor pages = paged.tensor(name), all = rows.tensor(name);
    REQUIRE(pages.shape() == attn::Shape{3, 2, 2});
    const auto sums = pages.values<double>(), parts = all.values<double>();
    for (std::size_t n = 0; n < 4; ++n) {
      CHECK(sums[n] == doctest::Approx(parts[4 + n] + parts[12 + n]).epsilon(1e-14));
      CHECK(sums[4 + n] == doctest::Approx(parts[n] + parts[8 + n]).epsilon(1e-14));
      CHECK(sums[8 + n] == 0);
    }
  }
}

TEST_CASE("a block table that does not fit its pages is refused at its entry") {
  const auto refused = [](const std::string& members) {
    return problems_of(R"({"attention":"sdpa","query":[[[1,2]]],)" + members + "}");
  };
  const std::string key = R"("key":[[[1,0]],[[2,0]]],)";
  CHECK(refused(key + R"("block_table":[[0,2]])") ==
        "there is no page 2: key has 2 pages\n  where: doc.json, /block_table/0/1\n"
        "  help:  give 0 to 1, or -1 after a sample's last page");
  CHECK(refused(key + R"("block_table":[-1,0])") ==
        "a sample has no page\n  where: doc.json, /block_table/0\n"
        "  help:  give at least one page; valid_lens 0 hides all of it");
  CHECK(refused(key + R"("block_table":[1,-1,0])") ==
        "a page follows -1\n  where: doc.json, /block_table/2\n"
        "  help:  -1 is for entries after the last page of a sample");
  CHECK(refused(R"("key":[[[1,0],[2,0]],[[3,0],[4,0]]],"block_table":[[1,-1]],"valid_lens":[3])") ==
        "sample 0 has 3 valid keys, and its pages hold 2\n  where: doc.json, /block_table\n"
        "  help:  name the pages of all valid keys, or give fewer in valid_lens");
  CHECK(refused(R"("key":[[1,0],[2,0]],"block_table":[0])") ==
        "key [2,2] is not made of pages\n  where: doc.json, /key\n"
        "  help:  give pages [N,P,D] or [N,P,H,D], which block_table numbers");
  CHECK(
      problems_of(R"({"attention":"sdpa","query":{"ones":[2,4,1,16]},"key":{"ones":[8,2,2,4,8]},)"
                  R"("block_table":[[0,2],[3,5]]})") ==
      "key [8,2,2,4,8] is not made of pages\n  where: doc.json, /key\n"
      R"(  help:  write "view": [{"transpose": [0,3,1,2,4]}, {"reshape": [8,4,2,16]}] into it if )"
      "it is [N,H,D/x,P,x]");
  const std::string turned =
      R"({"attention":"sdpa","query":{"ones":[2,4,1,16]},"key":{"ones":[8,4,2,16]},)"
      R"("block_table":[[0,2],[3,5]],"value":{"ones":[8,2,16,4])";
  CHECK(problems_of(turned + "}}") ==
        "key [2,2,8,16] and value [2,16,4,4] have different lengths: 8 and 4\n"
        "  where: doc.json, /value\n  help:  give the value one row per key; write "
        "\"transpose\": [0,3,1,2] into it if it is [N,H,D,P]");
  CHECK(problems_of(turned + R"(,"transpose":[0,3,1,2]}})").empty());
  CHECK(refused(R"("block_table":[0])") ==
        "\"block_table\" is given without pages of keys\n  where: doc.json, /block_table\n"
        "  help:  give \"key\" and \"value\" as [N,P,D] or [N,P,H,D]");
  CHECK(refused(key + R"("block_table":[[[0]]])") ==
        "block_table [1,1,1] is not a list of pages per sample\n  where: doc.json, /block_table\n"
        "  help:  give [M] or [B,M]: the pages of each sample in order");
}
