#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "attn/document.hpp"
#include "attn/maps.hpp"
#include "attn/run.hpp"

#include "io/json_value.hpp"
#include "result/provenance.hpp"

namespace attn {

/// A request that can be compared: options by the names of their fields, such as
/// "DocumentOptions::causal", each as a text that differs for any two different values. Work is
/// continued or joined only if both were asked for the same.
class Description {
 public:
  using Fields = std::map<std::string, std::string>;

  /// Describes the program, which is the same on all machines that use their best instruction set.
  Description();

  template <class... Values>
  void add(std::string_view field, const Values&... values) {
    std::string& text = fields_[std::string(field)];
    (add_to(text, values), ...);
  }

  const Fields& fields() const { return fields_; }

 private:
  static void add_to(std::string& text, std::string_view value);
  static void add_to(std::string& text, const std::string& value) {
    add_to(text, std::string_view(value));
  }
  static void add_to(std::string& text, double value);
  static void add_to(std::string& text, std::int64_t value);
  static void add_to(std::string& text, const JsonValue& value);
  static void add_to(std::string& text, const PositionRange& range) {
    add_to(text, range.first);
    add_to(text, range.end);
  }
  template <class Number>
  requires std::integral<Number> || std::is_enum_v<Number>
  static void add_to(std::string& text, Number value) {
    add_to(text, static_cast<std::int64_t>(value));
  }
  template <class Value>
  static void add_to(std::string& text, const std::optional<Value>& value) {
    text += value ? '+' : '-';
    if (value) add_to(text, *value);
  }
  template <class Value>
  static void add_to(std::string& text, const std::vector<Value>& values) {
    add_to(text, values.size());
    for (const Value& value : values) add_to(text, value);
  }
  template <class First, class Second>
  static void add_to(std::string& text, const std::pair<First, Second>& pair) {
    add_to(text, pair.first);
    add_to(text, pair.second);
  }

  Fields fields_;
};

/// Describes the options of documents, without folders, numbers of threads and limits.
void describe(const DocumentOptions& document, Description& description);
/// Describes the program, and of all options that change the bytes of a result those that are not
/// the default ones.
Description::Fields description_of(const RunOptions& options);

/// The fields whose values differ, or that one of the two lacks: "DocumentOptions::causal,
/// DocumentOptions::dtype"; empty if all are the same.
std::string differing_fields(const Description::Fields& a, const Description::Fields& b);

/// The members of an object, which are strings: fields of a description, or hashes of files.
FileHashList strings_in(const JsonObject& object);

/// Parts of one work that are joined, such as shards: all asked for the same, and made from the
/// same files.
class JoinedParts {
 public:
  /// Says what keeps the part from being joined to those before it: options that differ from those
  /// of the first, or a file that had another hash. Empty if nothing does.
  std::string add(const std::string& part, const Description::Fields& options,
                  std::span<const FileHashList::value_type> files);

 private:
  std::optional<std::string> first_;
  Description::Fields options_;
  /// Hashes of files by hashes of their names, as millions of items may name files of their own.
  std::unordered_map<std::size_t, std::size_t> files_;
};

/// Hashes of files. Each file is read once while it stays unchanged. Several threads may call the
/// functions at once.
class FileHashes {
 public:
  /// Hash of a file whose content is `bytes`.
  std::string hash(const std::filesystem::path& path, std::span<const std::byte> bytes);
  /// Reads the file. Throws Error if it cannot or may not be read, or is no regular file, since a
  /// pipe might never give anything.
  std::string hash(const std::filesystem::path& path, const FileAccess& access);
  /// The first of the files that has another hash now or cannot be read; absent if there is none.
  std::optional<std::string> first_changed(std::span<const FileHashList::value_type> files,
                                           const FileAccess& access);
  /// A list of files that are read, whose hashes are these.
  Provenance provenance() {
    return Provenance([this](const std::filesystem::path& path, std::span<const std::byte> bytes) {
      return hash(path, bytes);
    });
  }

 private:
  /// Device, inode, size, and seconds and nanoseconds of the last change.
  using Identity = std::tuple<unsigned long, unsigned long, long, long, long>;

  static std::optional<Identity> identity_of(const std::filesystem::path& path);
  std::optional<std::string> find(const std::optional<Identity>& identity);
  std::string keep(const std::optional<Identity>& identity, const std::filesystem::path& path,
                   std::span<const std::byte> bytes);

  std::mutex guard_;
  std::map<Identity, std::string> known_;
};

}  // namespace attn
