#include "view/map_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "maps/attention_map.hpp"
#include "plot/text/token_labels.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {

namespace {

// Takes over the value if it is larger than what the cell holds, or if that holds nothing yet.
void keep_largest(double& cell, std::uint8_t& hidden, double value, bool diverging) {
  if (hidden != 0) {
    cell = value;
    hidden = 0;
  } else if (!std::isnan(cell)) {
    const bool larger = diverging ? std::abs(value) > std::abs(cell) : value > cell;
    if (larger || std::isnan(value)) cell = value;
  }
}

}  // namespace

MapRows::MapRows(const Tensor& maps, const Tensor& allowed, std::size_t sample, std::size_t head)
    : allowed_(allowed), rows_(maps.shape()[2]), columns_(maps.shape()[3]) {
  map_ = part_of(maps, (sample * maps.shape()[1] + head) * rows_ * columns_, {rows_, columns_});
  if (!allowed_) return;
  const Shape& shape = allowed_.shape();
  const std::size_t b = shape[0] == 1 ? 0 : sample, h = shape[1] == 1 ? 0 : head;
  seen_ = allowed_.values<std::uint8_t>().data() + (b * shape[1] + h) * shape[2] * shape[3];
  row_stride_ = shape[2] == 1 ? 0 : shape[3];
  column_stride_ = shape[3] == 1 ? 0 : 1;
}

void MapRows::read(std::size_t row, std::span<double> values,
                   std::span<std::uint8_t> hidden) const {
  with_floats(map_, [&](const auto from) {
    std::copy_n(from.data() + row * columns_, columns_, values.begin());
  });
  if (seen_ == nullptr) {
    std::fill(hidden.begin(), hidden.end(), std::uint8_t{0});
    return;
  }
  const std::uint8_t* seen = seen_ + row * row_stride_;
  for (std::size_t j = 0; j < columns_; ++j) {
    hidden[j] = seen[j * column_stride_] == 0 ? 1 : 0;
  }
}

FiniteRange::FiniteRange()
    : least(std::numeric_limits<double>::infinity()),
      most(-std::numeric_limits<double>::infinity()) {}

void FiniteRange::add(double value) noexcept {
  if (!std::isfinite(value)) return;
  least = std::min(least, value);
  most = std::max(most, value);
}

void FiniteRange::add(const FiniteRange& other) noexcept {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
}

FiniteRange finite_range(const MapRows& map) {
  FiniteRange range;
  std::vector<double> values(map.columns());
  std::vector<std::uint8_t> hidden(map.columns());
  for (std::size_t i = 0; i < map.rows(); ++i) {
    map.read(i, values, hidden);
    for (std::size_t j = 0; j < map.columns(); ++j) {
      if (hidden[j] == 0) range.add(values[j]);
    }
  }
  return range;
}

ReducedMap pooled(const MapRows& map, std::size_t rows, std::size_t columns, bool diverging) {
  ReducedMap small{rows, columns, std::vector<double>(rows * columns),
                   std::vector<std::uint8_t>(rows * columns, std::uint8_t{1})};
  std::vector<std::size_t> ends;  // of the keys of each column
  for (std::size_t c = 0; c < columns; ++c) ends.push_back((c + 1) * map.columns() / columns);
  std::vector<double> values(map.columns());
  std::vector<std::uint8_t> hidden(map.columns());
  for (std::size_t r = 0, i = 0; r < rows; ++r) {
    for (const std::size_t end = (r + 1) * map.rows() / rows; i < end; ++i) {
      map.read(i, values, hidden);
      for (std::size_t c = 0, j = 0; c < columns; ++c) {
        double& cell = small.values[r * columns + c];
        std::uint8_t& cell_hidden = small.hidden[r * columns + c];
        for (; j < ends[c]; ++j) {
          if (hidden[j] == 0) keep_largest(cell, cell_hidden, values[j], diverging);
        }
      }
    }
  }
  return small;
}

StrongestKeys strongest_keys(const MapRows& map, std::size_t count, bool diverging) {
  StrongestKeys strongest{std::vector<std::uint32_t>(map.rows() * count, StrongestKeys::none),
                          std::vector<float>(map.rows() * count)};
  std::vector<double> values(map.columns());
  std::vector<std::uint8_t> hidden(map.columns());
  std::vector<std::pair<double, std::uint32_t>> kept;
  for (std::size_t i = 0; i < map.rows(); ++i) {
    map.read(i, values, hidden);
    kept.clear();
    for (std::size_t j = 0; j < map.columns(); ++j) {
      if (hidden[j] != 0 || std::isnan(values[j])) continue;
      const double size = diverging ? std::abs(values[j]) : values[j];
      if (kept.size() == count && !(size > kept.back().first)) continue;
      // The first of equal ones stays first.
      const auto at =
          std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return size > one.first; });
      kept.emplace(at, size, static_cast<std::uint32_t>(j));
      if (kept.size() > count) kept.pop_back();
    }
    for (std::size_t k = 0; k < kept.size(); ++k) {
      strongest.keys[i * count + k] = kept[k].second;
      strongest.values[i * count + k] = static_cast<float>(values[kept[k].second]);
    }
  }
  return strongest;
}

namespace {

std::vector<std::size_t> special_of(const std::vector<std::string>& pieces,
                                    const std::vector<std::uint8_t>& told) {
  std::vector<std::size_t> special;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is = i < told.size() ? told[i] != 0 : is_special_token(pieces[i]);
    if (is || is_special_token(pieces[i])) special.push_back(i);
  }
  return special;
}

ShownTokens shown_tokens(const std::vector<std::string>& pieces, std::vector<std::size_t> special,
                         TokenSpelling spelling) {
  ShownTokens tokens{pieces, readable_tokens(pieces, spelling, false), {}, std::move(special)};
  if (spelling == TokenSpelling::plain) return tokens;  // nothing tells which pieces make a word
  for (const Word& word : words_of(pieces, spelling)) {
    tokens.words.emplace_back(word.first, word.end);
  }
  return tokens;
}

}  // namespace

TokenLists::Axes TokenLists::add(const std::vector<std::string>& queries,
                                 const std::vector<std::uint8_t>& special_queries,
                                 const std::vector<std::string>& keys,
                                 const std::vector<std::uint8_t>& special_keys) {
  const TokenSpelling spelling = token_spelling({&queries, &keys});
  const auto number = [&](const std::vector<std::string>& pieces,
                          const std::vector<std::uint8_t>& told) {
    std::vector<std::size_t> special = special_of(pieces, told);
    std::vector<std::size_t> made_with = special;
    made_with.push_back(static_cast<std::size_t>(spelling));
    const auto [found, is_new] = known_.try_emplace({pieces, made_with}, all_.size());
    if (is_new) all_.push_back(shown_tokens(pieces, std::move(special), spelling));
    return found->second;
  };
  const std::size_t first = number(queries, special_queries);
  return {first, number(keys, special_keys)};
}

}  // namespace attn
