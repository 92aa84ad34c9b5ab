#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "result/result_reader.hpp"
#include "result/result_writer.hpp"
#include "temporary_folder.hpp"

using namespace attn;

namespace {

std::string written(const std::vector<SeenKeys>& seen) {
  return json_text(object({{"seen", facts_of(seen)}}), JsonLayout::line);
}

}  // namespace

TEST_CASE("the keys that queries see are read as they were written, for the attentions named") {
  // Two samples; the second is shorter, and its last query is padding.
  const Tensor allowed({2, 1, 2, 3}, std::vector<std::uint8_t>{1, 0, 0, 0, 1, 1,  //
                                                               1, 0, 0, 0, 0, 0});
  const TemporaryFolder folder;
  const auto path =
      folder.write("r.json", written({{{"layers.0.self.", "layers.1.self."}, ranges_of(allowed)}}));
  ResultReader file(path);
  for (const char* prefix : {"layers.0.self.", "layers.1.self."}) {
    const Tensor read = file.seen(prefix, {2, 4, 2, 3});
    CHECK(read.shape() == allowed.shape());
    const auto a = read.values<std::uint8_t>(), b = allowed.values<std::uint8_t>();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
  CHECK_FALSE(file.seen("layers.2.self.", {2, 4, 2, 3}));
}

TEST_CASE("keys that queries see beyond the weights are refused with their place") {
  const TemporaryFolder folder;
  const auto path =
      folder.write("r.json", R"({"seen":[{"attentions":["self."],"keys":[[[0,1],[0,4]]]}]})");
  ResultReader file(path);
  CHECK(error_from([&] {
          file.seen("self.", {1, 1, 2, 3});
        }) ==
        "the keys that queries see do not fit the weights [1,1,2,3]\n  where: " + path.string() +
            ", /seen/0/keys\n  help:  give for each sample and query the first key and the one "
            "after the last");
}
