#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "document/document_problems.hpp"
#include "document/parameters.hpp"
#include "run/run_document.hpp"
#include "temporary_folder.hpp"

namespace {

std::string self_attention(const std::string& parameters) {
  return R"({"attention":"self","x":[[1,2],[3,4]],"parameters":)" + parameters + "}";
}

// The three weights of self-attention, or what stands for them, each behind `prefix`.
std::vector<attn::NamedTensor> self_weights(const std::string& prefix,
                                            const std::vector<std::vector<double>>& numbers) {
  const std::vector<std::string> names{"W_q.weight", "W_k.weight", "W_v.weight"};
  std::vector<attn::NamedTensor> tensors;
  for (std::size_t i = 0; i < names.size(); ++i)
    tensors.push_back({prefix + names[i], attn::Tensor({2, 2}, numbers[i])});
  return tensors;
}

const std::vector<std::vector<double>> usual_numbers{{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 1, 2, 3}};
const std::vector<std::vector<double>> turned_numbers{{1, 3, 2, 4}, {5, 7, 6, 8}, {9, 2, 1, 3}};

}  // namespace

TEST_CASE("the weights of a file may be stored the other way round, and its biases stay") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> stored = self_weights("", turned_numbers),
                                 usual = self_weights("", usual_numbers);
  const attn::NamedTensor bias{"W_q.bias", attn::Tensor({2}, std::vector<double>{0.5, -0.25})};
  stored.push_back(bias);
  usual.push_back(bias);
  folder.write("stored.npz", attn::npz_bytes(stored));
  folder.write("usual.npz", attn::npz_bytes(usual));
  const std::string expected =
      run_document(self_attention(R"({"file":"usual.npz"})"), folder).bytes;
  CHECK(run_document(self_attention(R"({"file":"stored.npz","transpose":true})"), folder).bytes ==
        expected);
  CHECK(run_document(self_attention(R"({"file":"usual.npz","transpose":false})"), folder).bytes ==
        expected);
  CHECK(run_document(self_attention(R"({"file":"stored.npz"})"), folder).bytes != expected);
}

TEST_CASE("the members that locate parameters in a file have the right types and keys") {
  const TemporaryFolder folder;
  folder.write("w.npz", attn::npz_bytes(self_weights("", usual_numbers)));
  struct Wrong {
    const char* members;
    const char* error;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {R"("file":3)",
            "expected a string, found a number\n"
            "  where: doc.json, /parameters/file\n  help:  give a string"},
           {R"("file":"w.npz","transpose":1)",
            "expected true or false, found a number\n"
            "  where: doc.json, /parameters/transpose\n  help:  give true or false"},
           {R"("file":"w.npz","prefix":["a."])",
            "expected a string, found an array\n"
            "  where: doc.json, /parameters/prefix\n  help:  give a string"},
           {R"("file":"w.npz","names":"W_q")",
            "expected an object, found a string\n"
            "  where: doc.json, /parameters/names\n  help:  give an object"},
           {R"("file":"w.npz","names":{"W_q.weight":null})",
            "expected a string, found null\n"
            "  where: doc.json, /parameters/names/W_q.weight\n"
            "  help:  leave the key out; otherwise give a string"},
           {R"("file":"w.npz","prefixes":"a.")",
            "unknown key \"prefixes\"\n"
            "  where: doc.json, /parameters/prefixes\n  help:  did you mean \"prefix\"?"},
           {R"("file":"w.npz","names":{"mask":"W_q.weight"})",
            "unknown parameter \"mask\"\n"
            "  where: doc.json, /parameters/names/mask\n"
            "  help:  leave it out: nothing uses it"}}) {
    CAPTURE(wrong.members);
    CHECK(problems_of(self_attention(std::string("{") + wrong.members + "}"), folder.path()) ==
          wrong.error);
  }
  CHECK(problems_of(self_attention(R"({"file":"w.npz"})"), folder.path()).empty());
}

TEST_CASE("an unreadable tensor in a file of parameters is a problem with both places") {
  const TemporaryFolder folder;
  std::string bytes = attn::npz_bytes(self_weights("", usual_numbers));
  const std::size_t element = bytes.find("NUMPY") + 127;
  bytes[element] = static_cast<char>(bytes[element] ^ 1);
  folder.write("damaged.npz", bytes);
  CHECK(problems_of(self_attention(R"({"file":"damaged.npz"})"), folder.path()) ==
        "the member is damaged: CRC error\n"
        "  where: doc.json, /parameters/file, " +
            (folder / "damaged.npz").string() +
            ", member \"W_q.weight\"\n"
            "  help:  copy or download the file again");
}

TEST_CASE("a weight with the name of its Linear layer alone is suggested") {
  CHECK(problems_of(self_attention(
            R"({"W_q":[[1,0],[0,1]],"W_k.weight":[[1,0],[0,1]],"W_v.weight":[[1,0],[0,1]]})")) ==
        "the parameter W_q.weight is missing\n"
        "  where: doc.json, /parameters/W_q.weight\n"
        "  help:  did you write \"W_q\" for \"W_q.weight\"?");
  // By another of its names.
  CHECK(problems_of(self_attention(R"({"W_q.weight":[[1,0],[0,1]],"W_k.weight":[[1,0],[0,1]],)"
                                   R"("value":[[1,0],[0,1]]})")) ==
        "the parameter W_v.weight is missing\n"
        "  where: doc.json, /parameters/W_v.weight\n"
        "  help:  did you write \"value\" for \"value.weight\"?");
  // With other marks between the letters, for the first of several.
  CHECK(problems_of(
            self_attention(R"({"Wq":[[1,0],[0,1]],"Wk":[[1,0],[0,1]],"W-v":[[1,0],[0,1]]})")) ==
        "the parameters W_q.weight, W_k.weight and W_v.weight are missing\n"
        "  where: doc.json, /parameters\n"
        "  help:  of W_q.weight: did you write \"Wq\" for \"W_q.weight\"?");
}

TEST_CASE("errors name the first eight tensors of a file") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> strangers;
  for (int i = 0; i < 9; ++i) {
    strangers.push_back({"blk." + std::to_string(i), attn::Tensor({1}, std::vector<double>{1})});
  }
  for (const attn::NamedTensor& weight : self_weights("", usual_numbers)) {
    if (weight.name != "W_v.weight") strangers.push_back(weight);
  }
  folder.write("many.npz", attn::npz_bytes(strangers));
  const std::string problem =
      "the parameter W_v.weight is missing\n"
      "  where: doc.json, /parameters/file\n"
      "  help:  say which of the file's tensors it is with \"names\": {\"W_v.weight\": …}; it has ";
  CHECK(problems_of(self_attention(R"({"file":"many.npz"})"), folder.path()) ==
        problem + "blk.0, blk.1, blk.2, blk.3, blk.4, blk.5, blk.6, blk.7, …");
  strangers.erase(strangers.begin(), strangers.begin() + 3);
  folder.write("many.npz", attn::npz_bytes(strangers));
  CHECK(problems_of(self_attention(R"({"file":"many.npz"})"), folder.path()) ==
        problem + "blk.3, blk.4, blk.5, blk.6, blk.7, blk.8, W_q.weight, W_k.weight");
}

TEST_CASE("one weight of query, key and value is suggested as such") {
  const TemporaryFolder folder;
  const auto ones = [](const std::string& name, attn::Shape shape) {
    const std::size_t count = attn::element_count(shape);
    return attn::NamedTensor{name, attn::Tensor(std::move(shape), std::vector<double>(count, 1))};
  };
  const std::string missing = "  where: doc.json, /parameters/file\n  help:  of ";
  const std::vector<attn::NamedTensor> timm{ones("qkv.weight", {6, 2}), ones("qkv.bias", {6}),
                                            ones("proj.weight", {2, 2})};
  folder.write("timm.npz", attn::npz_bytes(timm));
  CHECK(problems_of(self_attention(R"({"file":"timm.npz"})"), folder.path()) ==
        "the parameters W_q.weight, W_k.weight and W_v.weight are missing\n" + missing +
            "W_q.weight: \"qkv.weight\" may hold query, key and value: then give \"names\": "
            "{\"in_proj_weight\": \"qkv.weight\", \"in_proj_bias\": \"qkv.bias\"}, with the "
            "output's as \"out_proj.weight\"");
  CHECK(problems_of(self_attention(R"({"file":"timm.npz","names":{"in_proj_weight":"qkv.weight",)"
                                   R"("in_proj_bias":"qkv.bias"}})"),
                    folder.path())
            .empty());
  const std::vector<attn::NamedTensor> gpt{ones("attn.c_attn.weight", {2, 6})};
  folder.write("gpt.npz", attn::npz_bytes(gpt));
  CHECK(problems_of(self_attention(R"({"file":"gpt.npz","prefix":"attn."})"), folder.path()) ==
        "the parameters attn.W_q.weight, attn.W_k.weight and attn.W_v.weight are missing\n" +
            missing +
            "attn.W_q.weight: \"attn.c_attn.weight\" may hold query, key and value: then give "
            "\"names\": {\"in_proj_weight\": \"c_attn.weight\"} and \"transpose\": true, with the "
            "output's as \"out_proj.weight\"");
}

TEST_CASE("names without the prefix are not suggested") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> tensors = self_weights("a.", usual_numbers);
  tensors[0].name = "W_qq.weight";
  folder.write("w.npz", attn::npz_bytes(tensors));
  CHECK(problems_of(self_attention(R"({"file":"w.npz","prefix":"a."})"), folder.path()) ==
        "the parameter a.W_q.weight is missing\n"
        "  where: doc.json, /parameters/file\n"
        "  help:  say which of the file's tensors it is with \"names\": {\"W_q.weight\": …}; it "
        "has W_qq.weight, a.W_k.weight, a.W_v.weight");
}

namespace {

const std::string start = R"({"attention":"multi_head","heads":2,"x":[[1,2,3,4],[5,6,7,8]],)";
const std::string layer =
    R"({"attention":"encoder_layer","heads":2,"x":[[1,2,3,4],[5,6,7,8]],"seed":1,)";

TEST_CASE("a stack draws new parameters for each of its layers") {
  const DocumentResult one =
      run_document(layer + R"("feed_forward":6,"parameters":{"init":"torch"}})");
  const DocumentResult two =
      run_document(layer + R"("feed_forward":6,"layers":2,"parameters":{"init":"torch"}})");
  const auto first = one.tensor("self.weights"), again = two.tensor("layers.0.self.weights"),
             second = two.tensor("layers.1.self.weights");
  CHECK(std::vector<float>(first.values<float>().begin(), first.values<float>().end()) ==
        std::vector<float>(again.values<float>().begin(), again.values<float>().end()));
  CHECK(first.values<float>()[0] != second.values<float>()[0]);
}

TEST_CASE("an initialisation refuses missing and unknown members") {
  CHECK(problems_of(start + R"("parameters":{"init":"torch"}})") ==
        "the initialization needs a seed\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  CHECK(problems_of(start + R"("seed":1,"parameters":{"init":"xavier"}})") ==
        "unknown initialization \"xavier\"\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  known: torch");
  CHECK(problems_of(start + R"("seed":1,"parameters":{"init":"torch","biass":false}})") ==
        "unknown key \"biass\"\n"
        "  where: doc.json, /parameters/biass\n"
        "  help:  did you mean \"bias\"?");
  CHECK(problems_of(
            R"({"attention":"additive","query":[[1]],"seed":1,"parameters":{"init":"torch"}})") ==
        "\"hidden\" is missing\n"
        "  where: doc.json, /parameters/hidden\n"
        "  help:  give the number of hidden units of additive attention, such as 8");
  CHECK(problems_of(
            R"({"attention":"general","query":[[1]],"seed":1,"parameters":{"init":"torch"}})") ==
        "the parameter of general attention cannot be drawn\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  give W itself");
  CHECK(problems_of(R"({"attention":"multi_head","heads":3,"x":[[1,2,3,4]],"seed":1,)"
                    R"("parameters":{"init":"torch"}})") ==
        "the hidden states are 4 wide, which is not divisible by 3 heads\n"
        "  where: doc.json, /heads\n"
        "  help:  choose a number of heads that divides the width");
  CHECK(problems_of(layer + R"("parameters":{"init":"torch"}})") ==
        "\"feed_forward\" is missing\n"
        "  where: doc.json, /feed_forward\n"
        "  help:  give the hidden width of the layer's feed-forward part, such as 16");
}

TEST_CASE("parameters beyond the memory are refused before the first is drawn") {
  const std::string parameters = R"("parameters":{"init":"torch"}})";
  for (const char* size : {R"("feed_forward":6,"layers":1000000000000000,)",
                           R"("feed_forward":1000000000000000000,)"}) {
    CAPTURE(size);
    const std::string problem = problems_of(layer + size + parameters);
    CHECK(problem.starts_with("the set of parameters would take "));
    CHECK(problem.ends_with("\n  where: doc.json, /parameters\n  help:  make it smaller"));
  }
}

}  // namespace
