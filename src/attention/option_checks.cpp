#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/expression.hpp"
#include "attention/geometry.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {

void check_single_options(const AttentionOptions& options) {
  if (options.dtype == DType::int64 || options.dtype == DType::boolean) {
    throw input_error(translated("results cannot be {1}", name(options.dtype)), "/dtype",
                      translated("choose float32, float64, bfloat16 or float16"));
  }
  if (options.scale && !std::isfinite(*options.scale)) {
    throw input_error(translated("the scale is not a finite number"), "/scale",
                      translated("give a finite number"));
  }
  if (options.softcap && !(std::isfinite(*options.softcap) && *options.softcap > 0)) {
    throw input_error(translated("the softcap is not a finite positive number"), "/softcap",
                      translated("give a positive number, or leave it out for no cap"));
  }
  if (options.pool && options.pool->size == 0) {
    throw input_error(translated("a map of 0 bins holds no weights"), "/pool/size",
                      translated("give at least one bin"));
  }
  if (options.dropout && !(options.dropout->p >= 0 && options.dropout->p <= 1)) {
    throw input_error(translated("the probability of dropout is not between 0 and 1"), "/dropout/p",
                      translated("give the probability to drop a weight, such as 0.1"));
  }
}

namespace {

void check_sinks(const Tensor& given, std::size_t heads) {
  if (given.shape() != Shape{heads}) {
    throw input_error(translated("sinks {1} does not fit {2}", text(given.shape()),
                                 translated_count(heads, "{1} query head", "{1} query heads")),
                      "/sinks", translated("give one number per query head, {1}", text({heads})));
  }
  if (is_shape_only(given)) return;
  const Tensor sinks = given.converted(DType::float64);
  for (const double sink : sinks.values<double>()) {
    if (std::isfinite(sink)) continue;
    throw input_error(translated("a sink is not a finite number"), "/sinks",
                      translated("give finite numbers"));
  }
}

// Trees of score and weight are made for their errors alone.
void check_expression(const Expression& expression, ExpressionUse use, const char* pointer,
                      const Geometry& geometry) {
  if (!expression) return;
  const ExpressionTree tree(expression, use, pointer, geometry);
}

void check_gate(const Tensor& gate, const Geometry& geometry) {
  const Shape& shape = gate.shape();
  const Shape expected = geometry.output_shape();
  if (shape != expected) {
    throw input_error(translated("the gate {1} does not have the shape of the joined heads, {2}",
                                 text(shape), text(expected)),
                      "/gate",
                      translated("give one number per number of the output, {1}", text(expected)));
  }
}

// Options to check separately, so that each reports its own problem.
std::vector<AttentionOptions> parts_of(const AttentionOptions& options) {
  AttentionOptions plain = options;
  plain.rotary.reset();
  plain.query_norm.reset();
  plain.key_norm.reset();
  plain.relative_bias.reset();
  plain.mask.alibi.reset();
  std::vector<AttentionOptions> parts;
  const auto add = [&](bool given, const auto& give) {
    if (given) give(parts.emplace_back(plain));
  };
  const auto add_rotary = [&](const auto& change) {
    add(true, [&](AttentionOptions& part) { change(part.rotary.emplace(*options.rotary)); });
  };
  if (options.rotary) add_rotary([](Rotary&) {});
  if (options.rotary && !options.rotary->cos && !options.rotary->sin) {
    // Angles and positions depend on each other only in tables.
    add_rotary([](Rotary& rotary) { rotary.positions = rotary.key_positions = {}; });
    add_rotary([](Rotary& rotary) {
      rotary.positions = rotary.key_positions = {};
      rotary.theta = Rotary().theta;
      // Factors of single pairs are checked with the width that they belong to.
      if (std::holds_alternative<LongScaling>(rotary.scaling)) return;
      rotary.width = 2;
    });
    add_rotary([](Rotary& rotary) {
      rotary.positions = rotary.key_positions = {};
      rotary.theta = Rotary().theta;
      rotary.scaling = {};
    });
    add_rotary([](Rotary& rotary) { rotary.positions = {}; });
  }
  add(options.query_norm.has_value(),
      [&](AttentionOptions& part) { part.query_norm = options.query_norm; });
  add(options.key_norm.has_value(),
      [&](AttentionOptions& part) { part.key_norm = options.key_norm; });
  add(options.mask.alibi.has_value(),
      [&](AttentionOptions& part) { part.mask.alibi = options.mask.alibi; });
  add(options.relative_bias.has_value(),
      [&](AttentionOptions& part) { part.relative_bias = options.relative_bias; });
  return parts;
}

}  // namespace

void check_options(const AttentionOptions& options, const Geometry& geometry) {
  std::vector<Error> errors;
  const auto attempt = [&](const auto& check) {
    try {
      check();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      const auto same = [&](const Error& known) {
        return known.problem() == error.problem() && known.where() == error.where();
      };
      if (std::none_of(errors.begin(), errors.end(), same)) errors.push_back(error);
    }
  };
  Visibility::check(options.mask, geometry);
  const QueryPlaces places(options.mask, geometry);
  for (const AttentionOptions& part : parts_of(options)) {
    attempt([&] { const HeadPreparation preparation(part, geometry, places); });
    attempt([&] { const PositionBias bias(part, geometry); });
  }
  attempt([&] {
    check_expression(options.score_expression, ExpressionUse::score, "/score", geometry);
  });
  attempt([&] {
    check_expression(options.weight_expression, ExpressionUse::weight, "/weight", geometry);
  });
  if (options.gate && geometry.value_width > 0)
    attempt([&] { check_gate(options.gate, geometry); });
  if (options.sinks) attempt([&] { check_sinks(options.sinks, geometry.heads); });
  if (!errors.empty()) throw SeveralErrors(std::move(errors));
}

}  // namespace attn
