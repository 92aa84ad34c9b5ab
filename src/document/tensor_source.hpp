#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "io/hashed_files.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
#include "tensor/torch_random.hpp"

namespace attn {

struct TensorView;

/// Reads tensors of a document in all their forms: nested arrays, shape and data, files, constants
/// and PyTorch's random numbers. Random tensors are drawn from one generator in the order of the
/// calls.
class TensorSource {
 public:
  /// File names are relative to `folder`, but for those of `files`, which are open already.
  explicit TensorSource(std::filesystem::path folder, FileAccess access = {},
                        std::map<std::string, TensorFile> files = {})
      : folder_(std::move(folder)), access_(std::move(access)), files_(std::move(files)) {}

  /// Has files that a result names checked when they are opened as files of tensors.
  void expect(ResultFiles files) { result_files_ = std::move(files); }

  /// Begins the reading of a plan: without a generator, with all counts at zero. Tensors that were
  /// read for another plan of the document are not read again. While sketching, tensors that would
  /// be made or drawn are shape_only(), except small constants.
  void start(bool sketching);
  bool sketching() const noexcept { return sketching_; }

  /// Starts the generator for random tensors without a seed of their own.
  void seed(std::int64_t seed);

  /// Whether a file's integers become the wanted type, or stay int64.
  enum class Integers { converted, kept };

  /// Reads the value at the JSON pointer `pointer`. Throws Error(input) below it, or Error(file)
  /// naming the file.
  Tensor read(const JsonValue& value, DType dtype, const std::string& pointer,
              Integers integers = Integers::converted);

  /// The document's generator. Throws Error(input) at `pointer` if there is no seed; `drawn` names
  /// the part that needs one.
  TorchRandom& generator(const std::string& pointer,
                         const std::string& drawn = translated("a random tensor"));

  /// Whether a generator was asked for, for this plan or an earlier one of the document.
  bool has_drawn() const noexcept { return has_drawn_; }

  /// Throws Error(input) at `pointer` if `count` elements exceed Limits::elements.
  void check_elements(double count, const std::string& what, const std::string& pointer) const;

  /// A tensor of this shape, which `draw` draws or computes; while sketching the shape alone.
  /// Throws Error(input) at `pointer` for a shape beyond any memory.
  Tensor drawn(const Shape& shape, DType dtype, const std::string& pointer,
               const std::function<Tensor()>& draw);

  /// Adds to the number of elements that were made.
  void add_made(double elements) noexcept { made_ += elements; }

  /// A tensor of a file as `dtype`. Errors about its numbers are placed at its name.
  Tensor read_from(const std::string& file, const std::string& name, DType dtype);

  /// Keys of the document and the element types of their files, where these differ from the type of
  /// computation.
  const std::vector<std::pair<std::string, std::string>>& file_types() const noexcept {
    return file_types_;
  }

  /// Signs since the start that a view of a tensor was meant otherwise.
  const std::vector<std::string>& doubts() const noexcept { return doubts_; }

  /// Number of elements read, made or drawn since the start; and of those made or drawn.
  double read_elements() const noexcept { return read_ + made_; }
  double made_elements() const noexcept { return made_; }

  /// The path of a file that the document names.
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }
  TensorFile open(const std::string& name) const;

  /// The file's bytes.
  std::shared_ptr<const MappedFile> bytes(const std::string& name);

  /// A file of tensors, which is opened once.
  const TensorFile& file(const std::string& name);

 private:
  Tensor made(const JsonValue& value, std::string_view form, DType dtype,
              const std::string& pointer);

  void note_reshape(const Shape& from, const TensorView& view, const std::string& pointer);
  void note_type(const std::string& type, DType dtype, const std::string& pointer);
  Tensor once(const std::string& key, const std::string& pointer,
              const std::function<Tensor()>& read, DType dtype, const std::string& conversion,
              Integers integers = Integers::converted);

  std::filesystem::path folder_;
  FileAccess access_;
  ResultFiles result_files_;
  std::optional<TorchRandom> random_;
  std::map<std::string, TensorFile> files_;
  std::map<std::string, std::shared_ptr<const MappedFile>> bytes_;
  std::map<std::string, Tensor> tensors_;  // by pointer, or file and name
  std::vector<std::pair<std::string, std::string>> file_types_;
  std::vector<std::string> doubts_;
  double made_ = 0, read_ = 0;  // elements since the start
  bool sketching_ = false, keeps_ = false, has_drawn_ = false;
};

/// The generator after torch.manual_seed(seed); negative seeds count down from 2⁶⁴ as there.
TorchRandom torch_manual_seed(std::int64_t seed);

/// The tensor as `dtype`, or Error(input) at `pointer` if a number does not fit (beyond the range
/// of a float32, no integer, or no 0 or 1 for a boolean) or the whole does not fit into memory.
Tensor checked_conversion(const Tensor& tensor, DType dtype, const std::string& pointer);

/// Throws Error(input) at `pointer` if a number of a tensor of float32 is beyond the range of a
/// 16-bit `dtype`, to which it will be rounded. Other types and shapes alone are left alone.
void check_range(const Tensor& tensor, DType dtype, const std::string& pointer);

/// Whether the value is an object that describes a tensor, by the members that one form or another
/// has.
bool describes_tensor(const JsonValue& value);

/// A view of a tensor, in this order: a part of it ("index", along its first axes, or "slice", as
/// sliced() takes it), another shape of the same elements ("reshape"), another order of its axes
/// ("transpose": true for the last two, or a list; or "layout": the letters B, H, L and D in the
/// order of the tensor's axes, of which H without B is that of one sample, [1,H,L,D]). In another
/// order: "view", steps of one of these each.
struct TensorView {
  std::vector<TensorView> steps = {};   ///< alone where there are any
  std::optional<Shape> index, reshape;  ///< in `reshape` 0 = the size that remains
  std::optional<std::string> slice = {};
  bool transposed = false;
  std::optional<Shape> axes;
  std::string layout;  ///< empty = B, H, L, D
};

/// Removes the members of a view from the object, whose other members describe the tensor. Throws
/// Error(input) below `pointer`.
TensorView take_view(JsonValue& object, const std::string& pointer);

/// Throws Error(input) at `at` unless the layout is letters of B, H, L and D, each at most once.
void check_layout(const std::string& layout, const std::string& at);

/// The tensor with its axes, which `layout` names, in the order B, H, L, D. Throws Error(input) at
/// `at` if it has not as many axes as the layout.
Tensor in_usual_layout(const Tensor& tensor, const std::string& layout, const std::string& at);

/// The members of a view.
struct Field;
std::span<const Field> view_fields() noexcept;

/// Whether the object has members of a view.
bool has_view(const JsonValue& object);

/// The view of the tensor. Elements are copied only if axes change their order; a shape alone stays
/// one. Throws Error(input) below `pointer` for a view that does not fit.
Tensor viewed(const Tensor& tensor, const TensorView& view, const std::string& pointer);

}  // namespace attn
