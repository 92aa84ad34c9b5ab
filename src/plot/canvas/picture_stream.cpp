#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <libdeflate.h>

#include "plot/canvas/picture_files.hpp"

namespace attn::plot {
namespace {

constexpr std::size_t least_match = 3, most_match = 258;
constexpr std::size_t most_distance = PictureStream::reach;
constexpr std::size_t end_of_block = 256, literal_codes = 286, distance_codes = 30;
constexpr std::size_t lengths_codes = 19;
constexpr int most_bits = 15, most_bits_of_lengths = 7;

// A code of the alphabet and the bits that follow it.
struct Symbol {
  std::uint16_t code;
  std::uint8_t extra_bits;
  std::uint16_t extra;
};

// RFC 1951, section 3.2.5: eight codes of one length each, then four for each number of extra bits,
// and the longest by itself.
constexpr Symbol symbol_of_length(std::size_t length) {
  if (length == most_match) return {285, 0, 0};
  const std::size_t at = length - least_match;
  const auto bits = static_cast<std::size_t>(std::max(static_cast<int>(std::bit_width(at)) - 3, 0));
  return {static_cast<std::uint16_t>(257 + 4 * bits + (at >> bits)),
          static_cast<std::uint8_t>(bits),
          static_cast<std::uint16_t>(at & ((std::size_t{1} << bits) - 1))};
}

// Two codes for each number of extra bits.
constexpr Symbol symbol_of_distance(std::size_t distance) {
  const std::size_t at = distance - 1;
  // Below four there are no extra bits.
  const auto bits = static_cast<std::size_t>(std::bit_width(at | 2U)) - 2;
  return {static_cast<std::uint16_t>(2 * bits + (at >> bits)), static_cast<std::uint8_t>(bits),
          static_cast<std::uint16_t>(at & ((std::size_t{1} << bits) - 1))};
}

constexpr auto symbols_of_lengths = [] {
  std::array<Symbol, most_match + 1> all{};
  for (std::size_t i = least_match; i < all.size(); ++i) all[i] = symbol_of_length(i);
  return all;
}();

// A literal byte, or how much is repeated from how far before.
struct Token {
  std::uint16_t length = 0, distance = 0;  // a literal has no distance; 32768 is 0 with a length
};

using Counts = std::vector<std::uint32_t>;
using Lengths = std::vector<std::uint8_t>;

// Lengths of a Huffman code (Huffman 1952) of at most `most` bits: where it would be deeper, counts
// are made more alike, until it is not.
Lengths code_lengths(Counts counts, int most) {
  Lengths lengths(counts.size(), 0);
  for (;;) {
    std::vector<std::pair<std::uint32_t, std::size_t>> leaves;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] > 0) leaves.emplace_back(counts[i], i);
    }
    if (leaves.empty()) return lengths;
    if (leaves.size() == 1) {
      lengths[leaves.front().second] = 1;
      return lengths;
    }
    std::sort(leaves.begin(), leaves.end());
    // The two least of the leaves and of the sums, which come in rising order, become one.
    const std::size_t count = leaves.size();
    std::vector<std::uint64_t> weight(2 * count - 1);
    std::vector<std::size_t> parent(2 * count - 1);
    for (std::size_t i = 0; i < count; ++i) weight[i] = leaves[i].first;
    std::size_t leaf = 0, sum = count;
    for (std::size_t made = count; made < 2 * count - 1; ++made) {
      for (int part = 0; part < 2; ++part) {
        const bool from_leaves = leaf < count && (sum >= made || weight[leaf] <= weight[sum]);
        const std::size_t least = from_leaves ? leaf++ : sum++;
        weight[made] += weight[least];
        parent[least] = made;
      }
    }
    std::vector<int> depth(2 * count - 1, 0);
    int deepest = 0;
    for (std::size_t i = 2 * count - 2; i-- > 0;) {
      depth[i] = depth[parent[i]] + 1;
      deepest = std::max(deepest, depth[i]);
    }
    if (deepest <= most) {
      for (std::size_t i = 0; i < count; ++i) {
        lengths[leaves[i].second] = static_cast<std::uint8_t>(depth[i]);
      }
      return lengths;
    }
    for (std::uint32_t& one : counts) one = (one + 1) / 2 + (one > 0 ? 1 : 0);
  }
}

// Codes of these lengths (RFC 1951, section 3.2.2), their first bit lowest.
std::vector<std::uint16_t> codes_of(const Lengths& lengths) {
  std::array<std::uint32_t, most_bits + 2> next{};
  for (const std::uint8_t length : lengths) ++next[length + 1U];
  next[1] = 0;  // what has no code
  std::uint32_t code = 0;
  for (std::size_t bits = 1; bits < next.size(); ++bits) {
    code = (code + next[bits]) << 1U;
    next[bits] = code;
  }
  std::vector<std::uint16_t> codes(lengths.size(), 0);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] == 0) continue;
    std::uint32_t straight = next[lengths[i]]++, turned = 0;
    for (int bit = 0; bit < lengths[i]; ++bit, straight >>= 1U) {
      turned = turned << 1U | (straight & 1U);
    }
    codes[i] = static_cast<std::uint16_t>(turned);
  }
  return codes;
}

class BitWriter {
 public:
  explicit BitWriter(std::string& to) : to_(to) {}

  // At most 32 bits.
  void write(std::uint64_t bits, int count) {
    held_ |= bits << held_count_;
    held_count_ += count;
    if (held_count_ < 32) return;
    const auto low = static_cast<std::uint32_t>(held_);
    for (unsigned i = 0; i < 4; ++i) bytes_[written_ + i] = static_cast<char>(low >> 8 * i);
    written_ += 4;
    if (written_ == bytes_.size()) hand_over();
    held_ >>= 32U;
    held_count_ -= 32;
  }
  void finish() {
    hand_over();
    for (; held_count_ > 0; held_count_ -= 8, held_ >>= 8U) to_ += static_cast<char>(held_);
    held_count_ = 0;
  }

 private:
  void hand_over() {
    to_.append(bytes_.data(), written_);
    written_ = 0;
  }

  std::string& to_;
  std::array<char, 4096> bytes_;  // in front of a string, which is slower
  std::size_t written_ = 0;
  std::uint64_t held_ = 0;
  int held_count_ = 0;
};

struct Code {
  explicit Code(const Counts& counts, int most = most_bits)
      : lengths(code_lengths(counts, most)), codes(codes_of(lengths)) {}
  void write(std::size_t symbol, BitWriter& to) const { to.write(codes[symbol], lengths[symbol]); }
  // With the bits that follow it: at most 15 and 13.
  void write(const Symbol& symbol, BitWriter& to) const {
    const int bits = lengths[symbol.code];
    to.write(codes[symbol.code] | std::uint32_t{symbol.extra} << bits, bits + symbol.extra_bits);
  }

  Lengths lengths;
  std::vector<std::uint16_t> codes;
};

// The lengths of both codes, zeros and repetitions counted (RFC 1951, section 3.2.7).
void write_lengths(const Lengths& literals, const Lengths& distances, BitWriter& to) {
  struct Part {
    std::uint8_t symbol, extra;
  };
  std::vector<Part> parts;
  Lengths all(literals);
  all.insert(all.end(), distances.begin(), distances.end());
  constexpr std::uint8_t repeat = 16, few_zeros = 17, many_zeros = 18;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t count = 1;
    while (i + count < all.size() && all[i + count] == all[i]) ++count;
    i += count;
    const std::uint8_t value = all[i - 1];
    if (value != 0) {
      parts.push_back({value, 0});
      --count;
    }
    while (count >= 3) {
      const std::size_t most = value != 0 ? 6 : 138;
      const std::size_t taken = std::min(count, most);
      if (value != 0) {
        parts.push_back({repeat, static_cast<std::uint8_t>(taken - 3)});
      } else if (taken <= 10) {
        parts.push_back({few_zeros, static_cast<std::uint8_t>(taken - 3)});
      } else {
        parts.push_back({many_zeros, static_cast<std::uint8_t>(taken - 11)});
      }
      count -= taken;
    }
    for (; count > 0; --count) parts.push_back({value, 0});
  }
  Counts counts(lengths_codes, 0);
  for (const Part& part : parts) ++counts[part.symbol];
  const Code code(counts, most_bits_of_lengths);
  constexpr std::array<std::uint8_t, lengths_codes> order{16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
  std::size_t shown = lengths_codes;
  while (shown > 4 && code.lengths[order[shown - 1]] == 0) --shown;
  to.write(literals.size() - 257, 5);
  to.write(distances.size() - 1, 5);
  to.write(shown - 4, 4);
  for (std::size_t i = 0; i < shown; ++i) to.write(code.lengths[order[i]], 3);
  for (const Part& part : parts) {
    code.write(part.symbol, to);
    if (part.symbol == repeat) to.write(part.extra, 2);
    if (part.symbol == few_zeros) to.write(part.extra, 3);
    if (part.symbol == many_zeros) to.write(part.extra, 7);
  }
}

// One block with codes of its own.
void write_block(std::span<const Token> tokens, bool last, BitWriter& to) {
  Counts literals(literal_codes, 0), distances(distance_codes, 0);
  const auto distance_of = [](const Token& token) {
    return token.distance == 0 ? most_distance : token.distance;
  };
  for (const Token& token : tokens) {
    if (token.length < least_match) {
      ++literals[token.distance];
      continue;
    }
    ++literals[symbols_of_lengths[token.length].code];
    ++distances[symbol_of_distance(distance_of(token)).code];
  }
  ++literals[end_of_block];
  // A decoder may ask for a code of distances, even where nothing is repeated.
  if (std::accumulate(distances.begin(), distances.end(), 0U) == 0) distances[0] = 1;
  const Code literal_code(literals), distance_code(distances);
  to.write(last ? 1 : 0, 1);
  constexpr std::uint64_t own_codes = 2;
  to.write(own_codes, 2);
  write_lengths(literal_code.lengths, distance_code.lengths, to);
  for (const Token& token : tokens) {
    if (token.length < least_match) {
      literal_code.write(token.distance, to);
      continue;
    }
    literal_code.write(symbols_of_lengths[token.length], to);
    distance_code.write(symbol_of_distance(distance_of(token)), to);
  }
  literal_code.write(end_of_block, to);
}

template <class Word>
Word word_at(const unsigned char* from) {
  Word word;
  std::memcpy(&word, from, sizeof(Word));
  return word;
}

// Number of bytes from `at` on that repeat those `distance` before them, at most `most`.
std::size_t match(const unsigned char* at, std::size_t distance, std::size_t most) {
  std::size_t count = 0;
  const unsigned char* from = at - distance;
  for (; count + 8 <= most; count += 8) {
    const std::uint64_t unlike =
        word_at<std::uint64_t>(at + count) ^ word_at<std::uint64_t>(from + count);
    if (unlike == 0) continue;
    const int alike = std::endian::native == std::endian::little ? std::countr_zero(unlike)
                                                                 : std::countl_zero(unlike);
    return count + static_cast<std::size_t>(alike) / 8;
  }
  while (count < most && at[count] == from[count]) ++count;
  return count;
}

constexpr std::size_t tokens_a_block = std::size_t{1} << 15U;
constexpr unsigned hash_bits = 14;

}  // namespace

struct PictureStream::State {
  explicit State(const PictureRows& rows)
      : near{rows.row, rows.pixel, rows.row - rows.pixel, rows.row + rows.pixel} {
    tokens.reserve(tokens_a_block);
  }

  void add(const Token& token) {
    tokens.push_back(token);
    if (tokens.size() < tokens_a_block) return;
    write_block(tokens, false, to);
    tokens.clear();
  }

  void add_repetition(std::size_t count, std::size_t distance) {
    while (count > 0) {
      // None is left over that would be too short to be repeated.
      std::size_t taken = std::min(count, most_match);
      if (count - taken > 0 && count - taken < least_match) taken -= least_match;
      add({static_cast<std::uint16_t>(taken),
           static_cast<std::uint16_t>(distance % most_distance)});
      count -= taken;
    }
  }

  std::array<std::size_t, 4> near;
  std::string stream = "\x78\x01";  // a window of 32 KiB, the fastest way
  BitWriter to{stream};
  std::vector<Token> tokens;
  // Where four bytes were last seen that nothing nearer repeats.
  std::vector<std::uint32_t> seen = std::vector<std::uint32_t>(std::size_t{1} << hash_bits, 0);
  std::size_t added = 0;  // bytes
  std::uint32_t sum = 1;  // their checksum
};

PictureStream::PictureStream(const PictureRows& rows) : state_(std::make_unique<State>(rows)) {}

PictureStream::~PictureStream() = default;

void PictureStream::add(std::span<const unsigned char> bytes) {
  if (bytes.empty()) return;
  State& state = *state_;
  const std::size_t pixel = state.near[1], end = state.added + bytes.size();
  constexpr std::size_t hashed = 4, long_match = 32;
  // Each byte is repeated from where most can be, or stands for itself.
  for (std::size_t at = state.added; at < end;) {
    const unsigned char* const here = bytes.data() + (at - state.added);
    const std::size_t left = end - at;
    std::size_t longest = 0, from = 0;
    for (const std::size_t distance : state.near) {
      if (distance > at || distance > most_distance || distance == 0) continue;
      const std::size_t length = match(here, distance, left);
      // A farther one costs more bits.
      if (length > longest + (longest > 0 ? 2 : 0)) longest = length, from = distance;
      if (longest >= most_match) break;
    }
    if (left >= hashed && longest < long_match) {
      std::uint32_t& last =
          state.seen[(word_at<std::uint32_t>(here) * 2654435761U) >> (32U - hash_bits)];
      const std::size_t distance = at - last;
      if (last != 0 && distance <= most_distance) {
        const std::size_t length = match(here, distance, left);
        if (length > longest + 2) longest = length, from = distance;
      }
      last = static_cast<std::uint32_t>(at);
    }
    const bool worth = longest > least_match || (longest == least_match && from == pixel);
    if (worth) {
      state.add_repetition(longest, from);
      at += longest;
    } else {
      state.add({0, *here});
      ++at;
    }
  }
  state.sum = libdeflate_adler32(state.sum, bytes.data(), bytes.size());
  state.added = end;
}

void PictureStream::repeat(std::span<const unsigned char> bytes, std::size_t count) {
  State& state = *state_;
  state.add_repetition(count * bytes.size(), bytes.size());
  state.added += count * bytes.size();
  // RFC 1950, section 8.2: the sum of all bytes, and the sum of these sums. Those of the bytes
  // alone give the change of both by each repetition.
  constexpr std::uint64_t modulus = 65521;
  const std::uint32_t of_bytes = libdeflate_adler32(0, bytes.data(), bytes.size());
  std::uint64_t low = state.sum & 0xFFFFU, high = state.sum >> 16U;
  for (std::size_t i = 0; i < count; ++i) {
    high = (high + low * bytes.size() + (of_bytes >> 16U)) % modulus;
    low = (low + (of_bytes & 0xFFFFU)) % modulus;
  }
  state.sum = static_cast<std::uint32_t>(high << 16U | low);
}

std::string PictureStream::finish() {
  State& state = *state_;
  write_block(state.tokens, true, state.to);
  state.to.finish();
  for (int shift = 24; shift >= 0; shift -= 8) {
    state.stream += static_cast<char>(state.sum >> shift);
  }
  return std::move(state.stream);
}

std::string picture_stream(std::span<const unsigned char> bytes, const PictureRows& rows) {
  PictureStream stream(rows);
  const std::size_t length = rows.row;
  // Most rows of a figure are like the one before. Only the first of them is looked through.
  std::size_t begin = 0, end = length;
  for (; end <= bytes.size() && length <= PictureStream::reach; end += length) {
    const auto row = bytes.subspan(end - length, length);
    std::size_t next = end;
    while (next + length <= bytes.size() &&
           std::memcmp(row.data(), bytes.data() + next, length) == 0) {
      next += length;
    }
    if (next == end) continue;
    stream.add(bytes.subspan(begin, end - begin));
    stream.repeat(row, (next - end) / length);
    begin = end = next;
  }
  stream.add(bytes.subspan(begin));
  return stream.finish();
}

}  // namespace attn::plot
