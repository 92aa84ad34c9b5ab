#include <cstdint>
#include <span>

#include "attention/visibility.hpp"
#include "document/mask_reader.hpp"
#include "support/translated.hpp"
#include "view/page_input.hpp"

namespace attn {
namespace {

// Bit for each part of the mask that hides any key of the sample. Looks at heads until all
// `present` bits are found.
std::uint32_t hiding(const Visibility& visibility, const Geometry& sizes, std::size_t sample,
                     std::uint32_t present) {
  std::uint32_t found = 0;
  std::vector<std::uint32_t> parts(sizes.keys);
  const std::size_t heads = visibility.differs_by_head() ? sizes.heads : 1;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < sizes.queries && found != present; ++i) {
      visibility.hidden_by(sample, h, i, parts);
      for (const std::uint32_t one : parts) found |= one;
    }
  }
  return found;
}

// Cells that a mask hides in one sample.
class Hidden {
 public:
  Hidden(const Tensor& allowed, std::size_t sample)
      : queries_(allowed.shape()[2]), keys_(allowed.shape()[3]) {
    const Shape& shape = allowed.shape();
    const std::size_t first = (shape[0] == 1 ? 0 : sample) * shape[1] * queries_ * keys_;
    seen_ = allowed.values<std::uint8_t>().subspan(first, queries_ * keys_);
  }

  std::vector<std::string> reasons(bool same_positions) const {
    const bool causal = same_positions && queries_ == keys_ && queries_ > 1 && hides_all_later();
    std::vector<std::uint8_t> key_seen(keys_), query_sees(queries_);
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = 0; j < keys_; ++j) {
        if (hides(i, j)) continue;
        key_seen[j] = query_sees[i] = 1;
      }
    }
    bool keys = false, queries = false, others = false;
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = 0; j < keys_; ++j) {
        if (!hides(i, j) || (causal && j > i)) continue;
        (key_seen[j] == 0 ? keys : query_sees[i] == 0 ? queries : others) = true;
      }
    }
    std::vector<std::string> sentences;
    const auto add = [&](bool there, const char* sentence) {
      if (there) sentences.push_back(translated(sentence));
    };
    add(causal, to_translate("causal: keys after the query"));
    add(keys, to_translate("keys that no query sees, such as those of padding"));
    add(queries, to_translate("queries that see no key"));
    add(others, to_translate("other keys that the mask hides"));
    return sentences;
  }

 private:
  bool hides(std::size_t query, std::size_t key) const { return seen_[query * keys_ + key] == 0; }

  bool hides_all_later() const {
    for (std::size_t i = 0; i < queries_; ++i) {
      for (std::size_t j = i + 1; j < keys_; ++j) {
        if (!hides(i, j)) return false;
      }
    }
    return true;
  }

  std::size_t queries_, keys_;
  std::span<const std::uint8_t> seen_;
};

using Sentences = std::vector<std::vector<std::string>>;

Sentences apparent_reasons(const AttentionMap& map) {
  Sentences reasons(map.numbers.shape()[0]);
  for (std::size_t b = 0; map.allowed && b < reasons.size(); ++b) {
    reasons[b] = Hidden(map.allowed, b).reasons(map.same_positions);
  }
  return reasons;
}

Sentences known_reasons(const PlannedAttention& attention, const Sequences& compared) {
  const Geometry& sizes = attention.geometry;
  Sentences reasons(sizes.batch);
  const std::span<const HidingPart* const> parts = hiding_parts();
  std::uint32_t present = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p]->present(attention.mask)) present |= 1U << p;
  }
  if (present == 0) return reasons;
  const Visibility visibility(attention.mask, sizes, compared);
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    const std::uint32_t found = hiding(visibility, sizes, b, present);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if ((found >> p & 1U) != 0)
        reasons[b].push_back(hidden_sentence(parts[p]->name, attention.mask));
    }
  }
  return reasons;
}

}  // namespace

std::vector<std::vector<std::string>> hidden_reasons(const AttentionMap& map) {
  return map.planned ? known_reasons(*map.planned, map.compared) : apparent_reasons(map);
}

}  // namespace attn
