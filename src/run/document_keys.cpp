#include "run/document_keys.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "attn/error.hpp"

#include "support/nearest_name.hpp"

namespace attn {
namespace {

bool all(const KindInfo&) {
  return true;
}
bool given_scores(const KindInfo& kind) {
  return kind.family == Family::given_scores;
}
bool queries(const KindInfo& kind) {
  return kind.family == Family::score || kind.family == Family::projected;
}
bool values(const KindInfo& kind) {
  return kind.family != Family::transformer;
}
bool hidden_states(const KindInfo& kind) {
  return kind.family == Family::projected || kind.family == Family::transformer;
}
bool sequences(const KindInfo& kind) {
  return kind.family != Family::given_scores;
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
bool decoder(const KindInfo& kind) {
  return kind.kind == Kind::decoder_layer;
}

constexpr std::array<DocumentKey, 38> keys{{
    {"attention", all, "the kind of attention, or a list of kinds"},
    {"query", queries, "tensor [L,D], [B,L,D] or [B,H,L,D]"},
    {"key", queries, "tensor; the query if absent"},
    {"value", values, "tensor; the key if absent"},
    {"x", hidden_states, "hidden states [L,E] or [B,L,E]"},
    {"memory", second_sequence, "hidden states that keys and values come from"},
    {"past_key", queries, "rows before those of the key"},
    {"past_value", queries, "rows before those of the value"},
    {"scores", given_scores, "given scores [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"},
    {"tokens", sequences, "sequences of tokens, in the place of x or query"},
    {"token_ids", sequences, "sequences of token ids, in the place of x or query"},
    {"text", sequences, "texts for the tokenizer, in the place of x or query"},
    {"memory_tokens", second_tokens, "sequences of tokens, in the place of memory or key"},
    {"memory_token_ids", second_tokens, "sequences of token ids, in the place of memory or key"},
    {"memory_text", second_tokens, "texts for the tokenizer, in the place of memory or key"},
    {"embedding", sequences, "turns tokens into hidden states"},
    {"tokenizer", sequences, "cuts text into tokens"},
    {"parameters", learned, "learned weights"},
    {"mask", all, "which keys each query sees"},
    {"valid_lens", all, "how many leading keys are valid, [B] or [B,Lq]"},
    {"memory_mask", decoder, "the mask of a decoder layer's cross-attention"},
    {"memory_valid_lens", decoder, "the valid lengths of a decoder layer's memory"},
    {"heads", heads, "number of query heads"},
    {"kv_heads", heads, "number of key and value heads; heads if absent"},
    {"scale", all, "factor of the scores"},
    {"softcap", all, "c of c·tanh(score/c)"},
    {"feed_forward", layers, "hidden width of a layer's feed-forward part"},
    {"activation", layers, "relu or gelu"},
    {"norm", layers, "post or pre"},
    {"layers", layers, "number of layers"},
    {"eps", layers, "ε of the layer norms"},
    {"weights", all, "false: leave the weights out of the result"},
    {"dropout", all, "dropout on the weights"},
    {"labels", all, "names of queries and keys"},
    {"seed", all, "seed of random tensors, as torch.manual_seed"},
    {"dtype", all, "float32 or float64"},
    {"title", all, "title of report and pictures"},
    {"description", all, "text for the report"},
}};

std::string help_for(const DocumentKey& key, Kind kind) {
  const std::string_view name = key.name;
  if (name == "parameters") return "leave it out: this kind has no parameters";
  if (name == "scores") return "leave it out, or choose \"softmax\", which takes given scores";
  if (kind == Kind::softmax)
    return "leave it out: softmax takes \"scores\" and, if wanted, \"value\"";
  if (name == "x")
    return "give \"query\", \"key\" and \"value\", or choose a kind that projects hidden states";
  if (name == "query" || name == "key" || name == "value") return "give the hidden states as \"x\"";
  if (name.starts_with("memory")) {
    return "leave it out, or choose a kind with cross-attention: \"cross\", \"multi_head\", "
           "\"decoder_layer\"";
  }
  return "leave it out";
}

}  // namespace

std::span<const DocumentKey> document_keys() noexcept {
  return keys;
}

void check_document_keys(const JsonValue& root, Problems& problems) {
  std::vector<std::string_view> known;
  for (const DocumentKey& key : keys) known.push_back(key.name);
  for (const JsonMember& member : root.members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    problems.add(input_error("unknown key \"" + member.key + "\"", pointer_to("", member.key),
                             suggestion(member.key, known)));
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
        input_error("\"" + std::string(key.name) + "\" has no meaning for " + names + " attention",
                    pointer_to("", key.name), help_for(key, kinds[0])));
  }
}

}  // namespace attn
