#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/cpu.hpp"
#include "attn/document.hpp"
#include "attn/io.hpp"
#include "attn/pictures.hpp"
#include "attn/spec.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

/// Completions by bash of the words, the last of which may be begun; one a line. `count` is its
/// index.
std::string bash_offers(const std::string& words, const std::string& count) {
  const TemporaryFolder folder;
  const std::string script =
      "\"$ATTN\" completion bash > script\n"
      "bash -c 'source ./script; COMP_WORDS=(" +
      words + "); COMP_CWORD=" + count + "; _attn_cli; printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
  return shell(script, folder.path()).output;
}

/// A folder in which only this is to be found.
void fill(const TemporaryFolder& folder) {
  folder.write("document.json", "");
  std::filesystem::create_directory(folder / "results");
}

/// The kinds of pictures in the order of the alphabet, one a line.
std::string sorted_plot_kinds() {
  std::set<std::string_view> names;
  for (const attn::PlotKindInfo& kind : attn::plot_kinds()) names.insert(kind.name);
  std::string lines;
  for (const std::string_view name : names) lines += std::string(name) + "\n";
  return lines;
}

/// Completions by fish of a begun command line, one a line.
std::string fish_offers(const std::string& line) {
  const TemporaryFolder folder, script;
  fill(folder);
  // Its home is where fish keeps files of its own.
  return shell("export HOME=" + script.path().string() +
                   "\n\"$ATTN\" completion fish > \"$HOME/script\"\n"
                   "fish --no-config -c 'source $HOME/script; complete -C \"" +
                   line + "\"' | cut -f 1 | LC_ALL=C sort",
               folder.path())
      .output;
}

/// Completions by zsh of several command lines, each line followed by its completions.
std::string zsh_offers(const std::string& lines) {
  const TemporaryFolder folder;
  fill(folder);
  return shell(
             "\"$ATTN\" completion zsh > _attn-cli\n"
             "HOME=$PWD timeout 60 zsh -f '" ATTN_TEST_DATA "/cli/zsh_offers.zsh' " +
                 lines,
             folder.path())
      .output;
}

}  // namespace

TEST_CASE("bash completes commands, flags, and the values of flags") {
  CHECK(bash_offers("attn-cli exa", "1") == "example\n");
  CHECK(bash_offers("attn-cli run --drop", "2") == "--drop-first\n--drop\n");
  CHECK(bash_offers("attn-cli run --format s", "3") == "svg\n");
  CHECK(bash_offers("attn-cli run --format = s", "4") == "svg\n");
  CHECK(bash_offers("attn-cli run --format =", "3") == "png\nsvg\npdf\n");
  CHECK(bash_offers("attn-cli run --plots grid,m", "3") == "grid,mask\n");
  CHECK(bash_offers("attn-cli run --plots gr", "3") == "grid\n");
  CHECK(bash_offers("attn-cli compare --tolerances bf", "3") == "bf16\nbfloat16\n");
  CHECK(bash_offers("attn-cli run --attention sd", "3") == "sdpa\n");
  CHECK(bash_offers("attn-cli example bah", "2") == "bahdanau\n");
  CHECK(bash_offers("attn-cli plot sta", "2") == "stages\n");
  CHECK(bash_offers("attn-cli example enc", "2") == "encoder_layer\n");
}

TEST_CASE("a list is not completed by what it has, nor by all or none") {
  const std::string bash = bash_offers("attn-cli run --plots heatmap,", "3");
  CHECK(bash.find("heatmap,grid\n") != std::string::npos);
  for (const std::string word : {"heatmap", "all", "none"})
    CHECK(bash.find("heatmap," + word + "\n") == std::string::npos);
  if (!is_missing("fish")) {
    const std::string fish = fish_offers("attn-cli run --plots heatmap,");
    CHECK(fish.find("heatmap,grid\n") != std::string::npos);
    for (const std::string word : {"heatmap", "all", "none"})
      CHECK(fish.find("heatmap," + word + "\n") == std::string::npos);
  }
  if (is_missing("zsh")) return;
  const std::string zsh = zsh_offers("'attn-cli run --plots heatmap,'");
  CHECK(zsh.find("\ngrid\n") != std::string::npos);
  for (const std::string word : {"heatmap", "all", "none"})
    CHECK(zsh.find("\n" + word + "\n") == std::string::npos);
}

TEST_CASE("fish does not repeat the help of a flag beside each of its values") {
  if (is_missing("fish")) return;
  const TemporaryFolder folder;
  const std::string offers = shell(
                                 "export HOME=$PWD\n\"$ATTN\" completion fish > script\n"
                                 "fish --no-config -c 'source script; complete -C \"attn-cli run "
                                 "--format p\"; complete -C \"attn-cli run --plots mas\"'",
                                 folder.path())
                                 .output;
  CHECK(offers == "pdf\npng\nmask\n");
}

TEST_CASE("shells complete what the program's own tables hold") {
  const std::string bash = attn_cli({"completion", "bash"}).output;
  const auto offered = [&](const std::string& flag, const auto& table, const auto& name) {
    std::string words;
    for (const auto& row : table) words += (words.empty() ? "" : " ") + std::string(name(row));
    CAPTURE(words);
    return bash.find("    " + flag + ") COMPREPLY=($(compgen -W \"" + words + "\" --") !=
           std::string::npos;
  };
  const auto itself = [](std::string_view name) { return name; };
  const auto of_row = [](const auto& row) { return row.name; };
  CHECK(offered("--cpu", attn::cpu_targets(), itself));
  CHECK(offered("--cmap", attn::colour_maps(), itself));
  CHECK(offered("--format", attn::picture_formats(), of_row));
  CHECK(offered("--tensors", attn::tensor_formats(), of_row));
  CHECK(offered("--dtype", attn::document_dtypes(), of_row));
  std::vector<std::string_view> kinds;
  for (const attn::KindInfo& kind : attn::kinds()) {
    kinds.push_back(kind.name);
    kinds.insert(kinds.end(), kind.aliases.begin(), kind.aliases.end());
  }
  CHECK(offered("--attention", kinds, itself));
}

TEST_CASE("what bash cannot know is left to its completion of file names") {
  CHECK(bash_offers("attn-cli run --out x", "3") == "\n");
  CHECK(bash_offers("attn-cli run doc", "2") == "\n");
  CHECK(bash_offers("attn-cli plot heatmap \"\"", "3") == "\n");
}

TEST_CASE("fish completes commands, flags, the values of flags, and files where files belong") {
  if (is_missing("fish")) return;
  CHECK(fish_offers("attn-cli exa") == "example\n");
  CHECK(fish_offers("attn-cli --v") == "--version\n");
  CHECK(fish_offers("attn-cli run --drop") == "--drop\n--drop-first\n");
  CHECK(fish_offers("attn-cli run --format ") == "pdf\npng\nsvg\n");
  CHECK(fish_offers("attn-cli run --plots grid,m") == "grid,mask\n");
  CHECK(fish_offers("attn-cli run --attention enc") == "encoder_layer\n");
  CHECK(fish_offers("attn-cli show --cmap viridis_") == "viridis_r\n");
  CHECK(fish_offers("attn-cli plot ") == sorted_plot_kinds());
  CHECK(fish_offers("attn-cli plot heatmap ") == "document.json\nresults/\n");
  CHECK(fish_offers("attn-cli run ") == "document.json\nresults/\n");
  CHECK(fish_offers("attn-cli run --out ") == "results/\n");
  CHECK(fish_offers("attn-cli run --threads ").empty());
  CHECK(fish_offers("attn-cli completion ") == "bash\nfish\nzsh\n");
  CHECK(fish_offers("attn-cli schema ").empty());
}

TEST_CASE("zsh completes commands, flags, the values of flags, and files where files belong") {
  if (is_missing("zsh")) return;
  const std::string files = "_attn-cli\ndocument.json\nresults\n";
  CHECK(zsh_offers("'attn-cli exa' 'attn-cli --v' 'attn-cli run --drop' 'attn-cli run --format ' "
                   "'attn-cli run --format=p' 'attn-cli run --plots grid,m' "
                   "'attn-cli run --attention self --att' 'attn-cli show --cmap viridis_' "
                   "'attn-cli plot ' 'attn-cli plot heatmap ' 'attn-cli run ' "
                   "'attn-cli run --out ' 'attn-cli run --threads ' 'attn-cli completion ' "
                   "'attn-cli schema '") ==
        "attn-cli exa\nexample\n"
        "attn-cli --v\n--version\n"
        "attn-cli run --drop\n--drop\n--drop-first\n"
        "attn-cli run --format \npdf\npng\nsvg\n"
        "attn-cli run --format=p\npdf\npng\n"
        "attn-cli run --plots grid,m\nmask\n"
        "attn-cli run --attention self --att\n--attention\n"
        "attn-cli show --cmap viridis_\nviridis_r\n"
        "attn-cli plot \n" +
            sorted_plot_kinds() + "attn-cli plot heatmap \n" + files + "attn-cli run \n" + files +
            "attn-cli run --out \nresults\n"
            "attn-cli run --threads \n"
            "attn-cli completion \nbash\nfish\nzsh\n"
            "attn-cli schema \n--help\n--lang\n-h\n");
}

TEST_CASE("zsh and fish get every command and every flag") {
  const std::string zsh = attn_cli({"completion", "zsh"}).output;
  const std::string fish = attn_cli({"completion", "fish"}).output;
  CHECK(zsh.starts_with("#compdef attn-cli\n"));
  for (const std::string command :
       {"run", "batch", "plot", "show", "explain", "compare", "validate", "schema", "example",
        "bench", "list", "completion", "manual"}) {
    CAPTURE(command);
    CHECK(zsh.find("    '" + command + ":") != std::string::npos);
    CHECK(fish.find(" -a " + command + " -d ") != std::string::npos);
  }
  CHECK(zsh.find("'--format=[png, svg or pdf]:FORMAT:(png svg pdf)'") != std::string::npos);
  CHECK(fish.find("command run' -l causal -d 'Hide the keys after each query'") !=
        std::string::npos);
}

TEST_CASE("a shell that is not known is an error that names those that are") {
  CHECK(refused_with(2, {"completion", "tcsh"}) ==
        "attn-cli: unknown shell \"tcsh\"\n"
        "  where: attn-cli completion\n"
        "  help:  give bash, zsh or fish\n");
  CHECK(refused_with(2, {"completion"}) ==
        "attn-cli: completion takes one shell\n"
        "  where: attn-cli completion\n"
        "  help:  give bash, zsh or fish\n");
}

TEST_CASE("the manual has a page for the program and one for each command") {
  const std::string program = attn_cli({"manual"}).output;
  CHECK(program.starts_with(".TH ATTN\\-CLI 1 \"\" \"attn\\-cli "));
  for (const std::string heading : {"COMMANDS", "FLAGS OF ALL COMMANDS", "EXIT STATUS", "EXAMPLES",
                                    "FILES", "ENVIRONMENT", "SEE ALSO"}) {
    CAPTURE(heading);
    CHECK(program.find(".SH " + heading + "\n") != std::string::npos);
  }
  CHECK(program.find(".BR attn\\-cli\\-run (1)") != std::string::npos);
  const std::string run = attn_cli({"manual", "run"}).output;
  CHECK(run.starts_with(".TH ATTN\\-CLI\\-RUN 1 \"\" \"attn\\-cli "));
  CHECK(run.find("attn\\-cli\\-run \\- compute one input document and draw it\n") !=
        std::string::npos);
  CHECK(run.find(".TP\n\\fB\\-o, \\-\\-out\\fR \\fIDIR\\fR\nFolder of the results") !=
        std::string::npos);
  for (const std::string heading : {"MASK", "PICTURES", "EXAMPLES", "FILES", "ENVIRONMENT"}) {
    CAPTURE(heading);
    CHECK(run.find(".SH " + heading + "\n") != std::string::npos);
  }
  CHECK(
      run.ends_with(".SH SEE ALSO\n.BR attn\\-cli (1),\n.BR attn\\-cli\\-batch (1),\n"
                    ".BR attn\\-cli\\-explain (1),\n.BR attn\\-cli\\-validate (1)\n"));
  CHECK(attn_cli({"manual", "rum"}).errors ==
        "attn-cli: unknown command \"rum\"\n"
        "  where: attn-cli manual\n"
        "  help:  did you mean \"run\"?\n");
}

TEST_CASE("flags of all commands are in the manual page of the program alone") {
  const std::string program = attn_cli({"manual"}).output;
  const std::string run = attn_cli({"manual", "run"}).output;
  for (const std::string flag : {"\\-\\-json", "\\-\\-lang", "\\-\\-cpu", "\\-\\-max\\-nesting"}) {
    CAPTURE(flag);
    CHECK(program.find(flag + "\\fR") != std::string::npos);
    CHECK(run.find(flag + "\\fR") == std::string::npos);
  }
}

TEST_CASE("man finds nothing to complain about in the manual pages") {
  if (is_missing("groff")) return;
  const Outcome outcome = shell(
      "for c in '' run batch plot show explain heads circuits view compare validate schema model "
      "tokens example bench list completion manual; do\n"
      "\"$ATTN\" manual $c | groff -man -Kutf8 -Tutf8 -wall >/dev/null || exit 1\ndone");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
}
