#include "maps/assembled_maps.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "result/tensor_names.hpp"
#include "support/memory.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::string_view digits = "0123456789", places = "{step}.{layer}";

struct StepName {
  std::string beginning;
  std::size_t step = 0, layer = 0;
};

std::optional<StepName> step_name(std::string_view name) {
  const std::size_t point = name.rfind('.');
  if (point == name.npos || point == 0) return std::nullopt;
  std::size_t start = name.find_last_not_of(digits, point - 1);
  start = start == name.npos ? 0 : start + 1;
  StepName found{std::string(name.substr(0, start))};
  const auto read = [&](std::size_t first, std::size_t end, std::size_t& number) {
    const auto [stop, error] = std::from_chars(name.data() + first, name.data() + end, number);
    return first < end && error == std::errc() && stop == name.data() + end;
  };
  const bool numbered = read(start, point, found.step) && read(point + 1, name.size(), found.layer);
  // "layers.3.0" and "block3.0" are no steps.
  const bool begins = found.beginning.empty() || found.beginning.ends_with('.');
  if (!numbered || !begins || found.beginning.ends_with("layers.")) return std::nullopt;
  return found;
}

}  // namespace

bool is_a_step(const std::string& name) {
  return step_name(name).has_value();
}

std::string beginning_of_steps(const std::string& name) {
  const auto found = step_name(name);
  return found ? found->beginning : "";
}

std::string pattern_of_steps(const std::string& beginning) {
  return beginning + std::string(places);
}

std::vector<LayerOfSteps> steps_of_layers(const std::vector<std::string>& names,
                                          const std::optional<std::string>& pattern) {
  std::optional<std::string> beginning;
  if (pattern) {
    if (!pattern->ends_with(places)) return {};
    beginning = pattern->substr(0, pattern->size() - places.size());
  }
  std::map<std::size_t, std::map<std::size_t, std::string>> layers;  // of steps
  std::set<std::size_t> steps;
  for (const std::string& name : names) {
    const auto found = step_name(name);
    if (!found) continue;
    if (!beginning) beginning = found->beginning;
    if (found->beginning != *beginning) continue;
    layers[found->layer][found->step] = name;
    steps.insert(found->step);
  }
  const bool whole = steps.size() > 1 && *steps.rbegin() - *steps.begin() + 1 == steps.size();
  std::vector<LayerOfSteps> all;
  for (const auto& [layer, own] : layers) {
    if (!whole || own.size() != steps.size()) return {};
    LayerOfSteps& of = all.emplace_back();
    of.layer = layer;
    for (const auto& [step, name] : own) of.tensors.push_back(name);
  }
  return all;
}

std::optional<StepRows> rows_of_steps(const std::vector<Shape>& shapes) {
  if (shapes.size() < 2) return std::nullopt;
  for (const Shape& shape : shapes) {
    if (shape.size() != 4) return std::nullopt;
  }
  const Shape &first = shapes[0], &second = shapes[1];
  const bool grows = second[3] == first[3] + 1, repeats = grows && second[2] == first[2] + 1;
  for (std::size_t t = 1; t < shapes.size(); ++t) {
    const Shape& shape = shapes[t];
    const std::size_t rows = repeats ? first[2] + t : 1, keys = first[3] + (grows ? t : 0);
    // The samples of a search by beams are more after the prompt.
    if (shape[1] != first[1] || shape[2] != rows || shape[3] != keys) return std::nullopt;
  }
  return repeats ? StepRows::all : StepRows::one;
}

namespace {

// Keys that a row of a prompt sees: those up to its own place where all later ones are zero.
std::size_t seen_keys(const double* row, std::size_t query, std::size_t keys) {
  const bool later = std::any_of(row + query + 1, row + keys, [](double x) { return x != 0; });
  return later ? keys : query + 1;
}

}  // namespace

StitchedSteps stitched(std::vector<Tensor> steps, const Tensor& beams, const Limits& limits,
                       const std::string& file) {
  StitchedSteps all;
  for (const Tensor& step : steps) all.shapes.push_back(step.shape());
  const std::size_t step_of_first =
      rows_of_steps(all.shapes) == StepRows::all ? steps.size() - 1 : 0;
  all.shapes.erase(all.shapes.begin(),
                   all.shapes.begin() + static_cast<std::ptrdiff_t>(step_of_first));
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(step_of_first));
  const Shape &first = steps[0].shape(), &last = steps.back().shape();
  const std::size_t samples = beams ? beams.shape()[0] : first[0], heads = first[1];
  const std::size_t queries = first[2] + steps.size() - 1, keys = last[3];
  const Shape shape{samples, heads, queries, keys};
  check_element_limit(element_count(shape), limits.elements, file);
  check_memory(element_count(shape), sizeof(double) + 1, translated("the joined maps of all steps"),
               file);
  const bool grows = step_of_first > 0 || last[3] > first[3];
  std::vector<double> numbers(element_count(shape), 0);
  std::vector<std::uint8_t> allowed(numbers.size(), grows ? 0 : 1);
  const Tensor chosen = beams ? beams.converted(DType::int64) : Tensor();
  bool any_hidden = grows;
  for (std::size_t t = 0, row = 0; t < steps.size(); row += all.shapes[t++][2]) {
    const Shape& own = all.shapes[t];
    const std::size_t number = t + step_of_first;
    const Tensor step = steps[t].converted(DType::float64);
    for (std::size_t b = 0; b < samples; ++b) {
      std::int64_t from = static_cast<std::int64_t>(b);
      if (beams) {
        from = number < beams.shape()[1]
                   ? chosen.values<std::int64_t>()[b * beams.shape()[1] + number]
                   : -1;
      }
      if (from >= static_cast<std::int64_t>(own[0])) {
        throw input_error(
            translated("there is no sample {1}: step {2} has {3}", from, number, own[0]),
            "beam_indices", translated("give the indices of these steps"));
      }
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t i = 0; i < own[2]; ++i) {
          const std::size_t at = ((b * heads + h) * queries + row + i) * keys;
          const auto seen_from = allowed.begin() + static_cast<std::ptrdiff_t>(at);
          if (from < 0) {
            std::fill_n(seen_from, keys, std::uint8_t{0});
            any_hidden = true;
            continue;
          }
          const auto sample = static_cast<std::size_t>(from);
          const double* values =
              step.values<double>().data() + ((sample * heads + h) * own[2] + i) * own[3];
          std::copy_n(values, own[3], numbers.begin() + static_cast<std::ptrdiff_t>(at));
          const std::size_t seen =
              t == 0 && own[2] == own[3] ? seen_keys(values, i, own[3]) : own[3];
          if (grows) std::fill_n(seen_from, seen, std::uint8_t{1});
        }
      }
    }
  }
  all.numbers = Tensor(shape, std::move(numbers));
  if (any_hidden) all.allowed = Tensor(shape, std::move(allowed));
  return all;
}

namespace {

// Whether all numbers can count nodes.
bool counts_nodes(const Tensor& tensor) {
  constexpr double most_nodes = 1e7;
  const Tensor wide = tensor.converted(DType::float64);
  return std::ranges::all_of(wide.values<double>(), [](double number) {
    return number >= 0 && number < most_nodes && std::trunc(number) == number;
  });
}

std::string_view folder_of(std::string_view name) {
  const std::size_t point = name.rfind('.');
  return point == name.npos ? std::string_view() : name.substr(0, point);
}

// The tensor that says where the numbers "data" of a sparse matrix stand; absent if there is none.
std::optional<std::string> places_of_sparse(const std::vector<std::string>& names) {
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  if (!has("data") || !has("shape")) return std::nullopt;
  if (has("indices") && has("indptr")) return "indptr";
  return has("row") && has("col") ? std::optional<std::string>("row") : std::nullopt;
}

// Reads a sparse matrix.
class SparseMatrix {
 public:
  SparseMatrix(ResultReader& file, const EdgeList& list)
      : file_(file), starts_(list.nodes == "indptr") {
    const std::vector<double> shape = doubles("shape");
    places_ = doubles(list.nodes);
    others_ = doubles(starts_ ? "indices" : "col");
    data_ = doubles(list.weights);
    if (shape.size() != 2 || !(shape[0] >= 1) || !(shape[1] >= 1) || data_.size() > others_.size())
      refuse();
    check_element_limit(shape[0] * shape[1], file.access().limits.elements,
                        translated("the sparse matrix"), file.name());
    rows_ = static_cast<std::size_t>(shape[0]);
    columns_ = static_cast<std::size_t>(shape[1]);
    check_memory(rows_ * columns_, sizeof(double), translated("the sparse matrix"), file.name());
  }

  Tensor map() const {
    if (!starts_) return dense([&](std::size_t i) { return std::pair(places_[i], others_[i]); });
    const std::vector<double> lines = lines_of_starts();
    const auto by_rows = [&](std::size_t i) { return std::pair(lines[i], others_[i]); };
    const auto by_columns = [&](std::size_t i) { return std::pair(others_[i], lines[i]); };
    const bool rows_fit = places_.size() == rows_ + 1, columns_fit = places_.size() == columns_ + 1;
    if (!rows_fit && !columns_fit) refuse();
    if (!columns_fit) return dense(by_rows);
    if (!rows_fit) return dense(by_columns);
    Tensor rows = dense(by_rows), columns = dense(by_columns);
    return has_rows_of_weights(columns) && !has_rows_of_weights(rows) ? columns : rows;
  }

 private:
  std::vector<double> doubles(const std::string& name) const {
    const Tensor wide = file_.numbers(name).converted(DType::float64);
    return {wide.values<double>().begin(), wide.values<double>().end()};
  }
  [[noreturn]] void refuse() const {
    throw input_error(translated("the parts of the sparse matrix do not fit together"),
                      file_.name(), translated("save it again with scipy.sparse.save_npz"));
  }

  // The row or column of each number.
  std::vector<double> lines_of_starts() const {
    std::vector<double> lines;
    for (std::size_t line = 0; line + 1 < places_.size(); ++line) {
      const double count = places_[line + 1] - places_[line];
      if (!(count >= 0) || count > static_cast<double>(data_.size() - lines.size())) refuse();
      lines.insert(lines.end(), static_cast<std::size_t>(count), static_cast<double>(line));
    }
    if (lines.size() != data_.size()) refuse();
    return lines;
  }

  template <class Place>
  Tensor dense(const Place& place) const {
    std::vector<double> numbers(rows_ * columns_, 0);
    for (std::size_t i = 0; i < data_.size(); ++i) {
      const auto [row, column] = place(i);
      const bool there = row >= 0 && row < static_cast<double>(rows_) && column >= 0 &&
                         column < static_cast<double>(columns_);
      if (!there) refuse();
      numbers[static_cast<std::size_t>(row) * columns_ + static_cast<std::size_t>(column)] +=
          data_[i];
    }
    return Tensor({rows_, columns_}, std::move(numbers));
  }

  ResultReader& file_;
  bool starts_;  // whether places are the starts of lines, not rows
  std::vector<double> places_, others_, data_;
  std::size_t rows_ = 0, columns_ = 0;
};

}  // namespace

std::vector<EdgeList> edge_lists(ResultReader& file) {
  if (const auto places = places_of_sparse(file.names())) return {{*places, "data"}};
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const std::string& name : file.names()) {
    try {
      if (const Tensor tensor = file.numbers(name)) shapes.emplace_back(name, tensor.shape());
    } catch (const Error&) {
      continue;  // one that cannot be read
    }
  }
  std::vector<EdgeList> lists;
  for (const auto& [nodes, shape] : shapes) {
    if (shape.size() != 2 || shape[0] != 2 || shape[1] < 2) continue;
    const std::size_t before = lists.size();
    for (const auto& [weights, own] : shapes) {
      const bool fits = (own.size() == 1 || own.size() == 2) && own[0] == shape[1];
      if (fits && weights != nodes && folder_of(weights) == folder_of(nodes)) {
        lists.push_back({nodes, weights});
      }
    }
    if (lists.size() > before && !counts_nodes(file.numbers(nodes))) lists.resize(before);
  }
  return lists;
}

Tensor map_of_edges(ResultReader& file, const EdgeList& list) {
  if (places_of_sparse(file.names()) == list.nodes) return SparseMatrix(file, list).map();
  const Tensor nodes = file.numbers(list.nodes).converted(DType::float64),
               weights = file.numbers(list.weights).converted(DType::float64);
  const auto node = nodes.values<double>();
  const auto weight = weights.values<double>();
  const std::size_t edges = nodes.shape()[1], heads = weights.size() / edges;
  const std::size_t count = static_cast<std::size_t>(*std::ranges::max_element(node)) + 1;
  const double elements =
      static_cast<double>(heads) * static_cast<double>(count) * static_cast<double>(count);
  check_element_limit(elements, file.access().limits.elements,
                      translated("the map of {1} nodes", count), file.name());
  check_memory(heads * count * count, sizeof(double), translated("the map of {1} nodes", count),
               file.name());
  std::vector<double> numbers(heads * count * count, 0);
  for (std::size_t edge = 0; edge < edges; ++edge) {
    const auto from = static_cast<std::size_t>(node[edge]),
               to = static_cast<std::size_t>(node[edges + edge]);
    for (std::size_t head = 0; head < heads; ++head) {
      numbers[(head * count + to) * count + from] += weight[edge * heads + head];
    }
  }
  Shape shape{count, count};
  if (weights.rank() == 2) shape.insert(shape.begin(), heads);
  return {shape, std::move(numbers)};
}

}  // namespace attn
