#include "maps/opened_input.hpp"

#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

// Whether a file with this text is a document, with or without a kind of attention given beside it.
bool is_document(const std::string& text, bool with_kind = false) {
  const TemporaryFolder folder;
  DocumentOptions options;
  options.input = folder.write("input.json", text);
  if (with_kind) options.attention = {Kind::scaled_dot_product};
  return std::holds_alternative<Document>(open_input(options, {}));
}

}  // namespace

TEST_CASE("an input is a document unless it is a result or holds weights") {
  CHECK(is_document(R"({"attention":"sdpa","query":[[1,2]]})"));
  CHECK(is_document(R"({"model":"folder"})"));
  CHECK(!is_document(R"({"attention":"sdpa","tensors":{"weights":[[1]]}})"));
  CHECK(!is_document("[[0.5,0.5]]"));
  CHECK(!is_document(R"({"weights":[[1]]})"));
  CHECK(error_from([] { is_document(R"({"layers.0.self.weights":[[1]]})", true); },
                   ErrorKind::usage) ==
        "existing maps are not computed, so DocumentOptions::attention has no meaning\n"
        "  where: DocumentOptions::attention\n"
        "  help:  leave it out, or give the document that the maps come from");
  CHECK(!is_document(R"({"another_name":[[0.5,0.5]]})"));
  CHECK(is_document(R"({"another_name":[[0.5,0.5]]})", true));
  CHECK(is_document(R"({"query":[[1,2]],"embedding":{"width":2}})"));
}

TEST_CASE("a tensor that is chosen makes an object a file of maps") {
  const TemporaryFolder folder;
  DocumentOptions options;
  options.input = folder.write("scores.json", R"({"scores":[[1,-2],[3,4]]})");
  MapRequest name, axes;
  name.name = "scores";
  axes.axes = {MapAxis::query, MapAxis::key};
  CHECK(std::holds_alternative<Document>(open_input(options, {})));
  CHECK(std::holds_alternative<MapFiles>(open_input(options, name)));
  CHECK(std::holds_alternative<MapFiles>(open_input(options, axes)));
}

TEST_CASE(
    "a file of a query, a key and a value is a document unless a map is chosen or beside them") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const char* name : {"query", "key", "value"}) {
    tensors.push_back({name, Tensor({1, 2}, std::vector<float>{1, 2})});
  }
  DocumentOptions options;
  options.input = folder.write("qkv.npz", npz_bytes(tensors));
  MapRequest name;
  name.name = "query";
  CHECK(std::holds_alternative<Document>(open_input(options, {})));
  CHECK(std::holds_alternative<MapFiles>(open_input(options, name)));
  tensors.push_back({"weights", Tensor({1, 1}, std::vector<float>{1})});
  folder.write("qkv.npz", npz_bytes(tensors));
  CHECK(std::holds_alternative<MapFiles>(open_input(options, {})));
}

TEST_CASE("an unknown key beside weights is named with the nearest one") {
  const TemporaryFolder folder;
  DocumentOptions options;
  options.input = folder.write("w.json", R"({"weights":[[1]],"lables":["a"]})");
  CHECK(error_from([&] { open_input(options, {}); }) ==
        "unknown key \"lables\"\n  where: " + options.input.string() +
            ", /lables\n  help:  did you mean \"labels\"?");
}

TEST_CASE("the folder of a result is the result") {
  const TemporaryFolder folder;
  folder.write("result.json", R"({"tensors":{"weights":[[1]]}})");
  DocumentOptions options;
  options.input = folder.path();
  const OpenedInput input = open_input(options, {});
  REQUIRE(std::holds_alternative<MapFiles>(input));
  CHECK(std::get<MapFiles>(input)[0]->name() == (folder / "result.json").string());
}

TEST_CASE("two results of the same layers are no stack of layers") {
  const TemporaryFolder folder;
  const auto result = [&](const std::string& name, const std::string& layer) {
    return folder.write(name, R"({"tensors":{"layers.)" + layer + R"(.self.weights":[[[[1]]]]}})");
  };
  DocumentOptions options;
  options.input = result("a.json", "0");
  MapRequest maps;
  maps.others = {result("b.json", "0")};
  const std::string a = (folder / "a.json").string(), b = (folder / "b.json").string();
  CHECK(error_from([&] { open_input(options, maps); }, ErrorKind::usage) ==
        "both " + a + " and " + b +
            " have \"layers.0.self.weights\": they are two results, not layers of one stack\n"
            "  where: MapRequest::others\n  help:  compare them: attn-cli heads " +
            a + ", with compare_heads() " + b);
  maps.others = {result("c.json", "1")};
  CHECK(std::get<MapFiles>(open_input(options, maps)).size() == 2);
}

TEST_CASE("a document refuses what chooses among maps") {
  const TemporaryFolder folder;
  DocumentOptions options;
  options.input = folder.write("doc.json", R"({"attention":"sdpa","query":[[1]]})");
  const auto refusal = [&](const MapRequest& maps) {
    return error_from([&] { open_input(options, maps); }, ErrorKind::usage);
  };
  MapRequest others;
  others.others = {folder / "doc.json"};
  CHECK(refusal(others) ==
        "only files of maps can be layers of one stack\n  where: MapRequest::others\n"
        "  help:  give one document");
  MapRequest name, axes, labels;
  name.name = "layer{n}";
  axes.axes = {MapAxis::head};
  labels.labels = folder / "labels.txt";
  for (const auto& [request, field] :
       {std::pair(name, "name"), {axes, "axes"}, {labels, "labels"}}) {
    CHECK(refusal(request) == std::string("a document is computed, and MapRequest::") + field +
                                  " chooses among existing maps\n"
                                  "  where: MapRequest::" +
                                  field +
                                  "\n  help:  leave it out, or give a result or a file of maps");
  }
}
