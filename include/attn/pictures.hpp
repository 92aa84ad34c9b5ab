#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/maps.hpp"
#include "attn/plot.hpp"

namespace attn {

enum class PlotKind {
  heatmap,
  dimensions,
  grid,
  mask,
  stages,
  lines,
  shapes,
  strip,
  overlay,
  positions,
  curves,
  steps,
  parts,
  bars,
  path,
  contributions,
  comparison,
  difference,
  animation,
  arcs,
  figure,
  card,
  shares,
  last = shares  ///< the last enumerator
};

/// A kind of picture, with its name for users.
struct PlotKindInfo {
  PlotKind kind;
  std::string_view name, meaning;
  /// Number of files that one picture shows.
  std::size_t least_files = 1, most_files = 1;
  /// Whether RunOptions::plots may name it. run() draws a comparison of several kinds unasked.
  bool of_runs = true;
};

/// All kinds of pictures, in the order of listings.
std::span<const PlotKindInfo> plot_kinds() noexcept;

/// An option of pictures, by the field that holds it: "MapSelection::queries". Some values have
/// rows of their own: "mean, max".
struct PictureOptionInfo {
  std::string_view field, value = {};
  std::uint32_t kinds = 0;  ///< sum of 2^kind of those that honour it

  bool honoured_by(PlotKind kind) const {
    return ((kinds >> static_cast<unsigned>(kind)) & 1U) != 0;
  }
};

/// All options of pictures, with the kinds that honour them; draw() refuses them for others.
std::span<const PictureOptionInfo> picture_options() noexcept;
/// Names of these kinds: "heatmap, grid".
std::string kinds_text(const PictureOptionInfo& option);
/// Throws Error(usage) that names the fields, and of a single one the kinds that honour it; does
/// nothing without any.
void refuse_options(PlotKind kind, const std::vector<const PictureOptionInfo*>& options);

struct PanelRequest;

/// Pictures of any kinds in rows, with letters a, b, c.
struct PanelRows {
  std::vector<std::vector<PanelRequest>> rows;
  bool one_scale = false;  ///< whether the colours of all go over one range
  /// Whether heatmaps on one range have one bar and one key, beside all panels.
  bool shared_bar = false;
  bool letters = true;
};

/// A picture of numbers that exist already: a result, any file of tensors, or JSON with
/// {"weights":…,"labels":…} or {"shapes":…}. A picture of a mask also takes an input document, of
/// which nothing is computed then.
struct PlotRequest {
  PlotKind kind = PlotKind::heatmap;
  std::filesystem::path input;  ///< "-" = standard input
  MapRequest maps;
  std::size_t sample = 0, head = 0;  ///< from 0
  PictureFormat format = PictureFormat::png;
  PlotOptions options;
  /// Picture under the maps, PNG or JPEG, in the place of the file's own: its patches, in so many
  /// rows and columns, are the last keys. Without the two numbers, the sides of a square.
  std::optional<std::filesystem::path> image;
  std::vector<std::size_t> grid;
  PanelRows panels;  ///< of PlotKind::figure, which has no other input
  /// Folder that a reading of a corpus wrote (HeadsCorpusOptions::out), for PlotKind::card.
  std::optional<std::filesystem::path> corpus;
  bool provenance = false;  ///< whether the picture states what RunOptions::provenance adds
  FileAccess files;         ///< limits of files, and which files may be opened
};

/// A panel of a figure; its size, letters, paper and file are those of the figure.
struct PanelRequest {
  PlotRequest request;
  double share = 1;   ///< of the width of its row
  std::string place;  ///< of errors: "/rows/0/1"
};

/// Options of a figure and its panels in a file, each with its texts: "head" with "2". Names are
/// those of the flags of the command line without dashes, which the reader of the file knows;
/// `true` and `false` are texts too.
struct FigureFile {
  struct Option {
    std::string name;
    std::vector<std::string> texts;  ///< several of an array
  };
  struct Panel {
    std::string place;  ///< JSON pointer
    std::vector<Option> options;
  };
  std::vector<Option> options;
  std::vector<std::vector<Panel>> rows;
};

/// Reads {"rows": [[{"plot": "heatmap", "file": "a.json", …}, …], …], …}. Throws Error(file) or
/// Error(input) naming the file and the place in it.
FigureFile read_figure_file(const std::filesystem::path& path, const FileAccess& access = {});

/// Throws Error(usage) for an option that is given and that the kind of picture does not honour.
void check_options(const PlotRequest& request);

/// Warnings of options that are given and that none of the kinds honours.
std::vector<std::string> options_without_effect(const PlotRequest& request,
                                                std::span<const PlotKind> kinds);

/// Draws the picture. Throws Error(usage) as check_options() does, Error(file) if a file cannot be
/// read, Error(input) if it holds nothing that such a picture shows or the options do not fit it.
Picture draw(const PlotRequest& request);

/// The frames of PlotKind::animation as pictures of their own, in any format.
std::vector<Picture> draw_frames(const PlotRequest& request);

/// The map of the chosen sample and head, as PlotKind::heatmap shows it. Options that could not be
/// applied are added to `warnings`. Throws as draw() does.
Heatmap read_heatmap(const PlotRequest& request, std::vector<std::string>* warnings = nullptr);

/// Report of a picture that was written to a file, as one JSON object: the file, its bytes, what
/// the picture shows in words, and warnings.
std::string picture_json(const Picture& picture, const std::filesystem::path& file);

/// Report of frames that were written to files, likewise.
std::string frames_json(const std::vector<std::filesystem::path>& files,
                        const std::vector<std::string>& warnings);

/// The map as a result.json with one tensor, which draw() and compare() read: its numbers are
/// "weights", and it has the labels and the title, as "description".
std::string heatmap_json(const Heatmap& heatmap);

/// Writes the bytes to a file that appears whole or not at all. Throws Error(file).
void write_picture(const Picture& picture, const std::filesystem::path& path);

/// Writes frames as "frame-1.png"… into a folder, which is made if it is missing, and returns the
/// files. Throws Error(file).
std::vector<std::filesystem::path> write_frames(const std::vector<Picture>& frames,
                                                PictureFormat format,
                                                const std::filesystem::path& folder);

/// The format of the name's extension. Throws Error(input) for one that is not .png, .svg or .pdf.
PictureFormat picture_format(const std::filesystem::path& path);

}  // namespace attn
