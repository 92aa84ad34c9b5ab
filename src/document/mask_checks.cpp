#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "attention/visibility.hpp"
#include "document/mask_reader.hpp"
#include "document/token_reader.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// 1. "keep".

// The shape [B,H,Lq,Lk] of the forms [Lk] of one sample, [B,Lk], [B,Lq,Lk] and [B,H,Lq,Lk].
Shape four_axes(const ReadMask& given, const Geometry& geometry) {
  Shape shape = given.keep.shape();
  const std::size_t rank = shape.size();
  bool fits = rank >= 1 && rank <= 4 && (rank > 1 || geometry.batch == 1);
  const std::size_t front = rank == 1 ? 0 : 1;
  if (fits) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(front), 4 - rank, 1);
  const Shape all{geometry.batch, geometry.heads, geometry.queries, geometry.keys};
  for (std::size_t axis = 0; fits && axis < all.size(); ++axis)
    fits = shape[axis] == all[axis] || (shape[axis] == 1 && axis < 3);
  if (fits) return shape;
  const std::optional<Shape> better = geometry.batch_axis && geometry.head_axis
                                          ? fitting_shape(given.keep.shape(), geometry)
                                          : std::nullopt;
  throw input_error(
      translated("{1} {2} does not fit {3}, {4} and {5}", given.keep_name(),
                 text(given.keep.shape()),
                 translated_count(geometry.batch, "{1} sample", "{1} samples"),
                 translated_count(geometry.queries, "{1} query", "{1} queries"),
                 translated_count(geometry.keys, "{1} key", "{1} keys")),
      given.keep_at,
      better ? translated("write \"reshape\": {1}", text(*better))
             : translated("give [B,Lk], [B,Lq,Lk] or [B,1 or H,Lq,Lk] with [B,H,Lq,Lk] = {1}",
                          text(all)));
}

// Whether the numbers are truths, and not added to the scores. Throws Error(input) if they are
// neither.
bool holds_truths(const ReadMask& given) {
  if (is_shape_only(given.keep)) return true;
  return with_floats(given.keep, [&]<class T>(std::span<const T> numbers) {
    const auto other = std::ranges::find_if(numbers, [](T x) { return x != 0 && x != 1; });
    if (other == numbers.end()) return true;
    const bool added = std::ranges::none_of(numbers, [](T x) { return x == 1 || std::isnan(x); }) &&
                       std::ranges::any_of(numbers, [](T x) { return x < 0; });
    if (added) return false;
    throw input_error(
        translated("{1} holds {2}, neither 0 nor 1", given.keep_name(),
                   number_text(static_cast<double>(*other))),
        given.keep_at,
        translated("give 1 or true where a key is seen and 0 or false where not; numbers that are "
                   "added to the scores go into \"bias\""));
  });
}

// The tensor [B,H,Lq,Lk] with the axes that the weights have.
Tensor with_axes_of_weights(const Tensor& tensor, const Shape& shape, const Geometry& geometry) {
  Shape own{shape[2], shape[3]};
  if (geometry.head_axis) own.insert(own.begin(), shape[1]);
  if (geometry.batch_axis) own.insert(own.begin(), shape[0]);
  return tensor.reshaped(std::move(own));
}

Tensor opposite(const Tensor& truths) {
  const Tensor all = truths.converted(DType::boolean);
  const auto values = all.values<std::uint8_t>();
  std::vector<std::uint8_t> others(values.size());
  std::ranges::transform(values, others.begin(), [](std::uint8_t x) { return x ? 0 : 1; });
  return {truths.shape(), std::move(others)};
}

Error both_given(const ReadMask& given, const std::string& place, const char* other) {
  return input_error(translated("{1} and {2}.{3} cannot both be given", shown_place(place),
                                given.pointer.substr(1), other),
                     place, translated("leave one of them out"));
}

// Puts keys that are seen, in the rank of the weights, beside the other parts.
void put_seen(const ReadMask& given, const std::string& place, const Tensor& seen, Mask& mask) {
  if (!mask.allow) {
    mask.allow = seen;
  } else if (mask.block) {
    throw both_given(given, place, "block");
  } else if (!is_shape_only(seen)) {
    mask.block = opposite(seen);
  }
}

void settle_keep(const ReadMask& given, const Geometry& geometry, Mask& mask,
                 std::vector<std::string>& warnings) {
  const Shape shape = four_axes(given, geometry);
  if (!holds_truths(given)) {
    if (mask.bias) throw both_given(given, given.keep_at, "bias");
    mask.bias = with_axes_of_weights(given.keep, shape, geometry);
    warnings.push_back(translated(
        "{1} holds negative numbers and no 1: they are added to the scores, as an additive mask; "
        "\"bias\" says so",
        given.keep_name()));
    return;
  }
  const bool of_keys = shape[1] == 1 && shape[2] == 1;
  if (!of_keys || is_shape_only(given.keep)) {
    return put_seen(given, given.keep_at,
                    with_axes_of_weights(given.keep, shape, geometry).converted(DType::boolean),
                    mask);
  }
  const Tensor padding = opposite(given.keep);
  mask.padding = united_padding(
      mask.padding,
      geometry.batch_axis ? padding.reshaped({shape[0], shape[3]}) : padding.reshaped({shape[3]}),
      0);
}

// The lengths of the sequences of each sample.
std::vector<std::vector<std::size_t>> sequence_lengths(const SequenceEnds& all) {
  std::vector<std::vector<std::size_t>> each;
  for (const auto& ends : all) {
    each.emplace_back();
    for (std::size_t s = 0; s + 1 < ends.size(); ++s) each.back().push_back(ends[s + 1] - ends[s]);
  }
  return each;
}

// Puts the keys that each query sees in its own sequence in the place of parts that count places
// among all keys, and refuses those that cannot be put so.
void settle_sequences(const ReadMask& given, const Geometry& geometry, Mask& mask,
                      std::vector<std::string>& warnings) {
  const auto refuse = [&](bool there, const char* part) {
    if (there) throw both_given(given, given.ends_at, part);
  };
  refuse(bool(mask.documents), "documents");
  refuse(!mask.global.empty(), "global");
  refuse(bool(mask.prefix), "prefix");
  refuse(mask.chunk.has_value(), "chunk");
  refuse(mask.dilation.has_value(), "dilation");
  refuse(mask.alibi.has_value(), "alibi");
  const Tensor seen =
      seen_within_sequences(given.query_ends, given.key_ends, mask, geometry, given.ends_at);
  if (mask.causal && !given.aligned &&
      sequence_lengths(given.query_ends) != sequence_lengths(given.key_ends)) {
    warnings.push_back(translated(
        "causal with sequences of other lengths of queries and keys: the first query of each sees "
        "its first key alone; write \"align\": \"lower_right\" if the last query stands at the "
        "last key, as with a cache, or \"align\": \"upper_left\" if it is right"));
  }
  Mask within;
  within.causal = mask.causal;
  within.align = mask.align;
  within.window = mask.window;
  const std::string words = mask_text(within);
  const bool had_allow = bool(mask.allow);
  put_seen(given, given.ends_at, seen, mask);
  if (!had_allow)
    mask.allow_is = words.empty() ? "cu_seqlens" : words + translated(", ") + "cu_seqlens";
  mask.causal = false;
  mask.window.reset();
  mask.align = Alignment::upper_left;
}

// Packed sequences end where the keys do.
void check_documents(const ReadMask& given, const Geometry& geometry, Mask& mask) {
  if (!mask.documents) return;
  const std::size_t end = mask.documents.shape().back();
  if (end == geometry.keys) return;
  mask.documents = {};
  throw input_error(translated("the sequences end at {1}, and there are {2}", end,
                               translated_count(geometry.keys, "{1} key", "{1} keys")),
                    given.documents_at, help_for_ends(end, geometry, geometry.keys));
}

void settle_query_lens(const ReadMask& given, const Geometry& geometry, Mask& mask) {
  const Tensor& lens = given.query_lens;
  const Shape each = geometry.batch_axis ? Shape{geometry.batch} : Shape{};
  if (lens.shape() != each && lens.shape() != Shape{1}) {
    throw input_error(
        translated("the valid lengths of queries {1} do not fit {2}", text(lens.shape()),
                   translated_count(geometry.batch, "{1} sample", "{1} samples")),
        given.query_lens_at, translated("give one number per sample, [{1}]", geometry.batch));
  }
  if (mask.fill) throw both_given(given, given.query_lens_at, "fill");
  if (is_shape_only(lens) || is_shape_only(mask.valid_lens) || is_shape_only(mask.padding)) return;
  const auto all = lens.values<std::int64_t>();
  for (const std::int64_t length : all) {
    if (length >= 0 && static_cast<std::uint64_t>(length) <= geometry.queries) continue;
    throw input_error(
        translated("the valid length {1} is not between 0 and {2}", length, geometry.queries),
        given.query_lens_at, translated("give the number of leading queries that are valid"));
  }
  // The numbers of keys that each query sees: none beyond the valid queries.
  const QueryPlaces places(mask, geometry);
  std::vector<std::int64_t> keys(geometry.batch * geometry.queries, 0);
  for (std::size_t b = 0; b < geometry.batch; ++b) {
    const auto valid = static_cast<std::size_t>(all[b % all.size()]);
    for (std::size_t i = 0; i < valid; ++i)
      keys[b * geometry.queries + i] = static_cast<std::int64_t>(places.valid_keys(b, i));
  }
  const Shape shape{geometry.batch, 1, geometry.queries, 1};
  if (mask.align == Alignment::lower_right && mask.valid_lens) {
    // The last queries stand at the ends of the valid keys, which one number per sample gives.
    const Tensor seen = Tensor(shape, std::move(keys)).converted(DType::boolean);
    return put_seen(given, given.query_lens_at, with_axes_of_weights(seen, shape, geometry), mask);
  }
  Shape each_query{geometry.queries};
  if (geometry.batch_axis) each_query.insert(each_query.begin(), geometry.batch);
  mask.valid_lens = Tensor(std::move(each_query), std::move(keys));
}

}  // namespace

bool depends_on_sizes(const ReadMask& given) {
  return given.keep || !given.ends_at.empty() || given.query_lens || !given.documents_at.empty();
}

void settle_mask(const ReadMask& given, const Geometry& geometry, Mask& mask,
                 std::vector<std::string>& warnings) {
  if (given.keep) settle_keep(given, geometry, mask, warnings);
  if (!given.query_ends.empty() || !given.key_ends.empty())
    settle_sequences(given, geometry, mask, warnings);
  if (given.query_lens) settle_query_lens(given, geometry, mask);
  if (!given.documents_at.empty()) check_documents(given, geometry, mask);
}

std::size_t rows_beyond(const ReadMask& given, const Geometry& geometry) {
  if (!given.query_lens || is_shape_only(given.query_lens)) return 0;
  const auto lens = given.query_lens.values<std::int64_t>();
  std::size_t rows = 0;
  for (std::size_t b = 0; b < geometry.batch; ++b)
    rows += geometry.queries - static_cast<std::size_t>(lens[b % lens.size()]);
  return rows * geometry.heads;
}

// 2. Warnings.

namespace {

/// Looks at the parts of one mask.
class MaskChecks {
 public:
  MaskChecks(const ReadMask& given, const Geometry& geometry)
      : given_(given), geometry_(geometry) {}

  std::vector<std::string> warnings() {
    check_axes("allow", given_.allow);
    check_axes("block", given_.block);
    check_axes("bias", given_.bias);
    check_bias();
    check_padding();
    check_hiding();
    check_alignment();
    check_window();
    check_lengths();
    check_alibi();
    check_valid_queries();
    return std::move(warnings_);
  }

 private:
  std::string named(const char* part) const { return given_.pointer.substr(1) + "." + part; }

  // A first axis that is read as heads or queries and has the number of the samples.
  void check_axes(const char* part, const Tensor& tensor) {
    if (!tensor || geometry_.batch < 2) return;
    const Shape& shape = tensor.shape();
    const std::size_t rank = geometry_.weights_shape().size();
    if (shape.size() < 2 || shape.size() >= rank || shape[0] != geometry_.batch) return;
    const bool heads = shape.size() == 3;
    Shape of_samples(rank, 1), as_read(rank, 1);
    std::copy_backward(shape.begin(), shape.end(), as_read.end());
    std::copy_backward(shape.begin() + 1, shape.end(), of_samples.end());
    of_samples[0] = shape[0];
    warnings_.push_back(translated(
        "{1} {2} is read as {3} for all samples, but there are {4} samples too: for one part per "
        "sample write \"reshape\": {5}, and \"reshape\": {6} if it is right",
        named(part), text(shape),
        heads ? translated("heads × queries × keys") : translated("queries × keys"),
        geometry_.batch, text(of_samples), text(as_read)));
  }

  // Truths are usual in other masks, and numbers 0 and 1 too.
  void check_bias() {
    if (!given_.bias || is_shape_only(given_.bias)) return;
    const bool truths = with_floats(given_.bias, []<class T>(std::span<const T> numbers) {
      return std::ranges::all_of(numbers, [](T x) { return x == 0 || x == 1; }) &&
             std::ranges::find(numbers, T{1}) != numbers.end();
    });
    if (!truths) return;
    warnings_.push_back(translated(
        "{1} holds nothing but 0 and 1, or truths: they are added to the scores and hide no key; "
        "write \"allow\" if 1 means seen, or \"block\" if 1 means hidden",
        named("bias")));
  }

  // Every sample begins with padding and has none after its first key that is no padding.
  void check_padding() {
    const Tensor& padding = given_.padding;
    if (!padding || is_shape_only(padding) || hides_all(padding, 1)) return;
    const auto all = padding.values<std::uint8_t>();
    bool begins = true;
    std::optional<std::size_t> full;
    for (std::size_t first = 0; first < all.size(); first += geometry_.keys) {
      const auto keys = all.subspan(first, geometry_.keys);
      begins = begins && keys[0] && std::ranges::is_sorted(keys, std::greater<>());
      if (!full && std::ranges::count(keys, 0) == 0) full = first / geometry_.keys;
    }
    if (!begins && full) {
      warnings_.push_back(translated(
          "{1} hides every key of sample {2}: 1 means padding there; write \"keep\" if 1 "
          "means a token",
          named("padding"), *full));
    }
    if (!begins) return;
    warnings_.push_back(
        translated("{1} begins every sample with padding: 1 means padding there; write \"keep\" if "
                   "1 means a token",
                   named("padding")));
  }

  static bool hides_all(const Tensor& truths, std::uint8_t hiding) {
    if (!truths || is_shape_only(truths)) return false;
    const auto all = truths.values<std::uint8_t>();
    return std::ranges::all_of(all, [&](std::uint8_t x) { return x == hiding; });
  }

  // Whether the cells that hold `seen` are those of the keys after each query, in all of its
  // matrices.
  bool shows_later_keys(const Tensor& truths, std::uint8_t seen) const {
    const std::size_t length = geometry_.queries;
    if (!truths || is_shape_only(truths) || truths.rank() < 2 || length < 2) return false;
    const Shape& shape = truths.shape();
    if (shape.back() != length || shape[shape.size() - 2] != length) return false;
    const auto all = truths.values<std::uint8_t>();
    for (std::size_t at = 0; at < all.size(); ++at) {
      const std::size_t query = at / length % length, key = at % length;
      if ((all[at] == seen) != (key > query)) return false;
    }
    return true;
  }

  void check_truths(const std::string& name, const Tensor& truths, std::uint8_t seen,
                    const std::string& help) {
    if (hides_all(truths, seen ? 0 : 1)) {
      warnings_.push_back(translated("{1} hides every key from every query: {2}", name, help));
    } else if (shows_later_keys(truths, seen)) {
      warnings_.push_back(
          translated("{1} shows each query the keys after it alone: {2}", name, help));
    }
  }

  void check_hiding() {
    const std::string as_block =
        translated("1 means seen there; write \"block\" if 1 means hidden");
    check_truths(named("allow"), given_.allow, 1, as_block);
    check_truths(named("block"), given_.block, 0,
                 translated("1 means hidden there; write \"allow\" if 1 means seen"));
    check_truths(named("padding"), given_.padding, 0,
                 translated("1 means padding there; write \"keep\" if 1 means a token"));
    if (given_.keep && !is_shape_only(given_.keep) && holds_truths(given_)) {
      check_truths(given_.keep_name(), given_.keep.converted(DType::boolean), 1,
                   translated("1 means seen there; write \"padding\" or \"block\" if 1 means "
                              "hidden, or \"bias\" if the numbers are added to the scores"));
    }
    const Tensor& lens = given_.valid_lens;
    if (lens && !is_shape_only(lens) &&
        std::ranges::all_of(lens.values<std::int64_t>(), [](auto n) { return n == 0; })) {
      warnings_.push_back(translated("{1} hides every key from every query: {2}", "valid_lens",
                                     translated("give the number of leading keys that are seen")));
    }
    if (given_.bias && !is_shape_only(given_.bias) && infinite_bias()) {
      warnings_.push_back(translated("{1} hides every key from every query: {2}", named("bias"),
                                     translated("give 0 where a key is seen")));
    }
  }

  bool infinite_bias() const {
    return with_floats(given_.bias, []<class T>(std::span<const T> numbers) {
      return std::ranges::all_of(numbers,
                                 [](T x) { return x == -std::numeric_limits<T>::infinity(); });
    });
  }

  // Which key the last query sees is a matter of alignment.
  void check_alignment() {
    const std::size_t reach = geometry_.past + geometry_.queries;
    if (given_.documents && reach != geometry_.keys) {
      warnings_.push_back(
          translated("{1} has the sequences of {2} keys, and {3} queries take those of the keys at "
                     "their places: write \"cu_seqlens\": {\"query\": …, \"key\": …} for sequences "
                     "of queries of their own",
                     named("documents"), geometry_.keys, geometry_.queries));
    }
    if (!given_.causal || given_.aligned || !given_.ends_at.empty()) return;
    if (reach == geometry_.keys) return;
    const std::string name = named("causal");
    const std::string queries = translated_count(geometry_.queries, "{1} query", "{1} queries");
    const std::string keys = translated_count(geometry_.keys, "{1} key", "{1} keys");
    warnings_.push_back(
        reach < geometry_.keys
            ? translated("{1} with {2} and {3}: the last query sees {4}; write \"align\": "
                         "\"lower_right\" if it stands at the last key, as with a cache, or "
                         "\"align\": \"upper_left\" if it is right",
                         name, queries, keys,
                         translated_count(reach, "the first key", "the first {1} keys"))
            : translated("{1} with {2} and {3}: query {4} sees the last key already; write "
                         "\"align\": \"lower_right\" if only the last query does, or \"align\": "
                         "\"upper_left\" if it is right",
                         name, queries, keys, geometry_.keys - geometry_.past - 1));
  }

  // Warns of a window whose sides may be exchanged: causality then leaves the query's own place
  // alone.
  void check_window() {
    if (!given_.causal || !given_.window || !given_.global.empty() || given_.prefix) return;
    const Window& window = *given_.window;
    if (window.left != std::optional<std::size_t>(0) || window.right == window.left) return;
    const std::string right = window.right ? std::to_string(*window.right) : "-1";
    warnings_.push_back(translated(
        "{1} with \"left\": 0 beside \"causal\": true shows each query the key at its own place "
        "alone: \"left\" counts the keys before a query; write {2} if they are meant",
        named("window"), R"({"left": )" + right + R"(, "right": 0})"));
  }

  // Lengths that leave out the queries' own keys behind a past, and truths in the place of lengths.
  void check_lengths() {
    const Tensor& lens = given_.valid_lens;
    if (!lens || is_shape_only(lens)) return;
    const auto all = lens.values<std::int64_t>();
    const auto past = static_cast<std::int64_t>(geometry_.past);
    const bool some = std::ranges::any_of(all, [](auto n) { return n > 0; });
    if (past > 0 && some && std::ranges::all_of(all, [&](auto n) { return n <= past; })) {
      warnings_.push_back(
          translated("{1} counts past and new keys together, and no sample has more than the {2} "
                     "past ones: its queries do not see their own keys; add {3} to each number if "
                     "it counts the past alone",
                     given_.lens_name(), past, geometry_.keys - geometry_.past));
    }
    constexpr std::size_t few = 3;
    const bool truths = lens.rank() == 2 && lens.shape()[1] == geometry_.keys &&
                        geometry_.keys >= few && some &&
                        std::ranges::all_of(all, [](auto n) { return n == 0 || n == 1; });
    if (!truths) return;
    warnings_.push_back(translated(
        "{1} holds nothing but 0 and 1, the numbers of keys that each query sees: write {2} if 1 "
        "means a key that is seen",
        given_.lens_name(), given_.keep_instead()));
  }

  void check_alibi() {
    if (!given_.alibi) return;
    const std::vector<double>& slopes = given_.alibi->slopes;
    if (std::ranges::any_of(slopes, [](double slope) { return slope < 0; })) {
      warnings_.push_back(
          translated("{1} has a negative slope, which favours distant keys: −slope·distance is "
                     "added, so write it without its sign if near keys are meant",
                     named("alibi")));
    }
    const bool may_hide_later = given_.window || given_.keep || !given_.ends_at.empty() ||
                                std::ranges::any_of(hiding_parts(), [&](const HidingPart* part) {
                                  return part->may_be_causal && part->present(given_);
                                });
    if (given_.alibi->symmetric || may_hide_later || geometry_.queries < 2) return;
    warnings_.push_back(translated(
        "{1} adds nothing to keys after the query, and the mask hides none of them: "
        "write {2} for −slope·|i − j|, as in flash-attention, or add \"causal\": true",
        named("alibi"),
        slopes.empty() ? "{\"symmetric\": true}" : "{\"slopes\": …, \"symmetric\": true}"));
  }

  // The last of all queries stands at the last valid key, whether it is valid or not.
  void check_valid_queries() {
    const Tensor& lens = given_.query_lens;
    if (!lens || is_shape_only(lens) || given_.align != Alignment::lower_right) return;
    if (!given_.causal && !given_.window) return;
    const auto all = lens.values<std::int64_t>();
    const auto queries = static_cast<std::int64_t>(geometry_.queries);
    if (std::ranges::all_of(all, [&](std::int64_t n) { return n == queries; })) return;
    warnings_.push_back(translated(
        "\"align\": \"lower_right\" puts the last of all {1} queries at the last valid "
        "key, padding included; kernels with seqused_q put the last valid one there: for "
        "these write \"where\": \"j <= i + shift[b]\" in place of causal, with \"tables\": "
        "{\"shift\": […]}, valid keys − valid queries of each sample",
        queries));
  }

  const ReadMask& given_;
  const Geometry& geometry_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> mask_warnings(const ReadMask& given, const Geometry& geometry) {
  return MaskChecks(given, geometry).warnings();
}

}  // namespace attn
