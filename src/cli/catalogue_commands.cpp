#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/catalogue.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

namespace attn::cli {
namespace {

constexpr const char* installed_examples = "share/attn-cli/examples";

// Documents of the folder of examples by their names without ".json", with their places there.
std::map<std::string, std::string> examples_in_folder() {
  std::map<std::string, std::string> examples;
  for (const std::string part : {"", "own/"}) {
    std::error_code error;
    const auto folder = installed_file(installed_examples) / part;
    for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error)) {
      const std::filesystem::path file = at->path().filename();
      if (file.extension() == ".json") examples.emplace(file.stem(), part + file.string());
    }
  }
  return examples;
}

// The one of the names that the word was meant as; empty if none is near.
std::string_view meant_name(const std::string& word, std::span<const std::string_view> names) {
  const std::string help = suggestion(word, names);
  const auto found = std::ranges::find_if(names, [&](std::string_view name) {
    return help == translated("did you mean \"{1}\"?", name);
  });
  return found == names.end() ? std::string_view() : *found;
}

// Keys to write into a document of scaled dot products for a feature that has no example of its
// own; empty for other words.
std::string_view keys_of_feature(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> features[]{
      {"paged|vllm|page_table|block_table|paged_attention",
       R"("block_table": [[…]], "valid_lens": […])"},
      {"gqa|mqa|grouped|grouped_query|multi_query", R"("heads": …, "kv_heads": …)"},
      {"causal|mask|masked|look_ahead", R"("mask": {"causal": true})"},
      {"window|sliding_window|local|longformer", R"("mask": {"window": {"left": 3, "right": 0}})"},
      {"padding|valid_lens", R"("valid_lens": […])"},
      {"packed|varlen|cu_seqlens|documents", R"("mask": {"cu_seqlens": […]})"},
      {"decode|kv_cache|cache|past", R"("past_key": …, "past_value": …)"},
      {"linear|linear_attention", R"("linear_attention": {})"},
      {"dropout", R"("dropout": {"p": 0.1, "training": true}, "seed": 0)"}};
  // Capitals and hyphens count as the others: "GQA", "kv-cache".
  std::string wanted = '|' + std::string(word) + '|';
  for (char& c : wanted)
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [words, keys] : features) {
    if (('|' + std::string(words) + '|').find(wanted) != std::string::npos) return keys;
  }
  return "";
}

int print_example(const std::vector<std::string>& given) {
  if (given.size() != 1) {
    throw Error(
        ErrorKind::usage,
        given.empty() ? translated("no kind given") : translated("more than one kind given"),
        "attn-cli example",
        given.size() == 2 && given[1].ends_with(".json")
            ? translated("it prints to standard output: write {1}",
                         "attn-cli example " + given[0] + " > " + given[1])
            : translated("name one of the kinds that attn-cli list shows"));
  }
  for (const ExampleTopic& topic : example_topics()) {
    if (topic.name != given[0]) continue;
    print(std::string(topic.document));
    return 0;
  }
  std::vector<std::string_view> names = names_of(kinds());
  for (const ExampleTopic& topic : example_topics()) names.push_back(topic.name);
  const bool kind = find_kind(given[0]) != nullptr;
  std::string in_folder = kind ? "" : name_in_examples(given[0]);
  if (!kind && in_folder.empty() && meant_name(given[0], names).empty()) {
    const auto in_folders = examples_in_folder();
    std::vector<std::string_view> files;
    for (const auto& [name, place] : in_folders) files.push_back(name);
    if (const std::string_view near = meant_name(given[0], files); !near.empty())
      in_folder = name_in_examples(std::string(near));
  }
  if (!in_folder.empty() || given[0].ends_with(".json")) {
    throw Error(ErrorKind::usage, translated("there is no example \"{1}\"", given[0]),
                "attn-cli example",
                in_folder.empty()
                    ? translated("{1} prints the folder of documents", "attn-cli example --folder")
                    : translated("write {1}", "attn-cli run " + in_folder));
  }
  if (!kind) {
    const std::string_view keys = keys_of_feature(given[0]);
    throw Error(
        ErrorKind::usage, translated("there is no example \"{1}\"", given[0]), "attn-cli example",
        keys.empty()
            ? suggestion(given[0], names)
            : translated("begin with {1}, and write {2} into it", "attn-cli example sdpa", keys));
  }
  print(example_document(kind_named(given[0], "attn-cli example")));
  return 0;
}

// Prints the folder of the examples that commands in the documentation use.
int print_examples_folder() {
  const std::filesystem::path folder = installed_file(installed_examples);
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) {
    throw Error(ErrorKind::file, translated("there is no folder \"{1}\"", folder.string()),
                "attn-cli example",
                translated("install the program again: the examples come with it"));
  }
  print(folder.string() + "\n");
  return 0;
}

}  // namespace

std::string name_in_examples(const std::string& word) {
  std::string name = std::filesystem::path(word).filename().string();
  if (name.ends_with(".json")) name = std::filesystem::path(name).stem().string();
  const auto examples = examples_in_folder();
  const auto found = examples.find(name);
  if (found == examples.end()) return "";
  return std::string("\"$(") + "attn-cli example --folder" + ")/" + found->second + '"';
}

Command example_command() {
  const auto given = std::make_shared<std::vector<std::string>>();
  std::vector<std::string> names = kind_words();
  std::string topics;
  for (const ExampleTopic& topic : example_topics()) {
    names.emplace_back(topic.name);
    topics += (topics.empty() ? "" : " ") + std::string(topic.name);
  }
  const auto folder = std::make_shared<bool>(false);
  Command command{
      "example",
      translated("Print a small document of a kind, ready to run"),
      {"KIND", translated("Kind of attention, or one of {1}", topics),
       [&given = *given](const std::vector<std::string>& words) { given = words; }, names},
      {},
      [given, folder] { return *folder ? print_examples_folder() : print_example(*given); }};
  command.flags.toggle(
      "--folder", *folder,
      translated("Print the folder of the examples that are installed with the program"));
  return command;
}

Command list_command() {
  const auto common = std::make_shared<Common>();
  Command command{"list",
                  translated("List kinds, masks, colour maps, file formats and CPU targets"),
                  {},
                  {},
                  [common] {
                    print(common->json ? catalogue_json() : catalogue_text());
                    return 0;
                  }};
  add_report(command.flags, *common);
  return command;
}

Command schema_command() {
  return {"schema", translated("Print the JSON Schema of input documents"), {}, {}, [] {
            print(document_schema());
            return 0;
          }};
}

}  // namespace attn::cli
