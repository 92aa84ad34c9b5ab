#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/name_list.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToPlot {
  Common common;
  PlotRequest request;
  std::optional<std::string> out;
  std::vector<FigureFile::Option> flags;  // those that are given, in their order

  bool has(const std::string& flag) const {
    return std::ranges::count(flags, flag, &FigureFile::Option::name) > 0;
  }
};

// Refuses the flags that the kind of picture has no use for, whatever their values are.
void check_flags(const GivenToPlot& given) {
  std::vector<const PictureOptionInfo*> useless;
  for (const PictureOptionInfo& option : picture_options()) {
    const bool is_given = given.has(with_flags(std::string(option.field)));
    if (is_given && option.value.empty() && !option.honoured_by(given.request.kind))
      useless.push_back(&option);
  }
  refuse_options(given.request.kind, useless);
}

// The call that draws several maps of one file side by side; empty where none are chosen.
std::string side_by_side(const std::string& file, const GivenToPlot& given) {
  std::string flags;
  for (const FigureFile::Option& flag : given.flags) {
    if (flag.name == "--head" || flag.name == "--sample" || flag.name == "--layers")
      flags += " " + flag.name + " " + flag.texts[0];
  }
  if (flags.empty()) return "";
  const std::string kind = given.has("--layers") ? "grid" : "heatmap";
  return "attn-cli plot " + kind + " " + file + flags + " --out PICTURE";
}

void take_words(const std::vector<std::string>& words, GivenToPlot& given) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli plot",
                 translated("write {1}", "attn-cli plot KIND FILE --out PICTURE"));
  };
  if (words.empty()) throw usage(translated("no kind of picture given"));
  const auto kinds = names_of(plot_kinds());
  if (words[0] == "view") {
    throw Error(ErrorKind::usage, translated("a page is not a kind of picture"), "attn-cli plot",
                translated("write {1}", "attn-cli view FILE"));
  }
  const auto is_kind = [&](const std::string& word) {
    return std::find(kinds.begin(), kinds.end(), word) != kinds.end();
  };
  // A file in the place of the kind.
  std::error_code none;
  const bool file =
      words[0].find_first_of("./") != std::string::npos || std::filesystem::exists(words[0], none);
  if (!is_kind(words[0]) && file) {
    const std::string found = words.size() > 1 && is_kind(words[1]) ? words[1] : "heatmap";
    throw Error(
        ErrorKind::usage, translated("the kind of picture comes first"), "attn-cli plot",
        translated("write {1}", "attn-cli plot " + found + " " + words[0] + " --out PICTURE"));
  }
  if (words[0] == "heads") {
    throw Error(ErrorKind::usage, translated("{1} is not a kind of picture", words[0]),
                "attn-cli plot", translated("write {1}", "attn-cli heads INPUT --plots heads"));
  }
  const PlotKindInfo& kind = chosen("plot", words[0], plot_kinds());
  if (words.size() < 2) throw usage(translated("no file to draw given"));
  const std::size_t files = words.size() - 1;
  // Several files of weights are layers, for every kind of picture.
  if (kind.most_files > 1 && (files < kind.least_files || files > kind.most_files)) {
    const bool two = kind.most_files == 2;
    const std::string meant = files == 1 ? side_by_side(words[1], given) : "";
    throw Error(ErrorKind::usage,
                two ? translated("a {1} takes two files", kind.name)
                    : translated("a {1} takes at least two files", kind.name),
                "attn-cli plot",
                translated("write {1}", !meant.empty()
                                            ? meant
                                            : "attn-cli plot " + std::string(kind.name) + " A B " +
                                                  (two ? "" : "… ") + "--out PICTURE"));
  }
  if (!given.out) throw usage(translated("no --out given"));
  refuse_model_folder(words[1], "attn-cli plot");
  given.request.kind = kind.kind;
  given.request.input = words[1];
  given.request.maps.others.assign(words.begin() + 2, words.end());
  check_flags(given);
  if (kind.kind == PlotKind::figure) read_figure(given.flags, given.request);
}

// Whether the frames of an animation are wanted as files of a folder.
bool is_folder(const std::filesystem::path& out) {
  std::error_code ignored;
  return !out.has_extension() || std::filesystem::is_directory(out, ignored);
}

int draw_into_folder(const GivenToPlot& given, const PlotRequest& request) {
  const std::filesystem::path out = *given.out;
  std::vector<Picture> frames = draw_frames(request);
  for (std::string& warning : frames[0].warnings) warning = with_flags(warning);
  const auto files =
      write_frames(frames, request.format, out.has_filename() ? out : out.parent_path());
  if (!given.common.quiet) warn(frames[0].warnings);
  if (given.common.json) {
    print(frames_json(files, frames[0].warnings));
  } else if (!given.common.quiet) {
    std::string names;
    for (const std::filesystem::path& file : files) names += terminal_lines(file.string()) + "\n";
    print(names);
  }
  return 0;
}

int draw(const GivenToPlot& given) {
  PlotRequest request = given.request;
  const bool to_standard_output = *given.out == "-";
  if (to_standard_output && given.common.json) {
    throw Error(ErrorKind::usage,
                translated("the report cannot go to standard output together with the picture"),
                "--json",
                translated("leave out --json, or give {1} a file with --out", "attn-cli plot"));
  }
  request.options.figure.threads = given.common.threads;
  const std::filesystem::path out = *given.out;
  if (request.kind == PlotKind::animation && !to_standard_output && is_folder(out)) {
    return draw_into_folder(given, request);
  }
  if (!to_standard_output) {
    const PictureFormat given_format = request.format;
    request.format = picture_format(out);
    if (given.has("--format") && given_format != request.format) {
      throw Error(ErrorKind::usage,
                  translated("{1} names another format than {2}", out.string(), "--format"),
                  "--format", translated("leave it out: the extension of --out says the format"));
    }
  }
  Picture picture = attn::draw(request);
  for (std::string& warning : picture.warnings) warning = with_flags(warning);
  if (to_standard_output) {
    print_result(picture.bytes);
  } else {
    write_picture(picture, out);
  }
  if (!given.common.quiet) warn(picture.warnings);
  if (to_standard_output) return 0;
  if (given.common.json) {
    print(picture_json(picture, out));
  } else if (!picture.caption.empty()) {
    print(picture.caption + "\n" + picture.description + "\n");
  } else if (!given.common.quiet) {
    print(terminal_lines(out.string()) + "\n");
  }
  return 0;
}

}  // namespace

Command plot_command() {
  const auto given = std::make_shared<GivenToPlot>();
  PlotRequest& request = given->request;
  const auto kinds = names_of(plot_kinds());
  std::string list;
  for (const std::string_view kind : kinds)
    list += (list.empty() ? "" : name_separator()) + std::string(kind);
  Command command{
      "plot",
      translated("Draw numbers that already exist"),
      {"KIND FILE…",
       translated("KIND ({1}) and FILE, - for standard input; several for steps, comparison and "
                  "difference, one per layer for weights",
                  list),
       [given = given.get()](const std::vector<std::string>& words) { take_words(words, *given); },
       {kinds.begin(), kinds.end()},
       true},
      {},
      [given] { return draw(*given); }};
  Flags& flags = command.flags;
  flags.begin_group(FlagGroup::output);
  flags.text(
      "--out", given->out, "FILE",
      translated("Picture to write: {1}; - for PNG on standard output; of an animation also a "
                 "folder, for its frames",
                 picture_extensions()));
  add_provenance(flags, request.provenance, translated("the picture"));
  flags.choice("--format", request.format, picture_formats(), "FORMAT",
               translated(": of a picture on standard output, or of frames (default png)"));
  const Flags drawing = plot_flags(request);
  flags.insert(flags.end(), drawing.begin(), drawing.end());
  flags.need({"--grid"}, {"--image"});
  for (Flag& flag : flags) {
    flag.take = [take = std::move(flag.take), name = flag.name,
                 &flags = given->flags](const std::string& text) {
      take(text);
      flags.push_back({name, {text}});
    };
  }
  add_files(flags, request.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
