#include "support/errors.hpp"

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "chinese.hpp"

using namespace attn;

TEST_CASE("an error shows its three parts on lines of their own") {
  const Error error(ErrorKind::input, "the key \"x\" is given twice", "/x", "remove one");
  CHECK(error.what() ==
        std::string("the key \"x\" is given twice\n  where: /x\n  help:  remove one"));
  CHECK(error.problem() == "the key \"x\" is given twice");
  CHECK(error.where() == "/x");
  CHECK(error.help() == "remove one");
  CHECK(error.kind() == ErrorKind::input);
}

TEST_CASE("an error leaves out the parts it lacks") {
  CHECK(Error(ErrorKind::file, "no", "", "").what() == std::string("no"));
  CHECK(Error(ErrorKind::file, "no", "here", "").what() == std::string("no\n  where: here"));
  CHECK(Error(ErrorKind::file, "no", "", "do").what() == std::string("no\n  help:  do"));
}

TEST_CASE("an error's text holds nothing that a terminal obeys") {
  const Error error(ErrorKind::input, "unknown key \"\x1b]0;x\x07\"", "/a\nb\xC2\x9B", "not \xff");
  CHECK(error.what() == std::string("unknown key \"\\x1b]0;x\\x07\"\n"
                                    "  where: /a\\nb\\x9b\n"
                                    "  help:  not \\xff"));
  CHECK(error.where() == "/a\nb\xC2\x9B");
}

TEST_CASE("an error of any part stays small") {
  const std::string large(1'000'000, 'x');
  const Error error(ErrorKind::input, large, large, large);
  CHECK(std::string_view(error.what()).size() < 61'000);
  const std::vector<std::string_view> names(100, large);
  CHECK(suggestion("y", names).size() < 11'000);
}

TEST_CASE("an error inside a container names the container first") {
  const Error error(ErrorKind::usage, "no", "byte 12", "do");
  const Error outer = error.inside("q.npy").inside("all.zip");
  CHECK(outer.what() == std::string("no\n  where: all.zip, q.npy, byte 12\n  help:  do"));
  CHECK(outer.kind() == ErrorKind::usage);
  CHECK(Error(ErrorKind::input, "no", "", "").inside("q.npy").where() == "q.npy");
}

TEST_CASE("an input error has that kind") {
  const Error error = input_error("a", "b", "c");
  CHECK(error.kind() == ErrorKind::input);
  CHECK(error.what() == std::string("a\n  where: b\n  help:  c"));
}

namespace {
constexpr std::array<std::string_view, 4> masks = {"causal", "padding", "window", "allow"};
}

TEST_CASE("the nearest name takes the fewest edits") {
  CHECK(nearest_name("casual", masks) == "causal");  // neighbours exchanged
  CHECK(nearest_name("paddin", masks) == "padding");
  CHECK(nearest_name("widnow", masks) == "window");
  CHECK(nearest_name("alow", masks) == "allow");
  CHECK(nearest_name("cauusal", masks) == "causal");
}

TEST_CASE("case does not count as an edit") {
  CHECK(nearest_name("CAUSAL", masks) == "causal");
  CHECK(nearest_name("PadDing", masks) == "padding");
}

TEST_CASE("a name that resembles nothing has no nearest name") {
  CHECK(nearest_name("temperature", masks) == "");
  CHECK(nearest_name("xyz", masks) == "");
  CHECK(nearest_name("", masks) == "");
  CHECK(nearest_name("causal", {}) == "");
}

TEST_CASE("short names are not taken for any other short name") {
  constexpr std::array<std::string_view, 2> names = {"q", "k"};
  CHECK(nearest_name("v", names) == "");
  CHECK(nearest_name("Q", names) == "q");
}

TEST_CASE("the first of equally near names wins") {
  constexpr std::array<std::string_view, 2> names = {"head1", "head2"};
  CHECK(nearest_name("head3", names) == "head1");
}

TEST_CASE("a name too long to be a slip is not compared") {
  CHECK(nearest_name(std::string(100000, 'a'), masks) == "");
}

TEST_CASE("of the names that a name has elsewhere, the first that is there counts") {
  CHECK(nearest_name("half", std::array<std::string_view, 2>{"f16", "bf16"}) == "f16");
  CHECK(nearest_name("half", std::array<std::string_view, 2>{"f16", "float16"}) == "float16");
  CHECK(nearest_name("workers", std::array<std::string_view, 2>{"threads", "jobs"}) == "jobs");
}

TEST_CASE("a word is among those with commas between as a whole") {
  CHECK(has_word("fp16,half,f16", "half"));
  CHECK(has_word("fp16,half,f16", "f16"));
  CHECK_FALSE(has_word("fp16,half,f16", "f1"));
  CHECK_FALSE(has_word("fp16,half,f16", "fp16,half"));
  CHECK_FALSE(has_word("", ""));
}

TEST_CASE("a suggestion names the nearest name, or else those that there are") {
  CHECK(suggestion("casual", masks) == "did you mean \"causal\"?");
  CHECK(suggestion("temperature", masks) == "known: causal, padding, window, allow");
  const std::vector<std::string_view> many(400, "h.0.attn.bias");
  std::string known = "known: h.0.attn.bias";
  for (int i = 1; i < 50; ++i) known += ", h.0.attn.bias";
  CHECK(suggestion("no name at all", many) == known + " and 350 more");
}

TEST_CASE("a separator too many is no edit, and both names are told where one goes on with it") {
  constexpr std::array<std::string_view, 4> maps = {"YlOrRd", "YlOrRd_r", "viridis", "viridis_r"};
  CHECK(suggestion("ylorrd_", maps) == "did you mean \"YlOrRd\" or \"YlOrRd_r\"?");
  CHECK(suggestion("YlOrRD", maps) == "did you mean \"YlOrRd\"?");
  CHECK(suggestion("viridis_R", maps) == "did you mean \"viridis_r\"?");
  CHECK(suggestion("Viridis_r_", maps) == "did you mean \"viridis_r\"?");
  CHECK(suggestion("causal_", masks) == "did you mean \"causal\"?");
}

TEST_CASE("errors of the operating system are in the reader's language") {
  CHECK(system_error_text(ENOENT) == "No such file or directory");
  const Chinese chinese;
  CHECK(system_error_text(ENOENT) == "没有那个文件或目录");
}

TEST_CASE("each error that files usually meet has its Chinese") {
  const Chinese chinese;
  for (const int error : {E2BIG,  EPIPE,  ENOMEM, EBUSY,   EDQUOT, EEXIST, ENAMETOOLONG, EFBIG,
                          EIO,    EINVAL, EISDIR, ENXIO,   ENOENT, ENOSPC, ENOTDIR,      EPERM,
                          EACCES, EROFS,  ESTALE, ETXTBSY, ELOOP,  EMFILE, ENFILE}) {
    const std::string text = system_error_text(error);
    CAPTURE(text);
    CHECK(static_cast<unsigned char>(text.front()) >= 0x80);
  }
}

TEST_CASE(
    "places of errors are the same in every language, and translated where people read them") {
  CHECK(line_place(3) == "line 3");
  CHECK(line_place(3, 5) == "line 3, column 5");
  CHECK(row_place(2) == "row 2");
  const std::string place = "a, b.json:7, line 3, column 5";
  CHECK(place_for_readers(place) == place);
  const Chinese chinese;
  CHECK(input_error("x", line_place(3, 5), "").inside("a, b.json:7").where() == place);
  CHECK(place_for_readers(place) == "a, b.json:7，第 3 行第 5 列");
  CHECK(place_for_readers("m.csv, row 2") == "m.csv，第 2 行");
  CHECK(place_for_readers("line 4") == "第 4 行");
  CHECK(place_for_readers("d.json, /mask/a, b") == "d.json，/mask/a, b");
  CHECK(place_for_readers("line 4 of it, /x") == "line 4 of it，/x");
}
