/* What translated kernels need: memory, the dot product, exp and log, BLAS. Multiplications and additions are never
   fused (-ffp-contract=off), sums never reordered: results are the same bits everywhere. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef _MSC_VER
#pragma fp_contract(off)
#include <intrin.h>
#endif

/* Memory: a stack of chunks, cut back when a function returns. */

#define LINE 64 /* bytes of a cache line, so that no vector load straddles two */
#define CHUNK ((size_t)1 << 18)

/* Under the address sanitizer only what arrays hold may be touched, and there is a fence behind each of them, so that a
   kernel which leaves one is caught: tests/kernels/sanitized.py. */
#if defined(__SANITIZE_ADDRESS__)
#define FENCED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FENCED 1
#endif
#endif
#ifdef FENCED
#include <sanitizer/asan_interface.h>
#define FENCE LINE
#else
#define FENCE 0
#define ASAN_POISON_MEMORY_REGION(start, size) ((void)0)
#define ASAN_UNPOISON_MEMORY_REGION(start, size) ((void)0)
#endif

typedef struct chunk {
    struct chunk *below;
    size_t size, used;
    char *data;
} chunk;

typedef struct {
    chunk *top, *spare;
    jmp_buf out_of_memory;
} stack;

typedef struct {
    chunk *chunk;
    size_t used;
} place;

static inline place top(stack *memory) {
    place here = {memory->top, memory->top->used};
    return here;
}

static void *push(stack *memory, size_t exact) {
    if (exact > SIZE_MAX / 2) longjmp(memory->out_of_memory, 1);
    size_t size = (exact + FENCE + LINE - 1) / LINE * LINE;
    if (memory->top->size - memory->top->used < size) {
        chunk *next = memory->spare;
        memory->spare = NULL;
        if (next && next->size < size) {
            free(next);
            next = NULL;
        }
        if (!next) {
            size_t room = size > CHUNK ? size : CHUNK;
            next = malloc(sizeof(chunk) + room + LINE);
            if (!next) longjmp(memory->out_of_memory, 1);
            next->size = room;
            next->data = (char *)(((uintptr_t)(next + 1) + LINE - 1) / LINE * LINE);
        }
        ASAN_POISON_MEMORY_REGION(next->data, next->size);
        next->used = 0;
        next->below = memory->top;
        memory->top = next;
    }
    void *start = memory->top->data + memory->top->used;
    memory->top->used += size;
    ASAN_UNPOISON_MEMORY_REGION(start, exact);
    return start;
}

static inline void cut(stack *memory, place here) {
    while (memory->top != here.chunk) {
        chunk *gone = memory->top;
        memory->top = gone->below;
        if (memory->spare && memory->spare->size >= gone->size) {
            free(gone);
        } else {
            free(memory->spare);
            memory->spare = gone;
        }
    }
    memory->top->used = here.used;
    ASAN_POISON_MEMORY_REGION(here.chunk->data + here.used, here.chunk->size - here.used);
}

/* Numbers. */

static inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static inline int64_t quotient(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}

static inline int64_t remainder_of(int64_t a, int64_t b) { return a - quotient(a, b) * b; }

static inline bool is_nan_f8(double x) { return x != x; }
static inline bool is_nan_f4(float x) { return x != x; }
static inline bool is_finite_f8(double x) { return x - x == 0.0; }
static inline bool is_finite_f4(float x) { return x - x == 0.0f; }

static inline int64_t largest_i8(const int64_t *p, int64_t n) {
    int64_t most = p[0];
    for (int64_t i = 1; i < n; i++) most = p[i] > most ? p[i] : most;
    return most;
}

/* By squaring, as numba does it. */
static double whole_power(double base, int64_t exponent) {
    double result = 1.0;
    int64_t left = exponent < 0 ? -exponent : exponent;
    if (left > 0x10000) return pow(base, (double)exponent);
    for (; left; left >>= 1) {
        if (left & 1) result *= base;
        base *= base;
    }
    return exponent < 0 ? 1.0 / result : result;
}

/* exp and log of dtsemnet.kernels, which see. */
#define TRANSCENDENTAL(CODE, REAL, INT, UINT, FRACTION, BIAS, MAGIC, LN2_HIGH, LN2_LOW, LOG2E, SMALLEST, ROOT_HALF)    \
    static inline REAL exp_##CODE(REAL x) {                                                                            \
        REAL clipped = SMALLEST > x ? SMALLEST : x, shifted = clipped * LOG2E + MAGIC, k = shifted - MAGIC;           \
        REAL r = (clipped - k * LN2_HIGH) - k * LN2_LOW, p = EXP_##CODE[0], power;                                     \
        UINT bits;                                                                                                     \
        for (int i = 1; i < (int)(sizeof(EXP_##CODE) / sizeof(REAL)); i++) p = p * r + EXP_##CODE[i];                  \
        memcpy(&bits, &shifted, sizeof bits);                                                                          \
        bits = (UINT)(bits + (UINT)BIAS) << FRACTION;                                                                  \
        memcpy(&power, &bits, sizeof bits);                                                                            \
        return x >= SMALLEST ? p * power : (REAL)0;                                                                    \
    }                                                                                                                  \
    static inline REAL log_##CODE(REAL x) {                                                                            \
        const REAL root_half = ROOT_HALF, one = 1;                                                                     \
        INT start, bits;                                                                                               \
        UINT raw;                                                                                                      \
        REAL k, m, s, square, p = LOG_##CODE[0];                                                                       \
        memcpy(&start, &root_half, sizeof start);                                                                      \
        memcpy(&raw, &x, sizeof raw);                                                                                  \
        bits = (INT)(raw + (((UINT)BIAS << FRACTION) - (UINT)start));                                                  \
        k = (REAL)((bits >> FRACTION) - BIAS);                                                                         \
        raw = ((UINT)bits & (((UINT)1 << FRACTION) - 1)) + (UINT)start;                                                \
        memcpy(&m, &raw, sizeof m);                                                                                    \
        s = (m - one) / (m + one);                                                                                     \
        square = s * s;                                                                                                \
        for (int i = 1; i < (int)(sizeof(LOG_##CODE) / sizeof(REAL)); i++) p = p * square + LOG_##CODE[i];             \
        return k * LN2_HIGH + (s * p + k * LN2_LOW);                                                                   \
    }

/* The dot product of dtsemnet.kernels.routing: sixteen sums, joined by halves. */
#if defined(__GNUC__) || defined(__clang__)
typedef double eight __attribute__((vector_size(64), aligned(8)));

static inline double dot16(const double *w, const double *x, int64_t length) {
    eight low = {0}, high = {0};
    for (int64_t j = 0; j < length; j += 16) {
        low += *(const eight *)(w + j) * *(const eight *)(x + j);
        high += *(const eight *)(w + j + 8) * *(const eight *)(x + j + 8);
    }
    low += high;
    double sum[8];
    memcpy(sum, &low, sizeof sum);
    for (int k = 0; k < 4; k++) sum[k] += sum[k + 4];
    for (int k = 0; k < 2; k++) sum[k] += sum[k + 2];
    return sum[0] + sum[1];
}
#else
static inline double dot16(const double *w, const double *x, int64_t length) {
    double sum[16] = {0};
    for (int64_t j = 0; j < length; j += 16)
        for (int k = 0; k < 16; k++) sum[k] += w[j + k] * x[j + k];
    for (int half = 8; half; half /= 2)
        for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    return sum[0];
}
#endif

/* Products of matrices by the BLAS of scipy, the one that numba calls, by the same functions: a matrix with one row or
   column counts as a vector. */
#define BLAS_TYPES(REAL, GEMM, GEMV, DOT)                                                                              \
    typedef void GEMM##_type(char *, char *, int *, int *, int *, REAL *, REAL *, int *, REAL *, int *, REAL *,        \
                             REAL *, int *);                                                                           \
    typedef void GEMV##_type(char *, int *, int *, REAL *, REAL *, int *, REAL *, int *, REAL *, REAL *, int *);       \
    typedef REAL DOT##_type(int *, REAL *, int *, REAL *, int *);                                                      \
    static GEMM##_type *GEMM = NULL;                                                                                   \
    static GEMV##_type *GEMV = NULL;                                                                                   \
    static DOT##_type *DOT = NULL;
BLAS_TYPES(float, sgemm, sgemv, sdot)
BLAS_TYPES(double, dgemm, dgemv, ddot)

/* c = b a for matrices in C order, which BLAS reads as transposed: c has n rows and m columns. */
#define PRODUCT(CODE, REAL, GEMM, GEMV, DOT)                                                                           \
    static void product_##CODE(char transa, char transb, int64_t m, int64_t n, int64_t k, REAL *a, int64_t lda,        \
                               REAL *b, int64_t ldb, REAL *c) {                                                        \
        int columns = (int)m, rows = (int)n, inner = (int)k, width_a = (int)lda, width_b = (int)ldb, step = 1;         \
        REAL one = 1, zero = 0;                                                                                        \
        if (m == 0 || n == 0 || k == 0) {                                                                              \
            memset(c, 0, (size_t)m * n * sizeof(REAL));                                                                \
        } else if (m == 1 && n == 1) {                                                                                 \
            *c = DOT(&inner, b, &step, a, &step);                                                                      \
        } else if (m == 1) {                                                                                           \
            char trans = transb == 't' ? 'n' : 't';                                                                    \
            GEMV(&trans, &width_b, transb == 't' ? &inner : &rows, &one, b, &width_b, a, &step, &zero, c, &step);      \
        } else if (n == 1) {                                                                                           \
            GEMV(&transa, &width_a, transa == 't' ? &columns : &inner, &one, a, &width_a, b, &step, &zero, c, &step);  \
        } else {                                                                                                       \
            GEMM(&transa, &transb, &columns, &rows, &inner, &one, a, &width_a, b, &width_b, &zero, c, &columns);       \
        }                                                                                                              \
    }
PRODUCT(f4, float, sgemm, sgemv, sdot)
PRODUCT(f8, double, dgemm, dgemv, ddot)

/* Arguments and answers. */

typedef struct {
    void *p;
    int64_t n0, n1, whole;
    double real;
    char code; /* of the buffer protocol; a scalar has n_dims 0 */
    int n_dims;
} argument;

typedef struct {
    void *p;
    int64_t n0, n1, whole;
    double real;
    char code;
    int n_dims;
} answer;

typedef struct {
    const char *name, *types; /* for each argument its number of dimensions and its code */
    void (*run)(stack *, const argument *, answer *);
    int n_answers, uses_blas;
} overload;
