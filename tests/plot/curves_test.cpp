#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

namespace {

using namespace attn;

// Two curves over lengths that double.
Heatmap growth() {
  Heatmap curves;
  curves.weights = Tensor({4, 2}, std::vector<double>{1, 10, 2, 100, 4, 1000, 8, 10000});
  curves.query_labels = {"128", "256", "512", "1024"};
  curves.key_labels = {"slow", "fast"};
  return curves;
}

const PictureText& curve_text(const Picture& picture, const std::string& text) {
  const auto found = std::find_if(picture.texts.begin(), picture.texts.end(),
                                  [&](const PictureText& line) { return line.text == text; });
  REQUIRE(found != picture.texts.end());
  return *found;
}

bool has_curve_text(const Picture& picture, const std::string& text) {
  return std::any_of(picture.texts.begin(), picture.texts.end(),
                     [&](const PictureText& line) { return line.text == text; });
}

TEST_CASE("curves are named at their ends, in the order of their last values") {
  const Picture picture = draw_curves(growth(), {}, PictureFormat::svg);
  const PictureText &slow = curve_text(picture, "slow"), &fast = curve_text(picture, "fast");
  CHECK(fast.y < slow.y);
  REQUIRE(picture.frames.size() == 1);
  CHECK(slow.x > picture.frames[0].right);
  CHECK(fast.x > picture.frames[0].right);
}

TEST_CASE("logarithmic axes show powers of ten, and the numbers that rows are named by") {
  CurvesOptions options;
  options.log_axes = LogAxes::y;
  CHECK(has_curve_text(draw_curves(growth(), options, PictureFormat::svg), "10\u00b2"));
  CHECK(has_curve_text(draw_curves(growth(), options, PictureFormat::svg), "256"));
  options.log_axes = LogAxes::both;
  CHECK_FALSE(has_curve_text(draw_curves(growth(), options, PictureFormat::svg), "256"));
  CHECK(has_curve_text(draw_curves(growth(), options, PictureFormat::svg), "10\u00b3"));
}

TEST_CASE("values that have no logarithm are left out and counted in a warning") {
  Heatmap curves = growth();
  curves.weights = Tensor({4, 2}, std::vector<double>{0, -1, 0, 0, 0, -3, 0, 0});
  CurvesOptions options;
  options.log_axes = LogAxes::both;
  const Picture picture = draw_curves(curves, options, PictureFormat::png);
  CHECK_FALSE(picture.bytes.empty());
  REQUIRE(picture.warnings.size() == 1);
  CHECK(picture.warnings[0] ==
        "8 points of the curves have no place on a logarithmic axis: it shows what is above zero");
}

}  // namespace

TEST_CASE("a column of standard errors is a band around the column before it, not a curve") {
  attn::Heatmap table;
  table.weights = attn::Tensor({3, 2}, std::vector<double>{1, 0.1, 2, 0.5, 3, 0.2});
  table.query_labels = {"0", "1", "2"};
  table.key_labels = {"value", "standard_error"};
  table.any_numbers = true;
  attn::CurvesOptions options;
  options.figure.caption = true;
  const attn::Picture picture = attn::draw_curves(table, options, attn::PictureFormat::svg);
  const auto shows = [&](const std::string& text) {
    return std::ranges::any_of(picture.texts, [&](const auto& one) { return one.text == text; });
  };
  CHECK(shows("value"));
  CHECK(!shows("standard_error"));
  CHECK(picture.caption ==
        "1 curve over 3 positions. Bands: one standard error on both sides. The highest value is "
        "3 of \"value\" at 2, the lowest 1 of \"value\" at 0.");
  // Cairo 1.16 writes it as a style, 1.18 as an attribute.
  const bool clear = picture.bytes.find("fill-opacity:0.22") != std::string::npos ||
                     picture.bytes.find("fill-opacity=\"0.22\"") != std::string::npos;
  CHECK(clear);
}
