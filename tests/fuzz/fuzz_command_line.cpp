#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "attn/attention.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"

#include "cli/commands.hpp"
#include "fuzz/fuzz_input.hpp"

// Whole command lines: a command, flags with values that are wild or right, and documents that a
// stranger changed. The bytes choose all of it. Every command line is done or refused; none ends
// the program or calls itself a bug.

namespace {

using namespace attn;

// Each byte is a choice; where there are no more, the first of what there is.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : bytes_(data, size) {}

  std::size_t below(std::size_t count) {
    if (at_ >= bytes_.size() || count < 2) return 0;
    std::size_t number = bytes_[at_++];
    if (count > 256 && at_ < bytes_.size()) number = number << 8U | bytes_[at_++];
    return number % count;
  }
  bool one_in(std::size_t count) { return below(count) == count - 1; }
  template <class List>
  auto of(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }
  bool empty() const { return at_ >= bytes_.size(); }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

// Words that a stranger puts in the place of a number or of anything else.
constexpr std::array<std::string_view, 44> values{
    "0",
    "1",
    "2",
    "3",
    "-1",
    "7",
    "64",
    "4096",
    "40000",
    "10000000",
    "1e18",
    "1e400",
    "-1e308",
    "1e-320",
    "0.5",
    "NaN",
    "nan",
    "inf",
    "-inf",
    "\"nan\"",
    "\"inf\"",
    "null",
    "true",
    "false",
    "[]",
    "{}",
    "\"\"",
    "\"a\"",
    "[[]]",
    "[1]",
    "[[1,2]]",
    "[[[1]]]",
    "[[1,2],[3]]",
    "9223372036854775807",
    "18446744073709551615",
    "4611686018427387905",
    "111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111",
    "\"\\u0000\"",
    "\"\\uffff\\u202e\\u009b\"",
    "\"\xF0\x9F\x91\xA9\xE2\x80\x8D\"",
    "\"\xFF\"",
    "{\"zeros\":[3000,3000]}",
    "{\"randn\":[2,3]}",
    "{\"file\":\"tensor.npy\"}"};

constexpr std::array<std::string_view, 12> documents{
    R"({"attention":"softmax","scores":[[1,2,3],[4,5,6]],"mask":{"causal":true}})",
    R"({"attention":"sdpa","seed":1,"query":{"randn":[2,3,4]},"labels":{"query":["a","b","c"],"key":["x","y","z"]}})",
    R"({"attention":"multi_head","heads":2,"kv_heads":1,"seed":1,"x":{"randn":[4,8]},"parameters":{"init":"torch"}})",
    R"({"attention":"encoder_layer","heads":2,"layers":3,"seed":1,"feed_forward":4,"x":{"rand":[4,8]},"parameters":{"init":"torch"}})",
    R"({"attention":"decoder_layer","seed":1,"feed_forward":4,"x":{"rand":[2,3,4]},"memory":{"rand":[2,5,4]},"mask":{"causal":true},"memory_valid_lens":[3,5],"parameters":{"init":"torch"}})",
    R"({"attention":"self","seed":1,"token_ids":[[0,1,2,1],[0]],"embedding":{"vocabulary":["a","b","c"],"dimension":4,"init":"torch","pad":0,"position":"sinusoidal","recover":true},"parameters":{"init":"torch"}})",
    R"({"attention":["sdpa","dot_product"],"query":{"arange":12,"shape":[3,4]},"valid_lens":[2],"mask":{"window":{"left":1,"right":1},"global":[0],"align":"lower_right"}})",
    R"({"attention":"additive","seed":1,"query":{"ones":[3,2]},"key":{"full":[5,4],"value":0.1},"parameters":{"init":"torch","hidden":3},"pool":2})",
    R"({"attention":"sdpa","dtype":"float64","query":[[1,2],[3,4]],"past_key":[[1,1]],"past_value":[[2,2]],"softcap":2,"scale":0.5,"dropout":{"p":0.5,"training":true},"seed":2})",
    R"({"attention":"sdpa","query":{"file":"tensor.npy"},"mask":{"bias":[[0,"-inf"],[1,2]],"fill":-1e9},"title":"a\nb","description":"c"})",
    R"({"weights":[[0.1,0.9],[0.5,0.5]],"labels":{"query":["a","b"],"key":["c","d"]}})",
    R"({"shapes":{"query":[2,3,4],"key":[2,3,4],"weights":[2,3,3],"output":[2,3,4]}})"};

constexpr std::array<std::string_view, 14> files{
    "doc.json",      "doc.json",      "doc.json",     "doc.json", "other.json", "tensor.npy",
    "r/result.json", "r/weights.npy", "missing.json", ".",        "",           "-",
    "--x.json",      "list.jsonl"};
constexpr std::array<std::string_view, 12> outputs{
    "out", "out",       "out/deep/er", "out.png",         "out.svg", "out.pdf",
    "-",   "/dev/full", "doc.json",    "missing/out.png", "",        "out.txt"};

std::string mutated(std::string text, Choices& choices) {
  constexpr std::string_view breaks = "[{,:]}\"";
  for (std::size_t changes = choices.below(6); changes > 0; --changes) {
    // The end of a value, or anywhere.
    std::size_t at = choices.below(std::max<std::size_t>(text.size(), 1));
    if (choices.one_in(8)) {
      text.insert(at, 1, static_cast<char>(choices.below(256)));
      continue;
    }
    if (choices.one_in(12)) {
      text.erase(at, 1 + choices.below(8));
      continue;
    }
    at = text.find_first_of(":[,", at);
    if (at == std::string::npos) continue;
    const std::size_t end = text.find_first_of(breaks, at + 1);
    const std::string value(choices.of(values));
    if (end == std::string::npos || end == at + 1) {
      text.insert(at + 1, value);
    } else {
      text.replace(at + 1, end - at - 1, value);
    }
  }
  return text;
}

std::string document(Choices& choices) {
  if (choices.one_in(3)) {
    return mutated(example_document(kinds()[choices.below(kinds().size())].kind), choices);
  }
  return mutated(std::string(choices.of(documents)), choices);
}

void write(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A value for a flag: one of its own words, a value of its kind, something wild.
std::string value_for(const cli::Flag& flag, Choices& choices) {
  if (!flag.words.empty() && !choices.one_in(4)) {
    std::string text = choices.of(flag.words);
    while (flag.list && choices.one_in(3)) text += "," + choices.of(flag.words);
    return text;
  }
  if (flag.name == "--out" || flag.value == "DIR") return std::string(choices.of(outputs));
  if (flag.value == "FILE" || flag.value == "LIST") {
    return std::string(choices.one_in(2) ? choices.of(files) : choices.of(outputs));
  }
  if (choices.one_in(3)) {
    constexpr std::array<std::string_view, 12> own{
        "3x3", "1,2", "0:2", "-1:", "shared",   "0,1",
        "log", "red", "#12", "a,b", "1000x1e9", "-1e308,1e308"};
    return std::string(choices.of(own));
  }
  return std::string(choices.of(values));
}

std::vector<std::string> command_line(Choices& choices) {
  std::vector<cli::Command> all = cli::commands();
  // Timing takes the time that it is told to take, and pages tell what is built in.
  std::erase_if(all, [](const cli::Command& command) {
    return command.name == "bench" || command.name == "manual" || command.name == "completion";
  });
  const cli::Command& command = all[choices.below(all.size())];
  std::vector<std::string> words{"attn-cli", command.name};
  const auto add_file = [&] { words.emplace_back(choices.of(files)); };
  if (!command.words.known.empty()) {
    words.push_back(choices.one_in(16) ? "nothing" : choices.of(command.words.known));
  }
  if (command.words.files) {
    add_file();
    while (choices.one_in(6) || (command.name == "compare" && words.size() < 4)) add_file();
  }
  std::string wanted;
  for (std::size_t flags = choices.below(5); flags > 0 && !command.flags.empty(); --flags) {
    const cli::Flag& flag = command.flags[choices.below(command.flags.size())];
    if (!flag.take && !choices.one_in(8)) continue;  // help
    words.push_back(flag.name);
    if (!flag.value.empty() && !choices.one_in(40)) words.push_back(value_for(flag, choices));
  }
  const auto has = [&](std::string_view name) {
    for (const cli::Flag& flag : command.flags) {
      if (flag.name == name) return true;
    }
    return false;
  };
  // So that most are done and not refused, small and soon.
  const auto give = [&](const char* name, std::string value) {
    if (!has(name) || std::find(words.begin(), words.end(), name) != words.end()) return;
    words.emplace_back(name);
    words.push_back(std::move(value));
  };
  if (!choices.one_in(20)) {
    give("--out",
         command.name == "plot" ? std::string(choices.one_in(2) ? "out.svg" : "out.png") : "out");
  }
  give("--max-elements", "200000");
  give("--dpi", "30");
  if (choices.one_in(24)) words.insert(words.begin() + 2, "--");
  return words;
}

// The program's main, without its end.
int exit_code(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  try {
    return cli::parse_arguments(static_cast<int>(pointers.size()), pointers.data())();
  } catch (const Error& error) {
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    return static_cast<int>(ErrorKind::input);
  }
}

// A folder of our own with the files that do not change, and nothing to read or be read.
void prepare() {
  std::string folder =
      (std::filesystem::temp_directory_path() / "attn-fuzz-command_line-XXXXXX").string();
  fuzz::require(mkdtemp(folder.data()) != nullptr);
  std::filesystem::current_path(folder);
  static std::string made = folder;
  std::atexit([] { std::filesystem::remove_all(made); });
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  fuzz::require(dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0);
  // Reports of sanitizers go where they go; what the program says is no matter here.
  if (std::getenv("ATTN_FUZZ_SILENT") != nullptr) dup2(nothing, STDERR_FILENO);
  write("doc.json", documents[1]);
  exit_code(
      {"attn-cli", "run", "doc.json", "--out", "r", "--plots", "none", "--stages", "--quiet"});
  exit_code({"attn-cli", "run", "doc.json", "--out", "n", "--plots", "none", "--tensors", "npy",
             "--quiet"});
  std::filesystem::rename("n/weights.npy", "r/weights.npy");
  std::filesystem::copy_file("n/output.npy", "tensor.npy");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const bool prepared = (prepare(), true);
  (void)prepared;
  Choices choices(data, size);
  std::filesystem::remove_all("out");
  const std::vector<std::string> words = command_line(choices);
  write("doc.json", document(choices));
  write("other.json", document(choices));
  write("--x.json", document(choices));
  write("list.jsonl", document(choices) + "\n" + document(choices) + "\n");
  if (std::getenv("ATTN_FUZZ_SHOW") != nullptr) {
    for (const std::string& word : words) std::fprintf(stderr, " '%s'", word.c_str());
    std::fprintf(stderr, "\n");
  }
  const int code = exit_code(words);
  fuzz::require(code >= 0 && code <= 4);
  return 0;
}
