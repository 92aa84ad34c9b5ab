#include "document/names.hpp"

#include <string_view>

namespace attn {
namespace {

bool continues_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// The text with the name in another's place, where it is a word of its own.
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
  // Only before its shape is the word surely the tensor's name: "a key" may be a key of the mask.
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

}  // namespace attn
