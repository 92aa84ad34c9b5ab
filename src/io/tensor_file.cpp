#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "io/file_members.hpp"
#include "io/gguf.hpp"
#include "io/sound_file.hpp"
#include "io/tensor_formats.hpp"
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

std::string known_formats() {
  std::string titles;
  for_each_format<AnyTensorFile>([&](const auto& format) {
    titles += titles.empty() ? "" : ", ";
    titles += format.title;
  });
  return translated("known formats: {1}", titles);
}

struct Signature {
  std::string_view start, what;
};
constexpr auto other_formats = std::to_array<Signature>({
    {"\x1F\x8B", to_translate("a gzip file: unpack it first")},
    {"\x89HDF", to_translate("an HDF5 file")},
    {"\x89PNG", to_translate("a PNG picture")},
    {"\xFF\xD8\xFF", to_translate("a JPEG picture")},
    {"GIF8", to_translate("a GIF picture")},
    {"<svg", to_translate("an SVG picture")},
    {"<?xml", to_translate("an SVG picture or other XML")},
    {"%PDF", to_translate("a PDF document")},
    {"\xFF\xFE", to_translate("a text in UTF-16: save it as UTF-8")},
    {"\xFE\xFF", to_translate("a text in UTF-16: save it as UTF-8")},
    {"MATLAB", to_translate("a MATLAB file")},
    {"PAR1", to_translate("a Parquet file")},
    {"tensor(", to_translate("a printed tensor: save it with torch.save(tensor, \"maps.pt\")")},
    {"version https://git-lfs", to_translate("a pointer of Git LFS: run git lfs pull")},
    {"<!DOCTYPE",
     to_translate("a web page; if you wanted to download a file, give its own address")},
    {"<html", to_translate("a web page; if you wanted to download a file, give its own address")},
});

// Guess at the format of bytes in no known format, for the help of an error.
std::string guess(std::string_view bytes) {
  for (const auto& [start, what] : other_formats) {
    if (bytes.starts_with(start)) return translated(what);
  }
  if (looks_like_sound(std::as_bytes(std::span(bytes)))) return translated("a sound");
  for (const char c : bytes.substr(0, 4096)) {
    const auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') || u == 0x7F) return "";
  }
  return translated("a text");
}

// Throws the error of bytes in no known format. `result` is a result beside them, if there is one.
AnyTensorFile parse(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                    const Limits& limits, const std::string& result = "") {
  if (auto read = read_recognised<AnyTensorFile>(bytes, owner, limits)) return std::move(*read);
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) throw input_error(translated("the file is empty"), "", known_formats());
  const std::string what = guess(text);
  throw input_error(
      translated("this is not a tensor file{1}",
                 what.empty() ? std::string() : translated("; it looks like {1}", what)),
      "",
      result.empty() ? known_formats()
                     : translated("name the result beside it, {1}", in_quotes(result)));
}

}  // namespace

class TensorFile::Content {
 public:
  // Files that it refers to, and its later parts, are beside `path`; absent = there is none.
  Content(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
          std::string name, std::optional<std::filesystem::path> path, FileAccess access)
      : name_(std::move(name)),
        path_(std::move(path)),
        access_(std::move(access)),
        parsed_(parse_named(bytes, owner)),
        later_(later_parts()) {
    index_names();
  }

  static std::shared_ptr<const Content> open(const FileName& name, const FileAccess& access) {
    const auto file = MappedFile::open(name, access);
    const std::filesystem::path path = name.path() == "-" ? "./-" : name.path();
    return of(file->bytes(), file, name.is_standard_input() ? "-" : path, access);
  }

  // "-" is standard input.
  static std::shared_ptr<const Content> of(std::span<const std::byte> bytes,
                                           const std::shared_ptr<const void>& owner,
                                           const std::filesystem::path& path,
                                           const FileAccess& access) {
    const bool standard = path == "-";
    return std::make_shared<Content>(bytes, owner,
                                     standard ? translated("standard input") : path.string(),
                                     standard ? "" : path, access);
  }

  std::string_view format() const noexcept {
    return std::visit([](const auto& parsed) { return format_of(parsed).name; }, parsed_);
  }

  const std::vector<std::string>& names() const noexcept {
    return later_.empty() ? own_names() : all_names_;
  }

  const std::vector<OtherMember>& others() const noexcept { return others_; }

  // `references` is the number of files that led here by references.
  Tensor read(std::string_view name, int references) const {
    const auto open_tensor = [&](const std::string& file, const std::string& tensor) {
      return follow(file, tensor, references);
    };
    return with_tensor(name, Overloaded{[&](const JsonTensorFile& json, std::size_t index) {
                                          return json.read(index, open_tensor);
                                        },
                                        [](const auto& parsed, std::size_t index) -> Tensor {
                                          return parsed.read(index);
                                        }});
  }

  std::string stored_type(std::string_view name, int references) const {
    return with_tensor(name, Overloaded{[&](const JsonTensorFile& json, std::size_t index) {
                                          return stored_in_json(json, index, references);
                                        },
                                        [](const auto& parsed, std::size_t index) {
                                          return parsed.stored_type(index);
                                        }});
  }

 private:
  const std::vector<std::string>& own_names() const noexcept {
    return std::visit(
        [](const auto& parsed) -> const std::vector<std::string>& { return parsed.names(); },
        parsed_);
  }

  // The first of several tensors of one name.
  void index_names() {
    if (!later_.empty()) all_names_ = own_names();
    for (const GgufPart& part : later_) {
      all_names_.insert(all_names_.end(), part.file.names().begin(), part.file.names().end());
    }
    for (std::size_t i = 0; i < names().size(); ++i) index_.try_emplace(names()[i], i);
    const auto add_others = [&](const auto& parsed) {
      others_.insert(others_.end(), parsed.others().begin(), parsed.others().end());
    };
    std::visit(add_others, parsed_);
    for (const GgufPart& part : later_) add_others(part.file);
    if (names().empty() && !others_.empty()) throw no_tensors(others_).inside(name_);
  }

  std::vector<GgufPart> later_parts() const {
    const auto* gguf = std::get_if<Gguf>(&parsed_);
    if (gguf == nullptr) return {};
    if (path_) return later_gguf_parts(*path_, *gguf, access_);
    try {
      refuse_gguf_part(*gguf);
    } catch (const Error& error) {
      throw error.inside(name_);
    }
    return {};
  }

  // use(file, index) of the file, or of its later part, that has the tensor. Errors get its name.
  template <class Use>
  std::invoke_result_t<Use, const Gguf&, std::size_t> with_tensor(std::string_view name,
                                                                  const Use& use) const {
    std::string file = name_;
    try {
      std::size_t index = find(name);
      const std::size_t own = own_names().size();
      if (index < own)
        return std::visit([&](const auto& parsed) { return use(parsed, index); }, parsed_);
      index -= own;
      auto part = later_.begin();
      for (; index >= part->file.names().size(); ++part) index -= part->file.names().size();
      file = part->path.string();
      return use(part->file, index);
    } catch (const Error& error) {
      throw error.inside(file);
    }
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

  AnyTensorFile parse_named(std::span<const std::byte> bytes,
                            const std::shared_ptr<const void>& owner) const {
    try {
      return parse(bytes, owner, access_.limits, beside());
    } catch (const Error& error) {
      throw error.inside(name_);
    }
  }

  // The result in the folder of a file, which may be a picture or a page of it; empty if there is
  // none.
  std::string beside() const {
    if (!path_ || path_->empty()) return "";
    std::error_code none;
    const std::filesystem::path result = path_->parent_path() / "result.json";
    return std::filesystem::is_regular_file(result, none) ? result.string() : "";
  }

  std::size_t find(std::string_view name) const {
    const std::vector<std::string>& known = names();
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
    for (const OtherMember& other : others_) {
      if (other.name == name) throw not_a_tensor(other);
    }
    if (known.empty()) throw input_error(translated("the file holds no tensors"), "", "");
    if (name.empty() && known.size() == 1) return 0;
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    if (name.empty()) {
      throw input_error(
          translated("the file holds {1} tensors, and none was named", known.size()), "",
          translated("name one of them, in a document with \"name\" beside \"file\"; {1}",
                     suggestion("", candidates)));
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
    if (!path_) {
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
    const std::filesystem::path folder = path_->parent_path();
    const FileAccess checked =
        std::get<JsonTensorFile>(parsed_).files().checked(access_, file, folder / file);
    return open(FileName::by_document(folder, file), checked);
  }

  std::string name_;
  std::optional<std::filesystem::path> path_;
  FileAccess access_;
  AnyTensorFile parsed_;
  std::vector<GgufPart> later_;
  std::vector<std::string> all_names_;             ///< in order, if there are later parts
  std::map<std::string_view, std::size_t> index_;  ///< into names()
  std::vector<OtherMember> others_;
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

TensorFile TensorFile::from_file(std::span<const std::byte> bytes,
                                 const std::shared_ptr<const void>& owner,
                                 const std::filesystem::path& path, const FileAccess& access) {
  return TensorFile(Content::of(bytes, owner, path, access));
}

TensorFile TensorFile::from_memory(std::span<const std::byte> bytes,
                                   const std::shared_ptr<const void>& owner, std::string name,
                                   const Limits& limits) {
  return TensorFile(std::make_shared<Content>(bytes, owner, std::move(name), std::nullopt,
                                              FileAccess{limits, std::nullopt, {}, {}}));
}

std::span<const std::string_view> TensorFile::formats() noexcept {
  static constexpr auto names = std::apply(
      [](const auto&... format) { return std::array{format.name...}; }, tensor_file_formats);
  return names;
}

const std::vector<OtherMember>& TensorFile::others() const noexcept {
  return content_->others();
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
