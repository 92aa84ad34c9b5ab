#include "document/keys.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/option_reader.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"

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
bool plain(const KindInfo& kind) {
  return kind.family == Family::score;
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
bool decoder(const KindInfo& kind) {
  return kind.kind == Kind::decoder_layer || kind.kind == Kind::transformer;
}
bool source(const KindInfo& kind) {
  return kind.kind == Kind::transformer;
}
bool second_sequence(const KindInfo& kind) {
  return kind.kind == Kind::cross || kind.kind == Kind::multi_head || decoder(kind);
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

/// An activation, and whether a gate multiplies its values.
struct GatedActivation {
  Activation function = Activation::relu;
  bool gated = false;
};
constexpr auto activations = std::to_array<Named<GatedActivation>>({
    {"relu", {Activation::relu}},
    {"gelu", {Activation::gelu}},
    {"gelu_tanh", {Activation::gelu_tanh}},
    {"silu", {Activation::silu}},
    {"relu2", {Activation::relu_squared}},
    {"quick_gelu", {Activation::quick_gelu}},
    {"swiglu", {Activation::silu, true}},
    {"geglu", {Activation::gelu, true}},
    {"geglu_tanh", {Activation::gelu_tanh, true}},
    {"reglu", {Activation::relu, true}},
});
constexpr auto norm_places =
    std::to_array<Named<NormPlace>>({{"post", NormPlace::post}, {"pre", NormPlace::pre}});

// Whether a scale is the usual one as true, as a word or as a formula, such as "1/sqrt(d_k)".
bool is_usual_scale(const JsonValue& value) {
  if (value.is(JsonValue::Type::boolean)) return value.boolean();
  if (!value.is(JsonValue::Type::string)) return false;
  const std::string_view text = value.string();
  if (text == "sqrt" || text == "auto" || text == "default") return true;
  const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
  constexpr auto roots = std::to_array<std::string_view>({"sqrt", "√", "-0.5", "-1/2", "-.5"});
  // The root of the width of all heads, or of a multiple of it, is another number.
  const bool of_other = has("model") || has("*d") || has("* d");
  return has("d") && !of_other && std::ranges::any_of(roots, has);
}

// Whether the softcap follows the biases.
constexpr auto softcap_places = std::to_array<Named<bool>>({{"scale", false}, {"bias", true}});

// Models are computed in float32 or float64 only.
std::span<const Named<DType>> dtypes(const KindInfo& kind) {
  return model(kind) ? document_dtypes().first(2) : document_dtypes();
}

using Reading = DocumentKey::Reading;

// A plain key whose value goes as it is to the member at the end of the path, whose type says how
// it is read and, unless one is given, its schema.
template <auto... path>
constexpr DocumentKey stored(std::string_view name, bool (*takes)(const KindInfo&),
                             std::string_view meaning, bool leaves_sizes = false,
                             Schema schema = {}) {
  using Member = std::remove_cvref_t<decltype((std::declval<PlainValues&>().*....*path))>;
  constexpr auto read = [](const KeyValue& given, PlainValues& values) {
    (values.*....*path) = FieldType<Member>::read(given.value, given.place);
  };
  if (schema.empty()) schema = FieldType<Member>::schema;
  return {name, takes, meaning, schema, Reading::plain, read, leaves_sizes};
}

// An option that is read in turn by a function of its place, type and tensors.
template <auto member, auto read>
constexpr DocumentKey in_turn(std::string_view name, bool (*takes)(const KindInfo&),
                              std::string_view meaning, Schema schema, bool leaves_sizes = false) {
  constexpr auto take = [](const KeyValue& given, PlainValues& values) {
    values.options.*member = read(given.value, given.place, values.numbers(), *given.tensors);
  };
  return {name, takes, meaning, schema, Reading::in_turn, take, leaves_sizes};
}

Tensor read_tensor(const JsonValue& value, const std::string& place, DType dtype,
                   TensorSource& tensors) {
  return tensors.read(value, dtype, place);
}

constexpr Schema tensor = FieldType<Tensor>::schema, string = FieldType<std::string>::schema,
                 truth = FieldType<bool>::schema, count = FieldType<std::size_t>::schema,
                 positive_number = R"("type": "number", "exclusiveMinimum": 0)";

constexpr Schema one_or_several_strings =
    R"("oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}])";

constexpr std::array<DocumentKey, 83> keys{{
    {"attention", all,
     to_translate("the kind of attention, or a list of kinds; \"model\" where a model is given"),
     R"("oneOf": [{"$ref": "#/$defs/kind"}, {"const": "model"}, {"type": "array", "minItems": 1, "uniqueItems": true, "items": {"$ref": "#/$defs/kind"}}])"},
    {"model", model, to_translate("checkpoint folder, instead of a kind of attention"), string},
    {"architecture", model,
     to_translate("file with a row of the table of models, instead of the known one"), string},
    {"adapter", model,
     to_translate("folder of a LoRA adapter, merged into the model's weights "
                  "when they are read"),
     string},
    {"image", model, to_translate("pictures that a model of pictures reads, a file or several"),
     R"("oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}])"},
    {"sound", model,
     to_translate("sounds that a model of sound reads, or their spectrograms, a file or several"),
     R"("oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}])"},
    {"token_types", model, to_translate("like token_ids, for models that have token types"),
     R"("$ref": "#/$defs/ids")"},
    stored<&PlainValues::special_tokens>(
        "special_tokens", model,
        to_translate("whether the tokenizer's template is applied to text")),
    {"decoder_text", model, to_translate("what the decoder of an encoder-decoder reads"),
     R"("$ref": "#/$defs/texts")"},
    {"decoder_token_ids", model, to_translate("the same, as token ids"),
     R"("$ref": "#/$defs/ids")"},
    {"decoder_tokenizer", model,
     to_translate("folder or tokenizer.json of a decoder whose vocabulary is not the encoder's"),
     string},
    {"logits", model, to_translate("true: write the logits of each position too"), truth},
    {"why", model,
     to_translate("the head whose scores are split among what the layers before it wrote, and the "
                  "query and key of these"),
     R"("type": "object", "additionalProperties": false, "properties": {"head": {"type": "string"}, "query": {"type": "integer", "minimum": 0}, "key": {"type": "integer", "minimum": 0}})"},
    {"logit", model,
     to_translate("a token whose logit is split among the parts of the model, or one for each "
                  "text; an empty text for the likeliest"),
     one_or_several_strings},
    {"against_logit", model,
     to_translate("a token whose logit is taken away from that one, or one for each text"),
     one_or_several_strings},
    {"heads_off", model,
     to_translate("heads by layer whose outputs are zeros before the output projection"),
     R"("type": "object", "additionalProperties": {"oneOf": [{"const": "all"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}]})"},
    {"ablate", model,
     to_translate("\"mean\" or \"mean_by_position\": heads that are off write their mean over all "
                  "tokens, or at each position, not zeros"),
     R"("enum": ["zero", "mean", "mean_by_position"])"},
    {"ablate_over", model, to_translate("texts over which these means are taken"),
     R"("type": "array", "minItems": 1, "items": {"type": "string"})"},
    {"patch", model,
     to_translate("another text, and the parts of the model whose outputs are taken from it"),
     R"("type": "object", "additionalProperties": false, "properties": {"text": {"type": "string"}, "token_ids": {"type": "array", "items": {"type": "integer", "minimum": 0}}, "at": {"oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}]}})"},
    {"generate", model, to_translate("largest number of tokens to generate after the text"), count},
    {"continue", model, to_translate("a text to read after the text, in place of a generated one"),
     R"("type": "string", "minLength": 1)"},
    {"parts", model,
     to_translate("parts of the text to report the answer's attention on: ranges of "
                  "characters by name, or \"special\" for what stands between special tokens"),
     R"("oneOf": [{"const": "special"}, {"type": "object", "minProperties": 1, "additionalProperties": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "integer", "minimum": 0}}}])"},
    {"prompt", model, to_translate("name of a prompt of the folder that goes before the texts"),
     string},
    {"truncate", model,
     to_translate("true: cut texts to the longest that the folder's library reads"), truth},
    {"chat", model, to_translate("refused with the reason: chat templates are not run"), truth},
    {"messages", model, to_translate("refused with the reason: chat templates are not run"),
     R"("type": "array", "items": {"type": "object", "required": ["role", "content"], "properties": {"role": {"type": "string"}, "content": {"type": "string"}}})"},
    {"query", queries, to_translate("tensor [L,D], [B,L,D] or [B,H,L,D]"), tensor},
    {"key", queries, to_translate("tensor; the query if absent"), tensor},
    {"value", values, to_translate("tensor; the key if absent"), tensor},
    {"x", hidden_states, to_translate("hidden states [L,E] or [B,L,E]"), tensor},
    {"memory", second_sequence, to_translate("hidden states that keys and values come from"),
     tensor},
    {"past_key", queries, to_translate("rows before those of the key"), tensor},
    {"past_value", queries, to_translate("rows before those of the value"), tensor},
    {"block_table", plain,
     to_translate("pages of key and value in their order, [M] or [B,M]; -1 = none"), tensor},
    {"scores", given_scores, to_translate("given scores [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"),
     tensor},
    {"tokens", sequences, to_translate("sequences of tokens, instead of x or query"),
     R"("$ref": "#/$defs/names")"},
    {"token_ids", texts,
     to_translate("sequences of token ids, instead of x or query, or for a model"),
     R"("$ref": "#/$defs/ids")"},
    {"text", texts, to_translate("texts for the tokenizer, instead of x or query, or for a model"),
     R"("$ref": "#/$defs/model_texts")"},
    {"memory_tokens", second_tokens, to_translate("sequences of tokens, instead of memory or key"),
     R"("$ref": "#/$defs/names")"},
    {"memory_token_ids", second_tokens,
     to_translate("sequences of token ids, instead of memory or key"), R"("$ref": "#/$defs/ids")"},
    {"memory_text", second_tokens,
     to_translate("texts for the tokenizer, instead of memory or key"),
     R"("$ref": "#/$defs/texts")"},
    {"embedding", sequences, to_translate("turns tokens into hidden states"),
     R"("$ref": "#/$defs/embedding")"},
    {"tokenizer", sequences, to_translate("cuts text into tokens"),
     R"("$ref": "#/$defs/tokenizer")"},
    {"parameters", learned, to_translate("learned weights"), R"("$ref": "#/$defs/parameters")"},
    {"mask", tensors, to_translate("which keys each query sees"), R"("$ref": "#/$defs/mask")",
     Reading::by_name, nullptr, true},
    {"attention_mask", tensors,
     to_translate("mask.keep by its name in transformers: 1 or true = seen"), tensor},
    {"valid_lens", tensors, to_translate("how many leading keys are valid, [B] or [B,Lq]"), tensor},
    {"memory_mask", decoder, to_translate("the mask of a decoder layer's cross-attention"),
     R"("$ref": "#/$defs/mask")", Reading::by_name, nullptr, true},
    {"memory_valid_lens", decoder, to_translate("the valid lengths of a decoder layer's memory"),
     tensor},
    {"source_mask", source, to_translate("the mask of a transformer's encoder"),
     R"("$ref": "#/$defs/mask")", Reading::by_name, nullptr, true},
    {"source_valid_lens", source, to_translate("the valid lengths in a transformer's encoder"),
     tensor},
    stored<&PlainValues::states, &Sequences::heads>("heads", heads,
                                                    to_translate("number of query heads")),
    stored<&PlainValues::states, &Sequences::kv_heads>(
        "kv_heads", heads, to_translate("number of key and value heads; heads if absent")),
    {"scale", tensors, to_translate("scale of the scores"), FieldType<double>::schema,
     Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.scale =
           expect_number(given.value, given.place,
                         is_usual_scale(given.value)
                             ? translated("leave it out: \"scaled_dot_product\" divides by √d_k")
                         : given.value.is(JsonValue::Type::boolean)
                             ? translated("give a number; 1 leaves the scores as they are")
                             : "");
     },
     true},
    stored<&PlainValues::options, &AttentionOptions::softcap>(
        "softcap", tensors, to_translate("c of c·tanh(score/c)"), true, positive_number),
    {"softcap_after", tensors,
     to_translate("scale or bias: whether biases are added after the softcap or before it"),
     +[] { return names_schema(softcap_places); }, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.softcap_after_bias =
           expect_choice(given.value, given.place, "step", softcap_places);
     },
     true},
    {"score", tensors, to_translate("expression that takes the place of the scaled score s"),
     R"("type": "string", "minLength": 1, "maxLength": 4096)", Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.score_expression.text = expect_expression(given.value, given.place);
     },
     true},
    {"weight", tensors, to_translate("expression that takes the place of the weight p"),
     R"("type": "string", "minLength": 1, "maxLength": 4096)", Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.weight_expression.text = expect_expression(given.value, given.place);
     },
     true},
    {"tables", tensors, to_translate("tensors of one to four axes that expressions read by name"),
     R"("type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/tensor"}]})",
     Reading::in_turn,
     [](const KeyValue& given, PlainValues& values) {
       values.tables = read_tables(given.value, given.place, *given.tensors);
     },
     true},
    in_turn<&AttentionOptions::gate, read_tensor>(
        "gate", tensors,
        to_translate("shape of the joined heads, which its sigmoid multiplies before the output "
                     "projection"),
        tensor, true),
    in_turn<&AttentionOptions::rotary, read_rotary>(
        "rotary", products, to_translate("rotates queries and keys by their positions"),
        R"("$ref": "#/$defs/rotary")"),
    in_turn<&AttentionOptions::query_norm, read_head_norm>(
        "query_norm", products, to_translate("norm of each head's query, before it is rotated"),
        R"("$ref": "#/$defs/head_norm")"),
    in_turn<&AttentionOptions::key_norm, read_head_norm>(
        "key_norm", products, to_translate("norm of each head's key, before it is rotated"),
        R"("$ref": "#/$defs/head_norm")"),
    in_turn<&AttentionOptions::relative_bias, read_relative_bias>(
        "relative_bias", products, to_translate("biases by buckets of distances, as in T5"),
        R"("$ref": "#/$defs/relative_bias")"),
    in_turn<&AttentionOptions::sinks, read_tensor>(
        "sinks", products,
        to_translate("[H]: one more logit per head in the softmax's sum, without a value"), tensor),
    {"linear_attention", [](const KindInfo& kind) { return plain(kind) && products(kind); },
     to_translate(
         "{}, decay, beta or both: linear attention with a state, in place of the softmax"),
     R"("$ref": "#/$defs/linear_rule")"},
    {"gradient", tensors,
     to_translate("the gradient of the output, from which those of all inputs are computed"),
     output_gradient_schema, Reading::in_turn,
     [](const KeyValue& given, PlainValues& values) {
       values.plan.output_gradient =
           read_output_gradient(given.value, given.place, values.numbers(), *given.tensors);
     }},
    stored<&PlainValues::feed_forward>("feed_forward", layers,
                                       to_translate("hidden width of a layer's feed-forward part")),
    {"activation", layers, to_translate("of the feed-forward part; the last four are gated"),
     +[] { return names_schema(activations); }, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       const GatedActivation chosen =
           expect_choice(given.value, given.place, "activation", activations);
       values.transformer.activation = chosen.function;
       values.transformer.gated = chosen.gated;
     }},
    {"norm", layers, to_translate("post or pre"), +[] { return names_schema(norm_places); },
     Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       constexpr auto names_of_kinds = std::to_array<std::string_view>(
           {"layer", "rms", "LayerNorm", "layer_norm", "layernorm", "RMSNorm", "rms_norm"});
       const bool kind = given.value.is(JsonValue::Type::string) &&
                         std::ranges::count(names_of_kinds, given.value.string()) > 0;
       if (kind) {
         throw input_error(translated("unknown {1} \"{2}\"", "norm", given.value.string()),
                           given.place,
                           translated("write {1}", given.value.string().find_first_of("Rr") == 0
                                                       ? R"("norm_kind": "rms")"
                                                       : R"("norm_kind": "layer")"));
       }
       values.transformer.norm = expect_choice(given.value, given.place, "norm", norm_places);
     },
     true},
    {"norm_kind", layers, to_translate("layer or rms"), norm_kind_schema, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.norm_kind = read_norm_kind(given.value, given.place);
     },
     true},
    {"layers", several_layers,
     to_translate("number of layers; of a model the layers to return weights for, from 0: all, one "
                  "or several"),
     R"("oneOf": [{"const": "all"}, {"type": "integer", "minimum": 0}, {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}])",
     Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       if (model(given.kind)) return;
       values.layers = FieldType<std::size_t>::read(given.value, given.place);
     }},
    stored<&PlainValues::options, &AttentionOptions::eps>(
        "eps", products, to_translate("ε of all norms"), true, positive_number),
    {"weights", all, to_translate("false: leave the weights out of the result"), truth,
     Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.plan.weights = expect_boolean(
           given.value, given.place,
           given.value.is(JsonValue::Type::array)
               ? translated(
                     "give true or false; weights that exist are drawn by attn-cli plot, and "
                     "scores of softmax are \"scores\"")
               : "");
       values.options.weights = values.plan.weights;
     },
     true},
    stored<&PlainValues::add_zero_attn>(
        "add_zero_attn", [](const KindInfo& kind) { return products(kind) && !layers(kind); },
        to_translate("one more key and value of zeros, which every query sees, "
                     "before the others")),
    {"pool", all,
     to_translate("weights reduced to a map of at most this many bins of "
                  "queries and keys"),
     pooling_schema, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.pool = read_pooling(given.value, given.place);
     }},
    {"dropout", tensors, to_translate("dropout on the weights"), R"("$ref": "#/$defs/dropout")",
     Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.dropout = read_dropout(given.value, given.place);
     },
     true},
    {"labels", all, to_translate("names of queries and keys"), R"("$ref": "#/$defs/labels")"},
    {"seed", tensors, to_translate("seed of random tensors, as torch.manual_seed"),
     R"("type": "integer")", Reading::by_name, nullptr, true},
    {"dtype", all, to_translate("of the computation"),
     +[] { return names_schema(document_dtypes()); }, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       const auto of_kind = dtypes(given.kind);
       for (const Named<DType>& one : document_dtypes().subspan(of_kind.size())) {
         if (!given.value.is(JsonValue::Type::string) || given.value.string() != one.name) continue;
         throw input_error(translated("models are not computed in {1}", given.value.string()),
                           given.place, translated("choose float32 or float64"));
       }
       values.options.dtype = expect_choice(given.value, given.place, "dtype", of_kind);
     }},
    {"rounding", tensors,
     to_translate("where 16-bit types round: autocast, each step, or fused, as in fused kernels"),
     +[] { return names_schema(document_roundings()); }, Reading::plain,
     [](const KeyValue& given, PlainValues& values) {
       values.options.fused_rounding =
           expect_choice(given.value, given.place, "rounding", document_roundings());
     },
     true},
    stored<&PlainValues::plan, &Plan::title>("title", all,
                                             to_translate("title of report and pictures"), true),
    stored<&PlainValues::plan, &Plan::description>("description", all,
                                                   to_translate("text for the report"), true),
}};
// No row is left empty by a number of rows that is too large.
static_assert(std::all_of(keys.begin(), keys.end(), [](const DocumentKey& key) {
  return !key.name.empty() && key.takes != nullptr;
}));

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

std::span<const Named<bool>> document_roundings() noexcept {
  static constexpr auto roundings =
      std::to_array<Named<bool>>({{"autocast", false}, {"fused", true}});
  return roundings;
}

const DocumentKey* find_key(std::string_view name) noexcept {
  const auto row = std::find_if(keys.begin(), keys.end(),
                                [&](const DocumentKey& key) { return key.name == name; });
  return row == keys.end() ? nullptr : &*row;
}

DType PlainValues::numbers() const {
  return widened(options.dtype);
}

void read_plain_values(const JsonValue& root, const KindInfo& kind, Problems& problems,
                       PlainValues& values) {
  for (const DocumentKey& key : keys) {
    if (key.reading != Reading::plain || !key.takes(kind)) continue;
    const JsonValue* value = root.find(key.name);
    if (value == nullptr) continue;
    problems.attempt([&] { key.read({*value, pointer_to("", key.name), kind}, values); });
  }
}

void read_values_in_turn(const JsonValue& root, const KindInfo& kind, TensorSource& tensors,
                         Problems& problems, PlainValues& values) {
  for (const JsonMember& member : root.members()) {
    const DocumentKey* key = find_key(member.key);
    if (key == nullptr || key->reading != Reading::in_turn || !key->takes(kind)) continue;
    problems.attempt([&] {
      key->read({member.value, pointer_to("", member.key), kind, &tensors}, values);
    });
  }
}

}  // namespace attn
