#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/run.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "io/json_writer.hpp"
#include "pictures/drawable.hpp"
#include "pictures/picture_kinds.hpp"
#include "result/provenance.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_stream.hpp"
#include "run/computation.hpp"

namespace attn {

/// What is shown of maps that are not kept. They stand in one block: small ones among those of the
/// layers would leave gaps that the next layer's do not fit.
class ShownMatrices {
 public:
  /// Of so many maps.
  explicit ShownMatrices(std::size_t count = 0);

  /// The elements by themselves, and not as a part of a larger tensor that is kept for them.
  Tensor copied(const Tensor& matrix);

 private:
  std::size_t count_, size_ = 0, used_ = 0;
  std::shared_ptr<std::byte> room_;
};

/// One kind of a document on its way from the request to files.
class KindRun {
 public:
  /// Keeps a reference to the options.
  KindRun(const RunOptions& options, const Document& document, Plan plan,
          std::filesystem::path out);
  /// Takes away a folder that was made for files which then were not written.
  ~KindRun();
  KindRun(const KindRun&) = delete;
  KindRun& operator=(const KindRun&) = delete;

  const Plan& plan() const { return plan_; }
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
  const Drawable& drawable() const { return drawables_[0]; }

 private:
  bool wants_weights() const;
  // Whether RunOptions::only, if it is given, names the tensor or the last parts of its name.
  bool is_wanted(const std::string& name) const;
  void check_only() const;
  ResultFile result(const Provenance* provenance) const;

  void make_folder();
  void open_stream();
  // Whether pictures are drawn from whole maps, and not from what was chosen of each.
  bool draws_whole_maps() const;
  // Of what is in a file already, or in no file, only what is shown of it is kept.
  void take(Computed& computed, std::optional<std::size_t> attention);
  // What there is to draw and to report of an attention.
  void note(const Computed& computed, std::size_t at);

  /// A picture and the attentions that it shows.
  struct PlannedPicture {
    std::string name;
    std::vector<std::size_t> maps;
  };

  // The first picture of a kind goes by the bare name.
  std::vector<PlannedPicture> planned_pictures(PlotKind kind) const;
  Drawable drawable_of(const Computed& computed, std::size_t at) const;
  void report(std::size_t at, ReportedWeights& result);
  Drawing drawing_of(std::vector<Drawable> drawables) const;
  Picture draw(const PictureKind& kind, const std::vector<std::size_t>& of) const;

  const RunOptions& options_;
  std::vector<PlotKind> plots_;
  Plan plan_;
  std::filesystem::path out_;
  Computed computed_;
  double seconds_ = 0;  // of the computation, without what was done with its results meanwhile
  RunReport report_;
  std::vector<Drawable> drawables_;
  std::vector<std::string> picture_names_;
  std::vector<Picture> pictures_;
  ShownMatrices shown_;
  bool made_folder_ = false;  // and nothing is in it yet
  std::optional<TensorStream> stream_;
};

/// Of a picture's file, with its dot.
std::string extension(PictureFormat format);

}  // namespace attn
