#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "compare/compared_tensors.hpp"
#include "document/tensor_source.hpp"

namespace attn {

bool is_sums(std::string_view name) {
  return name == "lse" || name.ends_with(".lse");
}

std::vector<Tensor> sums_in_layout(const Tensor& sums, const std::string& layout,
                                   const std::string& field) {
  std::string own = layout;
  std::erase(own, 'D');
  const auto has = [&](char letter) { return own.find(letter) != std::string::npos; };
  if (sums.rank() != own.size() || !has('H') || !has('L')) return {sums};
  // Kernels keep them as [B,H,L] beside outputs of any layout.
  const std::string usual = has('B') ? "BHL" : "HL";
  std::vector<Tensor> readings;
  if (own.size() < layout.size()) readings.push_back(in_usual_layout(sums, usual, field));
  if (readings.empty() || own != usual) readings.push_back(in_usual_layout(sums, own, field));
  return readings;
}

std::string agreeing_layout(const Tensor& lacking, const Tensor& whole, bool sums,
                            Tolerances allowed) {
  if (whole.rank() != lacking.rank() + 1 || whole.shape()[0] != 1) return "";
  const auto agrees = [&](const std::string& layout) {
    if (layout.size() != lacking.rank()) return false;
    const Tensor usual = in_usual_layout(lacking, layout, "");
    return usual.shape() == whole.shape() &&
           element_differences(usual, whole, allowed, 1).beyond == 0;
  };
  // That of packed outputs reads their log-sum-exps too.
  if (sums) return agrees("HL") ? "LHD" : agrees("LH") ? "LH" : "";
  return agrees("LHD") ? "LHD" : agrees("HLD") ? "HLD" : "";
}

}  // namespace attn
