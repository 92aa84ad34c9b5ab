#include "attention/geometry.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <variant>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

// One sample of an input as [heads,length,width].
struct View {
  std::size_t heads, length, width;
};

std::string described(const char* name, const Tensor& tensor) {
  return std::string(name) + " " + text(tensor.shape());
}

constexpr const char* sequence_axes = "[L,D], [B,L,D] or [B,H,L,D]";
constexpr const char* score_axes = "[Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]";

void check_axes(const Tensor& tensor, const char* name, const char* axes = sequence_axes) {
  const std::string where = std::string("/") + name;
  if (tensor.rank() < 2 || tensor.rank() > 4) {
    const bool flat_value = tensor.rank() == 1 && where == "/value";
    throw input_error(translated("{1} has {2}{3}", described(name, tensor), tensor.rank(),
                                 tensor.rank() == 1 ? translated(" axis") : translated(" axes")),
                      where,
                      flat_value ? translated("give it 2 to 4 axes: {1}; one number for each key "
                                              "is written [[1],[2],[3]]",
                                              axes)
                                 : translated("give it 2 to 4 axes: {1}", axes));
  }
  const Shape shape = tensor.shape();
  const auto empty = std::ranges::find(shape, 0U);
  if (empty == shape.end()) return;
  const bool no_keys = empty == shape.end() - 2 && (where == "/key" || where == "/value");
  throw input_error(translated("{1} has an axis of size 0", described(name, tensor)), where,
                    no_keys ? translated("give at least one key: without any there are no weights "
                                         "to show, and PyTorch's output is zeros")
                            : translated("give every axis at least one element"));
}

void check_same_rank(const Tensor& first, const char* first_name, const Tensor& second,
                     const char* second_name) {
  if (first.rank() == second.rank()) return;
  throw input_error(translated("{1} and {2} have different numbers of axes",
                               described(first_name, first), described(second_name, second)),
                    std::string("/") + second_name,
                    translated("give both the same number of axes"));
}

// The view of a tensor: [B,H,L,D] has its heads, [L,D] and [B,L,D] hold `heads` in their last axis.
View split(const Tensor& tensor, const char* name, std::size_t heads) {
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.size();
  View view{heads, shape[rank - 2], shape[rank - 1]};
  if (rank == 4) {
    view.heads = shape[1];
    return view;
  }
  if (view.width % heads != 0) {
    throw input_error(
        translated("{1} cannot be split into {2} heads: its width {3} is not divisible by {2}",
                   described(name, tensor), heads, view.width),
        std::string_view(name) == "query" ? "/heads" : std::string("/") + name,
        translated("choose a number of heads that divides the width"));
  }
  view.width /= heads;
  return view;
}

// The number of samples that all tensors agree on; a batch axis of 1 is repeated.
class Samples {
 public:
  void join(const Tensor& tensor, const char* name) {
    const std::size_t count = tensor.rank() >= 3 ? tensor.shape()[0] : 1;
    if (count == 1 || count == count_) return;
    if (count_ != 1) {
      throw input_error(
          translated("{1} has {2}, but {3} has {4}", described(name, tensor),
                     translated_count(count, "{1} sample", "{1} samples"),
                     described(first_name_, *first_), count_),
          std::string("/") + name,
          translated("give both the same batch axis, or one of them a batch axis of 1"));
    }
    count_ = count;
    first_ = &tensor;
    first_name_ = name;
  }

  std::size_t count() const { return count_; }

 private:
  std::size_t count_ = 1;
  const Tensor* first_ = nullptr;  // the first tensor with more than one sample
  const char* first_name_ = "";
};

void check_option_against_axis(std::optional<std::size_t> option, const char* option_name,
                               const Tensor& tensor, const char* name) {
  if (!option || tensor.rank() != 4 || tensor.shape()[1] == *option) return;
  throw input_error(
      translated("{1} is {2}, but {3} has {4}", option_name, *option, described(name, tensor),
                 translated_count(tensor.shape()[1], "{1} head", "{1} heads")),
      std::string("/") + option_name,
      translated("leave it out: a tensor of 4 axes brings its own heads"));
}

void check_groups(const Geometry& geometry, const char* queries, const char* keys,
                  const char* where) {
  if (geometry.heads % geometry.kv_heads == 0) return;
  throw input_error(
      translated("{1} has {2}, not a multiple of the {3} of {4}", queries,
                 translated_count(geometry.heads, "{1} head", "{1} heads"), geometry.kv_heads,
                 keys),
      where,
      std::string_view(queries) == "query"
          ? translated("make the number of heads of {1} a multiple of that of {2}, or write "
                       "\"layout\": \"BLHD\" beside each tensor [B,L,H,D]",
                       queries, keys)
          : translated("make the number of heads of {1} a multiple of that of {2}", queries, keys));
}

// Refuses options of products of queries and keys for other scores.
void check_compared_by_products(const AttentionRequest& request) {
  const Kind kind = kind_of(request.score);
  if (kind == Kind::dot_product || kind == Kind::scaled_dot_product) return;
  if (is_half(request.dtype) && kind != Kind::softmax) {
    throw input_error(
        translated("{1} attention is not computed in {2}", info(kind).name, name(request.dtype)),
        "/dtype", translated("choose float32 or float64, or a kind of dot products"));
  }
  for (const auto& [given, where] :
       {std::pair<bool, const char*>{request.rotary.has_value(), "/rotary"},
        {request.query_norm.has_value(), "/query_norm"},
        {request.key_norm.has_value(), "/key_norm"},
        {request.mask.alibi.has_value(), "/mask/alibi"},
        {request.relative_bias.has_value(), "/relative_bias"},
        {static_cast<bool>(request.sinks), "/sinks"}}) {
    if (!given) continue;
    throw input_error(
        translated("{1} has no meaning for {2} attention", where + 1, info(kind).name), where,
        translated("leave it out, or choose a kind of dot products"));
  }
}

void check_parameter(const Tensor& tensor, const char* name, const Shape& expected,
                     const std::string& shown, const std::string& help) {
  const std::string where = std::string("/parameters/") + name;
  if (!tensor) {
    throw input_error(translated("the parameter {1} is missing", name), where, help);
  }
  if (tensor.shape() == expected) return;
  throw input_error(translated("{1} does not fit: expected {2}", described(name, tensor), shown),
                    where, help);
}

// The axes of a parameter: "h" and "dk" for "[h,dk]".
std::vector<std::string_view> axes_of(const ParameterInfo& parameter) {
  std::vector<std::string_view> axes;
  std::string_view rest = parameter.shape.substr(1);
  for (std::size_t end = 0; (end = rest.find_first_of(",]")) != std::string_view::npos;
       rest.remove_prefix(end + 1)) {
    axes.push_back(rest.substr(0, end));
  }
  return axes;
}

// The help for a first parameter that is missing: all of them may be drawn.
std::string or_drawn(const std::string& help, const ParameterInfo& parameter,
                     const std::string& shown, bool hidden) {
  const std::string drawn =
      hidden ? std::string(R"("init": "torch", "hidden": 8)")
             : "\"" + std::string(parameter.name) + "\": {\"randn\": " + shown + "}";
  return translated("{1}; for random numbers write {2}", help,
                    "\"parameters\": {" + drawn + "}, \"seed\": 0");
}

// Returns the hidden width; 0 if the kind has none.
std::size_t check_parameters(Score score, const Geometry& geometry) {
  const std::string widths =
      translated("the query is {1} wide, the key {2}{3}", geometry.query_width, geometry.key_width,
                 geometry.head_axis ? translated(" per head") : "");
  const auto parameters = info(kind_of(score)).parameters;
  const std::vector<Tensor*> tensors = parameters_of(score);
  std::size_t hidden = 0;
  std::string_view chosen_by;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ParameterInfo& parameter = parameters[i];
    const std::vector<std::string_view> axes = axes_of(parameter);
    const Shape& shape = tensors[i]->shape();
    std::string shown, why;
    if (const auto h = std::find(axes.begin(), axes.end(), "h"); h != axes.end()) {
      // The first parameter with a hidden axis chooses its width, the others follow it.
      if (chosen_by.empty()) {
        const auto axis = static_cast<std::size_t>(h - axes.begin());
        hidden = shape.size() == axes.size() && shape[axis] > 0 ? shape[axis] : 1;
        for (std::size_t a = 0; a < axes.size(); ++a) {
          const Shape sizes = shape_of(parameter, geometry.query_width, geometry.key_width, hidden);
          shown += (a == 0 ? "" : ",") + (a == axis ? "h" : std::to_string(sizes[a]));
        }
        shown = "[" + shown + "]";
        why = translated("h is the hidden width, ");
        chosen_by = parameter.name;
      } else {
        why = translated("{1} has the hidden width {2}, ", chosen_by, hidden);
      }
    }
    const Shape expected = shape_of(parameter, geometry.query_width, geometry.key_width, hidden);
    if (shown.empty()) shown = text(expected);
    const std::string help = translated("give it the shape {1}: {2}{3}", shown, why, widths);
    const bool none = std::ranges::none_of(tensors, [](const Tensor* one) { return bool(*one); });
    check_parameter(*tensors[i], std::string(parameter.name).c_str(), expected, shown,
                    none ? or_drawn(help, parameter, shown, !why.empty()) : help);
  }
  return hidden;
}

// Help for heads that the query alone is to be split into: the key may have fewer of the query's
// width. Empty where its width is that of no fitting number.
std::string help_for_shared_heads(const Sequences& sequences, const Geometry& geometry) {
  const Tensor& key = sequences.key_or_query();
  if (!sequences.heads || sequences.kv_heads || key.rank() == 4) return "";
  const std::size_t width = geometry.query_width, all = key.shape().back();
  if (width == 0 || all < width || all % width != 0 || *sequences.heads % (all / width) != 0)
    return "";
  return translated("write \"kv_heads\": {1} if the key has heads of width {2}", all / width,
                    width);
}

void check_same_width(const Sequences& sequences, const Geometry& geometry) {
  if (geometry.query_width == geometry.key_width) return;
  const std::string shared = help_for_shared_heads(sequences, geometry);
  throw input_error(
      translated("{1} and {2} have {3}{4} and {5}", described("query", sequences.query),
                 described("key", sequences.key_or_query()),
                 geometry.head_axis ? translated("heads of different widths: ")
                                    : translated("different widths: "),
                 geometry.query_width, geometry.key_width),
      "/key",
      !shared.empty() ? shared
                      : translated("give both the same width; \"general\" and \"additive\" "
                                   "attention compare different ones"));
}

// Checks a past, which precedes the present along the length: all other axes of a sample must
// agree. If the present's heads are side by side, those of the past may have an axis. Returns the
// length of the past.
std::size_t check_past(const Tensor& past, const char* past_name, const Tensor& present,
                       const char* name, std::optional<std::size_t> split_heads) {
  check_axes(past, past_name);
  const bool apart = split_heads && present.rank() == 3 && past.rank() == 4;
  if (!apart) check_same_rank(present, name, past, past_name);
  const std::size_t length_axis = past.rank() - 2;
  Shape expected = present.shape();
  if (apart) {
    expected.back() /= *split_heads;
    expected.insert(expected.begin() + 1, *split_heads);
  }
  expected[length_axis] = past.shape()[length_axis];
  if (past.rank() >= 3) expected[0] = past.shape()[0];
  if (past.shape() != expected) {
    throw input_error(
        translated("{1} does not continue {2}", described(past_name, past),
                   described(name, present)),
        std::string("/") + past_name,
        apart ? translated("give it the axes [B,{1},P,{2}]", *split_heads, expected.back())
              : translated("give both the same axes, except for the length, the second to last"));
  }
  return past.shape()[length_axis];
}

// Refuses sizes beyond the memory before anything is allocated.
void check_size(const AttentionRequest& request, const Geometry& geometry) {
  element_count(geometry.weights_shape());
  const std::size_t maps = (request.stages ? 3 : 0) + (request.weights && !request.pool ? 1 : 0);
  check_weights_memory(geometry, 1, maps * size_of(request.dtype));
  if (request.pool) {
    Shape bins = geometry.weights_shape();
    bins[bins.size() - 2] = std::min(geometry.queries, request.pool->size);
    bins.back() = std::min(geometry.keys, request.pool->size);
    // A cell is summed in double precision, and known to be seen or not.
    check_memory(element_count(bins), sizeof(double) + 1 + size_of(request.dtype),
                 translated("the map of bins {1}", text(bins)), "",
                 translated("pool the weights into fewer bins"));
  }
  element_count(geometry.output_shape());
}

Geometry check_given_scores(const GivenScores& request) {
  if (!request.scores) {
    throw input_error(translated("softmax attention has no scores"), "/scores",
                      translated("give \"scores\" of shape {1}", score_axes));
  }
  check_axes(request.scores, "scores", score_axes);
  const Shape& shape = request.scores.shape();
  const std::size_t rank = shape.size();
  Geometry geometry;
  geometry.batch_axis = rank >= 3;
  geometry.head_axis = rank == 4;
  Samples samples;
  samples.join(request.scores, "scores");
  geometry.batch = samples.count();
  geometry.heads = rank == 4 ? shape[1] : 1;
  geometry.kv_heads = geometry.heads;
  geometry.queries = shape[rank - 2];
  geometry.keys = shape[rank - 1];
  if (!request.value) return geometry;

  check_axes(request.value, "value");
  check_same_rank(request.scores, "scores", request.value, "value");
  const View value = split(request.value, "value", 1);
  samples.join(request.value, "value");
  geometry.batch = samples.count();
  geometry.kv_heads = value.heads;
  geometry.value_width = value.width;
  check_groups(geometry, "scores", "value", "/value");
  if (value.length != geometry.keys) {
    throw input_error(translated("{1} has {2}, but {3} has {4}", described("value", request.value),
                                 translated_count(value.length, "{1} row", "{1} rows"),
                                 described("scores", request.scores),
                                 translated_count(geometry.keys, "{1} key", "{1} keys")),
                      "/value", translated("give the value one row per key"));
  }
  return geometry;
}

// Checks the past key and value together. Returns their length; 0 without them.
std::size_t check_pasts(const Sequences& sequences, std::optional<std::size_t> split_heads,
                        Samples& samples) {
  if (static_cast<bool>(sequences.past_key) != static_cast<bool>(sequences.past_value)) {
    throw input_error(sequences.past_key ? translated("past_key is given without past_value")
                                         : translated("past_value is given without past_key"),
                      sequences.past_key ? "/past_key" : "/past_value",
                      translated("give both or neither"));
  }
  if (!sequences.past_key) return 0;
  const std::size_t length =
      check_past(sequences.past_key, "past_key", sequences.key_or_query(), "key", split_heads);
  if (check_past(sequences.past_value, "past_value", sequences.value_or_key(), "value",
                 split_heads) != length) {
    throw input_error(
        translated("{1} and {2} have different lengths", described("past_key", sequences.past_key),
                   described("past_value", sequences.past_value)),
        "/past_value", translated("give the past value one row per past key"));
  }
  samples.join(sequences.past_key, "past_key");
  samples.join(sequences.past_value, "past_value");
  return length;
}

Geometry check_sequences(const Sequences& sequences, const Score& score) {
  if (!sequences.query) {
    throw input_error(translated("there is no query"), "/query",
                      translated("give \"query\" of shape {1}", sequence_axes));
  }
  const Tensor &key = sequences.key_or_query(), &value = sequences.value_or_key();
  check_sequences_together(sequences);
  check_heads_options(sequences);
  check_option_against_axis(sequences.heads, "heads", sequences.query, "query");
  check_option_against_axis(sequences.kv_heads, "kv_heads", key, "key");

  const std::size_t rank = sequences.query.rank();
  const std::size_t heads = sequences.heads.value_or(1);
  const std::size_t kv_heads = sequences.kv_heads.value_or(heads);
  const View q = split(sequences.query, "query", heads);
  const View k = split(key, "key", kv_heads);
  const View v = split(value, "value", kv_heads);
  Samples samples;
  samples.join(sequences.query, "query");
  samples.join(key, "key");
  samples.join(value, "value");

  Geometry geometry;
  geometry.batch_axis = rank >= 3;
  geometry.joined = rank < 4 && sequences.heads.has_value();
  geometry.head_axis = rank == 4 || geometry.joined;
  geometry.heads = q.heads;
  geometry.kv_heads = k.heads;
  geometry.queries = q.length;
  geometry.query_width = q.width;
  geometry.key_width = k.width;
  geometry.value_width = v.width;
  check_groups(geometry, "query", "key", rank == 4 ? "/key" : "/kv_heads");
  if (v.heads != k.heads) {
    throw input_error(translated("{1} has {2} and {3} has {4}", described("key", key),
                                 translated_count(k.heads, "{1} head", "{1} heads"),
                                 described("value", value), v.heads),
                      "/value", translated("give key and value the same heads"));
  }
  if (info(kind_of(score)).parameters.empty()) check_same_width(sequences, geometry);
  geometry.hidden = check_parameters(score, geometry);

  geometry.past =
      check_pasts(sequences, geometry.joined ? std::optional(kv_heads) : std::nullopt, samples);
  geometry.keys = geometry.past + k.length;
  geometry.batch = samples.count();
  return geometry;
}

}  // namespace

Shape Geometry::row_shape() const {
  Shape shape;
  if (batch_axis) shape.push_back(batch);
  if (head_axis) shape.push_back(heads);
  shape.push_back(queries);
  return shape;
}

Shape Geometry::weights_shape() const {
  Shape shape = row_shape();
  shape.push_back(keys);
  return shape;
}

Shape Geometry::output_shape() const {
  Shape shape;
  if (batch_axis) shape.push_back(batch);
  if (head_axis && !joined) shape.push_back(heads);
  shape.push_back(queries);
  shape.push_back(joined ? heads * value_width : value_width);
  return shape;
}

Tensor drawn_weights(const Dropout& dropout, const Geometry& geometry) {
  const Shape weights = geometry.weights_shape();
  if (!dropout.draw) {
    throw input_error(
        translated("dropout has nothing to draw with"), "/dropout",
        translated("give Dropout a function `draw` that returns one boolean per weight"));
  }
  const Tensor kept = dropout.draw(weights);
  if (kept.shape() != weights || !kept) {
    throw input_error(
        translated("dropout drew {1} for the weights {2}", text(kept.shape()), text(weights)),
        "/dropout", translated("draw one boolean per weight, true for those that are kept"));
  }
  return kept.converted(DType::boolean);
}

double default_scale(const Score& score, const Geometry& geometry) {
  return info(kind_of(score)).scales_by_width
             ? 1 / std::sqrt(static_cast<double>(geometry.query_width))
             : 1.0;
}

double scale_of(const AttentionRequest& request, const Geometry& geometry) {
  return request.scale.value_or(default_scale(request.score, geometry));
}

std::vector<NamedSize> sizes_of(const ProductInfo& product, const Geometry& geometry) {
  const auto known = std::to_array<NamedSize>({{"B", geometry.batch},
                                               {"H", geometry.heads},
                                               {"G", geometry.kv_heads},
                                               {"Lq", geometry.queries},
                                               {"Lk", geometry.keys},
                                               {"d_q", geometry.query_width},
                                               {"d_k", geometry.key_width},
                                               {"h", geometry.hidden}});
  constexpr std::string_view times = "·";
  std::vector<NamedSize> sizes;
  for (std::string_view rest = product.count; !rest.empty();) {
    const std::size_t end = std::min(rest.find(times), rest.size());
    const auto size = std::ranges::find(known, rest.substr(0, end), &NamedSize::letter);
    if (size != known.end()) sizes.push_back(*size);
    rest.remove_prefix(std::min(end + times.size(), rest.size()));
  }
  return sizes;
}

Shape shape_of(const ParameterInfo& parameter, std::size_t query_width, std::size_t key_width,
               std::size_t hidden) {
  Shape shape;
  for (const std::string_view axis : axes_of(parameter)) {
    shape.push_back(axis == "dq"   ? query_width
                    : axis == "dk" ? key_width
                    : axis == "h"  ? hidden
                                   : 1);
  }
  return shape;
}

void check_weights_memory(const Geometry& geometry, std::size_t attentions,
                          std::size_t bytes_each) {
  const Shape shape = geometry.weights_shape();
  check_memory(element_count(shape), attentions * bytes_each,
               translated("the weights {1}{2}", text(shape),
                          attentions > 1 ? translated(" of {1} layers", attentions) : ""),
               "",
               translated("replace them by a map of bins with AttentionRequest::pool 1024, or "
                          "leave them out with AttentionRequest::weights"));
}

void check_sequences_together(const Sequences& sequences) {
  const Tensor &query = sequences.query, &key = sequences.key_or_query(),
               &value = sequences.value_or_key();
  check_axes(query, "query");
  check_axes(key, "key");
  check_axes(value, "value");
  check_same_rank(query, "query", key, "key");
  check_same_rank(key, "key", value, "value");
  Samples samples;
  samples.join(query, "query");
  samples.join(key, "key");
  samples.join(value, "value");
  const std::size_t length_axis = key.rank() - 2;
  const std::size_t keys = key.shape()[length_axis], values = value.shape()[length_axis];
  if (keys != values) {
    // Keys as columns, as a product without a transposition takes them.
    const bool turned = key.shape()[length_axis + 1] == values && keys == query.shape().back();
    if (turned) {
      throw input_error(
          translated("{1} and {2} have different lengths: {3} and {4}", described("key", key),
                     described("value", value), keys, values),
          "/key",
          translated("if its rows are columns, add \"transpose\": true beside its \"file\" "
                     "or \"data\", or write the columns of nested arrays as rows"));
    }
    throw input_error(translated("{1} and {2} have different lengths: {3} and {4}",
                                 described("key", key), described("value", value), keys, values),
                      "/value", translated("give the value one row per key"));
  }
}

void check_heads_options(const Sequences& sequences) {
  if (sequences.kv_heads && !sequences.heads && sequences.query.rank() < 4) {
    throw input_error(translated("kv_heads is given without heads"), "/kv_heads",
                      translated("give \"heads\" too, the number of heads of the query"));
  }
  if (sequences.heads && *sequences.heads == 0) {
    throw input_error(translated("heads is 0"), "/heads", translated("give at least one head"));
  }
  if (sequences.kv_heads && *sequences.kv_heads == 0) {
    throw input_error(translated("kv_heads is 0"), "/kv_heads",
                      translated("give at least one head"));
  }
}

Geometry check_geometry(const AttentionRequest& request) {
  check_single_options(request);
  check_compared_by_products(request);
  const Geometry geometry = std::visit(
      Overloaded{
          [](const GivenScores& given) { return check_given_scores(given); },
          [&](const Sequences& sequences) { return check_sequences(sequences, request.score); }},
      request.score);
  check_size(request, geometry);
  return geometry;
}

}  // namespace attn
