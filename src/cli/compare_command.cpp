#include "cli/compare_command.hpp"

#include "attn/compare.hpp"
#include "attn/error.hpp"
#include "attn/run.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

CompareRequest request_of(const CompareArguments& arguments) {
  const auto usage = [](const std::string& problem) {
    return Error(ErrorKind::usage, problem, "attn-cli compare", "write attn-cli compare A B");
  };
  const std::vector<std::string>& files = arguments.files;
  if (files.size() < 2) throw usage("two files to compare are needed");
  if (files.size() > 2) throw usage("more than two files to compare given");
  if (files[0] == "-" && files[1] == "-")
    throw usage("standard input can be only one of the files");
  CompareRequest request;
  request.a = files[0];
  request.b = files[1];
  request.files = file_access(arguments.limits);
  if (arguments.provenance && !arguments.plot) {
    throw Error(ErrorKind::usage, "--provenance is given without --plot", "attn-cli compare",
                "name a picture to write it into with --plot FILE");
  }
  request.provenance = arguments.provenance;
  if (arguments.rtol) request.rtol = finite_size("--rtol", *arguments.rtol);
  if (arguments.atol) request.atol = finite_size("--atol", *arguments.atol);
  if (arguments.common.threads)
    request.threads = whole_number("--threads", *arguments.common.threads, 1);
  if (arguments.plot) {
    try {
      request.picture = picture_format(*arguments.plot);
    } catch (const Error& error) {
      throw Error(error.kind(), error.problem(), "--plot", error.help());
    }
  }
  return request;
}

}  // namespace

int compare_command(const CompareArguments& arguments) {
  const Comparison comparison = compare(request_of(arguments));
  if (comparison.picture) write_picture(*comparison.picture, *arguments.plot);
  if (!arguments.common.quiet) {
    warn(comparison.warnings);
    print(arguments.common.json ? comparison_json(comparison) : comparison_text(comparison));
  }
  return comparison.agree() ? 0 : 1;
}

}  // namespace attn::cli
