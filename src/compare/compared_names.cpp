#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string_view>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "compare/compared_tensors.hpp"
#include "maps/map_selection.hpp"
#include "result/tensor_names.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The option of a run that has a tensor of that name written; empty where that takes none.
std::string option_that_writes(std::string_view name) {
  if (name == "gradient" || name.starts_with("gradient.")) return "DocumentOptions::gradient FILE";
  const std::string_view quantity = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  constexpr std::string_view stages[]{"scores", "capped", "masked", "lse"};
  return std::ranges::find(stages, quantity) == std::end(stages) ? "" : "RunOptions::stages";
}

Error unknown(const std::string& name, const char* field, const NamesInFile& a,
              const NamesInFile& b) {
  std::set<std::string_view> known;
  for (const NamesInFile* file : {&a, &b}) {
    for (const std::string& one : file->names) known.insert(one.empty() ? file->unnamed : one);
  }
  known.erase("");
  std::string help = suggestion(name, std::vector<std::string_view>(known.begin(), known.end()));
  if (const std::string option = option_that_writes(name); !option.empty())
    help += translated("; ") + translated("a run with {1} writes it", option);
  return input_error(translated("neither file has a tensor \"{1}\"", name), field, help);
}

constexpr std::string_view number_place = "{n}";

bool is_renamed(const std::string& name, const std::string& theirs) {
  return name == theirs || !names_of_pattern({name}, theirs).empty();
}

// With the number of a pattern put into the other one.
std::string new_name(const std::string& name, const std::string& theirs, std::string ours) {
  const auto numbered = names_of_pattern({name}, theirs);
  const std::size_t at = ours.find(number_place);
  if (!numbered.empty() && at != std::string::npos) {
    ours.replace(at, number_place.size(), std::to_string(numbered[0].number));
  }
  return ours;
}

// Throws Error(usage) where one name of a pair alone has the place of a number.
void check_places(const std::string& theirs, const std::string& ours) {
  const auto has = [](const std::string& name) {
    return name.find(number_place) != std::string::npos;
  };
  if (has(theirs) == has(ours)) return;
  throw Error(ErrorKind::usage,
              translated("of {1} only {2} has {3}", in_quotes(theirs + "=" + ours),
                         in_quotes(has(theirs) ? theirs : ours), number_place),
              "CompareRequest::renamed",
              translated("write it in both names, such as {1}, or in none", "layer{n}=attn{n}"));
}

// Name that a tensor of a file goes by, and its own.
using NamedOfFile = std::pair<std::string, std::string>;

std::vector<NamedOfFile> renamed(const CompareRequest& request, const NamesInFile& file) {
  std::vector<NamedOfFile> result;
  std::set<std::string> taken;
  for (const std::string& name : file.names) {
    const std::string known = name.empty() ? file.unnamed : name;
    std::string shown = known;
    for (const auto& [theirs, ours] : request.renamed) {
      if (is_renamed(name, theirs) || is_renamed(known, theirs)) {
        shown = new_name(known, theirs, ours);
      }
    }
    if (!taken.insert(shown).second) {
      throw input_error(translated("two tensors of one file would be called \"{1}\"", shown),
                        "CompareRequest::renamed", translated("rename one of them only"));
    }
    result.emplace_back(std::move(shown), name);
  }
  return result;
}

// Those of the names that are asked for: as a whole, by their last part, or by a pattern.
bool is_wanted(const std::string& name, const std::string& wanted) {
  if (wanted.find("{n}") != std::string::npos) return !names_of_pattern({name}, wanted).empty();
  return name == wanted || name.ends_with("." + wanted) || name.ends_with("/" + wanted);
}

// Layer of a tensor, by the pattern that was asked for or by its own name.
std::optional<std::size_t> layer_of(const std::string& name, const CompareRequest& request) {
  for (const std::string& wanted : request.only) {
    const auto numbered = names_of_pattern({name}, wanted);
    if (!numbered.empty()) return numbered[0].number;
  }
  return AttentionName::of_tensor(name).layer();
}

// Name of a pair in which at least one tensor is unnamed: that of the other one. The names of two
// files are a name for both only if they are equal, or one is asked for.
std::string name_of_both(const CompareRequest& request, const NamedOfFile& a,
                         const NamedOfFile& b) {
  if (a.first == b.first || !a.second.empty()) return a.first;
  if (!b.second.empty()) return b.first;
  for (const std::string& wanted : request.only) {
    if (is_wanted(a.first, wanted)) return a.first;
    if (is_wanted(b.first, wanted)) return b.first;
  }
  return "";
}

// Those of the pairs that one file alone has go together where one name ends in the other, behind
// folders such as an archive's members have, and no other does: "reference/output", "output".
void join_without_folders(std::vector<ComparedNames>& pairs) {
  const auto without_folders = [](const std::string& name) {
    return name.substr(name.rfind('/') + 1);  // npos + 1 is 0
  };
  std::map<std::string, std::vector<std::size_t>> in_a, in_b;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].a && pairs[i].b) continue;
    (pairs[i].a ? in_a : in_b)[without_folders(pairs[i].name)].push_back(i);
  }
  std::set<std::size_t, std::greater<>> joined;
  for (const auto& [name, places] : in_a) {
    const auto other = in_b.find(name);
    if (places.size() != 1 || other == in_b.end() || other->second.size() != 1) continue;
    ComparedNames &one = pairs[places[0]], &found = pairs[other->second[0]];
    if (!is_wanted(one.name, found.name) && !is_wanted(found.name, one.name)) continue;
    if (found.name.size() < one.name.size()) one.name = found.name;
    one.b = found.b;
    joined.insert(other->second[0]);
  }
  for (const std::size_t i : joined) pairs.erase(pairs.begin() + static_cast<std::ptrdiff_t>(i));
}

// A tensor without a name that is all that a file holds goes with the only one of the other file
// that is asked for.
void join_unnamed(const CompareRequest& request, std::vector<ComparedNames>& pairs) {
  const auto is_asked_for = [&](const ComparedNames& pair) {
    return std::ranges::any_of(
        request.only, [&](const std::string& wanted) { return is_wanted(pair.name, wanted); });
  };
  for (const bool in_a : {true, false}) {
    const auto own = [&](const ComparedNames& pair) { return in_a ? pair.a : pair.b; };
    const auto alone = std::ranges::find_if(
        pairs, [&](const ComparedNames& pair) { return own(pair).has_value(); });
    if (alone == pairs.end() || (alone->a && alone->b) || !own(*alone)->empty()) continue;
    if (is_asked_for(*alone) || std::ranges::count_if(pairs, is_asked_for) != 1) continue;
    const auto asked_for = std::ranges::find_if(pairs, is_asked_for);
    (in_a ? asked_for->a : asked_for->b) = own(*alone);
    pairs.erase(alone);
    return;
  }
}

void keep_layers(const CompareRequest& request, std::vector<ComparedNames>& pairs) {
  const bool in_axis = std::find(request.maps.axes.begin(), request.maps.axes.end(),
                                 MapAxis::layer) != request.maps.axes.end();
  if (!request.maps.selection.layers || in_axis) return;
  std::size_t count = 0;
  for (const ComparedNames& pair : pairs) {
    if (const auto layer = layer_of(pair.name, request)) count = std::max(count, *layer + 1);
  }
  if (count == 0) {
    throw input_error(translated("no tensor's name gives its layer"), "MapSelection::layers",
                      translated("name the tensors with CompareRequest::only, such as layer{n}, or "
                                 "the axis of the layers with MapRequest::axes"));
  }
  const std::vector<std::size_t> wanted =
      numbers_in(request.maps.selection.layers, count, "MapSelection::layers", counted_layers);
  std::erase_if(pairs, [&](const ComparedNames& pair) {
    const auto layer = layer_of(pair.name, request);
    return !layer || std::find(wanted.begin(), wanted.end(), *layer) == wanted.end();
  });
}

}  // namespace

std::vector<ComparedNames> compared_names(const CompareRequest& request, const NamesInFile& a,
                                          const NamesInFile& b) {
  for (const auto& [theirs, ours] : request.renamed) {
    check_places(theirs, ours);
    const auto has = [wanted = theirs](const NamesInFile& file) {
      return std::any_of(file.names.begin(), file.names.end(), [&](const std::string& name) {
        return is_renamed(name, wanted) || (name.empty() && is_renamed(file.unnamed, wanted));
      });
    };
    if (!has(a) && !has(b)) {
      throw unknown(theirs, "CompareRequest::renamed", a, b);
    }
  }
  const auto names_a = renamed(request, a), names_b = renamed(request, b);
  for (const auto& [theirs, ours] : request.renamed) {
    const auto has = [wanted = ours](const std::vector<NamedOfFile>& names) {
      return std::ranges::any_of(names, [&](const NamedOfFile& name) {
        return is_renamed(name.first, wanted) || name.second.empty();
      });
    };
    if (has(names_a) && has(names_b)) continue;
    const NamesInFile& without = has(names_a) ? b : a;
    throw input_error(translated("{1} renames a tensor, and the other file has no \"{2}\"",
                                 in_quotes(theirs + "=" + ours), ours),
                      "CompareRequest::renamed",
                      suggestion(ours, std::vector<std::string_view>(without.names.begin(),
                                                                     without.names.end())));
  }
  std::vector<ComparedNames> pairs;
  const bool alone = a.names.size() == 1 && b.names.size() == 1;
  if (alone && (a.names[0].empty() || b.names[0].empty())) {
    pairs.push_back({name_of_both(request, names_a[0], names_b[0]), a.names[0], b.names[0]});
  } else {
    const std::map<std::string, std::string> in_b(names_b.begin(), names_b.end());
    const std::map<std::string, std::string> in_a(names_a.begin(), names_a.end());
    for (const auto& [name, own] : names_a) {
      const auto other = in_b.find(name);
      pairs.push_back(
          {name, own, other == in_b.end() ? std::nullopt : std::optional(other->second)});
    }
    for (const auto& [name, own] : names_b) {
      if (!in_a.contains(name)) pairs.push_back({name, std::nullopt, own});
    }
    join_without_folders(pairs);
    join_unnamed(request, pairs);
  }
  for (const std::string& wanted : request.only) {
    const bool found = std::any_of(pairs.begin(), pairs.end(), [&](const ComparedNames& pair) {
      return is_wanted(pair.name, wanted);
    });
    if (found) continue;
    // The name of the map that is chosen is one of those wanted.
    const bool chosen = request.maps.name == wanted;
    throw unknown(wanted, chosen ? "MapRequest::name" : "CompareRequest::only", a, b);
  }
  if (!request.only.empty()) {
    std::erase_if(pairs, [&](const ComparedNames& pair) {
      return std::none_of(request.only.begin(), request.only.end(),
                          [&](const std::string& wanted) { return is_wanted(pair.name, wanted); });
    });
  }
  keep_layers(request, pairs);
  return pairs;
}

std::vector<std::string_view> axis_names(std::string_view name, std::size_t rank,
                                         const std::vector<MapAxis>& given) {
  constexpr std::string_view names[]{"layer", "sample", "head", "query", "key"};  // of MapAxis
  std::vector<std::string_view> axes;
  for (const MapAxis axis : given) axes.push_back(names[static_cast<std::size_t>(axis)]);
  const bool map = is_map(name), sums = is_sums(name);
  if (!axes.empty() && axes.size() <= rank && rank <= axes.size() + 2) {
    // The last two may be left out.
  } else if (map || sums || rank > 3) {
    axes = leading_axes(name, rank - std::min<std::size_t>(rank, sums ? 1 : 2), map);
  } else {
    axes.assign(rank == 3 ? 1 : 0, "sample");
  }
  if (axes.size() < rank && rank > 1) axes.push_back("query");
  if (axes.size() < rank && rank > 1) axes.push_back(map ? "key" : "component");
  return axes;
}

}  // namespace attn
