#include "io/tensor_call.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace {

TEST_CASE("a call that makes a tensor has its form in documents") {
  struct Case {
    std::string_view call, written;
  };
  const std::string_view seed = ", and one \"seed\" at the top of the document";
  const std::string rows =
      "write the rows of numbers alone, such as [[1,2],[3,4]], without torch.tensor(…)";
  const std::string drawn = "write {\"randn\": [2,1,20]}" + std::string(seed);
  const std::string uniform = "write {\"rand\": [2,3]}" + std::string(seed);
  const std::string unknown = "write {\"rand\": […]}" + std::string(seed);
  const Case cases[]{
      {"torch.randn(2, 1, 20)", drawn},
      {"torch.normal(0, 1, (2, 1, 20))", drawn},
      {"np.random.normal(size=(2, 1, 20))", drawn},
      {"np.random.rand(2, 3)", uniform},
      {"np.random.random((2, 3))", uniform},
      {"torch.rand([2, 3], dtype=torch.float64)", uniform},
      {"rand(2, 3, generator=g)", uniform},
      {"torch.rand(2, L)", unknown},
      {"torch.rand(*x.shape)", unknown},
      {"torch.rand(", unknown},
      {"torch.ones(2, 3), \"key\": 1", "write {\"ones\": [2,3]}"},
      {"np.zeros((2, 3,))", "write {\"zeros\": [2,3]}"},
      {"torch.full((2, 3), 0.5)", "write {\"full\": [2,3], \"value\": …}"},
      {"torch.arange(12).reshape(3, 4)", "write {\"arange\": 12, \"shape\": [3,4]}"},
      {"torch.arange(40, dtype=torch.float32).reshape((1, 10, 4)).repeat(2, 1, 1)",
       "write {\"arange\": 40, \"shape\": [1,10,4]}"},
      {"np.arange(0, 6)", "write {\"arange\": …, \"shape\": […]}"},
      {"torch.tensor([[1, 2]])", rows},
      {"randn", ""},
      {"nn.Linear(4, 4)", ""},
      {"a text. rand(2)", ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.call);
    CHECK(attn::instead_of_call(one.call) == one.written);
  }
}

}  // namespace
