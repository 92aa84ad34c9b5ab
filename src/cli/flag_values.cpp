#include "cli/flag_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "attn/error.hpp"
#include "attn/spec.hpp"

namespace attn::cli {
namespace {

Error wrong_value(const std::string& flag, const std::string& text, const std::string& expected) {
  return {ErrorKind::usage, "\"" + text + "\" is not what " + flag + " takes", flag,
          "give " + expected};
}

// Whether the whole text is one number of that type.
template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

PositionRange position_range(const std::string& flag, const std::string& text) {
  const std::size_t colon = text.find(':');
  PositionRange range;
  const auto read = [&](const std::string& end, std::optional<std::int64_t>& position) {
    if (end.empty()) return true;
    return parse_number(end, position.emplace());
  };
  if (colon == std::string::npos || !read(text.substr(0, colon), range.first) ||
      !read(text.substr(colon + 1), range.end)) {
    throw wrong_value(flag, text,
                      "the first position and the one behind the last, such as 10:40, 10: or :40");
  }
  return range;
}

}  // namespace

std::size_t whole_number(const std::string& flag, const std::string& text, std::size_t least) {
  std::size_t number = 0;
  if (parse_number(text, number) && number >= least) return number;
  throw wrong_value(flag, text, "a whole number of at least " + std::to_string(least));
}

std::int64_t integer(const std::string& flag, const std::string& text) {
  std::int64_t number = 0;
  if (parse_number(text, number)) return number;
  throw wrong_value(flag, text, "a whole number");
}

double finite_number(const std::string& flag, const std::string& text) {
  double number = 0;
  if (parse_number(text, number) && std::isfinite(number)) return number;
  throw wrong_value(flag, text, "a finite number");
}

std::uint64_t large_number(const std::string& flag, const std::string& text) {
  constexpr std::string_view prefixes = "kMGT";
  constexpr std::uint64_t thousand = 1000;
  std::string digits = text;
  std::uint64_t unit = 1, number = 0;
  const std::size_t prefix = text.empty() ? std::string_view::npos : prefixes.find(text.back());
  if (prefix != std::string_view::npos) {
    digits.pop_back();
    for (std::size_t i = 0; i <= prefix; ++i) unit *= thousand;
  }
  if (parse_number(digits, number) && number >= 1 && number <= UINT64_MAX / unit) {
    return number * unit;
  }
  throw wrong_value(flag, text, "a whole number of at least 1, such as 500000 or 500k, 2M, 2G");
}

double finite_size(const std::string& flag, const std::string& text) {
  double number = 0;
  if (parse_number(text, number) && std::isfinite(number) && number >= 0) return number;
  throw wrong_value(flag, text, "a number of at least 0");
}

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', start)) {
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::size_t choice(const std::string& flag, const std::string& text,
                   std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  throw Error(ErrorKind::usage, "\"" + text + "\" is not what " + flag + " takes", flag,
              nearest_known(text, names));
}

namespace {

ColorNorm color_norm(const std::string& text) {
  constexpr std::array<std::string_view, 3> norms{"linear", "log", "power"};
  constexpr std::string_view power = "power:";
  ColorNorm norm;
  if (text.starts_with(power)) {
    norm.kind = ColorNorm::Kind::power;
    if (!parse_number(text.substr(power.size()), norm.gamma) || !std::isfinite(norm.gamma) ||
        norm.gamma <= 0) {
      throw wrong_value("--norm", text, "a power above 0, such as power:0.5");
    }
    return norm;
  }
  norm.kind = static_cast<ColorNorm::Kind>(choice("--norm", text, norms));
  return norm;
}

}  // namespace

FileAccess file_access(const FileArguments& arguments) {
  FileAccess access;
  Limits& limits = access.limits;
  if (arguments.max_file_size) {
    limits.file_bytes = large_number("--max-file-size", *arguments.max_file_size);
    limits.stream_bytes = limits.file_bytes;
  }
  if (arguments.max_unpacked_size) {
    limits.unpacked_bytes = large_number("--max-unpacked-size", *arguments.max_unpacked_size);
  }
  if (arguments.max_elements) {
    limits.elements = large_number("--max-elements", *arguments.max_elements);
  }
  if (arguments.max_nesting) {
    limits.nesting = whole_number("--max-nesting", *arguments.max_nesting, 1);
    if (limits.nesting > deepest_nesting) {
      throw wrong_value("--max-nesting", *arguments.max_nesting,
                        "at most " + std::to_string(deepest_nesting));
    }
  }
  if (arguments.restrict_to) access.restrict_to = *arguments.restrict_to;
  return access;
}

PlotOptions picture_options(const PictureArguments& arguments, std::size_t& sample) {
  constexpr std::array<std::string_view, 2> styles{"standard", "matplotlib"};
  constexpr std::array<std::string_view, 3> annotations{"auto", "on", "off"};
  constexpr std::array<std::string_view, 3> ticks{"auto", "labels", "index"};

  if (arguments.sample) sample = whole_number("--sample", *arguments.sample);
  PlotOptions options;
  if (arguments.top) options.top = whole_number("--top", *arguments.top, 1);
  if (arguments.threshold) options.threshold = finite_size("--threshold", *arguments.threshold);
  if (arguments.style)
    options.style = static_cast<PlotStyle>(choice("--style", *arguments.style, styles));
  options.title = arguments.title;
  options.xlabel = arguments.xlabel;
  options.ylabel = arguments.ylabel;
  if (arguments.titles) {
    options.titles = *arguments.titles == "none" ? std::vector<std::string>{}
                                                 : comma_separated(*arguments.titles);
  }
  if (arguments.cmap) {
    const auto names = colour_maps();
    options.cmap = names[choice("--cmap", *arguments.cmap, names)];
  }
  if (arguments.figsize) {
    const std::string& text = *arguments.figsize;
    const std::size_t by = text.find('x');
    double width = 0, height = 0;
    if (by == std::string::npos || !parse_number(text.substr(0, by), width) ||
        !parse_number(text.substr(by + 1), height) || !(width > 0 && width <= 1000) ||
        !(height > 0 && height <= 1000)) {
      throw wrong_value("--figsize", text, "width and height in inches, such as 8x6");
    }
    options.figsize = {width, height};
  }
  if (arguments.dpi) {
    options.dpi = finite_number("--dpi", *arguments.dpi);
    if (!(options.dpi >= 1 && options.dpi <= 10000)) {
      throw wrong_value("--dpi", *arguments.dpi, "a number from 1 to 10000, such as 300");
    }
  }
  if (arguments.annotate) {
    options.annotate =
        static_cast<Annotate>(choice("--annotate", *arguments.annotate, annotations));
  }
  if (arguments.annotate_color && *arguments.annotate_color != "auto") {
    options.annotate_color = arguments.annotate_color;
  }
  if (arguments.ticks)
    options.ticks = static_cast<Ticks>(choice("--ticks", *arguments.ticks, ticks));
  options.show_spaces = arguments.show_spaces;
  if (arguments.norm) options.norm = color_norm(*arguments.norm);
  if (arguments.pool) {
    constexpr std::array<std::string_view, 2> pools{"mean", "max"};
    options.pool = static_cast<Pool>(choice("--pool", *arguments.pool, pools));
  }
  if (arguments.font_scale) {
    options.font_scale = finite_number("--font-scale", *arguments.font_scale);
    if (!(options.font_scale >= 0.1 && options.font_scale <= 20)) {
      throw wrong_value("--font-scale", *arguments.font_scale,
                        "a number from 0.1 to 20, such as 1.5");
    }
  }
  if (arguments.color_range) {
    const std::string& text = *arguments.color_range;
    const std::vector<std::string> bounds = comma_separated(text);
    if (text == "shared") {
      options.color_range.scope = ColorRange::Scope::shared;
    } else if (text == "panel") {
      options.color_range.scope = ColorRange::Scope::panel;
    } else if (bounds.size() == 2 && parse_number(bounds[0], options.color_range.low) &&
               parse_number(bounds[1], options.color_range.high) &&
               std::isfinite(options.color_range.low) && std::isfinite(options.color_range.high) &&
               options.color_range.low < options.color_range.high) {
      options.color_range.scope = ColorRange::Scope::given;
    } else {
      throw wrong_value("--color-range", text,
                        "shared, panel, or the lowest and highest value, such as 0,1");
    }
  }
  return options;
}

MapSelection map_selection(const PictureArguments& arguments, std::size_t& head) {
  using Heads = MapSelection::Heads;
  MapSelection selection;
  if (arguments.head) {
    const std::string& text = *arguments.head;
    const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    if (number) {
      head = whole_number("--head", text);
    } else {
      constexpr std::array<std::string_view, 3> words{"mean", "max", "all"};
      constexpr std::array<Heads, 3> heads{Heads::mean, Heads::max, Heads::all};
      const auto word = std::find(words.begin(), words.end(), text);
      if (word == words.end()) {
        const std::string near = nearest_known(text, words);
        throw wrong_value("--head", text,
                          "a whole number, mean, max or all" +
                              (near.starts_with("known") ? std::string() : "; " + near));
      }
      selection.heads = heads[static_cast<std::size_t>(word - words.begin())];
    }
  }
  if (arguments.queries) selection.queries = position_range("--queries", *arguments.queries);
  if (arguments.keys) selection.keys = position_range("--keys", *arguments.keys);
  if (arguments.drop_first) {
    selection.drop_first = whole_number("--drop-first", *arguments.drop_first);
  }
  selection.renormalize = arguments.renormalize;
  selection.merge_pieces = arguments.merge_pieces;
  selection.hide_mask = arguments.hide_mask;
  selection.one_sample = arguments.sample.has_value();
  return selection;
}

}  // namespace attn::cli
