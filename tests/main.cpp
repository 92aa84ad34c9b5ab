// The first one too, as the header is read without either where it is precompiled.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include <doctest/doctest.h>

int main(int count, char** words) {
  // Tests hold English texts, whatever the language of who runs them.
  for (const char* name : {"LANGUAGE", "LC_MESSAGES", "LANG"}) unsetenv(name);
  setenv("LC_ALL", "C.UTF-8", 1);
  return doctest::Context(count, words).run();
}
