#include "document/names.hpp"

#include <string>

#include <doctest/doctest.h>

namespace {

using attn::DocumentNames;
using attn::input_error;

std::string named(const DocumentNames& names, const std::string& problem, const std::string& where,
                  const std::string& help) {
  return names.named(input_error(problem, where, help)).what();
}

TEST_CASE("a tensor is renamed in its place and before its shape, nowhere else") {
  DocumentNames names;
  names.tensor("query", "x");
  names.tensor("key", "memory");
  CHECK(named(names, "query [2,3] and key [4] of a key, past_key [5]", "/key/1", "a query") ==
        "x [2,3] and memory [4] of a key, past_key [5]\n  where: /memory/1\n  help:  a query");
  CHECK(named(names, "wrong", "/keys", "") == "wrong\n  where: /keys");
}

TEST_CASE("a parameter is renamed where its name is a word of its own") {
  DocumentNames names;
  names.parameter("W_q.weight", "query.weight", "/parameters/self/query.weight");
  names.parameter("W_q.bias", "m.W_q.bias", "/parameters/file");
  CHECK(named(names, "W_q.weight is not self_attn.W_q.weight", "/parameters/W_q.weight",
              "see W_q.bias and W_q.weight") ==
        "query.weight is not self_attn.W_q.weight\n"
        "  where: /parameters/self/query.weight\n"
        "  help:  see m.W_q.bias and query.weight");
  CHECK(named(names, "wrong", "/parameters/W_q.bias", "") == "wrong\n  where: /parameters/file");
}

}  // namespace
