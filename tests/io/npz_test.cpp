#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "error_from.hpp"
#include "io/numpy.hpp"
#include "support/mapped_file.hpp"
#include "temporary_folder.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

const std::string archives = std::string(ATTN_TEST_DATA) + "/io/files/";

Npz parse_npz(const std::string& bytes, const Limits& limits = {}) {
  const auto owner = std::make_shared<const std::string>(bytes);
  return Npz(std::as_bytes(std::span(*owner)), owner, limits);
}

std::string open_error(const std::string& bytes) {
  return error_from([&] { parse_npz(bytes); });
}

std::string read_error(const std::string& bytes, std::size_t index, const Limits& limits = {}) {
  const Npz npz = parse_npz(bytes, limits);
  return error_from([&] { npz.read(index); });
}

std::vector<NamedTensor> some_tensors() {
  return {{"output", Tensor({2, 2}, std::vector<float>{1, -0.0F, 0.1F, 4})},
          {"encoder/größe", Tensor({3}, std::vector<double>{5e-324, 2, 3})},
          {"token_ids", Tensor({1, 2}, std::vector<std::int64_t>{-7, 8})},
          {"allowed", Tensor({1, 3}, std::vector<std::uint8_t>{1, 0, 1})}};
}

// The number in so many bytes, the lowest first.
std::string stored(std::uint64_t number, int bytes) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(number >> (8 * i) & 0xFF);
  return result;
}

// The bytes of the archive with every little-endian number `from` of 4 bytes replaced.
std::string with_number_replaced(std::string bytes, std::uint32_t from, std::uint32_t to) {
  for (std::size_t at = 0; (at = bytes.find(stored(from, 4), at)) != std::string::npos; at += 4) {
    bytes.replace(at, 4, stored(to, 4));
  }
  return bytes;
}

void check_numpy_archive(const std::string& name) {
  CAPTURE(name);
  const auto file = MappedFile::open(FileName::by_user(archives + name));
  const Npz npz(file->bytes(), file);
  REQUIRE(npz.names() == std::vector<std::string>{"weights", "mask", "größe"});
  std::vector<float> counting(24);
  std::iota(counting.begin(), counting.end(), 0.0F);
  CHECK(tensor_is(npz.read(0), {2, 3, 4}, counting));
  CHECK(tensor_is<std::uint8_t>(npz.read(1), {1, 2}, {1, 0}));
  CHECK(tensor_is<std::int64_t>(npz.read(2), {1}, {7}));
  CHECK(tensor_is(npz.read(0), {2, 3, 4}, counting));
}

std::string zeros(std::size_t bytes) {
  return std::string(bytes, '\0');
}

}  // namespace

TEST_CASE("archives that NumPy wrote are read, stored or compressed") {
  check_numpy_archive("stored.npz");
  check_numpy_archive("compressed.npz");
}

TEST_CASE("a member that is no .npy file does not hinder the others") {
  const std::string bytes = read_text(archives + "with_text.npz");
  const Npz npz = parse_npz(bytes);
  REQUIRE(npz.names() == std::vector<std::string>{"float32_one_axis", "notes.txt"});
  CHECK(tensor_is<float>(npz.read(0), {3}, {1, 2, 3}));
  CHECK(read_error(bytes, 1) ==
        "this is not a .npy file\n  where: member \"notes.txt\", byte 0\n"
        "  help:  save the array again with numpy.save");
}

TEST_CASE("members without numbers are listed with their reasons and texts beside the tensors") {
  const Npz npz = parse_npz(read_text(archives + "members.npz"));
  REQUIRE(npz.names() == std::vector<std::string>{"weights"});
  CHECK(tensor_is<float>(npz.read(0), {2}, {1, 2}));
  REQUIRE(npz.others().size() == 3);
  CHECK(npz.others()[0].name == "tokens");
  CHECK(npz.others()[0].reason == "strings (dtype \"<U4\")");
  CHECK(npz.others()[0].texts() == std::vector<std::vector<std::string>>{{"le", "chât"}});
  CHECK(npz.others()[1].name == "objects");
  CHECK(npz.others()[1].reason == "Python objects (dtype \"|O\")");
  CHECK_FALSE(npz.others()[1].texts);
  CHECK(npz.others()[2].name == "empty");
  CHECK(npz.others()[2].reason == "no numbers: its shape is [0,3]");
}

TEST_CASE("an archive without any .npy file is an error") {
  CHECK(open_error(read_text(archives + "only_text.zip")) ==
        "this is a zip archive without a .npy file\n"
        "  help:  a .npz file is what numpy.savez writes");
}

TEST_CASE("the folders of an archive are no tensors") {
  std::string bytes = npz_bytes(std::vector<NamedTensor>{
      {"ab", Tensor({1}, std::vector<float>{1})}, {"all/c", Tensor({1}, std::vector<float>{2})}});
  for (std::size_t at = 0; (at = bytes.find("ab.npy", at)) != std::string::npos;) {
    bytes.replace(at, 6, "inner/");
  }
  const Npz npz = parse_npz(bytes);
  REQUIRE(npz.names() == std::vector<std::string>{"all/c"});
  CHECK(tensor_is<float>(npz.read(0), {1}, {2}));
}

TEST_CASE("written archives read back bit for bit") {
  const std::string bytes = npz_bytes(some_tensors());
  const Npz npz = parse_npz(bytes);
  REQUIRE(npz.names() ==
          std::vector<std::string>{"output", "encoder/größe", "token_ids", "allowed"});
  CHECK(tensor_is<float>(npz.read(0), {2, 2}, {1, -0.0F, 0.1F, 4}));
  CHECK(tensor_is<double>(npz.read(1), {3}, {5e-324, 2, 3}));
  CHECK(tensor_is<std::int64_t>(npz.read(2), {1, 2}, {-7, 8}));
  CHECK(tensor_is<std::uint8_t>(npz.read(3), {1, 3}, {1, 0, 1}));
}

TEST_CASE("equal tensors give equal archives, wherever the clock stands") {
  const std::string bytes = npz_bytes(some_tensors());
  CHECK(bytes == npz_bytes(some_tensors()));
  // The local header's time and date: midnight, the first of January 1980.
  CHECK(bytes.substr(10, 4) == std::string("\0\0\x21\0", 4));
}

TEST_CASE("an archive of no tensors can be written and opened") {
  const std::string bytes = npz_bytes({});
  CHECK(bytes.size() == 22);
  CHECK(parse_npz(bytes).names().empty());
}

TEST_CASE("two tensors of one name cannot be written") {
  const Tensor tensor({1}, std::vector<float>{1});
  const std::vector<NamedTensor> twice{{"a", tensor}, {"a", tensor}};
  CHECK_THROWS_WITH_AS(npz_bytes(twice), "cannot create a zip archive: File already exists", Error);
}

TEST_CASE("a name given twice in an archive is an error") {
  const Tensor tensor({1}, std::vector<float>{1});
  std::string bytes = npz_bytes(std::vector<NamedTensor>{{"a", tensor}, {"b", tensor}});
  for (std::size_t at = 0; (at = bytes.find("b.npy", at)) != std::string::npos;) bytes[at] = 'a';
  CHECK(open_error(bytes) ==
        "the zip archive holds \"a\" twice\n  help:  save the arrays again with numpy.savez");
}

TEST_CASE("an archive cut off anywhere is an error") {
  const std::string whole = read_text(archives + "compressed.npz");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(open_error(whole.substr(0, size)) != "no error");
  }
  // The reason is libzip's, which newer versions name otherwise.
  const std::string said = open_error(whole.substr(0, 300));
  const auto with = [](const std::string& reason) {
    return "the zip archive cannot be read: " + reason +
           "\n  help:  the file is damaged or cut off: copy or download it again";
  };
  CAPTURE(said);
  CHECK((said == with("Not a zip archive") ||
         said == with("Possibly truncated or corrupted zip archive")));
}

TEST_CASE("a damaged member is an error, and its checksum is compared") {
  std::string bytes = npz_bytes(some_tensors());
  const std::size_t data = bytes.find("NUMPY") + 127;
  bytes[data] = static_cast<char>(bytes[data] ^ 1);
  CHECK(read_error(bytes, 0) ==
        "the member is damaged: CRC error\n  where: member \"output\"\n"
        "  help:  copy or download the file again");
  CHECK(read_error(bytes, 1) == "no error");

  std::string compressed = read_text(archives + "compressed.npz");
  compressed[80] = static_cast<char>(compressed[80] ^ 0x55);
  CHECK(read_error(compressed, 0) ==
        "the member is damaged: Zlib error: data error\n  where: member \"weights\"\n"
        "  help:  copy or download the file again");
}

TEST_CASE("a member that is said to start beyond the archive is an error") {
  std::string bytes = npz_bytes(some_tensors());
  const std::size_t entry = bytes.find("PK\x01\x02");
  // Where the last 22 bytes begin, which are too few for a member.
  bytes.replace(entry + 42, 4, stored(bytes.size() - 22, 4));
  const std::string said = read_error(bytes, 0);
  CAPTURE(said);
  // The reason is libzip's.
  CHECK(said.starts_with("the member cannot be read: "));
  CHECK(
      said.ends_with("\n  where: member \"output\"\n"
                     "  help:  save the arrays again with numpy.savez"));
  CHECK(read_error(bytes, 1) == "no error");
}

TEST_CASE("a member whose sizes lie is an error") {
  // The .npy file of four floats takes 144 bytes.
  const std::vector<NamedTensor> tensors{{"a", Tensor({4}, std::vector<float>(4))}};
  const std::string bytes = npz_bytes(tensors);
  REQUIRE(read_error(bytes, 0) == "no error");
  CHECK(read_error(with_number_replaced(bytes, 144, 140), 0) != "no error");

  // The compressed member has 224 bytes when decompressed.
  const std::string compressed = read_text(archives + "compressed.npz");
  CHECK(read_error(with_number_replaced(compressed, 224, 223), 0) != "no error");
  CHECK(read_error(with_number_replaced(compressed, 224, 225), 0) != "no error");
  const std::string error = read_error(with_number_replaced(compressed, 224, 4000000000), 0);
  CHECK(error.starts_with("the member claims to be 4000000000 bytes, which "));
  CHECK(
      error.ends_with(" compressed ones cannot be\n  where: member \"weights\"\n"
                      "  help:  the file is damaged: copy or download it again"));
}

TEST_CASE("a member beyond the limit is an error before it is read") {
  CHECK(read_error(read_text(archives + "compressed.npz"), 0, {.unpacked_bytes = 200}) ==
        "the member takes 224 bytes, and the limit is 200 bytes\n  where: member \"weights\"\n"
        "  help:  save it as a .npy file, which need not be unpacked, or raise the limit with "
        "Limits::unpacked_bytes");
}

TEST_CASE("a member that would take more than the memory is refused before it is unpacked") {
  const auto memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t size = memory + 1;
  // A member of zeros that is stored as it is, in the form for sizes of 64 bits.
  const std::string name = "a.npy";
  const std::string no_size = stored(0xFFFFFFFF, 4);
  const std::string sizes = stored(1, 2) + stored(16, 2) + stored(size, 8) + stored(size, 8);
  const std::string both = stored(45, 2) + zeros(12) + no_size + no_size + stored(name.size(), 2) +
                           stored(sizes.size(), 2);
  const std::string start = "PK\x03\x04" + both + name + sizes;
  const std::uint64_t end = start.size() + size;
  const std::string directory = "PK\x01\x02" + stored(45, 2) + both + zeros(14) + name + sizes;
  const std::string rest =
      directory + "PK\x06\x06" + stored(44, 8) + stored(45, 2) + stored(45, 2) + zeros(8) +
      stored(1, 8) + stored(1, 8) + stored(directory.size(), 8) + stored(end, 8) + "PK\x06\x07" +
      zeros(4) + stored(end + directory.size(), 8) + stored(1, 4) + "PK\x05\x06" + zeros(4) +
      stored(0xFFFF, 2) + stored(0xFFFF, 2) + no_size + no_size + zeros(2);
  // Pages that nothing is written to take no memory.
  const std::size_t whole = end + rest.size();
  void* const pages = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(pages);
  std::ranges::copy(std::as_bytes(std::span(start)), bytes);
  std::ranges::copy(std::as_bytes(std::span(rest)), bytes + end);
  const std::string error = error_from([&] {
    Npz({bytes, whole}, nullptr, {.unpacked_bytes = std::numeric_limits<std::uint64_t>::max()})
        .read(0);
  });
  munmap(pages, whole);
  CHECK(error.starts_with("the unpacked member would take "));
  CHECK(error.find("\n  where: member \"a\"") != std::string::npos);
}

TEST_CASE("an encrypted member is an error") {
  std::string bytes = npz_bytes(some_tensors());
  bytes[6] = static_cast<char>(bytes[6] | 1);  // the first bit of the local header's flags
  const std::size_t directory = bytes.find("PK\x01\x02");
  bytes[directory + 8] = static_cast<char>(bytes[directory + 8] | 1);
  CHECK(read_error(bytes, 0) ==
        "the member is encrypted\n  where: member \"output\"\n"
        "  help:  save it without a password");
}

TEST_CASE("a compression that NumPy does not use is an error") {
  CHECK(read_error(read_text(archives + "bzip2.npz"), 0) ==
        "the member is compressed by method 12 of the zip format, which is not supported\n"
        "  where: member \"float32\"\n"
        "  help:  save it with numpy.savez or numpy.savez_compressed");
}

TEST_CASE("members that overlap are an error before anything is unpacked") {
  std::string bytes =
      npz_bytes(std::vector<NamedTensor>{{"a", Tensor({100}, std::vector<float>(100))},
                                         {"b", Tensor({100}, std::vector<float>(100))}});
  // Each entry of the table of contents claims a thousand bytes.
  for (std::size_t at = bytes.find("PK\x01\x02"); at != std::string::npos;
       at = bytes.find("PK\x01\x02", at + 4)) {
    bytes.replace(at + 20, 8, stored(1000, 4) + stored(1000, 4));
  }
  CHECK(open_error(bytes) ==
        "the members of the zip archive overlap\n"
        "  help:  save the arrays again with numpy.savez");
}
