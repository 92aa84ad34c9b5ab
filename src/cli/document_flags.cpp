#include "cli/document_flags.hpp"

#include <cstdint>

#include "attn/document.hpp"
#include "attn/language.hpp"

#include "cli/common_flags.hpp"

namespace attn::cli {

namespace {

LayerHead layer_head(const std::string& text) {
  const std::size_t point = text.rfind('.');
  if (point == std::string::npos || point == 0) {
    throw wrong_value("--heads-off", text,
                      translated("a layer and a head such as 5.1, or encoder.5.1"));
  }
  return {text.substr(0, point), whole_number("--heads-off", text.substr(point + 1))};
}

void add_model(Flags& flags, DocumentOptions& options) {
  flags.text("--model", options.model, "DIR",
             translated("Checkpoint folder of a model that reads the texts"));
  flags.text("--architecture", options.architecture, "FILE",
             translated("Row that describes the model, instead of a known one"));
  flags
      .add("--text", "TEXT", translated("Text for the model to read; again for several"),
           [&](const std::string& text) {
             options.texts.push_back({text, std::nullopt});
           })
      .repeats = true;
  flags
      .add("--pair", "TEXT", translated("Second text of a pair: of the first --text, the second…"),
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
           translated("Head whose output is zeros, such as 5.1; again for several"),
           [&](const std::string& text) { options.heads_off.push_back(layer_head(text)); })
      .repeats = true;
}

}  // namespace

void add_model_results(Flags& flags, DocumentOptions& options) {
  flags.add("--layers", "N,N,…", translated("Layers of the model whose weights are wanted, from 0"),
            [&](const std::string& text) {
              options.layers.reset();
              if (text == "all") return;
              options.layers.emplace();
              for (const std::string& part : comma_separated(text)) {
                options.layers->push_back(whole_number("--layers", part));
              }
            });
  flags.toggle("--logits", options.logits, translated("Write the model's logits too"));
}

void add_document(Flags& flags, DocumentOptions& options) {
  add_kind(flags, translated("Kind of attention, instead of the document's; again for several"),
           [&](Kind kind) { options.attention.push_back(kind); })
      .repeats = true;
  flags.toggle("--causal", options.causal, translated("Hide the keys after each query"));
  flags.add("--valid-lens", "N,N,…", translated("Valid keys, one number a sample"),
            [&](const std::string& text) {
              options.valid_lens.emplace();
              for (const std::string& part : comma_separated(text)) {
                options.valid_lens->push_back(
                    static_cast<std::int64_t>(whole_number("--valid-lens", part)));
              }
            });
  flags.count("--heads", options.heads, "N",
              translated("Heads to split tensors without a head axis into"), 1);
  flags.add("--scale", "X", translated("Factor of the scores"),
            [&](const std::string& text) { options.scale = finite_number("--scale", text); });
  flags.add("--seed", "N", translated("Seed of random tensors"),
            [&](const std::string& text) { options.seed = integer("--seed", text); });
  flags.choice("--dtype", options.dtype, document_dtypes(), "TYPE");
  add_model(flags, options);
  add_files(flags, options.files);
}

Words document_words(DocumentOptions& options, const std::string& command) {
  return {
      "INPUT",
      translated("Input document, - for standard input"),
      [&options, command](const std::vector<std::string>& inputs) {
        if (inputs.empty() && options.model) return;
        if (inputs.empty()) {
          throw Error(ErrorKind::usage, translated("no input document given"), command,
                      translated("name a document, or - for standard input; data/ has examples"));
        }
        if (inputs.size() > 1) {
          throw Error(
              ErrorKind::usage,
              translated("more than one input document given: \"{1}\" is the second", inputs[1]),
              command, translated("run them one by one, or use attn-cli batch"));
        }
        options.input = inputs[0];
      },
      {},
      true};
}

}  // namespace attn::cli
