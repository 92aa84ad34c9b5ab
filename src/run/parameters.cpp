#include "run/parameters.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "run/document_object.hpp"
#include "support/memory_limit.hpp"
#include "support/nearest_name.hpp"
#include "tensor/torch_random.hpp"

namespace attn {
namespace {

const std::string pointer = "/parameters";

// Where the request keeps the parameter of that name.
Tensor* place(AttentionRequest& request, std::string_view name) {
  if (request.kind == Kind::general) return name == "W" ? &request.W : nullptr;
  if (request.kind != Kind::additive) return nullptr;
  if (name == "W_k.weight") return &request.W_k;
  if (name == "W_q.weight") return &request.W_q;
  if (name == "w_v.weight") return &request.w_v;
  return nullptr;
}

std::size_t width_of(const Tensor& tensor, const std::optional<std::size_t>& heads) {
  if (tensor.rank() == 0) return 0;
  const std::size_t width = tensor.shape().back();
  return tensor.rank() < 4 ? width / heads.value_or(1) : width;
}

void initialise(const JsonValue& value, AttentionRequest& request, TensorSource& tensors) {
  constexpr std::array<std::string_view, 2> known{"init", "hidden"};
  constexpr std::array<std::string_view, 1> ways{"torch"};
  expect_known_keys(value, known, pointer);
  const std::string at = pointer_to(pointer, "init");
  const std::string& way = expect_string(*value.find("init"), at);
  if (way != ways[0])
    throw input_error("unknown initialisation \"" + way + "\"", at, suggestion(way, ways));
  if (request.kind != Kind::additive) {
    throw input_error(
        "the parameters of " + std::string(info(request.kind).name) + " attention cannot be drawn",
        at, "give W itself");
  }
  const JsonValue* given = value.find("hidden");
  if (!given) {
    throw input_error("\"hidden\" is missing", pointer_to(pointer, "hidden"),
                      "give the number of hidden units of additive attention, such as 8");
  }
  const auto hidden =
      static_cast<std::size_t>(expect_integer(*given, pointer_to(pointer, "hidden"), 1));
  const Tensor& key = request.key ? request.key : request.query;
  const std::size_t key_width = width_of(key, request.kv_heads ? request.kv_heads : request.heads);
  const std::size_t query_width = width_of(request.query, request.heads);
  if (key_width == 0 || query_width == 0)
    return;  // a missing or malformed query is reported as such
  check_memory(hidden * (key_width + query_width + 1), sizeof(double), "the parameters", pointer);
  TorchRandom& random = tensors.generator(at);
  request.W_k = torch_linear_weight(random, hidden, key_width).converted(request.dtype);
  request.W_q = torch_linear_weight(random, hidden, query_width).converted(request.dtype);
  request.w_v = torch_linear_weight(random, 1, hidden).converted(request.dtype);
}

void read_file(const JsonValue& value, AttentionRequest& request, TensorSource& tensors) {
  constexpr std::array<std::string_view, 3> known{"file", "prefix", "names"};
  expect_known_keys(value, known, pointer);
  const std::string at = pointer_to(pointer, "file");
  const TensorFile& file = tensors.file(expect_string(*value.find("file"), at));
  const JsonValue* given_prefix = value.find("prefix");
  const std::string prefix =
      given_prefix ? expect_string(*given_prefix, pointer_to(pointer, "prefix")) : "";
  const JsonValue* names = value.find("names");
  std::vector<std::string_view> ours;
  for (const ParameterInfo& parameter : info(request.kind).parameters)
    ours.push_back(parameter.name);
  if (names) expect_known_keys(*names, ours, pointer_to(pointer, "names"));
  for (const std::string_view name : ours) {
    const JsonValue* theirs = names ? names->find(name) : nullptr;
    const std::string in_file =
        prefix + (theirs ? expect_string(*theirs, pointer_to(pointer_to(pointer, "names"), name))
                         : std::string(name));
    try {
      *place(request, name) =
          checked_conversion(file.read(in_file), request.dtype, pointer_to(pointer, name));
    } catch (const Error& error) {
      throw error.inside(at);
    }
  }
}

}  // namespace

void read_parameters(const JsonValue* value, AttentionRequest& request, TensorSource& tensors,
                     Problems& problems) {
  const auto needed = info(request.kind).parameters;
  if (!value || needed.empty()) return;  // a missing one is reported with the shape it should have
  if (!problems.attempt([&] { expect_object(*value, pointer); })) return;
  if (value->find("init")) {
    problems.attempt([&] { initialise(*value, request, tensors); });
    return;
  }
  if (value->find("file")) {
    problems.attempt([&] { read_file(*value, request, tensors); });
    return;
  }
  std::vector<std::string_view> known;
  for (const ParameterInfo& parameter : needed) known.push_back(parameter.name);
  for (const std::string_view name : known) {
    if (const JsonValue* tensor = value->find(name)) {
      problems.attempt([&] {
        *place(request, name) = tensors.read(*tensor, request.dtype, pointer_to(pointer, name));
      });
    }
  }
  problems.attempt([&] { expect_known_keys(*value, known, pointer); });
}

}  // namespace attn
