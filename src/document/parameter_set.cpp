#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/parameters.hpp"
#include "io/json_value.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

constexpr std::array<Field, 4> file_fields{{
    {"file", R"("type": "string")"},
    {"prefix", R"("type": "string")"},
    {"names", R"("type": "object", "additionalProperties": {"type": "string"})"},
    {"transpose", R"("type": "boolean")"},
}};

constexpr const char* of_that_name = to_translate("give a tensor of that name");

std::vector<std::string_view> views(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

// Small letters and digits of a name, by which "Wq" is near to "W_q.weight".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

}  // namespace

std::span<const Field> ParameterSet::fields_of_files() noexcept {
  return file_fields;
}

ParameterSet::ParameterSet(const JsonValue& value, std::string pointer, DType dtype,
                           TensorSource& tensors)
    : value_(value), pointer_(std::move(pointer)), dtype_(dtype), tensors_(tensors) {
  const JsonValue* file = expect_object(value, pointer_).find("file");
  if (!file) {
    for (const JsonMember& member : value.members()) given_.emplace(member.key, &member.value);
    return;
  }
  expect_known_members(value, known_keys(file_fields), pointer_);
  const std::string at = pointer_to(pointer_, "file");
  try {
    file_name_ = expect_string(*file, at);
    file_ = &tensors.file(file_name_);
  } catch (const Error& error) {
    throw error.where().starts_with(at) ? error : error.inside(at);
  }
  for (const std::string& name : file_->names()) given_.emplace(name, nullptr);
  if (const JsonValue* prefix = value.find("prefix"))
    prefix_ = expect_string(*prefix, pointer_to(pointer_, "prefix"));
  if (const JsonValue* transpose = value.find("transpose")) {
    transposed_.transposed = expect_boolean(*transpose, pointer_to(pointer_, "transpose"));
  }
  const JsonValue* names = value.find("names");
  if (!names) return;
  const std::string names_at = pointer_to(pointer_, "names");
  for (const JsonMember& member : expect_object(*names, names_at).members()) {
    const std::string member_at = pointer_to(names_at, member.key);
    const std::string theirs = prefix_ + expect_string(member.value, member_at);
    if (!given_.contains(theirs)) {
      throw input_error(translated("the file has no tensor {1}", in_quotes(theirs)), member_at,
                        suggestion(theirs, views(file_->names())));
    }
    renamed_[member.key] = theirs;
  }
}

std::string ParameterSet::in_file(const std::string& full) const {
  const auto renamed = renamed_.find(full);
  return renamed == renamed_.end() ? prefix_ + full : renamed->second;
}

std::string ParameterSet::place(const std::string& name) const {
  return pointer_to(pointer_, file_ ? "file" : inside_ + name);
}

std::string ParameterSet::shown(const std::string& name) const {
  return file_ ? in_file(inside_ + name) : inside_ + name;
}

bool ParameterSet::has(const std::string& name) const {
  return given_.contains(file_ ? in_file(inside_ + name) : inside_ + name);
}

Tensor ParameterSet::find(std::span<const std::string> names) {
  for (const std::string& name : names) asked_.insert(inside_ + name);
  for (const std::string& name : names) {
    if (!has(name)) continue;
    const std::string full = inside_ + name, at = place(name);
    used_.insert(full);
    names_.parameter(names[0], shown(name), at);
    comes_from(names[0], name);
    if (!file_) {
      Tensor tensor = tensors_.read(*given_.at(full), widened(dtype_), at);
      check_range(tensor, dtype_, at);
      return tensor;
    }
    try {
      const Tensor tensor = tensors_.read_from(file_name_, in_file(full), widened(dtype_));
      check_range(tensor, dtype_, in_file(full));
      return tensor.rank() == 2 ? viewed(tensor, transposed_, at) : tensor;
    } catch (const Error& error) {
      throw error.inside(at);
    }
  }
  names_.parameter(names[0], shown(names[0]), place(names[0]));
  return {};
}

Tensor ParameterSet::get(std::span<const std::string> names) {
  if (Tensor found = find(names)) return found;
  missing_.push_back({shown(names[0]), place(names[0]), {}});
  for (const std::string& name : names) missing_.back().names.push_back(inside_ + name);
  return {};
}

// All missing parameters at once, since a stack of layers may lack many.
void ParameterSet::expect_none_missing() const {
  if (missing_.empty()) return;
  const Missing& first = missing_.front();
  const std::string help = help_for(first.names);
  if (missing_.size() == 1) {
    throw input_error(translated("the parameter {1} is missing", first.name), first.place, help);
  }
  constexpr std::size_t most_named = 12;
  const std::size_t named = missing_.size() > most_named ? most_named - 1 : missing_.size();
  std::string list;
  for (std::size_t i = 0; i < named; ++i) {
    const bool last = i + 1 == missing_.size();
    list += (i == 0 ? "" : last ? translated(" and ") : name_separator()) + missing_[i].name;
  }
  if (named < missing_.size()) list += translated(" and {1} more", missing_.size() - named);
  throw input_error(translated("the parameters {1} are missing", list),
                    file_ ? first.place : pointer_,
                    help == translated(of_that_name) ? translated("give tensors of these names")
                                                     : translated("of {1}: {2}", first.name, help));
}

// Help for a query's weight that is missing where the file has one weight of query, key and value.
std::string ParameterSet::help_for_fused(std::string_view wanted,
                                         std::span<const std::string_view> strangers) const {
  constexpr std::string_view query = "W_q.weight", weight = ".weight";
  constexpr auto fused = std::to_array<std::string_view>({"c_attn", "qkv", "to_qkv", "Wqkv"});
  if (!wanted.ends_with(query)) return "";
  for (const std::string_view stranger : strangers) {
    if (!stranger.ends_with(weight)) continue;
    const std::string_view whole = stranger.substr(0, stranger.size() - weight.size());
    const std::string_view last = whole.substr(whole.rfind('.') + 1);
    if (std::ranges::count(fused, last) == 0) continue;
    const std::string ours(wanted.substr(0, wanted.size() - query.size()));
    const std::string bias = std::string(whole) + ".bias";
    std::string named =
        in_quotes(ours + "in_proj_weight") + ": " + in_quotes(stranger.substr(prefix_.size()));
    if (given_.contains(bias)) {
      named += ", " + in_quotes(ours + "in_proj_bias") + ": " +
               in_quotes(std::string_view(bias).substr(prefix_.size()));
    }
    const bool columns = last == "c_attn";  // GPT-2's weights are multiplied as x·W
    return translated(
        columns
            ? to_translate("{1} may hold query, key and value: then give \"names\": {{2}} and "
                           "\"transpose\": true, with the output's as {3}")
            : to_translate("{1} may hold query, key and value: then give \"names\": {{2}}, with "
                           "the output's as {3}"),
        in_quotes(stranger), named, in_quotes(ours + "out_proj.weight"));
  }
  return "";
}

std::string ParameterSet::help_for(std::span<const std::string> names) const {
  // Tensors with names that are known are not misspellings of others.
  std::vector<std::string_view> strangers;
  constexpr std::size_t most_compared = 10'000;
  const auto add = [&](const std::string& there, std::string_view name) {
    if (strangers.size() == most_compared) return;
    const std::string own(name);
    if (!meant_.contains(own) && !asked_.contains(own)) strangers.push_back(there);
  };
  if (!file_) {
    for (const JsonMember& member : value_.members()) add(member.key, member.key);
    const std::vector<std::string_view> wanted(names.begin(), names.end());
    for (const std::string_view stranger : strangers) {
      const std::string_view nearest = nearest_name(stranger, wanted);
      if (!nearest.empty())
        return translated("did you write {2} for {1}?", in_quotes(nearest), in_quotes(stranger));
    }
    for (const std::string& name : names) {
      for (const std::string_view stranger : strangers) {
        if (letters_of(name) == letters_of(stranger) ||
            letters_of(name) == letters_of(stranger) + "weight")
          return translated("did you write {2} for {1}?", in_quotes(name), in_quotes(stranger));
      }
    }
    return translated(of_that_name);
  }
  const std::vector<std::string>& there = file_->names();
  for (const std::string& name : names) {
    const std::string ending = "." + name;
    const auto longer = std::find_if(there.begin(), there.end(), [&](const std::string& other) {
      return other.ends_with(ending);
    });
    if (longer == there.end()) continue;
    return translated("the file has {1}: give \"prefix\": {2}", in_quotes(*longer),
                      in_quotes(longer->substr(0, longer->size() - ending.size() + 1)));
  }
  const bool none_begins = std::ranges::none_of(
      there, [&](const std::string& name) { return name.starts_with(prefix_); });
  if (!prefix_.empty() && none_begins) {
    return translated("no name in the file begins with {1}: leave \"prefix\" out, or give another",
                      in_quotes(prefix_));
  }
  for (const std::string& name : there) {
    if (name.starts_with(prefix_)) add(name, std::string_view(name).substr(prefix_.size()));
  }
  const std::string& wanted = names[0];
  if (std::string fused = help_for_fused(wanted, strangers); !fused.empty()) return fused;
  const std::string_view nearest = nearest_name(in_file(wanted), strangers);
  if (!nearest.empty()) {
    return translated("the file has {1}: if that is it, give \"names\": {{2}: {3}}",
                      in_quotes(nearest), in_quotes(wanted),
                      in_quotes(nearest.substr(prefix_.size())));
  }
  constexpr std::size_t few = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(few, there.size()); ++i)
    list += (i > 0 ? name_separator() : "") +
            (there[i].empty() ? translated("one without a name") : there[i]);
  if (there.size() > few) list += ", …";
  return translated("say which of the file's tensors it is with \"names\": {{1}: …}; it has {2}",
                    in_quotes(wanted), list);
}

void ParameterSet::may_ask_for(std::span<const std::string> names) {
  for (const std::string& name : names) meant_.insert(inside_ + name);
}

void ParameterSet::is_part(const std::string& name, const std::string& whole,
                           const std::string& shown_name) {
  names_.parameter(name, shown_name, place(whole));
  comes_from(name, whole);
}

void ParameterSet::expect_complete() const {
  expect_none_missing();
  const std::vector<std::string_view> wanted(asked_.begin(), asked_.end());
  const auto refuse = [&](const std::string& name, const std::string& at) {
    const std::string_view nearest = nearest_name(name, wanted);
    constexpr auto of_sum = std::to_array<std::string_view>({"v", "V", "w", "w_v", "v_a", "W_v"});
    const bool sums = asked_.contains("w_v.weight") && std::ranges::count(of_sum, name) > 0;
    throw input_error(translated("unknown parameter {1}", in_quotes(name)), at,
                      sums ? translated("write {1}", R"("w_v.weight", [1,h])")
                      : name == "transpose"
                          ? translated("write it into each weight, beside its \"file\" or its "
                                       "\"data\"; rows of nested arrays are outputs")
                      : nearest.empty() ? translated("leave it out: nothing uses it")
                                        : translated("did you mean {1}?", in_quotes(nearest)));
  };
  for (const auto& [ours, theirs] : renamed_) {
    if (!asked_.contains(ours)) refuse(ours, pointer_to(pointer_to(pointer_, "names"), ours));
  }
  if (file_) return;
  for (const JsonMember& member : value_.members()) {
    if (!used_.contains(member.key)) refuse(member.key, pointer_to(pointer_, member.key));
  }
}

}  // namespace attn
