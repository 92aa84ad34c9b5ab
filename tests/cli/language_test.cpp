#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string causal_example = std::string(ATTN_DATA) + "/causal.json";

/// An explanation in an environment such as "LANG=zh_CN.UTF-8".
std::string spoken(const std::string& environment, const std::string& flags = "") {
  const Outcome outcome = shell("env -u LC_ALL -u LC_MESSAGES -u LANG -u LANGUAGE " + environment +
                                " \"$ATTN\" explain " + flags + " " + causal_example);
  CHECK(outcome.exit_code == 0);
  const bool chinese = outcome.output.find("值的加权和") != std::string::npos;
  const bool english = outcome.output.find("The weighted sum") != std::string::npos;
  REQUIRE(chinese != english);
  return chinese ? "zh" : "en";
}

}  // namespace

TEST_CASE("the language is that of the flag, else that of the locale, which need not be there") {
  CHECK(spoken("") == "en");
  CHECK(spoken("LANG=zh_CN.UTF-8") == "zh");
  CHECK(spoken("LANG=zh_TW") == "zh");
  CHECK(spoken("LANG=en_GB.UTF-8 LC_MESSAGES=zh_CN.UTF-8") == "zh");
  CHECK(spoken("LANG=zh_CN.UTF-8 LC_ALL=C") == "en");
  CHECK(spoken("LANG=de_DE.UTF-8 LANGUAGE=de:zh_CN:en") == "zh");
  CHECK(spoken("LANG=zh_CN.UTF-8 LANGUAGE=en") == "en");
  CHECK(spoken("LANG=zh_CN.UTF-8", "--lang en") == "en");
  CHECK(spoken("LC_ALL=C", "--lang zh") == "zh");
  CHECK(spoken("", "--lang=zh") == "zh");
}

TEST_CASE("a language that there is not is refused") {
  const Outcome outcome = attn_cli({"explain", "--lang", "tlh", causal_example});
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.errors.find("--lang") != std::string::npos);
}

TEST_CASE(
    "an error is printed in Chinese, with its place and its exit code, and JSON keeps its keys") {
  const Outcome outcome =
      attn_cli({"explain", "--lang", "zh", "--json", "--query", "99", causal_example});
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.errors ==
        "attn-cli: 没有查询 99：这个注意力有 6 个查询\n  位置：--query\n  办法：请给 0 到 5\n");
  CHECK(outcome.output.find("\"problem\": \"没有查询 99") != std::string::npos);
  CHECK(outcome.output.find("\"exit_code\": 3") != std::string::npos);
}

TEST_CASE("code that stands for a flag of another program stands in a Chinese sentence") {
  CHECK(attn_cli({"plot", "x", "-c", "1", "--lang", "zh"}).errors ==
        "attn-cli: 未知的选项 \"-c\"\n  位置：attn-cli plot\n  办法：请写 --cmap NAME\n");
  CHECK(attn_cli({"run", "x", "--alibi", "--lang", "zh"}).errors ==
        "attn-cli: 未知的选项 \"--alibi\"\n  位置：attn-cli run\n"
        "  办法：请在文档中写 \"mask\": {\"alibi\": true}\n");
}

TEST_CASE("numbers, keys and names of a result are the same in every language") {
  const TemporaryFolder folder;
  const std::string english = attn_cli({"run", causal_example, "--out", "-"}, folder.path()).output;
  CHECK(attn_cli({"run", causal_example, "--out", "-", "--lang", "zh"}, folder.path()).output ==
        english);
  CHECK(english.find("\"weights\"") != std::string::npos);
}

TEST_CASE("the matplotlib style is English in every language, the standard style is not") {
  const TemporaryFolder folder;
  const auto picture = [&](const std::string& style, const std::string& language) {
    const Outcome outcome =
        attn_cli({"run", causal_example, "--plots", "heatmap", "--format", "svg", "--quiet",
                  "--style", style, "--lang", language, "--out", "made"},
                 folder.path());
    CHECK(outcome.exit_code == 0);
    return read_text(folder / "made/heatmap.svg");
  };
  CHECK(picture("matplotlib", "zh") == picture("matplotlib", "en"));
  CHECK(picture("standard", "zh").find("键的位置") != std::string::npos);
  CHECK(picture("standard", "en").find("Key Sequence Position") != std::string::npos);
}

TEST_CASE("warnings and errors about a picture in the matplotlib style are in the language") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[0.7,0.3],[0.4,0.6]]})");
  const auto plotted = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"plot", "heatmap", "w.json", "--out", "w.png", "--style",
                               "matplotlib", "--lang", "zh"});
    return attn_cli(more, folder.path()).errors;
  };
  CHECK(plotted({"--title", "$\\alpha$"}) ==
        "attn-cli: 警告：标题里不支持 TeX：请直接写字符，如 α\n");
  CHECK(plotted({"--dpi", "10000"}).starts_with("attn-cli: 图片会有 "));
}

TEST_CASE("Chinese errors have no English words or punctuation but names") {
  const TemporaryFolder folder;
  const auto error = [&](const std::vector<std::string>& words, const std::string& input) {
    return attn_cli(words, folder.path(), input).errors;
  };
  const std::string map = R"({"weights":[[[0.7,0.3],[0.4,0.6]],[[0.7,0.3],[0.4,0.6]]]})";
  CHECK(error({"show", "-", "--sample", "9", "--lang", "zh"}, map) ==
        "attn-cli: 没有样本 9：权重中有 2 个样本\n  位置：--sample\n  办法：请给 0 到 1\n");
  CHECK(error({"run", "-", "--lang", "zh"}, R"({"attention":"self","x":[[1,2],[3]]})") ==
        "attn-cli: 第 1 行有 1 个数，而它之前的行有 2 个\n  位置：标准输入，/x/1\n"
        "  办法：张量的各行请给同样的长度\n");
  CHECK(error({"run", "-", "--lang", "zh"}, R"({“attention”:"self"})")
            .find("全角引号 “ 不是 JSON 的标点，请改用直引号 \"\n") != std::string::npos);
  CHECK(error({"plot", "heatmap", "-", "--out", "x.txt", "--lang", "zh"}, map)
            .find("请给以 .png、.svg 或 .pdf 结尾的文件名") != std::string::npos);
}

TEST_CASE("no line of a Chinese help page begins with closing or ends with opening punctuation") {
  for (const char* command : {"run", "plot", "heads", "compare"}) {
    const std::string page = attn_cli({command, "--help", "--lang", "zh"}).output;
    for (std::size_t at = page.find('\n'); at != page.npos; at = page.find('\n', at + 1)) {
      const std::size_t first = page.find_first_not_of(' ', at + 1);
      if (first == page.npos) break;
      for (const char* closing : {"，", "。", "；", "：", "、", "）"}) {
        CHECK(page.compare(first, 3, closing) != 0);
      }
      CHECK((at < 3 || page.compare(at - 3, 3, "（") != 0));
    }
  }
}

TEST_CASE("titles of the examples are in the language, those of other documents stay") {
  const TemporaryFolder folder;
  const Outcome example = attn_cli({"run", causal_example, "--plots", "heatmap", "--format", "svg",
                                    "--lang", "zh", "--out", "made"},
                                   folder.path());
  CHECK(example.output.find("\n因果注意力\n每个词看到自己和它前面的词，与语言模型相同。\n") !=
        std::string::npos);
  CHECK(read_text(folder / "made/heatmap.svg").find(">因果注意力<") != std::string::npos);
  CHECK(read_text(folder / "made/result.json").find("\"Causal attention\"") != std::string::npos);
  const Outcome other =
      attn_cli({"run", "-", "--plots", "none", "--lang", "zh", "--out", "other"}, folder.path(),
               R"({"attention":"softmax","scores":[[0]],"title":"My title"})");
  CHECK(other.output.find("\nMy title\n") != std::string::npos);
}

TEST_CASE("help pages are in the language, wherever --lang stands, and of the locale") {
  const std::string english = attn_cli({"run", "--help"}).output;
  CHECK(english.starts_with("Compute one input document and draw it.\n\nUsage: attn-cli run "));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--lang", "zh", "run", "--help"},
        {"run", "--lang", "zh", "--help"},
        {"run", "--help", "--lang=zh"}}) {
    const Outcome outcome = attn_cli(words);
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.output.starts_with(
        "计算一个输入文档并绘图。\n\n用法：attn-cli run INPUT [选项]\n"));
    CHECK(outcome.output.find("\n  --drop KEY,…          去掉一些键") != std::string::npos);
  }
  const Outcome all =
      shell("env -u LC_ALL -u LC_MESSAGES -u LANGUAGE LANG=zh_CN.UTF-8 \"$ATTN\" --help");
  CHECK(all.output.starts_with("精确计算注意力并绘图。\n\n用法：attn-cli 命令 [INPUT] [选项]\n"));
}

TEST_CASE(
    "without its Chinese texts the program speaks English, and says so where they are asked for") {
  if (std::getenv("ATTN_TESTED") != nullptr) return;  // a script, which runs the program elsewhere
  const TemporaryFolder folder;
  const std::string copy = "mkdir bin && cp \"$ATTN\" bin/attn-cli && ";
  const Outcome asked = shell(copy + "bin/attn-cli --lang zh list", folder.path());
  CHECK(asked.exit_code == 0);
  CHECK(asked.errors ==
        "attn-cli: warning: there are no Chinese texts at " +
            (std::filesystem::canonical(folder.path()) / "share/locale/zh_CN/LC_MESSAGES/attn.mo")
                .string() +
            ": texts are in English\n");
  const Outcome locale = shell(
      "env -u LC_ALL -u LC_MESSAGES -u LANGUAGE LANG=zh_CN.UTF-8 bin/attn-cli list", folder.path());
  CHECK(locale.exit_code == 0);
  CHECK(locale.errors.empty());
  CHECK(asked.output == locale.output);
}

TEST_CASE("what is wrong with a command line is told in the language") {
  const auto error_of = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"--lang", "zh"});
    return refused_with(2, words);
  };
  CHECK(error_of({"run", "--out"}) ==
        "attn-cli: --out：缺少 1 个 DIR\n  办法：请看 attn-cli --help\n");
  CHECK(error_of({"run", "--seed", "1", "--seed", "2"}) ==
        "attn-cli: --seed：最多给 1 次，却给了 2 次\n  办法：请看 attn-cli --help\n");
  CHECK(
      error_of({"validate", "--frob"}) ==
      "attn-cli: 未知的选项 \"--frob\"\n  位置：attn-cli validate\n  办法：attn-cli validate 接受 "
      "--files-from、--model、--text、--strict、--json、--quiet 等选项：见 attn-cli validate "
      "--help\n");
  CHECK(
      error_of({"run", "x", "--head", "q"}) ==
      "attn-cli: --head 的值 \"q\" 无效\n  位置：--head\n  办法：请给一个整数，也可以是 mean、max "
      "或 all\n");
}
