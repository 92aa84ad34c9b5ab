#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>

#include "attn/error.hpp"

#include "document/paged_keys.hpp"
#include "document/reader.hpp"
#include "io/json_value.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

/// Reads one document for one kind, part by part.
class KindReader {
 public:
  KindReader(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
             TensorSource& tensors)
      : kinds_(kinds), parts_{{}, document.root(), problems, tensors} {
    parts_.plan.kind = kind;
    const auto needs_memory = [](Kind one) {
      return one == Kind::cross || one == Kind::decoder_layer || one == Kind::transformer;
    };
    parts_.memory_is_for_others =
        (kind == Kind::self || kind == Kind::multi_head || kind == Kind::encoder_layer) &&
        std::any_of(kinds.begin(), kinds.end(), needs_memory);
  }

  Plan read() {
    check_document_keys(parts_.root, parts_.problems);
    check_keys_of_kinds(parts_.root, kinds_, parts_.problems);
    const std::size_t before_options = parts_.problems.errors().size();
    read_options();
    const std::size_t before_tensors = parts_.problems.errors().size();
    read_tensors();
    // After a problem with a value that sizes depend on, further checks would only add its
    // consequences.
    const auto sizes_are_known_since = [&](std::size_t before) {
      const std::span<const Error> found = std::span(parts_.problems.errors()).subspan(before);
      return std::all_of(found.begin(), found.end(), leaves_sizes);
    };
    if (sizes_are_known_since(before_tensors)) read_learned();
    read_linear_attention();
    read_masks();
    parts_.problems.attempt([&] { add_keys(); });
    const bool whole = sizes_are_known_since(before_options);
    read_positions();
    if (whole) assemble_plan(parts_);
    return std::move(parts_.plan);
  }

 private:
  // Whether the error is about a key on which no size depends.
  static bool leaves_sizes(const Error& error) {
    std::string_view key = error.where();
    if (!key.starts_with('/')) return false;
    key.remove_prefix(1);
    const DocumentKey* row = find_key(key.substr(0, key.find('/')));
    return row != nullptr && row->leaves_sizes;
  }

  template <class Store>
  void read(const char* key, Store&& store) {
    if (const JsonValue* value = parts_.find(key))
      parts_.problems.attempt([&] { store(*value, pointer_to("", key)); });
  }

  void read_options() {
    read_plain_values(parts_.root, parts_.kind(), parts_.problems, parts_);
    if (parts_.kind().kind == Kind::multi_head && !parts_.states.heads) {
      parts_.states.heads = 1;
      parts_.plan.warnings.emplace_back(
          translated("multi_head without \"heads\" has one head: write \"heads\" with their "
                     "number"));
    }
  }

  Tensor read_tensor(const char* key) {
    Tensor tensor;
    read(key, [&](const JsonValue& value, const std::string& at) {
      tensor = parts_.tensors.read(value, parts_.numbers(), at);
      check_range(tensor, parts_.options.dtype, at);
    });
    return tensor;
  }

  // In the order in which PyTorch draws random tensors.
  void read_tensors() {
    read("seed", [&](const JsonValue& value, const std::string& at) {
      parts_.tensors.seed(0);  // so that a wrong seed does not prevent the check of sizes
      parts_.tensors.seed(expect_integer(value, at, INT64_MIN));
    });
    read_tokens();
    Tensor query = read_tensor("query"), key = read_tensor("key"), value = read_tensor("value");
    Tensor x = read_tensor("x"), memory = read_tensor("memory");
    parts_.states.past_key = read_tensor("past_key");
    parts_.states.past_value = read_tensor("past_value");
    parts_.scores = read_tensor("scores");
    read("block_table", [&](const JsonValue& table, const std::string& at) {
      check_rows(table, at);
      read_pages(parts_.tensors.read(table, DType::int64, at), at, key, value);
    });
    const auto note = [&](const char* name, const Tensor& tensor) {
      if (tensor) parts_.plan.shapes.emplace_back(name, tensor.shape());
    };
    note("x", x);
    note("memory", memory);
    // States that could not be read have their own problem.
    const bool lost = (parts_.find("x") && !x) || (parts_.find("query") && !query) || lost_tokens_;
    if (!lost) parts_.problems.attempt([&] { place(query, key, value, x, memory); });

    note("scores", parts_.scores);
    note("query", parts_.states.query);
    note("key", parts_.decoder() ? parts_.transformer.memory : parts_.states.key_or_query());
    note("value", parts_.decoder() ? parts_.transformer.memory : parts_.states.value_or_key());
    note("past_key", parts_.states.past_key);
    note("past_value", parts_.states.past_value);
  }

  // Throws Error(input) for a short row of whole numbers, which are sizes that something is to be
  // drawn in.
  static void check_is_no_shape(const Tensor& tensor, const std::string& key) {
    if (!tensor || is_shape_only(tensor) || tensor.rank() != 1 || tensor.size() > 4) return;
    const Tensor row = tensor.converted(DType::float64);
    std::string sizes;
    for (const double size : row.values<double>()) {
      if (size < 1 || std::floor(size) != size) return;
      sizes += (sizes.empty() ? "" : ",") + number_text(size);
    }
    throw input_error(translated("{1} {2} is not [L,D] or [B,L,D]", key, text(tensor.shape())),
                      "/" + key,
                      translated("if these are sizes, write {1}", "{\"rand\": [" + sizes + "]}"));
  }

  // Whether the document says which axes of a tensor are which.
  bool has_layout(const char* key) const {
    const JsonValue* const tensor = parts_.find(key);
    if (tensor == nullptr || !tensor->is(JsonValue::Type::object)) return false;
    const JsonValue* const steps = tensor->find("view");
    const bool last = steps != nullptr && steps->is(JsonValue::Type::array) && steps->size() > 0;
    return tensor->find("layout") ||
           (last && steps->element(steps->size() - 1).find("layout") != nullptr);
  }

  // Throws Error(input) for samples of different numbers of pages.
  static void check_rows(const JsonValue& table, const std::string& at) {
    if (!table.is(JsonValue::Type::array) || table.block() != nullptr) return;
    for (std::size_t i = 1; i < table.size(); ++i) {
      const JsonValue &first = table.element(0), &row = table.element(i);
      const bool lists = first.is(JsonValue::Type::array) && row.is(JsonValue::Type::array);
      if (!lists || row.size() == first.size()) continue;
      throw input_error(
          translated("row {1} names {2} pages, and the first one {3}", i, row.size(), first.size()),
          pointer_to(at, i), translated("fill shorter rows up with -1"));
    }
  }

  // Pages [N,P,H,D] of a tensor whose layout brought it into the order N, H, P, D.
  static Tensor as_pages(const Tensor& tensor) {
    return tensor.rank() == 4 ? permuted(tensor, {0, 2, 1, 3}) : tensor;
  }

  // Puts the rows of pages in the place of key and value.
  void read_pages(const Tensor& table, const std::string& at, Tensor& key, Tensor& value) {
    if (!key) {
      throw input_error(translated("\"block_table\" is given without pages of keys"), at,
                        translated("give \"key\" and \"value\" as [N,P,D] or [N,P,H,D]"));
    }
    if (has_layout("key")) key = as_pages(key);
    if (value && has_layout("value")) value = as_pages(value);
    PagedKeys& pages = parts_.plan.pages.emplace(table, at, parts_.tensors.sketching());
    const std::size_t rows_of_page = key.rank() > 1 ? key.shape()[1] : 1;
    key = pages.gathered(key, "key", "/key");
    if (value) value = pages.gathered(value, "value", "/value");
    if (!parts_.tensors.sketching()) absent_rows_ = pages.padding(rows_of_page);
  }

  void read_tokens() {
    const bool first =
        parts_.is(Family::given_scores) ? false : TokenReader::gives(parts_.root, "");
    const bool second = (parts_.find("memory_tokens") || parts_.find("memory_token_ids") ||
                         parts_.find("memory_text"));
    if (!first && !second) {
      for (const char* key : {"embedding", "tokenizer"}) {
        if (!parts_.find(key)) continue;
        warn_of(key, translated("the document has no tokens"));
      }
      return;
    }
    lost_tokens_ = !parts_.problems.attempt([&] {
      const TokenReader reader(parts_.root, parts_.numbers(), parts_.tensors);
      parts_.plan.positions_added = reader.adds_positions();
      const auto keep = [&](const TokenStates& states, const std::string& prefix) {
        for (const std::string& warning : states.warnings) parts_.plan.warnings.push_back(warning);
        if (parts_.tensors.sketching()) return;
        if (prefix.empty()) parts_.plan.token_rows = states.rows;
        parts_.plan.tokens.push_back({prefix + "token_ids", states.ids});
        parts_.plan.tokens.push_back(
            {prefix + "embedded", states.embedded.converted(parts_.numbers())});
        if (states.recovered)
          parts_.plan.tokens.push_back({prefix + "recovered_ids", states.recovered});
      };
      if (first) {
        parts_.first = reader.read(parts_.root, "", parts_.tensors);
        keep(*parts_.first, "");
        parts_.plan.recovered_tokens = parts_.first->recovered_tokens;
      }
      if (second) {
        parts_.second = reader.read(parts_.root, "memory_", parts_.tensors);
        keep(*parts_.second, "memory_");
      }
    });
  }

  // Chooses the query, the key and the value. Throws Error(input) for tensors that exclude each
  // other.
  void place(Tensor& query, Tensor& key, Tensor& value, Tensor& x, Tensor& memory) {
    const auto instead = [&](const std::optional<TokenStates>& states, Tensor& tensor,
                             const char* name) {
      if (!states) return;
      if (tensor) {
        throw input_error(
            translated("\"{1}\" and tokens cannot both be given", name), std::string("/") + name,
            translated("leave one of them out: the tokens' embeddings take its place"));
      }
      tensor = states->embedded;
    };
    if (parts_.is(Family::given_scores)) {
      parts_.states.value = value;
      return;
    }
    if (parts_.is(Family::score)) {
      instead(parts_.first, query, "query");
      instead(parts_.second, key, "key");
      if (parts_.root.find("x") != nullptr && !query && kinds_.size() > 1)
        throw states_of_others(parts_.root, parts_.kind().kind, kinds_);
      parts_.states.query = query;
      parts_.states.key = key;
      parts_.states.value = value;
      return;
    }
    instead(parts_.first, x, "x");
    instead(parts_.second, memory, "memory");
    if ((x || memory) && (query || key || value)) {
      const std::string states = parts_.first ? TokenReader::key(parts_.root, "")
                                 : x          ? "x"
                                              : parts_.second_name();
      const std::string other = query ? "query" : key ? "key" : "value";
      throw input_error(translated("\"{1}\" and \"{2}\" cannot both be given", states, other),
                        "/" + other,
                        translated("give \"x\" and, where it is needed, \"memory\", or \"query\", "
                                   "\"key\" and \"value\""));
    }
    check_is_no_shape(x, "x");
    if (!x && !query) {
      throw input_error(translated("there are no hidden states"), "/x",
                        parts_.is(Family::transformer)
                            ? translated("give \"x\" [L,E] or [B,L,E], or tokens with an embedding")
                            : translated("give \"x\" [L,E] or [B,L,E], tokens with an embedding, "
                                         "or \"query\", \"key\" and \"value\""));
    }
    parts_.states.query = x ? x : query;
    if (parts_.is(Family::transformer)) {
      parts_.transformer.memory = memory;
      if (parts_.decoder() && !memory) {
        const bool encodes = parts_.kind().kind == Kind::transformer;
        throw input_error(
            translated("a decoder layer has no memory"), "/memory",
            encodes
                ? translated("give the source's states, which the encoder layers read, [L,E] or "
                             "[B,L,E]; without a source choose \"encoder_layer\"")
                : translated("give the encoder's hidden states [L,E] or [B,L,E]"));
      }
      return;
    }
    if (parts_.kind().kind == Kind::cross && !memory && !key) {
      throw input_error(translated("cross-attention has no memory"), "/memory",
                        translated("give the hidden states it attends to, [L,E] or [B,L,E]"));
    }
    parts_.states.key = x ? memory : key;
    parts_.states.value = x ? memory : value;
  }

  void read_learned() {
    parts_.problems.attempt([&] {
      const JsonValue* value = parts_.find("parameters");
      std::string pointer = "/parameters";
      // Parameters may be given by kind.
      if (value && has_kinds(*value)) {
        const JsonMember* own = find_by_kind(*value, parts_.kind().kind, pointer);
        pointer = pointer_to(pointer, own ? std::string_view(own->key) : parts_.kind().name);
        value = own ? &own->value : nullptr;
      }
      try {
        parts_.learned =
            read_parameters(value, pointer, parts_.kind().kind, parts_.states, parts_.options.dtype,
                            parts_.transformer.memory, parts_.layers, parts_.feed_forward,
                            parts_.transformer.gated, parts_.norm_kind, parts_.tensors);
      } catch (const Error& error) {
        // A member that one kind needs and another one refuses.
        if (value == nullptr || error.where() != "/parameters/hidden") throw;
        const std::string each = drawn_by_kind(*value, kinds_);
        if (each.empty()) throw;
        throw input_error(error.problem(), error.where(),
                          translated("give each kind its own: {1}", "\"parameters\": " + each));
      }
      parts_.plan.warnings.insert(parts_.plan.warnings.end(), parts_.learned.warnings.begin(),
                                  parts_.learned.warnings.end());
    });
  }

  // Each query sees the keys up to it, whatever the attention has in place of a softmax.
  void read_linear_attention() {
    read("linear_attention", [&](const JsonValue& value, const std::string& at) {
      const LinearRule rule = read_linear_rule(value, at, parts_.numbers(), parts_.tensors);
      causal_ = true;
      add_linear_attention(parts_, rule, at);
    });
  }

  // Puts rows that torch.nn.MultiheadAttention would add behind all keys before them, as a past.
  void add_keys() {
    const Tensor& bias_k = parts_.learned.bias_k;
    Sequences& states = parts_.states;
    if (parts_.add_zero_attn && states.past_key) {
      throw input_error(translated("\"add_zero_attn\" and \"past_key\" cannot both be given"),
                        "/add_zero_attn", translated("put a row of zeros into the past"));
    }
    const Tensor& key = states.key ? states.key : states.query;
    if ((!bias_k && !parts_.add_zero_attn) || !key || key.rank() < 2) return;
    const Tensor& value = states.value ? states.value : key;
    const bool projected = parts_.is(Family::projected);
    const Projections& learned = parts_.learned.projections;
    const auto rows = [&](const Tensor& bias, const Tensor& like, const Linear& by) {
      const DType dtype = parts_.numbers();
      Shape shape = like.shape();
      shape[shape.size() - 2] = 1;
      if (projected && by.weight) shape.back() = by.weight.shape()[0];
      if (projected && shape.size() == 3) shape[0] = 1;
      std::vector<Tensor> all;
      if (parts_.add_zero_attn) {
        const auto zeros = [&]<class T>() {
          return Tensor(shape, std::vector<T>(element_count(shape)));
        };
        all.push_back(with_float_type(dtype, zeros));
      }
      if (bias && bias.size() != shape.back()) {
        throw input_error(
            translated("{1} {2} does not fit: expected {3}", &bias == &bias_k ? "bias_k" : "bias_v",
                       text(bias.shape()), text({1, 1, shape.back()})),
            "/parameters", translated("give one number per column of the keys"));
      }
      if (bias) all.push_back(bias.reshaped(shape));
      return concatenated(all, shape.size() - 2);
    };
    states.past_key = rows(bias_k, key, learned.key);
    states.past_value = rows(parts_.learned.bias_v, value, learned.value);
    parts_.added_keys = states.past_key.shape()[states.past_key.rank() - 2];
    if (parts_.options.relative_bias || parts_.options.mask.alibi) {
      throw input_error(translated("rows that are added to the keys have no distance"),
                        parts_.options.mask.alibi ? "/mask/alibi" : "/relative_bias",
                        translated("leave it out, or give its numbers as \"bias\" of the mask"));
    }
  }

  void read_masks() {
    const auto read = [&](const MaskSource& source) {
      return read_mask(source, parts_.numbers(), parts_.tensors, parts_.problems,
                       parts_.plan.warnings);
    };
    parts_.mask = read({parts_.find("mask"), parts_.find("valid_lens"), "/mask", "/valid_lens",
                        parts_.find("attention_mask")});
    parts_.memory_mask = read({parts_.find("memory_mask"), parts_.find("memory_valid_lens"),
                               "/memory_mask", "/memory_valid_lens"});
    parts_.source_mask = read({parts_.find("source_mask"), parts_.find("source_valid_lens"),
                               "/source_mask", "/source_valid_lens"});
    parts_.encoder_mask = parts_.source_mask;
    if (causal_) parts_.mask.causal = true;
    parts_.options.mask = parts_.mask;
    parts_.transformer.memory_mask = parts_.memory_mask;
    // Positions behind the end of a sequence are padding, in the mask of the attention whose keys
    // they are.
    const Tensor& past = parts_.states.past_key;
    const std::size_t before = past && past.rank() >= 2 ? past.shape()[past.rank() - 2] : 0;
    const auto hide_padding = [&](Mask& mask, const TokenStates& tokens) {
      if (parts_.tensors.sketching()) return;
      mask.padding = united_padding(mask.padding, tokens.padding, before);
    };
    if (absent_rows_) {
      const auto absent = absent_rows_.values<std::uint8_t>();
      Tensor& padding = parts_.options.mask.padding;
      const bool any = std::find(absent.begin(), absent.end(), 1) != absent.end();
      warn_of_shared_queries();
      if (any) {
        parts_.problems.attempt([&] { check_pages(parts_.mask.valid_lens, before); });
        padding = united_padding(padding, absent_rows_, before);
      }
    }
    if (parts_.first && (parts_.is(Family::transformer) || !parts_.states.key))
      hide_padding(parts_.options.mask, *parts_.first);
    if (parts_.second && parts_.encoder()) hide_padding(parts_.encoder_mask, *parts_.second);
    if (parts_.second)
      hide_padding(parts_.decoder() ? parts_.transformer.memory_mask : parts_.options.mask,
                   *parts_.second);
  }

  // Warns of queries of one sample over the pages of several, which share them.
  void warn_of_shared_queries() {
    const Tensor& query = parts_.states.query;
    const std::size_t tables = absent_rows_.shape()[0];
    if (!query || query.rank() != 4 || query.shape()[0] != 1 || tables < 2) return;
    const Shape& shape = query.shape();
    std::string warning =
        translated("the {1} rows of block_table share the queries of one sample", tables);
    if (shape[2] == tables) {
      warning += translated(
          "; if each has a query of its own, write {1} into the query",
          "\"reshape\": " + text({tables, 1, shape[1], shape[3]}) + ", \"layout\": \"BLHD\"");
    }
    parts_.plan.warnings.push_back(std::move(warning));
  }

  // Checks that the pages of each sample hold its valid keys, of which `before` are a past.
  void check_pages(const Tensor& lens, std::size_t before) const {
    if (!lens || lens.rank() != 1 || lens.size() != absent_rows_.shape()[0]) return;
    const auto absent = absent_rows_.values<std::uint8_t>();
    const std::size_t rows = absent_rows_.shape()[1];
    for (std::size_t sample = 0; sample < lens.size(); ++sample) {
      const auto held = std::ranges::count(absent.subspan(sample * rows, rows), 0) +
                        static_cast<std::ptrdiff_t>(before);
      const std::int64_t valid = lens.values<std::int64_t>()[sample];
      if (valid <= held) continue;
      throw with_layout(
          input_error(translated("sample {1} has {2} valid keys, and its pages hold {3}", sample,
                                 valid, held),
                      "/block_table",
                      translated("name the pages of all valid keys, or give fewer in valid_lens")),
          parts_);
    }
  }

  void read_positions() {
    read_values_in_turn(parts_.root, parts_.kind(), parts_.tensors, parts_.problems, parts_);
    for (Expression* expression :
         {&parts_.options.score_expression, &parts_.options.weight_expression,
          &parts_.options.mask.where, &parts_.transformer.memory_mask.where,
          &parts_.encoder_mask.where}) {
      expression->tables = parts_.tables;
    }
    warn_of_lone_keys();
    parts_.problems.attempt([&] {
      if (!parts_.transformer.memory_mask.alibi) return;
      throw input_error(translated("ALiBi has no meaning for a decoder layer's cross-attention"),
                        "/memory_mask/alibi", translated("leave it out, or put it into \"mask\""));
    });
  }

  void warn_of(const std::string& key, const std::string& reason) {
    parts_.plan.warnings.push_back(translated("\"{1}\" has no effect: {2}", key, reason));
  }

  // Warns of keys that act on what the document lacks.
  void warn_of_lone_keys() {
    const AttentionOptions& options = parts_.options;
    const auto warn_if = [&](bool lone, const char* key, const std::string& reason) {
      if (lone && parts_.find(key)) warn_of(key, reason);
    };
    const bool norm = parts_.is(Family::transformer) || options.query_norm || options.key_norm;
    warn_if(!norm, "eps", translated("there is no norm"));
    warn_if(!options.softcap, "softcap_after", translated("there is no \"softcap\""));
    warn_if(!is_half(options.dtype), "rounding",
            translated("it acts with \"dtype\": \"bfloat16\" or \"float16\" alone"));
    warn_if(!parts_.dropout, "dropout", translated("it acts with \"training\": true alone"));
    // Each of several kinds may draw numbers, so that only the last one can tell.
    const bool last = parts_.kind().kind == kinds_.back();
    warn_if(last && !parts_.dropout && !parts_.tensors.has_drawn(), "seed",
            translated("nothing is drawn at random"));
    parts_.problems.attempt([&] {
      const double scale = options.scale.value_or(0);
      const bool held = std::abs(scale) <= std::numeric_limits<float>::max();
      if (held || parts_.numbers() == DType::float64) return;
      throw input_error(
          translated("the number {1} is beyond the range of {2}", number_text(scale), "float32"),
          "/scale", translated("give a smaller one"));
    });
    if (options.scale == 0) {
      parts_.plan.warnings.emplace_back(
          translated("\"scale\" is 0: all scores are 0 before biases are added"));
    }
    for (const auto& table : parts_.tables) {
      if (!is_read(table.first)) {
        warn_of("tables." + table.first, translated("no expression reads it"));
      }
    }
    warn_of_lone_parts(parts_.mask);
  }

  // Likewise of parts of the mask.
  void warn_of_lone_parts(const ReadMask& mask) {
    const AttentionOptions& options = parts_.options;
    const bool packed = !mask.query_ends.empty() || !mask.key_ends.empty();
    const bool by_place = mask.causal || mask.window || mask.chunk || packed;
    if (mask.prefix && !by_place) {
      warn_of("mask.prefix", translated("neither causal nor a window nor chunk hides a key; write "
                                        "\"causal\": true beside it, or leave it out"));
    }
    const bool hides = mask.hides() || mask.bias || mask.keep || mask.query_lens || packed;
    // Shorter sequences of tokens are padded, and pages may have rows that none uses.
    const bool padded = parts_.first || parts_.second || parts_.plan.pages;
    if (mask.fill && !hides && !padded) {
      warn_of("mask.fill",
              translated(
                  "no key is hidden; write what hides keys beside it, such as \"causal\": true"));
    }
    const bool by_position = by_place || mask.alibi || mask.where || mask.documents ||
                             options.rotary || options.relative_bias || options.score_expression ||
                             options.weight_expression;
    if (mask.aligned && !by_position) {
      warn_of("mask.align",
              translated("nothing depends on where queries stand among the keys; add \"causal\": "
                         "true or \"window\": {\"left\": …, \"right\": …} to the mask"));
    }
  }

  // Whether an expression of the document has the name of a table.
  bool is_read(const std::string& table) const {
    const auto in_name = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    const auto reads = [&](const Expression& expression) {
      const std::string& text = expression.text;
      for (std::size_t at = text.find(table); at != text.npos; at = text.find(table, at + 1)) {
        const std::size_t end = at + table.size();
        if ((at == 0 || !in_name(text[at - 1])) && (end == text.size() || !in_name(text[end])))
          return true;
      }
      return false;
    };
    return reads(parts_.options.score_expression) || reads(parts_.options.weight_expression) ||
           reads(parts_.options.mask.where) || reads(parts_.transformer.memory_mask.where) ||
           reads(parts_.encoder_mask.where);
  }

  bool causal_ = false;  // whether the attention sees the keys up to each query by its nature
  std::span<const Kind> kinds_;
  DocumentParts parts_;
  bool lost_tokens_ = false;  // whether tokens are given that could not be read
  Tensor absent_rows_;  // of pages that a block table does not name, [B,Lk]; absent without one
};

}  // namespace

const JsonValue* DocumentParts::find(std::string_view key) const {
  if (memory_is_for_others && key.starts_with("memory")) return nullptr;
  const DocumentKey* row = find_key(key);
  return row != nullptr && row->takes(kind()) ? root.find(key) : nullptr;
}

bool DocumentParts::has(std::string_view key, std::string_view member) const {
  const JsonValue* const outer = find(key);
  return outer != nullptr && outer->find(member) != nullptr;
}

std::string DocumentParts::second_name() const {
  return second ? TokenReader::key(root, "memory_") : is(Family::score) ? "key" : "memory";
}

DocumentNames DocumentParts::names_of_tensors() const {
  DocumentNames names;
  if (first) {
    names.tensor("query", TokenReader::key(root, ""));
  } else if (root.find("x") && is_projecting()) {
    names.tensor("query", "x");
  }
  if (decoder() && second) names.tensor("memory", second_name());
  const bool own = root.find("x") || first;
  if (second || (own && is_projecting() && states.key)) {
    names.tensor("key", second_name());
    if (is_projecting()) names.tensor("value", second_name());
  }
  return names;
}

Plan read_kind(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
               TensorSource& tensors) {
  Plan plan = KindReader(document, kind, kinds, problems, tensors).read();
  std::ranges::copy(document.doubts(), std::back_inserter(plan.warnings));
  return plan;
}

}  // namespace attn
