#include "document/reader.hpp"

#include <optional>

#include "attn/error.hpp"

#include "document/demand.hpp"
#include "document/kind_reader.hpp"
#include "document/kinds.hpp"
#include "document/model_reader.hpp"

namespace attn {
namespace {

/// Reads a document's plans for its kinds.
class PlanSource {
 public:
  explicit PlanSource(const Document& document)
      : document_(document), tensors_(document.folder(), document.access()) {}

  /// The plan with nothing made or drawn. A model's plan is whole: it stands in files.
  Plan sketch(Kind kind, std::span<const Kind> kinds, Problems& problems) {
    if (kind == Kind::model) return model_.emplace(read_model_plan(document_, problems));
    tensors_.start(true);
    return read_kind(document_, kind, kinds, problems, tensors_);
  }

  /// The plan after its sketch, in which no problem was found.
  Plan whole(Kind kind, std::span<const Kind> kinds, Problems& problems) {
    if (kind == Kind::model) return *model_;
    tensors_.start(false);
    return read_kind(document_, kind, kinds, problems, tensors_);
  }

 private:
  const Document& document_;
  TensorSource tensors_;
  std::optional<Plan> model_;
};

}  // namespace

Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems) {
  PlanSource source(document);
  const std::size_t before = problems.errors().size();
  Plan plan = source.sketch(kind, kinds, problems);
  if (problems.errors().size() > before ||
      !problems.attempt([&] { check_demand(demand_of(plan), document.access().limits); })) {
    return plan;
  }
  return source.whole(kind, kinds, problems);
}

void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems) {
  PlanSource source(document);
  Demand demand;
  for (const Kind kind : kinds) {
    const Plan plan = source.sketch(kind, kinds, problems);
    if (problems.errors().empty()) demand += demand_of(plan);
  }
  problems.attempt([&] { check_demand(demand, document.access().limits); });
}

std::vector<Plan> read_plans(const Document& document, const std::function<void(Plan&)>& choose) {
  std::vector<Plan> plans;
  try {
    const std::vector<Kind> kinds = read_kinds(document.root());
    PlanSource source(document);
    Problems problems;
    Demand demand;
    for (const Kind kind : kinds) {
      Plan sketch = source.sketch(kind, kinds, problems);
      problems.throw_first();
      if (choose) choose(sketch);
      demand += demand_of(sketch);
    }
    check_demand(demand, document.access().limits);
    for (const Kind kind : kinds) {
      plans.push_back(source.whole(kind, kinds, problems));
      problems.throw_first();
    }
  } catch (const Error& error) {
    throw document.placed(error);
  }
  return plans;
}

}  // namespace attn
