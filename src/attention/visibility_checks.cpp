#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include "attn/error.hpp"

#include "attention/visibility.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// [B, sizes…], without the batch axis if the attention has none.
Shape each_sample(const Geometry& geometry, Shape sizes) {
  if (geometry.batch_axis) sizes.insert(sizes.begin(), geometry.batch);
  return sizes;
}

std::string described(const char* name, const Tensor& tensor) {
  return std::string(name) + " " + text(tensor.shape());
}

void check_numbers(const Mask& mask) {
  if (mask.fill && !std::isfinite(*mask.fill)) {
    throw input_error(translated("the fill is neither a finite number nor -inf"), "/mask/fill",
                      translated("give a finite number such as -1e9, or leave it out for -inf"));
  }
  if (mask.chunk && *mask.chunk == 0) {
    throw input_error(translated("a chunk of 0 keys holds no key"), "/mask/chunk",
                      translated("give the number of keys of a chunk, such as 128"));
  }
  if (mask.dilation && *mask.dilation == 0) {
    throw input_error(translated("a dilation of 0 keys has no steps"), "/mask/dilation",
                      translated("give the number of keys from one seen key to the next"));
  }
  if (mask.dilation && !mask.window) {
    throw input_error(translated("a dilation has no meaning without a window"), "/mask/dilation",
                      translated("give a \"window\" too, such as {\"left\": 8, \"right\": 0}"));
  }
}

}  // namespace

std::optional<Shape> fitting_shape(const Shape& shape, const Geometry& geometry) {
  const Shape axes = geometry.weights_shape();
  if (shape.empty() || shape.back() != axes.back()) return std::nullopt;
  Shape sizes;  // of the axes before the keys
  std::copy_if(shape.begin(), shape.end() - 1, std::back_inserter(sizes),
               [](std::size_t size) { return size != 1; });
  const auto placed = [&]() -> std::optional<Shape> {
    Shape result(axes.size(), 1);
    result.back() = axes.back();
    std::size_t axis = 0;
    for (const std::size_t size : sizes) {
      while (axis + 1 < axes.size() && axes[axis] != size) ++axis;
      if (axis + 1 >= axes.size()) return std::nullopt;
      result[axis++] = size;
    }
    return result;
  };
  if (std::optional<Shape> found = placed()) return found;
  const bool both = geometry.batch_axis && geometry.head_axis && shape.size() == 3 &&
                    !sizes.empty() && sizes[0] == geometry.batch * geometry.heads;
  if (!both) return std::nullopt;
  sizes[0] = geometry.heads;
  sizes.insert(sizes.begin(), geometry.batch);
  return placed();
}

QueryPlaces::QueryPlaces(const Mask& mask, const Geometry& geometry)
    : padding_(mask.padding),
      valid_lens_(mask.valid_lens),
      queries_(geometry.queries),
      keys_(geometry.keys),
      past_(geometry.past) {
  check_numbers(mask);
  adopt_padding(geometry);
  adopt_valid_lens(geometry);
  if (mask.align == Alignment::lower_right && !is_shape_only(padding_) &&
      !is_shape_only(valid_lens_)) {
    for (std::size_t b = 0; b < geometry.batch; ++b) offsets_.push_back(find_offset(b));
  }
}

void QueryPlaces::adopt_padding(const Geometry& geometry) {
  if (!padding_) return;
  const Shape& shape = padding_.shape();
  const Shape expected = each_sample(geometry, {keys_});
  const bool same_for_all = shape == Shape{1, keys_};
  const bool only_sample = shape == Shape{keys_} && geometry.batch == 1;
  if (shape != expected && !same_for_all && !only_sample) {
    throw input_error(
        translated("{1} does not fit {2} of {3}", described("the padding mask", padding_),
                   translated_count(geometry.batch, "{1} sample", "{1} samples"),
                   translated_count(keys_, "{1} key", "{1} keys")),
        "/mask/padding",
        translated("give it the shape {1}, true where a key is padding", text(expected)));
  }
  padding_ = padding_.converted(DType::boolean);
  padding_stride_ = shape.size() == 2 && shape[0] > 1 ? keys_ : 0;
}

void QueryPlaces::adopt_valid_lens(const Geometry& geometry) {
  if (!valid_lens_) return;
  const Shape& shape = valid_lens_.shape();
  const Shape each_query = each_sample(geometry, {queries_});
  const bool one_a_sample = shape == each_sample(geometry, {}) || shape == Shape{1};
  const bool one_a_query = !one_a_sample && (shape == each_query || shape == Shape{1, queries_});
  if (!one_a_sample && !one_a_query) {
    const std::string sample =
        geometry.batch_axis ? translated("one number per sample, {1}", text({geometry.batch}))
                            : translated("one number");
    throw input_error(
        translated("{1} does not fit {2} of {3}", described("valid_lens", valid_lens_),
                   translated_count(geometry.batch, "{1} sample", "{1} samples"),
                   translated_count(queries_, "{1} query", "{1} queries")),
        "/valid_lens", translated("give {1}, or one per query, {2}", sample, text(each_query)));
  }
  if (valid_lens_.dtype() != DType::int64) {
    throw input_error(translated("valid_lens holds {1}, not int64", name(valid_lens_.dtype())),
                      "/valid_lens", translated("give whole numbers"));
  }
  lens_query_stride_ = one_a_query ? 1 : 0;
  if (!shape.empty() && shape[0] > 1 && geometry.batch_axis) {
    lens_batch_stride_ = one_a_query ? queries_ : 1;
  }
  if (is_shape_only(valid_lens_)) return;
  const auto lens = valid_lens_.values<std::int64_t>();
  for (std::size_t i = 0; i < lens.size(); ++i) {
    if (lens[i] >= 0 && static_cast<std::uint64_t>(lens[i]) <= keys_) continue;
    std::string pointer = "/valid_lens";
    if (shape.size() == 2) pointer += "/" + std::to_string(i / queries_);
    if (!shape.empty()) pointer += "/" + std::to_string(shape.size() == 2 ? i % queries_ : i);
    throw input_error(translated("the valid length {1} is not between 0 and {2}", lens[i], keys_),
                      pointer, translated("give the number of leading keys that are valid"));
  }
}

std::size_t QueryPlaces::valid_keys(std::size_t batch, std::size_t query) const {
  if (!valid_lens_) return keys_;
  const auto lens = valid_lens_.values<std::int64_t>();
  return static_cast<std::size_t>(lens[batch * lens_batch_stride_ + query * lens_query_stride_]);
}

std::span<const std::uint8_t> QueryPlaces::padding(std::size_t batch) const {
  if (!padding_) return {};
  return padding_.values<std::uint8_t>().subspan(batch * padding_stride_, keys_);
}

std::ptrdiff_t QueryPlaces::find_offset(std::size_t batch) const {
  std::size_t last = keys_;
  if (valid_lens_ && lens_query_stride_ == 0) {
    last = valid_keys(batch, 0);
  } else if (padding_) {
    const auto padded = padding(batch);
    while (last > 0 && padded[last - 1]) --last;
  }
  return static_cast<std::ptrdiff_t>(last) - static_cast<std::ptrdiff_t>(queries_);
}

void Visibility::adopt_global() {
  if (mask_.window) is_global_.assign(keys_, 0);
  for (std::size_t i = 0; i < mask_.global.size(); ++i) {
    if (mask_.global[i] >= keys_) {
      throw input_error(translated("the global position {1} is beyond the last key, {2}",
                                   mask_.global[i], keys_ - 1),
                        "/mask/global/" + std::to_string(i),
                        translated("give positions from 0 to {1}", keys_ - 1));
    }
    if (mask_.window) is_global_[mask_.global[i]] = 1;
  }
}

void Visibility::adopt_documents(const Geometry& geometry) {
  if (!mask_.documents) return;
  const Shape& shape = mask_.documents.shape();
  const Shape expected = each_sample(geometry, {keys_});
  if (shape != expected && shape != Shape{keys_} && shape != Shape{1, keys_}) {
    throw input_error(
        translated("{1} does not fit {2} of {3}", described("documents", mask_.documents),
                   translated_count(geometry.batch, "{1} sample", "{1} samples"),
                   translated_count(keys_, "{1} key", "{1} keys")),
        "/mask/documents",
        translated("give one id per key, {1}, past keys included", text(expected)));
  }
  if (mask_.documents.dtype() != DType::int64) {
    throw input_error(translated("documents holds {1}, not int64", name(mask_.documents.dtype())),
                      "/mask/documents", translated("give whole numbers"));
  }
  documents_stride_ = shape.size() == 2 && shape[0] > 1 ? keys_ : 0;
}

void Visibility::adopt_prefix(const Geometry& geometry) {
  if (!mask_.prefix) return;
  const Shape& shape = mask_.prefix.shape();
  if (!shape.empty() && shape != Shape{1} && shape != Shape{geometry.batch}) {
    throw input_error(
        translated("{1} does not fit {2}", described("prefix", mask_.prefix),
                   translated_count(geometry.batch, "{1} sample", "{1} samples")),
        "/mask/prefix",
        translated("give one number, or one per sample, {1}", text({geometry.batch})));
  }
  if (mask_.prefix.dtype() != DType::int64) {
    throw input_error(translated("prefix holds {1}, not int64", name(mask_.prefix.dtype())),
                      "/mask/prefix", translated("give whole numbers"));
  }
  prefix_stride_ = !shape.empty() && shape[0] > 1 ? 1 : 0;
  if (is_shape_only(mask_.prefix)) return;
  const auto lengths = mask_.prefix.values<std::int64_t>();
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] >= 0 && static_cast<std::uint64_t>(lengths[i]) <= keys_) continue;
    throw input_error(translated("the prefix {1} is not between 0 and {2}", lengths[i], keys_),
                      "/mask/prefix" + (shape.empty() ? "" : "/" + std::to_string(i)),
                      translated("give the number of leading keys that every query sees"));
  }
}

Visibility::Broadcast Visibility::broadcast(const Tensor& tensor, DType dtype,
                                            const Geometry& geometry, const char* name) {
  Broadcast result;
  if (!tensor) return result;
  const Shape axes = geometry.weights_shape();
  const Shape& shape = tensor.shape();
  const bool too_long = shape.size() > axes.size();
  Shape strides(axes.size(), 0);
  bool fits = !too_long;
  std::size_t stride = 1;
  for (std::size_t back = 1; fits && back <= shape.size(); ++back) {
    const std::size_t size = shape[shape.size() - back];
    const std::size_t axis = axes.size() - back;
    fits = size == 1 || size == axes[axis];
    strides[axis] = size == 1 ? 0 : stride;
    stride *= size;
  }
  if (!fits) {
    const std::optional<Shape> better = fitting_shape(shape, geometry);
    const std::size_t queries = geometry.queries, keys = geometry.keys;
    const bool of_longer = !too_long && shape.size() > 1 && queries == keys &&
                           shape.back() == shape[shape.size() - 2] && shape.back() > keys;
    // A row of keys for each sample is what other parts take as it is.
    const bool by_sample = better && shape.size() == 2 && geometry.batch_axis &&
                           shape[0] == geometry.batch && shape[0] != queries;
    const std::string_view part = name;
    const std::string_view of_samples = part == "block" ? "padding" : "keep";
    const bool row_per_sample = by_sample && (part == "block" || part == "allow");
    const std::string help =
        row_per_sample ? translated("write {1}: … instead of {2} for a row per sample",
                                    in_quotes(of_samples), in_quotes(part))
        : of_longer
            ? translated("take the part of this length: \"slice\": {1}",
                         "\"..., :" + std::to_string(queries) + ", :" + std::to_string(keys) + "\"")
        : better ? translated(
                       "write \"reshape\": {1} beside its file or its flat numbers, or give each "
                       "axis, counted from the last, the size 1 or that of the weights",
                       text(*better))
                 : translated("each axis, counted from the last, must be 1 or that of the weights");
    throw input_error(translated("{1} {2} does not broadcast against the weights {3}", name,
                                 text(shape), text(axes)),
                      std::string("/mask/") + name, help);
  }
  result.tensor = tensor.converted(dtype);
  const std::size_t rank = axes.size();
  result.key = strides[rank - 1];
  result.query = strides[rank - 2];
  if (geometry.head_axis) result.head = strides[rank - 3];
  if (geometry.batch_axis) result.batch = strides[0];
  return result;
}

}  // namespace attn
