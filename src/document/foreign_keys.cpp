#include "document/foreign_keys.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include "attn/spec.hpp"

#include "document/fields.hpp"
#include "document/keys.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view write_causal = to_translate("write \"mask\": {\"causal\": true}");
constexpr std::string_view write_mask = to_translate(
    "write \"mask\": {\"keep\": …} of 1 where a key is seen, [B,Lk] or [B,Lq,Lk], {\"allow\": …} "
    "likewise for the weights' shape, {\"block\": …} of 1 where it is not, or {\"bias\": …} of "
    "numbers that are added to the scores");
constexpr std::string_view write_padding = to_translate(
    "write \"valid_lens\", the number of valid keys of each sample, or \"mask\": {\"padding\": …}");
constexpr std::string_view write_heads = to_translate("write \"heads\"");
constexpr std::string_view write_kv_heads = to_translate("write \"kv_heads\"");
constexpr std::string_view write_feed_forward = to_translate("write \"feed_forward\"");
constexpr std::string_view write_layers = to_translate("write \"layers\"");
constexpr std::string_view write_width =
    to_translate("leave it out: the widths follow from the tensors");
constexpr std::string_view write_softmax =
    to_translate("leave it out: weights are a softmax of the scores");
constexpr std::string_view write_query = to_translate("write \"query\"");
constexpr std::string_view write_key = to_translate("write \"key\"");
constexpr std::string_view write_value = to_translate("write \"value\"");
constexpr std::string_view write_states = to_translate("write \"x\"");
constexpr std::string_view write_kind = to_translate("write \"attention\"");
constexpr std::string_view write_ids = to_translate("write \"token_ids\"");
constexpr std::string_view write_dropout =
    to_translate("write \"dropout\": {\"p\": …, \"training\": true}");
constexpr std::string_view write_window = to_translate("write \"mask\": {\"window\": …}");
constexpr std::string_view write_sliding_window = to_translate(
    "write \"mask\": {\"window\": {\"left\": 3, \"right\": 0}} for a window of 4, which counts the "
    "query itself");
constexpr std::string_view write_eps = to_translate("write \"eps\"");
constexpr std::string_view write_scale =
    to_translate("write \"scale\", which multiplies the scores");
constexpr std::string_view write_temperature =
    to_translate("write \"score\": \"s / 2\" for a softmax at the temperature 2");
constexpr std::string_view write_softcap = to_translate("write \"softcap\"");
constexpr std::string_view write_rotary = to_translate("write \"rotary\": {\"theta\": …}");
constexpr std::string_view write_pre_norm = to_translate("write \"norm\": \"pre\" or \"post\"");
constexpr std::string_view write_memory = to_translate("write \"memory\"");
constexpr std::string_view write_parameters = to_translate("write \"parameters\"");
constexpr std::string_view write_alibi = to_translate("write \"mask\": {\"alibi\": true}");
constexpr std::string_view write_documents = to_translate(
    "write \"mask\": {\"cu_seqlens\": …}, or {\"documents\": …} with a number per token");
constexpr std::string_view write_positions = to_translate("write \"rotary\": {\"positions\": …}");
constexpr std::string_view write_seed = to_translate("write \"seed\"");
constexpr std::string_view write_labels =
    to_translate("write \"labels\": {\"query\": […], \"key\": […]}");
constexpr std::string_view write_label = to_translate(
    "write \"labels\": {\"query\": […], \"key\": […]} for names of tokens; leave out the "
    "class of a text");
constexpr std::string_view write_text = to_translate("write \"text\"");
constexpr std::string_view write_patch = to_translate("write \"patch\": {\"text\": …}");
constexpr std::string_view write_logit = to_translate("write \"logit\", the token");
constexpr std::string_view write_against = to_translate("write \"against_logit\", the token");
constexpr std::string_view write_answers =
    to_translate("write \"logit\", the token, and \"against_logit\", the other one");
constexpr std::string_view write_batch_first =
    to_translate("leave it out: the first axis of a tensor is the sample");
constexpr std::string_view give_flag = to_translate("leave it out: it is a flag of attn-cli run");
constexpr std::string_view write_slopes =
    to_translate("write \"mask\": {\"alibi\": {\"slopes\": …}}");
constexpr std::string_view write_valid_lens = to_translate("write \"valid_lens\"");
constexpr std::string_view write_sinks = to_translate("write \"sinks\", one number per head");
constexpr std::string_view write_gradient = to_translate("write \"gradient\": {\"output\": …}");
constexpr std::string_view write_memory_padding = to_translate(
    "write \"memory_valid_lens\", the number of valid keys of each sample, or \"memory_mask\": "
    "{\"padding\": …}");
constexpr std::string_view write_past = to_translate("write \"past_key\" and \"past_value\"");
constexpr std::string_view write_head_norms =
    to_translate("write \"query_norm\" and \"key_norm\", each {\"weight\": …, \"kind\": \"rms\"}");
constexpr std::string_view lengths_follow =
    to_translate("leave it out: the lengths follow from the tensors");
constexpr std::string_view heads_follow =
    to_translate("leave it out: query heads share key heads wherever there are fewer of these");
constexpr std::string_view no_device =
    to_translate("leave it out: attention is computed on the processor");
constexpr std::string_view write_score =
    to_translate("write \"score\", an expression such as \"s - 0.1 * abs(i - j)\"");
constexpr std::string_view write_where = to_translate(
    "write \"mask\": {\"where\": \"j <= i\"}, an expression that is true where a key is "
    "seen");
constexpr std::string_view write_model = to_translate("write \"model\"");
constexpr std::string_view write_linear =
    to_translate("write \"linear_attention\": {\"decay\": …}");
constexpr std::string_view any_length =
    to_translate("leave it out: there are positions of any length");
constexpr std::string_view write_place_of_patch = to_translate(
    "write \"at\": \"LAYER.HEAD:POSITION\", such as \"1.1:7\", or \"1.1\" for all positions");
constexpr std::string_view write_lse =
    to_translate("leave it out: RunOptions::stages RunOptions::only output,lse writes it");
constexpr std::string_view write_no_mode = to_translate(
    "leave it out: weights are in the result, and RunOptions::stages writes the scores too");
constexpr std::string_view write_weights = to_translate("write \"weights\": true or false");

constexpr std::string_view write_slices = to_translate(
    "write \"query\", \"key\" and \"value\", each with its \"slice\" of a file that holds several, "
    "such as {\"file\": …, \"slice\": \":, :, 0\", \"layout\": \"BLHD\"} of [B,L,3,H,D]");
constexpr std::string_view write_lens_of_sides =
    to_translate("write \"valid_lens\": {\"query\": […], \"key\": […]}");
constexpr std::string_view write_cache = to_translate(
    "write \"past_key\" and \"past_value\", or \"key\" and \"value\" where the new ones are in the "
    "cache too");
constexpr std::string_view write_block_table = to_translate(
    "write \"block_table\", a row of pages for each sample, filled up with -1, and \"valid_lens\"");
constexpr std::string_view write_layout =
    to_translate("write \"layout\": \"BLHD\" into each of query, key and value");
constexpr std::string_view write_parts = to_translate(
    "write \"mask\": {\"causal\": true}, \"valid_lens\" where samples are padded, or both");
constexpr std::string_view always_equal =
    to_translate("leave it out: the same input gives the same numbers");
constexpr std::string_view write_align = to_translate(
    "write \"mask\": {\"causal\": true, \"align\": \"lower_right\"}, and \"rotary\": "
    "{\"positions\": …} for its angles");
constexpr std::string_view write_root =
    to_translate("write \"scale\", 1 divided by the root of that number");
constexpr std::string_view write_description = to_translate("write \"description\"");
constexpr std::string_view write_position = to_translate(
    "write \"embedding\": {\"position\": \"sinusoidal\"} beside \"tokens\" or "
    "\"token_ids\": positions are added to embeddings");
constexpr std::string_view write_memory_keep =
    to_translate("write \"memory_mask\": {\"keep\": …} of 1 where a key is seen");

constexpr std::string_view fold_in =
    to_translate("leave it out: give the tensor with its numbers multiplied by it");
constexpr std::string_view types_of_files =
    to_translate("leave it out: a tensor has the type that its file holds");
constexpr std::string_view write_corner = to_translate(
    "write \"mask\": {\"causal\": true, \"align\": \"lower_right\"} where queries stand at the "
    "last "
    "keys, or {\"where\": \"j <= i + 2\"} for an offset of 2");
constexpr std::string_view write_layout_of_pages = to_translate(
    "leave it out for pages [N,P,H,D]; write \"layout\": \"BHLD\" into key and value for "
    "[N,H,P,D]");
constexpr std::string_view write_sinks_of_window = to_translate(
    "write \"mask\": {\"causal\": true, \"window\": {\"left\": …}, \"global\": [0,1,2,3]} for 4 "
    "first tokens that all later ones see");
constexpr std::string_view write_fill = to_translate("write \"mask\": {\"fill\": …}");
constexpr std::string_view write_chunk = to_translate("write \"mask\": {\"chunk\": …}");

// Names in PyTorch, Keras, JAX, Hugging Face's configurations, ONNX, TensorRT and kernels, a space
// between them.
struct NamesOfOthers {
  std::string_view instead, names;
};
constexpr NamesOfOthers foreign_keys[]{
    {write_causal,
     "causal is_causal use_causal_mask causal_mask unidirectional masked tgt_is_causal is_decoder"},
    {write_alibi, "alibi use_alibi"},
    {write_slopes, "alibi_slopes"},
    {write_states, "tgt X input inputs src hidden_states embeddings"},
    {write_padding,
     "tgt_key_padding_mask key_padding_mask src_key_padding_mask padding_mask seq_lens lengths"},
    {write_memory_padding, "memory_key_padding_mask"},
    {write_valid_lens,
     "context_lens seqused_k cache_seqlens seqlens_k host_context_lengths context_lengths "
     "sequence_lengths cache_lens total_sequence_length"},
    {write_documents,
     "cu_seqlens_k cu_seqlens cu_seqlens_q segment_ids documents document_ids cu_seqlens_kv "
     "cu_seq_lens_q cu_seq_lens_k cu_seqlens_qkv qo_indptr doc_ids"},
    {lengths_follow,
     "max_seqlen max_seqlen_q max_seqlen_k seq_len seq_length sequence_length query_length q_len "
     "kv_len tgt_len src_len max_seq_len max_seqlen_kv"},
    {heads_follow, "enable_gqa num_kv_groups num_key_value_groups num_groups groups"},
    {no_device, "device"},
    {write_sinks, "s_aux sink attention_sinks learnable_sink"},
    {write_gradient, "dout grad_output grad_out gradient.output"},
    {write_past, "past_key_values past_key_value"},
    {write_head_norms, "qk_norm"},
    {write_score, "score_mod"},
    {write_where, "mask_mod block_mask"},
    {write_linear, "decay"},
    {write_labels, "sentence words names"},
    {write_model, "model_name model_id model_path"},
    {write_window,
     "window window_size local_window_size attention_window window_left window_right"},
    {write_sliding_window, "sliding_window sliding_window_size"},
    {write_mask, "attn_mask attn_bias attention_bias src_mask tgt_mask bias position_bias"},
    {write_heads, "h num_heads n_heads n_head nhead nheads num_attention_heads q_num_heads"},
    {write_kv_heads,
     "num_kv_heads n_kv_heads kv_num_heads num_key_value_heads num_query_groups num_gqa_groups "
     "kv_groups"},
    {write_feed_forward, "d_ff ffn_dim ff_dim dim_feedforward intermediate_size ffn_num_hiddens"},
    {write_layers, "num_layers num_blks n_layers n_layer num_hidden_layers"},
    {write_width,
     "embed_dim d_model dim d_head embed_size embedding_dim num_hiddens query_size key_size "
     "value_size ffn_num_input norm_shape d_k d_v head_dim hidden_size key_dim"},
    {write_softmax, "softmax normalize"},
    {write_query, "q Q queries"},
    {write_key, "k K keys"},
    {write_value, "v V values"},
    {write_memory, "encoder_hidden_states encoder_output encoder_outputs context enc"},
    {write_kind, "type kind attention_type attn"},
    {write_ids, "input_ids"},
    {write_dropout,
     "dropout_p attn_dropout attention_dropout p dropout_rate attention_probs_dropout_prob "
     "training"},
    {write_eps, "layer_norm_eps norm_eps rms_norm_eps"},
    {write_scale,
     "softmax_scale scaling scale_factor sm_scale attention_scale attn_scale attention_multiplier"},
    {write_temperature, "temperature"},
    {write_softcap,
     "logits_soft_cap logit_softcapping attn_logit_softcapping logit_cap soft_cap logit_softcap "
     "softcap_value"},
    {write_rotary, "rope rope_theta rotary_base rope_scale rope_base"},
    {write_positions, "position_ids positions"},
    {write_pre_norm, "norm_first"},
    {write_parameters, "state_dict params W_q W_k W_v W_o Wq Wk Wv Wo in_proj_weight"},
    {write_seed, "random_state manual_seed random_seed"},
    {write_label, "label"},
    {write_text, "clean"},
    {write_patch, "corrupted corrupt counterfactual"},
    {write_logit, "answer target"},
    {write_against, "wrong_answer wrong incorrect"},
    {write_answers, "answers"},
    {write_batch_first, "batch_first"},
    {give_flag, "out output plots cmap format figsize dpi"},
    {write_slices, "qkv kv kv_cache"},
    {write_cache, "k_cache v_cache"},
    {write_lens_of_sides,
     "query_seq_lengths key_value_seq_lengths q_seq_lens kv_seq_lens q_lens kv_lens q_lengths "
     "kv_lengths seqlens_q seqused_q actual_seq_lengths actual_seq_lengths_kv"},
    {write_block_table,
     "kv_indptr kv_indices kv_last_page_len block_tables page_table page_tables"},
    {write_layout, "qkv_format qkv_layout layout tensor_layout input_layout"},
    {write_parts, "attn_mask_type mask_type custom_mask_type attention_mask_type"},
    {always_equal,
     "deterministic implementation attn_implementation flash_attention use_flash_attn "
     "use_flash_attention num_splits backend"},
    {write_align, "cache_position"},
    {write_root, "query_pre_attn_scalar"},
    {write_description, "comment _comment"},
    {write_position, "positional_encoding"},
    {write_memory_keep, "memory_attention_mask"},
    {write_weights,
     "need_weights output_attentions return_attention_scores return_attention_probs "
     "return_attn_probs return_weights"},
    {write_lse, "return_lse return_softmax_lse softmax_lse"},
    {write_no_mode, "qk_matmul_output_mode"},
    {fold_in, "q_scale k_scale v_scale q_descale k_descale v_descale"},
    {types_of_files, "kv_cache_dtype"},
    {write_corner, "causal_offset bottom_right causal_type"},
    {write_layout_of_pages, "kv_layout"},
    {write_sinks_of_window, "num_sink_tokens sink_size sink_tokens attention_sink_size start_size"},
    {write_fill, "mask_value mask_filter_value"},
    {write_chunk, "attention_chunk attention_chunk_size chunk_size"},
};

// Keys whose meaning depends on the kind of attention, which comes first.
struct KeyOfKind {
  Kind kind;
  std::string_view name, instead;
};
constexpr std::string_view over_keys = to_translate(
    "leave it out: the softmax goes over the keys, the last axis of \"scores\"; for "
    "another write \"scores\": {\"data\": …, \"shape\": …, \"transpose\": true}");
constexpr std::string_view write_hidden =
    to_translate("write \"parameters\": {\"init\": \"torch\", \"hidden\": …}");
constexpr std::string_view write_scores =
    to_translate("write \"scores\", of which softmax makes weights");
constexpr KeyOfKind keys_of_kinds[]{
    {Kind::softmax, "X", write_scores},
    {Kind::softmax, "input", write_scores},
    {Kind::additive, "num_hiddens", write_hidden},
    {Kind::softmax, "dim", over_keys},
    {Kind::softmax, "axis", over_keys},
    {Kind::transformer, "src", write_memory},
    {Kind::transformer, "src_mask", to_translate("write \"source_mask\"")},
    {Kind::transformer, "src_is_causal", to_translate("write \"source_mask\": {\"causal\": true}")},
    {Kind::transformer, "src_key_padding_mask",
     to_translate("write \"source_valid_lens\", the number of valid keys of each sample, or "
                  "\"source_mask\": {\"padding\": …}")},
    {Kind::transformer, "memory_is_causal",
     to_translate("write \"memory_mask\": {\"causal\": true}")},
    {Kind::decoder_layer, "memory_is_causal",
     to_translate("write \"memory_mask\": {\"causal\": true}")},
};

// Keys beside a model, whose other names would be those of tensors.
constexpr std::string_view take_likeliest =
    to_translate("leave it out: the likeliest token is taken each time");
constexpr std::pair<std::string_view, std::string_view> keys_of_models[]{
    {"temperature", take_likeliest},
    {"top_k", take_likeliest},
    {"top_p", take_likeliest},
    {"do_sample", take_likeliest},
    {"num_beams", take_likeliest},
    {"max_new_tokens", to_translate("write \"generate\", the number of tokens")},
    {"head", give_flag},
    {"sample", give_flag},
    {"sentence", write_text},
    {"content", write_text},
    {"input", write_text},
    {"inputs", write_text},
    {"document", write_text},
    {"texts", write_text},
    {"sentence1", to_translate("write \"text\": [[FIRST, SECOND]], a pair")},
    {"sentence2", to_translate("write \"text\": [[FIRST, SECOND]], a pair")},
};

// Keys of objects within a document, with the key of the object.
constexpr std::pair<std::string_view, std::string_view> inner_keys[]{
    {"init", "parameters"},
    {"hidden", "parameters"},
    {"W", "parameters"},
    {"w_v", "parameters"},
    {"W_gate", "parameters"},
    {"align", "mask"},
    {"allow", "mask"},
    {"block", "mask"},
    {"chunk", "mask"},
    {"dilation", "mask"},
    {"fill", "mask"},
    {"global", "mask"},
    {"keep", "mask"},
    {"padding", "mask"},
    {"prefix", "mask"},
    {"where", "mask"},
    {"at", "patch"},
    {"theta", "rotary"},
    {"buckets", "relative_bias"},
    {"max_distance", "relative_bias"},
    {"bidirectional", "relative_bias"},
    {"dimension", "embedding"},
    {"vocabulary", "embedding"},
};

// Keys of other libraries in an object of a document, by the object's own key; an empty one stands
// for any object, a "*" for any key.
struct MemberOfOthers {
  std::string_view outer, name, instead;
};
constexpr std::string_view write_kind_of_mask =
    to_translate("write what hides keys as a key of its own, such as {\"causal\": true}");
constexpr std::string_view write_global =
    to_translate("write \"global\": [0], the positions of these tokens");
constexpr std::string_view write_sides = to_translate(
    "write \"window\": {\"left\": …, \"right\": …}, the keys seen before and after a query");
constexpr std::string_view write_sides_of_sliding_window = to_translate(
    "write \"window\": {\"left\": 3, \"right\": 0} for a window of 4, which counts the query "
    "itself");
constexpr std::string_view write_rotated_width =
    to_translate("write \"width\", the number of components that are rotated");
constexpr std::string_view write_dimension = to_translate("write \"dimension\"");
constexpr std::string_view write_vocabulary =
    to_translate("write \"vocabulary\", a list of tokens or {\"file\": …}");
constexpr std::string_view plain_normal = to_translate(
    "leave it out: \"randn\" has the mean 0 and the standard deviation 1; other "
    "numbers come from a file, {\"file\": …}");
constexpr std::string_view write_whole_mask = to_translate(
    "write \"allow\": … of 1 where a query sees a key, \"block\": … of 1 where it does "
    "not, or \"bias\": … of numbers that are added to the scores, each nested arrays or "
    "{\"file\": …}");
constexpr MemberOfOthers members_of_others[]{
    {"mask", "type", write_kind_of_mask},
    {"mask", "kind", write_kind_of_mask},
    {"mask", "sink_tokens", write_global},
    {"mask", "num_sink_tokens", write_global},
    {"mask", "sink", write_global},
    {"mask", "local_window_size", write_sides},
    {"mask", "sliding_window", write_sides_of_sliding_window},
    {"mask", "sliding_window_size", write_sides_of_sliding_window},
    {"mask", "window_size", write_sides},
    {"mask", "window_left", write_sides},
    {"mask", "window_right", write_sides},
    {"mask", "left", write_sides},
    {"mask", "right", write_sides},
    {"mask", "local", write_sides},
    {"mask", "attention_window", write_sides},
    {"mask", "global_tokens", write_global},
    {"mask", "global_positions", write_global},
    {"mask", "prefix_len", to_translate("write \"prefix\"")},
    {"mask", "prefix_length", to_translate("write \"prefix\"")},
    {"mask", "chunk_size", to_translate("write \"chunk\"")},
    {"mask", "matrix", write_whole_mask},
    {"mask", "file", write_whole_mask},
    {"mask", "data", write_whole_mask},
    {"mask", "values", write_whole_mask},
    {"mask", "look_ahead",
     to_translate("write \"causal\": true, which hides the keys after a query")},
    {"mask", "key_padding_mask", to_translate("write \"padding\", of true where a key is padding")},
    {"labels", "value", to_translate("leave it out: a value has the label of its key")},
    {"mask", "diagonal", to_translate("write \"where\": \"j <= i + 1\" for the diagonal 1")},
    {"rotary", "dim", write_rotated_width},
    {"rotary", "rotary_dim", write_rotated_width},
    {"rotary", "partial_rotary_factor", write_rotated_width},
    {"embedding", "vocab_size", write_vocabulary},
    {"embedding", "num_embeddings", write_vocabulary},
    {"embedding", "hidden_size", write_dimension},
    {"embedding", "embedding_dim", write_dimension},
    {"embedding", "d_model", write_dimension},
    {"embedding", "dim", write_dimension},
    {"embedding", "padding_idx", to_translate("write \"pad\", a token")},
    {"embedding", "max_len", any_length},
    {"embedding", "max_length", any_length},
    {"embedding", "num_positions", any_length},
    {"patch", "layer", write_place_of_patch},
    {"patch", "head", write_place_of_patch},
    {"patch", "position", write_place_of_patch},
    {"", "randint",
     to_translate("there are no random integers: write the numbers, or give a file")},
    {"", "mean", plain_normal},
    {"", "std", plain_normal},
    {"", "eye", to_translate("write the rows, such as [[1,0],[0,1]]")},
};

// The kind that the document names, or seems to name; none of several.
const KindInfo* kind_in(const JsonValue& root) {
  const JsonValue* const kind = root.find("attention");
  if (kind == nullptr || !kind->is(JsonValue::Type::string)) return nullptr;
  if (const KindInfo* const known = find_kind(kind->string())) return known;
  return find_kind(nearest_name(kind->string(), names_of_kinds()));
}

// Help for a number of hidden units, which drawn parameters have and given ones need not.
std::string help_on_hidden(const JsonValue& root, std::string_view instead) {
  const JsonValue* const parameters = root.find("parameters");
  if (parameters == nullptr) return translated(instead);
  if (parameters->find("hidden") != nullptr)
    return translated("leave it out: {1} is there already", in_quotes("hidden"));
  return translated(parameters->find("init") == nullptr ? write_width : instead);
}

// Help that is `instead`, unless the key that it would have written is there already.
std::string help_beside(const JsonValue& object, std::string_view instead) {
  constexpr std::string_view start = "write \"";
  if (instead.starts_with(start)) {
    const std::string_view rest = instead.substr(start.size());
    const std::string_view key = rest.substr(0, rest.find('"'));
    const std::string_view after = rest.substr(key.size() + 1);
    const bool alone = after.empty() || after.starts_with(',');
    const bool others = after.find(" and \"") != std::string_view::npos;
    // Parameters may lack the one that is given beside them.
    if (alone && !others && key != "parameters" && object.find(key) != nullptr)
      return translated("leave it out: {1} is there already", in_quotes(key));
  }
  return translated(instead);
}

// Whether the value is the name of a causal mask, such as "LowerTriangularMask".
bool names_causal_mask(const JsonValue& value) {
  if (!value.is(JsonValue::Type::string)) return false;
  const std::string& text = value.string();
  return text.find("riangular") != std::string::npos || text.find("ausal") != std::string::npos;
}

std::string_view instead_of(std::string_view name) {
  const auto names_it = [&](const NamesOfOthers& row) {
    for (std::size_t at = 0; at < row.names.size();) {
      const std::size_t end = std::min(row.names.find(' ', at), row.names.size());
      if (row.names.substr(at, end - at) == name) return true;
      at = end + 1;
    }
    return false;
  };
  const auto* const row = std::ranges::find_if(foreign_keys, names_it);
  return row == std::end(foreign_keys) ? std::string_view() : row->instead;
}

}  // namespace

std::string help_for_foreign_key(const JsonValue& root, std::string_view name) {
  if (const KindInfo* const kind = kind_in(root)) {
    for (const KeyOfKind& row : keys_of_kinds) {
      if (row.kind != kind->kind || row.name != name) continue;
      if (row.instead == write_hidden) return help_on_hidden(root, row.instead);
      return help_beside(root, row.instead);
    }
  }
  if (root.find("model") != nullptr) {
    for (const auto& [own, instead] : keys_of_models) {
      if (own == name) return help_beside(root, instead);
    }
  }
  if (const std::string_view instead = instead_of(name); !instead.empty()) {
    const JsonValue* const value = root.find(name);
    const bool causal = instead == write_mask && value != nullptr && names_causal_mask(*value);
    return help_beside(root, causal ? write_causal : instead);
  }
  for (const auto& [inner, outer] : inner_keys) {
    if (inner == name)
      return translated("write {1}", in_quotes(outer) + ": {" + in_quotes(inner) + ": …}");
  }
  return "";
}

std::string help_for_foreign_member(const JsonValue& object, std::string_view outer,
                                    std::string_view name) {
  for (const MemberOfOthers& row : members_of_others) {
    const bool of_mask = row.outer == "mask" && outer.ends_with("_mask");
    const bool there = row.outer.empty() || row.outer == outer || of_mask;
    if (there && row.name == name) return help_beside(object, row.instead);
  }
  return "";
}

std::string help_for_key_outside(std::string_view name, const std::string& outer) {
  const std::string_view instead = instead_of(name);
  if (instead.empty()) return "";
  if (!instead.starts_with("write ") || instead.starts_with("write \"mask\""))
    return translated(instead);
  return translated("{1}, at the top of the document, outside of {2}", translated(instead), outer);
}

std::string help_for_foreign_kind(std::string_view name) {
  for (const std::string_view shared :
       {"gqa", "GQA", "grouped_query", "grouped_query_attention", "group_query_attention",
        "GroupQueryAttention", "GroupedQueryAttention", "mqa", "MQA", "multi_query",
        "multi_query_attention", "MultiQueryAttention"}) {
    if (name == shared)
      return translated(
          "write \"scaled_dot_product\", whose query heads share key heads where there "
          "are fewer of these, or \"multi_head\" with \"kv_heads\"");
  }
  for (const std::string_view fused :
       {"flash_attn_func", "flash_attn_varlen_func", "flash_attn_qkvpacked_func", "flash_attn",
        "memory_efficient_attention", "scaled_dot_product_flash_attention"}) {
    if (name == fused) return translated("write \"scaled_dot_product\"");
  }
  for (const std::string_view of_pages : {"paged", "paged_attention", "PagedAttention"}) {
    if (name == of_pages)
      return translated(
          "write \"scaled_dot_product\", and beside it \"block_table\", a row of pages for each "
          "sample, and \"valid_lens\"");
  }
  for (const std::string_view of_angles : {"cosine", "cosine_similarity", "cosine_attention"}) {
    if (name == of_angles)
      return translated(
          "write \"dot_product\", and \"score\": \"s / (norm(q) * norm(k))\" beside it");
  }
  if (name != "linear_attention" && name != "linear") return "";
  return translated("write \"scaled_dot_product\", and \"linear_attention\": {} beside it");
}

bool is_foreign_kind(std::string_view name) {
  return instead_of(name) == write_kind;
}

bool is_foreign_model(std::string_view name) {
  return instead_of(name) == write_model;
}

}  // namespace attn
