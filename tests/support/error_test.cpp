#include "attn/error.hpp"

#include <doctest/doctest.h>

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
