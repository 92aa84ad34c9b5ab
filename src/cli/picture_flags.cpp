#include "cli/picture_flags.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "attn/document.hpp"
#include "attn/language.hpp"

#include "cli/map_flags.hpp"
#include "cli/name_list.hpp"

namespace attn::cli {
namespace {

constexpr auto styles = std::to_array<Named<PlotStyle>>(
    {{"standard", PlotStyle::standard}, {"matplotlib", PlotStyle::matplotlib}});
constexpr auto annotations = std::to_array<Named<Annotate>>(
    {{"auto", Annotate::automatic}, {"on", Annotate::on}, {"off", Annotate::off}});
constexpr auto tick_texts = std::to_array<Named<Ticks>>({{"auto", Ticks::automatic},
                                                         {"labels", Ticks::labels},
                                                         {"index", Ticks::index},
                                                         {"all", Ticks::all}});
constexpr auto switches = std::to_array<Named<bool>>({{"on", true}, {"off", false}});
constexpr auto backgrounds =
    std::to_array<Named<Background>>({{"white", Background::white},
                                      {"dark", Background::dark},
                                      {"transparent", Background::transparent}});
constexpr auto letters =
    std::to_array<Named<Letters>>({{"text", Letters::text}, {"outlines", Letters::outlines}});
constexpr auto norms = std::to_array<Named<ColorNorm::Kind>>({{"linear", ColorNorm::Kind::linear},
                                                              {"log", ColorNorm::Kind::log},
                                                              {"power", ColorNorm::Kind::power}});
constexpr auto log_axes =
    std::to_array<Named<LogAxes>>({{"x", LogAxes::x}, {"y", LogAxes::y}, {"both", LogAxes::both}});
constexpr auto scopes = std::to_array<Named<ColorRange::Scope>>(
    {{"shared", ColorRange::Scope::shared}, {"panel", ColorRange::Scope::panel}});
constexpr auto pixels_show = std::to_array<Named<PixelShows>>(
    {{"auto", PixelShows::automatic}, {"mean", PixelShows::mean}, {"max", PixelShows::max}});

// A picture for a place: inches, a height of 0 following the content, dots per inch, the factor of
// its letters, families of letters, of which the first that is installed is taken, and the factor
// of the usual frame's width.
struct Preset {
  std::string_view name;
  std::pair<double, double> size;
  double dpi, font_scale;
  bool titled;
  const char* fonts = nullptr;
  double frame_scale = 1;
  bool sentence_case = false;
};
constexpr const char* sans_serif = "Arial,Helvetica";
// Nature's columns are 89 and 183 mm wide, with letters of 5 to 7 points; the text of NeurIPS is
// 5.5 inches wide.
constexpr auto presets = std::to_array<Preset>(
    {{"column", {3.25, 0}, 300, 1, false},
     {"page", {6.75, 0}, 300, 0.8, false},
     {"slide", {40.0 / 3, 7.5}, 144, 1.6, true, nullptr, 1.6},
     {"poster", {24, 18}, 150, 2.6, true, nullptr, 2.6},
     {"nature", {89 / 25.4, 0}, 300, 0.58, false, sans_serif, 0.625, true},
     {"nature-double", {183 / 25.4, 0}, 300, 0.58, false, sans_serif, 0.625, true},
     {"neurips", {5.5, 0}, 300, 0.75, false, sans_serif, 0.625, true}});

// The factor of letters that is asked for, and that of the preset, which it multiplies.
struct LetterFactors {
  double asked = 1, of_preset = 1;
  std::string flag = {};  // that asked for a factor or a size

  double both() const { return asked * of_preset; }
};

// Flags before the preset stay as they were given.
void apply(const Preset& preset, LetterFactors& letters_by, PlotOptions& options) {
  FigureOptions& figure = options.figure;
  const FigureOptions usual;
  if (!figure.figsize) figure.figsize = preset.size;
  figure.exact_size = true;
  if (figure.dpi == usual.dpi) figure.dpi = preset.dpi;
  letters_by.of_preset = preset.font_scale;
  figure.font_scale = letters_by.both();
  if (!preset.titled && !figure.title) figure.title = "";
  if (preset.fonts != nullptr && !figure.font) figure.font = preset.fonts;
  figure.frame_width = preset.frame_scale * usual.frame_width;
  figure.sentence_case = preset.sentence_case;
  figure.short_names = true;
}

// Figures larger than any paper are meant in pixels.
constexpr double most_inches = 200;

// Inches of a length, which may have a unit; absent if it is none.
std::optional<double> inches(std::string text) {
  constexpr std::pair<std::string_view, double> units[]{
      {"cm", 2.54}, {"mm", 25.4}, {"in", 1}, {"pt", 72}};
  double an_inch = 1, length = 0;
  for (const auto& [unit, of_an_inch] : units) {
    if (!text.ends_with(unit)) continue;
    text.resize(text.size() - unit.size());
    an_inch = of_an_inch;
    break;
  }
  const bool read = parse_number(text, length) && length > 0 && length / an_inch <= most_inches;
  return read ? std::optional(length / an_inch) : std::nullopt;
}

// Whether the text is meant as pixels: with that unit, or as numbers too large for inches.
bool is_of_pixels(const std::string& text) {
  const std::size_t by = text.find('x');
  double width = 0, height = 0;
  if (by == std::string::npos) return false;
  const bool numbers =
      parse_number(text.substr(0, by), width) && parse_number(text.substr(by + 1), height);
  return text.ends_with("px") || (numbers && (width > most_inches || height > most_inches));
}

// A text whose lines shells keep in one: "One\nTwo".
std::string with_lines(const std::string& text) {
  std::string lines;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool breaks = text.compare(at, 2, "\\n") == 0;
    lines += breaks ? '\n' : text[at];
    if (breaks) ++at;
  }
  return lines;
}

std::pair<double, double> figure_size(const std::string& text) {
  if (text == "1920x1080" || text == "1920x1080px" || text == "1920pxx1080px" || text == "16:9")
    throw written_otherwise("--figsize", text, "--preset slide");
  if (is_of_pixels(text)) {
    throw wrong_value(
        "--figsize", text,
        translated("inches, or lengths in cm or mm; --figsize 8x6 --dpi 100 has at most 800 "
                   "× 600 pixels"));
  }
  // The x between the lengths: that of "px" is none.
  const std::size_t by = text.find('x');
  const auto width = inches(text.substr(0, by));
  // A column of 89 mm, not a picture of 2.26 m.
  constexpr double widest = 60;
  if (double plain = 0; parse_number(text, plain) && plain > widest)
    throw written_otherwise("--figsize", text, "--figsize " + text + "mm");
  if (width && by == std::string::npos) return {*width, 0};
  const auto height = by == std::string::npos ? std::nullopt : inches(text.substr(by + 1));
  if (!width || !height) {
    // A comma before decimals of a length with a unit, or between two of them.
    if (const std::size_t comma = text.find(','); comma != text.npos && comma > 0 &&
                                                  is_digits(text.substr(0, 1)) &&
                                                  !is_digits(text.substr(text.size() - 1))) {
      std::string meant = text;
      meant[comma] = is_digits(text.substr(comma - 1, 1)) ? '.' : 'x';
      throw written_otherwise("--figsize", text, "--figsize " + meant);
    }
    // Two numbers with another character between them.
    const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::size_t start = std::min(text.find_first_of("0123456789", end), text.size());
    const std::string meant =
        text.substr(0, end) + "x" +
        text.substr(start, text.find_first_not_of("0123456789.", start) - start);
    if (end > 0 && start < text.size() && meant != text)
      throw written_otherwise("--figsize", text, "--figsize " + meant);
    throw wrong_value(
        "--figsize", text,
        translated("width and height in inches, such as 8x6, or with units: 16cmx12cm; or a width "
                   "alone, 89mm"));
  }
  return {*width, *height};
}

double number_between(const std::string& flag, const std::string& text, double least, double most,
                      const std::string& expected) {
  double number = 0;
  if (parse_number(text, number) && number >= least && number <= most) return number;
  throw wrong_value(flag, text, expected);
}

// The range of "LO,HI"; none for other texts.
std::optional<ColorRange> low_and_high(const std::string& text) {
  const std::vector<std::string> bounds = comma_separated(text);
  ColorRange range{ColorRange::Scope::given, 0, 1};
  const bool read = bounds.size() == 2 && parse_number(bounds[0], range.low) &&
                    parse_number(bounds[1], range.high) && std::isfinite(range.low) &&
                    std::isfinite(range.high) && range.low < range.high;
  return read ? std::optional(range) : std::nullopt;
}

ColorRange color_range(const std::string& text) {
  for (const auto& [name, scope] : scopes) {
    if (text == name) return {scope, 0, 1};
  }
  if (const auto range = low_and_high(text)) return *range;
  throw wrong_value("--color-range", text,
                    translated("shared, panel, or the lowest and highest value, such as 0,1"));
}

ColorNorm color_norm(const std::string& text) {
  constexpr std::string_view power = "power:";
  if (text.starts_with("power="))
    throw written_otherwise("--norm", text, "--norm power:" + text.substr(power.size()));
  if (!text.starts_with(power)) return {chosen("--norm", text, norms).value};
  ColorNorm norm{ColorNorm::Kind::power};
  if (!parse_number(text.substr(power.size()), norm.gamma) || !std::isfinite(norm.gamma) ||
      norm.gamma <= 0) {
    throw wrong_value("--norm", text, translated("a power above 0, such as power:0.5"));
  }
  return norm;
}

// A number of bins and their reduction: "1024" (mean), "1024,max".
Pooling pooling(const std::string& text) {
  const std::vector<std::string> parts = comma_separated(text);
  if (parts.size() > 2 || !is_digits(parts[0])) {
    throw wrong_value("--pool", text,
                      translated("a number of bins, and optionally mean or max, such as 1024,max"));
  }
  Pooling pooling;
  pooling.size = whole_number("--pool", parts[0], 1);
  if (parts.size() == 2) pooling.reduction = chosen("--pool", parts[1], pooling_reductions()).value;
  return pooling;
}

// The kinds of pictures that honour an option or, if these are more, the others; none where all do.
std::pair<bool, std::string> kinds_named(const PictureOptionInfo& option) {
  std::string with, without;
  std::size_t balance = 0, count = 0;
  for (const PlotKindInfo& kind : plot_kinds()) {
    const bool honours = option.honoured_by(kind.kind);
    std::string& names = honours ? with : without;
    names += (names.empty() ? "" : name_separator()) + std::string(kind.name);
    balance += honours ? 1 : 0;
    ++count;
  }
  const bool others = 2 * balance > count;
  return {others, others ? without : with};
}

void add_colour_scale(Flags& flags, ColorOptions& colors) {
  complete(flags.add("--color-range", "RANGE", translated("shared, panel or LO,HI"),
                     [&](const std::string& text) { colors.range = color_range(text); }),
           scopes);
  complete(flags.add("--norm", "NORM",
                     translated("linear, log or power[:GAMMA]: how values become colours"),
                     [&](const std::string& text) { colors.norm = color_norm(text); }),
           norms);
  flags.choice("--pixels", colors.pixels, pixels_show, "WHAT",
               translated(": what a pixel shows of many cells"));
}

void add_annotation(Flags& flags, AnnotationOptions& annotation) {
  flags.choice("--annotate", annotation.when, annotations, "WHEN",
               translated(": each cell's value"));
  flags.add("--annotate-color", "COLOR", translated("auto, a colour name or #rrggbb"),
            [&](const std::string& text) {
              annotation.color = text == "auto" ? std::nullopt : std::optional(text);
            });
  flags.text("--annotate-format", annotation.format, "FORMAT",
             translated("How values are written: .3f, .2g, .1e or .1%"));
}

// Notes what asks for the size of letters, which two flags must not do.
void note_letters(LetterFactors& by, const std::string& flag) {
  if (by.flag.empty() || by.flag == flag) {
    by.flag = flag;
    return;
  }
  throw Error(ErrorKind::usage,
              translated("{1} and {2} both set the size of the letters", by.flag, flag), flag,
              translated("leave one of them out"));
}

void add_letter_sizes(Flags& flags, const std::shared_ptr<LetterFactors>& by,
                      FigureOptions& figure) {
  flags.add("--font-scale", "X", translated("Scale of all font sizes, of a preset's too"),
            [&figure, by](const std::string& text) {
              by->asked = number_between("--font-scale", text, 0.1, 20,
                                         translated("a number from 0.1 to 20, such as 1.5; "
                                                    "--font-size 8 is a size in points"));
              note_letters(*by, "--font-scale");
              figure.font_scale = by->both();
            });
  flags.add(
      "--font-size", "POINTS",
      translated("Size of tick labels in points, other letters in proportion"),
      [&figure, by](const std::string& text) {
        const std::string number = text.ends_with("pt") ? text.substr(0, text.size() - 2) : text;
        figure.font_size = number_between("--font-size", number, 1, 200,
                                          translated("a size from 1 to 200 points, such as 8"));
        note_letters(*by, "--font-size");
      });
}

}  // namespace

void name_kinds(Flags& flags) {
  for (const PictureOptionInfo& option : picture_options()) {
    const auto flag = std::ranges::find(flags, with_flags(std::string(option.field)), &Flag::name);
    if (flag == flags.end() || !option.value.empty()) continue;
    const auto [others, kinds] = kinds_named(option);
    if (kinds.empty()) continue;
    flag->help = others ? translated("{1} (not for {2})", flag->help, kinds)
                        : translated("{1} (for {2})", flag->help, kinds);
  }
}

void add_picture(Flags& flags, const PictureTargets& picture) {
  flags.begin_group(FlagGroup::pictures);
  PlotOptions& options = picture.options;
  add_selection(flags, {picture.selection, picture.sample, picture.head});
  add_hide_mask(flags, picture.selection);
  flags.count("--top", options.top, "K",
              translated("Only the K strongest keys of each query: other cells are blank"), 1);
  flags.add("--threshold", "X",
            translated("Only weights of at least X: cells below it are blank, lines left out"),
            [&](const std::string& text) { options.threshold = finite_size("--threshold", text); });
  flags.toggle("--smooth", options.smooth,
               translated("Weights change evenly between the middles of patches, over pictures"));
  flags.choice("--style", options.figure.style, styles, "NAME");
  flags.back().help = translated("standard, or matplotlib (identical pixels)");
  flags.add("--title", "TEXT", translated("Title of the picture"),
            [&options](const std::string& text) { options.figure.title = with_lines(text); });
  flags.text("--xlabel", options.figure.xlabel, "TEXT", translated("Name of the key axis"));
  flags.text("--ylabel", options.figure.ylabel, "TEXT", translated("Name of the query axis"));
  flags.count("--columns", options.columns, "N",
              translated("Number of panels per row, where one row is wrapped"), 1);
  flags.count("--best", options.best, "N",
              translated("Only the N heads whose weight lies most in one place beyond chance, the "
                         "others as dots"),
              1);
  flags.add("--titles", "A,B,…",
            translated("Titles of a grid's columns or names of curves, or none; \"…\" may "
                       "contain commas"),
            [&](const std::string& text) {
              options.titles =
                  text == "none" ? std::vector<std::string>{} : quoted_list("--titles", text);
            });
  add_colour_map(flags, options.colors.cmap);
  const auto letters_by = std::make_shared<LetterFactors>();
  Flag& preset =
      flags.add("--preset", "NAME",
                translated("Exact size, letters and short names for a page: {1}",
                           alternatives(names_of(presets))),
                [&options, letters_by](const std::string& text) {
                  apply(presets[choice("--preset", text, names_of(presets))], *letters_by, options);
                });
  complete(preset, presets);
  flags.text("--font", options.figure.font, "NAME",
             translated("Family of the letters, or several: the first that is installed"));
  add_figure_size(flags, options.figure.figsize);
  add_dpi(flags, options.figure.dpi);
  add_annotation(flags, options.annotation);
  flags.choice("--ticks", options.figure.ticks, tick_texts, "WHAT");
  flags.text("--colorbar-label", options.colors.bar_label, "TEXT",
             translated("What the colours stand for"));
  flags.choice("--colorbar", options.colors.bar, switches, "WHEN",
               translated(": the bar of colours"));
  flags.toggle(
      "--marginals", options.marginals,
      translated(
          "Bars above the map for the sums of its columns, and beside it for those of its rows, "
          "or for the largest where all sum to 1"));
  flags.choice("--background", options.figure.background, backgrounds, "NAME");
  flags.choice("--letters", options.figure.letters, letters, "HOW",
               translated(": in SVG and PDF files"));
  flags.toggle("--keys-upwards", options.figure.keys_upwards,
               translated("Queries from left to right and keys upwards, as in figures of speech"));
  flags.choice("--brackets", options.figure.brackets, switches, "WHEN",
               translated(": names of the parts of axes, such as prompt and answer"));
  flags.toggle("--caption", options.figure.caption,
               translated("Two sentences about the numbers, printed and in the file, and a "
                          "description for those who cannot see it"));
  flags.choice("--log-axes", options.log_axes, log_axes, "AXES",
               translated(": logarithmic axes of curves"));
  flags.toggle("--show-spaces", options.figure.show_spaces,
               translated("Show spaces in labels as ␣"));
  add_colour_scale(flags, options.colors);
  add_letter_sizes(flags, letters_by, options.figure);
  name_kinds(flags);
}

void add_figure_size(Flags& flags, std::optional<std::pair<double, double>>& figsize) {
  flags.add("--figsize", "WxH",
            translated("Size in inches before the margins are trimmed, or a width alone"),
            [&](const std::string& text) { figsize = figure_size(text); });
}

void add_dpi(Flags& flags, double& dpi) {
  flags.add("--dpi", "N", translated("Pixels per inch (default 300)"),
            [&dpi](const std::string& text) {
              dpi = number_between("--dpi", text, 1, 10000,
                                   translated("a number from 1 to 10000, such as 300"));
            });
}

void add_pooling(Flags& flags, std::optional<Pooling>& bins) {
  flags.begin_group(FlagGroup::pictures);
  flags.add(
      "--pool", "N[,WHAT]",
      translated(
          "For long sequences: reduce the weights to N bins of queries and keys, each their mean "
          "or, with N,max, the largest"),
      [&](const std::string& text) { bins = pooling(text); });
}

ColorRange given_range(const std::string& text) {
  if (const auto range = low_and_high(text)) return *range;
  throw wrong_value("--color-range", text, translated("the lowest and highest value, such as 0,1"));
}

std::string picture_extensions() {
  std::vector<std::string> names;
  for (const auto& [name, format] : picture_formats()) names.push_back("." + std::string(name));
  return alternatives(std::vector<std::string_view>(names.begin(), names.end()));
}

void add_colour_map(Flags& flags, std::optional<std::string>& target) {
  Flag& flag = flags.add(
      "--cmap", "NAME", translated("Colour map (default YlOrRd, for numbers of both signs RdBu_r)"),
      [&](const std::string& text) {
        const auto names = colour_maps();
        target = names[choice("--cmap", text, names)];
      });
  for (const std::string_view name : colour_maps()) flag.words.emplace_back(name);
}

Flags plot_flags(PlotRequest& request) {
  Flags flags;
  add_picture(flags, {request.options, request.maps.selection, request.sample, request.head});
  Flags of_maps;
  add_map_source(of_maps, request.maps);
  of_maps.text(
      "--image", request.image, "FILE",
      translated("Picture, PNG or JPEG, whose patches are the last keys, for overlay and grid"));
  of_maps.text("--corpus", request.corpus, "DIR",
               translated("Folder of heads --corpus, whose means a card shows"));
  of_maps.add("--grid", "ROWS,COLUMNS",
              translated("Rows and columns of its patches (default a square)"),
              [&request](const std::string& text) {
                request.grid.clear();
                for (const std::string& part : listed("--grid", text))
                  request.grid.push_back(whole_number("--grid", part, 1));
                if (request.grid.size() != 2)
                  throw wrong_value("--grid", text, translated("two numbers, such as 14,14"));
              });
  name_kinds(of_maps);
  flags.insert(flags.end(), of_maps.begin(), of_maps.end());
  return flags;
}

}  // namespace attn::cli
