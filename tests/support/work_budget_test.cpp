#include "support/work_budget.hpp"

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/parallel_for.hpp"

using attn::BudgetScope;
using attn::WorkBudget;

TEST_CASE("work ends with an error that names the document when its time is over") {
  WorkBudget budget(1e-9);
  budget.name("doc.json");
  budget.name("a file of the document");
  const BudgetScope scope(&budget);
  CHECK(error_from([] { attn::check_time(); }) ==
        "the document takes longer than 1e-09 seconds\n  where: doc.json\n"
        "  help:  make it smaller, or raise the limit with Limits::seconds");
}

TEST_CASE("a limit of one second is told as one") {
  WorkBudget budget(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  const BudgetScope scope(&budget);
  CHECK(error_from([] { attn::check_time(); }) ==
        "the document takes longer than 1 second\n"
        "  help:  make it smaller, or raise the limit with Limits::seconds");
}

TEST_CASE("without a limit of time work goes on") {
  CHECK_NOTHROW(attn::check_time());
  WorkBudget endless(std::nullopt), long_time(1e300);
  const BudgetScope scope(&endless);
  CHECK_NOTHROW(attn::check_time());
  const BudgetScope inner(&long_time);
  CHECK_NOTHROW(attn::check_time());
}

TEST_CASE("threads that take part in the work share its time") {
  for (const std::size_t threads : {1, 4}) {
    // A busy machine may not even begin the work in a short time.
    std::atomic<int> done = 0;
    for (double seconds = 0.01; done == 0; seconds *= 2) {
      WorkBudget budget(seconds);
      const BudgetScope scope(&budget);
      CHECK_THROWS_AS(attn::parallel_for(1'000'000'000, threads, [&](std::size_t) { ++done; }),
                      attn::Error);
    }
    // The pool's threads do not keep a budget that is over.
    CHECK_NOTHROW(attn::parallel_for(100, threads, [](std::size_t) {}));
    CHECK(attn::current_budget() == nullptr);
  }
}
