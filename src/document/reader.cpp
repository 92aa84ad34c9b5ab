#include "document/reader.hpp"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/answer_reader.hpp"
#include "document/keys.hpp"
#include "document/kind_reader.hpp"
#include "document/plan.hpp"
#include "report/facts.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// The plans of a document for its kinds.
class PlanSource {
 public:
  /// `only_checks`: no plan will be computed, only sketches are wanted.
  explicit PlanSource(const Document& document, bool only_checks = false)
      : document_(document),
        tensors_(document.folder(), document.access()),
        only_checks_(only_checks) {}

  /// The plan without tensors that are made or drawn. A model's plan is complete, since it only
  /// needs files.
  Plan sketch(Kind kind, std::span<const Kind> kinds, Problems& problems) {
    if (kind == Kind::model && only_checks_) return read_model_plan(document_, problems, true);
    if (kind == Kind::model) return model_.emplace(read_model_plan(document_, problems, false));
    tensors_.start(true);
    return read_kind(document_, kind, kinds, problems, tensors_);
  }

  /// The complete plan, after a sketch without problems. What a model says is computed by
  /// `threads`.
  Plan whole(Kind kind, std::span<const Kind> kinds, Problems& problems, std::size_t threads = 0) {
    if (kind == Kind::model) {
      complete_answer(*model_, threads);
      return std::move(*model_);
    }
    tensors_.start(false);
    return read_kind(document_, kind, kinds, problems, tensors_);
  }

 private:
  const Document& document_;
  TensorSource tensors_;
  bool only_checks_;
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

void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems,
                 const std::function<void(const Plan&)>& visit) {
  PlanSource source(document, true);
  Demand demand;
  for (const Kind kind : kinds) {
    const Plan plan = source.sketch(kind, kinds, problems);
    if (!problems.errors().empty()) continue;
    demand += demand_of(plan);
    if (visit) visit(plan);
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
    std::size_t threads = 0;
    for (const Kind kind : kinds) {
      Plan sketch = source.sketch(kind, kinds, problems);
      problems.throw_first();
      if (choose) choose(sketch);
      demand += demand_of(sketch);
      threads = sketch.options().threads;
    }
    check_demand(demand, document.access().limits);
    for (const Kind kind : kinds) {
      plans.push_back(source.whole(kind, kinds, problems, threads));
      problems.throw_first();
    }
  } catch (const Error& error) {
    throw document.placed(error);
  }
  return plans;
}

namespace {

Fact::Members facts_of(const Error& error) {
  return {{"problem", error.problem()}, {"where", error.where()}, {"help", error.help()}};
}

}  // namespace

Validation validate(const std::filesystem::path& path, const FileAccess& given) {
  return validation_of(path == "-" ? translated("standard input") : path.string(), given,
                       [&](const FileAccess& access) {
                         return Document::open(path, access,
                                               {.dtype = DType::float32, .threads = 0});
                       });
}

Validation validation_of(std::string name, const FileAccess& given,
                         const std::function<Document(const FileAccess&)>& open,
                         const std::function<void(const Plan&)>& visit) {
  Validation validation{std::move(name), {}};
  std::vector<Error>& all = validation.problems;
  try {
    with_whole_files(given, [&](const FileAccess& access) {
      const Document document = open(access);
      Problems problems;
      std::vector<Kind> kinds;
      if (!problems.attempt([&] { kinds = read_kinds(document.root()); })) {
        // Without a kind only the names of keys can be checked.
        check_document_keys(document.root(), problems);
      }
      check_plans(document, kinds, problems, visit);
      std::set<std::string> told;
      for (const Error& problem : problems.errors()) {
        const Error placed = document.placed(problem);
        // Several kinds may have the same problem.
        if (told.insert(placed.what()).second) all.push_back(placed);
      }
      return true;
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    all.assign(1, error);
  }
  return validation;
}

std::string validation_text(std::span<const Validation> validations) {
  std::string text;
  for (const Validation& validation : validations) {
    if (validation.problems.empty()) {
      text += translated("{1}: valid\n", printable(validation.input));
      continue;
    }
    text +=
        translated("{1}: {2}", printable(validation.input),
                   translated_count(validation.problems.size(), "{1} problem", "{1} problems")) +
        "\n";
    for (const Error& problem : validation.problems) {
      for (const char c : std::string("\n") + problem.what())
        text += c == '\n' ? std::string("\n  ") : std::string(1, c);
      text += '\n';
    }
  }
  return text;
}

Fact::Members facts_of(const Validation& validation) {
  const auto of_error = [](const Error& error) { return facts_of(error); };
  return {{"input", validation.input}, {"problems", list_of(validation.problems, of_error)}};
}

std::string validation_json(std::span<const Validation> validations) {
  return json_text(
      list_of(validations, [](const Validation& one) { return object(facts_of(one)); }));
}

std::string error_json(const Error& error) {
  Fact::Members facts = facts_of(error);
  facts.push_back({"exit_code", static_cast<std::size_t>(error.kind())});
  return json_text(object({{"error", facts}}), JsonLayout::line);
}

}  // namespace attn
