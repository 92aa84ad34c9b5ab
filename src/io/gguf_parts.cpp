#include <algorithm>
#include <map>
#include <string>

#include "attn/error.hpp"

#include "io/gguf.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

constexpr const char* of_others = to_translate(
    "the parts do not belong together: download all of them again, under their own names");

// "-00002-of-00003.gguf": numbers from 1, with five digits.
std::string ending(std::size_t number, std::size_t count) {
  const auto digits = [](std::size_t of) {
    const std::string text = std::to_string(of);
    return std::string(5 - std::min<std::size_t>(5, text.size()), '0') + text;
  };
  return "-" + digits(number) + "-of-" + digits(count) + ".gguf";
}

// The number of parts, and the place of this one from 0 (llama.cpp's gguf-split).
struct PartNumber {
  std::size_t number = 0, count = 1;
};

PartNumber part_number(const Gguf& file) {
  constexpr std::size_t most = 65'535;
  const auto read = [&](const char* key, std::size_t otherwise) {
    const double given = file.number(key).value_or(static_cast<double>(otherwise));
    if (given >= 0 && given <= most) return static_cast<std::size_t>(given);
    throw input_error(translated("{1} is not the number of a part", number_text(given)), key,
                      translated(of_others));
  };
  return {read("split.no", 0), std::max<std::size_t>(read("split.count", 1), 1)};
}

// The paths of the later parts.
std::vector<fs::path> later_paths(const fs::path& path, std::size_t count) {
  const std::string name = path.filename().string(), own = ending(1, count);
  if (!name.ends_with(own)) {
    throw input_error(
        translated("the file is the first of {1} parts, but its name does not say so", count),
        "split.count",
        translated("give the parts the names that they were downloaded under, …{1}", own));
  }
  const std::string stem = name.substr(0, name.size() - own.size());
  std::vector<fs::path> paths;
  for (std::size_t n = 2; n <= count; ++n) {
    paths.push_back(path.parent_path() / (stem + ending(n, count)));
  }
  return paths;
}

Gguf open_part(const fs::path& path, const PartNumber& expected, const FileAccess& access) {
  const auto mapped = MappedFile::open(FileName::by_document(path), access);
  Gguf file(mapped->bytes(), mapped);
  const PartNumber own = part_number(file);
  if (own.number == expected.number && own.count == expected.count) return file;
  throw input_error(translated("the file is part {1} of {2} by its own keys, not part {3} of {4}",
                               own.number + 1, own.count, expected.number + 1, expected.count),
                    "split.no", translated(of_others));
}

// The part that each tensor is in.
using Places = std::map<std::string, std::string>;

void add_names(Places& places, const fs::path& path, const Gguf& file) {
  std::vector<std::string> names = file.names();
  for (const OtherMember& other : file.others()) names.push_back(other.name);
  for (const std::string& name : names) {
    const auto [place, is_new] = places.emplace(name, path.filename().string());
    if (is_new) continue;
    throw input_error(translated("the tensor {1} is in the part {2} already", in_quotes(name),
                                 in_quotes(place->second)),
                      "tensor " + in_quotes(name), translated(of_others));
  }
}

// Each part says how many tensors all of them have.
void check_count(const Gguf& file, std::size_t found) {
  const auto count = file.number("split.tensors.count");
  if (!count || *count == static_cast<double>(found)) return;
  throw input_error(translated("the parts should have {1} tensors together, but they have {2}",
                               number_text(*count), found),
                    "split.tensors.count", translated(of_others));
}

// Does the work on a file, whose name errors get.
template <class Work>
void in_part(const fs::path& path, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    throw error.kind() == ErrorKind::file ? error : error.inside(path.string());
  }
}

}  // namespace

std::vector<GgufPart> later_gguf_parts(const fs::path& path, const Gguf& first,
                                       const FileAccess& access) {
  Places places;
  std::vector<fs::path> paths;
  in_part(path, [&] {
    const PartNumber own = part_number(first);
    if (own.number != 0) {
      throw input_error(translated("this is a later part of a model"), "split.no",
                        translated("name its first part, -00001-of-…"));
    }
    if (own.count > 1) paths = later_paths(path, own.count);
    if (own.count > 1) add_names(places, path, first);
  });
  std::vector<GgufPart> parts;
  for (const fs::path& part : paths) {
    if (!is_there(FileName::by_document(part), access)) {
      throw Error(
          ErrorKind::file,
          translated("the part {1} of the weights is missing", in_quotes(part.filename().native())),
          path.string(), translated("download it too: the first part needs it"));
    }
    in_part(part, [&] {
      parts.push_back({part, open_part(part, {parts.size() + 1, paths.size() + 1}, access)});
      add_names(places, part, parts.back().file);
    });
  }
  if (parts.empty()) return parts;
  in_part(path, [&] { check_count(first, places.size()); });
  for (const GgufPart& part : parts) {
    in_part(part.path, [&] { check_count(part.file, places.size()); });
  }
  return parts;
}

void refuse_gguf_part(const Gguf& file) {
  const PartNumber own = part_number(file);
  if (own.number == 0 && own.count == 1) return;
  throw input_error(translated("this is part {1} of a file in {2} parts, but what is read from "
                               "memory has no other files",
                               own.number + 1, own.count),
                    "split.count", translated("name the first part"));
}

}  // namespace attn
