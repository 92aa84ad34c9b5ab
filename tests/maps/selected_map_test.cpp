#include "maps/selected_map.hpp"

#include <doctest/doctest.h>

#include "error_from.hpp"

namespace {

using namespace attn;

// [1,2,2,4]: two heads of two queries and four keys.
const Tensor weights({1, 2, 2, 4},
                     std::vector<double>{0.5, 0.25, 0.25, 0, 0.25, 0.25, 0.25, 0.25,  //
                                         0.5, 0.5, 0, 0, 1, 0, 0, 0});
const Labels labels{{{"a", "b"}}, {{"[CLS]", "un", "##real", "cat"}}};

Heatmap selected(const MapSelection& selection, const Labels& given = labels) {
  AttentionMap map;
  map.numbers = weights;
  map.labels = given;
  const MapChoice choice{0, 0, selection};
  return selected_heatmap(SelectedMap(map, choice));
}

std::vector<double> values(const Heatmap& heatmap) {
  const auto numbers = heatmap.weights.values<double>();
  return {numbers.begin(), numbers.end()};
}

std::string error_of(const MapSelection& selection) {
  return error_from([&] { selected(selection); });
}

TEST_CASE("heads are taken together by their mean or the largest") {
  MapSelection selection;
  selection.heads = MapSelection::Shown::mean;
  CHECK(values(selected(selection)) ==
        std::vector<double>{0.5, 0.375, 0.125, 0, 0.625, 0.125, 0.125, 0.125});
  CHECK(selected(selection).title == "Attention Weight Heatmap (Sample 1, Mean of 2 Heads)");
  selection.heads = MapSelection::Shown::max;
  CHECK(values(selected(selection)) == std::vector<double>{0.5, 0.5, 0.25, 0, 1, 0.25, 0.25, 0.25});
}

TEST_CASE("ranges are half-open, count from either end and keep their labels and numbers") {
  MapSelection selection;
  selection.queries = PositionRange{1, std::nullopt};
  selection.keys = PositionRange{-3, -1};
  const Heatmap heatmap = selected(selection);
  CHECK(values(heatmap) == std::vector<double>{0.25, 0.25});
  CHECK(heatmap.query_labels == std::vector<std::string>{"b"});
  CHECK(heatmap.key_labels == std::vector<std::string>{"un", "##real"});
  CHECK(heatmap.first_query == 1);
  CHECK(heatmap.first_key == 1);
}

TEST_CASE("rows without their first key sum to one again only on request") {
  MapSelection selection;
  selection.drop_first = 1;
  selection.queries = PositionRange{0, 1};
  CHECK(values(selected(selection)) == std::vector<double>{0.25, 0.25, 0});
  selection.renormalize = true;
  CHECK(values(selected(selection)) == std::vector<double>{0.5, 0.5, 0});
}

TEST_CASE("keys are left out by position and by label, which the title says") {
  MapSelection selection;
  selection.drop = {"[CLS]", "3"};
  const Heatmap heatmap = selected(selection);
  CHECK(values(heatmap) == std::vector<double>{0.25, 0.25, 0.25, 0.25});
  CHECK(heatmap.key_labels == std::vector<std::string>{"un", "##real"});
  CHECK(heatmap.title == "Attention Weight Heatmap (Sample 1, Head 1, without [CLS] and Key 4)");
  selection.drop = {"·real"};
  CHECK(selected(selection).key_labels == std::vector<std::string>{"[CLS]", "un", "cat"});
  selection.drop = {"dog"};
  CHECK(error_of(selection) ==
        "no key is called \"dog\"\n"
        "  where: MapSelection::drop\n"
        "  help:  known: [CLS], un, ##real, cat");
  selection.drop = {"4"};
  CHECK(error_of(selection) ==
        "there is no key 4 to leave out of 4 keys\n"
        "  where: MapSelection::drop\n"
        "  help:  give 0 to 3");
  selection.drop = {"0", "1", "2", "3"};
  CHECK(error_of(selection) ==
        "all 4 keys are left out\n"
        "  where: MapSelection::drop\n"
        "  help:  keep at least one");
}

TEST_CASE("keys without labels keep their numbers when some between them are left out") {
  MapSelection selection;
  selection.drop = {"1"};
  const Heatmap heatmap = selected(selection, {});
  CHECK(heatmap.key_labels == std::vector<std::string>{"K_1", "K_3", "K_4"});
}

TEST_CASE("a word's keys are summed") {
  MapSelection selection;
  selection.merge_pieces = true;
  const Heatmap heatmap = selected(selection);
  CHECK(values(heatmap) == std::vector<double>{0.5, 0.5, 0, 0.25, 0.5, 0.25});
  CHECK(heatmap.key_labels == std::vector<std::string>{"[CLS]", "unreal", "cat"});
}

TEST_CASE("blocks sum the keys of a part and average its queries, and tokens of none stand alone") {
  MapSelection selection;
  selection.blocks = MapSelection::Blocks::part;
  const Labels parts{{}, {}, false, {{{"both", 0, 2}}}, {{{"rest", 1, 4}}}};
  const Heatmap heatmap = selected(selection, parts);
  CHECK(heatmap.weights.shape() == Shape{1, 2});
  const std::vector<double> cells = values(heatmap);
  CHECK(cells[0] == doctest::Approx(0.375));
  CHECK(cells[0] + cells[1] == doctest::Approx(1));
  CHECK(heatmap.query_labels == std::vector<std::string>{"both"});
  CHECK(heatmap.key_labels == std::vector<std::string>{"0", "rest"});
  CHECK(heatmap.key_spans.empty());
}

TEST_CASE("blocks of what is not known are refused") {
  MapSelection selection;
  selection.blocks = MapSelection::Blocks::sentence;
  CHECK(
      error_from([&] { selected(selection, {}); }) ==
      "there are no labels that show where sentences end\n  where: MapSelection::blocks\n  help:  "
      "give the tokens as labels: {\"query\": […], \"key\": […]}");
  selection.blocks = MapSelection::Blocks::part;
  CHECK(error_from([&] { selected(selection, {}); }) ==
        "no part of the tokens is known\n  where: MapSelection::blocks\n  help:  name them in the "
        "labels: {\"spans\": {\"NAME\": [first, end]}}");
}

TEST_CASE("parts follow the queries and keys that are shown") {
  MapSelection selection;
  selection.keys = PositionRange{1, 4};
  selection.drop = {"2"};
  const Labels parts{{}, {}, false, {}, {{{"a", 0, 1}, {"b", 1, 3}, {"c", 3, 4}}}};
  CHECK(selected(selection, parts).key_spans == std::vector<AxisSpan>{{"b", 0, 1}, {"c", 1, 2}});
}

TEST_CASE("ranges that are not there are refused with what there is") {
  MapSelection selection;
  selection.keys = PositionRange{0, 9};
  CHECK(error_of(selection) ==
        "the range 0:9 goes beyond the 4 keys there are\n"
        "  where: MapSelection::keys\n"
        "  help:  give positions from 0 to 4");
  selection.keys = PositionRange{2, 2};
  CHECK(error_of(selection) ==
        "the range 2:2 holds none of the 4 keys\n"
        "  where: MapSelection::keys\n"
        "  help:  give a start before the end");
  selection.keys.reset();
  selection.queries = PositionRange{-3, std::nullopt};
  CHECK(error_of(selection) ==
        "the range -3: goes beyond the 2 queries there are\n"
        "  where: MapSelection::queries\n"
        "  help:  give positions from 0 to 2");
  selection.queries.reset();
  selection.drop_first = 4;
  CHECK(error_of(selection) ==
        "leaving out the first 4 of 4 keys leaves none\n"
        "  where: MapSelection::drop_first\n"
        "  help:  give 0 to 3");
}

TEST_CASE("labels that are not one for each query and key are refused, whatever is selected") {
  MapSelection part;
  part.keys = PositionRange{2, 4};
  MapSelection words;
  words.merge_pieces = true;
  const auto error = [&](const Labels& given, const MapSelection& selection) {
    return error_from([&] { selected(selection, given); });
  };
  const Labels few_keys{{}, {{"a", "b"}}}, many_queries{{{"a", "b", "##c"}}, {}};
  for (const MapSelection& selection : {MapSelection(), part, words}) {
    CHECK(error(few_keys, selection) ==
          "2 labels for 4 keys\n  where: /labels/key\n  help:  give one label each");
    CHECK(error(many_queries, selection) ==
          "3 labels for 2 queries\n  where: /labels/query\n  help:  give one label each");
  }
}

TEST_CASE("a sample that has no list has no labels") {
  CHECK(Labels::of_sample({{"a"}, {"b"}}, 1) == std::vector<std::string>{"b"});
  CHECK(Labels::of_sample({{"a"}, {"b"}}, 2).empty());
  CHECK(Labels::of_sample({{"a"}}, 2) == std::vector<std::string>{"a"});
}

}  // namespace
