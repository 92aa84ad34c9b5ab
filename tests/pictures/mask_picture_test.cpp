#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/pictures.hpp"
#include "attn/run.hpp"

#include "attention/visibility.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "maps/computed_maps.hpp"
#include "pictures/drawing.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

// The mask that `plot mask` draws of one attention of the document, without computing its maps.
MaskMap drawn_mask(const std::filesystem::path& document, const std::string& name,
                   std::size_t sample, std::size_t head) {
  PlotRequest request;
  request.kind = PlotKind::mask;
  request.input = document;
  request.maps.name = name;
  request.sample = sample;
  request.head = head;
  const ResultReader file(document, {});
  return document_mask(request, file);
}

// "101\n": 1 where no part hides the cell.
std::string seen_in(const MaskMap& mask) {
  std::string text;
  const auto cells = mask.hidden_by.values<std::int64_t>();
  const std::size_t keys = mask.hidden_by.shape()[1];
  for (std::size_t n = 0; n < cells.size(); ++n) {
    text += cells[n] == 0 ? '1' : '0';
    if ((n + 1) % keys == 0) text += '\n';
  }
  return text;
}

std::string seen_in(const Tensor& allowed) {
  std::string text;
  const auto cells = allowed.values<std::uint8_t>();
  for (std::size_t n = 0; n < cells.size(); ++n) {
    text += static_cast<char>('0' + cells[n]);
    if ((n + 1) % allowed.shape().back() == 0) text += '\n';
  }
  return text;
}

// The pictures of all masks of a document, one head after the other, beside what its attentions
// say that they let queries see.
void check_masks(const TemporaryFolder& folder, const std::string& text) {
  const std::filesystem::path path = folder.write("doc.json", text);
  const Document document = Document::open(path, {});
  std::vector<Plan> plans = read_plans(document, {});
  REQUIRE(plans.size() == 1);
  std::size_t maps = 0;
  compute(plans[0], {{}, [&](const AttentionMap& map, std::size_t) {
                       const Geometry& sizes = map.planned->geometry;
                       std::string drawn;
                       for (std::size_t b = 0; b < sizes.batch; ++b) {
                         for (std::size_t h = 0; h < sizes.heads; ++h) {
                           drawn += seen_in(drawn_mask(path, map.name.tensor("weights"), b, h));
                         }
                       }
                       CHECK(drawn == seen_in(map.allowed));
                       CHECK(drawn.find('0') != std::string::npos);
                       CHECK(drawn.find('1') != std::string::npos);
                       ++maps;
                     }});
  CHECK(maps == plans[0].attentions.size());
}

constexpr const char* three_rows =
    R"("attention":"dot_product","query":[[1,0],[0,1],[1,1]],"key":[[1,-1],[-1,1],[1,1]])";

}  // namespace

TEST_CASE("the picture of a document's mask compares rows where its expression does") {
  const TemporaryFolder folder;
  const auto document = folder.write(
      "doc.json", std::string("{") + three_rows + R"(,"mask":{"where":"dot(q,k) > 0"}})");
  const MaskMap mask = drawn_mask(document, "weights", 0, 0);
  CHECK(seen_in(mask) == "101\n011\n001\n");
  std::size_t where = 0;
  while (hiding_parts()[where]->name != "where") ++where;
  for (const std::int64_t cell : mask.hidden_by.values<std::int64_t>()) {
    CHECK((cell == 0 || cell == std::int64_t{1} << where));
  }
}

TEST_CASE("pictures of masks compare the rows that attentions compare, in every kind of document") {
  const TemporaryFolder folder;
  check_masks(folder, std::string("{") + three_rows + R"(,"mask":{"where":"dot(q,k) > 0"}})");
  check_masks(folder, R"({"attention":"scaled_dot_product","query":{"randn":[2,4,6,8]},
    "key":{"randn":[2,2,7,8]},"seed":3,"rotary":{},
    "mask":{"where":"norm(k) < 3 && dot(q,k) > -1","causal":true,"align":"lower_right"}})");
  check_masks(folder, R"({"attention":"multi_head","heads":2,"x":{"randn":[2,6,8]},"seed":3,
    "parameters":{"init":"torch"},"mask":{"where":"distance(q,k) > 1.5"},"dtype":"bfloat16"})");
  check_masks(folder, R"({"attention":"decoder_layer","layers":2,"heads":2,"feed_forward":8,
    "x":{"randn":[5,8]},"memory":{"randn":[4,8]},"seed":1,"parameters":{"init":"torch"},
    "mask":{"where":"dot(q,k) > 0 || i == j"},
    "memory_mask":{"where":"norm(k) < norm(q) + 0.1"}})");
}

TEST_CASE("a window with global positions shows what these add beside a comparison of rows") {
  const TemporaryFolder folder;
  const auto document = folder.write(
      "doc.json", std::string("{") + three_rows +
                      R"(,"mask":{"where":"dot(q,k) > 0","window":{"left":0,"right":0},)"
                      R"("global":[2]}})");
  const MaskMap mask = drawn_mask(document, "weights", 0, 0);
  CHECK(seen_in(mask) == "101\n011\n001\n");
  CHECK(seen_in(mask.global.converted(DType::boolean)) == "001\n001\n000\n");
}

TEST_CASE("a run draws the mask that its document's picture has") {
  const TemporaryFolder folder;
  RunOptions options;
  options.document.input = folder.write(
      "doc.json", std::string("{") + three_rows + R"(,"mask":{"where":"dot(q,k) > 0"}})");
  options.out = folder / "out";
  options.plots = {PlotKind::mask};
  options.format = PictureFormat::svg;
  run(options);
  PlotRequest request;
  request.kind = PlotKind::mask;
  request.input = options.document.input;
  request.format = PictureFormat::svg;
  // Up to what the files say about their inputs.
  const auto drawing = [](const std::string& svg) { return svg.substr(svg.find("</metadata>")); };
  CHECK(drawing(read_text(folder / "out/mask.svg")) == drawing(draw(request).bytes));
}

TEST_CASE("keys that a bias hides in effect are a reason of their own in pictures of masks") {
  const TemporaryFolder folder;
  const std::string text =
      R"({"attention": "sdpa", "query": {"ones": [1, 2, 2]}, "key": {"ones": [1, 3, 2]},)"
      R"( "mask": {"bias": [[0, -1e9, "-inf"], [0, 0, -0.5]]}})";
  const std::filesystem::path path = folder.write("doc.json", text);
  const MaskMap mask = drawn_mask(path, "weights", 0, 0);
  CHECK(seen_in(mask) == "100\n111\n");
  CHECK(mask.parts.back() == "hidden in effect by the bias");
  CHECK(mask.hidden_by.values<std::int64_t>()[1] == std::int64_t{1} << (mask.parts.size() - 1));
  RunOptions options;
  options.document.input = path;
  options.plots = {PlotKind::heatmap, PlotKind::mask};
  options.format = PictureFormat::svg;
  options.plot.figure.letters = Letters::text;
  options.out = folder / "r";
  run(options);
  for (const std::string name : {"heatmap.svg", "mask.svg"}) {
    CAPTURE(name);
    const std::string picture = read_text(folder / "r" / name);
    CHECK(picture.find(">hidden in effect by the bias<") != std::string::npos);
  }
}
