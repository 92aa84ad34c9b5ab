#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/io.hpp"
#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "document/document.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

struct Field;

/// Learned weights of a request.
struct LearnedWeights {
  Score score;                           ///< score of the kind with nothing but its parameters
  Projections projections;               ///< self, cross, multi_head
  std::vector<TransformerLayer> layers;  ///< encoder_layer, decoder_layer, a transformer's decoder
  std::optional<Norm> last_norm = {};    ///< after them
  /// Rows that torch.nn.MultiheadAttention adds to its keys and values (add_bias_kv): [1,1,E].
  Tensor bias_k = {}, bias_v = {};
  std::optional<EncoderStack> encoder = {};  ///< of a transformer, without its mask
  DocumentNames names;                       ///< the document's names of the parameters
  /// Names of given parameters, each with the document's name for it.
  std::vector<std::pair<std::string, std::string>> origins;
  std::vector<std::string> warnings;
};

/// Reads the learned weights of a kind: inline, from a file, or initialised as in new PyTorch
/// modules ({"init":"torch", …}). `value` may be null. `states` has the widths and the numbers of
/// heads, `memory` is a decoder's; `layers` (absent = one, or as many as a transformer's parameters
/// hold), `feed_forward`, `norm_kind` and whether the activation
/// is `gated` are options of the document. Throws Error(input).
LearnedWeights read_parameters(const JsonValue* value, const std::string& pointer, Kind kind,
                               const Sequences& states, DType dtype, const Tensor& memory,
                               std::optional<std::size_t> layers,
                               std::optional<std::size_t> feed_forward, bool gated,
                               NormKind norm_kind, TensorSource& tensors);

/// Learned weights that a document gives by name: inline, or from a file ({"file":…, "prefix":…,
/// "names":{ours: theirs}, "transpose": whether its matrices are those of x·W}). Each tensor is
/// read on request, so that random ones are drawn in the order of requests.
class ParameterSet {
 public:
  /// `value` must stay; `pointer` is its JSON pointer.
  ParameterSet(const JsonValue& value, std::string pointer, DType dtype, TensorSource& tensors);

  /// The fields of an object with "file".
  static std::span<const Field> fields_of_files() noexcept;

  /// Puts a prefix before all names from now on, that of one layer of a stack.
  void enter(std::string prefix) { inside_ = std::move(prefix); }

  bool has(const std::string& name) const;

  /// The tensor of the first name that is given; absent if none is. Errors that mention the first
  /// name will show the name that is given.
  Tensor find(std::span<const std::string> names);
  Tensor find(const std::string& name) { return find(std::span(&name, 1)); }

  /// find(), but an absent tensor is a problem that expect_complete() throws.
  Tensor get(std::span<const std::string> names);
  Tensor get(const std::string& name) { return get(std::span(&name, 1)); }

  /// Marks names as known: such a tensor is not offered as a misspelling of another.
  void may_ask_for(std::span<const std::string> names);

  /// Declares that the parameter `name` is a part of the tensor `whole`, shown as `shown`.
  void is_part(const std::string& name, const std::string& whole, const std::string& shown);

  /// Throws Error(input) for all missing parameters, with the nearest name that is given; otherwise
  /// for the first inline tensor or entry of "names" that is not used, with the nearest requested
  /// name. A file may hold more tensors.
  void expect_complete() const;

  /// The place of the parameter of that name, given or not.
  std::string place(const std::string& name) const;
  /// The name of a parameter at its place.
  std::string shown(const std::string& name) const;

  /// Notes that the parameter `name` comes from the tensor `whole`, or a part of it.
  void comes_from(const std::string& name, const std::string& whole) {
    origins_.emplace_back(name, inside_ + whole);
  }

  const DocumentNames& names() const noexcept { return names_; }
  /// Parameters, each with the name of the tensor that it comes from.
  const std::vector<std::pair<std::string, std::string>>& origins() const noexcept {
    return origins_;
  }

 private:
  struct Missing {
    std::string name, place;
    std::vector<std::string> names;  // full names of alternatives
  };

  void expect_none_missing() const;
  std::string in_file(const std::string& full) const;
  std::string help_for(std::span<const std::string> names) const;
  std::string help_for_fused(std::string_view wanted,
                             std::span<const std::string_view> strangers) const;

  const JsonValue& value_;
  std::string pointer_;
  DType dtype_;
  TensorSource& tensors_;
  const TensorFile* file_ = nullptr;
  std::unordered_map<std::string, const JsonValue*> given_;  ///< null for tensors of a file
  std::string file_name_, prefix_, inside_;
  std::map<std::string, std::string> renamed_;
  TensorView transposed_;
  std::set<std::string> asked_, used_, meant_;
  std::vector<Missing> missing_;
  DocumentNames names_;
  std::vector<std::pair<std::string, std::string>> origins_;
};

/// Learned weights of new PyTorch modules: {"init":"torch", "hidden":h} for additive attention,
/// else {"init":"torch", "bias":true, "output_projection":true}. Each Linear layer draws its
/// weight, then its bias, both uniform in ±1/√in, in the order of construction: query, key, value,
/// output; self-attention, cross-attention, feed-forward, where gated layers draw linear3 last.
class TorchInitialisation {
 public:
  /// Throws Error(input) for unknown or missing members, or without a seed. The widths are those of
  /// the query, the key and `memory`.
  TorchInitialisation(const JsonValue& value, const std::string& pointer, Kind kind,
                      const Sequences& states, DType dtype, const Tensor& memory,
                      std::size_t layers, std::optional<std::size_t> feed_forward, bool gated,
                      TensorSource& tensors);

  void draw(Score& score) const;
  Projections projections() const;
  /// A layer of the encoder, or of the decoder.
  TransformerLayer layer(bool decoder) const;

 private:
  void check_size(std::size_t layers, Family family) const;
  Linear linear(std::size_t outputs, std::size_t inputs) const;
  Projections attention(std::size_t query, std::size_t key, std::size_t value) const;

  TensorSource& tensors_;
  std::string pointer_;
  TorchRandom& random_;
  DType dtype_;
  bool encoder_ = false, decoder_ = false, gated_ = false, bias_ = true, output_ = true;
  std::size_t heads_ = 1, kv_heads_ = 1;
  std::size_t query_ = 0, key_ = 0, value_ = 0, memory_ = 0, hidden_ = 0;
};

}  // namespace attn
