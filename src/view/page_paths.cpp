#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"

#include "models/model_place.hpp"
#include "tensor/operations.hpp"
#include "view/page_maker.hpp"

namespace attn {
namespace {

// Head that a path names.
ViewData::Paths::End end_of(const std::string& name) {
  const ModelPlace place = *ModelPlace::parse(name);
  return {place.attention().text(), *place.head};
}

}  // namespace

void put_paths(const ViewOptions& options, PageMaker& page) {
  constexpr std::size_t most_paths = 200;  // between heads
  HeadsOptions heads;
  heads.document = options.document;
  // Paths end where the first token of an answer is predicted.
  heads.document.generate.reset();
  heads.document.continued.reset();
  heads.maps = options.maps;
  heads.statistics = {HeadStatistic::previous};  // of maps that nobody asks for
  heads.paths = true;
  heads.receivers = *options.paths;
  heads.logit = options.logit;
  heads.against_logit = options.against_logit;
  heads.progress = options.progress;
  const HeadPatches patches = std::move(*read_heads(heads).patches);
  ViewData::Paths paths{patches.token, patches.other, patches.own, patches.source, {}};
  std::vector<double> strengths;
  for (const HeadPath& path : patches.paths) {
    const bool between = !path.input.empty();
    strengths.push_back(between ? std::abs(path.difference - patches.own) : 0);
    if (!between) {
      paths.paths.push_back({end_of(path.from), {}, {}, path.difference - patches.own});
    }
  }
  for (const std::size_t at : largest_of(strengths, most_paths)) {
    const HeadPath& path = patches.paths[at];
    if (strengths[at] == 0) continue;
    paths.paths.push_back(
        {end_of(path.from), end_of(path.to), path.input, path.difference - patches.own});
  }
  page.take(std::move(paths));
}

}  // namespace attn
