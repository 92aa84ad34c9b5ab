#include "models/checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "attn/error.hpp"

#include "io/gguf.hpp"
#include "io/json_value.hpp"
#include "io/tensor_formats.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

// A part of a partial download, or what Git keeps in the place of a large file.
void refuse_pointer(const fs::path& path, std::string_view text) {
  constexpr std::size_t most_bytes = 1024;
  const std::size_t size = text.size();
  if (size > most_bytes || !text.starts_with("version https://git-lfs")) return;
  throw input_error(translated("{1} is a Git LFS pointer of {2} bytes, not the weights",
                               in_quotes(path.native()), size),
                    "", translated("fetch the file itself: git lfs pull"));
}

// The contents show the format.
StoredTensors stored_tensors(std::span<const std::byte> bytes,
                             const std::shared_ptr<const void>& owner, const Limits& limits) {
  if (auto read = read_recognised<StoredTensors>(bytes, owner, limits)) return std::move(*read);
  throw input_error(translated("the weights are neither a .safetensors file nor a file of PyTorch"),
                    "", translated("download the file again"));
}

// The files that hold the weights of a folder.
struct WeightFiles {
  fs::path place;  ///< for errors: the only file, or the index of the parts
  std::vector<fs::path> parts;
  /// The part of each tensor by the index; empty without one.
  std::map<std::string, std::string> expected;
};

WeightFiles indexed_files(const fs::path& index, const FileAccess& access) {
  WeightFiles files{index, {}, {}};
  const auto text = MappedFile::open(FileName::by_document(index), access);
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
      files.expected.emplace(entry.key, entry.value.string());
      const fs::path part = index.parent_path() / entry.value.string();
      if (std::ranges::count(files.parts, part) == 0) files.parts.push_back(part);
    }
  } catch (const Error& error) {
    throw error.inside(index.string());
  }
  return files;
}

// Whether files of weights have that extension.
bool is_of_weights(const fs::path& extension) {
  bool found = false;
  for_each_format<StoredTensors>([&](const auto& format) {
    found = found || std::ranges::count(format.extensions, extension.native()) > 0;
  });
  return found && !extension.empty();
}

// Help on the files that a folder has in place of weights; empty if it has none of those known.
std::string weights_not_read(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  const auto ends = [](const std::string& name, std::initializer_list<std::string_view> endings) {
    return std::ranges::any_of(endings, [&](auto ending) { return name.ends_with(ending); });
  };
  for (const std::string& name : names) {
    if (ends(name, {".crdownload", ".part", ".incomplete", ".download", ".aria2"}))
      return translated("{1} is a download that is not finished", in_quotes(name));
    if (ends(name, {".ckpt"})) {
      const std::string renamed = fs::path(name).replace_extension(".pt").string();
      return translated("rename {1} to {2}: it may be a file of PyTorch", in_quotes(name),
                        in_quotes(renamed));
    }
    if (ends(name, {".h5", ".msgpack", ".onnx"}) || name == "onnx") {
      return translated(
          "weights of TensorFlow, Flax and ONNX are not read, {1}: take the model's "
          "safetensors or PyTorch files",
          in_quotes(name));
    }
  }
  // A snapshot in Hugging Face's cache.
  const fs::path repository = folder.parent_path().parent_path();
  constexpr std::string_view start = "models--";
  std::string name = repository.filename().string();
  if (folder.parent_path().filename() != "snapshots" || !name.starts_with(start)) return "";
  name.erase(0, start.size());
  if (const std::size_t slash = name.find("--"); slash != name.npos) name.replace(slash, 2, "/");
  return translated("only a part of the model was downloaded: hf download {1}", name);
}

// The first of the names under which weights are stored.
WeightFiles weight_files(const fs::path& folder, const FileAccess& access) {
  for (const char* name : {"model.safetensors", "pytorch_model.bin"}) {
    const fs::path whole = folder / name, index = folder / (std::string(name) + ".index.json");
    if (is_there(FileName::by_document(whole), access)) return {whole, {whole}, {}};
    if (is_there(FileName::by_document(index), access)) return indexed_files(index, access);
  }
  // One file by another name, but not what trainings keep of themselves.
  std::vector<fs::path> others, gguf;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path& path = entry.path();
    const bool of_training = path.stem() == "training_args" || path.stem() == "optimizer" ||
                             path.stem() == "scheduler" ||
                             path.filename() == "adapter_model.safetensors" ||
                             path.stem().string().starts_with("rng_state");
    if (of_training || !is_of_weights(path.extension())) continue;
    (path.extension() == ".gguf" ? gguf : others).push_back(path);
  }
  std::ranges::sort(others);
  if (others.size() == 1) return {others.front(), others, {}};
  if (!others.empty() || !gguf.empty()) {
    const fs::path first = others.empty() ? gguf.front() : others.front();
    throw Error(ErrorKind::file,
                translated("there are no weights of a known name in the folder {1}",
                           in_quotes(folder.native())),
                "",
                others.empty()
                    ? translated("name the file itself: {1}", shown_name(first.native()))
                    : translated("it has {1} files that may be them, {2} the first: call the right "
                                 "one model.safetensors or pytorch_model.bin",
                                 others.size(), in_quotes(first.filename().native())));
  }
  const std::string instead = weights_not_read(folder);
  throw Error(
      ErrorKind::file,
      translated("there are no weights in the folder {1}", in_quotes(folder.native())), "",
      !instead.empty()
          ? instead
          : translated("it should hold model.safetensors or pytorch_model.bin, or an index, "
                       "model.safetensors.index.json or pytorch_model.bin.index.json, and "
                       "its parts"));
}

}  // namespace

CheckpointWeights CheckpointWeights::open(const fs::path& folder, const FileAccess& access) {
  CheckpointWeights weights;
  const WeightFiles files = weight_files(folder, access);
  weights.place_ = files.place.string();
  for (const fs::path& part : files.parts) {
    if (!is_there(FileName::by_document(part), access)) {
      throw Error(
          ErrorKind::file,
          translated("the part {1} of the weights is missing", in_quotes(part.filename().native())),
          weights.place_, translated("download it too: the index names it"));
    }
    const auto file = MappedFile::open(FileName::by_document(part), access);
    refuse_pointer(part, file->text());
    auto tensors = [&]() -> StoredTensors {
      try {
        return stored_tensors(file->bytes(), file, access.limits);
      } catch (const Error& error) {
        throw error.inside(part.string());
      }
    }();
    weights.add(part.string(), std::move(tensors), files.expected);
  }
  for (const auto& [name, part] : files.expected) {
    if (weights.has(name)) continue;
    throw input_error(translated("the tensor {1} is not in {2}", in_quotes(name), in_quotes(part)),
                      weights.place_, translated("the index and the parts do not belong together"));
  }
  return weights;
}

CheckpointWeights CheckpointWeights::open_adapter(const fs::path& folder,
                                                  const FileAccess& access) {
  for (const char* name : {"adapter_model.safetensors", "adapter_model.bin"}) {
    const FileName path = FileName::by_document(folder, name);
    if (!is_there(path, access)) continue;
    CheckpointWeights weights;
    weights.place_ = path.path().string();
    const auto file = MappedFile::open(path, access);
    refuse_pointer(path.path(), file->text());
    try {
      weights.add(weights.place_, stored_tensors(file->bytes(), file, access.limits), {});
    } catch (const Error& error) {
      throw error.inside(weights.place_);
    }
    return weights;
  }
  throw Error(ErrorKind::file,
              translated("there are no weights in the folder {1}", in_quotes(folder.native())), "",
              translated("it should hold adapter_model.safetensors or adapter_model.bin"));
}

CheckpointWeights CheckpointWeights::open_gguf(const fs::path& path, const FileAccess& access) {
  CheckpointWeights weights;
  weights.place_ = path.string();
  const auto file = MappedFile::open(FileName::by_document(path), access);
  refuse_pointer(path, file->text());
  if (!looks_like_gguf(file->bytes())) {
    throw input_error(
        translated("{1} is neither a folder nor a GGUF file", in_quotes(path.native())), "",
        translated("name the folder of a checkpoint, which holds config.json"));
  }
  Gguf first = [&] {
    try {
      return Gguf(file->bytes(), file);
    } catch (const Error& error) {
      throw error.inside(path.string());
    }
  }();
  std::vector<GgufPart> later = later_gguf_parts(path, first, access);
  weights.add(path.string(), std::move(first), {});
  for (GgufPart& part : later) weights.add(part.path.string(), std::move(part.file), {});
  return weights;
}

CheckpointWeights CheckpointWeights::from_memory(std::span<const std::byte> bytes,
                                                 const std::shared_ptr<const void>& owner) {
  CheckpointWeights weights;
  weights.add("", stored_tensors(bytes, owner, {}), {});
  return weights;
}

// `expected` maps the names of tensors to files; it is empty if there is only one file.
void CheckpointWeights::add(const std::string& file, StoredTensors tensors,
                            const std::map<std::string, std::string>& expected) {
  const std::string own = fs::path(file).filename().string();
  const std::vector<std::string>& names =
      std::visit([](const auto& read) -> decltype(auto) { return read.names(); }, tensors);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string& name = names[i];
    const auto place = expected.find(name);
    if (!expected.empty() && (place == expected.end() || place->second != own)) continue;
    places_.emplace(name, Place{parts_.size(), i});
    names_.push_back(name);
  }
  for (const OtherMember& other :
       std::visit([](const auto& read) -> decltype(auto) { return read.others(); }, tensors)) {
    unread_.emplace(other.name, other.reason);
  }
  parts_.push_back({file, std::move(tensors)});
}

bool CheckpointWeights::has(const std::string& name) const {
  if (const auto unread = unread_.find(name); unread != unread_.end()) {
    throw input_error(
        translated("the weights {1} cannot be read: {2}", in_quotes(name), unread->second), place_,
        translated("convert them to a type that is read, such as float16 or Q8_0"));
  }
  return places_.contains(name);
}

const CheckpointWeights::Place& CheckpointWeights::find(const std::string& name) const {
  const auto place = places_.find(name);
  if (place == places_.end()) {
    has(name);
    const std::vector<std::string_view> known(names_.begin(), names_.end());
    throw input_error(translated("the weights have no tensor {1}", in_quotes(name)), place_,
                      suggestion(name, known));
  }
  return place->second;
}

const Shape& CheckpointWeights::shape(const std::string& name) const {
  const Place& place = find(name);
  return std::visit([&](const auto& tensors) -> const Shape& { return tensors.shape(place.index); },
                    parts_[place.part].tensors);
}

void CheckpointWeights::change_rows(const std::string& name,
                                    std::function<void(std::size_t row, float* to)> change) {
  changes_[name] = std::move(change);
}

void CheckpointWeights::replace(const std::string& name, const CheckpointWeights& other,
                                const std::string& own) {
  RawArray array = other.raw(own);
  if (array.shape != shape(name)) {
    throw input_error(
        translated("the adapter's tensor {1} {2} does not fit {3} {4}", in_quotes(own),
                   text(array.shape), in_quotes(name), text(shape(name))),
        "", translated("give the adapter's own model"));
  }
  replaced_[name] = std::move(array);
}

RawArray CheckpointWeights::raw(const std::string& name) const {
  RawArray array = unchanged(name);
  const auto change = changes_.find(name);
  if (change == changes_.end()) return array;
  // A row as it is stored, made float, then changed.
  std::function<void(std::size_t row, float* to)> make = array.make_row;
  if (!make && (array.big_endian || array.column_major)) {
    make = [whole = tensor_from(array).converted(DType::float32)](std::size_t row, float* to) {
      const std::size_t width = whole.shape().back();
      std::ranges::copy(whole.values<float>().subspan(row * width, width), to);
    };
  } else if (!make) {
    make = [array](std::size_t row, float* to) {
      const std::size_t width = array.shape.back();
      widen(array.type, array.bytes.data() + row * width * size_of(array.type), width, to);
    };
  }
  RawArray made;
  made.shape = array.shape;
  made.owner = array.owner;
  made.stored_as = attn::stored_type(array);
  made.make_row = [make, add = change->second](std::size_t row, float* to) {
    make(row, to);
    add(row, to);
  };
  return made;
}

RawArray CheckpointWeights::unchanged(const std::string& name) const {
  if (const auto other = replaced_.find(name); other != replaced_.end()) return other->second;
  const Place& place = find(name);
  const Part& part = parts_[place.part];
  try {
    return std::visit([&](const auto& tensors) { return tensors.raw(place.index); }, part.tensors);
  } catch (const Error& error) {
    throw error.inside(part.file);
  }
}

Tensor CheckpointWeights::stored(const std::string& name) const {
  RawArray array = raw(name);
  if (array.make_row) return read(name);
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

std::string CheckpointWeights::stored_type(const std::string& name) const {
  const Place& place = find(name);
  return std::visit([&](const auto& tensors) { return tensors.stored_type(place.index); },
                    parts_[place.part].tensors);
}

bool CheckpointWeights::made_by_rows(const std::string& name) const {
  return unchanged(name).make_row != nullptr;
}

StoredMatrix CheckpointWeights::matrix(const std::string& name, bool transposed) const {
  RawArray array = raw(name);
  StoredMatrix matrix;
  if (!array.make_row) {
    Tensor whole = stored(name);
    if (whole.rank() > 2) {
      const std::size_t lines = whole.shape()[0];
      whole = whole.reshaped({lines, whole.size() / lines});
    }
    matrix = StoredMatrix(std::move(whole), transposed);
  } else if (transposed) {
    matrix = StoredMatrix(read(name), true);  // rows of [in,out] are not rows of W
  } else {
    const std::size_t columns = array.shape.back();
    matrix = StoredMatrix(MadeRows{element_count(array.shape) / columns, columns,
                                   std::move(array.make_row), array.in_blocks});
  }
  if (kept_packing_) {
    matrix.keep_packed(kept_packing_, kept_prefix_ + name + (transposed ? " transposed" : ""));
  }
  return matrix;
}

StoredMatrix CheckpointWeights::matrix_of(const std::string& name, std::size_t number,
                                          bool transposed) const {
  const Shape& all = shape(name);
  const Shape one{all[1], all[2]};
  if (made_by_rows(name)) return matrix(name).rows(number * one[0], one[0]);
  StoredMatrix matrix(part_of(stored(name), number * one[0] * one[1], one), transposed);
  if (kept_packing_)
    matrix.keep_packed(kept_packing_, kept_prefix_ + name + " " + std::to_string(number));
  return matrix;
}

const Gguf* CheckpointWeights::gguf() const {
  return parts_.empty() ? nullptr : std::get_if<Gguf>(&parts_.front().tensors);
}

Tensor CheckpointWeights::read_rows(const std::string& name, std::size_t first,
                                    std::size_t count) const {
  RawArray rows = raw(name);
  if (rows.make_row) {
    // Rows of the last axis, of which an entry of the first axis has several.
    const std::size_t lines = element_count(rows.shape) / rows.shape[0] / rows.shape.back();
    rows.make_row = [make = rows.make_row, begin = first * lines](std::size_t row, float* to) {
      make(begin + row, to);
    };
    rows.in_blocks = {};
    rows.shape[0] = count;
    return tensor_from(rows);
  }
  const std::size_t row = rows.bytes.size() / rows.shape[0];
  rows.shape[0] = count;
  rows.bytes = rows.bytes.subspan(first * row, count * row);
  return tensor_from(rows);
}

bool CheckpointWeights::same_numbers(const std::string& a, const std::string& b) const {
  if (shape(a) != shape(b)) return false;
  const RawArray one = raw(a), other = raw(b);
  if (one.type == other.type && !one.make_row && !other.make_row) {
    return one.bytes.data() == other.bytes.data() ||
           std::memcmp(one.bytes.data(), other.bytes.data(), one.bytes.size()) == 0;
  }
  constexpr std::size_t rows_at_once = 256;
  const std::size_t rows = shape(a).empty() ? 0 : shape(a)[0];
  for (std::size_t first = 0; first < rows; first += rows_at_once) {
    const std::size_t count = std::min(rows_at_once, rows - first);
    const Tensor some = read_rows(a, first, count).converted(DType::float64),
                 others = read_rows(b, first, count).converted(DType::float64);
    if (!std::ranges::equal(some.values<double>(), others.values<double>())) return false;
  }
  return true;
}

Tensor CheckpointWeights::read(const std::string& name) const {
  if (changes_.contains(name) || replaced_.contains(name)) return tensor_from(raw(name));
  const Place& place = find(name);
  const Part& part = parts_[place.part];
  try {
    return std::visit([&](const auto& tensors) { return tensors.read(place.index); }, part.tensors);
  } catch (const Error& error) {
    throw error.inside(part.file);
  }
}

}  // namespace attn
