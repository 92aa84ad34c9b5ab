#include "heads/corpus_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "maps/attention_map.hpp"
#include "report/facts.hpp"
#include "statistics/head_values.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

constexpr std::size_t most_failures = 10;
constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

void keep(std::vector<KeptText>& most, const KeptText& text, std::size_t count) {
  if (most.size() == count && (most.empty() || !(text < most.back()))) return;
  most.insert(std::upper_bound(most.begin(), most.end(), text), text);
  if (most.size() > count) most.pop_back();
}

[[noreturn]] void refuse_other_attentions() {
  throw input_error(
      translated("the documents of the corpus have different attentions"), "",
      translated("give documents of one kind, with the same numbers of layers and heads"));
}

constexpr JsonObject::Texts texts_of_errors = {
    .missing = to_translate("there is no \"{1}\""),
    .missing_help = to_translate("the file was changed or is incomplete: start again without it")};

ExactSum sum_of(const JsonValue& value, const std::string& place) {
  return ExactSum::from_text(expect_string(value, place));
}

std::vector<KeptText> kept_texts(const JsonObject& statistic) {
  std::vector<KeptText> texts;
  statistic.each("most", [&](const JsonValue& value, const std::string& place) {
    const JsonObject text(value, place, texts_of_errors);
    texts.push_back({text.number("value"), text.count("line")});
  });
  return texts;
}

HeadSums read_head(const JsonObject& stored) {
  HeadSums head;
  for (const HeadStatisticInfo& info : head_statistics()) {
    const auto at = static_cast<std::size_t>(info.statistic);
    const JsonObject statistic = stored.object(info.name);
    head.statistics[at].count = statistic.count("count");
    head.statistics[at].sum = sum_of(statistic.member("sum"), statistic.place("sum"));
    head.statistics[at].squares = sum_of(statistic.member("squares"), statistic.place("squares"));
    head.most[at] = kept_texts(statistic);
  }
  stored.each("by_offset", [&](const JsonValue& sum, const std::string& place) {
    head.by_offset.push_back(sum_of(sum, place));
  });
  return head;
}

AttentionSums read_attention(const JsonObject& stored) {
  AttentionSums attention;
  attention.name = stored.string("name");
  stored.each("texts_by_offset", [&](const JsonValue& count, const std::string& place) {
    attention.texts_by_offset.push_back(
        static_cast<std::uint64_t>(expect_integer(count, place, 0)));
  });
  stored.each("heads", [&](const JsonValue& head, const std::string& place) {
    attention.heads.push_back(read_head({head, place, texts_of_errors}));
  });
  return attention;
}

}  // namespace

void Moments::add(double number) {
  ++count;
  sum.add(number);
  squares.add_square(number);
}

void Moments::add(const Moments& other) {
  count += other.count;
  sum.add(other.sum);
  squares.add(other.squares);
}

double Moments::mean() const {
  if (count == 0) return undefined;
  return static_cast<double>(sum.value() / static_cast<long double>(count));
}

double Moments::deviation() const {
  if (count < 2) return undefined;
  const auto n = static_cast<long double>(count);
  const long double whole = sum.value();
  const long double variance = (squares.value() - whole * whole / n) / (n - 1);
  return static_cast<double>(std::sqrt(std::max(variance, 0.0L)));
}

double Moments::error() const {
  return deviation() / std::sqrt(static_cast<double>(count));
}

TextNumbers text_numbers(const AttentionMap& map, const HeadsCorpusOptions& options) {
  TextNumbers numbers{map.name.text(), values_of(map, options.heads.counting, 1), {}};
  if (!map.same_positions) return numbers;
  const Maps matrices(map.numbers);
  const std::size_t length = matrices.queries();
  for (std::size_t h = 0; h < numbers.values.size(); ++h) {
    const Tensor head = matrices.matrix(0, h);
    OffsetMeans means(length, options.reach);
    with_floats(head, [&](const auto weights) {
      for (std::size_t i = 0; i < length; ++i) means.add(weights.data() + i * length);
    });
    numbers.by_offset.push_back(means.means());
  }
  return numbers;
}

void CorpusSums::add(const std::vector<TextNumbers>& numbers, std::uint64_t line,
                     const HeadsCorpusOptions& options) {
  const std::size_t offsets = 2 * options.reach + 1;
  if (attentions.empty()) {
    for (const TextNumbers& own : numbers) {
      AttentionSums& attention = attentions.emplace_back();
      attention.name = own.name;
      attention.heads.resize(own.values.size());
      attention.texts_by_offset.resize(offsets);
      for (HeadSums& head : attention.heads) head.by_offset.resize(offsets);
    }
  }
  if (!std::equal(attentions.begin(), attentions.end(), numbers.begin(), numbers.end(),
                  [](const AttentionSums& a, const TextNumbers& b) {
                    return a.name == b.name && a.heads.size() == b.values.size();
                  })) {
    refuse_other_attentions();
  }
  ++texts;
  for (std::size_t at = 0; at < numbers.size(); ++at) {
    const TextNumbers& own = numbers[at];
    for (std::size_t h = 0; h < own.values.size(); ++h) {
      HeadSums& head = attentions[at].heads[h];
      for (std::size_t s = 0; s < head_statistic_count; ++s) {
        if (!std::isfinite(own.values[h][s])) continue;
        head.statistics[s].add(own.values[h][s]);
        keep(head.most[s], {own.values[h][s], line}, options.kept);
      }
      for (std::size_t i = 0; h < own.by_offset.size() && i < offsets; ++i) {
        if (!std::isfinite(own.by_offset[h][i])) continue;
        head.by_offset[i].add(own.by_offset[h][i]);
        if (h == 0) ++attentions[at].texts_by_offset[i];
      }
    }
  }
}

void CorpusSums::fail(std::uint64_t line, const std::string& problem) {
  ++failed;
  const auto later = [](const FailedText& a, const FailedText& b) { return a.line < b.line; };
  const FailedText text{line, problem};
  failures.insert(std::upper_bound(failures.begin(), failures.end(), text, later), text);
  if (failures.size() > most_failures) failures.pop_back();
}

void CorpusSums::add(const CorpusSums& other, const HeadsCorpusOptions& options) {
  texts += other.texts;
  const std::uint64_t all_failed = failed + other.failed;
  for (const FailedText& text : other.failures) fail(text.line, text.problem);
  failed = all_failed;
  if (other.attentions.empty()) return;
  if (attentions.empty()) {
    attentions = other.attentions;
    return;
  }
  bool alike = attentions.size() == other.attentions.size();
  for (std::size_t at = 0; alike && at < attentions.size(); ++at) {
    alike = attentions[at].name == other.attentions[at].name &&
            attentions[at].heads.size() == other.attentions[at].heads.size() &&
            attentions[at].texts_by_offset.size() == other.attentions[at].texts_by_offset.size();
  }
  if (!alike) refuse_other_attentions();
  for (std::size_t at = 0; at < attentions.size(); ++at) {
    AttentionSums& own = attentions[at];
    const AttentionSums& others = other.attentions[at];
    for (std::size_t i = 0; i < own.texts_by_offset.size(); ++i) {
      own.texts_by_offset[i] += others.texts_by_offset[i];
    }
    for (std::size_t h = 0; h < own.heads.size(); ++h) {
      HeadSums& head = own.heads[h];
      const HeadSums& added = others.heads[h];
      for (std::size_t s = 0; s < head_statistic_count; ++s) {
        head.statistics[s].add(added.statistics[s]);
        for (const KeptText& text : added.most[s]) keep(head.most[s], text, options.kept);
      }
      for (std::size_t i = 0; i < head.by_offset.size(); ++i) {
        head.by_offset[i].add(added.by_offset[i]);
      }
    }
  }
}

std::string sums_text(const CorpusSums& sums, const std::string& fingerprint, const Shard& shard) {
  const auto failure = [](const FailedText& text) {
    return object({{"line", text.line}, {"problem", text.problem}});
  };
  const auto kept = [](const KeptText& text) {
    return object({{"line", text.line}, {"value", text.value}});
  };
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
    return Fact(members);
  };
  const auto attention_facts = [&](const AttentionSums& attention) {
    return object({{"name", attention.name},
                   {"texts_by_offset",
                    Fact::List(attention.texts_by_offset.begin(), attention.texts_by_offset.end())},
                   {"heads", list_of(attention.heads, head_facts)}});
  };
  return json_text(object({{"format", 1},
                           {"fingerprint", fingerprint},
                           {"shard", Shape{shard.index, shard.count}},
                           {"done", sums.done},
                           {"lines", sums.lines},
                           {"lines_hash", sums.lines_hash},
                           {"texts", sums.texts},
                           {"failed", sums.failed},
                           {"failures", list_of(sums.failures, failure)},
                           {"attentions", list_of(sums.attentions, attention_facts)}}));
}

StoredSums read_sums(std::string_view text) {
  const JsonValue root = parse_json_by_element(text, 16);
  const JsonObject file(root, "", texts_of_errors);
  StoredSums stored;
  stored.fingerprint = file.string("fingerprint");
  std::vector<std::size_t> shard;
  file.each("shard", [&](const JsonValue& number, const std::string& place) {
    shard.push_back(static_cast<std::size_t>(expect_integer(number, place, 0)));
  });
  shard.resize(2);
  stored.shard = {shard[0], shard[1]};
  CorpusSums& sums = stored.sums;
  sums.done = file.boolean("done");
  sums.lines = file.count("lines");
  sums.lines_hash = file.string("lines_hash");
  sums.texts = file.count("texts");
  sums.failed = file.count("failed");
  file.each("failures", [&](const JsonValue& value, const std::string& place) {
    const JsonObject failure(value, place, texts_of_errors);
    sums.failures.push_back({failure.count("line"), failure.string("problem")});
  });
  file.each("attentions", [&](const JsonValue& value, const std::string& place) {
    sums.attentions.push_back(read_attention({value, place, texts_of_errors}));
  });
  return stored;
}

}  // namespace attn
