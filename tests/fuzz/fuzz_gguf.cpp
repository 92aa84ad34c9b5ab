#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/read_back.hpp"
#include "io/gguf.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

void check_keys(const Gguf& file) {
  for (const char* key : {"general.architecture", "split.count", "tokenizer.ggml.tokens"}) {
    fuzz::accept_refusals([&] { static_cast<void>(file.text(key)); });
    fuzz::accept_refusals([&] { static_cast<void>(file.number(key)); });
    fuzz::accept_refusals([&] { static_cast<void>(file.boolean(key)); });
    fuzz::accept_refusals([&] { static_cast<void>(file.texts(key)); });
    fuzz::accept_refusals([&] { static_cast<void>(file.numbers(key)); });
  }
}

// No two tensors have bytes in common.
void check_places(const Gguf& file) {
  std::vector<std::span<const std::byte>> places;
  for (std::size_t i = 0; i < file.names().size(); ++i) {
    if (const RawArray array = file.raw(i); !array.bytes.empty()) places.push_back(array.bytes);
  }
  std::ranges::sort(places, {}, [](const auto& place) { return place.data(); });
  for (std::size_t i = 1; i < places.size(); ++i) {
    fuzz::require(places[i - 1].data() + places[i - 1].size() <= places[i].data());
  }
}

// A file in two parts: all tensors of both, or a refusal.
void check_parts(std::string_view first, std::string_view second) {
  static const TemporaryFolder folder;
  const std::filesystem::path path = folder.write("m-00001-of-00002.gguf", first);
  folder.write("m-00002-of-00002.gguf", second);
  fuzz::accept_refusals([&] {
    const TensorFile whole = TensorFile::open(path);
    const auto parse = [](std::string_view text) {
      return Gguf(std::as_bytes(std::span(text)), nullptr);
    };
    const Gguf own = parse(first);
    std::vector<std::string> names = own.names();
    if (own.number("split.count").value_or(1) > 1) {
      const Gguf later = parse(second);
      fuzz::require(later.number("split.no") == 1 && later.number("split.count") == 2);
      names.insert(names.end(), later.names().begin(), later.names().end());
    }
    fuzz::require(whole.names() == names);
    std::ranges::sort(names);
    fuzz::require(std::ranges::adjacent_find(names) == names.end());
  });
}

}  // namespace

// The bytes are a GGUF file, or, where its signature is in them again, two parts of one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::string_view text = input.text();
  if (const std::size_t again = text.find("GGUF", 1); again != text.npos) {
    check_parts(text.substr(0, again), text.substr(again));
  }
  fuzz::accept_refusals([&] {
    const Gguf file(input.bytes(), input.owner());
    check_keys(file);
    check_places(file);
    for (std::size_t i = 0; i < file.names().size(); ++i) {
      fuzz::accept_refusals([&] { fuzz::check_read_back(file.read(i)); });
    }
    // Without a path there are no later parts.
    const TensorFile alone = TensorFile::from_memory(input.bytes(), input.owner(), "memory");
    fuzz::require(file.number("split.count").value_or(1) <= 1 && alone.names() == file.names());
  });
  return 0;
}
