#include "maps/decoding_steps.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

struct StepName {
  std::string prefix;
  std::size_t step = 0, layer = 0;
};

std::optional<StepName> step_name(std::string_view name) {
  const std::size_t last = name.rfind('.');
  if (last == name.npos) return std::nullopt;
  const std::size_t before = name.substr(0, last).rfind('.');
  const std::size_t begin = before == name.npos ? 0 : before + 1;
  StepName own{std::string(name.substr(0, begin))};
  if (!parse_number(name.substr(begin, last - begin), own.step) ||
      !parse_number(name.substr(last + 1), own.layer)) {
    return std::nullopt;
  }
  return own;
}

// Names by step and layer; absent if one is missing between them.
std::optional<std::vector<std::vector<std::string>>> grid_of(
    const std::map<std::pair<std::size_t, std::size_t>, std::string>& places) {
  const auto [steps, layers] = places.rbegin()->first;
  if (places.begin()->first != std::pair<std::size_t, std::size_t>() || steps == 0 ||
      steps >= places.size() || layers >= places.size() ||
      places.size() != (steps + 1) * (layers + 1)) {
    return std::nullopt;
  }
  std::vector<std::vector<std::string>> names(steps + 1);
  for (const auto& [place, name] : places) names[place.first].push_back(name);
  const bool whole =
      std::ranges::all_of(names, [&](const auto& step) { return step.size() == layers + 1; });
  return whole ? std::optional(std::move(names)) : std::nullopt;
}

// Fills what the shapes say. False if they are not those of a decoding.
bool read_shapes(DecodingSteps& own, const std::map<std::string, Shape>& shapes) {
  const Shape& first = shapes.at(own.tensors[0][0]);
  if (first.size() != 4) return false;
  own.samples = first[0];
  own.prompt = first[2];
  const Shape& second = shapes.at(own.tensors[1][0]);
  if (second.size() != 4) return false;
  own.self = second[3] == first[3] + 1;
  own.repeats = second[2] == first[2] + 1;
  if (!own.self && second[3] != first[3]) return false;
  for (std::size_t step = 0; step < own.steps(); ++step) {
    Shape wanted = first;
    if (own.self) wanted[3] += step;
    if (step > 0) wanted[2] = own.repeats ? first[2] + step : 1;
    for (const std::string& name : own.tensors[step]) {
      Shape shape = shapes.at(name);
      if (shape.size() != 4) return false;
      wanted[1] = shape[1];  // layers may have other numbers of heads
      if (shape != wanted) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<DecodingSteps> decoding_steps(ResultReader& file) {
  std::map<std::string, std::map<std::pair<std::size_t, std::size_t>, std::string>> found;
  std::vector<std::string> order;
  for (const std::string& name : file.names()) {
    const std::optional<StepName> own = step_name(name);
    if (!own) continue;
    auto& places = found[own->prefix];
    if (places.empty()) order.push_back(own->prefix);
    places.emplace(std::pair(own->step, own->layer), name);
  }
  std::vector<DecodingSteps> all;
  for (const std::string& prefix : order) {
    const auto grid = grid_of(found[prefix]);
    if (!grid) continue;
    DecodingSteps own;
    own.prefix = prefix;
    own.tensors = *grid;
    std::map<std::string, Shape> shapes;
    try {
      for (const auto& step : own.tensors) {
        for (const std::string& name : step) shapes[name] = file.numbers(name).shape();
      }
    } catch (const Error&) {
      continue;  // one that cannot be read
    }
    if (!read_shapes(own, shapes)) continue;
    own.beams = std::ranges::count(file.names(), "beam_indices") > 0;
    all.push_back(std::move(own));
  }
  return all;
}

JoinedSteps joined_steps(ResultReader& file, const std::vector<std::string>& of_layer,
                         bool repeats) {
  std::vector<Tensor> steps;
  for (const std::string& name : of_layer) {
    steps.push_back(file.numbers(name).converted(DType::float64));
  }
  // Where a step repeats the rows before it, the last one has all of them.
  if (repeats) steps.erase(steps.begin(), steps.end() - 1);
  const Shape& last = steps.back().shape();
  std::size_t rows = 0;
  for (const Tensor& step : steps) rows += step.shape()[2];
  const Shape shape{last[0], last[1], rows, last[3]};
  check_element_limit(element_count(shape), file.access().limits.elements, file.name());
  check_memory(element_count(shape), sizeof(double), translated("the joined maps of all steps"),
               file.name());
  std::vector<double> numbers(element_count(shape), 0);
  std::vector<std::uint8_t> there(shape[0] * rows * shape[3], 0);
  std::size_t row = 0;
  for (const Tensor& step : steps) {
    const Shape& own = step.shape();
    const auto values = step.values<double>();
    for (std::size_t map = 0; map < shape[0] * shape[1]; ++map) {
      for (std::size_t i = 0; i < own[2]; ++i) {
        const auto from = values.begin() + static_cast<std::ptrdiff_t>((map * own[2] + i) * own[3]);
        std::copy_n(
            from, own[3],
            numbers.begin() + static_cast<std::ptrdiff_t>((map * rows + row + i) * shape[3]));
      }
    }
    for (std::size_t sample = 0; sample < shape[0]; ++sample) {
      for (std::size_t i = 0; i < own[2]; ++i) {
        std::fill_n(
            there.begin() + static_cast<std::ptrdiff_t>((sample * rows + row + i) * shape[3]),
            own[3], std::uint8_t{1});
      }
    }
    row += own[2];
  }
  return {Tensor(shape, std::move(numbers)),
          Tensor({shape[0], 1, rows, shape[3]}, std::move(there))};
}

}  // namespace attn
