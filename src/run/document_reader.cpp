#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "attention/projected_attention.hpp"
#include "attention/transformer.hpp"
#include "attention/visibility.hpp"
#include "run/document.hpp"
#include "run/document_keys.hpp"
#include "run/document_object.hpp"
#include "run/mask_reader.hpp"
#include "run/parameters.hpp"
#include "run/tensor_source.hpp"
#include "run/token_reader.hpp"
#include "support/memory_limit.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

Kind read_kind(const JsonValue& value, const std::string& pointer) {
  const std::string& name = expect_string(value, pointer);
  if (const KindInfo* found = find_kind(name)) return found->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  throw input_error("unknown kind of attention \"" + name + "\"", pointer, suggestion(name, names));
}

template <std::size_t N>
std::size_t read_choice(const JsonValue& value, const std::string& pointer, const char* noun,
                        const std::array<std::string_view, N>& names) {
  const std::string& name = expect_string(value, pointer);
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw input_error("unknown " + std::string(noun) + " \"" + name + "\"", pointer,
                    suggestion(name, names));
}

// Where either says so.
Tensor united_padding(const Tensor& a, const Tensor& b) {
  if (!a || !b || a.shape() != b.shape())
    return a ? a : b;  // one that does not fit is reported as such
  const auto x = a.values<std::uint8_t>(), y = b.values<std::uint8_t>();
  std::vector<std::uint8_t> either(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) either[i] = x[i] | y[i];
  return {a.shape(), std::move(either)};
}

/// Reads one document for one kind, part by part.
class Reader {
 public:
  Reader(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems)
      : root_(document.root()), kinds_(kinds), problems_(problems), tensors_(document.folder()) {
    attention().kind = kind;
  }

  DocumentRequest read() {
    check_document_keys(root_, problems_);
    check_keys_of_kinds(root_, kinds_, problems_);
    const std::size_t before_options = problems_.errors().size();
    read_options();
    const std::size_t before_tensors = problems_.errors().size();
    read_tensors();
    // What could not be read would only cause further complaints.
    if (problems_.errors().size() == before_tensors) read_learned();
    read_masks();
    if (problems_.errors().size() == before_options) finish();
    return std::move(result_);
  }

 private:
  AttentionRequest& attention() { return result_.attention; }
  const KindInfo& kind() const { return info(result_.attention.kind); }
  bool is(Family family) const { return kind().family == family; }
  bool decoder() const { return kind().kind == Kind::decoder_layer; }

  // The value of a key that is there and has a meaning for this kind.
  const JsonValue* find(std::string_view key) const {
    const auto keys = document_keys();
    const auto row =
        std::find_if(keys.begin(), keys.end(), [&](const DocumentKey& k) { return k.name == key; });
    return row != keys.end() && row->takes(kind()) ? root_.find(key) : nullptr;
  }

  template <class Store>
  void read(const char* key, Store&& store) {
    if (const JsonValue* value = find(key))
      problems_.attempt([&] { store(*value, pointer_to("", key)); });
  }

  void read_count(const char* key, std::optional<std::size_t>& count) {
    read(key, [&](const JsonValue& value, const std::string& at) {
      count = static_cast<std::size_t>(expect_integer(value, at, 1));
    });
  }

  void read_options() {
    read("dtype", [&](const JsonValue& value, const std::string& at) {
      constexpr std::array<std::string_view, 2> names{"float32", "float64"};
      attention().dtype =
          read_choice(value, at, "dtype", names) == 0 ? DType::float32 : DType::float64;
    });
    read("title", [&](const JsonValue& value, const std::string& at) {
      result_.title = expect_string(value, at);
    });
    read("description", [&](const JsonValue& value, const std::string& at) {
      result_.description = expect_string(value, at);
    });
    read("weights", [&](const JsonValue& value, const std::string& at) {
      result_.weights = expect_boolean(value, at);
    });
    read_count("heads", attention().heads);
    read_count("kv_heads", attention().kv_heads);
    read("scale", [&](const JsonValue& value, const std::string& at) {
      attention().scale = expect_number(value, at);
    });
    read("softcap", [&](const JsonValue& value, const std::string& at) {
      attention().softcap = expect_number(value, at);
    });
    read_count("feed_forward", feed_forward_);
    read_count("layers", layers_);
    read("activation", [&](const JsonValue& value, const std::string& at) {
      constexpr std::array<std::string_view, 2> names{"relu", "gelu"};
      result_.transformer.activation =
          static_cast<Activation>(read_choice(value, at, "activation", names));
    });
    read("norm", [&](const JsonValue& value, const std::string& at) {
      constexpr std::array<std::string_view, 2> names{"post", "pre"};
      result_.transformer.norm = static_cast<NormPlace>(read_choice(value, at, "norm", names));
    });
    read("eps", [&](const JsonValue& value, const std::string& at) {
      result_.transformer.eps = expect_number(value, at);
    });
  }

  Tensor read_tensor(const char* key) {
    Tensor tensor;
    read(key, [&](const JsonValue& value, const std::string& at) {
      tensor = tensors_.read(value, attention().dtype, at);
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
    attention().past_key = read_tensor("past_key");
    attention().past_value = read_tensor("past_value");
    attention().scores = read_tensor("scores");
    const auto note = [&](const char* name, const Tensor& tensor) {
      if (tensor) result_.shapes.emplace_back(name, tensor.shape());
    };
    note("x", x);
    note("memory", memory);
    problems_.attempt([&] { place(query, key, value, x, memory); });

    const bool scores = is(Family::given_scores);
    const Tensor& shown_key = attention().key || scores ? attention().key : attention().query;
    const Tensor& attended = decoder() ? result_.transformer.memory : shown_key;
    note("scores", attention().scores);
    note("query", attention().query);
    note("key", attended);
    note("value", decoder()                     ? attended
                  : attention().value || scores ? attention().value
                                                : shown_key);
    note("past_key", attention().past_key);
    note("past_value", attention().past_value);
  }

  void read_tokens() {
    const bool first = is(Family::given_scores) ? false : TokenReader::gives(root_, "");
    const bool second = (find("memory_tokens") || find("memory_token_ids") || find("memory_text"));
    if (!first && !second) return;
    problems_.attempt([&] {
      const TokenReader reader(root_, attention().dtype, tensors_);
      const auto keep = [&](const TokenStates& states, const std::string& prefix) {
        result_.tokens.push_back({prefix + "token_ids", states.ids});
        result_.tokens.push_back(
            {prefix + "embedded", states.embedded.converted(attention().dtype)});
        if (states.recovered)
          result_.tokens.push_back({prefix + "recovered_ids", states.recovered});
      };
      if (first) {
        first_ = reader.read(root_, "");
        keep(*first_, "");
        result_.recovered_tokens = first_->recovered_tokens;
      }
      if (second) {
        second_ = reader.read(root_, "memory_");
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
      attention().value = value;
      return;
    }
    if (is(Family::score)) {
      instead(first_, query, "query");
      instead(second_, key, "key");
      attention().query = query;
      attention().key = key;
      attention().value = value;
      return;
    }
    if ((x || memory || first_ || second_) && (query || key || value)) {
      throw input_error(
          "\"x\" and \"query\" cannot both be given",
          query ? "/query"
          : key ? "/key"
                : "/value",
          "give \"x\" and, where it is needed, \"memory\", or \"query\", \"key\" and \"value\"");
    }
    instead(first_, x, "x");
    instead(second_, memory, "memory");
    if (!x && !query) {
      throw input_error(
          "there are no hidden states", "/x",
          is(Family::transformer)
              ? "give \"x\" [L,E] or [B,L,E], or tokens with an embedding"
              : "give \"x\" [L,E] or [B,L,E], tokens with an embedding, or \"query\", "
                "\"key\" and \"value\"");
    }
    attention().query = x ? x : query;
    if (is(Family::transformer)) {
      result_.transformer.memory = memory;
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
    attention().key = x ? memory : key;
    attention().value = x ? memory : value;
  }

  void read_learned() {
    problems_.attempt([&] {
      const JsonValue* value = find("parameters");
      std::string pointer = "/parameters";
      // With several kinds, each may have parameters of its own.
      if (value && kinds_.size() > 1 && value->is(JsonValue::Type::object)) {
        if (const JsonValue* own = value->find(kind().name)) {
          value = own;
          pointer = pointer_to(pointer, kind().name);
        }
      }
      LearnedWeights learned =
          read_parameters(value, pointer, attention(), result_.transformer.memory,
                          layers_.value_or(1), feed_forward_, tensors_);
      result_.projections = std::move(learned.projections);
      result_.transformer.layers = std::move(learned.layers);
      result_.transformer.decoder = decoder();
    });
  }

  void read_masks() {
    attention().mask = read_mask(find("mask"), find("valid_lens"), "/mask", "/valid_lens",
                                 attention().dtype, tensors_, problems_, result_.warnings);
    result_.transformer.memory_mask =
        read_mask(find("memory_mask"), find("memory_valid_lens"), "/memory_mask",
                  "/memory_valid_lens", attention().dtype, tensors_, problems_, result_.warnings);
    // What filled up the tokens' rows is padding: of the memory where keys come from it.
    if (first_ && (is(Family::transformer) || !attention().key)) {
      attention().mask.padding = united_padding(attention().mask.padding, first_->padding);
    }
    if (second_) {
      Mask& mask = decoder() ? result_.transformer.memory_mask : attention().mask;
      mask.padding = united_padding(mask.padding, second_->padding);
    }
  }

  void finish() {
    // Dropout draws last.
    read("dropout",
         [&](const JsonValue& value, const std::string& at) { read_dropout(value, at); });
    if (decoder() && !attention().mask.causal) {
      result_.warnings.emplace_back(
          "the decoder's self-attention is not causal: every query sees the keys after it; "
          "\"mask\": {\"causal\": true} "
          "hides them");
    }
    problems_.attempt([&] { check_together(); });
  }

  void read_dropout(const JsonValue& value, const std::string& at) {
    constexpr std::array<std::string_view, 2> known{"p", "training"};
    expect_known_keys(value, known, at);
    const JsonValue *p = value.find("p"), *training = value.find("training");
    if (!p)
      throw input_error("dropout has no p", pointer_to(at, "p"),
                        "give the probability to drop a weight, such as 0.1");
    const double probability = expect_number(*p, pointer_to(at, "p"));
    if (!(probability >= 0 && probability <= 1)) {
      throw input_error("the probability of dropout is outside 0…1", pointer_to(at, "p"),
                        "give a number from 0 to 1");
    }
    if (!training || !expect_boolean(*training, pointer_to(at, "training"))) return;
    // The generator as all other draws have left it; each attention of the layers draws on.
    const auto random = std::make_shared<TorchRandom>(tensors_.generator(at));
    attention().dropout = Dropout{probability, [random, probability](const Shape& shape) {
                                    std::vector<std::uint8_t> kept(element_count(shape));
                                    random->bernoulli(kept, 1 - probability);
                                    return Tensor(shape, std::move(kept));
                                  }};
  }

  void check_together() {
    Geometry queries, keys;  // whose labels name the queries, and whose the keys
    if (is(Family::transformer)) {
      TransformerRequest& transformer = result_.transformer;
      transformer.attention = attention();
      const TransformerGeometry geometry = check_transformer(transformer);
      queries = geometry.self;
      keys = decoder() ? geometry.cross : geometry.self;
      check_feed_forward();
    } else if (is(Family::projected)) {
      Shape output;
      queries = keys = check_projected({attention(), result_.projections}, "", output);
    } else {
      queries = keys = check_geometry(attention());
      const Visibility mask_fits(attention().mask, keys);
    }
    check_memory(element_count(queries.weights_shape()), size_of(attention().dtype),
                 "the weights " + text(queries.weights_shape()), "");
    read_own_labels(queries, keys);
  }

  void check_feed_forward() {
    for (const TransformerLayer& layer : result_.transformer.layers) {
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
  void read_own_labels(const Geometry& queries, const Geometry& keys) {
    if (const JsonValue* value = find("labels")) {
      result_.labels = read_labels(*value, "/labels", queries.batch, queries.queries, keys.keys);
    }
    Labels& labels = result_.labels;
    const auto fits = [](const std::vector<std::vector<std::string>>& lists, std::size_t length) {
      return !lists.empty() && lists[0].size() == length;
    };
    if (labels.query.empty() && first_ && fits(first_->labels, queries.queries))
      labels.query = first_->labels;
    if (labels.key.empty() && second_ && fits(second_->labels, keys.keys))
      labels.key = second_->labels;
    const bool to_itself = !attention().key && !decoder() && !is(Family::given_scores);
    if (to_itself && labels.key.empty() && fits(labels.query, keys.keys)) labels.key = labels.query;
    if (to_itself && labels.query.empty() && fits(labels.key, queries.queries))
      labels.query = labels.key;
  }

  const JsonValue& root_;
  std::span<const Kind> kinds_;
  Problems& problems_;
  TensorSource tensors_;
  DocumentRequest result_;
  std::optional<TokenStates> first_, second_;
  std::optional<std::size_t> feed_forward_, layers_;
};

}  // namespace

std::vector<Kind> read_kinds(const JsonValue& root) {
  const std::string at = "/attention";
  const JsonValue* value = root.find("attention");
  if (!value) {
    throw input_error("the document does not say which attention to compute", at,
                      "add \"attention\", such as \"scaled_dot_product\"");
  }
  if (!value->is(JsonValue::Type::array)) return {read_kind(*value, at)};
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Kind kind = read_kind(value->element(i), pointer_to(at, i));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw input_error("the kind \"" + std::string(info(kind).name) + "\" is given twice",
                        pointer_to(at, i), "name each kind once");
    }
    kinds.push_back(kind);
  }
  if (kinds.empty()) throw input_error("the list of kinds is empty", at, "name at least one kind");
  return kinds;
}

DocumentRequest read_document(const Document& document, Kind kind, std::span<const Kind> kinds,
                              Problems& problems) {
  return Reader(document, kind, kinds, problems).read();
}

}  // namespace attn
