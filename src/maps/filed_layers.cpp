#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "io/file_members.hpp"
#include "maps/assembled_maps.hpp"
#include "maps/attention_map.hpp"
#include "maps/filed_maps.hpp"
#include "maps/map_selection.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string listed(const std::vector<std::string>& tensors) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(tensors.size(), most); ++i) {
    text += (i > 0 ? ", " : "") + tensors[i];
  }
  if (tensors.size() > most) text += translated(" and {1} more", tensors.size() - most);
  return text;
}

/// Search for the tensors of a stack, file by file.
class LayerSearch {
 public:
  LayerSearch(const MapFiles& files, const std::optional<std::string>& name, MapContents contents,
              bool english)
      : files_(files), name_(name), contents_(contents), english_(english) {}

  FiledLayers found() {
    for (const auto& file : files_) find(*file);
    if (files_.size() > 1) number_files();
    return std::move(found_);
  }

 private:
  void find(ResultReader& file) {
    const std::vector<std::string>& names = file.names();
    if (!name_) {
      find_weights(file);
      return;
    }
    const std::string& name = *name_;
    const bool is_stem = file.only_name() == "" && name == file.stem();
    if (is_stem || std::find(names.begin(), names.end(), name) != names.end()) {
      add(file, {name});
      return;
    }
    if (add_steps(file, names, name)) return;
    if (names_of_pattern(names, name).empty()) {
      file.refuse_other(name);
      const std::vector<std::string_view> known(names.begin(), names.end());
      const std::string meant = meant_pattern(name);
      const bool fits = meant != name && !names_of_pattern(names, meant).empty();
      throw input_error(
          translated("there is no tensor \"{1}\"", name), "MapRequest::name",
          fits ? translated("did you mean \"{1}\"?", meant)
          : lacks_stages(names, name)
              ? translated("the result holds no steps of the score: attn-cli run with "
                           "RunOptions::stages writes them")
          : file.only_name() == ""
              ? translated("leave it out: the file holds one tensor, which has "
                           "no name")
              : suggestion(name, known));
    }
    add_numbered(file, names, name);
  }

  // Whether a step of the score is named of an attention whose weights alone are there.
  static bool lacks_stages(const std::vector<std::string>& names, const std::string& name) {
    constexpr std::string_view steps[]{"scores", "capped", "masked"};
    const std::string step = name.substr(name.rfind('.') + 1);  // npos + 1 = 0
    const auto has = [&](std::string_view quantity) {
      return std::ranges::count(names, AttentionName::of_tensor(name).tensor(quantity)) > 0;
    };
    return std::ranges::count(steps, step) > 0 && has("weights") && !has("scores");
  }

  // The name with a layer's number as other programs write patterns: "layer*", "layer{i}".
  static std::string meant_pattern(std::string name) {
    if (const std::size_t star = name.find('*'); star != name.npos) name.replace(star, 1, "{n}");
    const std::size_t open = name.find('{'), close = name.find('}');
    if (open < close && close != name.npos) name.replace(open, close - open + 1, "{n}");
    return name;
  }

  void add(ResultReader& file, const std::vector<std::string>& tensors) {
    for (const std::string& tensor : tensors) {
      const auto number = file.is_result() || is_map(tensor)
                              ? AttentionName::of_tensor(tensor).layer()
                              : std::nullopt;
      found_.layers.push_back({&file, tensor, number.value_or(found_.layers.size()), ""});
      found_.is_stack = found_.is_stack || number;
    }
  }

  // Adds the layers of steps of decoding that are named `beginning{step}.{layer}`, or begin so
  // without a name; "{n}.1" names the steps of one layer. Returns whether there are any.
  bool add_steps(ResultReader& file, const std::vector<std::string>& names,
                 const std::optional<std::string>& name) {
    std::vector<LayerOfSteps> all = steps_of_layers(names, name);
    if (name && all.empty()) all = steps_of_pattern(names, *name);
    // All steps and layers of a name: "cross_attentions", or with one place for both.
    if (name && all.empty()) {
      const std::size_t place = name->ends_with(".{n}") ? name->size() - 4 : name->size();
      all = steps_of_layers(names, pattern_of_steps(name->substr(0, place) + "."));
    }
    if (all.empty()) return false;
    for (const LayerOfSteps& layer : all) {
      std::vector<Shape> shapes;
      for (const std::string& tensor : layer.tensors)
        shapes.push_back(file.numbers(tensor).shape());
      if (!rows_of_steps(shapes)) return false;
    }
    const std::string pattern = pattern_of_steps(beginning_of_steps(all[0].tensors[0]));
    for (LayerOfSteps& layer : all) {
      FiledLayer& one = found_.layers.emplace_back();
      one.file = &file;
      one.tensor = pattern;
      one.number = layer.layer;
      one.place = layer_text(layer.layer, english_);
      one.steps = std::move(layer.tensors);
    }
    found_.is_stack = true;
    return true;
  }

  // Steps whose numbers "{n}" stands for, before that of their layer.
  static std::vector<LayerOfSteps> steps_of_pattern(const std::vector<std::string>& names,
                                                    const std::string& name) {
    const std::vector<NumberedName> numbered = names_of_pattern(names, name);
    const std::size_t point = name.rfind("}.");
    std::size_t layer = 0;
    if (numbered.size() < 2 || point == name.npos || !parse_number(name.substr(point + 2), layer))
      return {};
    LayerOfSteps steps{layer, {}};
    for (const NumberedName& step : numbered) steps.tensors.push_back(step.name);
    return {steps};
  }

  // Adds the tensors whose names fit the pattern, in the order of their numbers.
  void add_numbered(ResultReader& file, const std::vector<std::string>& names,
                    const std::string& pattern) {
    std::vector<NumberedName> numbered = names_of_pattern(names, pattern);
    count_from_zero(numbered);
    for (const NumberedName& tensor : numbered) {
      // A name that itself says the layer may say more: "Layer 2, Self-Attention".
      const bool is_known = !AttentionName::of_tensor(tensor.name).title().empty();
      found_.layers.push_back(
          {&file, tensor.name, tensor.number, is_known ? "" : layer_text(tensor.number, english_)});
    }
    found_.is_stack = true;
  }

  // Adds the weights of a result: of the first attention, and of the same attention in other
  // layers.
  void find_weights(ResultReader& file) {
    const std::vector<std::string>& names = file.names();
    std::string first;
    for (const std::string weights : {"weights", "pooled_weights"}) {
      for (const std::string& name : names) {
        if (first.empty() && (name == weights || name.ends_with("." + weights))) first = name;
      }
      if (std::find(names.begin(), names.end(), weights) != names.end()) first = weights;
      if (!first.empty()) break;
    }
    if (first.empty()) {
      if (file.is_document() && contents_ != MapContents::mask) throw not_a_result(file.name());
      if (file.only_name() == "" && is_result_name(file.stem())) {
        add(file, {file.stem()});
      } else if ((file.only_name() && only_texts(file)) || contents_ == MapContents::mask) {
        add(file, std::vector<std::string>{"weights"});
      } else {
        find_by_values(file);
      }
      return;
    }
    std::vector<std::string> stack{first};
    for (const std::string& name : names) {
      if (meaning_of(name) != TensorMeaning::weights || name == first) continue;
      if (AttentionName(name).without_layer() == AttentionName(first).without_layer()) {
        stack.push_back(name);
      } else {
        found_.left_out.push_back(name);
      }
    }
    add(file, stack);
  }

  // Whether nothing beside the tensors could have been a map.
  static bool only_texts(const ResultReader& file) {
    return std::ranges::all_of(file.others(), [](const OtherMember& other) {
      return other.plain || other.texts != nullptr;
    });
  }

  // What the tensors of a file are that are no weights.
  struct OtherTensors {
    std::vector<std::string> named;  // with their shapes
    std::string cause;               // why the first of them holds no weights
  };

  // Names of the tensors of another program whose rows are weights.
  static std::vector<std::string> names_by_values(ResultReader& file, OtherTensors& others) {
    std::vector<std::string> found;
    if (file.is_document()) return found;
    for (const std::string& name : file.names()) {
      try {
        const Tensor tensor = file.numbers(name);
        others.named.push_back(in_quotes(name) + " " + text(tensor.shape()));
        // Rows of a result's output may sum to 1 by chance.
        const bool output = file.is_result() && (name == "output" || name.ends_with(".output"));
        if (!output && has_rows_of_weights(tensor)) found.push_back(name);
        if (const auto why = unlike_weights(tensor, false); others.cause.empty() && why)
          others.cause = translated("; {1}: {2}", in_quotes(name), *why);
      } catch (const Error&) {
        continue;  // labels, a title, texts
      }
    }
    return found;
  }

  // The error of a file without weights, with what can be done with the tensors that it has.
  static Error no_weights(ResultReader& file, const OtherTensors& tensors) {
    if (tensors.named.empty() && !file.others().empty())
      return no_tensors(file.others()).inside(file.name());
    if (tensors.named.empty()) {
      return input_error(
                 translated("there are no weights to draw"), "",
                 translated(
                     "give a result with weights, {\"weights\": …}, or a file with one tensor"))
          .inside(file.name());
    }
    const std::filesystem::path folder = std::filesystem::path(file.name()).parent_path();
    std::error_code none;
    if (std::filesystem::exists(folder / "config.json", none)) {
      return input_error(
          translated("these are the weights of a model, not maps of attention"), file.name(),
          translated("compute its maps with attn-cli run: its folder {1} with "
                     "DocumentOptions::model, and a text with DocumentOptions::texts",
                     folder.string()));
    }
    const std::string problem = translated(
        "there are no weights to draw among {1}",
        listed(tensors.named) + tensors.cause +
            (only_texts(file) ? std::string()
                              : translated("; not read: {1}", others_text(file.others()))));
    for (const std::string& name : file.names()) {
      const bool scores = name.ends_with("attn_scores") || name == "scores" ||
                          name == "attn_logits" || name == "attention_scores";
      if (!scores) continue;
      const std::string document = R"({"attention": "softmax", "scores": {"file": )" +
                                   in_quotes(file.name()) + R"(, "name": )" + in_quotes(name) +
                                   "}}";
      return input_error(
          problem, file.name(),
          translated("scores become weights by a softmax: save the weights, which "
                     "TransformerLens calls hook_pattern, or name a document of one layer, {1}",
                     document));
    }
    if (file.is_result()) {
      const std::string document = file.document();
      const char* const flags = "RunOptions::weights, RunOptions::only";
      return input_error(
          translated("the result has no weights: its run left them out"), file.name(),
          document.empty()
              ? translated("compute it again without {1} and \"weights\": false", flags)
              : translated("compute {2} again without {1} and \"weights\": false", flags,
                           path_text(document)));
    }
    return input_error(problem, file.name(),
                       translated("choose a tensor with MapRequest::name, and say what its axes "
                                  "are with MapRequest::axes if it is a map"));
  }

  // Adds the tensors of another program whose rows are weights.
  void find_by_values(ResultReader& file) {
    OtherTensors others;
    const std::vector<std::string> found = names_by_values(file, others);
    if (found.empty()) {
      if (find_edges(file)) return;
      throw no_weights(file, others);
    }
    if (add_steps(file, found, std::nullopt)) {
      const std::string beginning = beginning_of_steps(found_.layers[0].steps[0]);
      for (const std::string& name : found) {
        if (beginning_of_steps(name) != beginning || !is_a_step(name))
          found_.left_out.push_back(name);
      }
      return;
    }
    const std::optional<std::string> pattern = pattern_of(found[0]);
    std::vector<NumberedName> stack;
    if (pattern) stack = names_of_pattern(found, *pattern);
    std::set<std::string_view> taken;
    for (const NumberedName& one : stack) taken.insert(one.name);
    if (stack.empty()) taken.insert(found[0]);
    for (const std::string& name : found) {
      if (!taken.contains(name)) found_.left_out.push_back(name);
    }
    if (stack.size() < 2) {
      add(file, {found[0]});
    } else {
      add_numbered(file, found, *pattern);
    }
  }

  // Adds the weights of edges of graphs.
  bool find_edges(ResultReader& file) {
    const std::vector<EdgeList> lists = edge_lists(file);
    for (const EdgeList& list : lists) {
      const std::size_t number = found_.layers.size();
      const bool several = lists.size() > 1;
      found_.layers.push_back({&file,
                               list.weights,
                               number,
                               several ? layer_text(number, english_) : std::string(),
                               {},
                               list.nodes});
      found_.is_stack = found_.is_stack || several;
    }
    return !lists.empty();
  }

  // Orders files of one layer each by the number in which their names differ, if they do.
  void number_files() {
    found_.is_stack = true;
    std::vector<std::string> names;
    for (const FiledLayer& layer : found_.layers) names.push_back(layer.file->name());
    const std::optional<std::string> pattern = pattern_of(names[0]);
    std::vector<NumberedName> numbered;
    if (pattern && found_.layers.size() == files_.size())
      numbered = names_of_pattern(names, *pattern);
    if (numbered.size() != names.size()) {
      numbered.clear();
      found_.in_order_given = true;
      for (std::size_t i = 0; i < names.size(); ++i) numbered.push_back({names[i], i});
    } else {
      count_from_zero(numbered);
    }
    std::vector<FiledLayer> ordered;
    std::vector<bool> taken(found_.layers.size(), false);
    for (const NumberedName& name : numbered) {
      for (std::size_t i = 0; i < found_.layers.size(); ++i) {
        if (taken[i] || names[i] != name.name) continue;
        taken[i] = true;
        ordered.push_back(found_.layers[i]);
        ordered.back().number = name.number;
        ordered.back().place = layer_text(name.number, english_);
        break;
      }
    }
    found_.layers = std::move(ordered);
  }

  const MapFiles& files_;
  const std::optional<std::string>& name_;
  MapContents contents_;
  bool english_;
  FiledLayers found_;
};

}  // namespace

MapFiles map_files(std::shared_ptr<ResultReader> first, const MapRequest& request) {
  MapFiles files{std::move(first)};
  for (const std::filesystem::path& other : request.others) {
    files.push_back(std::make_shared<ResultReader>(other, files[0]->access()));
  }
  return files;
}

std::string layer_text(std::size_t number, bool english) {
  const InEnglish in_english(english);
  return translated("Layer {1}", number);
}

FiledLayers layers_in(const MapFiles& files, const std::optional<std::string>& name,
                      MapContents contents, bool english) {
  return LayerSearch(files, name, contents, english).found();
}

std::vector<FiledLayer> wanted_layers(const FiledLayers& all,
                                      const std::optional<std::vector<PositionRange>>& ranges) {
  if (!ranges) return all.layers;
  if (!all.is_stack) {
    throw input_error(
        translated("there is one map, and no stack of layers"), layers_field,
        translated("leave it out, name the tensors of the layers with MapRequest::name, such as "
                   "layer{n}, or the axis of the layers with MapRequest::axes"));
  }
  std::size_t count = 0;
  std::string known;
  for (const FiledLayer& layer : all.layers) {
    count = std::max(count, layer.number + 1);
    known += (known.empty() ? "" : ", ") + std::to_string(layer.number);
  }
  std::vector<FiledLayer> wanted;
  for (const PositionRange& range : *ranges) {
    const Positions numbers = positions_in(range, count, layers_field, counted_layers);
    const std::size_t before = wanted.size();
    for (const FiledLayer& layer : all.layers) {
      if (layer.number >= numbers.first && layer.number < numbers.end) wanted.push_back(layer);
    }
    if (wanted.size() == before) {
      throw input_error(translated("there is no layer {1}", numbers.first), layers_field,
                        translated("choose among {1}", known));
    }
  }
  return wanted;
}

}  // namespace attn
