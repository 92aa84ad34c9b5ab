#include "result/tensor_writer.hpp"

#include <array>
#include <memory>

#include "attn/io.hpp"

#include "io/npy.hpp"
#include "support/atomic_file.hpp"

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

TensorPlace plan_matrices(const std::string& name, const Tensor& tensor, bool heads_only,
                          const std::filesystem::path& folder, FileTasks& tasks) {
  const Shape& shape = tensor.shape();
  const std::size_t columns = shape.size() < 2 ? 1 : shape.back();
  const std::size_t rows = shape.size() < 2 ? tensor.size() : shape[shape.size() - 2];
  const Shape leading(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(
                                                       shape.size() < 2 ? shape.size() : 2));
  const std::size_t bytes = rows * columns * size_of(tensor.dtype());
  const auto owner = std::make_shared<const Tensor>(tensor);
  TensorPlace place;
  for (std::size_t i = 0; i < tensor.size() / (rows * columns); ++i) {
    const auto* elements = static_cast<const std::byte*>(tensor.bytes()) + i * bytes;
    place.files.push_back(name + matrix_suffix(leading, i, heads_only) + ".csv");
    const Tensor matrix = Tensor::borrowed({rows, columns}, tensor.dtype(), elements, owner);
    tasks.add(folder / place.files.back(),
              [matrix](AtomicFile& file) { file.write(csv_text(matrix)); });
  }
  return place;
}

}  // namespace

std::span<const Named<TensorFormat>> tensor_formats() noexcept {
  static constexpr auto formats =
      std::to_array<Named<TensorFormat>>({{"json", TensorFormat::json},
                                          {"npy", TensorFormat::npy},
                                          {"npz", TensorFormat::npz},
                                          {"safetensors", TensorFormat::safetensors},
                                          {"csv", TensorFormat::csv}});
  return formats;
}

std::vector<TensorPlace> plan_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                                      TensorFormat format, bool heads_only,
                                      const std::filesystem::path& folder, FileTasks& tasks) {
  std::vector<TensorPlace> places;
  if (format == TensorFormat::json || tensors.empty()) return places;
  if (format == TensorFormat::npz || format == TensorFormat::safetensors) {
    const bool npz = format == TensorFormat::npz;
    const std::string file = npz ? "tensors.npz" : "tensors.safetensors";
    std::vector<NamedTensor> named;
    for (const auto& [name, tensor] : tensors) {
      named.push_back({name, tensor});
      places.push_back({{file}, name});
    }
    tasks.add(folder / file, [npz, named](AtomicFile& to) {
      to.write(npz ? npz_bytes(named) : safetensors_bytes(named));
    });
    return places;
  }
  for (const auto& [name, tensor] : tensors) {
    if (format == TensorFormat::csv) {
      places.push_back(plan_matrices(name, tensor, heads_only, folder, tasks));
    } else {
      places.push_back({{name + ".npy"}, ""});
      tasks.add(folder / places.back().files[0], [array = tensor](AtomicFile& to) {
        to.write(npy_header(array.shape(), array.dtype()));
        to.write({static_cast<const char*>(array.bytes()), array.size() * size_of(array.dtype())});
      });
    }
  }
  return places;
}

}  // namespace attn
