#include "batch/fingerprint.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "error_from.hpp"
#include "io/hashed_files.hpp"
#include "kernels/cpu_target.hpp"
#include "temporary_folder.hpp"

using namespace attn;

TEST_CASE("every option that changes a result changes their description") {
  const std::vector<std::function<void(RunOptions&)>> changes{
      [](RunOptions&) {},
      [](RunOptions& o) { o.document.attention = {Kind::self}; },
      [](RunOptions& o) {
        o.document.attention = {Kind::self, Kind::cross};
      },
      [](RunOptions& o) { o.document.dtype = DType::float64; },
      [](RunOptions& o) { o.document.heads = 2; },
      [](RunOptions& o) { o.document.scale = 2; },
      [](RunOptions& o) { o.document.seed = 2; },
      [](RunOptions& o) { o.document.valid_lens = {{2}}; },
      [](RunOptions& o) {
        o.document.valid_lens = {{2, 2}};
      },
      [](RunOptions& o) { o.document.causal = true; },
      [](RunOptions& o) { o.stages = true; },
      [](RunOptions& o) { o.weights = false; },
      [](RunOptions& o) { o.timing = true; },
      [](RunOptions& o) { o.tensors = TensorFormat::npz; },
      [](RunOptions& o) { o.sample = 1; },
      [](RunOptions& o) { o.head = 1; },
      [](RunOptions& o) { o.plots = {}; },
      [](RunOptions& o) { o.plots = {PlotKind::heatmap}; },
      [](RunOptions& o) { o.most_weights_for_heatmap = 1; },
      [](RunOptions& o) { o.format = PictureFormat::svg; },
      [](RunOptions& o) { o.selection.heads = MapSelection::Shown::mean; },
      [](RunOptions& o) {
        o.selection.queries = PositionRange{1, {}};
      },
      [](RunOptions& o) {
        o.selection.queries = PositionRange{{}, 1};
      },
      [](RunOptions& o) {
        o.selection.keys = PositionRange{1, {}};
      },
      [](RunOptions& o) { o.selection.drop_first = 1; },
      [](RunOptions& o) { o.selection.renormalize = true; },
      [](RunOptions& o) { o.selection.merge_pieces = true; },
      [](RunOptions& o) { o.selection.hide_mask = true; },
      [](RunOptions& o) { o.selection.blocks = MapSelection::Blocks::sentence; },
      [](RunOptions& o) { o.plot.figure.brackets = false; },
      [](RunOptions& o) { o.plot.figure.style = PlotStyle::matplotlib; },
      [](RunOptions& o) { o.plot.figure.title = ""; },
      [](RunOptions& o) { o.plot.figure.title = "t"; },
      [](RunOptions& o) { o.plot.figure.xlabel = "t"; },
      [](RunOptions& o) { o.plot.figure.ylabel = "t"; },
      [](RunOptions& o) {
        o.plot.titles = {{"a", "b"}};
      },
      [](RunOptions& o) { o.plot.titles = {{"a,b"}}; },
      [](RunOptions& o) { o.plot.colors.cmap = "viridis"; },
      [](RunOptions& o) {
        o.plot.figure.figsize = {4, 3};
      },
      [](RunOptions& o) { o.plot.figure.dpi = 100; },
      [](RunOptions& o) { o.plot.figure.exact_size = true; },
      [](RunOptions& o) { o.plot.figure.frame_width = 0.5; },
      [](RunOptions& o) { o.plot.figure.sentence_case = true; },
      [](RunOptions& o) { o.plot.best = 2; },
      [](RunOptions& o) { o.plot.figure.font = "Serif"; },
      [](RunOptions& o) { o.plot.annotation.when = Annotate::on; },
      [](RunOptions& o) { o.plot.annotation.color = "red"; },
      [](RunOptions& o) { o.plot.annotation.format = ".3f"; },
      [](RunOptions& o) { o.plot.colors.bar = false; },
      [](RunOptions& o) { o.plot.figure.background = Background::dark; },
      [](RunOptions& o) { o.plot.figure.letters = Letters::outlines; },
      [](RunOptions& o) { o.plot.figure.ticks = Ticks::index; },
      [](RunOptions& o) { o.plot.figure.show_spaces = true; },
      [](RunOptions& o) { o.plot.colors.range.scope = ColorRange::Scope::panel; },
      [](RunOptions& o) { o.plot.colors.range.low = -1; },
      [](RunOptions& o) { o.plot.colors.norm.kind = ColorNorm::Kind::log; },
      [](RunOptions& o) { o.plot.colors.norm.gamma = 2; },
      [](RunOptions& o) { o.plot.colors.pixels = PixelShows::mean; },
      [](RunOptions& o) { o.plot.figure.font_scale = 2; },
      [](RunOptions& o) { o.plot.figure.font_size = 8; },
      [](RunOptions& o) { o.plot.top = 2; },
      [](RunOptions& o) { o.plot.threshold = 0.1; },
  };
  std::set<Description::Fields> descriptions;
  for (const auto& change : changes) {
    RunOptions options;
    change(options);
    descriptions.insert(description_of(options));
  }
  CHECK(descriptions.size() == changes.size());
}

TEST_CASE("places, threads and limits change no result and no description") {
  RunOptions options;
  const Description::Fields before = description_of(options);
  options.out = "elsewhere";
  options.document.input = "doc.json";
  options.document.threads = 3;
  options.document.files.limits.nesting = 7;
  CHECK(description_of(options) == before);
}

TEST_CASE("an instruction set that was chosen is described, that of the machine is not") {
  const Description::Fields before = description_of({});
  for (const std::string_view target : kernels::cpu_targets()) {
    kernels::use_cpu_target(target);
    CHECK((description_of({}) == before) == (target == kernels::cpu_targets().front()));
  }
  kernels::use_cpu_target("");
}

TEST_CASE("a file that changes has another hash, even if it stays as long") {
  const TemporaryFolder folder;
  FileHashes hashes;
  const auto path = folder.write("a", "one");
  const std::string one = hashes.hash(path, FileAccess{});
  CHECK(one == content_hash(std::as_bytes(std::span("one", 3))));
  CHECK(hashes.hash(path, FileAccess{}) == one);
  std::filesystem::remove(path);
  folder.write("b", "takes the place on the disk");
  folder.write("a", "two");
  CHECK(hashes.hash(path, FileAccess{}) != one);
}

TEST_CASE("pipes and forbidden files have no hash and do not block") {
  const TemporaryFolder folder;
  FileHashes hashes;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string pipe = folder / "pipe";
  CHECK(error_from([&] { hashes.hash(pipe, FileAccess{}); }, ErrorKind::file) ==
        "\"" + pipe + "\" is not a regular file\n  help:  name a regular file");
  const auto path = folder.write("a", "one");
  FileAccess access;
  access.restrict_to = folder / "inside";
  std::filesystem::create_directory(*access.restrict_to);
  CHECK(error_from([&] { hashes.hash(path, access); }).find("FileAccess::restrict_to confines") !=
        std::string::npos);
  access = {};
  access.limits.file_bytes = 2;
  CHECK(error_from([&] { hashes.hash(path, access); }).find("the limit is 2 bytes") !=
        std::string::npos);
}
