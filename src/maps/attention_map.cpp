#include "maps/attention_map.hpp"

#include <array>
#include <cstring>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::string only(std::size_t count, const char* noun) {
  return count == 1 ? std::string(translated("only one ")) + noun
                    : std::to_string(count) + " " + noun + "s";
}

void check_index(std::size_t index, std::size_t count, const char* noun) {
  if (index < count) return;
  throw input_error(
      translated("there is no {1} {2}: the weights have {3}", noun, index, only(count, noun)),
      std::string("RunOptions::") + noun,
      count == 1 ? translated("leave it out, or give 0") : translated("give 0 to {1}", count - 1));
}

}  // namespace

Maps::Maps(const Tensor& numbers, bool heads_only) : numbers_(numbers) {
  const Shape& shape = numbers.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4) {
    throw input_error(
        translated("the weights have the shape {1}", text(shape)), "/weights",
        rank == 1  ? translated("take it as one row with MapRequest::reshape 1,{1}", numbers.size())
        : rank > 4 ? translated("say with MapRequest::axes what the axes before queries "
                                "and keys are, such as layer,batch,head")
                   : translated("give them 2 to 4 axes: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"));
  }
  if (numbers.size() == 0) {
    throw input_error(translated("the weights {1} have an axis of size 0", text(shape)), "/weights",
                      translated("give every axis at least one element"));
  }
  keys_ = shape[rank - 1];
  queries_ = shape[rank - 2];
  if (rank == 4) {
    samples_ = shape[0];
    heads_ = shape[1];
  } else if (rank == 3) {
    (heads_only ? heads_ : samples_) = shape[0];
  }
}

Tensor Maps::matrix(std::size_t sample, std::size_t head) const {
  const std::size_t at = (sample * heads_ + (heads_ == 1 ? 0 : head)) * queries_ * keys_;
  return part_of(numbers_, at, {queries_, keys_});
}

Tensor Maps::all() const {
  return numbers_.reshaped({samples_, heads_, queries_, keys_});
}

std::string place_of(const AttentionMap& map) {
  return map.place.empty() ? AttentionName::of_tensor(map.tensor).title() : map.place;
}

std::size_t AttentionMap::first_number() const {
  return layer || name.layer() || AttentionName::of_tensor(tensor).layer() ? 0 : 1;
}

void check_place(std::size_t sample, std::size_t samples, std::size_t head, std::size_t heads) {
  check_index(sample, samples, "sample");
  check_index(head, heads, "head");
}

void check_is_map(const AttentionMap& map) {
  if (map.is_map()) return;
  throw input_error(
      translated("\"{1}\" is not a map of queries and keys", map.tensor), "MapRequest::name",
      translated("draw it as a heatmap, or say with MapRequest::axes that it is a map"));
}

void check_allowed(const AttentionMap& map) {
  Shape once_for_heads = map.numbers.shape();
  if (once_for_heads.size() == 4) once_for_heads[1] = 1;
  if (map.allowed.shape() != map.numbers.shape() && map.allowed.shape() != once_for_heads) {
    throw input_error(translated("allowed {1} does not have the shape of the weights {2}",
                                 text(map.allowed.shape()), text(map.numbers.shape())),
                      "/allowed", translated("give both the same shape"));
  }
}

Error placed(const Error& error, const AttentionMap& map) {
  return names_option(error.where()) ? error : error.inside(map.file);
}

Tensor once_for_heads(const Tensor& allowed) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] == 1) return allowed;
  const std::size_t batch = allowed.shape()[0], heads = allowed.shape()[1];
  const std::size_t bytes = allowed.shape()[2] * allowed.shape()[3] * size_of(allowed.dtype());
  const auto* const all = static_cast<const std::byte*>(allowed.bytes());
  for (std::size_t b = 0; b < batch; ++b) {
    const std::byte* const first = all + b * heads * bytes;
    for (std::size_t h = 1; h < heads; ++h) {
      if (std::memcmp(first, first + h * bytes, bytes) != 0) return allowed;
    }
  }
  return picked(allowed, std::array{std::size_t{0}}, 1);
}

Tensor for_each_head(const Tensor& allowed, std::size_t heads) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] != 1 || heads == 1) return allowed;
  return picked(allowed, std::vector<std::size_t>(heads), 1);
}

}  // namespace attn
