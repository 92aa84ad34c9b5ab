#include <string>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "temporary_folder.hpp"

TEST_CASE("every problem of a document is told, with its pointer") {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "doc.json", R"({"attention":"sdpa","query":[[1,2],[3]],"scale":"x","heads":0,"maks":1})");
  const attn::Validation validations[] = {attn::validate(path)};
  const std::string name = path.string();
  CHECK(attn::validation_text(validations) ==
        name +
            ": 4 problems\n"
            "\n"
            "  unknown key \"maks\"\n"
            "    where: " +
            name +
            ", /maks\n"
            "    help:  did you mean \"mask\"?\n"
            "\n"
            "  expected a whole number of at least 1, found 0\n"
            "    where: " +
            name +
            ", /heads\n"
            "    help:  give a whole number of at least 1\n"
            "\n"
            "  expected a number, found a string\n"
            "    where: " +
            name +
            ", /scale\n"
            "    help:  give a number\n"
            "\n"
            "  row 1 has 1 number, but the row before it has 2\n"
            "    where: " +
            name +
            ", /query/1\n"
            "    help:  give all rows of a tensor the same length\n");
}

TEST_CASE("a problem quotes nothing of a document that a terminal obeys") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("doc.json", R"({"attention":"sdpa","query":[[1]],"\u001b[2J\u009b":1})");
  const attn::Validation validations[] = {attn::validate(path)};
  const std::string text = attn::validation_text(validations);
  CHECK(text.starts_with(path.string() +
                         ": 1 problem\n"
                         "\n"
                         "  unknown key \"\\x1b[2J\\x9b\"\n"
                         "    where: " +
                         path.string() + ", /\\x1b[2J\\x9b\n"));
  CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("a problem that several kinds share is told once") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("doc.json", R"({"attention":["sdpa","dot_product"],"query":[[1],[2,3]]})");
  CHECK(attn::validate(path).problems.size() == 1);
}

TEST_CASE("a sound document is valid, and JSON says so with an empty list") {
  const TemporaryFolder folder;
  const auto path = folder.write("doc.json", R"({"attention":"sdpa","query":[[1,2]]})");
  const attn::Validation validations[] = {attn::validate(path)};
  CHECK(attn::validation_text(validations) == path.string() + ": valid\n");
  CHECK(attn::validation_json(validations) ==
        "[\n  {\n    \"input\": \"" + path.string() + "\",\n    \"problems\": []\n  }\n]\n");
}

TEST_CASE("a document that is not there is a problem of its file") {
  const attn::Validation validation = attn::validate("missing.json");
  REQUIRE(validation.problems.size() == 1);
  CHECK(validation.problems[0].kind() == attn::ErrorKind::file);
}
