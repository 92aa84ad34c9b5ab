#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "pictures/drawable_file.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/position_table.hpp"
#include "result/provenance.hpp"
#include "support/atomic_file.hpp"
#include "support/in_english.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The name of a file, or of its folder where files are told apart by that.
std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::filesystem::path& path : paths) names.push_back(path.stem().string());
  for (const std::string& name : names) {
    if (name == names[0]) continue;
    return names;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = paths[i].parent_path().filename().string();
    if (!folder.empty()) names[i] = folder;
  }
  return names;
}

std::string left_out(const Drawable& drawable) {
  std::string names;
  for (const std::string& name : drawable.left_out) {
    names += (names.empty() ? "\"" : ", \"") + name + "\"";
  }
  return translated("the picture leaves out {1}: name one of them to draw it", names);
}

Drawing drawing_of(const PlotRequest& request) {
  return {{}, request.sample, request.head, request.selection, request.options, request.format};
}

Picture plotted(const PlotRequest& request, FileAccess access) {
  Provenance provenance;
  if (request.provenance) provenance.watch(access);
  const PictureKind& kind = picture_kind(request.kind);
  // Of weights several files are layers of what one picture shows.
  const bool several = kind.info.most_files > 1;
  std::vector<std::filesystem::path> paths{request.input};
  if (several) paths.insert(paths.end(), request.others.begin(), request.others.end());
  const std::vector<std::string> names = names_of(paths);
  if (several && (paths.size() < kind.info.least_files || paths.size() > kind.info.most_files)) {
    throw Error(ErrorKind::usage,
                translated("{1} for a picture of the kind {2}",
                           translated_count(paths.size(), "{1} file", "{1} files"), kind.info.name),
                "PlotRequest::others",
                kind.info.least_files == kind.info.most_files
                    ? translated("give {1}",
                                 translated_count(kind.info.least_files, "{1} file", "{1} files"))
                    : translated("give at least {1}",
                                 translated_count(kind.info.least_files, "{1} file", "{1} files")));
  }
  Drawing drawing = drawing_of(request);
  PlotRequest one = request;
  if (several) one.others.clear();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    one.input = paths[i];
    for (Drawable& drawable : read_drawables(one, access)) {
      drawing.of.push_back(std::move(drawable));
    }
    drawing.of.back().column = names[i];
  }
  if (request.provenance) drawing.options.provenance = provenance.text();
  try {
    const InEnglish english(drawing.options.style == PlotStyle::matplotlib);
    Picture picture = kind.draw(drawing);
    if (!drawing.of[0].left_out.empty()) picture.warnings.push_back(left_out(drawing.of[0]));
    if (kind.shows == PictureKind::Shows::weights) {
      if (auto warning = merging_warning(drawing)) picture.warnings.push_back(std::move(*warning));
    }
    return picture;
  } catch (const Error& error) {
    if (kind.unit == PictureKind::Unit::several) throw;
    throw placed(error, drawing.of[0]);
  }
}

}  // namespace

Picture draw(const PlotRequest& request) {
  return with_whole_files(request.files,
                          [&](const FileAccess& access) { return plotted(request, access); });
}

Heatmap read_heatmap(const PlotRequest& request, std::vector<std::string>* warnings) {
  return with_whole_files(request.files, [&](const FileAccess& access) {
    PlotRequest heatmap = request;
    heatmap.kind = PlotKind::heatmap;
    Drawing drawing = drawing_of(request);
    drawing.of = read_drawables(heatmap, access);
    const Drawable& drawable = drawing.of[0];
    try {
      if (warnings) {
        if (auto warning = merging_warning(drawing)) warnings->push_back(std::move(*warning));
      }
      const DrawableMaps maps = maps_of(drawable);
      return heatmap_of(drawable, selected(maps, drawing, drawable));
    } catch (const Error& error) {
      throw placed(error, drawable);
    }
  });
}

PictureFormat picture_format(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  std::string known;
  for (const auto& [name, format] : picture_formats()) {
    if (extension == "." + std::string(name)) return format;
    const bool last = name == picture_formats().back().name;
    known += (known.empty() ? "." : last ? " or ." : ", .") + std::string(name);
  }
  throw input_error(
      extension.empty()
          ? translated("\"{1}\" has no extension that names a picture format", path.string())
          : translated("unsupported picture format \"{1}\"", extension),
      "picture_format()", translated("name a file that ends in {1}", known));
}

void write_picture(const Picture& picture, const std::filesystem::path& path) {
  write_whole_file(path, picture.bytes, Existing::followed);
}

}  // namespace attn
