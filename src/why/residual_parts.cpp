#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

/// The parts of some rows on their way through the layers.
class PartsWalk {
 public:
  PartsWalk(const FrozenPass& pass, std::size_t first, std::size_t count, std::size_t threads)
      : pass_(pass), first_(first), count_(count), threads_(threads) {}

  ResidualParts walk() {
    embed();
    for (const auto& layer : pass_.layers) {
      for (const FrozenSubLayer& sublayer : layer) {
        apply(sublayer.on_stream, first_, stream_, threads_);
        ResidualParts branch = sublayer.heads == 0 ? whole(sublayer) : heads(sublayer);
        apply(sublayer.on_branch, first_, branch, threads_);
        add(std::move(branch));
        apply(sublayer.on_sum, first_, stream_, threads_);
      }
    }
    return std::move(stream_);
  }

 private:
  Rows rows_of_block(const Rows& all) const {
    Rows rows(count_, all.width);
    std::copy_n(all.row(first_), count_ * all.width, rows.numbers.begin());
    return rows;
  }

  void embed() {
    for (const auto& [place, rows] : pass_.embedded) {
      stream_.places.push_back(place);
      stream_.parts.push_back(rows_of_block(rows));
    }
    stream_.places.push_back({.part = ModelPlace::Part::bias});
    stream_.parts.emplace_back(count_, stream_.parts.front().width);
    apply(pass_.embedding_norm, first_, stream_, threads_);
    if (pass_.embedding_projection) project(pass_.embedding_projection, stream_);
  }

  void project(const StoredLinear& linear, ResidualParts& parts) const {
    const Rows columns = columns_of(linear.weight);
    for (Rows& part : parts.parts) {
      Rows projected(count_, columns.width);
      parallel_for(count_, threads_, [&](std::size_t i) {
        add_combination(columns, 0, {part.row(i), part.width}, projected.row(i));
      });
      part = std::move(projected);
    }
    add_bias(linear, parts.bias());
  }

  static void add_bias(const StoredLinear& linear, Rows& bias) {
    if (!linear.bias) return;
    const Tensor numbers = linear.bias.converted(DType::float64);
    for (std::size_t i = 0; i < bias.count(); ++i) {
      add_scaled(1, numbers.values<double>().data(), bias.width, bias.row(i));
    }
  }

  ResidualParts whole(const FrozenSubLayer& sublayer) const {
    ResidualParts branch;
    branch.places = {sublayer.place, {.part = ModelPlace::Part::bias}};
    branch.parts = {rows_of_block(sublayer.change), Rows(count_, sublayer.change.width)};
    return branch;
  }

  // Head h writes the scale times W_o^h times its own output.
  ResidualParts heads(const FrozenSubLayer& sublayer) const {
    const Rows columns = columns_of(sublayer.projection.weight);
    const std::size_t width = sublayer.outputs.width / sublayer.heads;
    ResidualParts branch;
    for (std::size_t h = 0; h < sublayer.heads; ++h) {
      branch.places.push_back(sublayer.place.with_head(h));
    }
    branch.places.push_back({.part = ModelPlace::Part::bias});
    branch.parts.assign(branch.places.size(), Rows(count_, columns.width));
    parallel_for(sublayer.heads * count_, threads_, [&](std::size_t task) {
      const std::size_t h = task / count_, i = task % count_;
      add_combination(columns, h * width, {sublayer.outputs.row(first_ + i) + h * width, width},
                      branch.parts[h].row(i));
    });
    add_bias(sublayer.projection, branch.bias());
    for (Rows& part : branch.parts) {
      for (double& number : part.numbers) number *= sublayer.scale;
    }
    return branch;
  }

  // Appends the parts of a branch before the bias, to which its bias is added.
  void add(ResidualParts branch) {
    Rows& bias = stream_.bias();
    add_scaled(1, branch.bias().numbers.data(), bias.numbers.size(), bias.numbers.data());
    branch.places.pop_back();
    branch.parts.pop_back();
    stream_.places.insert(stream_.places.end() - 1, branch.places.begin(), branch.places.end());
    stream_.parts.insert(stream_.parts.end() - 1, std::make_move_iterator(branch.parts.begin()),
                         std::make_move_iterator(branch.parts.end()));
  }

  const FrozenPass& pass_;
  std::size_t first_, count_, threads_;
  ResidualParts stream_;
};

}  // namespace

ResidualParts parts_of(const FrozenPass& pass, std::size_t first, std::size_t count,
                       std::size_t threads) {
  return PartsWalk(pass, first, count, threads).walk();
}

void apply(const FrozenNorm& norm, std::size_t first, ResidualParts& parts, std::size_t threads) {
  if (!norm) return;
  const std::size_t count = parts.bias().count();
  parallel_for(parts.parts.size(), threads, [&](std::size_t p) {
    for (std::size_t i = 0; i < count; ++i) norm.apply(first + i, parts.parts[p].row(i));
  });
  for (std::size_t i = 0; i < count; ++i) norm.add_shift(parts.bias().row(i));
}

void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what) {
  constexpr double tolerance = 1e-12, rounding = 1e-14;
  double sum = 0, absolute = 0;
  for (const double term : terms) {
    sum += term;
    absolute += std::abs(term);
  }
  if (std::abs(sum - whole) <= tolerance * absolute + rounding * size) return;
  throw Error(ErrorKind::internal,
              translated("the parts of {1} add up to {2}, and it is {3}", what(), number_text(sum),
                         number_text(whole)),
              "", translated("report this text and the model: the split is not shown"));
}

}  // namespace attn
