#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"

#include "cli/flags.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

using Option = FigureFile::Option;

// Keys beside those of flags.
constexpr std::string_view kind_key = "plot", file_key = "file", width_key = "width",
                           scale_key = "one-scale", letters_key = "panel-letters",
                           bar_key = "colorbar";

std::string flag_of(const std::string& key) {
  return "--" + key;
}

// Whether a flag is that of a whole figure and not of its panels.
bool is_of_figure(const Flag& flag) {
  return std::ranges::any_of(picture_options(), [&](const PictureOptionInfo& option) {
    return option.honoured_by(PlotKind::figure) &&
           with_flags(std::string(option.field)) == flag.name;
  });
}

// Whether panels have such a flag, too.
bool is_of_panels(const Flag& flag) {
  return flag.name == "--title" || !is_of_figure(flag);
}

// Whether a kind of picture has a use for a flag.
bool is_of_kind(const Flag& flag, PlotKind kind) {
  return std::ranges::all_of(picture_options(), [&](const PictureOptionInfo& option) {
    return with_flags(std::string(option.field)) != flag.name || !option.value.empty() ||
           option.honoured_by(kind);
  });
}

Error wrong_text(const Option& option, const std::string& place, const std::string& expected) {
  return input_error(
      translated("invalid value \"{1}\" for {2}",
                 option.texts.empty() ? std::string() : option.texts[0], "\"" + option.name + "\""),
      place, translated("give {1}", expected));
}

bool truth_of(const Option& option, const std::string& place) {
  const std::string text = option.texts.size() == 1 ? option.texts[0] : std::string();
  if (text != "true" && text != "false")
    throw wrong_text(option, place, translated("true or false"));
  return text == "true";
}

// The texts of an option in a file as one, as after its flag.
std::string text_after(const Flag& flag, const Option& option) {
  const bool switched = std::ranges::count(flag.words, "on") > 0;
  std::string all;
  for (const std::string& part : option.texts) {
    std::string text = switched && part == "true"    ? "on"
                       : switched && part == "false" ? "off"
                                                     : part;
    if (flag.list == false && option.texts.size() > 1 &&
        text.find_first_of(",\"") != std::string::npos) {
      for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2)
        text.insert(at, 1, '"');
      text = '"' + text + '"';
    }
    all += (&part == &option.texts.front() ? "" : ",") + text;
  }
  return all;
}

// Takes an option of a file; its errors are at its place.
void take(const Flag& flag, const Option& option, const std::string& place) {
  try {
    if (!flag.value.empty()) {
      flag.take(text_after(flag, option));
    } else if (truth_of(option, place)) {
      flag.take("");
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::usage) throw;
    throw input_error(error.problem(), place, error.help());
  }
}

const Flag* find(const Flags& flags, const std::string& key) {
  const auto found = std::ranges::find(flags, flag_of(key), &Flag::name);
  return found == flags.end() ? nullptr : &*found;
}

Error unknown_key(const Option& option, const std::string& place, const Flags& flags,
                  std::vector<std::string_view> known, bool of_figure) {
  constexpr std::string_view of_grids[]{"cols", "ncols", "nrows"};
  if (std::ranges::count(of_grids, option.name) > 0) {
    return input_error(translated("unknown key \"{1}\"", option.name), place,
                       of_figure ? translated("each list within \"rows\" is a row of panels")
                                 : translated("write {1}", "\"columns\""));
  }
  for (const Flag& flag : flags) {
    if (is_of_figure(flag) == of_figure || !of_figure)
      if (!flag.hidden) known.emplace_back(std::string_view(flag.name).substr(2));
  }
  return input_error(translated("unknown key \"{1}\"", option.name), place,
                     suggestion(option.name, known));
}

// Throws Error(input) for the letters a, b, c of panels as the letters of files, text or outlines.
void check_letters(const Option& option, const std::string& place) {
  if (option.name != "letters" || option.texts.size() != 1) return;
  const std::string& text = option.texts[0];
  if (text != "true" && text != "false") return;
  throw input_error(translated("invalid value \"{1}\" for {2}", text, "\"letters\""), place,
                    translated("write {1}", "\"" + std::string(letters_key) + "\": " + text));
}

// A file that a figure names, from the figure's own folder.
std::filesystem::path beside(const std::filesystem::path& figure, const std::string& file) {
  return figure == "-" ? std::filesystem::path(file) : figure.parent_path() / file;
}

// The kind and the files of a panel.
void take_input(const FigureFile::Panel& panel, const std::filesystem::path& figure,
                const std::string& place, PlotRequest& request) {
  const auto named = [&](std::string_view key) -> const Option& {
    const auto found = std::ranges::find(panel.options, key, &Option::name);
    if (found == panel.options.end() || found->texts.empty()) {
      throw input_error(translated("\"{1}\" is missing", key), place,
                        translated("give {1}", R"({"plot": "heatmap", "file": "result.json"})"));
    }
    return *found;
  };
  const auto kinds = names_of(plot_kinds());
  const Option& kind = named(kind_key);
  const auto at = std::ranges::find(kinds, kind.texts[0]);
  if (at == kinds.end()) {
    throw input_error(translated("unknown kind of picture \"{1}\"", kind.texts[0]),
                      place + "/" + std::string(kind_key), suggestion(kind.texts[0], kinds));
  }
  request.kind = plot_kinds()[static_cast<std::size_t>(at - kinds.begin())].kind;
  if (request.kind == PlotKind::figure || request.kind == PlotKind::animation) {
    throw input_error(translated("a {1} cannot be a panel", kind.texts[0]),
                      place + "/" + std::string(kind_key),
                      translated("give another kind of picture"));
  }
  const Option& files = named(file_key);
  request.input = beside(figure, files.texts[0]);
  request.maps.others.clear();
  for (std::size_t i = 1; i < files.texts.size(); ++i)
    request.maps.others.push_back(beside(figure, files.texts[i]));
}

// Files that flags name stand beside the figure, as its inputs do.
void move_files(PlotRequest& request, const std::filesystem::path& figure) {
  if (request.maps.labels) request.maps.labels = beside(figure, request.maps.labels->string());
  if (request.corpus) request.corpus = beside(figure, request.corpus->string());
  if (request.image) request.image = beside(figure, request.image->string());
}

PanelRequest panel_of(const FigureFile::Panel& panel, const std::vector<Option>& common,
                      const std::filesystem::path& figure, const std::string& file) {
  PanelRequest made;
  made.place = file + ", " + panel.place;
  Flags flags = plot_flags(made.request);
  std::vector<std::string> of_figure{std::string(scale_key), std::string(letters_key)};
  for (const Flag& flag : flags) {
    if (!is_of_panels(flag)) of_figure.push_back(flag.name.substr(2));
  }
  std::erase_if(flags, [](const Flag& flag) { return !is_of_panels(flag); });
  take_input(panel, figure, made.place, made.request);
  for (const Option& option : common) {
    const Flag* const flag = find(flags, option.name);
    if (flag != nullptr && is_of_kind(*flag, made.request.kind))
      take(*flag, option, file + ", /" + option.name);
  }
  for (const Option& option : panel.options) {
    const std::string place = made.place + "/" + option.name;
    if (option.name == kind_key || option.name == file_key) continue;
    if (option.name == width_key) {
      const bool is_number = option.texts.size() == 1 && parse_number(option.texts[0], made.share);
      if (!is_number || !(made.share > 0) || !std::isfinite(made.share))
        throw wrong_text(option, place, translated("a share of the row, such as 2"));
      continue;
    }
    check_letters(option, place);
    const Flag* const flag = find(flags, option.name);
    if (flag == nullptr && std::ranges::count(of_figure, option.name) > 0) {
      throw input_error(translated("\"{1}\" is of the whole figure, not of a panel", option.name),
                        place, translated("write it beside \"rows\""));
    }
    if (flag == nullptr)
      throw unknown_key(option, place, flags, {kind_key, file_key, width_key}, false);
    take(*flag, option, place);
  }
  move_files(made.request, figure);
  return made;
}

}  // namespace

void read_figure(const std::vector<FigureFile::Option>& given, PlotRequest& request) {
  const std::filesystem::path path = request.input;
  const std::string file = path == "-" ? translated("standard input") : path.string();
  const FigureFile figure = read_figure_file(path, request.files);
  PlotRequest whole;
  const Flags flags = plot_flags(whole);
  std::vector<Option> common;
  // A preset sets what none sets before it, so that of the figure must not come first.
  const bool other_preset = std::ranges::count(given, "--preset", &Option::name) > 0;
  for (const Option& option : figure.options) {
    if (option.name == "preset" && other_preset) continue;
    const std::string place = file + ", /" + option.name;
    const Flag* const flag = find(flags, option.name);
    check_letters(option, place);
    if (option.name == scale_key) {
      request.panels.one_scale = truth_of(option, place) || request.panels.shared_bar;
    } else if (option.name == bar_key && option.texts == std::vector<std::string>{"shared"}) {
      request.panels.one_scale = request.panels.shared_bar = true;
    } else if (option.name == letters_key) {
      request.panels.letters = truth_of(option, place);
    } else if (flag == nullptr) {
      throw unknown_key(option, place, flags, {"rows", scale_key, letters_key}, true);
    } else if (is_of_figure(*flag)) {
      take(*flag, option, place);
    } else {
      common.push_back(option);
    }
  }
  for (const Option& option : given) {
    const auto flag = std::ranges::find(flags, option.name, &Flag::name);
    if (flag != flags.end()) flag->take(option.texts[0]);
  }
  request.options = whole.options;
  for (const std::vector<FigureFile::Panel>& row : figure.rows) {
    request.panels.rows.emplace_back();
    for (const FigureFile::Panel& panel : row)
      request.panels.rows.back().push_back(panel_of(panel, common, path, file));
  }
}

}  // namespace attn::cli
