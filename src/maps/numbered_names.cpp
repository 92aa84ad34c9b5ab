#include "maps/numbered_names.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "attention/attention_name.hpp"

namespace attn {
namespace {

constexpr std::string_view place = "{n}", digits = "0123456789";

}  // namespace

std::vector<NumberedName> names_of_pattern(const std::vector<std::string>& names,
                                           std::string_view pattern) {
  std::vector<NumberedName> found;
  const std::size_t at = pattern.find(place);
  if (at == pattern.npos) return found;
  const std::string_view before = pattern.substr(0, at), after = pattern.substr(at + place.size());
  for (const std::string& name : names) {
    if (name.size() <= before.size() + after.size() || !name.starts_with(before) ||
        !name.ends_with(after)) {
      continue;
    }
    const char* const end = name.data() + name.size() - after.size();
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(name.data() + before.size(), end, number);
    if (error == std::errc() && stop == end) found.push_back({name, number});
  }
  std::stable_sort(found.begin(), found.end(), [](const NumberedName& a, const NumberedName& b) {
    return a.number < b.number;
  });
  return found;
}

std::optional<std::string> pattern_of(std::string_view name) {
  const std::size_t last = name.find_last_of(digits);
  if (last == name.npos) return std::nullopt;
  const std::size_t before = name.find_last_not_of(digits, last);
  const std::size_t first = before == name.npos ? 0 : before + 1;
  return std::string(name.substr(0, first)) + std::string(place) +
         std::string(name.substr(last + 1));
}

void count_from_zero(std::vector<NumberedName>& names) {
  if (names.empty() || names.front().number != 1) return;
  if (AttentionName(names.front().name).layer() == 1) return;
  for (NumberedName& name : names) --name.number;
}

}  // namespace attn
