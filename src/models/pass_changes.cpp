#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "attn/error.hpp"

#include "models/pass.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Options of a pass of the same model up to a layer, which gives no results.
ModelOptions without_results(const ModelOptions& options, const ModelPlace& last) {
  ModelOptions own = options;
  own.wanted = {.weights = false, .last = last};
  return own;
}

// The attention of a head that is off, or the feed-forward that is.
ModelPlace written_by(const ModelPlace& off) {
  const bool feeds = off.part == ModelPlace::Part::feed_forward;
  return feeds ? ModelPlace{off.stack, off.layer, off.part} : off.whole();
}

// Changes that put zeros in the place of what feed-forwards add that are off.
std::vector<PassChange> zeros_of(const ModelOptions& options) {
  std::vector<PassChange> changes;
  for (const ModelPlace& off : options.heads_off) {
    if (off.part != ModelPlace::Part::feed_forward) continue;
    changes.push_back({written_by(off), [](std::size_t, Tensor& added) {
                         added = Tensor(added.shape(), std::vector<double>(added.size(), 0.0))
                                     .converted(added.dtype());
                       }});
  }
  return changes;
}

// The texts over which the means of what is off are taken. Throws Error(input) for means by
// position where no text has one of the positions.
ModelTexts texts_of_means(const ModelPass& pass) {
  const ModelOptions& options = pass.options;
  ModelTexts over = pass.texts;
  if (!options.reference.empty()) {
    over = {};
    over.ids = options.reference;
    over.place = "/ablate_over";
    check_texts(pass.model, pass.weights, over);
  }
  const std::size_t length = longest_of(pass.texts.ids), known = longest_of(over.ids);
  if (options.ablation == Ablation::mean_by_position && known < length) {
    throw input_error(
        translated("the texts of the means have {1} tokens, and a text has {2}", known, length),
        over.place, translated("give one that is as long, or take means over all tokens"));
  }
  return over;
}

// Changes that put the mean of each head or feed-forward that is off, over all tokens of the texts
// of means or by position, in the place of its outputs.
std::vector<PassChange> means_of(const ModelPass& pass) {
  const auto& [model, weights, texts, options] = pass;
  struct Mean {
    ModelPlace of;
    std::vector<double> sums = {};         // [rows,W]
    std::vector<std::size_t> tokens = {};  // of each row
  };
  const bool by_position = options.ablation == Ablation::mean_by_position;
  std::vector<Mean> means;
  PassObserver reading;
  ModelPlace last;
  for (const ModelPlace& head : options.heads_off) {
    const ModelPlace place = written_by(head);
    if (std::ranges::count(means, place, &Mean::of) > 0) continue;
    means.push_back({place});
    reading.places.push_back(place);
    if (is_before(last, head)) last = head;
  }
  reading.written = [&](const SamplePlace& at, const Tensor& outputs) {
    Mean& mean = *std::ranges::find(means, at.place, &Mean::of);
    const std::size_t width = outputs.shape().back();
    const Tensor numbers = outputs.converted(DType::float64);
    const std::size_t rows = by_position ? numbers.size() / width : 1;
    mean.sums.resize(std::max(mean.sums.size(), rows * width));
    mean.tokens.resize(std::max(mean.tokens.size(), rows));
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      mean.sums[n % (rows * width)] += numbers.values<double>()[n];
      if (n % width == 0) ++mean.tokens[n / width % rows];
    }
  };
  const ModelOptions own = without_results(options, last);
  const ModelTexts over = texts_of_means(pass);
  run_changed({model, weights, over, own}, {}, {reading});
  std::vector<PassChange> changes;
  for (Mean& mean : means) {
    const Shape shape{mean.tokens.size(), mean.sums.size() / mean.tokens.size()};
    for (std::size_t n = 0; n < mean.sums.size(); ++n) {
      mean.sums[n] /= static_cast<double>(mean.tokens[n / shape[1]]);
    }
    const bool feeds = mean.of.part == ModelPlace::Part::feed_forward;
    const std::size_t width =
        feeds ? shape[1] : shape[1] / stack_in(model, mean.of.stack).layers[mean.of.layer].heads;
    std::vector<std::size_t> parts{0};  // of the row, in widths
    if (!feeds) parts = heads_in(mean.of, options.heads_off);
    const Tensor rows = Tensor(shape, std::move(mean.sums)).converted(options.dtype);
    const auto put = [rows, width, parts](std::size_t, Tensor& outputs) {
      for (const std::size_t part : parts) put_columns(rows, part * width, width, {}, outputs);
    };
    changes.push_back({mean.of, put});
  }
  return changes;
}

void check_lengths(const ModelTexts& texts, const ModelTexts& source, const ModelPlace& at,
                   const ModelStack& stack) {
  const auto &given_texts = source.read_by(stack), &own_texts = texts.read_by(stack);
  for (std::size_t b = 0; b < own_texts.size(); ++b) {
    const std::size_t own = own_texts[b].size();
    const std::size_t given = given_texts[given_texts.size() == 1 ? 0 : b].size();
    if (at.positions.empty() && own != given) {
      throw input_error(translated("the texts have {1} and {2} tokens", own, given), "/patch",
                        translated("give texts of one length, or the positions that are patched"));
    }
    for (const std::size_t position : at.positions) {
      if (position < std::min(own, given)) continue;
      throw input_error(
          translated("there is no position {1} in both texts: they have {2} and {3} tokens",
                     position, own, given),
          "/patch/at", translated("give positions from 0 to {1}", std::min(own, given) - 1));
    }
  }
}

// All of the attention that a head is in, or another part, at all positions.
ModelPlace part_of(const ModelPlace& at) {
  return {at.stack, at.layer, at.part};
}

// The changes that put parts' outputs in another text in the place of their own. The other text is
// read with the changes before them.
std::vector<PassChange> patched(const ModelPass& pass, const std::vector<PassChange>& before) {
  const auto& [model, weights, texts, options] = pass;
  const Patch& patch = *options.patch;
  if (patch.at.empty()) {
    throw input_error(
        translated("the patch names no part of the model"), "/patch",
        translated("name it by DocumentOptions::patch_at, such as 2.1, 2.feed_forward or "
                   "2.residual, or in a document by {1} beside its text",
                   R"("at": "2.1")"));
  }
  // Each sample's decoder reads its own text over the same encoded one.
  ModelTexts source = texts;
  source.ids.assign(model.encoder_decoder() ? texts.ids.size() : 1, patch.ids);
  take_types_away(model, source);
  source.captions.clear();
  source.place = "/patch";
  PassObserver taking;
  ModelPlace last = patch.at.front();
  for (const ModelPlace& at : patch.at) {
    check_lengths(texts, source, at, stack_in(model, at.stack));
    if (std::ranges::count(taking.places, part_of(at)) == 0) taking.places.push_back(part_of(at));
    if (is_before(last, at)) last = at;
  }
  check_texts(model, weights, source);
  std::vector<std::vector<Tensor>> taken(taking.places.size());  // of each place, by sample
  const auto of_place = [&](const ModelPlace& place) -> std::vector<Tensor>& {
    const auto found = std::ranges::find(taking.places, place);
    return taken[static_cast<std::size_t>(found - taking.places.begin())];
  };
  taking.written = [&](const SamplePlace& at, const Tensor& numbers) {
    of_place(at.place).push_back(numbers);
  };
  const ModelOptions own = without_results(options, last);
  run_changed({model, weights, source, own}, before, {taking});
  std::vector<PassChange> changes;
  for (const ModelPlace& at : patch.at) {
    const std::vector<Tensor>& numbers = of_place(part_of(at));
    const std::size_t heads = at.head ? stack_in(model, at.stack).layers[at.layer].heads : 1,
                      width = numbers.front().shape().back() / heads;
    changes.push_back({part_of(at), [numbers, at, width](std::size_t sample, Tensor& to) {
                         put_columns(numbers[numbers.size() == 1 ? 0 : sample],
                                     at.head.value_or(0) * width, width, at.positions, to);
                       }});
  }
  return changes;
}

}  // namespace

std::vector<PassChange> changes_of(const ModelPass& pass) {
  const ModelOptions& options = pass.options;
  std::vector<PassChange> changes;
  if (!options.heads_off.empty()) {
    changes = options.ablation == Ablation::zero ? zeros_of(options) : means_of(pass);
  }
  if (options.patch) {
    for (PassChange& change : patched(pass, changes)) changes.push_back(std::move(change));
  }
  return changes;
}

void put_columns(const Tensor& from, std::size_t first, std::size_t count,
                 const std::vector<std::size_t>& positions, Tensor& to) {
  const std::size_t row = to.shape().back(), rows = to.size() / row;
  const bool one = from.size() == row;
  std::vector<std::size_t> chosen = positions;
  if (chosen.empty()) {
    chosen.resize(rows);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  to = with_floats(to, [&]<class T>(std::span<const T> own) {
    std::vector<T> changed(own.begin(), own.end());
    for (const std::size_t i : chosen) {
      std::copy_n(from.values<T>().data() + (one ? 0 : i * row) + first, count,
                  changed.data() + i * row + first);
    }
    return Tensor(to.shape(), std::move(changed));
  });
}

namespace {

// The place that TransformerLens calls by the name of a hook, "1.residual" for
// "blocks.2.hook_resid_pre", in a model of one stack; empty for other texts.
std::string place_of_hook(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string positions(text.substr(colon));
  text = text.substr(0, colon);
  if (text == "hook_embed") return "embedding" + positions;
  constexpr std::string_view start = "blocks.";
  if (!text.starts_with(start)) return "";
  text.remove_prefix(start.size());
  const std::size_t point = std::min(text.find('.'), text.size());
  std::size_t layer = 0;
  if (!parse_number(text.substr(0, point), layer)) return "";
  const std::string_view hook = text.substr(std::min(point + 1, text.size()));
  if (hook == "hook_resid_pre" && layer == 0) return "embedding" + positions;
  constexpr std::pair<std::string_view, std::string_view> hooks[]{
      {"hook_resid_pre", ".residual"},
      {"hook_resid_post", ".residual"},
      {"hook_attn_out", ".attention"},
      {"hook_mlp_out", ".feed_forward"},
      {"attn.hook_attn_out", ".attention"}};
  for (const auto& [name, part] : hooks) {
    if (name != hook) continue;
    const std::size_t own = hook == "hook_resid_pre" ? layer - 1 : layer;
    return std::to_string(own) + std::string(part) + positions;
  }
  return "";
}

// The place that libraries call by the name of a module, "1.feed_forward" for "model.layers.1.mlp";
// empty for other texts. `both`: the model has an encoder and a decoder.
std::string place_of_module(std::string_view text, bool both) {
  constexpr std::string_view embeddings =
      "wte,embed_tokens,embeddings,word_embeddings,embed,embed_in,tok_embeddings,shared";
  constexpr std::string_view attentions =
      "attn,attention,self_attn,self_attention,selfattention,att,mha,sa";
  constexpr std::string_view crossing =
      "cross,cross_attn,crossattention,cross_attention,encoder_attn,encdecattention";
  constexpr std::string_view feeding =
      "mlp,ffn,ff,feedforward,feed_forward,intermediate,densereludense,block_sparse_moe,moe";
  constexpr std::string_view leaving = "resid,resid_post,hidden_states";
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string positions(text.substr(colon));
  std::string_view rest = text.substr(0, colon);
  std::string stack, part;
  std::optional<std::size_t> layer;
  bool whole = false;
  while (!rest.empty()) {
    const std::size_t point = std::min(rest.find('.'), rest.size());
    std::string word(rest.substr(0, point));
    rest.remove_prefix(std::min(point + 1, rest.size()));
    for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    std::size_t number = 0;
    const bool counts = parse_number(word, number);
    if (!layer && has_word(embeddings, word)) return "embedding" + positions;
    if (both && !layer && has_word("encoder,decoder,cross", word)) stack = word + ".";
    if (counts && !layer) layer = number;
    if (!layer) whole = has_word("h,layer,layers,block,blocks", word);
    if (!layer || counts || !part.empty()) continue;
    whole = false;
    if (both && has_word(crossing, word)) stack = "cross.";
    part = has_word(attentions, word) || (both && has_word(crossing, word)) ? ".attention"
           : has_word(feeding, word)                                        ? ".feed_forward"
           : has_word(leaving, word)                                        ? ".residual"
                                                                            : "";
  }
  // A layer alone is what leaves it.
  if (whole) part = ".residual";
  if (!layer || part.empty() || both == stack.empty()) return "";
  return stack + std::to_string(*layer) + part + positions;
}

// Help for places that are several, ranges or words as positions, or parts within a head; empty for
// other texts.
std::string meant_places(const std::string& text, bool both) {
  if (const std::string hook = place_of_hook(text); !hook.empty())
    return translated("write {1}", hook);
  if (has_word("all,any,each,every,everything,*", text)) {
    return translated(
        "parts are patched one after the other by HeadsOptions::sweep of attn-cli heads, without "
        "DocumentOptions::patch_at");
  }
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string part = text.substr(0, colon),
                    at = text.substr(std::min(colon + 1, text.size()));
  if (colon < text.size() && ModelPlace::parse(part)) {
    const std::size_t between = std::min(at.find_first_of("-:"), at.size());
    std::size_t from = 0, to = 0;
    constexpr std::size_t most = 200;
    if (between == at.size() || !parse_number(at.substr(0, between), from) ||
        !parse_number(at.substr(between + 1), to) || from > to || to - from > most)
      return translated("give positions after the colon, from 0: {1}", part + ":3,4");
    std::string positions;
    for (std::size_t position = from; position <= to; ++position)
      positions += (positions.empty() ? ":" : ",") + std::to_string(position);
    return translated("write {1}", part + positions);
  }
  const std::size_t comma = std::min(text.find(','), text.size());
  if (comma < text.size() && ModelPlace::parse(text.substr(0, comma)) &&
      ModelPlace::parse(text.substr(comma + 1))) {
    return translated(
        "give each place with a flag of its own: DocumentOptions::patch_at {1} "
        "DocumentOptions::patch_at {2}",
        text.substr(0, comma), text.substr(comma + 1));
  }
  const std::size_t point = std::min(text.rfind('.'), text.size());
  const std::string last = text.substr(std::min(point + 1, text.size()));
  const auto head = ModelPlace::parse(text.substr(0, point));
  constexpr std::string_view within[]{"q",     "k",       "v",       "z",    "query",  "key",
                                      "value", "pattern", "queries", "keys", "values", "patterns"};
  if (!head || !head->head || std::ranges::count(within, last) == 0) {
    const std::string module = place_of_module(text, both);
    return ModelPlace::parse(module) ? translated("write {1}", module) : "";
  }
  return translated(
      "queries, keys, values and patterns of heads are patched one after the other: "
      "HeadsOptions::sweep of attn-cli heads, without DocumentOptions::patch_at");
}

}  // namespace

ModelPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field) {
  const bool both = model.encoder_decoder();
  const auto refuse = [&] {
    return input_error(
        translated("{1} names no part of the model", in_quotes(text)), field,
        both ? translated("name a head, an attention, a feed-forward or states, such as "
                          "decoder.2.1, cross.2.attention, encoder.2.feed_forward or "
                          "decoder.2.residual, and the positions after a colon: decoder.2.1:3,4")
             : translated("name a head, an attention, a feed-forward or states, such as 2.1, "
                          "2.attention, 2.feed_forward, 2.residual or embedding, and the positions "
                          "after a colon: 2.1:3,4"));
  };
  using Part = ModelPlace::Part;
  const auto place = ModelPlace::parse(text);
  if (!place) {
    if (const std::string help = meant_places(text, both); !help.empty())
      throw input_error(translated("{1} names no part of the model", in_quotes(text)), field, help);
  }
  if (!place || !has_stack(model, place->stack)) throw refuse();
  if (place->part == Part::embedding) return *place;
  check_layer(stack_in(model, place->stack), place->layer, field);
  const bool attends = place->part == Part::self || place->crosses();
  if (place->head) {
    check_head(model, *place, field);
  } else if (attends) {
    check_layer_with_map(stack_in(model, place->stack), place->layer, field);
  } else if (place->part != Part::feed_forward && place->part != Part::residual) {
    throw refuse();
  }
  return *place;
}

}  // namespace attn
