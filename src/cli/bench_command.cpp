#include <algorithm>
#include <array>
#include <memory>

#include "attn/bench.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/spec.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

namespace attn::cli {
namespace {

struct GivenToBench {
  Common common;
  BenchRequest request;  ///< all but the sizes
  bool kind = false;     ///< whether one is given
  std::vector<std::string> shapes;
};

void set_shape(const std::string& text, BenchRequest& request) {
  std::string commas = text;
  std::ranges::replace(commas, 'x', ',');
  // Shapes of tensors have one length.
  if (const std::vector<std::string> four = comma_separated(commas);
      four.size() == 4 && std::ranges::all_of(four, is_digits)) {
    throw written_otherwise(
        "--shape", text,
        "--shape " + four[0] + "," + four[1] + "," + four[2] + "," + four[2] + "," + four[3]);
  }
  const std::vector<std::string> sizes = listed("--shape", text);
  if (sizes.size() != 5) {
    throw invalid_value(
        "--shape", text,
        translated("give five sizes B,H,Lq,Lk,D: samples, heads, queries, keys, width of a head"));
  }
  request.batch = whole_number("--shape", sizes[0], 1);
  request.heads = whole_number("--shape", sizes[1], 1);
  request.queries = whole_number("--shape", sizes[2], 1);
  request.keys = whole_number("--shape", sizes[3], 1);
  request.width = whole_number("--shape", sizes[4], 1);
}

Window window_of(const std::string& text) {
  const std::vector<std::string> sides = comma_separated(text);
  std::array<std::int64_t, 2> reach{};
  if (sides.size() == 2) {
    reach = {integer("--window", sides[0]), integer("--window", sides[1])};
  }
  if (sides.size() != 2 || reach[0] < -1 || reach[1] < -1) {
    throw invalid_value("--window", text,
                        translated("give the keys to each side as L,R; -1 = unbounded"));
  }
  Window window;
  if (reach[0] >= 0) window.left = static_cast<std::size_t>(reach[0]);
  if (reach[1] >= 0) window.right = static_cast<std::size_t>(reach[1]);
  return window;
}

std::vector<BenchRequest> requests_of(const GivenToBench& given) {
  BenchRequest request = given.request;
  request.threads = given.common.threads;
  std::vector<BenchRequest> requests;
  for (const std::string& shape : given.shapes) {
    requests.push_back(request);
    set_shape(shape, requests.back());
  }
  if (!requests.empty()) return requests;
  requests = usual_shapes(request);
  if (given.kind) return requests;
  const bool half = request.dtype == DType::bfloat16 || request.dtype == DType::float16;
  if (!request.weights) {
    requests.push_back(requests[1]);
    requests.back().weights = true;
  }
  if (half) return requests;  // in which additive attention is not computed
  BenchRequest additive = request;
  additive.kind = Kind::additive;
  for (const BenchRequest& usual : usual_shapes(additive)) requests.push_back(usual);
  return requests;
}

// The timing of a request, whose expressions are those of flags of the same names.
BenchResult timed(const BenchRequest& request) {
  try {
    return bench(request);
  } catch (const Error& error) {
    const std::string& where = error.where();
    if (!where.starts_with('/')) throw;
    throw Error(error.kind(), error.problem(), "--" + where.substr(where.rfind('/') + 1),
                error.help());
  }
}

int time_all(const GivenToBench& given) {
  // Each run uses the memory of the one before it, as in programs that repeat a layer.
  keep_all_freed_memory();
  const std::vector<BenchRequest> requests = requests_of(given);
  bool heading = !given.common.json;
  for (const BenchRequest& request : requests) {
    const BenchResult result = timed(request);
    if (heading) {
      print_result(bench_heading(std::ranges::any_of(
          requests, [](const BenchRequest& one) { return one.kind == Kind::additive; })));
    }
    heading = false;
    print_result(given.common.json ? bench_json(result) : bench_text(result));
  }
  return 0;
}

}  // namespace

Command bench_command() {
  const auto given = std::make_shared<GivenToBench>();
  BenchRequest& request = given->request;
  Command command{
      "bench", translated("Measure the speed of attentions on random tensors"), {}, {}, [given] {
        return time_all(*given);
      }};
  Flags& flags = command.flags;
  flags.begin_group(FlagGroup::computation);
  flags
      .add("--shape", "B,H,Lq,Lk,D",
           translated("Samples, heads, queries, keys, width of a head; repeatable (default: a list "
                      "of usual ones)"),
           [given = given.get()](const std::string& text) { given->shapes.push_back(text); })
      .repeats = true;
  add_kind(flags, translated("Kind of attention (default scaled_dot_product)"),
           [given = given.get()](Kind kind) {
             given->request.kind = kind;
             given->kind = true;
           });
  flags.toggle("--causal", request.causal, translated("Hide the keys after each query"));
  flags.add("--window", "L,R",
            translated("Keys that a query sees before and after itself; -1 = all"),
            [&](const std::string& text) { request.window = window_of(text); });
  flags.toggle("--rotary", request.rotary,
               translated("Rotate queries and keys by their positions"));
  flags.toggle("--norms", request.norms, translated("Give queries and keys RMS norms"));
  flags.toggle("--alibi", request.alibi, translated("Add linear biases by distance"));
  flags.toggle("--relative-bias", request.relative_bias,
               translated("Add biases by buckets of distances"));
  flags.toggle("--sinks", request.sinks, translated("Give each head a sink"));
  flags.toggle("--weights", request.weights, translated("Write the weights out too"));
  const auto add_expression = [&](const char* name, std::string& text, const std::string& meaning) {
    flags.add(name, "EXPR", meaning, [&text](const std::string& given_text) { text = given_text; });
  };
  add_expression("--score", request.score,
                 translated("Expression for the scores; its cost is measured in turns"));
  add_expression("--where", request.where,
                 translated("Expression of the keys that are seen, likewise"));
  add_expression("--weight", request.weight, translated("Expression for the weights, likewise"));
  flags.choice("--dtype", request.dtype, document_dtypes(), "TYPE");
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
