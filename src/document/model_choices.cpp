#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/model_reader.hpp"
#include "document/token_reader.hpp"
#include "io/json_value.hpp"
#include "models/checkpoint.hpp"
#include "models/classification.hpp"
#include "models/pass.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "why/why.hpp"

namespace attn {

void read_layers(const JsonValue& root, ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  const auto no_map = [](const ModelStack& stack) {
    return std::ranges::none_of(stack.layers, &ModelLayer::has_map);
  };
  if (std::ranges::all_of(model.stacks, no_map)) {
    throw input_error(translated("no layer of the model has attention weights, and so a map"),
                      "/model", translated("choose a model that has others"));
  }
  const JsonValue* value = root.find("layers");
  if (value == nullptr) return;
  if (value->is(JsonValue::Type::string) && value->string() == "all") return;
  std::size_t most = 0;
  for (const ModelStack& stack : model.stacks) most = std::max(most, stack.layers.size());
  std::set<std::size_t> layers;
  const auto add = [&](const JsonValue& one, const std::string& at) {
    const auto layer = static_cast<std::size_t>(expect_integer(one, at, 0));
    if (layer >= most) {
      throw input_error(translated("there is no layer {1}: the model has {2}", layer,
                                   translated_count(most, "{1} layer", "{1} layers")),
                        at, give_below(most));
    }
    layers.insert(layer);
  };
  if (value->is(JsonValue::Type::array)) {
    if (value->size() == 0) {
      throw input_error(translated("the list of layers is empty"), "/layers",
                        translated("name at least one"));
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
      add(value->element(i), pointer_to("/layers", i));
    }
  } else {
    if (!value->is(JsonValue::Type::number)) {
      throw input_error(translated("expected layers, found {1}", translated(type_text(*value))),
                        "/layers", translated("give \"all\", a number, or a list of numbers"));
    }
    add(*value, "/layers");
  }
  request.options.wanted.layers.emplace(layers.begin(), layers.end());
  const auto has_map = [&](const ModelStack& stack) {
    return std::ranges::any_of(layers, [&](std::size_t n) {
      return n < stack.layers.size() && stack.layers[n].has_map();
    });
  };
  if (std::ranges::none_of(model.stacks, has_map)) {
    check_layer_with_map(model.stacks.front(), *layers.begin(), "/layers");
  }
}

std::string layers_without_map(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  std::string text;
  for (const ModelStack& stack : model.stacks) {
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      if (stack.layers[n].has_map() || !request.options.wanted.chooses(n)) continue;
      text += (text.empty() ? "" : name_separator()) + std::to_string(n);
    }
  }
  return text;
}

// The parts of ["2.0", "2.3"] or "2.0" by their layers, {"2": [0, 3]}; empty if one is not known.
std::string parts_by_layers(const JsonValue& value) {
  const std::string all = R"("all")";
  std::vector<std::pair<std::string, std::string>> layers;  // with the numbers of heads, or all
  const auto add = [&](const JsonValue& name) {
    const auto place =
        name.is(JsonValue::Type::string) ? ModelPlace::parse(name.string()) : std::nullopt;
    const bool feeds = place && place->part == ModelPlace::Part::feed_forward;
    if (!place || !place->positions.empty() || !(feeds || place->is_attention())) return false;
    const std::string layer =
        place->head ? name.string().substr(0, name.string().rfind('.')) : name.string();
    auto known = std::ranges::find(layers, layer, &std::pair<std::string, std::string>::first);
    if (known == layers.end()) known = layers.insert(known, {layer, ""});
    std::string& heads = known->second;
    if (!place->head) {
      heads = all;
    } else if (heads != all) {
      heads += (heads.empty() ? "" : ", ") + std::to_string(*place->head);
    }
    return true;
  };
  if (value.is(JsonValue::Type::array)) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!add(value.element(i))) return "";
    }
  } else if (!add(value)) {
    return "";
  }
  std::string text;
  for (const auto& [layer, heads] : layers) {
    text += (text.empty() ? "" : ", ") + json_string(layer) + ": " +
            (heads == all ? all : "[" + heads + "]");
  }
  return text.empty() ? "" : "{" + text + "}";
}

void read_heads_off(const JsonValue& root, ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  const JsonValue* value = root.find("heads_off");
  if (value == nullptr) return;
  const std::string meant = parts_by_layers(*value);
  const std::string help =
      meant.empty() ? translated("name heads by their layers, such as {1}", R"({"1": [0, 3]})")
                    : translated("write {1}", meant);
  for (const JsonMember& member : expect_object(*value, "/heads_off", help).members()) {
    const std::string at = pointer_to("/heads_off", member.key);
    const auto place = ModelPlace::parse(member.key);
    const bool feeds = place && place->part == ModelPlace::Part::feed_forward;
    const bool whole = place && place->positions.empty() && !place->head;
    if (!whole || !(feeds || place->is_attention()) || !has_stack(model, place->stack)) {
      throw input_error(
          translated("{1} is not a layer of the model", in_quotes(member.key)), at,
          model.encoder_decoder()
              ? translated("name layers such as \"encoder.0\", \"decoder.0\" or \"cross.0\"")
              : translated("name layers by their numbers, such as \"0\""));
    }
    const ModelStack& stack = stack_in(model, place->stack);
    const bool all = member.value.is(JsonValue::Type::string) && member.value.string() == "all";
    if (feeds && all) {
      check_layer(stack, place->layer, at);
      request.options.heads_off.push_back(*place);
      continue;
    }
    check_layer_with_map(stack, place->layer, at);
    if (all) {
      for (std::size_t head = 0; head < stack.layers[place->layer].heads; ++head) {
        request.options.heads_off.push_back(place->with_head(head));
      }
      continue;
    }
    if (feeds || !member.value.is(JsonValue::Type::array)) {
      throw input_error(
          translated("expected a list of heads, found {1}", translated(type_text(member.value))),
          at, translated("give a list of numbers such as [0, 3], or \"all\""));
    }
    for (std::size_t i = 0; i < member.value.size(); ++i) {
      ModelPlace head = *place;
      const std::string number = pointer_to(at, i);
      head.head = static_cast<std::size_t>(expect_integer(member.value.element(i), number, 0));
      check_head(model, head, number);
      request.options.heads_off.push_back(std::move(head));
    }
  }
}

namespace {

// The ids of a text of its own, which is read in the place of others.
std::vector<std::int64_t> ids_of_text(const JsonValue& text, const std::string& place,
                                      bool special_tokens, const ModelFolder& folder) {
  if (folder.no_tokenizer) throw *folder.no_tokenizer;
  if (expect_string(text, place).empty())
    throw input_error(translated("the text is empty"), place, translated("give a text"));
  std::vector<std::int64_t> ids;
  for (const TextToken& token :
       folder.tokenizer->encode(expect_string(text, place), std::nullopt, special_tokens, place)) {
    ids.push_back(token.id);
  }
  return ids;
}

}  // namespace

void read_ablation(const JsonValue& root, bool special_tokens, ModelRequest& request) {
  constexpr auto ways =
      std::to_array<Named<Ablation>>({{"zero", Ablation::zero},
                                      {"mean", Ablation::mean},
                                      {"mean_by_position", Ablation::mean_by_position}});
  ModelOptions& options = request.options;
  if (const JsonValue* way = root.find("ablate")) {
    options.ablation = expect_choice(*way, "/ablate", translated("way to switch heads off"), ways);
  }
  const JsonValue* over = root.find("ablate_over");
  if (over == nullptr) return;
  if (options.ablation == Ablation::zero) {
    throw input_error(translated("there are no means over texts where zeros are written"),
                      "/ablate_over",
                      translated("choose a mean by DocumentOptions::ablate, or leave it out"));
  }
  if (request.folder->architecture.encoder_decoder() || request.folder->architecture.vision) {
    throw input_error(translated("means over other texts are those of models of one text"),
                      "/ablate_over", translated("leave it out"));
  }
  if (!over->is(JsonValue::Type::array) || over->size() == 0) {
    throw input_error(translated("expected texts, found {1}", translated(type_text(*over))),
                      "/ablate_over", translated("give a list of texts"));
  }
  for (std::size_t i = 0; i < over->size(); ++i) {
    options.reference.push_back(ids_of_text(over->element(i), pointer_to("/ablate_over", i),
                                            special_tokens, *request.folder));
  }
}

void read_patch(const JsonValue& root, bool special_tokens, ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  const JsonValue* value = root.find("patch");
  if (value == nullptr) return;
  constexpr auto known = std::to_array<std::string_view>({"text", "token_ids", "at"});
  const bool is_text = value->is(JsonValue::Type::string);
  expect_known_members(
      expect_object(
          *value, "/patch",
          is_text ? translated("write {1} for a part such as head 0 of layer 2; without \"at\", "
                               "attn-cli heads takes each part in its turn",
                               R"("patch": {"text": )" + json_string(value->string()) +
                                   R"(, "at": "2.0"})")
                  : members_help(known)),
      known, "/patch");
  if (model.senses(model.stacks.front())) {
    throw input_error(translated("models of pictures or sound take nothing from another input"),
                      "/patch",
                      translated("name a model of texts: parts are patched in those alone"));
  }
  const JsonValue *text = value->find("text"), *ids = value->find("token_ids");
  if ((text == nullptr) == (ids == nullptr)) {
    throw input_error(
        text == nullptr ? translated("there is no text that the patched part is taken from")
                        : translated("the patch names its text twice"),
        "/patch",
        text == nullptr ? translated("give it with DocumentOptions::patch, or in a document as {1}",
                                     R"({"text": …})")
                        : translated("give either \"text\" or \"token_ids\""));
  }
  Patch& patch = request.options.patch.emplace();
  if (ids != nullptr) {
    patch.ids = read_ids(*ids, "/patch/token_ids").front();
  } else {
    patch.ids = ids_of_text(*text, "/patch/text", special_tokens, *request.folder);
  }
  const auto add_place = [&](const JsonValue& place, const std::string& where) {
    patch.at.push_back(patch_place(expect_string(place, where), model, where));
  };
  if (const JsonValue* at = value->find("at"); at != nullptr && at->is(JsonValue::Type::array)) {
    for (std::size_t i = 0; i < at->size(); ++i) {
      add_place(at->element(i), pointer_to("/patch/at", i));
    }
  } else if (at != nullptr) {
    add_place(*at, "/patch/at");
  }
  ModelTexts source;
  source.ids = {patch.ids};
  source.place = ids != nullptr ? "/patch/token_ids" : "/patch/text";
  source.decoder_ids = request.texts.decoder_ids;
  check_texts(model, request.folder->weights, source);
}

std::vector<std::string> changes_of(const ModelRequest& request) {
  const auto listed = [](const std::vector<ModelPlace>& places) {
    std::string list;
    for (const ModelPlace& place : places)
      list += (list.empty() ? "" : name_separator()) + place.text();
    return list;
  };
  std::vector<std::string> changes;
  if (const auto& off = request.options.heads_off; !off.empty()) {
    changes.push_back(
        request.options.ablation == Ablation::zero
            ? translated("Changed: zeros instead of the output of {1}.", listed(off))
            : translated("Changed: means instead of the output of {1}.", listed(off)));
  }
  if (const auto& patch = request.options.patch; patch && !patch->at.empty()) {
    // A layer's number alone could be taken for its states.
    std::string list;
    for (const ModelPlace& place : patch->at) {
      const bool all_heads =
          place.in_layer() && !place.head && place.part <= ModelPlace::Part::cross;
      std::string name = place.text();
      if (all_heads) name.insert(std::min(name.find(':'), name.size()), ".attention");
      list += (list.empty() ? "" : name_separator()) + name;
    }
    changes.push_back(translated("Changed: {1} comes from another text.", list));
  }
  return changes;
}

namespace {

// A text for each sample, of one for all or of as many as there are.
std::vector<std::string> read_for_each(const JsonValue& value, const std::string& place,
                                       std::size_t samples) {
  if (!value.is(JsonValue::Type::array)) {
    return std::vector(samples, expect_string(value, place));
  }
  if (value.size() != samples) {
    const bool difference = samples == 1 && value.size() == 2 && place == "/logit";
    throw input_error(
        translated("{1} for {2}", translated_count(value.size(), "{1} token", "{1} tokens"),
                   translated_count(samples, "{1} text", "{1} texts")),
        place,
        difference ? translated("for the difference of two logits name the second token with "
                                "\"against_logit\"")
                   : translated("give one token for all texts, or one for each"));
  }
  std::vector<std::string> texts;
  for (std::size_t b = 0; b < samples; ++b) {
    texts.push_back(expect_string(value.element(b), pointer_to(place, b)));
  }
  return texts;
}

// The error of a split at the key that asks for it.
Error placed_at_key(const Error& error) {
  constexpr std::pair<std::string_view, const char*> keys[]{
      {"WhyOptions::head", "/why/head"},
      {"WhyOptions::query", "/why/query"},
      {"WhyOptions::key", "/why/key"},
      {"WhyOptions::logit", "/logit"},
      {"WhyOptions::against_logit", "/against_logit"}};
  for (const auto& [field, place] : keys) {
    if (error.where() == field) return {error.kind(), error.problem(), place, error.help()};
  }
  return error;
}

}  // namespace

void read_why(const JsonValue& root, ModelRequest& request) {
  const JsonValue *why = root.find("why"), *logit = root.find("logit"),
                  *against = root.find("against_logit");
  if (why == nullptr && logit == nullptr && against == nullptr) return;
  const std::size_t samples = request.texts.ids.size();
  request.why.resize(samples);
  if (why != nullptr) {
    constexpr auto known = std::to_array<std::string_view>({"head", "query", "key"});
    expect_known_members(expect_object(*why, "/why", members_help(known)), known, "/why");
    WhyOptions of_all;
    const auto number = [&](const char* key) -> std::optional<std::size_t> {
      const JsonValue* value = why->find(key);
      if (value == nullptr) return std::nullopt;
      return static_cast<std::size_t>(expect_integer(*value, pointer_to("/why", key), 0));
    };
    if (const JsonValue* head = why->find("head")) of_all.head = expect_string(*head, "/why/head");
    of_all.query = number("query");
    of_all.key = number("key");
    request.why.assign(samples, of_all);
  }
  const auto read = [&](const JsonValue* value, const char* place,
                        std::optional<std::string> WhyOptions::*member) {
    if (value == nullptr) return;
    std::vector<std::string> texts = read_for_each(*value, place, samples);
    for (std::size_t b = 0; b < samples; ++b) request.why[b].*member = std::move(texts[b]);
  };
  read(logit, "/logit", &WhyOptions::logit);
  read(against, "/against_logit", &WhyOptions::against_logit);
  for (std::size_t b = 0; b < samples; ++b) {
    WhyOptions& own = request.why[b];
    if (own.against_logit && !own.logit) own.logit = "";
    if (!own) {
      throw input_error(translated("the split names neither a head nor a logit"), "/why",
                        translated("give a head, or DocumentOptions::logit"));
    }
    try {
      check_why(own, *request.folder, request.texts.of_sample(b));
    } catch (const Error& error) {
      throw placed_at_key(error);
    }
  }
}

void read_logits(const JsonValue& root, ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  const JsonValue* value = root.find("logits");
  bool& wanted = request.options.wanted.logits;
  if (value != nullptr && value->is(JsonValue::Type::string)) {
    throw input_error(
        translated("expected {1}, found {2}", translated("true or false"),
                   translated(type_text(*value))),
        "/logits", translated("give true or false; the token whose logit is split is \"logit\""));
  }
  if (value != nullptr) wanted = expect_boolean(*value, "/logits");
  if (!wanted || has_head(model, request.folder->weights)) return;
  const ModelHead& head = model.head;
  if (has_classifier(model, request.folder->weights)) {
    throw input_error(
        translated("the model classifies: it has no logits of tokens"), "/logits",
        translated("leave it out: classification.logits has those of the classes anyway"));
  }
  if (!model.headless_class.empty() || (head.dense.empty() && head.weight.empty())) {
    throw input_error(no_head_text(model), "/logits", translated("leave the logits out"));
  }
  throw input_error(
      translated("the checkpoint has no head that gives logits: no tensor {1}",
                 in_quotes((head.dense.empty() ? head.weight : head.dense.front()) + ".weight")),
      "/logits", translated("leave the logits out, or use the folder of the whole model"));
}

}  // namespace attn
