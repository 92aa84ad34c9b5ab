#include "result/tensor_writer.hpp"

#include <algorithm>

#include "attn/io.hpp"

#include "support/atomic_file.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The place of one matrix among those of its tensor: "", ".sample0", ".sample0.head1".
std::string matrix_suffix(const Shape& leading, std::size_t index, bool heads_only) {
  std::string suffix;
  for (std::size_t axis = leading.size(); axis-- > 0;) {
    const bool head = leading.size() == 1 ? heads_only : axis == 1;
    suffix = (head ? ".head" : ".sample") + std::to_string(index % leading[axis]) + suffix;
    index /= leading[axis];
  }
  return suffix;
}

}  // namespace

std::vector<TensorPlace> plan_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                                      TensorFormat format, bool heads_only,
                                      const std::filesystem::path& folder, FileTasks& tasks) {
  const auto formats = tensor_formats();
  const auto row = std::find_if(formats.begin(), formats.end(), [&](const TensorFormatInfo& known) {
    return known.value == format;
  });
  const std::string extension = "." + std::string(row->name);
  const auto add = [&](const std::string& stem, std::vector<NamedTensor> held) {
    tasks.add(folder / (stem + extension),
              [write = row->write, held = std::move(held)](AtomicFile& file) {
                write(held, [&](std::string_view piece) { file.write(piece); });
              });
    return stem + extension;
  };
  std::vector<TensorPlace> places;
  switch (tensors.empty() ? TensorFormatInfo::Unit::result : row->unit) {
    case TensorFormatInfo::Unit::result:
      break;
    case TensorFormatInfo::Unit::all: {
      std::vector<NamedTensor> named;
      for (const auto& [name, tensor] : tensors) named.push_back({name, tensor});
      const std::string file = add("tensors", named);
      for (const auto& [name, tensor] : tensors) places.push_back({{file}, name});
      break;
    }
    case TensorFormatInfo::Unit::tensor:
      for (const auto& [name, tensor] : tensors) {
        places.push_back({{add(name, {{name, tensor}})}, ""});
      }
      break;
    case TensorFormatInfo::Unit::matrix:
      for (const auto& [name, tensor] : tensors) {
        const Shape& shape = tensor.shape();
        const std::ptrdiff_t axes = shape.size() < 2 ? 0 : 2;
        const Shape leading(shape.begin(), axes == 0 ? shape.begin() : shape.end() - axes);
        const Shape matrix =
            axes == 0 ? Shape{tensor.size(), 1} : Shape(shape.end() - axes, shape.end());
        TensorPlace& place = places.emplace_back();
        for (std::size_t i = 0; i < tensor.size() / element_count(matrix); ++i) {
          place.files.push_back(add(name + matrix_suffix(leading, i, heads_only),
                                    {{name, part_of(tensor, i * element_count(matrix), matrix)}}));
        }
      }
      break;
  }
  return places;
}

}  // namespace attn
