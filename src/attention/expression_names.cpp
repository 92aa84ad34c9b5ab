#include "attention/expression_names.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "support/translated.hpp"

namespace attn {
namespace {

// Names of FlexAttention, of its examples and of papers, with what stands for them here.
constexpr std::pair<std::string_view, std::string_view> names[]{
    {"q_idx", "i"},     {"query_idx", "i"},  {"q_pos", "i"},       {"row", "i"},
    {"kv_idx", "j"},    {"k_idx", "j"},      {"key_idx", "j"},     {"kv_pos", "j"},
    {"col", "j"},       {"batch", "b"},      {"b_idx", "b"},       {"head", "h"},
    {"h_idx", "h"},     {"score", "s"},      {"scores", "s"},      {"logits", "s"},
    {"weight", "p"},    {"weights", "p"},    {"probs", "p"},       {"attn", "p"},
    {"d_k", "d"},       {"dk", "d"},         {"head_dim", "d"},    {"num_heads", "H"},
    {"n", "Lk"},        {"seq_len", "Lk"},   {"causal", "j <= i"}, {"True", "1 == 1"},
    {"true", "1 == 1"}, {"False", "1 == 0"}, {"false", "1 == 0"},
};

constexpr std::string_view softmaxes[]{"softmax", "log_softmax"};

constexpr std::string_view modules[]{"np", "numpy", "torch", "math", "jnp", "F", "tf"};

std::string_view trimmed(std::string_view text) {
  const std::size_t start = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(start, text.find_last_not_of(" \t") + 1 - start);
}

// A choice as Python writes it, "s if i >= j else -inf", which goes on at "if", in our signs.
std::string choice_of_python(std::string_view text, std::size_t at) {
  constexpr std::string_view condition = "if ", other = " else ";
  const std::string_view rest = text.substr(at);
  const std::size_t end = rest.find(other);
  if (!rest.starts_with(condition) || end == rest.npos) return "i > j ? s : 0";
  return std::string(rest.substr(condition.size(), end - condition.size())) + " ? " +
         std::string(trimmed(text.substr(0, at))) + " : " +
         std::string(rest.substr(end + other.size()));
}

// Comparisons with each of a list, "j == 0 || j == 1" of "j in [0, 1]"; empty without a list.
std::string one_of_list(std::string_view text, std::size_t at) {
  const std::string_view value = trimmed(text.substr(0, at));
  const std::size_t open = text.find_first_of("[(", at), close = text.find_first_of("])", at);
  if (open >= close || close == text.npos) return "";
  std::string meant;
  for (std::size_t start = open + 1; start < close;) {
    const std::size_t end = std::min(text.find(',', start), close);
    meant += (meant.empty() ? "" : " || ") + std::string(value) +
             " == " + std::string(trimmed(text.substr(start, end - start)));
    start = end + 1;
  }
  return meant;
}

}  // namespace

std::string help_for_foreign_syntax(std::string_view text, std::size_t at) {
  const auto is_number = [&](std::size_t place) {
    return place < text.size() && text[place] >= '0' && text[place] <= '9';
  };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("if")) return translated("write {1}", choice_of_python(text, at));
  if (rest.starts_with("in") && rest.find_first_of(" [(") == 2) {
    const std::string meant = one_of_list(text, at);
    return meant.empty() ? "" : translated("write {1}", meant);
  }
  if (rest.starts_with(',') && at > 0 && is_number(at - 1) && is_number(at + 1)) {
    std::size_t start = at, end = at + 1;
    while (start > 0 && is_number(start - 1)) --start;
    while (is_number(end)) ++end;
    return translated("write {1}", std::string(text.substr(start, at - start)) + "." +
                                       std::string(text.substr(at + 1, end - at - 1)));
  }
  const std::size_t bar = text.find('|', at + 1);
  if (rest.starts_with('|') && bar != text.npos && bar > at + 1) {
    return translated("write {1}", "abs(" + std::string(text.substr(at + 1, bar - at - 1)) + ")");
  }
  return "";
}

std::string help_for_foreign_name(std::string_view name) {
  for (const std::string_view module : modules) {
    if (name == module)
      return translated("write the function without its module, such as {1}", "tanh(s)");
  }
  if (name == "lambda") return translated("write the expression alone, what is after the colon");
  for (const auto& [theirs, ours] : names) {
    if (theirs == name) return translated("write {1}", ours);
  }
  return "";
}

std::string help_for_foreign_function(std::string_view name) {
  if (name == "where") return translated("write condition ? one : other");
  if (std::ranges::find(softmaxes, name) == std::end(softmaxes)) return "";
  return translated("leave it out: weights are a softmax of the scores");
}

}  // namespace attn
