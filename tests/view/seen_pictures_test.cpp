#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/run.hpp"
#include "attn/view.hpp"

#include "result/result_reader.hpp"
#include "temporary_folder.hpp"
#include "view/read_page.hpp"

namespace attn {
namespace {

const std::filesystem::path models = std::filesystem::path(ATTN_TEST_DATA) / "models" / "pictures";
constexpr const char* clip = "clip_two_pictures_three_texts";

ViewOptions page_options(const std::filesystem::path& input) {
  ViewOptions options;
  options.document.input = input;
  return options;
}

/// Numbers of the attention's samples in the list of pictures; −1 = none.
std::vector<std::int64_t> pictures_of(const ReadPage& page, std::size_t attention) {
  std::vector<std::int64_t> numbers;
  const JsonValue& samples = page.at({"attentions", std::to_string(attention), "samples"});
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const JsonValue* picture = samples.element(i).find("picture");
    numbers.push_back(picture == nullptr ? -1 : picture->integer());
  }
  return numbers;
}

}  // namespace

TEST_CASE("a page has the pictures that a model saw, for maps of their patches") {
  const TemporaryFolder folder;
  RunOptions options;
  options.document.input = models / clip / "input.json";
  options.out = folder / "r";
  options.plots = {};
  run(options);
  const ReadPage page = page_of(page_options(models / clip / "input.json"));
  REQUIRE(page.at({"pictures"}).size() == 2);
  ResultReader result(folder / "r", {});
  const Tensor image = result.numbers("image").converted(DType::float64);
  const std::size_t height = image.shape()[2], width = image.shape()[3];
  CHECK(ReadPage::count(page.at({"pictures", "1", "height"})) == height);
  CHECK(ReadPage::count(page.at({"pictures", "1", "width"})) == width);
  const auto pixels =
      page.numbers<std::uint8_t>(ReadPage::count(page.at({"pictures", "1", "pixels"})));
  REQUIRE(pixels.size() == 3 * height * width);
  double furthest = 0;
  for (std::size_t i = 0; i < height * width; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const double exact = 255 * image.values<double>()[(3 + c) * height * width + i];
      furthest = std::max(furthest, std::abs(exact - pixels[3 * i + c]));
    }
  }
  CHECK(furthest <= 0.5001);
  CHECK(pictures_of(page, 0) == std::vector<std::int64_t>{0, 1});
  CHECK(page.at({"samples", "0", "title"}).string().starts_with("Picture 0"));
  // The result has the same pictures and maps.
  const ReadPage of_result = page_of(page_options(folder / "r"));
  CHECK(of_result.at({"pictures"}).size() == 2);
  CHECK(pictures_of(of_result, 0) == std::vector<std::int64_t>{0, 1});
  std::size_t texts = 0;
  for (std::size_t i = 0; i < of_result.at({"attentions"}).size(); ++i) {
    const std::vector<std::string> name{"attentions", std::to_string(i), "name"};
    if (!of_result.at(name).string().starts_with("text.")) continue;
    for (const std::int64_t picture : pictures_of(of_result, i)) CHECK(picture == -1);
    ++texts;
  }
  CHECK(texts > 0);
}

TEST_CASE("the rollout of pictures follows their layers, but not where layers are chosen") {
  ViewOptions options = page_options(models / clip / "input.json");
  const ReadPage page = page_of(options);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < page.at({"attentions"}).size(); ++i) {
    const JsonValue& attention = page.at({"attentions", std::to_string(i)});
    if (attention.find("stack")->string() != "Attention Rollout") continue;
    names.push_back(attention.find("name")->string());
    CHECK(attention.find("heads")->integer() == 1);
    CHECK(pictures_of(page, i) == std::vector<std::int64_t>{0, 1});
    const JsonValue& map = attention.find("samples")->element(1).find("maps")->element(0);
    CHECK(map.find("tensor")->string() == "rollout");
    double sum = 0;
    for (const auto& cell : page.cells(map, 0)) sum += cell.value_or(0);
    CHECK(sum == doctest::Approx(
                     static_cast<double>(map.find("heads")->element(0).find("rows")->integer())));
  }
  CHECK(names.size() > 1);
  CHECK(names[0] == "layers.0.rollout");
  options.maps.selection.layers = {{PositionRange{0, 1}}};
  CHECK(page_of(options).text().find("Attention Rollout") == std::string::npos);
}

}  // namespace attn
