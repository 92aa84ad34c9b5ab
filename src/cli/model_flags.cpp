#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/common_flags.hpp"

namespace attn::cli {
namespace {

// The text, if it ends as the name of a head, a layer or a feed-forward does.
const std::string& part_that_is_off(const std::string& text) {
  const std::string last = text.substr(text.rfind('.') + 1);                 // npos + 1 = 0
  const std::size_t number = text.rfind('.', text.find_first_of("-:")) + 1;  // of a head
  const std::string heads = numbers_of_range(text.substr(number), text.substr(0, number));
  if (!heads.empty()) throw written_otherwise("--heads-off", text, "--heads-off " + heads);
  if (last != "feed_forward" && last != "attention" && !is_digits(last)) {
    throw wrong_value("--heads-off", text,
                      translated("a head such as 5.1 or encoder.5.1, a layer or 5.feed_forward"));
  }
  return text;
}

void read_parts(const std::string& text, DocumentOptions& options) {
  if (text == "special") {
    options.parts_between_special_tokens = true;
    return;
  }
  // A text after the name has spaces that are no commas.
  const bool quotes = std::ranges::any_of(text.substr(std::min(text.find('='), text.size())),
                                          [](unsigned char c) { return std::isalpha(c) != 0; }) &&
                      text.find(',') == text.npos;
  if (quotes) {
    throw wrong_value("--parts", text,
                      translated("names and characters such as system=0:120,question=120:180, or "
                                 "special"));
  }
  for (const std::string& part : listed("--parts", text)) {
    const std::size_t sign = part.rfind('='), colon = part.find(':', sign == part.npos ? 0 : sign);
    if (sign == part.npos || sign == 0 || colon == part.npos) {
      throw wrong_value("--parts", text,
                        translated("names and characters such as system=0:120,question=120:180, or "
                                   "special"));
    }
    options.parts.push_back({part.substr(0, sign),
                             whole_number("--parts", part.substr(sign + 1, colon - sign - 1)),
                             whole_number("--parts", part.substr(colon + 1))});
  }
}

std::vector<std::int64_t> token_ids(const std::string& text) {
  const bool letters =
      std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0 || c >= 0x80; });
  if (letters) {
    throw wrong_value("--ids", text, translated("token ids, such as 5,8; a text goes to --text"));
  }
  std::vector<std::int64_t> ids;
  for (const std::string& part : listed("--ids", text))
    ids.push_back(static_cast<std::int64_t>(whole_number("--ids", part)));
  return ids;
}

// Throws Error(usage) where the name of a file stands for the text of a flag.
void refuse_file(const std::string& flag, const std::string& text) {
  std::error_code none;
  const bool at = text.starts_with('@');
  const std::filesystem::path path = at ? text.substr(1) : text;
  if (!path.has_extension() || !std::filesystem::is_regular_file(path, none)) return;
  const std::string ending = path.extension().string();
  if (ending == ".png" || ending == ".jpg" || ending == ".jpeg" || ending == ".wav") {
    throw Error(
        ErrorKind::usage,
        translated("\"{1}\" is the name of a picture or sound, and {2} takes a text", text, flag),
        flag,
        flag == "--patch" ? translated("parts are patched in models of texts alone")
                          : translated("pictures go to --image, sounds to --sound"));
  }
  throw Error(ErrorKind::usage, translated("\"{1}\" is the name of a file, not a text", text), flag,
              translated("give what it holds: {1}", flag + " \"$(cat " + path.string() + ")\""));
}

// Throws Error(usage) for the names of several files with commas between, each of which takes a
// flag of its own.
void refuse_files_together(const std::string& flag, const std::string& text) {
  std::error_code none;
  if (text.find(',') == text.npos || std::filesystem::exists(text, none)) return;
  std::string each;
  for (const std::string& file : comma_separated(text)) {
    if (!std::filesystem::exists(file, none)) return;
    each += (each.empty() ? "" : " ") + flag + " " + file;
  }
  throw written_otherwise(flag, text, each);
}

}  // namespace

void add_texts(Flags& flags, DocumentOptions& options) {
  flags
      .add("--text", "TEXT", translated("Text for the model to read; repeatable"),
           [&](const std::string& text) {
             refuse_file("--text", text);
             options.texts.push_back({text, std::nullopt});
           })
      .repeats = true;
  flags
      .add("--pair", "TEXT",
           translated(
               "Second text of a pair: the first --pair belongs to the first --text, and so on"),
           [&, next = std::size_t{0}](const std::string& text) mutable {
             if (options.texts.empty()) {
               throw Error(ErrorKind::usage,
                           translated("{1} is given without {2}", "--pair", "--text"), "--pair",
                           translated("give the first text of the pair with --text; the ids of a "
                                      "pair are one list of --ids"));
             }
             if (next >= options.texts.size()) {
               throw Error(ErrorKind::usage,
                           translated("more texts are given with --pair than with --text"),
                           "--pair", translated("give the first text of each pair with --text"));
             }
             refuse_file("--pair", text);
             options.texts[next++].pair = text;
           })
      .repeats = true;
}

namespace {

// Heads that are switched off, and parts that come from another text.
void add_changes(Flags& flags, DocumentOptions& options) {
  flags
      .add("--heads-off", "LAYER.HEAD",
           translated("Head whose output is set to zeros, such as 5.1, or all heads of a layer, 5, "
                      "or 5.feed_forward; repeatable"),
           [&](const std::string& text) {
             for (const std::string& part : listed("--heads-off", text)) {
               if (std::ranges::count(options.heads_off, part) > 0) {
                 throw Error(ErrorKind::usage, translated("{1} is switched off twice", part),
                             "--heads-off",
                             translated("leave one of them out; head 3 of layer 5 is 5.3"));
               }
               options.heads_off.push_back(part_that_is_off(part));
             }
           })
      .repeats = true;
  flags
      .add("--ablate", "WAY",
           translated("Replace the output of the heads of --heads-off by zero, or by its mean "
                      "over all tokens of the texts, or at each position: mean_by_position "
                      "(default zero)"),
           [&options](const std::string& text) {
             if (!layer_and_head(text).empty())
               throw written_otherwise("--ablate", text, "--heads-off " + text);
             options.ablate = text;
           })
      .words = {"zero", "mean", "mean_by_position"};
  flags
      .add("--ablate-over", "TEXT",
           translated("Text over which the mean of --ablate is taken, in place of the texts that "
                      "are read; repeatable"),
           [&](const std::string& text) {
             refuse_file("--ablate-over", text);
             options.ablate_over.push_back(text);
           })
      .repeats = true;
  flags.add("--patch", "OTHER",
            translated("Activation patching: take the output of --at from this text"),
            [&](const std::string& text) {
              refuse_file("--patch", text);
              options.patch = text;
            });
  flags
      .add("--at", "PLACE",
           translated("Part for --patch: a head 2.1, all heads 2.attention, 2.feed_forward, the "
                      "states 2.residual or embedding, with positions 2.1:3,4 or at all; "
                      "repeatable"),
           [&](const std::string& text) { options.patch_at.push_back(text); })
      .repeats = true;
}

}  // namespace

void add_model(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::model);
  flags.text("--model", options.model, "DIR",
             translated("Model checkpoint: a folder or a GGUF file"));
  flags.text("--architecture", options.architecture, "FILE",
             translated("JSON description of a model family, instead of the built-in one"));
  flags.add("--adapter", "DIR",
            translated("Folder of a LoRA adapter, merged into the model when it is read"),
            [&options](const std::string& text) {
              std::error_code none;
              if (text.find(',') != text.npos && !std::filesystem::exists(text, none))
                throw wrong_value("--adapter", text, translated("one folder"));
              options.adapter = text;
            });
  add_texts(flags, options);
  flags
      .add("--image", "FILE", translated("Picture for the model to read, PNG or JPEG; repeatable"),
           [&](const std::string& file) {
             refuse_files_together("--image", file);
             std::error_code none;
             if (std::filesystem::is_directory(file, none)) {
               throw Error(ErrorKind::file, translated("\"{1}\" is a folder", file), "--image",
                           translated("name a picture in it, or give all to {1}",
                                      "attn-cli batch --model M " + file));
             }
             options.images.emplace_back(file);
           })
      .repeats = true;
  flags
      .add("--sound", "FILE",
           translated("Sound for the model to hear, WAV or FLAC, or its spectrogram, a file of "
                      "tensors; repeatable"),
           [&](const std::string& file) {
             refuse_files_together("--sound", file);
             options.sounds.emplace_back(file);
           })
      .repeats = true;
  add_changes(flags, options);
  flags.count(
      "--generate", options.generate, "N",
      translated("Generate up to N tokens after the text, the likeliest each time, and read "
                 "both"),
      1);
  flags.text("--continue", options.continued, "TEXT",
             translated("Continuation to use instead of generating one"));
  flags
      .add("--parts", "NAME=A:B,…",
           translated(
               "Character ranges, from A up to but not including B, counted from 0, to report the "
               "answer's attention on; or special, for the ranges between special tokens"),
           [&](const std::string& text) { read_parts(text, options); })
      .words = {"special"};
  flags.text("--prompt", options.prompt, "NAME",
             translated("Prompt of a sentence-transformers folder to put before the texts"));
  flags.toggle("--truncate", options.truncate,
               translated("Cut texts to the longest that the folder's library reads"));
  flags.toggle("--chat", options.chat,
               translated("Chat templates are not run: this flag is refused with the reason"));
  flags.back().hidden = true;
  flags
      .add("--ids", "N,N,…",
           translated("Token ids for the model to read, instead of --text; repeatable"),
           [&](const std::string& text) { options.token_ids.push_back(token_ids(text)); })
      .repeats = true;
}

void add_model_results(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::model);
  flags.add("--layers", "N,A:B,…", translated("Model layers to return weights for, counted from 0"),
            [&](const std::string& text) {
              options.layers.reset();
              if (text == "all") return;
              if (text == "mean" || text == "max") {
                throw invalid_value(
                    "--layers", text,
                    translated("layers are joined where existing maps are drawn: write {1}",
                               "attn-cli plot heatmap RESULT --layers " + text));
              }
              options.layers.emplace();
              for (const std::string& part : listed("--layers", text)) {
                const PositionRange range = position_range("--layers", part, true);
                const std::int64_t first = range.first.value_or(0), end = range.end.value_or(0);
                constexpr std::int64_t most = 100000;
                if (first < 0 || end <= first || end - first > most) {
                  throw wrong_value(
                      "--layers", text,
                      translated("numbers from 0 and ranges of them, such as 0,5,11 or 0:6"));
                }
                for (std::int64_t layer = first; layer < end; ++layer)
                  options.layers->push_back(static_cast<std::size_t>(layer));
              }
            });
  flags.add_hidden("--layer", flags.back());
  flags.toggle("--logits", options.logits, translated("Write the model's logits too"));
}

bool take_layer(const std::string& text, ExplainOptions& options) {
  const std::size_t point = text.rfind('.');
  const std::size_t number = point == std::string::npos ? 0 : point + 1;
  if (!is_digits(text.substr(number))) return false;
  options.stack = text.substr(0, number == 0 ? 0 : point);
  options.layer = whole_number("--layers", text.substr(number));
  return true;
}

void take_head_of_layer(const std::string& flag, const std::string& text, ExplainOptions& options) {
  const std::size_t point = text.rfind('.');
  if (point == std::string::npos || !is_digits(text.substr(point + 1)) ||
      !take_layer(text.substr(0, point), options)) {
    throw wrong_value(flag, text, translated("a layer and a head such as 5.1, or encoder.5.1"));
  }
  options.why = true;
  options.head = whole_number(flag, text.substr(point + 1));
}

void add_logits(Flags& flags, LogitNames to, const std::string& meaning) {
  flags.text("--logit", to.logit, "TOKEN", meaning).optional_value = true;
  flags.add("--against-logit", "TOKEN",
            translated("Take the logit of this token away from that of --logit, so that the "
                       "difference counts"),
            [to](const std::string& text) {
              to.against = text;
              if (!to.logit) to.logit = "";
            });
}

void add_paths(Flags& flags, LogitNames logits,
               std::function<void(std::vector<std::string>)> take) {
  flags
      .add("--logit-difference", "TOKEN,TOKEN",
           translated("With --patch, without --at and, in a page, with --paths: every head is "
                      "patched in its turn, and the logit of the first token minus that of the "
                      "second is compared (default: the likeliest tokens after both texts)"),
           [logits](const std::string& text) {
             const std::vector<std::string> two = quoted_list("--logit-difference", text);
             if (two.size() != 2) {
               throw Error(ErrorKind::usage, translated("a difference is of two logits"),
                           "--logit-difference",
                           translated("give two tokens with a comma between, such as {1}",
                                      "'\" world\",\" people\"'"));
             }
             logits.logit = two[0];
             logits.against = two[1];
           })
      .spells = "--against-logit";
  flags
      .add("--paths", "END,…",
           translated("With --patch and without --at: patch each path from a head to the logits or "
                      "to another head's queries, keys and values (default: all ends); ends are "
                      "logits and heads such as 3.1"),
           [take = std::move(take)](const std::string& text) {
             take(text.empty() ? std::vector<std::string>() : comma_separated(text));
           })
      .optional_value = true;
}

void add_why(Flags& flags, LogitNames logits, std::function<void(const std::string&)> take_key) {
  add_logits(flags, logits,
             translated("Split the logit of a token, by its text or id, among heads, feed-forwards "
                        "and the tokens that heads read (default: the likeliest token)"));
  flags.add("--key", "N|TOKEN",
            translated("Key whose scores are split, counted from 0, or its token"),
            std::move(take_key));
  flags.need({"--key"}, {"--why"});
}

void add_splits(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::model);
  flags.text(
      "--why", options.why, "LAYER.HEAD",
      translated("Split the scores of a head of a model among what the layers before it wrote"));
  Flag& logit = flags.add(
      "--logit", "TOKEN",
      translated("Split the logit of a token, by its text or id, among heads, feed-forwards and "
                 "the tokens that heads read (default: the likeliest token); given several times, "
                 "one for each text"),
      [&options](const std::string& text) { options.logit.push_back(text); });
  logit.optional_value = logit.repeats = true;
  flags
      .add("--against-logit", "TOKEN",
           translated("Take the logit of this token away from that of --logit, so that the "
                      "difference counts; given several times, one for each text"),
           [&options](const std::string& text) { options.against_logit.push_back(text); })
      .repeats = true;
  flags.add("--key", "N", translated("Key whose scores are split, counted from 0"),
            [&options](const std::string& text) { options.why_key = position_of("--key", text); });
  flags.need({"--key"}, {"--why"});
}

void take_query_of_split(RunOptions& options) {
  DocumentOptions& document = options.document;
  const bool splits = document.why || !document.logit.empty() || !document.against_logit.empty();
  if (!splits || !options.selection.query) return;
  document.why_query = position_of("--query", *options.selection.query);
  options.selection.query.reset();
}

}  // namespace attn::cli
