#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "attention/linear.hpp"
#include "io/gguf.hpp"
#include "io/safetensors.hpp"
#include "io/torch_file.hpp"
#include "models/architecture.hpp"

namespace attn {

/// A file of weights, by its format.
using StoredTensors = std::variant<Safetensors, TorchFile, Gguf>;

/// The weights of a checkpoint folder: `model.safetensors` or `pytorch_model.bin`, or the parts
/// that their indexes (`model.safetensors.index.json`…) name, or the only .bin, .pt or .pth file;
/// mapped and read tensor by tensor.
class CheckpointWeights {
 public:
  /// Throws Error(file) or Error(input) that names the file for what is missing, cut off,
  /// contradicts itself, or is stored in a form that is not read.
  static CheckpointWeights open(const std::filesystem::path& folder, const FileAccess& access);

  /// A GGUF file, or all its parts ("-00001-of-00003.gguf"), whose first has the keys of the model.
  static CheckpointWeights open_gguf(const std::filesystem::path& path, const FileAccess& access);

  /// The file of an adapter's folder, adapter_model.safetensors or adapter_model.bin.
  static CheckpointWeights open_adapter(const std::filesystem::path& folder,
                                        const FileAccess& access);

  /// One whole file from memory.
  static CheckpointWeights from_memory(std::span<const std::byte> bytes,
                                       const std::shared_ptr<const void>& owner);

  /// Throws Error(input) for a tensor that is there in a form that is not read.
  bool has(const std::string& name) const;
  const std::vector<std::string>& names() const noexcept { return names_; }

  /// The tensor of that name, widened to float32 where it is stored narrower. Throws Error(input)
  /// if there is none.
  Tensor read(const std::string& name) const;
  const Shape& shape(const std::string& name) const;
  ElementType type(const std::string& name) const;
  /// The name of the type of the stored numbers.
  std::string stored_type(const std::string& name) const;
  /// The tensor as it is stored if its elements are floating-point numbers, perhaps narrow and not
  /// aligned; else as read() gives it.
  Tensor stored(const std::string& name) const;
  /// The matrix as it is stored, [out,in], or [in,out] if `transposed`; axes behind the first count
  /// as one.
  StoredMatrix matrix(const std::string& name, bool transposed = false) const;
  /// Matrix `number` of a tensor of matrices, each as matrix() gives it.
  StoredMatrix matrix_of(const std::string& name, std::size_t number, bool transposed) const;
  /// Whether rows are made of blocks; they are [..,out,in] then, whatever other files have.
  bool made_by_rows(const std::string& name) const;
  /// Rows `first` … `first + count` − 1 of the tensor's first axis, widened.
  Tensor read_rows(const std::string& name, std::size_t first, std::size_t count) const;
  /// Whether two tensors have one shape and the same numbers.
  bool same_numbers(const std::string& a, const std::string& b) const;

  /// Has products keep the packed rows of matrices there, for a model that reads more than one
  /// text. `prefix` tells their names from those of other checkpoints.
  void keep_packed(std::shared_ptr<KeptPacking> kept, std::string prefix) {
    kept_packing_ = std::move(kept);
    kept_prefix_ = std::move(prefix);
  }

  /// Has the rows of a matrix changed when they are read, by change(row, numbers).
  void change_rows(const std::string& name, std::function<void(std::size_t row, float* to)> change);
  /// Puts the tensor `own` of other weights in the place of one. Throws Error(input) if they differ
  /// in shape.
  void replace(const std::string& name, const CheckpointWeights& other, const std::string& own);

  /// Finds weights that a training keeps within other things ({"model": {…}}) by the name and the
  /// shape of the model's token embeddings. The path to them is left out of their names then.
  void find_within(const Architecture& model);
  /// That path, "model" or "state.model"; empty if they are not within other things.
  const std::string& within() const noexcept { return within_; }

  /// Notes tensors that were read for something else than weights.
  void note_read(const std::vector<std::string>& names) {
    read_.insert(read_.end(), names.begin(), names.end());
  }
  const std::vector<std::string>& noted() const noexcept { return read_; }

  /// The keys of a GGUF file; null for other files.
  const Gguf* gguf() const;

  /// The path of the weights, for errors.
  const std::string& place() const noexcept { return place_; }

 private:
  struct Part {
    std::string file;
    StoredTensors tensors;
  };
  struct Place {
    std::size_t part, index;
  };
  const Place& find(const std::string& name) const;
  RawArray raw(const std::string& name) const;
  RawArray unchanged(const std::string& name) const;
  void add(const std::string& file, StoredTensors tensors,
           const std::map<std::string, std::string>& expected);
  void leave_out(const std::string& beginning);

  std::vector<Part> parts_;
  std::map<std::string, Place> places_;
  std::map<std::string, std::string> unread_;  // reasons of what is no tensor that can be read
  std::vector<std::string> names_, read_;
  std::map<std::string, RawArray> replaced_;
  std::map<std::string, std::function<void(std::size_t row, float* to)>> changes_;
  std::string place_, within_;
  std::shared_ptr<KeptPacking> kept_packing_;
  std::string kept_prefix_;
};

/// Names of one stack's tensors resolved against a file: whichever prefix, alternative and old
/// spelling it uses.
class StackWeights {
 public:
  /// Throws Error(input) as find_prefix() does.
  StackWeights(const CheckpointWeights& weights, const Architecture& model,
               const ModelStack& stack);
  /// `prefix` is the model's; the stack adds its own.
  StackWeights(const CheckpointWeights& weights, const Architecture& model, const ModelStack& stack,
               const std::string& prefix)
      : weights_(weights), model_(model), stack_(stack), prefix_(prefix) {}

  /// The tensor for a purpose, of one layer if its name is that of a layer's; absent if the stack
  /// or the file has none.
  Tensor find(WeightPurpose purpose, std::optional<std::size_t> layer, const char* part) const;

  /// Weight [out,in] and bias of a projection. Throws Error(input) naming it if it is not there.
  StoredLinear linear(WeightPurpose purpose, std::size_t layer) const;
  bool has(WeightPurpose purpose, std::optional<std::size_t> layer) const;
  /// Whether the file has the tensor of a part of a layer's: an expert or a head.
  bool has(WeightPurpose purpose, std::optional<std::size_t> layer,
           std::size_t part_of_layer) const;
  /// The shape of a tensor that find() gives, without reading it.
  std::optional<Shape> shape(WeightPurpose purpose, std::optional<std::size_t> layer,
                             const char* part) const;

  /// The name that is looked for, for errors.
  std::string name(WeightPurpose purpose, std::optional<std::size_t> layer) const;
  /// The beginning of the names of a layer's tensors.
  std::string layer_prefix(std::size_t layer) const;

  /// The name in the file of what find() gives. Names with {e}, for an expert or a head, are looked
  /// for only with its number.
  std::optional<std::string> found(WeightPurpose purpose, std::optional<std::size_t> layer,
                                   const char* part,
                                   std::optional<std::size_t> expert = std::nullopt) const;

 private:
  const CheckpointWeights& weights_;
  const Architecture& model_;
  const ModelStack& stack_;
  std::string prefix_;
};

/// Throws Error(input): the tensor `name` has a shape that does not fit the configuration. An
/// expected size of 0 is any.
/// `help`: what is wrong in the configuration, where that is known.
[[noreturn]] void refuse_shape(const CheckpointWeights& weights, const std::string& name,
                               const Shape& shape, const Shape& expected,
                               const std::string& help = "");

/// The number of layers of a stack that the file has tensors of, counted from the first; absent
/// where names do not tell layers apart.
std::optional<std::size_t> layers_in_file(const CheckpointWeights& weights,
                                          const Architecture& model, const ModelStack& stack,
                                          const std::string& prefix);

/// What a number under a key of the configuration is, and what it is in the weights.
std::string other_number(const std::string& key, std::size_t number, std::size_t in_weights);

/// The shape of a tensor that is there. Throws Error(input) as refuse_shape() does unless it is
/// `wanted`, where 0 is any size but none.
const Shape& expect_shape(const CheckpointWeights& weights, const std::string& name,
                          const Shape& wanted);

/// The name of the head's own matrix in the file, where the configuration ties it to the token
/// embeddings and it has other numbers.
std::optional<std::string> head_apart(const Architecture& model, const CheckpointWeights& weights);
/// Whether the file holds the head that gives logits.
bool has_head(const Architecture& model, const CheckpointWeights& weights);
/// The problem where there is none, for errors.
std::string no_head_text(const Architecture& model);
/// Whether the self-attention of each layer of a stack has sink logits.
std::vector<bool> layers_with_sinks(const Architecture& model, const CheckpointWeights& weights,
                                    const ModelStack& stack);
/// The name of a part of the head: the first of several whose weight the file holds, else the
/// first.
std::string head_part(const std::vector<std::string>& names, const CheckpointWeights& weights);
/// The name of the matrix of a head of its own; in models of several parts that of the language
/// part.
std::string head_weight(const ModelHead& head, const CheckpointWeights& weights);

/// Checks the weights against the configuration. Throws Error(input) naming the first tensor that
/// is missing, has another shape, holds elements that are no floating-point numbers, or stands in a
/// layer without a place in the model. Returns the names of the tensors that nothing reads: other
/// heads, buffers, layers beyond the configuration's.
std::vector<std::string> check_weights(const Architecture& model, const CheckpointWeights& weights);

/// Whether a tensor is a causal mask, a number or a table that old files hold beside the weights.
bool is_buffer(std::string_view name);

/// A warning that counts and names those of the unread tensors that transformers would list as
/// unexpected, such as other heads and layers: not buffers, nor what its classes have beside the
/// head, nor the other parts of a model of several. Absent if there are none.
std::optional<std::string> unread_warning(const Architecture& model,
                                          const CheckpointWeights& weights,
                                          std::vector<std::string> unread);

/// The prefix of the model's list behind which its token embeddings stand in the file. Throws
/// Error(input) naming what was looked for if there are none.
std::string find_prefix(const CheckpointWeights& weights, const Architecture& model);

/// Merges the LoRA adapter of a folder (`adapter_config.json`, `adapter_model.safetensors` or
/// `.bin`) into the weights of its model, as merge_and_unload() of peft does in single precision: W
/// + s·B·A, where s is alpha / rank, or alpha / √rank with "use_rslora", of the matrix by
/// "rank_pattern" and "alpha_pattern"; whole tensors of "modules_to_save" and biases take the place
/// of the model's. Rows are made when they are read. Throws Error(file) or Error(input) naming the
/// file and what cannot be merged: other kinds of adapters, DoRA, tensors that the model has not or
/// that do not fit.
void merge_adapter(const std::filesystem::path& folder, const FileAccess& access,
                   CheckpointWeights& weights);

}  // namespace attn
