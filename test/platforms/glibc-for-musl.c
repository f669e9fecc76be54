/* What libstdc++ and libgcc of a system with glibc want of it and musl does not have: enough to run a musl build there. */
#include <stddef.h>
typedef unsigned int u32;
long syscall(long, ...);
char __libc_single_threaded = 0;
u32 arc4random(void) { u32 n = 0; syscall(318, &n, sizeof n, 0); return n; }
size_t strftime_l(char *, size_t, const char *, const void *, void *);
size_t __strftime_l(char *s, size_t n, const char *f, const void *t, void *l) { return strftime_l(s, n, f, t, l); }
int __cxa_thread_atexit_impl(void (*f)(void *), void *o, void *d) { return 0; }
int _dl_find_object(void *pc, void *result) { return -1; }
int __cpu_indicator_init(void) { return 0; }
struct { u32 a, b, c, d[1]; } __cpu_model;
