#include "io/number_array.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include <fast_float/fast_float.h>

#include "io/raw_array.hpp"
#include "support/memory.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Shorter arrays inside an array of other values are left to nlohmann's parser, and so
// are those after many others: the frame of an array takes hundreds of bytes.
constexpr std::size_t least_inner_bytes = 256, most_small_arrays = 10'000;
constexpr std::size_t elements_a_mark = std::size_t{1} << 15;

struct Word {
  std::string_view text;
  double value;
};
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::array<Word, 5> words = {{{"true", 1},
                                        {"false", 0},
                                        {"\"inf\"", infinity},
                                        {"\"-inf\"", -infinity},
                                        {"\"nan\"", std::numeric_limits<double>::quiet_NaN()}}};

const Word* word_at(std::string_view text) {
  for (const Word& word : words) {
    if (text.starts_with(word.text)) return &word;
  }
  return nullptr;
}

static_assert(std::endian::native == std::endian::little, "the first character is the lowest byte");

// Eight characters from `at` on, with zeros beyond the end.
std::uint64_t eight_characters(const char* at, const char* end) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, std::min<std::size_t>(8, static_cast<std::size_t>(end - at)));
  return word;
}

constexpr std::uint64_t each_byte(unsigned byte) {
  return 0x0101010101010101U * byte;
}

// Highest bit of each byte that is no white space, none of "+,-./", no digit and no 'e'. Correct up
// to and including the first such byte.
std::uint64_t odd_bytes(std::uint64_t word) {
  constexpr std::uint64_t highest = each_byte(0x80), rest = each_byte(0x7F);
  const std::uint64_t low = word & rest;
  const std::uint64_t above_space = low + each_byte(0x80 - 0x21);
  const std::uint64_t below_plus = ~(low + each_byte(0x80 - 0x2B));
  const std::uint64_t above_nine = low + each_byte(0x80 - 0x3A);
  const std::uint64_t not_e = ((word | each_byte(0x20)) ^ each_byte('e')) & rest;
  return (word | (above_space & (below_plus | above_nine) & (not_e + rest))) & highest;
}

// Highest bit of each comma.
std::uint64_t commas(std::uint64_t word) {
  constexpr std::uint64_t rest = each_byte(0x7F);
  const std::uint64_t others = word ^ each_byte(',');
  return ~(((others & rest) + rest) | others | rest);
}

// Number of bytes with their highest bit set; all other bits must be 0.
std::size_t count_bytes(std::uint64_t highest_bits) {
  return (highest_bits >> 7) * each_byte(1) >> 56;
}

// 16 characters, which GCC and Clang compare at once on every processor.
using Characters [[gnu::vector_size(16)]] = std::uint8_t;
using Halves = std::array<std::uint64_t, 2>;

// The commas among 16 characters, if each is of those that odd_bytes() passes over.
std::optional<std::size_t> plain_commas(const char* at) {
  Characters c;
  std::memcpy(&c, at, sizeof c);
  const auto plain = (c <= ' ') | (c - '+' <= '9' - '+') | ((c | 0x20) == 'e');
  const auto [first, last] = std::bit_cast<Halves>(plain);
  if ((first & last) != ~std::uint64_t{0}) return std::nullopt;
  const auto [left, right] = std::bit_cast<Halves>(c == ',');
  return count_bytes(left & each_byte(0x80)) + count_bytes(right & each_byte(0x80));
}

// Reads one array of numbers from its opening bracket, without its numbers.
class Follower {
 public:
  explicit Follower(std::string_view text) : text_(text) {}

  // False if it is no number array. end() is its end, or the place that shows this.
  bool follow(std::size_t begin) {
    begin_ = at_ = begin;
    do {
      skip_space();
      if (at_ == text_.size()) return false;
      const char c = text_[at_];
      if (c == '[') {
        if (!open()) return false;
      } else if (depth_ > 0 && depth_ == leaf_depth()) {
        if (!follow_row()) return false;
        if (!close()) return false;
      } else {
        return false;
      }
    } while (depth_ > 0);
    return true;
  }

  std::size_t end() const { return at_; }

  NumberArray take() {
    NumberArray result;
    result.text = text_.substr(begin_, at_ - begin_);
    result.shape.assign(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(axes_));
    result.marks = std::move(marks_);
    return result;
  }

  // Offsets of inner arrays that may be number arrays.
  const std::vector<std::size_t>& inner() const { return inner_; }

 private:
  // Depth of the elements; before the first element, any depth.
  std::size_t leaf_depth() const { return axes_ > 0 ? axes_ : depth_; }

  void skip_space() {
    while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
  }

  bool open() {
    if (depth_ == most_axes || (axes_ > 0 && depth_ == axes_)) return false;
    starts_[depth_] = at_;
    inner_count_[depth_] = inner_.size();
    counts_[depth_] = 0;
    ++depth_;
    ++at_;
    return true;
  }

  // Reads the elements of an innermost array up to its closing bracket.
  bool follow_row() {
    if (text_[at_] == ']') return false;
    if (axes_ == 0) axes_ = depth_;
    std::size_t count = 1;
    if (elements_ - last_mark_ >= elements_a_mark || marks_.empty()) mark(0);
    const char* const begin = text_.data();
    const char* const end = begin + text_.size();
    while (at_ < text_.size()) {
      // Where no mark is due.
      while (text_.size() - at_ >= 16 && elements_ + count + 16 - last_mark_ <= elements_a_mark) {
        const std::optional<std::size_t> found = plain_commas(begin + at_);
        if (!found) break;
        count += *found;
        at_ += 16;
      }
      const std::uint64_t word = eight_characters(begin + at_, end);
      const std::uint64_t odd = odd_bytes(word);
      const auto length = static_cast<unsigned>(std::countr_zero(odd)) / 8;
      std::uint64_t found = commas(word);
      if (length < 8) found &= (std::uint64_t{1} << (8 * length)) - 1;
      count += count_bytes(found);
      if (elements_ + count - last_mark_ > elements_a_mark && found != 0) {
        const auto last = static_cast<unsigned>(63 - std::countl_zero(found)) / 8;
        const std::size_t here = at_;
        at_ += last + 1;
        mark(count - 1);
        at_ = here;
      }
      at_ = std::min(at_ + length, text_.size());
      if (length == 8) continue;
      if (at_ == text_.size()) return false;
      if (text_[at_] == ']') {
        counts_[depth_ - 1] = count;
        elements_ += count;
        return true;
      }
      const Word* const special = word_at(text_.substr(at_));
      if (special == nullptr) return false;
      at_ += special->text.size();
    }
    return false;
  }

  void mark(std::size_t elements_of_row) {
    last_mark_ = elements_ + elements_of_row;
    marks_.push_back({at_ - begin_, last_mark_});
  }

  // Closes the array of a closing bracket and the arrays around it that end here, and stops at the
  // next element.
  bool close() {
    while (true) {
      --depth_;
      const std::size_t count = counts_[depth_];
      if (sizes_[depth_] == 0) sizes_[depth_] = count;
      if (sizes_[depth_] != count) return false;
      ++at_;
      if (depth_ == 0) return true;
      note_inner();
      ++counts_[depth_ - 1];
      skip_space();
      if (at_ == text_.size()) return false;
      if (text_[at_] == ',') {
        ++at_;
        return true;
      }
      if (text_[at_] != ']') return false;
    }
  }

  void note_inner() {
    inner_.resize(inner_count_[depth_]);
    if (at_ - starts_[depth_] >= least_inner_bytes) inner_.push_back(starts_[depth_]);
  }

  std::string_view text_;
  std::size_t begin_ = 0, at_ = 0, depth_ = 0, axes_ = 0, elements_ = 0, last_mark_ = 0;
  std::array<std::size_t, most_axes> starts_{}, counts_{}, sizes_{}, inner_count_{};
  std::vector<NumberArray::Mark> marks_;
  std::vector<std::size_t> inner_;
};

const char* skip_to_element(const char* at, const char* end) {
  while (at < end && (is_json_space(*at) || *at == ',' || *at == '[' || *at == ']')) ++at;
  return at;
}

const char* skip_space(const char* at, const char* end) {
  while (at < end && is_json_space(*at)) ++at;
  return at;
}

// Digits of a number: their value and how many they are.
struct Digits {
  std::uint64_t value;
  unsigned count;
};

// The digits among the eight characters from `at` on, up to the first other one. Without branches:
// how many there are changes from number to number.
Digits digits_of_eight(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  word ^= each_byte('0');
  // Highest bit of each byte above nine, correct up to and including the first such byte.
  const std::uint64_t others = ((word + each_byte(0x80 - 10)) | word) & each_byte(0x80);
  const auto count = static_cast<unsigned>(std::countr_zero(others)) / 8;
  // Zeros take the place of what is missing in front. Neighbours are joined to numbers of two, four
  // and eight digits.
  word = count == 0 ? 0 : word << (64 - 8 * count);
  word = word * (10U << 8U | 1U) >> 8U;
  word = (word & 0x00FF00FF00FF00FFU) * (100U << 16U | 1U) >> 16U;
  word = (word & 0x0000FFFF0000FFFFU) * (std::uint64_t{10000} << 32U | 1U) >> 32U;
  return {word, count};
}

// The digits among 16 characters.
Digits digits_of_sixteen(const char* at) {
  constexpr std::array<std::uint64_t, 9> powers = {
      1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};
  const Digits first = digits_of_eight(at), next = digits_of_eight(at + 8);
  const bool all = first.count == 8;
  const unsigned more = all ? next.count : 0;
  return {first.value * powers[more] + (all ? next.value : 0), first.count + more};
}

// Reads what follows the digits `whole` before the point of a number: a whole number of up to 19
// digits by a power of ten, a float. Moves `at` past it; false, with `at` left as it is, where
// that does not suffice to round the number to the nearest float.
bool read_fraction(const char* digits, std::uint64_t whole, const char*& at, const char* end,
                   float& number) {
  constexpr std::array<double, 17> powers = {1e0, 1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                             1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16};
  constexpr std::ptrdiff_t most = 19, room = 18;
  if (*at != '.' || end - at < room) return false;
  const auto [value, count] = digits_of_sixteen(at + 1);
  const char* const last = at + 1 + count;
  if (at - digits + static_cast<std::ptrdiff_t>(count) > most || is_json_digit(*last) ||
      (*last | 0x20) == 'e')
    return false;
  const double power = powers[count];
  const double result =
      static_cast<double>(whole * static_cast<std::uint64_t>(power) + value) / power;
  // Two roundings move it by less than three of its last units. If no number half-way between two
  // floats is that near, it is on the right side of all of them.
  constexpr std::uint64_t half = std::uint64_t{1} << 28U, near = 4;
  const std::uint64_t rest = std::bit_cast<std::uint64_t>(result) & (2 * half - 1);
  if (rest - (half - near) <= 2 * near) return false;
  number = static_cast<float>(result);
  at = last;
  return true;
}

enum class Read { valid, unusual, invalid };

// Reads one element and moves `at` behind it. A character that is part of no number follows.
template <class T>
Read read_element(const char*& at, const char* end, T& element) {
  const auto take = [&](double value) {
    if constexpr (std::is_same_v<T, std::uint8_t>) {
      if (value != 0 && value != 1) return Read::unusual;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!(std::abs(value) < 0x1p63 && std::trunc(value) == value)) return Read::unusual;
    }
    element = static_cast<T>(value);
    return Read::valid;
  };
  // 1. Digits before the point by the grammar of JSON (RFC 8259, section 6), which is stricter than
  // fast_float's.
  const char* const begin = at;
  at += *at == '-' ? 1 : 0;
  const char* const digits = at;
  std::uint64_t whole = 0;
  for (; is_json_digit(*at); ++at) whole = whole * 10 + static_cast<unsigned>(*at - '0');
  if (at == digits) {
    const Word* const word = word_at({begin, static_cast<std::size_t>(end - begin)});
    if (word == nullptr) return Read::invalid;
    at = begin + word->text.size();
    if (!std::is_floating_point_v<T> && word->text[0] == '"') return Read::unusual;
    return take(word->value);
  }
  if (*digits == '0' && at - digits > 1) return Read::invalid;
  // 2. Integers that a double holds for sure; "-0" is the integer 0.
  const bool integral = *at != '.' && (*at | 0x20) != 'e';
  constexpr std::ptrdiff_t exact_digits = 15;
  if (integral && at - digits <= exact_digits) {
    const auto number = static_cast<std::int64_t>(whole);
    return take(static_cast<double>(digits == begin ? number : -number));
  }
  if (*at == '.' && !is_json_digit(at[1])) return Read::invalid;
  // 3. Most numbers with a point, then all others.
  if constexpr (std::is_same_v<T, float>) {
    if (read_fraction(digits, whole, at, end, element)) {
      if (digits != begin) element = -element;
      return Read::valid;
    }
    at = fast_float::from_chars(begin, end, element).ptr;
    if (!std::isinf(element)) return integral ? Read::unusual : Read::valid;
  }
  double value = 0;
  at = fast_float::from_chars(begin, end, value).ptr;
  if (std::isinf(value)) return Read::invalid;
  if (integral || std::is_same_v<T, float>) return Read::unusual;
  return take(value);
}

// Reads the elements between two marks.
template <class T>
Read read_part(const NumberArray& array, std::size_t part, std::span<T> elements) {
  const bool last = part + 1 == array.marks.size();
  const char* const text = array.text.data();
  const char* const end = text + array.text.size();
  const char* at = text + array.marks[part].offset;
  const char* const stop = last ? end : text + array.marks[part + 1].offset;
  Read outcome = Read::valid;
  // Brackets were checked before, so all of them are skipped. The text ends with one, so that
  // nothing below reads beyond the end.
  at = skip_space(at, end);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) {
      if (*at == ',') {
        ++at;
        at += *at == ' ' ? 1 : 0;
        if (is_json_space(*at)) at = skip_space(at, end);
      } else if (*at == ']') {
        at = skip_to_element(at, end);
        if (at == end) return Read::invalid;
      } else {
        return Read::invalid;
      }
    }
    const Read read = read_element(at, end, elements[i]);
    if (read == Read::invalid) return read;
    if (read == Read::unusual) outcome = read;
    if (is_json_space(*at)) at = skip_space(at, end);
  }
  if (*at != ',' && *at != ']') return Read::invalid;
  if (skip_to_element(at, end) != skip_to_element(stop, end)) return Read::invalid;
  return outcome;
}

template <class T>
NumberArrayContent read_as(const NumberArray& array, std::size_t threads) {
  const std::size_t count = element_count(array.shape);
  const std::shared_ptr<void> block(allocate_block(count * sizeof(T)), FreeBlock());
  if (block == nullptr) throw std::bad_alloc();
  const std::span<T> elements(static_cast<T*>(block.get()), count);
  std::atomic<Read> worst = Read::valid;
  parallel_for(array.marks.size(), threads, [&](std::size_t part) {
    const std::size_t first = array.marks[part].element;
    const std::size_t end = part + 1 < array.marks.size() ? array.marks[part + 1].element : count;
    const Read read = read_part(array, part, elements.subspan(first, end - first));
    Read known = worst;
    while (known < read && !worst.compare_exchange_weak(known, read)) {
    }
  });
  if (worst == Read::invalid) return {{}, false};
  if (worst == Read::unusual) return {};
  return {Tensor::borrowed(array.shape, dtype_of<T>(), elements.data(), block), true};
}

}  // namespace

std::vector<NumberArray> find_number_arrays(std::string_view text) {
  std::vector<NumberArray> found;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      // Skips the string; a quote behind a backslash does not end it.
      ++at;
      while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
      ++at;
    } else if (c == '[') {
      Follower follower(text);
      if (follower.follow(at)) {
        const bool small = follower.end() - at < least_inner_bytes;
        if (!small || found.size() < most_small_arrays) found.push_back(follower.take());
      } else {
        for (const std::size_t begin : follower.inner()) {
          Follower inner(text);
          if (inner.follow(begin)) found.push_back(inner.take());
        }
      }
      at = std::max(follower.end(), at + 1);
    } else {
      ++at;
    }
  }
  return found;
}

NumberArrayContent read_number_array(const NumberArray& array, DType dtype, std::size_t threads) {
  return with_element_type(dtype, [&]<class T>() { return read_as<T>(array, threads); });
}

NumberBlock::NumberBlock(NumberArray array, std::shared_ptr<const void> owner)
    : array_(std::move(array)), owner_(std::move(owner)) {}

NumberBlock::~NumberBlock() = default;

bool NumberBlock::read(DType dtype, std::size_t threads) {
  threads_ = threads;
  NumberArrayContent content = read_number_array(array_, dtype, threads);
  elements_ = std::move(content.tensor);
  return content.valid;
}

Tensor NumberBlock::as(DType dtype) const {
  if (elements_ && elements_.dtype() == dtype) return elements_;
  return read_number_array(array_, dtype, threads_).tensor;
}

bool NumberBlock::has_words() const noexcept {
  return array_.text.find_first_of("tf\"") != array_.text.npos;
}

Tensor whole_numbers(const JsonValue& array, std::int64_t least, const std::string& place) {
  const NumberBlock* block = array.block();
  if (block == nullptr || block->shape().size() > 2 || block->has_words()) return {};
  const auto place_of = [&](std::size_t i) {
    const std::size_t length = block->shape().back();
    const bool rows = block->shape().size() > 1;
    return pointer_to(rows ? pointer_to(place, i / length) : place, i % length);
  };
  if (const Tensor numbers = block->as(DType::int64)) {
    const auto all = numbers.values<std::int64_t>();
    const auto less =
        std::find_if(all.begin(), all.end(), [&](auto number) { return number < least; });
    if (less == all.end()) return numbers;
    const auto i = static_cast<std::size_t>(less - all.begin());
    expect_integer(JsonValue{*less}, place_of(i), least);
  }
  const Tensor numbers = block->as(DType::float64);
  if (!numbers) return {};
  const auto all = numbers.values<double>();
  const auto broken = std::find_if(all.begin(), all.end(),
                                   [](double number) { return std::trunc(number) != number; });
  if (broken != all.end()) {
    const auto i = static_cast<std::size_t>(broken - all.begin());
    expect_integer(JsonValue{*broken}, place_of(i), least);
  }
  return {};
}

const JsonValue& NumberBlock::by_element() const {
  std::call_once(split_,
                 [&] { by_element_ = parse_json_by_element(array_.text, array_.shape.size()); });
  return by_element_;
}

}  // namespace attn
