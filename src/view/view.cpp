#include "attn/view.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "maps/computed_maps.hpp"
#include "report/facts.hpp"
#include "result/result_reader.hpp"
#include "run/document_run.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
#include "view/page_maker.hpp"
#include "view/viewed_attention.hpp"

namespace attn {
namespace {

using Sink = std::function<void(std::string_view)>;

ViewOutcome view_plan(const Plan& plan, const ViewOptions& options, const Sink& sink) {
  PageMaker page(options, planned_input(plan, options), true, sink);
  compute(plan, {.tensor = {}, .map = [&](AttentionMap map, std::size_t) {
                   if (!map.numbers) return;
                   if (const auto attention = planned_attention(plan, std::move(map), options)) {
                     page.take(*attention);
                   }
                 }});
  return page.finish();
}

void refuse_several(const ViewOptions& options) {
  if (options.others.empty()) return;
  throw Error(ErrorKind::usage, translated("only files of maps can be layers of one page"),
              "ViewOptions::others", translated("give one document"));
}

// Only these layers of a model are computed, where they are told by their numbers.
void choose_layers(const ViewOptions& options, DocumentOptions& document) {
  if (!options.selection.layers) return;
  std::vector<std::size_t> layers;
  for (const PositionRange& range : *options.selection.layers) {
    if (!range.first || !range.end || *range.first < 0 || *range.end != *range.first + 1) return;
    layers.push_back(static_cast<std::size_t>(*range.first));
  }
  document.layers = std::move(layers);
}

ViewOutcome view_input(const ViewOptions& options, const Sink& sink) {
  DocumentOptions given = options.document;
  if (given.input.empty()) {
    refuse_several(options);
    choose_layers(options, given);
    return view_plan(plan_of_view(options, open_document(given)), options, sink);
  }
  // Standard input can be read but once.
  auto file = std::make_shared<ResultReader>(given.input, given.files);
  if (file->is_document() || given.model) {
    refuse_several(options);
    Document document =
        Document::parse(file->text(), file->name(),
                        given.input == "-" ? std::filesystem::path() : given.input.parent_path(),
                        given.files, json_options(given));
    if (given.model || document.root().find("model") != nullptr) choose_layers(options, given);
    put_options(given, document);
    return view_plan(plan_of_view(options, document), options, sink);
  }
  FiledAttentions maps(options, std::move(file));
  PageMaker page(options, maps.input(), false, sink);
  maps.each([&](const ViewedAttention& attention) { page.take(attention); });
  return page.finish();
}

}  // namespace

RunOutcome run_and_view(const RunOptions& options, const ViewOptions& given) {
  return run_with_maps_file(options, [&](const Plan& plan, const std::filesystem::path& folder) {
    check_viewable(plan);
    const auto view = std::make_shared<ViewOptions>(given);
    view->document = options.document;
    view->stages = options.stages;
    view->commands.result = {(folder / "result.json").string()};
    // Held until all is computed and drawn, as pictures are.
    const auto page = std::make_shared<std::string>();
    const auto maker =
        std::make_shared<PageMaker>(*view, planned_input(plan, *view), true,
                                    [page](std::string_view piece) { page->append(piece); });
    MapsFile file;
    file.name = "view.html";
    file.take = [view, &plan, maker](const AttentionMap& map) {
      if (const auto attention = planned_attention(plan, map, *view)) {
        maker->take(*attention);
      }
    };
    file.finish = [page, maker] {
      maker->finish();
      Picture picture;
      picture.bytes = std::move(*page);
      return picture;
    };
    return file;
  });
}

ViewOutcome view(const ViewOptions& given, const Sink& page) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    ViewOptions options = given;
    options.document.files = access;
    return view_input(options, page);
  });
}

ViewOutcome view(const ViewOptions& options, const std::filesystem::path& page) {
  AtomicFile file(page, Existing::followed);
  ViewOutcome outcome = view(options, [&](std::string_view piece) { file.write(piece); });
  file.commit();
  return outcome;
}

std::string view_text(const ViewOutcome& outcome) {
  std::string text =
      translated("{1} of {2}, {3} cells, {4} bytes",
                 translated_count(outcome.maps, "{1} map", "{1} maps"),
                 translated_count(outcome.attentions, "{1} attention", "{1} attentions"),
                 outcome.cells, outcome.bytes) +
      "\n";
  for (const std::string& note : outcome.notes) text += note + "\n";
  return text;
}

std::string view_json(const ViewOutcome& outcome) {
  return json_text(object({{"attentions", outcome.attentions},
                           {"maps", outcome.maps},
                           {"cells", outcome.cells},
                           {"bytes", outcome.bytes},
                           {"notes", outcome.notes},
                           {"warnings", outcome.warnings}}));
}

}  // namespace attn
