#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attention/expression.hpp"
#include "attention/geometry.hpp"
#include "attention/gradient_rows.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "support/memory.hpp"
#include "support/overloaded.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double hidden_score = -std::numeric_limits<double>::infinity();

// Scores that are products of rows, for one sample and head.
struct Products {
  std::size_t width;
  const double *queries, *keys;
  Numbers turned_keys;  // [width,Lk]
  bool finite;
  double *query_gradient, *key_gradient;

  void scores(std::size_t first, std::size_t count, std::size_t key_count, double* s) const {
    add_product(queries + first * width, width, 1, turned_keys.data(), count, width, key_count, s);
  }
  void back(std::size_t first, std::size_t count, std::size_t key_count, const double* ds) {
    add_product(ds, key_count, 1, keys, count, key_count, width, query_gradient + first * width,
                !finite);
    add_product(ds, 1, key_count, queries + first * width, key_count, count, width, key_gradient,
                !finite);
  }
};

// Scores Σ_u w[u] tanh(a[i,u] + b[j,u]), for one sample and head.
struct Tanhs {
  std::size_t width;
  const double *queries, *keys, *weights;
  double *query_gradient, *key_gradient, *weight_gradient;

  void scores(std::size_t first, std::size_t count, std::size_t key_count, double* s) const {
    for (std::size_t i = 0; i < count; ++i) {
      const double* const a = queries + (first + i) * width;
      for (std::size_t j = 0; j < key_count; ++j) {
        const double* const b = keys + j * width;
        for (std::size_t u = 0; u < width; ++u) {
          s[i * key_count + j] += weights[u] * std::tanh(a[u] + b[u]);
        }
      }
    }
  }
  void back(std::size_t first, std::size_t count, std::size_t key_count, const double* ds) {
    for (std::size_t i = 0; i < count; ++i) {
      const double* const a = queries + (first + i) * width;
      double* const to_a = query_gradient + (first + i) * width;
      for (std::size_t j = 0; j < key_count; ++j) {
        const double factor = ds[i * key_count + j];
        if (factor == 0) continue;
        const double* const b = keys + j * width;
        double* const to_b = key_gradient + j * width;
        for (std::size_t u = 0; u < width; ++u) {
          const double t = std::tanh(a[u] + b[u]);
          const double inner = factor * weights[u] * (1 - t * t);
          to_a[u] += inner;
          to_b[u] += inner;
          weight_gradient[u] += factor * t;
        }
      }
    }
  }
};

// The backward pass through one attention.
class Backward {
 public:
  Backward(const AttentionRequest& request, const Tensor& output_gradient)
      : request_(request),
        geometry_(check_geometry(request)),
        given_(*sequences_of(request.score)),
        preparation_(request, geometry_, QueryPlaces(request.mask, geometry_)),
        compared_(preparation_ ? preparation_.prepared(given_, DType::float64) : given_),
        visibility_(request.mask, geometry_, compared_),
        position_bias_(request, geometry_),
        sinks_(request.sinks.converted(DType::float64)),
        scale_(scale_of(request, geometry_)),
        output_gradient_(HeadRows<double>(output_gradient, geometry_.heads), geometry_.batch,
                         geometry_.heads) {}

  Gradients compute() {
    const std::size_t batch = geometry_.batch, heads = geometry_.heads, group = geometry_.kv_heads;
    const Heads q(HeadRows<double>(compared_.query, heads), batch, heads);
    const Heads k(HeadRows<double>(compared_.key_or_query(), group, compared_.past_key), batch,
                  group);
    value_ = Heads(HeadRows<double>(given_.value_or_key(), group, given_.past_value), batch, group);
    if (request_.score_expression) {
      score_tree_.emplace(request_.score_expression, ExpressionUse::score, "/score", geometry_);
      direct_ = score_tree_->reads_rows();
    }
    if (request_.weight_expression) {
      weight_tree_.emplace(request_.weight_expression, ExpressionUse::weight, "/weight", geometry_);
      direct_ = direct_ || weight_tree_->reads_rows();
    }
    if (direct_) {
      rows_ = ComparedRows(compared_, geometry_);
      direct_query_ = Heads(batch, heads, geometry_.queries, q.width);
      direct_key_ = Heads(batch, group, geometry_.keys, k.width);
    }
    // One case per alternative: none of them takes another's by its base.
    std::visit(Overloaded{[](const GivenScores&) {}, [&](const DotProduct&) { by_products(q, k); },
                          [&](const ScaledDotProduct&) { by_products(q, k); },
                          [&](const General& score) {
                            const Heads projected = through(k, score.W);
                            by_products(q, projected);
                            Back back = back_through(k.numbers, score.W, key_gradient_.numbers);
                            key_gradient_ = k.with(std::move(back.x));
                            parameters_ = {std::move(back.weight)};
                          },
                          [&](const Additive& score) { by_tanhs(score, q, k); }},
               request_.score);
    if (direct_) {
      const auto add = [](const Heads& from, Heads& to) {
        for (std::size_t n = 0; n < to.numbers.size(); ++n) to.numbers[n] += from.numbers[n];
      };
      add(direct_query_, query_gradient_);
      add(direct_key_, key_gradient_);
    }
    back_to_given(query_gradient_, given_.query, 0, preparation_.query_positions(),
                  request_.query_norm);
    back_to_given(key_gradient_, given_.key_or_query(), geometry_.past,
                  preparation_.key_positions(), request_.key_norm);
    return named();
  }

 private:
  static constexpr std::size_t block = 32;  // queries whose scores are held at a time

  // The number of parts that the queries of one sample and group of heads are cut into. It does not
  // depend on the threads, so that the order of sums does not either.
  std::size_t chunks() const {
    constexpr std::size_t enough = 64;
    const std::size_t blocks = (geometry_.queries + block - 1) / block;
    const std::size_t tasks = geometry_.batch * geometry_.kv_heads;
    return std::clamp<std::size_t>((enough + tasks - 1) / tasks, 1, blocks);
  }

  // Sums that several tasks add to, one task's share.
  struct Sums {
    Numbers keys, values, hidden, sinks, table, direct_keys;
  };

  void by_products(const Heads& q, const Heads& k) {
    const bool finite = all_finite(q.numbers) && all_finite(k.numbers);
    back(q, k, 0, [&](std::size_t b, std::size_t h, Sums& sums, std::size_t group) {
      return Products{q.width,         q.of(b, h),
                      k.of(b, group),  transposed(k.of(b, group), k.length, k.width),
                      finite,          query_gradient_.of(b, h),
                      sums.keys.data()};
    });
  }

  void by_tanhs(const Additive& score, const Heads& q, const Heads& k) {
    const Heads a = through(q, score.W_q), b = through(k, score.W_k);
    const Tensor weights = score.w_v.converted(DType::float64);
    back(a, b, a.width, [&](std::size_t sample, std::size_t h, Sums& sums, std::size_t group) {
      return Tanhs{a.width,
                   a.of(sample, h),
                   b.of(sample, group),
                   weights.values<double>().data(),
                   query_gradient_.of(sample, h),
                   sums.keys.data(),
                   sums.hidden.data()};
    });
    Back of_query = back_through(q.numbers, score.W_q, query_gradient_.numbers);
    Back of_key = back_through(k.numbers, score.W_k, key_gradient_.numbers);
    query_gradient_ = q.with(std::move(of_query.x));
    key_gradient_ = k.with(std::move(of_key.x));
    parameters_ = {std::move(of_key.weight), std::move(of_query.weight),
                   Tensor(score.w_v.shape(), std::move(hidden_gradient_))};
  }

  template <class MakeScores>
  void back(const Heads& q, const Heads& k, std::size_t hidden, const MakeScores& make) {
    const std::size_t batch = geometry_.batch, keys = geometry_.keys, heads = geometry_.heads;
    const std::size_t groups = geometry_.kv_heads, of_group = heads / groups;
    const std::size_t parts = chunks(), blocks = (geometry_.queries + block - 1) / block;
    const std::size_t buckets = request_.relative_bias ? request_.relative_bias->buckets : 0;
    query_gradient_ = Heads(batch, heads, geometry_.queries, q.width);
    key_gradient_ = Heads(batch, groups, keys, k.width);
    value_gradient_ = Heads(batch, groups, keys, geometry_.value_width);
    if (request_.mask.bias) {
      const std::size_t pairs = element_count(geometry_.weights_shape());
      check_memory(pairs, sizeof(double), translated("the gradient of all scores"), "",
                   translated("use fewer queries"));
      score_gradients_.resize(batch * heads * geometry_.queries * keys);
    }
    if (request_.dropout) kept_ = drawn_weights(*request_.dropout, geometry_);
    std::vector<Sums> sums(batch * groups * parts);
    parallel_for(sums.size(), request_.threads, [&](std::size_t task) {
      const std::size_t b = task / parts / groups, group = task / parts % groups;
      const std::size_t part = task % parts;
      Sums& own = sums[task];
      own = {Numbers(keys * k.width),
             Numbers(keys * value_.width),
             Numbers(hidden),
             Numbers(of_group),
             Numbers(buckets * of_group),
             Numbers(direct_ ? direct_key_.width * keys : 0)};
      const Numbers values = transposed(value_.of(b, group), keys, value_.width);
      for (std::size_t member = 0; member < of_group; ++member) {
        const std::size_t h = group * of_group + member;
        auto scores = make(b, h, own, group);
        for (std::size_t at = blocks * part / parts; at < blocks * (part + 1) / parts; ++at) {
          const std::size_t first = at * block;
          const std::size_t count = std::min(block, geometry_.queries - first);
          back_block(scores, {b, h, member, first, count}, values, own);
        }
      }
    });
    // The shares are added in their order.
    hidden_gradient_.assign(hidden, 0);
    sink_gradient_.assign(heads, 0);
    table_gradient_.assign(buckets * heads, 0);
    const auto add = [](const Numbers& from, double* to) {
      for (const double number : from) *to++ += number;
    };
    for (std::size_t task = 0; task < sums.size(); ++task) {
      const std::size_t b = task / parts / groups, group = task / parts % groups;
      add(sums[task].keys, key_gradient_.of(b, group));
      add(sums[task].values, value_gradient_.of(b, group));
      if (direct_) add(sums[task].direct_keys, direct_key_.of(b, group));
      add(sums[task].hidden, hidden_gradient_.data());
      add(sums[task].sinks, sink_gradient_.data() + group * of_group);
      for (std::size_t member = 0; member < of_group; ++member) {
        for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
          table_gradient_[bucket * heads + group * of_group + member] +=
              sums[task].table[member * buckets + bucket];
        }
      }
    }
  }

  // Some queries of one head, a member of its group.
  struct QueryBlock {
    std::size_t batch, head, member, first, count;
  };
  // Steps of the forward pass of a block, [count,Lk] each.
  struct Forward {
    Numbers p;                        // scores, and then the softmax
    Numbers replaced;                 // weights by the expression of weights; empty without one
    Numbers slopes;                   // of the softcap; empty without one
    Numbers sinks;                    // [count], the weight of the sink
    std::vector<std::uint8_t> hides;  // whether the expression of scores hides a key
    std::vector<std::uint8_t> seen, weighs;
    std::vector<ExpressionSlopes> score_slopes, weight_slopes;

    const Numbers& weights() const { return replaced.empty() ? p : replaced; }
  };

  // The backward pass of a block.
  template <class Scores>
  void back_block(Scores& scores, const QueryBlock& queries, const Numbers& turned_values,
                  Sums& sums) {
    Forward forward;
    forward.p.resize(queries.count * geometry_.keys);
    scores.scores(queries.first, queries.count, geometry_.keys, forward.p.data());
    finish_scores(queries, forward);
    weigh(queries, forward);
    Numbers gradient(forward.p.size());
    back_to_weights(queries, forward, turned_values, gradient, sums);
    back_through_softmax(queries, forward, gradient, sums);
    back_to_products(queries, forward, gradient, sums);
    scores.back(queries.first, queries.count, geometry_.keys, gradient.data());
  }

  // The cell that the element n of a block is.
  ExpressionCell cell_of(const QueryBlock& queries, std::size_t n, double given) const {
    return cell_of(queries.batch, queries.head, queries.first + n / geometry_.keys,
                   n % geometry_.keys, given);
  }
  void pass_to_rows(const QueryBlock& queries, std::size_t n, const ExpressionSlopes& slopes,
                    double gradient, Sums& sums) {
    pass_to_rows(queries.batch, queries.head, queries.first + n / geometry_.keys,
                 n % geometry_.keys, slopes, gradient, sums);
  }

  // Scale, expression and softcap.
  void finish_scores(const QueryBlock& queries, Forward& forward) const {
    Numbers& s = forward.p;
    for (double& score : s) score *= scale_;
    if (score_tree_) {
      forward.score_slopes.resize(s.size());
      forward.hides.resize(s.size());
      for (std::size_t n = 0; n < s.size(); ++n) {
        s[n] = score_tree_->value(cell_of(queries, n, s[n]), forward.score_slopes[n]);
        forward.hides[n] = s[n] == hidden_score;
      }
    }
    if (!request_.softcap) return;
    forward.slopes.resize(s.size());
    for (std::size_t n = 0; n < s.size(); ++n) {
      const double t = std::tanh(s[n] / *request_.softcap);
      s[n] = *request_.softcap * t;
      forward.slopes[n] = 1 - t * t;
    }
  }

  // Biases, mask, softmax and the expression of weights.
  void weigh(const QueryBlock& queries, Forward& forward) const {
    const auto [b, h, member, first, count] = queries;
    const std::size_t keys = geometry_.keys;
    forward.seen.assign(forward.p.size(), 1);
    forward.weighs.assign(forward.p.size(), 1);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<double> row(forward.p.data() + i * keys, keys);
      const std::span<std::uint8_t> seen(forward.seen.data() + i * keys, keys);
      if (position_bias_) {
        for (std::size_t j = 0; j < keys; ++j)
          row[j] += position_bias_.term(b, h, distance(b, first + i, j));
      }
      if (request_.mask.present()) {
        visibility_.see(b, h, first + i, seen);
        visibility_.mask(b, h, first + i, seen, row);
      }
      for (std::size_t j = 0; j < keys; ++j) {
        if (forward.hides.empty() || forward.hides[i * keys + j] == 0) continue;
        row[j] = hidden_score;
        seen[j] = 0;
      }
      for (std::size_t j = 0; j < keys; ++j) forward.weighs[i * keys + j] = row[j] != hidden_score;
      forward.sinks.push_back(soften(row, h));
    }
    if (!weight_tree_) {
      for (std::size_t n = 0; n < forward.p.size(); ++n) forward.weighs[n] = forward.p[n] != 0;
      return;
    }
    // Hidden cells have no weight to replace. A weight that underflows to 0 has one.
    forward.weight_slopes.resize(forward.p.size());
    forward.replaced = forward.p;
    for (std::size_t n = 0; n < forward.p.size(); ++n) {
      if (forward.weighs[n] == 0) continue;
      forward.replaced[n] =
          weight_tree_->value(cell_of(queries, n, forward.p[n]), forward.weight_slopes[n]);
    }
  }

  // From the output to the values and the softmax. Dropped weights get nothing, nor do weights of 0
  // that no expression replaces.
  void back_to_weights(const QueryBlock& queries, const Forward& forward,
                       const Numbers& turned_values, Numbers& gradient, Sums& sums) {
    const auto [b, h, member, first, count] = queries;
    const std::size_t keys = geometry_.keys, width = value_.width;
    const double* const of_output = output_gradient_.of(b, h) + first * width;
    add_product(of_output, width, 1, turned_values.data(), count, width, keys, gradient.data());
    Numbers factors;
    if (kept_) factors = dropout_factors(b, h, first, count);
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      if (forward.weighs[n] == 0) {
        gradient[n] = 0;
      } else if (kept_) {
        gradient[n] = factors[n] == 0 ? 0 : gradient[n] * factors[n];
      }
    }
    for (std::size_t n = 0; n < factors.size(); ++n) factors[n] *= forward.weights()[n];
    add_product(kept_ ? factors.data() : forward.weights().data(), 1, keys, of_output, keys, count,
                width, sums.values.data());
    for (std::size_t n = 0; n < forward.weight_slopes.size(); ++n) {
      if (gradient[n] == 0) continue;
      const ExpressionSlopes& slopes = forward.weight_slopes[n];
      if (weight_tree_->reads_rows()) pass_to_rows(queries, n, slopes, gradient[n], sums);
      gradient[n] = forward.p[n] == 0 || slopes.given == 0 ? 0 : gradient[n] * slopes.given;
    }
  }

  // From the softmax to the scores with their biases.
  void back_through_softmax(const QueryBlock& queries, const Forward& forward, Numbers& gradient,
                            Sums& sums) {
    const auto [b, h, member, first, count] = queries;
    const std::size_t keys = geometry_.keys;
    for (std::size_t i = 0; i < count; ++i) {
      const double* const p = forward.p.data() + i * keys;
      double* const row = gradient.data() + i * keys;
      double mean = 0;
      for (std::size_t j = 0; j < keys; ++j) mean += p[j] * row[j];
      sums.sinks[member] -= forward.sinks[i] * mean;
      for (std::size_t j = 0; j < keys; ++j) {
        row[j] = forward.seen[i * keys + j] != 0 ? p[j] * (row[j] - mean) : 0;
      }
      if (!score_gradients_.empty()) {
        const std::size_t at = ((b * geometry_.heads + h) * geometry_.queries + first + i) * keys;
        std::copy_n(row, keys, score_gradients_.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (sums.table.empty()) continue;
      const std::size_t buckets = request_.relative_bias->buckets;
      for (std::size_t j = 0; j < keys; ++j) {
        sums.table[member * buckets + position_bias_.bucket(distance(b, first + i, j))] += row[j];
      }
    }
  }

  // Through softcap, expression and scale. Hidden scores and their slopes may be NaN.
  void back_to_products(const QueryBlock& queries, const Forward& forward, Numbers& gradient,
                        Sums& sums) {
    for (std::size_t n = 0; n < gradient.size(); ++n) {
      if (forward.seen[n] == 0 || forward.p[n] == 0) {
        gradient[n] = 0;
        continue;
      }
      if (!score_tree_) {
        gradient[n] *= forward.slopes.empty() ? scale_ : scale_ * forward.slopes[n];
        continue;
      }
      if (!forward.slopes.empty()) gradient[n] *= forward.slopes[n];
      const ExpressionSlopes& slopes = forward.score_slopes[n];
      if (score_tree_->reads_rows()) pass_to_rows(queries, n, slopes, gradient[n], sums);
      gradient[n] = slopes.given == 0 ? 0 : gradient[n] * slopes.given * scale_;
    }
  }

  ExpressionCell cell_of(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                         double given) const {
    ExpressionCell cell;
    cell.given = given;
    cell.b = b;
    cell.h = h;
    cell.i = i;
    cell.j = j;
    cell.offset = visibility_.offset(b);
    if (direct_) rows_.put(cell);
    return cell;
  }

  // Adds the gradient of an expression by dot(q, k), norms and distance to the rows of one cell.
  // Lengths of 0 pass nothing on.
  void pass_to_rows(std::size_t b, std::size_t h, std::size_t i, std::size_t j,
                    const ExpressionSlopes& slopes, double gradient, Sums& sums) {
    const ExpressionCell cell = cell_of(b, h, i, j, 0);
    const std::size_t width = cell.query.size();
    const auto length = [&](const auto& component) {
      double squares = 0;
      for (std::size_t c = 0; c < width; ++c) squares += component(c) * component(c);
      return std::sqrt(squares);
    };
    const auto over = [](double slope, double size) {
      return slope == 0 || size == 0 ? 0 : slope / size;
    };
    const double by_query =
        over(slopes.query_norm, length([&](std::size_t c) { return cell.query[c]; }));
    const double by_key = over(slopes.key_norm, length([&](std::size_t c) { return cell.key[c]; }));
    const double apart =
        over(slopes.distance, length([&](std::size_t c) { return cell.query[c] - cell.key[c]; }));
    double* const to_query = direct_query_.of(b, h) + i * width;
    double* const to_key = sums.direct_keys.data() + j * width;
    for (std::size_t c = 0; c < width; ++c) {
      const double q = cell.query[c], k = cell.key[c];
      to_query[c] += gradient * (slopes.dot * k + by_query * q + apart * (q - k));
      to_key[c] += gradient * (slopes.dot * q + by_key * k - apart * (q - k));
    }
  }

  // The factors of dropout for the weights of some queries.
  Numbers dropout_factors(std::size_t b, std::size_t h, std::size_t first,
                          std::size_t count) const {
    const std::size_t keys = geometry_.keys;
    const auto kept = kept_.values<std::uint8_t>().subspan(
        ((b * geometry_.heads + h) * geometry_.queries + first) * keys, count * keys);
    const double p = request_.dropout->p, factor = p < 1 ? 1 / (1 - p) : 0;
    Numbers factors;
    factors.reserve(kept.size());
    for (const std::uint8_t one : kept) factors.push_back(one != 0 ? factor : 0);
    return factors;
  }

  std::int64_t distance(std::size_t b, std::size_t query, std::size_t key) const {
    return static_cast<std::int64_t>(key) - static_cast<std::int64_t>(query) -
           visibility_.offset(b);
  }

  // Turns masked scores into weights. Returns the weight of the sink.
  double soften(std::span<double> row, std::size_t head) const {
    const double sink = sinks_ ? sinks_.values<double>()[head] : hidden_score;
    const double largest = std::max(*std::max_element(row.begin(), row.end()), sink);
    if (largest == hidden_score) {
      std::fill(row.begin(), row.end(), 0.0);
      return 0;
    }
    double sum = sink == hidden_score ? 0 : std::exp(sink - largest);
    for (double& score : row) {
      score = score == hidden_score ? 0 : std::exp(score - largest);
      sum += score;
    }
    for (double& score : row) score /= sum;
    return sink == hidden_score ? 0 : std::exp(sink - largest) / sum;
  }

  // Gradients of prepared rows become those of the given ones: they are rotated by the opposite
  // angle, with given tables by the transposed matrix, and pass the norm of each head.
  void back_to_given(Heads& gradient, const Tensor& given, std::size_t past,
                     const HeadPreparation::Positions& positions, const std::optional<Norm>& norm) {
    if (!preparation_.rotary() && !norm) return;
    std::vector<Norm> norms;
    Heads rows;
    if (norm) {
      rows = Heads(HeadRows<double>(given, gradient.heads), gradient.samples, gradient.heads);
      for (std::size_t h = 0; h < gradient.heads; ++h) {
        norms.push_back(*norm_of_head(norm, h));
        norms.back().weight = norms.back().weight.converted(DType::float64);
      }
    }
    const std::size_t count = gradient.length - past;
    parallel_for(gradient.samples * count, request_.threads, [&](std::size_t task) {
      const std::size_t b = task / count, i = task % count;
      std::optional<RotaryAngles> angles, opposite;
      if (preparation_.rotary()) {
        opposite = angles = preparation_.angles(b, {positions.at(b, i)});
        for (double& sine : opposite->sin) sine = -sine;
      }
      for (std::size_t h = 0; h < gradient.heads; ++h) {
        Numbers row;
        if (norm) row.assign(rows.of(b, h) + i * rows.width, rows.of(b, h) + (i + 1) * rows.width);
        double* const to = gradient.of(b, h) + (past + i) * gradient.width;
        const auto through_norm = [&] {
          norm_back(norm->kind == NormKind::layer, norms[h].weight.values<double>().data(),
                    row.data(), row.size(), request_.eps, to);
        };
        const auto rotated = [&](double* numbers, const std::optional<RotaryAngles>& by) {
          if (by) turn(numbers, *by, 0, preparation_.rotary()->interleaved);
        };
        if (norm && request_.norms_after_rotary) {
          rotated(row.data(), angles);
          through_norm();
        }
        rotated(to, opposite);
        if (norm && !request_.norms_after_rotary) through_norm();
      }
    });
  }

  // The gradient of the bias, summed over the axes along which it is broadcast.
  Tensor bias_gradient() const {
    const Shape axes = geometry_.weights_shape();
    const Shape& shape = request_.mask.bias.shape();
    Numbers sums(request_.mask.bias.size());
    std::vector<std::size_t> steps(axes.size(), 0), index(axes.size(), 0);
    std::size_t step = 1;
    for (std::size_t back = 1; back <= shape.size(); ++back) {
      const std::size_t size = shape[shape.size() - back];
      steps[axes.size() - back] = size == 1 ? 0 : step;
      step *= size;
    }
    std::size_t at = 0;
    for (const double number : score_gradients_) {
      sums[at] += number;
      for (std::size_t axis = axes.size(); axis-- > 0;) {
        at += steps[axis];
        if (++index[axis] < axes[axis]) break;
        at -= steps[axis] * axes[axis];
        index[axis] = 0;
      }
    }
    return {shape, std::move(sums)};
  }

  Gradients named() {
    const Sequences& of = given_;
    Tensor query = folded(query_gradient_, 0, of.query);
    Tensor key = folded(key_gradient_, geometry_.past, of.key_or_query());
    Tensor value = folded(value_gradient_, geometry_.past, of.value_or_key());
    if (!of.value) key = sum(key, value);
    if (!of.key) query = sum(query, key);
    Gradients all;
    const auto add = [&](bool given, const std::string& name, const Tensor& gradient) {
      if (given) all.emplace_back(name, gradient.converted(request_.dtype));
    };
    add(true, "query", query);
    add(static_cast<bool>(of.key), "key", key);
    add(static_cast<bool>(of.value), "value", value);
    if (of.past_key) {
      add(true, "past_key", folded(key_gradient_, 0, of.past_key));
      add(true, "past_value", folded(value_gradient_, 0, of.past_value));
    }
    const auto parameters = info(kind_of(request_.score)).parameters;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      add(true, std::string(parameters[i].name), parameters_[i]);
    }
    if (request_.mask.bias) add(true, "bias", bias_gradient());
    if (request_.relative_bias) {
      add(true, "relative_bias", Tensor(request_.relative_bias->table.shape(), table_gradient_));
    }
    if (request_.sinks) add(true, "sinks", Tensor(request_.sinks.shape(), sink_gradient_));
    return all;
  }

  const AttentionRequest& request_;
  Geometry geometry_;
  const Sequences& given_;
  HeadPreparation preparation_;
  Sequences compared_;  // prepared queries and keys
  Visibility visibility_;
  PositionBias position_bias_;
  Tensor sinks_;
  double scale_;
  Heads output_gradient_, value_;
  Heads query_gradient_, key_gradient_, value_gradient_;
  // Expressions, and the gradients that they pass to the compared rows past the kind's own score.
  std::optional<ExpressionTree> score_tree_, weight_tree_;
  ComparedRows rows_;
  bool direct_ = false;
  Heads direct_query_, direct_key_;
  std::vector<Tensor> parameters_;
  Numbers hidden_gradient_, sink_gradient_, table_gradient_;
  Numbers score_gradients_;  // [B,H,Lq,Lk], only with a bias
  Tensor kept_;              // the weights that dropout keeps, of their shape; absent without it
};

}  // namespace

Gradients gradients_without_gate(const AttentionRequest& request, const Tensor& output_gradient) {
  return Backward(request, output_gradient).compute();
}

}  // namespace attn
