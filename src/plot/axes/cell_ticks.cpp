#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "plot/axes/axes.hpp"
#include "plot/text/token_labels.hpp"
#include "plot/text/token_spans.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

// Ticks along an axis of cells or of numbers, their names, and the brackets of cells.

namespace attn::plot {
namespace {

// The least room of a bracket and of a sentence on average, and of an axis with any, in points.
constexpr double least_bracket = 10, least_sentence = 24;
constexpr double least_bracketed = 60;
// The room from one label to the next, in widths of a level label and in heights of a line.
constexpr double room_across = 1.1, room_along = 1.15;
constexpr double number_room = 1.6;  // widths of a number, which none turns
// The longest label, in widths or heights of the figure; the matplotlib style shortens only absurd
// ones.
constexpr double longest_label = 0.25, longest_label_in_matplotlib = 3;
// Heights of a line; where labels thin out, those no wider than this stay level.
constexpr double short_label = 5;
// Labels of the matplotlib style that are closer than this share of a line's height give way to
// indices.
constexpr double crowded = 0.5;
// Of so many names each has at most so many letters.
constexpr std::size_t many_names = 20, longest_of_many = 14;

double middle_of(std::size_t cell, std::size_t cells, bool horizontal) {
  const double place = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
  return horizontal ? place : 1 - place;
}

// Round numbers of cells from one label to the next: 1, 2, 5, 10, …
std::size_t round_step(double least) {
  std::size_t decade = 1;
  for (;; decade *= 10) {
    for (const std::size_t step : {decade, 2 * decade, 5 * decade}) {
      if (static_cast<double>(step) >= least) return step;
    }
  }
}

// Round numbers of cells from one index to the next, fewer where only one index would be left and
// there is room for two.
std::size_t index_step(const Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                       Figure& figure) {
  const std::size_t cells = ticks.labels.size(), last = ticks.first + cells - 1;
  const auto shown = [&](std::size_t step) {
    return last / step + 1 - (ticks.first + step - 1) / step;
  };
  const Text& widest = figure.typesetter().text(std::to_string(last), axis.tick_label_size);
  const double room = horizontal ? 2 * widest.width : room_along * widest.height;
  const std::size_t least = round_step(room / length * static_cast<double>(cells));
  const int intervals =
      tick_intervals(figure.points(length), axis.tick_label_size * figure.font_scale(), horizontal);
  std::size_t step = round_step(static_cast<double>(cells) / intervals);
  constexpr double to_next = 2.5;  // no two neighbours of 1, 2, 5, 10, … are farther apart
  while (shown(step) < 2 && step > least) {
    step = round_step(static_cast<double>(step) / to_next);
  }
  return step;
}

// Leaves out every second tick as long as level labels overlap.
void thin_out(Axis& axis, double length, Figure& figure) {
  const auto overlap = [&](const Tick& tick, const Tick& next) {
    const Text& a = figure.typesetter().text(tick.label, axis.tick_label_size);
    const Text& b = figure.typesetter().text(next.label, axis.tick_label_size);
    return (a.ink.width() + b.ink.width()) / 2 > (next.position - tick.position) * length;
  };
  while (std::adjacent_find(axis.ticks.begin(), axis.ticks.end(), overlap) != axis.ticks.end()) {
    std::vector<Tick> kept;
    for (std::size_t i = 0; i < axis.ticks.size(); i += 2) kept.push_back(axis.ticks[i]);
    axis.ticks = std::move(kept);
  }
}

// matplotlib's own ticks for an axis of numbers; the standard style leaves out those between
// cells.
std::size_t set_index_ticks(Axis& axis, const CellTicks& cell_ticks, double length, bool horizontal,
                            Figure& figure) {
  const std::size_t cells = cell_ticks.labels.size();
  const bool standard = figure.standard();
  const auto first = static_cast<double>(cell_ticks.first);
  const Interval view = {first - 0.5, first + static_cast<double>(cells) - 0.5};
  if (!standard) {
    Axis numbers = axis;
    set_value_ticks(numbers, view, length, horizontal, figure);
    if (horizontal) thin_out(numbers, length, figure);
    for (Tick& tick : numbers.ticks) {
      axis.ticks.push_back({horizontal ? tick.position : 1 - tick.position, tick.label});
    }
    axis.offset = numbers.offset;
    return 1;
  }
  const std::size_t step = index_step(axis, cell_ticks, length, horizontal, figure);
  const std::size_t last = cell_ticks.first + cells - 1;
  for (std::size_t i = (cell_ticks.first + step - 1) / step * step; i <= last; i += step) {
    const std::size_t cell = cell_ticks.upwards ? last - i : i - cell_ticks.first;
    axis.ticks.push_back({middle_of(cell, cells, horizontal), std::to_string(i)});
  }
  return step;
}

// The whole number that a name is, or that of a position, "K_12".
std::optional<std::int64_t> number_of(std::string_view name) {
  constexpr std::string_view minus = "\u2212";
  if (name.starts_with("Q_") || name.starts_with("K_")) name.remove_prefix(2);
  const bool negative = name.starts_with(minus);
  if (negative) name.remove_prefix(minus.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size()) return {};
  return negative ? -number : number;
}

// The number behind the letters of a name, such as that of a residue, "K12".
std::optional<std::int64_t> number_behind(std::string_view name) {
  const std::size_t letters = name.find_last_not_of("0123456789") + 1;  // 0 if there are none
  return letters == 0 ? std::nullopt : number_of(name.substr(letters));
}

// Whether the names of cells number them one by one behind letters: "M1", "K2", "V3".
bool number_themselves(const std::vector<std::string>& names) {
  const auto breaks = [](const std::string& name, const std::string& next) {
    const auto number = number_behind(name);
    return !number || number_behind(next) != *number + 1;
  };
  return names.size() > 1 && std::ranges::adjacent_find(names, breaks) == names.end();
}

// The first cell to be named where each `step`th one is: that of a multiple of the step, where
// cells are numbered one by one and there is such a cell.
std::size_t round_start(const CellTicks& ticks, std::size_t step) {
  if (step >= ticks.labels.size()) return 0;
  const bool behind = number_themselves(ticks.labels);
  const auto number = [&](const std::string& name) {
    return behind ? number_behind(name) : number_of(name);
  };
  const auto first = number(ticks.labels[0]), next = number(ticks.labels[step]);
  const auto signed_step = static_cast<std::int64_t>(step);
  if (!first || !next || *next - *first != signed_step) return 0;
  return static_cast<std::size_t>(((-*first % signed_step) + signed_step) % signed_step);
}

// Whether a name is that of a token: neither several words nor a number.
bool is_token(const std::string& name) {
  if (name.find(' ') != std::string::npos || are_positions({name})) return false;
  const std::size_t digits = name.starts_with("\u2212") ? std::string_view("\u2212").size() : 0;
  return name.find_first_not_of("-.0123456789", digits) != std::string::npos;
}

struct Extent {
  double width = 0, height = 0;
};

// Turns the labels of a horizontal axis until they fit, and says how many cells there must be from
// one to the next.
std::size_t turned_step(Axis& axis, const Extent& largest, double cell, bool all) {
  axis.labels_end_at_tick = true;
  if (largest.width * room_across <= cell) return 1;
  const double line = largest.height * room_along;
  if (line * std::sqrt(2.0) <= cell) {
    axis.tick_label_degrees = 45;
    return 1;
  }
  if (line > cell && !all && largest.width <= short_label * line) {
    return round_step(largest.width * room_across / cell);  // short ones stay level and thin out
  }
  axis.tick_label_degrees = 90;
  return line <= cell || all ? 1 : round_step(line / cell);
}

// The fewest cells from one level label to the next without any two overlapping, but for names of
// all cells that run together by less than `touching` pixels, as in matplotlib.
std::size_t step_without_overlaps(const std::vector<const Text*>& texts, double cell,
                                  bool horizontal, double touching) {
  const auto overlap = [&](const Text& text, const Text& next, double distance) {
    // Labels stand with their middles at the ticks, and those of a vertical axis with their
    // capitals' middles, whose height is the same for all.
    if (!horizontal) return text.ink.bottom - next.ink.top > distance;
    return text.ink.right - text.width / 2 + next.width / 2 - next.ink.left > distance;
  };
  for (std::size_t step = 1;; step = round_step(static_cast<double>(step + 1))) {
    bool apart = true;
    const double more = horizontal && step == 1 ? touching : 0;
    for (std::size_t i = 0; apart && i + step < texts.size(); i += step) {
      apart = !overlap(*texts[i], *texts[i + step], cell * static_cast<double>(step) + more);
    }
    if (apart) return step;
  }
}

}  // namespace

void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure) {
  const auto values =
      tick_values(view, tick_intervals(figure.points(length),
                                       axis.tick_label_size * figure.font_scale(), horizontal));
  const TickTexts texts = tick_texts(values, view);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!in_view(view, values[i])) continue;
    axis.ticks.push_back({(values[i] - view.low) / (view.high - view.low), texts.labels[i]});
  }
  axis.offset = texts.offset;
}

void set_log_ticks(Axis& axis, Interval view, double length, bool horizontal, Figure& figure) {
  const LogTicks ticks =
      log_ticks(view, tick_intervals(figure.points(length),
                                     axis.tick_label_size * figure.font_scale(), horizontal));
  const double low = std::log(view.low), extent = std::log(view.high) - low;
  const auto place = [&](double value) { return (std::log(value) - low) / extent; };
  for (std::size_t i = 0; i < ticks.values.size(); ++i)
    axis.ticks.push_back({place(ticks.values[i]), ticks.labels[i]});
  for (const double value : ticks.minor_values) axis.minor_ticks.push_back(place(value));
  constexpr double room = 0.8;  // of the distance of two ticks, for their labels
  if (horizontal) thin_out(axis, room * length, figure);
}

ShownLabels shown_labels(const Heatmap& heatmap, const FigureOptions& options) {
  if (options.style == PlotStyle::matplotlib && !options.show_spaces) {
    return {heatmap.query_labels, heatmap.key_labels};
  }
  const auto spelling = token_spelling({&heatmap.query_labels, &heatmap.key_labels});
  return {readable_tokens(heatmap.query_labels, spelling, options.show_spaces),
          readable_tokens(heatmap.key_labels, spelling, options.show_spaces)};
}

std::vector<std::string> labels_or(const std::vector<std::string>& given, const char* prefix,
                                   std::size_t count, std::size_t first, std::size_t first_number) {
  if (!given.empty()) return given;
  std::vector<std::string> labels;
  labels.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    labels.push_back((first_number == 0 ? "" : prefix) + std::to_string(i + first_number));
  }
  return labels;
}

namespace {

// The brackets of parts of so many cells; none where they are too narrow to be told apart or, of
// sentences, to be named.
std::vector<Bracket> brackets_of(const CellTicks& ticks, bool counted, double length,
                                 bool horizontal, const Figure& figure) {
  const bool given = !ticks.spans.empty();
  if (!figure.standard() || (!given && !counted)) return {};
  const std::vector<AxisSpan>& spans = given ? ticks.spans : ticks.sentences;
  const auto cells = static_cast<double>(ticks.labels.size());
  const double each = given ? least_bracket : least_sentence;
  const double least = std::max(least_bracketed, each * static_cast<double>(spans.size()));
  if (figure.points(length) < least) return {};
  std::vector<Bracket> brackets;
  for (const AxisSpan& span : spans) {
    const double from = static_cast<double>(span.first) / cells;
    const double to = std::min(static_cast<double>(span.end) / cells, 1.0);
    if (from >= to) continue;
    brackets.push_back(
        {shown_part(span.name), horizontal ? from : 1 - to, horizontal ? to : 1 - from});
  }
  return brackets;
}

// Names the few special tokens of an axis that counts, such as a sink, in the place of numbers that
// are too near to them.
void name_special_tokens(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                         Figure& figure) {
  constexpr std::size_t most = 4;
  const std::size_t cells = ticks.labels.size();
  std::vector<Tick> named;
  for (std::size_t i = 0; i < cells; ++i) {
    if (!is_special_token(ticks.labels[i])) continue;
    if (named.size() == most) return;
    named.push_back({middle_of(i, cells, horizontal), ticks.labels[i]});
  }
  const auto touch = [&](const Tick& a, const Tick& b) {
    const Text& one = figure.typesetter().text(a.label, axis.tick_label_size);
    const Text& other = figure.typesetter().text(b.label, axis.tick_label_size);
    const double room = horizontal ? room_across * (one.width + other.width) / 2
                                   : room_along * std::max(one.height, other.height);
    return std::abs(a.position - b.position) * length < room;
  };
  std::vector<Tick> kept;
  for (const Tick& tick : named) {
    if (std::ranges::none_of(kept, [&](const Tick& own) { return touch(own, tick); }))
      kept.push_back(tick);
  }
  for (const Tick& tick : axis.ticks) {
    if (std::ranges::none_of(kept, [&](const Tick& own) { return touch(own, tick); }))
      kept.push_back(tick);
  }
  std::ranges::sort(kept, {}, &Tick::position);
  axis.ticks = std::move(kept);
}

// Whether cells have the names of tokens, which tell no other's.
bool have_names_of_tokens(const CellTicks& ticks) {
  return ticks.ticks == Ticks::automatic && !number_themselves(ticks.labels) &&
         std::any_of(ticks.labels.begin(), ticks.labels.end(), is_token);
}

// Sets the ticks, and returns the number of cells from one to the next.
std::size_t set_named_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                            Figure& figure) {
  const std::size_t cells = ticks.labels.size();
  const bool standard = figure.standard();
  const bool all = ticks.ticks == Ticks::all || (!standard && ticks.ticks == Ticks::labels);
  const double cell = length / static_cast<double>(cells);
  Typesetter& typesetter = figure.typesetter();
  const double line = typesetter.text("lp", axis.tick_label_size).height;
  if (ticks.ticks == Ticks::index || (!standard && !all && cell < crowded * line)) {
    return set_index_ticks(axis, ticks, length, horizontal, figure);
  }

  // Both axes shorten a name alike.
  const double side = standard     ? std::min(figure.height(), figure.width())
                      : horizontal ? figure.height()
                                   : figure.width();
  const double longest = side * (standard ? longest_label : longest_label_in_matplotlib);
  const bool many = standard && cells >= many_names;
  const auto label = [&](std::size_t i) {
    const std::string& name = ticks.labels[i];
    return shortened(many && is_token(name) ? attn::shortened(name, longest_of_many) : name,
                     axis.tick_label_size, longest, typesetter);
  };
  std::size_t step = 1;
  if (standard) {
    // Where not all can be shown, not all are measured.
    const std::size_t stride = all ? 1 : round_step(line / cell);
    Extent largest;
    for (std::size_t i = 0; i < cells; i += stride) {
      const Text& text = typesetter.text(label(i), axis.tick_label_size);
      largest.width = std::max(largest.width, text.width);
      largest.height = std::max(largest.height, text.height);
    }
    if (horizontal && !all && are_numbers(ticks.labels)) {
      step = round_step(number_room * largest.width / cell);
    } else if (horizontal) {
      step = turned_step(axis, largest, cell, all);
    } else if (!all) {
      step = round_step(largest.height * room_along / cell);
    }
  } else if (!all) {
    std::vector<const Text*> texts;
    for (std::size_t i = 0; i < cells; ++i) {
      texts.push_back(&typesetter.text(label(i), axis.tick_label_size));
    }
    constexpr double touching = 0.5;  // of a line's height
    step = step_without_overlaps(texts, cell, horizontal, touching * line);
  }
  if (step > 1) step = std::max(step, ticks.least_step);
  // Some tokens without those between them say less than their numbers.
  if (standard && step > 1 && have_names_of_tokens(ticks)) {
    axis.labels_end_at_tick = false;
    axis.tick_label_degrees = 0;
    const std::size_t counted_step = set_index_ticks(axis, ticks, length, horizontal, figure);
    name_special_tokens(axis, ticks, length, horizontal, figure);
    return std::max<std::size_t>(2, counted_step);
  }
  const std::size_t start = standard && step > 1 ? round_start(ticks, step) : 0;
  for (std::size_t i = start; i < cells; i += step) {
    axis.ticks.push_back({middle_of(i, cells, horizontal), label(i)});
  }
  return step;
}

}  // namespace

std::size_t set_cell_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                           Figure& figure) {
  const std::size_t step = set_named_ticks(axis, ticks, length, horizontal, figure);
  axis.brackets = brackets_of(ticks, step > 1, length, horizontal, figure);
  return step;
}

std::string shown_part(const std::string& name) {
  constexpr std::array known = {to_translate("prompt"),    to_translate("answer"),
                                to_translate("system"),    to_translate("user"),
                                to_translate("assistant"), to_translate("first token"),
                                to_translate("sink")};
  for (const std::string_view word : known) {
    if (std::ranges::equal(name, word,
                           [](char a, char b) { return a == b || (a == '_' && b == ' '); }))
      return translated(word.data());
  }
  return name;
}

void set_spans(MapTicks& ticks, const Heatmap& map, const FigureOptions& options) {
  if (!options.brackets || options.style != PlotStyle::standard || map.of_positions) return;
  const auto set = [&](CellTicks& axis, const std::vector<AxisSpan>& spans,
                       const std::vector<std::string>& labels) {
    axis.spans = spans;
    // The labels of a turned map are no longer in the order of the text.
    if (!spans.empty() || options.keys_upwards) return;
    axis.spans = turns_of(labels);
    if (!axis.spans.empty()) return;
    axis.sentences = segments_of(labels);
    if (axis.sentences.empty()) axis.sentences = sentences_of(labels);
    if (axis.sentences.size() < 2) axis.sentences.clear();
  };
  set(ticks.query, map.query_spans, map.query_labels);
  set(ticks.key, map.key_spans, map.key_labels);
}

MapTicks map_ticks(const Heatmap& names, std::size_t rows, std::size_t columns,
                   const FigureOptions& options) {
  const ShownLabels labels = shown_labels(names, options);
  // Many positions along an axis that is given a name are numbers alone.
  const bool standard = options.style == PlotStyle::standard;
  const auto ticks = [&](const std::vector<std::string>& given, const char* prefix,
                         std::size_t count, std::size_t first, bool upwards,
                         bool named) -> CellTicks {
    const bool numbers = names.first_number == 0 || (standard && named && count > many_names);
    const bool by_index = given.empty() && numbers && options.ticks == Ticks::automatic;
    return {labels_or(given, prefix, count, first, names.first_number),
            by_index ? Ticks::index : options.ticks, first + (by_index ? names.first_number : 0),
            upwards};
  };
  MapTicks all{
      ticks(labels.query, "Q_", rows, names.first_query, options.keys_upwards,
            options.ylabel.has_value()),
      ticks(labels.key, "K_", columns, names.first_key, false, options.xlabel.has_value())};
  set_spans(all, names, options);
  return all;
}

std::size_t set_cell_ticks(Axes& axes, const MapTicks& ticks, Figure& figure) {
  MapTicks stepped = ticks;
  const double usual = axes.x.tick_label_size;
  const auto set = [&](bool horizontal, double size) {
    Axis& axis = horizontal ? axes.x : axes.y;
    axis.ticks.clear();
    axis.tick_label_degrees = 0;
    axis.tick_label_size = size;
    const double length = horizontal ? axes.box.width() : axes.box.height();
    return set_cell_ticks(axis, horizontal ? stepped.key : stepped.query, length, horizontal,
                          figure);
  };
  // The largest size at which every name of an axis has room; the usual one if there is none.
  const auto fitting_size = [&](bool horizontal) {
    const CellTicks& names = horizontal ? ticks.key : ticks.query;
    if (!figure.standard() || names.ticks == Ticks::index || are_positions(names.labels) ||
        are_numbers(names.labels)) {
      return usual;
    }
    for (double size = usual; size * figure.font_scale() >= figure.least_letters();
         --size) {  // NOLINT: points
      if (set(horizontal, size) == 1) return size;
    }
    return usual;
  };
  const double size = std::min(fitting_size(true), fitting_size(false));
  const std::size_t across = set(true, size), down = set(false, size);
  const bool keys = have_names_of_tokens(ticks.key), queries = have_names_of_tokens(ticks.query);
  if (figure.standard() && (keys || queries))
    figure.note_names((!keys || across == 1) && (!queries || down == 1));
  const std::size_t step = std::max(across, down);
  // Names with numbers have one step along both axes, as numbers have.
  if (figure.standard() && across > 1 && down > 1 && across != down &&
      number_themselves(ticks.query.labels) && number_themselves(ticks.key.labels)) {
    stepped.query.least_step = stepped.key.least_step = step;
    set(true, size);
    set(false, size);
  }
  return step;
}

Heatmap with_keys_upwards(const Heatmap& map, const FigureOptions& options) {
  const Shape& shape = map.weights.shape();
  if (shape.size() != 2) return map;
  const std::size_t queries = shape[0], keys = shape[1];
  Heatmap turned = map;
  for (Tensor* tensor :
       {&turned.weights, &turned.allowed, &turned.missing, &turned.hidden_in_effect}) {
    if (!*tensor || tensor->shape() != shape) continue;
    const Tensor numbers = tensor->converted(DType::float64);
    std::vector<double> cells;
    cells.reserve(numbers.size());
    for (std::size_t key = keys; key-- > 0;) {
      for (std::size_t query = 0; query < queries; ++query)
        cells.push_back(numbers.values<double>()[query * keys + key]);
    }
    *tensor = Tensor({keys, queries}, std::move(cells));
  }
  // Marks of pieces that continue a word tell by the order of the text.
  const ShownLabels shown = shown_labels(map, options);
  turned.key_labels = labels_or(shown.query, "Q_", queries, map.first_query, map.first_number);
  turned.query_labels = labels_or(shown.key, "K_", keys, map.first_key, map.first_number);
  std::reverse(turned.query_labels.begin(), turned.query_labels.end());
  turned.key_spans = map.query_spans.empty() ? turns_of(map.query_labels) : map.query_spans;
  turned.query_spans.clear();
  for (const AxisSpan& span : map.key_spans.empty() ? turns_of(map.key_labels) : map.key_spans) {
    if (span.end <= keys)
      turned.query_spans.push_back({span.name, keys - span.end, keys - span.first});
  }
  std::swap(turned.first_query, turned.first_key);
  return turned;
}

bool are_numbers(const std::vector<std::string>& names) {
  return std::ranges::all_of(names, [](const std::string& name) {
    return !name.empty() && name[0] != 'Q' && name[0] != 'K' && number_of(name);
  });
}

bool are_positions(const std::vector<std::string>& names) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    constexpr std::size_t prefix = 2, most_digits = 18;
    return (name.starts_with("Q_") || name.starts_with("K_")) && name.size() > prefix &&
           name.size() <= prefix + most_digits &&
           name.find_first_not_of("0123456789", prefix) == std::string::npos;
  });
}

}  // namespace attn::plot
