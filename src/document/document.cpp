#include "document/document.hpp"

#include <algorithm>

#include "attn/error.hpp"

#include "support/names_option.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The member of that key, added at the end if there is none.
JsonValue& member(JsonValue& object, std::string_view key) {
  auto& members = std::get<JsonValue::Object>(object.data);
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const JsonMember& m) { return m.key == key; });
  if (found != members.end()) return found->value;
  members.push_back({std::string(key), {}});
  return members.back().value;
}

}  // namespace

Document Document::open(const std::filesystem::path& path, const FileAccess& access,
                        const JsonOptions& options) {
  FileAccess anywhere = access;
  anywhere.restrict_to.reset();
  return open(MappedFile::open(path, anywhere), path, access, options);
}

Document Document::open(const std::shared_ptr<const MappedFile>& file,
                        const std::filesystem::path& path, const FileAccess& access,
                        const JsonOptions& options) {
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
  try {
    JsonOptions within_limits = options;
    within_limits.depth = access.limits.nesting;
    document.root_ = parse_json(text, within_limits);
    if (!document.root_.is(JsonValue::Type::object)) {
      throw input_error(translated("an input document is an object, but this is {1}",
                                   translated(type_text(document.root_))),
                        "", translated("write {\"attention\": …, \"query\": …}"));
    }
  } catch (const Error& error) {
    throw error.inside(document.name_);
  }
  return document;
}

void Document::override_with(std::string_view key, JsonValue value, std::string field) {
  member(root_, key) = std::move(value);
  fields_.emplace_back(pointer_to("", key), std::move(field));
}

void Document::override_inside(std::string_view key, std::string_view inner, JsonValue value,
                               std::string field) {
  JsonValue& object = member(root_, key);
  if (object.is(JsonValue::Type::null)) object.data = JsonValue::Object{};
  if (!object.is(JsonValue::Type::object)) return;  // reported when the document is read
  member(object, inner) = std::move(value);
  fields_.emplace_back(pointer_to(pointer_to("", key), inner), std::move(field));
}

Error Document::placed(const Error& error) const {
  if (names_option(error.where())) return error;
  for (const auto& [pointer, field] : fields_) {
    if (error.where() == pointer || error.where().starts_with(pointer + "/")) {
      return {error.kind(), error.problem(), field, error.help()};
    }
  }
  // What stands in a checkpoint folder is named by its own path.
  if (error.where().starts_with(name_)) return error;
  return error.inside(name_);
}

}  // namespace attn
