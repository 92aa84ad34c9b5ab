#include "attention/linear.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/kept_packing.hpp"
#include "kernels/few_row_product.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/split_product.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Rows of W in the type of the products, in memory or made on demand.
template <class T>
struct Rows {
  std::size_t count = 0, width = 0;
  bool side_by_side = false, bfloat16 = false;
  const T* in_memory = nullptr;
  std::size_t stride = 0;
  std::function<void(std::size_t first, std::size_t count, std::size_t stride, T* to)> make;
  // Numbers of W where they are stored, as in MatrixRows.
  kernels::StoredNumber stored =
      std::is_same_v<T, float> ? kernels::StoredNumber::float32 : kernels::StoredNumber::float64;
  std::function<void(std::size_t first, std::size_t count, const std::byte** rows)> places = {};
  const std::byte* lines = nullptr;
  KeptMatrix* kept = nullptr;

  // Whether products of a few rows may read it without packing.
  bool takes_few() const { return !side_by_side || lines != nullptr; }
};

// One product with its bias, its epilogue and its y.
template <class T>
struct Task {
  Rows<T> rows;
  Tensor bias;
  std::function<void(std::size_t at, std::size_t count, T* y)> epilogue;
  std::shared_ptr<T> y;

  // The bias of the columns from `first` on; null without a bias.
  const T* bias_from(std::size_t first) const {
    return bias ? bias.template values<T>().data() + first : nullptr;
  }
};

// Columns of y whose rows of W one thread packs, with the progress over their blocks of rows.
struct ColumnGroup {
  std::size_t task = 0, first = 0, count = 0;
  // The worker that begins with them; another takes them where it has none of its own left.
  std::size_t worker = 0;
  std::atomic<bool> taken{false};
  const void* packed_rows = nullptr;
  std::atomic<bool> packed{false};
  std::atomic<std::size_t> next_block{0};
};

// Rows of W as panels of floats or doubles.
template <class T>
class Panels {
 public:
  using Packed = T;
  static constexpr auto form =
      std::is_same_v<T, float> ? KeptMatrix::Form::floats : KeptMatrix::Form::doubles;
  static constexpr std::size_t block_rows = 96;

  Panels(const T* x, std::size_t width) : x_(x), width_(width) {}

  static std::size_t panel() { return kernels::product_panel<T>(); }
  std::size_t packed_count(std::size_t columns) const { return columns * width_; }
  std::size_t room_count(const Rows<T>& w, std::size_t) const {
    return w.in_memory != nullptr || w.side_by_side ? 0 : panel() * width_;
  }
  static constexpr std::size_t scratch_count = 0;

  bool prepare(std::size_t) { return true; }

  bool pack(const Rows<T>& w, std::size_t first, std::size_t count, T* to, T* room) const {
    const std::size_t wide = panel();
    if (w.side_by_side && w.in_memory != nullptr) {
      kernels::pack_lines(kernels::PanelRows<T>{w.in_memory + first, w.stride, count, width_}, to);
      return true;
    }
    for (std::size_t left = 0; left < count; left += wide) {
      const std::size_t columns = std::min(wide, count - left);
      T* own = to + left * width_;
      if (w.side_by_side) {
        if (columns < wide) std::fill_n(own, wide * width_, T(0));
        w.make(first + left, columns, wide, own);
        continue;
      }
      kernels::PanelRows<T> rows{room, width_, columns, width_};
      if (w.in_memory != nullptr) {
        rows.first = w.in_memory + (first + left) * w.stride;
        rows.stride = w.stride;
      } else {
        w.make(first + left, columns, width_, room);
      }
      kernels::pack_panel(rows, own);
    }
    return true;
  }

  void multiply(const Task<T>& task, const ColumnGroup& group, std::size_t row, std::size_t rows,
                T*) const {
    const std::size_t columns = task.rows.count;
    kernels::multiply_rows(kernels::RowProduct<T>{
        x_ + row * width_, width_, rows, width_, static_cast<const T*>(group.packed_rows),
        group.count, task.bias_from(group.first), task.y.get() + row * columns + group.first,
        columns});
  }

 private:
  const T* x_;
  std::size_t width_;
};

// Rows of W that are all bfloat16, packed for matrix tiles, and rows of x split for them.
class SplitPanels {
 public:
  using Packed = std::uint16_t;
  static constexpr auto form = KeptMatrix::Form::parts;
  static constexpr std::size_t block_rows = kernels::split_row_block;

  SplitPanels(const float* x, std::size_t rows, std::size_t width)
      : x_(x),
        rows_(rows),
        width_(width),
        block_count_(kernels::split_x_count(kernels::split_row_block, width)),
        split_x_(new_elements<std::uint16_t>((rows + kernels::split_row_block - 1) /
                                             kernels::split_row_block * block_count_)) {}

  static std::size_t panel() { return kernels::split_panel_columns; }
  std::size_t packed_count(std::size_t columns) const {
    return kernels::split_w_count(columns, width_);
  }
  std::size_t room_count(const Rows<float>& w, std::size_t group_columns) const {
    if (w.in_memory != nullptr) return 0;
    return (w.side_by_side ? group_columns : panel()) * width_;
  }
  static constexpr std::size_t scratch_count = kernels::split_row_block * kernels::product_group;

  bool prepare(std::size_t block) {
    const std::size_t row = block * kernels::split_row_block;
    return kernels::split_x_rows(
        {x_ + row * width_, width_, std::min(kernels::split_row_block, rows_ - row), width_},
        split_x_.get() + block * block_count_);
  }

  bool pack(const Rows<float>& w, std::size_t first, std::size_t count, std::uint16_t* to,
            float* room) const {
    if (w.in_memory != nullptr) {
      return kernels::split_w_rows({w.in_memory + (w.side_by_side ? first : first * w.stride),
                                    w.stride, count, width_, w.side_by_side},
                                   to);
    }
    if (w.side_by_side) {
      w.make(first, count, count, room);
      return kernels::split_w_rows({room, count, count, width_, true}, to);
    }
    bool fits = true;
    for (std::size_t left = 0; left < count; left += panel()) {
      const std::size_t columns = std::min(panel(), count - left);
      w.make(first + left, columns, width_, room);
      fits =
          kernels::split_w_rows({room, width_, columns, width_, false}, to + packed_count(left)) &&
          fits;
    }
    return fits;
  }

  void multiply(const Task<float>& task, const ColumnGroup& group, std::size_t row,
                std::size_t rows, float* scratch) const {
    const std::size_t columns = task.rows.count;
    kernels::multiply_split_rows({split_x_.get() + row / kernels::split_row_block * block_count_,
                                  rows, width_,
                                  static_cast<const std::uint16_t*>(group.packed_rows), group.count,
                                  task.bias_from(group.first),
                                  task.y.get() + row * columns + group.first, columns, scratch});
  }

 private:
  const float* x_;
  std::size_t rows_, width_, block_count_;
  std::shared_ptr<std::uint16_t> split_x_;
};

// The packed rows of one task that are kept: complete ones, or those that this product leaves for
// later ones. Neither if there is no more room for them, or another thread fills it.
template <class Way, class T>
class KeptRows {
  using Packed = typename Way::Packed;

 public:
  KeptRows(const Way& way, const Rows<T>& rows) : matrix_(rows.kept) {
    if (matrix_ == nullptr) return;
    complete_ = static_cast<const Packed*>(matrix_->find(Way::form));
    if (complete_ != nullptr) return;
    const std::size_t panel = Way::panel(), columns = (rows.count + panel - 1) / panel * panel;
    claimed_ =
        static_cast<Packed*>(matrix_->claim(Way::form, way.packed_count(columns) * sizeof(Packed)));
  }
  KeptRows(KeptRows&& other) noexcept
      : matrix_(other.matrix_),
        complete_(other.complete_),
        claimed_(std::exchange(other.claimed_, nullptr)) {}
  KeptRows(const KeptRows&) = delete;
  KeptRows& operator=(const KeptRows&) = delete;
  KeptRows& operator=(KeptRows&&) = delete;
  ~KeptRows() {
    if (claimed_ != nullptr) matrix_->abandon();
  }

  const Packed* complete() const { return complete_; }
  Packed* claimed() const { return claimed_; }
  // Lets later products find what was packed.
  void leave() {
    if (std::exchange(claimed_, nullptr) != nullptr) matrix_->complete();
  }

 private:
  KeptMatrix* matrix_;
  const Packed* complete_ = nullptr;
  Packed* claimed_ = nullptr;
};

// Computes all tasks. A thread packs a group of columns and multiplies with it while it is in its
// cache; threads that find no group left share the rows of unfinished groups. Each begins with the
// same share of the columns of every task, so that it reads most of what follows, such as the heads
// of an attention, from its own cache. No thread repacks its memory while others read it, because
// no group is left to pack then. The sum of a number does not depend on its thread. Returns false,
// with an incomplete y, if numbers do not fit the packing.
template <class T, class Way>
bool multiply_all(Way way, std::vector<Task<T>>& tasks, std::size_t rows, std::size_t threads) {
  const std::size_t panel = Way::panel();
  std::size_t panels = 0, fewest = SIZE_MAX;
  for (const Task<T>& task : tasks) {
    const std::size_t own = (task.rows.count + panel - 1) / panel;
    panels += own;
    fewest = std::min(fewest, own);
  }
  constexpr std::size_t block_rows = Way::block_rows;
  const std::size_t blocks = (rows + block_rows - 1) / block_rows;
  // At least two groups per thread, and one in each task, as far as there are panels.
  const std::size_t workers =
      std::max<std::size_t>(1, std::min(panels * blocks, thread_count(threads)));
  const std::size_t group_columns =
      panel *
      std::clamp<std::size_t>(std::min(panels / (2 * workers), (fewest + workers - 1) / workers), 1,
                              std::max<std::size_t>(1, kernels::product_group / panel));
  std::size_t count = 0, packed_count = 0, room_count = 0;
  for (const Task<T>& task : tasks) {
    count += (task.rows.count + group_columns - 1) / group_columns;
    packed_count = std::max(packed_count, way.packed_count(group_columns));
    room_count = std::max(room_count, way.room_count(task.rows, group_columns));
  }
  std::vector<ColumnGroup> groups(count);
  std::vector<KeptRows<Way, T>> kept;
  kept.reserve(tasks.size());
  std::size_t next = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    kept.emplace_back(way, tasks[t].rows);
    for (std::size_t first = 0; first < tasks[t].rows.count; first += group_columns, ++next) {
      groups[next].task = t;
      groups[next].first = first;
      groups[next].count = std::min(group_columns, tasks[t].rows.count - first);
      groups[next].worker = (first + groups[next].count / 2) * workers / tasks[t].rows.count;
      if (kept[t].complete() == nullptr) continue;
      groups[next].packed_rows = kept[t].complete() + way.packed_count(first);
      groups[next].packed = true;
    }
  }
  // Memory of each worker, allocated before the threads start so that none of them fails.
  struct Own {
    std::shared_ptr<typename Way::Packed> packed;
    std::shared_ptr<T> room, scratch;
  };
  std::vector<Own> own(workers);
  for (Own& one : own) {
    one.packed = new_elements<typename Way::Packed>(packed_count);
    one.room = new_elements<T>(room_count);
    one.scratch = new_elements<T>(Way::scratch_count);
  }

  std::atomic<std::size_t> next_prepared{0}, prepared{0};
  std::atomic<bool> unfit{false};
  const auto multiply = [&](ColumnGroup& group, T* scratch) {
    const Task<T>& task = tasks[group.task];
    for (std::size_t i = group.next_block++; i < blocks; i = group.next_block++) {
      const std::size_t first = i * block_rows, end = std::min(rows, first + block_rows);
      way.multiply(task, group, first, end - first, scratch);
      if (!task.epilogue) continue;
      for (std::size_t row = first; row < end; ++row) {
        const std::size_t at = row * task.rows.count + group.first;
        task.epilogue(at, group.count, task.y.get() + at);
      }
    }
  };
  parallel_for(workers, workers, [&](std::size_t worker) {
    for (std::size_t i = next_prepared++; i < blocks; i = next_prepared++) {
      if (!way.prepare(i)) unfit = true;
      ++prepared;
    }
    while (prepared < blocks) std::this_thread::yield();
    for (const bool own_share : {true, false}) {
      for (ColumnGroup& group : groups) {
        if (unfit) break;
        if ((group.worker == worker) != own_share || group.taken.exchange(true)) continue;
        if (!group.packed) {
          typename Way::Packed* const claimed = kept[group.task].claimed();
          typename Way::Packed* const to = claimed != nullptr
                                               ? claimed + way.packed_count(group.first)
                                               : own[worker].packed.get();
          if (!way.pack(tasks[group.task].rows, group.first, group.count, to,
                        own[worker].room.get())) {
            unfit = true;
          }
          group.packed_rows = to;
          group.packed = true;
        }
        if (!unfit) multiply(group, own[worker].scratch.get());
      }
    }
    // Groups that were taken last have the most rows left.
    for (std::size_t g = groups.size(); g-- > 0;) {
      while (!groups[g].packed && !unfit) std::this_thread::yield();
      if (unfit) return;
      multiply(groups[g], own[worker].scratch.get());
    }
  });
  if (unfit) return false;
  for (KeptRows<Way, T>& rows : kept) rows.leave();
  return true;
}

// Columns `first` … `first + product.count` − 1 of a product of a few rows of x, with rows of W
// where they are stored, or made in `room`.
template <class T>
void multiply_part(kernels::FewRowProduct<T> product, const Rows<T>& w, std::size_t first) {
  if constexpr (std::is_same_v<T, float>) {
    if (w.lines != nullptr) {
      const std::size_t size = kernels::size_of(product.stored);
      return kernels::multiply_few_columns(product, w.lines + first * size, w.stride * size);
    }
  }
  std::vector<const std::byte*> places(product.count);
  const auto set_places = [&](const T* rows, std::size_t stride, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) {
      places[j] = reinterpret_cast<const std::byte*>(rows + j * stride);
    }
  };
  if (w.places) {
    w.places(first, product.count, places.data());
  } else if (w.in_memory != nullptr) {
    set_places(w.in_memory + first * w.stride, w.stride, product.count);
  } else {
    // Rows that are made a few at a time are multiplied while they are in the nearest cache.
    constexpr std::size_t near = 16384;
    const std::size_t made = std::clamp<std::size_t>(near / sizeof(T) / w.width, 1, product.count);
    const std::shared_ptr<T> room = new_elements<T>(made * w.width);
    set_places(room.get(), w.width, made);
    const std::size_t end = first + product.count;
    for (; first < end; first += made) {
      product.count = std::min(made, end - first);
      w.make(first, product.count, w.width, room.get());
      kernels::multiply_few_rows(product, places.data());
      product.y += product.count;
      if (product.bias != nullptr) product.bias += product.count;
    }
    return;
  }
  kernels::multiply_few_rows(product, places.data());
}

// Products of a few rows of x with a W that is not packed.
template <class T>
void multiply_few(std::vector<Task<T>>& tasks, const T* x, std::size_t rows, std::size_t threads) {
  // Lines of this many columns are read in pieces that are long enough.
  constexpr std::size_t part = 128;
  struct Part {
    const Task<T>* task;
    std::size_t first;
  };
  std::vector<Part> parts;
  std::size_t numbers = 0;
  for (const Task<T>& task : tasks) {
    numbers += task.rows.count * task.rows.width;
    for (std::size_t first = 0; first < task.rows.count; first += part) {
      parts.push_back({&task, first});
    }
  }
  // Fewer numbers of W are read faster than another thread starts.
  constexpr std::size_t enough = std::size_t{1} << 19U;
  parallel_for(parts.size(), numbers >= enough ? threads : 1, [&](std::size_t at) {
    const Task<T>& task = *parts[at].task;
    const Rows<T>& w = task.rows;
    const std::size_t first = parts[at].first, count = std::min(part, w.count - first);
    multiply_part<T>(
        {x, rows, w.width, w.stored, count, task.bias_from(first), task.y.get() + first, w.count},
        w, first);
    for (std::size_t i = 0; task.epilogue && i < rows; ++i) {
      task.epilogue(i * w.count + first, count, task.y.get() + i * w.count + first);
    }
  });
}

template <class T>
void multiply_all(std::vector<Task<T>>& tasks, const Tensor& x, std::size_t threads) {
  const std::size_t width = tasks.front().rows.width, rows = x.size() / width;
  const T* from = x.values<T>().data();
  for (Task<T>& task : tasks) {
    task.bias = task.bias.converted(dtype_of<T>());
    task.y = new_elements<T>(rows * task.rows.count);
  }
  const auto all = [&](const auto& is) { return std::all_of(tasks.begin(), tasks.end(), is); };
  if (rows <= kernels::few_product_rows &&
      all([](const Task<T>& task) { return task.rows.takes_few(); })) {
    multiply_few(tasks, from, rows, threads);
    return;
  }
  if constexpr (std::is_same_v<T, float>) {
    if (kernels::splits_product(rows, width) &&
        all([](const Task<T>& task) { return task.rows.bfloat16; }) &&
        multiply_all<T>(SplitPanels(from, rows, width), tasks, rows, threads)) {
      return;
    }
  }
  multiply_all<T>(Panels<T>(from, width), tasks, rows, threads);
}

template <class T>
Tensor result(const Task<T>& task, const Tensor& x) {
  Shape shape = x.shape();
  shape.back() = task.rows.count;
  return filled(std::move(shape), task.y);
}

template <class T>
auto epilogue_of(const Epilogue& epilogue) {
  if constexpr (std::is_same_v<T, float>) {
    return epilogue.floats;
  } else {
    return epilogue.doubles;
  }
}

template <class T>
Tensor product(const Linear& linear, const Tensor& x, std::size_t threads,
               const Epilogue& epilogue) {
  const Tensor weight = linear.weight.converted(dtype_of<T>());
  const std::size_t width = weight.shape()[1];
  Rows<T> rows{weight.shape()[0], width, false, false, weight.values<T>().data(), width, {}};
  std::vector<Task<T>> tasks;
  tasks.push_back({std::move(rows), linear.bias, epilogue_of<T>(epilogue), {}});
  multiply_all(tasks, x, threads);
  return result(tasks.front(), x);
}

template <class T>
std::vector<Tensor> products(std::span<const Product> all, const Tensor& x, std::size_t threads) {
  std::vector<Task<T>> tasks;
  for (const Product& one : all) {
    const MatrixRows& weight = one.weight;
    Rows<T> rows{weight.rows, weight.columns, weight.side_by_side, weight.bfloat16, nullptr, 0, {}};
    Task<T>& task =
        tasks.emplace_back(Task<T>{std::move(rows), one.bias, epilogue_of<T>(one.epilogue), {}});
    task.rows.stride = weight.stride;
    task.rows.kept = weight.kept;
    if constexpr (std::is_same_v<T, float>) {
      task.rows.in_memory = weight.in_memory;
      task.rows.make = weight.floats;
      task.rows.stored = weight.stored;
      task.rows.places = weight.places;
      task.rows.lines = weight.lines;
    } else {
      task.rows.in_memory = weight.doubles_in_memory;
      task.rows.make = weight.doubles;
    }
  }
  multiply_all(tasks, x, threads);
  std::vector<Tensor> results;
  results.reserve(tasks.size());
  for (const Task<T>& task : tasks) results.push_back(result(task, x));
  return results;
}

}  // namespace

Tensor apply(const Linear& linear, const Tensor& x, std::size_t threads, const Epilogue& epilogue) {
  return with_float_type(x.dtype(),
                         [&]<class T>() { return product<T>(linear, x, threads, epilogue); });
}

std::vector<Tensor> apply(std::span<const Product> all, const Tensor& x, std::size_t threads) {
  return with_float_type(x.dtype(), [&]<class T>() { return products<T>(all, x, threads); });
}

double activated(double x, const ActivationCurve& by) {
  switch (by.curve) {
    case kernels::Curve::relu:
      return x < 0 ? 0 : x;  // NaN stays NaN
    case kernels::Curve::gelu:
      return x * (0.5 * std::erfc(-x / std::numbers::sqrt2));
    case kernels::Curve::gelu_by_tanh:
      return 0.5 * x * (1 + std::tanh(by.constant * (x + 0.044715 * x * x * x)));
    case kernels::Curve::sigmoid:
      return x / (1 + std::exp(-by.constant * x));
  }
  return x;
}

Epilogue activating(const ActivationCurve& by) {
  return {[by](std::size_t, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant), y, nullptr, count, y);
          },
          [by](std::size_t, std::size_t count, double* y) {
            for (std::size_t i = 0; i < count; ++i) y[i] = activated(y[i], by);
          }};
}

Epilogue gating(const Tensor& gates, const ActivationCurve& by) {
  return {[by, gates](std::size_t at, std::size_t count, float* y) {
            kernels::activate(by.curve, static_cast<float>(by.constant),
                              gates.values<float>().data() + at, y, count, y);
          },
          [by, gates](std::size_t at, std::size_t count, double* y) {
            const double* gate = gates.values<double>().data() + at;
            for (std::size_t i = 0; i < count; ++i) y[i] *= activated(gate[i], by);
          }};
}

Epilogue adding(const Tensor& base) {
  const auto add = [base]<class T>(std::size_t at, std::size_t count, T* y) {
    const T* from = base.values<T>().data() + at;
    for (std::size_t i = 0; i < count; ++i) y[i] += from[i];
  };
  return {add, add};
}

Shape check_linear(const Linear& linear, const Shape& x, const std::string& prefix,
                   const std::string& name) {
  const std::string weight = prefix + name + ".weight";
  if (!linear.weight) {
    throw input_error(translated("the parameter {1} is missing", weight), "/parameters/" + weight,
                      translated("give it the shape [out,{1}]", x.back()));
  }
  const Shape& shape = linear.weight.shape();
  if (linear.weight.size() == 0) {
    throw input_error(translated("{1} {2} has an axis of size 0", weight, text(shape)),
                      "/parameters/" + weight, translated("give every axis at least one element"));
  }
  if (shape.size() != 2 || shape[1] != x.back()) {
    const std::string expected = "[out," + std::to_string(x.back()) + "]";
    throw input_error(
        translated("{1} {2} does not fit: expected {3}", weight, text(shape), expected),
        "/parameters/" + weight,
        shape.size() == 2 && shape[0] == x.back()
            ? translated("its second axis is the width of what it is applied to, {1}; weights that "
                         "are multiplied as x·W come with \"transpose\": true",
                         text(x))
            : translated("its second axis is the width of what it is applied to, {1}", text(x)));
  }
  if (linear.bias && linear.bias.shape() != Shape{shape[0]}) {
    throw input_error(translated("{1}{2}.bias {3} does not fit: expected {4}", prefix, name,
                                 text(linear.bias.shape()), text({shape[0]})),
                      "/parameters/" + prefix + name + ".bias",
                      translated("give it one number per row of {1}", weight));
  }
  Shape result = x;
  result.back() = shape[0];
  return result;
}

}  // namespace attn
