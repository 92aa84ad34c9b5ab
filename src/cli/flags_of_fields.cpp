#include "cli/flags_of_fields.hpp"

#include <string_view>
#include <utility>

namespace attn::cli {
namespace {

// What stands within another one comes after it.
constexpr std::pair<std::string_view, std::string_view> flags[]{
    {"AttentionRequest::pool", "--pool"},
    {"AttentionRequest::weights", "--no-weights"},
    {"BatchOptions::files_from", "--files-from"},
    {"BatchOptions::inputs", "attn-cli batch"},
    {"BatchOptions::resume", "--resume"},
    {"BatchOptions::shard", "--shard"},
    {"BenchRequest::kind", "--attention"},
    {"DocumentOptions::attention", "--attention"},
    {"DocumentOptions::causal", "--causal"},
    {"DocumentOptions::dtype", "--dtype"},
    {"DocumentOptions::heads", "--heads"},
    {"DocumentOptions::pool.size", "the number of --pool"},
    {"DocumentOptions::pool", "--pool"},
    {"DocumentOptions::scale", "--scale"},
    {"DocumentOptions::seed", "--seed"},
    {"DocumentOptions::valid_lens", "--valid-lens"},
    {"ExplainOptions::head", "--head"},
    {"ExplainOptions::layer", "--layer"},
    {"ExplainOptions::query", "--query"},
    {"ExplainOptions::sample", "--sample"},
    {"FileAccess::restrict_to", "--restrict"},
    {"Limits::elements", "--max-elements"},
    {"Limits::file_bytes", "--max-file-size"},
    {"Limits::nesting", "--max-nesting"},
    {"Limits::unpacked_bytes", "--max-unpacked-size"},
    {"MapSelection::drop_first", "--drop-first"},
    {"MapSelection::keys", "--keys"},
    {"MapSelection::merge_pieces", "--merge-pieces"},
    {"MapSelection::queries", "--queries"},
    {"MapSelection::renormalize", "--renormalize"},
    {"PlotRequest::name", "--name"},
    {"run() and RunOptions::plots", "attn-cli run --plots"},
    {"run() and RunOptions::stages", "attn-cli run --stages"},
    {"RunOptions::head", "--head"},
    {"RunOptions::out", "--out"},
    {"RunOptions::plots", "--plots"},
    {"RunOptions::sample", "--sample"},
    {"RunOptions::stages", "--stages"},
    {"RunOptions::tensors", "--tensors"},
    {"RunOptions::weights", "--no-weights"},
    {"merge_summaries()", "--merge"},
    {"picture_format()", "--out"},
    {"the sizes of BenchRequest", "--shape"},
};

}  // namespace

std::string with_flags(std::string text) {
  for (const auto& [field, flag] : flags) {
    for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at)) {
      text.replace(at, field.size(), flag);
      at += flag.size();
    }
  }
  return text;
}

Error with_flags(const Error& error) {
  return {error.kind(), with_flags(error.problem()), with_flags(error.where()),
          with_flags(error.help())};
}

}  // namespace attn::cli
