#pragma once

#include <cmath>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "io/safetensors.hpp"
#include "models/model_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "temporary_folder.hpp"

namespace attn {

/// The JSON text of a value that was read element by element.
inline std::string json_text_of(const JsonValue& value) {
  if (value.is(JsonValue::Type::array) || value.is(JsonValue::Type::object)) {
    const bool is_object = value.is(JsonValue::Type::object);
    std::string items;
    const auto add = [&](const std::string& item) { items += (items.empty() ? "" : ", ") + item; };
    for (std::size_t i = 0; !is_object && i < value.size(); ++i) {
      add(json_text_of(value.element(i)));
    }
    for (std::size_t i = 0; is_object && i < value.members().size(); ++i) {
      add(json_string(value.members()[i].key) + ": " + json_text_of(value.members()[i].value));
    }
    return is_object ? "{" + items + "}" : "[" + items + "]";
  }
  if (value.is(JsonValue::Type::null)) return "null";
  if (value.is(JsonValue::Type::boolean)) return value.boolean() ? "true" : "false";
  if (value.is(JsonValue::Type::string)) return json_string(value.string());
  return value.is_integer() ? std::to_string(value.integer()) : number_text(value.number());
}

/// A tensor of numbers that differ from each other, of about one in size.
inline Tensor drawn_tensor(Shape shape) {
  std::vector<float> numbers(element_count(shape));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::sin(static_cast<float>(3 * i + numbers.size()));
  }
  return {std::move(shape), std::move(numbers)};
}

/// A copy of a recorded checkpoint with other members of its configuration and other tensors.
class ChangedCheckpoint {
 public:
  explicit ChangedCheckpoint(const std::string& recorded) {
    const std::filesystem::path from =
        std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases" / recorded / "checkpoint";
    config_ = parse_json_by_element(read_text(from / "config.json"), 100);
    const auto file = MappedFile::open(FileName::by_document(from / "model.safetensors"), {});
    const Safetensors stored(file->bytes(), file);
    for (std::size_t i = 0; i < stored.names().size(); ++i) {
      tensors_.emplace(stored.names()[i], stored.read(i));
    }
  }

  /// Gives a member of config.json a value, which is JSON.
  ChangedCheckpoint& set(const std::string& key, const std::string& value) {
    JsonValue::Object members;
    for (const JsonMember& own : config_.members()) {
      if (own.key != key) members->push_back(own);
    }
    members->push_back({key, parse_json_by_element(value, 100)});
    config_ = JsonValue{std::move(members)};
    return *this;
  }
  ChangedCheckpoint& put(const std::string& name, Tensor tensor) {
    tensors_.insert_or_assign(name, std::move(tensor));
    return *this;
  }
  /// A tensor of that shape whose numbers are all one value.
  ChangedCheckpoint& put(const std::string& name, Shape shape, float value) {
    const std::size_t count = element_count(shape);
    return put(name, Tensor(std::move(shape), std::vector<float>(count, value)));
  }
  ChangedCheckpoint& take_away(const std::string& name) {
    tensors_.erase(name);
    return *this;
  }
  const Tensor& tensor(const std::string& name) const { return tensors_.at(name); }
  bool has(const std::string& name) const { return tensors_.contains(name); }

  std::filesystem::path write(std::string_view name, std::string_view text) const {
    return folder_.write(name, text);
  }
  std::string path() const { return folder_.path().string(); }

  /// Writes the checkpoint and opens it.
  ModelFolder open() const {
    write("config.json", json_text_of(config_));
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : tensors_) tensors.push_back({name, tensor});
    write("model.safetensors", safetensors_bytes(tensors));
    return ModelFolder::open(folder_.path(), std::nullopt, {});
  }

  /// The error that opening and checking it ends with; FOLDER stands for its place.
  std::string refusal() const {
    std::string said = error_from([&] {
      const ModelFolder model = open();
      check_weights(model.architecture, model.weights);
    });
    const std::size_t at = said.find(path());
    return at == said.npos ? said : said.replace(at, path().size(), "FOLDER");
  }

 private:
  TemporaryFolder folder_;
  JsonValue config_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace attn
