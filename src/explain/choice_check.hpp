#pragma once

#include <cstddef>

namespace attn {

/// What is said of a choice that is not there, {1} being how many there are and {2} the choice.
struct ChoiceTexts {
  const char *field, *one, *many;
};
extern const ChoiceTexts of_samples, of_heads, of_queries, of_layers;

/// Throws Error(input) naming the field of ExplainOptions unless `index` is one of so many.
void check_choice(const ChoiceTexts& texts, std::size_t index, std::size_t count);

/// The same of how many decimals numbers are shown with.
void check_digits(int digits);

}  // namespace attn
