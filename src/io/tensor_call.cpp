#include "io/tensor_call.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "io/number_array.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// Functions of NumPy and PyTorch, and the form of a document that has their numbers.
struct Function {
  std::string_view name, form;
};
constexpr auto functions = std::to_array<Function>({
    {"rand", "rand"},
    {"random", "rand"},
    {"random_sample", "rand"},
    {"uniform", "rand"},
    {"randn", "randn"},
    {"normal", "randn"},
    {"standard_normal", "randn"},
    {"zeros", "zeros"},
    {"empty", "zeros"},
    {"ones", "ones"},
    {"full", "full"},
    {"arange", "arange"},
    {"tensor", ""},
    {"Tensor", ""},
    {"FloatTensor", ""},
    {"array", ""},
    {"asarray", ""},
});

// Position behind the bracket that closes the one at `open`; the text's end if none does.
std::size_t end_of_brackets(std::string_view text, std::size_t open) {
  std::size_t depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '[') ++depth;
    if ((text[at] == ')' || text[at] == ']') && --depth == 0) return at + 1;
  }
  return text.size();
}

// Whole numbers between a pair of brackets, "2,3" of "(2, 3)" and "(2, 3, dtype=float)"; empty if
// there are others beside them.
std::string sizes_in(std::string_view brackets) {
  std::string sizes;
  for (std::size_t at = 1; at < brackets.size(); ++at) {
    at = std::min(brackets.find_first_not_of(' ', at), brackets.size());
    const std::size_t begin = at;
    while (at < brackets.size() && is_json_digit(brackets[at])) ++at;
    const std::string_view number = brackets.substr(begin, at - begin);
    at = std::min(brackets.find_first_not_of(' ', at), brackets.size());
    const std::size_t end = brackets.find_first_of(",)]", at);
    if (end == begin) return sizes;
    if (number.empty() || number[0] == '0' || end != at)
      return brackets.substr(begin, end - begin).find('=') == std::string_view::npos ? "" : sizes;
    sizes += (sizes.empty() ? "" : ",") + std::string(number);
  }
  return sizes;
}

// Sizes of a call: those in brackets of their own, "(0, 1, (2, 3))", else the first arguments.
std::string sizes_of_call(std::string_view arguments) {
  const std::size_t own = arguments.find_first_of("([", 1);
  return sizes_in(own == arguments.npos
                      ? arguments
                      : arguments.substr(own, end_of_brackets(arguments, own) - own));
}

// Sizes of a method behind a call that gives it another shape: ".reshape(3, 4)", ".view(3, 4)".
std::string sizes_behind(std::string_view rest) {
  for (const std::string_view method : {".reshape(", ".view("}) {
    if (!rest.starts_with(method)) continue;
    const std::size_t open = method.size() - 1;
    return sizes_of_call(rest.substr(open, end_of_brackets(rest, open) - open));
  }
  return "";
}

}  // namespace

std::string instead_of_call(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == text.npos) return "";
  const std::string_view call = text.substr(0, open);
  const auto is_of_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  if (!std::ranges::all_of(call, is_of_name)) return "";
  const std::string_view name = call.substr(call.rfind('.') + 1);  // npos + 1 = 0
  const auto* const function = std::ranges::find(functions, name, &Function::name);
  if (function == functions.end()) return "";
  if (function->form.empty())
    return translated("write the rows of numbers alone, such as [[1,2],[3,4]], without {1}",
                      std::string(call) + "(…)");
  const std::size_t end = end_of_brackets(text, open);
  const std::string sizes = sizes_of_call(text.substr(open, end - open));
  const std::string shape = "[" + (sizes.empty() ? "…" : sizes) + "]";
  const std::string begin = "{\"" + std::string(function->form) + "\": ";
  if (function->form == "full") return translated("write {1}", begin + shape + ", \"value\": …}");
  if (function->form == "arange") {
    const bool count = !sizes.empty() && sizes.find(',') == sizes.npos;
    const std::string given = sizes_behind(text.substr(end));
    return translated("write {1}", begin + (count ? sizes : "…") + ", \"shape\": [" +
                                       (given.empty() ? "…" : given) + "]}");
  }
  const bool drawn = function->form == "rand" || function->form == "randn";
  const std::string written = begin + shape + "}";
  return drawn ? translated("write {1}, and one \"seed\" at the top of the document", written)
               : translated("write {1}", written);
}

}  // namespace attn
