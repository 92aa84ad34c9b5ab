#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "attention/visibility.hpp"
#include "document/document.hpp"
#include "document/document_problems.hpp"
#include "document/keys.hpp"
#include "document/mask_reader.hpp"
#include "io/json_value.hpp"

namespace {

// The part of the schema at a JSON pointer.
const attn::JsonValue& schema_at(const attn::JsonValue& schema, std::string_view pointer) {
  const attn::JsonValue* part = &schema;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view step = pointer.substr(0, pointer.find('/'));
    std::size_t index = 0;
    const bool is_index =
        std::from_chars(step.data(), step.data() + step.size(), index).ec == std::errc();
    part = is_index ? &part->element(index) : part->find(step);
    REQUIRE(part != nullptr);
    pointer.remove_prefix(step.size());
  }
  return *part;
}

// The names that the reader of a document lists in the help of its first error.
std::set<std::string> known_names(const std::string& document) {
  const std::string problems = problems_of(document);
  const std::string before = "known: ";
  const std::size_t start = problems.find(before);
  CAPTURE(problems);
  REQUIRE(start != std::string::npos);
  std::string_view list = std::string_view(problems).substr(start + before.size());
  list = list.substr(0, list.find('\n'));
  std::set<std::string> names;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(", "), list.size());
    names.emplace(list.substr(0, end));
    list.remove_prefix(std::min(end + 2, list.size()));
  }
  return names;
}

std::string filled_in(std::string text, const std::string& value) {
  const std::size_t at = text.find('@');
  return text.replace(at, 1, value);
}

std::string sdpa_with(const std::string& members) {
  return R"({"attention": "sdpa", "query": {"zeros": [1, 2, 2, 4]}, )" + members + "}";
}
std::string layer_with(const std::string& members) {
  return R"({"attention": "encoder_layer", "x": [[1, 2]], )" + members + "}";
}

}  // namespace

TEST_CASE("the schema knows the keys of the parser and no others") {
  const attn::JsonValue schema = attn::parse_json(attn::document_schema());
  CHECK(schema.find("$schema")->string() == "https://json-schema.org/draft/2020-12/schema");
  const attn::JsonValue& properties = *schema.find("properties");
  CHECK(properties.size() == attn::document_keys().size());
  for (const attn::DocumentKey& key : attn::document_keys()) {
    CAPTURE(key.name);
    REQUIRE(properties.find(key.name));
    CHECK(properties.find(key.name)->find("description")->string() == key.meaning);
  }
  const attn::JsonValue& mask = *schema.find("$defs")->find("mask")->find("properties");
  CHECK(mask.size() == attn::mask_parts().size());
  for (const attn::MaskPart& part : attn::mask_parts()) CHECK(mask.find(part.name));
}

TEST_CASE("the schema of each object has the keys that its reader knows") {
  struct Object {
    std::string schema, document;     // "@" is where a member of the object can stand
    std::set<std::string> also = {};  // other keys of the schema
  };
  const std::vector<Object> objects{
      {"/$defs/rotary", sdpa_with(R"("rotary": {@})")},
      {"/$defs/scaling/oneOf/0",
       sdpa_with(R"("rotary": {"scaling": {"type": "linear", @}})"),
       {"rope_type"}},
      {"/$defs/scaling/oneOf/1",
       sdpa_with(R"("rotary": {"scaling": {"type": "dynamic", @}})"),
       {"rope_type"}},
      {"/$defs/scaling/oneOf/2",
       sdpa_with(R"("rotary": {"scaling": {"type": "llama3", @}})"),
       {"rope_type"}},
      {"/$defs/scaling/oneOf/3",
       sdpa_with(R"("rotary": {"scaling": {"type": "yarn", @}})"),
       {"rope_type"}},
      {"/$defs/alibi/oneOf/1", sdpa_with(R"("mask": {"alibi": {@}})")},
      {"/$defs/relative_bias", sdpa_with(R"("relative_bias": {@})")},
      {"/$defs/linear_rule", sdpa_with(R"("linear_attention": {@})")},
      {"/$defs/head_norm", sdpa_with(R"("query_norm": {@})")},
      {"/$defs/head_norm", sdpa_with(R"("key_norm": {@})")},
      {"/$defs/dropout", sdpa_with(R"("dropout": {@})")},
      {"/properties/pool/oneOf/1", sdpa_with(R"("pool": {@})")},
      {"/properties/gradient", sdpa_with(R"("gradient": {@})")},
      {"/$defs/mask", sdpa_with(R"("mask": {@})")},
      {"/$defs/mask/properties/window", sdpa_with(R"("mask": {"window": {@}})")},
      {"/$defs/labels/anyOf/1", sdpa_with(R"("labels": {@})")},
      {"/$defs/label_file", sdpa_with(R"("labels": {"query": {@}})")},
      {"/$defs/embedding", R"({"attention": "self", "tokens": ["a"], "embedding": {@}})"},
      {"/$defs/embedding/properties/vocabulary/oneOf/1",
       R"({"attention": "self", "tokens": ["a"], "embedding": {"vocabulary": {@}}})"},
      {"/$defs/tokenizer", R"({"attention": "self", "text": "a", "tokenizer": {@}})"},
      {"/$defs/tensor/oneOf/1", sdpa_with(R"("key": {"data": [1], "shape": [1], @})")},
      {"/$defs/tensor/oneOf/2", sdpa_with(R"("key": {"file": "a.npy", @})")},
      {"/$defs/tensor/oneOf/2/properties/view/items",
       sdpa_with(R"("key": {"file": "a.npy", "view": [{@}]})")},
      {"/$defs/tensor/oneOf/3", sdpa_with(R"("key": {"zeros": [1], @})")},
      {"/$defs/tensor/oneOf/4", sdpa_with(R"("key": {"ones": [1], @})")},
      {"/$defs/tensor/oneOf/5", sdpa_with(R"("key": {"full": [1], @})")},
      {"/$defs/tensor/oneOf/6", sdpa_with(R"("key": {"arange": 1, @})")},
      {"/$defs/tensor/oneOf/7", sdpa_with(R"("key": {"randn": [1], @})")},
      {"/$defs/tensor/oneOf/8", sdpa_with(R"("key": {"rand": [1], @})")},
  };
  const attn::JsonValue schema = attn::parse_json(attn::document_schema());
  for (const Object& object : objects) {
    CAPTURE(object.document);
    std::set<std::string> keys;
    for (const attn::JsonMember& property :
         schema_at(schema, object.schema + "/properties").members()) {
      if (!object.also.contains(property.key)) keys.insert(property.key);
    }
    CHECK(known_names(filled_in(object.document, R"("????????": 0)")) == keys);
  }
  // Learned weights are made in one of several ways, and the schema has the keys of all.
  std::set<std::string> ways;
  for (const char* document :
       {R"({"attention": "additive", "query": [[1]], "parameters": {"init": "torch", @}})",
        R"({"attention": "self", "x": [[1]], "parameters": {"init": "torch", @}})",
        R"({"attention": "self", "x": [[1]], "parameters": {"file": "a.npz", @}})"}) {
    ways.merge(known_names(filled_in(document, R"("????????": 0)")));
  }
  std::set<std::string> in_schema;
  for (const attn::JsonMember& property :
       schema_at(schema, "/$defs/parameters/properties").members())
    in_schema.insert(property.key);
  CHECK(ways == in_schema);
  CHECK(schema_at(schema, "/$defs/tensor/oneOf").size() == 9);
  CHECK(schema_at(schema, "/$defs/scaling/oneOf").size() == 4);
}

TEST_CASE("the schema lists the names that the reader knows") {
  struct Names {
    std::string schema, document;
  };
  const std::vector<Names> all{
      {"/properties/activation", layer_with(R"("activation": "@")")},
      {"/properties/norm", layer_with(R"("norm": "@")")},
      {"/properties/norm_kind", layer_with(R"("norm_kind": "@")")},
      {"/properties/dtype", sdpa_with(R"("dtype": "@")")},
      {"/properties/pool/oneOf/1/properties/reduction",
       sdpa_with(R"("pool": {"size": 2, "reduction": "@"})")},
      {"/$defs/mask/properties/align", sdpa_with(R"("mask": {"align": "@"})")},
      {"/$defs/head_norm/properties/kind", sdpa_with(R"("query_norm": {"kind": "@"})")},
      {"/$defs/embedding/properties/position",
       R"({"attention": "self", "tokens": ["a"],
           "embedding": {"vocabulary": ["a"], "table": [[1, 2]], "position": "@"}})"},
      {"/$defs/kind", R"({"attention": "@"})"},
  };
  const attn::JsonValue schema = attn::parse_json(attn::document_schema());
  for (const Names& names : all) {
    CAPTURE(names.document);
    const attn::JsonValue& list = schema_at(schema, names.schema + "/enum");
    std::set<std::string> known;
    for (std::size_t i = 0; i < list.size(); ++i) known.insert(list.element(i).string());
    CHECK(known_names(filled_in(names.document, "????????")) == known);
  }
}

TEST_CASE("every reference in the schema is defined") {
  const std::string text = attn::document_schema();
  const attn::JsonValue schema = attn::parse_json(text);
  const std::string before = "\"#/$defs/";
  std::size_t count = 0;
  for (std::size_t at = text.find(before); at != std::string::npos;
       at = text.find(before, at + 1)) {
    const std::size_t start = at + before.size();
    const std::string name = text.substr(start, text.find('"', start) - start);
    CAPTURE(name);
    CHECK(schema.find("$defs")->find(name));
    ++count;
  }
  CHECK(count > 20);
}

TEST_CASE("no key of a document is ignored by a kind that takes it") {
  const std::filesystem::path cases = std::filesystem::path(ATTN_TEST_DATA) / "models/cases";
  const std::string model = R"({"model": ")" + (cases / "bert_pairs/checkpoint").string() + "\", ";
  const std::string bart = R"({"model": ")" + (cases / "bart_start_token/checkpoint").string() +
                           R"(", "token_ids": [[1]], @})";
  // A sound document that a value of no sense makes wrong, "@" being the key.
  const auto sound = [&](const attn::KindInfo& kind, std::string_view key) -> std::string {
    if (key == "model") return R"({@, "token_ids": [[1]]})";
    if (key == "attention") return R"({"query": [[1]], @})";
    if (key == "embedding") return R"({"attention": "self", "tokens": ["a"], @})";
    if (key == "tokenizer") {
      return R"({"attention": "self", "tokens": ["a"],
                 "embedding": {"vocabulary": ["a"], "table": [[1, 2]]}, @})";
    }
    if (key.starts_with("decoder_")) return bart;
    if (kind.kind == attn::Kind::model) return model + R"("token_ids": [[1]], @})";
    std::string example = attn::example_document(kind.kind);
    return example.replace(example.rfind('}'), 1, ", @}");
  };
  std::vector<attn::KindInfo> kinds(attn::kinds().begin(), attn::kinds().end());
  kinds.push_back(attn::info(attn::Kind::model));
  for (const attn::KindInfo& kind : kinds) {
    for (const attn::DocumentKey& key : attn::document_keys()) {
      if (!key.takes(kind)) continue;
      const std::string document = sound(kind, key.name);
      const std::string member = "\"" + std::string(key.name) + "\": {\"????????\": [{}]}";
      // A key that the example has is refused as given twice, which shows nothing.
      const std::string wrong = filled_in(document, member);
      if (document.find("\"" + std::string(key.name) + "\":") != std::string::npos) continue;
      CAPTURE(wrong);
      CHECK(!problems_of(wrong).empty());
    }
  }
}

TEST_CASE("every part that hides keys has its words") {
  attn::Mask mask;
  // Naming every member makes a new one an error here until it is set too.
  auto& [causal, align, window, global, padding, allow, block, allow_is, bias, alibi, valid_lens,
         documents, of_windows, prefix, chunk, dilation, where, fill] = mask;
  causal = true;
  align = attn::Alignment::lower_right;
  window = attn::Window{1, 1};
  global = {0};
  padding = allow = block = attn::Tensor({1, 1}, std::vector<std::uint8_t>{1});
  bias = attn::Tensor({1, 1}, std::vector<double>{0});
  alibi = attn::Alibi{};
  valid_lens = attn::Tensor({1}, std::vector<std::int64_t>{1});
  documents = attn::Tensor({1}, std::vector<std::int64_t>{1});
  prefix = attn::Tensor(attn::Shape{}, std::vector<std::int64_t>{1});
  chunk = dilation = 1;
  where.text = "i < j";
  fill = -1;
  const std::vector<std::string> sentences = attn::mask_sentences(mask, {0, 1});
  // A part with a sentence about keys hides some, and has its row in Visibility; but a prefix says
  // which keys others do not hide.
  CHECK(sentences.size() == attn::hiding_parts().size() + 1);
  const std::string words = attn::mask_text(mask);
  for (const attn::HidingPart* part : attn::hiding_parts()) {
    const std::string name(part->name);
    CAPTURE(name);
    CHECK(part->present(mask));
    CHECK(words.find(name) != std::string::npos);
    CHECK(std::ranges::any_of(
        sentences, [&](const std::string& sentence) { return sentence.starts_with(name + ": "); }));
    CHECK(!attn::hidden_legend(name, mask).empty());
    CHECK(attn::hidden_sentence(name, mask).starts_with(name + ": "));
  }
  attn::Mask windows;
  windows.documents = documents;
  windows.documents_are_windows = true;
  CHECK(attn::mask_text(windows) == "windows of patches");
  CHECK(attn::mask_sentences(windows, {0, 1}) ==
        std::vector<std::string>{"window: patches of the query's own window"});
  CHECK(attn::hidden_legend("documents", windows) == "other window");
  CHECK(attn::hidden_sentence("documents", windows) == "window: patches of other windows");
}

TEST_CASE("every option of a document is one of its keys") {
  attn::DocumentOptions options;
  // Naming every member makes a new one an error here until it is set too.
  auto& [input, model, architecture, adapter, texts, images, sounds, layers, logits, why, why_query,
         why_key, logit, against_logit, heads_off, ablate, ablate_over, patch, patch_at, generate,
         continued, parts, parts_between_special_tokens, prompt, truncate, chat, token_ids,
         attention, dtype, fused_rounding, heads, scale, seed, valid_lens, pool, causal, score,
         where, weight, tables, gradient, threads, files, generated] = options;
  input = "doc.json";
  threads = 1;
  files.limits.nesting = 7;
  generated = [](std::size_t, std::size_t) {};
  model = adapter = architecture = gradient = "a";
  texts = {{"a", "b"}};
  images = {"a"};
  sounds = {"a"};
  layers = {{0}};
  logits = causal = true;
  why = "0.0";
  why_query = why_key = 0;
  logit = {"a"};
  against_logit = {"a", "b"};
  heads_off = {"0.0"};
  attention = {attn::Kind::self};
  dtype = attn::DType::float64;
  fused_rounding = true;
  heads = 1;
  scale = 1;
  seed = 1;
  valid_lens = {{1}};
  pool = attn::Pooling{};
  score = where = weight = "1";
  ablate = "mean";
  ablate_over = {"a"};
  patch = continued = prompt = "a";
  patch_at = {"a"};
  generate = 1;
  parts = {{"a", 0, 1}};
  parts_between_special_tokens = truncate = chat = true;
  token_ids = {{1}};
  tables = {{"t", "a"}};
  const auto unchanged = [](const std::filesystem::path& path) { return path.string(); };
  const std::vector<attn::Setting> settings = attn::settings(options, unchanged);
  // All members but input, threads, files and an observer are settings.
  constexpr std::size_t members = std::tuple_size_v<decltype(std::tie(
      input, model, architecture, adapter, texts, images, sounds, layers, logits, why, why_query,
      why_key, logit, against_logit, heads_off, ablate, ablate_over, patch, patch_at, generate,
      continued, parts, parts_between_special_tokens, prompt, truncate, chat, token_ids, attention,
      dtype, fused_rounding, heads, scale, seed, valid_lens, pool, causal, score, where, weight,
      tables, gradient, threads, files, generated))>;
  CHECK(settings.size() == members - 4);
  for (const attn::Setting& setting : settings) {
    CAPTURE(setting.field);
    CHECK(attn::find_key(setting.key) != nullptr);
  }
}
