#include "document/parameters.hpp"

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "document/document_problems.hpp"
#include "document/tensor_source.hpp"
#include "run/run_document.hpp"

namespace {

using Parameters = std::vector<std::pair<std::string, std::string>>;  // name → JSON

std::string object(const Parameters& parameters) {
  std::string text;
  for (const auto& [name, json] : parameters)
    text += (text.empty() ? "\"" : ",\"") + name + "\":" + json;
  return "{" + text + "}";
}

// A tensor whose numbers do not depend on what is drawn before it.
std::string drawn(const std::string& shape, int seed) {
  return R"({"rand":)" + shape + R"(,"seed":)" + std::to_string(seed) + "}";
}

// Weights and biases of four Linear layers of width 4 under the given names.
Parameters linears(const std::array<std::string, 4>& names, bool biases = true) {
  Parameters parameters;
  for (int i = 0; i < 4; ++i) {
    parameters.emplace_back(names[i] + ".weight", drawn("[4,4]", i));
    if (biases) parameters.emplace_back(names[i] + ".bias", drawn("[4]", 10 + i));
  }
  return parameters;
}

attn::NamedTensor tensor_of(const std::string& name, const std::string& json) {
  attn::TensorSource source("");
  return {name, source.read(attn::parse_json(json), attn::DType::float32, "")};
}

std::vector<attn::NamedTensor> tensors_of(const Parameters& parameters, const std::string& prefix) {
  std::vector<attn::NamedTensor> tensors;
  for (const auto& [name, json] : parameters) tensors.push_back(tensor_of(prefix + name, json));
  return tensors;
}

// The matrices [rows,columns] (or vectors) one below the other, as JSON.
std::string stacked(const std::vector<std::string>& parts, const std::string& shape) {
  std::string numbers;
  for (const std::string& part : parts) {
    const attn::Tensor tensor = tensor_of("", part).tensor.converted(attn::DType::float64);
    for (const double number : tensor.values<double>()) {
      std::array<char, 40> digits{};
      std::snprintf(digits.data(), digits.size(), "%.9g", number);
      numbers += (numbers.empty() ? "" : ",") + std::string(digits.data());
    }
  }
  return R"({"shape":)" + shape + R"(,"data":[)" + numbers + "]}";
}

std::string document(const std::string& parameters, const std::string& more = "") {
  return R"({"attention":"multi_head","heads":2,"x":{"rand":[2,3,4],"seed":99},)" + more +
         R"("parameters":)" + parameters + "}";
}

const Parameters ours = linears({"W_q", "W_k", "W_v", "W_o"});

// A layer as torch.nn.TransformerEncoderLayer names it, its names behind `prefix`.
Parameters encoder_layer(const std::string& prefix = "") {
  return {{prefix + "self_attn.in_proj_weight", drawn("[12,4]", 1)},
          {prefix + "self_attn.out_proj.weight", drawn("[4,4]", 2)},
          {prefix + "norm1.weight", drawn("[4]", 3)},
          {prefix + "linear1.weight", drawn("[6,4]", 4)},
          {prefix + "linear2.weight", drawn("[4,6]", 5)},
          {prefix + "norm2.weight", drawn("[4]", 6)}};
}

std::string encoder(const Parameters& parameters, const std::string& more = "") {
  return R"({"attention":"encoder_layer","heads":2,"x":{"rand":[3,4],"seed":99},)" + more +
         R"("parameters":)" + object(parameters) + "}";
}

Parameters without(Parameters parameters, const std::string& name) {
  std::erase_if(parameters, [&](const auto& one) { return one.first == name; });
  return parameters;
}

Parameters with(Parameters parameters, const std::string& name, const std::string& json) {
  for (auto& [there, value] : parameters) {
    if (there != name) continue;
    value = json;
    return parameters;
  }
  parameters.emplace_back(name, json);
  return parameters;
}

std::vector<double> output_of(const DocumentResult& result) {
  const attn::Tensor output = result.tensor("output").converted(attn::DType::float64);
  const auto numbers = output.values<double>();
  return {numbers.begin(), numbers.end()};
}

TEST_CASE("the four Linear layers are known by every common name") {
  const std::string expected = run_document(document(object(ours))).bytes;
  for (const std::array<std::string, 4>& names :
       std::vector<std::array<std::string, 4>>{{"query", "key", "value", "fc_out"},
                                               {"Q", "K", "V", "linear"},
                                               {"q_liner", "k_liner", "v_liner", "out_liner"},
                                               {"q_proj", "k_proj", "v_proj", "out_proj"},
                                               {"q_proj", "k_proj", "v_proj", "o_proj"},
                                               {"to_q", "to_k", "to_v", "to_out.0"},
                                               {"query", "K", "v_proj", "W_o"}}) {
    CAPTURE(names[0]);
    CAPTURE(names[3]);
    CHECK(run_document(document(object(linears(names)))).bytes == expected);
  }
}

TEST_CASE("the weights of torch.nn.MultiheadAttention are known stacked and apart") {
  const std::string expected = run_document(document(object(ours))).bytes;
  const Parameters output{{"out_proj.weight", ours[6].second}, {"out_proj.bias", ours[7].second}};
  const std::string bias = stacked({ours[1].second, ours[3].second, ours[5].second}, "[12]");
  Parameters fused = with(output, "in_proj_bias", bias);
  fused = with(fused, "in_proj_weight",
               stacked({ours[0].second, ours[2].second, ours[4].second}, "[12,4]"));
  CHECK(run_document(document(object(fused))).bytes == expected);

  Parameters apart = with(output, "in_proj_bias", bias);
  apart = with(apart, "q_proj_weight", ours[0].second);
  apart = with(apart, "k_proj_weight", ours[2].second);
  apart = with(apart, "v_proj_weight", ours[4].second);
  CHECK(run_document(document(object(apart))).bytes == expected);
}

TEST_CASE("stacked weights of fewer key heads are split by their heads") {
  // 4 query heads and 2 key heads of width 1: rows 4, 2, 2.
  const std::string q = drawn("[4,4]", 1), k = drawn("[2,4]", 2), v = drawn("[2,4]", 3);
  const auto with_heads = [](const Parameters& parameters) {
    return R"({"attention":"multi_head","heads":4,"kv_heads":2,"x":{"rand":[2,3,4],"seed":9},)"
           R"("parameters":)" +
           object(parameters) + "}";
  };
  CHECK(run_document(with_heads({{"in_proj_weight", stacked({q, k, v}, "[8,4]")}})).bytes ==
        run_document(with_heads({{"W_q.weight", q}, {"W_k.weight", k}, {"W_v.weight", v}})).bytes);
}

TEST_CASE("parameters come from files, with a prefix and with names of their own") {
  const std::string expected = run_document(document(object(ours))).bytes;
  const TemporaryFolder folder;
  const Parameters common = linears({"query", "key", "value", "fc_out"});
  folder.write("bare.npz", attn::npz_bytes(tensors_of(ours, "")));
  folder.write("bert.safetensors", attn::safetensors_bytes(tensors_of(common, "layer.0.self.")));
  Parameters odd = without(ours, "W_q.weight");
  odd.emplace_back("wq", ours[0].second);
  folder.write("odd.npz", attn::npz_bytes(tensors_of(odd, "m.")));
  for (const char* file :
       {R"({"file":"bare.npz"})", R"({"file":"bert.safetensors","prefix":"layer.0.self."})",
        R"({"file":"odd.npz","prefix":"m.","names":{"W_q.weight":"wq"}})"}) {
    CAPTURE(file);
    CHECK(run_document(document(file), folder).bytes == expected);
  }
}

TEST_CASE("a bias goes with the weight of its own name") {
  const TemporaryFolder folder;
  // A file may hold two sets; the bias of the one says nothing about the other.
  Parameters two = linears({"W_q", "W_k", "W_v", "W_o"}, false);
  two.emplace_back("query.bias", drawn("[4]", 5));
  folder.write("two.npz", attn::npz_bytes(tensors_of(two, "")));
  CHECK(run_document(document(R"({"file":"two.npz"})"), folder).bytes ==
        run_document(document(object(linears({"W_q", "W_k", "W_v", "W_o"}, false)))).bytes);
}

TEST_CASE("the one layer of a stack goes by its number or by its bare names") {
  const TemporaryFolder folder;
  folder.write("model.npz", attn::npz_bytes(tensors_of(encoder_layer("layers.0."), "encoder.")));
  const std::string expected = run_document(encoder(encoder_layer())).bytes;
  CHECK(run_document(encoder(encoder_layer("layers.0."))).bytes == expected);
  CHECK(run_document(R"({"attention":"encoder_layer","heads":2,"x":{"rand":[3,4],"seed":99},)"
                     R"("parameters":{"file":"model.npz","prefix":"encoder."}})",
                     folder)
            .bytes == expected);
}

TEST_CASE("each kind of a list may have parameters of its own, by name or alias") {
  const std::string start = R"("query":{"rand":[2,3,4],"seed":9},"parameters":)";
  const std::string W = R"({"W":)" + drawn("[4,4]", 1) + "}";
  const std::string additive = R"({"W_k.weight":)" + drawn("[5,4]", 2) + R"(,"W_q.weight":)" +
                               drawn("[5,4]", 3) + R"(,"w_v.weight":)" + drawn("[1,5]", 4) + "}";
  const std::string each = R"({"luong":)" + W + R"(,"additive":)" + additive + "}";
  const TemporaryFolder folder;
  run_document(R"({"attention":["general","bahdanau"],)" + start + each + "}", folder);
  CHECK(read_text(folder / "out/general/result.json") ==
        run_document(R"({"attention":"general",)" + start + W + "}").bytes);
  CHECK(read_text(folder / "out/additive/result.json") ==
        run_document(R"({"attention":"additive",)" + start + additive + "}").bytes);
  // One of them alone, as a flag chooses it.
  CHECK(run_document(R"({"attention":["general","bahdanau"],)" + start + each + "}", folder,
                     {attn::Kind::additive})
            .bytes == run_document(R"({"attention":"additive",)" + start + additive + "}").bytes);
}

TEST_CASE("a layer without norm weights is computed, with a warning that names them") {
  const DocumentResult result = run_document(encoder(without(encoder_layer(), "norm2.weight")));
  REQUIRE(result.reports[0].warnings.size() == 1);
  CHECK(result.reports[0].warnings[0] ==
        "the parameters have no norm2.weight: that norm only takes mean and variance away");
}

TEST_CASE("a norm without its weight is one whose weights are 1") {
  const Parameters bare = without(encoder_layer(), "norm2.weight");
  const std::string ones = "[1,1,1,1]", bias = drawn("[4]", 7);
  const DocumentResult bias_alone = run_document(encoder(with(bare, "norm2.bias", bias)));
  CHECK(bias_alone.reports[0].warnings.empty());
  const DocumentResult both =
      run_document(encoder(with(with(bare, "norm2.weight", ones), "norm2.bias", bias)));
  CHECK(output_of(bias_alone) == output_of(both));

  const DocumentResult neither = run_document(encoder(bare, R"("norm_kind":"rms",)"));
  REQUIRE(neither.reports[0].warnings.size() == 1);
  CHECK(neither.reports[0].warnings[0] ==
        "the parameters have no norm2.weight: that norm only divides by the root of the mean "
        "square");
  const DocumentResult weighted =
      run_document(encoder(with(bare, "norm2.weight", ones), R"("norm_kind":"rms",)"));
  CHECK(weighted.reports[0].warnings.empty());
  CHECK(output_of(neither) == output_of(weighted));
  CHECK(output_of(neither) != output_of(both));
}

TEST_CASE("a tensor with a use of its own is not suggested for another") {
  CHECK(problems_of(encoder(without(encoder_layer(), "linear1.weight"))) ==
        "the parameter linear1.weight is missing\n"
        "  where: doc.json, /parameters/linear1.weight\n"
        "  help:  give a tensor of that name");
  Parameters second = without(encoder_layer("layers.0."), "layers.0.linear2.weight");
  for (const auto& parameter : encoder_layer("layers.1.")) second.push_back(parameter);
  CHECK(problems_of(encoder(second, R"("layers":2,)")) ==
        "the parameter layers.0.linear2.weight is missing\n"
        "  where: doc.json, /parameters/layers.0.linear2.weight\n"
        "  help:  give a tensor of that name");
}

TEST_CASE("a gated feed-forward needs its third Linear") {
  CHECK(problems_of(encoder(encoder_layer(), R"("activation":"swiglu",)")) ==
        "the parameter linear3.weight is missing\n"
        "  where: doc.json, /parameters/linear3.weight\n"
        "  help:  give a tensor of that name");
  const Parameters gated = with(encoder_layer(), "linear3.weight", drawn("[6,4]", 8));
  CHECK(problems_of(encoder(gated, R"("activation":"swiglu",)")).empty());
  CHECK(problems_of(encoder(gated, R"("activation":"reglu",)")).empty());
  CHECK(problems_of(encoder(encoder_layer(), R"("activation":"relu2",)")).empty());
  CHECK(problems_of(encoder(gated, R"("activation":"quick_gelu",)")) ==
        "unknown parameter \"linear3.weight\"\n"
        "  where: doc.json, /parameters/linear3.weight\n"
        "  help:  did you mean \"linear1.weight\"?");
}

TEST_CASE("layers of a file that are not computed are a warning") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> tensors = tensors_of(encoder_layer("layers.0."), "");
  for (attn::NamedTensor& second : tensors_of(encoder_layer("layers.1."), ""))
    tensors.push_back(std::move(second));
  tensors.push_back(tensor_of("norm.weight", drawn("[4]", 1)));
  folder.write("stack.npz", attn::npz_bytes(tensors));
  const DocumentResult result =
      run_document(R"({"attention":"encoder_layer","heads":2,"x":{"rand":[3,4],"seed":9},)"
                   R"("parameters":{"file":"stack.npz"}})",
                   folder);
  // The norm after the last layer is applied.
  REQUIRE(result.reports[0].warnings.size() == 1);
  CHECK(result.reports[0].warnings[0] ==
        "the parameters hold more layers than the 1 that are computed: \"layers\" sets their "
        "number");
}

TEST_CASE("missing parameters are named, with the nearest name that is there") {
  CHECK(problems_of(R"({"attention":"self","x":[[1]]})") ==
        "the parameters are missing\n"
        "  where: doc.json, /parameters\n"
        "  help:  give the learned weights, a file of them, or {\"init\": \"torch\"} with a seed");
  CHECK(problems_of(document(object(without(ours, "W_v.weight")))) ==
        "the parameter W_v.weight is missing\n"
        "  where: doc.json, /parameters/W_v.weight\n"
        "  help:  give a tensor of that name");
  Parameters misnamed = without(ours, "W_q.weight");
  misnamed.emplace_back("W_qq.weight", drawn("[4,4]", 1));
  CHECK(problems_of(document(object(misnamed))) ==
        "the parameter W_q.weight is missing\n"
        "  where: doc.json, /parameters/W_q.weight\n"
        "  help:  did you write \"W_qq.weight\" for \"W_q.weight\"?");
  CHECK(problems_of(document(object(linears({"quary", "key", "value", "fc_out"})))) ==
        "the parameter W_q.weight is missing\n"
        "  where: doc.json, /parameters/W_q.weight\n"
        "  help:  did you write \"quary.weight\" for \"query.weight\"?");
  CHECK(problems_of(document(object(without(ours, "W_o.weight")))) ==
        "the parameter W_o.weight is missing\n"
        "  where: doc.json, /parameters/W_o.weight\n"
        "  help:  give a tensor of that name");
  Parameters layer = without(encoder_layer(), "self_attn.in_proj_weight");
  layer.emplace_back("self_attn.in_proj_weigth", drawn("[12,4]", 1));
  CHECK(problems_of(encoder(layer)) ==
        "the parameters self_attn.W_q.weight, self_attn.W_k.weight and self_attn.W_v.weight are "
        "missing\n"
        "  where: doc.json, /parameters\n"
        "  help:  of self_attn.W_q.weight: did you write \"self_attn.in_proj_weigth\" for "
        "\"self_attn.in_proj_weight\"?");
  CHECK(problems_of(encoder({})) ==
        "the parameters self_attn.W_q.weight, self_attn.W_k.weight, self_attn.W_v.weight, "
        "linear1.weight and linear2.weight are missing\n"
        "  where: doc.json, /parameters\n"
        "  help:  give tensors of these names");
  CHECK(problems_of(encoder({}, R"("layers":3,)")) ==
        "the parameters layers.0.self_attn.W_q.weight, layers.0.self_attn.W_k.weight, "
        "layers.0.self_attn.W_v.weight, layers.0.linear1.weight, layers.0.linear2.weight, "
        "layers.1.self_attn.W_q.weight, layers.1.self_attn.W_k.weight, "
        "layers.1.self_attn.W_v.weight, layers.1.linear1.weight, layers.1.linear2.weight, "
        "layers.2.self_attn.W_q.weight and 4 more are missing\n"
        "  where: doc.json, /parameters\n"
        "  help:  give tensors of these names");
  CHECK(problems_of(encoder(encoder_layer(), R"("layers":2,)")) ==
        "the parameters are those of one layer, but layers is 2\n"
        "  where: doc.json, /parameters/linear1.weight\n"
        "  help:  put \"layers.0.\", \"layers.1.\"… before the names of each layer");
}

TEST_CASE("unknown parameters are named, with the nearest name that is known") {
  CHECK(problems_of(document(object(with(ours, "W_q.bais", drawn("[4]", 1))))) ==
        "unknown parameter \"W_q.bais\"\n"
        "  where: doc.json, /parameters/W_q.bais\n"
        "  help:  did you mean \"W_q.bias\"?");
  CHECK(problems_of(document(object(with(ours, "dropout.weight", drawn("[4]", 1))))) ==
        "unknown parameter \"dropout.weight\"\n"
        "  where: doc.json, /parameters/dropout.weight\n"
        "  help:  leave it out: nothing uses it");
}

TEST_CASE("parameters of wrong shapes are named as the document names them") {
  CHECK(problems_of(document(object(with(ours, "W_k.weight", drawn("[4,3]", 1))))) ==
        "W_k.weight [4,3] does not fit: expected [out,4]\n"
        "  where: doc.json, /parameters/W_k.weight\n"
        "  help:  its second axis is the width of what it is applied to, [2,3,4]; weights that are "
        "multiplied as x·W come with \"transpose\": true beside their \"file\" or \"data\", and as "
        "nested arrays with their columns as rows");
  CHECK(problems_of(document(
            object(with(linears({"Q", "K", "V", "linear"}), "V.bias", drawn("[3]", 1))))) ==
        "V.bias [3] does not fit: expected [4]\n"
        "  where: doc.json, /parameters/V.bias\n"
        "  help:  give it one number per row of V.weight");
  CHECK(problems_of(document(R"({"in_proj_weight":)" + drawn("[12,3]", 1) + "}")) ==
        "the query part of in_proj_weight [4,3] does not fit: expected [out,4]\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  its second axis is the width of what it is applied to, [2,3,4]; weights that are "
        "multiplied as x·W come with \"transpose\": true beside their \"file\" or \"data\", and as "
        "nested arrays with their columns as rows");
  CHECK(problems_of(document(R"({"in_proj_weight":)" + drawn("[10,4]", 1) + "}")) ==
        "in_proj_weight [10,4] cannot be split into query, key and value of 2 heads\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  give it a number of rows that is a multiple of 6: heads + 2·kv_heads parts of "
        "equal size");
  CHECK(problems_of(document(R"({"in_proj_weight":)" + drawn("[12]", 1) + "}")) ==
        "in_proj_weight [12] cannot be split into query, key and value of 2 heads\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  give it a number of rows that is a multiple of 6: heads + 2·kv_heads parts of "
        "equal size");
  CHECK(problems_of(R"({"attention":"self","x":[[1,2]],"parameters":{"in_proj_weight":)" +
                    drawn("[4,2]", 1) + "}}") ==
        "in_proj_weight [4,2] cannot be split into query, key and value\n"
        "  where: doc.json, /parameters/in_proj_weight\n"
        "  help:  give it a number of rows that is a multiple of 3: heads + 2·kv_heads parts of "
        "equal size");
  CHECK(problems_of(document(R"({"in_proj_weight":)" + drawn("[12,4]", 1) + R"(,"in_proj_bias":)" +
                             drawn("[8]", 1) + "}")) ==
        "in_proj_bias [8] does not fit: expected [12]\n"
        "  where: doc.json, /parameters/in_proj_bias\n"
        "  help:  give it one number per row of the query, key and value weights");
  Parameters stack_of_one = encoder_layer("layers.0.");
  CHECK(problems_of(encoder(with(stack_of_one, "layers.0.linear1.weight", drawn("[6,3]", 1)))) ==
        "layers.0.linear1.weight [6,3] does not fit: expected [out,4]\n"
        "  where: doc.json, /parameters/layers.0.linear1.weight\n"
        "  help:  its second axis is the width of what it is applied to, [3,4]");
  CHECK(problems_of(encoder(with(encoder_layer(), "norm2.weight", drawn("[2]", 1)))) ==
        "norm2.weight [2] does not fit: expected [4]\n"
        "  where: doc.json, /parameters/norm2.weight\n"
        "  help:  give it one number for each of a hidden state's 4");
  CHECK(problems_of(document(object(ours), R"("kv_heads":1,)")) ==
        "W_q.weight makes heads of width 2, W_k.weight of width 4\n"
        "  where: doc.json, /parameters/W_k.weight\n"
        "  help:  give both the same number of rows per head; fewer key heads are set by "
        "\"kv_heads\"");
}

TEST_CASE("parameters of a file are named as the file names them") {
  const TemporaryFolder folder;
  Parameters odd = without(ours, "W_q.weight");
  odd.emplace_back("W_qq.weight", ours[0].second);
  odd = with(odd, "W_v.weight", drawn("[4,3]", 1));
  folder.write("odd.npz", attn::npz_bytes(tensors_of(odd, "a.")));
  CHECK(problems_of(document(R"({"file":"odd.npz","prefix":"a."})"), folder.path()) ==
        "the parameter a.W_q.weight is missing\n"
        "  where: doc.json, /parameters/file\n"
        "  help:  the file has \"a.W_qq.weight\": if that is it, give \"names\": {\"W_q.weight\": "
        "\"W_qq.weight\"}");
  CHECK(problems_of(
            document(R"({"file":"odd.npz","prefix":"a.","names":{"W_q.weight":"W_qq.weight"}})"),
            folder.path()) ==
        "a.W_v.weight [4,3] does not fit: expected [out,4]\n"
        "  where: doc.json, /parameters/file\n"
        "  help:  its second axis is the width of what it is applied to, [2,3,4]; weights that are "
        "multiplied as x·W come with \"transpose\": true beside their \"file\" or \"data\", and as "
        "nested arrays with their columns as rows");
  folder.write("whole.npz", attn::npz_bytes(tensors_of(ours, "model.attn.")));
  CHECK(problems_of(document(R"({"file":"whole.npz"})"), folder.path()) ==
        "the parameters W_q.weight, W_k.weight and W_v.weight are missing\n"
        "  where: doc.json, /parameters/file\n"
        "  help:  of W_q.weight: the file has \"model.attn.W_q.weight\": give \"prefix\": "
        "\"model.attn.\"");
  const std::string whole = R"("file":"whole.npz","prefix":"model.attn.","names":)";
  CHECK(problems_of(document("{" + whole + R"({"W_Q.weight":"W_k.weight"}})"), folder.path()) ==
        "unknown parameter \"W_Q.weight\"\n"
        "  where: doc.json, /parameters/names/W_Q.weight\n"
        "  help:  did you mean \"W_q.weight\"?");
  CHECK(problems_of(document("{" + whole + R"({"W_q.weight":"W_p.weight"}})"), folder.path()) ==
        "the file has no tensor \"model.attn.W_p.weight\"\n"
        "  where: doc.json, /parameters/names/W_q.weight\n"
        "  help:  did you mean \"model.attn.W_q.weight\"?");
  const attn::NamedTensor stranger[] = {tensor_of("blk.0", "[[1]]"), tensor_of("blk.1", "[[1]]")};
  folder.write("other.npz", attn::npz_bytes(stranger));
  CHECK(problems_of(document(R"({"file":"other.npz"})"), folder.path()) ==
        "the parameters W_q.weight, W_k.weight and W_v.weight are missing\n"
        "  where: doc.json, /parameters/file\n"
        "  help:  of W_q.weight: say which of the file's tensors it is with \"names\": "
        "{\"W_q.weight\": …}; it "
        "has blk.0, blk.1");
}

TEST_CASE("with a list of kinds the places are those of each kind's own parameters") {
  const std::string start =
      R"({"attention":["self","cross"],"x":[[1,2]],"memory":[[1,2]],"parameters":)";
  const std::string square = R"([[1,0],[0,1]])";
  const std::string sound =
      object({{"W_q.weight", square}, {"W_k.weight", square}, {"W_v.weight", square}});
  CHECK(problems_of(start + R"({"self":)" + sound + R"(,"cross":)" + sound + "}}").empty());
  CHECK(problems_of(start + sound + "}").empty());
  const std::string wrong =
      object({{"W_q.weight", square}, {"W_k.weight", "[[1],[2]]"}, {"W_v.weight", square}});
  CHECK(problems_of(start + R"({"self":)" + sound + R"(,"cross":)" + wrong + "}}") ==
        "W_k.weight [2,1] does not fit: expected [out,2]\n"
        "  where: doc.json, /parameters/cross/W_k.weight\n"
        "  help:  its second axis is the width of what it is applied to, [1,2]; weights that are "
        "multiplied as x·W come with \"transpose\": true beside their \"file\" or \"data\", and as "
        "nested arrays with their columns as rows");
  CHECK(problems_of(start + R"({"self":)" + sound + "}}") ==
        "the parameters are missing\n"
        "  where: doc.json, /parameters/cross\n"
        "  help:  give the learned weights, a file of them, or {\"init\": \"torch\"} with a seed");
  CHECK(problems_of(R"({"attention":["general","additive"],"query":[[1,2]],"parameters":)"
                    R"({"general":{"W":[[1,0],[0,1]]}}})") ==
        "the parameters are missing\n"
        "  where: doc.json, /parameters/additive\n"
        "  help:  give the learned weights, a file of them, or {\"init\": \"torch\"} with a seed");
  CHECK(problems_of(R"({"attention":"self","x":[[1,2]],"parameters":{"self":)" + sound +
                    R"(,"corss":)" + sound + "}}") ==
        "unknown kind of attention \"corss\"\n"
        "  where: doc.json, /parameters/corss\n"
        "  help:  did you mean \"cross\"?");
  CHECK(problems_of(
            R"({"attention":"general","query":[[1,2]],"parameters":{"luong":{"W":[[1]]}}})") ==
        "W [1,1] does not fit: expected [2,2]\n"
        "  where: doc.json, /parameters/luong/W\n"
        "  help:  give it the shape [2,2]: the query is 2 wide, the key 2");
}

}  // namespace
