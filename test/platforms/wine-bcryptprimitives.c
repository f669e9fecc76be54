/*
 * The one function that Bun needs and Wine 8 lacks: random bytes.
 * x86_64-w64-mingw32-gcc-win32 -shared -o bcryptprimitives.dll wine-bcryptprimitives.c -ladvapi32
 */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
  return SystemFunction036(data, (ULONG)size);
}
