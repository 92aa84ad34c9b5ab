#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace attn {

/// Warnings of many documents, as groups of those that differ in their numbers and quoted names
/// alone. Takes memory for groups, not for documents.
class GroupedWarnings {
 public:
  void add(const std::string& document, const std::vector<std::string>& warnings);

  /// The number of documents with warnings, and the most frequent groups, each by the warning of
  /// one of its documents. Empty if there are none.
  std::vector<std::string> texts() const;

 private:
  struct Group {
    std::string document, warning;  ///< of the first document by name
    std::size_t documents = 0;
  };

  std::map<std::string, Group> groups_;  ///< by warnings without what differs
  std::size_t documents_ = 0;
};

}  // namespace attn
