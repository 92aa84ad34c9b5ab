#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "attn/error.hpp"

#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "pictures/drawing.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/reader_language.hpp"
#include "plot/sheet.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t most_panels = 26;  // letters

// A number, a string or a truth as its text.
std::string plain_text(const JsonValue& value, const std::string& place) {
  switch (value.type()) {
    case JsonValue::Type::string:
      return value.string();
    case JsonValue::Type::boolean:
      return value.boolean() ? "true" : "false";
    case JsonValue::Type::number:
      return value.is_integer() ? std::to_string(value.integer()) : number_text(value.number());
    default:
      throw input_error(translated("expected a text, a number, true or false, found {1}",
                                   translated(std::string(type_text(value)).c_str())),
                        place, translated("write the value as after the flag of that name"));
  }
}

FigureFile::Option option_of(const JsonMember& member, const std::string& place) {
  FigureFile::Option option{member.key, {}};
  if (!member.value.is(JsonValue::Type::array)) {
    option.texts.push_back(plain_text(member.value, place));
    return option;
  }
  for (std::size_t i = 0; i < member.value.size(); ++i)
    option.texts.push_back(plain_text(member.value.element(i), pointer_to(place, i)));
  return option;
}

FigureFile::Panel panel_of(const JsonValue& value, const std::string& place) {
  FigureFile::Panel panel{place, {}};
  for (const JsonMember& member : expect_object(value, place).members())
    panel.options.push_back(option_of(member, pointer_to(place, member.key)));
  return panel;
}

// A value as JSON on one line.
std::string json_line(const JsonValue& value) {
  std::string inner;
  const auto add = [&](const std::string& text) { inner += (inner.empty() ? "" : ", ") + text; };
  switch (value.type()) {
    case JsonValue::Type::array:
      for (std::size_t i = 0; i < value.size(); ++i) add(json_line(value.element(i)));
      return "[" + inner + "]";
    case JsonValue::Type::object:
      for (const JsonMember& member : value.members())
        add(json_string(member.key) + ": " + json_line(member.value));
      return "{" + inner + "}";
    case JsonValue::Type::string:
      return json_string(value.string());
    case JsonValue::Type::null:
      return "null";
    default:
      return plain_text(value, "");
  }
}

// The panels of a figure in one row, as they are to be written: the panel or the list of panels
// that is given in the place of rows, or else an example.
std::string help_on_rows(const JsonValue& given) {
  const auto is_panel = [](const JsonValue& one) { return one.find("plot") != nullptr; };
  std::string panels = is_panel(given) ? json_line(given) : "";
  if (given.is(JsonValue::Type::array)) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!is_panel(given.element(i))) {
        panels.clear();
        break;
      }
      panels += (i == 0 ? "" : ", ") + json_line(given.element(i));
    }
  }
  if (panels.empty()) panels = R"({"plot": "heatmap", "file": "result.json"})";
  return translated("give {1}", "{\"rows\": [[" + panels + "]]}");
}

FigureFile figure_of(const JsonValue& root) {
  FigureFile figure;
  std::size_t count = 0;
  const JsonValue* const rows = root.find("rows");
  const JsonValue* const others = root.find("panels");
  const std::string help = help_on_rows(rows != nullptr     ? *rows
                                        : others != nullptr ? *others
                                                            : root);
  if (expect_object(root, "", help).find("rows") == nullptr && root.find("panels") != nullptr)
    throw input_error(translated("unknown key \"{1}\"", "panels"), "/panels", help);
  if (root.find("rows") == nullptr)
    throw input_error(translated("there are no panels"), "/rows", help);
  for (const JsonMember& member : root.members()) {
    const std::string place = pointer_to("", member.key);
    if (member.key != "rows") {
      figure.options.push_back(option_of(member, place));
      continue;
    }
    for (std::size_t r = 0; r < expect_array(member.value, place, help).size(); ++r) {
      const JsonValue& row = expect_array(member.value.element(r), pointer_to(place, r), help);
      figure.rows.emplace_back();
      for (std::size_t i = 0; i < row.size(); ++i, ++count)
        figure.rows.back().push_back(panel_of(row.element(i), pointer_to(pointer_to(place, r), i)));
      if (row.size() == 0)
        throw input_error(translated("there is no panel in a row"), pointer_to(place, r), help);
    }
  }
  if (count == 0) throw input_error(translated("there are no panels"), "/rows", help);
  if (count > most_panels) {
    throw input_error(translated("{1} panels are more than there are letters", count), "/rows",
                      translated("give at most {1}, or make several figures", most_panels));
  }
  return figure;
}

// Options of a panel with those of the whole figure, whose title stands for that of panels without
// one.
FigureOptions on_sheet(const FigureOptions& own, const FigureOptions& sheet, plot::Panel& panel) {
  FigureOptions all = sheet;
  all.style = own.style;
  all.title = own.title.value_or("");
  if (all.title->empty()) all.title = sheet.title.value_or("");
  all.xlabel = own.xlabel;
  all.ylabel = own.ylabel;
  all.ticks = own.ticks;
  all.show_spaces = own.show_spaces;
  all.keys_upwards = own.keys_upwards;
  all.short_names = true;
  all.panel = &panel;
  return all;
}

// Draws a panel into its place. Errors name both.
Picture draw_panel(const DrawnPanel& given, const FigureOptions& sheet, plot::Panel& panel,
                   const std::optional<plot::Interval>& colours) {
  Drawing drawing = given.drawing;
  drawing.options.figure = on_sheet(given.drawing.options.figure, sheet, panel);
  ColorRange& range = drawing.options.colors.range;
  if (colours && range.scope == ColorRange::Scope::shared)
    range = {ColorRange::Scope::given, colours->low, colours->high};
  const PictureKind& kind = picture_kind(given.kind);
  try {
    Picture picture = drawn_in(drawing.options.figure.style, [&] { return kind.draw(drawing); });
    picture.warnings.insert(picture.warnings.begin(), given.warnings.begin(), given.warnings.end());
    return picture;
  } catch (const Error& error) {
    if (kind.unit == PictureKind::Unit::several || drawing.of.empty())
      throw error.inside(given.place);
    throw placed(error, drawing.of[0].map).inside(given.place);
  }
}

}  // namespace

FigureFile read_figure_file(const std::filesystem::path& path, const FileAccess& access) {
  std::error_code none;
  const bool folder = std::filesystem::is_directory(path, none);
  const auto file = folder ? nullptr : MappedFile::open(FileName::by_user(path), access);
  if (folder || !looks_like_json(file->bytes())) {
    throw input_error(translated("a figure is drawn of a file that names its panels"),
                      path.string(),
                      translated("write one: {1}", R"({"rows": [[{"plot": "heatmap", "file": ")" +
                                                       path.string() + R"("}]]})"));
  }
  try {
    return figure_of(parse_json_document(file->text()));
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

// A title for panels that have none in a row of which others have one, so that their maps begin at
// one height and are of one size.
std::optional<std::string> empty_title(const std::vector<DrawnPanel>& row) {
  std::ptrdiff_t lines = 0;
  for (const DrawnPanel& panel : row) {
    const std::string& title = panel.drawing.options.figure.title.value_or("");
    if (!title.empty()) lines = std::max(lines, 1 + std::ranges::count(title, '\n'));
  }
  if (lines == 0) return std::nullopt;
  std::string title = "\u00A0";
  while (--lines > 0) title += "\n\u00A0";
  return title;
}

Picture draw_panels(const Drawing& drawing) {
  if (drawing.panels->rows.empty() || drawing.panels->rows[0].empty()) {
    throw input_error(translated("there are no panels"), "PlotRequest::panels",
                      translated("give at least one"));
  }
  plot::Sheet sheet;
  sheet.one_scale = drawing.panels->one_scale;
  sheet.shared_bar = drawing.panels->shared_bar;
  sheet.equal_maps = true;
  sheet.title = sheet.heading = drawing.options.figure.title.value_or("");
  char letter = 'a';
  for (const std::vector<DrawnPanel>& row : drawing.panels->rows) {
    sheet.rows.emplace_back();
    const std::optional<std::string> untitled = empty_title(row);
    for (const DrawnPanel& panel : row) {
      const std::string own(1, letter++);
      const bool lettered = drawing.panels->letters;
      sheet.rows.back().push_back(
          {lettered ? own : std::string(), panel.share,
           [&panel, &drawing, untitled](plot::Panel& place,
                                        const std::optional<plot::Interval>& colours) {
             FigureOptions options = drawing.options.figure;
             options.title = untitled;
             return draw_panel(panel, options, place, colours);
           },
           lettered ? own : panel.place});
    }
  }
  return draw_sheet(sheet, drawing.options.figure, drawing.format);
}

}  // namespace attn
