#include "batch/grouped_warnings.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string_view>

#include "support/translated.hpp"

namespace attn {
namespace {

constexpr std::size_t most_shown = 5;
// Warnings that quote a document at length would otherwise make a group each.
constexpr std::size_t most_groups = 1000;

// The warning without its numbers and what it has in quotes.
std::string group_of(std::string_view warning) {
  std::string group;
  bool quoted = false;
  for (const char c : warning) {
    if (c == '"') quoted = !quoted;
    const bool number = (c >= '0' && c <= '9') || c == '.';
    if (!quoted && !number) group += c;
  }
  return group;
}

}  // namespace

void GroupedWarnings::add(const std::string& document, const std::vector<std::string>& warnings) {
  if (!warnings.empty()) ++documents_;
  std::set<std::string> counted;
  for (const std::string& warning : warnings) {
    const std::string name = group_of(warning);
    if (!counted.insert(name).second) continue;
    if (groups_.size() == most_groups && !groups_.contains(name)) continue;
    Group& group = groups_[name];
    // Whatever the order in which documents end, the same one is shown.
    if (group.documents++ == 0 || document < group.document) {
      group.document = document;
      group.warning = warning;
    }
  }
}

std::vector<std::string> GroupedWarnings::texts() const {
  std::vector<std::string> texts;
  if (documents_ == 0) return texts;
  texts.push_back(translated_count(documents_, "{1} document has warnings",
                                   "{1} documents have warnings; each kind is shown once"));
  std::vector<const Group*> groups;
  for (const auto& [name, group] : groups_) groups.push_back(&group);
  std::ranges::stable_sort(groups, std::ranges::greater(), &Group::documents);
  for (const Group* group : std::span(groups).first(std::min(groups.size(), most_shown))) {
    texts.push_back(group->documents == 1 ? translated("{1}: {2}", group->document, group->warning)
                                          : translated("{1} and {2} more: {3}", group->document,
                                                       group->documents - 1, group->warning));
  }
  if (groups.size() > most_shown) {
    texts.push_back(
        translated("… and {1} more kinds of warnings, in the results", groups.size() - most_shown));
  }
  return texts;
}

}  // namespace attn
