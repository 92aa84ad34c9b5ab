#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "attention/positions.hpp"
#include "kernels/row_functions.hpp"
#include "support/overloaded.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Positions = HeadPreparation::Positions;

// A norm for heads of that width. Its weight may have a row for each head.
std::optional<Norm> checked_norm(const std::optional<Norm>& given, std::size_t heads,
                                 std::size_t width, const std::string& name) {
  if (!given) return given;
  Norm norm = *given;
  const auto adopt = [&](Tensor& tensor, const std::string& part) {
    const std::string where = "/" + name + "/" + part,
                      help = translated("give it the shape {1}", text({width}));
    const bool by_head = part == "weight" && tensor.shape() == Shape{heads, width};
    if (!by_head && tensor.shape() != Shape{width}) {
      throw input_error(translated("the {1} {2} of {3} does not fit heads of width {4}", part,
                                   text(tensor.shape()), name, width),
                        where, help);
    }
    tensor = tensor.converted(DType::float64);
  };
  if (!norm.weight) {
    throw input_error(translated("{1} has no weight", name), "/" + name + "/weight",
                      translated("give one number per column of a head, {1}", text({width})));
  }
  adopt(norm.weight, "weight");
  if (norm.bias) adopt(norm.bias, "bias");
  return norm;
}

// [length] or [B,length].
Positions given_positions(const Tensor& tensor, const std::string& name, std::size_t length,
                          const Geometry& geometry, const char* of) {
  const std::string where = "/rotary/" + name;
  if (tensor.dtype() != DType::int64) {
    throw input_error(translated("{1} holds {2}, not int64", name, attn::name(tensor.dtype())),
                      where, translated("give whole numbers"));
  }
  const Shape& shape = tensor.shape();
  const bool fits =
      shape == Shape{length} || shape == Shape{1, length} || shape == Shape{geometry.batch, length};
  if (!fits) {
    throw input_error(translated("{1} {2} does not fit {3} of {4}", name, text(shape),
                                 translated_count(geometry.batch, "{1} sample", "{1} samples"), of),
                      where,
                      translated("give one position each, {1} or {2}", text({length}),
                                 text({geometry.batch, length})));
  }
  const std::size_t samples = shape.size() == 2 ? shape[0] : 1;
  if (is_shape_only(tensor)) {
    return {std::vector<std::int64_t>(samples * length), samples, length};
  }
  const auto all = tensor.values<std::int64_t>();
  return {{all.begin(), all.end()}, samples, length};
}

Positions counted_positions(std::size_t length, std::size_t samples,
                            const std::function<std::int64_t(std::size_t)>& first) {
  Positions positions{{}, samples, length};
  for (std::size_t b = 0; b < samples; ++b) {
    for (std::size_t i = 0; i < length; ++i) {
      positions.all.push_back(first(b) + static_cast<std::int64_t>(i));
    }
  }
  return positions;
}

void check_number(double number, bool fits, const char* name, const char* help) {
  if (fits && std::isfinite(number)) return;
  throw input_error(translated("the {1} of the rotary scaling is not possible", name),
                    std::string("/rotary/scaling/") + name, translated(help));
}

void check_factors(const std::vector<double>& factors, std::size_t pairs, const char* name) {
  const auto positive = [](double factor) { return std::isfinite(factor) && factor > 0; };
  if (factors.size() == pairs && std::all_of(factors.begin(), factors.end(), positive)) return;
  throw input_error(translated("the {1} of the rotary scaling is not possible", name),
                    std::string("/rotary/scaling/") + name,
                    translated("give {1}, one per pair of columns",
                               translated_count(pairs, "{1} finite positive number",
                                                "{1} finite positive numbers")));
}

// `pairs`: number of rotated pairs of columns.
void check_scaling(const RotaryScaling& scaling, std::size_t pairs) {
  constexpr const char* positive = to_translate("give a finite positive number");
  constexpr const char* original = "original_max_position_embeddings";
  const auto check_positive = [&](double number, const char* name) {
    check_number(number, number > 0, name, positive);
  };
  std::visit(Overloaded{[](const std::monostate&) {},
                        [&](const LinearScaling& s) { check_positive(s.factor, "factor"); },
                        [&](const DynamicScaling& s) {
                          check_number(s.factor, s.factor >= 1, "factor",
                                       to_translate("give a finite number of at least 1"));
                          check_positive(s.original, original);
                        },
                        [&](const BandScaling& s) {
                          check_positive(s.factor, "factor");
                          check_positive(s.original, original);
                          check_positive(s.low, "low_freq_factor");
                          check_number(s.high, s.high > s.low, "high_freq_factor",
                                       to_translate("give a finite number above low_freq_factor"));
                        },
                        [&](const YarnScaling& s) {
                          check_positive(s.factor, "factor");
                          check_positive(s.original, original);
                          check_positive(s.beta_slow, "beta_slow");
                          check_number(s.beta_fast, s.beta_fast >= s.beta_slow, "beta_fast",
                                       to_translate("give a finite number of at least beta_slow"));
                          check_number(s.amplitude.value_or(1), true, "attention_factor",
                                       to_translate("give a finite number"));
                          check_number(s.mscale.value_or(1), true, "mscale",
                                       to_translate("give a finite number"));
                          check_number(s.mscale_all_dim.value_or(1), true, "mscale_all_dim",
                                       to_translate("give a finite number"));
                        },
                        [&](const LongScaling& s) {
                          check_positive(s.original, original);
                          check_factors(s.short_factors, pairs, "short_factor");
                          check_factors(s.long_factors, pairs, "long_factor");
                          check_number(s.amplitude, true, "attention_factor",
                                       to_translate("give a finite number"));
                        }},
             scaling);
}

std::int64_t largest(const Positions& positions) {
  return *std::max_element(positions.all.begin(), positions.all.end());
}

// Normalises one row of a head in place.
void normalise(double* row, std::size_t width, const Norm& norm, double eps) {
  const double* weight = norm.weight.values<double>().data();
  const double* bias = norm.bias ? norm.bias.values<double>().data() : nullptr;
  double mean = 0, squares = 0;
  if (norm.kind == NormKind::layer) {
    for (std::size_t k = 0; k < width; ++k) mean += row[k];
    mean /= static_cast<double>(width);
  }
  for (std::size_t k = 0; k < width; ++k) {
    const double deviation = row[k] - mean;
    squares += deviation * deviation;
  }
  const double factor = 1 / std::sqrt(squares / static_cast<double>(width) + eps);
  for (std::size_t k = 0; k < width; ++k) {
    const double value = (row[k] - mean) * factor * weight[k];
    row[k] = bias == nullptr ? value : value + bias[k];
  }
}

}  // namespace

// Angles of blocks of rows. In single precision the angles of consecutive positions are sums of the
// first one and of steps that are computed once, because cosines take longer than all the rest.
class HeadPreparation::AngleBlocks {
 public:
  AngleBlocks(const HeadPreparation& preparation, std::size_t rows, bool by_steps)
      : preparation_(preparation) {
    if (!by_steps || !preparation.frequencies_) return;
    std::vector<std::int64_t> positions(rows);
    std::iota(positions.begin(), positions.end(), 0);
    RotaryFrequencies plain = *preparation.frequencies_;
    plain.amplitude = 1;
    steps_.emplace(plain, positions);
  }

  RotaryAngles angles(std::size_t batch, const std::vector<std::int64_t>& positions) const {
    bool consecutive = steps_.has_value();
    for (std::size_t i = 1; consecutive && i < positions.size(); ++i) {
      consecutive = positions[i] == positions[i - 1] + 1;
    }
    if (!consecutive) return preparation_.angles(batch, positions);
    return {preparation_.angles(batch, {positions[0]}), *steps_, positions.size()};
  }

 private:
  const HeadPreparation& preparation_;
  std::optional<RotaryAngles> steps_;
};

HeadPreparation::HeadPreparation(const AttentionOptions& options, const Geometry& geometry,
                                 const QueryPlaces& places)
    : rotary_(options.rotary),
      query_norm_(
          checked_norm(options.query_norm, geometry.heads, geometry.query_width, "query_norm")),
      key_norm_(checked_norm(options.key_norm, geometry.kv_heads, geometry.key_width, "key_norm")),
      eps_(options.eps),
      norms_after_rotary_(options.norms_after_rotary),
      threads_(options.threads),
      batch_(geometry.batch),
      heads_(geometry.heads),
      kv_heads_(geometry.kv_heads) {
  if ((query_norm_ || key_norm_) && !(std::isfinite(eps_) && eps_ > 0)) {
    throw input_error(translated("eps is not a finite positive number"), "/eps",
                      translated("give a small positive number such as 1e-5"));
  }
  if (rotary_) adopt_rotary(geometry, places);
}

void HeadPreparation::adopt_rotary(const Geometry& geometry, const QueryPlaces& places) {
  Rotary& rotary = *rotary_;
  const std::size_t new_keys = geometry.keys - geometry.past;
  if (rotary.positions) {
    query_positions_ =
        given_positions(rotary.positions, "positions", geometry.queries, geometry,
                        translated_count(geometry.queries, "{1} query", "{1} queries").c_str());
  } else {
    bool alike = true;
    for (std::size_t b = 1; b < geometry.batch; ++b) {
      alike = alike && places.offset(b) == places.offset(0);
    }
    query_positions_ =
        counted_positions(geometry.queries, alike ? 1 : geometry.batch,
                          [&](std::size_t b) { return std::int64_t{places.offset(b)}; });
  }
  if (rotary.key_positions) {
    key_positions_ =
        given_positions(rotary.key_positions, "key_positions", new_keys, geometry,
                        translated_count(new_keys, "{1} new key", "{1} new keys").c_str());
  } else if (rotary.positions) {
    if (new_keys != geometry.queries) {
      throw input_error(translated("there are positions of {1}, but not of the {2}",
                                   translated_count(geometry.queries, "{1} query", "{1} queries"),
                                   translated_count(new_keys, "{1} new key", "{1} new keys")),
                        "/rotary/key_positions",
                        translated("give \"key_positions\", one per new key"));
    }
    key_positions_ = query_positions_;
  } else {
    key_positions_ = counted_positions(
        new_keys, 1, [&](std::size_t) { return static_cast<std::int64_t>(geometry.past); });
  }
  if (static_cast<bool>(rotary.cos) != static_cast<bool>(rotary.sin)) {
    throw input_error(rotary.cos ? translated("cos is given without sin")
                                 : translated("sin is given without cos"),
                      rotary.cos ? "/rotary/sin" : "/rotary/cos",
                      translated("give both or neither"));
  }
  if (rotary.cos) {
    adopt_tables(geometry);
  } else {
    adopt_frequencies(geometry);
  }
  const std::size_t width = std::min(geometry.query_width, geometry.key_width);
  if (2 * pairs_ > width) {
    throw input_error(
        translated("{1} are to be rotated, but a head has {2}",
                   translated_count(2 * pairs_, "{1} column", "{1} columns"), width),
        rotary.cos ? "/rotary/cos" : "/rotary/width",
        rotary.cos
            ? translated("give half as many cosines and sines as a head has columns, or fewer")
            : translated("give at most the width of a head"));
  }
}

void HeadPreparation::adopt_tables(const Geometry& geometry) {
  Rotary& rotary = *rotary_;
  if (rotary.width || !std::holds_alternative<std::monostate>(rotary.scaling)) {
    throw input_error(translated("{1} has no meaning where cosines and sines are given",
                                 rotary.width ? "width" : "scaling"),
                      rotary.width ? "/rotary/width" : "/rotary/scaling",
                      translated("leave it out"));
  }
  const Shape& shape = rotary.cos.shape();
  const bool axes =
      shape.size() == 2 || (shape.size() == 3 && (shape[0] == 1 || shape[0] == geometry.batch));
  if (!axes || rotary.cos.size() == 0) {
    throw input_error(translated("cos {1} is not [N,width/2] or [B,N,width/2] of {2}", text(shape),
                                 translated_count(geometry.batch, "{1} sample", "{1} samples")),
                      "/rotary/cos", translated("give one row of cosines per position"));
  }
  if (rotary.sin.shape() != shape) {
    throw input_error(translated("cos {1} and sin {2} have different shapes", text(shape),
                                 text(rotary.sin.shape())),
                      "/rotary/sin", translated("give both the same shape"));
  }
  pairs_ = shape.back();
  sample_tables_ = shape.size() == 3 && shape[0] > 1;
  rotary.cos = rotary.cos.converted(DType::float64);
  rotary.sin = rotary.sin.converted(DType::float64);
  check_in_tables(query_positions_, "positions");
  check_in_tables(key_positions_,
                  rotary.key_positions || !rotary.positions ? "key_positions" : "positions");
  const auto repeat = [&](Positions& positions) {
    if (!sample_tables_ || positions.samples > 1) return;
    const std::vector<std::int64_t> one = positions.all;
    for (positions.samples = 1; positions.samples < geometry.batch; ++positions.samples) {
      positions.all.insert(positions.all.end(), one.begin(), one.end());
    }
  };
  repeat(query_positions_);
  repeat(key_positions_);
}

void HeadPreparation::check_in_tables(const Positions& positions, const char* name) const {
  const Shape& shape = rotary_->cos.shape();
  const auto rows = static_cast<std::int64_t>(shape[shape.size() - 2]);
  for (std::size_t i = 0; i < positions.all.size(); ++i) {
    const std::int64_t position = positions.all[i];
    if (position >= 0 && position < rows) continue;
    throw input_error(
        translated("the position {1} has no row in the cosines and sines, which have {2}", position,
                   rows),
        std::string("/rotary/") + name,
        translated("give positions from 0 to {1}, or tables of more rows", rows - 1));
  }
}

void HeadPreparation::adopt_frequencies(const Geometry& geometry) {
  Rotary& rotary = *rotary_;
  if (!(std::isfinite(rotary.theta) && rotary.theta > 0)) {
    throw input_error(translated("theta is not a finite positive number"), "/rotary/theta",
                      translated("give a positive number such as 10000"));
  }
  const std::size_t width = rotary.width.value_or(geometry.query_width);
  if (width == 0 || width % 2 != 0) {
    throw input_error(rotary.width
                          ? translated("the width {1} is not an even number above 0", width)
                          : translated("a head of width {1} cannot be rotated in pairs", width),
                      "/rotary/width", translated("give an even number of columns to rotate"));
  }
  check_scaling(rotary.scaling, width / 2);
  if (std::holds_alternative<YarnScaling>(rotary.scaling) && rotary.theta <= 1) {
    throw input_error(translated("YaRN needs a theta above 1"), "/rotary/theta",
                      translated("give a number such as 10000"));
  }
  rotary.width = width;
  pairs_ = width / 2;
  const std::int64_t last = std::max(largest(query_positions_), largest(key_positions_));
  frequencies_ = rotary_frequencies(rotary.theta, width, rotary.scaling,
                                    static_cast<std::size_t>(std::max<std::int64_t>(last, -1) + 1));
}

RotaryAngles HeadPreparation::angles(std::size_t batch,
                                     const std::vector<std::int64_t>& positions) const {
  if (frequencies_) return {*frequencies_, positions};
  const Shape& shape = rotary_->cos.shape();
  const std::size_t at = sample_tables_ ? batch * shape[1] * pairs_ : 0;
  return {rotary_->cos.values<double>().data() + at, rotary_->sin.values<double>().data() + at,
          pairs_, positions};
}

std::optional<Norm> norm_of_head(const std::optional<Norm>& norm, std::size_t head) {
  if (!norm || norm->weight.rank() < 2) return norm;
  Norm own = *norm;
  const std::size_t width = own.weight.shape()[1];
  own.weight = part_of(own.weight, head * width, {width});
  return own;
}

// A task takes some rows of one sample in all heads, which share their angles.
template <class T>
Tensor HeadPreparation::prepared_rows(const Tensor& rows, const std::optional<Norm>& norm,
                                      const Positions& positions, std::size_t heads) const {
  if (!norm && !rotary_) return rows;
  Shape shape = rows.shape();
  const std::size_t rank = shape.size(), length = shape[rank - 2];
  const std::size_t width = rank == 4 ? shape[3] : shape[rank - 1] / heads;
  const std::size_t of_sample = heads * length * width;
  // A repeated sample is rotated once for each position of its own.
  const bool repeated = rank >= 3 && shape[0] == 1 && rotary_ && positions.samples > 1;
  if (repeated) shape[0] = batch_;
  const std::size_t samples = element_count(shape) / of_sample;
  const std::size_t row_step = rank == 4 ? width : heads * width;
  const std::size_t head_step = rank == 4 ? length * width : width;
  const Tensor numbers = rows.converted(dtype_of<T>());
  const auto from = numbers.values<T>();
  const std::shared_ptr<T> to = new_elements<T>(element_count(shape));
  constexpr std::size_t block = 32;
  const std::size_t blocks = (length + block - 1) / block;
  const AngleBlocks angle_blocks(*this, block, std::is_same_v<T, float>);
  parallel_for(samples * blocks, threads_, [&](std::size_t task) {
    const std::size_t b = task / blocks, first = task % blocks * block;
    const std::size_t count = std::min(block, length - first);
    std::optional<RotaryAngles> turned;
    if (rotary_) {
      std::vector<std::int64_t> places;
      for (std::size_t i = 0; i < count; ++i) places.push_back(positions.at(b, first + i));
      turned = angle_blocks.angles(b, places);
    }
    for (std::size_t h = 0; h < heads; ++h) {
      const std::size_t at = h * head_step + first * row_step;
      prepare_rows_of(from.data() + (repeated ? 0 : b) * of_sample + at, count, width, row_step,
                      norm_of_head(norm, h), turned, to.get() + b * of_sample + at);
    }
  });
  return filled(std::move(shape), to);
}

// Double precision: row by row, as in the definition.
void HeadPreparation::prepare_rows_of(const double* from, std::size_t count, std::size_t width,
                                      std::size_t stride, const std::optional<Norm>& norm,
                                      const std::optional<RotaryAngles>& angles, double* to) const {
  for (std::size_t i = 0; i < count; ++i, from += stride, to += stride) {
    std::copy_n(from, width, to);
    if (norm && !norms_after_rotary_) normalise(to, width, *norm, eps_);
    if (angles) turn(to, *angles, i, rotary_->interleaved);
    if (norm && norms_after_rotary_) normalise(to, width, *norm, eps_);
  }
}

void HeadPreparation::prepare_rows_of(const float* from, std::size_t count, std::size_t width,
                                      std::size_t stride, const std::optional<Norm>& norm,
                                      const std::optional<RotaryAngles>& angles, float* to) const {
  std::optional<kernels::RowNorm> row_norm;
  if (norm) {
    row_norm = {norm->weight.values<double>().data(),
                norm->bias ? norm->bias.values<double>().data() : nullptr, eps_,
                norm->kind == NormKind::layer};
  }
  std::optional<kernels::RowTurns> turns;
  if (angles) {
    turns = {angles->cos.data(), angles->sin.data(), angles->pairs, rotary_->interleaved};
  }
  const kernels::RowNorm* const normed = row_norm ? &*row_norm : nullptr;
  const kernels::RowTurns* const turned = turns ? &*turns : nullptr;
  if (normed == nullptr || turned == nullptr || !norms_after_rotary_) {
    kernels::prepare_rows(from, count, width, stride, normed, turned, to);
    return;
  }
  kernels::prepare_rows(from, count, width, stride, nullptr, turned, to);
  kernels::prepare_rows(to, count, width, stride, normed, nullptr, to);
}

Sequences HeadPreparation::prepared(const Sequences& sequences, DType precision) const {
  const auto rows = [&](const Tensor& tensor, const std::optional<Norm>& norm,
                        const Positions& positions, std::size_t heads) {
    return with_float_type(
        precision, [&]<class T>() { return prepared_rows<T>(tensor, norm, positions, heads); });
  };
  Sequences result = sequences;
  result.value = sequences.value_or_key();
  result.query = rows(sequences.query, query_norm_, query_positions_, heads_);
  result.key = rows(sequences.key_or_query(), key_norm_, key_positions_, kv_heads_);
  return result;
}

}  // namespace attn
