#include "heads/corpus_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attn/error.hpp"

#include "document/object.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "pictures/map_selection.hpp"
#include "statistics/offset_means.hpp"
#include "support/translated.hpp"

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
  throw input_error(translated("the documents of the corpus have different attentions"), "",
                    translated("give documents of one kind, with as many layers and heads"));
}

const JsonValue& member(const JsonValue& object, std::string_view key) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) {
    throw input_error(translated("there is no \"{1}\"", key), pointer_to("", key),
                      translated("the file was changed or is not whole: begin anew without it"));
  }
  return *value;
}

std::uint64_t count_of(const JsonValue& value) {
  return static_cast<std::uint64_t>(expect_integer(value, "", 0));
}

ExactSum sum_of(const JsonValue& value) {
  return ExactSum::from_text(expect_string(value, ""));
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

TextNumbers text_numbers(const AttentionMaps& maps, const HeadsCorpusOptions& options) {
  TextNumbers numbers{maps.name, values_of(maps, options.heads.counting, 1), {}};
  if (!maps.same_positions) return numbers;
  const Maps matrices(maps.weights);
  const std::size_t length = matrices.queries();
  for (std::size_t h = 0; h < numbers.values.size(); ++h) {
    const Tensor map = matrices.matrix(0, h);
    OffsetMeans means(length, options.reach);
    const auto read = [&](const auto weights) {
      for (std::size_t i = 0; i < length; ++i) means.add(weights.data() + i * length);
    };
    if (map.dtype() == DType::float32) {
      read(map.values<float>());
    } else {
      read(map.values<double>());
    }
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
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  const auto list = [&](const char* key, const auto& values, const auto& write) {
    json.key(key);
    json.begin_array();
    for (const auto& value : values) write(value);
    json.end_array();
  };
  json.begin_object();
  json.member("format", std::size_t{1});
  json.member("fingerprint", fingerprint);
  json.member("shard", Shape{shard.index, shard.count});
  json.member("done", sums.done);
  json.member("lines", static_cast<std::size_t>(sums.lines));
  json.member("lines_hash", sums.lines_hash);
  json.member("texts", static_cast<std::size_t>(sums.texts));
  json.member("failed", static_cast<std::size_t>(sums.failed));
  list("failures", sums.failures, [&](const FailedText& failure) {
    json.begin_object();
    json.member("line", static_cast<std::size_t>(failure.line));
    json.member("problem", failure.problem);
    json.end_object();
  });
  list("attentions", sums.attentions, [&](const AttentionSums& attention) {
    json.begin_object();
    json.member("name", attention.name);
    list("texts_by_offset", attention.texts_by_offset,
         [&](std::uint64_t count) { json.value(static_cast<std::size_t>(count)); });
    list("heads", attention.heads, [&](const HeadSums& head) {
      json.begin_object();
      for (const HeadStatisticInfo& info : head_statistics()) {
        const auto at = static_cast<std::size_t>(info.statistic);
        const Moments& moments = head.statistics[at];
        json.key(info.name);
        json.begin_object();
        json.member("count", static_cast<std::size_t>(moments.count));
        json.member("sum", moments.sum.text());
        json.member("squares", moments.squares.text());
        list("most", head.most[at], [&](const KeptText& kept) {
          json.begin_object();
          json.member("line", static_cast<std::size_t>(kept.line));
          json.member("value", kept.value);
          json.end_object();
        });
        json.end_object();
      }
      list("by_offset", head.by_offset, [&](const ExactSum& sum) { json.value(sum.text()); });
      json.end_object();
    });
    json.end_object();
  });
  json.end_object();
  json.finish();
  return text;
}

StoredSums read_sums(std::string_view text) {
  const JsonValue root = parse_json_by_element(text, 16);
  StoredSums stored;
  if (!root.is(JsonValue::Type::object)) member(JsonValue(), "fingerprint");
  stored.fingerprint = expect_string(member(root, "fingerprint"), "/fingerprint");
  const JsonValue& shard = member(root, "shard");
  stored.shard = {static_cast<std::size_t>(count_of(shard.element(0))),
                  static_cast<std::size_t>(count_of(shard.element(1)))};
  CorpusSums& sums = stored.sums;
  sums.done = member(root, "done").boolean();
  sums.lines = count_of(member(root, "lines"));
  sums.lines_hash = expect_string(member(root, "lines_hash"), "/lines_hash");
  sums.texts = count_of(member(root, "texts"));
  sums.failed = count_of(member(root, "failed"));
  const auto each = [](const JsonValue& list, const auto& read) {
    for (std::size_t i = 0; i < list.size(); ++i) read(list.element(i));
  };
  each(member(root, "failures"), [&](const JsonValue& failure) {
    sums.failures.push_back(
        {count_of(member(failure, "line")), expect_string(member(failure, "problem"), "")});
  });
  each(member(root, "attentions"), [&](const JsonValue& value) {
    AttentionSums& attention = sums.attentions.emplace_back();
    attention.name = expect_string(member(value, "name"), "");
    each(member(value, "texts_by_offset"),
         [&](const JsonValue& count) { attention.texts_by_offset.push_back(count_of(count)); });
    each(member(value, "heads"), [&](const JsonValue& own) {
      HeadSums& head = attention.heads.emplace_back();
      for (const HeadStatisticInfo& info : head_statistics()) {
        const auto at = static_cast<std::size_t>(info.statistic);
        const JsonValue& statistic = member(own, info.name);
        head.statistics[at].count = count_of(member(statistic, "count"));
        head.statistics[at].sum = sum_of(member(statistic, "sum"));
        head.statistics[at].squares = sum_of(member(statistic, "squares"));
        each(member(statistic, "most"), [&](const JsonValue& kept) {
          head.most[at].push_back({member(kept, "value").number(), count_of(member(kept, "line"))});
        });
      }
      each(member(own, "by_offset"),
           [&](const JsonValue& sum) { head.by_offset.push_back(sum_of(sum)); });
    });
  });
  return stored;
}

}  // namespace attn
