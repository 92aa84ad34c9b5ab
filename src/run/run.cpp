#include "attn/run.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <numeric>
#include <system_error>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "run/dimension_chart.hpp"
#include "run/document.hpp"
#include "run/map_selection.hpp"
#include "run/mask_reader.hpp"
#include "run/result_writer.hpp"
#include "support/atomic_file.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

JsonValue json(std::string text) {
  JsonValue value;
  value.data = std::move(text);
  return value;
}

JsonValue json(double number) {
  JsonValue value;
  value.data = JsonValue::Number{number, 0, false};
  return value;
}

JsonValue json(std::int64_t number) {
  JsonValue value;
  value.data = JsonValue::Number{static_cast<double>(number), number, true};
  return value;
}

// What the command line says goes into the document, so that one reader checks both.
void apply_flags(Document& document, const RunOptions& options) {
  if (options.attention)
    document.override_with("attention", json(*options.attention), "--attention");
  if (options.dtype) document.override_with("dtype", json(*options.dtype), "--dtype");
  if (options.heads) {
    document.override_with("heads", json(static_cast<std::int64_t>(*options.heads)), "--heads");
  }
  if (options.scale) document.override_with("scale", json(*options.scale), "--scale");
  if (options.seed) document.override_with("seed", json(*options.seed), "--seed");
  if (options.valid_lens) {
    JsonValue lens;
    lens.data = JsonValue::Numbers(options.valid_lens->begin(), options.valid_lens->end());
    document.override_with("valid_lens", std::move(lens), "--valid-lens");
  }
  if (options.causal) {
    JsonValue causal;
    causal.data = true;
    document.override_inside("mask", "causal", std::move(causal), "--causal");
  }
}

void add_warnings(const AttentionResult& result, std::vector<std::string>& warnings) {
  if (result.empty_rows == 0) return;
  warnings.push_back(
      result.empty_rows == 1
          ? "1 query has no key left to see: its weights and output are zero"
          : std::to_string(result.empty_rows) +
                " queries have no key left to see: their weights and output are zero");
}

std::vector<std::pair<std::string, Shape>> shapes_of(const AttentionRequest& request,
                                                     const AttentionResult& result) {
  std::vector<std::pair<std::string, Shape>> shapes;
  const auto add = [&](const char* name, const Tensor& tensor) {
    if (tensor) shapes.emplace_back(name, tensor.shape());
  };
  const bool given_scores = request.kind == Kind::softmax;
  const Tensor& key = request.key || given_scores ? request.key : request.query;
  add("scores", request.scores);
  add("query", request.query);
  add("key", key);
  add("value", request.value || given_scores ? request.value : key);
  add("past_key", request.past_key);
  add("past_value", request.past_value);
  add("weights", result.weights);
  add("output", result.output);
  return shapes;
}

std::vector<std::string> named(std::vector<std::string> labels, std::size_t count,
                               const char* prefix) {
  for (std::size_t i = labels.size(); i < count; ++i)
    labels.push_back(prefix + std::to_string(i + 1));
  return labels;
}

const char* file_stem(PlotKind kind) {
  switch (kind) {
    case PlotKind::heatmap:
      return "heatmap";
    case PlotKind::dimensions:
      return "dimensions";
    case PlotKind::grid:
      return "grid";
  }
  return "";
}

const char* extension(PictureFormat format) {
  switch (format) {
    case PictureFormat::png:
      return ".png";
    case PictureFormat::svg:
      return ".svg";
    case PictureFormat::pdf:
      return ".pdf";
  }
  return "";
}

// The folder's parent must be there: a mistyped path is an error, not a new tree.
void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  std::filesystem::create_directory(folder, error);
  if (error || !std::filesystem::is_directory(folder)) {
    const std::string reason = error ? error.message() : "it is not a folder";
    throw Error(ErrorKind::file, "cannot make the folder \"" + folder.string() + "\": " + reason,
                "--out", "name a folder whose parent folder exists and can be written to");
  }
}

}  // namespace

RunReport run(const RunOptions& options) {
  // 1. Read and check.
  Document document = Document::open(options.input);
  apply_flags(document, options);
  DocumentRequest request;
  try {
    Problems problems;
    request = read_document(document, problems);
    problems.throw_first();
  } catch (const Error& error) {
    throw document.placed(error);
  }
  AttentionRequest& attention = request.attention;
  attention.stages = options.stages;
  attention.threads = options.threads;

  // 2. Compute.
  const auto start = std::chrono::steady_clock::now();
  const AttentionResult result = attend(attention);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  add_warnings(result, request.warnings);

  RunReport report;
  report.document = document.name();
  report.title = request.title;
  report.description = request.description;
  report.kind = attention.kind;
  report.dtype = attention.dtype;
  report.shapes = shapes_of(attention, result);
  report.sample = options.sample;
  report.head = options.head;

  const bool heads_only =
      attention.heads && result.weights.rank() == 3 && attention.query.rank() == 2;
  const Maps maps(result.weights, heads_only);
  maps.check(options.sample, options.head);
  const bool wants_weights = options.weights && request.weights;
  const Heatmap chosen = [&] {
    if (!result.allowed) {
      return chosen_heatmap(maps, nullptr, request.labels, request.title, options.sample,
                            options.head);
    }
    const Maps allowed(result.allowed, heads_only);
    return chosen_heatmap(maps, &allowed, request.labels, request.title, options.sample,
                          options.head);
  }();
  report.heatmap = chosen;
  if (wants_weights) {
    report.weights = chosen.weights;
    report.query_labels = named(chosen.query_labels, maps.queries(), "Q_");
    report.key_labels = named(chosen.key_labels, maps.keys(), "K_");
  }
  if (result.allowed) {
    const auto allowed = result.allowed.values<std::uint8_t>();
    report.mask = mask_text(attention.mask);
    report.cells = allowed.size();
    report.hidden =
        static_cast<std::size_t>(std::count(allowed.begin(), allowed.end(), std::uint8_t{0}));
  }

  // 3. Draw.
  std::vector<Picture> pictures(options.plots.size());
  parallel_for(pictures.size(), options.threads, [&](std::size_t i) {
    switch (options.plots[i]) {
      case PlotKind::heatmap:
        pictures[i] = draw_heatmap(chosen, options.plot, options.format);
        break;
      case PlotKind::dimensions: {
        // Titles and axis names that are asked for are meant for the weights.
        PlotOptions plot = options.plot;
        plot.title.reset();
        plot.xlabel.reset();
        plot.ylabel.reset();
        plot.figsize.reset();
        pictures[i] = draw_dimensions(dimension_chart(report.shapes), plot, options.format);
        break;
      }
      case PlotKind::grid:
        pictures[i] =
            draw_grid(all_heatmaps(maps, nullptr, request.labels), options.plot, options.format);
        break;
    }
  });
  ResultFile file;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    file.pictures.push_back(std::string(file_stem(options.plots[i])) + extension(options.format));
    for (const std::string& warning : pictures[i].warnings) {
      if (std::find(request.warnings.begin(), request.warnings.end(), warning) ==
          request.warnings.end()) {
        request.warnings.push_back(warning);
      }
    }
  }

  // 4. Write; the result comes last, so that it names only pictures that are there.
  file.kind = attention.kind;
  file.dtype = attention.dtype;
  file.title = request.title;
  file.description = request.description;
  file.labels = request.labels;
  file.shapes = report.shapes;
  file.warnings = request.warnings;
  if (options.timing) file.seconds = seconds.count();
  const auto add = [&](const char* name, const Tensor& tensor) {
    if (tensor) file.tensors.emplace_back(name, tensor);
  };
  if (wants_weights) add("weights", result.weights);
  add("output", result.output);
  add("allowed", result.allowed);
  add("scores", result.scores);
  add("capped", result.capped);
  add("masked", result.masked);
  add("lse", result.lse);

  make_folder(options.out);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    report.files.push_back(options.out / file.pictures[i]);
    write_whole_file(report.files.back(), pictures[i].bytes);
  }
  file.places = write_tensors(file.tensors, options.tensors, heads_only, options.out, report.files);
  report.files.push_back(options.out / "result.json");
  write_result(file, report.files.back());
  report.warnings = std::move(request.warnings);
  return report;
}

}  // namespace attn
