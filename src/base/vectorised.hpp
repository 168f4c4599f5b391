#pragma once
// Marks of functions whose plain loops compilers turn into SIMD code.

// GCC on x86-64 compiles a marked function once for every instruction set and lets the loader choose. The choosing code
// runs before a sanitizer is ready, so sanitized builds get the plain function, as does every other compiler.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GAUSSMITH_VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GAUSSMITH_VECTORISED
#endif
#if defined(__GNUC__)
#define GAUSSMITH_INLINE [[gnu::always_inline]] inline
#else
#define GAUSSMITH_INLINE inline
#endif
