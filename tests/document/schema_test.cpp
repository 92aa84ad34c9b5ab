#include <string>

#include <doctest/doctest.h>

#include "attn/document.hpp"

#include "document/keys.hpp"
#include "io/json_value.hpp"

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
