#include <algorithm>
#include <string_view>

#include "explain/explanation.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

using Strings = std::vector<std::string>;

constexpr std::size_t columns = 80;
constexpr std::size_t most_lines_of_a_sum = 3, lines_of_a_shortened_sum = 2;

constexpr std::string_view no_break_space = "\u00a0";

// Punctuation that must not begin a line of Chinese text.
bool closes(std::string_view character) {
  constexpr std::string_view closing[]{"，", "。", "；", "：", "、", "！",
                                       "？", "）", "”",  "》", "」"};
  return std::find(std::begin(closing), std::end(closing), character) != std::end(closing);
}

std::string_view first_of(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(utf8_length(text), 1));
}

// Where a line of Chinese text may end: behind each wide character and before it, but not before
// what closes a phrase.
Strings breakable(std::string_view word) {
  Strings pieces;
  bool wide_before = true;
  while (!word.empty()) {
    const std::string_view character = first_of(word);
    const bool wide = display_width(character) > 1;
    if (pieces.empty() || ((wide || wide_before) && !closes(character))) pieces.emplace_back();
    pieces.back() += character;
    wide_before = wide;
    word.remove_prefix(character.size());
  }
  return pieces;
}

// Whether it is a sentence of a language without spaces; a label alone is none.
bool without_spaces(const Strings& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    const Strings pieces = breakable(word);
    return std::any_of(pieces.begin(), pieces.end(), [](const std::string& piece) {
      return piece.size() > first_of(piece).size() && display_width(first_of(piece)) > 1;
    });
  });
}

// Lines of at most `width` columns, which break inside the words of a language without spaces, and
// where a word or piece is wider than a line.
Strings wrapped(const Strings& words, std::size_t width) {
  const bool inside_words = without_spaces(words);
  Strings lines(1);
  std::size_t used = 0;
  const auto begin_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  for (const std::string& word : words) {
    bool first = true;
    for (const std::string& piece : inside_words ? breakable(word) : Strings{word}) {
      const std::size_t needed = display_width(piece), gap = first && used > 0 ? 1 : 0;
      if (used > 0 && used + gap + needed > width) {
        begin_line();
      } else if (gap > 0) {
        lines.back() += ' ';
        ++used;
      }
      for (std::string_view rest = piece; !rest.empty();) {
        const std::string_view character = first_of(rest);
        const std::size_t wide = display_width(character);
        if (used > 0 && used + wide > width) begin_line();
        lines.back() += character == no_break_space ? " " : character;
        used += wide;
        rest.remove_prefix(character.size());
      }
      first = false;
    }
  }
  return lines;
}

Strings words_of(const std::string& text) {
  Strings words(1);
  for (const char c : text) {
    if (c != ' ') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

class TextWriter {
 public:
  TextWriter(std::size_t margin, bool full) : margin_(margin, ' '), full_(full) {}

  // Blocks are apart by an empty line, entries of one list not.
  void put(const Explanation::Block& block) {
    const bool item = std::holds_alternative<Explanation::Item>(block);
    if (!text.empty() && !(item && after_item_)) text += '\n';
    after_item_ = item;
    std::visit([this](const auto& b) { set(b); }, block);
  }

  std::string text;

 private:
  std::size_t width() const { return columns - margin_.size(); }

  void line(const std::string& content) {
    text += margin_ + content;
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }

  // The words after `head`; further lines begin below the first word.
  void hanging(const std::string& head, const Strings& words) {
    const std::size_t begin = display_width(head);
    const Strings lines = wrapped(words, width() - begin);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      line((i == 0 ? head : std::string(begin, ' ')) + lines[i]);
    }
  }

  void set(const Explanation::Paragraph& paragraph) { hanging("", words_of(paragraph.text)); }
  void set(const Explanation::Item& item) { hanging("- ", words_of(item.text)); }
  void set(const Explanation::Formula& formula) { hanging("  ", words_of(formula.text)); }

  template <class Row>
  void rows(const Excerpt& excerpt, const RowNoun& noun, Row&& row) {
    for (std::size_t n = 0; n < excerpt.indices().size(); ++n) {
      skip(excerpt.skipped_before(n), noun);
      row(n);
    }
    skip(excerpt.skipped_before(excerpt.indices().size()), noun);
  }

  void skip(std::size_t count, const RowNoun& noun) {
    if (count > 0) line(left_out(count, noun));
  }

  void set(const Explanation::Table& table) {
    std::vector<std::size_t> widths;
    bool totals = false;
    for (const Explanation::Column& column : table.columns) {
      std::size_t widest = std::max(display_width(column.header), display_width(column.total));
      for (const std::string& cell : column.cells) widest = std::max(widest, display_width(cell));
      widths.push_back(widest);
      totals = totals || !column.total.empty();
    }
    const auto put_row = [&](const auto& cell_of) {
      std::string head;
      for (std::size_t c = 0; c + 1 < table.columns.size(); ++c) {
        const std::string cell = cell_of(table.columns[c]);
        head += (table.columns[c].number ? padded_left(cell, widths[c])
                                         : padded_right(cell, widths[c])) +
                "  ";
      }
      const std::string last = cell_of(table.columns.back());
      hanging(head, table.columns.back().number ? Strings{padded_left(last, widths.back())}
                                                : words_of(last));
    };
    put_row([](const Explanation::Column& column) { return column.header; });
    rows(table.rows, table.noun, [&](std::size_t n) {
      put_row([n](const Explanation::Column& column) { return column.cells[n]; });
    });
    if (totals) put_row([](const Explanation::Column& column) { return column.total; });
  }

  void set(const Explanation::Vectors& block) {
    if (block.vectors.empty()) return;
    // 1. All numbers alike, and the names before them.
    std::vector<double> numbers;
    std::size_t name_width = 0;
    for (const Explanation::Vectors::Row& row : block.vectors) {
      numbers.insert(numbers.end(), row.values.begin(), row.values.end());
      name_width = std::max(name_width, display_width(row.name));
    }
    const Strings cells = shown_column(numbers);
    const std::size_t size = block.vectors[0].values.size();
    std::size_t cell_width = std::to_string(size - 1).size() + 2;
    for (const std::string& cell : cells) cell_width = std::max(cell_width, display_width(cell));
    // 2. As many components as fit; all of them take several lines.
    const std::size_t room = width() - name_width;
    Excerpt shown = Excerpt::all(size);
    std::string gap;
    const bool fits = size * (cell_width + 2) <= room;
    if (full_ && !fits) {
      const std::size_t a_line =
          room > cell_width + 2 ? std::max<std::size_t>(room / (cell_width + 2), 1) : 1;
      for (std::size_t first = 0; first < size; first += a_line) {
        put_components(block, cells, name_width, cell_width, first, std::min(first + a_line, size));
      }
      return;
    }
    if (!fits) {
      const std::size_t gap_width = display_width(left_out(size)) + 2;
      const std::size_t fitting =
          room > gap_width ? std::max<std::size_t>((room - gap_width) / (cell_width + 2), 1) : 1;
      const std::size_t last = fitting > 1 ? std::max<std::size_t>(fitting / 3, 1) : 0;
      shown = Excerpt(size, fitting, fitting - last, last);
      gap = left_out(size - shown.indices().size());
    }
    // 3. A header of indices, then a line each.
    const auto put_row = [&](const std::string& name, const std::string& between,
                             const auto& cell_of) {
      std::string content = padded_right(name, name_width);
      const std::size_t gap_width = display_width(gap);
      for (std::size_t n = 0; n <= shown.indices().size(); ++n) {
        if (shown.skipped_before(n) > 0) {
          const std::size_t before = (gap_width - display_width(between)) / 2;
          content += "  " + padded_right(std::string(before, ' ') + between, gap_width);
        }
        if (n < shown.indices().size())
          content += "  " + padded_left(cell_of(shown.indices()[n]), cell_width);
      }
      line(content);
    };
    put_row("", gap, [](std::size_t i) { return "[" + std::to_string(i) + "]"; });
    rows(block.rows, block.noun, [&](std::size_t n) {
      put_row(block.vectors[n].name, gap.empty() ? "" : "…",
              [&](std::size_t i) { return cells[n * size + i]; });
    });
  }

  // A header of indices and a line each, of some of the components.
  void put_components(const Explanation::Vectors& block, const Strings& cells,
                      std::size_t name_width, std::size_t cell_width, std::size_t first,
                      std::size_t end) {
    if (first > 0) text += '\n';
    const auto put_row = [&](const std::string& name, const auto& cell_of) {
      std::string content = padded_right(name, name_width);
      for (std::size_t i = first; i < end; ++i)
        content += "  " + padded_left(cell_of(i), cell_width);
      line(content);
    };
    put_row("", [](std::size_t i) { return "[" + std::to_string(i) + "]"; });
    const std::size_t size = block.vectors[0].values.size();
    rows(block.rows, block.noun, [&](std::size_t n) {
      put_row(block.vectors[n].name, [&](std::size_t i) { return cells[n * size + i]; });
    });
  }

  void set(const Explanation::Sums& block) {
    std::size_t name_width = 0;
    for (const Explanation::Sum& sum : block.sums)
      name_width = std::max(name_width, display_width(sum.name));
    rows(block.rows, block.noun, [&](std::size_t n) {
      const Explanation::Sum& sum = block.sums[n];
      const std::string head = padded_right(sum.name, name_width) + (name_width > 0 ? "  " : "");
      const std::size_t room = width() - display_width(head);
      Strings words = sum_words(sum, Excerpt::all(sum.terms.size()));
      if (!full_ && wrapped(words, room).size() > most_lines_of_a_sum) {
        for (std::size_t kept = std::min<std::size_t>(sum.terms.size() - 1, 20); kept > 0; --kept) {
          const std::size_t last = kept > 1 ? std::max<std::size_t>(kept / 3, 1) : 0;
          words = sum_words(sum, Excerpt(sum.terms.size(), kept, kept - last, last));
          if (wrapped(words, room).size() <= lines_of_a_shortened_sum) break;
        }
      }
      hanging(head, words);
    });
  }

  static Strings sum_words(const Explanation::Sum& sum, const Excerpt& shown) {
    Strings words;
    for (std::size_t n = 0; n <= shown.indices().size(); ++n) {
      if (const std::size_t skipped = shown.skipped_before(n); skipped > 0) {
        words.push_back(translated_count(skipped, "+ … {1} more term …", "+ … {1} more terms …"));
      }
      if (n == shown.indices().size()) break;
      const Explanation::Term& term = sum.terms[shown.indices()[n]];
      if (words.empty()) {
        words.push_back((term.negative ? "-" : "") + term.text);
      } else {
        words.push_back((term.negative ? "- " : "+ ") + term.text);
      }
    }
    if (words.empty()) words.emplace_back("0");
    words.push_back((sum.rounded ? "≈ " : "= ") + sum.total);
    return words;
  }

  std::string margin_;
  bool full_;
  bool after_item_ = false;
};

std::string underlined(const std::string& title, char with) {
  std::string text;
  std::size_t widest = 0;
  for (const std::string& line : wrapped(words_of(title), columns)) {
    text += line + "\n";
    widest = std::max(widest, display_width(line));
  }
  return text + std::string(widest, with) + "\n";
}

}  // namespace

std::string step_text(const Explanation::Step& step, std::size_t margin, bool full) {
  TextWriter writer(margin, full);
  for (const Explanation::Block& block : step.blocks) writer.put(block);
  return writer.text;
}

std::string explanation_text(const Explanation& explanation) {
  std::string text = underlined(explanation.title, '=') + "\n";
  TextWriter introduction(0, explanation.full);
  for (const Explanation::Block& block : explanation.introduction) introduction.put(block);
  text += introduction.text;
  std::size_t number = 0;
  for (const Explanation::Step& step : explanation.steps) {
    if (!step.part.empty()) text += "\n\n" + underlined(step.part, '-');
    text += "\n" + std::to_string(++number) + ". " + step.title + "\n\n" +
            step_text(step, 3, explanation.full);
  }
  return text;
}

}  // namespace attn
