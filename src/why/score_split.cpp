#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "why/frozen_pass.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

/// Queries or keys of one head, by the parts of what they are made of.
struct HeadVectors {
  std::vector<ModelPlace> places;  ///< where the parts were written
  std::vector<Rows> parts;         ///< [count,d] each; the last is the bias
};

// The norm with the denominator of the sum of all parts.
void normalise(const std::optional<Norm>& norm, Rows& parts, double eps) {
  if (!norm) return;
  Rows whole(1, parts.width);
  for (std::size_t p = 0; p < parts.count(); ++p) {
    add_scaled(1, parts.row(p), parts.width, whole.row(0));
  }
  const FrozenNorm frozen(norm, whole, eps);
  for (std::size_t p = 0; p < parts.count(); ++p) frozen.apply(0, parts.row(p));
  frozen.add_shift(parts.row(parts.count() - 1));
}

/// The product that makes a head's queries or keys, with the norms after it.
class HeadProjection {
 public:
  HeadProjection(const StoredLinear& linear, const std::optional<Norm>& norm_of_all,
                 const std::optional<Norm>& norm_of_heads, std::size_t head, std::size_t width,
                 double eps)
      : norm_of_all_(norm_of_all),
        norm_of_head_(norm_of_head(norm_of_heads, head)),
        width_(width),
        eps_(eps) {
    // A norm of all heads together reads them all.
    first_ = norm_of_all ? head * width : 0;
    const StoredLinear own = norm_of_all ? linear : linear.rows(head * width, width);
    columns_ = columns_of(own.weight);
    bias_ = Rows(1, columns_.width);
    if (!own.bias) return;
    const Tensor numbers = own.bias.converted(DType::float64);
    std::copy(numbers.values<double>().begin(), numbers.values<double>().end(), bias_.row(0));
  }

  std::size_t width() const { return width_; }

  /// The parts [count,d] of the vectors that are made of parts of the stream.
  std::vector<Rows> project(const ResidualParts& from, std::size_t threads) const {
    const std::size_t parts = from.parts.size(), count = from.parts.front().count();
    std::vector<Rows> to(parts, Rows(count, width_));
    parallel_for(count, threads, [&](std::size_t i) {
      Rows all(parts, columns_.width);
      for (std::size_t p = 0; p < parts; ++p) {
        add_combination(columns_, 0, {from.parts[p].row(i), from.parts[p].width}, all.row(p));
      }
      add_scaled(1, bias_.row(0), columns_.width, all.row(parts - 1));
      normalise(norm_of_all_, all, eps_);
      Rows own(parts, width_);
      for (std::size_t p = 0; p < parts; ++p) std::copy_n(all.row(p) + first_, width_, own.row(p));
      normalise(norm_of_head_, own, eps_);
      for (std::size_t p = 0; p < parts; ++p) std::copy_n(own.row(p), width_, to[p].row(i));
    });
    return to;
  }

 private:
  const std::optional<Norm>& norm_of_all_;
  std::optional<Norm> norm_of_head_;
  std::size_t first_ = 0, width_;
  double eps_;
  Rows columns_, bias_;
};

class ScoreSplitter {
 public:
  ScoreSplitter(const FrozenPass& pass, const ModelPlace& place,
                const std::vector<std::size_t>& queries, const std::vector<std::size_t>& keys,
                std::size_t threads)
      : pass_(pass),
        attention_(*pass.attention),
        place_(place),
        head_(place.head.value()),
        queries_(queries),
        keys_(keys),
        threads_(threads),
        geometry_(check_geometry(attention_.request)),
        visibility_(attention_.request.mask, geometry_, {}),
        preparation_(attention_.request, geometry_, visibility_.places()) {}

  ScoreSplit split() {
    if (attention_.weights.clip) {
      throw input_error(
          translated("the scores of this model are not sums over parts: its queries and keys are "
                     "cut off at ±{1}",
                     number_text(*attention_.weights.clip)),
          "WhyOptions::head", translated("split a logit, or the scores of another model"));
    }
    if (attention_.weights.latent) {
      throw input_error(
          translated("the scores of this model are not sums over parts: its queries and keys are "
                     "made of narrow vectors with norms of their own"),
          "WhyOptions::head", translated("split a logit, or the scores of another model"));
    }
    if (attention_.spec.takes_keys) {
      throw input_error(
          translated("the scores of this layer are not sums over parts: its keys are those of "
                     "another layer"),
          "WhyOptions::head", translated("split a logit, or the scores of another layer"));
    }
    const AttentionRequest& request = attention_.request;
    if (request.mask.bias && !request.mask.alibi) {
      throw input_error(
          translated(
              "the scores of this model are not sums over pairs of parts: its distances have "
              "queries and keys too"),
          "WhyOptions::head", translated("split a logit, or the scores of another model"));
    }
    find_pairs();
    const std::size_t d = geometry_.query_width;
    const std::size_t kv_head = head_ / (geometry_.heads / geometry_.kv_heads);
    const bool after = request.norms_after_rotary;
    const std::optional<Norm> none;
    const HeadProjection query(attention_.weights.query, attention_.weights.query_norm,
                               after ? none : request.query_norm, head_, d, request.eps);
    const HeadProjection key(attention_.weights.key, attention_.weights.key_norm,
                             after ? none : request.key_norm, kv_head, d, request.eps);
    std::vector<FromStream> wanted{{query, queries_, q_}};
    if (!place_.crosses()) wanted.push_back({key, keys_, k_});
    read_stream(wanted);
    if (place_.crosses()) k_ = of_memory(key);
    turn_all(q_, queries_, preparation_.query_positions());
    turn_all(k_, keys_, preparation_.key_positions());
    if (after) {
      normalise_all(q_, norm_of_head(request.query_norm, head_));
      normalise_all(k_, norm_of_head(request.key_norm, kv_head));
    }
    if (attention_.spec.growth && !place_.crosses()) grow_queries();
    split_.head = place_;
    split_.query_parts = q_.places;
    split_.key_parts = k_.places;
    multiply();
    check();
    note_weights();
    return std::move(split_);
  }

 private:
  void find_pairs() {
    std::vector<std::uint8_t> seen(geometry_.keys);
    for (std::size_t a = 0; a < queries_.size(); ++a) {
      visibility_.see(0, head_, queries_[a], seen);
      for (std::size_t b = 0; b < keys_.size(); ++b) {
        if (seen[keys_[b]] == 0) continue;
        split_.pairs.emplace_back(queries_[a], keys_[b]);
        places_.emplace_back(a, b);
      }
    }
    if (!split_.pairs.empty()) return;
    throw input_error(queries_.size() == 1 && keys_.size() == 1
                          ? translated("query {1} does not see key {2}", queries_[0], keys_[0])
                          : translated("no query sees a key that is chosen"),
                      "WhyOptions::key", translated("choose a key that the mask leaves the query"));
  }

  // Vectors to make of the stream at some positions.
  struct FromStream {
    const HeadProjection& projection;
    const std::vector<std::size_t>& positions;
    HeadVectors& to;
  };

  // Goes over the stream some rows at a time, whose parts are forgotten afterwards.
  void read_stream(const std::vector<FromStream>& wanted) const {
    constexpr std::size_t rows_at_a_time = 32;
    const std::vector<std::size_t>& kept = pass_.positions;
    for (std::size_t first = 0; first < kept.size(); first += rows_at_a_time) {
      const std::size_t count = std::min(rows_at_a_time, kept.size() - first);
      ResidualParts stream = parts_of(pass_, first, count, threads_);
      apply(attention_.read, first, stream, threads_);
      for (const auto& [projection, positions, to] : wanted) {
        const std::vector<Rows> made = projection.project(stream, threads_);
        if (to.places.empty()) {
          to.places = stream.places;
          to.parts.assign(made.size(), Rows(positions.size(), projection.width()));
        }
        for (std::size_t n = 0; n < positions.size(); ++n) {
          const auto at = static_cast<std::size_t>(
              std::lower_bound(kept.begin(), kept.end(), positions[n]) - kept.begin());
          if (at < first || at >= first + count) continue;
          for (std::size_t p = 0; p < made.size(); ++p) {
            std::copy_n(made[p].row(at - first), made[p].width, to.parts[p].row(n));
          }
        }
      }
    }
  }

  HeadVectors of_memory(const HeadProjection& projection) const {
    ResidualParts parts;
    parts.places = {{.stack = ModelPlace::Stack::encoder, .part = ModelPlace::Part::output},
                    {.part = ModelPlace::Part::bias}};
    parts.parts.push_back(rows_at(pass_.memory, keys_));
    parts.parts.emplace_back(keys_.size(), parts.parts.front().width);
    return {parts.places, projection.project(parts, threads_)};
  }

  void turn_all(HeadVectors& vectors, const std::vector<std::size_t>& rows,
                const HeadPreparation::Positions& positions) const {
    if (!preparation_.rotary()) return;
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const RotaryAngles angles = preparation_.angles(0, {positions.at(0, rows[n])});
      for (Rows& part : vectors.parts) {
        turn(part.row(n), angles, 0, preparation_.rotary()->interleaved);
      }
    }
  }

  void grow_queries() {
    for (std::size_t n = 0; n < queries_.size(); ++n) {
      const double factor = attention_.spec.growth->at(queries_[n]);
      for (Rows& part : q_.parts) {
        for (std::size_t i = 0; i < part.width; ++i) part.row(n)[i] *= factor;
      }
    }
  }

  // The norm after the rotation, row by row.
  void normalise_all(HeadVectors& vectors, const std::optional<Norm>& norm) const {
    for (std::size_t n = 0; n < vectors.parts.front().count(); ++n) {
      Rows row(vectors.parts.size(), geometry_.query_width);
      for (std::size_t p = 0; p < row.count(); ++p) {
        std::copy_n(vectors.parts[p].row(n), row.width, row.row(p));
      }
      normalise(norm, row, attention_.request.eps);
      for (std::size_t p = 0; p < row.count(); ++p) {
        std::copy_n(row.row(p), row.width, vectors.parts[p].row(n));
      }
    }
  }

  void multiply() {
    const std::size_t A = q_.parts.size(), B = k_.parts.size(), d = geometry_.query_width;
    check_memory(split_.pairs.size() * A, B * sizeof(double),
                 translated("the split of {1} scores", split_.pairs.size()), "WhyOptions::head",
                 translated("choose a query or a key"));
    const double scale = scale_of(attention_.request, geometry_);
    std::vector<double> terms(split_.pairs.size() * A * B);
    parallel_for(split_.pairs.size(), threads_, [&](std::size_t pair) {
      double* to = terms.data() + pair * A * B;
      for (std::size_t a = 0; a < A; ++a) {
        const double* q = q_.parts[a].row(places_[pair].first);
        for (std::size_t b = 0; b < B; ++b) {
          to[a * B + b] = scale * dot(q, k_.parts[b].row(places_[pair].second), d);
        }
      }
    });
    split_.parts = Tensor({split_.pairs.size(), A, B}, std::move(terms));
  }

  // Holds the sums against the products of the queries and keys that the attention itself compares.
  void check() {
    const Sequences own =
        preparation_.prepared(std::get<ScaledDotProduct>(attention_.request.score), DType::float64);
    const HeadRows<double> queries(own.query, geometry_.heads), keys(own.key, geometry_.kv_heads);
    const std::size_t kv_head = head_ / (geometry_.heads / geometry_.kv_heads);
    const double scale = scale_of(attention_.request, geometry_);
    const std::size_t each = q_.parts.size() * k_.parts.size();
    for (std::size_t n = 0; n < split_.pairs.size(); ++n) {
      const auto [i, j] = split_.pairs[n];
      const double *q = queries(0, head_, i).data(), *k = keys(0, kv_head, j).data();
      const std::size_t d = geometry_.query_width;
      const double score = scale * dot(q, k, d);
      const double size = std::abs(scale) * std::sqrt(dot(q, q, d) * dot(k, k, d));
      split_.scores.push_back(score);
      check_sum(split_.parts.values<double>().subspan(n * each, each), score, size,
                [&, i = i, j = j] {  // clang captures no structured binding by itself
                  return translated("the score of query {1} and key {2} of head {3}", i, j,
                                    split_.head.text());
                });
    }
  }

  void note_weights() {
    const auto weights = attention_.computed.values<double>();
    const std::size_t first = head_ * geometry_.queries;
    for (const auto& [i, j] : split_.pairs) {
      split_.weights.push_back(weights[(first + i) * geometry_.keys + j]);
    }
    split_.positions = pass_.positions;
    split_.strongest.resize(split_.query_parts.size());
    for (const auto& layer : pass_.layers) {
      for (const FrozenSubLayer& sublayer : layer) {
        for (std::size_t h = 0; h < sublayer.heads; ++h) {
          const auto at = std::ranges::find(split_.query_parts, sublayer.place.with_head(h));
          auto& to = split_.strongest[static_cast<std::size_t>(at - split_.query_parts.begin())];
          for (std::size_t r = 0; r < pass_.positions.size(); ++r) {
            to.push_back(sublayer.strongest[r * sublayer.heads + h]);
          }
        }
      }
    }
  }

  const FrozenPass& pass_;
  const FrozenAttention& attention_;
  const ModelPlace& place_;
  std::size_t head_;
  const std::vector<std::size_t>& queries_;
  const std::vector<std::size_t>& keys_;
  std::size_t threads_;
  Geometry geometry_;
  Visibility visibility_;
  HeadPreparation preparation_;
  HeadVectors q_, k_;
  std::vector<std::pair<std::size_t, std::size_t>> places_;  // of the pairs among queries and keys
  ScoreSplit split_;
};

std::vector<std::size_t> chosen_positions(std::optional<std::size_t> one, std::size_t length) {
  if (one) return {*one};
  std::vector<std::size_t> all(length);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

std::size_t ScoreSplit::strongest_pair(std::optional<std::size_t> query) const {
  const auto sees_one_key = [&](std::size_t n) {
    const auto same = [&](std::size_t other) { return pairs[other].first == pairs[n].first; };
    return !(n > 0 && same(n - 1)) && !(n + 1 < pairs.size() && same(n + 1));
  };
  std::optional<std::size_t> best, first;
  for (std::size_t n = 0; n < pairs.size(); ++n) {
    if (query && pairs[n].first != *query) continue;
    if (!first) first = n;
    if (!sees_one_key(n) && (!best || weights[n] > weights[*best])) best = n;
  }
  return best.value_or(first.value_or(0));
}

std::vector<std::size_t> by_size(std::span<const double> numbers) {
  std::vector<std::size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(numbers[a]) > std::abs(numbers[b]);
  });
  return order;
}

std::optional<std::size_t> ScoreSplit::looked_at(std::size_t part, std::size_t position) const {
  if (part >= strongest.size() || strongest[part].empty()) return std::nullopt;
  const auto at = std::lower_bound(positions.begin(), positions.end(), position);
  return strongest[part][static_cast<std::size_t>(at - positions.begin())];
}

ScoreSplit::Sides ScoreSplit::sides(std::size_t pair) const {
  const std::size_t A = query_parts.size(), B = key_parts.size();
  const auto terms = parts.values<double>().subspan(pair * A * B, A * B);
  Sides sums{std::vector<double>(A), std::vector<double>(B)};
  for (std::size_t a = 0; a < A; ++a) {
    for (std::size_t b = 0; b < B; ++b) {
      sums.query[a] += terms[a * B + b];
      sums.key[b] += terms[a * B + b];
    }
  }
  return sums;
}

ChosenScores::ChosenScores(ModelPlace own_head, const ModelTexts& text,
                           std::optional<std::size_t> query, std::optional<std::size_t> key)
    : head(std::move(own_head)) {
  const std::size_t own = text.read_by(head.stack).front().size();
  queries = chosen_positions(query, own);
  keys = chosen_positions(key, head.crosses() ? text.ids.front().size() : own);
}

FrozenChoice ChosenScores::kept() const {
  FrozenChoice choice;
  choice.stack = head.stack;
  choice.attention = head.whole();
  choice.positions = queries;
  if (head.crosses()) return choice;
  choice.positions.insert(choice.positions.end(), keys.begin(), keys.end());
  std::sort(choice.positions.begin(), choice.positions.end());
  const auto repeated = std::unique(choice.positions.begin(), choice.positions.end());
  choice.positions.erase(repeated, choice.positions.end());
  return choice;
}

ScoreSplit split_scores(const FrozenPass& pass, const ChosenScores& chosen, std::size_t threads) {
  return ScoreSplitter(pass, chosen.head, chosen.queries, chosen.keys, threads).split();
}

}  // namespace attn
