#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "attn/error.hpp"
#include "attn/run.hpp"

namespace attn::cli {

/// Whether the whole text is one number of that type.
template <class Number>
bool parse_number(const std::string& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// What the text of a flag means. Each throws Error(usage) naming the flag and what it takes.

std::size_t whole_number(const std::string& flag, const std::string& text, std::size_t least = 0);
std::int64_t integer(const std::string& flag, const std::string& text);
double finite_number(const std::string& flag, const std::string& text);
/// A whole number of at least 1, of which k, M, G and T make thousands and so on.
std::uint64_t large_number(const std::string& flag, const std::string& text);
/// A finite number of at least 0.
double finite_size(const std::string& flag, const std::string& text);
std::vector<std::string> comma_separated(const std::string& text);
/// The same, where a part in double quotes may hold commas; two quotes in it are one.
std::vector<std::string> quoted_list(const std::string& flag, const std::string& text);
/// One position, "3" or "-1", or some that follow one another, "0:6".
PositionRange position_range(const std::string& flag, const std::string& text, bool single = false);
bool is_digits(const std::string& text);

/// "give …"
Error wrong_value(const std::string& flag, const std::string& text, const std::string& expected);

/// The index of `text` among the names, with the nearest one in the error.
std::size_t choice(const std::string& flag, const std::string& text,
                   std::span<const std::string_view> names);

/// The names of a table, whose rows each have one.
template <class Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  names.reserve(std::size(table));
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

/// The row of that name.
template <class Table>
const auto& chosen(const std::string& flag, const std::string& text, const Table& table) {
  return table[choice(flag, text, names_of(table))];
}

/// "png, svg or pdf"
std::string alternatives(std::span<const std::string_view> names);

}  // namespace attn::cli
