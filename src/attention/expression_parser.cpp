#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <numbers>
#include <utility>

#include "attn/error.hpp"

#include "attention/expression.hpp"
#include "attention/expression_names.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::size_t most_characters = 4096;

constexpr auto row_functions = std::to_array<std::string_view>({"dot", "norm", "distance"});
constexpr auto plain_names = std::to_array<std::string_view>(
    {"s", "p", "i", "j", "b", "h", "Lq", "Lk", "H", "d", "offset", "pi", "e", "inf"});
constexpr auto words = std::to_array<std::string_view>({"q", "k", "and", "or", "not"});

const ExpressionFunction* find_function(std::string_view name) {
  const auto all = expression_functions();
  const auto row = std::ranges::find(all, name, &ExpressionFunction::name);
  return row == all.end() ? nullptr : &*row;
}

bool is_known(std::string_view name) {
  return find_function(name) != nullptr || std::ranges::count(row_functions, name) > 0 ||
         std::ranges::count(plain_names, name) > 0 || std::ranges::count(words, name) > 0;
}

bool begins_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string sort_name(bool truth) {
  return truth ? translated("a truth") : translated("a number");
}

}  // namespace

std::string with_caret(const std::string& text, std::size_t at) {
  constexpr std::size_t around = 48;
  const std::size_t first = at > around ? at - around : 0;
  const std::size_t end = std::min(text.size(), at + around);
  std::string line = first > 0 ? "… " : "";
  const std::size_t before = (first > 0 ? 2 : 0) + at - first;
  for (std::size_t c = first; c < end; ++c) line += text[c] == '\t' ? ' ' : text[c];
  if (end < text.size()) line += " …";
  return "\n    " + line + "\n    " + std::string(before, ' ') + "^";
}

Error rounded_integer(const std::string& number, const std::string& where) {
  return input_error(
      translated("the integer {1} is beyond ±2^53, where double precision rounds", number), where,
      translated(
          "number such ids from 0, or give those of documents as \"documents\" of the mask"));
}

namespace {

// Throws at the element for the first integer that double precision may round.
void check_integers(const Tensor& table, const std::string& at) {
  if (table.dtype() != DType::int64 || is_shape_only(table)) return;
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  const auto numbers = table.values<std::int64_t>();
  const auto large = std::ranges::find_if(
      numbers, [](std::int64_t number) { return number > most || number < -most; });
  if (large == numbers.end()) return;
  auto element = static_cast<std::size_t>(large - numbers.begin());
  std::string place;
  for (std::size_t axis = table.rank(); axis-- > 0; element /= table.shape()[axis]) {
    place = "/" + std::to_string(element % table.shape()[axis]) + place;
  }
  throw rounded_integer(std::to_string(*large), at + place);
}

}  // namespace

void check_tables(const Expression& expression) {
  for (const auto& [name, tensor] : expression.tables) {
    const std::string at = "/tables/" + name;
    const bool spelt =
        !name.empty() && begins_name(name[0]) &&
        std::ranges::all_of(name, [](char c) { return begins_name(c) || is_digit(c); });
    if (!spelt) {
      throw input_error(translated("\"{1}\" cannot be the name of a table", name), at,
                        translated("use letters, digits and _, the first no digit"));
    }
    if (is_known(name)) {
      throw input_error(translated("the table \"{1}\" would hide a name of expressions", name), at,
                        translated("give the table another name"));
    }
    if (tensor.rank() > kernels::most_operands) {
      throw input_error(translated("the table \"{1}\" {2} has {3} axes", name,
                                   attn::text(tensor.shape()), tensor.rank()),
                        at, translated("give a number or a tensor of one to four axes"));
    }
    check_integers(tensor, at);
    if (tensor.size() == 0) {
      throw input_error(translated("the table \"{1}\" is empty", name), at,
                        translated("give a number or a tensor of one to four axes"));
    }
  }
}

/// Reads an expression from left to right, operators by their strength.
class ExpressionParser {
 public:
  using Operation = ExpressionTree::Operation;

  ExpressionParser(ExpressionTree& tree, ExpressionUse use, const Geometry& geometry)
      : tree_(tree), text_(tree.text_), use_(use), geometry_(geometry) {}

  void parse() {
    if (text_.size() > most_characters) {
      throw error(translated("the expression has {1} characters, more than {2}", text_.size(),
                             most_characters),
                  most_characters, translated("give a shorter one, at most 4096 characters"));
    }
    skip();
    if (at_ == text_.size()) {
      throw error(translated("the expression is empty"), 0, wanted());
    }
    tree_.root_ = choice();
    if (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ')' || c == ']') {
        throw error(translated("\"{1}\" closes nothing", std::string(1, c)), at_,
                    translated("leave it out, or open it before"));
      }
      if (c == '=') {
        throw error(translated("a single \"=\" is not an operator"), at_,
                    translated("write == to compare"));
      }
      if (c == '&' || c == '|') {
        throw error(translated("a single \"{1}\" is not an operator", std::string(1, c)), at_,
                    translated("write {1}", std::string(2, c)));
      }
      const std::string help = help_for_foreign_syntax(text_, at_);
      throw error(
          translated("expected an operator, found {1}", found()), at_,
          help.empty() ? translated("put an operator such as + or && between two values") : help);
    }
    expect(tree_.root_, use_ == ExpressionUse::where);
  }

 private:
  Error error(const std::string& problem, std::size_t at, const std::string& help) const {
    return input_error(problem + with_caret(text_, std::min(at, text_.size())), tree_.pointer_,
                       help);
  }

  std::string wanted() const {
    return use_ == ExpressionUse::where
               ? translated("give a truth such as j <= i + offset")
               : translated("give a number such as {1}",
                            use_ == ExpressionUse::score ? "s - 0.1 * abs(i - j)" : "p * 2");
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  std::string found() const {
    if (at_ >= text_.size()) return translated("the end");
    std::size_t end = at_ + 1;
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (begins_name(text_[at_]) || is_digit(text_[at_])) {
      while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) ++end;
    } else if (c >= 0x80) {
      while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xC0U) == 0x80) ++end;
    }
    return "\"" + text_.substr(at_, std::min(end - at_, std::size_t{40})) + "\"";
  }

  bool take(std::string_view sign) {
    if (std::string_view(text_).substr(at_).starts_with(sign)) {
      at_ += sign.size();
      skip();
      return true;
    }
    return false;
  }
  // A word that is not the beginning of a longer name.
  bool take_word(std::string_view word) {
    const std::size_t end = at_ + word.size();
    if (!std::string_view(text_).substr(at_).starts_with(word)) return false;
    if (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) return false;
    return take(word);
  }

  void count(std::size_t at) {
    if (++parts_ > most_parts_of_expression) {
      throw error(translated("the expression has more than {1} parts", most_parts_of_expression),
                  at, translated("give a simpler one, or put numbers into \"tables\""));
    }
  }

  std::size_t add(Operation operation, bool truth, std::size_t at, std::vector<std::size_t> of = {},
                  double number = 0, std::size_t row = 0) {
    std::size_t end = at_;
    while (end > at && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    tree_.nodes_.push_back({operation, truth, at, end, number, row, std::move(of)});
    return tree_.nodes_.size() - 1;
  }

  bool truth(std::size_t node) const { return tree_.nodes_[node].truth; }

  void expect(std::size_t node, bool truth_wanted) const {
    if (truth(node) == truth_wanted) return;
    throw error(
        translated("expected {1}, found {2}", sort_name(truth_wanted), sort_name(truth(node))),
        tree_.nodes_[node].at,
        truth_wanted && std::ranges::all_of(text_, begins_name)
            ? translated("compare the number, as in {1}, and put it in quotes: shells read > as "
                         "the name of a file",
                         "\"" + text_ + " > 0\"")
        : truth_wanted ? translated("compare the number, as in x > 0, for a truth")
                       : translated("choose by the truth, as in truth ? 1 : 0, for a number"));
  }

  std::size_t choice() {
    const std::size_t condition = binary(0);
    const std::size_t at = at_;
    if (!take("?")) return condition;
    count(at);
    expect(condition, true);
    const std::size_t yes = choice();
    if (!take(":")) {
      throw error(translated("expected \":\", found {1}", found()), at_,
                  translated("write condition ? one : other"));
    }
    const std::size_t no = choice();
    if (truth(yes) != truth(no)) expect(no, truth(yes));
    return add(Operation::choice, truth(yes), tree_.nodes_[condition].at, {condition, yes, no});
  }

  // Operators of one strength, the weakest first.
  struct Binary {
    std::string_view sign;
    int strength;
    Operation operation;
    bool of_truths, truth;
  };
  static constexpr int comparison = 2;

  const Binary* next_binary() {
    static constexpr auto all = std::to_array<Binary>({
        {"||", 0, Operation::either, true, true},
        {"&&", 1, Operation::both, true, true},
        {"<=", comparison, Operation::at_most, false, true},
        {">=", comparison, Operation::at_least, false, true},
        {"==", comparison, Operation::equal, false, true},
        {"!=", comparison, Operation::unequal, false, true},
        {"<", comparison, Operation::less, false, true},
        {">", comparison, Operation::more, false, true},
        {"+", 3, Operation::plus, false, false},
        {"-", 3, Operation::minus, false, false},
        {"//", 4, Operation::floor_over, false, false},
        {"*", 4, Operation::times, false, false},
        {"/", 4, Operation::over, false, false},
        {"%", 4, Operation::remainder, false, false},
    });
    const std::string_view rest = std::string_view(text_).substr(at_);
    for (const Binary& row : all) {
      if (rest.starts_with(row.sign)) return &row;
    }
    const auto word = [&](std::string_view name) {
      return rest.starts_with(name) &&
             (rest.size() == name.size() ||
              !(begins_name(rest[name.size()]) || is_digit(rest[name.size()])));
    };
    static constexpr Binary either{"or", 0, Operation::either, true, true};
    static constexpr Binary both{"and", 1, Operation::both, true, true};
    if (word("or")) return &either;
    if (word("and")) return &both;
    return nullptr;
  }

  // Throws for a comparison that goes on with another one at `at`, "0 <= i - j < 2".
  [[noreturn]] void refuse_chain(std::size_t left, std::size_t middle, std::size_t at) const {
    const auto part = [&](std::size_t from, std::size_t to) {
      std::string_view text = std::string_view(text_).substr(from, to - from);
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      return std::string(text.substr(0, text.find_last_not_of(" \t") + 1));
    };
    const std::size_t end = std::min(text_.find_first_of("&|?:)", at), text_.size());
    throw error(translated("comparisons do not go on with another one"), at,
                translated("write {1}", part(tree_.nodes_[left].at, at) + " && " +
                                            part(middle, at) + " " + part(at, end)));
  }

  std::size_t binary(int least) {
    std::size_t left = least <= comparison ? negation(least) : unary();
    bool compared = false;
    std::size_t middle = 0;  // where the right side of the last comparison begins
    while (true) {
      const std::size_t at = at_;
      const Binary* const row = next_binary();
      if (row == nullptr || row->strength < least) return left;
      if (compared && row->strength == comparison) refuse_chain(left, middle, at);
      take(row->sign);
      middle = at_;
      count(at);
      const std::size_t right = binary(row->strength + 1);
      if (row->of_truths) {
        expect(left, true);
        expect(right, true);
      } else if ((row->operation == Operation::equal || row->operation == Operation::unequal) &&
                 truth(left)) {
        expect(right, true);
      } else {
        expect(left, false);
        expect(right, false);
      }
      compared = row->strength == comparison;
      left = add(row->operation, row->truth, tree_.nodes_[left].at, {left, right});
    }
  }

  // `not` is weaker than comparisons.
  std::size_t negation(int least) {
    const std::size_t at = at_;
    if (!take_word("not")) return least < comparison ? binary(comparison) : unary();
    count(at);
    const std::size_t of = negation(comparison - 1);
    expect(of, true);
    return add(Operation::opposite, true, at, {of});
  }

  std::size_t unary() {
    const std::size_t at = at_;
    if (take("-")) {
      count(at);
      const std::size_t of = unary();
      expect(of, false);
      return add(Operation::negative, false, at, {of});
    }
    if (at_ < text_.size() && text_[at_] == '!' && text_.compare(at_, 2, "!=") != 0) {
      take("!");
      count(at);
      const std::size_t of = unary();
      expect(of, true);
      return add(Operation::opposite, true, at, {of});
    }
    return power();
  }

  std::size_t power() {
    const std::size_t base = primary();
    const std::size_t at = at_;
    if (!take("^")) return base;
    count(at);
    expect(base, false);
    const std::size_t exponent = unary();
    expect(exponent, false);
    return add(Operation::power, false, tree_.nodes_[base].at, {base, exponent});
  }

  void close(char opening, char closing, std::size_t opened) {
    if (take(std::string_view(&closing, 1))) return;
    throw error(translated("expected \"{1}\", found {2}", std::string(1, closing), found()), at_,
                translated("close the \"{1}\" of character {2} with \"{3}\"",
                           std::string(1, opening), opened + 1, std::string(1, closing)));
  }

  std::size_t primary() {
    const std::size_t at = at_;
    if (at_ < text_.size() &&
        (is_digit(text_[at_]) ||
         (text_[at_] == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])))) {
      return number();
    }
    if (take("(")) {
      count(at);
      const std::size_t inner = choice();
      close('(', ')', at);
      return inner;
    }
    if (at_ < text_.size() && begins_name(text_[at_])) return named();
    if (at_ > 0 && at_ < text_.size() && text_[at_] == '*' && text_[at_ - 1] == '*') {
      throw error(translated("\"**\" is not an operator"), at_, translated("write ^ for a power"));
    }
    const std::string help = help_for_foreign_syntax(text_, at_);
    throw error(translated("expected a value, found {1}", found()), at_,
                help.empty() ? translated("give a number, a name, a function or an expression in "
                                          "parentheses")
                             : help);
  }

  std::size_t number() {
    const std::size_t at = at_;
    count(at);
    std::size_t end = at_;
    while (end < text_.size() && is_digit(text_[end])) ++end;
    if (end < text_.size() && text_[end] == '.') {
      ++end;
      while (end < text_.size() && is_digit(text_[end])) ++end;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      std::size_t digits = end + 1;
      if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
      if (digits < text_.size() && is_digit(text_[digits])) {
        end = digits;
        while (end < text_.size() && is_digit(text_[end])) ++end;
      }
    }
    double value = 0;
    const auto read = std::from_chars(text_.data() + at, text_.data() + end, value);
    if (read.ec == std::errc::result_out_of_range) {
      throw error(translated("the number is beyond the range of double precision"), at,
                  translated("write inf for infinity"));
    }
    at_ = end;
    skip();
    return add(Operation::constant, false, at, {}, value);
  }

  std::string name_here() {
    std::size_t end = at_;
    while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end]))) ++end;
    std::string name = text_.substr(at_, end - at_);
    at_ = end;
    skip();
    return name;
  }

  std::size_t named() {
    const std::size_t at = at_;
    count(at);
    const std::string name = name_here();
    if (take("(")) return call(name, at);
    const auto table = std::ranges::find(tree_.tables_, name, &ExpressionTree::Table::name);
    if (table != tree_.tables_.end()) {
      return element(static_cast<std::size_t>(table - tree_.tables_.begin()), at);
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      throw error(translated("there is no table \"{1}\"", name), at,
                  translated("give it in \"tables\": {\"{1}\": …}", name));
    }
    return plain(name, at);
  }

  std::size_t plain(const std::string& name, std::size_t at) {
    const auto constant = [&](double value) {
      return add(Operation::constant, false, at, {}, value);
    };
    if (name == "s" || name == "p") {
      const bool score = name == "s";
      if (use_ == (score ? ExpressionUse::score : ExpressionUse::weight))
        return add(Operation::given, false, at);
      throw error(score ? translated("\"s\", the score, is known in \"score\" alone")
                        : translated("\"p\", the weight, is known in \"weight\" alone"),
                  at, translated("leave it out, or use the other expression"));
    }
    if (name == "i") return add(Operation::i, false, at);
    if (name == "j") return add(Operation::j, false, at);
    if (name == "b") return add(Operation::b, false, at);
    if (name == "h") {
      tree_.reads_head_ = true;
      return add(Operation::h, false, at);
    }
    if (name == "offset") return add(Operation::offset, false, at);
    if (name == "Lq") return constant(static_cast<double>(geometry_.queries));
    if (name == "Lk") return constant(static_cast<double>(geometry_.keys));
    if (name == "H") return constant(static_cast<double>(geometry_.heads));
    if (name == "d") {
      if (geometry_.key_width == 0) {
        throw error(translated("\"d\", the width of a head, is unknown where scores are given"), at,
                    translated("write the number"));
      }
      return constant(static_cast<double>(geometry_.key_width));
    }
    if (name == "pi") return constant(std::numbers::pi);
    if (name == "e") return constant(std::numbers::e);
    if (name == "inf") return constant(std::numeric_limits<double>::infinity());
    if (name == "q" || name == "k") {
      throw error(translated("\"{1}\" is a row, not a number", name), at,
                  translated("write dot(q, k), norm(q), norm(k) or distance(q, k); positions are i "
                             "of the query and j of the key"));
    }
    if (find_function(name) != nullptr ||
        std::ranges::count(row_functions, std::string_view(name)) > 0) {
      throw error(translated("the function \"{1}\" has no arguments", name), at,
                  translated("write {1}(…)", name));
    }
    throw unknown(translated("unknown name \"{1}\"", name), name, at, false);
  }

  Error unknown(const std::string& problem, const std::string& name, std::size_t at,
                bool function) const {
    std::vector<std::string_view> known;
    for (const ExpressionFunction& row : expression_functions()) known.push_back(row.name);
    known.insert(known.end(), row_functions.begin(), row_functions.end());
    if (!function) {
      for (const std::string_view plain : plain_names) {
        if (plain == "s" && use_ != ExpressionUse::score) continue;
        if (plain == "p" && use_ != ExpressionUse::weight) continue;
        known.push_back(plain);
      }
      for (const ExpressionTree::Table& table : tree_.tables_) known.push_back(table.name);
    }
    const bool chooses = std::string_view(text_).substr(at_).starts_with(".where(");
    const std::string foreign = function || chooses
                                    ? help_for_foreign_function(chooses ? "where" : name)
                                    : help_for_foreign_name(name);
    if (!foreign.empty()) return error(problem, at, foreign);
    return error(problem, at,
                 suggestion(name, known) +
                     (function ? "" : translated("; tensors are given in \"tables\"")));
  }

  std::size_t call(const std::string& name, std::size_t at) {
    const std::size_t opened = at_;
    if (std::ranges::count(row_functions, std::string_view(name)) > 0) return row_call(name, at);
    const ExpressionFunction* const function = find_function(name);
    if (function == nullptr)
      throw unknown(translated("unknown function \"{1}\"", name), name, at, true);
    std::vector<std::size_t> arguments;
    if (at_ < text_.size() && text_[at_] != ')') {
      do {
        arguments.push_back(choice());
      } while (take(","));
    }
    close('(', ')', opened - 1);
    if (arguments.size() < function->least || arguments.size() > function->most) {
      const std::string least = std::to_string(function->least);
      throw error(
          translated("{1} has {2} arguments, not {3}", name, arguments.size(),
                     function->most == most_parts_of_expression ? translated("{1} or more", least)
                                                                : least),
          at,
          function->most == 3   ? translated("write {1}(x, lo, hi)", name)
          : function->most == 1 ? translated("write {1}(x)", name)
                                : translated("write {1}(x, y)", name));
    }
    for (const std::size_t argument : arguments) expect(argument, false);
    const auto row = static_cast<std::size_t>(function - expression_functions().data());
    return add(Operation::function, false, at, std::move(arguments), 0, row);
  }

  std::size_t row_call(const std::string& name, std::size_t at) {
    if (!geometry_.compares_rows()) {
      throw error(translated("{1} has no rows of queries and keys to read in this kind", name), at,
                  translated("choose a kind whose scores are products of queries and keys"));
    }
    const auto row = [&](std::string_view one) {
      if (!take_word(one)) return false;
      count(at_);
      return true;
    };
    const auto wrong = [&] {
      return error(translated("expected the rows of {1}, found {2}", name, found()), at_,
                   name == "norm" ? translated("write norm(q) or norm(k)")
                                  : translated("write {1}(q, k)", name));
    };
    tree_.reads_rows_ = tree_.reads_head_ = true;
    Operation operation = name == "dot" ? Operation::dot : Operation::distance;
    if (name == "norm") {
      if (row("q")) {
        operation = Operation::query_norm;
      } else if (row("k")) {
        operation = Operation::key_norm;
      } else {
        throw wrong();
      }
    } else if (!row("q") || !take(",") || !row("k")) {
      throw wrong();
    }
    if (!take(")")) throw wrong();
    return add(operation, false, at);
  }

  // Indices that a table of such a shape may be meant to have: "[b, i]".
  std::string usual_indices(const Tensor& table) const {
    const Shape& shape = table.shape();
    const std::size_t rank = shape.size();
    const bool samples = rank > 0 && shape[0] == geometry_.batch;
    std::vector<const char*> names{"b", "h", "i", "j"};
    if (rank == 1) names = {"i"};
    if (rank == 2 && samples) names = {"b", "i"};
    if (rank == 2 && !samples)
      names = shape[0] == geometry_.heads ? std::vector{"h", "i"} : std::vector{"i", "j"};
    if (rank == 3) names = {samples ? "b" : "h", "i", "j"};
    std::string text;
    for (std::size_t axis = 0; axis < rank; ++axis)
      text += (axis == 0 ? "" : ", ") + std::string(shape[axis] == 1 ? "0" : names[axis]);
    return "[" + text + "]";
  }

  std::size_t element(std::size_t table, std::size_t at) {
    const Tensor& numbers = tree_.tables_[table].numbers;
    const std::string& name = tree_.tables_[table].name;
    const std::size_t opened = at_;
    std::vector<std::size_t> indices;
    const bool indexed = take("[");
    if (indexed) {
      if (at_ < text_.size() && text_[at_] != ']') {
        do {
          indices.push_back(choice());
        } while (take(","));
      }
      close('[', ']', opened);
    }
    if (!indexed && numbers.size() == 1) return add(Operation::element, false, at, {}, 0, table);
    if (indices.size() != numbers.rank() || (indexed && indices.empty())) {
      throw error(
          translated("the table \"{1}\" {2} has {3} axes, and here {4} indices", name,
                     attn::text(numbers.shape()), numbers.rank(), indices.size()),
          at, translated("give one index per axis, such as {1}", name + usual_indices(numbers)));
    }
    for (const std::size_t index : indices) expect(index, false);
    return add(Operation::element, false, at, std::move(indices), 0, table);
  }

  ExpressionTree& tree_;
  const std::string& text_;
  ExpressionUse use_;
  const Geometry& geometry_;
  std::size_t at_ = 0, parts_ = 0;
};

ExpressionTree::ExpressionTree(const Expression& expression, ExpressionUse use,
                               const std::string& pointer, const Geometry& geometry)
    : text_(expression.text), pointer_(pointer) {
  check_tables(expression);
  for (const auto& [name, tensor] : expression.tables)
    tables_.push_back({name, tensor.converted(DType::float64)});
  ExpressionParser(*this, use, geometry).parse();
}

}  // namespace attn
