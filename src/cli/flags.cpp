#include "cli/flags.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "attn/document.hpp"
#include "attn/heads.hpp"
#include "attn/language.hpp"
#include "attn/plot.hpp"
#include "attn/spec.hpp"

namespace attn::cli {

Error invalid_value(const std::string& flag, const std::string& text, const std::string& help) {
  return {ErrorKind::usage, translated("invalid value \"{1}\" for {2}", text, flag), flag, help};
}

Error wrong_value(const std::string& flag, const std::string& text, const std::string& expected) {
  return invalid_value(flag, text, translated("give {1}", expected));
}

Error written_otherwise(const std::string& flag, const std::string& text,
                        const std::string& meant) {
  return invalid_value(flag, text, translated("write {1}", meant));
}

Error unset(const std::string& flag, const std::string& text) {
  return invalid_value(flag, text,
                       translated("give a value: a variable of the shell may be unset"));
}

Error below_zero(const std::string& flag, std::int64_t number) {
  return {ErrorKind::usage, translated("{1} counts from 0: {2} is below", flag, number), flag,
          flag == "--query" || flag == "--key"
              ? translated("give its number from 0; {1} shows those of a text",
                           "attn-cli tokens --model M --text TEXT")
              : translated("give its number from 0")};
}

bool is_digits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

std::size_t whole_number(const std::string& flag, const std::string& text, std::size_t least) {
  std::size_t number = 0;
  // Whole numbers of documents are int64.
  const bool too_large = parse_number(text, number) && !std::in_range<std::int64_t>(number);
  if (parse_number(text, number) && number >= least && !too_large) return number;
  if (text.empty()) throw unset(flag, text);
  if (flag == "--generate" && text.find_first_not_of("0123456789.-+") != text.npos) {
    throw wrong_value(flag, text,
                      translated("a number of tokens, or {1}", "--continue \"" + text + "\""));
  }
  if (flag == "--jobs" || flag == "--threads") {
    throw wrong_value(flag, text,
                      translated("a whole number of at least 1, or leave it out for all cores"));
  }
  throw wrong_value(flag, text,
                    too_large ? translated("a whole number of at least {1} and below 2^63", least)
                              : translated("a whole number of at least {1}", least));
}

std::size_t position_of(const std::string& flag, const std::string& text) {
  std::int64_t number = 0;
  if (parse_number(text, number) && number < 0) throw below_zero(flag, number);
  const std::size_t open = text.rfind(" (");
  if (open == std::string::npos || !text.ends_with(')')) {
    const bool of_tokens = flag == "--query" || flag == "--key";
    if (is_digits(text) || !of_tokens) return whole_number(flag, text);
    const std::string token = text.find_first_of("'\"") == text.npos ? text : "the";
    throw wrong_value(flag, text,
                      translated("a position from 0, such as 7, or a token with it, such as {1}",
                                 "'\"" + token + "\" (7)'"));
  }
  return whole_number(flag, text.substr(open + 2, text.size() - open - 3));
}

std::string layer_and_head(const std::string& text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string layer = text.substr(0, point);
  const std::string head = text.substr(std::min(point + 1, text.size()));
  return is_digits(layer) && is_digits(head) ? "--layers " + layer + " --head " + head : "";
}

std::int64_t integer(const std::string& flag, const std::string& text) {
  std::int64_t number = 0;
  if (parse_number(text, number)) return number;
  throw wrong_value(flag, text, translated("a whole number"));
}

namespace {

// The number that a text means with a comma for its point, with a unit or in percent, "0,5", "5s"
// or "30%"; empty for other texts.
std::string meant_number(std::string text) {
  std::ranges::replace(text, ',', '.');
  double share = 0;
  if (text.starts_with("10^")) text.replace(0, 3, "1e");
  std::int64_t exponent = 0;
  if (text.starts_with("2^") && parse_number(text.substr(2), exponent) && std::abs(exponent) < 64) {
    std::array<char, 32> digits{};
    const double power = std::ldexp(1.0, static_cast<int>(exponent));
    return {digits.begin(), std::to_chars(digits.begin(), digits.end(), power).ptr};
  }
  constexpr double percent = 100;
  const bool in_percent = text.ends_with('%');
  if (in_percent && parse_number(text.substr(0, text.size() - 1), share)) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.begin(), digits.end(), share / percent).ptr;
    return {digits.begin(), end};
  }
  // Units that leave the number as it is; one of minutes would be another number of seconds.
  constexpr std::string_view units[]{"s", "sec", "seconds", "px", "dpi", "pt", "x"};
  const std::size_t end = std::min(text.find_first_not_of("+-.0123456789"), text.size());
  if (std::ranges::count(units, std::string_view(text).substr(end)) > 0) text.resize(end);
  double number = 0;
  return parse_number(text, number) && std::isfinite(number) ? text : "";
}

}  // namespace

double finite_number(const std::string& flag, const std::string& text) {
  double number = 0;
  if (parse_number(text, number) && std::isfinite(number)) return number;
  if (const std::string meant = meant_number(text); !meant.empty())
    throw written_otherwise(flag, text, flag + " " + meant);
  if (flag == "--scale" && text.find_first_of("0123456789") == std::string::npos) {
    throw wrong_value(flag, text, translated("a number such as 0.125, or leave it out for 1/√d_k"));
  }
  throw wrong_value(flag, text,
                    text.find('/') == std::string::npos
                        ? translated("a finite number")
                        : translated("a finite number, such as 0.125"));
}

std::uint64_t large_number(const std::string& flag, const std::string& text,
                           std::string_view unit_name) {
  constexpr std::string_view prefixes = "kMGT";
  constexpr std::uint64_t thousand = 1000;
  std::string digits = text;
  if (digits.ends_with(unit_name)) digits.resize(digits.size() - unit_name.size());
  std::uint64_t unit = 1, number = 0;
  const std::size_t prefix = digits.empty() ? std::string_view::npos : prefixes.find(digits.back());
  if (prefix != std::string_view::npos) {
    digits.pop_back();
    for (std::size_t i = 0; i <= prefix; ++i) unit *= thousand;
  }
  if (parse_number(digits, number) && number >= 1 && number <= UINT64_MAX / unit) {
    return number * unit;
  }
  throw wrong_value(flag, text,
                    translated("a whole number of at least 1, such as 500000 or 500k, 2M, 2G"));
}

double finite_size(const std::string& flag, const std::string& text) {
  double number = 0;
  const bool meant = !parse_number(text, number) && !meant_number(text).empty();
  if (meant) return finite_number(flag, text);
  if (parse_number(text, number) && std::isfinite(number) && number >= 0) return number;
  throw wrong_value(flag, text, translated("a number of at least 0"));
}

std::vector<std::string> comma_separated(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t comma = text.find(','); comma != std::string::npos;
       comma = text.find(',', start)) {
    parts.push_back(text.substr(start, comma - start));
    start = comma + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::string numbers_of_range(const std::string& text, const std::string& before) {
  constexpr std::size_t most = 200;
  const std::size_t between = std::min(text.find_first_of("-:"), text.size());
  std::size_t from = 0, to = 0;
  if (between == text.size() || !parse_number(text.substr(0, between), from) ||
      !parse_number(text.substr(between + 1), to) || from > to || to - from > most)
    return "";
  std::string numbers;
  for (std::size_t number = from; number <= to; ++number)
    numbers += (numbers.empty() ? "" : ",") + before + std::to_string(number);
  return numbers;
}

namespace {

// "0:2" of "range(2)", "1:3" of "range(1, 3)"; empty for other texts.
std::string meant_range(const std::string& text) {
  constexpr std::string_view start = "range(";
  if (!text.starts_with(start) || !text.ends_with(')')) return "";
  std::vector<std::string> ends =
      comma_separated(text.substr(start.size(), text.size() - start.size() - 1));
  for (std::string& end : ends) std::erase(end, ' ');
  if (ends.size() == 1) ends.insert(ends.begin(), "0");
  const bool numbers = ends.size() == 2 && is_digits(ends[0]) && is_digits(ends[1]);
  return numbers ? ends[0] + ":" + ends[1] : "";
}

}  // namespace

std::vector<std::string> listed(const std::string& flag, const std::string& text) {
  if (const std::string range = meant_range(text); !range.empty())
    throw written_otherwise(flag, text, flag + " " + range);
  std::string meant;
  bool between = false;
  const bool sizes =
      text.find('x') != text.npos && text.find_first_not_of("0123456789x-") == text.npos;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = std::string_view(text).substr(i);
    const bool wide = rest.starts_with("，") || rest.starts_with("；") || rest.starts_with("、");
    const bool by = sizes && text[i] == 'x';
    if (wide || by || std::string_view(",; |\t[]()").find(text[i]) != std::string_view::npos) {
      between = !meant.empty();
      if (wide) i += 2;
      continue;
    }
    if (between) meant += ',';
    between = false;
    meant += text[i];
  }
  if (meant == text || meant.empty()) return comma_separated(text);
  throw written_otherwise(flag, text, flag + " " + meant);
}

std::vector<std::string> quoted_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool at_start = parts.back().empty() && (i == 0 || text[i - 1] == ',');
    if (text[i] == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      parts.back() += text[++i];
    } else if (text[i] == '"' && (quoted || at_start)) {
      quoted = !quoted;
    } else if (text[i] == ',' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += text[i];
    }
  }
  if (quoted) throw wrong_value(flag, text, translated("texts whose quotes are closed"));
  return parts;
}

PositionRange position_range(const std::string& flag, const std::string& text, bool single) {
  if (const std::string meant = layer_and_head(text); flag == "--layers" && !meant.empty())
    throw written_otherwise(flag, text, meant);
  const std::size_t colon = text.find(':');
  PositionRange range;
  const auto read = [&](const std::string& end, std::optional<std::int64_t>& position) {
    if (end.empty()) return true;
    return parse_number(end, position.emplace());
  };
  if (single && colon == std::string::npos && !text.empty() && read(text, range.first) &&
      *range.first < INT64_MAX) {
    if (*range.first != -1) range.end = *range.first + 1;
    return range;
  }
  if (std::int64_t position = 0;
      !single && parse_number(text, position) && position >= 0 && position < INT64_MAX) {
    throw written_otherwise(flag, text, flag + " " + text + ":" + std::to_string(position + 1));
  }
  if (colon == std::string::npos || !read(text.substr(0, colon), range.first) ||
      !read(text.substr(colon + 1), range.end)) {
    const std::size_t between = std::min(text.find_first_of("-."), text.size());
    const std::size_t second = std::min(text.find_first_not_of("-.", between), text.size());
    const std::string sign = text.substr(between, second - between);
    std::size_t last = 0;
    if ((sign == "-" || sign == "..") && is_digits(text.substr(0, between)) &&
        parse_number(text.substr(second), last)) {
      throw invalid_value(
          flag, text,
          translated("write {1}: a range leaves out its end",
                     flag + " " + text.substr(0, between) + ":" + std::to_string(last + 1)));
    }
    throw wrong_value(
        flag, text,
        single ? translated("numbers from 0 and ranges of them, such as 0,5,11 or 0:6")
               : translated(
                     "the first position and the one after the last, such as 10:40, 10: or :40"));
  }
  return range;
}

namespace {

// Help for a value that belongs to another flag, is several, or is written with a sign; empty for
// others.
std::string meant_choice(const std::string& flag, const std::string& text,
                         std::span<const std::string_view> names) {
  const auto is_name = [&](const std::string& part) {
    return std::ranges::count(names, std::string_view(part)) > 0;
  };
  const std::vector<std::string> parts = comma_separated(text);
  if (parts.size() > 1 && std::ranges::all_of(parts, is_name))
    return translated("give one of them, such as {1}", parts[0]);
  for (const std::string_view type : names_of(document_dtypes())) {
    if (flag == "--tensors" && text == type) return translated("write {1}", "--dtype " + text);
  }
  constexpr std::string_view of_numbers[]{"json", "jsonl", "npy", "npz", "csv", "safetensors"};
  if (flag == "--format" && std::ranges::count(of_numbers, text) > 0) {
    return translated("it is of pictures, {1}; attn-cli run --tensors csv writes numbers",
                      alternatives(names));
  }
  // A format of numbers: ".2f", "%.1f".
  const std::string format = text.substr(std::min(text.find('.'), text.size()));
  const bool whole = format == text || "%" + format == text;
  if (flag == "--annotate" && whole && format.size() > 2 &&
      is_digits(format.substr(1, format.size() - 2)) &&
      std::string_view("fge%").find(format.back()) != std::string_view::npos) {
    return translated("write {1}", "--annotate-format " + format);
  }
  if (flag == "--cmap") return help_for_foreign_map(text);
  if (flag == "--style" && (text == "dark" || text == "transparent" || text == "white"))
    return translated("write {1}", "--background " + text);
  for (const HeadAnalysisInfo& analysis : head_analyses()) {
    if (flag == "plot" && text == analysis.name) {
      return translated("write {1}",
                        "attn-cli heads --model M --text TEXT --analyses " + text + " --plots all");
    }
  }
  // Analyses that are asked for by another flag.
  if (flag == "--analyses" && (text == "ablation" || text == "knockout"))
    return translated("write {1}", "--without-heads-of LAYER");
  if (flag == "--analyses" && text == "attribution")
    return translated("write {1}", "--attribution --patch TEXT");
  constexpr std::string_view of_logits[]{"direct_logit_attribution", "logit_attribution", "dla",
                                         "logit"};
  if (flag == "--analyses" && std::ranges::count(of_logits, text) > 0) {
    return translated("write {1}, or {2} with a corpus",
                      "attn-cli explain --model M --text TEXT --logit TOKEN", "--logit TOKEN");
  }
  if (flag == "--statistics" && text == "loss") return translated("write {1}", "--analyses loss");
  if (flag == "--as" && (text == "ascii" || text == "plain" || text == "text"))
    return translated("write {1}", "--color never");
  return "";
}

}  // namespace

std::size_t choice(const std::string& flag, const std::string& text,
                   std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return i;
  }
  if (const std::string meant = meant_choice(flag, text, names); !meant.empty())
    throw invalid_value(flag, text, meant);
  constexpr std::size_t most_listed = 20, few = 3;
  // One that differs by its digits alone is another thing: "float8" is no "float32".
  const auto letters = [](std::string_view name) {
    std::string own(name);
    std::erase_if(own, [](unsigned char c) { return std::isdigit(c) != 0; });
    return own;
  };
  const bool other = std::ranges::any_of(
      names, [&](std::string_view name) { return letters(name) == letters(text); });
  const std::string near = suggestion(other ? std::string_view() : text, names);
  throw invalid_value(
      flag, text,
      names.size() > most_listed && near == suggestion("", names)
          ? translated("attn-cli list shows the names, such as {1}", alternatives(names.first(few)))
          : near);
}

std::string alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name(names[i]);
    text = i == 0                 ? name
           : i + 1 < names.size() ? translated("{1}, {2}", text, name)
                                  : translated("{1} or {2}", text, name);
  }
  return text;
}

namespace {

// Structs whose fields have flags of the same name: RunOptions::valid_lens is --valid-lens.
constexpr std::string_view structs[]{
    "AttentionRequest", "BatchOptions",   "BenchRequest",       "CircuitsOptions",
    "ColorOptions",     "CompareRequest", "DocumentOptions",    "ExplainOptions",
    "FigureOptions",    "HeadCounting",   "HeadsCorpusOptions", "HeadsOptions",
    "HeadsTable",       "RolloutOptions", "FileAccess",         "Limits",
    "MapRequest",       "MapSelection",   "PlotOptions",        "PlotRequest",
    "RunOptions",       "ViewOptions",    "WhyOptions"};

// Fields whose flags have other names. A text that is a part of another one comes after it.
constexpr std::pair<std::string_view, std::string_view> exceptions[]{
    {"AttentionRequest::weights", "--no-weights"},
    {"CompareRequest::renamed", "--map"},
    {"BatchOptions::inputs", "attn-cli batch"},
    {"BenchRequest::kind", "--attention"},
    {"CircuitsOptions::model", "attn-cli circuits"},
    {"DocumentOptions::fused_rounding", "--rounding"},
    {"DocumentOptions::texts", "--text"},
    {"DocumentOptions::tables", "--table"},
    {"DocumentOptions::images", "--image"},
    {"DocumentOptions::sounds", "--sound"},
    {"DocumentOptions::patch_at", "--at"},
    {"DocumentOptions::continued", "--continue"},
    {"DocumentOptions::parts_between_special_tokens", "--parts"},
    {"DocumentOptions::token_ids", "--ids"},
    {"DocumentOptions::why_key", "--key"},
    {"DocumentOptions::why_query", "--query"},
    {"ExplainOptions::layer", "--layers"},
    {"HeadsOptions::gradient_steps", "--steps"},
    {"HeadsOptions::receivers", "--paths"},
    {"FileAccess::restrict_to", "--restrict"},
    {"Limits::elements", "--max-elements"},
    {"Limits::file_bytes", "--max-file-size"},
    {"Limits::nesting", "--max-nesting"},
    {"Limits::seconds", "--max-seconds"},
    {"Limits::unpacked_bytes", "--max-unpacked-size"},
    {"Limits::work", "--max-work"},
    {"AnnotationOptions::color", "--annotate-color"},
    {"AnnotationOptions::format", "--annotate-format"},
    {"AnnotationOptions::when", "--annotate"},
    {"ColorOptions::bar_label", "--colorbar-label"},
    {"ColorOptions::bar", "--colorbar"},
    {"ColorOptions::range", "--color-range"},
    {"FigureOptions::exact_size", "--preset"},
    {"MapSelection::chosen_heads", "--head"},
    {"MapSelection::chosen_samples", "--sample"},
    {"MapRequest::others", "INPUT"},
    {"ModelText::pair", "--pair"},
    {"PlotRequest::format", "--out"},
    {"PlotRequest::panels", "FILE"},
    {"RunOptions::weights", "--no-weights"},
    {"WhyOptions::head", "--why"},
    {"compare_heads()", "--against"},
    {"explain()", "attn-cli explain"},
    {"merge_summaries()", "--merge"},
    {"plot()", "attn-cli plot"},
    {"read_corpus()", "attn-cli heads --corpus"},
    {"model_row()", "attn-cli model FOLDER --row"},
    {"picture_format()", "--out"},
    {"run() and RunOptions::plots", "attn-cli run --plots"},
    {"run() and RunOptions::stages", "attn-cli run --stages"},
    {"the sizes of BenchRequest", "--shape"},
    {"use_cpu_target()", "--cpu"},
};

void replace_exceptions(std::string& text) {
  for (const auto& [field, flag] : exceptions) {
    for (std::size_t at = text.find(field); at != std::string::npos; at = text.find(field, at)) {
      text.replace(at, field.size(), flag);
      at += flag.size();
    }
  }
}

void replace_fields(std::string& text, std::string_view structure) {
  const std::string start = std::string(structure) + "::";
  for (std::size_t at = text.find(start); at != std::string::npos; at = text.find(start, at)) {
    text.replace(at, start.size(), "--");
    const auto in_name = [](char c) { return c == '_' || (c >= 'a' && c <= 'z'); };
    for (at += 2; at < text.size() && in_name(text[at]); ++at) {
      if (text[at] == '_') text[at] = '-';
    }
  }
}

}  // namespace

std::string with_flags(std::string text) {
  replace_exceptions(text);
  for (const std::string_view structure : structs) replace_fields(text, structure);
  return text;
}

Error with_flags(const Error& error) {
  return {error.kind(), with_flags(error.problem()), with_flags(error.where()),
          with_flags(error.help())};
}

void record(Flags& flags, std::vector<std::string>& words) {
  for (Flag& flag : flags) {
    flag.take = [take = std::move(flag.take), name = flag.name, has_value = !flag.value.empty(),
                 &words](const std::string& text) {
      take(text);
      words.push_back(name);
      if (has_value) words.push_back(text);
    };
  }
}

}  // namespace attn::cli
