#include "document/reader.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/gradient.hpp"

#include "attention/geometry.hpp"
#include "document/demand.hpp"
#include "document/dropout_reader.hpp"
#include "document/keys.hpp"
#include "document/kinds.hpp"
#include "document/mask_reader.hpp"
#include "document/model_reader.hpp"
#include "document/names.hpp"
#include "document/object.hpp"
#include "document/parameters.hpp"
#include "document/position_reader.hpp"
#include "document/tensor_source.hpp"
#include "document/token_reader.hpp"
#include "support/overloaded.hpp"
#include "support/several_errors.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {
namespace {

/// Reads one document for one kind, part by part.
class Reader {
 public:
  Reader(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
         TensorSource& tensors)
      : root_(document.root()), kinds_(kinds), problems_(problems), tensors_(tensors) {
    plan_.kind = kind;
  }

  Plan read() {
    check_document_keys(root_, problems_);
    check_keys_of_kinds(root_, kinds_, problems_);
    const std::size_t before_options = problems_.errors().size();
    read_options();
    const std::size_t before_tensors = problems_.errors().size();
    read_tensors();
    // What could not be read would only cause further complaints.
    if (problems_.errors().size() == before_tensors) read_learned();
    read_masks();
    const std::size_t before_positions = problems_.errors().size();
    read_positions();
    // One of these that could not be read does not keep the others from being held together.
    const std::span<const Error> found =
        std::span(problems_.errors()).subspan(before_options, before_positions - before_options);
    if (std::all_of(found.begin(), found.end(), leaves_sizes)) finish();
    return std::move(plan_);
  }

 private:
  // Whether the problem is with what sizes do not depend on, so that what follows from them can be
  // told too.
  static bool leaves_sizes(const Error& error) {
    constexpr std::array<std::string_view, 12> keys{
        "/scale",   "/softcap", "/eps",         "/weights", "/title",     "/description",
        "/dropout", "/mask",    "/memory_mask", "/norm",    "/norm_kind", "/seed"};
    const std::string& where = error.where();
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) {
      return where == key || (where.starts_with(key) && where[key.size()] == '/');
    });
  }

  const KindInfo& kind() const { return info(plan_.kind); }
  bool is(Family family) const { return kind().family == family; }
  bool is_projecting() const { return is(Family::projected) || is(Family::transformer); }
  bool decoder() const { return kind().kind == Kind::decoder_layer; }

  // The value of a key that is there and has a meaning for this kind.
  const JsonValue* find(std::string_view key) const {
    const auto keys = document_keys();
    const auto row =
        std::find_if(keys.begin(), keys.end(), [&](const DocumentKey& k) { return k.name == key; });
    return row != keys.end() && row->takes(kind()) ? root_.find(key) : nullptr;
  }

  // What numbers are read as.
  DType numbers() const { return widened(options_.dtype); }

  template <class Store>
  void read(const char* key, Store&& store) {
    if (const JsonValue* value = find(key))
      problems_.attempt([&] { store(*value, pointer_to("", key)); });
  }

  void read_options() {
    const PlainValues values = read_plain_values(root_, kind(), problems_);
    plan_.title = values.title;
    plan_.description = values.description;
    plan_.weights = values.options.weights;
    options_ = values.options;
    states_.heads = values.heads;
    if (kind().kind == Kind::multi_head && !states_.heads) states_.heads = 1;
    states_.kv_heads = values.kv_heads;
    feed_forward_ = values.feed_forward;
    layers_ = values.layers;
    transformer_.activation = values.activation;
    transformer_.norm = values.norm;
    transformer_.norm_kind = values.norm_kind;
    dropout_ = values.dropout;
  }

  Tensor read_tensor(const char* key) {
    Tensor tensor;
    read(key, [&](const JsonValue& value, const std::string& at) {
      tensor = tensors_.read(value, numbers(), at);
    });
    return tensor;
  }

  // In the order in which PyTorch's generator fills the random ones.
  void read_tensors() {
    read("seed", [&](const JsonValue& value, const std::string& at) {
      tensors_.seed(expect_integer(value, at, INT64_MIN));
    });
    read_tokens();
    Tensor query = read_tensor("query"), key = read_tensor("key"), value = read_tensor("value");
    Tensor x = read_tensor("x"), memory = read_tensor("memory");
    states_.past_key = read_tensor("past_key");
    states_.past_value = read_tensor("past_value");
    scores_ = read_tensor("scores");
    const auto note = [&](const char* name, const Tensor& tensor) {
      if (tensor) plan_.shapes.emplace_back(name, tensor.shape());
    };
    note("x", x);
    note("memory", memory);
    problems_.attempt([&] { place(query, key, value, x, memory); });

    note("scores", scores_);
    note("query", states_.query);
    note("key", decoder() ? transformer_.memory : states_.key_or_query());
    note("value", decoder() ? transformer_.memory : states_.value_or_key());
    note("past_key", states_.past_key);
    note("past_value", states_.past_value);
  }

  void read_tokens() {
    const bool first = is(Family::given_scores) ? false : TokenReader::gives(root_, "");
    const bool second = (find("memory_tokens") || find("memory_token_ids") || find("memory_text"));
    if (!first && !second) {
      for (const char* key : {"embedding", "tokenizer"}) {
        if (!find(key)) continue;
        plan_.warnings.push_back(std::string("\"") + key +
                                 "\" has no effect: the document has no tokens");
      }
      return;
    }
    problems_.attempt([&] {
      const TokenReader reader(root_, numbers(), tensors_);
      const auto keep = [&](const TokenStates& states, const std::string& prefix) {
        if (tensors_.sketching()) return;
        plan_.tokens.push_back({prefix + "token_ids", states.ids});
        plan_.tokens.push_back({prefix + "embedded", states.embedded.converted(numbers())});
        if (states.recovered) plan_.tokens.push_back({prefix + "recovered_ids", states.recovered});
      };
      if (first) {
        first_ = reader.read(root_, "", tensors_);
        keep(*first_, "");
        plan_.recovered_tokens = first_->recovered_tokens;
      }
      if (second) {
        second_ = reader.read(root_, "memory_", tensors_);
        keep(*second_, "memory_");
      }
    });
  }

  // Which tensor is the query, the key and the value, and what of them may not stand together.
  void place(Tensor& query, Tensor& key, Tensor& value, Tensor& x, Tensor& memory) {
    const auto instead = [&](const std::optional<TokenStates>& states, Tensor& tensor,
                             const char* name) {
      if (!states) return;
      if (tensor) {
        throw input_error(std::string("\"") + name + "\" and tokens cannot both be given",
                          std::string("/") + name,
                          "leave one of them out: the tokens' embeddings take its place");
      }
      tensor = states->embedded;
    };
    if (is(Family::given_scores)) {
      states_.value = value;
      return;
    }
    if (is(Family::score)) {
      instead(first_, query, "query");
      instead(second_, key, "key");
      states_.query = query;
      states_.key = key;
      states_.value = value;
      return;
    }
    instead(first_, x, "x");
    instead(second_, memory, "memory");
    if ((x || memory) && (query || key || value)) {
      const std::string states = first_ ? TokenReader::key(root_, "") : x ? "x" : second_name();
      const std::string other = query ? "query" : key ? "key" : "value";
      throw input_error(
          "\"" + states + "\" and \"" + other + "\" cannot both be given", "/" + other,
          "give \"x\" and, where it is needed, \"memory\", or \"query\", \"key\" and \"value\"");
    }
    if (!x && !query) {
      throw input_error(
          "there are no hidden states", "/x",
          is(Family::transformer)
              ? "give \"x\" [L,E] or [B,L,E], or tokens with an embedding"
              : "give \"x\" [L,E] or [B,L,E], tokens with an embedding, or \"query\", "
                "\"key\" and \"value\"");
    }
    states_.query = x ? x : query;
    if (is(Family::transformer)) {
      transformer_.memory = memory;
      if (decoder() && !memory) {
        throw input_error("a decoder layer has no memory", "/memory",
                          "give the encoder's hidden states [L,E] or [B,L,E]");
      }
      return;
    }
    if (kind().kind == Kind::cross && !memory && !key) {
      throw input_error("cross-attention has no memory", "/memory",
                        "give the hidden states it attends to, [L,E] or [B,L,E]");
    }
    states_.key = x ? memory : key;
    states_.value = x ? memory : value;
  }

  // Which member of the document the second sequence is.
  std::string second_name() const {
    return second_ ? TokenReader::key(root_, "memory_") : is(Family::score) ? "key" : "memory";
  }

  // What the document calls the request's query, key and value, for errors to speak its language.
  DocumentNames names_of_tensors() const {
    DocumentNames names;
    if (first_) {
      names.tensor("query", TokenReader::key(root_, ""));
    } else if (root_.find("x") && is_projecting()) {
      names.tensor("query", "x");
    }
    if (decoder() && second_) names.tensor("memory", second_name());
    const bool own = root_.find("x") || first_;
    if (second_ || (own && is_projecting() && states_.key)) {
      names.tensor("key", second_name());
      if (is_projecting()) names.tensor("value", second_name());
    }
    return names;
  }

  void read_learned() {
    problems_.attempt([&] {
      const JsonValue* value = find("parameters");
      std::string pointer = "/parameters";
      // Each kind may have parameters of its own.
      if (value && has_kinds(*value)) {
        const JsonMember* own = find_by_kind(*value, kind().kind, pointer);
        pointer = pointer_to(pointer, own ? std::string_view(own->key) : kind().name);
        value = own ? &own->value : nullptr;
      }
      learned_ = read_parameters(value, pointer, kind().kind, states_, numbers(),
                                 transformer_.memory, layers_.value_or(1), feed_forward_,
                                 gated(transformer_.activation), transformer_.norm_kind, tensors_);
      plan_.warnings.insert(plan_.warnings.end(), learned_.warnings.begin(),
                            learned_.warnings.end());
    });
  }

  void read_masks() {
    options_.mask = read_mask(find("mask"), find("valid_lens"), "/mask", "/valid_lens", numbers(),
                              tensors_, problems_, plan_.warnings);
    transformer_.memory_mask =
        read_mask(find("memory_mask"), find("memory_valid_lens"), "/memory_mask",
                  "/memory_valid_lens", numbers(), tensors_, problems_, plan_.warnings);
    // What filled up the tokens' rows is padding: of the memory where keys come from it.
    const auto hide_padding = [&](Mask& mask, const TokenStates& tokens) {
      if (tensors_.sketching()) return;
      const Tensor& past = states_.past_key;
      const std::size_t before = past && past.rank() >= 2 ? past.shape()[past.rank() - 2] : 0;
      mask.padding = united_padding(mask.padding, tokens.padding, before);
    };
    if (first_ && (is(Family::transformer) || !states_.key)) hide_padding(options_.mask, *first_);
    if (second_) hide_padding(decoder() ? transformer_.memory_mask : options_.mask, *second_);
  }

  // Rotary positions, norms of heads, relative bias and sinks, in the order of the document: that
  // is the order in which random tensors are drawn.
  void read_positions() {
    const DType dtype = numbers();
    for (const JsonMember& member : root_.members()) {
      const auto read_member = [&](const char* key, const auto& store) {
        if (member.key == key) read(key, store);
      };
      read_member("rotary", [&](const JsonValue& value, const std::string& at) {
        options_.rotary = read_rotary(value, at, dtype, tensors_);
      });
      read_member("query_norm", [&](const JsonValue& value, const std::string& at) {
        options_.query_norm = read_head_norm(value, at, dtype, tensors_);
      });
      read_member("key_norm", [&](const JsonValue& value, const std::string& at) {
        options_.key_norm = read_head_norm(value, at, dtype, tensors_);
      });
      read_member("relative_bias", [&](const JsonValue& value, const std::string& at) {
        options_.relative_bias = read_relative_bias(value, at, dtype, tensors_);
      });
      read_member("gradient", [&](const JsonValue& value, const std::string& at) {
        constexpr std::array<std::string_view, 1> known{"output"};
        expect_known_keys(value, known, at);
        const JsonValue* output = value.find("output");
        if (!output) {
          throw input_error("the gradient has no output", pointer_to(at, "output"),
                            "give that of the output, of its shape");
        }
        plan_.output_gradient = tensors_.read(*output, dtype, pointer_to(at, "output"));
      });
      read_member("sinks", [&](const JsonValue& value, const std::string& at) {
        options_.sinks = tensors_.read(value, dtype, at);
      });
    }
    if (find("eps") && !is(Family::transformer) && !options_.query_norm && !options_.key_norm) {
      plan_.warnings.emplace_back("\"eps\" has no effect: there is no norm");
    }
    problems_.attempt([&] {
      if (!transformer_.memory_mask.alibi) return;
      throw input_error("ALiBi has no meaning for a decoder layer's cross-attention",
                        "/memory_mask/alibi", "leave it out, or put it into \"mask\"");
    });
  }

  void finish() {
    // Dropout draws last, from the generator as all other draws have left it.
    problems_.attempt([&] {
      if (!dropout_) return;
      options_.dropout =
          torch_dropout(*dropout_, tensors_.generator("/dropout", "dropout in training"),
                        is(Family::transformer));
    });
    // Another mask of the user's own may hide what lies ahead.
    const Mask& mask = options_.mask;
    if (decoder() && !(mask.causal || mask.allow || mask.block || mask.bias)) {
      plan_.warnings.emplace_back(
          "the decoder's self-attention is not causal: every query sees the keys after it; "
          "\"mask\": {\"causal\": true} hides them");
    }
    if (!plan_attentions()) return;
    // The library repeats what is one sample's.
    const auto check_lens = [&](const Tensor& lens, const char* at) {
      const std::size_t samples = plan_.attentions.front().geometry.batch;
      if (!lens || lens.rank() == 0 || lens.shape()[0] == samples || samples == 1) return;
      throw input_error(std::string(at + 1) + " " + text(lens.shape()) + " does not fit " +
                            std::to_string(samples) + " samples",
                        at, "give one number a sample, [" + std::to_string(samples) + "]");
    };
    problems_.attempt([&] { check_lens(options_.mask.valid_lens, "/valid_lens"); });
    problems_.attempt(
        [&] { check_lens(transformer_.memory_mask.valid_lens, "/memory_valid_lens"); });
    attempt_named([&] {
      if (plan_.output_gradient) check_gradient();
    });
    attempt_named([&] { check_feed_forward(); });
    attempt_named([&] { check_weights(); });
    attempt_named([&] { label_attentions(); });
  }

  template <class Step>
  bool attempt_named(const Step& step) {
    return problems_.attempt([&] {
      const auto told = [&](const Error& error) {
        return learned_.names.named(names_of_tensors().named(error));
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

  // A part of a mask that does not fit is told and left out, so that the rest can be checked.
  bool plan_attentions() {
    std::size_t before = problems_.errors().size();
    while (!attempt_named([&] {
      plan_.computation = computation();
      plan_.attentions = attentions_of(plan_.computation);
    })) {
      // Several would be told anew.
      if (problems_.errors().size() > before + 1) return false;
      before = problems_.errors().size();
      const std::string& where = problems_.errors().back().where();
      const auto leave_out = [&](Mask& mask, const char* lens, const char* parts) {
        if (where.starts_with(lens)) return bool(std::exchange(mask.valid_lens, {}));
        if (!where.starts_with(parts)) return false;
        Tensor valid_lens = mask.valid_lens;
        const Mask left_out = std::exchange(mask, {});
        mask.valid_lens = std::move(valid_lens);
        return has_parts(left_out);
      };
      if (!leave_out(options_.mask, "/valid_lens", "/mask") &&
          !leave_out(transformer_.memory_mask, "/memory_valid_lens", "/memory_mask")) {
        return false;
      }
    }
    return true;
  }

  static bool has_parts(Mask mask) {
    mask.valid_lens = {};
    return mask.hides() || mask.bias || mask.alibi || mask.padding;
  }

  // Everything that was read, in the form that is computed.
  Computation computation() {
    switch (kind().family) {
      case Family::given_scores:
        return AttentionRequest{options_, GivenScores{scores_, states_.value}};
      case Family::score:
        *sequences_of(learned_.score) = states_;
        return AttentionRequest{options_, learned_.score};
      case Family::projected:
        return ProjectedAttentionRequest{options_, states_, learned_.projections};
      case Family::transformer:
      case Family::model:
        break;
    }
    static_cast<AttentionOptions&>(transformer_) = options_;
    transformer_.x = states_.query;
    transformer_.heads = states_.heads;
    transformer_.kv_heads = states_.kv_heads;
    transformer_.decoder = decoder();
    transformer_.layers = learned_.layers;
    return transformer_;
  }

  void check_weights() {
    plan_.read = tensors_.read_elements();
    plan_.made = tensors_.made_elements();
    const Geometry& first = plan_.attentions.front().geometry;
    if (plan_.weights && !options_.pool) {
      const Shape weights = first.weights_shape();
      check_weights_memory(first, layers_.value_or(1), size_of(options_.dtype));
      tensors_.check_elements(static_cast<double>(element_count(weights)),
                              "the tensor of weights " + text(weights), "");
    }
  }

  void label_attentions() {
    const Geometry& first = plan_.attentions.front().geometry;
    // A decoder's queries attend to themselves first, its keys are those of its memory.
    const Labels labels = read_own_labels(first, plan_.attentions.back().geometry);
    for (PlannedAttention& attention : plan_.attentions) {
      attention.labels = labels.of_attention(attention.prefix, [&](const std::string& prefix) {
        return std::ranges::count(plan_.attentions, prefix, &PlannedAttention::prefix) > 0;
      });
    }
  }

  void check_gradient() {
    const Tensor& output = plan_.output_gradient;
    std::visit(
        Overloaded{
            [&](const AttentionRequest& request) { check_gradients(request, output); },
            [&](const ProjectedAttentionRequest& request) { check_gradients(request, output); },
            [](const auto&) {
              throw input_error("there are no gradients through layers", "/gradient",
                                "leave it out, or choose a kind without layers");
            }},
        plan_.computation);
    // What the document calls the tensors and parameters that there are gradients of.
    const auto call = [&](const char* ours, const std::string& theirs) {
      plan_.gradient_names.emplace_back(ours, theirs);
    };
    const bool hidden = is(Family::projected) && (root_.find("x") || first_);
    if (first_) {
      call("query", "embedded");
    } else if (hidden) {
      call("query", "x");
    }
    if (second_ || hidden) {
      const char* memory = second_ ? "memory_embedded" : "memory";
      call("key", memory);
      if (is(Family::projected)) call("value", memory);
    }
    for (const auto& [ours, theirs] : learned_.origins)
      plan_.gradient_names.emplace_back(ours, theirs);
  }

  void check_feed_forward() {
    for (const TransformerLayer& layer : learned_.layers) {
      const std::size_t rows = layer.linear1.weight.shape()[0];
      if (!feed_forward_ || *feed_forward_ == rows) continue;
      throw input_error("feed_forward is " + std::to_string(*feed_forward_) +
                            ", but linear1.weight " + text(layer.linear1.weight.shape()) + " has " +
                            std::to_string(rows) + " rows",
                        "/feed_forward", "leave it out: the parameters tell it");
    }
  }

  // The document's labels, else the tokens; a sequence that attends to itself is named alike on
  // both sides.
  Labels read_own_labels(const Geometry& queries, const Geometry& keys) {
    Labels labels;
    if (const JsonValue* value = find("labels"))
      labels = read_labels(*value, "/labels", queries.batch, queries.queries, keys.keys);
    const auto fits = [](const std::vector<std::vector<std::string>>& lists, std::size_t length) {
      return !lists.empty() && lists[0].size() == length;
    };
    if (labels.query.empty() && first_ && fits(first_->labels, queries.queries))
      labels.query = first_->labels;
    if (labels.key.empty() && second_ && fits(second_->labels, keys.keys))
      labels.key = second_->labels;
    const bool to_itself = !states_.key && !decoder() && !is(Family::given_scores);
    if (to_itself && labels.key.empty() && fits(labels.query, keys.keys)) labels.key = labels.query;
    if (to_itself && labels.query.empty() && fits(labels.key, queries.queries))
      labels.query = labels.key;
    return labels;
  }

  const JsonValue& root_;
  std::span<const Kind> kinds_;
  Problems& problems_;
  TensorSource& tensors_;
  Plan plan_;
  AttentionOptions options_;
  Sequences states_;  // for given scores their value alone
  Tensor scores_;
  LearnedWeights learned_;
  TransformerRequest transformer_;  // what layers have besides
  std::optional<TokenStates> first_, second_;
  std::optional<std::size_t> feed_forward_, layers_;
  std::optional<double> dropout_;
};

/// Reads a document's plans for its kinds.
class PlanSource {
 public:
  explicit PlanSource(const Document& document)
      : document_(document), tensors_(document.folder(), document.access()) {}

  /// The plan with nothing made or drawn. A model's plan is whole: it stands in files.
  Plan sketch(Kind kind, std::span<const Kind> kinds, Problems& problems) {
    if (kind == Kind::model) return model_.emplace(read_model_plan(document_, problems));
    tensors_.start(true);
    return Reader(document_, kind, kinds, problems, tensors_).read();
  }

  /// The plan after its sketch, in which no problem was found.
  Plan whole(Kind kind, std::span<const Kind> kinds, Problems& problems) {
    if (kind == Kind::model) return *model_;
    tensors_.start(false);
    return Reader(document_, kind, kinds, problems, tensors_).read();
  }

 private:
  const Document& document_;
  TensorSource tensors_;
  std::optional<Plan> model_;
};

}  // namespace

Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems) {
  PlanSource source(document);
  const std::size_t before = problems.errors().size();
  Plan plan = source.sketch(kind, kinds, problems);
  if (problems.errors().size() > before ||
      !problems.attempt([&] { check_demand(demand_of(plan), document.access().limits); })) {
    return plan;
  }
  return source.whole(kind, kinds, problems);
}

void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems) {
  PlanSource source(document);
  Demand demand;
  for (const Kind kind : kinds) {
    const Plan plan = source.sketch(kind, kinds, problems);
    if (problems.errors().empty()) demand += demand_of(plan);
  }
  problems.attempt([&] { check_demand(demand, document.access().limits); });
}

std::vector<Plan> read_plans(const Document& document, const std::function<void(Plan&)>& choose) {
  std::vector<Plan> plans;
  try {
    const std::vector<Kind> kinds = read_kinds(document.root());
    PlanSource source(document);
    Problems problems;
    Demand demand;
    for (const Kind kind : kinds) {
      Plan sketch = source.sketch(kind, kinds, problems);
      problems.throw_first();
      if (choose) choose(sketch);
      demand += demand_of(sketch);
    }
    check_demand(demand, document.access().limits);
    for (const Kind kind : kinds) {
      plans.push_back(source.whole(kind, kinds, problems));
      problems.throw_first();
    }
  } catch (const Error& error) {
    throw document.placed(error);
  }
  return plans;
}

}  // namespace attn
