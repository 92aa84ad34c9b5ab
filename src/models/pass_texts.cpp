#include <algorithm>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/pass.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"

namespace attn {

ModelTexts ModelTexts::of_sample(std::size_t sample) const {
  ModelTexts one = *this;
  for (auto* lists : {&one.ids, &one.types, &one.decoder_ids}) {
    if (!lists->empty()) *lists = {(*lists)[sample]};
  }
  for (auto* tensors : {&one.pictures, &one.sounds}) {
    if (!tensors->empty()) *tensors = {(*tensors)[sample]};
  }
  one.captions.clear();
  return one;
}

void take_types_away(const Architecture& model, ModelTexts& texts) {
  texts.types.resize(std::min(texts.types.size(), texts.ids.size()));
  const bool fit = model.compares_types() &&
                   std::ranges::equal(texts.ids, texts.types, {}, &std::vector<std::int64_t>::size,
                                      &std::vector<std::int64_t>::size);
  if (!fit) texts.types.clear();
}

std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept {
  std::size_t longest = 0;
  for (const auto& ids : samples) longest = std::max(longest, ids.size());
  return longest;
}

Tensor padded_ids(const std::vector<std::vector<std::int64_t>>& samples) {
  const std::size_t longest = longest_of(samples);
  std::vector<std::int64_t> all;
  for (const auto& ids : samples) {
    all.insert(all.end(), ids.begin(), ids.end());
    all.insert(all.end(), longest - ids.size(), -1);
  }
  return {{samples.size(), longest}, std::move(all)};
}

std::vector<std::size_t> global_positions(const Architecture& model,
                                          const std::vector<std::int64_t>& ids,
                                          const std::string& place) {
  if (model.global_tokens == GlobalTokens::none) return {};
  if (model.global_tokens == GlobalTokens::first) return {0};
  // A pair has a separator behind each text, and one before the second.
  constexpr std::ptrdiff_t of_pair = 3;
  const std::ptrdiff_t count = std::ranges::count(ids, model.separator_id.value_or(-1));
  if (count != of_pair) {
    throw input_error(
        translated(
            "the text has {1}, and a pair of texts has {2}",
            translated_count(static_cast<std::size_t>(count), "{1} separator", "{1} separators"),
            static_cast<std::size_t>(of_pair)),
        place,
        translated("give a pair of texts: the tokens that see all others are found by its "
                   "separators"));
  }
  const auto first =
      static_cast<std::size_t>(std::ranges::find(ids, *model.separator_id) - ids.begin());
  const bool question = model.global_tokens == GlobalTokens::question;
  std::vector<std::size_t> all(question ? first : ids.size() - std::min(ids.size(), first + 2));
  std::iota(all.begin(), all.end(), question ? 0 : first + 2);
  return all;
}

std::optional<std::size_t> longest_text(const Architecture& model, const CheckpointWeights& weights,
                                        const ModelStack& stack) {
  const StackWeights names(weights, model, stack);
  const auto shape = names.shape(WeightPurpose::positions, std::nullopt, "weight");
  if (!shape || shape->empty()) return std::nullopt;
  return shape->front() - std::min(shape->front(), model.first_position);
}

void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts) {
  const auto check = [&](const ModelStack& stack, const auto& lists, const auto& types,
                         const std::string& place) {
    const StackWeights names(weights, model, stack);
    const auto rows = [&](WeightPurpose purpose) -> std::optional<std::size_t> {
      const auto shape = names.shape(purpose, std::nullopt, "weight");
      return shape && !shape->empty() ? std::optional(shape->front()) : std::nullopt;
    };
    const auto bound = [&](const std::vector<std::int64_t>& ids, std::size_t end,
                           const std::string& noun, const std::string& where) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && static_cast<std::size_t>(ids[i]) < end) continue;
        throw input_error(translated("the {1} {2} is not between 0 and {3}", noun, ids[i], end - 1),
                          pointer_to(where, i), give_below(end));
      }
    };
    const auto tokens = rows(WeightPurpose::tokens), kinds = rows(WeightPurpose::types);
    const auto longest = longest_text(model, weights, stack);
    for (std::size_t b = 0; b < lists.size(); ++b) {
      const std::string where = pointer_to(place, b);
      if (tokens) bound(lists[b], *tokens, translated("token id"), where);
      if (kinds && b < types.size())
        bound(types[b], *kinds, translated("token type"), "/token_types/" + std::to_string(b));
      if (!longest || lists[b].size() <= *longest) continue;
      throw input_error(
          translated("the text has {1} tokens, and the model's positions end after {2}",
                     lists[b].size(), *longest),
          where, translated("shorten the text, or cut it into several"));
    }
  };
  if (model.vision) {
    if (texts.captions.empty()) return;
    if (!model.text) {
      throw input_error(translated("the model has no part that reads texts"), texts.place,
                        translated("leave the texts out"));
    }
    ModelTexts own;
    own.ids = texts.captions;
    own.place = texts.place;
    check_texts(*model.text, weights, own);
    return;
  }
  if (!model.sound) check(model.stacks[0], texts.ids, texts.types, texts.place);
  if (model.encoder_decoder()) {
    check(model.stacks[1], texts.decoder_ids, decltype(texts.types){}, texts.decoder_place);
  }
}

}  // namespace attn
