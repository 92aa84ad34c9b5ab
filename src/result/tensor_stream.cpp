#include "result/tensor_stream.hpp"

#include <string_view>

#include "attn/error.hpp"

#include "io/safetensors.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string_view bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.bytes()), tensor.size() * size_of(tensor.dtype())};
}

[[noreturn]] void fail(const std::string& name) {
  throw Error(ErrorKind::internal, translated("a result has other tensors than were foreseen"),
              name, "");
}

}  // namespace

bool TensorStream::takes(TensorFormat format) noexcept {
  return format == TensorFormat::safetensors || format == TensorFormat::npy;
}

TensorStream::TensorStream(TensorFormat format, std::vector<std::pair<std::string, Tensor>> tensors,
                           std::filesystem::path folder)
    : format_(format), tensors_(std::move(tensors)), folder_(std::move(folder)) {
  if (format_ != TensorFormat::safetensors) return;
  open("tensors.safetensors");
  std::vector<NamedTensor> named;
  for (const auto& [name, tensor] : tensors_) named.push_back({name, tensor});
  files_.back().second->write(safetensors_header(named));
}

void TensorStream::open(const std::string& name) {
  const std::filesystem::path path = folder_ / name;
  files_.emplace_back(path, std::make_shared<AtomicFile>(path));
}

void TensorStream::put(const std::string& name, const Tensor& tensor) {
  if (next_ == tensors_.size()) fail(name);
  const auto& [expected, like] = tensors_[next_++];
  if (name != expected || tensor.shape() != like.shape() || tensor.dtype() != like.dtype()) {
    fail(name);
  }
  if (format_ == TensorFormat::safetensors) {
    files_.back().second->write(bytes_of(tensor));
    return;
  }
  open(name + ".npy");
  write_npy(tensor, [&](std::string_view piece) { files_.back().second->write(piece); });
}

std::vector<TensorPlace> TensorStream::finish(FileTasks& tasks) {
  if (next_ != tensors_.size()) fail(tensors_[next_].first);
  for (const auto& [path, file] : files_) tasks.add(path, file);
  std::vector<TensorPlace> places;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (format_ == TensorFormat::safetensors) {
      places.push_back({{files_.front().first.filename()}, tensors_[i].first});
    } else {
      places.push_back({{files_[i].first.filename()}, ""});
    }
  }
  return places;
}

}  // namespace attn
