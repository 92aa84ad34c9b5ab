#include "explain/choice_check.hpp"

#include "attn/error.hpp"

#include "explain/shown_number.hpp"
#include "support/translated.hpp"

namespace attn {

const ChoiceTexts of_samples{
    "ExplainOptions::sample",
    to_translate("there is no sample {2}: the attention has only one sample"),
    to_translate("there is no sample {2}: the attention has {1} samples")};
const ChoiceTexts of_heads{"ExplainOptions::head",
                           to_translate("there is no head {2}: the attention has only one head"),
                           to_translate("there is no head {2}: the attention has {1} heads")};
const ChoiceTexts of_queries{
    "ExplainOptions::query",
    to_translate("there is no query {2}: the attention has only one query"),
    to_translate("there is no query {2}: the attention has {1} queries")};
const ChoiceTexts of_layers{"ExplainOptions::layer",
                            to_translate("there is no layer {2}: the attention has only one layer"),
                            to_translate("there is no layer {2}: the attention has {1} layers")};

void check_choice(const ChoiceTexts& texts, std::size_t index, std::size_t count) {
  if (index < count) return;
  throw input_error(
      translated(count == 1 ? texts.one : texts.many, count, index), texts.field,
      count == 1 ? translated("leave it out, or give 0") : translated("give 0 to {1}", count - 1));
}

void check_digits(int digits) {
  if (digits >= fewest_decimals && digits <= most_decimals_shown) return;
  throw input_error(translated("numbers cannot be shown with {1} decimals", digits),
                    "ExplainOptions::digits",
                    translated("give {1} to {2}", fewest_decimals, most_decimals_shown));
}

}  // namespace attn
