#include "maps/map_selection.hpp"

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::string only(std::size_t count, const char* noun) {
  return count == 1 ? std::string(translated("only one ")) + noun
                    : std::to_string(count) + " " + noun + "s";
}

void check_index(std::size_t index, std::size_t count, const char* noun) {
  if (index < count) return;
  throw input_error(
      translated("there is no {1} {2}: the weights have {3}", noun, index, only(count, noun)),
      std::string("RunOptions::") + noun,
      count == 1 ? translated("leave it out, or give 0") : translated("give 0 to {1}", count - 1));
}

}  // namespace

Maps::Maps(const Tensor& weights, bool heads_only) : weights_(weights) {
  const Shape& shape = weights.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4) {
    throw input_error(translated("the weights have the shape {1}", text(shape)), "/weights",
                      rank > 4
                          ? translated("say with PlotRequest::axes what the axes before queries "
                                       "and keys are, such as layer,batch,head")
                          : translated("give them 2 to 4 axes: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"));
  }
  if (weights.size() == 0) {
    throw input_error(translated("the weights {1} have an axis of size 0", text(shape)), "/weights",
                      translated("give every axis at least one element"));
  }
  keys_ = shape[rank - 1];
  queries_ = shape[rank - 2];
  if (rank == 4) {
    samples_ = shape[0];
    heads_ = shape[1];
  } else if (rank == 3) {
    (heads_only ? heads_ : samples_) = shape[0];
  }
}

Tensor Maps::matrix(std::size_t sample, std::size_t head) const {
  // One head may stand for all: what is seen is often the same for each.
  const std::size_t at = (sample * heads_ + (heads_ == 1 ? 0 : head)) * queries_ * keys_;
  return part_of(weights_, at, {queries_, keys_});
}

void Maps::check(std::size_t sample, std::size_t head) const {
  check_place(sample, samples_, head, heads_);
}

void check_place(std::size_t sample, std::size_t samples, std::size_t head, std::size_t heads) {
  check_index(sample, samples, "sample");
  check_index(head, heads, "head");
}

void check_label_count(std::size_t labels, std::size_t positions, std::string_view axis) {
  if (labels == positions) return;
  throw input_error(
      translated("{1} for {2}", translated_count(labels, "{1} label", "{1} labels"),
                 (axis == "query" ? translated_count(positions, "{1} query", "{1} queries")
                                  : translated_count(positions, "{1} key", "{1} keys"))),
      "/labels/" + std::string(axis), translated("give one label each"));
}

Heatmap chosen_heatmap(const Maps& weights, const Maps* allowed, const Labels& labels,
                       const std::string& title, std::size_t sample, std::size_t head) {
  Heatmap heatmap;
  heatmap.weights = weights.matrix(sample, head);
  if (allowed) heatmap.allowed = allowed->matrix(sample, head);
  heatmap.query_labels = Labels::of_sample(labels.query, sample);
  heatmap.key_labels = Labels::of_sample(labels.key, sample);
  if (!heatmap.query_labels.empty())
    check_label_count(heatmap.query_labels.size(), weights.queries(), "query");
  if (!heatmap.key_labels.empty())
    check_label_count(heatmap.key_labels.size(), weights.keys(), "key");
  const std::string place =
      "(Sample " + std::to_string(sample + 1) + ", Head " + std::to_string(head + 1) + ")";
  heatmap.title =
      title.empty() ? translated("Attention Weight Heatmap {1}", place) : title + "\n" + place;
  return heatmap;
}

}  // namespace attn
