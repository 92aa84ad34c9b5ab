// bin/attn-cli of the portable archive: starts the program by the loader and the C library that lie beside it, so that it
// runs on every Linux of its processor, whatever C library that has. The loader is called libexec/attn-cli, which is the name that
// ps shows, and the place from which the program looks for its own files.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { cannot_open = 4 };  // the program's own exit code

// Cuts the last name off a path.
static void leave(char* path) {
  char* slash = strrchr(path, '/');
  if (slash != NULL) *slash = '\0';
}

static char* below(const char* folder, const char* name) {
  const size_t size = strlen(folder) + strlen(name) + 1;
  char* path = malloc(size);
  if (path != NULL) snprintf(path, size, "%s%s", folder, name);
  return path;
}

int main(int count, char** words) {
  char root[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", root, sizeof root - 1);
  if (length <= 0) {
    fputs("attn-cli: /proc is missing, which says where this program lies\n"
          "  help:  mount it: mount -t proc proc /proc\n",
          stderr);
    return cannot_open;
  }
  root[length] = '\0';
  leave(root);
  leave(root);
  char* loader = below(root, "/libexec/attn-cli");
  char* libraries = below(root, "/lib/attn-cli");
  char* program = below(root, "/libexec/attn-cli.elf");
  // The cache belongs to the system's loader, whose libraries may be of another time.
  char* start[] = {loader, "--inhibit-cache", "--library-path", libraries, "--argv0", words[0], program};
  const int given = sizeof start / sizeof *start;
  char** all = calloc((size_t)(given + count), sizeof *all);  // ends with a null
  if (loader == NULL || libraries == NULL || program == NULL || all == NULL) return cannot_open;
  memcpy(all, start, sizeof start);
  for (int i = 1; i < count; ++i) all[given + i - 1] = words[i];
  execv(loader, all);
  fprintf(stderr, "attn-cli: cannot start \"%s\": ", loader);
  perror(NULL);
  fputs("  help:  unpack the whole archive, and let bin, lib, libexec and share stay beside each other\n", stderr);
  return cannot_open;
}
