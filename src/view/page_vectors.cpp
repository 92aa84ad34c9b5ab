#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "support/parallel_for.hpp"
#include "view/page_maker.hpp"

// Vectors of heads in a page: queries, keys and values, and what these add to logits.

namespace attn {
namespace {

// Plan of vectors: codes of two bytes.
CellPlan two_bytes_a_number() {
  CellPlan plan;
  plan.exact = false;
  return plan;
}

}  // namespace

std::vector<ViewData::Vectors> PageMaker::add_vectors(const AttentionMap& map,
                                                      const ScoreVectors& vectors) {
  if (vector_bytes_ + vectors.bytes() > options_.vectors) {
    ++without_vectors_;
    return {};
  }
  vector_bytes_ += vectors.bytes();
  const std::size_t samples = vectors.query.shape()[0], heads = vectors.query.shape()[1];
  const std::size_t group = heads / vectors.key.shape()[1], shown = map.numbers.shape()[1];
  // Blocks of the heads' rows; shared heads follow each other and are packed once.
  const auto blocks = [&](const Tensor& tensor, std::size_t b, std::size_t shared) {
    std::vector<std::size_t> numbers;
    std::vector<std::size_t> at;  // of each shown head among the packed ones
    for (std::size_t h = 0; h < shown; ++h) {
      const std::size_t number = (map.heads.empty() ? h : map.heads[h]) / shared;
      if (numbers.empty() || numbers.back() != number) numbers.push_back(number);
      at.push_back(numbers.size() - 1);
    }
    std::vector<PackedMap> packed(numbers.size());
    parallel_for(packed.size(), options_.document.threads, [&](std::size_t i) {
      const MapRows rows(tensor, {}, b, numbers[i]);
      packed[i] =
          packed_map(rows, finite_range(rows), two_bytes_a_number(), CellType::float32, true);
    });
    std::vector<ViewData::Cells> of_packed, of_heads;
    for (const PackedMap& one : packed) {
      of_packed.push_back(ViewData::Cells::of(one, page_.add_block(one.cells)));
    }
    for (const std::size_t i : at) of_heads.push_back(of_packed[i]);
    return of_heads;
  };
  std::vector<ViewData::Vectors> of_samples;
  for (std::size_t b = 0; b < samples; ++b) {
    of_samples.push_back({blocks(vectors.query, b, 1), blocks(vectors.key, b, group),
                          blocks(vectors.value, b, group), vectors.scale, vectors.softcap,
                          vectors.biased, vectors.sink});
  }
  return of_samples;
}

std::vector<ViewData::Cells> PageMaker::add_lens(const AttentionMap& map, std::size_t sample) {
  std::vector<ViewData::Cells> of_heads;
  if (sample >= lenses_.size() || !lenses_[sample]) return of_heads;
  const auto& directions = lenses_[sample]->second;
  const auto own = directions.find(map.name.text());
  if (own == directions.end()) return of_heads;
  for (std::size_t h = 0; h < map.numbers.shape()[1]; ++h) {
    const MapRows rows(own->second, {}, 0, map.heads.empty() ? h : map.heads[h]);
    const PackedMap packed =
        packed_map(rows, finite_range(rows), two_bytes_a_number(), CellType::float32, true);
    of_heads.push_back(ViewData::Cells::of(packed, page_.add_block(packed.cells)));
  }
  return of_heads;
}

void PageMaker::take(std::vector<std::vector<ViewData::Answer::Source>> sources,
                     LensBySample lenses) {
  for (std::size_t b = 0; b < std::min(sources.size(), data_.answers.size()); ++b) {
    data_.answers[b].sources = std::move(sources[b]);
  }
  for (const auto& lens : lenses) {
    data_.lenses.push_back(lens ? std::optional(lens->first) : std::nullopt);
  }
  lenses_ = std::move(lenses);
}

void PageMaker::take_second(std::string_view html) {
  data_.second = page_.add_block(packed_block(html));
}

}  // namespace attn
