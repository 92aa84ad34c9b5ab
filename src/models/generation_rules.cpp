#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "models/generation.hpp"
#include "models/library_keys.hpp"
#include "models/model_folder.hpp"

namespace attn {
namespace {

using Ids = std::vector<std::int64_t>;

// ---- Reading ------------------------------------------------------------------------------------

void read_setting(double& to, const JsonValue& value, const std::string& place) {
  to = positive(place.substr(1), expect_number(value, place));
}

void read_setting(std::size_t& to, const JsonValue& value, const std::string& place) {
  to = static_cast<std::size_t>(expect_integer(value, place, 0));
}

// An id, or a list of several.
void read_setting(Ids& to, const JsonValue& value, const std::string& place) {
  if (value.is(JsonValue::Type::number)) {
    to = {expect_integer(value, place, 0)};
    return;
  }
  to.clear();
  for (std::size_t i = 0; i < expect_array(value, place).size(); ++i) {
    to.push_back(expect_integer(value.element(i), pointer_to(place, i), 0));
  }
}

void read_setting(std::vector<Ids>& to, const JsonValue& value, const std::string& place) {
  for (std::size_t i = 0; i < expect_array(value, place).size(); ++i) {
    read_setting(to.emplace_back(), expect_array(value.element(i), pointer_to(place, i)),
                 pointer_to(place, i));
  }
}

struct FollowedKey {
  std::string_view key;
  void (*read)(GenerationRules& rules, const JsonValue& value, const std::string& place);
};

template <auto member>
void read_rule(GenerationRules& rules, const JsonValue& value, const std::string& place) {
  read_setting(rules.*member, value, place);
}

constexpr auto followed = std::to_array<FollowedKey>(
    {{"encoder_repetition_penalty", read_rule<&GenerationRules::encoder_repetition_penalty>},
     {"repetition_penalty", read_rule<&GenerationRules::repetition_penalty>},
     {"no_repeat_ngram_size", read_rule<&GenerationRules::no_repeat_ngram_size>},
     {"encoder_no_repeat_ngram_size", read_rule<&GenerationRules::encoder_no_repeat_ngram_size>},
     {"bad_words_ids", read_rule<&GenerationRules::bad_words>},
     {"min_length", read_rule<&GenerationRules::min_length>},
     {"min_new_tokens", read_rule<&GenerationRules::min_new_tokens>},
     {"forced_bos_token_id", read_rule<&GenerationRules::forced_first>},
     {"forced_eos_token_id", read_rule<&GenerationRules::forced_last>},
     {"suppress_tokens", read_rule<&GenerationRules::suppressed>},
     {"begin_suppress_tokens", read_rule<&GenerationRules::suppressed_first>}});

struct OtherKey {
  std::string_view key;
  double neutral = 0;  ///< with this value the library takes the likeliest token too
};

constexpr auto not_followed = std::to_array<OtherKey>({{"do_sample"},
                                                       {"num_beams", 1},
                                                       {"penalty_alpha"},
                                                       {"dola_layers"},
                                                       {"guidance_scale", 1},
                                                       {"sequence_bias"},
                                                       {"exponential_decay_length_penalty"},
                                                       {"constraints"},
                                                       {"force_words_ids"},
                                                       {"watermarking_config"},
                                                       {"stop_strings"},
                                                       {"max_time"},
                                                       {"token_healing"}});

// The member of the settings, or of their part about the model that writes.
const JsonValue* setting(const JsonValue& settings, std::string_view key) {
  if (const JsonValue* own = present_member(settings, key)) return own;
  for (const char* part : {"decoder", "text_config"}) {
    if (const JsonValue* inner = present_member(settings, part)) return present_member(*inner, key);
  }
  return nullptr;
}

GenerationRules rules_of(const JsonValue& settings) {
  GenerationRules rules;
  for (const FollowedKey& known : followed) {
    const JsonValue* value = setting(settings, known.key);
    if (value != nullptr) known.read(rules, *value, pointer_to("", known.key));
  }
  for (const OtherKey& known : not_followed) {
    const JsonValue* value = setting(settings, known.key);
    if (value == nullptr || is_neutral(*value, known.neutral)) continue;
    rules.not_followed.push_back("\"" + std::string(known.key) + "\": " + shown_value(*value));
  }
  return rules;
}

// ---- Acting -------------------------------------------------------------------------------------

constexpr double never = -std::numeric_limits<double>::infinity();

void set_logit(std::vector<double>& logits, std::int64_t id, double logit) {
  if (id < static_cast<std::int64_t>(logits.size())) logits[static_cast<std::size_t>(id)] = logit;
}

// Logits of tokens divided by the factor where they are positive, else times it.
void penalize(const Ids& ids, double factor, std::vector<double>& logits) {
  if (factor == 1) return;
  for (const std::int64_t id : std::set<std::int64_t>(ids.begin(), ids.end())) {
    if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
    double& logit = logits[static_cast<std::size_t>(id)];
    logit = logit < 0 ? logit * factor : logit / factor;
  }
}

// Whether a text ends with these ids.
bool ends_with(const Ids& text, std::span<const std::int64_t> ids) {
  return ids.size() <= text.size() && std::ranges::equal(ids, std::span(text).last(ids.size()));
}

// Hides the tokens with which the text would end in `size` tokens that follow one another in
// `from`.
void hide_repeated(const Ids& from, const Ids& text, std::size_t size,
                   std::vector<double>& logits) {
  if (size == 0 || text.size() + 1 < size) return;
  for (std::size_t first = 0; first + size <= from.size(); ++first) {
    if (!ends_with(text, std::span(from).subspan(first, size - 1))) continue;
    set_logit(logits, from[first + size - 1], never);
  }
}

void hide_all(const Ids& ids, std::vector<double>& logits) {
  for (const std::int64_t id : ids) set_logit(logits, id, never);
}

void hide_bad_words(const std::vector<Ids>& words, const AnswerSoFar& answer,
                    std::vector<double>& logits) {
  for (const Ids& word : words) {
    const bool is_end = word.size() == 1 && std::ranges::count(answer.ends, word.front()) > 0;
    if (word.empty() || is_end) continue;
    if (ends_with(answer.text, std::span(word).first(word.size() - 1))) {
      set_logit(logits, word.back(), never);
    }
  }
}

void force(const Ids& ids, std::vector<double>& logits) {
  std::ranges::fill(logits, never);
  for (const std::int64_t id : ids) set_logit(logits, id, 0);
}

}  // namespace

void GenerationRules::apply(const AnswerSoFar& answer, std::vector<double>& logits) const {
  const std::size_t length = answer.text.size();
  penalize(answer.source, 1 / encoder_repetition_penalty, logits);
  penalize(answer.text, repetition_penalty, logits);
  hide_repeated(answer.text, answer.text, no_repeat_ngram_size, logits);
  hide_repeated(answer.source, answer.text, encoder_no_repeat_ngram_size, logits);
  hide_bad_words(bad_words, answer, logits);
  if (length < std::max(min_length, answer.prompt + min_new_tokens)) hide_all(answer.ends, logits);
  if (length == 1 && !forced_first.empty()) force(forced_first, logits);
  if (length + 1 == answer.prompt + answer.most && !forced_last.empty()) force(forced_last, logits);
  hide_all(suppressed, logits);
  // Behind a first token that is forced comes the first that is free.
  const bool behind = answer.prompt == 1 && !forced_first.empty();
  if (length == answer.prompt + (behind ? 1U : 0U)) hide_all(suppressed_first, logits);
}

GenerationRules generation_rules(const ModelFolder& model, const FileAccess& access) {
  const auto settings = generation_settings(model, access);
  if (!settings) return {};
  try {
    return rules_of(settings->members);
  } catch (const Error& problem) {
    throw problem.inside(settings->file.string());
  }
}

}  // namespace attn
