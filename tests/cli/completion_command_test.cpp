#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

/// What bash offers for the words so far, the last of which may be begun; one a line.
std::string bash_offers(const std::string& words, const std::string& count) {
  const TemporaryFolder folder;
  const std::string script =
      "\"$ATTN\" completion bash > script\n"
      "bash -c 'source ./script; COMP_WORDS=(" +
      words + "); COMP_CWORD=" + count + "; _attn_cli; printf \"%s\\n\" \"${COMPREPLY[@]}\"'";
  return shell(script, folder.path()).output;
}

}  // namespace

TEST_CASE("bash completes commands, flags, and the values of flags") {
  CHECK(bash_offers("attn-cli exa", "1") == "example\n");
  CHECK(bash_offers("attn-cli run --drop", "2") == "--drop-first\n");
  CHECK(bash_offers("attn-cli run --format s", "3") == "svg\n");
  CHECK(bash_offers("attn-cli plot sta", "2") == "stages\n");
  CHECK(bash_offers("attn-cli example enc", "2") == "encoder_layer\n");
}

TEST_CASE("what bash cannot know is left to its completion of file names") {
  CHECK(bash_offers("attn-cli run --out x", "3") == "\n");
  CHECK(bash_offers("attn-cli run doc", "2") == "\n");
}

TEST_CASE("zsh and fish get every command and every flag") {
  const std::string zsh = attn_cli({"completion", "zsh"}).output;
  const std::string fish = attn_cli({"completion", "fish"}).output;
  CHECK(zsh.starts_with("#compdef attn-cli\n"));
  for (const std::string command : {"run", "plot", "show", "explain", "compare", "validate",
                                    "schema", "example", "list", "completion"}) {
    CAPTURE(command);
    CHECK(zsh.find("    '" + command + ":") != std::string::npos);
    CHECK(fish.find(" -a " + command + " -d ") != std::string::npos);
  }
  CHECK(zsh.find("'--format[png, svg or pdf]:FORMAT:(png svg pdf)'") != std::string::npos);
  CHECK(fish.find("from run' -l causal -d 'Hide the keys after each query'") != std::string::npos);
}

TEST_CASE("scripts of zsh and fish are understood by these shells where they are installed") {
  const Outcome outcome = shell(
      "if command -v zsh >/dev/null; then \"$ATTN\" completion zsh | zsh -n; fi\n"
      "if command -v fish >/dev/null; then \"$ATTN\" completion fish | fish --no-execute; fi\n");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
}

TEST_CASE("a shell that is not known is an error that names those that are") {
  const Outcome outcome = attn_cli({"completion", "tcsh"});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.errors ==
        "attn-cli: unknown shell \"tcsh\"\n"
        "  where: attn-cli completion\n"
        "  help:  give one of bash, zsh and fish\n");
  const Outcome none = attn_cli({"completion"});
  CHECK(none.exit_code == 2);
  CHECK(none.errors ==
        "attn-cli: completion takes one shell\n"
        "  where: attn-cli completion\n"
        "  help:  give one of bash, zsh and fish\n");
}

TEST_CASE("the manual page names every command and flag in the macros of man") {
  const Outcome outcome = attn_cli({"manual"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.starts_with(".TH ATTN\\-CLI 1 \"\" \"attn\\-cli "));
  CHECK(outcome.output.find(".SH FLAGS OF run\n") != std::string::npos);
  CHECK(outcome.output.find(".TP\n\\fB\\-\\-out\\fR \\fIDIR\\fR\nFolder of the results") !=
        std::string::npos);
  CHECK(outcome.output.find(".SH EXIT STATUS\n") != std::string::npos);
}

TEST_CASE("man finds nothing to complain about in the manual page where it is installed") {
  const Outcome outcome = shell(
      "if command -v groff >/dev/null; then \"$ATTN\" manual | groff -man -Kutf8 -Tutf8 -wall "
      ">/dev/null; fi");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
}
