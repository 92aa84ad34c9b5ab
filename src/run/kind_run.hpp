#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "io/json_writer.hpp"
#include "maps/computed_maps.hpp"
#include "pictures/drawing.hpp"
#include "pictures/picture_kinds.hpp"
#include "result/output_folder.hpp"
#include "result/provenance.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_files.hpp"
#include "run/document_run.hpp"

namespace attn {

/// Shown matrices of maps that are not kept. They are in one block of memory: small blocks between
/// those of the layers would leave gaps that the maps of the next layer do not fit.
class ShownMatrices {
 public:
  /// Expects the matrices of `count` maps.
  explicit ShownMatrices(std::size_t count = 0) : count_(count) {}

  /// A matrix with a copy of the elements, where it was a part of a tensor.
  Tensor copied(const Tensor& matrix);

 private:
  std::size_t count_, size_ = 0, used_ = 0;
  std::shared_ptr<std::byte> room_;
};

/// One kind of a document on its way from the request to files: a consumer of computed maps, which
/// become a result, pictures and a report.
class KindRun {
 public:
  /// Keeps a reference to the options. `make` may be empty. Throws as choose_results() does.
  KindRun(const RunOptions& options, const Document& document, Plan plan, std::filesystem::path out,
          const MakeMapsFile& make = {});
  KindRun(const KindRun&) = delete;
  KindRun& operator=(const KindRun&) = delete;

  /// Number of scores of all attentions.
  std::size_t scores() const { return plan_.scores_count(); }

  double foreseen_bytes() const { return attn::foreseen_bytes(plan_, options_); }

  /// Throws as check_only() does before the computation.
  void check_names() const { check_only(options_, plan_); }

  /// Computes the plan. Tensors of a model go into their files meanwhile, which get their names in
  /// write(). `progress` takes the number of scores that were computed since its last call.
  void compute(const Progress& progress);

  /// Adds the drawing of every picture but the comparison to the tasks.
  void plan_pictures(std::vector<std::function<void()>>& tasks);

  /// Writes the result into a text, in place of files. `provenance` may be null.
  void answer(JsonWriter& json, const Provenance* provenance);

  /// Writes all files, without names. `provenance` may be null; `comparison` is the picture of this
  /// and other kinds. Throws Error(file); an older result stays whole then.
  void write(const Provenance* provenance, const std::optional<WrittenFile>& comparison);
  /// Has commit() remove a file of an older result.
  void remove_after(std::filesystem::path file);
  /// Marks an older result as unfinished.
  void mark_unfinished() { folder_.mark_unfinished(); }
  /// Gives the files their names. Throws Error(file).
  void commit() { folder_.commit(); }

  void warn(std::string warning) { plan_.warnings.push_back(std::move(warning)); }
  RunReport& report() { return report_; }
  bool draws_weights() const;
  const DrawnMap& first_map() const { return maps_[0]; }

 private:
  bool wants_weights() const;
  bool is_written(std::string_view name) const;
  ResultFile result(const Provenance* provenance) const;
  std::vector<SeenKeys> seen_keys() const;

  /// Chooses safetensors in place of JSON that would be large, if the options leave it open.
  void choose_format(std::span<const std::pair<std::string, Tensor>> tensors);

  void split(const ModelRequest& model, const Progress& progress);
  std::vector<std::pair<std::string, Tensor>> foreseen() const;
  bool keeps_weights() const;
  bool draws_whole(const AttentionMap& map) const;
  void take(NamedTensor tensor);
  void take(AttentionMap map, std::size_t at);
  void report(std::size_t at, ReportedWeights& result);
  MapChoice choice_of(std::size_t at) const;
  Drawing drawing_of(std::vector<DrawnMap> maps) const;
  DrawnSplits drawn_splits() const;
  Picture draw(const PictureKind& kind, const std::vector<std::size_t>& of) const;

  const RunOptions& options_;
  std::vector<PlotKind> plots_;
  Plan plan_;
  // Computed tensors. Those that the result does not have, or has in a file already, are but
  // shapes.
  std::vector<std::pair<std::string, Tensor>> tensors_;
  std::vector<std::shared_ptr<const RunSplits>> why_;  // of each text
  std::vector<NamedTensor> why_tensors_;
  double seconds_ = 0;  // of the computation, without the work on its results
  RunReport report_;
  std::vector<DrawnMap> maps_;
  TensorFormat format_ = TensorFormat::json;
  MapChoice choice_;
  bool chooses_heads_ = false;                // whether maps show the head that tells most
  std::vector<std::string> choices_in_vain_;  // warnings
  std::vector<std::string> picture_names_;
  std::vector<Picture> pictures_;
  std::vector<std::optional<Error>> failures_;  // of the pictures
  ShownMatrices shown_;
  ResultFolder folder_;
  std::optional<TensorStream> stream_;
  MapsFile maps_file_;  // without a name if there is none
};

}  // namespace attn
