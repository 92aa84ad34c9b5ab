#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

#include "attn/file_access.hpp"

#include "io/gguf.hpp"
#include "io/json_tensor.hpp"
#include "io/numpy.hpp"
#include "io/onnx.hpp"
#include "io/safetensors.hpp"
#include "io/text_matrices.hpp"
#include "io/torch_file.hpp"

namespace attn {

/// A format of files of tensors, which `Reader` reads.
template <class Reader>
struct ReadFormat {
  std::string_view name;
  std::string_view title;  ///< for lists in errors
  /// Whether a file is of this format, by its bytes alone.
  bool (*recognises)(std::span<const std::byte> bytes);
  /// Extensions of the files of a checkpoint that has only one.
  std::array<std::string_view, 3> extensions = {};
};

/// True if the bytes are a zip archive that torch.save has not written.
inline bool looks_like_npz(std::span<const std::byte> bytes) {
  return looks_like_zip(bytes) && !looks_like_torch_file(bytes);
}

/// All formats, in the order in which they are tried.
inline constexpr std::tuple tensor_file_formats{
    ReadFormat<Npy>{"npy", ".npy", looks_like_npy},
    ReadFormat<Npz>{"npz", ".npz", looks_like_npz},
    ReadFormat<Safetensors>{
        "safetensors", ".safetensors", looks_like_safetensors, {".safetensors"}},
    ReadFormat<TorchFile>{"pt", ".pt", looks_like_torch_file, {".bin", ".pt", ".pth"}},
    ReadFormat<PickleFile>{"pkl", "pickle", looks_like_pickle},
    ReadFormat<Gguf>{"gguf", ".gguf", looks_like_gguf, {".gguf"}},
    ReadFormat<Onnx>{"onnx", ".onnx", looks_like_onnx},
    ReadFormat<JsonTensorFile>{"json", "JSON", looks_like_json},
    ReadFormat<TextMatrices>{"text", "CSV, text", looks_like_text_matrix},
};

template <class... Readers>
std::variant<Readers...> any_of_formats(const std::tuple<ReadFormat<Readers>...>&);
/// The reader of a file of tensors, by its format.
using AnyTensorFile = decltype(any_of_formats(tensor_file_formats));

template <class Reader>
constexpr const ReadFormat<Reader>& format_of(const Reader&) noexcept {
  return std::get<ReadFormat<Reader>>(tensor_file_formats);
}

/// Calls use(format) for the formats of the alternatives of the variant `Readers`, in the order of
/// all formats. An alternative that has none does not compile.
template <class Readers, class Use>
constexpr void for_each_format(const Use& use) {
  const auto own = [&]<class... Own>(std::type_identity<std::variant<Own...>>) {
    static_assert(((std::get<ReadFormat<Own>>(tensor_file_formats).recognises != nullptr) && ...));
    const auto each = [&]<class Reader>(const ReadFormat<Reader>& format) {
      if constexpr ((std::is_same_v<Reader, Own> || ...)) use(format);
    };
    std::apply([&](const auto&... format) { (each(format), ...); }, tensor_file_formats);
  };
  own(std::type_identity<Readers>{});
}

/// Reads a file of the reader's format. Throws as the reader's constructor does.
template <class Reader>
Reader parsed_by(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                 const Limits& limits) {
  if constexpr (std::is_same_v<Reader, JsonTensorFile>) {
    return Reader({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, owner,
                  limits.nesting);
  } else if constexpr (std::is_constructible_v<Reader, decltype(bytes), decltype(owner),
                                               decltype(limits)>) {
    return Reader(bytes, owner, limits);
  } else {
    return Reader(bytes, owner);
  }
}

/// Reads a file by the first of these formats that recognises it; absent if none does.
template <class Readers>
std::optional<Readers> read_recognised(std::span<const std::byte> bytes,
                                       const std::shared_ptr<const void>& owner,
                                       const Limits& limits) {
  std::optional<Readers> read;
  for_each_format<Readers>([&]<class Reader>(const ReadFormat<Reader>& format) {
    if (!read && format.recognises(bytes)) read.emplace(parsed_by<Reader>(bytes, owner, limits));
  });
  return read;
}

}  // namespace attn
