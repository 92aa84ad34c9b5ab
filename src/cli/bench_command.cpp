#include "cli/bench_command.hpp"

#include <array>

#include "attn/bench.hpp"
#include "attn/error.hpp"
#include "attn/spec.hpp"

#include "cli/flag_values.hpp"
#include "cli/kept_memory.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

void set_shape(const std::string& text, BenchRequest& request) {
  const std::vector<std::string> sizes = comma_separated(text);
  if (sizes.size() != 5) {
    throw Error(ErrorKind::usage, "\"" + text + "\" is not what --shape takes", "--shape",
                "give five sizes B,H,Lq,Lk,D: samples, heads, queries, keys, width of a head");
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
    throw Error(ErrorKind::usage, "\"" + text + "\" is not what --window takes", "--window",
                "give the keys to each side as L,R; -1 = unbounded");
  }
  Window window;
  if (reach[0] >= 0) window.left = static_cast<std::size_t>(reach[0]);
  if (reach[1] >= 0) window.right = static_cast<std::size_t>(reach[1]);
  return window;
}

Kind kind_of(const std::string& name) {
  if (const KindInfo* kind = find_kind(name)) return kind->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& known : kinds()) names.push_back(known.name);
  throw input_error("unknown kind of attention \"" + name + "\"", "--attention",
                    nearest_known(name, names));
}

BenchRequest request_of(const BenchArguments& arguments) {
  BenchRequest request;
  if (arguments.attention) request.kind = kind_of(*arguments.attention);
  if (arguments.dtype) {
    constexpr std::array<std::string_view, 2> names{"float32", "float64"};
    request.dtype =
        choice("--dtype", *arguments.dtype, names) == 0 ? DType::float32 : DType::float64;
  }
  request.causal = arguments.causal;
  request.weights = arguments.weights;
  if (arguments.window) request.window = window_of(*arguments.window);
  if (arguments.common.threads) {
    request.threads = whole_number("--threads", *arguments.common.threads, 1);
  }
  return request;
}

std::vector<BenchRequest> requests_of(const BenchArguments& arguments) {
  const BenchRequest request = request_of(arguments);
  std::vector<BenchRequest> requests;
  for (const std::string& shape : arguments.shapes) {
    requests.push_back(request);
    set_shape(shape, requests.back());
  }
  if (!requests.empty()) return requests;
  requests = usual_shapes(request);
  if (arguments.attention) return requests;
  if (!request.weights) {
    requests.push_back(requests[1]);
    requests.back().weights = true;
  }
  BenchRequest additive = request;
  additive.kind = Kind::additive;
  for (const BenchRequest& usual : usual_shapes(additive)) requests.push_back(usual);
  return requests;
}

}  // namespace

int bench_command(const BenchArguments& arguments) {
  // Each run is computed where the one before it was, as programs that repeat a layer do.
  keep_all_freed_memory();
  const std::vector<BenchRequest> requests = requests_of(arguments);
  bool heading = !arguments.common.json;
  for (const BenchRequest& request : requests) {
    const BenchResult result = bench(request);
    if (arguments.common.quiet) continue;
    if (heading) print(bench_heading());
    heading = false;
    print(arguments.common.json ? bench_json(result) : bench_text(result));
  }
  return 0;
}

}  // namespace attn::cli
