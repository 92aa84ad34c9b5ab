#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/visibility.hpp"

namespace {

using attn::Alignment;
using attn::Geometry;
using attn::Mask;
using attn::Shape;
using attn::Tensor;
using attn::Visibility;
using attn::Window;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

// Random masks are judged by the definitions read word for word, an entry at a time and
// in wide integers, without anything in common with the code under test.

__extension__ using Wide = __int128;

// NumPy's broadcasting: axes are counted from the last; one of 1 is repeated.
template <class T>
T broadcast_entry(const Tensor& tensor, const Shape& index) {
  std::size_t at = 0;
  for (std::size_t axis = 0; axis < tensor.rank(); ++axis) {
    const std::size_t size = tensor.shape()[axis];
    const std::size_t place = index[index.size() - tensor.rank() + axis];
    at = at * size + (size == 1 ? 0 : place);
  }
  return tensor.values<T>()[at];
}

struct Entry {
  std::size_t batch, head, query, key;
};

Shape index_of(const Geometry& geometry, const Entry& at) {
  Shape index;
  if (geometry.batch_axis) index.push_back(at.batch);
  if (geometry.head_axis) index.push_back(at.head);
  index.push_back(at.query);
  index.push_back(at.key);
  return index;
}

std::int64_t valid_length(const Mask& mask, const Entry& at) {
  const auto lens = mask.valid_lens.values<std::int64_t>();
  const Shape& shape = mask.valid_lens.shape();
  const std::size_t sample = shape[0] == 1 ? 0 : at.batch;
  return shape.size() == 1 ? lens[sample] : lens[sample * shape[1] + at.query];
}

Wide offset_by_definition(const Mask& mask, const Geometry& geometry, const Entry& at) {
  if (mask.align == Alignment::upper_left) return geometry.past;
  Wide last = geometry.keys;
  if (mask.valid_lens && mask.valid_lens.rank() == 1) {
    last = valid_length(mask, at);
  } else if (mask.padding) {
    last = 0;
    for (std::size_t j = 0; j < geometry.keys; ++j) {
      if (!broadcast_entry<std::uint8_t>(mask.padding, {at.batch, j})) ++last;
    }
  }
  return last - static_cast<Wide>(geometry.queries);
}

bool is_global(const Mask& mask, Wide position) {
  for (const std::size_t global : mask.global) {
    if (static_cast<Wide>(global) == position) return true;
  }
  return false;
}

bool seen_by_definition(const Mask& mask, const Geometry& geometry, const Entry& at) {
  const Wide position = static_cast<Wide>(at.query) + offset_by_definition(mask, geometry, at);
  const Wide key = at.key;
  const Shape index = index_of(geometry, at);
  const bool first_keys =
      mask.prefix &&
      key < mask.prefix.values<std::int64_t>()[mask.prefix.size() > 1 ? at.batch : 0];
  if (mask.causal && !(key <= position) && !first_keys) return false;
  if (mask.chunk && !first_keys) {
    const Wide size = *mask.chunk;
    const auto block = [&](Wide place) { return (place - ((place % size) + size) % size) / size; };
    if (block(key) != block(position)) return false;
  }
  if (mask.documents) {
    if (position < 0 || position >= static_cast<Wide>(geometry.keys)) return false;
    const auto id = [&](std::size_t place) {
      return mask.documents.values<
          std::int64_t>()[place + (mask.documents.shape()[0] > 1 ? at.batch * geometry.keys : 0)];
    };
    if (id(at.key) != id(static_cast<std::size_t>(position))) return false;
  }
  if (mask.window && !first_keys) {
    const auto [left, right] = *mask.window;
    const bool near = (!left || key >= position - static_cast<Wide>(*left)) &&
                      (!right || key <= position + static_cast<Wide>(*right));
    const bool on_step =
        !mask.dilation || (key - position) % static_cast<Wide>(*mask.dilation) == 0;
    if (!(near && on_step) && !is_global(mask, key) && !is_global(mask, position)) return false;
  }
  if (mask.valid_lens && !(key < valid_length(mask, at))) return false;
  if (mask.padding && broadcast_entry<std::uint8_t>(mask.padding, {at.batch, at.key})) return false;
  if (mask.allow && !broadcast_entry<std::uint8_t>(mask.allow, index)) return false;
  if (mask.block && broadcast_entry<std::uint8_t>(mask.block, index)) return false;
  return !(mask.bias && broadcast_entry<float>(mask.bias, index) == -infinity);
}

class RandomMasks {
 public:
  explicit RandomMasks(unsigned seed) : random_(seed) {}

  std::size_t number(std::size_t first, std::size_t last) {
    return std::uniform_int_distribution<std::size_t>(first, last)(random_);
  }
  bool chance(double probability) { return std::bernoulli_distribution(probability)(random_); }

  Geometry geometry() {
    Geometry result;
    result.batch_axis = chance(0.7);
    result.head_axis = chance(0.5);
    result.batch = result.batch_axis ? number(1, 3) : 1;
    result.heads = result.head_axis ? number(1, 3) : 1;
    result.queries = number(1, 7);
    result.past = chance(0.5) ? number(1, 4) : 0;
    result.keys = result.past + number(1, 7);
    return result;
  }

  std::optional<std::size_t> reach() {
    if (chance(0.2)) return std::nullopt;
    return chance(0.1) ? huge - number(0, 1) * (huge / 2) : number(0, 4);
  }

  // One of the shapes that broadcast against the weights.
  Shape broadcastable(const Geometry& geometry) {
    const Shape weights = geometry.weights_shape();
    Shape shape(weights.end() - static_cast<std::ptrdiff_t>(number(0, weights.size())),
                weights.end());
    for (std::size_t& size : shape) size = chance(0.3) ? 1 : size;
    return shape;
  }

  Tensor flags(Shape shape, double probability) {
    std::vector<std::uint8_t> elements(attn::element_count(shape));
    for (auto& element : elements) element = chance(probability);
    return {std::move(shape), std::move(elements)};
  }

  Tensor lengths(Shape shape, std::size_t keys) {
    std::vector<std::int64_t> elements(attn::element_count(shape));
    for (auto& element : elements) element = static_cast<std::int64_t>(number(0, keys));
    return {std::move(shape), std::move(elements)};
  }

  Tensor biases(Shape shape) {
    std::vector<float> elements(attn::element_count(shape));
    for (auto& element : elements) {
      element = chance(0.1) ? -INFINITY : static_cast<float>(number(0, 100)) / 10 - 5;
    }
    return {std::move(shape), std::move(elements)};
  }

  // Each part is there with the given probability.
  Mask mask(const Geometry& geometry, double probability) {
    Mask result;
    const std::size_t samples = chance(0.3) ? 1 : geometry.batch;
    result.causal = chance(probability);
    result.align = chance(0.5) ? Alignment::lower_right : Alignment::upper_left;
    if (chance(probability)) result.window = Window{reach(), reach()};
    if (chance(probability)) result.global = {number(0, geometry.keys - 1)};
    if (chance(probability)) result.padding = flags({samples, geometry.keys}, 0.2);
    if (chance(probability)) result.allow = flags(broadcastable(geometry), 0.8);
    if (chance(probability)) result.block = flags(broadcastable(geometry), 0.2);
    if (chance(probability)) result.bias = biases(broadcastable(geometry));
    if (chance(probability)) {
      const Shape shape = chance(0.5) ? Shape{samples} : Shape{samples, geometry.queries};
      result.valid_lens = lengths(shape, geometry.keys);
    }
    if (chance(0.3)) result.fill = -1e6;
    if (chance(probability)) result.documents = lengths({samples, geometry.keys}, 2);
    if (chance(probability)) result.prefix = lengths(Shape{samples}, geometry.keys);
    if (chance(probability)) result.chunk = number(1, 5);
    if (result.window && chance(probability)) result.dilation = number(1, 4);
    return result;
  }

 private:
  std::mt19937 random_;
};

template <class Check>
void for_each_row(const Geometry& geometry, Check check) {
  for (std::size_t b = 0; b < geometry.batch; ++b) {
    for (std::size_t h = 0; h < geometry.heads; ++h) {
      for (std::size_t i = 0; i < geometry.queries; ++i) check(b, h, i);
    }
  }
}

void check_against_definition(const Mask& mask, const Geometry& geometry) {
  const Visibility visibility(mask, geometry, {});
  for_each_row(geometry, [&](std::size_t b, std::size_t h, std::size_t i) {
    std::vector<std::uint8_t> seen(geometry.keys, 7), expected_seen(geometry.keys);
    std::vector<double> scores(geometry.keys), expected_scores(geometry.keys);
    for (std::size_t j = 0; j < geometry.keys; ++j) {
      const Entry at{b, h, i, j};
      scores[j] = static_cast<double>(j) + 0.5;
      expected_seen[j] = seen_by_definition(mask, geometry, at);
      const double bias =
          mask.bias ? broadcast_entry<float>(mask.bias, index_of(geometry, at)) : 0.0;
      expected_scores[j] = expected_seen[j]    ? scores[j] + bias
                           : bias == -infinity ? -infinity
                                               : mask.fill.value_or(-infinity);
    }
    visibility.see(b, h, i, seen);
    REQUIRE(seen == expected_seen);
    visibility.mask(b, h, i, seen, scores);
    REQUIRE(scores == expected_scores);
    for (std::size_t j = 0; j < geometry.keys; ++j)
      seen[j] = visibility.hidden_by(b, h, i, j).empty();
    REQUIRE(seen == expected_seen);
    std::vector<std::uint32_t> parts(geometry.keys);
    visibility.hidden_by(b, h, i, parts);
    for (std::size_t j = 0; j < geometry.keys; ++j) {
      std::vector<std::string_view> named;
      for (std::size_t part = 0; part < attn::hiding_parts().size(); ++part) {
        if ((parts[j] >> part & 1U) != 0) named.push_back(attn::hiding_parts()[part]->name);
      }
      REQUIRE(named == visibility.hidden_by(b, h, i, j));
    }
  });
}

TEST_CASE("random masks of few parts hide what the definitions say") {
  RandomMasks random(1);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const Geometry geometry = random.geometry();
    check_against_definition(random.mask(geometry, 0.15), geometry);
  }
}

TEST_CASE("random masks of most parts together hide what the definitions say") {
  RandomMasks random(2);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const Geometry geometry = random.geometry();
    check_against_definition(random.mask(geometry, 0.7), geometry);
  }
}

}  // namespace
