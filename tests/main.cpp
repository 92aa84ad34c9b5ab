// The first one too, as the header is read without either where it is precompiled.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "attn/cpu.hpp"

namespace {

// Has all computations use the instruction set of that name, if this processor has it and if it is
// not the one that they use anyway.
bool use_target(const std::string& name) {
  const auto targets = attn::cpu_targets();
  for (std::size_t i = 1; i < targets.size(); ++i) {
    if (targets[i] != name) continue;
    attn::use_cpu_target(name);
    return true;
  }
  return false;
}

}  // namespace

int main(int count, char** words) {
  // Tests hold English texts, whatever the language of who runs them.
  for (const char* name : {"LANGUAGE", "LC_MESSAGES", "LANG"}) unsetenv(name);
  setenv("LC_ALL", "C.UTF-8", 1);
  // ATTN_TEST_CPU is an instruction set: all tests but those that go over every one run on it.
  const char* const target = std::getenv("ATTN_TEST_CPU");
  if (target != nullptr && !use_target(target)) {
    std::cout << "left out: " << target << " is not one that this processor has besides its best\n";
    return 0;
  }
  return doctest::Context(count, words).run();
}
