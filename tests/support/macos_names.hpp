// Names of macOS that platform_macos.cpp uses, declared as Apple's manuals state them (fcntl(2),
// statfs(2), stat(2), pthread.h), so that Linux compiles it too. Nothing defines them: it is not
// linked.
#pragma once

#include <cstddef>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define F_NOCACHE 48
#define F_GETPATH 50
#define F_FULLFSYNC 51
#define st_mtimespec st_mtim

struct statfs {
  char f_fstypename[16];
};

extern "C" {
int fstatfs(int descriptor, struct statfs* system);
void* pthread_get_stackaddr_np(pthread_t thread);
std::size_t pthread_get_stacksize_np(pthread_t thread);
}
