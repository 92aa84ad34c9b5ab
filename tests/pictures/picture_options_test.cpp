#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/pictures.hpp"

#include "temporary_folder.hpp"

namespace {

using namespace attn;
using Shown = MapSelection::Shown;

/// Numbers of a tensor in JSON, each row of weights that sum to 1. `seed` sets them apart; of
/// `causal` ones a row has no later columns.
class Numbers {
 public:
  Numbers(std::vector<std::size_t> shape, std::size_t seed, bool causal)
      : shape_(std::move(shape)), next_(seed), causal_(causal) {}

  std::string json() { return part(0, 0); }

 private:
  std::string part(std::size_t axis, std::size_t at) {
    std::string text = "[";
    if (axis + 1 == shape_.size()) {
      std::vector<double> row;
      double sum = 0;
      for (std::size_t j = 0; j < shape_[axis]; ++j) {
        next_ = next_ * 1103515245U + 12345U;
        const double number = static_cast<double>(next_ / 65536U % 1000U) + 1;
        row.push_back(causal_ && j > at ? 0 : number);
        sum += row.back();
      }
      for (const double number : row) text += std::to_string(number / sum) + ",";
    } else {
      for (std::size_t i = 0; i < shape_[axis]; ++i) text += part(axis + 1, i) + ",";
    }
    text.back() = ']';
    return text;
  }

  std::vector<std::size_t> shape_;
  std::size_t next_;
  bool causal_;
};

std::string numbers(std::vector<std::size_t> shape, std::size_t seed, bool causal = false) {
  return Numbers(std::move(shape), seed, causal).json();
}

std::string truths(std::size_t samples, std::size_t length, std::size_t first) {
  std::string all = "[";
  for (std::size_t b = 0; b < samples; ++b) {
    all += "[[";
    for (std::size_t i = 0; i < length; ++i) {
      all += "[";
      for (std::size_t j = 0; j < length; ++j) all += j <= i + b + first ? "1," : "0,";
      all.back() = ']';
      all += ",";
    }
    all.back() = ']';
    all += "],";
  }
  all.back() = ']';
  return all;
}

std::string labels(std::size_t count) {
  std::string all = "[";
  for (std::size_t i = 0; i < count; ++i)
    all += (i % 2 == 0 ? "\"▁t" : "\"s") + std::to_string(i) + "\",";
  all.back() = ']';
  return all;
}

/// A result with two layers of 2 samples and 3 heads over `length` tokens, with all stages and a
/// mask.
std::string result(std::size_t length, std::size_t seed) {
  const std::vector<std::size_t> shape{2, 3, length, length};
  std::string tensors;
  for (const std::string layer : {"0", "1"}) {
    for (const std::string part : {"weights", "scores", "masked"}) {
      tensors += "\"layers." + layer + ".self." + part + "\":" + numbers(shape, seed++) + ",";
    }
    tensors +=
        "\"layers." + layer + ".self.allowed\":" + truths(2, length, layer == "1" ? 1 : 0) + ",";
  }
  tensors.pop_back();
  return R"({"format":1,"attention":"model","labels":{"query":)" + labels(length) + R"(,"key":)" +
         labels(length) + R"(,"spans":{"a":[0,2],"b":[2,)" + std::to_string(length) +
         R"(]}},"tensors":{)" + tensors + "}}";
}

/// Files that each kind of picture can be drawn of, of a length.
class Inputs {
 public:
  explicit Inputs(std::size_t length) {
    folder_.write("a.json", result(length, 1));
    folder_.write("b.json", result(length, 100));
    const std::string n = std::to_string(length);
    std::string steps;
    for (std::size_t step = 0; step < 3; ++step) {
      for (std::size_t layer = 0; layer < 2; ++layer) {
        steps += "\"" + std::to_string(step) + "." + std::to_string(layer) + "\":" +
                 numbers({2, 3, step == 0 ? length : 1, length + step}, 7 + step + 10 * layer,
                         step == 0) +
                 ",";
      }
    }
    steps.pop_back();
    folder_.write("steps.json", R"({"tensors":{)" + steps + "}}");
    std::string overlays;
    for (const std::string layer : {"0", "1"})
      overlays += "\"layers." + layer +
                  ".self.weights\":" + numbers({2, 3, 5, 5}, 3 + overlays.size()) + ",";
    folder_.write("overlay.json",
                  R"({"format":1,"attention":"model","tensors":{)" + overlays +
                      "\"image\":" + numbers({2, 3, 8, 8}, 5) +
                      R"(,"grid":[2,2]},"labels":{"query":["[CLS]","0,0","0,1","1,0","1,1"],)" +
                      R"("key":["[CLS]","0,0","0,1","1,0","1,1"]}})");
    folder_.write("positions.json", R"({"tensors":{"positions.0":)" +
                                        numbers({2, 3, length, 6}, 11) + R"(,"positions.1":)" +
                                        numbers({2, 3, length, 6}, 12) + R"(},"labels":{"query":)" +
                                        ::labels(length) + "}}");
    folder_.write("steps.labels.json",
                  R"({"query":)" + named(length + 2) + R"(,"key":)" + named(length + 2) + "}");
    const std::string places = R"("embedding","0.0","0.1","0.feed_forward")";
    const std::string why = R"({"head":"1.0","pairs":[[4,0],[4,3]],"query_parts":[)" + places +
                            R"(],"key_parts":[)" + places +
                            R"(],"weights":[0.2,0.8],"positions":[0,1,2,3,4],)"
                            R"("strongest":[[],[0,0,1,2,2],[0,1,1,1,3],[]]})";
    const std::string contribution =
        R"({"position":4,"token":3,"text":" a","logit":2.5,"parts":[)" + places +
        R"(,"1.0","1.1"],"heads":["0.0","0.1","1.0","1.1"]})";
    std::string splits;
    for (std::size_t text = 0; text < 2; ++text) {
      const std::string prefix = "\"texts." + std::to_string(text) + ".";
      splits += (text > 0 ? "," : "") + prefix + "why.scores\":" + numbers({2, 4, 4}, 41 + text) +
                "," + prefix + "contribution.parts\":" + numbers({6}, 43 + text) + "," + prefix +
                "contribution.tokens\":" + numbers({4, 5}, 45 + text);
    }
    folder_.write("why.json", R"({"format":1,"attention":"model","labels":{"query":)" + named(5) +
                                  R"(,"key":)" + named(5) + R"(},"why":[)" + why + "," + why +
                                  R"(],"contribution":[)" + contribution + "," + contribution +
                                  R"(],"tensors":{)" + splits + "}}");
    folder_.write("sizes.json", R"({"shapes":{"query":[2,3,4],"key":[2,5,4],"value":[2,5,6],)"
                                R"("output":[2,3,6],"weights":[2,3,5]}})");
    folder_.write("shares.json", R"({"format":1,"shares":{"layers":[0,2],"parts":["a","b"]},)"
                                 R"("tensors":{"shares":)" +
                                     numbers({2, 3, 4, 2}, 51) + "}}");
    std::filesystem::create_directory(folder_ / "corpus");
    folder_.write("corpus/heads.csv",
                  "layer,stack,head,statistic,value,standard_error,deviation,texts\n"
                  "0,self,0,first,0.9,0.01,0.1,12\n");
    folder_.write("corpus/by_offset.csv", "layer,stack,head,offset,value,texts\n");
    folder_.write("labels.json",
                  R"({"query":)" + named(length) + R"(,"key":)" + named(length) + "}");
  }

  PlotRequest request(PlotKind kind) const {
    PlotRequest request;
    request.kind = kind;
    request.format = PictureFormat::svg;
    request.options.figure.threads = 1;
    request.input = folder_ / "a.json";
    switch (kind) {
      case PlotKind::dimensions:
      case PlotKind::shapes:
        request.input = folder_ / "sizes.json";
        break;
      case PlotKind::overlay:
        request.input = folder_ / "overlay.json";
        break;
      case PlotKind::positions:
      case PlotKind::curves:
        request.input = folder_ / "positions.json";
        request.maps.name = "positions.{n}";
        break;
      case PlotKind::steps:
        request.input = folder_ / "steps.json";
        break;
      case PlotKind::parts:
      case PlotKind::bars:
      case PlotKind::path:
      case PlotKind::contributions:
        request.input = folder_ / "why.json";
        break;
      case PlotKind::shares:
        request.input = folder_ / "shares.json";
        break;
      case PlotKind::comparison:
      case PlotKind::difference:
        request.maps.others = {folder_ / "b.json"};
        break;
      case PlotKind::animation:
        request.maps.selection.layers = {{PositionRange{0, 1}}};
        break;
      case PlotKind::figure: {
        PanelRequest panel;
        panel.request.input = request.input;
        panel.request.format = request.format;
        request.panels.rows = {{panel}};
        break;
      }
      default:
        break;
    }
    return request;
  }

  std::filesystem::path labels(PlotKind kind) const {
    return folder_ / (kind == PlotKind::steps ? "steps.labels.json" : "labels.json");
  }
  std::filesystem::path corpus() const { return folder_ / "corpus"; }
  std::filesystem::path overlay() const { return folder_ / "overlay.json"; }
  static std::filesystem::path image() {
    return std::filesystem::path(ATTN_DATA) / "shapes" / "blue_star.png";
  }

 private:
  static std::string named(std::size_t count) {
    std::string all = "[";
    for (std::size_t i = 0; i < count; ++i) all += "\"n" + std::to_string(i) + "\",";
    all.back() = ']';
    return all;
  }

  TemporaryFolder folder_;
};

/// What is drawn and said, or the refusal.
struct Answer {
  std::string drawn;
  std::optional<Error> refusal = {};
};

Answer answer(const PlotRequest& request) {
  try {
    std::string all;
    const auto pictures =
        request.kind == PlotKind::animation ? draw_frames(request) : std::vector{draw(request)};
    for (const Picture& picture : pictures) {
      all += picture.bytes + picture.description;
      for (const std::string& warning : picture.warnings) all += warning;
    }
    return {all};
  } catch (const Error& error) {
    return {"", error};
  }
}

using Change = std::function<void(PlotRequest&, const Inputs&)>;

/// A value of an option, and what is given beside it so that it can show: both pictures have it.
struct Value {
  std::string_view field, value;
  Change set, beside = {};
  bool of_pixels = false;
};

void annotated(PlotRequest& request, const Inputs&) {
  request.options.annotation.when = Annotate::on;
}

const std::vector<Value>& values() {
  using R = PlotRequest;
  using I = Inputs;
  static const std::vector<Value> all{
      {"MapRequest::name", "",
       [](R& r, const I&) {
         r.maps.name = r.kind == PlotKind::positions || r.kind == PlotKind::curves ? "positions.1"
                       : r.kind == PlotKind::steps                                 ? "{n}.1"
                                                   : "layers.1.self.weights";
         r.maps.selection.layers.reset();
       }},
      {"MapRequest::slice", "", [](R& r, const I&) { r.maps.slice = "::-1"; }},
      {"MapRequest::reshape", "",
       [](R& r, const I&) {
         r.maps.reshape = {3, 2, r.kind == PlotKind::steps ? std::size_t{7} : std::size_t{5}, 0};
       },
       [](R& r, const I&) {
         r.sample = 1;
         r.maps.selection.chosen_samples = {{PositionRange{1, 2}}};
       }},
      {"MapRequest::axes", "",
       [](R& r, const I&) {
         r.maps.axes = {MapAxis::head, MapAxis::batch};
       },
       [](R& r, const I&) {
         r.sample = 1;
         r.maps.selection.chosen_samples = {{PositionRange{1, 2}}};
       }},
      {"MapRequest::labels", "", [](R& r, const I& i) { r.maps.labels = i.labels(r.kind); }},
      {"MapSelection::layers", "",
       [](R& r, const I&) {
         r.maps.selection.layers = {{PositionRange{1, 2}}};
       }},
      {"MapSelection::layers", "mean, max",
       [](R& r, const I&) {
         r.maps.selection.layers.reset();
         r.maps.selection.layers_together = MapSelection::Layers::mean;
       }},
      {"MapSelection::chosen_samples", "",
       [](R& r, const I&) {
         r.sample = 1;
         r.maps.selection.chosen_samples = {{PositionRange{1, 2}}};
       }},
      {"MapSelection::chosen_samples", "mean, max",
       [](R& r, const I&) { r.maps.selection.samples = Shown::mean; }},
      {"MapSelection::chosen_samples", "all",
       [](R& r, const I&) {
         r.maps.selection.samples = Shown::all;
         r.maps.selection.chosen_samples.reset();
         if (r.kind == PlotKind::grid) r.maps.selection.layers = {{PositionRange{0, 1}}};
       },
       [](R& r, const I&) {
         r.maps.selection.chosen_samples = {{PositionRange{0, 1}}};
       }},
      {"MapSelection::chosen_heads", "",
       [](R& r, const I&) {
         r.head = 2;
         r.maps.selection.chosen_heads = {{PositionRange{2, 3}}};
       }},
      {"MapSelection::chosen_heads", "mean, max",
       [](R& r, const I&) { r.maps.selection.heads = Shown::mean; }},
      {"MapSelection::chosen_heads", "all",
       [](R& r, const I&) {
         r.maps.selection.heads = Shown::all;
         r.maps.selection.chosen_heads.reset();
       },
       [](R& r, const I&) {
         r.maps.selection.chosen_heads = {{PositionRange{0, 1}}};
       }},
      {"MapSelection::queries", "",
       [](R& r, const I&) {
         r.maps.selection.queries = {1, 3};
       }},
      {"MapSelection::query", "", [](R& r, const I&) { r.maps.selection.query = "1"; }},
      {"MapSelection::keys", "",
       [](R& r, const I&) {
         r.maps.selection.keys = {1, 4};
       }},
      {"MapSelection::drop_first", "", [](R& r, const I&) { r.maps.selection.drop_first = 1; }},
      {"MapSelection::drop", "", [](R& r, const I&) { r.maps.selection.drop = {"1"}; }},
      {"MapSelection::renormalize", "", [](R& r, const I&) { r.maps.selection.renormalize = true; },
       [](R& r, const I&) { r.maps.selection.drop_first = 1; }},
      {"MapSelection::merge_pieces", "",
       [](R& r, const I&) { r.maps.selection.merge_pieces = true; }},
      {"MapSelection::words", "",
       [](R& r, const I&) {
         r.maps.selection.merge_pieces = true;
         r.maps.selection.words = PieceWords{{}, {{0, 1}, {1, 5}}};
       }},
      {"MapSelection::blocks", "",
       [](R& r, const I&) { r.maps.selection.blocks = MapSelection::Blocks::part; }},
      {"FigureOptions::brackets", "", [](R& r, const I&) { r.options.figure.brackets = false; }},
      {"MapSelection::hide_mask", "", [](R& r, const I&) { r.maps.selection.hide_mask = true; }},
      {"PlotOptions::top", "", [](R& r, const I&) { r.options.top = 1; }},
      {"PlotOptions::threshold", "", [](R& r, const I&) { r.options.threshold = 0.2; }, annotated},
      {"FigureOptions::keys_upwards", "",
       [](R& r, const I&) { r.options.figure.keys_upwards = true; }},
      {"PlotOptions::log_axes", "", [](R& r, const I&) { r.options.log_axes = LogAxes::y; }},
      {"FigureOptions::caption", "", [](R& r, const I&) { r.options.figure.caption = true; }},
      {"PlotOptions::smooth", "", [](R& r, const I&) { r.options.smooth = true; },
       [](R& r, const I& i) { r.input = i.overlay(); }},
      {"PlotRequest::image", "", [](R& r, const I&) { r.image = I::image(); },
       [](R& r, const I& i) { r.input = i.overlay(); }},
      {"PlotRequest::grid", "",
       [](R& r, const I&) {
         r.grid = {1, 4};
       },
       [](R& r, const I& i) {
         r.input = i.overlay();
         r.image = I::image();
       }},
      {"PlotOptions::columns", "", [](R& r, const I&) { r.options.columns = 1; }},
      {"PlotOptions::titles", "",
       [](R& r, const I&) {
         r.options.titles.emplace();
         if (r.kind == PlotKind::curves) r.options.titles = {{"a", "b", "c", "d", "e", "f"}};
       }},
      {"PlotOptions::best", "", [](R& r, const I&) { r.options.best = 2; }},
      {"PlotRequest::corpus", "", [](R& r, const I& i) { r.corpus = i.corpus(); }},
      {"PlotOptions::marginals", "", [](R& r, const I&) { r.options.marginals = true; }},
      {"FigureOptions::title", "", [](R& r, const I&) { r.options.figure.title = "other"; }},
      {"FigureOptions::xlabel", "", [](R& r, const I&) { r.options.figure.xlabel = "other"; }},
      {"FigureOptions::ylabel", "", [](R& r, const I&) { r.options.figure.ylabel = "other"; }},
      {"FigureOptions::ticks", "", [](R& r, const I&) { r.options.figure.ticks = Ticks::index; }},
      {"FigureOptions::show_spaces", "",
       [](R& r, const I&) { r.options.figure.show_spaces = true; }},
      {"AnnotationOptions::when", "",
       [](R& r, const I&) { r.options.annotation.when = Annotate::off; }, annotated},
      {"AnnotationOptions::color", "", [](R& r, const I&) { r.options.annotation.color = "green"; },
       annotated},
      {"AnnotationOptions::format", "", [](R& r, const I&) { r.options.annotation.format = ".1e"; },
       annotated},
      {"ColorOptions::cmap", "", [](R& r, const I&) { r.options.colors.cmap = "Blues"; }},
      {"ColorOptions::range", "",
       [](R& r, const I&) {
         r.options.colors.range = {ColorRange::Scope::given, 0, 2};
       }},
      {"ColorOptions::norm", "",
       [](R& r, const I&) {
         r.options.colors.norm = {ColorNorm::Kind::power, 0.5};
       }},
      {"ColorOptions::pixels",
       "",
       [](R& r, const I&) { r.options.colors.pixels = PixelShows::mean; },
       {},
       true},
      {"ColorOptions::bar_label", "", [](R& r, const I&) { r.options.colors.bar_label = "other"; }},
      {"ColorOptions::bar", "", [](R& r, const I&) { r.options.colors.bar = false; }},
      {"FigureOptions::style", "",
       [](R& r, const I&) { r.options.figure.style = PlotStyle::matplotlib; }},
      {"FigureOptions::exact_size", "",
       [](R& r, const I&) {
         r.options.figure.exact_size = true;
         r.options.figure.figsize = {4, 4};
       }},
      {"FigureOptions::figsize", "",
       [](R& r, const I&) {
         r.options.figure.figsize = {5, 4};
       }},
      {"FigureOptions::dpi", "", [](R& r, const I&) { r.options.figure.dpi = 20; }, {}, true},
      {"FigureOptions::font", "", [](R& r, const I&) { r.options.figure.font = "DejaVu Serif"; }},
      {"FigureOptions::font_scale", "", [](R& r, const I&) { r.options.figure.font_scale = 1.5; }},
      {"FigureOptions::font_size", "", [](R& r, const I&) { r.options.figure.font_size = 6.5; }},
      {"FigureOptions::background", "",
       [](R& r, const I&) { r.options.figure.background = Background::dark; }},
      {"FigureOptions::letters", "",
       [](R& r, const I&) { r.options.figure.letters = Letters::outlines; }}};
  return all;
}

// How a picture answers to a value, beside what shows it.
enum class Outcome { changed, same, refused, fails };

Outcome outcome(PlotRequest base, const Value& value, const Inputs& inputs, bool honoured,
                std::string& said) {
  if (honoured && value.beside && value.field != "PlotOptions::threshold")
    value.beside(base, inputs);
  const bool joined = base.kind == PlotKind::lines || base.kind == PlotKind::arcs;
  if (value.field == "PlotOptions::threshold" && honoured && !joined) value.beside(base, inputs);
  if (value.of_pixels) {
    base.format = PictureFormat::png;
    base.options.figure.dpi = 15;
  }
  const Answer before = answer(base);
  if (before.refusal) {
    said = "before: " + std::string(before.refusal->what());
    const bool usage = before.refusal->kind() == ErrorKind::usage;
    return honoured && usage ? Outcome::refused : Outcome::fails;
  }
  value.set(base, inputs);
  const Answer after = answer(base);
  if (after.refusal) {
    said = after.refusal->what();
    return after.refusal->kind() == ErrorKind::usage && said.find(value.field) != std::string::npos
               ? Outcome::refused
               : Outcome::fails;
  }
  return after.drawn == before.drawn ? Outcome::same : Outcome::changed;
}

}  // namespace

TEST_CASE(
    "every option of pictures is honoured by a kind or refused by it, and the table says which") {
  const Inputs few(5), many(180);  // more than have names
  for (const PlotKindInfo& kind : plot_kinds()) {
    for (const PictureOptionInfo& option : picture_options()) {
      CAPTURE(kind.name);
      CAPTURE(option.field);
      CAPTURE(option.value);
      const auto value = std::ranges::find_if(values(), [&](const Value& one) {
        return one.field == option.field && one.value == option.value;
      });
      REQUIRE(value != values().end());
      const Inputs& inputs = option.field == "ColorOptions::pixels" ? many : few;
      const bool honoured = option.honoured_by(kind.kind);
      std::string said, said_of_several;
      PlotRequest one = inputs.request(kind.kind);
      const Outcome of_one = outcome(one, *value, inputs, honoured, said);
      CAPTURE(said);
      if (!honoured) {
        CHECK(of_one == Outcome::refused);
        continue;
      }
      if (of_one != Outcome::refused) {
        CHECK(of_one == Outcome::changed);
        continue;
      }
      // Refused for one map alone: it is about several, in animations about layers.
      one.maps.selection.heads = Shown::all;
      if (kind.kind == PlotKind::animation) {
        one.maps.selection.heads = Shown::one;
        one.maps.selection.layers.reset();
      }
      const Outcome of_several = outcome(one, *value, inputs, honoured, said_of_several);
      CAPTURE(said_of_several);
      CHECK(of_several == Outcome::changed);
    }
  }
}
