#include <algorithm>
#include <array>
#include <limits>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "chinese.hpp"
#include "error_from.hpp"
#include "plot/decoded_picture.hpp"
#include "plot/example_figures.hpp"
#include "plot/text/fonts.hpp"

namespace {

using namespace attn;
using test::decode_png;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

Heatmap heatmap_of(Shape shape, std::vector<double> values) {
  Heatmap heatmap;
  heatmap.weights = Tensor(std::move(shape), std::move(values));
  return heatmap;
}

HeatmapOptions small() {
  HeatmapOptions options;
  options.figure.dpi = 40;
  return options;
}

std::string error_of(const Heatmap& heatmap, const HeatmapOptions& options,
                     ErrorKind kind = ErrorKind::input) {
  return error_from([&] { draw_heatmap(heatmap, options, PictureFormat::png); }, kind);
}

// Whether a colour stands on at least `share` of a picture's pixels.
bool shows(const Picture& picture, std::array<int, 3> colour, double share) {
  const auto decoded = decode_png(picture.bytes);
  std::size_t count = 0;
  for (std::size_t i = 0; i < decoded.rgb.size(); i += 3) {
    count += decoded.rgb[i] == colour[0] && decoded.rgb[i + 1] == colour[1] &&
             decoded.rgb[i + 2] == colour[2];
  }
  return static_cast<double>(count) >= share * static_cast<double>(decoded.width * decoded.height);
}

// Whether one of the two colours in the middle of the default map does.
bool shows_middle(const Picture& picture, double share) {
  return shows(picture, {252, 140, 59}, share) || shows(picture, {253, 141, 60}, share);
}

TEST_CASE("a heatmap of 8 × 6 inches at 300 dots per inch is about that large") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(3, 3);
  const auto picture = decode_png(draw_heatmap(heatmap, {}, PictureFormat::png).bytes);
  CHECK(picture.width > 1900);  // cells are square, and what is left beside them is trimmed
  CHECK(picture.width < 2400);
  CHECK(picture.height > 1700);
  CHECK(picture.height < 1850);
}

TEST_CASE("matrices of every shape and both number types can be drawn") {
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
      for (const Shape& shape :
           {Shape{1, 1}, Shape{1, 40}, Shape{40, 1}, Shape{300, 20}, Shape{3, 700}}) {
        HeatmapOptions options = small();
        options.figure.style = style;
        Heatmap heatmap;
        heatmap.weights = test::example_weights(shape[0], shape[1]).converted(DType::float32);
        CHECK_FALSE(draw_heatmap(heatmap, options, format).bytes.empty());
      }
    }
  }
}

TEST_CASE("a matrix of one number that is no weight takes the middle of the colour map") {
  for (const double value : {0.25, 1e-300, 1e300}) {
    CAPTURE(value);
    auto heatmap = heatmap_of({2, 2}, std::vector<double>(4, value));
    heatmap.any_numbers = true;
    CHECK(shows_middle(draw_heatmap(heatmap, small(), PictureFormat::png), 0.4));
  }
}

TEST_CASE("a uniform weight is pale, and its place on the bar is named") {
  const auto heatmap = heatmap_of({30, 30}, std::vector<double>(900, 1.0 / 30));
  const Picture picture = draw_heatmap(heatmap, {}, PictureFormat::png);
  // A quarter of the map YlOrRd, which goes from yellow over orange to red.
  CHECK(shows(picture, {254, 216, 117}, 0.3));
  const auto text = [&](const std::string& wanted) {
    return std::find_if(picture.texts.begin(), picture.texts.end(),
                        [&](const PictureText& line) { return line.text == wanted; });
  };
  REQUIRE(text("1/30") != picture.texts.end());
  REQUIRE(text("uniform") != picture.texts.end());
  CHECK(std::abs(text("uniform")->y - text("1/30")->y) < 60);
}

TEST_CASE("the name of the uniform weight keeps away from the bar's label, and can be read") {
  for (const double scale : {0.58, 1.0, 1.6}) {
    HeatmapOptions options;
    options.figure.font_scale = scale;
    options.figure.figsize = {{8, 6}};
    const Picture picture = draw_heatmap(heatmap_of({4, 4}, std::vector<double>(16, 0.25)), options,
                                         PictureFormat::png);
    const auto text = [&](const std::string& wanted) {
      return std::ranges::find_if(picture.texts, [&](const PictureText& line) {
        return line.text.find(wanted) != std::string::npos;
      });
    };
    const auto name = text("uniform"), label = text("Attention weight");
    REQUIRE(name != picture.texts.end());
    REQUIRE(label != picture.texts.end());
    // The label is turned: its upper edge is on the left, and it begins below.
    const double room = 2 * scale * options.figure.dpi / 72;
    const bool aside = label->x + label->top - name->x - name->right > room;
    const bool below = name->y + name->top > label->y - label->left;
    CHECK((aside || below));
  }
}

TEST_CASE("letters that cannot be as large as asked, and sizes in millimetres, are told of") {
  HeatmapOptions options = small();
  options.figure.figsize = {{3.25, 3}};
  options.figure.font_scale = 8;
  const auto warnings = [&] {
    return draw_heatmap(heatmap_of({2, 2}, {0.5, 0.5, 0.5, 0.5}), options, PictureFormat::svg)
        .warnings;
  };
  REQUIRE(warnings().size() == 1);
  CHECK(warnings()[0].starts_with("FigureOptions::font_scale 8 is limited to "));
  CHECK(
      warnings()[0].ends_with(": larger letters do not fit; it is a factor, not points: 1 is the "
                              "usual size, 1.5 half as large again"));
  options.figure.font_scale = 1;
  CHECK(warnings().empty());
  options.figure.font_size = 60;
  REQUIRE(warnings().size() == 1);
  CHECK(warnings()[0].starts_with("FigureOptions::font_size 60 is limited to "));
  options.figure.font_size = 6;
  CHECK(warnings().empty());
  options.figure.font_size.reset();
  options.figure.figsize = {{89, 60}};
  CHECK(warnings() ==
        std::vector<std::string>{"FigureOptions::figsize is in inches: for "
                                 "millimetres write FigureOptions::figsize 89mmx60mm"});
  options.figure.figsize = {{89, 0}};
  options.figure.dpi = 300;
  CHECK(error_from([&] {
          draw_heatmap(heatmap_of({2, 2}, {0.5, 0.5, 0.5, 0.5}), options, PictureFormat::png);
        })
            .ends_with("\n  where: FigureOptions::figsize\n  help:  sizes are in inches: for "
                       "millimetres write FigureOptions::figsize 89mm"));
}

TEST_CASE("cells below the threshold, and all but the largest of a row, are blank") {
  const auto heatmap = heatmap_of({2, 3}, {0.6, 0.3, 0.1, 0.2, 0.2, 0.6});
  HeatmapOptions options = small();
  options.figure.dpi = 100;
  options.annotation.when = Annotate::on;
  const auto written = [&] {
    std::string all;
    for (const PictureText& line : draw_heatmap(heatmap, options, PictureFormat::png).texts)
      all += line.text + "|";
    return all;
  };
  options.cells.threshold = 0.25;
  CHECK(written().find("|0.60|0.30|0.60|") != std::string::npos);
  CHECK(written().find("below 0.25") != std::string::npos);
  options.cells = {2, 0};
  // Equal ones beyond the second largest are all left out.
  CHECK(written().find("|0.60|0.30|0.60|") != std::string::npos);
  CHECK(written().find("not among the 2 largest") != std::string::npos);
}

TEST_CASE("keys may go upwards, with queries from left to right") {
  Heatmap heatmap = heatmap_of({2, 3}, {0.6, 0.3, 0.1, 0.2, 0.2, 0.6});
  heatmap.query_labels = {"q0", "q1"};
  heatmap.key_labels = {"k0", "k1", "k2"};
  HeatmapOptions options = small();
  options.figure.keys_upwards = true;
  const Picture picture = draw_heatmap(heatmap, options, PictureFormat::svg);
  const auto text = [&](const std::string& wanted) {
    return std::find_if(picture.texts.begin(), picture.texts.end(),
                        [&](const PictureText& line) { return line.text == wanted; });
  };
  for (const std::string name : {"q0", "q1", "k0", "k1", "k2"}) {
    CAPTURE(name);
    REQUIRE(text(name) != picture.texts.end());
  }
  CHECK(text("q0")->x < text("q1")->x);
  CHECK(text("k0")->y > text("k1")->y);
  CHECK(text("k1")->y > text("k2")->y);
  CHECK(text("Query Sequence Position")->degrees == 0);
  CHECK(text("Key Sequence Position")->degrees != 0);
}

TEST_CASE("NaN and either infinity have colours of their own") {
  HeatmapOptions options = small();
  options.annotation.when = Annotate::off;
  const auto heatmap = heatmap_of({2, 2}, {nan, infinity, -infinity, 0.5});
  const auto standard = draw_heatmap(heatmap, options, PictureFormat::png);
  CHECK(shows(standard, {211, 211, 211}, 0.1));
  CHECK(shows(standard, {128, 128, 128}, 0.1));
  CHECK(shows(standard, {221, 160, 221}, 0.1));
  CHECK(shows(standard, {128, 0, 38}, 0.1));
  options.figure.style = PlotStyle::matplotlib;
  CHECK_FALSE(shows(draw_heatmap(heatmap, options, PictureFormat::png), {128, 0, 38}, 0.1));
}

TEST_CASE("cells without a finite value say what the key says") {
  const auto heatmap = heatmap_of({2, 2}, {nan, infinity, -infinity, 0.5});
  const Picture picture = draw_heatmap(heatmap, {}, PictureFormat::svg);
  for (const std::string name : {"NaN", "\u221e", "\u2212\u221e"}) {
    CAPTURE(name);
    CHECK(std::count_if(picture.texts.begin(), picture.texts.end(),
                        [&](const PictureText& text) { return text.text == name; }) == 2);
  }
}

TEST_CASE("a matrix without a finite value is drawn") {
  const auto heatmap = heatmap_of({1, 2}, {nan, nan});
  CHECK(shows(draw_heatmap(heatmap, small(), PictureFormat::png), {211, 211, 211}, 0.4));
}

TEST_CASE("values of the full range of doubles do not overflow") {
  const double largest = std::numeric_limits<double>::max();
  const auto heatmap = heatmap_of({1, 2}, {-largest, largest});
  CHECK_FALSE(draw_heatmap(heatmap, small(), PictureFormat::png).bytes.empty());
}

TEST_CASE("every norm and format takes values and ranges from the smallest to the largest") {
  const double largest = std::numeric_limits<double>::max(), least = 5e-324;
  const ColorRange all_values = {ColorRange::Scope::shared, 0, 1};
  for (const std::vector<double>& values : {std::vector<double>{1e-13, 1},
                                            {least, least},
                                            {0, 1e-320},
                                            {1e-300, 1e300},
                                            {-largest, 1e-320},
                                            {infinity, -infinity},
                                            {nan, nan}}) {
    for (const ColorRange range : {all_values,
                                   {ColorRange::Scope::given, 1e-308, 4e307},
                                   {ColorRange::Scope::given, 1e-320, 1e-319}}) {
      for (const auto kind :
           {ColorNorm::Kind::linear, ColorNorm::Kind::log, ColorNorm::Kind::power}) {
        for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
          HeatmapOptions options = small();
          options.figure.style = style;
          options.colors.norm = {kind, 0.5};
          options.colors.range = range;
          const bool vector = style == PlotStyle::standard && kind == ColorNorm::Kind::log;
          CHECK_FALSE(draw_heatmap(heatmap_of({1, 2}, values), options,
                                   vector ? PictureFormat::pdf : PictureFormat::png)
                          .bytes.empty());
        }
      }
    }
  }
}

TEST_CASE("values far beyond both ends of a range are averaged") {
  std::vector<double> values(2 * 4000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = i % 2 == 0 ? 1e300 : -1e300;
  HeatmapOptions options = small();
  options.figure.style = PlotStyle::matplotlib;
  options.colors.range = {ColorRange::Scope::given, 0, 1};
  CHECK_FALSE(
      draw_heatmap(heatmap_of({2, 4000}, values), options, PictureFormat::png).bytes.empty());
}

TEST_CASE("characters that no text may hold are shown as escapes") {
  Heatmap heatmap = heatmap_of({1, 2}, {0.5, 0.5});
  heatmap.title = "\xEF\xBF\xBF";
  heatmap.key_labels = {"\xEF\xB7\x90", "\xF0\x9F\xBF\xBE"};
  for (const auto format : {PictureFormat::png, PictureFormat::svg, PictureFormat::pdf}) {
    const Picture picture = draw_heatmap(heatmap, small(), format);
    CHECK_FALSE(picture.bytes.empty());
    CHECK(picture.warnings.empty());
  }
}

TEST_CASE("hidden cells are told from zeros in the standard style only") {
  Heatmap heatmap = heatmap_of({2, 2}, {1, 0, 0, 1});
  HeatmapOptions options = small();
  options.figure.dpi = 150;
  const std::string zeros = draw_heatmap(heatmap, options, PictureFormat::png).bytes;
  heatmap.allowed = Tensor({2, 2}, std::vector<std::uint8_t>{1, 0, 1, 1});
  const auto hidden = draw_heatmap(heatmap, options, PictureFormat::png);
  CHECK(hidden.bytes != zeros);
  CHECK(shows(hidden, {240, 240, 240}, 0.05));
  options.figure.style = PlotStyle::matplotlib;
  CHECK_FALSE(shows(draw_heatmap(heatmap, options, PictureFormat::png), {240, 240, 240}, 0.05));
}

TEST_CASE("cells that a bias hides in effect are told from those of a mask, by hatches and name") {
  Heatmap heatmap = heatmap_of({2, 2}, {1, 0, 0, 1});
  HeatmapOptions options = small();
  const auto words = [&] { return draw_heatmap(heatmap, options, PictureFormat::svg).bytes; };
  options.figure.letters = Letters::text;
  heatmap.allowed = Tensor({2, 2}, std::vector<std::uint8_t>{1, 0, 1, 1});
  CHECK(words().find(">hidden in effect by the bias<") == std::string::npos);
  heatmap.hidden_in_effect = Tensor({2, 2}, std::vector<std::uint8_t>{0, 1, 1, 0});
  const std::string both = words();
  CHECK(both.find(">hidden<") != std::string::npos);
  CHECK(both.find(">hidden in effect by the bias<") != std::string::npos);
  heatmap.allowed = {};
  CHECK(words().find(">hidden<") == std::string::npos);
  heatmap.hidden_in_effect = Tensor({1, 2}, std::vector<std::uint8_t>{0, 1});
  CHECK(error_from([&] {
          draw_heatmap(heatmap, options, PictureFormat::png);
        }).starts_with("the flags of cells are of shape [1,2], the weights are of shape [2,2]"));
}

TEST_CASE(
    "a pixel of many cells shows the largest of them, and their mean only if that is asked for") {
  std::vector<double> values(2 * 4000);
  values[1234] = 1;
  HeatmapOptions options = small();
  options.figure.ticks = Ticks::index;
  const auto dark = [&] {
    return shows(draw_heatmap(heatmap_of({2, 4000}, values), options, PictureFormat::png),
                 {128, 0, 38}, 0.0003);
  };
  options.colors.bar = false;
  CHECK(dark());
  options.colors.range = {ColorRange::Scope::given, 0, 1};
  options.colors.pixels = PixelShows::mean;
  CHECK_FALSE(dark());
}

TEST_CASE("pixels that show means say what the largest value is") {
  std::vector<double> values(2 * 4000);
  values[1234] = 1;
  HeatmapOptions options = small();
  const auto note = [&] {
    std::string all;
    for (const PictureText& text :
         draw_heatmap(heatmap_of({2, 4000}, values), options, PictureFormat::png).texts) {
      all += text.text + " ";
    }
    return all;
  };
  CHECK(note().find("largest of up to 1 × ") != std::string::npos);
  options.colors.pixels = PixelShows::mean;
  const std::string mean = note();
  CHECK(mean.find("mean of up to 1 × ") != std::string::npos);
  CHECK(mean.find("largest 1)") != std::string::npos);
}

TEST_CASE("a picture is never larger than the size that was asked for") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(13, 13);
  heatmap.query_labels = heatmap.key_labels = std::vector<std::string>(13, "because");
  HeatmapOptions options;
  options.figure.dpi = 100;
  for (const std::pair<double, double>& size :
       {std::pair{3.25, 2.8}, {3.25, 3.25}, {3.25, 2.5}, {6.75, 2.5}, {4.0, 12.0}, {4.0, 3.0}}) {
    CAPTURE(size.first);
    CAPTURE(size.second);
    options.figure.figsize = size;
    const auto picture = decode_png(draw_heatmap(heatmap, options, PictureFormat::png).bytes);
    CHECK(static_cast<double>(picture.width) <= size.first * 100);
    CHECK(static_cast<double>(picture.height) <= size.second * 100);
  }
}

TEST_CASE("a picture of exact size has as many pixels as inches and resolution say") {
  HeatmapOptions options;
  options.figure.figsize = {40.0 / 3, 7.5};
  options.figure.exact_size = true;
  options.figure.dpi = 144;
  const auto picture =
      decode_png(draw_heatmap(heatmap_of({1, 2}, {0.5, 0.5}), options, PictureFormat::png).bytes);
  CHECK(picture.width == 1920);
  CHECK(picture.height == 1080);
}

// Texts of a picture that are equal to a name.
std::size_t named(const Picture& picture, const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(picture.texts.begin(), picture.texts.end(),
                    [&](const PictureText& text) { return text.text == name; }));
}

TEST_CASE("all of 13 words are named in a column of print, and all of 80 in a figure that grows") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(13, 13);
  heatmap.query_labels = heatmap.key_labels = std::vector<std::string>(13, "because");
  heatmap.title = "The animal did not cross the street because it was too tired";
  HeatmapOptions options;
  options.figure.figsize = {3.25, 3.25};
  const Picture column = draw_heatmap(heatmap, options, PictureFormat::svg);
  CHECK(named(column, "because") == 26);
  CHECK(named(column, "Key") == 1);
  CHECK(named(column, "Query") == 1);
  CHECK(named(column, heatmap.title) == 0);
  heatmap.weights = test::example_weights(80, 80);
  heatmap.query_labels = heatmap.key_labels = std::vector<std::string>(80, "tranquility");
  CHECK(named(draw_heatmap(heatmap, {}, PictureFormat::svg), "tranquility") == 160);
}

TEST_CASE(
    "cells stay square in a figure of another shape, and each axis names what it has room for") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(13, 13);
  heatmap.query_labels = heatmap.key_labels = std::vector<std::string>(13, "because");
  HeatmapOptions options;
  options.figure.figsize = {4, 12};
  const Picture high = draw_heatmap(heatmap, options, PictureFormat::svg);
  const PictureFrame& map = high.frames[0];
  CHECK(std::abs((map.right - map.left) - (map.bottom - map.top)) < 0.5);
  CHECK(named(high, "because") == 26);
}

TEST_CASE("cells that nearly are zero have a dot, and values that find no room a warning") {
  HeatmapOptions options;
  std::vector<double> values(81, 0.0001);
  for (std::size_t i = 0; i < 9; ++i) values[i * 10] = 1 - 8 * 0.0001;
  const Picture dots = draw_heatmap(heatmap_of({9, 9}, values), options, PictureFormat::svg);
  CHECK(named(dots, "\u00B7") == 72);
  options.annotation.format = ".12f";
  const Picture none = draw_heatmap(heatmap_of({9, 9}, values), options, PictureFormat::svg);
  REQUIRE(none.warnings.size() == 1);
  CHECK(none.warnings[0] ==
        "no values are written: their cells are too small for them; give a larger figure size or a "
        "shorter format");
}

TEST_CASE("bars of rows that sum to 1 show their largest cells") {
  HeatmapOptions options;
  options.marginals = true;
  CHECK(named(draw_heatmap(heatmap_of({2, 2}, {0.25, 0.75, 0.5, 0.5}), options, PictureFormat::svg),
              "Largest") == 1);
  CHECK(named(draw_heatmap(heatmap_of({2, 2}, {0.25, 0.5, 0.5, 0.5}), options, PictureFormat::svg),
              "Largest") == 0);
}

TEST_CASE("a font that is not installed is refused, another one is named in SVG files") {
  const auto heatmap = heatmap_of({1, 1}, {1});
  HeatmapOptions options;
  options.figure.font = "No Such Font";
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "there is no font \"No Such Font\" on this machine\n  where: FigureOptions::font\n"
        "  help:  give a family that fc-list : family lists, such as DejaVu Sans");
  // A name that says a language gets an installed font of that, if there is one.
  options.figure.font = "No Such Font SC";
  const std::string instead = plot::installed_instead("No Such Font SC");
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "there is no font \"No Such Font SC\" on this machine\n  where: FigureOptions::font\n"
        "  help:  give a family that fc-list : family lists, such as " +
            (instead.empty() ? std::string("DejaVu Sans") : instead));
  CHECK((instead.empty() || plot::is_installed(instead)));
  CHECK(plot::installed_instead("No Such Font").empty());
  options.figure.font = "serif";
  CHECK(draw_heatmap(heatmap, options, PictureFormat::svg).bytes.find("font-family=\"'serif', ") !=
        std::string::npos);
}

TEST_CASE(
    "the figure's own font comes first in SVG files, another one only where a text needs it") {
  auto heatmap = heatmap_of({1, 2}, {0.5, 0.5});
  heatmap.key_labels = {"学习", "too"};
  const std::string svg = draw_heatmap(heatmap, {}, PictureFormat::svg).bytes;
  CHECK(svg.find("<g xml:space=\"preserve\" font-family=\"'DejaVu Sans', sans-serif\">") !=
        std::string::npos);
  const std::size_t text = svg.find("学习</text>");
  CHECK(svg.rfind("font-family=\"'DejaVu Sans', '", text) > svg.rfind("<text", text));
}

TEST_CASE("means of more cells than pixels drop none") {
  // Every other column is 1: no pixel may show one of them alone.
  std::vector<double> values(2 * 4000);
  for (std::size_t i = 0; i < values.size(); i += 2) values[i] = 1;
  HeatmapOptions options = small();
  options.colors.pixels = PixelShows::mean;
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    options.figure.style = style;
    const auto picture = draw_heatmap(heatmap_of({2, 4000}, values), options, PictureFormat::png);
    CHECK_FALSE(shows(picture, {255, 255, 204}, 0.02));
    CHECK_FALSE(shows(picture, {128, 0, 38}, 0.02));
  }
}

TEST_CASE("a given colour range spreads the colours over it") {
  HeatmapOptions options = small();
  options.annotation.when = Annotate::off;
  options.colors.range = {ColorRange::Scope::given, 0, 10};
  CHECK(shows(draw_heatmap(heatmap_of({1, 2}, {0, 1}), options, PictureFormat::png),
              {255, 240, 169}, 0.1));
}

TEST_CASE("values in cells can be left out and take the colour asked for") {
  const auto heatmap = heatmap_of({2, 2}, {0.1, 0.2, 0.3, 0.4});
  HeatmapOptions options = small();
  const std::string automatic = draw_heatmap(heatmap, options, PictureFormat::png).bytes;
  options.annotation.color = "blue";
  const auto blue = draw_heatmap(heatmap, options, PictureFormat::png);
  CHECK(blue.bytes != automatic);
  options.annotation.when = Annotate::off;
  CHECK(draw_heatmap(heatmap, options, PictureFormat::png).bytes != automatic);
}

TEST_CASE("values that do not fit their cells are not drawn unless they are demanded") {
  Heatmap heatmap;
  heatmap.weights = test::example_weights(64, 64);
  HeatmapOptions automatic = small(), off = small(), on = small();
  off.annotation.when = Annotate::off;
  on.annotation.when = Annotate::on;
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    automatic.figure.style = off.figure.style = on.figure.style = style;
    const auto bytes = [&](const HeatmapOptions& options) {
      return draw_heatmap(heatmap, options, PictureFormat::png).bytes;
    };
    CHECK(bytes(automatic) == bytes(off));
    CHECK(bytes(on) != bytes(off));
  }
  on.figure.style = PlotStyle::standard;
  const Picture specks = draw_heatmap(heatmap, on, PictureFormat::png);
  REQUIRE(specks.warnings.size() == 1);
  CHECK(specks.warnings[0] ==
        "the values are too small to be read: give a larger figure size, or choose a part of the "
        "positions");
}

TEST_CASE("the options' title goes before the heatmap's, and that before the default") {
  Heatmap heatmap = heatmap_of({1, 1}, {1});
  HeatmapOptions options = small();
  const auto bytes = [&] { return draw_heatmap(heatmap, options, PictureFormat::png).bytes; };
  const std::string untitled = bytes();
  heatmap.title = "Attention Weight Heatmap";
  CHECK(bytes() == untitled);
  heatmap.title = "Another";
  const std::string titled = bytes();
  CHECK(titled != untitled);
  options.figure.title = "Attention Weight Heatmap";
  CHECK(bytes() == untitled);
  options.figure.title = "";
  CHECK(decode_png(bytes()).height < decode_png(untitled).height);
}

TEST_CASE("a title wider than the figure is broken into lines in the standard style only") {
  Heatmap heatmap = heatmap_of({1, 1}, {1});
  heatmap.title = "What each word of the sentence looks at when a model reads the sentence";
  HeatmapOptions options = small();
  options.figure.figsize = {5, 4};
  const auto whole = [&](const Picture& picture) {
    return std::any_of(picture.texts.begin(), picture.texts.end(),
                       [&](const PictureText& text) { return text.text == heatmap.title; });
  };
  const Picture standard = draw_heatmap(heatmap, options, PictureFormat::png);
  CHECK(decode_png(standard.bytes).width <= 5 * 40);
  CHECK_FALSE(whole(standard));
  options.figure.style = PlotStyle::matplotlib;
  const Picture matplotlib = draw_heatmap(heatmap, options, PictureFormat::png);
  CHECK(decode_png(matplotlib.bytes).width > 5 * 40 + 2 * 4);
  CHECK(whole(matplotlib));
}

TEST_CASE("letters no font has lead to a warning, known ones do not") {
  Heatmap heatmap = heatmap_of({1, 2}, {0.5, 0.5});
  heatmap.key_labels = {"我", "喜欢"};
  CHECK(draw_heatmap(heatmap, small(), PictureFormat::png).warnings.empty());
}

TEST_CASE("what is no matrix is refused") {
  CHECK(error_of({}, {}) ==
        "there are no weights to draw\n"
        "  where: weights\n"
        "  help:  give a matrix of weights");
  CHECK(error_of(heatmap_of({2, 1, 2}, {1, 2, 3, 4}), {}) ==
        "weights of shape [2,1,2] cannot be drawn as a heatmap\n"
        "  where: weights\n"
        "  help:  choose one sample and head: a heatmap is one matrix, [queries,keys]");
  CHECK(error_of(heatmap_of({0, 3}, {}), {}) ==
        "weights of shape [0,3] have no cells to draw\n"
        "  where: weights\n"
        "  help:  give at least one query and one key");
}

TEST_CASE("labels and masks that do not match the weights are refused") {
  Heatmap heatmap = heatmap_of({2, 2}, {1, 2, 3, 4});
  heatmap.key_labels = {"one"};
  CHECK(error_of(heatmap, {}) ==
        "1 key labels for 2 columns\n"
        "  where: weights\n"
        "  help:  give one label for each, or none");
  heatmap.key_labels.clear();
  heatmap.query_labels = {"one", "two", "three"};
  CHECK(error_of(heatmap, {}) ==
        "3 query labels for 2 rows\n"
        "  where: weights\n"
        "  help:  give one label for each, or none");
  heatmap.query_labels.clear();
  heatmap.allowed = test::causal(3);
  CHECK(error_of(heatmap, {}) ==
        "the mask is of shape [3,3], the weights are of shape [2,2]\n"
        "  where: weights\n"
        "  help:  both must have the same shape");
}

TEST_CASE("impossible options are refused") {
  const auto heatmap = heatmap_of({1, 1}, {1});
  HeatmapOptions options;
  options.colors.cmap = "viridi";
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "unknown colour map \"viridi\"\n"
        "  help:  did you mean \"viridis\"?");
  options = {};
  options.annotation.color = "nocolour";
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "unknown colour \"nocolour\"\n  where: AnnotationOptions::color\n"
        "  help:  give a CSS colour name such as white or navy, or #rrggbb");
  options = {};
  options.figure.dpi = 0;
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "a resolution of 0 dots per inch is not possible\n"
        "  help:  give one from 1 to 10000, such as 300");
  options = {};
  options.figure.figsize = {-1, nan};
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "a figure size of -1 × nan inches is not possible\n"
        "  help:  give the width and height in inches, such as 8x6");
  options.figure.figsize = {900, 900};
  CHECK(error_of(heatmap, options).starts_with("the picture would be "));
  options = {};
  options.colors.range = {ColorRange::Scope::given, 1, 0};
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "the colour range does not go from a smaller to a larger number\n"
        "  help:  give the smallest and the largest value, such as 0,1");
  options.colors.range = {ColorRange::Scope::given, -1e308, 1e308};
  CHECK(error_of(heatmap, options, ErrorKind::usage) ==
        "the colour range is too wide to compute with\n"
        "  help:  give values from -4e307 to 4e307");
}

TEST_CASE("values are left out where they would be smaller than five points in print") {
  HeatmapOptions options;
  const auto values = [&](double width) {
    options.figure.figsize = {width, 0};
    const Heatmap map = heatmap_of({11, 11}, std::vector<double>(121, 1.0 / 11));
    const Picture picture = draw_heatmap(map, options, PictureFormat::svg);
    return std::ranges::count(picture.texts, std::string("0.09"), &PictureText::text);
  };
  CHECK(values(6.75) == 121);
  CHECK(values(3.25) == 0);
  options.annotation.when = Annotate::on;
  CHECK(values(3.25) == 121);
}

TEST_CASE("figures too small for their texts, and texts too long for their figure, are drawn") {
  Heatmap heatmap = heatmap_of({2, 2}, {1, 2, 3, 4});
  heatmap.title = std::string(20000, 't');
  heatmap.key_labels = {std::string(20000, 'k'), "\xff\n"};
  for (const auto style : {PlotStyle::standard, PlotStyle::matplotlib}) {
    HeatmapOptions options = small();
    options.figure.style = style;
    CHECK_FALSE(draw_heatmap(heatmap, options, PictureFormat::png).bytes.empty());
    options.figure.figsize = {0.1, 0.1};
    CHECK_FALSE(draw_heatmap(heatmap, options, PictureFormat::png).bytes.empty());
    options.figure.dpi = 1;
    CHECK_FALSE(draw_heatmap(heatmap, options, PictureFormat::png).bytes.empty());
  }
}

}  // namespace

TEST_CASE(
    "the bar of colours speaks of full focus only where it ends at 1, and marks the even weight") {
  const auto texts_of = [](std::size_t keys) {
    const Heatmap even =
        heatmap_of({keys, keys}, std::vector<double>(keys * keys, 1.0 / static_cast<double>(keys)));
    std::vector<std::string> texts;
    for (const auto& text : draw_heatmap(even, small(), PictureFormat::svg).texts)
      texts.push_back(text.text);
    return texts;
  };
  const auto has = [](const std::vector<std::string>& texts, const std::string& text) {
    return std::find(texts.begin(), texts.end(), text) != texts.end();
  };
  const auto few = texts_of(8), many = texts_of(13);
  CHECK(has(few, "Attention weight (0=No Focus, 1=Full Focus)"));
  CHECK(has(few, "1/8"));
  CHECK(has(many, "Attention weight"));
  CHECK(has(many, "1/13"));
}

TEST_CASE("a flat map in Chinese takes the short label of its colours instead of a cut one") {
  const Chinese chinese;
  const Heatmap flat = heatmap_of({1, 12}, std::vector<double>(12, 1.0 / 12));
  const std::string picture = draw_heatmap(flat, small(), PictureFormat::svg).bytes;
  CHECK(picture.find(">注意力权重<") != std::string::npos);
  CHECK(picture.find("\u2026") == std::string::npos);
  const Heatmap high = heatmap_of({12, 12}, std::vector<double>(144, 1.0 / 12));
  CHECK(draw_heatmap(high, small(), PictureFormat::svg).bytes.find("（0=不关注") !=
        std::string::npos);
}
