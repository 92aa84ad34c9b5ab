#include "attention/packed_product.hpp"

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {

const void* KeptMatrix::find(Form form) const noexcept {
  const Rows& rows = rows_[static_cast<std::size_t>(form)];
  const bool complete = rows.state.load(std::memory_order_acquire) == State::complete;
  return complete ? rows.block.get() : nullptr;
}

void* KeptMatrix::claim(Form form, std::size_t bytes) noexcept {
  Rows& rows = of(form);
  State expected = State::empty;
  if (!rows.state.compare_exchange_strong(expected, State::claimed)) return nullptr;
  std::size_t left = left_;
  while (left >= bytes && !left_.compare_exchange_weak(left, left - bytes)) {
  }
  rows.bytes = left >= bytes ? bytes : 0;
  if (rows.bytes > 0) rows.block.reset(allocate_block(bytes));
  if (!rows.block) abandon(form);
  return rows.block.get();
}

void KeptMatrix::complete(Form form) noexcept {
  of(form).state.store(State::complete, std::memory_order_release);
}

void KeptMatrix::abandon(Form form) noexcept {
  Rows& rows = of(form);
  rows.block.reset();
  left_ += rows.bytes;
  rows.state.store(State::empty, std::memory_order_release);
}

KeptMatrix& KeptPacking::matrix(const std::string& name, std::size_t first, std::size_t count) {
  const std::lock_guard lock(guard_);
  return matrices_.try_emplace({name, first, count}, left_).first->second;
}

namespace {

// Rows of x and y from `first` to before `end`.
struct RowRange {
  std::size_t first, end;

  std::size_t count() const { return end - first; }
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
  std::size_t group_columns() const { return kernels::product_group_of<T>(width_); }
  std::size_t packed_count(std::size_t columns) const { return columns * width_; }
  std::size_t room_count(const ProductRows<T>& w, std::size_t) const {
    return w.in_memory != nullptr || w.side_by_side ? 0 : panel() * width_;
  }
  static constexpr std::size_t scratch_count = 0;

  // Rows of x are read in place.
  static bool prepare(std::size_t) { return true; }

  bool pack(const ProductRows<T>& w, std::size_t first, std::size_t count, T* to, T* room) const {
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

  void multiply(std::size_t, const ProductTask<T>& task, const ColumnGroup& group, std::size_t row,
                std::size_t rows, T*) const {
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

// Rows of W packed for matrix tiles, in one part if all their numbers are bfloat16, and rows of x
// split for them.
template <kernels::WeightParts parts>
class SplitPanels {
 public:
  using Packed = std::uint16_t;
  static constexpr auto form =
      parts == kernels::WeightParts::one ? KeptMatrix::Form::bfloat16 : KeptMatrix::Form::parts;
  static constexpr std::size_t block_rows = kernels::split_row_block;

  // Splits those rows of x, which prepare() does.
  SplitPanels(const float* x, const RowRange& rows, std::size_t width, std::size_t threads)
      : x_(x),
        rows_(rows),
        width_(width),
        count_(kernels::split_x_count(rows.count(), width)),
        each_has_all_(count_ <= most_own),
        split_x_(new_elements<std::uint16_t>(each_has_all_ ? threads * count_ : count_)) {}

  // Rows that are split at a time, in whole blocks: more would take too much memory, fewer too much
  // time for packing W again.
  static std::size_t most_rows(std::size_t width) {
    constexpr std::size_t least = 1024, bytes = std::size_t{24} << 20U;
    const std::size_t rows =
        bytes / kernels::split_x_count(1, width) * kernels::split_panel / sizeof(Packed);
    return std::max(least, rows / block_rows * block_rows);
  }

  static std::size_t panel() { return kernels::split_panel; }
  static constexpr std::size_t group_columns() { return kernels::product_group; }
  std::size_t packed_count(std::size_t columns) const {
    return kernels::split_w_count(columns, width_, parts);
  }
  std::size_t room_count(const ProductRows<float>& w, std::size_t group_columns) const {
    if (w.in_memory != nullptr) return 0;
    return (w.side_by_side ? group_columns : panel()) * width_;
  }
  static constexpr std::size_t scratch_count = kernels::split_row_block * kernels::product_group;

  // Splits x, together with the other workers or alone. Returns false if a number does not fit.
  bool prepare(std::size_t worker) {
    bool fits = true;
    if (each_has_all_) {
      for (std::size_t piece = 0; piece < pieces(); ++piece) fits = split(worker, piece) && fits;
      return fits;
    }
    for (std::size_t piece = next_piece_++; piece < pieces(); piece = next_piece_++) {
      fits = split(worker, piece) && fits;
      ++split_pieces_;
    }
    while (split_pieces_ < pieces()) std::this_thread::yield();
    return fits;
  }

  bool pack(const ProductRows<float>& w, std::size_t first, std::size_t count, std::uint16_t* to,
            float* room) const {
    if (w.in_memory != nullptr) {
      return kernels::split_w_rows({w.in_memory + (w.side_by_side ? first : first * w.stride),
                                    w.stride, count, width_, w.side_by_side},
                                   parts, to);
    }
    if (w.side_by_side) {
      w.make(first, count, count, room);
      return kernels::split_w_rows({room, count, count, width_, true}, parts, to);
    }
    bool fits = true;
    for (std::size_t left = 0; left < count; left += panel()) {
      const std::size_t columns = std::min(panel(), count - left);
      w.make(first + left, columns, width_, room);
      fits = kernels::split_w_rows({room, width_, columns, width_, false}, parts,
                                   to + packed_count(left)) &&
             fits;
    }
    return fits;
  }

  void multiply(std::size_t worker, const ProductTask<float>& task, const ColumnGroup& group,
                std::size_t row, std::size_t rows, float* scratch) const {
    const std::size_t columns = task.rows.count;
    kernels::multiply_split_rows({split_rows(worker, row), rows, width_,
                                  static_cast<const std::uint16_t*>(group.packed_rows), parts,
                                  group.count, task.bias_from(group.first),
                                  task.y.get() + row * columns + group.first, columns, scratch});
  }

 private:
  // Numbers of a small split x: each worker splits it for itself, as splitting takes less time than
  // reading what another core has just written.
  static constexpr std::size_t most_own = std::size_t{1} << 18U;

  std::size_t pieces() const {
    return (rows_.count() + kernels::split_panel - 1) / kernels::split_panel;
  }
  std::uint16_t* split_rows(std::size_t worker, std::size_t row) const {
    return split_x_.get() + (each_has_all_ ? worker * count_ : 0) +
           kernels::split_x_count(row - rows_.first, width_);
  }
  bool split(std::size_t worker, std::size_t piece) {
    const std::size_t row = rows_.first + piece * kernels::split_panel;
    return kernels::split_x_rows(
        {x_ + row * width_, width_, std::min(kernels::split_panel, rows_.end - row), width_},
        split_rows(worker, row));
  }

  const float* x_;
  RowRange rows_;
  std::size_t width_, count_;
  bool each_has_all_;
  std::shared_ptr<std::uint16_t> split_x_;
  std::atomic<std::size_t> next_piece_{0}, split_pieces_{0};
};

// The packed rows of one task that are kept: complete ones, or those that this product leaves for
// later ones. Neither if there is no more room for them, or another thread fills it.
template <class Way, class T>
class KeptRows {
  using Packed = typename Way::Packed;

 public:
  KeptRows(const Way& way, const ProductRows<T>& rows) : matrix_(rows.kept) {
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
    if (claimed_ != nullptr) matrix_->abandon(Way::form);
  }

  const Packed* complete() const { return complete_; }
  Packed* claimed() const { return claimed_; }
  // Lets later products find what was packed.
  void leave() {
    if (std::exchange(claimed_, nullptr) != nullptr) matrix_->complete(Way::form);
  }

 private:
  KeptMatrix* matrix_;
  const Packed* complete_ = nullptr;
  Packed* claimed_ = nullptr;
};

// Groups of columns into which tasks are cut for threads.
struct ColumnShares {
  std::size_t workers = 1;
  std::size_t columns = 0;  // of a group at most

  // At least two groups per thread, and one in each task, as far as there are panels.
  template <class T, class Way>
  ColumnShares(const std::vector<ProductTask<T>>& tasks, const Way& way, std::size_t blocks,
               std::size_t threads) {
    const std::size_t panel = Way::panel();
    std::size_t panels = 0, fewest = SIZE_MAX;
    for (const ProductTask<T>& task : tasks) {
      const std::size_t own = (task.rows.count + panel - 1) / panel;
      panels += own;
      fewest = std::min(fewest, own);
    }
    workers = std::max<std::size_t>(1, std::min(panels * blocks, thread_count(threads)));
    columns = panel * std::clamp<std::size_t>(
                          std::min(panels / (2 * workers), (fewest + workers - 1) / workers), 1,
                          std::max<std::size_t>(1, way.group_columns() / panel));
  }
  std::size_t groups(std::size_t count) const { return (count + columns - 1) / columns; }
};

// The groups of all tasks; those of rows that are kept are packed already.
template <class T, class Way>
std::vector<ColumnGroup> groups_of(const std::vector<ProductTask<T>>& tasks, const Way& way,
                                   const std::vector<KeptRows<Way, T>>& kept,
                                   const ColumnShares& shares) {
  std::size_t count = 0, next = 0;
  for (const ProductTask<T>& task : tasks) count += shares.groups(task.rows.count);
  std::vector<ColumnGroup> groups(count);
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const std::size_t columns = tasks[t].rows.count;
    for (std::size_t first = 0; first < columns; first += shares.columns, ++next) {
      groups[next].task = t;
      groups[next].first = first;
      groups[next].count = std::min(shares.columns, columns - first);
      groups[next].worker = (first + groups[next].count / 2) * shares.workers / columns;
      if (kept[t].complete() == nullptr) continue;
      groups[next].packed_rows = kept[t].complete() + way.packed_count(first);
      groups[next].packed = true;
    }
  }
  return groups;
}

// Memory of one worker.
template <class T, class Way>
struct WorkerMemory {
  std::shared_ptr<typename Way::Packed> packed;
  std::shared_ptr<T> room, scratch;
};

// That of all workers, allocated before the threads start so that none of them fails.
template <class T, class Way>
std::vector<WorkerMemory<T, Way>> memory_of_workers(const std::vector<ProductTask<T>>& tasks,
                                                    const Way& way,
                                                    const std::vector<KeptRows<Way, T>>& kept,
                                                    const ColumnShares& shares) {
  std::size_t packed_count = 0, room_count = 0;
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    if (kept[t].complete() != nullptr) continue;
    room_count = std::max(room_count, way.room_count(tasks[t].rows, shares.columns));
    if (kept[t].claimed() == nullptr) packed_count = way.packed_count(shares.columns);
  }
  std::vector<WorkerMemory<T, Way>> all(shares.workers);
  for (WorkerMemory<T, Way>& one : all) {
    one.packed = new_elements<typename Way::Packed>(packed_count);
    one.room = new_elements<T>(room_count);
    one.scratch = new_elements<T>(Way::scratch_count);
  }
  return all;
}

// Computes those rows of all tasks. A thread packs a group of columns and multiplies with it while
// it is in its cache; threads that find no group left share the rows of unfinished groups. Each
// thread keeps the same columns in every product, so that they stay in its cache. No thread repacks
// its memory while others read it, because no group is left to pack then. The sum of a number does
// not depend on its thread. Returns false, with an incomplete y, if numbers do not fit the packing.
template <class T, class Way>
bool multiply_by(Way& way, std::vector<ProductTask<T>>& tasks, const RowRange& rows,
                 std::size_t threads) {
  constexpr std::size_t block_rows = Way::block_rows;
  const std::size_t blocks = (rows.count() + block_rows - 1) / block_rows;
  const ColumnShares shares(tasks, way, blocks, threads);
  std::vector<KeptRows<Way, T>> kept;
  kept.reserve(tasks.size());
  for (const ProductTask<T>& task : tasks) kept.emplace_back(way, task.rows);
  std::vector<ColumnGroup> groups = groups_of(tasks, way, kept, shares);
  const std::vector<WorkerMemory<T, Way>> own = memory_of_workers(tasks, way, kept, shares);

  std::atomic<bool> unfit{false};
  const auto multiply = [&](std::size_t worker, ColumnGroup& group) {
    const ProductTask<T>& task = tasks[group.task];
    for (std::size_t i = group.next_block++; i < blocks; i = group.next_block++) {
      const std::size_t first = rows.first + i * block_rows;
      const std::size_t end = std::min(rows.end, first + block_rows);
      way.multiply(worker, task, group, first, end - first, own[worker].scratch.get());
      if (!task.epilogue) continue;
      for (std::size_t row = first; row < end; ++row) {
        const std::size_t at = row * task.rows.count + group.first;
        task.epilogue(at, group.count, task.y.get() + at);
      }
    }
  };
  parallel_for(shares.workers, shares.workers, [&](std::size_t worker) {
    if (!way.prepare(worker)) unfit = true;
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
        if (!unfit) multiply(worker, group);
      }
    }
    // Groups that were taken last have the most rows left.
    for (std::size_t g = groups.size(); g-- > 0;) {
      while (!groups[g].packed && !unfit) std::this_thread::yield();
      if (unfit) return;
      multiply(worker, groups[g]);
    }
  });
  if (unfit) return false;
  for (KeptRows<Way, T>& kept_rows : kept) kept_rows.leave();
  return true;
}

}  // namespace

template <class T>
void multiply_packed(std::vector<ProductTask<T>>& tasks, const T* x, std::size_t rows,
                     std::size_t threads) {
  const std::size_t width = tasks.front().rows.width;
  if constexpr (std::is_same_v<T, float>) {
    const bool all_bfloat16 = std::all_of(tasks.begin(), tasks.end(),
                                          [](const auto& task) { return task.rows.bfloat16; });
    const auto multiply_on_tiles = [&]<kernels::WeightParts parts>() {
      using Way = SplitPanels<parts>;
      const std::size_t most = Way::most_rows(width);
      for (std::size_t first = 0; first < rows; first += most) {
        const RowRange some{first, std::min(rows, first + most)};
        Way way(x, some, width, thread_count(threads));
        if (!multiply_by<T>(way, tasks, some, threads)) return false;
      }
      return true;
    };
    if (kernels::splits_product(rows, width) &&
        (all_bfloat16 ? multiply_on_tiles.template operator()<kernels::WeightParts::one>()
                      : multiply_on_tiles.template operator()<kernels::WeightParts::three>())) {
      return;
    }
  }
  Panels<T> way(x, width);
  multiply_by<T>(way, tasks, {0, rows}, threads);
}

template void multiply_packed(std::vector<ProductTask<float>>&, const float*, std::size_t,
                              std::size_t);
template void multiply_packed(std::vector<ProductTask<double>>&, const double*, std::size_t,
                              std::size_t);

}  // namespace attn
