#include "support/errors.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {

namespace {

// Names in errors are shortened one by one. This is for those that are not, and for long lists.
std::string limited(std::string text) {
  constexpr std::size_t most_bytes = 20'000;
  if (text.size() <= most_bytes) return text;
  std::size_t end = most_bytes;
  while (end > 0 && continues_character(text[end])) --end;
  text.resize(end);
  return std::move(text) + "…";
}

// Escapes everything but the line breaks before lines that are set in by four spaces: a quoted text
// and a mark below it.
std::string printable_lines(const std::string& text) {
  constexpr std::string_view quoted = "\n    ";
  std::string result;
  std::size_t at = 0;
  for (std::size_t end = text.find(quoted); end != std::string::npos; end = text.find(quoted, at)) {
    result += printable(std::string_view(text).substr(at, end - at));
    result += quoted;
    at = end + quoted.size();
  }
  return result + printable(std::string_view(text).substr(at));
}

}  // namespace

Error::Error(ErrorKind kind, std::string problem, std::string where, std::string help)
    : kind_(kind),
      problem_(limited(std::move(problem))),
      where_(limited(std::move(where))),
      help_(limited(std::move(help))) {
  // The parts may quote documents from anywhere.
  text_ = printable_lines(problem_);
  if (!where_.empty()) text_ += translated("\n  where: {1}", printable(where_));
  if (!help_.empty()) text_ += translated("\n  help:  {1}", printable(help_));
}

Error Error::inside(const std::string& container) const {
  return Error(kind_, problem_, where_.empty() ? container : container + ", " + where_, help_);
}

Error input_error(std::string problem, std::string where, std::string help) {
  return Error(ErrorKind::input, std::move(problem), std::move(where), std::move(help));
}

namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Optimal string alignment distance (Damerau 1964, no substring edited twice) by dynamic
// programming over three rows.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // Longer names are no typing errors, and the distance takes quadratic time.
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return {};
  std::string_view best;
  std::size_t fewest = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t edits = edit_distance(name, candidate);
    if (edits <= std::max<std::size_t>(2, std::max(name.size(), candidate.size()) / 3) &&
        edits < std::max(name.size(), candidate.size()) && (best.empty() || edits < fewest)) {
      best = candidate;
      fewest = edits;
    }
  }
  if (!best.empty()) return best;
  // The beginning of one name alone stands for it.
  constexpr std::size_t fewest_letters = 3;
  const auto begins = [&](std::string_view candidate) { return candidate.starts_with(name); };
  if (name.size() < fewest_letters || std::ranges::count_if(candidates, begins) != 1) return {};
  return *std::ranges::find_if(candidates, begins);
}

std::string suggestion(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view best = nearest_name(name, candidates);
  if (!best.empty()) return translated("did you mean \"{1}\"?", best);
  constexpr std::size_t most_listed = 50;
  const std::size_t listed = std::min(candidates.size(), most_listed);
  std::string known;
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) known += ", ";
    known += shown_name(candidates[i]);
  }
  if (listed < candidates.size()) known += translated(" and {1} more", candidates.size() - listed);
  return translated("known: {1}", known);
}

}  // namespace attn
