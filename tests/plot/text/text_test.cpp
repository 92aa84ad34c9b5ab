#include "plot/text/text.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "support/printable.hpp"
#include "support/work_budget.hpp"

namespace {

using namespace attn::plot;

TEST_CASE("lines of one font size are at least as high as their tallest and deepest letters") {
  for (const auto lettering : {Lettering::outlines, Lettering::hinted, Lettering::hinted_measure}) {
    Typesetter typesetter(1, lettering);
    const Text& lp = typesetter.text("lp", 10);
    for (const std::string text : {"a", "Query", "0.66", "…", "我"}) {
      CAPTURE(text);
      const Text& line = typesetter.text(text, 10);
      CHECK(line.height >= lp.height);
      CHECK(line.descent >= lp.descent);
      CHECK(line.width > 0);
    }
  }
}

TEST_CASE("hinted letters have whole heights and are measured alike whether drawn or not") {
  Typesetter drawing(100.0 / 72, Lettering::hinted),
      measuring(100.0 / 72, Lettering::hinted_measure);
  const Text& drawn = drawing.text("Hlp", 10);
  const Text& measured = measuring.text("Hlp", 10);
  CHECK(drawn.width == measured.width);
  CHECK(drawn.height == measured.height);
  CHECK(drawn.hinted->coverage != nullptr);
  CHECK(measured.hinted->coverage == nullptr);
  CHECK(drawn.height == static_cast<int>(drawn.height));
}

TEST_CASE("texts are set only as long as the time of the work lasts") {
  Typesetter typesetter(1, Lettering::outlines);
  attn::WorkBudget budget(1e-9);
  const attn::BudgetScope scope(&budget);
  CHECK(error_from([&] { typesetter.text("b", 10); }) ==
        "the document takes longer than 1e-09 seconds\n"
        "  help:  make it smaller, or raise the limit with Limits::seconds");
}

TEST_CASE("letters that the font lacks come from another one") {
  Typesetter typesetter(1, Lettering::hinted);
  CHECK(typesetter.text("abc", 10).hinted);
  CHECK_FALSE(typesetter.text("我喜欢", 10).hinted);
  CHECK(typesetter.text("我喜欢", 10).layout != nullptr);
}

TEST_CASE("letters that no font has are told by their script") {
  Typesetter typesetter(1, Lettering::outlines);
  CHECK(typesetter.warnings().empty());
  typesetter.text("\U00013000", 10);  // an Egyptian hieroglyph
  const auto warnings = typesetter.warnings();
  if (!warnings.empty()) {  // a machine may have a font for it
    CHECK(warnings[0] ==
          "no installed font has some letters of the script Egyp: they are drawn as "
          "boxes; install a font for it, on Debian the package fonts-noto-core");
  }
}

TEST_CASE("long text is shortened in its middle, not within a letter") {
  Typesetter typesetter(1, Lettering::outlines);
  CHECK(shortened("short", 10, 100, typesetter) == "short");
  const std::string text = "机器学习机器学习机器学习abcdefgh";
  const std::string result = shortened(text, 10, 80, typesetter);
  CHECK(typesetter.text(result, 10).width <= 80);
  CHECK(result.starts_with("机器"));
  CHECK(result.ends_with("gh"));
  CHECK(result.find("…") != std::string::npos);
  CHECK(attn::printable(result) == result);
}

TEST_CASE("aligned text stands where its alignment says") {
  Typesetter typesetter(1, Lettering::outlines);
  const Text& text = typesetter.text("Key", 10);
  const auto right = place(text, {100, 50}, {Horizontal::right, Vertical::top});
  CHECK(right.bounds.right == doctest::Approx(100));
  CHECK(right.bounds.top == doctest::Approx(50));
  CHECK(right.bounds.width() == doctest::Approx(text.width));
  const auto baseline = place(text, {0, 50}, {Horizontal::left, Vertical::baseline});
  CHECK(baseline.origin.x == doctest::Approx(0));
  CHECK(baseline.origin.y == doctest::Approx(50));
}

TEST_CASE("upright text takes as much room across as level text takes down") {
  Typesetter typesetter(1, Lettering::outlines);
  const Text& text = typesetter.text("Query", 12);
  const auto upright = place(text, {30, 40}, {Horizontal::centre, Vertical::bottom, 90, true});
  CHECK(upright.bounds.width() == doctest::Approx(text.height));
  CHECK(upright.bounds.height() == doctest::Approx(text.width));
  CHECK(upright.bounds.right == doctest::Approx(30));
  CHECK(upright.bounds.centre() == doctest::Approx(40));
}

TEST_CASE("lines of a text stand below each other, each in the middle") {
  Typesetter typesetter(1, Lettering::outlines);
  const Text& lp = typesetter.text("lp", 10);
  const Text& wide = typesetter.text("Attention weights", 10);
  const Text& narrow = typesetter.text("(Head 3)", 10);
  const auto placed =
      place_lines({&wide, &narrow}, lp, {100, 50}, {Horizontal::centre, Vertical::baseline});
  REQUIRE(placed.size() == 2);
  CHECK(placed[0].bounds.middle() == doctest::Approx(100));
  CHECK(placed[1].bounds.middle() == doctest::Approx(100));
  CHECK(placed[1].origin.y == doctest::Approx(50));
  CHECK(placed[0].bounds.bottom < placed[1].bounds.top);
  CHECK(placed[1].origin.y - placed[0].origin.y ==
        doctest::Approx(1.2 * (narrow.height - narrow.descent) + wide.descent));
}

TEST_CASE("upright lines stand beside each other, the first on the left") {
  Typesetter typesetter(1, Lettering::outlines);
  const Text& text = typesetter.text("Query", 10);
  const auto placed =
      place_lines({&text, &text}, text, {30, 40}, {Horizontal::centre, Vertical::bottom, 90, true});
  CHECK(placed[0].bounds.right < placed[1].bounds.left);
  CHECK(placed[0].bounds.centre() == doctest::Approx(40));
  CHECK(placed[1].bounds.right == doctest::Approx(30));
}

TEST_CASE("a text is cut at its newlines") {
  CHECK(lines_of("one") == std::vector<std::string>{"one"});
  CHECK(lines_of("\none\n\ntwo") == std::vector<std::string>{"", "one", "", "two"});
  CHECK(lines_of("") == std::vector<std::string>{""});
}

TEST_CASE("long lines are broken at spaces, long words are not") {
  Typesetter typesetter(1, Lettering::outlines);
  const double width = typesetter.text("what each word", 10).width + 1;
  CHECK(wrapped("what each word looks at", 10, width, typesetter) == "what each word\nlooks at");
  CHECK(wrapped("what each word\n\nlooks at", 10, width, typesetter) ==
        "what each word\n\nlooks at");
  CHECK(wrapped("a internationalisation b", 10, width / 2, typesetter) ==
        "a\ninternationalisation\nb");
  CHECK(wrapped("", 10, width, typesetter).empty());
}

TEST_CASE("text turned about its end keeps its end at the anchor") {
  Typesetter typesetter(1, Lettering::outlines);
  const Text& text = typesetter.text("animal", 10);
  const auto turned = place(text, {100, 50}, {Horizontal::right, Vertical::top, 45, true});
  CHECK(turned.bounds.top == doctest::Approx(50));
  CHECK(turned.bounds.left < 100 - text.width / 2);
  CHECK(turned.bounds.right == doctest::Approx(100 + text.height / std::sqrt(2.0)));
}

}  // namespace
