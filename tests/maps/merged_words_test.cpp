#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/pictures.hpp"

#include "error_from.hpp"
#include "maps/selected_map.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

using Texts = std::vector<std::string>;

const Texts chinese{"[CLS]", "我", "喜", "欢", "北", "京", "[SEP]"};

// The words of an axis on both sides, as "text:first-end".
std::string words(const std::optional<PieceWords>& given, const Texts& labels,
                  std::vector<std::size_t> positions = {}) {
  if (positions.empty()) {
    for (std::size_t i = 0; i < labels.size(); ++i) positions.push_back(i);
  }
  const ShownAxis axis{labels, labels.size(), positions};
  std::string text;
  for (const Word& word : merged_words(given, axis, axis).keys) {
    text += (text.empty() ? "" : " ") + word.text + ":" + std::to_string(word.first) + "-" +
            std::to_string(word.end);
  }
  return text;
}

PieceWords read(const TemporaryFolder& folder, const std::string& content) {
  return read_piece_words(folder.write("words", content));
}

}  // namespace

TEST_CASE("pieces without marks become the words of a list, special tokens standing alone") {
  CHECK(words(PieceWords{{"我", "喜欢", "北京"}, {}}, chinese) ==
        "[CLS]:0-1 我:1-2 喜欢:2-4 北京:4-6 [SEP]:6-7");
  CHECK(words(PieceWords{{"playing", "Cat"}, {}}, {"play", "##ing", "cat"}) ==
        "playing:0-2 cat:2-3");
}

TEST_CASE("words may be given by the positions of their pieces") {
  CHECK(words(PieceWords{{}, {{2, 4}, {4, 6}}}, chinese) ==
        "[CLS]:0-1 我:1-2 喜欢:2-4 北京:4-6 [SEP]:6-7");
  // The rest of a word of which a piece is not shown is a word too.
  CHECK(words(PieceWords{{}, {{2, 4}, {4, 6}}}, chinese, {1, 3, 4, 5}) == "我:0-1 欢:1-2 北京:2-4");
}

TEST_CASE("pieces of a word whose start is not shown do not go on with the word before") {
  const Texts spaced{"The", "Ġun", "break", "able", "Ġcup"};
  CHECK(words(std::nullopt, spaced, {0, 2, 3, 4}) == "The:0-1 breakable:1-3 cup:3-4");
  CHECK(words(std::nullopt, spaced, {0, 1, 3}) == "The:0-1 unable:1-3");
  CHECK(words(std::nullopt, {"play", "[SEP]", "##ing", "##s"}, {0, 2, 3}) == "play:0-1 ##ings:1-3");
}

TEST_CASE("words that are not those of the pieces are refused where they part") {
  CHECK(error_from([] {
          words(PieceWords{{"我", "爱"}, {}}, chinese);
        }) ==
        "the token \"喜\", number 2, does not go on with the word \"爱\"\n"
        "  where: MapSelection::words\n"
        "  help:  give the words of the text in their order, special tokens left out, or the "
        "positions of their tokens");
  CHECK(error_from([] {
          words(PieceWords{{"我"}, {}}, chinese);
        }).starts_with("the words end before the token \"喜\", number 2\n"));
  CHECK(error_from([] {
          words(PieceWords{{"我", "喜欢", "北京市"}, {}}, chinese);
        }).starts_with("the tokens end within the word \"北京市\"\n"));
  CHECK(error_from([] {
          words(PieceWords{{}, {{5, 9}}}, chinese);
        }).starts_with("the word 0 goes up to token 9 of 7\n"));
}

TEST_CASE("words are read as a list, as lines, as positions and as a number a piece") {
  const TemporaryFolder folder;
  using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;
  CHECK(read(folder, R"(["a b","c"])").words == Texts{"a b", "c"});
  CHECK(read(folder, "我\n喜欢\n").words == Texts{"我", "喜欢"});
  CHECK(read(folder, "[[0,2],[2,3]]").pieces == Pairs{{0, 2}, {2, 3}});
  CHECK(read(folder, "[null,0,0,1,null]").pieces == Pairs{{1, 3}, {3, 4}});
  CHECK(error_from([&] { read(folder, "[[0,2],[1,3]]"); }) ==
        "the positions 1 up to 3 do not follow those of the word before\n  where: " +
            (folder / "words").string() +
            ", /1\n  help:  give the words in their order, each at least one token long");
}

TEST_CASE("nothing to merge is said") {
  const TemporaryFolder folder;
  PlotRequest request;
  request.input = folder.write("w.json", R"({"weights":[[0.5,0.5]],"labels":{"key":["a","b"]}})");
  request.maps.selection.merge_pieces = true;
  std::vector<std::string> warnings;
  read_heatmap(request, &warnings);
  CHECK(warnings ==
        Texts{"nothing was merged: no label has the mark of a piece of a word, such as ##, Ġ or ▁; "
              "MapSelection::words says which pieces make a word where there are no marks"});
  CHECK(draw(request).warnings == warnings);
}
