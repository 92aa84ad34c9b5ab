#include "document/state_checks.hpp"

#include <algorithm>
#include <cctype>

#include "document/fields.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Packed sequences [T,H,D], which are read as T samples of H positions.
std::vector<std::string> packed_warnings(const Sequences& states) {
  if (states.query.rank() != 3 || states.past_key) return {};
  const Shape& query = states.query.shape();
  const Shape& key = states.key_or_query().shape();
  const std::size_t tokens = query[0], heads = query[1], width = query[2];
  const bool of_heads =
      heads > 1 && (heads == 2 || heads % 4 == 0) && width >= 16 && width % 8 == 0;
  const bool packed = key.size() == 3 && key[0] == tokens && heads % key[1] == 0;
  // Samples of so few positions are rarely so many.
  if (!of_heads || !packed || tokens < 3 * heads) return {};
  return {translated(
      "query {1} is read as [B,L,D], {2} samples of {3} positions: if it is [L,H,D], write "
      "\"layout\": \"LHD\" in query, key and value, and \"layout\": \"BLD\" if it is right",
      text(query), tokens, heads)};
}

}  // namespace

std::vector<std::string> layout_warnings(const Sequences& states) {
  if (states.query.rank() == 3) return packed_warnings(states);
  // A cache says by its own axes which of them grows.
  if (states.query.rank() != 4 || states.past_key) return {};
  const Shape& query = states.query.shape();
  const Shape& key = states.key_or_query().shape();
  if (key.size() != 4) return {};
  // Models have 1, 2, 4, 8, 12… heads; texts have any length.
  const auto usual = [](std::size_t heads) { return heads < 3 || heads % 4 == 0; };
  const std::size_t heads = query[1], length = query[2];
  const bool more_heads = heads > length && length > 1 && key[1] > key[2] &&
                          (key[2] == length || (key[1] == heads && length % key[2] == 0));
  if (!more_heads || (usual(heads) && !(usual(length) && heads >= 2 * length))) return {};
  return {translated(
      "query {1} is read as [B,H,L,D], {2} heads of {3} positions: if it is [B,L,H,D], write "
      "\"layout\": \"BLHD\" in query, key and value, and \"layout\": \"BHLD\" if it is right",
      text(query), query[1], query[2])};
}

std::vector<std::string> swapped_layout_warnings(const Sequences& states) {
  if (states.query.rank() != 4 || states.past_key) return {};
  const Shape& query = states.query.shape();
  const Shape& key = states.key_or_query().shape();
  if (key.size() != 4 || key[1] != query[1] || key[2] != query[2]) return {};
  // Models with so many heads have heads of 128 columns, and few have more than 128 heads.
  constexpr std::size_t many = 64, most = 128, wide = 128, times = 8;
  const std::size_t heads = query[1], length = query[2];
  const bool usual_count = length == 2 || (length > 0 && length % 4 == 0);
  if (heads < many || heads < times * length || !usual_count) return {};
  if (query[3] >= wide && heads <= most) return {};
  return {translated(
      "query is read as {1}, {2} heads of {3} positions, by its \"layout\": if the tensors are "
      "[B,H,L,D] already, leave \"layout\" out, and if it is right, write \"transpose\": [0,2,1,3] "
      "in its place",
      text(query), heads, length)};
}

std::vector<std::string> fused_part_warnings(const JsonValue& query, const Sequences& states) {
  const JsonValue *const slice = query.find("slice"), *const layout = query.find("layout");
  const auto is_text = [](const JsonValue* value) {
    return value != nullptr && value->is(JsonValue::Type::string);
  };
  if (!is_text(slice) || !is_text(layout) || layout->string() != "BLHD") return {};
  const Shape &read = states.query.shape(), &key = states.key_or_query().shape();
  constexpr std::size_t parts = 3;
  if (read.size() != 4 || key.size() != 4 || read[2] != parts || key[2] != parts) return {};
  std::string plain = slice->string();
  std::erase_if(plain, [](char c) { return c == ' ' || c == '[' || c == ']'; });
  // One position of the second axis, and all of those behind it.
  const bool of_second = plain.starts_with(":,") && plain.size() > 2 &&
                         std::all_of(plain.begin() + 2, plain.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  if (!of_second) return {};
  return {
      translated("the slice {1} leaves 3 positions to query: if the file is [B,L,3,H,D], write "
                 "\"slice\": \":, :, {2}\" there, and likewise in key and value",
                 in_quotes(slice->string()), plain.substr(2))};
}

std::vector<std::string> place_warnings(const ReadMask& mask, const AttentionOptions& options,
                                        const Geometry& geometry) {
  const std::size_t reach = geometry.past + geometry.queries;
  // Causality has a warning of its own.
  if (mask.causal || mask.aligned || !mask.ends_at.empty() || reach >= geometry.keys) return {};
  std::string parts;
  const auto add = [&](bool given, const char* part) {
    if (given) parts += (parts.empty() ? "" : name_separator()) + part;
  };
  add(mask.window.has_value(), "mask.window");
  add(mask.chunk.has_value(), "mask.chunk");
  add(mask.alibi.has_value(), "mask.alibi");
  add(options.rotary && !options.rotary->positions, "rotary");
  add(options.relative_bias.has_value(), "relative_bias");
  if (parts.empty()) return {};
  return {
      translated("{1} with {2} and {3}: the last query stands at key {4}; write \"mask\": "
                 "{\"align\": \"lower_right\"} if it stands at the last key, as with a cache, or "
                 "\"align\": \"upper_left\" if it is right",
                 parts, translated_count(geometry.queries, "{1} query", "{1} queries"),
                 translated_count(geometry.keys, "{1} key", "{1} keys"), reach - 1)};
}

}  // namespace attn
