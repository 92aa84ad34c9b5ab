#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

const std::string number = R"(\d+(\.\d+)?(e-?\d+)?)";

}  // namespace

TEST_CASE("bench prints a heading and a line for each shape") {
  const Outcome outcome =
      attn_cli({"bench", "--shape", "1,2,8,9,4", "--shape", "1,1,3,3,2", "--causal", "--window",
                "-1,2", "--weights", "--dtype", "float64"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors.empty());
  const std::vector<std::string> lines = lines_of(outcome.output);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] ==
        "B,H,Lq,Lk,D                runs  median ms    best ms       rate       peak    of peak  "
        "attention");
  CHECK(lines[1] ==
        "                                                         GFLOP/s    GFLOP/s          %  ");
  const std::string numbers = R"(( +\d+(\.\d+)?){6})";
  const std::string rest = "  scaled_dot_product float64 causal window -1,2 weights";
  CHECK(std::regex_match(lines[2], std::regex("1,2,8,9,4" + numbers + rest)));
  CHECK(std::regex_match(lines[3], std::regex("1,1,3,3,2" + numbers + rest)));
}

TEST_CASE("bench names all that it adds to an attention") {
  const Outcome outcome =
      attn_cli({"bench", "--shape", "1,2,8,9,4", "--rotary", "--norms", "--alibi",
                "--relative-bias", "--sinks", "--dtype", "bfloat16"});
  CHECK(outcome.exit_code == 0);
  const std::string end = "  scaled_dot_product bfloat16 rotary norms alibi relative bias sinks\n";
  CHECK(outcome.output.ends_with(end));
}

TEST_CASE("bench names expressions, and says how many times the time without them they take") {
  const std::vector<std::string> arguments{"bench",   "--shape", "1,1,8,9,4", "--score", "s - j",
                                           "--where", "j <= i",  "--weight",  "p / 2"};
  const Outcome text = attn_cli(arguments);
  CHECK(text.exit_code == 0);
  CHECK(std::regex_search(
      text.output, std::regex("  scaled_dot_product  score: s - j  where: j <= i  weight: p / 2; " +
                              number + " times the time without\n$")));
  std::vector<std::string> with_json = arguments;
  with_json.push_back("--json");
  const Outcome json = attn_cli(with_json);
  CHECK(json.exit_code == 0);
  CHECK(std::regex_search(json.output,
                          std::regex(", \"times_without_expressions\": " + number + "\\}\n$")));
}

TEST_CASE("bench --json prints one object a line, with the numbers of the text") {
  const Outcome products = attn_cli(
      {"bench", "--json", "--shape", "1,2,8,9,4", "--shape", "2,1,3,1,5", "--threads", "2"});
  CHECK(products.exit_code == 0);
  const std::vector<std::string> lines = lines_of(products.output);
  REQUIRE(lines.size() == 2);
  const auto expected = [](const std::string& shape) {
    return std::regex(R"(\{"shape": \[)" + shape + R"(\], "seconds": )" + number +
                      ", \"gflops\": " + number + ", \"peak_gflops\": " + number +
                      ", \"fraction_of_peak\": " + number + R"(\})");
  };
  CHECK(std::regex_match(lines[0], expected("1,2,8,9,4")));
  CHECK(std::regex_match(lines[1], expected("2,1,3,1,5")));
  const std::regex long_number(R"([1-9](\.?\d){5})");
  for (const std::string& line : lines) CHECK(!std::regex_search(line, long_number));
}

TEST_CASE("bench counts values of tanh for additive attention") {
  const std::vector<std::string> arguments{"bench",    "--shape",     "1,1,8,9,4",
                                           "--causal", "--attention", "bahdanau"};
  const Outcome text = attn_cli(arguments);
  CHECK(text.exit_code == 0);
  const std::vector<std::string> lines = lines_of(text.output);
  REQUIRE(lines.size() == 3);
  CHECK(
      std::regex_match(lines[2], std::regex(R"(1,1,8,9,4( +\d+(\.\d+)?){5} +-  additive causal)")));
  std::vector<std::string> with_json = arguments;
  with_json.push_back("--json");
  const Outcome json = attn_cli(with_json);
  CHECK(json.exit_code == 0);
  CHECK(std::regex_match(json.output, std::regex(R"(\{"shape": \[1,1,8,9,4\], "seconds": )" +
                                                 number + ", \"gtanh\": " + number +
                                                 ", \"peak_gflops\": " + number + "\\}\n")));
}

TEST_CASE("bench --quiet prints what was measured all the same") {
  const Outcome outcome = attn_cli({"bench", "--quiet", "--shape", "1,1,2,2,2", "--json"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.starts_with("{\"shape\": [1,1,2,2,2]"));
  CHECK(outcome.errors.empty());
}

TEST_CASE("bench says what its flags take") {
  const auto refused = [](const std::vector<std::string>& flags, int exit_code,
                          const std::string& message) {
    std::vector<std::string> arguments{"bench"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = attn_cli(arguments);
    CHECK(outcome.exit_code == exit_code);
    CHECK(outcome.output.empty());
    CHECK(outcome.errors == message);
  };
  refused({"--shape", "1,2,3"}, 2,
          "attn-cli: invalid value \"1,2,3\" for --shape\n"
          "  where: --shape\n"
          "  help:  give five sizes B,H,Lq,Lk,D: samples, heads, queries, keys, width of a head\n");
  refused({"--shape", "1,2,3,0,5"}, 2,
          "attn-cli: invalid value \"0\" for --shape\n"
          "  where: --shape\n"
          "  help:  give a whole number of at least 1\n");
  refused(
      {"--shape", "9223372036854775807,2,3,4,5"}, 3,
      "attn-cli: the shape [9223372036854775807,2,3,5] has more elements than memory can address\n"
      "  where: --shape\n"
      "  help:  check the shape for a misplaced digit\n");
  refused({"--shape", "18446744073709551615,2,3,4,5"}, 2,
          "attn-cli: invalid value \"18446744073709551615\" for --shape\n"
          "  where: --shape\n"
          "  help:  give a whole number of at least 1 and below 2^63\n");
  refused({"--window", "1,-2"}, 2,
          "attn-cli: invalid value \"1,-2\" for --window\n"
          "  where: --window\n"
          "  help:  give the keys to each side as L,R; -1 = unbounded\n");
  refused({"--dtype", "float8"}, 2,
          "attn-cli: invalid value \"float8\" for --dtype\n"
          "  where: --dtype\n"
          "  help:  known: float32, float64, bfloat16, float16\n");
  refused({"--attention", "additiv"}, 2,
          "attn-cli: unknown kind of attention \"additiv\"\n"
          "  where: --attention\n"
          "  help:  did you mean \"additive\"?\n");
  refused({"--attention", "multi_head"}, 2,
          "attn-cli: multi_head attention cannot be timed\n"
          "  where: --attention\n"
          "  help:  choose dot_product, scaled_dot_product, general or additive\n");
  refused({"--shapes", "1,1,1,1,1"}, 2,
          "attn-cli: unknown flag \"--shapes\"\n"
          "  where: attn-cli bench\n"
          "  help:  did you mean \"--shape\"?\n");
}

TEST_CASE("a shape that does not fit into the memory is refused before anything is allocated") {
  const Outcome outcome = attn_cli({"bench", "--shape", "1000,1000,1000,1000,1000"});
  CHECK(outcome.exit_code == 3);
  CHECK(std::regex_match(outcome.errors,
                         std::regex("attn-cli: the tensors of a shape would take 16 TB[^\n]*\n"
                                    "  where: --shape\n"
                                    "  help:  make it smaller\n")));
}

TEST_CASE("list names the CPU targets, and --cpu takes each of them") {
  const Outcome list = attn_cli({"list"});
  const std::string heading = "\nCPU targets\n  ";
  const std::size_t start = list.output.find(heading);
  REQUIRE(start != std::string::npos);
  std::istringstream names(list.output.substr(start + heading.size()));
  std::size_t count = 0;
  for (std::string name; names >> name; ++count) {
    CAPTURE(name);
    const Outcome outcome = attn_cli({"bench", "--shape", "1,1,70,70,9", "--cpu", name});
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.errors.empty());
  }
  CHECK(count > 0);
  CHECK(attn_cli({"list", "--json"}).output.find("\"cpu_targets\": [") != std::string::npos);
}

TEST_CASE("a CPU target that is not there is refused with those that are") {
  const Outcome list = attn_cli({"list"});
  const std::string heading = "\nCPU targets\n  ";
  std::string names = list.output.substr(list.output.find(heading) + heading.size());
  names = std::regex_replace(names.substr(0, names.find('\n')), std::regex(" "), ", ");
  CHECK(refused_with(2, {"run", "-", "--cpu", "abacus"}) ==
        "attn-cli: this machine has no CPU target \"abacus\"\n"
        "  where: --cpu\n"
        "  help:  available: " +
            names + "\n");
  const std::string last = names.substr(names.rfind(' ') + 1);
  CHECK(refused_with(2, {"run", "-", "--cpu", last + "x"}) ==
        "attn-cli: this machine has no CPU target \"" + last +
            "x\"\n"
            "  where: --cpu\n"
            "  help:  did you mean \"" +
            last + "\"? available: " + names + "\n");
}

TEST_CASE("the shape of a tensor is answered with one length for queries and one for keys") {
  for (const std::string shape : {"2,4,256,64", "2x4x256x64"}) {
    CHECK(attn_cli({"bench", "--shape", shape}).errors ==
          "attn-cli: invalid value \"" + shape +
              "\" for --shape\n  where: --shape\n  help:  write --shape 2,4,256,256,64\n");
  }
}
