#include "document/labels.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"

namespace attn {
namespace {

using List = std::vector<std::string>;
using Lists = std::vector<List>;

// Labels for two samples with 2 queries and 3 keys each; the file has a label on each line.
Labels labels_of(const std::string& json, const LabelledSizes& sizes = {2, 2, 3}) {
  return read_labels(parse_json(json), "/labels", sizes, [](const std::string& name) {
    return name == "two.txt" ? "a\r\nb\r\n\r\n" : "\xEF\xBB\xBFx\n\nz";
  });
}

TEST_CASE("labels stand for all samples, one list a sample, or in a file with one a line") {
  const Labels all = labels_of(R"({"query":["a","b"],"key":[["x","y","z"],["u","v","w"]]})");
  CHECK(all.query == Lists{{"a", "b"}});
  CHECK(all.key == Lists{{"x", "y", "z"}, {"u", "v", "w"}});
  CHECK_FALSE(all.either);
  CHECK(Labels::of_sample(all.query, 1) == List{"a", "b"});
  CHECK(Labels::of_sample(all.key, 1) == List{"u", "v", "w"});
  CHECK(Labels::of_sample(all.key, 2).empty());
  CHECK(Labels::of_sample({}, 0).empty());
  const Labels filed = labels_of(R"({"query":{"file":"two.txt"},"key":{"file":"three.txt"}})");
  CHECK(filed.query == Lists{{"a", "b"}});
  CHECK(filed.key == Lists{{"x", "", "z"}});
  CHECK(labels_of(R"({"key":[["x","y","z"]]})").key == Lists{{"x", "y", "z"}});
}

TEST_CASE("one list for both sides names those whose length it has") {
  CHECK(labels_of(R"(["a","b"])").query == Lists{{"a", "b"}});
  CHECK(labels_of(R"(["a","b"])").key.empty());
  CHECK(labels_of(R"(["x","y","z"])").query.empty());
  CHECK(labels_of(R"({"file":"three.txt"})").key == Lists{{"x", "", "z"}});
  const Labels square = labels_of(R"(["a","b"])", {1, 2, 2});
  CHECK(square.query == square.key);
  const Labels later = labels_of(R"(["a","b"])", {});
  CHECK(later.either);
  CHECK(fitted(later, 2, 9, "").key.empty());
  CHECK(error_from([&] { fitted(later, 1, 9, "/labels"); }) ==
        "2 labels for 1 query and 9 keys\n  where: /labels\n  help:  give one label for each of "
        "them: {\"query\": […], \"key\": […]}");
}

TEST_CASE("parts of axes have names and places, for both sides or one, and for samples") {
  using Spans = std::vector<AxisSpan>;
  const Labels both = labels_of(R"({"spans":{"b":[1,2],"a":[0,1]}})");
  CHECK(both.query_spans == std::vector<Spans>{{{"a", 0, 1}, {"b", 1, 2}}});
  CHECK(both.key_spans == both.query_spans);
  const Labels keys = labels_of(R"({"key_spans":[{"a":[[0,1],[2,3]],"b":[1,2]},{}]})");
  CHECK(keys.query_spans.empty());
  CHECK(Labels::spans_of_sample(keys.key_spans, 0) == Spans{{"a", 0, 1}, {"b", 1, 2}, {"a", 2, 3}});
  CHECK(Labels::spans_of_sample(keys.key_spans, 1).empty());
}

TEST_CASE("parts that are empty, overlap or lie behind the last position are refused") {
  const auto error = [](const std::string& spans) {
    return error_from([&] { labels_of(R"({"spans":)" + spans + "}"); });
  };
  const std::string places = "\n  help:  give [first, end], positions from 0, the end left out";
  CHECK(error(R"({"a":[1,1]})") == "the part \"a\" is empty\n  where: /labels/spans/a" + places);
  CHECK(error(R"({"a":[0,3]})") ==
        "the part \"a\" ends at 3, after the last position 1\n  where: /labels/spans/a" + places);
  CHECK(error(R"({"a":7})") ==
        "expected [first, end], found a number\n  where: /labels/spans/a" + places);
  CHECK(error(R"({"a":[0,2],"b":[1,2]})") ==
        "the parts \"a\" and \"b\" overlap\n  where: /labels/spans\n  help:  give each position "
        "one part at most");
  CHECK(error("[{},{},{}]") ==
        "3 lists of parts for 2 samples\n  where: /labels/spans\n  help:  give the parts of all "
        "samples, or a list of those of each sample");
}

TEST_CASE("labels that are none, or not as many as there are queries and keys, are refused") {
  struct Wrong {
    std::string labels, said;
  };
  const std::string one_of = "\n  help:  give one list of strings, or one list per sample";
  const std::string forms =
      "\n  help:  give one list of strings, one list per sample, or {\"file\": …}";
  for (const Wrong& wrong : std::vector<Wrong>{
           {R"(7)",
            "expected labels, found a number\n  where: /labels\n  help:  give {\"query\": […], "
            "\"key\": […]}, one list for both, or {\"file\": \"tokens.txt\"} with one label per "
            "line"},
           {R"({"qery":["a"]})",
            "unknown key \"qery\"\n  where: /labels/qery\n  help:  did you mean \"query\"?"},
           {R"([])", "expected a list of labels, found an empty array\n  where: /labels" + one_of},
           {R"({"query":[]})",
            "expected a list of labels, found an empty array\n  where: /labels/query" + one_of},
           {R"({"query":"a b"})",
            "expected a list of labels, found a string\n  where: /labels/query" + one_of},
           {R"({"query":["a",true]})",
            "expected a string, found true\n  where: /labels/query/1\n  help:  give a string"},
           {R"({"query":["a"]})",
            "1 label for 2 queries\n  where: /labels/query\n  help:  give one label for each of "
            "the "
            "queries"},
           {R"({"key":[["x","y","z"],["u","v"]]})",
            "2 labels for 3 keys\n  where: /labels/key/1\n  help:  give one label for each of the "
            "keys"},
           {R"({"key":{"file":"two.txt"}})",
            "2 labels for 3 keys\n  where: /labels/key\n  help:  give one label for each of the "
            "keys"},
           {R"({"key":[["a"],["b"],["c"]]})",
            "3 lists of labels for 2 samples\n  where: /labels/key\n  help:  give one list for all "
            "samples, or one list per sample"},
           {R"({"key":[["x","y","z"],"u"]})",
            "expected a list of labels, found a string\n  where: /labels/key/1" + one_of},
           {R"({"key":{}})", "this object is not a list of labels\n  where: /labels/key" + forms},
           {R"({"key":{"file":3}})",
            "expected a string, found a number\n  where: /labels/key/file\n  help:  give a string"},
           {R"(["a","b","c","d"])",
            "4 labels for 2 queries and 3 keys\n  where: /labels\n  help:  give one label for each "
            "of them: {\"query\": […], \"key\": […]}"}}) {
    CAPTURE(wrong.labels);
    CHECK(error_from([&] { labels_of(wrong.labels); }) == wrong.said);
  }
}

TEST_CASE("a file of labels is JSON or has a label a line") {
  CHECK(labels_in("a\nb\n", 100).query == Lists{{"a", "b"}});
  CHECK(labels_in("[CLS]\nb\n", 100).query == Lists{{"[CLS]", "b"}});
  CHECK(labels_in("[\"a\",\"b\"]", 100).query == Lists{{"a", "b"}});
  CHECK(labels_in("\xEF\xBB\xBF {\"key\":[\"a\"]}", 100).key == Lists{{"a"}});
  CHECK(labels_in("\xEF\xBB\xBF"
                  "a",
                  100)
            .key == Lists{{"a"}});
  CHECK(error_from([] { labels_in("\n\n", 100); }) ==
        "there is no label\n  help:  give one label per line, or a JSON list of labels");
  CHECK(error_from([] { labels_in("{\"file\":\"more.txt\"}", 100); }) ==
        "this object is not a list of labels\n"
        "  help:  give one list of strings, one list per sample, or {\"file\": …}");
}

TEST_CASE("JSON is distinguished from lines by its beginning") {
  for (const char* json : {"{", " \n[\"a\"]", "[", "[ [1]]", "[{", "[]", "[-1", "[3", "[null,"}) {
    CAPTURE(json);
    CHECK(begins_like_json(json));
  }
  for (const char* lines : {"", " \n", "a", "[CLS]", "[null]", "\"a\""}) {
    CAPTURE(lines);
    CHECK_FALSE(begins_like_json(lines));
  }
}

TEST_CASE("beside a cross-attention, a self-attention's keys are its queries") {
  const Labels labels{{{"a"}}, {{"x"}}};
  const auto there = [](const AttentionName& name) { return name.text() == "layers.0.cross"; };
  CHECK(labels.of_attention(AttentionName("layers.0.self"), there).key == Lists{{"a"}});
  CHECK(labels.of_attention(AttentionName("layers.1.self"), there).key == Lists{{"x"}});
  CHECK(labels.of_attention(AttentionName("layers.0.cross"), there).key == Lists{{"x"}});
}

TEST_CASE("the name of a position is its label and index, and means that position") {
  const List labels{"a", " the", "a", "a \"b\" (7)", "<|begin_of_a_very_long_text|>", ""};
  CHECK(position_name(labels, 1, "query {1}") == "\" the\" (1)");
  CHECK(position_name(labels, 4, "query {1}", 14) == "\"<|begin…text|>\" (4)");
  CHECK(position_name(labels, 5, "query {1}") == "query 5");
  CHECK(position_name({}, 5, "query {1}") == "query 5");
  for (std::size_t i = 0; i + 1 < labels.size(); ++i) {
    CAPTURE(i);
    for (const std::size_t width : {14, 28})
      CHECK(position_of_name(position_name(labels, i, "", width), {&labels}, labels.size()) == i);
    CHECK(position_of_name(labels[i] + " (" + std::to_string(i) + ")", {&labels}, labels.size()) ==
          i);
  }
  const List readable{"a", "the"};
  CHECK(position_of_name("\"the\" (1)", {&labels, &readable}, 6) == 1);
  for (const char* other : {"a", "a (1)", "\"a\" (9)", "a (x)", "(0)", "", "Q_1"}) {
    CAPTURE(other);
    CHECK_FALSE(position_of_name(other, {&labels, &readable}, 6));
  }
}

TEST_CASE("ticks of tutorials' pictures mean their positions where there are no labels") {
  const List none;
  CHECK(position_of_name("Q_1", {&none}, 3) == 0);
  CHECK(position_of_name("K_3", {&none}, 3) == 2);
  for (const char* other : {"Q_0", "Q_4", "Q_", "Q_1x", "1", "V_1"}) {
    CAPTURE(other);
    CHECK_FALSE(position_of_name(other, {&none}, 3));
  }
}

}  // namespace
}  // namespace attn
