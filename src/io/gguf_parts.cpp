#include "io/gguf_parts.hpp"

#include <algorithm>
#include <string>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {
namespace {

// "-00002-of-00003.gguf": numbers from 1, with five digits.
std::string ending(std::size_t number, std::size_t count) {
  const auto digits = [](std::size_t of) {
    const std::string text = std::to_string(of);
    return std::string(5 - std::min<std::size_t>(5, text.size()), '0') + text;
  };
  return "-" + digits(number) + "-of-" + digits(count) + ".gguf";
}

}  // namespace

std::vector<std::filesystem::path> later_gguf_parts(const std::filesystem::path& first,
                                                    const Gguf& read) {
  const double given = read.number("split.count").value_or(1);
  std::vector<std::filesystem::path> parts;
  if (!(given > 1) || read.number("split.no").value_or(0) != 0) return parts;
  constexpr double most = 65'535;
  const auto count = static_cast<std::size_t>(std::min(given, most));
  const std::string name = first.filename().string(), own = ending(1, count);
  if (!name.ends_with(own)) {
    throw input_error(
        translated("the file is the first of {1} parts, but its name does not say so", count),
        "split.count",
        translated("give the parts the names that they were downloaded under, …{1}", own));
  }
  const std::string stem = name.substr(0, name.size() - own.size());
  for (std::size_t n = 2; n <= count; ++n) {
    parts.push_back(first.parent_path() / (stem + ending(n, count)));
  }
  return parts;
}

}  // namespace attn
