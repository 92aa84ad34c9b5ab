#include "pictures/drawable_file.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "maps/map_stack.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/position_table.hpp"
#include "result/result_reader.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// A name with a # in the place of each number that is no layer's, and the numbers.
std::pair<std::string, std::vector<std::size_t>> numbered(std::string_view name) {
  std::string sort;
  std::vector<std::size_t> numbers;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    std::size_t number = 0;
    const auto read = std::from_chars(name.data() + at, name.data() + end, number);
    if (end == at || read.ec != std::errc() || sort.ends_with("layers.")) {
      sort += name.substr(at, std::max<std::size_t>(end - at, 1));
      at = std::max(end, at + 1);
      continue;
    }
    sort += '#';
    numbers.push_back(number);
    at = end;
  }
  return {std::move(sort), std::move(numbers)};
}

// The maps of all steps of decoding that a file holds, of growing length: those whose names differ
// from that of the tensor that is wanted in numbers alone (but not in a layer's), in the order of
// the numbers.
std::vector<Drawable> read_steps(const PlotRequest& request, const FileAccess& access) {
  MapStack stack(request, access, MapContents::weights);
  const auto [sort, number] = numbered(stack.first());
  std::vector<std::pair<std::vector<std::size_t>, std::string>> names;
  for (const std::string& name : stack.names()) {
    auto [own_sort, own_number] = numbered(name);
    if (own_sort == sort) names.emplace_back(std::move(own_number), name);
  }
  if (names.empty()) names.emplace_back(number, stack.first());
  std::sort(names.begin(), names.end());
  std::vector<Drawable> steps;
  for (const auto& [place, name] : names) {
    steps.push_back(stack.named(name));
    if (!is_map(name)) {
      steps.back().tensor = "weights";
      steps.back().meaning = TensorMeaning::weights;
    }
  }
  return steps;
}

}  // namespace

std::vector<Drawable> read_drawables(const PlotRequest& request, const FileAccess& access) {
  const PictureKind& kind = picture_kind(request.kind);
  const PictureKind::Shows shows = kind.shows;
  if (shows == PictureKind::Shows::mask || shows == PictureKind::Shows::sizes) {
    if (!request.others.empty()) {
      throw Error(ErrorKind::usage, translated("more than one file to draw given"),
                  "PlotRequest::others",
                  translated("give one: only weights are drawn of several files"));
    }
    auto opened = std::make_unique<ResultReader>(request.input, access);
    ResultReader& file = *opened;
    Drawable drawable;
    drawable.name = file.name();
    if (shows == PictureKind::Shows::sizes) {
      drawable.shapes = file.shapes();
      return {drawable};
    }
    if (file.is_document()) {
      drawable.mask = [map = document_mask(file.text(), file.name(), request, access)] {
        return map;
      };
      return {drawable};
    }
    return {MapStack(request, access, MapContents::mask, std::move(opened)).one()};
  }
  if (shows == PictureKind::Shows::steps) return read_steps(request, access);
  if (shows == PictureKind::Shows::positions) return {read_positions(request, access)};
  MapStack stack(request, access,
                 shows == PictureKind::Shows::stages ? MapContents::stages : MapContents::weights);
  if (kind.unit == PictureKind::Unit::sort && shows == PictureKind::Shows::weights) {
    return stack.chosen();
  }
  return {stack.one()};
}

}  // namespace attn
