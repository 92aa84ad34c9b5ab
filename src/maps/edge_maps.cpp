#include "maps/edge_maps.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "io/raw_array.hpp"
#include "result/tensor_names.hpp"
#include "support/errors.hpp"
#include "support/memory.hpp"
#include "support/translated.hpp"

namespace attn {
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
