#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/gguf.hpp"
#include "io/gguf_parts.hpp"
#include "io/json_tensor.hpp"
#include "io/numpy.hpp"
#include "io/safetensors.hpp"
#include "io/torch_file.hpp"
#include "support/mapped_file.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

template <class T>
std::string comma_separated(const Tensor& matrix) {
  const std::span<const T> values = matrix.values<T>();
  const std::size_t columns = matrix.shape()[1];
  std::string result;
  char buffer[32];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T number = values[i];
    char* end = buffer;
    if constexpr (std::is_floating_point_v<T>) {
      // Without the sign of a NaN.
      end = std::isnan(number)
                ? std::to_chars(buffer, buffer + sizeof buffer, std::fabs(number)).ptr
                : std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    } else {
      end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    }
    result.append(buffer, static_cast<std::size_t>(end - buffer));
    result += (i + 1) % columns == 0 ? '\n' : ',';
  }
  return result;
}

}  // namespace

std::string csv_text(const Tensor& matrix) {
  if (matrix.rank() != 2 || matrix.size() == 0) {
    throw input_error(translated("a tensor of shape {1} cannot be written as comma-separated "
                                 "values, which hold one matrix",
                                 text(matrix.shape())),
                      "", translated("choose another format, or one matrix of the tensor"));
  }
  const Tensor wide = matrix.converted(widened(matrix.dtype()));
  return with_element_type(wide.dtype(), [&]<class T>() { return comma_separated<T>(wide); });
}

namespace {

constexpr const char* known_formats =
    to_translate("known formats: .npy, .npz, .safetensors, .pt, .gguf, JSON");

struct Signature {
  std::string_view start, what;
};
constexpr std::array<Signature, 11> other_formats = {{
    {"\x1F\x8B", to_translate("a gzip file: unpack it first")},
    {"\x89HDF", to_translate("an HDF5 file")},
    {"\x80\x02", to_translate("a Python pickle")},
    {"\x80\x03", to_translate("a Python pickle")},
    {"\x80\x04", to_translate("a Python pickle")},
    {"\x80\x05", to_translate("a Python pickle")},
    {"\x89PNG", to_translate("a PNG picture")},
    {"%PDF", to_translate("a PDF document")},
    {"\xFF\xFE", to_translate("a text in UTF-16: save it as UTF-8")},
    {"\xFE\xFF", to_translate("a text in UTF-16: save it as UTF-8")},
    {"MATLAB", to_translate("a MATLAB file")},
}};

// Guess at the format of bytes in no known format, for the help of an error.
std::string guess(std::string_view bytes) {
  for (const auto& [start, what] : other_formats) {
    if (bytes.starts_with(start)) return translated(what);
  }
  for (const char c : bytes.substr(0, 4096)) {
    const auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') || u == 0x7F) return "";
  }
  return translated("a text");
}

struct Npy {
  static constexpr std::string_view format_name = "npy";
  Tensor tensor;
  ElementType type = ElementType::float32;
  std::vector<std::string> names{""};
};

using Parsed = std::variant<Npy, Npz, Safetensors, TorchFile, Gguf, JsonTensorFile>;

Parsed parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
             const Limits& limits) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(npy_magic)) {
    Npy npy;
    npy.tensor = parse_npy(bytes, std::move(owner), &npy.type);
    return npy;
  }
  if (looks_like_torch_archive(bytes) || looks_like_old_torch_file(bytes))
    return TorchFile(bytes, std::move(owner), limits);
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06")) {
    return Npz(bytes, std::move(owner), limits);
  }
  if (looks_like_safetensors(bytes)) return Safetensors(bytes, std::move(owner));
  if (looks_like_gguf(bytes)) return Gguf(bytes, std::move(owner));
  if (looks_like_json(bytes)) return JsonTensorFile(text, std::move(owner), limits.nesting);
  if (text.empty())
    throw input_error(translated("the file is empty"), "", translated(known_formats));
  const std::string what = guess(text);
  throw input_error(
      translated("this is not a readable file of tensors{1}",
                 what.empty() ? std::string() : translated("; it seems to be {1}", what)),
      "", translated(known_formats));
}

}  // namespace

class TensorFile::Content {
 public:
  // `folder` holds the files that this file refers to; absent = it may refer to none.
  Content(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string name,
          std::optional<std::filesystem::path> folder, FileAccess access)
      : name_(std::move(name)),
        folder_(std::move(folder)),
        access_(std::move(access)),
        parsed_(parse_named(bytes, std::move(owner))) {
    index_names();
  }

  static std::shared_ptr<const Content> open(const FileName& name, const FileAccess& access) {
    const auto file = MappedFile::open(name, access);
    if (name.is_standard_input()) {
      return std::make_shared<Content>(file->bytes(), file, translated("standard input"), "",
                                       access);
    }
    const std::filesystem::path path = name.path();
    auto content =
        std::make_shared<Content>(file->bytes(), file, path.string(), path.parent_path(), access);
    if (const auto* gguf = std::get_if<Gguf>(&content->parsed_)) content->open_later(path, *gguf);
    return content;
  }

  std::string_view format() const noexcept {
    return std::visit([](const auto& parsed) { return parsed.format_name; }, parsed_);
  }

  const std::vector<std::string>& names() const noexcept {
    return later_.empty() ? own_names() : all_names_;
  }

  const std::vector<std::string>& own_names() const noexcept {
    return std::visit(
        Overloaded{
            [](const Npy& npy) -> const std::vector<std::string>& { return npy.names; },
            [](const auto& parsed) -> const std::vector<std::string>& { return parsed.names(); }},
        parsed_);
  }

  // `references` is the number of files that led here by references.
  Tensor read(std::string_view name, int references) const {
    if (const Content* part = later_with(name)) return part->read(name, references);
    try {
      const std::size_t index = find(name);
      const auto open_tensor = [&](const std::string& file, const std::string& tensor) {
        return follow(file, tensor, references);
      };
      return std::visit(
          Overloaded{[](const Npy& npy) { return npy.tensor; },
                     [&](const JsonTensorFile& json) { return json.read(index, open_tensor); },
                     [&](const auto& parsed) { return parsed.read(index); }},
          parsed_);
    } catch (const Error& error) {
      throw error.inside(name_);
    }
  }

  std::string stored_type(std::string_view name, int references) const {
    if (const Content* part = later_with(name)) return part->stored_type(name, references);
    try {
      const std::size_t index = find(name);
      return std::visit(Overloaded{[](const Npy& npy) { return std::string(attn::name(npy.type)); },
                                   [&](const Npz& npz) {
                                     ElementType type{};
                                     npz.read(index, &type);
                                     return std::string(attn::name(type));
                                   },
                                   [&](const JsonTensorFile& json) {
                                     return stored_in_json(json, index, references);
                                   },
                                   [&](const auto& parsed) {
                                     return std::string(attn::stored_type(parsed.raw(index)));
                                   }},
                        parsed_);
    } catch (const Error& error) {
      throw error.inside(name_);
    }
  }

 private:
  // The first of several tensors of one name.
  void index_names() {
    for (std::size_t i = 0; i < names().size(); ++i) index_.try_emplace(names()[i], i);
  }

  void open_later(const std::filesystem::path& path, const Gguf& first) {
    std::vector<std::filesystem::path> parts;
    try {
      parts = later_gguf_parts(path, first);
    } catch (const Error& error) {
      throw error.inside(name_);
    }
    if (parts.empty()) return;
    all_names_ = own_names();
    for (const std::filesystem::path& part : parts) {
      later_.push_back(open(FileName::by_document(part), access_));
      const std::vector<std::string>& more = later_.back()->names();
      all_names_.insert(all_names_.end(), more.begin(), more.end());
    }
    index_.clear();
    index_names();
  }

  // The later part of a file in several that has the tensor; null if this part has it, or none.
  const Content* later_with(std::string_view name) const {
    const auto found = index_.find(name);
    if (found == index_.end() || found->second < own_names().size()) return nullptr;
    const auto has = [&](const auto& part) { return part->index_.contains(name); };
    const auto part = std::find_if(later_.begin(), later_.end(), has);
    return part == later_.end() ? nullptr : part->get();
  }

  std::string stored_in_json(const JsonTensorFile& json, std::size_t index, int references) const {
    std::string elsewhere;
    const auto open_tensor = [&](const std::string& file, const std::string& tensor) {
      Tensor found = follow(file, tensor, references);
      elsewhere = open_next(file)->stored_type(tensor, references + 1);
      return found;
    };
    const Tensor read = json.read(index, open_tensor);
    return elsewhere.empty() ? attn::name(json.stored_type(read)) : elsewhere;
  }

  Parsed parse_named(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) const {
    try {
      return parse(bytes, std::move(owner), access_.limits);
    } catch (const Error& error) {
      throw error.inside(name_);
    }
  }

  std::size_t find(std::string_view name) const {
    const std::vector<std::string>& known = names();
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
    if (known.empty()) throw input_error(translated("the file holds no tensors"), "", "");
    if (name.empty() && known.size() == 1) return 0;
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    if (name.empty()) {
      throw input_error(translated("the file holds {1} tensors, and none was named", known.size()),
                        "", translated("name one of them; {1}", suggestion("", candidates)));
    }
    if (std::holds_alternative<Npy>(parsed_)) {
      throw input_error(
          translated("a .npy file holds one array without a name, not {1}", in_quotes(name)), "",
          translated("leave the name out"));
    }
    throw input_error(translated("there is no tensor {1}", in_quotes(name)), "",
                      suggestion(name, candidates));
  }

  Tensor follow(const std::string& file, const std::string& tensor, int references) const {
    if (!folder_) {
      throw input_error(
          translated(
              "a tensor is in the file {1}, but what is read from memory cannot refer to files",
              in_quotes(file)),
          "", "");
    }
    constexpr int most_references = 8;
    if (references >= most_references) {
      throw input_error(translated("the files refer to one another in a circle"), "", "");
    }
    return open_next(file)->read(tensor, references + 1);
  }

  // A file that this text of JSON refers to.
  std::shared_ptr<const Content> open_next(const std::string& file) const {
    const FileAccess checked =
        std::get<JsonTensorFile>(parsed_).files().checked(access_, file, *folder_ / file);
    return open(FileName::by_document(*folder_, file), checked);
  }

  std::string name_;
  std::optional<std::filesystem::path> folder_;
  FileAccess access_;
  Parsed parsed_;
  std::vector<std::shared_ptr<const Content>> later_;  // parts of a GGUF file
  std::vector<std::string> all_names_;                 // in order, if there are such
  std::map<std::string_view, std::size_t> index_;      ///< into names()
};

TensorFile::TensorFile(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

TensorFile TensorFile::open(const std::filesystem::path& path, const FileAccess& access) {
  const FileName name =
      access.restrict_to ? FileName::by_document("", path) : FileName::by_user(path);
  return TensorFile(Content::open(name, access));
}

TensorFile TensorFile::open_named(const std::filesystem::path& folder, const std::string& name,
                                  const FileAccess& access) {
  return TensorFile(Content::open(FileName::by_document(folder, name), access));
}

TensorFile TensorFile::from_memory(std::span<const std::byte> bytes,
                                   std::shared_ptr<const void> owner, std::string name,
                                   const Limits& limits) {
  return TensorFile(std::make_shared<Content>(bytes, std::move(owner), std::move(name),
                                              std::nullopt,
                                              FileAccess{limits, std::nullopt, {}, {}}));
}

std::span<const std::string_view> TensorFile::formats() noexcept {
  static constexpr std::array names{
      JsonTensorFile::format_name, Npy::format_name,         Npz::format_name,
      TorchFile::format_name,      Safetensors::format_name, Gguf::format_name};
  return names;
}

std::string_view TensorFile::format() const noexcept {
  return content_->format();
}

const std::vector<std::string>& TensorFile::names() const noexcept {
  return content_->names();
}

Tensor TensorFile::read(std::string_view name) const {
  return content_->read(name, 0);
}

std::string TensorFile::stored_type(std::string_view name) const {
  return content_->stored_type(name, 0);
}

}  // namespace attn
