#include "pictures/drawable_file.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "pictures/map_stack.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/picture_kinds.hpp"
#include "result/result_reader.hpp"

namespace attn {

std::vector<Drawable> read_drawables(const PlotRequest& request, const FileAccess& access) {
  const PictureKind& kind = picture_kind(request.kind);
  const PictureKind::Shows shows = kind.shows;
  if (shows == PictureKind::Shows::mask || shows == PictureKind::Shows::sizes) {
    if (!request.others.empty()) {
      throw Error(ErrorKind::usage, "more than one file to draw given", "PlotRequest::others",
                  "give one: only weights are drawn of several files");
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
    return {MapStack(request, access, shows, std::move(opened)).one()};
  }
  MapStack stack(request, access, shows);
  if (kind.unit == PictureKind::Unit::sort && shows == PictureKind::Shows::weights) {
    return stack.chosen();
  }
  return {stack.one()};
}

}  // namespace attn
