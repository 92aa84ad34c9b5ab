#include "cli/plot_command.hpp"

#include <array>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {

int plot_command(const PlotArguments& arguments) {
  constexpr std::array<std::string_view, 3> kinds{"heatmap", "dimensions", "grid"};
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli plot",
                 "write attn-cli plot KIND FILE --out PICTURE");
  };
  if (arguments.words.empty()) throw usage("no kind of picture given");
  PlotRequest request;
  request.kind = static_cast<PlotKind>(choice("plot", arguments.words[0], kinds));
  if (arguments.words.size() < 2) throw usage("no file to draw given");
  if (arguments.words.size() > 2) throw usage("more than one file to draw given");
  if (!arguments.out) throw usage("no --out given");
  request.input = arguments.words[1];
  if (arguments.labels) request.labels = *arguments.labels;
  const bool to_standard_output = *arguments.out == "-";
  if (!to_standard_output) request.format = picture_format(*arguments.out);
  request.options = picture_options(arguments.picture, request.sample, request.head);

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
