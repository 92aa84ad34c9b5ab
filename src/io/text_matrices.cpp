#include "io/text_matrices.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>
#include <utility>

#include <fast_float/fast_float.h>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

constexpr std::string_view blanks = " \t\f\v", bar = "|||", end_of_sentence = "</s>";
constexpr char any_blanks = ' ';  // the separator that stands for any number of them

std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(first);
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

// The number that a field is; absent for other texts. Decimals stand behind a comma where commas do
// not separate.
std::optional<double> number_in(std::string_view field, char separator) {
  field = trimmed(field);
  if (field.starts_with('+')) field.remove_prefix(1);
  if (field == "NA") return std::numeric_limits<double>::quiet_NaN();
  double number = 0;
  const char* const end = field.data() + field.size();
  const auto read = fast_float::from_chars(field.data(), end, number);
  if (!field.empty() && read.ec == std::errc() && read.ptr == end) return number;
  const std::size_t comma = field.find(',');
  if (separator == ',' || comma == field.npos || field.size() > 64) return std::nullopt;
  std::string with_point(field);
  with_point[comma] = '.';
  return number_in(with_point, ',');
}

// Fields of a line. Those in double quotes may hold the separator, and quotes that are doubled.
std::vector<std::string> fields_of(std::string_view line, char separator) {
  std::vector<std::string> fields;
  const bool by_blanks = separator == any_blanks;
  if (by_blanks) line = trimmed(line);
  const auto ends_field = [&](std::size_t at) {
    return at >= line.size() ||
           (by_blanks ? blanks.find(line[at]) != blanks.npos : line[at] == separator);
  };
  for (std::size_t at = 0; at <= line.size();) {
    std::string field;
    std::size_t end = at;
    if (at < line.size() && line[at] == '"') {
      std::size_t i = at + 1;
      for (; i < line.size(); ++i) {
        if (line[i] == '"' && (i + 1 == line.size() || line[i + 1] != '"')) break;
        if (line[i] == '"') ++i;
        field += line[i];
      }
      // A quote that nothing closes is a character.
      if (i < line.size() && ends_field(i + 1)) end = i + 1;
    }
    if (end == at) {
      while (!ends_field(end)) ++end;
      field = trimmed(line.substr(at, end - at));
    }
    fields.push_back(std::move(field));
    at = end + 1;
    while (by_blanks && at < line.size() && blanks.find(line[at]) != blanks.npos) ++at;
  }
  return fields;
}

// The separator that makes most numbers of the lines.
char separator_of(std::initializer_list<std::string_view> lines) {
  char best = any_blanks;
  std::ptrdiff_t most = -1;
  for (const char separator : {'\t', ';', ',', any_blanks}) {
    std::ptrdiff_t numbers = 0;
    bool separates = separator == any_blanks;
    for (const std::string_view line : lines) {
      const std::vector<std::string> fields = fields_of(line, separator);
      separates = separates || fields.size() > 1;
      numbers += std::ranges::count_if(fields, [&](const std::string& field) {
        return number_in(field, separator).has_value();
      });
    }
    if (separates && numbers > most) {
      most = numbers;
      best = separator;
    }
  }
  return best;
}

bool is_comment(std::string_view line) {
  return line.starts_with('#') || line.starts_with('%');
}

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> words;
  if (trimmed(sentence).empty()) return words;
  // Quotes are words here.
  for (std::size_t at = sentence.find_first_not_of(blanks); at != sentence.npos;) {
    const std::size_t end = std::min(sentence.find_first_of(blanks, at), sentence.size());
    words.emplace_back(sentence.substr(at, end - at));
    at = sentence.find_first_not_of(blanks, end);
  }
  return words;
}

std::vector<std::string_view> parts_between_bars(std::string_view line) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(bar, at), line.size());
    parts.push_back(trimmed(line.substr(at, end - at)));
    at = end + bar.size();
  }
  return parts;
}

// Whether Marian wrote the text: rows with blanks between them, of numbers with commas.
bool is_soft_alignment(std::string_view text) {
  const std::vector<std::string> rows = words_of(text);
  return !rows.empty() && std::ranges::all_of(rows, [](const std::string& row) {
    const std::vector<std::string> numbers = fields_of(row, ',');
    return std::ranges::all_of(numbers,
                               [](const auto& field) { return number_in(field, ',').has_value(); });
  }) && text.find('.') != text.npos;
}

}  // namespace

/// Reads a text matrix by matrix.
class TextMatrixReader {
 public:
  TextMatrixReader(TextMatrices& to, const Limits& limits) : to_(to), limits_(limits) {}

  void read(std::string_view text) {
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    constexpr std::size_t often = 1 << 12;
    for (std::size_t number = 1; !text.empty(); ++number) {
      if (number % often == 0) check_time();
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      take({line, number});
    }
    finish();
    if (to_.names_.size() == 1 && !named_) to_.names_[0].clear();
  }

 private:
  struct Line {
    std::string_view text;
    std::size_t number;
  };
  // A matrix before its numbers are read.
  struct Block {
    std::vector<Line> lines;
    std::optional<Line> comment;  // the last one before the first row
    std::string name;
    std::vector<std::string> rows, columns;  // sentences
  };

  void take(const Line& line) {
    if (trimmed(line.text).empty()) {
      finish();
    } else if (line.text.find(bar) != line.text.npos) {
      finish();
      take_alignment(line);
    } else if (!is_comment(line.text)) {
      block_.lines.push_back(line);
    } else if (block_.lines.empty()) {
      block_.comment = line;
    } else if (number_of_first_word(line.text)) {
      block_.lines.push_back(line);  // a row whose label is such a character
    }
  }

  static bool number_of_first_word(std::string_view line) {
    const std::vector<std::string> fields = fields_of(line, separator_of({line}));
    return fields.size() > 1 && number_in(fields[1], any_blanks).has_value();
  }

  void take_alignment(const Line& line) {
    const std::vector<std::string_view> parts = parts_between_bars(line.text);
    const bool numbered = !parts[0].empty() && parts.size() > 2 &&
                          parts[0].find_first_not_of("0123456789") == std::string_view::npos;
    if (numbered) block_.name = parts[0];
    const auto soft = std::ranges::find_if(parts, is_soft_alignment);
    if (soft == parts.end() || soft == parts.begin()) {
      block_.rows = words_of(parts[std::min<std::size_t>(1, parts.size() - 1)]);
      if (parts.size() > 3) block_.columns = words_of(parts[3]);
      return;
    }
    block_.rows = words_of(parts[numbered ? 1 : 0]);
    std::vector<double> numbers;
    std::size_t columns = 0;
    for (const std::string& row : words_of(*soft)) {
      add_row(fields_of(row, ','), 0, ',', line, columns, numbers);
    }
    add(std::move(numbers), columns, {}, {});
  }

  [[noreturn]] static void refuse(const std::string& problem, const Line& line,
                                  const std::string& help) {
    throw input_error(problem, line_place(line.number), help);
  }

  void add_row(const std::vector<std::string>& fields, std::size_t first, char separator,
               const Line& line, std::size_t& columns, std::vector<double>& numbers) const {
    const std::size_t count = fields.size() - first;
    if (columns == 0) columns = count;
    if (count != columns) {
      refuse(translated("a row has {1}, but the first has {2}",
                        translated_count(count, "{1} number", "{1} numbers"), columns),
             line, translated("give all rows one length, and empty lines between matrices"));
    }
    for (std::size_t i = first; i < fields.size(); ++i) {
      const std::optional<double> number = number_in(fields[i], separator);
      if (!number && !fields[i].empty()) {
        refuse(translated("{1} is not a number", in_quotes(fields[i])), line,
               translated("labels stand in the first row and the first column"));
      }
      numbers.push_back(number.value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    check_element_limit(numbers.size(), limits_.elements, "");
  }

  // Whether texts count columns: 0, 1, 2…
  static bool counts(const std::vector<std::string>& fields, std::size_t first) {
    for (std::size_t i = first; i < fields.size(); ++i) {
      if (fields[i] != std::to_string(i - first)) return false;
    }
    return fields.size() > first + 2;
  }

  // Whether the first row names the columns.
  static bool is_header(const std::vector<std::string>& fields, char separator,
                        const std::vector<std::string>* next) {
    const auto is_text = [&](const std::string& field) {
      return !field.empty() && !number_in(field, separator);
    };
    if (std::any_of(fields.begin() + 1, fields.end(), is_text)) return true;
    if (next == nullptr) return false;
    const bool corner = fields[0].empty() || is_text(fields[0]);
    // A first row that is one short names the columns: by words, by counting, or above words.
    if (next->size() == fields.size() + 1 &&
        (is_text(fields[0]) || is_text((*next)[0]) || counts(fields, 0))) {
      return true;
    }
    if (fields.size() == 1 && is_text(fields[0])) return true;
    if (corner && separator != any_blanks && fields[0].empty()) return true;
    const bool fractions = std::any_of(next->begin(), next->end(), [](const std::string& field) {
      return field.find('.') != field.npos;
    });
    if (corner)
      return counts(fields, 1) || (number_in((*next)[0], separator) && !is_text((*next)[0]));
    return fractions && counts(fields, 0);
  }

  // Takes a table of indices and weights below this header; returns whether it is one.
  bool take_indexed(const std::vector<Line>& lines, char separator,
                    const std::vector<std::string>& header) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 1; i < lines.size(); ++i)
      rows.push_back(fields_of(lines[i].text, separator));
    std::optional<Tensor> maps = indexed_table(header, rows, limits_);
    if (!maps) return false;
    const Shape shape = maps->shape();
    const auto numbers = maps->values<double>();
    add({numbers.begin(), numbers.end()}, shape.back(), {}, {});
    to_.tensors_.back() = to_.tensors_.back().reshaped(shape);
    return true;
  }

  // Whether the first column counts the rows and the others sum to 1, as data frames are written.
  static bool is_counted(const std::vector<Line>& lines, std::size_t begin, char separator) {
    std::optional<std::size_t> start;
    for (std::size_t i = begin; i < lines.size(); ++i) {
      const std::vector<std::string> fields = fields_of(lines[i].text, separator);
      std::size_t number = 0;
      if (fields.size() < 3 || !parse_number(fields[0], number)) return false;
      if (!start) start = number;
      if (*start > 1 || number != *start + i - begin) return false;
      double sum = 0;
      for (std::size_t j = 1; j < fields.size(); ++j)
        sum += number_in(fields[j], separator).value_or(0);
      constexpr double most_rounding = 0.01;
      if (std::abs(sum - 1) > most_rounding) return false;
    }
    return lines.size() > begin + 1;
  }

  // Reads the lines of the matrix that ends here, if there are any.
  void finish() {
    Block& block = block_;
    if (block.lines.empty()) {
      if (block.name.empty() && block.rows.empty()) block_ = {};
      return;
    }
    std::vector<Line> lines = std::exchange(block.lines, {});
    const char separator =
        separator_of({lines[0].text, lines[std::min<std::size_t>(1, lines.size() - 1)].text});
    const std::vector<std::string> first = fields_of(lines[0].text, separator);
    std::optional<std::vector<std::string>> next;
    if (lines.size() > 1) next = fields_of(lines[1].text, separator);
    const bool sentences = !block.rows.empty();
    const bool header = !sentences && is_header(first, separator, next ? &*next : nullptr);
    const std::size_t begin = header ? 1 : 0;
    // A separator at the end of each row ends no field.
    bool open_end = separator != any_blanks, words = false;
    for (std::size_t i = begin; i < lines.size(); ++i) {
      const std::vector<std::string> fields = fields_of(lines[i].text, separator);
      open_end = open_end && fields.size() > 1 && fields.back().empty();
      words =
          words || (fields.size() > 1 && !fields[0].empty() && !number_in(fields[0], separator));
    }
    const std::size_t width = next ? next->size() - (open_end ? 1 : 0) : first.size();
    const bool named_rows =
        !sentences &&
        (words || (header && next && (first[0].empty() || first.size() + 1 == width)));
    if (header && take_indexed(lines, separator, first)) return;
    const bool counted = !named_rows && is_counted(lines, begin, separator);
    std::vector<double> numbers;
    std::vector<std::string> rows, columns_named;
    std::size_t columns = 0;
    for (std::size_t i = begin; i < lines.size(); ++i) {
      std::vector<std::string> fields = fields_of(lines[i].text, separator);
      if (open_end) fields.pop_back();
      if (counted) {
        rows.push_back(fields[0]);
        fields.erase(fields.begin());
      }
      if (named_rows) rows.push_back(fields[0]);
      if (fields.size() == (named_rows ? 1U : 0U)) {
        refuse(translated("a row has no numbers"), lines[i], translated("complete the row"));
      }
      add_row(fields, named_rows ? 1 : 0, separator, lines[i], columns, numbers);
    }
    if (header) {
      columns_named = first;
      if (open_end && columns_named.size() > columns && columns_named.back().empty())
        columns_named.pop_back();
      if (columns_named.size() == columns + 1) columns_named.erase(columns_named.begin());
    } else if (block.comment) {
      columns_named = fields_of(block.comment->text.substr(1), separator);
    }
    if (numbers.empty() && is_report(lines[0].text)) {
      refuse(translated("this is a report, not a result"), lines[0],
             translated("read the result.json of that run instead"));
    }
    if (numbers.empty()) {
      refuse(translated("there are no numbers below the first row"), lines[0],
             translated("give one row of numbers per line"));
    }
    add(std::move(numbers), columns, std::move(rows), std::move(columns_named));
  }

  // Whether a line is the first of what attn-cli run prints: "self attention, float32, of d.json".
  static bool is_report(std::string_view line) {
    constexpr std::string_view types[]{", float32, of ", ", float64, of ", ", float16, of ",
                                       ", bfloat16, of "};
    return std::ranges::any_of(types, [&](auto type) { return line.find(type) != line.npos; });
  }

  // Words of a sentence fit with or without its end.
  static std::vector<std::string> fitting(std::vector<std::string> words, std::size_t count) {
    if (words.size() + 1 == count) words.emplace_back(end_of_sentence);
    if (words.size() != count) words.clear();
    for (std::string& word : words) word = printable(word);
    return words;
  }

  void add(std::vector<double> numbers, std::size_t columns, std::vector<std::string> rows,
           std::vector<std::string> columns_named) {
    const std::size_t count = numbers.size() / columns;
    const Block block = std::exchange(block_, {});
    std::string name = block.name.empty() ? std::to_string(to_.names_.size()) : block.name;
    // Numbers of sentences repeat in lists of the best translations.
    if (!taken_.insert(name).second) name += "-" + std::to_string(to_.names_.size());
    named_ = named_ || !block.name.empty();
    const auto add_texts = [&](const char* side, std::vector<std::string> texts, bool sentence,
                               std::size_t size) {
      if (sentence) {
        texts = fitting(std::move(texts), size);
      } else if (texts.size() != size) {
        texts.clear();
      }
      if (texts.empty()) return;
      std::vector<std::vector<std::string>> lists(1, std::move(texts));
      to_.others_.push_back(
          {name + "." + side, translated("texts"), [lists = std::move(lists)] { return lists; }});
    };
    add_texts("rows", block.rows.empty() ? std::move(rows) : block.rows, !block.rows.empty(),
              count);
    add_texts("columns", block.columns.empty() ? std::move(columns_named) : block.columns,
              !block.columns.empty(), columns);
    to_.names_.push_back(name + ".weights");
    to_.tensors_.emplace_back(Shape{count, columns}, std::move(numbers));
    constexpr std::size_t most_matrices = 100'000;
    if (to_.names_.size() > most_matrices) {
      throw input_error(translated("the text holds more than {1} matrices", most_matrices), "", "");
    }
  }

  TextMatrices& to_;
  const Limits& limits_;
  Block block_;
  std::set<std::string> taken_;
  bool named_ = false;
};

bool looks_like_text_matrix(std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  constexpr std::size_t most_looked_at = 1 << 16, most_lines = 16;
  const std::string_view start = text.substr(0, most_looked_at);
  for (const char c : start) {
    const auto u = static_cast<unsigned char>(c);
    if ((u < 0x20 && c != '\n' && c != '\r' && c != '\t' && c != '\f') || u == 0x7F) return false;
  }
  text = start;
  for (std::size_t i = 0; i < most_lines && !text.empty(); ++i) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (trimmed(line).empty() || is_comment(line)) continue;
    if (line.find(bar) != line.npos) {
      const std::vector<std::string_view> parts = parts_between_bars(line);
      if (parts.size() > 3 || std::ranges::any_of(parts, is_soft_alignment)) return true;
    }
    const char separator = separator_of({line});
    const std::vector<std::string> fields = fields_of(line, separator);
    const bool whole = line.size() < most_looked_at;
    const auto is_number = [&](const std::string& field) {
      return field.empty() || number_in(field, separator).has_value();
    };
    const bool first = number_in(fields[0], separator).has_value();
    if ((first || fields.size() > 1) &&
        std::all_of(fields.begin() + 1, fields.end() - (whole ? 0 : 1), is_number) &&
        (first || (fields.size() > 2 && number_in(fields[1], separator)))) {
      return true;
    }
  }
  return false;
}

TextMatrices::TextMatrices(std::span<const std::byte> bytes, std::shared_ptr<const void> /*owner*/,
                           const Limits& limits) {
  TextMatrixReader(*this, limits).read({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace attn
