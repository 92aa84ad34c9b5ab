#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

/// One entry of a slice: an index, a range, or the ellipsis.
struct SliceEntry {
  enum class Form { index, range, ellipsis } form = Form::range;
  std::optional<std::int64_t> first = {}, end = {}, step = {};  ///< an index is `first`
};

/// The part of one axis: element i of the part is number start + i·step of the axis.
struct AxisPart {
  std::int64_t start = 0, step = 1;
  std::size_t count = 1;
  bool kept = true;  ///< whether the result has the axis

  bool whole(std::size_t size) const { return start == 0 && step == 1 && count == size; }
};

constexpr const char* slice_help = to_translate(
    "write one entry per axis, such as \"0, :, 64:128\": a whole number, first:end, "
    "first:end:step, : for the whole axis, or ... for all other axes");

Error not_a_slice(std::string_view entry, const std::string& where) {
  return input_error(entry.empty() ? translated("a slice has an empty entry")
                                   : translated("\"{1}\" is not an entry of a slice", entry),
                     where, translated(slice_help));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n") - first + 1);
}

std::vector<std::string_view> split_at(char separator, std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t end; (end = text.find(separator)) != std::string_view::npos;) {
    parts.push_back(trimmed(text.substr(0, end)));
    text.remove_prefix(end + 1);
  }
  parts.push_back(trimmed(text));
  return parts;
}

SliceEntry entry_in(std::string_view text, const std::string& where) {
  if (text == "..." || text == "…") return {SliceEntry::Form::ellipsis};
  const auto number = [&](std::string_view digits) -> std::optional<std::int64_t> {
    if (digits.empty()) return std::nullopt;
    const std::string_view unsigned_digits = digits.substr(digits[0] == '+' ? 1 : 0);
    std::int64_t value = 0;
    const char* const end = unsigned_digits.data() + unsigned_digits.size();
    const auto [rest, error] = std::from_chars(unsigned_digits.data(), end, value);
    constexpr std::int64_t farthest = std::int64_t{1} << 62U;  // no sum of two overflows
    if (error != std::errc() || rest != end || value > farthest || value < -farthest)
      throw not_a_slice(text, where);
    return value;
  };
  const std::vector<std::string_view> parts = split_at(':', text);
  if (text.empty() || parts.size() > 3) throw not_a_slice(text, where);
  SliceEntry entry;
  entry.first = number(parts[0]);
  if (parts.size() == 1) {
    entry.form = SliceEntry::Form::index;
    return entry;
  }
  entry.end = number(parts[1]);
  if (parts.size() == 3) entry.step = number(parts[2]);
  if (entry.step == 0) {
    throw input_error(translated("the step of \"{1}\" is 0", text), where,
                      translated("give a step of at least 1, or a negative one to go backwards"));
  }
  return entry;
}

std::vector<SliceEntry> entries_in(std::string_view slice, const std::string& where) {
  slice = trimmed(slice);
  if (slice.starts_with('[') && slice.ends_with(']'))
    slice = trimmed(slice.substr(1, slice.size() - 2));
  if (slice.ends_with(',')) slice.remove_suffix(1);
  std::vector<SliceEntry> entries;
  for (const std::string_view text : split_at(',', slice)) entries.push_back(entry_in(text, where));
  const auto is_ellipsis = [](const SliceEntry& entry) {
    return entry.form == SliceEntry::Form::ellipsis;
  };
  if (std::ranges::count_if(entries, is_ellipsis) > 1) {
    throw input_error(translated("the slice \"{1}\" has two ...", slice), where,
                      translated("write ... once: it stands for all axes that are not named"));
  }
  if (std::ranges::none_of(entries, is_ellipsis)) entries.push_back({SliceEntry::Form::ellipsis});
  return entries;
}

AxisPart index_part(const SliceEntry& entry, std::size_t axis, std::size_t size,
                    const std::string& where) {
  const auto length = static_cast<std::int64_t>(size);
  const std::int64_t index = *entry.first;
  if (index < -length || index >= length) {
    throw input_error(
        translated("the slice takes part {1} of axis {2}, which has {3}", index, axis, size), where,
        translated("give {1} to {2}, or -1 for the last one", 0, size - 1));
  }
  return {index < 0 ? index + length : index, 1, 1, false};
}

AxisPart range_part(const SliceEntry& entry, std::size_t axis, std::size_t size,
                    const std::string& where) {
  const auto length = static_cast<std::int64_t>(size);
  const std::int64_t step = entry.step.value_or(1);
  // Ends beyond the axis are its ends, as in Python.
  const auto within = [&](std::optional<std::int64_t> given, std::int64_t absent) {
    if (!given) return absent;
    const std::int64_t at = *given < 0 ? *given + length : *given;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, length)
                    : std::clamp<std::int64_t>(at, -1, length - 1);
  };
  const std::int64_t start = within(entry.first, step > 0 ? 0 : length - 1);
  const std::int64_t end = within(entry.end, step > 0 ? length : -1);
  const std::int64_t distance = step > 0 ? end - start : start - end;
  if (distance <= 0) {
    throw input_error(translated("the slice leaves nothing of axis {1}, which has {2}", axis, size),
                      where, translated(slice_help));
  }
  const std::int64_t stride = step > 0 ? step : -step;
  return {start, step, static_cast<std::size_t>((distance - 1) / stride + 1), true};
}

std::vector<AxisPart> parts_of(const Shape& shape, std::string_view slice,
                               const std::string& where) {
  const std::vector<SliceEntry> entries = entries_in(slice, where);
  if (entries.size() - 1 > shape.size()) {
    throw input_error(translated("the slice \"{1}\" names {2} axes, but the tensor {3} has {4}",
                                 trimmed(slice), entries.size() - 1, text(shape), shape.size()),
                      where, translated("give at most one entry per axis"));
  }
  std::vector<AxisPart> parts;
  for (const SliceEntry& entry : entries) {
    if (entry.form == SliceEntry::Form::ellipsis) {
      for (std::size_t left = shape.size() - (entries.size() - 1); left > 0; --left)
        parts.push_back({0, 1, shape[parts.size()], true});
      continue;
    }
    const auto part = entry.form == SliceEntry::Form::index ? index_part : range_part;
    parts.push_back(part(entry, parts.size(), shape[parts.size()], where));
  }
  if (std::ranges::none_of(parts, &AxisPart::kept)) {
    throw input_error(translated("the slice \"{1}\" leaves one number and no axis of {2}",
                                 trimmed(slice), text(shape)),
                      where, translated("keep an axis, such as by 0:1 instead of 0"));
  }
  return parts;
}

/// Copies the parts of one tensor, axis by axis.
struct PartCopy {
  const std::vector<AxisPart>& parts;
  std::vector<std::size_t> strides;  ///< bytes from one element of an axis to the next
  std::size_t first_whole;           ///< axes from here on are copied in one piece
  std::size_t piece;                 ///< its bytes

  std::byte* copy(const std::byte* from, std::size_t axis, std::byte* to) const {
    if (axis == first_whole) {
      std::memcpy(to, from, piece);
      return to + piece;
    }
    const AxisPart& part = parts[axis];
    for (std::size_t i = 0; i < part.count; ++i) {
      const std::int64_t at = part.start + static_cast<std::int64_t>(i) * part.step;
      to = copy(from + static_cast<std::size_t>(at) * strides[axis], axis + 1, to);
    }
    return to;
  }
};

}  // namespace

Tensor sliced(const Tensor& tensor, std::string_view slice, const std::string& where) {
  const Shape& shape = tensor.shape();
  const std::vector<AxisPart> parts = parts_of(shape, slice, where);
  // 1. Strides in elements, the result's shape, and the last axes that stay whole.
  std::vector<std::size_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * shape[axis];
  Shape result;
  std::size_t first_whole = shape.size();
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (first_whole == axis + 1 && parts[axis].whole(shape[axis])) first_whole = axis;
    if (parts[axis].kept) result.insert(result.begin(), parts[axis].count);
  }
  if (is_shape_only(tensor)) return shape_only(std::move(result), tensor.dtype());
  // 2. Elements lie together if only one axis before the whole ones has more than one part, and
  // takes them one after the other.
  std::size_t first = 0;
  for (std::size_t axis = 0; axis < first_whole; ++axis)
    first += static_cast<std::size_t>(parts[axis].start) * strides[axis];
  const std::size_t last = first_whole == 0 ? 0 : first_whole - 1;
  const bool together =
      std::all_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(last),
                  [](const AxisPart& part) { return part.count == 1; }) &&
      (first_whole == 0 || parts[last].step == 1);
  if (together) return part_of(tensor, first, std::move(result));
  // 3. Else they are copied.
  const std::size_t bytes = size_of(tensor.dtype());
  const std::size_t piece = (first_whole == 0 ? tensor.size() : strides[last]) * bytes;
  for (std::size_t& stride : strides) stride *= bytes;
  const auto elements = new_elements<std::byte>(element_count(result) * bytes);
  PartCopy{parts, std::move(strides), first_whole, piece}.copy(
      static_cast<const std::byte*>(tensor.bytes()), 0, elements.get());
  return Tensor::borrowed(std::move(result), tensor.dtype(), elements.get(), elements);
}

}  // namespace attn
