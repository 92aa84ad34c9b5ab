#include <bit>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "batch/input_kinds.hpp"
#include "batch/items.hpp"

namespace attn {
namespace {

// The name itself where nothing, "." or ".." would be left of it.
std::string without_extension(const std::string& name) {
  static const std::vector<std::string_view> extensions = [] {
    std::vector<std::string_view> all(std::begin(endings_of_lines), std::end(endings_of_lines));
    all.emplace_back(".json");
    return all;
  }();
  for (const std::string_view extension : extensions) {
    if (!name.ends_with(extension)) continue;
    std::string shorter = name.substr(0, name.size() - extension.size());
    const std::string last = shorter.substr(shorter.rfind('/') + 1);  // npos + 1 = 0
    return last.empty() || last == "." || last == ".." ? name : shorter;
  }
  return name;
}

bool is_summary(std::string_view name) {
  return name.starts_with("summary.") && name.ends_with(".jsonl") &&
         name.find('/') == std::string_view::npos;
}

/// A set of names, of which only hashes are stored, 8 bytes each. Two names of one hash count as
/// equal, which only makes one of them longer than necessary.
class NameSet {
 public:
  explicit NameSet(std::size_t expected) : slots_(std::bit_ceil(expected + expected / 3 + 2)) {}

  /// Adds the name. Returns false if it was there.
  bool insert(std::string_view name) {
    if (4 * (used_ + 1) > 3 * slots_.size()) grow();
    return put(std::hash<std::string_view>()(name) | 1U);
  }
  bool contains(std::string_view name) const {
    const std::uint64_t hash = std::hash<std::string_view>()(name) | 1U;
    return slots_[place_of(hash)] == hash;
  }

 private:
  // The slot of the hash, or the free slot for it.
  std::size_t place_of(std::uint64_t hash) const {
    std::size_t at = hash >> 1U & (slots_.size() - 1);
    while (slots_[at] != 0 && slots_[at] != hash) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  bool put(std::uint64_t hash) {
    std::uint64_t& slot = slots_[place_of(hash)];
    if (slot == hash) return false;
    slot = hash;
    ++used_;
    return true;
  }
  void grow() {
    const std::vector<std::uint64_t> before =
        std::exchange(slots_, std::vector<std::uint64_t>(2 * slots_.size()));
    used_ = 0;
    for (const std::uint64_t hash : before) {
      if (hash != 0) put(hash);
    }
  }

  std::vector<std::uint64_t> slots_;
  std::size_t used_ = 0;
};

}  // namespace

UnlikeNames::UnlikeNames(NameChoices choices)
    : choices_(std::move(choices)), whole_(choices_.count) {
  const std::size_t count = choices_.count;
  {  // 1. Short names; whole paths where short names are equal.
    NameSet met(count), met_again(0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = chosen(i);
      if (!met.insert(name)) met_again.insert(name);
    }
    for (std::size_t i = 0; i < count; ++i) whole_[i] = met_again.contains(chosen(i));
  }
  // 2. The folders of all names; from here on only the last part of a name changes.
  NameSet taken(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = chosen(i);
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      taken.insert(std::string_view(name).substr(0, slash));
    }
  }
  // 3. The first document with a name keeps it.
  for (std::size_t i = 0; i < count; ++i) {
    const auto is_free = [&](const std::string& name) {
      return !is_summary(name) && taken.insert(name);
    };
    if (is_free(chosen(i))) continue;
    const std::string longer = full(i);
    std::string name = longer;
    for (std::size_t number = 2; !is_free(name); ++number) {
      name = longer + "~" + std::to_string(number);
    }
    others_.emplace(i, std::move(name));
  }
}

std::string UnlikeNames::operator[](std::size_t index) const {
  const auto other = others_.find(index);
  return other == others_.end() ? chosen(index) : other->second;
}

std::string UnlikeNames::chosen(std::size_t index) const {
  return without_extension(whole_[index] ? choices_.whole(index) : choices_.below(index)) +
         choices_.line(index);
}

std::string UnlikeNames::full(std::size_t index) const {
  return (whole_[index] ? choices_.whole(index) : choices_.below(index)) + choices_.line(index);
}

}  // namespace attn
