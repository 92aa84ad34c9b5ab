#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "batch/fingerprint.hpp"
#include "heads/corpus_sums.hpp"
#include "io/hashed_files.hpp"
#include "io/json_value.hpp"
#include "models/model_place.hpp"
#include "report/facts.hpp"
#include "statistics/head_values.hpp"
#include "support/translated.hpp"

// Files of sums: written, and read with a check of all that the numbers say of one another.

namespace attn {
namespace {

constexpr JsonObject::Texts texts_of_errors = {
    .missing = to_translate("there is no \"{1}\""),
    .missing_help = to_translate("the file was changed or is incomplete: start again without it")};

[[noreturn]] void refuse(const std::string& place) {
  throw input_error(translated("no texts have these sums"), place,
                    translated("the file was changed or is incomplete: start again without it"));
}

ExactSum sum_of(const JsonValue& value, const std::string& place) {
  return ExactSum::from_text(expect_string(value, place));
}

// Refuses lines that the shard did not read.
TextPlace read_place(const JsonObject& text, const StoredSums& of, const std::string& place) {
  const TextPlace at(text.count("line"), text.optional_count("blank").value_or(0));
  if (at.line <= at.blank) refuse(place);
  const std::uint64_t number = at.line - at.blank;
  if (number > of.sums.lines || (number - 1) % of.shard.count != of.shard.index) refuse(place);
  return at;
}

std::vector<KeptText> read_kept(const JsonObject& statistic, const StoredSums& of) {
  std::vector<KeptText> texts;
  statistic.each("most", [&](const JsonValue& value, const std::string& place) {
    const JsonObject text(value, place, texts_of_errors);
    texts.push_back({text.number("value"), read_place(text, of, place)});
    if (texts.size() > 1 && !(texts[texts.size() - 2] < texts.back())) refuse(place);
  });
  return texts;
}

// Refuses a sum whose squared mean is above the mean of the squares.
void refuse_unlike(const ExactSum& sum, const ExactSum& squares, std::uint64_t count,
                   const std::string& place) {
  constexpr long double rounding = 1 + 1e-9L, smallest = 1e-300L;  // squares may be lost below it
  const long double most =
      static_cast<long double>(count) * (squares.value() * rounding + smallest);
  if (sum.value() * sum.value() > most) refuse(place);
}

// Refuses moments that contradict the number of texts, the kept ones or one another.
void check(std::size_t statistic, const Moments& moments, const std::vector<KeptText>& most,
           const AttentionSums& attention, const StoredSums& of, const std::string& place) {
  const auto count = static_cast<long double>(moments.count);
  const long double sum = moments.sum.value();
  refuse_unlike(moments.sum, moments.squares, moments.count, place);
  const bool few = moments.count > of.sums.texts || most.size() > moments.count;
  // No mean is above the largest number.
  const bool high = !most.empty() && sum > count * most[0].value + std::abs(sum) * 1e-9L;
  if (few || high) refuse(place);
  if (!of.sums.in_range || moments.count == 0) return;
  const auto wrong = [&](const KeptText& text) { return !is_in_range(statistic, text.value); };
  if (!is_in_range(statistic, moments.mean()) || std::any_of(most.begin(), most.end(), wrong)) {
    refuse(place);
  }
  if (statistic != static_cast<std::size_t>(HeadStatistic::entropy) || attention.most_keys == 0) {
    return;
  }
  // Weights of n keys have an entropy of at most ln n; of fewer than three, what a sink leaves of
  // them may have slightly more.
  constexpr double slack = 1e-3;
  const double most_entropy =
      std::log(std::max(3.0, static_cast<double>(attention.most_keys))) + slack;
  if (moments.mean() > most_entropy || (!most.empty() && most[0].value > most_entropy)) {
    refuse(place);
  }
}

HeadSums read_head(const JsonObject& stored, const AttentionSums& attention, const StoredSums& of) {
  HeadSums head;
  for (const HeadStatisticInfo& info : head_statistics()) {
    const auto at = static_cast<std::size_t>(info.statistic);
    const JsonObject statistic = stored.object(info.name);
    Moments& moments = head.statistics[at];
    moments.count = statistic.count("count");
    moments.sum = sum_of(statistic.member("sum"), statistic.place("sum"));
    moments.squares = sum_of(statistic.member("squares"), statistic.place("squares"));
    head.most[at] = read_kept(statistic, of);
    check(at, moments, head.most[at], attention, of, statistic.place());
  }
  stored.each("by_offset", [&](const JsonValue& value, const std::string& place) {
    head.by_offset.push_back(sum_of(value, place));
    if (head.by_offset.size() > attention.texts_by_offset.size()) refuse(place);
    const auto count =
        static_cast<long double>(attention.texts_by_offset[head.by_offset.size() - 1]);
    const long double sum = head.by_offset.back().value();
    if (count == 0 ? sum != 0 : of.sums.in_range && !is_weight(static_cast<double>(sum / count))) {
      refuse(place);
    }
  });
  if (head.by_offset.size() != attention.texts_by_offset.size()) {
    refuse(stored.place("by_offset"));
  }
  stored.each("squares_by_offset", [&](const JsonValue& value, const std::string& place) {
    const std::size_t at = head.squares_by_offset.size();
    if (at == head.by_offset.size()) refuse(place);
    head.squares_by_offset.push_back(sum_of(value, place));
    refuse_unlike(head.by_offset[at], head.squares_by_offset[at], attention.texts_by_offset[at],
                  place);
  });
  if (head.squares_by_offset.size() != head.by_offset.size())
    refuse(stored.place("squares_by_offset"));
  const std::size_t positions = attention.texts_by_position.size();
  head.average = MapSums(positions);
  if (positions == 0) return head;
  std::size_t cell = 0;
  stored.each("average", [&](const JsonValue& value, const std::string& place) {
    if (cell == positions * positions) refuse(place);
    const std::size_t later = std::max(cell / positions, cell % positions);
    WeightSum& sum = head.average.cells()[cell++];
    sum = WeightSum::from_text(expect_string(value, place));
    const std::uint64_t count = attention.texts_by_position[later];
    if (count == 0 ? sum.text() != "0" : of.sums.in_range && !is_weight(sum.divided_by(count))) {
      refuse(place);
    }
  });
  if (cell != positions * positions) refuse(stored.place("average"));
  return head;
}

AttentionSums read_attention(const JsonObject& stored, const StoredSums& of) {
  AttentionSums attention;
  attention.name = stored.string("name");
  attention.most_keys = stored.optional_count("most_keys").value_or(0);
  stored.each("texts_by_offset", [&](const JsonValue& count, const std::string& place) {
    attention.texts_by_offset.push_back(
        static_cast<std::uint64_t>(expect_integer(count, place, 0)));
    if (attention.texts_by_offset.back() > of.sums.texts) refuse(place);
  });
  if (stored.find("texts_by_position") != nullptr) {
    stored.each("texts_by_position", [&](const JsonValue& count, const std::string& place) {
      attention.texts_by_position.push_back(
          static_cast<std::uint64_t>(expect_integer(count, place, 0)));
      // A text that has a position has those before it.
      const std::size_t last = attention.texts_by_position.size() - 1;
      const std::uint64_t most = last == 0 ? of.sums.texts : attention.texts_by_position[last - 1];
      if (attention.texts_by_position[last] > most) refuse(place);
    });
  }
  stored.each("heads", [&](const JsonValue& head, const std::string& place) {
    attention.heads.push_back(read_head({head, place, texts_of_errors}, attention, of));
  });
  return attention;
}

Fact facts_of_moments(const Moments& moments) {
  return object(
      {{"count", moments.count}, {"sum", moments.sum.text()}, {"squares", moments.squares.text()}});
}

Fact facts_of(const PatchSums& patches) {
  const auto row = [](const std::vector<Moments>& effects) {
    return list_of(effects, facts_of_moments);
  };
  const auto sweep_facts = [&](const PatchSums::Sweep& sweep) {
    return object(
        {{"part", info(sweep.part).name},
         {"by_position", Fact(sweep.by_position)},
         {"rows", sweep.rows},
         {"effects", list_of(sweep.effects, row)},
         {"attributed", only_if(!sweep.attributed.empty(), list_of(sweep.attributed, row))}});
  };
  const auto path_facts = [](const PatchSums::Path& path) {
    return object({{"from", path.from},
                   {"to", path.to},
                   {"input", path.input},
                   {"count", path.effect.count},
                   {"sum", path.effect.sum.text()},
                   {"squares", path.effect.squares.text()}});
  };
  return object({{"own", facts_of_moments(patches.own)},
                 {"source", facts_of_moments(patches.source)},
                 {"sweeps", list_of(patches.sweeps, sweep_facts)},
                 {"paths", only_if(!patches.paths.empty(), list_of(patches.paths, path_facts))}});
}

// Refuses moments of more texts than there are.
Moments read_moments(const JsonObject& stored, const StoredSums& of) {
  Moments moments;
  moments.count = stored.count("count");
  moments.sum = sum_of(stored.member("sum"), stored.place("sum"));
  moments.squares = sum_of(stored.member("squares"), stored.place("squares"));
  if (moments.count > of.sums.texts) refuse(stored.place());
  return moments;
}

PatchSums::Sweep read_sweep(const JsonObject& stored, const StoredSums& of) {
  PatchSums::Sweep sweep;
  const std::string part = stored.string("part");
  const auto known = std::ranges::find(patched_parts(), part, &PatchedPartInfo::name);
  if (known == patched_parts().end()) refuse(stored.place("part"));
  sweep.part = known->part;
  sweep.by_position = stored.boolean("by_position");
  stored.each("rows", [&](const JsonValue& row, const std::string& place) {
    sweep.rows.push_back(expect_string(row, place));
    if (!ModelPlace::parse(sweep.rows.back())) refuse(place);
  });
  const auto read_grid = [&](const char* name, std::vector<std::vector<Moments>>& grid) {
    stored.each(name, [&](const JsonValue& row, const std::string& place) {
      if (!row.is(JsonValue::Type::array)) refuse(place);
      std::vector<Moments>& to = grid.emplace_back();
      for (std::size_t c = 0; c < row.size(); ++c) {
        to.push_back(read_moments({row.element(c), pointer_to(place, c), texts_of_errors}, of));
      }
    });
  };
  read_grid("effects", sweep.effects);
  if (sweep.effects.size() != sweep.rows.size() || sweep.effects.empty()) refuse(stored.place());
  if (stored.find("attributed") == nullptr) return sweep;
  read_grid("attributed", sweep.attributed);
  const auto cells = [](const std::vector<Moments>& row) { return row.size(); };
  if (!std::ranges::equal(sweep.effects, sweep.attributed, {}, cells, cells)) {
    refuse(stored.place("attributed"));
  }
  return sweep;
}

PatchSums read_patches(const JsonObject& stored, const StoredSums& of) {
  PatchSums patches;
  patches.own = read_moments(stored.object("own"), of);
  patches.source = read_moments(stored.object("source"), of);
  stored.each("sweeps", [&](const JsonValue& sweep, const std::string& place) {
    patches.sweeps.push_back(read_sweep({sweep, place, texts_of_errors}, of));
  });
  if (stored.find("paths") == nullptr) return patches;
  stored.each("paths", [&](const JsonValue& value, const std::string& place) {
    const JsonObject path(value, place, texts_of_errors);
    patches.paths.push_back(
        {path.string("from"), path.string("to"), path.string("input"), read_moments(path, of)});
    if (!ModelPlace::parse(patches.paths.back().from)) refuse(path.place("from"));
  });
  return patches;
}

// Files of other formats are refused before any member is read.
constexpr std::size_t format = 4;

// The text with its checksum in place of the zeros that it was computed with.
constexpr std::string_view checksum_start = "\"checksum\": \"";
constexpr std::string_view no_checksum = "00000000000000000000000000000000";

std::string checksum_of(std::string_view before, std::string_view behind) {
  ContentHash hash;
  for (const std::string_view piece : {before, no_checksum, behind}) {
    hash.add(piece);
  }
  return hash.text();
}

void check_sum(std::string_view text) {
  const std::size_t start = text.find(checksum_start), at = start + checksum_start.size();
  if (start != text.npos && text.size() - at >= no_checksum.size()) {
    const std::string_view behind = text.substr(at + no_checksum.size());
    if (text.substr(at, no_checksum.size()) == checksum_of(text.substr(0, at), behind)) return;
  }
  throw input_error(translated("the sums do not fit their checksum"), "",
                    translated("the file was changed or is incomplete: start again without it"));
}

}  // namespace

std::string sums_text(const StoredSums& stored) {
  const CorpusSums& sums = stored.sums;
  const auto with_place = [](const TextPlace& at, const char* key, Fact fact) {
    return object(
        {{"line", at.line}, {"blank", only_if(at.blank > 0, at.blank)}, {key, std::move(fact)}});
  };
  const auto failure = [&](const TextNote& text) {
    return with_place(text.at, "problem", text.words);
  };
  const auto warning = [&](const TextNote& text) {
    return with_place(text.at, "warning", text.words);
  };
  const auto kept = [&](const KeptText& text) { return with_place(text.at, "value", text.value); };
  const auto exact = [](const ExactSum& sum) { return Fact(sum.text()); };
  const auto head_facts = [&](const HeadSums& head) {
    Fact::Members members;
    for (const HeadStatisticInfo& info : head_statistics()) {
      const auto at = static_cast<std::size_t>(info.statistic);
      const Moments& moments = head.statistics[at];
      members.push_back({std::string(info.name), object({{"count", moments.count},
                                                         {"sum", moments.sum.text()},
                                                         {"squares", moments.squares.text()},
                                                         {"most", list_of(head.most[at], kept)}})});
    }
    members.push_back({"by_offset", list_of(head.by_offset, exact)});
    members.push_back({"squares_by_offset", list_of(head.squares_by_offset, exact)});
    const std::vector<WeightSum>& cells = head.average.cells();
    members.push_back({"average", only_if(!cells.empty(), list_of(cells, [](const WeightSum& sum) {
                         return Fact(sum.text());
                       }))});
    return Fact(members);
  };
  const auto attention_facts = [&](const AttentionSums& attention) {
    return object({{"name", attention.name},
                   {"most_keys", attention.most_keys},
                   {"texts_by_offset",
                    Fact::List(attention.texts_by_offset.begin(), attention.texts_by_offset.end())},
                   {"texts_by_position", only_if(!attention.texts_by_position.empty(),
                                                 Fact::List(attention.texts_by_position.begin(),
                                                            attention.texts_by_position.end()))},
                   {"heads", list_of(attention.heads, head_facts)}});
  };
  const auto part_facts = [](const NamedMoments& part) {
    return object({{"name", part.name},
                   {"count", part.moments.count},
                   {"sum", part.moments.sum.text()},
                   {"squares", part.moments.squares.text()}});
  };
  std::string text = json_text(
      object({{"format", format},
              {"checksum", no_checksum},
              {"options", Fact::Members(stored.options.begin(), stored.options.end())},
              {"inputs", Fact::Members(stored.inputs.begin(), stored.inputs.end())},
              {"shard", Shape{stored.shard.index, stored.shard.count}},
              {"done", sums.done},
              {"in_range", sums.in_range},
              {"lines", sums.lines},
              {"lines_hash", sums.lines_hash},
              {"texts", sums.texts},
              {"failed", sums.failed},
              {"warned", sums.warned},
              {"failures", list_of(sums.failures, failure)},
              {"warnings", list_of(sums.warnings, warning)},
              {"attentions", list_of(sums.attentions, attention_facts)},
              {"parts", only_if(!sums.parts.empty(), list_of(sums.parts, part_facts))},
              {"analyses", only_if(!sums.analyses.empty(), list_of(sums.analyses, part_facts))},
              {"of_differences", only_if(sums.of_differences, Fact(true))},
              {"patches", only_if(!sums.patches.empty(), facts_of(sums.patches))}}));
  const std::size_t at = text.find(checksum_start) + checksum_start.size();
  const std::string_view whole = text;
  const std::string checksum =
      checksum_of(whole.substr(0, at), whole.substr(at + no_checksum.size()));
  return text.replace(at, checksum.size(), checksum);
}

StoredSums read_sums(std::string_view text) {
  check_sum(text);
  const JsonValue root = parse_json_by_element(text, 16);
  const JsonObject file(root, "", texts_of_errors);
  if (file.count("format") != format) {
    throw input_error(translated("the sums are those of another version of the program"),
                      file.place("format"),
                      translated("start again without the file, or with another folder"));
  }
  StoredSums stored;
  for (auto& option : strings_in(file.object("options"))) stored.options.insert(std::move(option));
  for (auto& input : strings_in(file.object("inputs"))) stored.inputs.insert(std::move(input));
  std::vector<std::size_t> shard;
  file.each("shard", [&](const JsonValue& number, const std::string& place) {
    shard.push_back(static_cast<std::size_t>(expect_integer(number, place, 0)));
  });
  if (shard.size() != 2 || shard[0] >= shard[1]) refuse(file.place("shard"));
  stored.shard = {shard[0], shard[1]};
  CorpusSums& sums = stored.sums;
  sums.done = file.boolean("done");
  sums.in_range = file.boolean("in_range");
  sums.lines = file.count("lines");
  sums.lines_hash = file.string("lines_hash");
  sums.texts = file.count("texts");
  sums.failed = file.count("failed");
  // The number of lines that are the shard's: its first is line `index`, from 0.
  const std::uint64_t own = (sums.lines + shard[1] - 1 - shard[0]) / shard[1];
  if (sums.texts > own || sums.failed != own - sums.texts) refuse(file.place("texts"));
  sums.warned = file.count("warned");
  if (sums.warned > sums.texts) refuse(file.place("warned"));
  const auto read_notes = [&](const char* name, const char* words, std::vector<TextNote>& notes) {
    file.each(name, [&](const JsonValue& value, const std::string& place) {
      const JsonObject note(value, place, texts_of_errors);
      notes.push_back({read_place(note, stored, place), note.string(words)});
    });
  };
  read_notes("failures", "problem", sums.failures);
  read_notes("warnings", "warning", sums.warnings);
  if (sums.failures.size() != std::min<std::uint64_t>(sums.failed, most_notes)) {
    refuse(file.place("failures"));
  }
  if (sums.warnings.size() > most_notes || sums.warnings.empty() != (sums.warned == 0)) {
    refuse(file.place("warnings"));
  }
  file.each("attentions", [&](const JsonValue& value, const std::string& place) {
    sums.attentions.push_back(read_attention({value, place, texts_of_errors}, stored));
  });
  if (root.find("patches") != nullptr) {
    sums.patches = read_patches(file.object("patches"), stored);
  }
  const auto read_named = [&](const char* name, std::vector<NamedMoments>& to) {
    if (root.find(name) == nullptr) return;
    file.each(name, [&](const JsonValue& value, const std::string& place) {
      const JsonObject part(value, place, texts_of_errors);
      to.push_back({part.string("name"), read_moments(part, stored)});
    });
  };
  read_named("analyses", sums.analyses);
  read_named("parts", sums.parts);
  sums.of_differences = root.find("of_differences") != nullptr && file.boolean("of_differences");
  return stored;
}

}  // namespace attn
