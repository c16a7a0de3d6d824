// Tells the processor that the thread waits for another one in a loop.
#pragma once

namespace inferd::kernels {

#if defined(__x86_64__)
inline void SpinPause() { __builtin_ia32_pause(); }
#elif defined(__aarch64__)
inline void SpinPause() { asm volatile("yield"); }
#else
inline void SpinPause() {}
#endif

}  // namespace inferd::kernels
