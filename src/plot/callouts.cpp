#include "plot/callouts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "plot/numbers/ticks.hpp"
#include "support/utf8.hpp"

namespace attn::plot {
namespace {

constexpr double well_above = 1.1;                          // times the next value
constexpr double callout_size = 8;                          // points
constexpr double callout_margin = 2.5;                      // points around the text
constexpr double least_share_of_keys = 0.1;                 // that a named query sees
constexpr double line_width = 0.6;                          // points
constexpr std::size_t longest_callout_name = 14;            // columns of a terminal's letters
constexpr std::array distances = {16.0, 28.0, 44.0, 64.0};  // points from cell to text
constexpr std::size_t directions = 12;

struct Strong {
  double value;
  std::size_t row, column;
};

// Whether a query sees enough keys for its strongest one to say something: the first queries of a
// causal map do not.
bool sees_many(const Matrix& matrix, std::size_t query) {
  std::size_t keys = 0;
  for (std::size_t j = 0; j < matrix.columns(); ++j) keys += matrix.seen(query, j) ? 1 : 0;
  return static_cast<double>(keys) >= least_share_of_keys * static_cast<double>(matrix.columns());
}

// The strongest cells, one more than may be named.
std::vector<Strong> strongest(const Matrix& matrix) {
  std::vector<Strong> found;
  const auto stronger = [](const Strong& a, const Strong& b) { return a.value > b.value; };
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    if (!sees_many(matrix, i)) continue;
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      const double value = matrix.at(i, j);
      if (!matrix.shown(i, j) || !(value > 0) || !std::isfinite(value)) continue;
      if (found.size() > most_named_values && value <= found.back().value) continue;
      const Strong cell{value, i, j};
      found.insert(std::upper_bound(found.begin(), found.end(), cell, stronger), cell);
      if (found.size() > most_named_values + 1) found.pop_back();
    }
  }
  return found;
}

// The weight of the cells under a box.
double weight_under(const Box& box, const Box& map, const Matrix& matrix) {
  const auto index = [](double place, std::size_t count) {
    return static_cast<std::size_t>(
        std::clamp(place * static_cast<double>(count), 0.0, static_cast<double>(count - 1)));
  };
  const std::size_t top = index((box.top - map.top) / map.height(), matrix.rows());
  const std::size_t bottom = index((box.bottom - map.top) / map.height(), matrix.rows());
  const std::size_t left = index((box.left - map.left) / map.width(), matrix.columns());
  const std::size_t right = index((box.right - map.left) / map.width(), matrix.columns());
  double sum = 0;
  for (std::size_t i = top; i <= bottom; ++i) {
    for (std::size_t j = left; j <= right; ++j) {
      if (matrix.shown(i, j) && std::isfinite(matrix.at(i, j))) sum += matrix.at(i, j);
    }
  }
  return sum;
}

bool within(const Box& box, const Box& map) {
  return box.left >= map.left && box.right <= map.right && box.top >= map.top &&
         box.bottom <= map.bottom;
}

// Whether a line from one point to another touches a box.
bool touches(const Point& from, const Point& to, const Box& box) {
  double first = 0, last = 1;  // of the line, as shares of its length
  const std::array steps = {to.x - from.x, to.y - from.y};
  const std::array lows = {box.left - from.x, box.top - from.y};
  const std::array highs = {box.right - from.x, box.bottom - from.y};
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    if (steps[axis] == 0) {
      if (lows[axis] > 0 || highs[axis] < 0) return false;
      continue;
    }
    const auto [least, most] = std::minmax({lows[axis] / steps[axis], highs[axis] / steps[axis]});
    first = std::max(first, least);
    last = std::min(last, most);
  }
  return first <= last;
}

// Whether two lines cross: the ends of each lie on either side of the other.
bool cross(const Callout& a, const Callout& b) {
  const auto turn = [](const Point& from, const Point& to, const Point& at) {
    return (to.x - from.x) * (at.y - from.y) - (to.y - from.y) * (at.x - from.x);
  };
  return turn(a.from, a.to, b.from) * turn(a.from, a.to, b.to) < 0 &&
         turn(b.from, b.to, a.from) * turn(b.from, b.to, a.to) < 0;
}

// What is already there when a text is placed.
struct Taken {
  std::vector<Box> cells;  // that are named
  std::vector<Callout> callouts;

  // Whether a text beside the cell `own` leaves all of it free, so that each line is seen to lead
  // from its own text to its own cell.
  bool leaves_free(const Callout& added, std::size_t own) const {
    for (std::size_t n = 0; n < cells.size(); ++n) {
      if (overlap(added.box, cells[n])) return false;
      if (n != own && touches(added.from, added.to, cells[n])) return false;
    }
    return std::none_of(callouts.begin(), callouts.end(), [&](const Callout& other) {
      return overlap(added.box, other.box) || touches(added.from, added.to, other.box) ||
             touches(other.from, other.to, added.box) || cross(added, other);
    });
  }
};

// The place beside a named cell's middle at which a text covers least and that is free.
std::optional<Callout> beside(const Point& cell, std::size_t own, const Text& text, const Box& map,
                              const Matrix& matrix, const Taken& taken, const Figure& figure) {
  std::optional<Callout> best;
  double least = 0;
  for (const double distance : distances) {
    const double away = figure.pixels(distance) * figure.font_scale();
    for (std::size_t d = 0; d < directions; ++d) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(d) / directions;
      const double across = std::cos(angle), down = -std::sin(angle);
      const Horizontal side = across > 0.1    ? Horizontal::left
                              : across < -0.1 ? Horizontal::right
                                              : Horizontal::centre;
      const Point at = {cell.x + away * across, cell.y + away * down};
      const PlacedText placed = place(text, at, {side, Vertical::centre_of_capitals});
      const Box box = placed.bounds.padded(figure.pixels(callout_margin));
      const Callout callout = {
          box,
          placed,
          {std::clamp(cell.x, box.left, box.right), std::clamp(cell.y, box.top, box.bottom)},
          cell};
      if (!within(box, map) || !taken.leaves_free(callout, own)) continue;
      const double covered = weight_under(box, map, matrix);
      if (best && covered >= least) continue;
      least = covered;
      best = callout;
    }
    // Farther away only where nothing near is free of weight.
    constexpr double little = 0.1;
    if (best && least < little) break;
  }
  return best;
}

}  // namespace

std::size_t count_of_strongest(std::span<const double> values) {
  for (std::size_t count = std::min(values.size(), most_named_values); count > 0; --count) {
    if (count == values.size() || values[count - 1] >= well_above * values[count]) return count;
  }
  return 0;
}

std::vector<Callout> callouts_on(const Box& map, const Matrix& matrix, const MapTicks& names,
                                 Figure& figure) {
  const std::vector<Strong> cells = strongest(matrix);
  std::vector<double> values;
  for (const Strong& cell : cells) values.push_back(cell.value);
  const double width = map.width() / static_cast<double>(matrix.columns());
  const double height = map.height() / static_cast<double>(matrix.rows());
  const std::size_t count = count_of_strongest(values);
  Taken taken;
  for (std::size_t n = 0; n < count; ++n) {
    const double left = map.left + static_cast<double>(cells[n].column) * width;
    const double top = map.top + static_cast<double>(cells[n].row) * height;
    const double least = figure.pixels(callout_margin);
    const double across = std::max(0.0, least - width / 2);
    const double down = std::max(0.0, least - height / 2);
    taken.cells.push_back({left - across, top - down, left + width + across, top + height + down});
  }
  for (std::size_t n = 0; n < count; ++n) {
    const Strong& cell = cells[n];
    const Box& box = taken.cells[n];
    const std::string text = attn::shortened(names.query.labels[cell.row], longest_callout_name) +
                             " \u2192 " +
                             attn::shortened(names.key.labels[cell.column], longest_callout_name) +
                             " " + value_text(cell.value, {ValueFormat::Kind::significant, 2});
    const auto callout =
        beside({(box.left + box.right) / 2, (box.top + box.bottom) / 2}, n,
               figure.typesetter().text(text, callout_size), map, matrix, taken, figure);
    if (callout) taken.callouts.push_back(*callout);
  }
  return taken.callouts;
}

void draw_callouts(Canvas& canvas, const std::vector<Callout>& callouts, const Figure& figure) {
  const Paper& paper = figure.paper();
  const double width = figure.line(line_width);
  for (const Callout& callout : callouts)
    canvas.line(callout.from, callout.to, {paper.ink, 1, width});
  for (const Callout& callout : callouts) {
    canvas.fill(callout.box, paper.ground);
    canvas.stroke(callout.box, paper.ink, width);
    canvas.text(callout.text, paper.ink);
  }
}

}  // namespace attn::plot
