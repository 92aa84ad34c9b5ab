#include "document/document.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <concepts>
#include <cstdint>
#include <system_error>
#include <tuple>
#include <variant>

#include "document/foreign_keys.hpp"
#include "document/keys.hpp"
#include "images/decoding.hpp"
#include "io/sound_file.hpp"
#include "io/tensor_formats.hpp"
#include "models/model_place.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
bool holds_tensors_alone(std::span<const std::byte> bytes) {
  using Formats = std::variant<Npy, Npz, Safetensors, TorchFile, PickleFile, Gguf>;
  bool found = false;
  for_each_format<Formats>([&](const auto& format) { found = found || format.recognises(bytes); });
  return found;
}

namespace {

// The member of that key; added if there is none.
JsonValue& member(JsonValue& object, std::string_view key) {
  auto& members = *std::get<JsonValue::Object>(object.data);
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const JsonMember& m) { return m.key == key; });
  if (found != members.end()) return found->value;
  members.push_back({std::string(key), {}});
  return members.back().value;
}

constexpr auto attended = std::to_array<std::string_view>({"query", "key", "value"});

// The three names that are those of query, key and value but for one word or letter: "q_proj",
// "k_proj", "v_proj"; empty if there are none.
std::vector<std::string> likely_states(const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 3> spellings[]{
      {"query", "key", "value"}, {"queries", "keys", "values"}, {"q", "k", "v"}, {"Q", "K", "V"}};
  for (const auto& words : spellings) {
    for (const std::string& name : names) {
      const std::size_t at = name.find(words[0]);
      std::vector<std::string> found;
      for (std::size_t i = 0; at != name.npos && i < words.size(); ++i) {
        std::string other = name;
        other.replace(at, words[0].size(), words[i]);
        if (std::ranges::count(names, other) > 0) found.push_back(std::move(other));
      }
      if (found.size() == words.size()) return found;
    }
  }
  return {};
}

Error no_attention_in(const std::vector<std::string>& names, const std::string& file) {
  const auto missing = std::ranges::find_if(
      attended, [&](std::string_view name) { return std::ranges::count(names, name) == 0; });
  const auto is_parameter = [](const std::string& name) {
    return name.ends_with("in_proj_weight") || name.ends_with("W_q.weight") ||
           name.ends_with("q_proj.weight") || name.ends_with("q_proj_weight");
  };
  if (std::ranges::any_of(names, is_parameter)) {
    return input_error(
        translated("this file holds parameters of an attention, not what it attends to"), "",
        translated("name it in a document, such as {1}",
                   R"({"attention": "multi_head", "heads": 2, "x": {"file": …}, "parameters": )"
                   R"({"file": …}})"));
  }
  if (const std::vector<std::string> likely = likely_states(names); !likely.empty()) {
    std::string document = R"({"attention": "scaled_dot_product")";
    for (std::size_t i = 0; i < likely.size(); ++i) {
      document += ", " + in_quotes(attended[i]) + ": {\"file\": " + in_quotes(file) +
                  ", \"name\": " + in_quotes(likely[i]) + "}";
    }
    return input_error(
        translated("this file of tensors is not a document: it has no tensor \"{1}\"", *missing),
        "", translated("name its tensors in a document: {1}", document + "}"));
  }
  return input_error(
      translated("this file of tensors is not a document: it has no tensor \"{1}\"", *missing), "",
      translated("save it with the names query, key and value, as numpy.savez(\"qkv.npz\", "
                 "query=q, key=k, value=v) does, or name its tensors in a document: \"query\": "
                 "{\"file\": …, \"name\": …}; attn-cli plot, show and view draw maps that exist"));
}

Error mask_without_meaning() {
  return input_error(
      translated("this file does not say what its tensor \"{1}\" means", "mask"), "",
      translated("call it attention_mask where 1 is a key that is seen, or name it in "
                 "a document: \"mask\": {\"block\": {\"file\": …, \"name\": …}}"));
}

// The error of a member beside query, key and value in a file of tensors that is no input of an
// attention: a result, or an option that a program passes on.
Error stray_member(const std::string& name) {
  return input_error(
      translated("nothing reads \"{1}\" in this file", name), "",
      translated("leave it out of the file and give options apart, such as DocumentOptions::causal "
                 "and DocumentOptions::scale, or name the file's tensors in a document: \"query\": "
                 "{\"file\": …, \"name\": …}"));
}

// Whether a tensor's name is neither a key of documents nor near to one.
bool is_stray(const std::string& name) {
  constexpr auto of_results_and_options =
      std::to_array<std::string_view>({"output", "out", "softmax_lse", "causal", "is_causal"});
  if (std::ranges::count(of_results_and_options, name) > 0) return true;
  std::vector<std::string_view> known;
  for (const DocumentKey& key : document_keys()) known.push_back(key.name);
  return find_key(name) == nullptr && help_for_foreign_key({}, name).empty() &&
         nearest_name(name, known).empty();
}

Error not_a_document(const std::string& problem) {
  return input_error(problem, "",
                     translated("give the document that it was computed from; attn-cli show, plot, "
                                "explain, view and compare read results"));
}

// Whether a file lies in the folder of a checkpoint.
bool is_of_checkpoint(const std::filesystem::path& path) {
  std::error_code none;
  return std::filesystem::exists(path.parent_path() / "config.json", none);
}

Error weights_of_model(const std::filesystem::path& path) {
  return input_error(
      translated("these are the weights of a model, not an input document"), path.string(),
      translated("give their folder {1} with DocumentOptions::model, and a text with "
                 "DocumentOptions::texts",
                 path.parent_path().string()));
}

// Whether a text is the name of a file alone, as "echo d.json" prints it.
bool is_file_name(std::string_view text) {
  constexpr std::string_view white = " \t\r\n",
                             extensions[]{".json", ".jsonl", ".npz", ".npy", ".safetensors"};
  constexpr std::size_t longest = 1024;
  const std::size_t last = text.find_last_not_of(white);
  if (last == text.npos || last >= longest || white.find(text[0]) != white.npos) return false;
  text = text.substr(0, last + 1);
  return text.find_first_of(" \t\r\n{}[]\"") == text.npos &&
         std::ranges::any_of(extensions, [&](auto extension) { return text.ends_with(extension); });
}

// Whether a text is names of files with zero bytes between, as "find -print0" prints them.
bool is_zero_separated(std::string_view text) {
  const std::size_t zero = text.find('\0');
  if (zero == text.npos) return false;
  std::string name(text.substr(0, zero));
  std::ranges::replace(name, ' ', '_');
  return is_file_name(name);
}

// Whether files of this extension are prose or settings, which may begin with any sign.
bool is_markup(const std::string& extension) {
  constexpr std::string_view all[]{".md",   ".txt", ".rst",  ".tex", ".html", ".xml",
                                   ".yaml", ".yml", ".toml", ".ini", ".log",  ".sh"};
  return std::ranges::count(all, extension) > 0;
}

// Throws Error(input) for what is meant to be read as it is: tensors, prose, a program or a table.
void refuse_text(std::string_view text, const std::string& name) {
  if (holds_tensors_alone(std::as_bytes(std::span(text)))) {
    throw input_error(
        translated("this is a file of tensors, not an input document"), name,
        translated("attn-cli run reads one of query, key and value; for many, write documents that "
                   "name its tensors: \"query\": {\"file\": …, \"name\": …}"));
  }
  const std::string extension = std::filesystem::path(name).extension().string();
  const std::string file = in_quotes(std::filesystem::path(name).filename().string());
  if (extension == ".onnx") {
    throw input_error(
        translated("this is an ONNX model, which is not computed"), name,
        translated("describe its attention in a document, which reads initializers: {1}",
                   "\"query\": {\"file\": " + file + ", \"name\": …}"));
  }
  if (extension == ".bin" || extension == ".raw" || extension == ".dat") {
    throw input_error(
        translated("these are numbers without shape and type, not an input document"), name,
        translated("save them as .npy: {1}", "numpy.save(\"q.npy\", numpy.fromfile(" + file +
                                                 ", numpy.float32).reshape(…))"));
  }
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool letter =
      first != text.npos && (std::isalpha(static_cast<unsigned char>(text[first])) != 0);
  const bool words = letter && text.substr(first, 80).find(' ') != text.npos;
  if (is_file_name(text)) {
    throw input_error(translated("this is the name of a file, not a document"), name,
                      translated("name it in the command line; attn-cli batch reads names from "
                                 "BatchOptions::files_from -"));
  }
  if (is_zero_separated(text)) {
    throw input_error(translated("these are names of files, not a document"), name,
                      translated("write attn-cli batch BatchOptions::files_from -, which reads "
                                 "names with zero bytes between"));
  }
  if (extension == ".csv" || extension == ".tsv") {
    throw input_error(
        translated("this is a table of numbers, not an input document"), name,
        translated(
            "name it in a document: \"query\": {\"file\": {1}}; attn-cli plot, show and view "
            "draw maps that exist",
            file));
  }
  const bool program = extension == ".py" || extension == ".ipynb";
  const bool markup = is_markup(extension) && first != text.npos && text[first] != '{';
  if ((!words && !markup) || extension.starts_with(".json")) return;
  throw input_error(
      program ? translated("this is a program, not an input document")
              : translated("this is plain text, not an input document"),
      name,
      translated("an input document is a JSON object, such as attn-cli example sdpa prints; a text "
                 "that a model reads is given with DocumentOptions::texts"));
}

template <class Alternative>
JsonValue json_of(Alternative value) {
  JsonValue json;
  json.data = std::move(value);
  return json;
}

// Not for pointers, which convert to bool.
template <std::same_as<bool> Truth>
JsonValue json(Truth truth) {
  return json_of(truth);
}
JsonValue json(std::string text) {
  return json_of(JsonValue::Text(std::move(text)));
}
JsonValue json(std::string_view text) {
  return json(std::string(text));
}
JsonValue json(double number) {
  return json_of(number);
}
JsonValue json(std::int64_t number) {
  return json_of(number);
}
JsonValue json(std::size_t number) {
  return json(static_cast<std::int64_t>(number));
}
JsonValue json(DType dtype) {
  return json(std::string(name(dtype)));
}
JsonValue json(Kind kind) {
  return json(info(kind).name);
}
JsonValue json(const Pooling& pool) {
  const bool largest = pool.reduction == Pooling::Reduction::max;
  return json_of(JsonValue::Object(
      {{"size", json(pool.size)}, {"reduction", json(std::string(largest ? "max" : "mean"))}}));
}
template <class Element>
JsonValue json(const std::vector<Element>& elements);
JsonValue json(const ModelText& text) {
  return text.pair ? json(std::vector{text.text, *text.pair}) : json(text.text);
}
template <class Element>
JsonValue json(const std::vector<Element>& elements) {
  JsonValue::Array list;
  for (const Element& element : elements) list->push_back(json(element));
  return json_of(std::move(list));
}

// Heads by the names of their layers, of names such as "2.1"; absent of a whole layer or a
// feed-forward. Throws for another name.
std::map<std::string, std::optional<std::vector<std::size_t>>> heads_by_layer(
    const std::vector<std::string>& names) {
  std::map<std::string, std::optional<std::vector<std::size_t>>> heads;
  for (const std::string& name : names) {
    const auto place = ModelPlace::parse(name);
    const bool feeds = place && place->part == ModelPlace::Part::feed_forward;
    if (!place || !place->positions.empty() || !(feeds || place->is_attention())) {
      throw Error(ErrorKind::usage, translated("{1} names no head", in_quotes(name)),
                  "DocumentOptions::heads_off",
                  translated("give LAYER.HEAD, LAYER or LAYER.feed_forward, from 0"));
    }
    const std::string part = feeds ? place->text() : place->whole().text();
    auto& own = heads.try_emplace(part, std::vector<std::size_t>()).first->second;
    if (!place->head) {
      own.reset();
    } else if (own) {
      own->push_back(*place->head);
    }
  }
  return heads;
}

}  // namespace

std::string lines_of_array(std::string_view text, const std::filesystem::path& path) {
  constexpr std::string_view between = " \t\r\n";
  const std::size_t open = text.find_first_not_of(between);
  if (open == text.npos || text[open] != '[') return "";
  const std::size_t first = text.find_first_not_of(between, open + 1);
  if (first == text.npos || (text[first] != '"' && text[first] != '{')) return "";
  std::error_code none;
  const bool named = std::filesystem::exists(path, none);
  std::filesystem::path lines = named ? path : std::filesystem::path("FILE.json");
  const std::string from = path_text(lines.native());
  const bool taken = lines.extension() == ".jsonl";
  lines.replace_extension(taken ? ".lines.jsonl" : ".jsonl");
  return translated("a file of several has one on each line: write {1}",
                    (text[first] == '"' ? "jq -c '.[] | {text: .}' " : "jq -c '.[]' ") + from +
                        " > " + path_text(lines.native()));
}

bool state_attention(std::span<const std::string> names) {
  return std::ranges::all_of(attended, [&](std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  });
}

Document Document::open(const std::filesystem::path& path, const FileAccess& access,
                        const JsonOptions& options) {
  std::error_code none;
  if (path != "-" && std::filesystem::is_directory(path, none) &&
      std::filesystem::exists(path / "result.json", none)) {
    throw not_a_document(translated("this is the folder of a result, not an input document"))
        .inside(path.string());
  }
  return open(MappedFile::open(FileName::by_user(path), access), path, access, options);
}

Document Document::open(const std::shared_ptr<const MappedFile>& file,
                        const std::filesystem::path& path, const FileAccess& access,
                        const JsonOptions& options) {
  if (looks_like_picture(file->bytes())) {
    throw input_error(translated("this is a picture, not an input document"), path.string(),
                      translated("name a model that reads pictures, and give this file with "
                                 "DocumentOptions::images"));
  }
  if (looks_like_sound(file->bytes())) {
    throw input_error(translated("this is a sound, not an input document"), path.string(),
                      translated("name a model that hears sounds, and give this file with "
                                 "DocumentOptions::sounds"));
  }
  if (holds_tensors_alone(file->bytes())) {
    return of_tensors(TensorFile::from_file(file->bytes(), file, path, access), path, access);
  }
  JsonOptions with_owner = options;
  with_owner.owner = file;
  const bool standard_input = path == "-";
  return parse(file->text(), standard_input ? translated("standard input") : path.string(),
               standard_input ? std::filesystem::path() : path.parent_path(), access, with_owner);
}

Document Document::parse(std::string_view text, std::string name, std::filesystem::path folder,
                         const FileAccess& access, const JsonOptions& options) {
  Document document;
  document.name_ = std::move(name);
  document.folder_ = std::move(folder);
  document.access_ = access;
  if (WorkBudget* const budget = current_budget()) budget->name(document.name_);
  refuse_text(text, document.name_);
  try {
    JsonOptions within_limits = options;
    within_limits.depth = access.limits.nesting;
    document.root_ = parse_json_document(text, within_limits);
    const bool is_object = document.root_.is(JsonValue::Type::object);
    if (is_object && document.root_.find("format") && document.root_.find("tensors")) {
      throw not_a_document(translated("this is a result, not an input document"));
    }
    if (!is_object) {
      const std::string lines = lines_of_array(text, document.name_);
      throw input_error(translated("an input document is an object, but this is {1}",
                                   translated(type_text(document.root_))),
                        "",
                        document.root_.is(JsonValue::Type::string)
                            ? translated("write {\"text\": …} for a text that a model reads")
                        : !lines.empty() ? lines
                                         : translated("write {\"attention\": …, \"query\": …}"));
    }
  } catch (const Error& error) {
    throw error.inside(document.name_);
  }
  return document;
}

Document Document::of_tensors(TensorFile file, const std::filesystem::path& path,
                              const FileAccess& access) {
  const bool standard_input = path == "-";
  Document document;
  document.name_ = standard_input ? translated("standard input") : path.string();
  if (!standard_input) document.folder_ = path.parent_path();
  document.access_ = access;
  if (WorkBudget* const budget = current_budget()) budget->name(document.name_);
  if (!state_attention(file.names()) && is_of_checkpoint(path)) throw weights_of_model(path);
  if (!state_attention(file.names())) {
    throw no_attention_in(file.names(), standard_input ? "…" : path.filename().string())
        .inside(document.name_);
  }
  JsonValue::Object members({{"attention", json(info(Kind::scaled_dot_product).name)}});
  for (const std::string& name : file.names()) {
    if (name == "mask") throw mask_without_meaning().inside(document.name_);
    if (is_stray(name)) throw stray_member(name).inside(document.name_);
    members->push_back(
        {name, json_of(JsonValue::Object({{"file", json(path.string())}, {"name", json(name)}}))});
  }
  const std::string nothing = translated("None");
  for (const OtherMember& other : file.others()) {
    if (other.plain && other.reason != nothing)
      throw stray_member(other.name).inside(document.name_);
  }
  document.root_.data = std::move(members);
  document.files_.emplace(path.string(), std::move(file));
  return document;
}

void Document::override_with(std::string_view key, JsonValue value, std::string field) {
  JsonValue& own = member(root_, key);
  // A number of heads is easily meant as that of the head to show.
  const auto number = [](const JsonValue& given) { return given.is(JsonValue::Type::number); };
  if (key == "heads" && number(own) && number(value) && own.number() != value.number()) {
    doubts_.push_back(translated(
        "{1} {2} splits anew what the document splits into {3} heads: to show a head of those "
        "write MapSelection::chosen_heads {2}",
        field, number_text(value.number()), number_text(own.number())));
  }
  own = std::move(value);
  fields_.emplace_back(pointer_to("", key), std::move(field));
}

void Document::override_inside(std::string_view key, std::string_view inner, JsonValue value,
                               std::string field) {
  JsonValue& object = member(root_, key);
  if (object.is(JsonValue::Type::null)) {
    object.data = JsonValue::Object{};
    fields_.emplace_back(pointer_to("", key), field);  // the object is there for the option alone
  }
  if (!object.is(JsonValue::Type::object)) return;  // reported when the document is read
  member(object, inner) = std::move(value);
  fields_.emplace_back(pointer_to(pointer_to("", key), inner), std::move(field));
}

namespace {

// The member at a JSON pointer; null for elements of arrays and what is not there.
const JsonValue* member_at(const JsonValue& root, std::string_view pointer) {
  const JsonValue* value = &root;
  while (value != nullptr && pointer.starts_with('/')) {
    pointer.remove_prefix(1);
    const std::string_view key = pointer.substr(0, pointer.find('/'));
    value = value->find(key);
    pointer.remove_prefix(key.size());
  }
  return value == &root ? nullptr : value;
}

bool is_json_in_quotes(const std::string& text) {
  if (!text.starts_with('[') && !text.starts_with('{')) return false;
  try {
    parse_json(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The help of an error about a value of another type, with what null and JSON in quotes are for.
std::string help_on_type(const Error& error, const JsonValue& value) {
  const auto tells = [&](const std::string& type) {
    return error.problem().find(type) != std::string::npos;
  };
  if (value.is(JsonValue::Type::null) && tells(translated("null")) &&
      !error.help().starts_with(translated("leave it out")))
    return translated("leave the key out; otherwise {1}", error.help());
  if (value.is(JsonValue::Type::string) && is_json_in_quotes(value.string()) &&
      (tells(translated("a string")) || tells(in_quotes(value.string()))))
    return translated("write it without quotes: {1}", shown_name(value.string()));
  return error.help();
}

}  // namespace

Error Document::placed(const Error& error) const {
  if (names_option(error.where())) return error;
  const std::pair<std::string, std::string>* nearest = nullptr;
  for (const auto& one : fields_) {
    const std::string& pointer = one.first;
    if (error.where() != pointer && !error.where().starts_with(pointer + "/")) continue;
    if (nearest == nullptr || pointer.size() > nearest->first.size()) nearest = &one;
  }
  if (nearest != nullptr) return {error.kind(), error.problem(), nearest->second, error.help()};
  // Files of a checkpoint folder are named by their own paths.
  if (error.where().starts_with(name_)) return error;
  const JsonValue* const value = member_at(root_, error.where());
  if (value == nullptr) return error.inside(name_);
  return Error(error.kind(), error.problem(), error.where(), help_on_type(error, *value))
      .inside(name_);
}

namespace {

// An element alone, or a list of several.
template <class Element>
JsonValue one_or_list(const std::vector<Element>& elements) {
  return elements.size() == 1 ? json(elements[0]) : json(elements);
}

JsonValue object_of_file(const std::string& name) {
  return json_of(JsonValue::Object({{"file", json(name)}}));
}

JsonValue ranges_of(const std::vector<TextPart>& parts) {
  JsonValue::Object ranges;
  for (const TextPart& part : parts)
    ranges->push_back({part.name, json(std::vector{part.from, part.to})});
  return json_of(std::move(ranges));
}

}  // namespace

std::vector<Setting> settings(
    const DocumentOptions& options,
    const std::function<std::string(const std::filesystem::path&)>& place) {
  // Naming all members makes a new member a compile error until it is set too.
  const auto& [input, model, architecture, adapter, texts, images, sounds, layers, logits, why,
               why_query, why_key, logit, against_logit, heads_off, ablate, ablate_over, patch,
               patch_at, generate, continued, parts, parts_between_special_tokens, prompt, truncate,
               chat, token_ids, attention, dtype, fused_rounding, heads, scale, seed, valid_lens,
               pool, causal, score, where, weight, tables, gradient, threads, files, generated] =
      options;
  std::ignore = std::tie(input, threads, files, generated);

  std::vector<Setting> all;
  // The key is the name of the field unless another one is given.
  const auto set = [&](std::string field, JsonValue value, std::string key = "",
                       std::string inner = "") {
    if (key.empty()) key = field.substr(field.find("::") + 2);
    all.push_back({std::move(key), std::move(inner), std::move(field), std::move(value)});
  };
  if (model) set("DocumentOptions::model", json(place(*model)));
  if (architecture) set("DocumentOptions::architecture", json(place(*architecture)));
  if (adapter) set("DocumentOptions::adapter", json(place(*adapter)));
  if (!texts.empty()) set("DocumentOptions::texts", json(texts), "text");
  const auto set_files = [&](const char* field, const auto& files_read, const char* key) {
    if (files_read.empty()) return;
    std::vector<std::string> names;
    for (const std::filesystem::path& file : files_read) names.push_back(place(file));
    set(field, json(names), key);
  };
  set_files("DocumentOptions::images", images, "image");
  set_files("DocumentOptions::sounds", sounds, "sound");
  if (layers) set("DocumentOptions::layers", json(*layers));
  if (logits) set("DocumentOptions::logits", json(true));
  if (why) set("DocumentOptions::why", json(*why), "why", "head");
  if (why_query) set("DocumentOptions::why_query", json(*why_query), "why", "query");
  if (why_key) set("DocumentOptions::why_key", json(*why_key), "why", "key");
  if (!logit.empty()) set("DocumentOptions::logit", one_or_list(logit));
  if (!against_logit.empty()) set("DocumentOptions::against_logit", one_or_list(against_logit));
  for (const auto& [layer, without] : heads_by_layer(heads_off)) {
    set("DocumentOptions::heads_off", without ? json(*without) : json(std::string("all")),
        "heads_off", layer);
  }
  if (ablate) set("DocumentOptions::ablate", json(*ablate));
  if (!ablate_over.empty()) set("DocumentOptions::ablate_over", json(ablate_over));
  if (patch) set("DocumentOptions::patch", json(*patch), "patch", "text");
  if (!patch_at.empty()) set("DocumentOptions::patch_at", one_or_list(patch_at), "patch", "at");
  if (generate) set("DocumentOptions::generate", json(*generate));
  if (continued) set("DocumentOptions::continued", json(*continued), "continue");
  if (!parts.empty()) set("DocumentOptions::parts", ranges_of(parts));
  if (parts_between_special_tokens)
    set("DocumentOptions::parts_between_special_tokens", json(std::string("special")), "parts");
  if (prompt) set("DocumentOptions::prompt", json(*prompt));
  if (truncate) set("DocumentOptions::truncate", json(true));
  if (chat) set("DocumentOptions::chat", json(true));
  if (!token_ids.empty()) set("DocumentOptions::token_ids", json(token_ids));
  if (!attention.empty()) set("DocumentOptions::attention", one_or_list(attention));
  if (dtype) set("DocumentOptions::dtype", json(*dtype));
  if (fused_rounding) {
    const Named<bool>& named = document_roundings()[*fused_rounding ? 1 : 0];
    set("DocumentOptions::fused_rounding", json(std::string(named.name)), "rounding");
  }
  if (heads) set("DocumentOptions::heads", json(*heads));
  if (scale) set("DocumentOptions::scale", json(*scale));
  if (seed) set("DocumentOptions::seed", json(*seed));
  if (valid_lens) set("DocumentOptions::valid_lens", json(*valid_lens));
  if (pool) set("DocumentOptions::pool", json(*pool));
  if (gradient)
    set("DocumentOptions::gradient", object_of_file(place(*gradient)), "gradient", "output");
  if (score) set("DocumentOptions::score", json(*score));
  if (weight) set("DocumentOptions::weight", json(*weight));
  for (const auto& [name, file] : tables)
    set("DocumentOptions::tables", object_of_file(place(file)), "tables", name);
  if (where) set("DocumentOptions::where", json(*where), "mask", "where");
  if (causal) set("DocumentOptions::causal", json(true), "mask", "causal");
  return all;
}

JsonOptions json_options(const DocumentOptions& options) {
  JsonOptions reading;
  reading.threads = options.threads;
  reading.dtype = options.dtype == DType::float64 ? DType::float64 : DType::float32;
  return reading;
}

Document open_document(const DocumentOptions& options) {
  // Without an input, the options are the whole document of a model.
  Document document = options.input.empty() && options.model
                          ? Document::parse("{}", options.model->string(), "", options.files)
                          : Document::open(options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

Document open_document(const DocumentOptions& options,
                       const std::shared_ptr<const MappedFile>& file) {
  Document document = Document::open(file, options.input, options.files, json_options(options));
  put_options(options, document);
  return document;
}

namespace {

// Throws Error(usage) for texts and the like beside a document that has nothing to read them with.
void refuse_without_reader(const DocumentOptions& options, const Document& document) {
  const char* const given = !options.texts.empty()       ? "DocumentOptions::texts"
                            : !options.images.empty()    ? "DocumentOptions::images"
                            : !options.sounds.empty()    ? "DocumentOptions::sounds"
                            : !options.token_ids.empty() ? "DocumentOptions::token_ids"
                                                         : nullptr;
  const JsonValue& root = document.root();
  if (given == nullptr || options.model || root.find("model") || root.find("embedding")) return;
  throw Error(ErrorKind::usage,
              translated("{1} is read by a model, and the document has none", given), given,
              translated("leave it out, or name the checkpoint folder that reads it with "
                         "DocumentOptions::model"));
}

}  // namespace

void put_options(const DocumentOptions& options, Document& document) {
  refuse_without_reader(options, document);
  // Paths of options are not relative to the document.
  const auto from_here = [&](const std::filesystem::path& path) {
    if (document.folder().empty()) return path.string();
    std::error_code no_such_place;  // for an empty name, which is refused when it is opened
    const std::filesystem::path here = std::filesystem::absolute(path, no_such_place);
    return (no_such_place ? path : here).string();
  };
  document.watch_generation(options.generated);
  if (options.gradient) document.give(document.folder() / from_here(*options.gradient));
  for (const auto& table : options.tables)
    document.give(document.folder() / from_here(table.second));
  for (Setting& setting : settings(options, from_here)) {
    if (setting.inner.empty()) {
      document.override_with(setting.key, std::move(setting.value), std::move(setting.field));
    } else {
      document.override_inside(setting.key, setting.inner, std::move(setting.value),
                               std::move(setting.field));
    }
  }
}

namespace {

bool continues_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// The text with `name` replaced by `shown` where it is a whole word.
std::string renamed(const std::string& text, const std::string& name, const std::string& shown) {
  std::string result;
  std::size_t from = 0;
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos;) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !continues_a_name(text[at - 1]);
    const bool ends =
        end == text.size() || !continues_a_name(name.back()) || !continues_a_name(text[end]);
    if (starts && ends) {
      result += text.substr(from, at - from) + shown;
      from = end;
    }
    at = end;
  }
  return result + text.substr(from);
}

}  // namespace

void DocumentNames::tensor(const std::string& ours, const std::string& theirs) {
  // The word is certainly the tensor's name only before its shape: "a key" may be a key of the
  // mask.
  renamings_.push_back({"/" + ours, "/" + theirs, ours + " [", theirs + " ["});
}

void DocumentNames::parameter(const std::string& ours, const std::string& shown,
                              const std::string& place) {
  renamings_.push_back({"/parameters/" + ours, place, ours, shown});
}

Error DocumentNames::named(const Error& error) const {
  std::string problem = error.problem(), where = error.where(), help = error.help();
  bool placed = false;
  for (const Renaming& renaming : renamings_) {
    const bool here =
        where == renaming.pointer || std::string_view(where).starts_with(renaming.pointer + "/");
    if (here && !placed) {
      where = renaming.place + where.substr(renaming.pointer.size());
      placed = true;
    }
    if (renaming.text == renaming.shown) continue;
    problem = renamed(problem, renaming.text, renaming.shown);
    help = renamed(help, renaming.text, renaming.shown);
  }
  return {error.kind(), problem, where, help};
}

namespace {

// Titles and descriptions of data/*.json.
constexpr auto titles = std::to_array<std::string_view>({
    to_translate("Additive attention"),
    to_translate("Causal attention"),
    to_translate("Cross-attention"),
    to_translate("Decoder layer"),
    to_translate("Encoder layer"),
    to_translate("Multi-head attention"),
    to_translate("Padded sentences"),
    to_translate("Scaled dot-product attention in four dimensions"),
    to_translate("Self-attention"),
    to_translate("Sliding window with a global token"),
    to_translate("Softmax of a score matrix"),
    to_translate("Two sentences"),
    to_translate("Queries of width 20 meet keys of width 2. All keys are alike, so each "
                 "query averages its valid values: 2 3 4 5 and 10 11 12 13."),
    to_translate("Layer 0 of a trained sentence encoder: what each word looks at."),
    to_translate("Layer 1 of a trained sentence encoder: what each word looks at."),
    to_translate("Each word sees itself and the words before it, as in a language model."),
    to_translate("Two Chinese sentences of 3 and 5 words in one batch; valid_lens keeps "
                 "every word from looking at the padding."),
    to_translate("Three queries look at a memory of five, which is narrower than they "
                 "are."),
    to_translate("Causal self-attention, cross-attention to a memory, feed-forward, each "
                 "with add and norm."),
    to_translate("Self-attention, add and norm, feed-forward, add and norm."),
    to_translate("Two samples, two heads, three positions of width 4. The third key is "
                 "hidden by replacing its scores with -1e9."),
    to_translate("Four heads of width 4; two positions of the first sample are padding "
                 "and score -1e9."),
    to_translate("Scores in, weights out: each row becomes a distribution over the keys."),
    to_translate("Three nn.Linear of width 8 over random hidden states."),
    to_translate("Text, cut into word pieces as BERT does it: what is not in the "
                 "vocabulary is put together from pieces."),
    to_translate("Tokens, embedded with sinusoidal positions, in multi-head attention; "
                 "the shorter sentence is padded."),
    to_translate("Each position sees its two neighbours on either side; position 0 sees "
                 "all and is seen by all."),
});

}  // namespace

std::string shown_title(const std::string& title) {
  return std::find(titles.begin(), titles.end(), title) == titles.end() ? title : translated(title);
}

}  // namespace attn
