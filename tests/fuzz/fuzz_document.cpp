#include <span>

#include "document/keys.hpp"
#include "document/reader.hpp"
#include "fuzz/fuzz_input.hpp"
#include "maps/computed_maps.hpp"

// Whatever a document says, it is computed or refused with a place and a reason. The files that it
// names are out of reach.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const fuzz::Input input(data, size);
  FileAccess access;
  access.limits.elements = 4096;
  access.restrict_to = "/nowhere";
  fuzz::accept_refusals([&] {
    const Document document = Document::parse(input.text(), "document.json", "", access);
    std::vector<Kind> kinds;
    Problems problems;
    if (!problems.attempt([&] { kinds = read_kinds(document.root()); })) {
      check_document_keys(document.root(), problems);
    }
    for (const Kind kind : kinds) {
      Problems own;
      Plan plan = read_plan(document, kind, kinds, own);
      for (const Error& error : own.errors()) {
        fuzz::require(!std::string_view(document.placed(error).what()).empty());
      }
      if (!own.errors().empty()) continue;
      ComputingOptions computing = plan.options();
      computing.threads = 1;
      plan.choose(computing);
      std::size_t tensors = 0, maps = 0;
      compute(plan, {.tensor = [&](const NamedTensor&) { ++tensors; },
                     .map = [&](const AttentionMap&, std::size_t) { ++maps; }});
      fuzz::require(tensors > 0 && maps == plan.attentions.size());
    }
  });
  return 0;
}
