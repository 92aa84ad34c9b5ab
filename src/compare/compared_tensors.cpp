#include "compare/compared_tensors.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <type_traits>
#include <utility>

#include "maps/attention_map.hpp"
#include "maps/filed_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Positions that are taken of each axis.
using Places = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> counted(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

Tensor gathered(const Tensor& tensor, const Places& places) {
  Shape shape;
  for (const auto& places_of_axis : places) shape.push_back(places_of_axis.size());
  if (shape == tensor.shape()) return tensor;  // each is taken once
  const std::size_t bytes = size_of(tensor.dtype()), rank = shape.size();
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t axis = rank; axis-- > 1;) {
    strides[axis - 1] = strides[axis] * tensor.shape()[axis];
  }
  const std::size_t count = element_count(shape);
  auto elements = std::make_shared<std::vector<std::byte>>(count * bytes);
  const auto* const from = static_cast<const std::byte*>(tensor.bytes());
  Shape at(rank, 0);
  for (std::size_t done = 0; done < count; ++done) {
    std::size_t offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      offset += places[axis][at[axis]] * strides[axis];
    std::memcpy(elements->data() + done * bytes, from + offset * bytes, bytes);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  const std::byte* const start = elements->data();
  return Tensor::borrowed(std::move(shape), tensor.dtype(), start, std::move(elements));
}

// The chosen part of a map [layers,B,H,Lq,Lk], or of fewer of these axes, its layers one by one.
Tensor part_of_maps(const Tensor& tensor, const std::vector<MapAxis>& axes, const std::string& name,
                    const MapRequest& maps, const Labels& labels) {
  const auto has = [&](MapAxis axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  const Tensor usual = in_usual_order(tensor, axes);
  const bool layered = has(MapAxis::layer);
  const Shape own(usual.shape().begin() + (layered ? 1 : 0), usual.shape().end());
  std::vector<Tensor> layers;
  for (std::size_t i = 0; i < (layered ? usual.shape()[0] : 1); ++i) {
    AttentionMap map;
    map.tensor = name;
    map.meaning = TensorMeaning::other_map;
    map.heads_only = has(MapAxis::head) && !has(MapAxis::batch);
    map.numbers = part_of(usual, i * element_count(own), own);
    if (map.numbers.dtype() != DType::float32) map.numbers = map.numbers.converted(DType::float64);
    map.labels = fitted(fitting_labels(labels, maps.selection, own[own.size() - 2], own.back()),
                        own[own.size() - 2], own.back(), "/labels");
    layers.push_back(chosen_part(std::move(map), maps.selection).numbers);
  }
  return layers.size() == 1 ? layers[0] : concatenated(layers);
}

// Throws Error(usage) where a chosen axis is none of a tensor of another program.
void check_axes(const Tensor& tensor, const std::string& name, const MapRequest& maps) {
  if (!tensor || !maps.axes.empty() || is_result_name(name)) return;
  const auto refuse = [&](bool given, const char* field, const char* axis) {
    if (!given) return;
    throw Error(ErrorKind::usage,
                translated("nothing says which axis of {1} {2} {3} chooses in", name,
                           attn::text(tensor.shape()), field),
                field, translated("name the axes with MapRequest::axes, such as {1}", axis));
  };
  const MapSelection& selection = maps.selection;
  refuse(tensor.rank() < 4 && (selection.chosen_heads || heads_together(selection)),
         "MapSelection::chosen_heads", "head");
}

// What is chosen of a tensor that has its slice and its sizes.
Tensor chosen_of(const Tensor& tensor, const std::string& name, const MapRequest& maps,
                 const Labels& labels) {
  const MapSelection& selection = maps.selection;
  std::vector<MapAxis> axes = whole_axes(maps.axes);
  if (axes.empty()) axes = {MapAxis::batch, MapAxis::head, MapAxis::query, MapAxis::key};
  if (maps.axes.empty() && takes_part(selection) && tensor && tensor.rank() < axes.size() &&
      tensor.rank() >= 2 && (takes_positions(selection) || selection.chosen_samples)) {
    axes.erase(axes.begin() + (tensor.rank() == 3 ? 1 : 0), axes.begin() + 2);
  }
  if (!tensor || tensor.rank() != axes.size()) return tensor;
  Places places;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t count = tensor.shape()[i];
    const bool samples = axes[i] == MapAxis::batch && !samples_together(selection);
    const bool heads = axes[i] == MapAxis::head && !heads_together(selection);
    if (axes[i] == MapAxis::layer) {
      places.push_back(numbers_in(selection.layers, count, "MapSelection::layers", counted_layers));
    } else if (samples) {
      places.push_back(numbers_in(selection.chosen_samples, count, "MapSelection::chosen_samples",
                                  counted_samples));
    } else if (heads) {
      places.push_back(
          numbers_in(selection.chosen_heads, count, "MapSelection::chosen_heads", counted_heads));
    } else {
      places.push_back(counted(count));
    }
  }
  const Tensor chosen = gathered(tensor, places);
  if (!takes_positions(selection)) return chosen;
  MapRequest rest = maps;
  if (!samples_together(selection)) rest.selection.chosen_samples.reset();
  if (!heads_together(selection)) rest.selection.chosen_heads.reset();
  return part_of_maps(chosen, axes, name, rest, labels);
}

}  // namespace

Tensor compared_part(const Tensor& whole, const std::string& name, const MapRequest& maps,
                     const Labels& labels) {
  const Tensor tensor = taken_tensor(whole, maps);
  check_axes(tensor, name, maps);
  // Log-sum-exps [B,H,Lq] have no axis of keys.
  const bool of_sums = maps.axes.empty() && tensor && tensor.rank() == 3 && is_sums(name);
  if (!of_sums || takes_positions(maps.selection)) return chosen_of(tensor, name, maps, labels);
  Shape shape = tensor.shape();
  shape.push_back(1);
  const Tensor part = chosen_of(tensor.reshaped(shape), name, maps, labels);
  return part.reshaped({part.shape()[0], part.shape()[1], part.shape()[2]});
}

Tensor leading_part(const Tensor& tensor, const Shape& shape) {
  Places places;
  for (const std::size_t size : shape) places.push_back(counted(size));
  return gathered(tensor, places);
}

namespace {

constexpr std::size_t chunk_elements = std::size_t{1} << 20;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Type that elements of both are compared in.
template <class A, class B>
using Common = std::conditional_t<std::is_integral_v<typename A::value_type> &&
                                      std::is_integral_v<typename B::value_type>,
                                  std::int64_t, double>;

bool alike(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

bool alike(std::int64_t a, std::int64_t b) {
  return a == b;
}

double distance(double a, double b) {
  return std::isfinite(a) && std::isfinite(b) ? std::abs(a - b) : infinity;
}

// The difference of two integers may need 64 bits and no sign.
double distance(std::int64_t a, std::int64_t b) {
  const auto difference = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                                : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  return static_cast<double>(difference);
}

float narrowed(double error) {
  if (error <= std::numeric_limits<float>::max()) return static_cast<float>(error);
  return std::numeric_limits<float>::infinity();
}

// Whether an error |a − b| is allowed for |b|; an infinite b would allow any a.
bool is_within(double error, double size, Tolerances allowed) {
  return std::isfinite(error) && error <= allowed.atol + allowed.rtol * size;
}

template <class A, class B>
ElementDifferences compare_chunk(std::span<const A> a, std::span<const B> b, std::size_t first,
                                 Tolerances allowed) {
  using Wide = Common<std::span<const A>, std::span<const B>>;
  ElementDifferences found;
  for (std::size_t i = first; i < std::min(a.size(), first + chunk_elements); ++i) {
    const auto x = static_cast<Wide>(a[i]), y = static_cast<Wide>(b[i]);
    const double size = std::abs(static_cast<double>(y));
    if (std::isfinite(size)) found.squares_of_b += static_cast<long double>(size) * size;
    if (alike(x, y)) continue;
    const double error = distance(x, y);
    found.sum += error;
    found.squares += static_cast<long double>(error) * error;
    const double relative = std::isfinite(error) ? error / size : infinity;
    if (error > found.absolute.error) found.absolute = {error, i};
    if (relative > found.relative.error) found.relative = {relative, i};
    if (is_within(error, size, allowed)) continue;
    if (found.beyond++ == 0) found.first_beyond = i;
  }
  return found;
}

}  // namespace

ElementDifferences element_differences(const Tensor& a, const Tensor& b, Tolerances allowed,
                                       std::size_t threads) {
  std::vector<ElementDifferences> chunks((a.size() + chunk_elements - 1) / chunk_elements);
  parallel_for(chunks.size(), threads, [&](std::size_t chunk) {
    chunks[chunk] = with_elements(a, [&](auto x) {
      return with_elements(
          b, [&](auto y) { return compare_chunk(x, y, chunk * chunk_elements, allowed); });
    });
  });
  ElementDifferences all;
  for (const ElementDifferences& chunk : chunks) {
    if (chunk.absolute.error > all.absolute.error) all.absolute = chunk.absolute;
    if (chunk.relative.error > all.relative.error) all.relative = chunk.relative;
    if (!all.first_beyond) all.first_beyond = chunk.first_beyond;
    all.beyond += chunk.beyond;
    all.sum += chunk.sum;
    all.squares += chunk.squares;
    all.squares_of_b += chunk.squares_of_b;
  }
  return all;
}

namespace {

template <class A, class B>
bool agree(A a, B b, Tolerances allowed) {
  using Wide = Common<std::span<const A>, std::span<const B>>;
  const auto x = static_cast<Wide>(a), y = static_cast<Wide>(b);
  return alike(x, y) || is_within(distance(x, y), std::abs(static_cast<double>(y)), allowed);
}

constexpr std::size_t most_permuted = 5;  ///< axes of a tensor whose orders are tried

// Elements of b, one after the other, beside those of a whose axes are in another order.
template <class A, class B>
bool agree_in_order(std::span<const A> a, std::span<const B> b, const Shape& shape,
                    const Shape& strides, Tolerances allowed) {
  std::array<std::size_t, most_permuted> at{};
  std::size_t offset = 0;
  for (const B& element : b) {
    if (!agree(a[offset], element, allowed)) return false;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      at[axis] = 0;
    }
  }
  return true;
}

}  // namespace

std::vector<TensorComparison::Confined> confined_differences(const Tensor& a, const Tensor& b,
                                                             Tolerances allowed) {
  const Shape& shape = a.shape();
  std::vector<std::vector<char>> differs;
  for (const std::size_t size : shape) differs.emplace_back(size, 0);
  with_elements(a, [&](auto x) {
    with_elements(b, [&](auto y) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (agree(x[i], y[i], allowed)) continue;
        std::size_t rest = i;
        for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
          differs[axis][rest % shape[axis]] = 1;
        }
      }
    });
  });
  std::vector<TensorComparison::Confined> confined;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    TensorComparison::Confined one{"", axis, shape[axis], {}};
    for (std::size_t i = 0; i < shape[axis]; ++i) {
      if (differs[axis][i] != 0) one.places.push_back(i);
    }
    if (!one.places.empty() && one.places.size() < one.size) confined.push_back(std::move(one));
  }
  return confined;
}

std::optional<Shape> agreeing_order(const Tensor& a, const Tensor& b, Tolerances allowed) {
  const std::size_t rank = a.rank();
  if (rank != b.rank() || rank > most_permuted || a.size() != b.size() || a.size() == 0) return {};
  Shape order = counted(rank), strides(rank, 1);
  for (std::size_t axis = rank; axis-- > 1;) strides[axis - 1] = strides[axis] * a.shape()[axis];
  while (std::next_permutation(order.begin(), order.end())) {
    Shape shape, ordered;
    for (const std::size_t axis : order) {
      shape.push_back(a.shape()[axis]);
      ordered.push_back(strides[axis]);
    }
    if (shape != b.shape()) continue;
    const bool agrees = with_elements(a, [&](auto x) {
      return with_elements(b,
                           [&](auto y) { return agree_in_order(x, y, shape, ordered, allowed); });
    });
    if (agrees) return order;
  }
  return {};
}

bool agree_joined(const Tensor& a, const Tensor& b, Tolerances allowed) {
  const Tensor& split = a.rank() > b.rank() ? a : b;
  const Tensor& joined = a.rank() > b.rank() ? b : a;
  const std::size_t rank = split.rank();
  const bool has_heads = rank == 3 || rank == 4;
  if (!has_heads || joined.rank() + 1 != rank || a.size() != b.size()) return false;
  Shape order = counted(rank), shape;
  std::swap(order[rank - 3], order[rank - 2]);
  for (const std::size_t axis : order) shape.push_back(split.shape()[axis]);
  Shape whole(shape.begin(), shape.end() - 1);
  whole.back() *= shape.back();
  return joined.shape() == whole &&
         agreeing_order(split, joined.reshaped(shape), allowed) == std::optional(order);
}

std::optional<double> agreeing_factor(const Tensor& a, const Tensor& b, Tolerances allowed) {
  if (a.shape() != b.shape()) return {};
  return with_elements(a, [&](auto x) {
    return with_elements(b, [&](auto y) -> std::optional<double> {
      long double products = 0, squares = 0;
      std::size_t telling = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto one = static_cast<double>(x[i]), other = static_cast<double>(y[i]);
        if (std::isinf(one) && one == other) continue;
        products += static_cast<long double>(one) * other;
        squares += static_cast<long double>(other) * other;
        if (other != 0) ++telling;
      }
      constexpr std::size_t several = 3;
      const double factor = squares > 0 ? static_cast<double>(products / squares) : 0;
      if (telling < several || !std::isfinite(factor) || factor == 0) return {};
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = factor * static_cast<double>(y[i]);
        if (std::isinf(expected) && static_cast<double>(x[i]) == expected) continue;
        const double error = std::abs(static_cast<double>(x[i]) - expected);
        if (!is_within(error, std::abs(expected), allowed)) return {};
      }
      return factor;
    });
  });
}

std::vector<double> error_quantiles(const Tensor& a, const Tensor& b,
                                    const std::vector<double>& shares, std::size_t left_out) {
  std::vector<float> errors;
  errors.reserve(a.size());
  with_elements(a, [&](auto x) {
    return with_elements(b, [&](auto y) {
      using Wide = Common<decltype(x), decltype(y)>;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const auto one = static_cast<Wide>(x[i]), other = static_cast<Wide>(y[i]);
        errors.push_back(alike(one, other) ? 0 : narrowed(distance(one, other)));
      }
      return ElementDifferences();
    });
  });
  std::vector<double> quantiles;
  for (const double share : shares) {
    const double counted = std::ceil(share * static_cast<double>(errors.size() - left_out));
    const std::size_t rank = left_out + static_cast<std::size_t>(std::max(0.0, counted - 1));
    const auto at = errors.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(errors.begin(), at, errors.end());
    quantiles.push_back(*at);
  }
  return quantiles;
}

namespace {

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // all of it without a point, as npos + 1 is 0
}

// The rows of any head: [B,H,L] → [B,L], unseen where no head sees a key.
UnseenRows of_all_heads(const UnseenRows& rows) {
  const std::size_t rank = rows.shape.size();
  const std::size_t heads = rows.shape[rank - 2], queries = rows.shape[rank - 1];
  const std::size_t samples = rows.unseen.size() / (heads * queries);
  UnseenRows together{rows.shape, std::vector<char>(samples * queries, 1)};
  together.shape.erase(together.shape.end() - 2);
  for (std::size_t i = 0; i < rows.unseen.size(); ++i) {
    char& unseen = together.unseen[i / (heads * queries) * queries + i % queries];
    unseen = static_cast<char>(unseen != 0 && rows.unseen[i] != 0);
  }
  return together;
}

// The rows once for each of the heads, if they are the same for all of them.
UnseenRows for_heads(const UnseenRows& rows, std::size_t heads) {
  const std::size_t rank = rows.shape.size();
  if (rank < 2 || rows.shape[rank - 2] != 1) return rows;
  const auto queries = static_cast<std::ptrdiff_t>(rows.shape[rank - 1]);
  UnseenRows result{rows.shape, {}};
  result.shape[rank - 2] = heads;
  for (auto row = rows.unseen.begin(); row != rows.unseen.end(); row += queries) {
    for (std::size_t head = 0; head < heads; ++head) {
      result.unseen.insert(result.unseen.end(), row, row + queries);
    }
  }
  return result;
}

bool begins_with(const Shape& shape, const Shape& start) {
  return shape.size() >= start.size() && std::equal(start.begin(), start.end(), shape.begin());
}

}  // namespace

UnseenRows unseen_rows(const Tensor& tensor, std::string_view quantity) {
  const bool sums = quantity == "lse";
  UnseenRows rows{tensor.shape(), {}};
  if (!sums) rows.shape.pop_back();
  const std::size_t width = sums ? 1 : tensor.shape().back();
  with_elements(tensor, [&]<class T>(std::span<const T> numbers) {
    for (std::size_t first = 0; first < numbers.size(); first += width) {
      const auto row = numbers.subspan(first, width);
      rows.unseen.push_back(static_cast<char>(std::ranges::all_of(row, [sums](T number) {
        const auto value = static_cast<double>(number);
        return sums ? value == -std::numeric_limits<double>::infinity()
                    : value == 0 || std::isnan(value);
      })));
    }
  });
  return rows;
}

UnseenRows unseen_in_either(const UnseenRows& a, const UnseenRows& b) {
  if (a.unseen.empty() || b.unseen.empty()) return a.unseen.empty() ? b : a;
  if (a.shape.size() != b.shape.size()) return a;
  const std::size_t rank = a.shape.size();
  const std::size_t heads = rank < 2 ? 1 : std::max(a.shape[rank - 2], b.shape[rank - 2]);
  UnseenRows either = for_heads(a, heads);
  const UnseenRows other = for_heads(b, heads);
  if (either.shape != other.shape) return a;
  for (std::size_t i = 0; i < either.unseen.size(); ++i) {
    either.unseen[i] = static_cast<char>(either.unseen[i] != 0 || other.unseen[i] != 0);
  }
  return either;
}

Cleared without_unseen(const Tensor& tensor, std::string_view name, const UnseenRows& rows) {
  if (rows.unseen.empty()) return {tensor, 0, 0};
  const std::size_t rank = rows.shape.size();
  const bool by_row = last_part(name) == "lse" ? tensor.rank() == rank : tensor.rank() == rank + 1;
  UnseenRows fitting;
  if (by_row) {
    fitting = rank < 2 ? rows : for_heads(rows, tensor.shape()[rank - 2]);
  } else if (tensor.rank() == rank && rank >= 2 && !is_map(name)) {
    fitting = of_all_heads(rows);
  } else {
    return {tensor, 0, 0};
  }
  if (!begins_with(tensor.shape(), fitting.shape)) return {tensor, 0, 0};
  const auto count = static_cast<std::size_t>(std::ranges::count(fitting.unseen, 1));
  if (count == 0) return {tensor, 0, 0};
  const std::size_t width = tensor.size() / fitting.unseen.size();
  const std::size_t bytes = width * size_of(tensor.dtype());
  const auto* const from = static_cast<const std::byte*>(tensor.bytes());
  auto elements =
      std::make_shared<std::vector<std::byte>>(from, from + fitting.unseen.size() * bytes);
  for (std::size_t i = 0; i < fitting.unseen.size(); ++i) {
    if (fitting.unseen[i] != 0) std::memset(elements->data() + i * bytes, 0, bytes);
  }
  const std::byte* const start = elements->data();
  return {Tensor::borrowed(tensor.shape(), tensor.dtype(), start, std::move(elements)), count,
          count * width};
}

}  // namespace attn
