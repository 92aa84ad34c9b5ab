#pragma once

#include <iterator>
#include <string_view>
#include <vector>

namespace attn {

/// A value with its name in documents, flags and lists.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

/// The names of a table, whose rows each have one.
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

}  // namespace attn
