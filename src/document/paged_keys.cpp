#include "document/paged_keys.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::int64_t no_page = -1;

// Entry number `i` of a table: "/block_table/0/2", or "/block_table/2" without samples.
std::string place_of(const Tensor& table, const std::string& place, std::size_t i) {
  if (table.rank() == 1) return pointer_to(place, i);
  const std::size_t pages = table.shape()[1];
  return pointer_to(pointer_to(place, i / pages), i % pages);
}

// Pages and one more of zeros.
Tensor with_zeros(const Tensor& pages) {
  Shape one = pages.shape();
  one[0] = 1;
  const std::vector<float> zeros(element_count(one), 0);
  return concatenated(std::array{pages, Tensor(one, zeros).converted(pages.dtype())});
}

// Help for the pages [N,H,D/x,P,x] of older kernels' keys, whose width is split.
std::string help_for_split_width(const Shape& shape) {
  const Shape pages{shape[0], shape[3], shape[1], shape[2] * shape[4]};
  return translated("write {1} into it if it is [N,H,D/x,P,x]",
                    R"("view": [{"transpose": [0,3,1,2,4]}, {"reshape": )" + text(pages) + "}]");
}

}  // namespace

PagedKeys::PagedKeys(const Tensor& table, std::string place, bool sizes_only)
    : table_(table), place_(std::move(place)), sizes_only_(sizes_only) {
  if (table_.rank() != 1 && table_.rank() != 2) {
    throw input_error(
        translated("block_table {1} is not a list of pages per sample", text(table_.shape())),
        place_, translated("give [M] or [B,M]: the pages of each sample in order"));
  }
  if (!sizes_only_) check_order();
}

void PagedKeys::check_order() const {
  const std::size_t pages = table_.shape().back();
  const auto entries = table_.values<std::int64_t>();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool follows = i % pages > 0 && entries[i - 1] == no_page;
    if (i % pages == 0 && entries[i] == no_page) {
      throw input_error(translated("a sample has no page"), place_of(table_, place_, i),
                        translated("give at least one page; valid_lens 0 hides all of it"));
    }
    if (follows && entries[i] != no_page) {
      throw input_error(translated("a page follows -1"), place_of(table_, place_, i),
                        translated("-1 is for entries after the last page of a sample"));
    }
  }
}

std::optional<std::size_t> PagedKeys::filled_with_page_0() const {
  if (sizes_only_) return {};
  const std::size_t pages = table_.shape().back();
  const auto entries = table_.values<std::int64_t>();
  for (std::size_t sample = 0; pages > 1 && sample < samples(); ++sample) {
    if (entries[(sample + 1) * pages - 1] == 0) return sample;
  }
  return {};
}

Tensor PagedKeys::gathered(const Tensor& pages, const std::string& name, const std::string& place) {
  const Shape& shape = pages.shape();
  if (shape.size() != 3 && shape.size() != 4) {
    throw input_error(
        translated("{1} {2} is not made of pages", name, text(shape)), place,
        shape.size() == 5
            ? help_for_split_width(shape)
            : translated("give pages [N,P,D] or [N,P,H,D], which block_table numbers"));
  }
  const std::size_t rows = table_.shape().back() * shape[1];
  if (sizes_only_) {
    return shape_only(shape.size() == 3 ? Shape{samples(), rows, shape[2]}
                                        : Shape{samples(), shape[2], rows, shape[3]},
                      pages.dtype());
  }
  std::vector<std::size_t> indices;
  const auto entries = table_.values<std::int64_t>();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::int64_t page = entries[i];
    if (page < no_page || page >= static_cast<std::int64_t>(shape[0])) {
      throw input_error(
          translated("there is no page {1}: {2} has {3}", page, name,
                     translated_count(shape[0], "{1} page", "{1} pages")),
          place_of(table_, place_, i),
          translated("give 0 to {1}, or -1 after a sample's last page", shape[0] - 1));
    }
    indices.push_back(page == no_page ? shape[0] : static_cast<std::size_t>(page));
  }
  gathered_.emplace_back(name, shape);
  const bool absent = std::find(entries.begin(), entries.end(), no_page) != entries.end();
  const Tensor all = picked(absent ? with_zeros(pages) : pages, indices);
  if (shape.size() == 3) return all.reshaped({samples(), rows, shape[2]});
  return permuted(all.reshaped({samples(), rows, shape[2], shape[3]}), {0, 2, 1, 3});
}

Tensor PagedKeys::summed(const std::string& name, const Tensor& rows) const {
  const auto known = std::find_if(gathered_.begin(), gathered_.end(),
                                  [&](const auto& input) { return input.first == name; });
  if (known == gathered_.end()) return rows;
  const Shape& shape = known->second;
  const Tensor in_order = rows.rank() == 4 ? permuted(rows, {0, 2, 1, 3}) : rows;
  const Tensor exact = in_order.converted(DType::float64);
  const std::size_t size = element_count(shape) / shape[0];
  std::vector<double> sums(element_count(shape), 0);
  const double* row = exact.values<double>().data();
  for (const std::int64_t page : table_.values<std::int64_t>()) {
    double* const sum = sums.data() + (page == no_page ? 0 : static_cast<std::size_t>(page)) * size;
    for (std::size_t n = 0; n < size && page != no_page; ++n) sum[n] += row[n];
    row += size;
  }
  return Tensor(shape, std::move(sums)).converted(rows.dtype());
}

Tensor PagedKeys::padding(std::size_t rows_of_page) const {
  std::vector<std::uint8_t> absent;
  for (const std::int64_t page : table_.values<std::int64_t>())
    absent.insert(absent.end(), rows_of_page, page == no_page ? 1 : 0);
  const std::size_t rows = table_.shape().back() * rows_of_page;
  return {{samples(), rows}, std::move(absent)};
}

}  // namespace attn
