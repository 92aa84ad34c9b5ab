#include "models/sentence_embedding.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "models/checkpoint.hpp"
#include "models/configuration_reader.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Pooling = SentenceModules::Pooling;
using Similarity = SentenceModules::Similarity;

struct PoolingRow {
  std::string_view name, old_key;  ///< as "pooling_mode" has it, and a key of its own before
  Pooling pooling;
};
// In the order in which the library puts them side by side.
constexpr auto pooling_rows = std::to_array<PoolingRow>({
    {"cls", "pooling_mode_cls_token", Pooling::first},
    {"max", "pooling_mode_max_tokens", Pooling::largest},
    {"mean", "pooling_mode_mean_tokens", Pooling::mean},
    {"mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::mean_by_root},
    {"weightedmean", "pooling_mode_weightedmean_tokens", Pooling::weighted_mean},
    {"lasttoken", "pooling_mode_lasttoken", Pooling::last},
});

constexpr auto similarity_names =
    std::to_array<std::pair<std::string_view, Similarity>>({{"cosine", Similarity::cosine},
                                                            {"dot", Similarity::dot},
                                                            {"euclidean", Similarity::euclidean},
                                                            {"manhattan", Similarity::manhattan}});

struct FunctionRow {
  std::string_view name;
  double (*of)(double);  ///< null = none
};
constexpr auto dense_functions = std::to_array<FunctionRow>({
    {"Identity", nullptr},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"ReLU", [](double x) { return std::max(x, 0.0); }},
    {"Sigmoid", [](double x) { return sigmoid(x); }},
    {"GELU", [](double x) { return x * std::erfc(-x * std::sqrt(0.5)) / 2; }},
    {"SiLU", [](double x) { return x * sigmoid(x); }},
});

// The last part of a name of Python: "Pooling" of "sentence_transformers.models.Pooling".
std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // npos + 1 = 0
}

std::string text_in(const JsonValue& settings, const std::string& key) {
  const JsonValue* value = present_member(settings, key);
  if (value == nullptr) return "";
  if (!value->is(JsonValue::Type::string)) refuse_type(key, *value, to_translate("a text"));
  return value->string();
}

bool truth_in(const JsonValue& settings, const std::string& key, bool otherwise) {
  const JsonValue* value = present_member(settings, key);
  if (value == nullptr) return otherwise;
  if (!value->is(JsonValue::Type::boolean)) refuse_type(key, *value, to_translate("a boolean"));
  return value->boolean();
}

std::optional<std::size_t> count_in(const JsonValue& settings, const std::string& key) {
  const JsonValue* value = present_member(settings, key);
  // A tokenizer without a limit has a number beyond all.
  constexpr double beyond = 1e9;
  if (value == nullptr || !value->is(JsonValue::Type::number)) return std::nullopt;
  if (!(value->number() >= 1) || value->number() > beyond) return std::nullopt;
  return static_cast<std::size_t>(value->number());
}

std::vector<Pooling> poolings_in(const JsonValue& settings) {
  std::vector<Pooling> all;
  if (const JsonValue* modes = present_member(settings, "pooling_mode")) {
    for (const std::string& name : strings_of(*modes)) {
      const auto row = std::ranges::find(pooling_rows, name, &PoolingRow::name);
      if (row == pooling_rows.end()) {
        refuse_key("pooling_mode", translated("the pooling {1} is not known", in_quotes(name)),
                   translated("known ones are cls, max, mean, mean_sqrt_len_tokens, weightedmean "
                              "and lasttoken"));
      }
      all.push_back(row->pooling);
    }
    return all;
  }
  for (const PoolingRow& row : pooling_rows) {
    if (truth_in(settings, std::string(row.old_key), false)) all.push_back(row.pooling);
  }
  return all.empty() ? std::vector{Pooling::mean} : all;
}

/// Reads the modules of one folder.
class ModulesReader {
 public:
  ModulesReader(const std::filesystem::path& folder, std::size_t width, const ReadSettings& read,
                const FileAccess& access)
      : folder_(folder), width_(width), read_(read), access_(access) {}

  /// Null if one of them is not known, which `unknown` is set to.
  std::shared_ptr<const SentenceModules> read(const JsonValue& list, std::string& unknown) {
    const auto in_list = [&](const auto& work) { in_file("modules.json", work); };
    in_list([&] { expect_array(list); });
    for (std::size_t i = 0; i < list.size(); ++i) {
      std::string type, path;
      in_list([&] {
        const JsonValue& one = list.element(i);
        if (!one.is(JsonValue::Type::object)) refuse_type("", one, to_translate("an object"));
        type = text_in(one, "type");
        path = text_in(one, "path");
        if (path.starts_with('/') || path.find("..") != path.npos) {
          refuse_key("path", translated("the path {1} leaves the folder", in_quotes(path)),
                     translated("give a folder within it"));
        }
      });
      if (!add(last_part(type), path)) {
        unknown = type;
        return nullptr;
      }
    }
    if (own_.pooling.empty()) return nullptr;
    read_settings();
    return std::make_shared<const SentenceModules>(std::move(own_));
  }

 private:
  static void expect_array(const JsonValue& list) {
    if (!list.is(JsonValue::Type::array)) refuse_type("", list, to_translate("an array"));
  }

  // Errors of a file name its place in the folder.
  template <class Work>
  void in_file(const std::filesystem::path& file, const Work& work) const {
    try {
      work();
    } catch (const Error& error) {
      throw error.inside((folder_ / file).string());
    }
  }

  bool add(std::string_view type, const std::string& path) {
    const std::filesystem::path file = std::filesystem::path(path) / "config.json";
    if (type == "Transformer") transformer_ = path;
    if (type == "Transformer" || type == "Dropout") return true;
    const bool pooled = !own_.pooling.empty();
    if (type == "Normalize" && pooled) {
      own_.steps.emplace_back();
      return true;
    }
    if (type != "Pooling" && (type != "Dense" || !pooled)) return false;
    const auto settings = read_(file);
    if (!settings) {
      throw Error(ErrorKind::file, translated("the file {1} is missing", in_quotes(file.native())),
                  folder_.string(), translated("download the file again"));
    }
    bool known = true;
    in_file(file, [&] {
      if (type == "Pooling") {
        own_.pooling = poolings_in(*settings);
        known = truth_in(*settings, "include_prompt", true);
      } else {
        known = add_dense(*settings, path);
      }
    });
    return known;
  }

  bool add_dense(const JsonValue& settings, const std::string& path) {
    const std::string input = text_in(settings, "module_input_name");
    if (truth_in(settings, "use_residual", false)) return false;
    if (!input.empty() && input != "sentence_embedding") return false;
    const std::string name = text_in(settings, "activation_function");
    const auto function = std::ranges::find(
        dense_functions, name.empty() ? "Tanh" : last_part(name), &FunctionRow::name);
    if (function == dense_functions.end()) return false;
    const CheckpointWeights weights = CheckpointWeights::open(folder_ / path, access_);
    const std::string weight = "linear.weight", bias = "linear.bias";
    if (!weights.has(weight)) {
      throw input_error(translated("the weights have no tensor {1}", in_quotes(weight)),
                        weights.place(), translated("download the file again"));
    }
    const Shape& shape = expect_shape(weights, weight, {0, own_.width(width_)});
    SentenceModules::Step& step = own_.steps.emplace_back();
    step.dense.weight = weights.read(weight).converted(DType::float64);
    if (weights.has(bias)) {
      expect_shape(weights, bias, {shape[0]});
      step.dense.bias = weights.read(bias).converted(DType::float64);
    }
    if (function->of != nullptr) step.function = function->of;
    return true;
  }

  void read_settings() {
    const std::filesystem::path own = "config_sentence_transformers.json";
    if (const auto settings = read_(own)) in_file(own, [&] { read_prompts(*settings); });
    for (const char* name : {"sentence_bert_config.json", "sentence_roberta_config.json",
                             "sentence_distilbert_config.json", "sentence_camembert_config.json",
                             "sentence_albert_config.json", "sentence_xlm-roberta_config.json"}) {
      const std::filesystem::path file = transformer_ / name;
      const auto settings = read_(file);
      if (!settings) continue;
      own_.longest = count_in(*settings, "max_seq_length");
      in_file(file, [&] { own_.lowercases = truth_in(*settings, "do_lower_case", false); });
      return;
    }
  }

  void read_prompts(const JsonValue& settings) {
    const JsonValue* prompts = present_member(settings, "prompts");
    if (prompts != nullptr && !prompts->is(JsonValue::Type::object)) {
      refuse_type("prompts", *prompts, to_translate("an object"));
    }
    for (std::size_t i = 0; prompts != nullptr && i < prompts->members().size(); ++i) {
      const JsonMember& one = prompts->members()[i];
      if (one.value.is(JsonValue::Type::string)) own_.prompts[one.key] = one.value.string();
    }
    own_.default_prompt = text_in(settings, "default_prompt_name");
    const std::string name = text_in(settings, "similarity_fn_name");
    if (name.empty()) return;
    const auto found =
        std::ranges::find(similarity_names, name, &std::pair<std::string_view, Similarity>::first);
    if (found == similarity_names.end()) {
      refuse_key("similarity_fn_name",
                 translated("the similarity {1} is not known", in_quotes(name)),
                 translated("known ones are cosine, dot, euclidean and manhattan"));
    }
    own_.similarity = found->second;
  }

  std::filesystem::path transformer_;  // of its module, in the folder
  const std::filesystem::path& folder_;
  std::size_t width_;
  const ReadSettings& read_;
  const FileAccess& access_;
  SentenceModules own_;
};

// Σ share · row of [L,D], divided by the sum of the shares or by its root.
std::vector<double> pooled_rows(std::span<const double> rows, std::size_t width, bool by_place,
                                bool by_root) {
  std::vector<double> sums(width, 0);
  double whole = 0;
  for (std::size_t i = 0; i * width < rows.size(); ++i) {
    const double share = by_place ? static_cast<double>(i + 1) : 1;
    whole += share;
    for (std::size_t d = 0; d < width; ++d) sums[d] += share * rows[i * width + d];
  }
  for (double& x : sums) x /= by_root ? std::sqrt(whole) : whole;
  return sums;
}

std::vector<double> pooled_by(Pooling pooling, std::span<const double> rows, std::size_t width) {
  const auto row = [&](std::size_t first) {
    const auto own = rows.subspan(first, width);
    return std::vector<double>(own.begin(), own.end());
  };
  switch (pooling) {
    case Pooling::first:
      return row(0);
    case Pooling::last:
      return row(rows.size() - width);
    case Pooling::largest: {
      std::vector<double> largest = row(0);
      for (std::size_t at = 0; at < rows.size(); ++at) {
        largest[at % width] = std::max(largest[at % width], rows[at]);
      }
      return largest;
    }
    case Pooling::mean:
    case Pooling::mean_by_root:
    case Pooling::weighted_mean:
      break;
  }
  return pooled_rows(rows, width, pooling == Pooling::weighted_mean,
                     pooling == Pooling::mean_by_root);
}

double vector_length(std::span<const double> x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

// Vectors shorter than this are divided by it.
constexpr double least_length = 1e-12;

// Adds to the parts of tokens, rows of `columns` numbers from `first` on, what each gives to the
// pooled vector of rows [L,D].
void add_parts(Pooling pooling, std::span<const double> rows, std::size_t width, std::size_t first,
               std::size_t columns, std::vector<double>& parts) {
  const std::size_t length = rows.size() / width;
  const auto add = [&](std::size_t token, std::size_t d, double share) {
    parts[token * columns + first + d] += share * rows[token * width + d];
  };
  double whole = static_cast<double>(length);
  if (pooling == Pooling::weighted_mean) whole *= (whole + 1) / 2;
  if (pooling == Pooling::mean_by_root) whole = std::sqrt(whole);
  for (std::size_t d = 0; d < width; ++d) {
    std::size_t only = pooling == Pooling::last ? length - 1 : 0;
    switch (pooling) {
      case Pooling::largest:
        for (std::size_t i = 1; i < length; ++i) {
          if (rows[i * width + d] > rows[only * width + d]) only = i;
        }
        [[fallthrough]];
      case Pooling::first:
      case Pooling::last:
        add(only, d, 1);
        break;
      case Pooling::mean:
      case Pooling::mean_by_root:
      case Pooling::weighted_mean:
        for (std::size_t i = 0; i < length; ++i) {
          const double weight = pooling == Pooling::weighted_mean ? static_cast<double>(i + 1) : 1;
          add(i, d, weight / whole);
        }
        break;
    }
  }
}

// The vectors of tokens [L,E] that the vector of a text is the sum of, for products of texts: of
// cosines, divided by its length.
Tensor parts_of_tokens(const SentenceModules& modules, const Tensor& states) {
  const Tensor numbers = states.converted(DType::float64);
  const std::size_t width = states.shape()[2], length = states.shape()[1];
  const std::size_t columns = width * modules.pooling.size();
  std::vector<double> all(length * columns, 0);
  for (std::size_t p = 0; p < modules.pooling.size(); ++p) {
    add_parts(modules.pooling[p], numbers.values<double>(), width, p * width, columns, all);
  }
  Tensor parts({length, columns}, std::move(all));
  const auto divide = [&] {
    const std::size_t own = parts.shape()[1];
    std::vector<double> rows(parts.values<double>().begin(), parts.values<double>().end());
    std::vector<double> sum(own, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) sum[i % own] += rows[i];
    const double size = std::max(vector_length(sum), least_length);
    for (double& x : rows) x /= size;
    parts = Tensor(parts.shape(), std::move(rows));
  };
  for (const SentenceModules::Step& step : modules.steps) {
    if (step.dense.weight) {
      parts = apply(step.dense, parts, 1);
    } else {
      divide();
    }
  }
  if (modules.similarity == Similarity::cosine) divide();
  return parts;
}

double similarity_of(Similarity rule, std::span<const double> a, std::span<const double> b) {
  double product = 0, squares = 0, sizes = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = a[i] - b[i];
    product += a[i] * b[i];
    squares += difference * difference;
    sizes += std::abs(difference);
  }
  switch (rule) {
    case Similarity::dot:
      return product;
    case Similarity::euclidean:
      return -std::sqrt(squares);
    case Similarity::manhattan:
      return -sizes;
    case Similarity::cosine:
      break;
  }
  return product / std::max(vector_length(a), least_length) /
         std::max(vector_length(b), least_length);
}

}  // namespace

std::size_t SentenceModules::width(std::size_t states) const {
  std::size_t width = states * pooling.size();
  for (const Step& step : steps) {
    if (step.dense.weight) width = step.dense.weight.shape()[0];
  }
  return width;
}

Tensor SentenceModules::embedding(const Tensor& states) const {
  const Tensor numbers = states.converted(DType::float64);
  const std::size_t width = states.shape()[2];
  std::vector<double> vector;
  for (const Pooling one : pooling) {
    const std::vector<double> own = pooled_by(one, numbers.values<double>(), width);
    vector.insert(vector.end(), own.begin(), own.end());
  }
  for (const Step& step : steps) {
    if (step.dense.weight) {
      const Shape row{1, vector.size()};
      const Tensor made = apply(step.dense, Tensor(row, std::move(vector)), 1);
      vector.assign(made.values<double>().begin(), made.values<double>().end());
      for (double& x : vector) x = step.function ? step.function(x) : x;
      continue;
    }
    const double length = std::max(vector_length(vector), least_length);
    for (double& x : vector) x /= length;
  }
  const Shape row{1, vector.size()};
  return {row, std::move(vector)};
}

bool SentenceModules::sums_over_tokens() const {
  return (similarity == Similarity::cosine || similarity == Similarity::dot) &&
         std::ranges::none_of(
             steps, [](const Step& step) { return step.dense.bias || bool(step.function); });
}

Tensor SentenceModules::token_similarity(const std::vector<Tensor>& states) const {
  std::vector<Tensor> parts;
  std::size_t most_tokens = 0;
  for (const Tensor& own : states) {
    parts.push_back(parts_of_tokens(*this, own));
    most_tokens = std::max(most_tokens, own.shape()[1]);
  }
  const std::size_t rows = parts.front().shape()[0], batch = states.size();
  std::vector<double> all(batch * rows * most_tokens, 0);
  for (std::size_t b = 0; b < batch; ++b) {
    const Tensor products = apply(Linear{parts[b], {}}, parts.front(), 1);
    const std::size_t columns = parts[b].shape()[0];
    for (std::size_t i = 0; i < rows * columns; ++i) {
      all[(b * rows + i / columns) * most_tokens + i % columns] = products.values<double>()[i];
    }
  }
  return {{batch, rows, most_tokens}, std::move(all)};
}

Tensor SentenceModules::similarities(const Tensor& vectors) const {
  const Tensor numbers = vectors.converted(DType::float64);
  const std::size_t batch = vectors.shape()[0], width = vectors.shape()[1];
  const auto row = [&](std::size_t b) {
    return numbers.values<double>().subspan(b * width, width);
  };
  std::vector<double> all;
  all.reserve(batch * batch);
  for (std::size_t a = 0; a < batch; ++a) {
    for (std::size_t b = 0; b < batch; ++b)
      all.push_back(similarity_of(similarity, row(a), row(b)));
  }
  return {{batch, batch}, std::move(all)};
}

std::shared_ptr<const SentenceModules> read_sentence_modules(const std::filesystem::path& folder,
                                                             std::size_t width,
                                                             const ReadSettings& read,
                                                             const FileAccess& access,
                                                             std::vector<std::string>& warnings) {
  const auto list = read("modules.json");
  if (!list) return nullptr;
  std::string unknown;
  ModulesReader reader(folder, width, read, access);
  auto modules = reader.read(*list, unknown);
  if (!unknown.empty()) {
    warnings.push_back(
        translated("sentence embeddings are not computed: the module {1}, or a rule of its, is not "
                   "known",
                   in_quotes(unknown)));
  }
  return modules;
}

std::string name_of(Similarity similarity) {
  const auto row = std::ranges::find(similarity_names, similarity,
                                     &std::pair<std::string_view, Similarity>::second);
  return std::string(row->first);
}

}  // namespace attn
