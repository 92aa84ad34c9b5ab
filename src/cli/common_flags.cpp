#include "cli/common_flags.hpp"

#include "attn/cpu.hpp"
#include "attn/language.hpp"
#include "attn/spec.hpp"

#include "cli/spoken_language.hpp"

namespace attn::cli {

void add_common(Flags& flags, Common& common, const std::string& threads) {
  flags.toggle("--json", common.json, translated("Print the report as JSON"));
  flags.toggle("--quiet", common.quiet, translated("Print nothing but errors"));
  flags.toggle("--no-color", common.no_color, translated("Print without colours"));
  add_language(flags);
  flags.count(
      "--threads", common.threads, "N",
      threads.empty() ? translated("Threads to compute with (default: all cores)") : threads, 1);
  Flag& cpu = flags.add(
      "--cpu", "TARGET",
      translated("Instruction set to compute with: see attn-cli list (default: the best)"),
      [](const std::string& text) {
        try {
          use_cpu_target(text);
        } catch (const Error& error) {
          throw Error(error.kind(), error.problem(), "--cpu", error.help());
        }
      });
  cpu.words.assign(cpu_targets().begin(), cpu_targets().end());
}

void add_limits(Flags& flags, Limits& limits) {
  flags.add(
      "--max-file-size", "BYTES",
      translated("Largest file or standard input, such as 500M (default 64G, standard input 1G)"),
      [&](const std::string& text) {
        limits.file_bytes = limits.stream_bytes = large_number("--max-file-size", text);
      });
  flags.add("--max-unpacked-size", "BYTES",
            translated("Largest array in an .npz, unpacked (default 16G)"),
            [&](const std::string& text) {
              limits.unpacked_bytes = large_number("--max-unpacked-size", text);
            });
  flags.add(
      "--max-elements", "N",
      translated("Most numbers of a document, read and computed (default 1G)"),
      [&](const std::string& text) { limits.elements = large_number("--max-elements", text); });
  flags.add("--max-nesting", "N", translated("Deepest nesting of arrays and objects (default 512)"),
            [&](const std::string& text) {
              limits.nesting = whole_number("--max-nesting", text, 1);
              if (limits.nesting > deepest_nesting) {
                throw wrong_value("--max-nesting", text,
                                  translated("at most {1}", deepest_nesting));
              }
            });
}

void add_files(Flags& flags, FileAccess& access) {
  flags.text(
      "--restrict", access.restrict_to, "DIR",
      translated("Let documents name only files in this folder, for documents of strangers"));
  add_limits(flags, access.limits);
}

void add_provenance(Flags& flags, bool& target, const std::string& where) {
  flags.toggle(
      "--provenance", target,
      translated("Write the program's version, the CPU target and hashes of the input into {1}",
                 where));
}

Kind kind_named(const std::string& name, const std::string& where) {
  if (const KindInfo* kind = find_kind(name)) return kind->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& known : kinds()) {
    names.push_back(known.name);
    names.insert(names.end(), known.aliases.begin(), known.aliases.end());
  }
  throw input_error(translated("unknown kind of attention \"{1}\"", name), where,
                    suggestion(name, names));
}

Flag& add_kind(Flags& flags, const std::string& help, std::function<void(Kind)> take) {
  Flag& flag = flags.add(
      "--attention", "KIND", help,
      [take = std::move(take)](const std::string& text) { take(kind_named(text, "--attention")); });
  const auto names = names_of(kinds());
  flag.words.assign(names.begin(), names.end());
  return flag;
}

}  // namespace attn::cli
