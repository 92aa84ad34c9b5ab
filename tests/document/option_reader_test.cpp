#include "document/option_reader.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "document/document_problems.hpp"
#include "temporary_folder.hpp"

namespace {

// The problems alone, a line each.
std::string told(const std::string& keys) {
  const std::string all =
      problems_of(R"({"attention":"sdpa","query":{"zeros":[2,3,4]},)" + keys + "}");
  std::string lines;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size());
    const std::string line = all.substr(at, end - at);
    if (line.starts_with("  where: doc.json, ")) {
      lines += " @ " + line.substr(std::string("  where: doc.json, ").size()) + "\n";
    } else if (!line.empty() && line[0] != ' ') {
      lines += line;
    }
    at = end + 1;
  }
  return lines;
}

TEST_CASE("all unreadable members of positions are problems") {
  CHECK(told(R"("rotary":{"theta":"x","width":0,"interleaved":1,"turns":2,"scaling":{"type":"yarm"},
                "positions":[[1],[2,3]]},
              "relative_bias":{"buckets":0,"max_distance":-1,"table":"x"},
              "mask":{"alibi":{"slopes":[],"symmetric":2}},
              "query_norm":{"weight":[[1],[2,3]],"kind":"l2"}, "sinks":[[1],[2,3]])") ==
        "expected true or an array of slopes, found an empty one @ /mask/alibi/slopes\n"
        "expected true or false, found a number @ /mask/alibi/symmetric\n"
        "unknown key \"turns\" @ /rotary/turns\n"
        "expected a number, found a string @ /rotary/theta\n"
        "expected a whole number of at least 1, found 0 @ /rotary/width\n"
        "expected true or false, found a number @ /rotary/interleaved\n"
        "unknown rotary scaling \"yarm\" @ /rotary/scaling/type\n"
        "row 1 has 2 numbers, but the row before it has 1 @ /rotary/positions/1\n"
        "expected a whole number of at least 1, found 0 @ /relative_bias/buckets\n"
        "expected a whole number of at least 1, found -1 @ /relative_bias/max_distance\n"
        "the string \"x\" is not a tensor @ /relative_bias/table\n"
        "row 1 has 2 numbers, but the row before it has 1 @ /query_norm/weight/1\n"
        "unknown kind of norm \"l2\" @ /query_norm/kind\n"
        "row 1 has 2 numbers, but the row before it has 1 @ /sinks/1\n");
}

TEST_CASE("all members that do not fit the heads are problems") {
  CHECK(told(R"("rotary":{"width":6,"theta":-1,"scaling":{"type":"linear","factor":0},
                          "positions":[1,2],"key_positions":[1]},
                "query_norm":{"weight":[1]}, "key_norm":{"weight":[1,2]},
                "mask":{"alibi":[1,2]},
                "relative_bias":{"buckets":3,"table":[[1]]},
                "sinks":[1,2])") ==
        "positions [2] does not fit 2 samples of 3 queries @ /rotary/positions\n"
        "theta is not a finite positive number @ /rotary/theta\n"
        "the factor of the rotary scaling is not possible @ /rotary/scaling/factor\n"
        "6 columns are to be rotated, but a head has 4 @ /rotary/width\n"
        "key_positions [1] does not fit 2 samples of 3 new keys @ /rotary/key_positions\n"
        "the weight [1] of query_norm does not fit heads of width 4 @ /query_norm/weight\n"
        "the weight [2] of key_norm does not fit heads of width 4 @ /key_norm/weight\n"
        "ALiBi has 2 slopes, but there is 1 query head @ /mask/alibi\n"
        "a relative bias cannot have 3 buckets @ /relative_bias/buckets\n"
        "sinks [2] does not fit 1 query head @ /sinks\n");
}

TEST_CASE("a position that cannot be read does not hide one that does not fit") {
  CHECK(told(R"("rotary":{"theta":true}, "sinks":[1,2])") ==
        "expected a number, found true @ /rotary/theta\n"
        "sinks [2] does not fit 1 query head @ /sinks\n");
}

TEST_CASE("impossible positions, norms and sinks are problems at their place") {
  struct Wrong {
    std::string keys, said;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {R"("query_norm":{"bias":{"zeros":[4]}})",
            "query_norm has no weight @ /query_norm/weight\n"},
           {R"("query_norm":{"weight":{"ones":[4]}},"eps":0)",
            "eps is not a finite positive number @ /eps\n"},
           {R"("rotary":{"cos":{"ones":[3,2]}})", "cos is given without sin @ /rotary/sin\n"},
           {R"("rotary":{"sin":{"ones":[3,2]}})", "sin is given without cos @ /rotary/cos\n"},
           {R"("rotary":{"cos":{"ones":[3]},"sin":{"ones":[3]}})",
            "cos [3] is not [N,width/2] or [B,N,width/2] of 2 samples @ /rotary/cos\n"},
           {R"("rotary":{"cos":{"ones":[3,2]},"sin":{"ones":[3,1]}})",
            "cos [3,2] and sin [3,1] have different shapes @ /rotary/sin\n"},
           {R"("rotary":{"cos":{"ones":[3,2]},"sin":{"ones":[3,2]},"positions":[0,1,3]})",
            "the position 3 has no row in the cosines and sines, which have 3 @ "
            "/rotary/positions\n"},
           {R"("rotary":{"cos":{"ones":[3,2]},"sin":{"ones":[3,2]},"positions":[-1,1,2]})",
            "the position -1 has no row in the cosines and sines, which have 3 @ "
            "/rotary/positions\n"},
           {R"("rotary":{"width":3})",
            "the width 3 is not an even number above 0 @ /rotary/width\n"},
           {R"("rotary":{"theta":1,"scaling":{"type":"yarn","factor":2,)"
            R"("original_max_position_embeddings":8}})",
            "YaRN needs a theta above 1 @ /rotary/theta\n"},
           {R"("key":{"zeros":[2,5,4]},"value":{"zeros":[2,5,4]},"rotary":{"positions":[0,1,2]})",
            "there are positions of 3 queries, but not of the 5 new keys @ "
            "/rotary/key_positions\n"},
           {R"("sinks":["inf"])", "a sink is not a finite number @ /sinks\n"}}) {
    CAPTURE(wrong.keys);
    CHECK(told(wrong.keys) == wrong.said);
  }
}

TEST_CASE("positions without optional members are accepted") {
  for (const char* keys :
       {R"("rotary":{"scaling":{"type":"linear","factor":2}})",
        R"("rotary":{"scaling":{"rope_type":"yarn","factor":2,"truncate":false,)"
        R"("original_max_position_embeddings":8}})",
        R"("mask":{"alibi":{"symmetric":true}})", R"("mask":{"alibi":{"slopes":[0.5]}})",
        R"("query_norm":{"weight":[1,2,3,4],"bias":[1,2,3,4],"kind":"layer"})"}) {
    CAPTURE(keys);
    CHECK(told(keys) == "");
  }
}

std::string with_dropout(const std::string& dropout) {
  return R"({"attention":"sdpa","query":[[1,2],[3,4]],"dropout":)" + dropout + "}";
}

TEST_CASE("dropout outside of training needs no seed") {
  CHECK(problems_of(with_dropout(R"({"p":0.5})")).empty());
  CHECK(problems_of(with_dropout(R"({"p":1,"training":false})")).empty());
}

TEST_CASE(
    "dropout refuses numbers that are no probability, unknown keys, and training without a seed") {
  const std::string help =
      "\n  where: doc.json, /dropout/p\n"
      "  help:  give the probability to drop a weight, such as 0.1";
  CHECK(problems_of(with_dropout(R"({"p":1.5})")) ==
        "the probability 1.5 is not between 0 and 1" + help);
  CHECK(problems_of(with_dropout(R"({"p":-0.25})")) ==
        "the probability -0.25 is not between 0 and 1" + help);
  CHECK(problems_of(with_dropout(R"({"training":true})")) == "dropout has no p" + help);
  CHECK(problems_of(with_dropout(R"({"p":0.5,"trainning":true})")) ==
        "unknown key \"trainning\"\n"
        "  where: doc.json, /dropout/trainning\n"
        "  help:  did you mean \"training\"?");
  CHECK(problems_of(with_dropout(R"({"p":0.5,"training":true})")) ==
        "dropout in training needs a seed\n"
        "  where: doc.json, /dropout\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  CHECK(problems_of(R"({"attention":"sdpa","query":[[1],[2,3]],"dropout":{"p":2}})") ==
        "the probability 2 is not between 0 and 1" + help +
            "\n\nrow 1 has 2 numbers, but the row before it has 1\n"
            "  where: doc.json, /query/1\n"
            "  help:  give all rows of a tensor the same length");
}

TEST_CASE("integers that a table of expressions would round are refused, and ids stay exact") {
  const TemporaryFolder folder;
  const attn::Tensor large({2, 2},
                           std::vector<std::int64_t>{0, 1, 2, (std::int64_t{1} << 53U) + 1});
  folder.write("ids.npy", attn::npy_bytes(large));
  const auto problem = [&](const std::string& table) {
    return problems_of(R"({"attention":"sdpa","query":{"zeros":[2,2,4]},"tables":{"t":)" + table +
                           R"(},"mask":{"where":"i < 2"}})",
                       folder.path());
  };
  const auto refused = [](const std::string& number, const std::string& where) {
    return "the integer " + number +
           " is beyond ±2^53, where double precision rounds\n  where: doc.json, /tables/t" + where +
           "\n  help:  number such ids from 0, or give those of documents as \"documents\" of the "
           "mask";
  };
  CHECK(problem("[1, 9007199254740993]") == refused("9007199254740993", "/1"));
  CHECK(problem("[[1, 2], [-9007199254740994, 0.5]]") == refused("-9007199254740994", "/1/0"));
  CHECK(problem("[true, 18446744073709551615]") == refused("18446744073709551616", "/1"));
  CHECK(problem("9007199254740993") == refused("9007199254740993", ""));
  CHECK(problem(R"({"shape":[2],"data":[0, 9007199254740993]})") ==
        refused("9007199254740993", "/data/1"));
  CHECK(problem(R"({"full":[2],"value":9007199254740993})") ==
        refused("9007199254740993", "/value"));
  CHECK(problem(R"({"file":"ids.npy"})") == refused("9007199254740993", "/1/1"));
  for (const char* exact : {"[9007199254740992, -9007199254740992]", "[1e300, 0.5, \"inf\"]",
                            "[1e19]", "[1234567890123456]", "1e19"}) {
    CHECK(problem(exact).empty());
  }
  // Where ids are compared as integers, they may be of 64 bits.
  CHECK(problems_of(R"({"attention":"sdpa","query":{"zeros":[2,2,4]},)"
                    R"("mask":{"documents":{"file":"ids.npy"}}})",
                    folder.path())
            .empty());
}

}  // namespace
