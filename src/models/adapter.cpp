#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/checkpoint.hpp"
#include "models/configuration_reader.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/aligned_text.hpp"
#include "tokens/regular_expression.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// What adapter_config.json says of the scale of each pair of matrices.
class AdapterSettings {
 public:
  /// Throws Error(input) at the key of what cannot be merged.
  explicit AdapterSettings(const JsonValue& root) : root_(root) {
    expect_object(root, "");
    if (const std::string kind = text("peft_type").value_or("LORA"); kind != "LORA") {
      throw input_error(translated("adapters of the kind {1} are not merged", in_quotes(kind)),
                        "/peft_type", translated("give one of the kind LORA"));
    }
    for (const std::string_view key :
         {"use_dora", "use_qalora", "use_bdlora", "lora_bias", "layer_replication",
          "trainable_token_indices", "target_parameters", "alora_invocation_tokens", "arrow_config",
          "corda_config", "kasa_config", "loftq_config", "lora_ga_config", "monteclora_config"}) {
      if (changes(key)) refuse(std::string(key));
    }
    const JsonValue* const start = present_member(root, "init_lora_weights");
    if (start != nullptr && start->is(JsonValue::Type::string)) {
      // Others change the model's own weights, too.
      constexpr std::array<std::string_view, 3> plain{"gaussian", "orthogonal", "eva"};
      if (std::ranges::count(plain, start->string()) == 0) refuse("init_lora_weights");
    }
    alpha_ = number(root, "lora_alpha", "/lora_alpha").value_or(8);
    root_of_rank_ = flag("use_rslora");
    turned_ = flag("fan_in_fan_out");
    patterns("alpha_pattern");
  }

  /// s of a pair of matrices of the module of that name and rank.
  double scale(const std::string& module, std::size_t rank) const {
    double alpha = alpha_;
    for (const auto& [pattern, own] : alphas_) {
      if (matches(pattern, module)) {
        alpha = own;
        break;
      }
    }
    const auto r = static_cast<double>(rank);
    return alpha / (root_of_rank_ ? std::sqrt(r) : r);
  }

  /// Whether square matrices are stored as [in,out].
  bool turned() const noexcept { return turned_; }

 private:
  [[noreturn]] static void refuse(const std::string& key) {
    throw input_error(translated("an adapter with {1} is not merged", in_quotes(key)), "/" + key,
                      translated("merge it with merge_and_unload() of peft, and save the model"));
  }

  bool changes(std::string_view key) const {
    const JsonValue* const value = present_member(root_, key);
    if (value == nullptr) return false;
    if (value->is(JsonValue::Type::boolean)) return value->boolean();
    if (value->is(JsonValue::Type::array)) return value->size() > 0;
    return !value->is(JsonValue::Type::object) || !value->members().empty();
  }
  std::optional<std::string> text(std::string_view key) const {
    const JsonValue* const value = present_member(root_, key);
    return value == nullptr ? std::nullopt
                            : std::optional(expect_string(*value, pointer_to("", key)));
  }
  bool flag(std::string_view key) const {
    const JsonValue* const value = present_member(root_, key);
    return value != nullptr && expect_boolean(*value, pointer_to("", key));
  }
  static std::optional<double> number(const JsonValue& object, std::string_view key,
                                      const std::string& at) {
    const JsonValue* const value = present_member(object, key);
    if (value == nullptr) return std::nullopt;
    if (!value->is(JsonValue::Type::number) || !std::isfinite(value->number())) {
      throw input_error(translated("expected a number, found {1}", translated(type_text(*value))),
                        at, translated("use the file as published"));
    }
    return value->number();
  }

  void patterns(std::string_view key) {
    const JsonValue* const list = present_member(root_, key);
    if (list == nullptr) return;
    const std::string at = pointer_to("", key);
    for (const JsonMember& member : expect_object(*list, at).members()) {
      const std::string place = pointer_to(at, member.key);
      const auto own = number(*list, member.key, place);
      // As peft's get_pattern_key().
      if (own)
        alphas_.emplace_back(RegularExpression("(?:.*\\.)?(?:" + member.key + ")\\z", place), *own);
    }
  }

  static bool matches(const RegularExpression& pattern, const std::string& module) {
    MatchBudget budget(module.size());
    std::vector<Stretch> found;
    pattern.find(module, budget, found);
    return !found.empty() && found.front().match && found.front().begin == 0;
  }

  const JsonValue& root_;
  double alpha_ = 8;
  bool root_of_rank_ = false, turned_ = false;
  std::vector<std::pair<RegularExpression, double>> alphas_;
};

/// The pair of matrices of one module.
struct Pair {
  std::string a, b;  ///< names in the adapter's file; empty = not there
  bool embedding = false;
};

/// The tensors of an adapter by what they change.
struct AdapterTensors {
  std::map<std::string, Pair> pairs;         ///< by module
  std::map<std::string, std::string> whole;  ///< names in the file by the model's
};

std::string without(std::string text, std::string_view part) {
  if (const std::size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
  return text;
}

AdapterTensors sorted(const CheckpointWeights& adapter) {
  struct Ending {
    std::string_view text;
    bool first, embedding;
  };
  constexpr std::array<Ending, 4> endings{{{".lora_A.weight", true, false},
                                           {".lora_B.weight", false, false},
                                           {".lora_embedding_A", true, true},
                                           {".lora_embedding_B", false, true}}};
  AdapterTensors tensors;
  for (const std::string& name : adapter.names()) {
    std::string own = name;
    if (constexpr std::string_view outer = "base_model.model."; own.starts_with(outer)) {
      own.erase(0, outer.size());
    }
    own = without(without(std::move(own), ".default"), ".modules_to_save");
    const auto ending =
        std::ranges::find_if(endings, [&](const Ending& one) { return own.ends_with(one.text); });
    if (ending != endings.end()) {
      Pair& pair = tensors.pairs[own.substr(0, own.size() - ending->text.size())];
      (ending->first ? pair.a : pair.b) = name;
      pair.embedding = ending->embedding;
      continue;
    }
    if (own.find(".lora_") != std::string::npos) {
      throw input_error(translated("the tensor {1} of the adapter is not merged", in_quotes(name)),
                        "",
                        translated("merge it with merge_and_unload() of peft, and save the model"));
    }
    tensors.whole[without(std::move(own), ".base_layer")] = name;
  }
  return tensors;
}

// The model's name of a tensor that the adapter names, whose beginnings may differ: that of the
// model's class is in one of the two alone.
std::string name_in_model(const CheckpointWeights& weights, const std::string& name) {
  const std::vector<std::string>& names = weights.names();
  if (std::ranges::count(names, name) > 0) return name;
  std::vector<std::string> fitting;
  for (const std::string& own : names) {
    if (own.ends_with("." + name) || name.ends_with("." + own)) fitting.push_back(own);
  }
  if (fitting.size() == 1) return fitting.front();
  throw input_error(
      translated("the adapter changes {1}, which the model does not have", in_quotes(name)), "",
      translated("give the adapter's own model"));
}

// B·A times the scale, one row at a time.
class LowRank {
 public:
  // [out,in] of A [r,in] and B [out,r]; transposed if `turned`.
  LowRank(const Tensor& a, const Tensor& b, double scale, bool turned)
      : a_(turned ? b : a), b_(turned ? a : b), scale_(scale), turned_(turned) {
    rank_ = a.shape()[0];
    width_ = turned ? b.shape()[0] : a.shape()[1];
  }

  void add(std::size_t row, float* to) const {
    const auto a = a_.values<float>(), b = b_.values<float>();
    std::vector<double> sums(width_);
    const std::size_t rows = b_.size() / rank_;
    for (std::size_t r = 0; r < rank_; ++r) {
      // Of B [out,r] a row, or of A [r,in] a column.
      const double factor = turned_ ? static_cast<double>(b[r * rows + row])
                                    : static_cast<double>(b[row * rank_ + r]);
      for (std::size_t j = 0; j < width_; ++j) {
        sums[j] += factor * static_cast<double>(turned_ ? a[j * rank_ + r] : a[r * width_ + j]);
      }
    }
    for (std::size_t j = 0; j < width_; ++j) {
      to[j] = static_cast<float>(static_cast<double>(to[j]) + scale_ * sums[j]);
    }
  }

 private:
  Tensor a_, b_;
  double scale_;
  bool turned_;
  std::size_t rank_ = 0, width_ = 0;
};

// The adapter's pair on the model's matrix of that name.
LowRank low_rank(const CheckpointWeights& adapter, const Pair& pair, const Shape& shape,
                 const std::string& module, const AdapterSettings& settings) {
  const auto refuse = [&](const std::string& problem) {
    throw input_error(problem, "", translated("give the adapter's own model"));
  };
  if (pair.a.empty() || pair.b.empty()) {
    refuse(translated("the adapter has one matrix of two for {1}", in_quotes(module)));
  }
  const Tensor a = adapter.read(pair.a).converted(DType::float32),
               b = adapter.read(pair.b).converted(DType::float32);
  const bool matrices =
      a.rank() == 2 && b.rank() == 2 && shape.size() == 2 && a.shape()[0] == b.shape()[1];
  const Shape product = matrices ? Shape{b.shape()[0], a.shape()[1]} : Shape();
  const Shape turned = matrices ? Shape{product[1], product[0]} : Shape();
  if (!matrices || (product != shape && turned != shape)) {
    refuse(translated("the adapter's matrices {1} and {2} of {3} do not fit {4}", text(a.shape()),
                      text(b.shape()), in_quotes(module), text(shape)));
  }
  // Embeddings are looked up in Bᵀ; of them A is [r,tokens] and B [width,r].
  const bool square = product == turned;
  const bool is_turned = square ? pair.embedding != settings.turned() : turned == shape;
  return {a, b, settings.scale(module, a.shape()[0]), is_turned};
}

}  // namespace

void merge_adapter(const fs::path& folder, const FileAccess& access, CheckpointWeights& weights) {
  if (weights.gguf() != nullptr) {
    throw input_error(translated("an adapter is merged into a checkpoint "
                                 "folder, not into a GGUF file"),
                      "/adapter", translated("give the folder of its model"));
  }
  const fs::path configuration = folder / "adapter_config.json";
  const FileName file = FileName::by_document(configuration);
  if (!is_there(file, access)) {
    throw Error(
        ErrorKind::file,
        translated("there is no adapter_config.json in the folder {1}", in_quotes(folder.native())),
        "/adapter", translated("name the folder of a LoRA adapter"));
  }
  const auto text = MappedFile::open(file, access);
  const CheckpointWeights adapter = CheckpointWeights::open_adapter(folder, access);
  JsonValue root;
  const AdapterSettings settings = [&] {
    try {
      root = parse_json(text->text(), {.depth = access.limits.nesting});
      return AdapterSettings(root);
    } catch (const Error& error) {
      throw error.inside(configuration.string());
    }
  }();
  try {
    const AdapterTensors tensors = sorted(adapter);
    for (const auto& [module, pair] : tensors.pairs) {
      const std::string name = name_in_model(weights, module + ".weight");
      const LowRank change = low_rank(adapter, pair, weights.shape(name), module, settings);
      weights.change_rows(name, [change](std::size_t row, float* to) { change.add(row, to); });
    }
    for (const auto& [name, own] : tensors.whole) {
      weights.replace(name_in_model(weights, name), adapter, own);
    }
  } catch (const Error& error) {
    throw error.inside(adapter.place());
  }
}

}  // namespace attn
