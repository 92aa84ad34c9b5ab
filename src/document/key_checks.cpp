#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/foreign_keys.hpp"
#include "document/keys.hpp"
#include "io/json_value.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// 1. Unknown keys.

// What to do about a key that is near to another, which the object has too; empty without one.
std::string help_beside_near(const JsonValue& object, std::string_view name,
                             std::span<const std::string_view> known) {
  const std::string_view near = nearest_name(name, known);
  if (near.empty() || object.find(near) == nullptr) return "";
  return translated("leave it out if {1} is meant, which is given too", in_quotes(near));
}

// Whether a member is written to say that there is none.
bool is_null(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.find(key);
  return value != nullptr && value->is(JsonValue::Type::null);
}

// Documents have too many keys to list them.
std::string help_for_unknown(const JsonValue& root, std::string_view name,
                             std::span<const std::string_view> known) {
  if (is_null(root, name)) return translated("leave the key out: what is absent is not written");
  if (std::string help = help_for_foreign_key(root, name); !help.empty()) return help;
  if (std::string help = help_beside_near(root, name, known); !help.empty()) return help;
  if (const std::string_view near = nearest_name(name, known); !near.empty())
    return translated("did you mean \"{1}\"?", near);
  return translated("see docs/documents.md, or the keys in attn-cli schema");
}

// 2. Keys without a meaning.

std::string help_for(const JsonValue& root, const DocumentKey& key, Kind kind) {
  const std::string_view name = key.name;
  if (kind == Kind::model) {
    return name == "mask" || name == "valid_lens"
               ? translated(
                     "leave it out: a model has its own mask, and shorter texts are padded "
                     "automatically")
               : translated(
                     "leave it out: a model takes \"text\" or \"token_ids\", and its configuration "
                     "says the rest");
  }
  if (name == "model") {
    return translated(
        "leave it out, or give a text instead of the kind of attention and its tensors: a model "
        "reads texts");
  }
  if (kind == Kind::softmax && name == "logits")
    return translated("write \"scores\", of which softmax makes weights");
  if (key.takes(info(Kind::model)) && !key.takes(info(Kind::encoder_layer)))
    return translated(
        "it is for models: leave it out, or give the folder of one with DocumentOptions::model and "
        "a text with DocumentOptions::texts");
  if (name == "parameters") return translated("leave it out: this kind has no parameters");
  if (name == "scores")
    return translated("leave it out, or choose \"softmax\", which takes given scores");
  if (kind == Kind::softmax && root.find("scores") == nullptr) {
    constexpr std::string_view states[]{"query", "key", "x"};
    const auto given = [&](std::string_view one) { return root.find(one) != nullptr; };
    const bool alone = std::ranges::count_if(states, given) == 1;
    if (alone && std::ranges::count(states, name) == 1)
      return translated("write \"scores\" in place of \"{1}\" if these are scores", name);
    if (name == "query" || name == "key")
      return translated(
          "choose \"scaled_dot_product\", which computes the scores of query and key");
  }
  if (kind == Kind::softmax && (name == "query" || name == "key"))
    return translated(
        "leave it out, or choose \"scaled_dot_product\", which computes the scores of query and "
        "key");
  if (kind == Kind::softmax)
    return translated("leave it out: softmax takes \"scores\" and, if wanted, \"value\"");
  constexpr std::string_view of_source = "source_";
  if (kind == Kind::encoder_layer && name.starts_with(of_source)) {
    return translated("write {1}: this kind has no sequence but its own",
                      in_quotes(name.substr(of_source.size())));
  }
  if (name == "x")
    return translated(
        "give \"query\", \"key\" and \"value\", or choose a kind that projects hidden states");
  if (name == "query" || name == "key" || name == "value")
    return translated("give the hidden states as \"x\"");
  if (name.starts_with("memory")) {
    // Where all keys may be the memory's, they need no key of their own.
    constexpr std::string_view of_memory = "memory_";
    const DocumentKey* const plain = find_key(name.substr(std::min(name.size(), of_memory.size())));
    const DocumentKey* const memory = find_key("memory");
    if (plain != nullptr && plain->takes(info(kind)) && memory->takes(info(kind))) {
      return translated("write {1}: where \"memory\" is given, it is about the memory's keys",
                        in_quotes(plain->name));
    }
    return translated("leave it out, or choose a kind that takes it: {1}", kinds_that_take(key));
  }
  if (name.ends_with("heads") && info(kind).family == Family::projected)
    return translated("leave it out, or choose \"multi_head\"");
  if (is_of_layers(key))
    return translated("leave it out, or choose a kind that takes it: {1}", kinds_that_take(key));
  return translated("leave it out");
}

// 3. Names of kinds.

Kind kind_of(const std::string& name, const std::string& pointer) {
  if (const KindInfo* found = find_kind(name)) return found->kind;
  const std::string help = help_for_foreign_kind(name);
  throw input_error(translated("unknown kind of attention \"{1}\"", name), pointer,
                    help.empty() ? suggestion(name, names_of_kinds()) : help);
}

Kind read_kind(const JsonValue& value, const std::string& pointer) {
  return kind_of(expect_string(value, pointer), pointer);
}

}  // namespace

std::vector<std::string_view> names_of_kinds() {
  std::vector<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  return names;
}

std::string kinds_that_take(const DocumentKey& key) {
  std::string names;
  for (const KindInfo& one : kinds()) {
    if (key.takes(one)) names += (names.empty() ? "" : name_separator()) + in_quotes(one.name);
  }
  return names;
}

bool is_of_layers(const DocumentKey& key) {
  return key.takes(info(Kind::encoder_layer)) && !key.takes(info(Kind::multi_head));
}

void check_document_keys(const JsonValue& root, Problems& problems) {
  // The configuration of a model is refused as a whole, when its kind is looked for.
  if (root.find("model_type") && !root.find("attention") && !root.find("model")) return;
  std::vector<std::string_view> known;
  known.reserve(document_keys().size());
  for (const DocumentKey& key : document_keys()) known.push_back(key.name);
  constexpr std::size_t most_told = 1000;
  std::size_t unknown = 0;
  for (const JsonMember& member : root.members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    if (++unknown > most_told) continue;
    problems.add(input_error(translated("unknown key \"{1}\"", member.key),
                             pointer_to("", member.key),
                             help_for_unknown(root, member.key, known)));
  }
  if (unknown > most_told) {
    problems.add(input_error(
        translated("{1} more",
                   translated_count(unknown - most_told, "{1} unknown key", "{1} unknown keys")),
        "", help_for_unknown(root, "", known)));
  }
}

namespace {

// A list of sizes as it is written, "[2, 3]"; "[…]" in the place of anything else.
std::string written_sizes(const JsonValue* value) {
  std::string sizes;
  const bool list = value != nullptr && value->is(JsonValue::Type::array) && value->size() > 0;
  for (std::size_t i = 0; list && i < value->size(); ++i) {
    const JsonValue& size = value->element(i);
    if (!size.is(JsonValue::Type::number) || !size.is_integer()) return "[…]";
    sizes += (i == 0 ? "" : ", ") + std::to_string(size.integer());
  }
  return list ? "[" + sizes + "]" : "[…]";
}

}  // namespace

void refuse_foreign_drawing(const JsonValue& object, const std::string& pointer) {
  constexpr std::pair<std::string_view, const char*> drawings[]{
      {"normal", "randn"},      {"gaussian", "randn"}, {"standard_normal", "randn"},
      {"torch.randn", "randn"}, {"uniform", "rand"},   {"random", "rand"},
      {"torch.rand", "rand"}};
  for (const auto& [key, own] : drawings) {
    const JsonValue* const value = object.find(key);
    if (value == nullptr) continue;
    const std::string named = value->is(JsonValue::Type::string) ? value->string() : "";
    const bool normal = named.find("norm") != named.npos || named.find("gauss") != named.npos;
    const JsonValue* const size = object.find("size");
    const std::string sizes = written_sizes(value->is(JsonValue::Type::array) ? value
                                            : size != nullptr                 ? size
                                                              : object.find("shape"));
    throw input_error(translated("unknown key \"{1}\"", key), pointer_to(pointer, std::string(key)),
                      translated("write {1}", std::string("{\"") + (normal ? "randn" : own) +
                                                  "\": " + sizes + "}"));
  }
}

void refuse_member(const JsonValue& object, const std::string& key,
                   std::span<const std::string_view> known, const std::string& at) {
  const std::string outer = at.substr(0, at.rfind('/'));
  // "key" of a file of tensors is a tensor's name, and a mask in a mask is one of its parts.
  const bool of_file = key == "key" && std::ranges::count(known, std::string_view("name")) > 0;
  const bool within_itself = outer.ends_with('/' + key);
  // Objects of one or two members are shown whole.
  const bool elsewhere = find_key(key) != nullptr && !of_file && !within_itself && known.size() > 2;
  std::string foreign =
      help_for_foreign_member(object, outer.substr(outer.rfind('/') + 1), key, known);
  if (foreign.empty() && !elsewhere && outer.ends_with("mask") && nearest_name(key, known).empty())
    foreign = help_for_key_outside(key, outer);
  if (foreign.empty() && !within_itself) foreign = help_beside_near(object, key, known);
  throw input_error(
      translated("unknown key \"{1}\"", key), at,
      is_null(object, key) ? translated("leave the key out: what is absent is not written")
      : !foreign.empty()   ? foreign
      : elsewhere ? translated("write it at the top of the document, outside of {1}", outer)
                  : suggestion(within_itself ? "" : key, known));
}

std::string members_help(std::span<const std::string_view> known) {
  std::string members;
  for (const std::string_view key : known)
    members += (members.empty() ? "" : ", ") + in_quotes(key) + ": …";
  return translated("write {1}", "{" + members + "}");
}

void expect_known_members(const JsonValue& object, std::span<const std::string_view> known,
                          const std::string& place) {
  for (const JsonMember& member : expect_object(object, place).members()) {
    if (std::find(known.begin(), known.end(), member.key) != known.end()) continue;
    const std::string at = pointer_to(place, member.key);
    if (place.ends_with("/vocabulary") && member.value.is(JsonValue::Type::number)) {
      throw input_error(translated("unknown key \"{1}\"", member.key), at,
                        translated("write the tokens as a list, in the order of their ids; {1}",
                                   suggestion("", known)));
    }
    refuse_member(object, member.key, known, at);
  }
}

void check_keys_of_kinds(const JsonValue& root, std::span<const Kind> kinds, Problems& problems) {
  for (const DocumentKey& key : document_keys()) {
    const auto takes = [&](Kind kind) { return key.takes(info(kind)); };
    if (!root.find(key.name) || std::any_of(kinds.begin(), kinds.end(), takes)) continue;
    std::string names;
    for (const Kind kind : kinds)
      names += (names.empty() ? "" : name_separator()) + std::string(info(kind).name);
    problems.add(
        input_error(translated("\"{1}\" has no meaning for {2} attention", key.name, names),
                    pointer_to("", key.name), help_for(root, key, kinds[0])));
  }
}

Error states_of_others(const JsonValue& root, Kind kind, std::span<const Kind> kinds) {
  const DocumentKey* const query = find_key("query");
  const bool all = std::ranges::all_of(kinds, [&](Kind one) { return query->takes(info(one)); });
  return input_error(
      translated("\"{1}\" has no meaning for {2} attention", "x", info(kind).name), "/x",
      all && root.find("memory") == nullptr
          ? translated("write \"query\" in place of \"x\": all kinds of this document take it")
          : translated("compute {1} attention in a document of its own, with \"query\"",
                       info(kind).name));
}

std::string drawn_by_kind(const JsonValue& parameters, std::span<const Kind> kinds) {
  std::string each;
  std::size_t count = 0;
  const JsonValue* const hidden = parameters.find("hidden");
  const bool given = hidden != nullptr && hidden->is(JsonValue::Type::number);
  for (const Kind kind : kinds) {
    const KindInfo& row = info(kind);
    if (row.parameters.empty() && row.family != Family::transformer) continue;
    const std::string own =
        kind == Kind::additive
            ? R"("init": "torch", "hidden": )" + (given ? number_text(hidden->number()) : "8")
        : row.family == Family::score ? in_quotes(row.parameters[0].name) + ": …"
                                      : std::string(R"("init": "torch")");
    each += (count++ == 0 ? "" : ", ") + in_quotes(row.name) + ": {" + own + "}";
  }
  return count > 1 ? "{" + each + "}" : "";
}

bool has_kinds(const JsonValue& object) {
  if (!object.is(JsonValue::Type::object)) return false;
  const auto members = object.members();
  return std::any_of(members.begin(), members.end(),
                     [](const JsonMember& member) { return find_kind(member.key) != nullptr; });
}

const JsonMember* find_by_kind(const JsonValue& object, Kind kind, const std::string& pointer) {
  const JsonMember* found = nullptr;
  for (const JsonMember& member : object.members()) {
    if (kind_of(member.key, pointer_to(pointer, member.key)) == kind) found = &member;
  }
  return found;
}

std::vector<Kind> read_kinds(const JsonValue& root) {
  const std::string at = "/attention";
  const JsonValue* value = root.find("attention");
  const bool model =
      value && value->is(JsonValue::Type::string) && value->string() == info(Kind::model).name;
  if (model || (!value && root.find("model"))) return {Kind::model};
  if (!value) {
    constexpr std::string_view names[]{"attention"};
    std::string instead, model_key;
    for (const JsonMember& member : root.members()) {
      if (is_foreign_model(member.key)) model_key = member.key;
      if (is_foreign_kind(member.key) || !nearest_name(member.key, names).empty())
        instead = member.key;
    }
    if (root.find("architectures") || root.find("model_type")) {
      throw input_error(translated("this is the configuration of a model, not an input document"),
                        "",
                        translated("give its folder with DocumentOptions::model, and a text with "
                                   "DocumentOptions::texts"));
    }
    if (root.find("nbformat")) {
      throw input_error(translated("this is a Jupyter notebook, not an input document"), "",
                        translated("write the document into a file of its own"));
    }
    throw input_error(
        translated("the document does not say which attention to compute"), at,
        root.find("weights")
            ? translated("weights that exist already are drawn by plot, not computed")
        : root.find("documents")
            ? translated("write each document into a file of its own, or a line each "
                         "into a .jsonl file for batch")
        : !model_key.empty() ? translated("write \"model\" in place of \"{1}\"", model_key)
        : root.find("text") && !root.find("tokenizer") && !root.find("embedding")
            ? translated("a text is read by a model: name it with DocumentOptions::model, or write "
                         "\"model\" into the document")
        : instead.empty() ? translated("add \"attention\", such as \"scaled_dot_product\"")
                          : translated("write \"attention\" in place of \"{1}\"", instead));
  }
  if (!value->is(JsonValue::Type::array)) return {read_kind(*value, at)};
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Kind kind = read_kind(value->element(i), pointer_to(at, i));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw input_error(translated("the kind \"{1}\" is given twice", info(kind).name),
                        pointer_to(at, i), translated("name each kind once"));
    }
    kinds.push_back(kind);
  }
  if (kinds.empty())
    throw input_error(translated("the list of kinds is empty"), at,
                      translated("name at least one kind"));
  return kinds;
}

}  // namespace attn
