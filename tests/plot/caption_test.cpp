#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

namespace {

using namespace attn;

Heatmap three_words(std::vector<double> weights) {
  Heatmap map;
  map.weights = Tensor({3, 3}, std::move(weights));
  map.query_labels = map.key_labels = {"it", "was", "tired"};
  return map;
}

HeatmapOptions with_caption() {
  HeatmapOptions options;
  options.figure.caption = true;
  options.figure.dpi = 50;
  return options;
}

TEST_CASE("a caption names the strongest weight and compares with a uniform one") {
  const Picture picture = draw_heatmap(three_words({0.1, 0.2, 0.7, 0.5, 0.25, 0.25, 0.2, 0.6, 0.2}),
                                       with_caption(), PictureFormat::png);
  CHECK(picture.caption ==
        "Attention of 3 queries × 3 keys: the strongest weight is 0.7 from \"it\" to \"tired\". A "
        "query's "
        "largest weight is 0.6 on average, where a uniform one would be 0.333.");
  CHECK(picture.description ==
        "A map of attention of 3 queries × 3 keys, darker for larger weights. On average "
        "37 % of a query's weight is on the token before it.");
  CHECK(draw_heatmap(three_words({1, 0, 0, 0, 1, 0, 0, 0, 1}), {}, PictureFormat::png)
            .caption.empty());
}

TEST_CASE("a caption says how larger weights look in the colours of the map") {
  const auto described = [](const char* map) {
    HeatmapOptions options = with_caption();
    options.colors.cmap = map;
    return draw_heatmap(three_words({0.1, 0.2, 0.7, 0.5, 0.25, 0.25, 0.2, 0.6, 0.2}), options,
                        PictureFormat::png)
        .description;
  };
  const std::string map = "A map of attention of 3 queries × 3 keys, ";
  CHECK(described("Blues").starts_with(map + "darker for larger weights. "));
  CHECK(described("viridis").starts_with(map + "lighter for larger weights. "));
  CHECK(described("RdBu").starts_with(map + "coloured by weight. "));
}

TEST_CASE("a caption names places with their indices, and not the one key of a causal first row") {
  Heatmap map = three_words({1, 0, 0, 0.4, 0.6, 0, 0.2, 0.1, 0.7});
  map.query_places = {4, 5, 6};
  map.key_places = {0, 2, 3};
  const auto starts = [](const std::string& caption, const std::string& place) {
    return caption.starts_with("Attention of 3 queries × 3 keys: the strongest weight is " + place +
                               ". A query's ");
  };
  CHECK(starts(draw_heatmap(map, with_caption(), PictureFormat::png).caption,
               "0.7 from \"tired\" (6) to \"tired\" (3), where a query sees several keys"));
  // Where every query sees one key there is no other.
  CHECK(starts(
      draw_heatmap(three_words({1, 0, 0, 0, 1, 0, 0, 0, 1}), with_caption(), PictureFormat::png)
          .caption,
      "1 from \"it\" to \"it\""));
}

TEST_CASE("a caption of numbers that are no weights tells their range") {
  const Picture picture =
      draw_heatmap(three_words({-1, 2, 3, 4, 5, 6, 7, 8, 9}), with_caption(), PictureFormat::png);
  CHECK(picture.caption ==
        "Values of 3 queries × 3 keys. The largest value is 9 from \"tired\" to \"tired\", the "
        "smallest "
        "\u22121 from \"it\" to \"it\".");
}

TEST_CASE("files of every format hold the caption and the description") {
  const Heatmap map = three_words({1, 0, 0, 0, 1, 0, 0, 0, 1});
  const std::string caption = "the strongest weight is 1", alternative = "on the token itself";
  const std::string png = draw_heatmap(map, with_caption(), PictureFormat::png).bytes;
  CHECK(png.find("Caption") != std::string::npos);
  CHECK(png.find(caption) != std::string::npos);
  CHECK(png.find(alternative) != std::string::npos);
  CHECK(draw_heatmap(map, {}, PictureFormat::png).bytes.find("Description") == std::string::npos);
  const std::string svg = draw_heatmap(map, with_caption(), PictureFormat::svg).bytes;
  CHECK(svg.find(caption) < svg.find("</metadata>"));
  CHECK(svg.find(alternative) < svg.find("</desc>"));
}

TEST_CASE(
    "a PDF file is tagged as a figure with its description, and its objects are where it says") {
  Heatmap map = three_words({1, 0, 0, 0, 1, 0, 0, 0, 1});
  const std::string pdf = draw_heatmap(map, {}, PictureFormat::pdf).bytes;
  CHECK(pdf.find("/S /Figure\n   /Alt <FEFF004800650061007400") != std::string::npos);  // "Heat"
  CHECK(pdf.find("/Lang (en)\n   /MarkInfo << /Marked true >>") != std::string::npos);
  const std::size_t table = std::stoul(pdf.substr(pdf.rfind("startxref\n") + 10));
  CHECK(pdf.substr(table, 7) == "xref\n0 ");
  const std::size_t rows = pdf.find('\n', table + 5) + 1, count = std::stoul(pdf.substr(table + 7));
  REQUIRE(count > 5);
  for (std::size_t object = 1; object < count; ++object) {
    CAPTURE(object);
    const std::size_t at = std::stoul(pdf.substr(rows + 20 * object, 10));
    const std::string start = std::to_string(object) + " 0 obj\n";
    CHECK(pdf.substr(at, start.size()) == start);
  }
}

}  // namespace
