#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/run.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "io/json_writer.hpp"
#include "maps/computed_maps.hpp"
#include "pictures/drawing.hpp"
#include "pictures/picture_kinds.hpp"
#include "result/provenance.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_stream.hpp"
#include "run/maps_file.hpp"
#include "run/shown_matrices.hpp"

namespace attn {

/// Asks a plan's computation for what a run writes, draws and reports of it, and gives what is
/// drawn. Warns of what is left out. Throws Error(usage) for options that have no meaning for it.
std::vector<PlotKind> choose_results(const RunOptions& options, Plan& plan);

/// One kind of a document on its way from the request to files.
class KindRun {
 public:
  /// Keeps a reference to the options. `make` may be empty.
  KindRun(const RunOptions& options, const Document& document, Plan plan, std::filesystem::path out,
          const MakeMapsFile& make = {});
  /// Takes away a folder that was made for files which then were not written.
  ~KindRun();
  KindRun(const KindRun&) = delete;
  KindRun& operator=(const KindRun&) = delete;

  std::size_t scores() const { return plan_.scores_count(); }

  /// A model's tensors go into their files meanwhile, which have no names yet.
  void compute(const std::function<void(std::size_t)>& progress);

  /// Every picture but the comparison: one for each attention, or for all layers.
  void plan_pictures(std::vector<std::function<void()>>& tasks);

  /// Without the folder's files, into a text that is given piece by piece; `provenance` may be
  /// null.
  void answer(JsonWriter& json, const Provenance* provenance);

  /// All files; `provenance` may be null.
  void write(const Provenance* provenance);

  void warn(std::string warning) { plan_.warnings.push_back(std::move(warning)); }
  RunReport& report() { return report_; }
  bool draws_weights() const;
  const DrawnMap& first_map() const { return maps_[0]; }

 private:
  bool wants_weights() const;
  // Whether the result has the tensor.
  bool is_written(std::string_view name) const;
  // Throws Error(input) if RunOptions::only names another tensor than these.
  void check_only(std::span<const std::string_view> names) const;
  ResultFile result(const Provenance* provenance) const;
  std::vector<SeenKeys> seen_keys() const;

  void make_folder();
  // What computing a model gives, in that order; of most the elements are not there.
  std::vector<std::pair<std::string, Tensor>> foreseen(const ModelRequest& model) const;
  bool streams() const;
  bool keeps_weights() const;
  bool draws_whole_maps() const;
  void take(NamedTensor tensor);
  void take(AttentionMap map, std::size_t at);
  void report(std::size_t at, ReportedWeights& result);
  Drawing drawing_of(std::vector<DrawnMap> maps) const;
  Picture draw(const PictureKind& kind, const std::vector<std::size_t>& of) const;

  const RunOptions& options_;
  std::vector<PlotKind> plots_;
  Plan plan_;
  std::filesystem::path out_;
  // Tensors of the result; those that it does not have, or has in a file already, are but shapes.
  std::vector<std::pair<std::string, Tensor>> tensors_;
  double seconds_ = 0;  // of the computation, without what was done with its results meanwhile
  RunReport report_;
  std::vector<DrawnMap> maps_;
  MapChoice choice_;
  std::optional<std::string> nothing_merged_;  // a warning
  std::vector<std::string> picture_names_;
  std::vector<Picture> pictures_;
  ShownMatrices shown_;
  bool made_folder_ = false;  // and nothing is in it yet
  std::optional<TensorStream> stream_;
  MapsFile maps_file_;  // without a name if there is none
};

/// Of a picture's file, with its dot.
std::string extension(PictureFormat format);

}  // namespace attn
