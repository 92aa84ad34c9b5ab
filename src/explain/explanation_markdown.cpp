#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "explain/explanation.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t most_columns = 10, first_columns = 6, last_columns = 2;
constexpr std::size_t most_terms = 12, first_terms = 6, last_terms = 2;

bool is_letter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80;
}

// Whether brackets would be read as links, notes or boxes.
bool brackets_matter(std::string_view text) {
  constexpr std::array<std::string_view, 8> signs{"](", "][", "]:", "[[", "[^", "[ ]", "[x]", "[!"};
  return std::any_of(signs.begin(), signs.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

// Text with nothing in it that Markdown would read as more than text. An underscore inside a word
// is none of that.
std::string plain(std::string_view text) {
  constexpr std::string_view special = "\\`*<>|$&~#";
  const bool brackets = brackets_matter(text);
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool inside_word =
        i > 0 && i + 1 < text.size() && is_letter(text[i - 1]) && is_letter(text[i + 1]);
    if (special.find(c) != std::string_view::npos || (c == '_' && !inside_word) ||
        (brackets && (c == '[' || c == ']'))) {
      result += '\\';
    }
    result += c;
  }
  return result;
}

// Escapes the beginning of a line, where a sign could begin a list.
std::string plain_line(std::string_view text) {
  const bool mark =
      !text.empty() && std::string_view("-+=").find(text[0]) != std::string_view::npos;
  std::string result = (mark ? "\\" : "") + plain(text);
  const std::size_t digits = result.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && (result[digits] == '.' || result[digits] == ')'))
    result.insert(digits, "\\");
  return result;
}

class MarkdownWriter {
 public:
  explicit MarkdownWriter(bool full) : full_(full) {}

  void heading(std::size_t level, const std::string& title) {
    if (!text.empty()) text += '\n';
    text += std::string(level, '#') + " " + plain(title) + "\n";
    after_item_ = false;
  }

  void put(const Explanation::Block& block) {
    const bool item = std::holds_alternative<Explanation::Item>(block);
    if (!(item && after_item_)) text += '\n';
    after_item_ = item;
    std::visit([this](const auto& b) { set(b); }, block);
  }

  std::string text;

 private:
  void set(const Explanation::Paragraph& paragraph) { text += plain_line(paragraph.text) + "\n"; }
  void set(const Explanation::Item& item) { text += "- " + plain_line(item.text) + "\n"; }
  void set(const Explanation::Formula& formula) { text += "$$\n" + formula.latex + "\n$$\n"; }

  void row(const std::vector<std::string>& cells) {
    text += '|';
    for (const std::string& cell : cells) text += " " + plain(cell) + " |";
    text += '\n';
  }

  template <class Row>
  void rows(const Excerpt& excerpt, const RowNoun& noun, std::size_t width, Row&& put_row) {
    const auto skip = [&](std::size_t count) {
      if (count == 0) return;
      std::vector<std::string> cells(width);
      cells[0] = left_out(count, noun);
      row(cells);
    };
    for (std::size_t n = 0; n < excerpt.indices().size(); ++n) {
      skip(excerpt.skipped_before(n));
      put_row(n);
    }
    skip(excerpt.skipped_before(excerpt.indices().size()));
  }

  void set(const Explanation::Table& table) {
    const auto cells = [&](const auto& cell_of) {
      std::vector<std::string> result;
      for (const Explanation::Column& column : table.columns) result.push_back(cell_of(column));
      return result;
    };
    row(cells([](const Explanation::Column& column) { return column.header; }));
    text += '|';
    for (const Explanation::Column& column : table.columns)
      text += column.number ? " ---: |" : " --- |";
    text += '\n';
    rows(table.rows, table.noun, table.columns.size(), [&](std::size_t n) {
      row(cells([n](const Explanation::Column& column) { return column.cells[n]; }));
    });
    const auto totals = cells([](const Explanation::Column& column) { return column.total; });
    if (std::any_of(totals.begin(), totals.end(), [](const auto& total) { return !total.empty(); }))
      row(totals);
  }

  void set(const Explanation::Vectors& block) {
    if (block.vectors.empty()) return;
    std::vector<double> numbers;
    for (const Explanation::Vectors::Row& vector : block.vectors)
      numbers.insert(numbers.end(), vector.values.begin(), vector.values.end());
    const std::vector<std::string> texts = shown_column(numbers);
    const std::size_t size = block.vectors[0].values.size();
    const Excerpt shown =
        full_ ? Excerpt::all(size) : Excerpt(size, most_columns, first_columns, last_columns);
    const auto cells = [&](const std::string& name, bool header, const auto& cell_of) {
      std::vector<std::string> result{name};
      for (std::size_t n = 0; n < shown.indices().size(); ++n) {
        if (const std::size_t skipped = shown.skipped_before(n); skipped > 0)
          result.push_back(header ? left_out(skipped) : "…");
        result.push_back(cell_of(shown.indices()[n]));
      }
      return result;
    };
    const auto header =
        cells("", true, [](std::size_t i) { return "[" + std::to_string(i) + "]"; });
    row(header);
    text += "| --- |";
    for (std::size_t i = 1; i < header.size(); ++i) text += " ---: |";
    text += '\n';
    rows(block.rows, block.noun, header.size(), [&](std::size_t n) {
      row(cells(block.vectors[n].name, false, [&](std::size_t i) { return texts[n * size + i]; }));
    });
  }

  void set(const Explanation::Sums& block) {
    row({"", translated("terms"), translated("sum")});
    text += "| --- | --- | ---: |\n";
    rows(block.rows, block.noun, 3, [&](std::size_t n) {
      const Explanation::Sum& sum = block.sums[n];
      const Excerpt shown = full_ ? Excerpt::all(sum.terms.size())
                                  : Excerpt(sum.terms.size(), most_terms, first_terms, last_terms);
      std::string terms;
      for (std::size_t t = 0; t < shown.indices().size(); ++t) {
        if (const std::size_t skipped = shown.skipped_before(t); skipped > 0)
          terms += " " + translated_count(skipped, "+ … {1} more term …", "+ … {1} more terms …");
        const Explanation::Term& term = sum.terms[shown.indices()[t]];
        terms += terms.empty() ? (term.negative ? "-" : "") : term.negative ? " - " : " + ";
        terms += term.text;
      }
      row({sum.name, terms.empty() ? "0" : terms, (sum.rounded ? "≈ " : "") + sum.total});
    });
  }

  bool full_;
  bool after_item_ = false;
};

}  // namespace

std::string explanation_markdown(const Explanation& explanation) {
  MarkdownWriter writer(explanation.full);
  writer.heading(1, explanation.title);
  for (const Explanation::Block& block : explanation.introduction) writer.put(block);
  std::size_t number = 0;
  const bool parts = std::any_of(explanation.steps.begin(), explanation.steps.end(),
                                 [](const auto& step) { return !step.part.empty(); });
  for (const Explanation::Step& step : explanation.steps) {
    if (!step.part.empty()) writer.heading(2, step.part);
    writer.heading(parts ? 3 : 2, std::to_string(++number) + ". " + step.title);
    for (const Explanation::Block& block : step.blocks) writer.put(block);
  }
  return writer.text;
}

}  // namespace attn
