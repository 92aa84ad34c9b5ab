#include "cli/flags_of_fields.hpp"

#include <string_view>
#include <utility>

namespace attn::cli {
namespace {

// The structs whose fields are flags of the same name: RunOptions::valid_lens is --valid-lens.
constexpr std::string_view structs[]{
    "AttentionRequest", "BatchOptions",   "BenchRequest", "CompareRequest",
    "DocumentOptions",  "ExplainOptions", "HeadCounting", "HeadsCorpusOptions",
    "HeadsOptions",     "RolloutOptions", "FileAccess",   "Limits",
    "MapSelection",     "PlotRequest",    "RunOptions",   "ViewOptions"};

// Those that are not. What stands within another one comes after it.
constexpr std::pair<std::string_view, std::string_view> exceptions[]{
    {"AttentionRequest::weights", "--no-weights"},
    {"CompareRequest::renamed", "--map"},
    {"BatchOptions::inputs", "attn-cli batch"},
    {"BenchRequest::kind", "--attention"},
    {"DocumentOptions::texts", "--text"},
    {"FileAccess::restrict_to", "--restrict"},
    {"Limits::elements", "--max-elements"},
    {"Limits::file_bytes", "--max-file-size"},
    {"Limits::nesting", "--max-nesting"},
    {"Limits::unpacked_bytes", "--max-unpacked-size"},
    {"MapSelection::chosen_heads", "--heads"},
    {"PlotRequest::others", "attn-cli plot"},
    {"RunOptions::weights", "--no-weights"},
    {"ViewOptions::others", "attn-cli view"},
    {"explain()", "attn-cli explain"},
    {"merge_summaries()", "--merge"},
    {"model_row()", "attn-cli model FOLDER --row"},
    {"picture_format()", "--out"},
    {"run() and RunOptions::plots", "attn-cli run --plots"},
    {"run() and RunOptions::stages", "attn-cli run --stages"},
    {"the sizes of BenchRequest", "--shape"},
};

void replace_exceptions(std::string& text) {
  for (const auto& [field, flag] : exceptions) {
    for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at)) {
      text.replace(at, field.size(), flag);
      at += flag.size();
    }
  }
}

void replace_fields(std::string& text, std::string_view structure) {
  const std::string start = std::string(structure) + "::";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
    text.replace(at, start.size(), "--");
    const auto in_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
    for (at += 2; at < text.size() && in_name(text[at]); ++at) {
      if (text[at] == '_') text[at] = '-';
    }
  }
}

}  // namespace

std::string with_flags(std::string text) {
  replace_exceptions(text);
  for (const std::string_view structure : structs) replace_fields(text, structure);
  return text;
}

Error with_flags(const Error& error) {
  return {error.kind(), with_flags(error.problem()), with_flags(error.where()),
          with_flags(error.help())};
}

}  // namespace attn::cli
