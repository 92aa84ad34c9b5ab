#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "attn/error.hpp"

#include "document/mask_reader.hpp"
#include "io/number_array.hpp"
#include "io/raw_array.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::vector<std::size_t> sizes_of(std::span<const std::int64_t> numbers,
                                  const std::string& pointer) {
  std::vector<std::size_t> sizes;
  for (const std::int64_t number : numbers) {
    if (number < 0) {
      throw input_error(translated("the position {1} is negative", number), pointer,
                        translated("give whole numbers of at least 0"));
    }
    sizes.push_back(static_cast<std::size_t>(number));
  }
  return sizes;
}

const std::vector<std::size_t>& checked_ends(const std::vector<std::size_t>& ends,
                                             const std::string& place) {
  if (ends.size() >= 2 && ends.front() == 0 && std::ranges::is_sorted(ends)) return ends;
  throw input_error(translated("cu_seqlens must start at 0 and increase"), place,
                    translated("give the place of each sequence's first key and the number of "
                               "all keys, such as [0, 5, 9]"));
}

}  // namespace

void see_added_keys(Mask& mask, std::size_t keys, std::size_t count) {
  for (const auto& [present, key] : {std::pair{bool(mask.documents), "/mask/documents"},
                                     std::pair{!mask.where.text.empty(), "/mask/where"},
                                     std::pair{mask.dilation.has_value(), "/mask/dilation"}}) {
    if (!present) continue;
    throw input_error(translated("rows that are added to the keys have no position"), key,
                      translated("give what it hides as \"block\" of the mask"));
  }
  // A column for each added key: seen, and without a bias.
  const auto widen = [&](Tensor& tensor, bool truth) {
    if (!tensor || tensor.rank() == 0 || tensor.shape().back() != keys) return;
    Shape shape = tensor.shape();
    shape.back() = count;
    const std::size_t size = element_count(shape);
    const Tensor columns = is_shape_only(tensor) ? shape_only(shape, tensor.dtype())
                           : tensor.dtype() == DType::boolean
                               ? Tensor(shape, std::vector<std::uint8_t>(size, truth ? 1 : 0))
                               : Tensor(shape, std::vector<double>(size)).converted(tensor.dtype());
    tensor = concatenated(std::array{columns, tensor}, shape.size() - 1);
  };
  widen(mask.padding, false);
  widen(mask.block, false);
  widen(mask.allow, true);
  widen(mask.bias, false);
  const auto add_to = [&](Tensor& numbers) {
    if (!numbers || is_shape_only(numbers)) return;
    const auto old = numbers.values<std::int64_t>();
    std::vector<std::int64_t> all(old.begin(), old.end());
    for (std::int64_t& one : all) one += static_cast<std::int64_t>(count);
    numbers = Tensor(numbers.shape(), std::move(all));
  };
  add_to(mask.valid_lens);
  add_to(mask.prefix);
  for (std::size_t& position : mask.global) position += count;
  // Neither a window nor a chunk hides them.
  if (!mask.prefix && (mask.window || mask.chunk)) {
    mask.prefix = Tensor({}, std::vector<std::int64_t>{static_cast<std::int64_t>(count)});
  }
}

std::vector<std::size_t> read_positions(const JsonValue& value, const std::string& pointer,
                                        TensorSource& tensors) {
  if (describes_tensor(value)) {
    const Tensor list = tensors.read(value, DType::int64, pointer);
    if (list.rank() != 1) {
      throw input_error(translated("the positions {1} are not a list", text(list.shape())), pointer,
                        translated("give one axis"));
    }
    if (is_shape_only(list)) return {};
    return sizes_of(list.values<std::int64_t>(), pointer);
  }
  if (!value.is(JsonValue::Type::array)) {
    throw input_error(
        translated("expected an array of positions, found {1}", translated(type_text(value))),
        pointer, translated("give an array such as [0, 5]"));
  }
  constexpr std::size_t most_positions = 1'000'000;
  if (value.size() > most_positions) {
    throw input_error(translated("{1} positions in one list, and at most {2} are read",
                                 value.size(), most_positions),
                      pointer, translated("give fewer"));
  }
  if (const Tensor all = whole_numbers(value, 0, pointer); all && all.rank() == 1) {
    const auto numbers = all.values<std::int64_t>();
    return {numbers.begin(), numbers.end()};
  }
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    positions.push_back(static_cast<std::size_t>(expect_integer(value.element(i), at, 0)));
  }
  return positions;
}

SequenceEnds read_sequence_ends(const JsonValue& value, const std::string& place,
                                TensorSource& tensors) {
  SequenceEnds ends;
  if (describes_tensor(value)) {
    const Tensor all = tensors.read(value, DType::int64, place);
    if (all.rank() == 0 || all.rank() > 2) {
      throw input_error(translated("the positions {1} are not a list", text(all.shape())), place,
                        translated("give one axis, or one list per sample"));
    }
    if (is_shape_only(all)) return ends;
    const auto numbers = all.values<std::int64_t>();
    const std::size_t each = all.shape().back();
    for (std::size_t first = 0; first < numbers.size(); first += each)
      ends.push_back(checked_ends(sizes_of(numbers.subspan(first, each), place), place));
    return ends;
  }
  const bool each = value.is(JsonValue::Type::array) && value.size() > 0 &&
                    value.element(0).is(JsonValue::Type::array);
  if (!each) return {checked_ends(read_positions(value, place, tensors), place)};
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(place, i);
    ends.push_back(checked_ends(read_positions(value.element(i), at, tensors), at));
  }
  return ends;
}

Tensor sequence_ids(const SequenceEnds& ends, const std::string& place) {
  if (ends.empty()) return {};
  const std::size_t keys = ends[0].back();
  std::vector<std::int64_t> ids;
  check_element_limit(keys, std::uint64_t{1} << 32U, place);
  for (std::size_t b = 0; b < ends.size(); ++b) {
    if (ends[b].back() != keys) {
      throw input_error(translated("the sequences of this sample end at {1}, those of the first "
                                   "at {2}",
                                   ends[b].back(), keys),
                        pointer_to(place, b),
                        translated("give all samples the same number of keys"));
    }
    for (std::size_t i = 1; i < ends[b].size(); ++i)
      ids.resize(b * keys + ends[b][i], static_cast<std::int64_t>(i - 1));
  }
  Shape shape{keys};
  if (ends.size() > 1) shape.insert(shape.begin(), ends.size());
  return {std::move(shape), std::move(ids)};
}

std::string help_for_ends(std::size_t end, const Geometry& geometry, std::size_t length) {
  if (end == geometry.batch && geometry.batch_axis && !geometry.head_axis) {
    return translated(
        "write \"layout\": \"LHD\" in query, key and value if they are [L,H,D]: without it the "
        "first axis is that of {1} samples",
        geometry.batch);
  }
  return translated("end each list with {1}, past keys included", length);
}

namespace {

void check_sides(const SequenceEnds& of_queries, const SequenceEnds& of_keys,
                 const Geometry& geometry, const std::string& place) {
  if (of_queries.empty() || of_keys.empty()) {
    throw input_error(translated("the sequences of the {1} are missing",
                                 of_queries.empty() ? translated("queries") : translated("keys")),
                      place, translated("give both: {\"query\": [0, …], \"key\": [0, …]}"));
  }
  const auto check = [&](const SequenceEnds& ends, std::size_t length, const std::string& name) {
    const bool samples = ends.size() == 1 || ends.size() == geometry.batch;
    for (const auto& list : ends) {
      if (samples && list.back() == length) continue;
      throw input_error(
          translated(
              "{1} of {2}, ending at {3}, do not fit {4} of {5} {2}",
              translated_count(ends.size(), "{1} list of sequences", "{1} lists of sequences"),
              name, list.back(), translated_count(geometry.batch, "{1} sample", "{1} samples"),
              length),
          place, help_for_ends(list.back(), geometry, length));
    }
  };
  check(of_queries, geometry.queries, translated("queries"));
  check(of_keys, geometry.keys, translated("keys"));
  for (std::size_t b = 0; b < geometry.batch; ++b) {
    const std::size_t queries = of_queries[b % of_queries.size()].size() - 1;
    const std::size_t keys = of_keys[b % of_keys.size()].size() - 1;
    if (queries == keys) continue;
    throw input_error(
        translated("the numbers of sequences differ: {1} of queries and {2} of keys", queries,
                   keys),
        place, translated("give both the same number; one may be empty, as in [0, 4, 4, 9]"));
  }
}

}  // namespace

Tensor seen_within_sequences(const SequenceEnds& of_queries, const SequenceEnds& of_keys,
                             const Mask& mask, const Geometry& geometry, const std::string& place) {
  check_sides(of_queries, of_keys, geometry, place);
  const std::size_t samples = of_queries.size() > 1 || of_keys.size() > 1 ? geometry.batch : 1;
  std::vector<std::uint8_t> seen(samples * geometry.queries * geometry.keys, 0);
  const auto reach = [](std::optional<std::size_t> side) {
    constexpr std::size_t farthest = std::size_t{1} << 60U;
    return static_cast<std::ptrdiff_t>(std::min(side.value_or(farthest), farthest));
  };
  for (std::size_t b = 0; b < samples; ++b) {
    const auto& queries = of_queries[b % of_queries.size()];
    const auto& keys = of_keys[b % of_keys.size()];
    for (std::size_t s = 0; s + 1 < queries.size(); ++s) {
      const auto own = static_cast<std::ptrdiff_t>(keys[s + 1] - keys[s]);
      const auto behind = mask.align == Alignment::lower_right
                              ? own - static_cast<std::ptrdiff_t>(queries[s + 1] - queries[s])
                              : 0;
      for (std::size_t i = queries[s]; i < queries[s + 1]; ++i) {
        const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(i - queries[s]) + behind;
        std::ptrdiff_t first = 0, end = own;
        if (mask.causal) end = std::min(end, at + 1);
        if (mask.window) {
          first = std::max<std::ptrdiff_t>(first, at - reach(mask.window->left));
          end = std::min(end, at + reach(mask.window->right) + 1);
        }
        std::uint8_t* const row = seen.data() + (b * geometry.queries + i) * geometry.keys;
        for (std::ptrdiff_t j = first; j < end; ++j)
          row[static_cast<std::ptrdiff_t>(keys[s]) + j] = 1;
      }
    }
  }
  Shape shape{geometry.queries, geometry.keys};
  if (geometry.head_axis) shape.insert(shape.begin(), 1);
  if (geometry.batch_axis) shape.insert(shape.begin(), samples);
  return {std::move(shape), std::move(seen)};
}

}  // namespace attn
