#include "models/checkpoint.hpp"

#include <algorithm>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// A part of a partial download, or what Git keeps in the place of a large file.
void refuse_pointer(const fs::path& path, const FileAccess& access) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error || size > 1024) return;
  const auto file = MappedFile::open(path, access);
  if (!file->text().starts_with("version https://git-lfs")) return;
  throw input_error(translated("{1} is a Git LFS pointer of {2} bytes, not the weights",
                               in_quotes(path.native()), size),
                    "", translated("fetch the file itself: git lfs pull"));
}

}  // namespace

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

CheckpointWeights CheckpointWeights::open(const fs::path& folder, const FileAccess& access) {
  CheckpointWeights weights;
  const fs::path whole = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  std::vector<fs::path> parts;
  std::map<std::string, std::string> expected;
  if (is_there(whole)) {
    parts.push_back(whole);
    weights.place_ = whole.string();
  } else if (is_there(index)) {
    weights.place_ = index.string();
    const auto text = MappedFile::open(index, access);
    try {
      const JsonValue root = parse_json(text->text(), {.depth = access.limits.nesting});
      const JsonValue* map = root.is(JsonValue::Type::object) ? root.find("weight_map") : nullptr;
      if (map == nullptr || !map->is(JsonValue::Type::object)) {
        throw input_error(translated("the index has no object \"weight_map\""), "/weight_map",
                          translated("it says which part holds which tensor"));
      }
      for (const JsonMember& entry : map->members()) {
        if (!entry.value.is(JsonValue::Type::string) ||
            fs::path(entry.value.string()).filename() != entry.value.string()) {
          throw input_error(translated("this does not name a part of the weights"),
                            pointer_to("/weight_map", entry.key),
                            translated("parts are files in the same folder"));
        }
        expected.emplace(entry.key, entry.value.string());
        const fs::path part = folder / entry.value.string();
        if (std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(part);
      }
    } catch (const Error& error) {
      throw error.inside(index.string());
    }
  } else if (is_there(folder / "pytorch_model.bin") ||
             is_there(folder / "pytorch_model.bin.index.json")) {
    throw input_error(
        translated("the folder holds its weights as pytorch_model.bin, a Python pickle, which is "
                   "not read"),
        folder.string(),
        translated(
            "convert it once where PyTorch is: python3 -c \"import torch, safetensors.torch as s; "
            "s.save_file({k: v.clone().contiguous() for k, v in torch.load('pytorch_model.bin', "
            "map_location='cpu').items()}, 'model.safetensors')\""));
  } else {
    throw Error(
        ErrorKind::file,
        translated("there are no weights in the folder {1}", in_quotes(folder.native())), "",
        translated(
            "it should hold model.safetensors, or model.safetensors.index.json and its parts"));
  }
  for (const fs::path& part : parts) {
    if (!is_there(part)) {
      throw Error(
          ErrorKind::file,
          translated("the part {1} of the weights is missing", in_quotes(part.filename().native())),
          weights.place_, translated("download it too: the index names it"));
    }
    refuse_pointer(part, access);
    const auto file = MappedFile::open(part, access);
    if (!looks_like_safetensors(file->bytes())) {
      throw input_error(translated("the weights are not a .safetensors file"), part.string(),
                        translated("download the file again"));
    }
    const auto tensors = [&] {
      try {
        return Safetensors(file->bytes(), file);
      } catch (const Error& error) {
        throw error.inside(part.string());
      }
    }();
    weights.add(part.string(), tensors, expected);
  }
  for (const auto& [name, part] : expected) {
    if (weights.has(name)) continue;
    throw input_error(translated("the tensor {1} is not in {2}", in_quotes(name), in_quotes(part)),
                      weights.place_, translated("the index and the parts do not belong together"));
  }
  return weights;
}

CheckpointWeights CheckpointWeights::from_memory(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner) {
  CheckpointWeights weights;
  weights.add("", Safetensors(bytes, std::move(owner)), {});
  return weights;
}

// `expected` maps the names of tensors to files; it is empty if there is only one file.
void CheckpointWeights::add(const std::string& file, Safetensors tensors,
                            const std::map<std::string, std::string>& expected) {
  const std::string own = fs::path(file).filename().string();
  for (std::size_t i = 0; i < tensors.names().size(); ++i) {
    const std::string& name = tensors.names()[i];
    const auto place = expected.find(name);
    if (!expected.empty() && (place == expected.end() || place->second != own)) continue;
    places_.emplace(name, Place{parts_.size(), i});
    names_.push_back(name);
  }
  parts_.push_back({file, std::move(tensors)});
}

const CheckpointWeights::Place& CheckpointWeights::find(const std::string& name) const {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    const std::vector<std::string_view> known(names_.begin(), names_.end());
    throw input_error(translated("the weights have no tensor {1}", in_quotes(name)), place_,
                      suggestion(name, known));
  }
  return place->second;
}

const Shape& CheckpointWeights::shape(const std::string& name) const {
  const Place& place = find(name);
  return parts_[place.part].tensors.shape(place.index);
}

RawArray CheckpointWeights::raw(const std::string& name) const {
  const Place& place = find(name);
  const Part& part = parts_[place.part];
  try {
    return part.tensors.raw(place.index);
  } catch (const Error& error) {
    throw error.inside(part.file);
  }
}

Tensor CheckpointWeights::stored(const std::string& name) const {
  RawArray array = raw(name);
  const auto borrowed = [&](DType dtype) {
    return Tensor::borrowed(array.shape, dtype, array.bytes.data(), array.owner);
  };
  switch (array.type) {
    case ElementType::float16:
      return borrowed(DType::float16);
    case ElementType::bfloat16:
      return borrowed(DType::bfloat16);
    case ElementType::float32:
      return borrowed(DType::float32);
    case ElementType::float64:
      return borrowed(DType::float64);
    default:
      return read(name);
  }
}

ElementType CheckpointWeights::type(const std::string& name) const {
  return raw(name).type;
}

Tensor CheckpointWeights::read_rows(const std::string& name, std::size_t first,
                                    std::size_t count) const {
  RawArray rows = raw(name);
  const std::size_t row = rows.bytes.size() / rows.shape[0];
  rows.shape[0] = count;
  rows.bytes = rows.bytes.subspan(first * row, count * row);
  return tensor_from(rows);
}

Tensor CheckpointWeights::read(const std::string& name) const {
  const Place& place = find(name);
  const Part& part = parts_[place.part];
  try {
    return part.tensors.read(place.index);
  } catch (const Error& error) {
    throw error.inside(part.file);
  }
}

namespace {

std::string of_layer(std::string text, std::size_t layer) {
  constexpr std::string_view number = "{n}";
  const std::size_t at = text.find(number);
  return at == std::string::npos ? text : text.replace(at, number.size(), std::to_string(layer));
}

// The names of a part of a tensor in files: norms of the first BERTs have gamma and beta, and some
// tensors have no parts.
std::vector<std::string> spellings(const std::string& name, std::string_view part) {
  if (part == "weight") return {name + ".weight", name + ".gamma", name};
  if (part == "bias") return {name + ".bias", name + ".beta"};
  return {name + std::string(part)};
}

}  // namespace

std::optional<std::string> StackWeights::found(WeightPurpose purpose,
                                               std::optional<std::size_t> layer,
                                               const char* part) const {
  const auto names = stack_.names.find(purpose);
  if (names == stack_.names.end()) return std::nullopt;
  const auto layer_name = stack_.names.find(WeightPurpose::layer);
  for (const std::string& own : names->second) {
    std::vector<std::string> bases{prefix_ + stack_.prefix, prefix_};
    for (std::string& base : bases) {
      if (layer && layer_name != stack_.names.end()) {
        base += of_layer(layer_name->second.front(), *layer);
      }
      for (const std::string& name : spellings(base + own, part)) {
        if (weights_.has(name)) return name;
      }
    }
  }
  return std::nullopt;
}

Tensor StackWeights::find(WeightPurpose purpose, std::optional<std::size_t> layer,
                          const char* part) const {
  const auto name = found(purpose, layer, part);
  return name ? weights_.read(*name) : Tensor();
}

std::optional<Shape> StackWeights::shape(WeightPurpose purpose, std::optional<std::size_t> layer,
                                         const char* part) const {
  const auto name = found(purpose, layer, part);
  return name ? std::optional(weights_.shape(*name)) : std::nullopt;
}

bool StackWeights::has(WeightPurpose purpose, std::optional<std::size_t> layer) const {
  return found(purpose, layer, "weight").has_value();
}

std::string StackWeights::layer_prefix(std::size_t layer) const {
  const auto names = stack_.names.find(WeightPurpose::layer);
  return prefix_ + stack_.prefix +
         (names == stack_.names.end() ? "" : of_layer(names->second.front(), layer));
}

std::string StackWeights::name(WeightPurpose purpose, std::optional<std::size_t> layer) const {
  const auto names = stack_.names.find(purpose);
  const std::string name = layer ? layer_prefix(*layer) : prefix_ + stack_.prefix;
  return name + (names == stack_.names.end()
                     ? std::string(weight_purposes[static_cast<std::size_t>(purpose)])
                     : names->second.front());
}

StoredLinear StackWeights::linear(WeightPurpose purpose, std::size_t layer) const {
  const auto weight = found(purpose, layer, "weight");
  if (!weight) {
    const std::string wanted = name(purpose, layer) + ".weight";
    const std::vector<std::string_view> known(weights_.names().begin(), weights_.names().end());
    throw input_error(translated("the weights have no tensor {1}", in_quotes(wanted)),
                      weights_.place(), suggestion(wanted, known));
  }
  Tensor stored = weights_.stored(*weight);
  if (stored.rank() != 2) {
    throw input_error(translated("{1} {2} is not a matrix", *weight, text(stored.shape())),
                      weights_.place(), translated("the weights do not fit the configuration"));
  }
  return {StoredMatrix(std::move(stored), model_.stored_transposed), find(purpose, layer, "bias")};
}

void refuse_shape(const CheckpointWeights& weights, const std::string& name, const Shape& shape,
                  const Shape& expected) {
  std::string sizes;
  for (const std::size_t size : expected) {
    sizes += (sizes.empty() ? "" : ",") + (size == 0 ? "any" : std::to_string(size));
  }
  throw input_error(translated("{1} {2} does not fit the configuration: expected [{3}]", name,
                               text(shape), sizes),
                    weights.place(),
                    translated("the configuration and the weights do not belong together"));
}

std::string head_weight(const ModelHead& head, const CheckpointWeights& weights) {
  const std::string name = head.weight + ".weight", part = "language_model." + name;
  return !weights.has(name) && weights.has(part) ? part : name;
}

bool has_head(const Architecture& model, const CheckpointWeights& weights) {
  const ModelHead& head = model.head;
  if (!head.dense.empty()) return weights.has(head.dense + ".weight");
  return !head.weight.empty() && (model.tied || weights.has(head_weight(head, weights)));
}

std::string find_prefix(const CheckpointWeights& weights, const Architecture& model) {
  const ModelStack& stack = model.stacks.front();
  for (const std::string& prefix : model.prefixes) {
    if (StackWeights(weights, model, stack, prefix).has(WeightPurpose::tokens, std::nullopt))
      return prefix;
  }
  const std::string wanted = StackWeights(weights, model, stack, model.prefixes.front())
                                 .name(WeightPurpose::tokens, std::nullopt) +
                             ".weight";
  const std::vector<std::string_view> known(weights.names().begin(), weights.names().end());
  throw input_error(
      translated("the weights have no token embeddings: no tensor {1}", in_quotes(wanted)),
      weights.place(), suggestion(wanted, known));
}

}  // namespace attn
