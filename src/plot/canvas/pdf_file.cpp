#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plot/canvas/picture_files.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn::plot {
namespace {

// A text of any letters: UTF-16 after its mark, in hexadecimal digits.
std::string text_of_pdf(std::string_view text) {
  std::string digits = "<FEFF";
  const auto add = [&](char32_t unit) { digits += hexadecimal(unit, 4); };
  while (!text.empty()) {
    const Utf8Character letter = first_character(text);
    text.remove_prefix(std::max<std::size_t>(letter.bytes, 1));
    if (letter.bytes == 0) continue;
    constexpr char32_t first_beyond = 0x10000, high = 0xD800, low = 0xDC00, half = 10;
    if (letter.code < first_beyond) {
      add(letter.code);
      continue;
    }
    add(high + ((letter.code - first_beyond) >> half));
    add(low + ((letter.code - first_beyond) & ((1U << half) - 1)));
  }
  return digits + ">";
}

// Entries for an object that has a key, after it; none where the file has no such object.
struct Entries {
  std::size_t at = std::string::npos;
  std::string text;
};

// The file with entries at their places, from the first to the last, and its table of objects with
// their new places; empty where the table is of another form.
std::string with_entries(std::string_view pdf, const std::vector<Entries>& entries) {
  constexpr std::string_view name = "\nxref\n0 ", end_of_name = "\nstartxref\n";
  constexpr std::size_t row = 20, digits = 10;  // bytes of an object's row, and of its place
  const std::size_t table = pdf.rfind(name), end = pdf.rfind(end_of_name);
  if (table == pdf.npos || end == pdf.npos || end < table) return "";
  const auto moved = [&](std::size_t place) {
    std::size_t to = place;
    for (const Entries& own : entries) to += own.at < place ? own.text.size() : 0;
    return to;
  };
  std::string result;
  std::size_t from = 0;
  for (const Entries& own : entries) {
    result += pdf.substr(from, own.at - from);
    result += own.text;
    from = own.at;
  }
  const std::size_t count_at = table + name.size();
  std::size_t count = 0;
  std::from_chars(pdf.data() + count_at, pdf.data() + pdf.size(), count);
  const std::size_t rows = pdf.find('\n', count_at) + 1;
  if (count == 0 || rows + count * row > end) return "";
  result += pdf.substr(from, rows - from);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view own = pdf.substr(rows + i * row, row);
    std::size_t place = 0;
    std::from_chars(own.data(), own.data() + digits, place);
    const std::string to = std::to_string(moved(place));
    result += std::string(digits - to.size(), '0') + to;
    result += own.substr(digits);
  }
  const std::size_t after = rows + count * row;
  result += pdf.substr(after, end + end_of_name.size() - after);
  return result + std::to_string(moved(table + 1)) + "\n%%EOF\n";
}

}  // namespace

std::string tagged_pdf(std::string pdf, const std::string& alternative) {
  // Both objects stand after all streams.
  const auto after = [&](std::string_view key) {
    const std::size_t at = pdf.rfind(key);
    return at == pdf.npos ? at : at + key.size();
  };
  std::vector<Entries> entries;
  if (!alternative.empty())
    entries.push_back(
        {after("/S /" + std::string(figure_tag)), "\n   /Alt " + text_of_pdf(alternative)});
  const bool marked = pdf.rfind("/MarkInfo") != pdf.npos;
  entries.push_back(
      {after("/Type /Catalog"), "\n   /Lang (" + translated("en") + ")" +
                                    (marked ? "" : "\n   /MarkInfo << /Marked true >>") +
                                    "\n   /ViewerPreferences << /DisplayDocTitle true >>"});
  std::ranges::sort(entries, {}, &Entries::at);
  if (entries.back().at == pdf.npos) return pdf;
  std::string result = with_entries(pdf, entries);
  return result.empty() ? pdf : result;
}

}  // namespace attn::plot
