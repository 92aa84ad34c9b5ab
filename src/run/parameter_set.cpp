#include "run/parameter_set.hpp"

#include <algorithm>
#include <array>

#include "attn/error.hpp"

#include "run/document_object.hpp"
#include "support/nearest_name.hpp"

namespace attn {

ParameterSet::ParameterSet(const JsonValue& value, std::string pointer, DType dtype,
                           TensorSource& tensors)
    : pointer_(std::move(pointer)), dtype_(dtype) {
  const JsonValue* file = expect_object(value, pointer_).find("file");
  if (!file) {
    for (const JsonMember& member : value.members()) {
      inline_[member.key] = tensors.read(member.value, dtype_, pointer_to(pointer_, member.key));
      inline_order_.push_back(member.key);
    }
    return;
  }
  constexpr std::array<std::string_view, 3> known{"file", "prefix", "names"};
  expect_known_keys(value, known, pointer_);
  const std::string at = pointer_to(pointer_, "file");
  try {
    file_ = &tensors.file(expect_string(*file, at));
  } catch (const Error& error) {
    throw error.where().starts_with(at) ? error : error.inside(at);
  }
  if (const JsonValue* prefix = value.find("prefix"))
    prefix_ = expect_string(*prefix, pointer_to(pointer_, "prefix"));
  if (const JsonValue* names = value.find("names")) {
    const std::string names_at = pointer_to(pointer_, "names");
    for (const JsonMember& member : expect_object(*names, names_at).members()) {
      const std::string member_at = pointer_to(names_at, member.key);
      const std::string theirs = prefix_ + expect_string(member.value, member_at);
      const auto& known_names = file_->names();
      if (std::find(known_names.begin(), known_names.end(), theirs) == known_names.end()) {
        throw input_error("the file has no tensor \"" + theirs + "\"", member_at,
                          suggestion(theirs, std::vector<std::string_view>(known_names.begin(),
                                                                           known_names.end())));
      }
      renamed_[member.key] = theirs;
    }
  }
}

std::string ParameterSet::in_file(const std::string& name) const {
  const auto renamed = renamed_.find(name);
  return renamed == renamed_.end() ? prefix_ + name : renamed->second;
}

bool ParameterSet::has(const std::string& name) const {
  if (!file_) return inline_.contains(name);
  const auto& names = file_->names();
  return std::find(names.begin(), names.end(), in_file(name)) != names.end();
}

Tensor ParameterSet::find(std::span<const std::string> names) {
  asked_.insert(names.begin(), names.end());
  for (const std::string& name : names) {
    if (!has(name)) continue;
    used_.insert(name);
    if (!file_) return inline_[name];
    const std::string at = pointer_to(pointer_, "file");
    try {
      return checked_conversion(file_->read(in_file(name)), dtype_, name);
    } catch (const Error& error) {
      throw error.inside(at);
    }
  }
  return {};
}

Tensor ParameterSet::get(std::span<const std::string> names) {
  if (Tensor found = find(names)) return found;
  const std::string& wanted = names[0];
  std::vector<std::string_view> there;
  if (file_) {
    there.assign(file_->names().begin(), file_->names().end());
  } else {
    for (const std::string& name : inline_order_) {
      if (!used_.contains(name)) there.push_back(name);
    }
  }
  const std::string shown = file_ ? in_file(wanted) : wanted;
  std::string help = "give a tensor of that name";
  const std::string_view nearest = nearest_name(shown, there);
  if (!nearest.empty()) {
    help = file_ ? "the file has \"" + std::string(nearest) + "\": say so with \"names\": {\"" +
                       wanted + "\": …}"
                 : "is \"" + std::string(nearest) + "\" meant to be it?";
  }
  throw input_error("the parameter " + shown + " is missing",
                    pointer_to(pointer_, file_ ? "file" : wanted), help);
}

void ParameterSet::expect_all_used() const {
  for (const std::string& name : inline_order_) {
    if (used_.contains(name)) continue;
    const std::vector<std::string_view> wanted(asked_.begin(), asked_.end());
    const std::string_view nearest = nearest_name(name, wanted);
    throw input_error("unknown parameter \"" + name + "\"", pointer_to(pointer_, name),
                      nearest.empty() ? "leave it out: nothing uses it"
                                      : "did you mean \"" + std::string(nearest) + "\"?");
  }
}

}  // namespace attn
