#include "attention/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {

enum class ExpressionTree::Operation : std::uint8_t {
  constant,
  given,
  b,
  h,
  i,
  j,
  offset,
  dot,
  query_norm,
  key_norm,
  distance,
  element,
  power,
  negative,
  opposite,
  times,
  over,
  floor_over,
  remainder,
  plus,
  minus,
  less,
  at_most,
  more,
  at_least,
  equal,
  unequal,
  both,
  either,
  choice,
  // Functions, in the order of their table.
  abs,
  min,
  max,
  exp,
  exp2,
  log,
  log2,
  sqrt,
  tanh,
  sin,
  cos,
  floor,
  round,
  sign,
  clamp,
  sigmoid
};

namespace {

constexpr std::size_t most_characters = 4096, most_parts = 512;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// A function of numbers: its value and its derivative by the first number; those of several
// numbers choose one of them.
struct Function {
  std::string_view name;
  std::size_t least, most;  ///< number of arguments
  double (*value)(double);
  double (*slope)(double x, double y);  ///< at x, where the value is y
};

double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
double sign(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}
double no_slope(double, double) {
  return 0;
}

constexpr std::size_t any_number = most_parts;
constexpr auto functions = std::to_array<Function>({
    {"abs", 1, 1, [](double x) { return std::abs(x); }, [](double x, double) { return sign(x); }},
    {"min", 2, any_number, nullptr, nullptr},
    {"max", 2, any_number, nullptr, nullptr},
    {"exp", 1, 1, [](double x) { return std::exp(x); }, [](double, double y) { return y; }},
    {"exp2", 1, 1, [](double x) { return std::exp2(x); },
     [](double, double y) { return y * std::numbers::ln2; }},
    {"log", 1, 1, [](double x) { return std::log(x); }, [](double x, double) { return 1 / x; }},
    {"log2", 1, 1, [](double x) { return std::log2(x); },
     [](double x, double) { return std::numbers::log2e / x; }},
    {"sqrt", 1, 1, [](double x) { return std::sqrt(x); }, [](double, double y) { return 0.5 / y; }},
    {"tanh", 1, 1, [](double x) { return std::tanh(x); },
     [](double, double y) { return 1 - y * y; }},
    {"sin", 1, 1, [](double x) { return std::sin(x); },
     [](double x, double) { return std::cos(x); }},
    {"cos", 1, 1, [](double x) { return std::cos(x); },
     [](double x, double) { return -std::sin(x); }},
    {"floor", 1, 1, [](double x) { return std::floor(x); }, no_slope},
    {"round", 1, 1, [](double x) { return std::nearbyint(x); }, no_slope},
    {"sign", 1, 1, sign, no_slope},
    {"clamp", 3, 3, nullptr, nullptr},
    {"sigmoid", 1, 1, sigmoid, [](double, double y) { return y * (1 - y); }},
});
constexpr auto row_functions = std::to_array<std::string_view>({"dot", "norm", "distance"});
constexpr auto plain_names = std::to_array<std::string_view>(
    {"s", "p", "i", "j", "b", "h", "Lq", "Lk", "H", "d", "offset", "pi", "e", "inf"});
constexpr auto words = std::to_array<std::string_view>({"q", "k", "and", "or", "not"});

const Function* find_function(std::string_view name) {
  const auto row = std::ranges::find(functions, name, &Function::name);
  return row == functions.end() ? nullptr : &*row;
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

// The part of the text around a place with a caret below the place.
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

std::string sort_name(bool truth) {
  return truth ? translated("a truth") : translated("a number");
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
    if (tensor.rank() > 3) {
      throw input_error(translated("the table \"{1}\" {2} has {3} axes", name,
                                   attn::text(tensor.shape()), tensor.rank()),
                        at, translated("give a number or a tensor of one to three axes"));
    }
    if (tensor.size() == 0) {
      throw input_error(translated("the table \"{1}\" is empty", name), at,
                        translated("give a number or a tensor of one to three axes"));
    }
  }
}

/// Reads an expression from left to right, operators by their strength.
class ExpressionParser {
 public:
  using Operation = ExpressionTree::Operation;

  ExpressionParser(ExpressionTree& tree, ExpressionUse use, const Geometry& geometry, bool has_rows)
      : tree_(tree), text_(tree.text_), use_(use), geometry_(geometry), has_rows_(has_rows) {}

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
      throw error(translated("expected an operator, found {1}", found()), at_,
                  translated("put an operator such as + or && between two values"));
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
    if (++parts_ > most_parts) {
      throw error(translated("the expression has more than {1} parts", most_parts), at,
                  translated("give a simpler one, or put numbers into \"tables\""));
    }
  }

  std::size_t add(Operation operation, bool truth, std::size_t at, std::vector<std::size_t> of = {},
                  double number = 0, std::size_t table = 0) {
    std::size_t end = at_;
    while (end > at && (text_[end - 1] == ' ' || text_[end - 1] == '\t')) --end;
    tree_.nodes_.push_back({operation, truth, at, end, number, table, std::move(of)});
    return tree_.nodes_.size() - 1;
  }

  bool truth(std::size_t node) const { return tree_.nodes_[node].truth; }

  void expect(std::size_t node, bool truth_wanted) const {
    if (truth(node) == truth_wanted) return;
    throw error(
        translated("expected {1}, found {2}", sort_name(truth_wanted), sort_name(truth(node))),
        tree_.nodes_[node].at,
        truth_wanted ? translated("compare the number, as in x > 0, for a truth")
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

  std::size_t binary(int least) {
    std::size_t left = least <= comparison ? negation(least) : unary();
    bool compared = false;
    while (true) {
      const std::size_t at = at_;
      const Binary* const row = next_binary();
      if (row == nullptr || row->strength < least) return left;
      if (compared && row->strength == comparison) expect(left, false);
      take(row->sign);
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
    throw error(translated("expected a value, found {1}", found()), at_,
                translated("give a number, a name, a function or an expression in parentheses"));
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
                  translated("write dot(q, k), norm(q), norm(k) or distance(q, k)"));
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
    for (const Function& row : functions) known.push_back(row.name);
    known.insert(known.end(), row_functions.begin(), row_functions.end());
    if (!function) {
      for (const std::string_view plain : plain_names) {
        if (plain == "s" && use_ != ExpressionUse::score) continue;
        if (plain == "p" && use_ != ExpressionUse::weight) continue;
        known.push_back(plain);
      }
      for (const ExpressionTree::Table& table : tree_.tables_) known.push_back(table.name);
    }
    return error(problem, at,
                 suggestion(name, known) +
                     (function ? "" : translated("; tensors are given in \"tables\"")));
  }

  std::size_t call(const std::string& name, std::size_t at) {
    const std::size_t opened = at_;
    if (std::ranges::count(row_functions, std::string_view(name)) > 0) return row_call(name, at);
    const Function* const function = find_function(name);
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
                     function->most == any_number ? translated("{1} or more", least) : least),
          at,
          function->most == 3   ? translated("write {1}(x, lo, hi)", name)
          : function->most == 1 ? translated("write {1}(x)", name)
                                : translated("write {1}(x, y)", name));
    }
    for (const std::size_t argument : arguments) expect(argument, false);
    const auto operation =
        static_cast<Operation>(static_cast<std::size_t>(Operation::abs) +
                               static_cast<std::size_t>(function - functions.data()));
    return add(operation, false, at, std::move(arguments));
  }

  std::size_t row_call(const std::string& name, std::size_t at) {
    if (!has_rows_) {
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
      throw error(translated("the table \"{1}\" {2} has {3} axes, and here {4} indices", name,
                             attn::text(numbers.shape()), numbers.rank(), indices.size()),
                  at, translated("give one index per axis, such as {1}[i]", name));
    }
    for (const std::size_t index : indices) expect(index, false);
    return add(Operation::element, false, at, std::move(indices), 0, table);
  }

  ExpressionTree& tree_;
  const std::string& text_;
  ExpressionUse use_;
  const Geometry& geometry_;
  bool has_rows_;
  std::size_t at_ = 0, parts_ = 0;
};

ExpressionTree::ExpressionTree(const Expression& expression, ExpressionUse use,
                               const std::string& pointer, const Geometry& geometry, bool has_rows)
    : text_(expression.text), pointer_(pointer) {
  check_tables(expression);
  for (const auto& [name, tensor] : expression.tables)
    tables_.push_back({name, tensor.converted(DType::float64)});
  ExpressionParser(*this, use, geometry, has_rows).parse();
}

/// The recursion over a tree for one cell.
struct ExpressionTree::Pass {
  const ExpressionTree& tree;
  const ExpressionCell& cell;
  Fault& fault;

  /// A number with its derivatives.
  struct Dual {
    double value = 0;
    ExpressionSlopes slopes = {};
  };

  static Dual scaled(const Dual& of, double value, double factor) {
    // A derivative of 0 stays 0 whatever the factor is.
    const auto times = [&](double slope) { return slope == 0 ? 0 : slope * factor; };
    const ExpressionSlopes& s = of.slopes;
    return {
        value,
        {times(s.given), times(s.dot), times(s.query_norm), times(s.key_norm), times(s.distance)}};
  }
  static Dual sum(const Dual& a, const Dual& b, double value) {
    const ExpressionSlopes &x = a.slopes, &y = b.slopes;
    return {value,
            {x.given + y.given, x.dot + y.dot, x.query_norm + y.query_norm, x.key_norm + y.key_norm,
             x.distance + y.distance}};
  }

  Dual named(double value, double ExpressionSlopes::*slope) const {
    Dual result{value};
    result.slopes.*slope = 1;
    return result;
  }

  double length(std::span<const double> row) const {
    double squares = 0;
    for (const double x : row) squares += x * x;
    return std::sqrt(squares);
  }

  Dual element(const Node& node) const {
    const Table& table = tree.tables_[node.table];
    std::size_t at = 0;
    for (std::size_t axis = 0; axis < node.of.size(); ++axis) {
      const double index = of(node.of[axis]).value;
      const std::size_t size = table.numbers.shape()[axis];
      if (!(index >= 0 && index < static_cast<double>(size) && index == std::floor(index))) {
        if (fault.problem.empty()) {
          fault.at = node.at;
          fault.problem =
              translated("the index {1} is outside the table \"{2}\" {3}", number_text(index),
                         table.name, attn::text(table.numbers.shape()));
        }
        return {nan};
      }
      at = at * size + static_cast<std::size_t>(index);
    }
    return {table.numbers.values<double>()[at]};
  }

  Dual of(std::size_t which) const {
    const Node& node = tree.nodes_[which];
    const auto operand = [&](std::size_t n) { return of(node.of[n]); };
    const auto truth = [](bool holds) { return Dual{holds ? 1.0 : 0.0}; };
    switch (node.operation) {
      case Operation::constant:
        return {node.number};
      case Operation::given:
        return named(cell.given, &ExpressionSlopes::given);
      case Operation::b:
        return {static_cast<double>(cell.b)};
      case Operation::h:
        return {static_cast<double>(cell.h)};
      case Operation::i:
        return {static_cast<double>(cell.i)};
      case Operation::j:
        return {static_cast<double>(cell.j)};
      case Operation::offset:
        return {static_cast<double>(cell.offset)};
      case Operation::dot: {
        double sum_of = 0;
        for (std::size_t c = 0; c < cell.query.size(); ++c) sum_of += cell.query[c] * cell.key[c];
        return named(cell.query.empty() ? nan : sum_of, &ExpressionSlopes::dot);
      }
      case Operation::query_norm:
        return named(cell.query.empty() ? nan : length(cell.query), &ExpressionSlopes::query_norm);
      case Operation::key_norm:
        return named(cell.key.empty() ? nan : length(cell.key), &ExpressionSlopes::key_norm);
      case Operation::distance: {
        double squares = 0;
        for (std::size_t c = 0; c < cell.query.size(); ++c) {
          const double apart = cell.query[c] - cell.key[c];
          squares += apart * apart;
        }
        return named(cell.query.empty() ? nan : std::sqrt(squares), &ExpressionSlopes::distance);
      }
      case Operation::element:
        return element(node);
      case Operation::power: {
        const Dual x = operand(0), y = operand(1);
        const double value = std::pow(x.value, y.value);
        const Dual by_base = scaled(x, value, y.value * std::pow(x.value, y.value - 1));
        return sum(by_base, scaled(y, value, value * std::log(x.value)), value);
      }
      case Operation::negative: {
        const Dual x = operand(0);
        return scaled(x, -x.value, -1);
      }
      case Operation::opposite:
        return truth(operand(0).value == 0);
      case Operation::times: {
        const Dual x = operand(0), y = operand(1);
        const double value = x.value * y.value;
        return sum(scaled(x, value, y.value), scaled(y, value, x.value), value);
      }
      case Operation::over: {
        const Dual x = operand(0), y = operand(1);
        const double value = x.value / y.value;
        return sum(scaled(x, value, 1 / y.value), scaled(y, value, -value / y.value), value);
      }
      case Operation::floor_over:
        return {std::floor(operand(0).value / operand(1).value)};
      case Operation::remainder: {
        const Dual x = operand(0), y = operand(1);
        const double whole = std::floor(x.value / y.value), value = x.value - y.value * whole;
        return sum(x, scaled(y, value, -whole), value);
      }
      case Operation::plus: {
        const Dual x = operand(0), y = operand(1);
        return sum(x, y, x.value + y.value);
      }
      case Operation::minus: {
        const Dual x = operand(0), y = operand(1);
        return sum(x, scaled(y, y.value, -1), x.value - y.value);
      }
      case Operation::less:
        return truth(operand(0).value < operand(1).value);
      case Operation::at_most:
        return truth(operand(0).value <= operand(1).value);
      case Operation::more:
        return truth(operand(0).value > operand(1).value);
      case Operation::at_least:
        return truth(operand(0).value >= operand(1).value);
      case Operation::equal:
        return truth(operand(0).value == operand(1).value);
      case Operation::unequal:
        return truth(operand(0).value != operand(1).value);
      case Operation::both:
        return truth(operand(0).value != 0 && operand(1).value != 0);
      case Operation::either:
        return truth(operand(0).value != 0 || operand(1).value != 0);
      case Operation::choice:
        return operand(0).value != 0 ? operand(1) : operand(2);
      case Operation::min:
      case Operation::max: {
        Dual best = operand(0);
        for (std::size_t n = 1; n < node.of.size(); ++n) {
          const Dual next = operand(n);
          const bool better =
              node.operation == Operation::min ? next.value < best.value : next.value > best.value;
          if (better || std::isnan(next.value)) best = next;
          if (std::isnan(best.value)) return best;
        }
        return best;
      }
      case Operation::clamp: {
        const Dual x = operand(0), low = operand(1), high = operand(2);
        const Dual& raised = x.value < low.value ? low : x;
        return raised.value > high.value ? high : raised;
      }
      case Operation::abs:
      case Operation::exp:
      case Operation::exp2:
      case Operation::log:
      case Operation::log2:
      case Operation::sqrt:
      case Operation::tanh:
      case Operation::sin:
      case Operation::cos:
      case Operation::floor:
      case Operation::round:
      case Operation::sign:
      case Operation::sigmoid:
        break;
    }
    const Function& function = functions[static_cast<std::size_t>(node.operation) -
                                         static_cast<std::size_t>(Operation::abs)];
    const Dual x = operand(0);
    const double value = function.value(x.value);
    return scaled(x, value, function.slope(x.value, value));
  }
};

double ExpressionTree::value(const ExpressionCell& cell, Fault& fault) const {
  const double result = Pass{*this, cell, fault}.of(root_).value;
  return fault.problem.empty() ? result : nan;
}

double ExpressionTree::value(const ExpressionCell& cell, ExpressionSlopes& slopes) const {
  Fault fault;
  const Pass::Dual result = Pass{*this, cell, fault}.of(root_);
  slopes = result.slopes;
  return result.value;
}

// The nodes stand in the order of their places in the text, but for operators, which have none of
// their own.
void ExpressionTree::put_numbers(const ExpressionCell& cell, std::size_t which, std::size_t& done,
                                 std::string& to) const {
  const Node& node = nodes_[which];
  const bool leaf = node.of.empty() || node.operation == Operation::element;
  if (!leaf) {
    for (const std::size_t of : node.of) put_numbers(cell, of, done, to);
    return;
  }
  Fault fault;
  const double number = Pass{*this, cell, fault}.of(which).value;
  to += text_.substr(done, node.at - done);
  const std::string shown = with_short_exponent(with_digits(number, 4));
  to += number < 0 ? "(" + shown + ")" : shown;
  done = node.end;
}

std::string ExpressionTree::with_numbers(const ExpressionCell& cell) const {
  std::string result;
  std::size_t done = 0;
  put_numbers(cell, root_, done, result);
  return result + text_.substr(done);
}

void ExpressionFaults::note(const ExpressionCell& cell, const std::string& problem) {
  std::vector<std::size_t> place{cell.b, cell.h, cell.i, cell.j};
  const std::lock_guard lock(mutex_);
  if (first_ && *first_ <= place) return;
  first_ = std::move(place);
  problem_ = problem;
}

void ExpressionFaults::check(const ExpressionTree& tree) const {
  const std::lock_guard lock(mutex_);
  if (!first_) return;
  const std::string place =
      "b=" + std::to_string((*first_)[0]) + ", h=" + std::to_string((*first_)[1]) +
      ", i=" + std::to_string((*first_)[2]) + ", j=" + std::to_string((*first_)[3]);
  throw input_error(translated("{1} at {2}", problem_, place) + with_caret(tree.text(), 0),
                    tree.pointer(),
                    translated("hide such cells by the mask, or choose another value by ? :"));
}

}  // namespace attn
