#include "cli/model_flags.hpp"

#include <cstdint>
#include <string>

#include "attn/error.hpp"
#include "attn/language.hpp"

namespace attn::cli {
namespace {

// The text, if it names a layer and a head.
const std::string& head_of_layer(const std::string& text) {
  const std::size_t point = text.rfind('.');
  if (point == std::string::npos || point == 0) {
    throw wrong_value("--heads-off", text,
                      translated("a layer and a head such as 5.1, or encoder.5.1"));
  }
  whole_number("--heads-off", text.substr(point + 1));
  return text;
}

void read_parts(const std::string& text, DocumentOptions& options) {
  if (text == "special") {
    options.parts_between_special_tokens = true;
    return;
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

}  // namespace

void add_model(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::model);
  flags.text("--model", options.model, "DIR",
             translated("Checkpoint folder of a model that reads the texts"));
  flags.text("--architecture", options.architecture, "FILE",
             translated("File with a row of the table of models, instead of the known one"));
  flags
      .add("--text", "TEXT", translated("Text for the model to read; repeatable"),
           [&](const std::string& text) {
             options.texts.push_back({text, std::nullopt});
           })
      .repeats = true;
  flags
      .add("--image", "FILE", translated("Picture for the model to read, PNG or JPEG; repeatable"),
           [&](const std::string& file) { options.images.emplace_back(file); })
      .repeats = true;
  flags
      .add("--pair", "TEXT",
           translated(
               "Second text of a pair: the first --pair belongs to the first --text, and so on"),
           [&, next = std::size_t{0}](const std::string& text) mutable {
             if (next >= options.texts.size()) {
               throw Error(ErrorKind::usage, translated("there are more --pair than --text"),
                           "--pair", translated("give the first text of each pair with --text"));
             }
             options.texts[next++].pair = text;
           })
      .repeats = true;
  flags
      .add("--heads-off", "LAYER.HEAD",
           translated("Head whose output is set to zeros, such as 5.1; repeatable"),
           [&](const std::string& text) { options.heads_off.push_back(head_of_layer(text)); })
      .repeats = true;
  flags
      .text("--ablate", options.ablate, "WAY",
            translated("zero or mean: what heads that are off write, the mean being that over all "
                       "tokens of the texts (default zero)"))
      .words = {"zero", "mean"};
  flags.text("--patch", options.patch, "OTHER",
             translated("Take the output of a part of the model, --at, from this text"));
  flags.text("--at", options.patch_at, "PLACE",
             translated("Part for --patch: a head 2.1, 2.feed_forward or the states 2.residual, "
                        "with positions 2.1:3,4 or at all"));
  flags.count(
      "--generate", options.generate, "N",
      translated("Generate up to N tokens after the text, the likeliest each time, and read "
                 "both"),
      1);
  flags.text("--continue", options.continued, "TEXT",
             translated("Text after that of --text, in place of a generated one"));
  flags
      .add("--parts", "NAME=A:B,…",
           translated("Parts of the text, from character A, counted from 0, to before B, whose "
                      "shares of the answer's attention are wanted; or special, for what stands "
                      "between special tokens"),
           [&](const std::string& text) { read_parts(text, options); })
      .words = {"special"};
  flags.toggle("--chat", options.chat,
               translated("Refused with the reason: chat templates are not run"));
  flags
      .add("--ids", "N,N,…",
           translated("Token ids for the model to read, instead of --text; repeatable"),
           [&](const std::string& text) {
             auto& ids = options.token_ids.emplace_back();
             for (const std::string& part : listed("--ids", text)) {
               ids.push_back(static_cast<std::int64_t>(whole_number("--ids", part)));
             }
           })
      .repeats = true;
}

void add_model_results(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::model);
  flags.add("--layers", "N,A:B,…",
            translated("Layers of the model whose weights are wanted, counted from 0"),
            [&](const std::string& text) {
              options.layers.reset();
              if (text == "all") return;
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

void add_why(Flags& flags, std::optional<std::string>& logit, std::optional<std::size_t>& key) {
  flags
      .text("--logit", logit, "TOKEN",
            translated("Split the logit of a token, by its text or id, among heads, feed-forwards "
                       "and the tokens that heads read (default: the likeliest token)"))
      .optional_value = true;
  flags.count("--key", key, "N", translated("Key whose scores are split, counted from 0"));
}

}  // namespace attn::cli
