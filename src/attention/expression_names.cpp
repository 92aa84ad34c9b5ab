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

}  // namespace

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
