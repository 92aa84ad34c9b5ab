#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/reader.hpp"
#include "document/state_checks.hpp"
#include "io/json_value.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Whether a tensor is [B,L,H,D] of another [B,H,L,D], of which the axes of length may differ.
bool has_heads_behind(const Tensor& tensor, const Tensor& usual) {
  if (tensor.rank() != 4 || usual.rank() != 4) return false;
  return tensor.shape()[1] != usual.shape()[1] && tensor.shape()[2] == usual.shape()[1];
}

// What makes [B,H,L,D] of a query of one token in each sample, which has no axis of length.
std::string view_of_one_token(const Shape& samples_heads_width) {
  const Shape& shape = samples_heads_width;
  return "\"reshape\": " + text({shape[0], shape[1], 1, shape[2]});
}

// Whether a query [B,H,D] has the heads and the width of a cache of keys [B,H,L,D].
bool may_lack_length(const Sequences& states) {
  const Tensor &query = states.query, &key = states.key;
  return query && key && query.rank() == 3 && key.rank() == 4 && key.shape()[1] > 0 &&
         query.shape()[1] % key.shape()[1] == 0 && query.shape()[2] == key.shape()[3];
}

// Whether values are gathered from pages [N,H,D,P], in which the keys of a page come last.
bool may_be_turned_pages(const DocumentParts& parts) {
  const Tensor &key = parts.states.key, &value = parts.states.value;
  return parts.plan.pages && key && value && key.rank() == 4 && value.rank() == 4 &&
         !parts.has("value", "transpose") &&
         value.shape()[2] * value.shape()[3] == key.shape()[1] * key.shape()[2];
}

// Sizes of pages that are read as [N,P,H,D] and may be [N,H,P,D]; nothing where they cannot be.
struct PageSizes {
  std::size_t keys, heads;
};
std::optional<PageSizes> doubtful_pages(const DocumentParts& parts) {
  const Tensor &query = parts.states.query, &key = parts.states.key;
  if (!parts.plan.pages || !query || !key || query.rank() != 4 || key.rank() != 4) return {};
  for (const char* member : {"layout", "transpose", "view"}) {
    if (parts.has("key", member)) return {};
  }
  const PageSizes sizes{key.shape()[2] / parts.plan.pages->pages_of_sample(), key.shape()[1]};
  return query.shape()[1] % sizes.keys == 0 ? std::optional(sizes) : std::nullopt;
}

std::string layout_of_pages() {
  return translated("write {1} into key and value if their pages are [N,H,P,D]",
                    R"("layout": "BHLD")");
}

// Warns of pages of fewer keys than kernels have, whose number of heads may be that of the keys:
// it is one of theirs.
std::vector<std::string> page_doubts(const DocumentParts& parts) {
  constexpr std::size_t fewest_keys = 16;
  const auto sizes = doubtful_pages(parts);
  if (!sizes || sizes->keys < 2 || sizes->keys >= fewest_keys || sizes->heads % fewest_keys != 0)
    return {};
  return {
      translated("the pages of key are read as [N,P,H,D], {1} keys of {2} heads: {3}, and {4} if "
                 "it is right",
                 sizes->keys, sizes->heads, layout_of_pages(), R"("layout": "BLHD")")};
}

// Warns of a layout that made tokens of one sample of those that are each of a sample of keys.
std::vector<std::string> shared_query_doubts(const DocumentParts& parts) {
  const Tensor &query = parts.states.query, &key = parts.states.key;
  if (parts.plan.pages || !key || query.rank() != 4 || key.rank() != 4) return {};
  const Shape& shape = query.shape();
  const std::size_t samples = key.shape()[0];
  if (shape[0] != 1 || samples < 2 || shape[2] != samples || !parts.has("query", "layout"))
    return {};
  return {translated(
      "query is read as {1} by its \"layout\", {2} tokens of one sample, which the {2} samples of "
      "the key share: if each has a token of its own, write {3} instead of the layout",
      text(shape), samples, view_of_one_token({samples, shape[1], shape[3]}))};
}

// Warns of a file of four axes without a layout beside one that has it, where it has the heads of
// that layout too.
std::vector<std::string> mixed_layout_doubts(const DocumentParts& parts) {
  const Sequences& states = parts.states;
  const std::pair<const char*, const Tensor&> all[]{
      {"query", states.query}, {"key", states.key}, {"value", states.value}};
  const auto layout_of = [&](const char* name) -> std::string {
    const JsonValue* const layout =
        parts.has(name, "layout") ? parts.find(name)->find("layout") : nullptr;
    return layout != nullptr && layout->is(JsonValue::Type::string) ? layout->string() : "";
  };
  for (const auto& [other, beside] : all) {
    if (layout_of(other) != "BLHD" || beside.rank() != 4) continue;
    for (const auto& [name, tensor] : all) {
      if (!tensor || tensor.rank() != 4 || !parts.has(name, "file") || parts.has(name, "layout") ||
          parts.has(name, "transpose") || parts.has(name, "view"))
        continue;
      // A query of one token, [B,H,1,D], has them in one order alone.
      const std::size_t heads = tensor.shape()[2], others = beside.shape()[1];
      const bool may_be = &tensor == &states.query ? heads % others == 0 : others % heads == 0;
      if (!may_be) continue;
      return {
          translated("{1} is read as [B,H,L,D], but {2} has {3}: write that into {1} too, or {4} "
                     "if it is right",
                     name, other, R"("layout": "BLHD")", R"("layout": "BHLD")")};
    }
  }
  return {};
}

// Whether keys of another number of samples than the queries, beside the lengths of these, may be
// pages without their table.
bool may_be_pages(const DocumentParts& parts) {
  const Tensor &query = parts.states.query, &key = parts.states.key;
  return parts.find("valid_lens") != nullptr && !parts.plan.pages && query && key &&
         query.rank() == key.rank() && key.rank() >= 3 && query.shape()[0] != key.shape()[0];
}

}  // namespace

std::vector<std::string> layout_doubts(const DocumentParts& parts) {
  if (!parts.is(Family::score)) return {};
  if (auto doubts = shared_query_doubts(parts); !doubts.empty()) return doubts;
  if (auto doubts = page_doubts(parts); !doubts.empty()) return doubts;
  if (auto doubts = mixed_layout_doubts(parts); !doubts.empty()) return doubts;
  const auto is_swapped = [&](const char* name) {
    if (!parts.has(name, "layout")) return false;
    const JsonValue& layout = *parts.find(name)->find("layout");
    return layout.is(JsonValue::Type::string) && layout.string() == "BLHD";
  };
  if (is_swapped("query") && (is_swapped("key") || parts.find("key") == nullptr))
    return swapped_layout_warnings(parts.states);
  for (const char* name : {"query", "key"}) {
    if (parts.has(name, "layout") || parts.has(name, "transpose") || parts.has(name, "view"))
      return {};
  }
  return layout_warnings(parts.states);
}

Error with_layout(const Error& error, const DocumentParts& parts) {
  const auto in_layout = [&](const char* at, const Tensor& tensor, const Tensor& usual) {
    return error.where() == at && has_heads_behind(tensor, usual);
  };
  const Sequences& states = parts.states;
  const JsonValue* const gradient = parts.find("gradient");
  const JsonValue* const output = gradient != nullptr ? gradient->find("output") : nullptr;
  const bool of_gradient = in_layout("/gradient/output", parts.plan.output_gradient, states.query);
  if (const JsonValue* file = output != nullptr ? output->find("file") : nullptr;
      of_gradient && file != nullptr && file->is(JsonValue::Type::string)) {
    // The file of an option has no place for a layout.
    return {error.kind(), error.problem(), error.where(),
            translated("write \"gradient\": {\"output\": {\"file\": \"{1}\", \"layout\": "
                       "\"BLHD\"}} into the document instead if it is [B,L,H,D]",
                       file->string())};
  }
  if (of_gradient || in_layout("/past_key", states.past_key, states.key_or_query()) ||
      in_layout("/past_value", states.past_value, states.value_or_key()) ||
      (in_layout("/value", states.value, states.key_or_query()) && !parts.has("value", "layout"))) {
    return {error.kind(), error.problem(), error.where(),
            translated("write \"layout\": \"BLHD\" into it if it is [B,L,H,D]")};
  }
  if (error.where() == "/key" && may_lack_length(states)) {
    return {error.kind(), error.problem(), error.where(),
            translated("write {1} into the query if it is [B,H,D], a token of each sample",
                       view_of_one_token(states.query.shape()))};
  }
  if (error.where() == "/value" && may_be_turned_pages(parts)) {
    return {error.kind(), error.problem(), error.where(),
            error.help() + translated("; ") +
                translated("write {1} into it if it is [N,H,D,P]", R"("transpose": [0,3,1,2])")};
  }
  const auto pages = doubtful_pages(parts);
  if (pages && error.where() == "/key" && states.query.shape()[1] % pages->heads != 0)
    return {error.kind(), error.problem(), error.where(), layout_of_pages()};
  const bool of_small_pages = pages && pages->keys < pages->heads;
  if (of_small_pages && error.where() == "/block_table") {
    return {error.kind(), error.problem(), error.where(),
            error.help() + translated("; ") + layout_of_pages()};
  }
  if (error.where() == "/key" && may_be_pages(parts)) {
    return {error.kind(), error.problem(), error.where(),
            error.help() + translated("; ") +
                translated("if these are the pages of a cache, give \"block_table\"")};
  }
  if (!error.where().starts_with("/valid_lens")) return error;
  std::string help = error.help();
  const bool of_entry = error.where().starts_with("/valid_lens/");
  if (of_entry && parts.plan.pages && states.key) {
    help += translated("; \"block_table\" names pages of {1} keys for each sample",
                       states.key.shape()[states.key.rank() - 2]);
  }
  if (of_entry && parts.decoder())
    help += translated("; those of the memory are \"memory_valid_lens\"");
  if (of_small_pages) help += translated("; ") + layout_of_pages();
  const auto doubts = of_small_pages ? std::vector<std::string>() : layout_doubts(parts);
  for (const std::string& doubt : doubts) help += translated("; ") + doubt;
  return {error.kind(), error.problem(), error.where(), help};
}

}  // namespace attn
