#include "document/keys.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/dropout_reader.hpp"
#include "document/foreign_keys.hpp"
#include "document/pooling_reader.hpp"
#include "document/position_reader.hpp"
#include "io/json_object.hpp"
#include "support/nearest_name.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

bool all(const KindInfo&) {
  return true;
}
bool tensors(const KindInfo& kind) {
  return kind.family != Family::model;
}
bool model(const KindInfo& kind) {
  return kind.family == Family::model;
}
bool given_scores(const KindInfo& kind) {
  return kind.family == Family::given_scores;
}
bool queries(const KindInfo& kind) {
  return kind.family == Family::score || kind.family == Family::projected;
}
bool values(const KindInfo& kind) {
  return kind.family != Family::transformer && tensors(kind);
}
bool hidden_states(const KindInfo& kind) {
  return kind.family == Family::projected || kind.family == Family::transformer;
}
bool texts(const KindInfo& kind) {
  return kind.family != Family::given_scores;
}
bool sequences(const KindInfo& kind) {
  return texts(kind) && tensors(kind);
}
bool second_sequence(const KindInfo& kind) {
  return kind.kind == Kind::cross || kind.kind == Kind::multi_head ||
         kind.kind == Kind::decoder_layer;
}
bool second_tokens(const KindInfo& kind) {
  return second_sequence(kind) || kind.family == Family::score;
}
bool heads(const KindInfo& kind) {
  return kind.family == Family::score || kind.family == Family::transformer ||
         kind.kind == Kind::multi_head;
}
bool learned(const KindInfo& kind) {
  return !kind.parameters.empty() || kind.family == Family::transformer;
}
bool layers(const KindInfo& kind) {
  return kind.family == Family::transformer;
}
bool several_layers(const KindInfo& kind) {
  return layers(kind) || model(kind);
}
bool products(const KindInfo& kind) {
  return hidden_states(kind) || kind.kind == Kind::dot_product ||
         kind.kind == Kind::scaled_dot_product;
}
bool decoder(const KindInfo& kind) {
  return kind.kind == Kind::decoder_layer;
}

constexpr auto activations = std::to_array<Named<GatedActivation>>({
    {"relu", {Activation::relu}},
    {"gelu", {Activation::gelu}},
    {"gelu_tanh", {Activation::gelu_tanh}},
    {"silu", {Activation::silu}},
    {"swiglu", {Activation::silu, true}},
    {"geglu", {Activation::gelu, true}},
    {"geglu_tanh", {Activation::gelu_tanh, true}},
});
constexpr auto norm_places =
    std::to_array<Named<NormPlace>>({{"post", NormPlace::post}, {"pre", NormPlace::pre}});

// Models have no narrow types of computation.
std::span<const Named<DType>> dtypes(const KindInfo& kind) {
  return model(kind) ? document_dtypes().first(2) : document_dtypes();
}

std::size_t count(const KeyValue& given) {
  return static_cast<std::size_t>(expect_integer(given.value, given.at, 1));
}

constexpr std::array<DocumentKey, 54> keys{{
    {"attention", all,
     to_translate("the kind of attention, or a list of kinds; \"model\" beside a model"),
     R"("oneOf": [{"$ref": "#/$defs/kind"}, {"const": "model"}, {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"$ref": "#/$defs/kind"}}])"},
    {"model", model, to_translate("checkpoint folder, in the place of a kind of attention"),
     R"("type": "string")"},
    {"architecture", model,
     to_translate("file with a row that describes the model, in the place of a known one"),
     R"("type": "string")"},
    {"token_types", model, to_translate("as token_ids, for models that have token types"),
     R"("$ref": "#/$defs/ids")"},
    {"special_tokens", model, to_translate("whether the tokenizer's template is applied to text"),
     R"("type": "boolean")",
     [](const KeyValue& given, PlainValues& values) {
       values.special_tokens = expect_boolean(given.value, given.at);
     }},
    {"decoder_text", model, to_translate("what the decoder of an encoder-decoder reads"),
     R"("$ref": "#/$defs/texts")"},
    {"decoder_token_ids", model, to_translate("the same as token ids"), R"("$ref": "#/$defs/ids")"},
    {"logits", model, to_translate("true: write the logits of each position too"),
     R"("type": "boolean")"},
    {"heads_off", model,
     to_translate("heads by layer whose outputs are zeros before the output projection"),
     R"("type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer", "minimum": 0}})"},
    {"query", queries, to_translate("tensor [L,D], [B,L,D] or [B,H,L,D]"),
     R"("$ref": "#/$defs/tensor")"},
    {"key", queries, to_translate("tensor; the query if absent"), R"("$ref": "#/$defs/tensor")"},
    {"value", values, to_translate("tensor; the key if absent"), R"("$ref": "#/$defs/tensor")"},
    {"x", hidden_states, to_translate("hidden states [L,E] or [B,L,E]"),
     R"("$ref": "#/$defs/tensor")"},
    {"memory", second_sequence, to_translate("hidden states that keys and values come from"),
     R"("$ref": "#/$defs/tensor")"},
    {"past_key", queries, to_translate("rows before those of the key"),
     R"("$ref": "#/$defs/tensor")"},
    {"past_value", queries, to_translate("rows before those of the value"),
     R"("$ref": "#/$defs/tensor")"},
    {"scores", given_scores, to_translate("given scores [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"),
     R"("$ref": "#/$defs/tensor")"},
    {"tokens", sequences, to_translate("sequences of tokens, in the place of x or query"),
     R"("$ref": "#/$defs/names")"},
    {"token_ids", texts,
     to_translate("sequences of token ids, in the place of x or query, or for a model"),
     R"("$ref": "#/$defs/ids")"},
    {"text", texts,
     to_translate("texts for the tokenizer, in the place of x or query, or for a model"),
     R"("$ref": "#/$defs/model_texts")"},
    {"memory_tokens", second_tokens,
     to_translate("sequences of tokens, in the place of memory or key"),
     R"("$ref": "#/$defs/names")"},
    {"memory_token_ids", second_tokens,
     to_translate("sequences of token ids, in the place of memory or key"),
     R"("$ref": "#/$defs/ids")"},
    {"memory_text", second_tokens,
     to_translate("texts for the tokenizer, in the place of memory or key"),
     R"("$ref": "#/$defs/texts")"},
    {"embedding", sequences, to_translate("turns tokens into hidden states"),
     R"("$ref": "#/$defs/embedding")"},
    {"tokenizer", sequences, to_translate("cuts text into tokens"),
     R"("$ref": "#/$defs/tokenizer")"},
    {"parameters", learned, to_translate("learned weights"), R"("$ref": "#/$defs/parameters")"},
    {"mask", tensors, to_translate("which keys each query sees"), R"("$ref": "#/$defs/mask")"},
    {"valid_lens", tensors, to_translate("how many leading keys are valid, [B] or [B,Lq]"),
     R"("$ref": "#/$defs/tensor")"},
    {"memory_mask", decoder, to_translate("the mask of a decoder layer's cross-attention"),
     R"("$ref": "#/$defs/mask")"},
    {"memory_valid_lens", decoder, to_translate("the valid lengths of a decoder layer's memory"),
     R"("$ref": "#/$defs/tensor")"},
    {"heads", heads, to_translate("number of query heads"), R"("type": "integer", "minimum": 1)",
     [](const KeyValue& given, PlainValues& values) { values.heads = count(given); }},
    {"kv_heads", heads, to_translate("number of key and value heads; heads if absent"),
     R"("type": "integer", "minimum": 1)",
     [](const KeyValue& given, PlainValues& values) { values.kv_heads = count(given); }},
    {"scale", tensors, to_translate("factor of the scores"), R"("type": "number")",
     [](const KeyValue& given, PlainValues& values) {
       values.options.scale = expect_number(given.value, given.at);
     }},
    {"softcap", tensors, to_translate("c of c·tanh(score/c)"),
     R"("type": "number", "exclusiveMinimum": 0)",
     [](const KeyValue& given, PlainValues& values) {
       values.options.softcap = expect_number(given.value, given.at);
     }},
    {"rotary", products, to_translate("turns queries and keys by their positions"),
     R"("$ref": "#/$defs/rotary")"},
    {"query_norm", products, to_translate("norm of each head's query, before it is turned"),
     R"("$ref": "#/$defs/head_norm")"},
    {"key_norm", products, to_translate("norm of each head's key, before it is turned"),
     R"("$ref": "#/$defs/head_norm")"},
    {"relative_bias", products, to_translate("biases by buckets of distances, as in T5"),
     R"("$ref": "#/$defs/relative_bias")"},
    {"sinks", products,
     to_translate("[H]: one more logit a head in the softmax's sum, without a value"),
     R"("$ref": "#/$defs/tensor")"},
    {"gradient", tensors,
     to_translate("the output's gradient, for those of all that it was computed from"),
     R"("type": "object", "required": ["output"], "additionalProperties": false, "properties": {"output": {"$ref": "#/$defs/tensor"}})"},
    {"feed_forward", layers, to_translate("hidden width of a layer's feed-forward part"),
     R"("type": "integer", "minimum": 1)",
     [](const KeyValue& given, PlainValues& values) { values.feed_forward = count(given); }},
    {"activation", layers, to_translate("of the feed-forward part; the last three are gated"),
     R"("enum": ["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu", "geglu_tanh"])",
     [](const KeyValue& given, PlainValues& values) {
       values.activation = expect_choice(given.value, given.at, "activation", activations);
     }},
    {"norm", layers, to_translate("post or pre"), R"("enum": ["post", "pre"])",
     [](const KeyValue& given, PlainValues& values) {
       values.norm = expect_choice(given.value, given.at, "norm", norm_places);
     }},
    {"norm_kind", layers, to_translate("layer or rms"), R"("enum": ["layer", "rms"])",
     [](const KeyValue& given, PlainValues& values) {
       values.norm_kind = read_norm_kind(given.value, given.at);
     }},
    {"layers", several_layers,
     to_translate(
         "number of layers; of a model the layers whose weights are wanted, from 0: all, one or "
         "several"),
     R"("oneOf": [{"const": "all"}, {"type": "integer", "minimum": 0}, {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}])",
     [](const KeyValue& given, PlainValues& values) {
       if (!model(given.kind)) values.layers = count(given);
     }},
    {"eps", products, to_translate("ε of all norms"), R"("type": "number", "exclusiveMinimum": 0)",
     [](const KeyValue& given, PlainValues& values) {
       values.options.eps = expect_number(given.value, given.at);
     }},
    {"weights", all, to_translate("false: leave the weights out of the result"),
     R"("type": "boolean")",
     [](const KeyValue& given, PlainValues& values) {
       values.options.weights = expect_boolean(given.value, given.at);
     }},
    {"pool", tensors,
     to_translate("weights reduced to a map of at most so many bins of queries and keys"),
     R"("oneOf": [{"type": "integer", "minimum": 1}, {"type": "object", "required": ["size"], "additionalProperties": false, "properties": {"size": {"type": "integer", "minimum": 1}, "reduction": {"enum": ["mean", "max"]}}}])",
     [](const KeyValue& given, PlainValues& values) {
       values.options.pool = read_pooling(given.value, given.at);
     }},
    {"dropout", tensors, to_translate("dropout on the weights"), R"("$ref": "#/$defs/dropout")",
     [](const KeyValue& given, PlainValues& values) {
       values.dropout = read_dropout(given.value, given.at);
     }},
    {"labels", tensors, to_translate("names of queries and keys"), R"("$ref": "#/$defs/labels")"},
    {"seed", tensors, to_translate("seed of random tensors, as torch.manual_seed"),
     R"("type": "integer")"},
    {"dtype", all, to_translate("of the computation"),
     R"("enum": ["float32", "float64", "bfloat16", "float16"])",
     [](const KeyValue& given, PlainValues& values) {
       values.options.dtype = expect_choice(given.value, given.at, "dtype", dtypes(given.kind));
     }},
    {"title", all, to_translate("title of report and pictures"), R"("type": "string")",
     [](const KeyValue& given, PlainValues& values) {
       values.title = expect_string(given.value, given.at);
     }},
    {"description", all, to_translate("text for the report"), R"("type": "string")",
     [](const KeyValue& given, PlainValues& values) {
       values.description = expect_string(given.value, given.at);
     }},
}};

std::string help_for(const DocumentKey& key, Kind kind) {
  const std::string_view name = key.name;
  if (kind == Kind::model) {
    return name == "mask" || name == "valid_lens"
               ? translated(
                     "leave it out: a model has its own mask, and shorter texts are padded by "
                     "themselves")
               : translated(
                     "leave it out: a model takes \"text\" or \"token_ids\", and its configuration "
                     "says the rest");
  }
  if (key.takes(info(Kind::model)) && !key.takes(info(Kind::encoder_layer)))
    return translated("leave it out, or choose \"model\", which takes a checkpoint folder");
  if (name == "parameters") return translated("leave it out: this kind has no parameters");
  if (name == "scores")
    return translated("leave it out, or choose \"softmax\", which takes given scores");
  if (kind == Kind::softmax)
    return translated("leave it out: softmax takes \"scores\" and, if wanted, \"value\"");
  if (name == "x")
    return translated(
        "give \"query\", \"key\" and \"value\", or choose a kind that projects hidden states");
  if (name == "query" || name == "key" || name == "value")
    return translated("give the hidden states as \"x\"");
  if (name.starts_with("memory")) {
    return translated(
        "leave it out, or choose a kind with cross-attention: \"cross\", \"multi_head\", "
        "\"decoder_layer\"");
  }
  if (name.ends_with("heads") && info(kind).family == Family::projected)
    return translated("leave it out, or choose \"multi_head\"");
  return translated("leave it out");
}

}  // namespace

std::span<const DocumentKey> document_keys() noexcept {
  return keys;
}

std::span<const Named<DType>> document_dtypes() noexcept {
  static constexpr auto dtypes = std::to_array<Named<DType>>({{"float32", DType::float32},
                                                              {"float64", DType::float64},
                                                              {"bfloat16", DType::bfloat16},
                                                              {"float16", DType::float16}});
  return dtypes;
}

PlainValues read_plain_values(const JsonValue& root, const KindInfo& kind, Problems& problems) {
  PlainValues values;
  for (const DocumentKey& key : keys) {
    const JsonValue* value = key.read && key.takes(kind) ? root.find(key.name) : nullptr;
    if (!value) continue;
    problems.attempt([&] { key.read({*value, pointer_to("", key.name), kind}, values); });
  }
  return values;
}

void check_document_keys(const JsonValue& root, Problems& problems) {
  std::vector<std::string_view> known;
  known.reserve(std::size(keys));
  for (const DocumentKey& key : keys) known.push_back(key.name);
  constexpr std::size_t most_told = 1000;
  std::size_t unknown = 0;
  for (const JsonMember& member : root.members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (++unknown > most_told) continue;
    const std::string_view instead = instead_of_foreign_key(member.key);
    problems.add(
        input_error(translated("unknown key \"{1}\"", member.key), pointer_to("", member.key),
                    instead.empty() ? suggestion(member.key, known) : translated(instead)));
  }
  if (unknown > most_told) {
    problems.add(input_error(
        translated("{1} more",
                   translated_count(unknown - most_told, "{1} unknown key", "{1} unknown keys")),
        "", suggestion("", known)));
  }
}

void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems) {
  for (const DocumentKey& key : keys) {
    const auto takes = [&](Kind kind) { return key.takes(info(kind)); };
    if (!root.find(key.name) || std::any_of(kinds.begin(), kinds.end(), takes)) continue;
    std::string names;
    for (const Kind kind : kinds)
      names += (names.empty() ? "" : ", ") + std::string(info(kind).name);
    problems.add(
        input_error(translated("\"{1}\" has no meaning for {2} attention", key.name, names),
                    pointer_to("", key.name), help_for(key, kinds[0])));
  }
}

}  // namespace attn
