#include <algorithm>
#include <cctype>
#include <charconv>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/pictures.hpp"

#include "attention/attention_name.hpp"
#include "io/file_members.hpp"
#include "maps/attention_map.hpp"
#include "maps/filed_maps.hpp"
#include "pictures/drawing.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/reader_language.hpp"
#include "plot/numbers/ticks.hpp"
#include "plot/parts.hpp"
#include "report/facts.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "result/result_reader.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Maps of the request, whose places are in English in the matplotlib style.
FiledMaps filed_maps(const PlotRequest& request, std::shared_ptr<ResultReader> first,
                     MapContents contents) {
  return {map_files(std::move(first), request.maps), request.maps, contents,
          request.options.figure.style == PlotStyle::matplotlib};
}

// Replaces each number by a # and appends it to `numbers`.
std::string without_numbers(std::string_view name, std::vector<std::size_t>& numbers) {
  std::string kind;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    std::size_t number = 0;
    const auto read = std::from_chars(name.data() + at, name.data() + end, number);
    if (end == at || read.ec != std::errc()) {
      kind += name.substr(at, std::max<std::size_t>(end - at, 1));
      at = std::max(end, at + 1);
      continue;
    }
    kind += '#';
    numbers.push_back(number);
    at = end;
  }
  return kind;
}

// Name with a # in the place of each number but the layer's, and those numbers in their order.
std::pair<std::string, std::vector<std::size_t>> numbered(std::string_view tensor) {
  const AttentionName name(tensor);
  std::vector<std::size_t> numbers;
  std::string kind;
  if (name.layer()) {
    kind = without_numbers(name.stack(), numbers) + ' ' + std::to_string(*name.layer()) + ' ';
  }
  kind += without_numbers(name.part(), numbers);
  return {std::move(kind), std::move(numbers)};
}

// Maps of the steps of decoding in a file: of tensors whose names differ from that of the wanted
// one in numbers alone, but not in a layer's, in the order of the numbers.
std::vector<AttentionMap> read_steps(FiledMaps stack) {
  if (auto steps = stack.steps(); !steps.empty()) return steps;
  const auto [kind, number] = numbered(stack.first());
  std::vector<std::pair<std::vector<std::size_t>, std::string>> names;
  for (const std::string& name : stack.names()) {
    auto [own_kind, own_number] = numbered(name);
    if (own_kind == kind) names.emplace_back(std::move(own_number), name);
  }
  if (names.empty()) names.emplace_back(number, stack.first());
  std::sort(names.begin(), names.end());
  std::vector<AttentionMap> steps;
  for (const auto& [place, name] : names) {
    steps.push_back(stack.named(name));
    if (!is_map(name)) {
      steps.back().tensor = "weights";
      steps.back().meaning = TensorMeaning::weights;
    }
  }
  return steps;
}

// Whether the maps have one shape of several queries, as steps of decoding do not.
bool are_alike(const std::vector<DrawnMap>& maps) {
  const Shape& first = maps[0].map.numbers.shape();
  const bool several = first.size() > 1 && first[first.size() - 2] > 1;
  return several && std::ranges::all_of(maps, [&](const DrawnMap& one) {
           return one.map.numbers.shape() == first;
         });
}

std::string left_out_text(const std::vector<std::string>& tensors) {
  std::string names;
  for (const std::string& name : tensors)
    names += (names.empty() ? "\"" : name_separator() + "\"") + name + "\"";
  return translated("the picture leaves out {1}: name one of them to draw it", names);
}

// What the file holds besides tensors, but for lone values, and texts that are labels.
std::optional<std::string> unread_text(const ResultReader& file, const AttentionMap& map) {
  std::vector<OtherMember> others = file.others();
  if (!map.labels.query.empty() || !map.labels.key.empty()) {
    std::erase_if(others, [](const OtherMember& other) { return other.texts != nullptr; });
  }
  std::erase_if(others, [](const OtherMember& other) { return other.plain; });
  if (others.empty()) return std::nullopt;
  return translated("not read: {1}", others_text(others));
}

// Says which list of names fits neither axis of the map, where no list does.
std::optional<std::string> unfit_names(const ResultReader& file, const AttentionMap& map) {
  if (!map.is_map() || !map.numbers || map.numbers.rank() < 2) return std::nullopt;
  if (!map.labels.query.empty() || !map.labels.key.empty()) return std::nullopt;
  const Shape& shape = map.numbers.shape();
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  for (const OtherMember& other : file.others()) {
    if (!other.texts) continue;
    const std::vector<std::vector<std::string>> texts = other.texts();
    if (texts.size() != 1 || texts[0].size() < 2) continue;
    const std::size_t names = texts[0].size();
    if (names == queries || names == keys) continue;
    return translated("no names are drawn: {1} has {2} of them, for {3} queries and {4} keys",
                      in_quotes(other.name), names, queries, keys);
  }
  return std::nullopt;
}

// Says which members of a list of maps are None.
std::optional<std::string> missing_maps(const ResultReader& file) {
  std::string names;
  for (const OtherMember& other : file.others()) {
    if (other.plain || other.texts || other.reason != translated("None")) continue;
    names += (names.empty() ? "" : ", ") + in_quotes(other.name);
  }
  if (names.empty()) return std::nullopt;
  return translated("not drawn, as they are None: {1}", names);
}

// Picture under maps of so many keys: the request's, or the file's own; absent if there is none.
std::optional<SeenPicture> picture_of_maps(const PlotRequest& request, ResultReader& file,
                                           const FileAccess& access, std::size_t keys) {
  if (request.image) return picture_under(*request.image, request.grid, keys, access);
  return picture_kind(request.kind).shows_picture() ? picture_of(file) : std::nullopt;
}

// A warning of a picture that is laid under weights whose keys have names as tokens of a text do.
std::optional<std::string> words_under_picture(const PlotRequest& request, const Drawing& drawing) {
  if (!request.image || drawing.of.empty()) return std::nullopt;
  const std::vector<std::string> keys =
      Labels::of_sample(drawing.of.back().map.labels.key, request.sample);
  const auto is_word = [](const std::string& key) {
    return !key.empty() && !key.starts_with('[') && key.find_first_of("0123456789") == key.npos;
  };
  const auto words = static_cast<std::size_t>(std::ranges::count_if(keys, is_word));
  if (2 * words <= keys.size()) return std::nullopt;
  return translated(
      "the keys have names such as {1}: these weights may be of a text, whose tokens are not "
      "patches of the picture",
      in_quotes(*std::ranges::find_if(keys, is_word)));
}

// The splits of a result that a kind of picture shows. Throws Error(input) naming the file if it
// holds none.
DrawnSplits read_splits(ResultReader& file, std::size_t sample, const PictureKind& kind) {
  if (file.is_document()) throw not_a_result(file.name());
  const auto splits = std::make_shared<const WhySplits>(file.splits(sample));
  using Shows = PictureKind::Shows;
  const bool score = kind.shows != Shows::logit_split && splits->scores;
  const bool logit = kind.shows != Shows::score_split && splits->logit;
  if (!score && !logit) {
    const bool of_score = kind.shows == Shows::score_split;
    const bool of_either = kind.shows == Shows::split;
    throw input_error(of_score    ? translated("the result holds no split of scores")
                      : of_either ? translated("the result holds no split of scores or a logit")
                                  : translated("the result holds no split of a logit"),
                      file.name(),
                      of_score    ? translated("compute it with WhyOptions::head")
                      : of_either ? translated("compute it with WhyOptions::head or "
                                               "WhyOptions::logit")
                                  : translated("compute it with WhyOptions::logit"));
  }
  DrawnSplits drawn{splits, Labels::of_sample(file.labels("weights").query, sample), {}, {}};
  const bool both = !file.texts("decoder_tokens", sample).empty();
  drawn.read = both ? file.texts("tokens", sample) : drawn.tokens;
  if (!splits->logit) return drawn;
  const LogitSplit& of = *splits->logit;
  const auto named = [](const std::string& text, std::size_t token) {
    return text.empty() ? std::to_string(token) : in_quotes(text);
  };
  drawn.token = named(of.label.value_or(file.text_of_logit("text", sample)), of.token);
  if (of.against) {
    drawn.against =
        named(of.against_label.value_or(file.text_of_logit("against_text", sample)), *of.against);
  }
  return drawn;
}

// What is doubtful of maps that are drawn as steps, of which the file holds others too.
std::optional<std::string> doubt_of_steps(const Drawing& drawing, const FiledMaps& maps) {
  if (drawing.of.size() == 1 || !are_alike(drawing.of)) return maps.others_of_one();
  return translated(
      "all {1} maps that are drawn as steps have the shape {2}: if they are layers, draw a grid, "
      "or choose one with MapSelection::layers",
      drawing.of.size(), text(drawing.of[0].map.numbers.shape()));
}

// What a result's picture of positions holds beside them where no tensor is named. A document's
// holds what was asked for.
std::optional<std::string> content_of_positions(const PlotRequest& request,
                                                const ResultReader& file,
                                                const std::string& tensor) {
  if (request.maps.name || file.is_document() || tensor != "embedded") return std::nullopt;
  return translated(
      "\"embedded\" has the embeddings of the tokens, with positions added where the document asks "
      "for them: the document instead of its result draws positions alone");
}

// Adds the maps of the request's files to the drawing, each layer by itself where the kind of
// picture shows all. Returns warnings of what is left out and of axes that were guessed. Throws
// Error(input) or Error(file) naming the file.
std::vector<std::string> read_maps(const PlotRequest& request,
                                   const std::shared_ptr<ResultReader>& file,
                                   const FileAccess& access, Drawing& drawing) {
  const PictureKind& kind = picture_kind(request.kind);
  using Shows = PictureKind::Shows;
  std::vector<std::string> warnings;
  const auto add = [&](std::vector<AttentionMap> maps) {
    // Whoever names a tensor may mean other numbers than weights.
    std::ranges::move(doubts_of(maps[0], request.maps, request.maps.name.has_value()),
                      std::back_inserter(warnings));
    const Shape shape = maps[0].numbers ? maps[0].numbers.shape() : Shape();
    const auto picture = picture_of_maps(request, *file, access, shape.empty() ? 0 : shape.back());
    for (AttentionMap& map : maps) {
      add_picture(map, picture);
      drawing.of.emplace_back().map = std::move(map);
    }
  };
  const auto maps_in = [&](MapContents contents) { return filed_maps(request, file, contents); };
  const auto add_one = [&](FiledMaps maps) {
    add({maps.one()});
    if (!file->is_result() && !maps.left_out().empty())
      warnings.push_back(left_out_text(maps.left_out()));
    if (auto others = maps.others_of_one()) warnings.push_back(std::move(*others));
  };
  switch (kind.shows) {
    case Shows::mask:
      if (!file->is_document()) {
        add_one(maps_in(MapContents::mask));
      } else {
        DrawnMap& drawn = drawing.of.emplace_back();
        drawn.map.file = file->name();
        drawn.mask = document_mask(request, *file);
      }
      break;
    case Shows::sizes:
      if (file->is_document()) throw not_a_result(file->name());
      drawing.of.emplace_back().map.file = file->name();
      drawing.shapes = file->shapes();
      break;
    case Shows::steps:
      add(read_steps(maps_in(MapContents::weights)));
      if (auto doubt = doubt_of_steps(drawing, maps_in(MapContents::weights))) {
        warnings.push_back(std::move(*doubt));
      }
      break;
    case Shows::positions:
      add({read_positions(request, file)});
      if (auto content = content_of_positions(request, *file, drawing.of.back().map.tensor))
        warnings.push_back(std::move(*content));
      if (!request.maps.axes.empty()) {
        warnings.push_back(
            translated("by MapRequest::axes queries are the positions and keys the dimensions of "
                       "this picture"));
      }
      break;
    case Shows::stages:
      add_one(maps_in(MapContents::stages));
      break;
    case Shows::weights:
      if (kind.unit == PictureKind::Unit::stack) {
        FiledMaps stack = maps_in(MapContents::weights);
        add(stack.chosen());
        if (!stack.left_out().empty()) warnings.push_back(left_out_text(stack.left_out()));
        if (auto order = stack.files_as_layers()) warnings.push_back(std::move(*order));
        break;
      }
      [[fallthrough]];
    case Shows::overlay:
      add_one(maps_in(MapContents::weights));
      if (auto words = words_under_picture(request, drawing)) warnings.push_back(std::move(*words));
      break;
    case Shows::score_split:
    case Shows::logit_split:
    case Shows::split:
      drawing.of.emplace_back().map.file = file->name();
      drawing.split = read_splits(*file, request.sample, kind);
      break;
    case Shows::shares:
      if (file->is_document()) throw not_a_result(file->name());
      drawing.of.emplace_back().map.file = file->name();
      drawing.shares = std::make_shared<const plot::StackedBars>(bars_of_shares(*file));
      break;
    case Shows::panels:  // of which each is read by itself
      break;
  }
  return warnings;
}

// Names of the files, or of their folders where all files have one name.
std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::filesystem::path& path : paths) {
    names.push_back(result_in(path).stem().string());
  }
  for (const std::string& name : names) {
    if (name == names[0]) continue;
    return names;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = result_in(paths[i]).parent_path().filename().string();
    if (!folder.empty()) names[i] = folder;
  }
  return names;
}

Drawing drawing_of(const PlotRequest& request) {
  return {{},
          {},
          {request.sample, request.head, request.maps.selection},
          request.options,
          request.format};
}

// Adds what there is to say of the choice among the maps of the first file.
void add_choice_warnings(const DrawnMap& drawn, const Drawing& drawing, const PictureKind& kind,
                         std::vector<std::string>& warnings) {
  const AttentionMap& map = drawn.map;
  if (!map.numbers || kind.shows == PictureKind::Shows::mask) return;
  if (const auto& top = drawing.options.top; top && *top >= map.numbers.shape().back()) {
    warnings.push_back(
        translated("PlotOptions::top {1} leaves nothing out: there are {2}", *top,
                   translated_count(map.numbers.shape().back(), "{1} key", "{1} keys")));
  }
  const std::string_view tensor = map.tensor;
  if (kind.info.kind == PlotKind::positions && tensor.substr(tensor.rfind('.') + 1) == "weights") {
    warnings.push_back(translated(
        "\"{1}\" has weights of an attention, which are not an encoding of positions: draw "
        "them as a heatmap",
        map.tensor));
  }
  const bool at_least = drawing.options.threshold > 0;
  const ColorRange& range = drawing.options.colors.range;
  const bool given = range.scope == ColorRange::Scope::given;
  if (at_least || given || drawing.choice.selection.renormalize) {
    const Tensor numbers = map.numbers.converted(DType::float64);
    const auto [least, most] = std::ranges::minmax(numbers.values<double>());
    if (at_least && drawing.options.threshold > std::max(most, -least)) {
      warnings.push_back(
          translated("no weight reaches PlotOptions::threshold {1}: the largest is "
                     "{2}",
                     plot::short_number(drawing.options.threshold), plot::short_number(most)));
    }
    // Colours of a twentieth of the range look the same.
    const double alike = (range.high - range.low) / 20;
    if (given && (most < range.low + alike || least > range.high - alike)) {
      warnings.push_back(translated(
          "ColorOptions::range {1} leaves one colour to all values, which are {2} to {3}",
          plot::short_number(range.low) + "," + plot::short_number(range.high),
          plot::short_number(least), plot::short_number(most)));
    }
    if (drawing.choice.selection.renormalize && least < 0) {
      warnings.push_back(
          translated("MapSelection::renormalize divides rows with negative numbers by their sums, "
                     "which may be near 0"));
    }
  }
  const bool grid = kind.info.kind == PlotKind::grid;
  const bool layers = drawing.of.size() > 1 || map.picture;
  if (auto others = others_warning(SelectedMap(map, drawing.choice), grid, layers))
    warnings.push_back(std::move(*others));
  if (kind.shows != PictureKind::Shows::weights) return;
  std::ranges::move(choices_without_effect(map, drawing.choice), std::back_inserter(warnings));
}

// Refuses a number of files that the kind of picture does not take.
void check_files(const PictureKind& kind, std::size_t files) {
  if (files >= kind.info.least_files && files <= kind.info.most_files) return;
  const bool many = files > kind.info.most_files;
  throw Error(ErrorKind::usage,
              translated("{1} for a picture of the kind {2}",
                         translated_count(files, "{1} file", "{1} files"), kind.info.name),
              "MapRequest::others",
              many ? translated("give at most {1}",
                                translated_count(kind.info.most_files, "{1} file", "{1} files"))
                   : translated("give at least {1}",
                                translated_count(kind.info.least_files, "{1} file", "{1} files")));
}

// The two layers of one file whose maps a difference is of; none of others.
std::vector<PositionRange> layers_within(const PlotRequest& request) {
  const MapSelection& chosen = request.maps.selection;
  const bool within =
      request.kind == PlotKind::difference && request.maps.others.empty() && !chosen.joins_layers();
  if (!within || !chosen.layers || chosen.layers->size() != 2) return {};
  return *chosen.layers;
}

Drawing read_drawing(const PlotRequest& request, const FileAccess& access,
                     std::vector<std::string>& warnings);

// What all panels of a figure show. Errors name the place of a panel.
std::shared_ptr<const DrawnPanels> read_panels(const PlotRequest& request,
                                               const FileAccess& access) {
  auto panels = std::make_shared<DrawnPanels>();
  panels->one_scale = request.panels.one_scale;
  panels->shared_bar = request.panels.shared_bar;
  panels->letters = request.panels.letters;
  for (const std::vector<PanelRequest>& row : request.panels.rows) {
    panels->rows.emplace_back();
    for (const PanelRequest& given : row) {
      PlotRequest one = given.request;
      one.format = request.format;
      DrawnPanel& panel = panels->rows.back().emplace_back();
      panel.kind = one.kind;
      panel.share = given.share;
      panel.place = given.place;
      try {
        panel.drawing = read_drawing(one, access, panel.warnings);
      } catch (const Error& error) {
        throw error.inside(given.place);
      }
    }
  }
  return panels;
}

// What the request's files hold for its kind of picture.
Drawing read_drawing(const PlotRequest& request, const FileAccess& access,
                     std::vector<std::string>& warnings) {
  const PictureKind& kind = picture_kind(request.kind);
  check_options(request);
  Drawing drawing = drawing_of(request);
  if (kind.shows == PictureKind::Shows::panels) {
    drawing.panels = read_panels(request, access);
    return drawing;
  }
  if (request.corpus) {
    drawing.corpus =
        std::make_shared<const CorpusTables>(read_corpus_tables(*request.corpus, access));
  }
  // Several files hold the layers of one picture, or are pictures of their own.
  const bool several = kind.info.most_files > 1;
  std::vector<std::filesystem::path> paths{request.input};
  if (several) {
    paths.insert(paths.end(), request.maps.others.begin(), request.maps.others.end());
    check_files(kind, paths.size());
  } else if (!request.maps.others.empty() &&
             (kind.shows == PictureKind::Shows::mask || kind.shows == PictureKind::Shows::sizes)) {
    throw Error(ErrorKind::usage, translated("more than one file to draw given"),
                "MapRequest::others", translated("give one: only weights can be in several files"));
  }
  const std::vector<std::string> names = names_of(paths);
  PlotRequest one = request;
  if (several) one.maps.others.clear();
  const std::vector<PositionRange> layers = layers_within(request);
  if (!layers.empty()) paths.push_back(paths[0]);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    one.input = paths[i];
    if (!layers.empty()) one.maps.selection.layers = {layers[i]};
    const auto file = std::make_shared<ResultReader>(one.input, access);
    std::vector<std::string> own = read_maps(one, file, access, drawing);
    const DrawnMap& drawn = drawing.of.back();
    if (auto unfit = unfit_names(*file, drawn.map)) own.push_back(std::move(*unfit));
    if (auto missing = missing_maps(*file)) own.push_back(std::move(*missing));
    try {
      if (several) add_choice_warnings(drawn, drawing, kind, own);
    } catch (const Error& error) {
      throw placed(error, drawn.map);
    }
    for (std::string& warning : own) {
      if (i > 0) warning = translated("{1}: {2}", drawn.map.file, warning);
      if (std::ranges::count(warnings, warning) == 0) warnings.push_back(std::move(warning));
    }
    drawing.of.back().column = names[std::min(i, names.size() - 1)];
  }
  return drawing;
}

// The warning that a mask's title counts from 1 what the request chooses.
std::optional<std::string> counting_of_mask(const PlotRequest& request, const MaskMap& mask) {
  const MapSelection& selection = request.maps.selection;
  const auto names = [&](const std::string& place) {
    return mask.title.find(place) != std::string::npos;
  };
  std::optional<std::size_t> sample, head;
  if (selection.chosen_samples && names(translated("Sample {1}", request.sample + 1)))
    sample = request.sample;
  if (selection.chosen_heads && names(translated("Head {1}", request.head + 1)))
    head = request.head;
  return counting_warning(sample, head, 1);
}

// Pictures that `make` draws of what the request reads; warnings are added to the first.
std::vector<Picture> plotted(const PlotRequest& request, FileAccess access,
                             const std::function<std::vector<Picture>(const Drawing&)>& make) {
  Provenance provenance;
  if (request.provenance) provenance.watch(access);
  const PictureKind& kind = picture_kind(request.kind);
  std::vector<std::string> warnings;
  Drawing drawing = read_drawing(request, access, warnings);
  if (request.provenance) drawing.options.figure.provenance = provenance.text();
  try {
    std::vector<Picture> pictures =
        drawn_in(drawing.options.figure.style, [&] { return make(drawing); });
    if (kind.info.most_files == 1 && !drawing.of.empty()) {
      const AttentionMap& map = drawing.of[0].map;
      add_choice_warnings(drawing.of[0], drawing, kind, warnings);
      const bool own_titles = !drawing.options.figure.title && !drawing.options.titles;
      std::optional<std::string> counting;
      if (drawing.of[0].mask) {
        counting = counting_of_mask(request, *drawing.of[0].mask);
      } else if (map.numbers && (kind.shows_weights() || kind.shows == PictureKind::Shows::mask)) {
        counting = counting_warning(SelectedMap(map, drawing.choice));
      }
      if (counting && own_titles) warnings.push_back(std::move(*counting));
    }
    const PlotKind drawn = kind.info.kind;
    if (auto warning = resolution_without_effect(request)) warnings.push_back(std::move(*warning));
    if (request.options.threshold > 0 && drawn != PlotKind::lines && drawn != PlotKind::arcs) {
      warnings.push_back(translated("values below PlotOptions::threshold {1} are left blank",
                                    plot::short_number(request.options.threshold)));
    }
    std::ranges::move(warnings, std::back_inserter(pictures[0].warnings));
    return pictures;
  } catch (const Error& error) {
    if (kind.unit == PictureKind::Unit::several) throw;
    throw placed(error, drawing.of[0].map);
  }
}

}  // namespace

Picture draw(const PlotRequest& request) {
  return with_whole_files(request.files, [&](const FileAccess& access) {
    Picture picture = plotted(request, access, [&](const Drawing& drawing) {
      return std::vector{picture_kind(request.kind).draw(drawing)};
    })[0];
    picture.inputs = access.mapped;
    return picture;
  });
}

std::vector<Picture> draw_frames(const PlotRequest& request) {
  return with_whole_files(request.files, [&](const FileAccess& access) {
    std::vector<Picture> frames = plotted(request, access, animation_frames);
    for (Picture& frame : frames) frame.inputs = access.mapped;
    return frames;
  });
}

Heatmap read_heatmap(const PlotRequest& request, std::vector<std::string>* warnings) {
  return with_whole_files(request.files, [&](const FileAccess& access) {
    PlotRequest heatmap = request;
    heatmap.kind = PlotKind::heatmap;
    Drawing drawing = drawing_of(request);
    const auto file = std::make_shared<ResultReader>(request.input, access);
    std::vector<std::string> said = read_maps(heatmap, file, access, drawing);
    const AttentionMap& map = drawing.of[0].map;
    try {
      if (auto unread = unread_text(*file, map); !request.maps.name && unread)
        said.push_back(std::move(*unread));
      add_choice_warnings(drawing.of[0], drawing, picture_kind(heatmap.kind), said);
      if (warnings) *warnings = std::move(said);
      SelectedMap selected(map, drawing.choice);
      selected.first_number = 0;  // as all that is printed
      return heatmap_of(selected);
    } catch (const Error& error) {
      throw placed(error, map);
    }
  });
}

std::string picture_json(const Picture& picture, const std::filesystem::path& file) {
  return json_text(object({{"file", file.string()},
                           {"bytes", picture.bytes.size()},
                           {"description", unless_empty(picture.description)},
                           {"caption", unless_empty(picture.caption)},
                           {"warnings", picture.warnings}}));
}

std::string frames_json(const std::vector<std::filesystem::path>& files,
                        const std::vector<std::string>& warnings) {
  return json_text(object({{"files", files}, {"warnings", warnings}}));
}

std::string heatmap_json(const Heatmap& heatmap) {
  const bool labelled = !heatmap.query_labels.empty() || !heatmap.key_labels.empty();
  return json_text(object(
      {{"description", unless_empty(heatmap.title)},
       {"labels", only_if(labelled, object({{"query", unless_empty(heatmap.query_labels)},
                                            {"key", unless_empty(heatmap.key_labels)}}))},
       {"tensors", object({{"weights", heatmap.weights},
                           {"allowed", only_if(bool(heatmap.allowed), heatmap.allowed)}})}}));
}

PictureFormat picture_format(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  constexpr std::string_view moving[]{".gif", ".mp4", ".avi", ".mov", ".mkv", ".webm", ".webp"};
  if (std::ranges::count(moving, extension) > 0) {
    throw input_error(
        translated("unsupported picture format \"{1}\"", extension), "picture_format()",
        translated("an animation is a .png that moves; for {1} draw its frames into a folder, and "
                   "run ffmpeg -framerate 2 -pattern_type glob -i 'FOLDER/frame-*.png' {2}",
                   extension, path.filename().string()));
  }
  std::string known;
  for (const auto& [name, format] : picture_formats()) {
    if (extension == "." + std::string(name)) return format;
    const std::string one = "." + std::string(name);
    const bool last = name == picture_formats().back().name;
    known = known.empty() ? one
            : last        ? translated("{1} or {2}", known, one)
                          : translated("{1}, {2}", known, one);
  }
  throw input_error(
      extension.empty()
          ? translated("\"{1}\" has no extension that names a picture format", path.string())
          : translated("unsupported picture format \"{1}\"", extension),
      "picture_format()", translated("name a file that ends in {1}", known));
}

void write_picture(const Picture& picture, const std::filesystem::path& path) {
  if (picture.inputs) picture.inputs->refuse_output(path);
  write_whole_file(path, picture.bytes, Existing::followed);
}

std::vector<std::filesystem::path> write_frames(const std::vector<Picture>& frames,
                                                PictureFormat format,
                                                const std::filesystem::path& folder) {
  const std::size_t digits = std::to_string(frames.size()).size();
  ResultFolder files(folder, false);
  for (std::size_t i = 1; i <= frames.size(); ++i) {
    const std::string number = std::to_string(i);
    files.add("frame-" + std::string(digits - number.size(), '0') + number + extension(format),
              [&bytes = frames[i - 1].bytes](HashedFile& file) { file.write(bytes); });
  }
  return files.write_all(frames.empty() ? nullptr : frames.front().inputs.get());
}

}  // namespace attn
