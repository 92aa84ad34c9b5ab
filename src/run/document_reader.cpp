#include <algorithm>
#include <array>
#include <string>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "run/document.hpp"
#include "run/document_object.hpp"
#include "run/mask_reader.hpp"
#include "run/parameters.hpp"
#include "run/tensor_source.hpp"
#include "support/memory_limit.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

// Which kinds a key is for.
enum class For { all, given_scores, queries, parameters };

struct Key {
  std::string_view name;
  For kinds;
};

constexpr std::array<Key, 20> keys{{{"attention", For::all},
                                    {"query", For::queries},
                                    {"key", For::queries},
                                    {"value", For::all},
                                    {"past_key", For::queries},
                                    {"past_value", For::queries},
                                    {"scores", For::given_scores},
                                    {"parameters", For::parameters},
                                    {"mask", For::all},
                                    {"valid_lens", For::all},
                                    {"heads", For::queries},
                                    {"kv_heads", For::queries},
                                    {"scale", For::all},
                                    {"softcap", For::all},
                                    {"weights", For::all},
                                    {"labels", For::all},
                                    {"seed", For::all},
                                    {"dtype", For::all},
                                    {"title", For::all},
                                    {"description", For::all}}};

bool takes(Kind kind, For kinds) {
  switch (kinds) {
    case For::all:
      return true;
    case For::given_scores:
      return kind == Kind::softmax;
    case For::queries:
      return kind != Kind::softmax;
    case For::parameters:
      return !info(kind).parameters.empty();
  }
  return false;
}

void check_keys(const JsonValue& root, Problems& problems) {
  const std::vector<std::string_view> known = document_keys();
  for (const JsonMember& member : root.members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    problems.add(input_error("unknown key \"" + member.key + "\"", pointer_to("", member.key),
                             suggestion(member.key, known)));
  }
}

void check_keys_of_kind(const JsonValue& root, Kind kind, Problems& problems) {
  for (const Key& key : keys) {
    if (takes(kind, key.kinds) || !root.find(key.name)) continue;
    const std::string problem = "\"" + std::string(key.name) + "\" has no meaning for " +
                                std::string(info(kind).name) + " attention";
    const std::string help =
        key.kinds == For::parameters ? "leave it out: this kind has no parameters"
        : kind == Kind::softmax ? "leave it out: softmax takes \"scores\" and, if wanted, \"value\""
                                : "leave it out, or choose \"softmax\", which takes given scores";
    problems.add(input_error(problem, pointer_to("", key.name), help));
  }
}

Kind read_kind(const JsonValue& root) {
  std::vector<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  const JsonValue* value = root.find("attention");
  if (!value) {
    throw input_error("the document does not say which attention to compute", "/attention",
                      "add \"attention\", such as \"scaled_dot_product\"");
  }
  const std::string& name = expect_string(*value, "/attention");
  if (const KindInfo* found = find_kind(name)) return found->kind;
  throw input_error("unknown kind of attention \"" + name + "\"", "/attention",
                    suggestion(name, names));
}

DType read_dtype(const JsonValue& root) {
  constexpr std::array<std::string_view, 2> names{"float32", "float64"};
  const JsonValue* value = root.find("dtype");
  if (!value) return DType::float32;
  const std::string& name = expect_string(*value, "/dtype");
  if (name == names[0]) return DType::float32;
  if (name == names[1]) return DType::float64;
  throw input_error("unknown dtype \"" + name + "\"", "/dtype", suggestion(name, names));
}

}  // namespace

std::vector<std::string_view> document_keys() {
  std::vector<std::string_view> names;
  for (const Key& key : keys) names.push_back(key.name);
  return names;
}

DocumentRequest read_document(const Document& document, Problems& problems) {
  const JsonValue& root = document.root();
  DocumentRequest result;
  AttentionRequest& attention = result.attention;
  check_keys(root, problems);
  const bool known_kind = problems.attempt([&] {
    attention.kind = read_kind(root);
    check_keys_of_kind(root, attention.kind, problems);
  });
  problems.attempt([&] { attention.dtype = read_dtype(root); });

  // 1. Options.
  const auto read = [&](const char* key, auto&& store) {
    if (const JsonValue* value = root.find(key)) {
      problems.attempt([&] { store(*value, pointer_to("", key)); });
    }
  };
  read("title", [&](const JsonValue& value, const std::string& at) {
    result.title = expect_string(value, at);
  });
  read("description", [&](const JsonValue& value, const std::string& at) {
    result.description = expect_string(value, at);
  });
  read("weights", [&](const JsonValue& value, const std::string& at) {
    result.weights = expect_boolean(value, at);
  });
  const auto count = [](const JsonValue& value, const std::string& at) {
    return static_cast<std::size_t>(expect_integer(value, at, 1));
  };
  read("heads",
       [&](const JsonValue& value, const std::string& at) { attention.heads = count(value, at); });
  read("kv_heads", [&](const JsonValue& value, const std::string& at) {
    attention.kv_heads = count(value, at);
  });
  read("scale", [&](const JsonValue& value, const std::string& at) {
    attention.scale = expect_number(value, at);
  });
  read("softcap", [&](const JsonValue& value, const std::string& at) {
    attention.softcap = expect_number(value, at);
  });

  // 2. Tensors, in the order in which PyTorch's generator fills the random ones.
  TensorSource tensors(document.folder());
  read("seed", [&](const JsonValue& value, const std::string& at) {
    tensors.seed(expect_integer(value, at, INT64_MIN));
  });
  const auto read_tensor = [&](const char* key, Tensor& tensor) {
    read(key, [&](const JsonValue& value, const std::string& at) {
      tensor = tensors.read(value, attention.dtype, at);
    });
  };
  const std::size_t before_tensors = problems.errors().size();
  read_tensor("query", attention.query);
  read_tensor("key", attention.key);
  read_tensor("value", attention.value);
  read_tensor("past_key", attention.past_key);
  read_tensor("past_value", attention.past_value);
  read_tensor("scores", attention.scores);
  if (known_kind) read_parameters(root.find("parameters"), attention, tensors, problems);
  attention.mask = read_mask(root.find("mask"), root.find("valid_lens"), attention.dtype, tensors,
                             problems, result.warnings);

  // 3. Whether all fits together; what could not be read would only cause further complaints.
  if (!known_kind || problems.errors().size() != before_tensors) return result;
  problems.attempt([&] {
    const Geometry geometry = check_geometry(attention);
    if (const JsonValue* labels = root.find("labels")) {
      problems.attempt([&] {
        result.labels =
            read_labels(*labels, "/labels", geometry.batch, geometry.queries, geometry.keys);
      });
    }
    const Visibility visibility(attention.mask, geometry);
    check_memory(element_count(geometry.weights_shape()), size_of(attention.dtype),
                 "the weights " + text(geometry.weights_shape()), "");
  });
  return result;
}

}  // namespace attn
