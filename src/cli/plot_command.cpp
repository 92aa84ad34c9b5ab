#include "cli/plot_command.hpp"

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {

int plot_command(const PlotArguments& arguments) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli plot",
                 "write attn-cli plot KIND FILE --out PICTURE");
  };
  if (arguments.words.empty()) throw usage("no kind of picture given");
  PlotRequest request;
  request.kind = static_cast<PlotKind>(choice("plot", arguments.words[0], plot_kinds));
  if (arguments.words.size() < 2) throw usage("no file to draw given");
  const bool comparison = request.kind == PlotKind::comparison;
  if (arguments.words.size() > 2 && !comparison) throw usage("more than one file to draw given");
  if (arguments.words.size() < 3 && comparison) {
    throw Error(ErrorKind::usage, "a comparison takes at least two files", "attn-cli plot",
                "write attn-cli plot comparison A B … --out PICTURE");
  }
  if (!arguments.out) throw usage("no --out given");
  request.input = arguments.words[1];
  request.files = file_access(arguments.files);
  request.others.assign(arguments.words.begin() + 2, arguments.words.end());
  request.name = arguments.name;
  request.provenance = arguments.provenance;
  if (arguments.labels) request.labels = *arguments.labels;
  const bool to_standard_output = *arguments.out == "-";
  if (!to_standard_output) request.format = picture_format(*arguments.out);
  request.options = picture_options(arguments.picture, request.sample);
  request.selection = map_selection(arguments.picture, request.head);
  if (arguments.common.threads) {
    request.options.threads = whole_number("--threads", *arguments.common.threads, 1);
  }

  const Picture picture = plot(request);
  if (to_standard_output) {
    print(picture.bytes);
  } else {
    write_picture(picture, *arguments.out);
  }
  if (!arguments.common.quiet) warn(picture.warnings);
  return 0;
}

}  // namespace attn::cli
