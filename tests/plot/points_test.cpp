#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "error_from.hpp"

namespace {

attn::PointMap three_points() {
  attn::PointMap map;
  map.points = attn::Tensor({3, 2}, std::vector<double>{0, 0, 4, 0, 0, 3});
  map.names = {"1.1", "1.2", "2.1"};
  map.groups = {0, 0, 1};
  map.group_names = {"Layer 1", "Layer 2"};
  return map;
}

const attn::PictureText* find(const attn::Picture& picture, const std::string& text) {
  for (const attn::PictureText& one : picture.texts) {
    if (one.text == text) return &one;
  }
  return nullptr;
}

}  // namespace

TEST_CASE("points are named, and stand as far apart on both axes as their numbers are") {
  attn::FigureOptions options;
  options.dpi = 100;
  const attn::Picture picture =
      attn::draw_points(three_points(), options, attn::PictureFormat::svg);
  const attn::PictureText *corner = find(picture, "1.1"), *right = find(picture, "1.2"),
                          *above = find(picture, "2.1");
  REQUIRE(corner != nullptr);
  REQUIRE(right != nullptr);
  REQUIRE(above != nullptr);
  const double across = right->x - corner->x, up = corner->y - above->y;
  CHECK(std::abs(across / up - 4.0 / 3) < 0.01);
  CHECK(find(picture, "Layer 2") != nullptr);
  CHECK(find(picture, "Map of Heads") != nullptr);
  CHECK(picture.description.find("3 points of 2 groups") != std::string::npos);
}

TEST_CASE("names that would lie on each other are left out, and a single point has a place") {
  attn::PointMap map;
  map.points = attn::Tensor({6, 2}, std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5, 5});
  map.names = {"1.1", "1.2", "1.3", "1.4", "1.5", "2.1"};
  const attn::Picture picture = attn::draw_points(map, {}, attn::PictureFormat::svg);
  CHECK(find(picture, "1.4") != nullptr);  // below the first ones, right, left and above
  CHECK(find(picture, "1.5") == nullptr);
  CHECK(find(picture, "2.1") != nullptr);
  attn::PointMap one;
  one.points = attn::Tensor({1, 2}, std::vector<double>{0, 0});
  CHECK(attn::draw_points(one, {}, attn::PictureFormat::pdf).bytes.starts_with("%PDF"));
}

TEST_CASE("points without a finite place, and what are no points, are refused") {
  attn::PointMap map;
  map.points = attn::Tensor({2, 2}, std::vector<double>{0, 0, 1e300 * 1e300, 0});
  CHECK(error_from([&] { attn::draw_points(map, {}, attn::PictureFormat::png); }) ==
        "a point has a position that is not finite\n  help:  leave it out");
  map.points = attn::Tensor({2, 3}, std::vector<double>{0, 0, 0, 0, 0, 0});
  CHECK(error_from([&] { attn::draw_points(map, {}, attn::PictureFormat::png); }) ==
        "points of the shape [2,3]\n  help:  give [N,2]");
}

TEST_CASE("texts given for cells stand in the place of values, shortened where they do not fit") {
  attn::Heatmap heatmap;
  heatmap.weights = attn::Tensor({1, 2}, std::vector<double>{0.25, 0.75});
  heatmap.cell_texts = {"of", std::string(200, 'w')};
  const attn::Picture picture = attn::draw_heatmap(heatmap, {}, attn::PictureFormat::svg);
  CHECK(find(picture, "of") != nullptr);
  CHECK(find(picture, "0.25") == nullptr);
  const bool shortened =
      std::any_of(picture.texts.begin(), picture.texts.end(), [](const attn::PictureText& text) {
        return text.text.starts_with("ww") && text.text.find("\u2026") != std::string::npos;
      });
  CHECK(shortened);
}
