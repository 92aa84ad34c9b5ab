#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "models/model_place.hpp"
#include "result/result_reader.hpp"
#include "result/result_writer.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

constexpr const char* again =
    to_translate("compute the result again, with this version of the program");

/// Members of one object of a result that tells of a split.
class SplitReader {
 public:
  SplitReader(const JsonValue& object, std::string place)
      : object_(expect_object(object, place)), place_(std::move(place)) {}

  std::string at(const char* member) const { return pointer_to(place_, member); }

  const JsonValue& member(const char* name) const {
    if (const JsonValue* value = object_.find(name)) return *value;
    throw input_error(translated("\"{1}\" is missing", name), place_, translated(again));
  }
  bool has(const char* name) const { return object_.find(name) != nullptr; }

  std::string text(const char* name) const { return expect_string(member(name), at(name)); }
  std::size_t number(const char* name) const {
    return static_cast<std::size_t>(expect_integer(member(name), at(name), 0));
  }

  // What `read` makes of each element of an array at its place.
  template <class Read>
  auto list(const char* name, const Read& read) const {
    return list_in(member(name), at(name), read);
  }
  template <class Read>
  static auto list_in(const JsonValue& array, const std::string& place, const Read& read) {
    if (!array.is(JsonValue::Type::array)) {
      throw input_error(translated("expected an array, found {1}", translated(type_text(array))),
                        place, translated("give an array"));
    }
    std::vector<decltype(read(array, place))> values;
    for (std::size_t i = 0; i < array.size(); ++i)
      values.push_back(read(array.element(i), pointer_to(place, i)));
    return values;
  }

  std::vector<std::size_t> numbers(const char* name) const { return list(name, whole_number); }
  std::vector<ModelPlace> places(const char* name) const { return list(name, model_place); }

  static std::size_t whole_number(const JsonValue& value, const std::string& place) {
    return static_cast<std::size_t>(expect_integer(value, place, 0));
  }
  static double real_number(const JsonValue& value, const std::string& place) {
    return expect_number(value, place);
  }
  static ModelPlace model_place(const JsonValue& value, const std::string& place) {
    const std::string name = expect_string(value, place);
    constexpr std::size_t most_layers = 100'000;
    if (auto found = ModelPlace::parse(name); found && found->layer < most_layers) return *found;
    throw input_error(translated("{1} is not a part of a model", in_quotes(name)), place,
                      translated(again));
  }

 private:
  const JsonValue& object_;
  std::string place_;
};

void check_shape(const Tensor& tensor, const Shape& wanted, const char* name) {
  if (tensor.shape() == wanted) return;
  throw input_error(
      translated("the tensor {1} does not have the shape {2}", text(tensor.shape()), text(wanted)),
      pointer_to("/tensors", name), translated(again));
}

ScoreSplit score_split(const SplitReader& from, Tensor parts) {
  ScoreSplit split;
  split.head = SplitReader::model_place(from.member("head"), from.at("head"));
  split.pairs = from.list("pairs", [](const JsonValue& value, const std::string& place) {
    const auto pair = SplitReader::list_in(value, place, SplitReader::whole_number);
    if (pair.size() == 2) return std::pair(pair[0], pair[1]);
    throw input_error(translated("a pair has a query and a key"), place, "");
  });
  split.query_parts = from.places("query_parts");
  split.key_parts = from.places("key_parts");
  split.weights = from.list("weights", SplitReader::real_number);
  split.positions = from.numbers("positions");
  split.strongest = from.list("strongest", [](const JsonValue& value, const std::string& place) {
    return SplitReader::list_in(value, place, SplitReader::whole_number);
  });
  check_shape(parts, {split.pairs.size(), split.query_parts.size(), split.key_parts.size()},
              "why.scores");
  const auto known = [&](std::size_t position) {
    return std::ranges::binary_search(split.positions, position);
  };
  const bool whole = !split.pairs.empty() && split.weights.size() == split.pairs.size() &&
                     std::ranges::is_sorted(split.positions) &&
                     std::ranges::all_of(split.strongest,
                                         [&](const std::vector<std::size_t>& of) {
                                           return of.empty() || of.size() == split.positions.size();
                                         }) &&
                     std::ranges::all_of(split.pairs, [&](const auto& pair) {
                       return known(pair.first) && (split.head.crosses() || known(pair.second));
                     });
  if (!whole)
    throw input_error(translated("its pairs and positions do not fit"), "/why", translated(again));
  split.parts = parts.converted(DType::float64);
  return split;
}

LogitSplit logit_split(const SplitReader& from,
                       const std::function<Tensor(const char* tensor)>& numbers) {
  LogitSplit split;
  split.position = from.number("position");
  if (from.has("class")) {
    split.label = from.text("class");
  } else {
    split.token = from.number("token");
  }
  if (from.has("against")) {
    if (split.label) {
      split.against_label = from.text("against");
      split.against = 0;  // the number of a class is not written
    } else {
      split.against = from.number("against");
    }
  }
  split.logit = expect_number(from.member("logit"), from.at("logit"));
  split.places = from.places("parts");
  split.heads = from.places("heads");
  if (from.has("cross_heads")) split.cross_heads = from.places("cross_heads");
  const auto rows = [&](const char* name, std::size_t heads) {
    const Tensor tensor = numbers(name);
    if (!tensor) return tensor;
    const bool matrix = tensor.rank() == 2 && tensor.shape()[1] > 0;
    check_shape(tensor, {heads, matrix ? tensor.shape()[1] : 1}, name);
    return tensor.converted(DType::float64);
  };
  const Tensor parts = numbers("contribution.parts");
  check_shape(parts, {split.places.size()}, "contribution.parts");
  split.parts = parts.converted(DType::float64);
  if (!split.heads.empty()) split.tokens = rows("contribution.tokens", split.heads.size());
  if (!split.cross_heads.empty())
    split.cross_tokens = rows("contribution.cross_tokens", split.cross_heads.size());
  return split;
}

/// A member of a result that says of its only text, or in a list of each, what was split.
struct TextMember {
  const JsonValue* object;  // null = nothing
  std::string place;
  std::size_t texts = 1;

  TextMember(const JsonValue& root, const char* name, std::size_t text)
      : object(root.find(name)), place(pointer_to("", name)) {
    if (object == nullptr || !object->is(JsonValue::Type::array)) return;
    texts = object->size();
    place = pointer_to(place, text);
    object = text < texts ? &object->element(text) : nullptr;
  }
};

}  // namespace

WhySplits ResultReader::splits(std::size_t text) {
  WhySplits found;
  const TextMember why(root_, "why", text), contribution(root_, "contribution", text);
  if (!is_result()) return found;
  const auto named = [&](const char* tensor, const TextMember& member) {
    return split_tensor(tensor, text, member.texts);
  };
  try {
    // A result need not have all its tensors.
    if (Tensor parts = why.object != nullptr ? numbers(named("why.scores", why)) : Tensor())
      found.scores = score_split({*why.object, why.place}, std::move(parts));
    if (contribution.object != nullptr && numbers(named("contribution.parts", contribution)))
      found.logit =
          logit_split({*contribution.object, contribution.place},
                      [&](const char* tensor) { return numbers(named(tensor, contribution)); });
  } catch (const Error& error) {
    throw error.where().starts_with(name_) ? error : error.inside(name_);
  }
  return found;
}

std::vector<std::string> ResultReader::texts(const std::string& member, std::size_t sample) const {
  const JsonValue* const lists = root_.find(member);
  if (lists == nullptr || !lists->is(JsonValue::Type::array) || lists->size() == 0) return {};
  const bool each = lists->element(0).is(JsonValue::Type::array);
  if (each && sample >= lists->size()) return {};
  const JsonValue& list = each ? lists->element(sample) : *lists;
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list.element(i).is(JsonValue::Type::string)) return {};
    texts.push_back(list.element(i).string());
  }
  return texts;
}

std::vector<std::string> ResultReader::names_of_shares(const std::string& axis) const {
  const JsonValue* const shares = root_.find("shares");
  if (shares == nullptr || !shares->is(JsonValue::Type::object)) return {};
  const JsonValue* const list = shares->find(axis);
  if (list == nullptr || !list->is(JsonValue::Type::array)) return {};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const JsonValue& name = list->element(i);
    if (name.is(JsonValue::Type::string)) names.push_back(name.string());
    if (name.is_integer()) names.push_back(std::to_string(name.integer()));
  }
  return names;
}

std::string ResultReader::text_of_logit(const char* member, std::size_t text) const {
  const TextMember of(root_, "contribution", text);
  const JsonValue* const written = of.object != nullptr ? of.object->find(member) : nullptr;
  return written != nullptr && written->is(JsonValue::Type::string) ? written->string() : "";
}

}  // namespace attn
