#include "document/foreign_keys.hpp"

#include <algorithm>

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
constexpr std::string_view write_width =
    to_translate("leave it out: the widths follow from the tensors");
constexpr std::string_view write_both_widths = to_translate(
    "write \"feed_forward\", the hidden width of the feed-forward part, if it is "
    "that; the other widths follow from the tensors");
constexpr std::string_view write_memory_lens = to_translate(
    "write \"memory_valid_lens\", the number of valid keys of each sample, or "
    "\"memory_mask\": {\"padding\": …}");
constexpr std::string_view write_kind = to_translate("write \"attention\"");
constexpr std::string_view write_memory = to_translate("write \"memory\"");
constexpr std::string_view write_text = to_translate("write \"text\"");
constexpr std::string_view give_flag = to_translate("leave it out: it is a flag of attn-cli run");
constexpr std::string_view write_model = to_translate("write \"model\"");
constexpr std::string_view write_hidden =
    to_translate("write \"parameters\": {\"init\": \"torch\", \"hidden\": …}");

// Names that stand for others, and what is to be written instead.
struct ForeignKeys {
  std::string_view names;  // with commas between
  std::string_view instead;
};

// Names in PyTorch, Keras, JAX, Hugging Face's configurations, ONNX and flash-attention.
constexpr ForeignKeys foreign_keys[]{
    {"causal,look_ahead_mask,dec_valid_lens,is_causal,use_causal_mask,causal_mask,unidirectional,"
     "masked,tgt_is_causal,is_decoder",
     write_causal},
    {"alibi,use_alibi", to_translate("write \"mask\": {\"alibi\": true}")},
    {"alibi_slopes", to_translate("write \"mask\": {\"alibi\": {\"slopes\": …}}")},
    {"tgt,trg,X,input,inputs,src,hidden_states,embeddings", to_translate("write \"x\"")},
    {"tgt_key_padding_mask,key_padding_mask,src_key_padding_mask,padding_mask,use_padding_mask,seq_"
     "lens,lengths",
     to_translate("write \"valid_lens\", the number of valid keys of each sample, or \"mask\": "
                  "{\"padding\": …}")},
    {"memory_key_padding_mask,dec_padding_mask", write_memory_lens},
    {"context_lens,seqused_k,cache_seqlens,seqlens_k,host_context_lengths,context_lengths,sequence_"
     "lengths,cache_lens,total_sequence_length,input_lengths,host_past_key_value_lengths",
     to_translate("write \"valid_lens\"")},
    {"cu_seqlens_q,cu_seqlens_k,cu_seqlens_kv,cu_seq_lens_q,cu_seq_lens_k,cu_seqlens_q_padded,cu_"
     "seqlens_kv_padded,qo_indptr,query_start_loc,seq_start_loc,ragged_offset",
     to_translate(
         "write \"mask\": {\"cu_seqlens\": {\"query\": …, \"key\": …}}, where the sequences "
         "of each begin and the last one ends")},
    {"cu_seqlens,segment_ids,documents,document_ids,cu_seqlens_qkv,doc_ids",
     to_translate(
         "write \"mask\": {\"cu_seqlens\": …}, or {\"documents\": …} with a number per token")},
    {"max_seqlen,max_seqlen_q,max_seqlen_k,seq_len,seq_length,sequence_length,query_length,q_len,"
     "kv_len,tgt_len,src_len,max_seq_len,max_seqlen_kv,max_seq_len_q,max_seq_len_kv,max_s",
     to_translate("leave it out: the lengths follow from the tensors")},
    {"batch_size,num_steps,max_len,max_length,max_seq_length,max_position_embeddings,n_positions,"
     "n_ctx",
     to_translate("leave it out: sizes follow from the tensors, or from the text")},
    {"enable_gqa,num_kv_groups,num_key_value_groups,num_groups,groups",
     to_translate("leave it out: query heads share key heads wherever there are fewer of these")},
    {"device", to_translate("leave it out: attention is computed on the processor")},
    {"s_aux,sink,attention_sink,attention_sinks,learnable_sink",
     to_translate("write \"sinks\", one number per head")},
    {"dout,grad_output,grad_out,gradient.output",
     to_translate("write \"gradient\": {\"output\": …}")},
    {"past_key_values,past_key_value,past_kv",
     to_translate("write \"past_key\" and \"past_value\"")},
    {"qk_norm",
     to_translate(
         "write \"query_norm\" and \"key_norm\", each {\"weight\": …, \"kind\": \"rms\"}")},
    {"score_mod", to_translate("write \"score\", an expression such as \"s - 0.1 * abs(i - j)\"")},
    {"mask_mod,block_mask", to_translate("write \"mask\": {\"where\": \"j <= i\"}, an expression "
                                         "that is true where a key is seen")},
    {"decay", to_translate("write \"linear_attention\": {\"decay\": …}")},
    {"sentence,words,names", to_translate("write \"labels\": {\"query\": […], \"key\": […]}")},
    {"model_name,model_id,model_path", write_model},
    {"window,window_size,local_window_size,local_window,attention_window,window_left,window_right,"
     "left_window,right_window,window_size_left,window_size_right,right_bound,diagonal_band_right_"
     "bound,attention_window_size",
     to_translate("write \"mask\": {\"window\": {\"left\": …, \"right\": …}}, the keys seen "
                  "before and after a query")},
    {"sliding_window,sliding_window_size,max_attention_window_size,left_bound,diagonal_band_left_"
     "bound",
     to_translate("write \"mask\": {\"window\": {\"left\": 3, \"right\": 0}} for a window of 4, "
                  "which counts the query itself")},
    {"attn_mask,attn_bias,attention_bias,src_mask,tgt_mask,trg_mask,bias,position_bias,alibi_bias",
     write_mask},
    {"h,num_query_heads,attn_heads,num_heads,n_heads,n_head,nhead,nheads,num_attention_heads,q_num_"
     "heads,num_q_heads,num_"
     "heads_q,nheads_q",
     to_translate("write \"heads\"")},
    {"num_kv_heads,n_kv_heads,kv_num_heads,num_key_value_heads,num_query_groups,num_gqa_groups,kv_"
     "groups,num_heads_k,num_heads_kv,nheads_k,nheads_kv",
     to_translate("write \"kv_heads\"")},
    {"d_ff,ffn_dim,ff_dim,dim_feedforward,intermediate_size,ffn_num_hiddens,dff,ff_hidden,ffn_"
     "hidden,ffn,feed_forward_dim,d_hid,d_inner,n_inner,mlp_dim",
     to_translate("write \"feed_forward\"")},
    {"num_layers,num_blks,n_layers,n_layer,num_hidden_layers,N,N_layers,nlayers,num_blocks,n_"
     "blocks,num_encoder_layers,num_decoder_layers,num_transformer_blocks,n_enc,n_dec,depth",
     to_translate("write \"layers\"")},
    {"embed_dim,d_q,d_embed,emb_dim,emb_size,n_embd,ffn_num_outputs,kdim,vdim,value_dim,output_dim,"
     "d_model,dim,d_head,embed_size,embedding_dim,num_hiddens,query_size,key_size,value_"
     "size,ffn_num_input,norm_shape,d_k,d_v,head_dim,hidden_size,key_dim,head_size",
     write_width},
    {"softmax,normalize", to_translate("leave it out: weights are a softmax of the scores")},
    {"q,Q,queries", to_translate("write \"query\"")},
    {"k,K,keys", to_translate("write \"key\"")},
    {"v,V,values", to_translate("write \"value\"")},
    {"encoder_hidden_states,enc_outputs,enc_output,encoder_output,encoder_outputs,context,enc",
     write_memory},
    {"type,kind,attention_type,attn", write_kind},
    {"input_ids", to_translate("write \"token_ids\"")},
    {"dropout_p,drop_prob,drop_rate,dropout_prob,hidden_dropout_prob,attn_drop,attn_pdrop,resid_"
     "pdrop,rate,attn_dropout,attention_dropout,p,dropout_rate,attention_probs_dropout_prob,"
     "training,use_dropout",
     to_translate("write \"dropout\": {\"p\": …, \"training\": true}")},
    {"epsilon,layer_norm_epsilon,layernorm_epsilon,layer_norm_eps,norm_eps,rms_norm_eps",
     to_translate("write \"eps\"")},
    {"softmax_scale,scaling,scale_factor,sm_scale,attention_scale,attn_scale,attention_multiplier,"
     "qk_scale,scale_softmax,softmax_d_scale",
     to_translate("write \"scale\", which multiplies the scores")},
    {"temperature", to_translate("write \"score\": \"s / 2\" for a softmax at the temperature 2")},
    {"logits_soft_cap,logit_softcapping,attn_logit_softcapping,logit_cap,soft_cap,logit_softcap,"
     "softcap_value",
     to_translate("write \"softcap\"")},
    {"rope,rope_theta,rotary_base,rope_scale,rope_base",
     to_translate("write \"rotary\": {\"theta\": …}")},
    {"position_ids,positions,seqlen_offset,seqlen_offsets,rotary_seqlen_offsets",
     to_translate("write \"rotary\": {\"positions\": …}")},
    {"norm_first,normalize_before,pre_norm", to_translate("write \"norm\": \"pre\" or \"post\"")},
    {"state_dict,params,W_q,W_k,W_v,W_o,Wq,Wk,Wv,Wo,in_proj_weight",
     to_translate("write \"parameters\"")},
    {"random_state,manual_seed,random_seed,rng_state,philox_seed", to_translate("write \"seed\"")},
    {"label", to_translate("write \"labels\": {\"query\": […], \"key\": […]} for names of tokens; "
                           "leave out the class of a text")},
    {"clean", write_text},
    {"corrupted,corrupt,counterfactual", to_translate("write \"patch\": {\"text\": …}")},
    {"answer,target", to_translate("write \"logit\", the token")},
    {"wrong_answer,wrong,incorrect", to_translate("write \"against_logit\", the token")},
    {"answers", to_translate("write \"logit\", the token, and \"against_logit\", the other one")},
    {"batch_first", to_translate("leave it out: the first axis of a tensor is the sample")},
    {"out,output,plots,cmap,format,figsize,dpi", give_flag},
    {"qkv,kv,kv_cache",
     to_translate("write \"query\", \"key\" and \"value\", each with its \"slice\" of a file that "
                  "holds several, such as {\"file\": …, \"slice\": \":, :, 0\", \"layout\": "
                  "\"BLHD\"} of [B,L,3,H,D]")},
    {"k_cache,v_cache", to_translate("write \"past_key\" and \"past_value\", or \"key\" and "
                                     "\"value\" where the new ones are in the cache too")},
    {"query_seq_lengths,key_value_seq_lengths,q_seq_lens,kv_seq_lens,q_lens,kv_lens,q_lengths,kv_"
     "lengths,seqlens_q,seqused_q,seq_len_q,seq_len_kv,actual_seq_lengths,actual_seq_lengths_kv",
     to_translate("write \"valid_lens\": {\"query\": […], \"key\": […]}")},
    {"kv_indptr,kv_indices,kv_last_page_len,block_tables,page_table,page_tables,page_table_k,kv_"
     "cache_"
     "block_offsets,paged_kv_cache",
     to_translate("write \"block_table\", a row of pages for each sample, filled up with -1, and "
                  "\"valid_lens\"")},
    {"page_size,block_size,page_block_size,tokens_per_block",
     to_translate("leave it out: the pages of \"key\" and \"value\" have their length")},
    {"qkv_format,qkv_layout,layout,tensor_layout,input_layout",
     to_translate("write \"layout\": \"BLHD\" into each of query, key and value")},
    {"attn_mask_type,mask_type,custom_mask_type,attention_mask_type",
     to_translate(
         "write \"mask\": {\"causal\": true}, \"valid_lens\" where samples are padded, or both")},
    {"deterministic,implementation,attn_implementation,flash_attention,use_flash_attn,use_flash_"
     "attention,num_splits,backend",
     to_translate("leave it out: the same input gives the same numbers")},
    {"cache_position",
     to_translate("write \"mask\": {\"causal\": true, \"align\": \"lower_right\"}, and \"rotary\": "
                  "{\"positions\": …} for its angles")},
    {"query_pre_attn_scalar",
     to_translate("write \"scale\", 1 divided by the root of that number")},
    {"hidden_dim,hidden_units,mlp_ratio,ff_mult,expansion,expand_factor,expansion_factor",
     write_both_widths},
    {"hidden_act,act_fn,activation_fn,activation_function,nonlinearity",
     to_translate("write \"activation\"")},
    {"vocab_size,num_embeddings,src_vocab,tgt_vocab,src_vocab_size,tgt_vocab_size,input_vocab_size,"
     "target_vocab_size",
     to_translate("leave it out: the size of a vocabulary follows from \"embedding\"")},
    {"use_bias",
     to_translate("write \"parameters\": {\"init\": \"torch\", \"bias\": false} for none; given "
                  "parameters have the biases that they name")},
    {"kernel_initializer,initializer,initializer_range,init_std",
     to_translate("write \"parameters\": {\"init\": \"torch\"}")},
    {"comment,_comment", to_translate("write \"description\"")},
    {"positional_encoding,position_encoding,pos_encoding,pe",
     to_translate("write \"embedding\": {\"position\": \"sinusoidal\"} beside \"tokens\" or "
                  "\"token_ids\": positions are added to embeddings")},
    {"memory_attention_mask",
     to_translate("write \"memory_mask\": {\"keep\": …} of 1 where a key is seen")},
    {"need_weights,return_attention,output_attentions,return_attention_scores,return_attention_"
     "probs,return_attn_"
     "probs,return_weights",
     to_translate("write \"weights\": true or false")},
    {"return_lse,return_softmax_lse,softmax_lse,generate_stats",
     to_translate("leave it out: RunOptions::stages RunOptions::only output,lse writes it")},
    {"qk_matmul_output_mode",
     to_translate(
         "leave it out: weights are in the result, and RunOptions::stages writes the scores too")},
    {"q_scale,k_scale,v_scale,q_descale,k_descale,v_descale",
     to_translate("leave it out: give the tensor with its numbers multiplied by it")},
    {"kv_cache_dtype", to_translate("leave it out: a tensor has the type that its file holds")},
    {"causal_offset,bottom_right,causal_type,causal_lower_right,use_causal_mask_bottom_right,"
     "diagonal_"
     "alignment",
     to_translate("write \"mask\": {\"causal\": true, \"align\": \"lower_right\"} where queries "
                  "stand at the last keys, or {\"where\": \"j <= i + 2\"} for an offset of 2")},
    {"kv_layout", to_translate("leave it out for pages [N,P,H,D]; write \"layout\": \"BHLD\" into "
                               "key and value for [N,H,P,D]")},
    {"num_sink_tokens,sink_size,sink_tokens,attention_sink_size,start_size,sink_token_length",
     to_translate("write \"mask\": {\"causal\": true, \"window\": {\"left\": …}, \"global\": "
                  "[0,1,2,3]} for 4 first tokens that all later ones see")},
    {"mask_value,mask_filter_value", to_translate("write \"mask\": {\"fill\": …}")},
    {"attention_chunk,attention_chunk_size,chunk_size",
     to_translate("write \"mask\": {\"chunk\": …}")},
    {"prefix_lens", to_translate("write \"mask\": {\"prefix\": …}")},
    {"leftpad_k,cache_leftpad",
     to_translate("write \"mask\": {\"padding\": …}, of true where a key is padding")},
    {"rotary_cos,rotary_sin,cos_cache,sin_cache,rope_cos,rope_sin,cos,sin,freqs_cis",
     to_translate("write \"rotary\": {\"cos\": …, \"sin\": …}, each with a row for each position")},
    {"cos_sin_cache,rotary_cos_sin",
     to_translate(
         "write \"rotary\": {\"cos\": …, \"sin\": …}, each with its \"slice\" of the file, "
         "such as {\"file\": …, \"slice\": \":, :32\"} of [N,64]")},
    {"rotary_dim,rotary_embedding_dim,partial_rotary_factor,rotary_fraction,rotary_pct",
     to_translate("write \"rotary\": {\"width\": …}, the number of columns that turn")},
    {"interleaved,rotary_interleaved,rope_interleaved,rope_interleave,is_neox_style",
     to_translate("write \"rotary\": {\"interleaved\": true} where columns 2n and 2n + 1 turn "
                  "together")},
    {"rope_scaling,rope_parameters", to_translate("write \"rotary\": {\"scaling\": …}")},
    {"position_embedding_type",
     to_translate("write \"rotary\": {…}, \"mask\": {\"alibi\": true} or \"relative_bias\": {…}")},
    {"num_buckets,relative_attention_num_buckets",
     to_translate("write \"relative_bias\": {\"table\": …, \"buckets\": …}")},
    {"kv_lora_rank,q_lora_rank,qk_rope_head_dim,qk_nope_head_dim,v_head_dim",
     to_translate("leave it out: widths follow from the tensors, in which query and key hold their "
                  "parts with and without positions side by side")},
    {"q_nope,q_pe,q_rope,k_nope,k_pe,k_rope,c_kv,kv_c,kv_c_normed,compressed_kv",
     to_translate("write \"query\" and \"key\" of the parts joined along the last axis, in NumPy "
                  "numpy.concatenate([…], -1)")},
    {"qkv_bias,qkv_proj_bias,qkv_weight",
     to_translate(
         "write \"parameters\": {\"in_proj_weight\": …, \"in_proj_bias\": …} of a kind that "
         "projects, such as multi_head, or {\"init\": \"torch\", \"bias\": true}")},
    {"q_scaling",
     to_translate("write \"scale\", 1 divided by that number and by the root of the head's width")},
    {"cache_batch_idx",
     to_translate("write \"block_table\": [[2],[0]] if the samples have rows 2 and 0 of a cache "
                  "[N,L,H,D], and \"valid_lens\"")},
    {"slot_mapping", to_translate("leave it out: the pages hold the new keys too")},
    {"is_inference,zero_tensors,layer_idx,tp_size,cp_size,unpad,is_packed",
     to_translate("leave it out: it chooses how a kernel works, and changes no number")},
};

// Keys whose meaning depends on the kind of attention, which comes first.
struct KeyOfKind {
  Kind kind;
  ForeignKeys keys;
};
constexpr KeyOfKind keys_of_kinds[]{
    {Kind::softmax, {"X,input", to_translate("write \"scores\", of which softmax makes weights")}},
    {Kind::additive, {"num_hiddens", write_hidden}},
    {Kind::softmax,
     {"dim,axis",
      to_translate("leave it out: the softmax goes over the keys, the last axis of \"scores\"; for "
                   "another write \"scores\": {\"data\": …, \"shape\": …, \"transpose\": true}")}},
    {Kind::transformer, {"src", write_memory}},
    {Kind::transformer, {"src_mask", to_translate("write \"source_mask\"")}},
    {Kind::transformer,
     {"src_is_causal", to_translate("write \"source_mask\": {\"causal\": true}")}},
    {Kind::transformer,
     {"src_key_padding_mask,enc_padding_mask,enc_valid_lens,src_valid_lens,src_valid_len",
      to_translate("write \"source_valid_lens\", the number of valid keys of each sample, or "
                   "\"source_mask\": {\"padding\": …}")}},
    {Kind::transformer,
     {"memory_is_causal", to_translate("write \"memory_mask\": {\"causal\": true}")}},
    {Kind::decoder_layer, {"enc_padding_mask,enc_valid_lens,src_valid_lens", write_memory_lens}},
    {Kind::decoder_layer,
     {"memory_is_causal", to_translate("write \"memory_mask\": {\"causal\": true}")}},
};

// Keys beside a model, whose other names would be those of tensors.
constexpr ForeignKeys keys_of_models[]{
    {"temperature,top_k,top_p,do_sample,num_beams",
     to_translate("leave it out: the likeliest token is taken each time")},
    {"max_new_tokens", to_translate("write \"generate\", the number of tokens")},
    {"head,sample", give_flag},
    {"sentence,content,input,inputs,document,texts", write_text},
    {"sentence1,sentence2", to_translate("write \"text\": [[FIRST, SECOND]], a pair")},
};

// Keys of objects within a document, with the key of the object.
constexpr ForeignKeys inner_keys[]{
    {"init,hidden,W,w_v,W_gate", "parameters"},
    {"align,allow,block,chunk,dilation,fill,global,keep,padding,prefix,where", "mask"},
    {"at", "patch"},
    {"theta", "rotary"},
    {"buckets,max_distance,bidirectional", "relative_bias"},
    {"dimension,vocabulary", "embedding"},
};

// Keys of other libraries in an object of a document, by the object's own key; an empty one stands
// for any object.
struct MemberOfOthers {
  std::string_view outer;
  ForeignKeys keys;
};
constexpr MemberOfOthers members_of_others[]{
    {"",
     {"dtype,torch_dtype,data_type",
      to_translate(
          "write \"dtype\" at the top of the document, which is what is computed in; numbers "
          "rounded to bfloat16 come from a .safetensors or .pt file")}},
    {"mask",
     {"max_seqlen,max_seqlen_q,max_seqlen_k,max_seqlen_kv,max_s",
      to_translate("leave it out: the lengths follow from the tensors")}},
    {"mask",
     {"type,kind",
      to_translate("write what hides keys as a key of its own, such as {\"causal\": true}")}},
    {"mask",
     {"sink_tokens,num_sink_tokens,sink,global_tokens,global_positions",
      to_translate("write \"global\": [0], the positions of these tokens")}},
    {"mask",
     {"local_window_size,window_size,window_left,window_right,left,right,local,attention_window,"
      "local_window,left_window,right_window",
      to_translate("write \"window\": {\"left\": …, \"right\": …}, the keys seen before and after "
                   "a query")}},
    {"mask",
     {"sliding_window,sliding_window_size",
      to_translate("write \"window\": {\"left\": 3, \"right\": 0} for a window of 4, which counts "
                   "the query itself")}},
    {"mask", {"prefix_len,prefix_length", to_translate("write \"prefix\"")}},
    {"mask", {"chunk_size", to_translate("write \"chunk\"")}},
    {"mask",
     {"matrix,file,data,values,src_mask,tgt_mask,attn_mask,attn_bias,attention_bias",
      to_translate("write \"allow\": … of 1 where a query sees a key, \"block\": … of 1 where it "
                   "does not, or \"bias\": … of numbers that are added to the scores, each nested "
                   "arrays or {\"file\": …}")}},
    {"mask",
     {"look_ahead,look_ahead_mask,lookahead,future,future_mask,subsequent,subsequent_mask,"
      "square_subsequent,square_subsequent_mask,autoregressive,triangular,lower_triangular,tril,"
      "triu",
      to_translate("write \"causal\": true, which hides the keys after a query")}},
    {"mask",
     {"key_padding_mask,src_key_padding_mask,tgt_key_padding_mask,padding_idx,pad_idx,pad_token_id",
      to_translate("write \"padding\", of true where a key is padding")}},
    {"parameters",
     {"num_hiddens,hidden_size,hidden_dim,hidden_units,units,d_model,embed_dim",
      to_translate("write \"hidden\"")}},
    {"parameters",
     {"num_hiddens,hidden_size,hidden_dim,hidden_units,units,d_model,embed_dim", write_width}},
    {"parameters", {"use_bias,biases", to_translate("write \"bias\"")}},
    {"labels", {"value", to_translate("leave it out: a value has the label of its key")}},
    {"mask", {"diagonal", to_translate("write \"where\": \"j <= i + 1\" for the diagonal 1")}},
    {"mask", {"alibi_slopes,slopes", to_translate("write \"alibi\": {\"slopes\": …}")}},
    {"rotary",
     {"rope_type,type,factor,scale,scaling_factor",
      to_translate("write \"scaling\": {\"type\": \"linear\", \"factor\": …}")}},
    {"rotary",
     {"dim,rotary_dim,partial_rotary_factor",
      to_translate("write \"width\", the number of components that are rotated")}},
    {"embedding",
     {"vocab_size,num_embeddings",
      to_translate("write \"vocabulary\", a list of tokens or {\"file\": …}")}},
    {"embedding", {"hidden_size,embedding_dim,d_model,dim", to_translate("write \"dimension\"")}},
    {"embedding", {"padding_idx", to_translate("write \"pad\", a token")}},
    {"embedding",
     {"max_len,max_length,num_positions",
      to_translate("leave it out: there are positions of any length")}},
    {"patch",
     {"layer,head,position", to_translate("write \"at\": \"LAYER.HEAD:POSITION\", such as "
                                          "\"1.1:7\", or \"1.1\" for all positions")}},
    {"",
     {"randint", to_translate("there are no random integers: write the numbers, or give a file")}},
    {"",
     {"mean,std", to_translate("leave it out: \"randn\" has the mean 0 and the standard deviation "
                               "1; other numbers come from a file, {\"file\": …}")}},
    {"", {"eye", to_translate("write the rows, such as [[1,0],[0,1]]")}},
};

// Names of kinds of attention in other libraries.
constexpr ForeignKeys foreign_kinds[]{
    {"gqa,GQA,grouped_query,grouped_query_attention,group_query_attention,GroupQueryAttention,"
     "GroupedQueryAttention,mqa,MQA,multi_query,multi_query_attention,MultiQueryAttention",
     to_translate("write \"scaled_dot_product\", whose query heads share key heads where there are "
                  "fewer of these, or \"multi_head\" with \"kv_heads\"")},
    {"flash_attn_func,flash_attn_varlen_func,flash_attn_qkvpacked_func,flash_attn,memory_efficient_"
     "attention,scaled_dot_product_flash_attention",
     to_translate("write \"scaled_dot_product\"")},
    {"paged,paged_attention,PagedAttention",
     to_translate("write \"scaled_dot_product\", and beside it \"block_table\", a row of pages for "
                  "each sample, and \"valid_lens\"")},
    {"cosine,cosine_similarity,cosine_attention",
     to_translate("write \"dot_product\", and \"score\": \"s / (norm(q) * norm(k))\" beside it")},
    {"linear_attention,linear",
     to_translate("write \"scaled_dot_product\", and \"linear_attention\": {} beside it")},
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

// The key that is to be written; empty where there is none.
std::string_view key_in(std::string_view instead) {
  constexpr std::string_view start = "write \"";
  if (!instead.starts_with(start)) return {};
  instead.remove_prefix(start.size());
  return instead.substr(0, instead.find('"'));
}

// Help on a key of layers in a document of a kind that has none; empty for any other.
std::string help_without_layers(const KindInfo& kind, std::string_view instead) {
  const DocumentKey* const key = find_key(key_in(instead));
  if (key == nullptr || !is_of_layers(*key) || key->takes(kind)) return "";
  return translated("leave it out, or choose a kind that takes {1}: {2}", in_quotes(key->name),
                    kinds_that_take(*key));
}

// Help that is `instead`, unless the key that it would have written is there already.
std::string help_beside(const JsonValue& object, std::string_view instead) {
  if (const std::string_view key = key_in(instead); !key.empty()) {
    const std::string_view after = instead.substr(instead.find('"') + key.size() + 2);
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
  for (const ForeignKeys& row : foreign_keys) {
    if (has_word(row.names, name)) return row.instead;
  }
  return {};
}

}  // namespace

std::string help_for_foreign_key(const JsonValue& root, std::string_view name) {
  if (const KindInfo* const kind = kind_in(root)) {
    if (std::string help = help_without_layers(*kind, instead_of(name)); !help.empty()) return help;
    for (const auto& [own, keys] : keys_of_kinds) {
      if (own != kind->kind || !has_word(keys.names, name)) continue;
      if (keys.instead == write_hidden) return help_on_hidden(root, keys.instead);
      return help_beside(root, keys.instead);
    }
  }
  if (root.find("model") != nullptr) {
    for (const ForeignKeys& row : keys_of_models) {
      if (has_word(row.names, name)) return help_beside(root, row.instead);
    }
  }
  if (const std::string_view instead = instead_of(name); !instead.empty()) {
    const JsonValue* const value = root.find(name);
    const bool causal = instead == write_mask && value != nullptr && names_causal_mask(*value);
    return help_beside(root, causal ? write_causal : instead);
  }
  for (const ForeignKeys& row : inner_keys) {
    if (has_word(row.names, name))
      return translated("write {1}", in_quotes(row.instead) + ": {" + in_quotes(name) + ": …}");
  }
  return "";
}

std::string help_for_foreign_member(const JsonValue& object, std::string_view outer,
                                    std::string_view name,
                                    std::span<const std::string_view> known) {
  for (const MemberOfOthers& row : members_of_others) {
    const bool of_mask = row.outer == "mask" && outer.ends_with("_mask");
    const bool there = row.outer.empty() || row.outer == outer || of_mask;
    if (!there || !has_word(row.keys.names, name)) continue;
    const std::string_view own = key_in(row.keys.instead);
    // What is for all objects is written elsewhere than in this one.
    if (row.outer.empty() || own.empty() || std::ranges::count(known, own) > 0)
      return help_beside(object, row.keys.instead);
  }
  return "";
}

std::string help_for_key_outside(std::string_view name, const std::string& outer) {
  const std::string_view instead = instead_of(name);
  if (instead.empty()) return "";
  if (!instead.starts_with("write \"") || instead.starts_with("write \"mask\""))
    return translated(instead);
  return translated("{1}, at the top of the document, outside of {2}", translated(instead), outer);
}

std::string help_for_foreign_kind(std::string_view name) {
  for (const ForeignKeys& row : foreign_kinds) {
    if (has_word(row.names, name)) return translated(row.instead);
  }
  return "";
}

bool is_foreign_kind(std::string_view name) {
  return instead_of(name) == write_kind;
}

bool is_foreign_model(std::string_view name) {
  return instead_of(name) == write_model;
}

}  // namespace attn
