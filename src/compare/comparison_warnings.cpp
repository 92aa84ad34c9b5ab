#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/compare.hpp"

#include "compare/compared_tensors.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

void warn_of_options_in_vain(const CompareRequest& request, bool rows_known,
                             Comparison& comparison) {
  const auto& tensors = comparison.tensors;
  const auto in_both = [](const TensorComparison& tensor) { return !is_alone(tensor); };
  if (std::ranges::none_of(tensors, in_both)) return;
  const bool of_two_shapes = std::ranges::any_of(tensors, [&](const TensorComparison& tensor) {
    return in_both(tensor) && tensor.a.shape != tensor.b.shape;
  });
  if (request.overlap && !of_two_shapes) {
    comparison.warnings.push_back(
        translated("{1} has no effect: the tensors have the same shapes in both files",
                   "CompareRequest::overlap"));
  }
  const std::size_t axes = whole_axes(request.maps.axes).size();
  const bool any_has_axes = std::ranges::any_of(tensors, [&](const TensorComparison& tensor) {
    return in_both(tensor) && (tensor.a.shape.size() == axes || tensor.b.shape.size() == axes);
  });
  if (axes > 0 && !any_has_axes) {
    comparison.warnings.push_back(translated(
        "{1} has no effect: no tensor that is compared has {2} axes", "MapRequest::axes", axes));
  }
  if (request.seen_only && !rows_known) {
    // With sinks, the log-sum-exp of a row without keys is finite.
    comparison.warnings.push_back(translated(
        "{1} has no effect: neither \"allowed\" nor \"lse\" nor \"weights\" beside a "
        "tensor says that a query has no keys; a run with {2} writes what does",
        "CompareRequest::seen_only", "RunOptions::stages RunOptions::only output,lse,allowed"));
  }
}

// Tensors of one side alone that have the shape `shape`.
std::vector<const TensorComparison*> alone_of(const Comparison& comparison, Outcome side,
                                              const Shape& shape) {
  std::vector<const TensorComparison*> found;
  for (const TensorComparison& tensor : comparison.tensors) {
    const Shape& own = side == Outcome::only_in_a ? tensor.a.shape : tensor.b.shape;
    if (tensor.outcome == side && own == shape) found.push_back(&tensor);
  }
  return found;
}

// Warns of gradients that one file has by the names of a kernel and the other by those of a result,
// all at once. Gives the names that it tells.
std::vector<std::string> warn_of_gradients(Comparison& comparison) {
  constexpr std::pair<std::string_view, std::string_view> gradients[]{
      {"gradient.query", "dq,dQ,grad_q,q_grad,q.grad,grad_query,query_grad"},
      {"gradient.key", "dk,dK,grad_k,k_grad,k.grad,grad_key,key_grad"},
      {"gradient.value", "dv,dV,grad_v,v_grad,v.grad,grad_value,value_grad"}};
  const auto shape_of = [](const TensorComparison& tensor) {
    return tensor.outcome == Outcome::only_in_a ? tensor.a.shape : tensor.b.shape;
  };
  std::vector<std::string> told;
  std::string theirs, ours, renamed;
  for (const auto& [own, others] : gradients) {
    const TensorComparison *result = nullptr, *kernel = nullptr;
    for (const TensorComparison& tensor : comparison.tensors) {
      if (!is_alone(tensor)) continue;
      if (tensor.name == own) result = &tensor;
      if (has_word(others, tensor.name)) kernel = &tensor;
    }
    if (result == nullptr || kernel == nullptr || result->outcome == kernel->outcome ||
        shape_of(*result) != shape_of(*kernel))
      continue;
    theirs += (theirs.empty() ? "" : name_separator()) + in_quotes(kernel->name);
    ours += (ours.empty() ? "" : name_separator()) + in_quotes(own);
    renamed += (renamed.empty() ? "" : " ") + ("CompareRequest::renamed " + kernel->name) + "=" +
               std::string(own);
    told.insert(told.end(), {kernel->name, result->name});
  }
  if (!told.empty()) {
    comparison.warnings.push_back(
        translated("{1} and {2} are not compared, as their names differ; {3} compares them", theirs,
                   ours, renamed));
  }
  return told;
}

// Warns of a tensor that A alone has, and one of B alone, which are the only ones of their shape:
// "out" and "output".
void warn_of_other_names(Comparison& comparison) {
  const std::vector<std::string> told = warn_of_gradients(comparison);
  std::vector<std::string> warnings;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (tensor.outcome != Outcome::only_in_a || std::ranges::count(told, tensor.name) > 0) continue;
    const auto like_it = alone_of(comparison, Outcome::only_in_a, tensor.a.shape);
    const auto others = alone_of(comparison, Outcome::only_in_b, tensor.a.shape);
    if (like_it.size() != 1 || others.size() != 1) continue;
    const std::string& other = others[0]->name;
    // Two results that were made with other options.
    if (tensor.name.empty() || (is_result_name(tensor.name) && is_result_name(other))) continue;
    warnings.push_back(translated(
        "{1} and {2}, which alone have the shape {3}, are not compared, as their names differ; {4} "
        "compares them",
        in_quotes(tensor.name), in_quotes(other), text(tensor.a.shape),
        "CompareRequest::renamed " + tensor.name + "=" + other));
  }
  comparison.warnings.insert(comparison.warnings.end(), warnings.begin(), warnings.end());
}

// Warns of a tensor that holds along its first axis as many tensors as the other file has of that
// shape.
void warn_of_stacks(Comparison& comparison) {
  std::vector<std::string> warnings;
  for (const TensorComparison& tensor : comparison.tensors) {
    if (!is_alone(tensor)) continue;
    const bool in_a = tensor.outcome == Outcome::only_in_a;
    const Shape& shape = in_a ? tensor.a.shape : tensor.b.shape;
    if (shape.size() < 3 || shape[0] < 2) continue;
    const auto parts = alone_of(comparison, in_a ? Outcome::only_in_b : Outcome::only_in_a,
                                Shape(shape.begin() + 1, shape.end()));
    if (parts.size() != shape[0]) continue;
    warnings.push_back(translated(
        "{1} {2} may be a stack of the {3} tensors {4} of the other file: make one of these too, "
        "in "
        "NumPy numpy.stack([…])",
        in_quotes(tensor.name), text(shape), shape[0],
        translated("{1} to {2}", in_quotes(parts.front()->name), in_quotes(parts.back()->name))));
  }
  comparison.warnings.insert(comparison.warnings.end(), warnings.begin(), warnings.end());
}

}  // namespace

void warn_of_comparison(const CompareRequest& request, bool rows_known, Comparison& comparison) {
  warn_of_options_in_vain(request, rows_known, comparison);
  warn_of_other_names(comparison);
  warn_of_stacks(comparison);
}

}  // namespace attn
