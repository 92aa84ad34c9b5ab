#include "result/tensor_files.hpp"

#include <algorithm>
#include <string_view>

#include "attn/error.hpp"

#include "io/safetensors.hpp"
#include "result/tensor_names.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Suffix of a file of matrix number `index` of a tensor: "", ".sample0", ".sample0.head1".
std::string matrix_suffix(std::string_view tensor, const Shape& leading, std::size_t index,
                          bool heads_only) {
  const std::vector<std::string_view> axes = leading_axes(tensor, leading.size(), heads_only);
  std::string suffix;
  for (std::size_t axis = leading.size(); axis-- > 0;) {
    suffix = "." + std::string(axes[axis]) + std::to_string(index % leading[axis]) + suffix;
    index /= leading[axis];
  }
  return suffix;
}

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.bytes()), tensor.size() * size_of(tensor.dtype())};
}

[[noreturn]] void fail(const std::string& name) {
  throw Error(ErrorKind::internal, translated("a result has other tensors than expected"), name,
              "");
}

}  // namespace

double bytes_as_json(DType dtype) noexcept {
  constexpr double flag = 3, integer = 7, single = 13, twice = 21;
  if (dtype == DType::boolean) return flag;
  if (dtype == DType::int64) return integer;
  return dtype == DType::float64 ? twice : single;
}

double bytes_as_json(std::span<const std::pair<std::string, Tensor>> tensors) {
  double bytes = 0;
  for (const auto& [name, tensor] : tensors) {
    bytes += bytes_as_json(tensor.dtype()) * static_cast<double>(tensor.size());
  }
  return bytes;
}

std::vector<TensorPlace> plan_tensors(std::span<const std::pair<std::string, Tensor>> tensors,
                                      TensorFormat format, bool heads_only, ResultFolder& folder) {
  const auto formats = tensor_formats();
  const auto row = std::find_if(formats.begin(), formats.end(), [&](const TensorFormatInfo& known) {
    return known.value == format;
  });
  const std::string extension = "." + std::string(row->name);
  const auto add = [&](const std::string& stem, std::vector<NamedTensor> held) {
    folder.add(stem + extension, [write = row->write, held = std::move(held)](HashedFile& file) {
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
          place.files.push_back(add(name + matrix_suffix(name, leading, i, heads_only),
                                    {{name, part_of(tensor, i * element_count(matrix), matrix)}}));
        }
      }
      break;
  }
  return places;
}

bool TensorStream::takes(TensorFormat format) noexcept {
  return format == TensorFormat::safetensors || format == TensorFormat::npy;
}

TensorStream::TensorStream(TensorFormat format, std::vector<std::pair<std::string, Tensor>> tensors,
                           std::filesystem::path folder, std::size_t threads, bool sync)
    : format_(format),
      tensors_(std::move(tensors)),
      folder_(std::move(folder)),
      sync_(sync),
      queue_(thread_count(threads) > 1, most_waiting,
             [this](std::vector<Waiting> waiting) { write(std::move(waiting)); }) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors_) bytes += size_of(tensor.dtype()) * tensor.size();
  large_ = bytes >= least_large;
  if (format_ != TensorFormat::safetensors) return;
  open("tensors.safetensors");
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors_) named.push_back({name, tensor});
  files_.back().second->write(safetensors_header(named));
}

void TensorStream::open(const std::string& name) {
  files_.emplace_back(name, std::make_shared<HashedFile>(place_below(folder_, name)));
  if (large_) files_.back().second->file().begin_direct();
}

void TensorStream::put(const std::string& name, const Tensor& tensor) {
  if (next_ == tensors_.size()) fail(name);
  const auto& [expected, like] = tensors_[next_++];
  if (name != expected || tensor.shape() != like.shape() || tensor.dtype() != like.dtype()) {
    fail(name);
  }
  if (format_ == TensorFormat::npy) open(name + ".npy");
  queue_.add({files_.back().second, tensor}, bytes_of(tensor).size());
}

void TensorStream::write(std::vector<Waiting> tensors) {
  for (Waiting& one : tensors) {
    if (format_ == TensorFormat::safetensors) {
      one.file->write(bytes_of(one.tensor));
    } else {
      write_npy(one.tensor, [&](std::string_view piece) { one.file->write(piece); });
      // A disk that is too slow for one file is so for the next.
      if (large_ && !one.file->file().end_direct()) large_ = false;
    }
    if (sync_) one.file->file().begin_sync();
    one = {};
  }
}

std::vector<TensorPlace> TensorStream::finish(ResultFolder& folder) {
  if (next_ != tensors_.size()) fail(tensors_[next_].first);
  queue_.finish();
  for (const auto& [name, file] : files_) {
    // A full disk must be told before an older result is marked as unfinished.
    file->file().end_direct();
    folder.add(name, file);
  }
  std::vector<TensorPlace> places;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (format_ == TensorFormat::safetensors) {
      places.push_back({{files_.front().first}, tensors_[i].first});
    } else {
      places.push_back({{files_[i].first}, ""});
    }
  }
  return places;
}

}  // namespace attn
