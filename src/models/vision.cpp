#include "models/vision.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/projected_attention.hpp"
#include "images/resampling.hpp"
#include "layers/layer.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using enum WeightPurpose;

// Tokens before the patches that have positions.
std::size_t first_tokens(const Architecture& model) {
  const TensorNames& names = model.stacks.front().names;
  return names.count(class_token) + names.count(distillation_token);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor wide = tensor.converted(DType::float64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

// Cubic convolution with a = −¾ between four neighbours, the last of them standing for those
// beyond.
std::vector<FilterShares> cubic_shares(std::size_t from, std::size_t to) {
  constexpr double a = -0.75;
  const auto near = [](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  std::vector<FilterShares> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double at =
        (static_cast<double>(i) + 0.5) * static_cast<double>(from) / static_cast<double>(to) - 0.5;
    const double t = at - std::floor(at);
    const std::array shares{far(t + 1), near(t), near(1 - t), far(2 - t)};
    all[i].shares.assign(from, 0);
    for (std::size_t k = 0; k < shares.size(); ++k) {
      const double place = std::clamp(std::floor(at) + static_cast<double>(k) - 1, 0.0,
                                      static_cast<double>(from - 1));
      all[i].shares[static_cast<std::size_t>(place)] += shares[k];
    }
  }
  return all;
}

// The straight line between two neighbours, level beyond the first and the last.
std::vector<FilterShares> linear_shares(std::size_t from, std::size_t to) {
  std::vector<FilterShares> all(to);
  for (std::size_t i = 0; i < to; ++i) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double at = std::max(0.0, (static_cast<double>(i) + 0.5) * scale - 0.5);
    all[i].first = std::min(static_cast<std::size_t>(at), from - 1);
    const double t = at - std::floor(at);
    all[i].shares = all[i].first + 1 < from ? std::vector{1 - t, t} : std::vector{1.0};
  }
  return all;
}

// How positions of another grid than that of training are made.
AxisShares shares_of_positions(const VisionPart& vision) {
  if (!vision.antialiased) return cubic_shares;
  const Resampling filter = vision.bilinear ? Resampling::bilinear : Resampling::bicubic;
  return [filter](std::size_t from, std::size_t to) {
    std::vector<FilterShares> all;
    for (std::size_t i = 0; i < to; ++i) all.push_back(filter_shares(from, to, i, filter));
    return all;
  };
}

Tensor positions_for(const Architecture& model, const Tensor& stored, const PatchGrid& grid) {
  const std::size_t side = model.vision->side, before = first_tokens(model);
  const std::vector<double> table = numbers_of(stored);
  const auto split = table.begin() + static_cast<std::ptrdiff_t>(before * model.width);
  std::vector<double> all(table.begin(), split), patches(split, table.end());
  if (grid.rows != side || grid.columns != side) {
    patches = on_other_grid(patches, {side, side}, grid, shares_of_positions(*model.vision));
  }
  all.insert(all.end(), patches.begin(), patches.end());
  return {{before + grid.rows * grid.columns, model.width}, std::move(all)};
}

// The weights of patches [D,3·P·P], channel by channel, of a convolution, or of a matrix that has
// them pixel by pixel.
Tensor channel_by_channel(const Tensor& weight) {
  const std::size_t rows = weight.shape()[0], columns = weight.size() / rows;
  if (weight.rank() != 2) return weight.reshaped({rows, columns});
  std::vector<std::size_t> order;
  for (std::size_t channel = 0; channel < 3; ++channel) {
    for (std::size_t i = channel; i < columns; i += 3) order.push_back(i);
  }
  return picked(weight, order, 1);
}

Tensor rows_of_width(const Tensor& tensor, std::size_t width) {
  return tensor.reshaped({tensor.size() / width, width});
}

// x Wᵀ + b of one vector by a Linear layer with whole names.
std::vector<double> projected(const CheckpointWeights& weights, const std::string& name,
                              const std::vector<double>& x) {
  const Linear linear{weights.read(name + ".weight").converted(DType::float64),
                      weights.has(name + ".bias") ? weights.read(name + ".bias") : Tensor()};
  return numbers_of(apply(linear, Tensor({1, x.size()}, std::vector<double>(x)), 1));
}

std::vector<double> of_length_one(std::vector<double> x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  for (double& v : x) v /= std::sqrt(squares);
  return x;
}

// The token at which a text is pooled.
std::size_t pooled_token(const VisionPart& vision, const std::vector<std::int64_t>& ids) {
  if (vision.last_token) return ids.size() - 1;
  constexpr std::int64_t of_old_files = 2;
  const bool largest = vision.end_id == of_old_files;
  const auto found =
      largest ? std::ranges::max_element(ids) : std::ranges::find(ids, vision.end_id.value_or(-1));
  return found == ids.end() ? 0 : static_cast<std::size_t>(found - ids.begin());
}

// A number of the checkpoint, [] or [1].
double stored_number(const CheckpointWeights& weights, const std::string& name) {
  return numbers_of(weights.read(name)).front();
}

}  // namespace

PatchGrid grid_of(const VisionPart& vision, std::size_t height, std::size_t width) {
  const PatchGrid grid{height / vision.patch, width / vision.patch};
  if (grid.rows > 0 && grid.columns > 0) return grid;
  throw input_error(
      translated("the prepared picture has {1} × {2} pixels, and a patch has {3} × {3}", height,
                 width, vision.patch),
      "", translated("let it be resized to at least one patch"));
}

std::vector<double> on_other_grid(const std::vector<double>& table, const PatchGrid& from,
                                  const PatchGrid& to, const AxisShares& shares) {
  const std::size_t width = table.size() / (from.rows * from.columns);
  const auto by_column = shares(from.columns, to.columns), by_row = shares(from.rows, to.rows);
  std::vector<double> wide(from.rows * to.columns * width, 0);
  for (std::size_t y = 0; y < from.rows; ++y) {
    for (std::size_t x = 0; x < to.columns; ++x) {
      for (std::size_t k = 0; k < by_column[x].shares.size(); ++k) {
        const double share = by_column[x].shares[k];
        const std::size_t at = (y * from.columns + by_column[x].first + k) * width;
        for (std::size_t d = 0; d < width; ++d) {
          wide[(y * to.columns + x) * width + d] += share * table[at + d];
        }
      }
    }
  }
  std::vector<double> all(to.rows * to.columns * width, 0);
  const std::size_t line = to.columns * width;
  for (std::size_t y = 0; y < to.rows; ++y) {
    for (std::size_t k = 0; k < by_row[y].shares.size(); ++k) {
      const double share = by_row[y].shares[k];
      const std::size_t at = (by_row[y].first + k) * line;
      for (std::size_t i = 0; i < line; ++i) all[y * line + i] += share * wide[at + i];
    }
  }
  return all;
}

Rotary patch_rotary(const Architecture& model, const PatchGrid& grid) {
  Rotary own = *model.stacks.front().layers.front().rotary;
  const std::size_t before = first_tokens(model) + model.vision->registers;
  const std::size_t quarter = model.head_width / 4, half = 2 * quarter;
  std::vector<double> cos(before * half, 1), sin(before * half, 0);
  const auto add = [&](std::size_t place, std::size_t count) {
    const double centre = 2 * (static_cast<double>(place) + 0.5) / static_cast<double>(count) - 1;
    for (std::size_t n = 0; n < quarter; ++n) {
      const double power = static_cast<double>(n) / static_cast<double>(quarter);
      const double angle = 2 * std::numbers::pi * centre * std::pow(own.theta, -power);
      cos.push_back(std::cos(angle));
      sin.push_back(std::sin(angle));
    }
  };
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns; ++column) {
      add(row, grid.rows);
      add(column, grid.columns);
    }
  }
  const Shape shape{cos.size() / half, half};
  own.cos = Tensor(shape, std::move(cos));
  own.sin = Tensor(shape, std::move(sin));
  return own;
}

Tensor patch_biases(const Architecture& model, const Tensor& table, const PatchGrid& grid,
                    DType dtype) {
  const std::size_t heads = model.heads, before = first_tokens(model);
  const std::size_t side = model.vision->side, patches = grid.rows * grid.columns;
  const PatchGrid stored{2 * side - 1, 2 * side - 1},
      wanted{2 * grid.rows - 1, 2 * grid.columns - 1};
  const std::vector<double> rows = numbers_of(table);
  const auto split =
      rows.begin() + static_cast<std::ptrdiff_t>(stored.rows * stored.columns * heads);
  std::vector<double> distances(rows.begin(), split);
  if (grid.rows != side || grid.columns != side) {
    distances = on_other_grid(distances, stored, wanted, linear_shares);
  }
  // From [CLS] to a patch, from a patch to it, to itself.
  const std::size_t to_patch = wanted.rows * wanted.columns;
  distances.insert(distances.end(), split, rows.end());
  const auto row_of = [&](std::size_t query, std::size_t key) {
    if (query < before) return key < before ? to_patch + 2 : to_patch;
    if (key < before) return to_patch + 1;
    const std::size_t i = query - before, j = key - before;
    const std::size_t down = i / grid.columns + grid.rows - 1 - j / grid.columns,
                      across = i % grid.columns + grid.columns - 1 - j % grid.columns;
    return down * wanted.columns + across;
  };
  const std::size_t length = before + patches;
  std::vector<double> all(heads * length * length);
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t i = 0; i < length; ++i) {
      double* const row = all.data() + (h * length + i) * length;
      for (std::size_t j = 0; j < length; ++j) row[j] = distances[row_of(i, j) * heads + h];
    }
  }
  return Tensor({1, heads, length, length}, std::move(all)).converted(dtype);
}

PatchGrid grid_at(const PatchGrid& of_picture, const ModelLayer& layer) {
  PatchGrid grid = of_picture;
  for (std::size_t i = 0; i < layer.mergings; ++i) {
    grid = {(grid.rows + 1) / 2, (grid.columns + 1) / 2};
  }
  return grid;
}

namespace {

// The first patch of a window's rows or columns is at `shift`, or a window's side away from it.
std::size_t window_shift(const PatchWindow& window, const PatchGrid& grid) {
  return window.shifted && std::min(grid.rows, grid.columns) > window.side ? window.side / 2 : 0;
}

}  // namespace

Tensor patch_windows(const PatchWindow& window, const PatchGrid& grid) {
  if (grid.rows % window.side != 0 || grid.columns % window.side != 0) {
    throw input_error(translated("{1} × {2} patches are not filled by windows of {3} × {3}",
                                 grid.rows, grid.columns, window.side),
                      "", translated("let it be resized to the size of the configuration"));
  }
  const std::size_t shift = window_shift(window, grid), across = grid.columns / window.side + 1;
  const auto number = [&](std::size_t at) { return (at + window.side - shift) / window.side; };
  std::vector<std::int64_t> numbers;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns; ++column) {
      numbers.push_back(static_cast<std::int64_t>(number(row) * (across + 1) + number(column)));
    }
  }
  return {{1, numbers.size()}, std::move(numbers)};
}

Tensor window_biases(const Tensor& table, const PatchWindow& window, const PatchGrid& grid,
                     DType dtype) {
  const std::vector<double> rows = doubles_of(table);
  const std::size_t heads = table.shape()[1], side = window.side,
                    patches = grid.rows * grid.columns;
  const Tensor windows = patch_windows(window, grid);
  const auto numbers = windows.values<std::int64_t>();
  const auto fill = [&]<class T>(T) {
    std::vector<T> all(heads * patches * patches);
    for (std::size_t i = 0; i < patches; ++i) {
      for (std::size_t j = 0; j < patches; ++j) {
        if (numbers[i] != numbers[j]) continue;
        const std::size_t down = i / grid.columns + side - 1 - j / grid.columns,
                          across = i % grid.columns + side - 1 - j % grid.columns;
        const double* const row = rows.data() + (down * (2 * side - 1) + across) * heads;
        for (std::size_t h = 0; h < heads; ++h) {
          all[(h * patches + i) * patches + j] = static_cast<T>(row[h]);
        }
      }
    }
    return Tensor({1, heads, patches, patches}, std::move(all));
  };
  return dtype == DType::float64 ? fill(double()) : fill(float()).converted(dtype);
}

Tensor PatchMerging::merged(const Tensor& states, const PatchGrid& grid) const {
  const std::size_t width = states.shape()[2];
  const PatchGrid half{(grid.rows + 1) / 2, (grid.columns + 1) / 2};
  const std::size_t patches = half.rows * half.columns;
  const Tensor rows = with_floats(states, [&]<class T>(std::span<const T> from) {
    std::vector<T> all(patches * 4 * width, T(0));
    for (std::size_t i = 0; i < patches; ++i) {
      for (std::size_t part = 0; part < 4; ++part) {  // below, then to the right
        const std::size_t row = 2 * (i / half.columns) + part % 2,
                          column = 2 * (i % half.columns) + part / 2;
        if (row >= grid.rows || column >= grid.columns) continue;
        const auto at = from.subspan((row * grid.columns + column) * width, width);
        std::ranges::copy(at, all.begin() + static_cast<std::ptrdiff_t>((4 * i + part) * width));
      }
    }
    return Tensor({1, patches, 4 * width}, std::move(all));
  });
  const bool before = norm.weight.size() == 4 * width;
  const Tensor y = apply(reduction, before ? apply(norm, rows, eps, threads) : rows, threads);
  return before ? y : apply(norm, y, eps, threads);
}

std::vector<std::string> picture_tokens(const Architecture& model, const PatchGrid& grid) {
  const TensorNames& names = model.stacks.front().names;
  std::vector<std::string> all;
  if (names.contains(class_token)) all.emplace_back("[CLS]");
  if (names.contains(distillation_token)) all.emplace_back("[DIST]");
  for (std::size_t i = 1; i <= model.vision->registers; ++i) {
    all.push_back("[REG" + std::to_string(i) + "]");
  }
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::size_t column = 0; column < grid.columns; ++column) {
      all.push_back(std::to_string(row) + "," + std::to_string(column));
    }
  }
  return all;
}

void check_vision(const Architecture& model, const StackWeights& names,
                  const CheckpointWeights& weights, std::vector<std::string>& used) {
  const VisionPart& vision = *model.vision;
  const std::size_t width = model.stacks.front().layers.front().width;
  // Sizes of 1 in front do not count.
  const auto expect = [&](WeightPurpose purpose, const char* part, Shape wanted, bool needed) {
    if (!model.stacks.front().names.contains(purpose)) return Shape();
    const auto name = names.found(purpose, std::nullopt, part);
    if (!name && !needed) return Shape();
    if (!name) {
      throw input_error(translated("the weights have no tensor {1}",
                                   in_quotes(names.name(purpose, std::nullopt))),
                        weights.place(), translated("the file is incomplete: download it again"));
    }
    used.push_back(*name);
    Shape shape = weights.shape(*name);
    while (shape.size() > wanted.size() && shape.front() == 1) shape.erase(shape.begin());
    bool fits = shape.size() == wanted.size();
    for (std::size_t i = 0; fits && i < wanted.size(); ++i) {
      fits = shape[i] > 0 && (wanted[i] == 0 || shape[i] == wanted[i]);
    }
    std::string help;
    if (purpose == tokens && shape.size() == 4 && shape[2] == shape[3] &&
        shape[2] != vision.patch) {
      help = other_number("patch_size", vision.patch, shape[2]);
    }
    if (!fits) refuse_shape(weights, *name, weights.shape(*name), wanted, help);
    return shape;
  };
  const std::size_t pixels = vision.patch * vision.patch;
  const auto stored = names.shape(tokens, std::nullopt, "weight");
  expect(tokens, "weight",
         stored && stored->size() == 2 ? Shape{width, 3 * pixels}
                                       : Shape{width, 3, vision.patch, vision.patch},
         true);
  expect(tokens, "bias", {width}, false);
  expect(positions, "weight", {first_tokens(model) + vision.side * vision.side, width}, true);
  expect(class_token, "weight", {width}, true);
  expect(distillation_token, "weight", {width}, true);
  if (vision.registers == 1) {
    expect(registers, "weight", {width}, true);
  } else if (vision.registers > 0) {
    expect(registers, "weight", {vision.registers, width}, true);
  }
  for (const char* part : {"weight", "bias"}) {
    expect(embedding_norm, part, {width}, true);
    expect(pooled_norm, part, {width}, false);
    expect(pooling_norm, part, {width}, false);
  }
  if (!expect(probe, "weight", {width}, false).empty()) {
    expect(pooling_in, "_weight", {3 * width, width}, true);
    expect(pooling_in, "_bias", {3 * width}, true);
    expect(pooling_output, "weight", {width, width}, true);
    expect(pooling_output, "bias", {width}, false);
    expect(pooling_norm, "weight", {width}, true);
    const std::size_t hidden = expect(pooling_up, "weight", {0, width}, true)[0];
    expect(pooling_up, "bias", {hidden}, false);
    expect(pooling_down, "weight", {width, hidden}, true);
    expect(pooling_down, "bias", {width}, false);
  }
  const auto projection = [&](const std::string& name, std::size_t columns) {
    if (name.empty() || !weights.has(name + ".weight")) return;
    used.push_back(name + ".weight");
    const Shape& shape = weights.shape(used.back());
    if (shape.size() != 2 || shape[0] == 0 || shape[1] != columns) {
      refuse_shape(weights, used.back(), shape, {0, columns});
    }
    if (!weights.has(name + ".bias")) return;
    used.push_back(name + ".bias");
    const Shape bias{shape[0]};
    if (weights.shape(used.back()) != bias) {
      refuse_shape(weights, used.back(), weights.shape(used.back()), bias);
    }
  };
  projection(vision.projection, width);
  if (!model.text) return;
  projection(vision.text_projection, model.text->width);
  for (const char* name : {"logit_scale", "logit_bias"}) {
    if (!weights.has(name)) continue;
    used.emplace_back(name);
    if (element_count(weights.shape(name)) != 1)
      refuse_shape(weights, name, weights.shape(name), {1});
  }
}

PatchEmbedding read_patch_embedding(const Architecture& model, const CheckpointWeights& weights,
                                    const PatchGrid& grid) {
  const StackWeights names(weights, model, model.stacks.front());
  const auto read = [&](WeightPurpose purpose, const char* part) {
    return names.find(purpose, std::nullopt, part);
  };
  PatchEmbedding own;
  own.patch = model.vision->patch;
  const Tensor pixels = read(tokens, "weight");
  own.pixels = Linear{channel_by_channel(pixels), read(tokens, "bias")};
  std::vector<Tensor> first;
  for (const WeightPurpose purpose : {class_token, distillation_token}) {
    if (const Tensor token = read(purpose, "weight")) {
      first.push_back(rows_of_width(token.converted(DType::float64), model.width));
    }
  }
  if (!first.empty()) own.first = concatenated(first);
  if (model.vision->registers > 0)
    own.registers = rows_of_width(read(registers, "weight"), model.width);
  if (const Tensor table = read(positions, "weight")) {
    own.positions = positions_for(model, table, grid);
  }
  if (const Tensor norm = read(embedding_norm, "weight")) {
    own.norm = Norm{norm, read(embedding_norm, "bias"), model.norm};
  }
  return own;
}

std::optional<PooledPicture> pooled_picture(const Architecture& model,
                                            const CheckpointWeights& weights, const Tensor& states,
                                            DType dtype, std::size_t threads) {
  const StackWeights names(weights, model, model.stacks.front());
  const auto read = [&](WeightPurpose purpose, const char* part) {
    return names.find(purpose, std::nullopt, part);
  };
  const auto norm = [&](WeightPurpose purpose, const Tensor& x) {
    const Norm own{read(purpose, "weight"), read(purpose, "bias"), model.norm};
    return apply(own, x, model.eps, threads);
  };
  if (const Tensor probe_row = read(probe, "weight")) {
    const Shape one{1, 1, model.width};
    const StoredLinear all = Linear{read(pooling_in, "_weight"), read(pooling_in, "_bias")};
    AttentionWeights own;
    own.query = all.rows(0, model.width);
    own.key = all.rows(model.width, model.width);
    own.value = all.rows(2 * model.width, model.width);
    Sequences sequences{probe_row.reshaped(one).converted(dtype), states};
    sequences.heads = model.heads;
    AttentionOptions pooling;
    pooling.dtype = dtype;
    pooling.threads = threads;
    const AttentionResult result = attend(project(pooling, sequences, own, dtype));
    const auto linear = [&](WeightPurpose purpose, const Tensor& x, const Epilogue& then = {}) {
      return apply(Linear{read(purpose, "weight"), read(purpose, "bias")}, x, threads, then);
    };
    const Tensor x = linear(pooling_output, result.output);
    const Tensor wide =
        linear(pooling_up, norm(pooling_norm, x), activating(curve_of(model.activation)));
    return PooledPicture{result.weights, numbers_of(sum(x, linear(pooling_down, wide)))};
  }
  if (model.stacks.front().names.contains(pooled_norm) && read(pooled_norm, "weight")) {
    const Tensor rows = states.reshaped({states.shape()[1], states.shape()[2]});
    return PooledPicture{{}, numbers_of(norm(pooled_norm, rows_of(rows, 0, 1)))};
  }
  return std::nullopt;
}

Tensor similarity_of(const Architecture& model, const CheckpointWeights& weights,
                     const std::vector<std::vector<double>>& pictures,
                     const std::vector<Tensor>& texts,
                     const std::vector<std::vector<std::int64_t>>& ids) {
  const VisionPart& vision = *model.vision;
  std::vector<std::vector<double>> of_pictures, of_texts;
  for (const std::vector<double>& x : pictures) {
    of_pictures.push_back(
        of_length_one(vision.projection.empty() ? x : projected(weights, vision.projection, x)));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Tensor rows = texts[i].reshaped({texts[i].shape()[1], texts[i].shape()[2]});
    const std::vector<double> x = numbers_of(rows_of(rows, pooled_token(vision, ids[i]), 1));
    of_texts.push_back(of_length_one(projected(weights, vision.text_projection, x)));
  }
  const double scale = std::exp(stored_number(weights, "logit_scale"));
  const double shift = weights.has("logit_bias") ? stored_number(weights, "logit_bias") : 0;
  std::vector<double> all;
  for (const auto& a : of_pictures) {
    for (const auto& b : of_texts) {
      if (a.size() != b.size()) {
        throw input_error(
            translated("pooled pictures have {1} numbers and pooled texts {2}", a.size(), b.size()),
            weights.place(),
            translated("the configuration and the weights do not belong together"));
      }
      double product = 0;
      for (std::size_t i = 0; i < a.size(); ++i) product += a[i] * b[i];
      all.push_back(product * scale + shift);
    }
  }
  return {{pictures.size(), texts.size()}, std::move(all)};
}

}  // namespace attn
