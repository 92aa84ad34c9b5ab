#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/key_intervals.hpp"
#include "attention/random_mask.hpp"
#include "attention/random_request.hpp"
#include "attention/visibility.hpp"

namespace {

using attn::Alignment;
using attn::Geometry;
using attn::KeyIntervals;
using attn::Mask;
using attn::Shape;
using attn::Tensor;
using attn::Visibility;
using attn::testing::RandomMask;
using attn::testing::RandomRequests;

constexpr double infinity = std::numeric_limits<double>::infinity();

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
      if (!broadcast_entry<std::uint8_t>(mask.padding, {at.batch, j}))
        last = static_cast<Wide>(j) + 1;
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
  for (const attn::testing::WhereRule& rule : attn::testing::where_rules) {
    if (mask.where.text != rule.text) continue;
    const auto offset = static_cast<std::ptrdiff_t>(offset_by_definition(mask, geometry, at));
    const auto index_in = [](std::size_t place) { return static_cast<std::ptrdiff_t>(place); };
    if (!rule.holds(index_in(at.head), index_in(at.query), index_in(at.key), offset)) return false;
  }
  return !(mask.bias && broadcast_entry<float>(mask.bias, index) == -infinity);
}

// Choices of one random generator.
class Chooser {
 public:
  explicit Chooser(unsigned seed) : random_(seed) {}

  std::size_t operator()(std::size_t below) { return random_.number(0, below - 1); }

  Geometry geometry() {
    const auto chance = [&](std::size_t tenths) { return (*this)(10) < tenths; };
    Geometry result;
    result.batch_axis = chance(7);
    result.head_axis = chance(5);
    result.batch = result.batch_axis ? random_.number(1, 3) : 1;
    result.heads = result.head_axis ? random_.number(1, 3) : 1;
    result.queries = random_.number(1, 7);
    result.past = chance(5) ? random_.number(1, 4) : 0;
    result.keys = result.past + random_.number(1, 7);
    return result;
  }

  Mask mask(const Geometry& geometry, std::size_t tenths) {
    RandomMask draw([this](std::size_t below) { return (*this)(below); }, geometry);
    draw.farthest = 4;
    return draw.any(tenths);
  }

 private:
  RandomRequests random_;
};

template <class Check>
void for_each_row(const Geometry& geometry, Check check) {
  for (std::size_t b = 0; b < geometry.batch; ++b) {
    for (std::size_t h = 0; h < geometry.heads; ++h) {
      for (std::size_t i = 0; i < geometry.queries; ++i) check(b, h, i);
    }
  }
}

// A query sees no key outside of its interval, and all keys in it if the intervals say so.
void check_interval(const KeyIntervals& intervals, const Entry& at,
                    const std::vector<std::uint8_t>& seen) {
  const auto [first, end] = intervals.of(at.batch, at.head, at.query);
  for (std::size_t j = 0; j < seen.size(); ++j) {
    const bool within = j >= first && j < end;
    REQUIRE((within || seen[j] == 0));
    REQUIRE((!within || !intervals.whole() || seen[j] == 1));
  }
}

void check_against_definition(const Mask& mask, const Geometry& geometry) {
  const Visibility visibility(mask, geometry, {});
  const KeyIntervals of_places(visibility), found(visibility, geometry, 1);
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
    check_interval(of_places, {b, h, i, 0}, expected_seen);
    check_interval(found, {b, h, i, 0}, expected_seen);
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
  Chooser random(1);
  for (int round = 0; round < 4000; ++round) {
    CAPTURE(round);
    const Geometry geometry = random.geometry();
    check_against_definition(random.mask(geometry, 2), geometry);
  }
}

TEST_CASE("random masks of most parts together hide what the definitions say") {
  Chooser random(2);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const Geometry geometry = random.geometry();
    check_against_definition(random.mask(geometry, 7), geometry);
  }
}

TEST_CASE("the generator of masks draws every part of them") {
  Chooser random(3);
  const Geometry geometry = random.geometry();
  RandomMask draw([&](std::size_t below) { return random(below); }, geometry);
  const auto is_there = [](const auto& member, const auto& absent) {
    if constexpr (requires { static_cast<bool>(member) == true; }) {
      return static_cast<bool>(member);
    } else if constexpr (requires { member.empty(); }) {
      return !member.empty();
    } else {
      return member != absent;
    }
  };
  std::size_t at = 0;
  for (const auto& part : draw.parts()) {
    CAPTURE(std::string(part.name));
    const Mask mask = draw.of(part), none;
    std::vector<bool> there;
    std::apply(
        [&](const auto&... members) {
          std::apply(
              [&](const auto&... absent) { (there.push_back(is_there(members, absent)), ...); },
              attn::members_of(none));
        },
        attn::members_of(mask));
    CHECK(there[at]);
    ++at;
  }
}

}  // namespace
