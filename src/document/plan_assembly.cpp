#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/gradient.hpp"

#include "attention/attention_name.hpp"
#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "document/mask_reader.hpp"
#include "document/option_reader.hpp"
#include "document/plan.hpp"
#include "document/reader.hpp"
#include "document/state_checks.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Whether whole numbers are the bits of bfloat16 numbers of usual sizes, from 2⁻³² to 2³².
bool look_like_bfloat16(const Tensor& tensor) {
  if (!tensor || is_shape_only(tensor)) return false;
  const Tensor numbers = tensor.converted(DType::float64);
  std::size_t usual = 0, others = 0;
  for (const double number : numbers.values<double>()) {
    const std::uint64_t exponent =
        static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) >> 7U & 0xFFU;
    constexpr unsigned one = 127, reach = 32;
    if (number == 0) continue;
    ++(exponent + reach >= one && exponent <= one + reach ? usual : others);
  }
  return usual > 0 && others * 20 <= usual;
}

// Whether somebody has these numbers, which are read or written out: those that the document makes
// show an example.
bool are_numbers_of_somebody(const JsonValue& tensor) {
  return tensor.is(JsonValue::Type::array) || tensor.find("file") != nullptr ||
         tensor.find("data") != nullptr;
}

class PlanAssembly {
 public:
  explicit PlanAssembly(DocumentParts& parts) : parts_(parts) {}

  void assemble() {
    // Dropout draws after all other random tensors.
    parts_.problems.attempt([&] {
      if (!parts_.dropout) return;
      parts_.options.dropout = torch_dropout(
          *parts_.dropout, parts_.tensors.generator("/dropout", translated("dropout in training")),
          parts_.is(Family::transformer));
    });
    parts_.problems.attempt([&] { check_positions_of_sequences(); });
    settle_masks();
    if (parts_.decoder() && !may_hide_later_keys(parts_.options.mask)) {
      parts_.plan.warnings.emplace_back(
          translated("the decoder's self-attention is not causal: every query sees the keys after "
                     "it; \"mask\": {\"causal\": true} hides them"));
    }
    if (!plan_attentions()) return;
    parts_.plan.file_types = parts_.tensors.file_types();
    parts_.plan.read = parts_.tensors.read_elements();
    parts_.plan.made = parts_.tensors.made_elements();
    // The library repeats the lengths of one sample for all; documents must give one for each.
    const auto check_lens = [&](const Tensor& lens, const char* at) {
      const std::size_t samples = parts_.plan.attentions.front().geometry.batch;
      if (!lens || lens.rank() == 0 || lens.shape()[0] == samples || samples == 1) return;
      throw input_error(
          translated("{1} {2} does not fit {3} samples", at + 1, text(lens.shape()), samples), at,
          translated("give one number per sample, [{1}]", samples));
    };
    parts_.problems.attempt([&] { check_lens(parts_.options.mask.valid_lens, "/valid_lens"); });
    parts_.problems.attempt(
        [&] { check_lens(parts_.transformer.memory_mask.valid_lens, "/memory_valid_lens"); });
    parts_.problems.attempt(
        [&] { check_lens(parts_.encoder_mask.valid_lens, "/source_valid_lens"); });
    attempt_named([&] {
      if (parts_.plan.output_gradient) check_gradient();
    });
    attempt_named([&] { check_feed_forward(); });
    attempt_named([&] { check_weights(); });
    attempt_named([&] { label_attentions(); });
    warn();
  }

 private:
  // Whether the mask has a part that may hide later keys, other than a window or lengths of
  // samples.
  static bool may_hide_later_keys(const Mask& mask) {
    return std::ranges::any_of(hiding_parts(), [&](const HidingPart* part) {
      return part->may_be_causal && part->present(mask);
    });
  }

  template <class Step>
  bool attempt_named(const Step& step) {
    return parts_.problems.attempt([&] {
      const auto told = [&](const Error& error) {
        return with_layout(parts_.learned.names.named(parts_.names_of_tensors().named(error)),
                           parts_);
      };
      try {
        step();
      } catch (const SeveralErrors& several) {
        std::vector<Error> errors;
        for (const Error& error : several.errors()) errors.push_back(told(error));
        throw SeveralErrors(std::move(errors));
      } catch (const Error& error) {
        throw told(error);
      }
    });
  }

  // Plans the attentions. A mask or lengths that do not fit are a problem and are left out, so that
  // the rest is checked.
  bool plan_attentions() {
    constexpr int most_left_out = 6;  // three masks and three lists of lengths
    for (int left_out = 0;; ++left_out) {
      const std::size_t before = parts_.problems.errors().size();
      const bool planned = attempt_named([&] {
        parts_.plan.computation = computation();
        parts_.plan.attentions = attentions_of(parts_.plan.computation);
      });
      if (planned) return true;
      // The next attempt would find several errors again.
      const auto& errors = parts_.problems.errors();
      if (left_out == most_left_out || errors.size() > before + 1) return false;
      const std::string& where = errors.back().where();
      Mask& memory_mask = parts_.transformer.memory_mask;
      if (!leave_out(parts_.options.mask, where, "/valid_lens", "/mask") &&
          !leave_out(memory_mask, where, "/memory_valid_lens", "/memory_mask") &&
          !leave_out(parts_.encoder_mask, where, "/source_valid_lens", "/source_mask")) {
        return false;
      }
    }
  }

  static bool leave_out(Mask& mask, const std::string& where, const char* lens_at,
                        const char* mask_at) {
    const bool of_lens = where.starts_with(lens_at);
    if (!of_lens && !where.starts_with(mask_at)) return false;
    Tensor lens = std::exchange(mask.valid_lens, {});
    if (of_lens) return true;
    mask = {};
    mask.valid_lens = std::move(lens);
    return true;
  }

  // Places count along all queries and all keys, not in each of the sequences that are packed
  // apart.
  void check_positions_of_sequences() const {
    const AttentionOptions& options = parts_.options;
    if (parts_.mask.query_ends.empty() && parts_.mask.key_ends.empty()) return;
    if (options.rotary && !(options.rotary->positions && options.rotary->key_positions)) {
      throw input_error(
          translated("positions count along all queries and keys, not in each of the sequences "
                     "that cu_seqlens packs apart"),
          "/rotary",
          translated("give \"positions\" of the queries and \"key_positions\", from 0 in each "
                     "sequence"));
    }
    if (options.relative_bias) {
      throw input_error(
          translated("distances count along all queries and keys, not in each of the sequences "
                     "that cu_seqlens packs apart"),
          "/relative_bias",
          translated("add the biases as \"bias\" of the mask, or leave one of them out"));
    }
  }

  // Masks whose meaning depends on the sizes, which are those of the attentions without any mask.
  void settle_masks() {
    if (!depends_on_sizes(parts_.mask) && !depends_on_sizes(parts_.memory_mask) &&
        !depends_on_sizes(parts_.source_mask) && parts_.added_keys == 0) {
      return;
    }
    Mask mask = std::exchange(parts_.options.mask, {});
    Mask memory_mask = std::exchange(parts_.transformer.memory_mask, {});
    Mask encoder_mask = std::exchange(parts_.encoder_mask, {});
    std::vector<PlannedAttention> attentions;
    try {
      attentions = attentions_of(computation());
    } catch (const Error&) {
      // Planning with the masks finds it again.
    }
    parts_.options.mask = std::move(mask);
    parts_.transformer.memory_mask = std::move(memory_mask);
    parts_.encoder_mask = std::move(encoder_mask);
    if (attentions.empty()) return;
    const auto settle = [&](const ReadMask& given, const Geometry& geometry, Mask& of) {
      parts_.problems.attempt([&] { settle_mask(given, geometry, of, parts_.plan.warnings); });
    };
    Geometry first = attentions.front().geometry;
    first.keys -= parts_.added_keys;
    first.past -= parts_.added_keys;
    settle(parts_.mask, first, parts_.options.mask);
    if (parts_.added_keys > 0) {
      parts_.problems.attempt(
          [&] { see_added_keys(parts_.options.mask, first.keys, parts_.added_keys); });
    }
    settle(parts_.memory_mask, attentions[parts_.decoder() ? 1 : 0].geometry,
           parts_.transformer.memory_mask);
    settle(parts_.source_mask, attentions.back().geometry, parts_.encoder_mask);
  }

  // Warns of what is computed as it stands but may not be meant.
  void warn() {
    // Parts that have a problem may be left out.
    if (!parts_.problems.errors().empty()) return;
    const auto add = [&](std::vector<std::string> warnings) {
      std::ranges::move(warnings, std::back_inserter(parts_.plan.warnings));
    };
    Geometry first = parts_.plan.attentions.front().geometry;
    first.keys -= parts_.added_keys;
    first.past -= parts_.added_keys;
    add(mask_warnings(parts_.mask, first));
    // Keys of another sequence have no place beside the queries'.
    const bool of_memory = parts_.decoder() || parts_.second || parts_.find("memory") != nullptr;
    if (!of_memory) add(place_warnings(parts_.mask, parts_.options, first));
    if (parts_.decoder())
      add(mask_warnings(parts_.memory_mask, parts_.plan.attentions[1].geometry));
    if (parts_.encoder())
      add(mask_warnings(parts_.source_mask, parts_.plan.attentions.back().geometry));
    if (const JsonValue* query = parts_.find("query"))
      add(fused_part_warnings(*query, parts_.states));
    warn_of_absent_value();
    warn_of_divisor();
    warn_of_page_0();
    for (const PlannedAttention& attention : parts_.plan.attentions) {
      const bool of_source = parts_.encoder() && !attention.name.in_decoder();
      const ReadMask& mask = of_source                   ? parts_.source_mask
                             : attention.name.is_cross() ? parts_.memory_mask
                                                         : parts_.mask;
      parts_.plan.rows_beyond += rows_beyond(mask, attention.geometry);
    }
    add(layout_doubts(parts_));
    add(parts_.tensors.doubts());
    for (const auto& [key, type] : parts_.plan.file_types) {
      if ((type != "uint16" && type != "int16") || !look_like_bfloat16(tensor_of(key))) continue;
      parts_.plan.warnings.push_back(translated(
          "{1} has the type {2} and looks like the bits of bfloat16 numbers: write the numbers "
          "with tensor.float().numpy(), or the tensor as bfloat16 into .safetensors or .pt",
          key, type));
    }
  }

  // A tensor of the document; absent for other keys than those of inputs.
  Tensor tensor_of(const std::string& key) const {
    const Sequences& states = parts_.states;
    if (key == "query" || key == "x") return states.query;
    if (key == "key") return states.key;
    if (key == "value") return states.value;
    return key == "scores" ? parts_.scores : Tensor();
  }

  // The key takes the place of a value that may have been forgotten. A memory is both by its
  // meaning.
  void warn_of_absent_value() {
    const JsonValue* const key = parts_.find("key");
    const bool reads_value = parts_.is(Family::score) || parts_.is(Family::projected);
    if (key == nullptr || !reads_value || parts_.kind().kind == Kind::cross ||
        parts_.find("value") != nullptr || !are_numbers_of_somebody(*key)) {
      return;
    }
    const char* form = key->find("file") == nullptr   ? "[[…]]"
                       : key->find("name") == nullptr ? "{\"file\": \"…\"}"
                                                      : "{\"file\": \"…\", \"name\": \"…\"}";
    parts_.plan.warnings.push_back(
        translated("\"key\" is the value too, as \"value\" is not given: write \"value\": {1}, or "
                   "the same as \"key\" if that is meant",
                   form));
  }

  // A scale that is √d exactly is the number that scores are divided by elsewhere; of narrow heads
  // it may be a chance.
  void warn_of_divisor() {
    const double scale = parts_.options.scale.value_or(0);
    const std::size_t width = parts_.plan.attentions.front().geometry.key_width;
    if (width < 16 || std::abs(scale * scale - static_cast<double>(width)) > 1e-3) return;
    parts_.plan.warnings.push_back(
        translated("\"scale\" multiplies the scores, and {1} is √{2}, by which they are usually "
                   "divided: write {3} for that, or leave it out where it is the default",
                   number_text(scale), width, number_text(1 / scale)));
  }

  // Page 0 is a page as all others, but some kernels fill the rows of a table up with it.
  void warn_of_page_0() {
    if (!parts_.plan.pages || parts_.find("valid_lens") != nullptr ||
        parts_.has("mask", "padding") || parts_.has("mask", "keep")) {
      return;
    }
    const std::optional<std::size_t> sample = parts_.plan.pages->filled_with_page_0();
    if (!sample) return;
    parts_.plan.warnings.push_back(
        translated("block_table ends with page 0 in sample {1}, whose keys are read: if it fills "
                   "the row up, write -1 in its place, or give \"valid_lens\"",
                   *sample));
  }

  // The computation of the parts.
  Computation computation() {
    switch (parts_.kind().family) {
      case Family::given_scores:
        return AttentionRequest{parts_.options, GivenScores{parts_.scores, parts_.states.value}};
      case Family::score:
        *sequences_of(parts_.learned.score) = parts_.states;
        return AttentionRequest{parts_.options, parts_.learned.score};
      case Family::projected:
        return ProjectedAttentionRequest{parts_.options, parts_.states, parts_.learned.projections};
      case Family::transformer:
      case Family::model:
        break;
    }
    static_cast<AttentionOptions&>(parts_.transformer) = parts_.options;
    parts_.transformer.x = parts_.states.query;
    parts_.transformer.heads = parts_.states.heads;
    parts_.transformer.kv_heads = parts_.states.kv_heads;
    parts_.transformer.decoder = parts_.decoder();
    parts_.transformer.layers = parts_.learned.layers;
    parts_.transformer.last_norm = parts_.learned.last_norm;
    parts_.transformer.encoder = parts_.learned.encoder;
    if (parts_.encoder()) parts_.transformer.stack = "decoder";
    if (parts_.transformer.encoder) parts_.transformer.encoder->mask = parts_.encoder_mask;
    return parts_.transformer;
  }

  void check_weights() {
    const Geometry& first = parts_.plan.attentions.front().geometry;
    if (const auto& pool = parts_.options.pool;
        pool && pool->size >= first.queries && pool->size >= first.keys) {
      parts_.plan.warnings.push_back(
          translated("pooling to {1} bins reduces nothing: there are {2} queries and {3} keys",
                     pool->size, first.queries, first.keys));
    }
    if (parts_.plan.weights && !parts_.options.pool) {
      const Shape weights = first.weights_shape();
      check_weights_memory(first, std::max<std::size_t>(1, parts_.learned.layers.size()),
                           size_of(parts_.options.dtype));
      parts_.tensors.check_elements(static_cast<double>(element_count(weights)),
                                    translated("the tensor of weights {1}", text(weights)), "");
    }
  }

  void label_attentions() {
    const Geometry& first = parts_.plan.attentions.front().geometry;
    // The first attention of a decoder has its queries, the second its memory as keys.
    const std::size_t of_keys = parts_.decoder() ? 1 : 0;
    const Labels labels = read_own_labels(first, parts_.plan.attentions[of_keys].geometry);
    for (PlannedAttention& attention : parts_.plan.attentions) {
      if (parts_.encoder() && !attention.name.in_decoder()) {
        attention.labels = {labels.key, labels.key, labels.either, labels.key_spans,
                            labels.key_spans};
        continue;
      }
      attention.labels = labels.of_attention(attention.name, [&](const AttentionName& name) {
        return std::ranges::count(parts_.plan.attentions, name, &PlannedAttention::name) > 0;
      });
      name_documents(attention);
    }
  }

  // The packed sequences of a mask are parts of both axes.
  static void name_documents(PlannedAttention& attention) {
    const Tensor& ids = attention.mask.documents;
    Labels& labels = attention.labels;
    const bool known = !labels.query_spans.empty() || !labels.key_spans.empty();
    if (known || !ids || is_shape_only(ids) || ids.rank() != 2) return;
    const std::size_t keys = ids.shape()[1];
    for (std::size_t b = 0; b < ids.shape()[0]; ++b) {
      const auto own = ids.values<std::int64_t>().subspan(b * keys, keys);
      std::vector<AxisSpan>& spans = labels.key_spans.emplace_back();
      for (std::size_t first = 0, end = 0; first < keys; first = end) {
        while (end < keys && own[end] == own[first]) ++end;
        spans.push_back({translated("document {1}", spans.size()), first, end});
      }
    }
    if (attention.geometry.queries == keys) labels.query_spans = labels.key_spans;
  }

  [[noreturn]] static void refuse_gradients() {
    throw input_error(translated("there are no gradients through layers"), "/gradient",
                      translated("leave it out, or choose a kind without layers"));
  }

  void check_gradient() {
    const Tensor& output = parts_.plan.output_gradient;
    std::visit(
        Overloaded{
            [&](const AttentionRequest& request) { check_gradients(request, output); },
            [&](const ProjectedAttentionRequest& request) { check_gradients(request, output); },
            [](const TransformerRequest&) { refuse_gradients(); },
            [](const ModelRequest&) { refuse_gradients(); }},
        parts_.plan.computation);
    // The document's names of the tensors and parameters that have gradients.
    const auto call = [&](const char* ours, const std::string& theirs) {
      parts_.plan.gradient_names.emplace_back(ours, theirs);
    };
    const bool hidden = parts_.is(Family::projected) && (parts_.root.find("x") || parts_.first);
    if (parts_.first) {
      call("query", "embedded");
    } else if (hidden) {
      call("query", "x");
    }
    if (parts_.second || hidden) {
      const char* memory = parts_.second ? "memory_embedded" : "memory";
      call("key", memory);
      if (parts_.is(Family::projected)) call("value", memory);
    }
    for (const auto& [ours, theirs] : parts_.learned.origins)
      parts_.plan.gradient_names.emplace_back(ours, theirs);
  }

  void check_feed_forward() {
    std::vector<TransformerLayer> layers = parts_.learned.layers;
    if (parts_.learned.encoder)
      std::ranges::copy(parts_.learned.encoder->layers, std::back_inserter(layers));
    for (const TransformerLayer& layer : layers) {
      const std::size_t rows = layer.linear1.weight.shape()[0];
      if (!parts_.feed_forward || *parts_.feed_forward == rows) continue;
      throw input_error(translated("feed_forward is {1}, but linear1.weight {2} has {3} rows",
                                   *parts_.feed_forward, text(layer.linear1.weight.shape()), rows),
                        "/feed_forward",
                        translated("leave it out: it follows from the parameters"));
    }
  }

  // The document's labels, or its tokens. A sequence that attends to itself has the same labels on
  // both sides.
  Labels read_own_labels(const Geometry& queries, const Geometry& keys) {
    Labels labels;
    if (const JsonValue* value = parts_.find("labels")) {
      const auto read = [&](const LabelledSizes& sizes) {
        return read_labels(*value, "/labels", sizes, [this](const std::string& name) {
          return std::string(parts_.tensors.bytes(name)->text());
        });
      };
      if (parts_.memory_is_for_others && value->is(JsonValue::Type::object)) {
        // The kind that has the memory checks how many there are.
        labels = read({});
        labels.key.clear();
      } else {
        labels = read({queries.batch, queries.queries, keys.keys});
      }
    }
    const auto fits = [](const std::vector<std::vector<std::string>>& lists, std::size_t length) {
      return !lists.empty() && lists[0].size() == length;
    };
    if (labels.query.empty() && parts_.first && fits(parts_.first->labels, queries.queries))
      labels.query = parts_.first->labels;
    if (labels.key.empty() && parts_.second && fits(parts_.second->labels, keys.keys))
      labels.key = parts_.second->labels;
    const bool to_itself =
        !parts_.states.key && !parts_.decoder() && !parts_.is(Family::given_scores);
    if (to_itself && labels.key.empty() && fits(labels.query, keys.keys)) labels.key = labels.query;
    if (to_itself && labels.query.empty() && fits(labels.key, queries.queries))
      labels.query = labels.key;
    return labels;
  }

  DocumentParts& parts_;
};

}  // namespace

void assemble_plan(DocumentParts& parts) {
  PlanAssembly(parts).assemble();
}

}  // namespace attn
