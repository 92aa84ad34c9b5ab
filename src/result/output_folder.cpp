#include "result/output_folder.hpp"

#include <string>
#include <system_error>

#include "attn/error.hpp"

namespace attn {

void make_output_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  std::filesystem::create_directory(folder, error);
  std::error_code ignored;
  if (error || !std::filesystem::is_directory(folder, ignored)) {
    const std::string reason = error ? error.message() : "it is not a folder";
    throw Error(ErrorKind::file, "cannot make the folder \"" + folder.string() + "\": " + reason,
                "RunOptions::out",
                "name a folder whose parent folder exists and can be written to");
  }
}

}  // namespace attn
