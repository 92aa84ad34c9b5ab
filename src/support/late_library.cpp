#include "support/late_library.hpp"

#include <dlfcn.h>

#include "attn/error.hpp"

#include "support/translated.hpp"

namespace attn {
namespace {

Error not_loaded(const char* library) {
  const char* reason = dlerror();
  return {ErrorKind::file, translated("cannot load the library {1}", library),
          reason == nullptr ? "" : reason,
          translated("install {1} with your system's packages", library)};
}

}  // namespace

void* LateLibrary::function(const char* name) const {
  // The loader counts how often a library is opened and keeps it from the first time on.
  void* const library = dlopen(file_, RTLD_LAZY | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) throw not_loaded(name_);
  void* const address = dlsym(library, name);
  if (address == nullptr) throw not_loaded(name_);
  return address;
}

}  // namespace attn
