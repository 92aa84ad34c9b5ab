#include <memory>
#include <string>
#include <utility>

#include "attn/compare.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/map_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

struct GivenToCompare {
  Common common;
  CompareRequest request;
  std::string picture;
  std::size_t sample = 0, head = 0;  // single ones, which the request's maps have too
};

void take_words(const std::vector<std::string>& words, CompareRequest& request) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli compare",
                 translated("write {1}", "attn-cli compare A B"));
  };
  if (words.size() < 2) throw usage(translated("two files are needed to compare"));
  if (words.size() > 2) throw usage(translated("more than two files to compare given"));
  if (words[0] == "-" && words[1] == "-")
    throw usage(translated("standard input can be only one of the files"));
  for (const std::string& word : words) refuse_model_folder(word, "attn-cli compare");
  request.a = words[0];
  request.b = words[1];
}

void take_picture(const std::string& text, GivenToCompare& given) {
  given.picture = text;
  try {
    given.request.picture = picture_format(text);
  } catch (const Error& error) {
    throw Error(error.kind(), error.problem(), "--plot", error.help());
  }
}

// Throws Error(usage) for a tolerance of one tensor alone: "output=1e-3".
void refuse_name(const std::string& flag, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) return;
  throw Error(ErrorKind::usage, translated("{1} is for all tensors that are compared", flag), flag,
              translated("compare one at a time: {1}", "--only " + text.substr(0, equals) + " " +
                                                           flag + " " + text.substr(equals + 1)));
}

double tolerance(const std::string& flag, const std::string& text) {
  refuse_name(flag, text);
  return finite_size(flag, text);
}

// --rtol and --atol override them.
void take_tolerances(const std::string& text, CompareRequest& request) {
  refuse_name("--tolerances", text);
  if (double number = 0; parse_number(text, number))
    throw written_otherwise("--tolerances", text, "--rtol " + text + " --atol " + text);
  // Tensor cores round float32 to as many digits as float16 has.
  constexpr std::pair<std::string_view, std::string_view> others[]{
      {"exact", "--rtol 0 --atol 0"}, {"none", "--rtol 0 --atol 0"}, {"tf32", "--tolerances f16"}};
  for (const auto& [name, meant] : others) {
    if (text == name) throw written_otherwise("--tolerances", text, std::string(meant));
  }
  const Tolerances row = chosen("--tolerances", text, tolerances_of_types()).value;
  if (!request.rtol) request.rtol = row.rtol;
  if (!request.atol) request.atol = row.atol;
}

std::pair<std::string, std::string> renaming(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw wrong_value("--map", text, translated("their name and ours, such as out=output"));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

int compare_files(const GivenToCompare& given) {
  CompareRequest request = given.request;
  request.threads = given.common.threads;
  Comparison comparison = compare(request);
  for (std::string& warning : comparison.warnings) warning = with_flags(warning);
  if (comparison.picture) write_picture(*comparison.picture, given.picture);
  if (!given.common.quiet) {
    warn(comparison.warnings);
    print(given.common.json ? comparison_json(comparison)
                            : terminal_lines(with_flags(comparison_text(comparison))));
  }
  return comparison.agree() ? 0 : 1;
}

}  // namespace

Command compare_command() {
  const auto given = std::make_shared<GivenToCompare>();
  CompareRequest& request = given->request;
  Command command{
      "compare",
      translated("Compare results tensor by tensor"),
      {"FILE FILE",
       translated("Two results or files of tensors, - for standard input"),
       [&request](const std::vector<std::string>& words) { take_words(words, request); },
       {},
       true},
      {},
      [given] { return compare_files(*given); }};
  Flags& flags = command.flags;
  flags.begin_group(FlagGroup::computation);
  flags.add("--rtol", "X", translated("Relative tolerance (default 1e-5; 0 for integers)"),
            [&](const std::string& text) { request.rtol = tolerance("--rtol", text); });
  flags.add("--atol", "X", translated("Absolute tolerance (default 1e-6; 0 for integers)"),
            [&](const std::string& text) { request.atol = tolerance("--atol", text); });
  flags.add(
      "--tolerances", "TYPE",
      translated(
          "Tolerances for numbers of a type, the same as in torch.testing: bf16, f16, f32, f64"),
      [&](const std::string& text) { take_tolerances(text, request); });
  for (const auto& row : tolerances_of_types()) flags.back().words.emplace_back(row.name);
  flags.add(
      "--only", "NAME,…",
      translated(
          "Tensors to compare: output, lse, layer{n}…; the last part of a dotted name is enough"),
      [&](const std::string& text) { request.only = comma_separated(text); });
  flags
      .add("--map", "THEIRS=OURS", translated("Rename a tensor before comparing; repeatable"),
           [&](const std::string& text) { request.renamed.push_back(renaming(text)); })
      .repeats = true;
  const auto add_layout = [&flags](const char* flag, std::string& layout, std::string help) {
    flags.add(flag, "LETTERS", std::move(help),
              [&layout](const std::string& text) { layout = text; });
  };
  add_layout("--layout", request.layout,
             translated("Order of the axes of A's tensors, such as BLHD: samples, positions, "
                        "heads, components"));
  add_layout("--layout-b", request.layout_b, translated("Order of the axes of B's tensors"));
  flags.toggle("--seen-only", request.seen_only,
               translated("Leave out rows of queries that see no key in either file"));
  flags.toggle("--strict", request.strict,
               translated("Count a tensor that only one file has as a difference"));
  flags.toggle("--overlap", request.overlap,
               translated("Compare tensors of different lengths where both have elements"));
  add_map_source(flags, request.maps);
  add_selection(flags, {request.maps.selection, given->sample, given->head});
  flags.begin_group(FlagGroup::pictures);
  flags.add("--plot", "FILE",
            translated("Picture of the largest difference to write: {1}", picture_extensions()),
            [given = given.get()](const std::string& text) { take_picture(text, *given); });
  add_dpi(flags, request.dpi);
  add_provenance(flags, request.provenance, translated("the picture"));
  flags.need({"--dpi", "--provenance"}, {"--plot"});
  flags.need({"--labels"},
             {"--query", "--drop", "--merge-pieces", "--words", "--blocks", "--plot"});
  add_files(flags, request.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
