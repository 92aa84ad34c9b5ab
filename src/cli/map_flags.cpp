#include "cli/map_flags.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/maps.hpp"
#include "attn/spec.hpp"

namespace attn::cli {
namespace {

constexpr auto shown_words =
    std::to_array<Named<MapSelection::Shown>>({{"mean", MapSelection::Shown::mean},
                                               {"max", MapSelection::Shown::max},
                                               {"all", MapSelection::Shown::all}});
constexpr auto layer_words =
    std::to_array<Named<MapSelection::Layers>>({{"mean", MapSelection::Layers::mean},
                                                {"max", MapSelection::Layers::max},
                                                {"all", MapSelection::Layers::all}});
constexpr auto block_words = std::to_array<Named<MapSelection::Blocks>>(
    {{"sentence", MapSelection::Blocks::sentence}, {"part", MapSelection::Blocks::part}});
bool is_number(const std::string& part) {
  return part.find_first_not_of("0123456789:-") == std::string::npos && !part.empty();
}

// "3", "0,5", "0:6", "mean", "0:6,mean", "all": several stand side by side unless a word reduces
// them.
void take_shown(const std::string& flag, const std::string& text, const ShownTargets& targets) {
  std::vector<PositionRange> numbers;
  std::optional<MapSelection::Shown> shown;
  for (const std::string& part : listed(flag, text)) {
    const auto word = std::ranges::find(shown_words, part, &Named<MapSelection::Shown>::name);
    if (word != shown_words.end()) {
      shown = word->value;
    } else if (is_number(part)) {
      numbers.push_back(position_range(flag, part, true));
    } else if (const std::string meant = layer_and_head(part);
               flag.starts_with("--head") && !meant.empty()) {
      throw written_otherwise(flag, text, meant);
    } else {
      const std::string near = suggestion(part, names_of(shown_words));
      const bool far = near == suggestion("", names_of(shown_words));
      throw wrong_value(flag, text,
                        translated("a whole number, {1}", alternatives(names_of(shown_words))) +
                            (far ? std::string() : translated("; {1}", near)));
    }
  }
  const bool one = is_digits(text);
  if (one) targets.number = whole_number(flag, text);
  if (!numbers.empty()) targets.chosen = std::move(numbers);
  using Shown = MapSelection::Shown;
  // Several numbers are joined by an earlier word: --head mean --heads 0:2.
  const bool joined = targets.shown == Shown::mean || targets.shown == Shown::max;
  targets.shown = shown.value_or(one ? Shown::one : joined ? targets.shown : Shown::all);
}

// "0,5,11", "0:6", "mean", "0:6,mean".
void take_layers(const std::string& text, MapSelection& selection) {
  std::vector<PositionRange> ranges;
  for (const std::string& part : listed("--layers", text)) {
    const auto word = std::find_if(layer_words.begin(), layer_words.end(),
                                   [&](const auto& row) { return row.name == part; });
    if (word != layer_words.end()) {
      selection.layers_together = word->value;
    } else if (part == "last" || part == "first") {
      throw written_otherwise("--layers", text, part == "last" ? "--layers -1" : "--layers 0");
    } else {
      ranges.push_back(position_range("--layers", part, true));
    }
  }
  if (!ranges.empty()) selection.layers = std::move(ranges);
}

// "layer,batch" of "layer, batch".
std::string without_spaces_at_commas(const std::string& text) {
  std::string plain;
  for (const std::string& part : comma_separated(text)) {
    const std::size_t first = std::min(part.find_first_not_of(' '), part.size());
    const std::size_t end = part.find_last_not_of(' ') + 1;  // npos + 1 = 0
    plain += (plain.empty() ? "" : ",") + part.substr(first, std::max(end, first) - first);
  }
  return plain;
}

// The axis of its plural: "layer" of "layers", "query" of "queries".
std::string singular(const std::string& axis) {
  constexpr std::pair<std::string_view, std::string_view> plurals[]{
      {"layers", "layer"}, {"batches", "batch"}, {"samples", "batch"},
      {"heads", "head"},   {"queries", "query"}, {"keys", "key"}};
  for (const auto& [plural, name] : plurals) {
    if (axis == plural) return std::string(name);
  }
  return axis;
}

void add_axes(Flags& flags, std::vector<MapAxis>& axes) {
  Flag& flag = flags.add(
      "--axes", "LIST",
      translated(
          "Axes of the tensor: layer, batch, head, query, key; the last two may be left out"),
      [&](const std::string& text) {
        axes.clear();
        for (const std::string& axis : listed("--axes", without_spaces_at_commas(text))) {
          axes.push_back(chosen("--axes", singular(axis), map_axes()).value);
        }
      });
  complete(flag, map_axes());
  flag.list = true;
}

void add_reshape(Flags& flags, Shape& sizes) {
  flags.add("--reshape", "N,N,…",
            translated("Sizes of the axes to take the tensor by, such as 1,1,2,10; -1 is the size "
                       "that is left"),
            [&sizes](const std::string& text) {
              sizes.clear();
              for (const std::string& part : listed("--reshape", text))
                sizes.push_back(part == "-1" ? 0 : whole_number("--reshape", part, 1));
              if (std::count(sizes.begin(), sizes.end(), std::size_t{0}) > 1)
                throw wrong_value("--reshape", text, translated("-1 once at most"));
            });
}

void add_labels(Flags& flags, MapRequest& request) {
  flags.text("--labels", request.labels, "FILE",
             translated("Labels to use instead of the input's: {\"query\": […], \"key\": […]}, one "
                        "list for both, or one label per line"));
}

}  // namespace

Flag& add_shown(Flags& flags, const std::string& name, const std::string& help,
                const ShownTargets& targets, bool all) {
  Flag& flag = flags.add(name, "N,A:B,…", help, [name, targets](const std::string& text) {
    take_shown(name, text, targets);
  });
  complete(flag, std::span(shown_words).first(all ? shown_words.size() : 2));
  flag.list = true;
  return flag;
}

void add_selection(Flags& flags, const SelectionTargets& picture, bool all) {
  flags.begin_group(FlagGroup::pictures);
  MapSelection& selection = picture.selection;
  add_shown(
      flags, "--sample",
      translated("Sample to use, counted from 0; several or all by themselves, or with mean or "
                 "max together"),
      {selection.samples, selection.chosen_samples, picture.sample}, all);
  const Flag& heads = add_shown(
      flags, "--head",
      translated("Head to use, counted from 0; several or all by themselves, or with mean or max "
                 "together"),
      {selection.heads, selection.chosen_heads, picture.head}, all);
  if (std::ranges::find(flags, "--heads", &Flag::name) == flags.end())
    flags.add_hidden("--heads", heads);
  flags.add(
      "--queries", "A:B", translated("Queries to use, from A up to but not including B"),
      [&](const std::string& text) { selection.queries = position_range("--queries", text); });
  flags.add("--query", "NAME",
            translated("One query to use, by its label or position, such as [CLS] or 3,5; by its "
                       "position, one whose scores or logit are split"),
            [&](const std::string& text) { selection.query = text; });
  flags.add("--keys", "A:B", translated("Keys to use, from A up to but not including B"),
            [&](const std::string& text) { selection.keys = position_range("--keys", text); });
  flags.count("--drop-first", selection.drop_first, "N",
              translated("Leave out the first N keys, such as those of an attention sink"));
  flags.add("--drop", "KEY,…",
            translated("Leave out keys, each by its position from 0 or its label"),
            [&](const std::string& text) { selection.drop = quoted_list("--drop", text); });
  flags.toggle("--renormalize", selection.renormalize,
               translated("Divide each row of the remaining keys by its sum"));
  flags.toggle("--merge-pieces", selection.merge_pieces,
               translated("Join pieces of words: keys are summed, queries averaged"));
  flags.add(
      "--words", "FILE",
      translated(
          "Join pieces to these words: a list of words, of [first, end], or one number per piece"),
      [&](const std::string& text) {
        try {
          selection.words = read_piece_words(text);
        } catch (const Error& error) {
          if (!error.where().empty()) throw;
          const bool is_text =
              error.kind() == ErrorKind::file && text.find_first_of("./") == text.npos;
          throw Error(
              error.kind(), error.problem(), "--words",
              is_text ? translated("{1} takes the name of a file", "--words") : error.help());
        }
        selection.merge_pieces = true;
      });
  flags.choice("--blocks", selection.blocks, block_words, "WHAT",
               translated(": one block each, keys summed and queries averaged"));
}

void add_hide_mask(Flags& flags, MapSelection& selection) {
  flags.toggle("--hide-mask", selection.hide_mask, translated("Show hidden cells as plain zeros"));
}

void let_heads_choose(Flags& flags) {
  const auto named = [&](const char* name) -> Flag& {
    return *std::ranges::find(flags, name, &Flag::name);
  };
  named("--heads").take = [split = named("--heads").take,
                           choose = named("--head").take](const std::string& text) {
    const bool number = is_digits(text) && text.find_first_not_of('0') != std::string::npos;
    if (number) return split(text);
    try {
      choose(text);
    } catch (const Error& error) {
      if (error.where() != "--head") throw;
      if (const std::string meant = layer_and_head(text); !meant.empty())
        throw written_otherwise("--heads", text, meant);
      throw wrong_value("--heads", text,
                        translated("the number of heads to split by, or heads of existing maps as "
                                   "--head takes them"));
    }
  };
}

void add_map_source(Flags& flags, MapRequest& request) {
  flags.begin_group(FlagGroup::input);
  flags.text(
      "--name", request.name, "NAME",
      translated("Tensor to take (default weights, or the only one); with {n} in it those of all "
                 "layers"));
  flags.text("--slice", request.slice, "SLICE",
             translated("Part of the tensor to take, as NumPy writes it, such as \"0, :, 64:128\"; "
                        "before --reshape"));
  add_reshape(flags, request.reshape);
  add_axes(flags, request.axes);
  MapSelection& selection = request.selection;
  complete(flags.add("--layers", "N,A:B,…",
                     translated("Layers to use, counted from 0, and optionally their mean or max"),
                     [&selection](const std::string& text) { take_layers(text, selection); }),
           std::span(layer_words));
  flags.back().list = true;
  flags.add_hidden("--layer", flags.back());
  add_labels(flags, request);
}

}  // namespace attn::cli
