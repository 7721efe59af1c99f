/* Written by compiling/generate.py from the kernels in Python; change those, then run it again. */
#define STAMP "5aa9427b8d5fc26dda9c1aa0e62b4552"
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

static const float EXP_f4[] = {0x1.a01a020000000p-13, 0x1.6c16c20000000p-10, 0x1.1111120000000p-7, 0x1.5555560000000p-5, 0x1.5555560000000p-3, 0x1.0000000000000p-1, 0x1.0000000000000p+0, 0x1.0000000000000p+0};
static const float LOG_f4[] = {0x1.c71c720000000p-3, 0x1.24924a0000000p-2, 0x1.99999a0000000p-2, 0x1.5555560000000p-1, 0x1.0000000000000p+1};
TRANSCENDENTAL(f4, float, int32_t, uint32_t, 23, 127, (float)0x1.8000000000000p+23, (float)0x1.6300000000000p-1, (float)-0x1.bd01060000000p-13, (float)0x1.7154760000000p+0, (float)-0x1.5a92d60000000p+6, (float)0x1.6a09e60000000p-1)
static const double EXP_f8[] = {0x1.6124613a86d09p-33, 0x1.1eed8eff8d898p-29, 0x1.ae64567f544e4p-26, 0x1.27e4fb7789f5cp-22, 0x1.71de3a556c734p-19, 0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-13, 0x1.6c16c16c16c17p-10, 0x1.1111111111111p-7, 0x1.5555555555555p-5, 0x1.5555555555555p-3, 0x1.0000000000000p-1, 0x1.0000000000000p+0, 0x1.0000000000000p+0};
static const double LOG_f8[] = {0x1.8618618618618p-4, 0x1.af286bca1af28p-4, 0x1.e1e1e1e1e1e1ep-4, 0x1.1111111111111p-3, 0x1.3b13b13b13b14p-3, 0x1.745d1745d1746p-3, 0x1.c71c71c71c71cp-3, 0x1.2492492492492p-2, 0x1.999999999999ap-2, 0x1.5555555555555p-1, 0x1.0000000000000p+1};
TRANSCENDENTAL(f8, double, int64_t, uint64_t, 52, 1023, (double)0x1.8000000000000p+52, (double)0x1.62e42fee00000p-1, (double)0x1.a39ef35793c76p-33, (double)0x1.71547652b82fep+0, (double)-0x1.61da04cbafe44p+9, (double)0x1.6a09e667f3bcdp-1)

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

/* The kernels. */

typedef struct { double *p; int64_t n0; } array1_f8;
typedef struct { int64_t *p; int64_t n0; } array1_i8;
typedef struct { float *p; int64_t n0; } array1_f4;
typedef struct { float *p; int64_t n0; int64_t n1; } array2_f4;
typedef struct { double *p; int64_t n0; int64_t n1; } array2_f8;
typedef struct { int64_t *p; int64_t n0; int64_t n1; } array2_i8;
typedef struct { uint64_t *p; int64_t n0; int64_t n1; } array2_u8;
typedef struct { uint64_t *p; int64_t n0; } array1_u8;
typedef struct { int8_t *p; int64_t n0; } array1_i1;
typedef struct { int8_t *p; int64_t n0; int64_t n1; } array2_i1;
typedef struct { float item0; float item1; } tuple_f4_f4;
typedef struct { float item0; double item1; } tuple_f4_f8;
typedef struct { double item0; double item1; } tuple_f8_f8;
typedef struct { double item0; float item1; } tuple_f8_f4;
typedef struct { array2_f4 X; array1_i8 y; array1_f4 weight; } Rows_array2_f4_array1_i8_array1_f4;
typedef struct { int32_t *p; int64_t n0; int64_t n1; } array2_i4;
typedef struct { int32_t *p; int64_t n0; } array1_i4;
typedef struct { double item0; array2_f4 item1; array2_f4 item2; array2_f4 item3; array2_f4 item4; array2_i4 item5; } tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4;
typedef struct { int64_t n_classes; double temperature; double q; } ClassLoss_i8_f8_f8;
typedef struct { array2_f8 X; array1_i8 y; array1_f8 weight; } Rows_array2_f8_array1_i8_array1_f8;
typedef struct { double item0; array2_f8 item1; array2_f8 item2; array2_f8 item3; array2_f8 item4; array2_i4 item5; } tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4;
typedef struct { array2_f4 X; array2_f4 y; array1_f4 weight; } Rows_array2_f4_array2_f4_array1_f4;
typedef struct { array2_f4 item0; array2_f4 item1; array2_f4 item2; array2_f4 item3; } tuple_array2_f4_array2_f4_array2_f4_array2_f4;
typedef struct { int64_t selector; int64_t k; double temperature; int64_t loss; double parameter; } RegressionLoss_i8_i8_f8_i8_f8;
typedef struct { array2_f8 X; array2_f8 y; array1_f8 weight; } Rows_array2_f8_array2_f8_array1_f8;
typedef struct { array2_f8 item0; array2_f8 item1; array2_f8 item2; array2_f8 item3; } tuple_array2_f8_array2_f8_array2_f8_array2_f8;
typedef struct { array1_i8 item0; int64_t item1; } tuple_array1_i8_i8;
typedef struct { array2_f4 item0; } tuple_array2_f4;
typedef struct { array2_f4 value; array2_f4 first; array2_f4 second; } Moments_array2_f4_array2_f4_array2_f4;
typedef struct { double item0; int64_t item1; } tuple_f8_i8;
typedef struct { double splits; double leaves; double weight_decay; double l1; double clip; } Rates_f8_f8_f8_f8_f8;
typedef struct { array2_f8 item0; } tuple_array2_f8;
typedef struct { array2_f8 value; array2_f8 first; array2_f8 second; } Moments_array2_f8_array2_f8_array2_f8;
typedef struct { array2_f4 item0; array2_f4 item1; } tuple_array2_f4_array2_f4;
typedef struct { array2_f8 item0; array2_f8 item1; } tuple_array2_f8_array2_f8;

static bool is_refused_1(stack *memory, double v_score, array1_f8 v_row, int64_t v_start, int64_t v_width);
static int64_t apply_0(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array1_i8 v_leaf);
static int64_t apply_2(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array1_i8 v_leaf);
static int64_t decision_path_3(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array2_i8 v_path);
static int64_t decision_path_4(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array2_i8 v_path);
static int64_t scores_5(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array2_f8 v_score);
static int64_t scores_6(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array2_f8 v_score);
static int64_t linear_7(stack *memory, array2_f4 v_X, array1_i8 v_leaf, array1_f8 v_coef, array2_f8 v_value, array2_f8 v_lower, array2_f8 v_upper, array2_f8 v_output);
static int64_t linear_8(stack *memory, array2_f8 v_X, array1_i8 v_leaf, array1_f8 v_coef, array2_f8 v_value, array2_f8 v_lower, array2_f8 v_upper, array2_f8 v_output);
static int64_t first_non_finite_9(stack *memory, array2_f4 v_X);
static int64_t first_non_finite_10(stack *memory, array2_f8 v_X);
static int64_t child_row_14(stack *memory, int64_t v_child, int64_t v_n_splits);
static void pass_down_15(stack *memory, array1_f8 v_above, array1_f8 v_score, array1_f8 v_left, array1_f8 v_right);
static void leaf_logits_13(stack *memory, array2_f8 v_scores, array2_i8 v_children, array2_f8 v_node);
static array2_f8 block_logits_12(stack *memory, array2_f8 v_scores, array2_i8 v_children, int64_t v_start, int64_t v_size);
static array2_f8 class_margins_11(stack *memory, array2_f8 v_scores, array2_i8 v_children, array1_i8 v_leaf_class, int64_t v_n_classes);
static void best_leaves_17(stack *memory, array2_f8 v_logit, array2_f8 v_best, array2_i8 v_index);
static array2_i8 choices_16(stack *memory, array2_f8 v_scores, array2_i8 v_children, int64_t v_n_choices);
static void gather_features_19(stack *memory, array2_f4 v_X, array1_i8 v_index, array2_f4 v_batch);
static void walk_20(stack *memory, array2_f4 v_scores, array2_i8 v_children, array1_i8 v_leaf);
static array1_i8 reached_18(stack *memory, array2_f4 v_X, array2_f4 v_splits, array2_i8 v_children);
static void gather_features_22(stack *memory, array2_f8 v_X, array1_i8 v_index, array2_f8 v_batch);
static void walk_23(stack *memory, array2_f8 v_scores, array2_i8 v_children, array1_i8 v_leaf);
static array1_i8 reached_21(stack *memory, array2_f8 v_X, array2_f8 v_splits, array2_i8 v_children);
static void mix_rows_24(stack *memory, array2_u8 v_bits, array1_u8 v_numbers);
static void hold_25(stack *memory, array2_f4 v_value, array2_i1 v_allowed);
static void hold_26(stack *memory, array2_f8 v_value, array2_i1 v_allowed);
static tuple_f8_f8 loss_28(stack *memory, float v_prediction, float v_y, int64_t v_loss, float v_parameter);
static array2_f4 losses_of_27(stack *memory, array2_f4 v_prediction, array2_f4 v_y, int64_t v_loss, double v_parameter);
static tuple_f8_f8 loss_30(stack *memory, double v_prediction, double v_y, int64_t v_loss, double v_parameter);
static array2_f8 losses_of_29(stack *memory, array2_f8 v_prediction, array2_f8 v_y, int64_t v_loss, double v_parameter);
static Rows_array2_f4_array1_i8_array1_f4 new_batch_32(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, int64_t v_size);
static void gather_34(stack *memory, array1_i8 v_source, array1_i8 v_index, array1_i8 v_into);
static void gather_35(stack *memory, array1_f4 v_source, array1_i8 v_index, array1_f4 v_into);
static Rows_array2_f4_array1_i8_array1_f4 gather_33(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array1_i8 v_index, Rows_array2_f4_array1_i8_array1_f4 v_batch);
static void pass_down_38(stack *memory, array1_f4 v_above, array1_f4 v_score, array1_f4 v_left, array1_f4 v_right);
static void leaf_logits_37(stack *memory, array2_f4 v_scores, array2_i8 v_children, array2_f4 v_node);
static void keep_larger_40(stack *memory, array1_f4 v_z, int32_t v_leaf, array1_f4 v_top, array1_i4 v_best);
static void pool_by_max_39(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_pooled, array2_i4 v_chosen);
static void add_exp_42(stack *memory, array1_f4 v_z, array1_f4 v_top, float v_inverse, array1_f4 v_total);
static void pool_smoothly_41(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, double v_temperature, array2_f4 v_pooled, array2_f4 v_exp_sum);
static double cross_entropy_43(stack *memory, array2_f4 v_pooled, array2_i4 v_chosen, array1_i8 v_y, array1_f4 v_weight, double v_q);
static tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 forward_36(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss);
static double classification_loss_31(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss);
static Rows_array2_f8_array1_i8_array1_f8 new_batch_45(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, int64_t v_size);
static void gather_47(stack *memory, array1_f8 v_source, array1_i8 v_index, array1_f8 v_into);
static Rows_array2_f8_array1_i8_array1_f8 gather_46(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array1_i8 v_index, Rows_array2_f8_array1_i8_array1_f8 v_batch);
static void keep_larger_50(stack *memory, array1_f8 v_z, int32_t v_leaf, array1_f8 v_top, array1_i4 v_best);
static void pool_by_max_49(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_pooled, array2_i4 v_chosen);
static void add_exp_52(stack *memory, array1_f8 v_z, array1_f8 v_top, double v_inverse, array1_f8 v_total);
static void pool_smoothly_51(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, double v_temperature, array2_f8 v_pooled, array2_f8 v_exp_sum);
static double cross_entropy_53(stack *memory, array2_f8 v_pooled, array2_i4 v_chosen, array1_i8 v_y, array1_f8 v_weight, double v_q);
static tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 forward_48(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss);
static double classification_loss_44(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss);
static Rows_array2_f4_array2_f4_array1_f4 new_batch_55(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, int64_t v_size);
static void gather_57(stack *memory, array2_f4 v_source, array1_i8 v_index, array2_f4 v_into);
static Rows_array2_f4_array2_f4_array1_f4 gather_56(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array1_i8 v_index, Rows_array2_f4_array2_f4_array1_f4 v_batch);
static tuple_array2_f4_array2_f4_array2_f4_array2_f4 regression_forward_58(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_batch, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves);
static void best_leaves_61(stack *memory, array2_f4 v_logit, array2_f4 v_best, array2_i4 v_index);
static double augmented_loss_60(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_y, array1_f4 v_weight, int64_t v_loss, double v_parameter);
static void share_top_62(stack *memory, array2_f4 v_logit, int64_t v_k, double v_temperature, array2_f4 v_share);
static void share_all_63(stack *memory, array2_f4 v_logit, double v_temperature, array2_f4 v_share);
static array2_f4 combine_64(stack *memory, array2_f4 v_share, array2_f4 v_output, int64_t v_n_outputs);
static double derive_65(stack *memory, array2_f4 v_prediction, array2_f4 v_y, array1_f4 v_weight, int64_t v_loss, double v_parameter);
static void logit_gradients_66(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_slope, array2_f4 v_share, double v_temperature);
static void output_gradients_67(stack *memory, array2_f4 v_output, array2_f4 v_slope, array2_f4 v_share);
static double selected_loss_59(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_y, array1_f4 v_weight, RegressionLoss_i8_i8_f8_i8_f8 v_loss);
static double regression_loss_54(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss);
static Rows_array2_f8_array2_f8_array1_f8 new_batch_69(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, int64_t v_size);
static void gather_71(stack *memory, array2_f8 v_source, array1_i8 v_index, array2_f8 v_into);
static Rows_array2_f8_array2_f8_array1_f8 gather_70(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array1_i8 v_index, Rows_array2_f8_array2_f8_array1_f8 v_batch);
static tuple_array2_f8_array2_f8_array2_f8_array2_f8 regression_forward_72(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_batch, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves);
static void best_leaves_75(stack *memory, array2_f8 v_logit, array2_f8 v_best, array2_i4 v_index);
static double augmented_loss_74(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_y, array1_f8 v_weight, int64_t v_loss, double v_parameter);
static void share_top_76(stack *memory, array2_f8 v_logit, int64_t v_k, double v_temperature, array2_f8 v_share);
static void share_all_77(stack *memory, array2_f8 v_logit, double v_temperature, array2_f8 v_share);
static array2_f8 combine_78(stack *memory, array2_f8 v_share, array2_f8 v_output, int64_t v_n_outputs);
static double derive_79(stack *memory, array2_f8 v_prediction, array2_f8 v_y, array1_f8 v_weight, int64_t v_loss, double v_parameter);
static void logit_gradients_80(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_slope, array2_f8 v_share, double v_temperature);
static void output_gradients_81(stack *memory, array2_f8 v_output, array2_f8 v_slope, array2_f8 v_share);
static double selected_loss_73(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_y, array1_f8 v_weight, RegressionLoss_i8_i8_f8_i8_f8 v_loss);
static double regression_loss_68(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss);
static tuple_array1_i8_i8 parents_84(stack *memory, array2_i8 v_children);
static void path_gradients_85(stack *memory, array2_f4 v_scores, array1_i8 v_above, int64_t v_depth, array2_f4 v_slope, array2_i4 v_chosen, array2_f4 v_batch, array2_f4 v_gradient);
static void give_87(stack *memory, array1_f4 v_z, array1_f4 v_gradient, array1_i4 v_best, int32_t v_leaf);
static void give_to_chosen_86(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_gradient, array2_i4 v_chosen);
static void spread_over_leaves_88(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_gradient, array2_f4 v_exp_sum);
static void pass_up_90(stack *memory, array1_f4 v_above, array1_f4 v_score, array1_f4 v_left, array1_f4 v_right);
static void split_gradients_89(stack *memory, array2_f4 v_scores, array2_i8 v_children, array2_f4 v_node);
static double classification_gradients_83(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss, array2_f4 v_gradient);
static double squared_norm_92(stack *memory, array2_f4 v_gradient);
static double clip_scale_91(stack *memory, tuple_array2_f4 v_gradients, double v_limit);
static void adam_93(stack *memory, Moments_array2_f4_array2_f4_array2_f4 v_parameter, array2_f4 v_gradient, int64_t v_n_steps, double v_rate, double v_decay, double v_l1, double v_scale);
static tuple_f8_i8 classification_epoch_82(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, array1_i8 v_leaf_class, Moments_array2_f4_array2_f4_array2_f4 v_splits, array2_i1 v_allowed, int64_t v_n_steps, ClassLoss_i8_f8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates);
static void path_gradients_96(stack *memory, array2_f8 v_scores, array1_i8 v_above, int64_t v_depth, array2_f8 v_slope, array2_i4 v_chosen, array2_f8 v_batch, array2_f8 v_gradient);
static void give_98(stack *memory, array1_f8 v_z, array1_f8 v_gradient, array1_i4 v_best, int32_t v_leaf);
static void give_to_chosen_97(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_gradient, array2_i4 v_chosen);
static void spread_over_leaves_99(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_gradient, array2_f8 v_exp_sum);
static void pass_up_101(stack *memory, array1_f8 v_above, array1_f8 v_score, array1_f8 v_left, array1_f8 v_right);
static void split_gradients_100(stack *memory, array2_f8 v_scores, array2_i8 v_children, array2_f8 v_node);
static double classification_gradients_95(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss, array2_f8 v_gradient);
static double squared_norm_103(stack *memory, array2_f8 v_gradient);
static double clip_scale_102(stack *memory, tuple_array2_f8 v_gradients, double v_limit);
static void adam_104(stack *memory, Moments_array2_f8_array2_f8_array2_f8 v_parameter, array2_f8 v_gradient, int64_t v_n_steps, double v_rate, double v_decay, double v_l1, double v_scale);
static tuple_f8_i8 classification_epoch_94(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, array1_i8 v_leaf_class, Moments_array2_f8_array2_f8_array2_f8 v_splits, array2_i1 v_allowed, int64_t v_n_steps, ClassLoss_i8_f8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates);
static double regression_gradients_106(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_batch, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss, array2_f4 v_split_gradient, array2_f4 v_leaf_gradient);
static double clip_scale_107(stack *memory, tuple_array2_f4_array2_f4 v_gradients, double v_limit);
static tuple_f8_i8 regression_epoch_105(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, Moments_array2_f4_array2_f4_array2_f4 v_splits, Moments_array2_f4_array2_f4_array2_f4 v_leaves, array2_i1 v_allowed, array2_i1 v_allowed_in_leaves, int64_t v_n_steps, RegressionLoss_i8_i8_f8_i8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates);
static double regression_gradients_109(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_batch, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss, array2_f8 v_split_gradient, array2_f8 v_leaf_gradient);
static double clip_scale_110(stack *memory, tuple_array2_f8_array2_f8 v_gradients, double v_limit);
static tuple_f8_i8 regression_epoch_108(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, Moments_array2_f8_array2_f8_array2_f8 v_splits, Moments_array2_f8_array2_f8_array2_f8 v_leaves, array2_i1 v_allowed, array2_i1 v_allowed_in_leaves, int64_t v_n_steps, RegressionLoss_i8_i8_f8_i8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates);

static bool is_refused_1(stack *memory, double v_score, array1_f8 v_row, int64_t v_start, int64_t v_width)
{
    bool v_finite;
    int64_t v_j;
    place start = top(memory); (void)start;
    if (is_nan_f8(v_score)) {
        bool t6_ = true;
        cut(memory, start);
        return t6_;
    }
    v_finite = true;
    int64_t t7_ = v_start;
    int64_t t8_ = (v_start + v_width);
    for (int64_t t9_ = t7_; t9_ < t8_; t9_ += 1) {
        v_j = t9_;
        v_finite = (v_finite & is_finite_f8(v_row.p[v_j]));
    }
    bool t10_ = (!v_finite);
    cut(memory, start);
    return t10_;
}

static int64_t apply_0(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array1_i8 v_leaf)
{
    int64_t v_begin;
    int64_t v_child;
    int64_t v_group;
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_rows;
    int64_t v_n_samples;
    array1_i8 v_node;
    int64_t v_r;
    int64_t v_refused;
    array1_f8 v_row;
    double v_score;
    int64_t v_split;
    bool v_walking;
    int64_t v_width;
    array1_f4 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_width = quotient(v_weight.n0, v_bias.n0);
    v_group = ((v_width <= ((int64_t)64ll)) ? ((int64_t)8ll) : ((int64_t)1ll));
    int64_t t22_ = (v_group * v_width);
    array1_f8 t23_ = {push(memory, t22_ * sizeof(double)), t22_};
    memset(t23_.p, 0, t23_.n0 * sizeof(double));
    v_row = t23_;
    int64_t t24_ = v_group;
    array1_i8 t25_ = {push(memory, t24_ * sizeof(int64_t)), t24_};
    memset(t25_.p, 0, t25_.n0 * sizeof(int64_t));
    v_node = t25_;
    int64_t t26_ = ((int64_t)0ll);
    int64_t t27_ = v_n_samples;
    int64_t t28_ = v_group;
    for (int64_t t29_ = t26_; t29_ < t27_; t29_ += t28_) {
        v_begin = t29_;
        int64_t t30_ = (v_n_samples - v_begin);
        v_n_rows = (t30_ < v_group ? t30_ : v_group);
        int64_t t31_ = v_n_rows;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_r = t32_;
            v_x = ((array1_f4){v_X.p + (v_begin + v_r) * v_X.n1, v_X.n1});
            array1_f8 t33_ = v_row;
            int64_t t34_ = (v_r * v_width);
            v_into = ((array1_f8){t33_.p + t34_ * 1, least(((v_r + ((int64_t)1ll)) * v_width), t33_.n0) - t34_});
            int64_t t35_ = v_x.n0;
            for (int64_t t36_ = 0; t36_ < t35_; t36_ += 1) {
                v_j = t36_;
                v_into.p[v_j] = ((double)v_x.p[v_j]);
            }
            v_node.p[v_r] = ((int64_t)0ll);
        }
        v_refused = ((int64_t)-1ll);
        v_walking = true;
        while (v_walking) {
            v_walking = false;
            int64_t t37_ = v_n_rows;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_r = t38_;
                v_split = v_node.p[v_r];
                if ((v_split >= ((int64_t)0ll))) {
                    v_score = (dot16(v_weight.p + (v_split * v_width), v_row.p + (v_r * v_width), v_width) + v_bias.p[v_split]);
                    if (((!is_finite_f8(v_score)) && is_refused_1(memory, v_score, v_row, (v_r * v_width), v_width))) {
                        v_node.p[v_r] = ((int64_t)-1ll);
                        v_refused = ((v_refused < ((int64_t)0ll)) ? v_r : (v_r < v_refused ? v_r : v_refused));
                    } else {
                        v_child = v_children.p[((((int64_t)2ll) * v_split) + ((int64_t)(v_score > ((double)0x0.0p+0))))];
                        v_node.p[v_r] = v_child;
                        v_walking = (v_walking | (v_child >= ((int64_t)0ll)));
                    }
                }
            }
        }
        if ((v_refused >= ((int64_t)0ll))) {
            int64_t t39_ = (v_begin + v_refused);
            cut(memory, start);
            return t39_;
        }
        int64_t t40_ = v_n_rows;
        for (int64_t t41_ = 0; t41_ < t40_; t41_ += 1) {
            v_r = t41_;
            v_leaf.p[(v_begin + v_r)] = (~v_node.p[v_r]);
        }
    }
    int64_t t42_ = ((int64_t)-1ll);
    cut(memory, start);
    return t42_;
}

static int64_t apply_2(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array1_i8 v_leaf)
{
    int64_t v_begin;
    int64_t v_child;
    int64_t v_group;
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_rows;
    int64_t v_n_samples;
    array1_i8 v_node;
    int64_t v_r;
    int64_t v_refused;
    array1_f8 v_row;
    double v_score;
    int64_t v_split;
    bool v_walking;
    int64_t v_width;
    array1_f8 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_width = quotient(v_weight.n0, v_bias.n0);
    v_group = ((v_width <= ((int64_t)64ll)) ? ((int64_t)8ll) : ((int64_t)1ll));
    int64_t t22_ = (v_group * v_width);
    array1_f8 t23_ = {push(memory, t22_ * sizeof(double)), t22_};
    memset(t23_.p, 0, t23_.n0 * sizeof(double));
    v_row = t23_;
    int64_t t24_ = v_group;
    array1_i8 t25_ = {push(memory, t24_ * sizeof(int64_t)), t24_};
    memset(t25_.p, 0, t25_.n0 * sizeof(int64_t));
    v_node = t25_;
    int64_t t26_ = ((int64_t)0ll);
    int64_t t27_ = v_n_samples;
    int64_t t28_ = v_group;
    for (int64_t t29_ = t26_; t29_ < t27_; t29_ += t28_) {
        v_begin = t29_;
        int64_t t30_ = (v_n_samples - v_begin);
        v_n_rows = (t30_ < v_group ? t30_ : v_group);
        int64_t t31_ = v_n_rows;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_r = t32_;
            v_x = ((array1_f8){v_X.p + (v_begin + v_r) * v_X.n1, v_X.n1});
            array1_f8 t33_ = v_row;
            int64_t t34_ = (v_r * v_width);
            v_into = ((array1_f8){t33_.p + t34_ * 1, least(((v_r + ((int64_t)1ll)) * v_width), t33_.n0) - t34_});
            int64_t t35_ = v_x.n0;
            for (int64_t t36_ = 0; t36_ < t35_; t36_ += 1) {
                v_j = t36_;
                v_into.p[v_j] = v_x.p[v_j];
            }
            v_node.p[v_r] = ((int64_t)0ll);
        }
        v_refused = ((int64_t)-1ll);
        v_walking = true;
        while (v_walking) {
            v_walking = false;
            int64_t t37_ = v_n_rows;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_r = t38_;
                v_split = v_node.p[v_r];
                if ((v_split >= ((int64_t)0ll))) {
                    v_score = (dot16(v_weight.p + (v_split * v_width), v_row.p + (v_r * v_width), v_width) + v_bias.p[v_split]);
                    if (((!is_finite_f8(v_score)) && is_refused_1(memory, v_score, v_row, (v_r * v_width), v_width))) {
                        v_node.p[v_r] = ((int64_t)-1ll);
                        v_refused = ((v_refused < ((int64_t)0ll)) ? v_r : (v_r < v_refused ? v_r : v_refused));
                    } else {
                        v_child = v_children.p[((((int64_t)2ll) * v_split) + ((int64_t)(v_score > ((double)0x0.0p+0))))];
                        v_node.p[v_r] = v_child;
                        v_walking = (v_walking | (v_child >= ((int64_t)0ll)));
                    }
                }
            }
        }
        if ((v_refused >= ((int64_t)0ll))) {
            int64_t t39_ = (v_begin + v_refused);
            cut(memory, start);
            return t39_;
        }
        int64_t t40_ = v_n_rows;
        for (int64_t t41_ = 0; t41_ < t40_; t41_ += 1) {
            v_r = t41_;
            v_leaf.p[(v_begin + v_r)] = (~v_node.p[v_r]);
        }
    }
    int64_t t42_ = ((int64_t)-1ll);
    cut(memory, start);
    return t42_;
}

static int64_t decision_path_3(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array2_i8 v_path)
{
    int64_t v_depth;
    int64_t v_i;
    int64_t v_j;
    int64_t v_n_samples;
    array1_f8 v_row;
    double v_score;
    int64_t v_split;
    int64_t v_width;
    array1_f4 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_width = quotient(v_weight.n0, v_bias.n0);
    int64_t t9_ = v_width;
    array1_f8 t10_ = {push(memory, t9_ * sizeof(double)), t9_};
    memset(t10_.p, 0, t10_.n0 * sizeof(double));
    v_row = t10_;
    int64_t t11_ = v_n_samples;
    for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
        v_i = t12_;
        v_x = ((array1_f4){v_X.p + v_i * v_X.n1, v_X.n1});
        int64_t t13_ = v_x.n0;
        for (int64_t t14_ = 0; t14_ < t13_; t14_ += 1) {
            v_j = t14_;
            v_row.p[v_j] = ((double)v_x.p[v_j]);
        }
        v_split = ((int64_t)0ll);
        v_depth = ((int64_t)0ll);
        while ((v_split >= ((int64_t)0ll))) {
            v_path.p[v_i * v_path.n1 + v_depth] = v_split;
            v_score = (dot16(v_weight.p + (v_split * v_width), v_row.p + ((int64_t)0ll), v_width) + v_bias.p[v_split]);
            if (((!is_finite_f8(v_score)) && is_refused_1(memory, v_score, v_row, ((int64_t)0ll), v_width))) {
                int64_t t15_ = v_i;
                cut(memory, start);
                return t15_;
            }
            v_split = v_children.p[((((int64_t)2ll) * v_split) + ((int64_t)(v_score > ((double)0x0.0p+0))))];
            v_depth = (v_depth + ((int64_t)1ll));
        }
    }
    int64_t t16_ = ((int64_t)-1ll);
    cut(memory, start);
    return t16_;
}

static int64_t decision_path_4(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array1_i8 v_children, array2_i8 v_path)
{
    int64_t v_depth;
    int64_t v_i;
    int64_t v_j;
    int64_t v_n_samples;
    array1_f8 v_row;
    double v_score;
    int64_t v_split;
    int64_t v_width;
    array1_f8 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_width = quotient(v_weight.n0, v_bias.n0);
    int64_t t9_ = v_width;
    array1_f8 t10_ = {push(memory, t9_ * sizeof(double)), t9_};
    memset(t10_.p, 0, t10_.n0 * sizeof(double));
    v_row = t10_;
    int64_t t11_ = v_n_samples;
    for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
        v_i = t12_;
        v_x = ((array1_f8){v_X.p + v_i * v_X.n1, v_X.n1});
        int64_t t13_ = v_x.n0;
        for (int64_t t14_ = 0; t14_ < t13_; t14_ += 1) {
            v_j = t14_;
            v_row.p[v_j] = v_x.p[v_j];
        }
        v_split = ((int64_t)0ll);
        v_depth = ((int64_t)0ll);
        while ((v_split >= ((int64_t)0ll))) {
            v_path.p[v_i * v_path.n1 + v_depth] = v_split;
            v_score = (dot16(v_weight.p + (v_split * v_width), v_row.p + ((int64_t)0ll), v_width) + v_bias.p[v_split]);
            if (((!is_finite_f8(v_score)) && is_refused_1(memory, v_score, v_row, ((int64_t)0ll), v_width))) {
                int64_t t15_ = v_i;
                cut(memory, start);
                return t15_;
            }
            v_split = v_children.p[((((int64_t)2ll) * v_split) + ((int64_t)(v_score > ((double)0x0.0p+0))))];
            v_depth = (v_depth + ((int64_t)1ll));
        }
    }
    int64_t t16_ = ((int64_t)-1ll);
    cut(memory, start);
    return t16_;
}

static int64_t scores_5(stack *memory, array2_f4 v_X, array1_f8 v_weight, array1_f8 v_bias, array2_f8 v_score)
{
    int64_t v_begin;
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_rows;
    int64_t v_n_samples;
    int64_t v_n_splits;
    int64_t v_r;
    int64_t v_refused;
    array1_f8 v_row;
    int64_t v_split;
    double v_value;
    int64_t v_width;
    array1_f4 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_n_splits = v_bias.n0;
    v_width = quotient(v_weight.n0, v_n_splits);
    int64_t t21_ = (((int64_t)8ll) * v_width);
    array1_f8 t22_ = {push(memory, t21_ * sizeof(double)), t21_};
    memset(t22_.p, 0, t22_.n0 * sizeof(double));
    v_row = t22_;
    int64_t t23_ = ((int64_t)0ll);
    int64_t t24_ = v_n_samples;
    int64_t t25_ = ((int64_t)8ll);
    for (int64_t t26_ = t23_; t26_ < t24_; t26_ += t25_) {
        v_begin = t26_;
        int64_t t27_ = ((int64_t)8ll);
        int64_t t28_ = (v_n_samples - v_begin);
        v_n_rows = (t28_ < t27_ ? t28_ : t27_);
        int64_t t29_ = v_n_rows;
        for (int64_t t30_ = 0; t30_ < t29_; t30_ += 1) {
            v_r = t30_;
            v_x = ((array1_f4){v_X.p + (v_begin + v_r) * v_X.n1, v_X.n1});
            array1_f8 t31_ = v_row;
            int64_t t32_ = (v_r * v_width);
            v_into = ((array1_f8){t31_.p + t32_ * 1, least(((v_r + ((int64_t)1ll)) * v_width), t31_.n0) - t32_});
            int64_t t33_ = v_x.n0;
            for (int64_t t34_ = 0; t34_ < t33_; t34_ += 1) {
                v_j = t34_;
                v_into.p[v_j] = ((double)v_x.p[v_j]);
            }
        }
        v_refused = v_n_rows;
        int64_t t35_ = v_n_splits;
        for (int64_t t36_ = 0; t36_ < t35_; t36_ += 1) {
            v_split = t36_;
            int64_t t37_ = v_n_rows;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_r = t38_;
                v_value = (dot16(v_weight.p + (v_split * v_width), v_row.p + (v_r * v_width), v_width) + v_bias.p[v_split]);
                if (((!is_finite_f8(v_value)) && is_refused_1(memory, v_value, v_row, (v_r * v_width), v_width))) {
                    v_refused = (v_r < v_refused ? v_r : v_refused);
                }
                v_score.p[(v_begin + v_r) * v_score.n1 + v_split] = v_value;
            }
        }
        if ((v_refused < v_n_rows)) {
            int64_t t39_ = (v_begin + v_refused);
            cut(memory, start);
            return t39_;
        }
    }
    int64_t t40_ = ((int64_t)-1ll);
    cut(memory, start);
    return t40_;
}

static int64_t scores_6(stack *memory, array2_f8 v_X, array1_f8 v_weight, array1_f8 v_bias, array2_f8 v_score)
{
    int64_t v_begin;
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_rows;
    int64_t v_n_samples;
    int64_t v_n_splits;
    int64_t v_r;
    int64_t v_refused;
    array1_f8 v_row;
    int64_t v_split;
    double v_value;
    int64_t v_width;
    array1_f8 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    v_n_splits = v_bias.n0;
    v_width = quotient(v_weight.n0, v_n_splits);
    int64_t t21_ = (((int64_t)8ll) * v_width);
    array1_f8 t22_ = {push(memory, t21_ * sizeof(double)), t21_};
    memset(t22_.p, 0, t22_.n0 * sizeof(double));
    v_row = t22_;
    int64_t t23_ = ((int64_t)0ll);
    int64_t t24_ = v_n_samples;
    int64_t t25_ = ((int64_t)8ll);
    for (int64_t t26_ = t23_; t26_ < t24_; t26_ += t25_) {
        v_begin = t26_;
        int64_t t27_ = ((int64_t)8ll);
        int64_t t28_ = (v_n_samples - v_begin);
        v_n_rows = (t28_ < t27_ ? t28_ : t27_);
        int64_t t29_ = v_n_rows;
        for (int64_t t30_ = 0; t30_ < t29_; t30_ += 1) {
            v_r = t30_;
            v_x = ((array1_f8){v_X.p + (v_begin + v_r) * v_X.n1, v_X.n1});
            array1_f8 t31_ = v_row;
            int64_t t32_ = (v_r * v_width);
            v_into = ((array1_f8){t31_.p + t32_ * 1, least(((v_r + ((int64_t)1ll)) * v_width), t31_.n0) - t32_});
            int64_t t33_ = v_x.n0;
            for (int64_t t34_ = 0; t34_ < t33_; t34_ += 1) {
                v_j = t34_;
                v_into.p[v_j] = v_x.p[v_j];
            }
        }
        v_refused = v_n_rows;
        int64_t t35_ = v_n_splits;
        for (int64_t t36_ = 0; t36_ < t35_; t36_ += 1) {
            v_split = t36_;
            int64_t t37_ = v_n_rows;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_r = t38_;
                v_value = (dot16(v_weight.p + (v_split * v_width), v_row.p + (v_r * v_width), v_width) + v_bias.p[v_split]);
                if (((!is_finite_f8(v_value)) && is_refused_1(memory, v_value, v_row, (v_r * v_width), v_width))) {
                    v_refused = (v_r < v_refused ? v_r : v_refused);
                }
                v_score.p[(v_begin + v_r) * v_score.n1 + v_split] = v_value;
            }
        }
        if ((v_refused < v_n_rows)) {
            int64_t t39_ = (v_begin + v_refused);
            cut(memory, start);
            return t39_;
        }
    }
    int64_t t40_ = ((int64_t)-1ll);
    cut(memory, start);
    return t40_;
}

static int64_t linear_7(stack *memory, array2_f4 v_X, array1_i8 v_leaf, array1_f8 v_coef, array2_f8 v_value, array2_f8 v_lower, array2_f8 v_upper, array2_f8 v_output)
{
    int64_t v_i;
    int64_t v_j;
    int64_t v_k;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    double v_result;
    array1_f8 v_row;
    int64_t v_width;
    array1_f4 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    int64_t t13_ = v_value.n0;
    int64_t t14_ = v_value.n1;
    v_n_leaves = t13_;
    v_n_outputs = t14_;
    v_width = quotient(v_coef.n0, (v_n_leaves * v_n_outputs));
    int64_t t15_ = v_width;
    array1_f8 t16_ = {push(memory, t15_ * sizeof(double)), t15_};
    memset(t16_.p, 0, t16_.n0 * sizeof(double));
    v_row = t16_;
    int64_t t17_ = v_n_samples;
    for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
        v_i = t18_;
        v_x = ((array1_f4){v_X.p + v_i * v_X.n1, v_X.n1});
        int64_t t19_ = v_x.n0;
        for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
            v_j = t20_;
            v_row.p[v_j] = ((double)v_x.p[v_j]);
        }
        v_k = v_leaf.p[v_i];
        int64_t t21_ = v_n_outputs;
        for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
            v_o = t22_;
            v_result = (dot16(v_coef.p + (((v_k * v_n_outputs) + v_o) * v_width), v_row.p + ((int64_t)0ll), v_width) + v_value.p[v_k * v_value.n1 + v_o]);
            if (((!is_finite_f8(v_result)) && is_refused_1(memory, v_result, v_row, ((int64_t)0ll), v_width))) {
                int64_t t23_ = v_i;
                cut(memory, start);
                return t23_;
            }
            if ((v_result < v_lower.p[v_k * v_lower.n1 + v_o])) {
                v_result = v_lower.p[v_k * v_lower.n1 + v_o];
            } else {
                if ((v_result > v_upper.p[v_k * v_upper.n1 + v_o])) {
                    v_result = v_upper.p[v_k * v_upper.n1 + v_o];
                }
            }
            v_output.p[v_i * v_output.n1 + v_o] = v_result;
        }
    }
    int64_t t24_ = ((int64_t)-1ll);
    cut(memory, start);
    return t24_;
}

static int64_t linear_8(stack *memory, array2_f8 v_X, array1_i8 v_leaf, array1_f8 v_coef, array2_f8 v_value, array2_f8 v_lower, array2_f8 v_upper, array2_f8 v_output)
{
    int64_t v_i;
    int64_t v_j;
    int64_t v_k;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    double v_result;
    array1_f8 v_row;
    int64_t v_width;
    array1_f8 v_x;
    place start = top(memory); (void)start;
    v_n_samples = v_X.n0;
    int64_t t13_ = v_value.n0;
    int64_t t14_ = v_value.n1;
    v_n_leaves = t13_;
    v_n_outputs = t14_;
    v_width = quotient(v_coef.n0, (v_n_leaves * v_n_outputs));
    int64_t t15_ = v_width;
    array1_f8 t16_ = {push(memory, t15_ * sizeof(double)), t15_};
    memset(t16_.p, 0, t16_.n0 * sizeof(double));
    v_row = t16_;
    int64_t t17_ = v_n_samples;
    for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
        v_i = t18_;
        v_x = ((array1_f8){v_X.p + v_i * v_X.n1, v_X.n1});
        int64_t t19_ = v_x.n0;
        for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
            v_j = t20_;
            v_row.p[v_j] = v_x.p[v_j];
        }
        v_k = v_leaf.p[v_i];
        int64_t t21_ = v_n_outputs;
        for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
            v_o = t22_;
            v_result = (dot16(v_coef.p + (((v_k * v_n_outputs) + v_o) * v_width), v_row.p + ((int64_t)0ll), v_width) + v_value.p[v_k * v_value.n1 + v_o]);
            if (((!is_finite_f8(v_result)) && is_refused_1(memory, v_result, v_row, ((int64_t)0ll), v_width))) {
                int64_t t23_ = v_i;
                cut(memory, start);
                return t23_;
            }
            if ((v_result < v_lower.p[v_k * v_lower.n1 + v_o])) {
                v_result = v_lower.p[v_k * v_lower.n1 + v_o];
            } else {
                if ((v_result > v_upper.p[v_k * v_upper.n1 + v_o])) {
                    v_result = v_upper.p[v_k * v_upper.n1 + v_o];
                }
            }
            v_output.p[v_i * v_output.n1 + v_o] = v_result;
        }
    }
    int64_t t24_ = ((int64_t)-1ll);
    cut(memory, start);
    return t24_;
}

static int64_t first_non_finite_9(stack *memory, array2_f4 v_X)
{
    int64_t v_i;
    int64_t v_j;
    place start = top(memory); (void)start;
    int64_t t7_ = v_X.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_i = t8_;
        int64_t t9_ = v_X.n1;
        for (int64_t t10_ = 0; t10_ < t9_; t10_ += 1) {
            v_j = t10_;
            if ((!is_finite_f4(v_X.p[v_i * v_X.n1 + v_j]))) {
                int64_t t11_ = v_i;
                cut(memory, start);
                return t11_;
            }
        }
    }
    int64_t t12_ = ((int64_t)-1ll);
    cut(memory, start);
    return t12_;
}

static int64_t first_non_finite_10(stack *memory, array2_f8 v_X)
{
    int64_t v_i;
    int64_t v_j;
    place start = top(memory); (void)start;
    int64_t t7_ = v_X.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_i = t8_;
        int64_t t9_ = v_X.n1;
        for (int64_t t10_ = 0; t10_ < t9_; t10_ += 1) {
            v_j = t10_;
            if ((!is_finite_f8(v_X.p[v_i * v_X.n1 + v_j]))) {
                int64_t t11_ = v_i;
                cut(memory, start);
                return t11_;
            }
        }
    }
    int64_t t12_ = ((int64_t)-1ll);
    cut(memory, start);
    return t12_;
}

static int64_t child_row_14(stack *memory, int64_t v_child, int64_t v_n_splits)
{
    place start = top(memory); (void)start;
    int64_t t2_ = ((v_child >= ((int64_t)0ll)) ? v_child : (v_n_splits + (~v_child)));
    cut(memory, start);
    return t2_;
}

static void pass_down_15(stack *memory, array1_f8 v_above, array1_f8 v_score, array1_f8 v_left, array1_f8 v_right)
{
    int64_t v_b;
    double v_s;
    double v_zero;
    place start = top(memory); (void)start;
    v_zero = ((double)((int64_t)0ll));
    int64_t t3_ = v_score.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_s = v_score.p[v_b];
        v_left.p[v_b] = (v_above.p[v_b] - ((v_s <= v_zero) ? v_zero : v_s));
        v_right.p[v_b] = (v_above.p[v_b] + ((v_s >= v_zero) ? v_zero : v_s));
    }
    cut(memory, start);
}

static void leaf_logits_13(stack *memory, array2_f8 v_scores, array2_i8 v_children, array2_f8 v_node)
{
    int64_t v_i;
    array1_f8 v_left;
    int64_t v_n_splits;
    array1_f8 v_right;
    place start = top(memory); (void)start;
    v_n_splits = v_scores.n0;
    array1_f8 t8_ = ((array1_f8){v_node.p + ((int64_t)0ll) * v_node.n1, v_node.n1});
    double t9_ = ((double)((int64_t)0ll));
    for (int64_t t10_ = 0; t10_ < t8_.n0; t10_++) t8_.p[t10_] = t9_;
    int64_t t11_ = v_n_splits;
    for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
        v_i = t12_;
        array1_f8 t13_ = ((array1_f8){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)0ll)], v_n_splits) * v_node.n1, v_node.n1});
        array1_f8 t14_ = ((array1_f8){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)1ll)], v_n_splits) * v_node.n1, v_node.n1});
        v_left = t13_;
        v_right = t14_;
        pass_down_15(memory, ((array1_f8){v_node.p + v_i * v_node.n1, v_node.n1}), ((array1_f8){v_scores.p + v_i * v_scores.n1, v_scores.n1}), v_left, v_right);
    }
    cut(memory, start);
}

static array2_f8 block_logits_12(stack *memory, array2_f8 v_scores, array2_i8 v_children, int64_t v_start, int64_t v_size)
{
    int64_t v_b;
    array2_f8 v_block;
    int64_t v_i;
    int64_t v_n_splits;
    array2_f8 v_node;
    place start = top(memory); (void)start;
    v_n_splits = v_scores.n1;
    int64_t t16_ = v_n_splits;
    int64_t t17_ = v_size;
    array2_f8 t18_ = {push(memory, t16_ * t17_ * sizeof(double)), t16_, t17_};
    int64_t t19_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    int64_t t20_ = v_size;
    array2_f8 t21_ = {push(memory, t19_ * t20_ * sizeof(double)), t19_, t20_};
    array2_f8 t22_ = t18_;
    array2_f8 t23_ = t21_;
    v_block = t22_;
    v_node = t23_;
    int64_t t24_ = v_size;
    for (int64_t t25_ = 0; t25_ < t24_; t25_ += 1) {
        v_b = t25_;
        int64_t t26_ = v_n_splits;
        for (int64_t t27_ = 0; t27_ < t26_; t27_ += 1) {
            v_i = t27_;
            v_block.p[v_i * v_block.n1 + v_b] = v_scores.p[(v_start + v_b) * v_scores.n1 + v_i];
        }
    }
    leaf_logits_13(memory, v_block, v_children, v_node);
    array2_f8 t28_ = v_node;
    int64_t t29_ = v_n_splits;
    array2_f8 t30_ = ((array2_f8){t28_.p + t29_ * t28_.n1, t28_.n0 - t29_, t28_.n1});
    return t30_;
}

static array2_f8 class_margins_11(stack *memory, array2_f8 v_scores, array2_i8 v_children, array1_i8 v_leaf_class, int64_t v_n_classes)
{
    int64_t v_b;
    int64_t v_j;
    array2_f8 v_logit;
    array2_f8 v_margin;
    int64_t v_n_samples;
    int64_t v_size;
    int64_t v_start;
    place start = top(memory); (void)start;
    v_n_samples = v_scores.n0;
    int64_t t22_ = v_n_samples;
    int64_t t23_ = v_n_classes;
    array2_f8 t24_ = {push(memory, t22_ * t23_ * sizeof(double)), t22_, t23_};
    array2_f8 t25_ = t24_;
    double t26_ = ((double)INFINITY);
    for (int64_t t27_ = 0; t27_ < t25_.n0 * t25_.n1; t27_++) t25_.p[t27_] = t26_;
    v_margin = t24_;
    int64_t t28_ = ((int64_t)0ll);
    int64_t t29_ = v_n_samples;
    int64_t t30_ = ((int64_t)256ll);
    for (int64_t t31_ = t28_; t31_ < t29_; t31_ += t30_) {
        place t41_ = top(memory);
        v_start = t31_;
        int64_t t32_ = ((int64_t)256ll);
        int64_t t33_ = (v_n_samples - v_start);
        v_size = (t33_ < t32_ ? t33_ : t32_);
        array2_f8 t34_ = block_logits_12(memory, v_scores, v_children, v_start, v_size);
        v_logit = t34_;
        int64_t t35_ = v_logit.n0;
        for (int64_t t36_ = 0; t36_ < t35_; t36_ += 1) {
            v_j = t36_;
            int64_t t37_ = v_size;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_b = t38_;
                double t39_ = v_margin.p[(v_start + v_b) * v_margin.n1 + v_leaf_class.p[v_j]];
                double t40_ = (-v_logit.p[v_j * v_logit.n1 + v_b]);
                v_margin.p[(v_start + v_b) * v_margin.n1 + v_leaf_class.p[v_j]] = (t40_ < t39_ ? t40_ : t39_);
            }
        }
        cut(memory, t41_);
    }
    array2_f8 t42_ = v_margin;
    return t42_;
}

static void best_leaves_17(stack *memory, array2_f8 v_logit, array2_f8 v_best, array2_i8 v_index)
{
    int64_t v_b;
    array1_f8 v_carried;
    int64_t v_j;
    array1_i8 v_leaf;
    bool v_moves;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    int64_t v_r;
    int64_t v_ranked;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t28_ = v_logit.n0;
    int64_t t29_ = v_logit.n1;
    v_n_leaves = t28_;
    v_n_samples = t29_;
    array2_f8 t30_ = v_best;
    double t31_ = (-(double)INFINITY);
    for (int64_t t32_ = 0; t32_ < t30_.n0 * t30_.n1; t32_++) t30_.p[t32_] = t31_;
    array2_i8 t33_ = v_index;
    int64_t t34_ = ((int64_t)0ll);
    for (int64_t t35_ = 0; t35_ < t33_.n0 * t33_.n1; t35_++) t33_.p[t35_] = t34_;
    int64_t t36_ = v_n_samples;
    array1_f8 t37_ = {push(memory, t36_ * sizeof(double)), t36_};
    int64_t t38_ = v_n_samples;
    array1_i8 t39_ = {push(memory, t38_ * sizeof(int64_t)), t38_};
    array1_f8 t40_ = t37_;
    array1_i8 t41_ = t39_;
    v_carried = t40_;
    v_leaf = t41_;
    int64_t t42_ = (v_n_leaves - ((int64_t)1ll));
    int64_t t43_ = ((int64_t)-1ll);
    int64_t t44_ = ((int64_t)-1ll);
    for (int64_t t45_ = t42_; t45_ > t43_; t45_ += t44_) {
        v_j = t45_;
        int64_t t46_ = v_n_samples;
        for (int64_t t47_ = 0; t47_ < t46_; t47_ += 1) {
            v_b = t47_;
            v_carried.p[v_b] = v_logit.p[v_j * v_logit.n1 + v_b];
            v_leaf.p[v_b] = v_j;
        }
        int64_t t48_ = (v_n_leaves - v_j);
        int64_t t49_ = (v_best.n0 < t48_ ? v_best.n0 : t48_);
        for (int64_t t50_ = 0; t50_ < t49_; t50_ += 1) {
            v_r = t50_;
            int64_t t51_ = v_n_samples;
            for (int64_t t52_ = 0; t52_ < t51_; t52_ += 1) {
                v_b = t52_;
                double t53_ = v_best.p[v_r * v_best.n1 + v_b];
                int64_t t54_ = v_index.p[v_r * v_index.n1 + v_b];
                v_value = t53_;
                v_ranked = t54_;
                v_moves = (v_carried.p[v_b] >= v_value);
                v_best.p[v_r * v_best.n1 + v_b] = (v_moves ? v_carried.p[v_b] : v_value);
                v_index.p[v_r * v_index.n1 + v_b] = (v_moves ? v_leaf.p[v_b] : v_ranked);
                v_carried.p[v_b] = (v_moves ? v_value : v_carried.p[v_b]);
                v_leaf.p[v_b] = (v_moves ? v_ranked : v_leaf.p[v_b]);
            }
        }
    }
    cut(memory, start);
}

static array2_i8 choices_16(stack *memory, array2_f8 v_scores, array2_i8 v_children, int64_t v_n_choices)
{
    int64_t v_b;
    array2_f8 v_best;
    array2_i8 v_chosen;
    array2_i8 v_index;
    array2_f8 v_logit;
    int64_t v_n_samples;
    int64_t v_r;
    int64_t v_size;
    int64_t v_start;
    place start = top(memory); (void)start;
    v_n_samples = v_scores.n0;
    int64_t t25_ = v_n_samples;
    int64_t t26_ = v_n_choices;
    array2_i8 t27_ = {push(memory, t25_ * t26_ * sizeof(int64_t)), t25_, t26_};
    v_chosen = t27_;
    int64_t t28_ = ((int64_t)0ll);
    int64_t t29_ = v_n_samples;
    int64_t t30_ = ((int64_t)256ll);
    for (int64_t t31_ = t28_; t31_ < t29_; t31_ += t30_) {
        place t47_ = top(memory);
        v_start = t31_;
        int64_t t32_ = ((int64_t)256ll);
        int64_t t33_ = (v_n_samples - v_start);
        v_size = (t33_ < t32_ ? t33_ : t32_);
        array2_f8 t34_ = block_logits_12(memory, v_scores, v_children, v_start, v_size);
        v_logit = t34_;
        int64_t t35_ = v_n_choices;
        int64_t t36_ = v_size;
        array2_f8 t37_ = {push(memory, t35_ * t36_ * sizeof(double)), t35_, t36_};
        int64_t t38_ = v_n_choices;
        int64_t t39_ = v_size;
        array2_i8 t40_ = {push(memory, t38_ * t39_ * sizeof(int64_t)), t38_, t39_};
        array2_f8 t41_ = t37_;
        array2_i8 t42_ = t40_;
        v_best = t41_;
        v_index = t42_;
        best_leaves_17(memory, v_logit, v_best, v_index);
        int64_t t43_ = v_size;
        for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
            v_b = t44_;
            int64_t t45_ = v_n_choices;
            for (int64_t t46_ = 0; t46_ < t45_; t46_ += 1) {
                v_r = t46_;
                v_chosen.p[(v_start + v_b) * v_chosen.n1 + v_r] = v_index.p[v_r * v_index.n1 + v_b];
            }
        }
        cut(memory, t47_);
    }
    array2_i8 t48_ = v_chosen;
    return t48_;
}

static void gather_features_19(stack *memory, array2_f4 v_X, array1_i8 v_index, array2_f4 v_batch)
{
    array1_f4 v_into;
    int64_t v_j;
    int64_t v_n_features;
    int64_t v_r;
    array1_f4 v_row;
    place start = top(memory); (void)start;
    v_n_features = v_X.n1;
    int64_t t7_ = v_index.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_r = t8_;
        array1_f4 t9_ = ((array1_f4){v_X.p + v_index.p[v_r] * v_X.n1, v_X.n1});
        array1_f4 t10_ = ((array1_f4){v_batch.p + v_r * v_batch.n1, v_batch.n1});
        v_row = t9_;
        v_into = t10_;
        int64_t t11_ = v_n_features;
        for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
            v_j = t12_;
            v_into.p[v_j] = v_row.p[v_j];
        }
        v_into.p[v_n_features] = ((float)((int64_t)1ll));
    }
    cut(memory, start);
}

static void walk_20(stack *memory, array2_f4 v_scores, array2_i8 v_children, array1_i8 v_leaf)
{
    int64_t v_at;
    int64_t v_b;
    int64_t v_n_samples;
    int64_t v_n_splits;
    place start = top(memory); (void)start;
    int64_t t5_ = v_scores.n0;
    int64_t t6_ = v_scores.n1;
    v_n_splits = t5_;
    v_n_samples = t6_;
    int64_t t7_ = v_n_samples;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_b = t8_;
        v_at = ((v_n_splits > ((int64_t)0ll)) ? ((int64_t)0ll) : ((int64_t)-1ll));
        while ((v_at >= ((int64_t)0ll))) {
            v_at = ((((double)v_scores.p[v_at * v_scores.n1 + v_b]) > ((double)((int64_t)0ll))) ? v_children.p[v_at * v_children.n1 + ((int64_t)1ll)] : v_children.p[v_at * v_children.n1 + ((int64_t)0ll)]);
        }
        v_leaf.p[v_b] = (~v_at);
    }
    cut(memory, start);
}

static array1_i8 reached_18(stack *memory, array2_f4 v_X, array2_f4 v_splits, array2_i8 v_children)
{
    array2_f4 v_batch;
    array1_i8 v_leaf;
    int64_t v_size;
    int64_t v_start;
    place start = top(memory); (void)start;
    int64_t t30_ = v_X.n0;
    array1_i8 t31_ = {push(memory, t30_ * sizeof(int64_t)), t30_};
    int64_t t32_ = ((int64_t)256ll);
    int64_t t33_ = (v_X.n1 + ((int64_t)1ll));
    array2_f4 t34_ = {push(memory, t32_ * t33_ * sizeof(float)), t32_, t33_};
    array1_i8 t35_ = t31_;
    array2_f4 t36_ = t34_;
    v_leaf = t35_;
    v_batch = t36_;
    int64_t t37_ = ((int64_t)0ll);
    int64_t t38_ = v_X.n0;
    int64_t t39_ = ((int64_t)256ll);
    for (int64_t t40_ = t37_; t40_ < t38_; t40_ += t39_) {
        place t57_ = top(memory);
        v_start = t40_;
        int64_t t41_ = ((int64_t)256ll);
        int64_t t42_ = (v_X.n0 - v_start);
        v_size = (t42_ < t41_ ? t42_ : t41_);
        int64_t t43_ = v_start;
        int64_t t44_ = (v_start + v_size);
        int64_t t45_ = t44_ - t43_;
        array1_i8 t46_ = {push(memory, t45_ * sizeof(int64_t)), t45_};
        for (int64_t t47_ = 0; t47_ < t46_.n0; t47_++) t46_.p[t47_] = t43_ + t47_;
        gather_features_19(memory, v_X, t46_, v_batch);
        array2_f4 t48_ = v_batch;
        int64_t t49_ = 0;
        array2_f4 t50_ = v_splits;
        array2_f4 t51_ = ((array2_f4){t48_.p + t49_ * t48_.n1, least(v_size, t48_.n0) - t49_, t48_.n1});
        int64_t t52_ = t50_.n0;
        int64_t t53_ = t51_.n0;
        array2_f4 t54_ = {push(memory, t52_ * t53_ * sizeof(float)), t52_, t53_};
        product_f4('t', 'n', t51_.n0, t50_.n0, t50_.n1, t51_.p, t51_.n1, t50_.p, t50_.n1, t54_.p);
        array1_i8 t55_ = v_leaf;
        int64_t t56_ = v_start;
        walk_20(memory, t54_, v_children, ((array1_i8){t55_.p + t56_ * 1, least((v_start + v_size), t55_.n0) - t56_}));
        cut(memory, t57_);
    }
    array1_i8 t58_ = v_leaf;
    return t58_;
}

static void gather_features_22(stack *memory, array2_f8 v_X, array1_i8 v_index, array2_f8 v_batch)
{
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_features;
    int64_t v_r;
    array1_f8 v_row;
    place start = top(memory); (void)start;
    v_n_features = v_X.n1;
    int64_t t7_ = v_index.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_r = t8_;
        array1_f8 t9_ = ((array1_f8){v_X.p + v_index.p[v_r] * v_X.n1, v_X.n1});
        array1_f8 t10_ = ((array1_f8){v_batch.p + v_r * v_batch.n1, v_batch.n1});
        v_row = t9_;
        v_into = t10_;
        int64_t t11_ = v_n_features;
        for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
            v_j = t12_;
            v_into.p[v_j] = v_row.p[v_j];
        }
        v_into.p[v_n_features] = ((double)((int64_t)1ll));
    }
    cut(memory, start);
}

static void walk_23(stack *memory, array2_f8 v_scores, array2_i8 v_children, array1_i8 v_leaf)
{
    int64_t v_at;
    int64_t v_b;
    int64_t v_n_samples;
    int64_t v_n_splits;
    place start = top(memory); (void)start;
    int64_t t5_ = v_scores.n0;
    int64_t t6_ = v_scores.n1;
    v_n_splits = t5_;
    v_n_samples = t6_;
    int64_t t7_ = v_n_samples;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_b = t8_;
        v_at = ((v_n_splits > ((int64_t)0ll)) ? ((int64_t)0ll) : ((int64_t)-1ll));
        while ((v_at >= ((int64_t)0ll))) {
            v_at = ((v_scores.p[v_at * v_scores.n1 + v_b] > ((double)((int64_t)0ll))) ? v_children.p[v_at * v_children.n1 + ((int64_t)1ll)] : v_children.p[v_at * v_children.n1 + ((int64_t)0ll)]);
        }
        v_leaf.p[v_b] = (~v_at);
    }
    cut(memory, start);
}

static array1_i8 reached_21(stack *memory, array2_f8 v_X, array2_f8 v_splits, array2_i8 v_children)
{
    array2_f8 v_batch;
    array1_i8 v_leaf;
    int64_t v_size;
    int64_t v_start;
    place start = top(memory); (void)start;
    int64_t t30_ = v_X.n0;
    array1_i8 t31_ = {push(memory, t30_ * sizeof(int64_t)), t30_};
    int64_t t32_ = ((int64_t)256ll);
    int64_t t33_ = (v_X.n1 + ((int64_t)1ll));
    array2_f8 t34_ = {push(memory, t32_ * t33_ * sizeof(double)), t32_, t33_};
    array1_i8 t35_ = t31_;
    array2_f8 t36_ = t34_;
    v_leaf = t35_;
    v_batch = t36_;
    int64_t t37_ = ((int64_t)0ll);
    int64_t t38_ = v_X.n0;
    int64_t t39_ = ((int64_t)256ll);
    for (int64_t t40_ = t37_; t40_ < t38_; t40_ += t39_) {
        place t57_ = top(memory);
        v_start = t40_;
        int64_t t41_ = ((int64_t)256ll);
        int64_t t42_ = (v_X.n0 - v_start);
        v_size = (t42_ < t41_ ? t42_ : t41_);
        int64_t t43_ = v_start;
        int64_t t44_ = (v_start + v_size);
        int64_t t45_ = t44_ - t43_;
        array1_i8 t46_ = {push(memory, t45_ * sizeof(int64_t)), t45_};
        for (int64_t t47_ = 0; t47_ < t46_.n0; t47_++) t46_.p[t47_] = t43_ + t47_;
        gather_features_22(memory, v_X, t46_, v_batch);
        array2_f8 t48_ = v_batch;
        int64_t t49_ = 0;
        array2_f8 t50_ = v_splits;
        array2_f8 t51_ = ((array2_f8){t48_.p + t49_ * t48_.n1, least(v_size, t48_.n0) - t49_, t48_.n1});
        int64_t t52_ = t50_.n0;
        int64_t t53_ = t51_.n0;
        array2_f8 t54_ = {push(memory, t52_ * t53_ * sizeof(double)), t52_, t53_};
        product_f8('t', 'n', t51_.n0, t50_.n0, t50_.n1, t51_.p, t51_.n1, t50_.p, t50_.n1, t54_.p);
        array1_i8 t55_ = v_leaf;
        int64_t t56_ = v_start;
        walk_23(memory, t54_, v_children, ((array1_i8){t55_.p + t56_ * 1, least((v_start + v_size), t55_.n0) - t56_}));
        cut(memory, t57_);
    }
    array1_i8 t58_ = v_leaf;
    return t58_;
}

static void mix_rows_24(stack *memory, array2_u8 v_bits, array1_u8 v_numbers)
{
    uint64_t v_h;
    int64_t v_i;
    int64_t v_j;
    place start = top(memory); (void)start;
    int64_t t5_ = v_bits.n0;
    for (int64_t t6_ = 0; t6_ < t5_; t6_ += 1) {
        v_i = t6_;
        v_h = v_numbers.p[v_i];
        int64_t t7_ = v_bits.n1;
        for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
            v_j = t8_;
            v_h = ((v_h ^ v_bits.p[v_i * v_bits.n1 + v_j]) * ((uint64_t)11400714819323198485ull));
            v_h = (v_h ^ (v_h >> ((uint64_t)32ull)));
        }
        v_numbers.p[v_i] = v_h;
    }
    cut(memory, start);
}

static void hold_25(stack *memory, array2_f4 v_value, array2_i1 v_allowed)
{
    int64_t v_i;
    int64_t v_j;
    bool v_keeps;
    array1_f4 v_p;
    array1_i1 v_signs;
    float v_zero;
    place start = top(memory); (void)start;
    v_zero = ((float)((int64_t)0ll));
    int64_t t7_ = v_allowed.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_i = t8_;
        array1_f4 t9_ = ((array1_f4){v_value.p + v_i * v_value.n1, v_value.n1});
        array1_i1 t10_ = ((array1_i1){v_allowed.p + v_i * v_allowed.n1, v_allowed.n1});
        v_p = t9_;
        v_signs = t10_;
        int64_t t11_ = v_signs.n0;
        for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
            v_j = t12_;
            v_keeps = ((((int64_t)v_signs.p[v_j]) != ((int64_t)0ll)) && (!((((int64_t)v_signs.p[v_j]) == ((int64_t)1ll)) && (v_p.p[v_j] < v_zero))) && (!((((int64_t)v_signs.p[v_j]) == ((int64_t)2ll)) && (v_p.p[v_j] > v_zero))));
            v_p.p[v_j] = (v_keeps ? v_p.p[v_j] : v_zero);
        }
    }
    cut(memory, start);
}

static void hold_26(stack *memory, array2_f8 v_value, array2_i1 v_allowed)
{
    int64_t v_i;
    int64_t v_j;
    bool v_keeps;
    array1_f8 v_p;
    array1_i1 v_signs;
    double v_zero;
    place start = top(memory); (void)start;
    v_zero = ((double)((int64_t)0ll));
    int64_t t7_ = v_allowed.n0;
    for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
        v_i = t8_;
        array1_f8 t9_ = ((array1_f8){v_value.p + v_i * v_value.n1, v_value.n1});
        array1_i1 t10_ = ((array1_i1){v_allowed.p + v_i * v_allowed.n1, v_allowed.n1});
        v_p = t9_;
        v_signs = t10_;
        int64_t t11_ = v_signs.n0;
        for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
            v_j = t12_;
            v_keeps = ((((int64_t)v_signs.p[v_j]) != ((int64_t)0ll)) && (!((((int64_t)v_signs.p[v_j]) == ((int64_t)1ll)) && (v_p.p[v_j] < v_zero))) && (!((((int64_t)v_signs.p[v_j]) == ((int64_t)2ll)) && (v_p.p[v_j] > v_zero))));
            v_p.p[v_j] = (v_keeps ? v_p.p[v_j] : v_zero);
        }
    }
    cut(memory, start);
}

static tuple_f8_f8 loss_28(stack *memory, float v_prediction, float v_y, int64_t v_loss, float v_parameter)
{
    double v_first;
    float v_mean;
    double v_one;
    float v_ratio;
    float v_residual;
    double v_second;
    double v_sign;
    float v_size;
    double v_slope;
    double v_two;
    double v_zero;
    place start = top(memory); (void)start;
    v_residual = (v_prediction - v_y);
    double t17_ = (((double)v_residual) * ((double)((int64_t)0ll)));
    double t18_ = ((((double)v_parameter) * ((double)((int64_t)0ll))) + ((double)((int64_t)1ll)));
    double t19_ = ((((double)v_parameter) * ((double)((int64_t)0ll))) + ((double)((int64_t)2ll)));
    v_zero = t17_;
    v_one = t18_;
    v_two = t19_;
    if ((v_loss == ((int64_t)4ll))) {
        v_mean = exp_f4(v_prediction);
        tuple_f4_f4 t21_ = ((tuple_f4_f4){(v_mean - (v_y * v_prediction)), (v_mean - v_y)});
        tuple_f8_f8 t20_ = ((tuple_f8_f8){((double)t21_.item0), ((double)t21_.item1)});
        cut(memory, start);
        return t20_;
    }
    if ((v_loss == ((int64_t)5ll))) {
        v_ratio = (v_y * exp_f4((-v_prediction)));
        tuple_f4_f8 t23_ = ((tuple_f4_f8){(v_ratio + v_prediction), (v_one - ((double)v_ratio))});
        tuple_f8_f8 t22_ = ((tuple_f8_f8){((double)t23_.item0), t23_.item1});
        cut(memory, start);
        return t22_;
    }
    if ((v_loss == ((int64_t)6ll))) {
        double t24_ = (((double)v_y) * exp_f8(((v_one - ((double)v_parameter)) * ((double)v_prediction))));
        double t25_ = exp_f8(((v_two - ((double)v_parameter)) * ((double)v_prediction)));
        v_first = t24_;
        v_second = t25_;
        tuple_f8_f8 t26_ = ((tuple_f8_f8){((v_first / (((double)v_parameter) - v_one)) + (v_second / (v_two - ((double)v_parameter)))), (v_second - v_first)});
        cut(memory, start);
        return t26_;
    }
    v_size = fabsf(v_residual);
    v_sign = ((((double)v_residual) > ((double)((int64_t)0ll))) ? v_one : ((((double)v_residual) < ((double)((int64_t)0ll))) ? (-v_one) : v_zero));
    if ((v_loss == ((int64_t)0ll))) {
        tuple_f4_f8 t28_ = ((tuple_f4_f8){(v_residual * v_residual), (v_two * ((double)v_residual))});
        tuple_f8_f8 t27_ = ((tuple_f8_f8){((double)t28_.item0), t28_.item1});
        cut(memory, start);
        return t27_;
    }
    if ((v_loss == ((int64_t)1ll))) {
        tuple_f4_f8 t30_ = ((tuple_f4_f8){v_size, v_sign});
        tuple_f8_f8 t29_ = ((tuple_f8_f8){((double)t30_.item0), t30_.item1});
        cut(memory, start);
        return t29_;
    }
    if ((v_loss == ((int64_t)2ll))) {
        if ((v_size <= v_parameter)) {
            tuple_f8_f4 t32_ = ((tuple_f8_f4){(((double)(v_residual * v_residual)) / v_two), v_residual});
            tuple_f8_f8 t31_ = ((tuple_f8_f8){t32_.item0, ((double)t32_.item1)});
            cut(memory, start);
            return t31_;
        }
        tuple_f8_f8 t33_ = ((tuple_f8_f8){(((double)v_parameter) * (((double)v_size) - (((double)v_parameter) / v_two))), (((double)v_parameter) * v_sign)});
        cut(memory, start);
        return t33_;
    }
    v_slope = ((((double)v_residual) > ((double)((int64_t)0ll))) ? (v_one - ((double)v_parameter)) : ((((double)v_residual) < ((double)((int64_t)0ll))) ? ((double)(-v_parameter)) : v_zero));
    tuple_f8_f8 t34_ = ((tuple_f8_f8){(v_slope * ((double)v_residual)), v_slope});
    cut(memory, start);
    return t34_;
}

static array2_f4 losses_of_27(stack *memory, array2_f4 v_prediction, array2_f4 v_y, int64_t v_loss, double v_parameter)
{
    int64_t v_i;
    int64_t v_o;
    array2_f4 v_value;
    place start = top(memory); (void)start;
    array2_f4 t12_ = v_prediction;
    int64_t t13_ = t12_.n0;
    int64_t t14_ = t12_.n1;
    array2_f4 t15_ = {push(memory, t13_ * t14_ * sizeof(float)), t13_, t14_};
    v_value = t15_;
    int64_t t16_ = v_prediction.n0;
    for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
        v_i = t17_;
        int64_t t18_ = v_prediction.n1;
        for (int64_t t19_ = 0; t19_ < t18_; t19_ += 1) {
            v_o = t19_;
            tuple_f8_f8 t20_ = loss_28(memory, v_prediction.p[v_i * v_prediction.n1 + v_o], v_y.p[v_i * v_y.n1 + v_o], v_loss, ((float)v_parameter));
            tuple_f8_f8 t21_ = t20_;
            v_value.p[v_i * v_value.n1 + v_o] = ((float)t21_.item0);
        }
    }
    array2_f4 t22_ = v_value;
    return t22_;
}

static tuple_f8_f8 loss_30(stack *memory, double v_prediction, double v_y, int64_t v_loss, double v_parameter)
{
    double v_first;
    double v_mean;
    double v_one;
    double v_ratio;
    double v_residual;
    double v_second;
    double v_sign;
    double v_size;
    double v_slope;
    double v_two;
    double v_zero;
    place start = top(memory); (void)start;
    v_residual = (v_prediction - v_y);
    double t14_ = (v_residual * ((double)((int64_t)0ll)));
    double t15_ = ((v_parameter * ((double)((int64_t)0ll))) + ((double)((int64_t)1ll)));
    double t16_ = ((v_parameter * ((double)((int64_t)0ll))) + ((double)((int64_t)2ll)));
    v_zero = t14_;
    v_one = t15_;
    v_two = t16_;
    if ((v_loss == ((int64_t)4ll))) {
        v_mean = exp_f8(v_prediction);
        tuple_f8_f8 t17_ = ((tuple_f8_f8){(v_mean - (v_y * v_prediction)), (v_mean - v_y)});
        cut(memory, start);
        return t17_;
    }
    if ((v_loss == ((int64_t)5ll))) {
        v_ratio = (v_y * exp_f8((-v_prediction)));
        tuple_f8_f8 t18_ = ((tuple_f8_f8){(v_ratio + v_prediction), (v_one - v_ratio)});
        cut(memory, start);
        return t18_;
    }
    if ((v_loss == ((int64_t)6ll))) {
        double t19_ = (v_y * exp_f8(((v_one - v_parameter) * v_prediction)));
        double t20_ = exp_f8(((v_two - v_parameter) * v_prediction));
        v_first = t19_;
        v_second = t20_;
        tuple_f8_f8 t21_ = ((tuple_f8_f8){((v_first / (v_parameter - v_one)) + (v_second / (v_two - v_parameter))), (v_second - v_first)});
        cut(memory, start);
        return t21_;
    }
    v_size = fabs(v_residual);
    v_sign = ((v_residual > ((double)((int64_t)0ll))) ? v_one : ((v_residual < ((double)((int64_t)0ll))) ? (-v_one) : v_zero));
    if ((v_loss == ((int64_t)0ll))) {
        tuple_f8_f8 t22_ = ((tuple_f8_f8){(v_residual * v_residual), (v_two * v_residual)});
        cut(memory, start);
        return t22_;
    }
    if ((v_loss == ((int64_t)1ll))) {
        tuple_f8_f8 t23_ = ((tuple_f8_f8){v_size, v_sign});
        cut(memory, start);
        return t23_;
    }
    if ((v_loss == ((int64_t)2ll))) {
        if ((v_size <= v_parameter)) {
            tuple_f8_f8 t24_ = ((tuple_f8_f8){((v_residual * v_residual) / v_two), v_residual});
            cut(memory, start);
            return t24_;
        }
        tuple_f8_f8 t25_ = ((tuple_f8_f8){(v_parameter * (v_size - (v_parameter / v_two))), (v_parameter * v_sign)});
        cut(memory, start);
        return t25_;
    }
    v_slope = ((v_residual > ((double)((int64_t)0ll))) ? (v_one - v_parameter) : ((v_residual < ((double)((int64_t)0ll))) ? (-v_parameter) : v_zero));
    tuple_f8_f8 t26_ = ((tuple_f8_f8){(v_slope * v_residual), v_slope});
    cut(memory, start);
    return t26_;
}

static array2_f8 losses_of_29(stack *memory, array2_f8 v_prediction, array2_f8 v_y, int64_t v_loss, double v_parameter)
{
    int64_t v_i;
    int64_t v_o;
    array2_f8 v_value;
    place start = top(memory); (void)start;
    array2_f8 t12_ = v_prediction;
    int64_t t13_ = t12_.n0;
    int64_t t14_ = t12_.n1;
    array2_f8 t15_ = {push(memory, t13_ * t14_ * sizeof(double)), t13_, t14_};
    v_value = t15_;
    int64_t t16_ = v_prediction.n0;
    for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
        v_i = t17_;
        int64_t t18_ = v_prediction.n1;
        for (int64_t t19_ = 0; t19_ < t18_; t19_ += 1) {
            v_o = t19_;
            tuple_f8_f8 t20_ = loss_30(memory, v_prediction.p[v_i * v_prediction.n1 + v_o], v_y.p[v_i * v_y.n1 + v_o], v_loss, ((double)v_parameter));
            tuple_f8_f8 t21_ = t20_;
            v_value.p[v_i * v_value.n1 + v_o] = t21_.item0;
        }
    }
    array2_f8 t22_ = v_value;
    return t22_;
}

static Rows_array2_f4_array1_i8_array1_f4 new_batch_32(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, int64_t v_size)
{
    place start = top(memory); (void)start;
    v_size = (v_rows.X.n0 < v_size ? v_rows.X.n0 : v_size);
    int64_t t9_ = v_size;
    int64_t t10_ = (v_rows.X.n1 + ((int64_t)1ll));
    array2_f4 t11_ = {push(memory, t9_ * t10_ * sizeof(float)), t9_, t10_};
    int64_t t12_ = v_size;
    array1_i8 t13_ = {push(memory, t12_ * sizeof(int64_t)), t12_};
    int64_t t14_ = v_size;
    array1_f4 t15_ = {push(memory, t14_ * sizeof(float)), t14_};
    Rows_array2_f4_array1_i8_array1_f4 t16_ = ((Rows_array2_f4_array1_i8_array1_f4){t11_, t13_, t15_});
    return t16_;
}

static void gather_34(stack *memory, array1_i8 v_source, array1_i8 v_index, array1_i8 v_into)
{
    int64_t v_r;
    place start = top(memory); (void)start;
    int64_t t3_ = v_index.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_r = t4_;
        v_into.p[v_r] = v_source.p[v_index.p[v_r]];
    }
    cut(memory, start);
}

static void gather_35(stack *memory, array1_f4 v_source, array1_i8 v_index, array1_f4 v_into)
{
    int64_t v_r;
    place start = top(memory); (void)start;
    int64_t t3_ = v_index.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_r = t4_;
        v_into.p[v_r] = v_source.p[v_index.p[v_r]];
    }
    cut(memory, start);
}

static Rows_array2_f4_array1_i8_array1_f4 gather_33(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array1_i8 v_index, Rows_array2_f4_array1_i8_array1_f4 v_batch)
{
    Rows_array2_f4_array1_i8_array1_f4 v_filled;
    int64_t v_size;
    place start = top(memory); (void)start;
    v_size = v_index.n0;
    array2_f4 t8_ = v_batch.X;
    int64_t t9_ = 0;
    array1_i8 t10_ = v_batch.y;
    int64_t t11_ = 0;
    array1_f4 t12_ = v_batch.weight;
    int64_t t13_ = 0;
    v_filled = ((Rows_array2_f4_array1_i8_array1_f4){((array2_f4){t8_.p + t9_ * t8_.n1, least(v_size, t8_.n0) - t9_, t8_.n1}), ((array1_i8){t10_.p + t11_ * 1, least(v_size, t10_.n0) - t11_}), ((array1_f4){t12_.p + t13_ * 1, least(v_size, t12_.n0) - t13_})});
    gather_features_19(memory, v_rows.X, v_index, v_filled.X);
    gather_34(memory, v_rows.y, v_index, v_filled.y);
    gather_35(memory, v_rows.weight, v_index, v_filled.weight);
    Rows_array2_f4_array1_i8_array1_f4 t14_ = v_filled;
    return t14_;
}

static void pass_down_38(stack *memory, array1_f4 v_above, array1_f4 v_score, array1_f4 v_left, array1_f4 v_right)
{
    int64_t v_b;
    float v_s;
    float v_zero;
    place start = top(memory); (void)start;
    v_zero = ((float)((int64_t)0ll));
    int64_t t3_ = v_score.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_s = v_score.p[v_b];
        v_left.p[v_b] = (v_above.p[v_b] - ((v_s <= v_zero) ? v_zero : v_s));
        v_right.p[v_b] = (v_above.p[v_b] + ((v_s >= v_zero) ? v_zero : v_s));
    }
    cut(memory, start);
}

static void leaf_logits_37(stack *memory, array2_f4 v_scores, array2_i8 v_children, array2_f4 v_node)
{
    int64_t v_i;
    array1_f4 v_left;
    int64_t v_n_splits;
    array1_f4 v_right;
    place start = top(memory); (void)start;
    v_n_splits = v_scores.n0;
    array1_f4 t8_ = ((array1_f4){v_node.p + ((int64_t)0ll) * v_node.n1, v_node.n1});
    float t9_ = ((float)((int64_t)0ll));
    for (int64_t t10_ = 0; t10_ < t8_.n0; t10_++) t8_.p[t10_] = t9_;
    int64_t t11_ = v_n_splits;
    for (int64_t t12_ = 0; t12_ < t11_; t12_ += 1) {
        v_i = t12_;
        array1_f4 t13_ = ((array1_f4){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)0ll)], v_n_splits) * v_node.n1, v_node.n1});
        array1_f4 t14_ = ((array1_f4){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)1ll)], v_n_splits) * v_node.n1, v_node.n1});
        v_left = t13_;
        v_right = t14_;
        pass_down_38(memory, ((array1_f4){v_node.p + v_i * v_node.n1, v_node.n1}), ((array1_f4){v_scores.p + v_i * v_scores.n1, v_scores.n1}), v_left, v_right);
    }
    cut(memory, start);
}

static void keep_larger_40(stack *memory, array1_f4 v_z, int32_t v_leaf, array1_f4 v_top, array1_i4 v_best)
{
    int64_t v_b;
    bool v_better;
    place start = top(memory); (void)start;
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_better = (v_z.p[v_b] > v_top.p[v_b]);
        v_top.p[v_b] = (v_better ? v_z.p[v_b] : v_top.p[v_b]);
        v_best.p[v_b] = (v_better ? v_leaf : v_best.p[v_b]);
    }
    cut(memory, start);
}

static void pool_by_max_39(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_pooled, array2_i4 v_chosen)
{
    int64_t v_j;
    place start = top(memory); (void)start;
    array2_f4 t9_ = v_pooled;
    float t10_ = ((float)(-(double)INFINITY));
    for (int64_t t11_ = 0; t11_ < t9_.n0 * t9_.n1; t11_++) t9_.p[t11_] = t10_;
    array2_i4 t12_ = v_chosen;
    int32_t t13_ = ((int32_t)((int64_t)-1ll));
    for (int64_t t14_ = 0; t14_ < t12_.n0 * t12_.n1; t14_++) t12_.p[t14_] = t13_;
    int64_t t15_ = v_logit.n0;
    for (int64_t t16_ = 0; t16_ < t15_; t16_ += 1) {
        v_j = t16_;
        keep_larger_40(memory, ((array1_f4){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((int32_t)v_j), ((array1_f4){v_pooled.p + v_leaf_class.p[v_j] * v_pooled.n1, v_pooled.n1}), ((array1_i4){v_chosen.p + v_leaf_class.p[v_j] * v_chosen.n1, v_chosen.n1}));
    }
    cut(memory, start);
}

static void add_exp_42(stack *memory, array1_f4 v_z, array1_f4 v_top, float v_inverse, array1_f4 v_total)
{
    int64_t v_b;
    place start = top(memory); (void)start;
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_z.p[v_b] = exp_f4(((v_z.p[v_b] - v_top.p[v_b]) * v_inverse));
        v_total.p[v_b] = (v_total.p[v_b] + v_z.p[v_b]);
    }
    cut(memory, start);
}

static void pool_smoothly_41(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, double v_temperature, array2_f4 v_pooled, array2_f4 v_exp_sum)
{
    int64_t v_b;
    int64_t v_c;
    float v_inverse;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    float v_tau;
    float v_tiny;
    array1_f4 v_top;
    array1_f4 v_total;
    place start = top(memory); (void)start;
    int64_t t17_ = v_logit.n0;
    int64_t t18_ = v_logit.n1;
    v_n_leaves = t17_;
    v_n_samples = t18_;
    float t19_ = ((float)v_temperature);
    float t20_ = ((float)(((double)((int64_t)1ll)) / v_temperature));
    float t21_ = ((float)((double)0x1.4484bfeebc2a0p-100));
    v_tau = t19_;
    v_inverse = t20_;
    v_tiny = t21_;
    array2_f4 t22_ = v_exp_sum;
    float t23_ = ((float)((int64_t)0ll));
    for (int64_t t24_ = 0; t24_ < t22_.n0 * t22_.n1; t24_++) t22_.p[t24_] = t23_;
    int64_t t25_ = v_n_leaves;
    for (int64_t t26_ = 0; t26_ < t25_; t26_ += 1) {
        v_j = t26_;
        add_exp_42(memory, ((array1_f4){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((array1_f4){v_pooled.p + v_leaf_class.p[v_j] * v_pooled.n1, v_pooled.n1}), v_inverse, ((array1_f4){v_exp_sum.p + v_leaf_class.p[v_j] * v_exp_sum.n1, v_exp_sum.n1}));
    }
    int64_t t27_ = v_pooled.n0;
    for (int64_t t28_ = 0; t28_ < t27_; t28_ += 1) {
        v_c = t28_;
        array1_f4 t29_ = ((array1_f4){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        array1_f4 t30_ = ((array1_f4){v_exp_sum.p + v_c * v_exp_sum.n1, v_exp_sum.n1});
        v_top = t29_;
        v_total = t30_;
        int64_t t31_ = v_n_samples;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_b = t32_;
            v_top.p[v_b] = (v_top.p[v_b] + (v_tau * log_f4((v_tiny > v_total.p[v_b] ? v_tiny : v_total.p[v_b]))));
        }
    }
    cut(memory, start);
}

static double cross_entropy_43(stack *memory, array2_f4 v_pooled, array2_i4 v_chosen, array1_i8 v_y, array1_f4 v_weight, double v_q)
{
    int64_t v_b;
    int64_t v_c;
    float v_exponent;
    array1_f4 v_factor;
    double v_inverse;
    float v_log_p;
    double v_loss;
    int64_t v_n_classes;
    int64_t v_n_samples;
    array1_f4 v_own;
    array1_f4 v_pull;
    array1_f4 v_row;
    bool v_served;
    array1_f4 v_top;
    array1_f4 v_total;
    place start = top(memory); (void)start;
    int64_t t50_ = v_pooled.n0;
    int64_t t51_ = v_pooled.n1;
    v_n_classes = t50_;
    v_n_samples = t51_;
    array1_f4 t52_ = ((array1_f4){v_pooled.p + ((int64_t)0ll) * v_pooled.n1, v_pooled.n1});
    int64_t t53_ = t52_.n0;
    array1_f4 t54_ = {push(memory, t53_ * sizeof(float)), t53_};
    memcpy(t54_.p, t52_.p, t52_.n0 * sizeof(float));
    int64_t t55_ = v_n_samples;
    array1_f4 t56_ = {push(memory, t55_ * sizeof(float)), t55_};
    memset(t56_.p, 0, t56_.n0 * sizeof(float));
    array1_f4 t57_ = t54_;
    array1_f4 t58_ = t56_;
    v_top = t57_;
    v_total = t58_;
    int64_t t59_ = v_n_samples;
    array1_f4 t60_ = {push(memory, t59_ * sizeof(float)), t59_};
    v_factor = t60_;
    int64_t t61_ = ((int64_t)1ll);
    int64_t t62_ = v_n_classes;
    for (int64_t t63_ = t61_; t63_ < t62_; t63_ += 1) {
        v_c = t63_;
        int64_t t64_ = v_n_samples;
        for (int64_t t65_ = 0; t65_ < t64_; t65_ += 1) {
            v_b = t65_;
            v_top.p[v_b] = (v_pooled.p[v_c * v_pooled.n1 + v_b] > v_top.p[v_b] ? v_pooled.p[v_c * v_pooled.n1 + v_b] : v_top.p[v_b]);
        }
    }
    int64_t t66_ = v_n_samples;
    array1_f4 t67_ = {push(memory, t66_ * sizeof(float)), t66_};
    int64_t t68_ = v_n_samples;
    array1_f4 t69_ = {push(memory, t68_ * sizeof(float)), t68_};
    array1_f4 t70_ = t67_;
    array1_f4 t71_ = t69_;
    v_own = t70_;
    v_pull = t71_;
    int64_t t72_ = v_n_samples;
    for (int64_t t73_ = 0; t73_ < t72_; t73_ += 1) {
        v_b = t73_;
        v_served = (((int64_t)v_chosen.p[v_y.p[v_b] * v_chosen.n1 + v_b]) >= ((int64_t)0ll));
        v_own.p[v_b] = (v_served ? (v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] - v_top.p[v_b]) : ((float)((int64_t)0ll)));
        v_pull.p[v_b] = (v_served ? v_weight.p[v_b] : ((float)((int64_t)0ll)));
    }
    int64_t t74_ = v_n_classes;
    for (int64_t t75_ = 0; t75_ < t74_; t75_ += 1) {
        v_c = t75_;
        v_row = ((array1_f4){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        int64_t t76_ = v_n_samples;
        for (int64_t t77_ = 0; t77_ < t76_; t77_ += 1) {
            v_b = t77_;
            v_row.p[v_b] = exp_f4((v_row.p[v_b] - v_top.p[v_b]));
            v_total.p[v_b] = (v_total.p[v_b] + v_row.p[v_b]);
        }
    }
    int64_t t78_ = v_n_samples;
    for (int64_t t79_ = 0; t79_ < t78_; t79_ += 1) {
        v_b = t79_;
        v_log_p = (v_own.p[v_b] - log_f4(v_total.p[v_b]));
        v_own.p[v_b] = (((((double)v_pull.p[v_b]) > ((double)((int64_t)0ll))) || (((double)v_weight.p[v_b]) == ((double)((int64_t)0ll)))) ? v_log_p : ((float)((double)-0x1.01e3b843eaa73p+4)));
    }
    v_loss = ((double)0x0.0p+0);
    int64_t t80_ = v_n_samples;
    for (int64_t t81_ = 0; t81_ < t80_; t81_ += 1) {
        v_b = t81_;
        v_loss = (v_loss + ((((double)v_top.p[v_b]) >= ((double)((int64_t)0ll))) ? ((double)0x0.0p+0) : ((double)NAN)));
    }
    if ((v_q > ((double)((int64_t)0ll)))) {
        float t82_ = ((float)v_q);
        double t83_ = (((double)0x1.0000000000000p+0) / v_q);
        v_exponent = t82_;
        v_inverse = t83_;
        int64_t t84_ = v_n_samples;
        for (int64_t t85_ = 0; t85_ < t84_; t85_ += 1) {
            v_b = t85_;
            v_own.p[v_b] = exp_f4((v_exponent * v_own.p[v_b]));
            v_factor.p[v_b] = (v_pull.p[v_b] * v_own.p[v_b]);
        }
        int64_t t86_ = v_n_samples;
        for (int64_t t87_ = 0; t87_ < t86_; t87_ += 1) {
            v_b = t87_;
            v_loss = (v_loss + ((((double)v_weight.p[v_b]) * (((double)0x1.0000000000000p+0) - ((double)v_own.p[v_b]))) * v_inverse));
        }
    } else {
        int64_t t88_ = v_n_samples;
        for (int64_t t89_ = 0; t89_ < t88_; t89_ += 1) {
            v_b = t89_;
            v_factor.p[v_b] = v_pull.p[v_b];
            v_loss = (v_loss - ((double)(v_weight.p[v_b] * v_own.p[v_b])));
        }
    }
    int64_t t90_ = v_n_samples;
    for (int64_t t91_ = 0; t91_ < t90_; t91_ += 1) {
        v_b = t91_;
        v_total.p[v_b] = (v_factor.p[v_b] / v_total.p[v_b]);
    }
    int64_t t92_ = v_n_classes;
    for (int64_t t93_ = 0; t93_ < t92_; t93_ += 1) {
        v_c = t93_;
        v_row = ((array1_f4){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        int64_t t94_ = v_n_samples;
        for (int64_t t95_ = 0; t95_ < t94_; t95_ += 1) {
            v_b = t95_;
            v_row.p[v_b] = (v_row.p[v_b] * v_total.p[v_b]);
        }
    }
    int64_t t96_ = v_n_samples;
    for (int64_t t97_ = 0; t97_ < t96_; t97_ += 1) {
        v_b = t97_;
        v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] = (v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] - v_factor.p[v_b]);
    }
    double t98_ = v_loss;
    cut(memory, start);
    return t98_;
}

static tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 forward_36(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss)
{
    array2_i4 v_chosen;
    array2_f4 v_exp_sum;
    int64_t v_n_samples;
    int64_t v_n_splits;
    array2_f4 v_node;
    array2_f4 v_pooled;
    array2_f4 v_scores;
    double v_total;
    place start = top(memory); (void)start;
    int64_t t29_ = v_batch.X.n0;
    int64_t t30_ = v_splits.n0;
    v_n_samples = t29_;
    v_n_splits = t30_;
    int64_t t31_ = v_n_splits;
    int64_t t32_ = v_n_samples;
    array2_f4 t33_ = {push(memory, t31_ * t32_ * sizeof(float)), t31_, t32_};
    int64_t t34_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    int64_t t35_ = v_n_samples;
    array2_f4 t36_ = {push(memory, t34_ * t35_ * sizeof(float)), t34_, t35_};
    array2_f4 t37_ = t33_;
    array2_f4 t38_ = t36_;
    v_scores = t37_;
    v_node = t38_;
    array2_f4 t39_ = v_splits;
    array2_f4 t40_ = v_batch.X;
    product_f4('t', 'n', t40_.n0, t39_.n0, t39_.n1, t40_.p, t40_.n1, t39_.p, t39_.n1, v_scores.p);
    (void)v_scores;
    leaf_logits_37(memory, v_scores, v_children, v_node);
    int64_t t41_ = v_loss.n_classes;
    int64_t t42_ = v_n_samples;
    array2_f4 t43_ = {push(memory, t41_ * t42_ * sizeof(float)), t41_, t42_};
    int64_t t44_ = v_loss.n_classes;
    int64_t t45_ = v_n_samples;
    array2_f4 t46_ = {push(memory, t44_ * t45_ * sizeof(float)), t44_, t45_};
    array2_f4 t47_ = t43_;
    array2_f4 t48_ = t46_;
    v_pooled = t47_;
    v_exp_sum = t48_;
    int64_t t49_ = v_loss.n_classes;
    int64_t t50_ = v_n_samples;
    array2_i4 t51_ = {push(memory, t49_ * t50_ * sizeof(int32_t)), t49_, t50_};
    v_chosen = t51_;
    array2_f4 t52_ = v_node;
    int64_t t53_ = v_n_splits;
    pool_by_max_39(memory, ((array2_f4){t52_.p + t53_ * t52_.n1, t52_.n0 - t53_, t52_.n1}), v_leaf_class, v_pooled, v_chosen);
    if ((v_loss.temperature > ((double)((int64_t)0ll)))) {
        array2_f4 t54_ = v_node;
        int64_t t55_ = v_n_splits;
        pool_smoothly_41(memory, ((array2_f4){t54_.p + t55_ * t54_.n1, t54_.n0 - t55_, t54_.n1}), v_leaf_class, v_loss.temperature, v_pooled, v_exp_sum);
    }
    v_total = cross_entropy_43(memory, v_pooled, v_chosen, v_batch.y, v_batch.weight, v_loss.q);
    tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 t56_ = ((tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4){v_total, v_scores, v_node, v_pooled, v_exp_sum, v_chosen});
    return t56_;
}

static double classification_loss_31(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss)
{
    Rows_array2_f4_array1_i8_array1_f4 v_batch;
    Rows_array2_f4_array1_i8_array1_f4 v_block;
    int64_t v_start;
    double v_total;
    place start = top(memory); (void)start;
    Rows_array2_f4_array1_i8_array1_f4 t19_ = new_batch_32(memory, v_rows, ((int64_t)256ll));
    double t20_ = ((double)0x0.0p+0);
    Rows_array2_f4_array1_i8_array1_f4 t21_ = t19_;
    v_total = t20_;
    v_batch = t21_;
    int64_t t22_ = ((int64_t)0ll);
    int64_t t23_ = v_rows.X.n0;
    int64_t t24_ = ((int64_t)256ll);
    for (int64_t t25_ = t22_; t25_ < t23_; t25_ += t24_) {
        place t35_ = top(memory);
        v_start = t25_;
        int64_t t26_ = v_start;
        int64_t t27_ = (v_start + ((int64_t)256ll));
        int64_t t28_ = (v_rows.X.n0 < t27_ ? v_rows.X.n0 : t27_);
        int64_t t29_ = t28_ - t26_;
        array1_i8 t30_ = {push(memory, t29_ * sizeof(int64_t)), t29_};
        for (int64_t t31_ = 0; t31_ < t30_.n0; t31_++) t30_.p[t31_] = t26_ + t31_;
        Rows_array2_f4_array1_i8_array1_f4 t32_ = gather_33(memory, v_rows, t30_, v_batch);
        v_block = t32_;
        tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 t33_ = forward_36(memory, v_block, v_children, v_leaf_class, v_splits, v_loss);
        tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 t34_ = t33_;
        v_total = (v_total + t34_.item0);
        cut(memory, t35_);
    }
    double t36_ = v_total;
    cut(memory, start);
    return t36_;
}

static Rows_array2_f8_array1_i8_array1_f8 new_batch_45(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, int64_t v_size)
{
    place start = top(memory); (void)start;
    v_size = (v_rows.X.n0 < v_size ? v_rows.X.n0 : v_size);
    int64_t t9_ = v_size;
    int64_t t10_ = (v_rows.X.n1 + ((int64_t)1ll));
    array2_f8 t11_ = {push(memory, t9_ * t10_ * sizeof(double)), t9_, t10_};
    int64_t t12_ = v_size;
    array1_i8 t13_ = {push(memory, t12_ * sizeof(int64_t)), t12_};
    int64_t t14_ = v_size;
    array1_f8 t15_ = {push(memory, t14_ * sizeof(double)), t14_};
    Rows_array2_f8_array1_i8_array1_f8 t16_ = ((Rows_array2_f8_array1_i8_array1_f8){t11_, t13_, t15_});
    return t16_;
}

static void gather_47(stack *memory, array1_f8 v_source, array1_i8 v_index, array1_f8 v_into)
{
    int64_t v_r;
    place start = top(memory); (void)start;
    int64_t t3_ = v_index.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_r = t4_;
        v_into.p[v_r] = v_source.p[v_index.p[v_r]];
    }
    cut(memory, start);
}

static Rows_array2_f8_array1_i8_array1_f8 gather_46(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array1_i8 v_index, Rows_array2_f8_array1_i8_array1_f8 v_batch)
{
    Rows_array2_f8_array1_i8_array1_f8 v_filled;
    int64_t v_size;
    place start = top(memory); (void)start;
    v_size = v_index.n0;
    array2_f8 t8_ = v_batch.X;
    int64_t t9_ = 0;
    array1_i8 t10_ = v_batch.y;
    int64_t t11_ = 0;
    array1_f8 t12_ = v_batch.weight;
    int64_t t13_ = 0;
    v_filled = ((Rows_array2_f8_array1_i8_array1_f8){((array2_f8){t8_.p + t9_ * t8_.n1, least(v_size, t8_.n0) - t9_, t8_.n1}), ((array1_i8){t10_.p + t11_ * 1, least(v_size, t10_.n0) - t11_}), ((array1_f8){t12_.p + t13_ * 1, least(v_size, t12_.n0) - t13_})});
    gather_features_22(memory, v_rows.X, v_index, v_filled.X);
    gather_34(memory, v_rows.y, v_index, v_filled.y);
    gather_47(memory, v_rows.weight, v_index, v_filled.weight);
    Rows_array2_f8_array1_i8_array1_f8 t14_ = v_filled;
    return t14_;
}

static void keep_larger_50(stack *memory, array1_f8 v_z, int32_t v_leaf, array1_f8 v_top, array1_i4 v_best)
{
    int64_t v_b;
    bool v_better;
    place start = top(memory); (void)start;
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_better = (v_z.p[v_b] > v_top.p[v_b]);
        v_top.p[v_b] = (v_better ? v_z.p[v_b] : v_top.p[v_b]);
        v_best.p[v_b] = (v_better ? v_leaf : v_best.p[v_b]);
    }
    cut(memory, start);
}

static void pool_by_max_49(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_pooled, array2_i4 v_chosen)
{
    int64_t v_j;
    place start = top(memory); (void)start;
    array2_f8 t9_ = v_pooled;
    double t10_ = (-(double)INFINITY);
    for (int64_t t11_ = 0; t11_ < t9_.n0 * t9_.n1; t11_++) t9_.p[t11_] = t10_;
    array2_i4 t12_ = v_chosen;
    int32_t t13_ = ((int32_t)((int64_t)-1ll));
    for (int64_t t14_ = 0; t14_ < t12_.n0 * t12_.n1; t14_++) t12_.p[t14_] = t13_;
    int64_t t15_ = v_logit.n0;
    for (int64_t t16_ = 0; t16_ < t15_; t16_ += 1) {
        v_j = t16_;
        keep_larger_50(memory, ((array1_f8){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((int32_t)v_j), ((array1_f8){v_pooled.p + v_leaf_class.p[v_j] * v_pooled.n1, v_pooled.n1}), ((array1_i4){v_chosen.p + v_leaf_class.p[v_j] * v_chosen.n1, v_chosen.n1}));
    }
    cut(memory, start);
}

static void add_exp_52(stack *memory, array1_f8 v_z, array1_f8 v_top, double v_inverse, array1_f8 v_total)
{
    int64_t v_b;
    place start = top(memory); (void)start;
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_z.p[v_b] = exp_f8(((v_z.p[v_b] - v_top.p[v_b]) * v_inverse));
        v_total.p[v_b] = (v_total.p[v_b] + v_z.p[v_b]);
    }
    cut(memory, start);
}

static void pool_smoothly_51(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, double v_temperature, array2_f8 v_pooled, array2_f8 v_exp_sum)
{
    int64_t v_b;
    int64_t v_c;
    double v_inverse;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    double v_tau;
    double v_tiny;
    array1_f8 v_top;
    array1_f8 v_total;
    place start = top(memory); (void)start;
    int64_t t17_ = v_logit.n0;
    int64_t t18_ = v_logit.n1;
    v_n_leaves = t17_;
    v_n_samples = t18_;
    double t19_ = ((double)v_temperature);
    double t20_ = ((double)(((double)((int64_t)1ll)) / v_temperature));
    double t21_ = ((double)((double)0x1.4484bfeebc2a0p-100));
    v_tau = t19_;
    v_inverse = t20_;
    v_tiny = t21_;
    array2_f8 t22_ = v_exp_sum;
    double t23_ = ((double)((int64_t)0ll));
    for (int64_t t24_ = 0; t24_ < t22_.n0 * t22_.n1; t24_++) t22_.p[t24_] = t23_;
    int64_t t25_ = v_n_leaves;
    for (int64_t t26_ = 0; t26_ < t25_; t26_ += 1) {
        v_j = t26_;
        add_exp_52(memory, ((array1_f8){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((array1_f8){v_pooled.p + v_leaf_class.p[v_j] * v_pooled.n1, v_pooled.n1}), v_inverse, ((array1_f8){v_exp_sum.p + v_leaf_class.p[v_j] * v_exp_sum.n1, v_exp_sum.n1}));
    }
    int64_t t27_ = v_pooled.n0;
    for (int64_t t28_ = 0; t28_ < t27_; t28_ += 1) {
        v_c = t28_;
        array1_f8 t29_ = ((array1_f8){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        array1_f8 t30_ = ((array1_f8){v_exp_sum.p + v_c * v_exp_sum.n1, v_exp_sum.n1});
        v_top = t29_;
        v_total = t30_;
        int64_t t31_ = v_n_samples;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_b = t32_;
            v_top.p[v_b] = (v_top.p[v_b] + (v_tau * log_f8((v_tiny > v_total.p[v_b] ? v_tiny : v_total.p[v_b]))));
        }
    }
    cut(memory, start);
}

static double cross_entropy_53(stack *memory, array2_f8 v_pooled, array2_i4 v_chosen, array1_i8 v_y, array1_f8 v_weight, double v_q)
{
    int64_t v_b;
    int64_t v_c;
    double v_exponent;
    array1_f8 v_factor;
    double v_inverse;
    double v_log_p;
    double v_loss;
    int64_t v_n_classes;
    int64_t v_n_samples;
    array1_f8 v_own;
    array1_f8 v_pull;
    array1_f8 v_row;
    bool v_served;
    array1_f8 v_top;
    array1_f8 v_total;
    place start = top(memory); (void)start;
    int64_t t50_ = v_pooled.n0;
    int64_t t51_ = v_pooled.n1;
    v_n_classes = t50_;
    v_n_samples = t51_;
    array1_f8 t52_ = ((array1_f8){v_pooled.p + ((int64_t)0ll) * v_pooled.n1, v_pooled.n1});
    int64_t t53_ = t52_.n0;
    array1_f8 t54_ = {push(memory, t53_ * sizeof(double)), t53_};
    memcpy(t54_.p, t52_.p, t52_.n0 * sizeof(double));
    int64_t t55_ = v_n_samples;
    array1_f8 t56_ = {push(memory, t55_ * sizeof(double)), t55_};
    memset(t56_.p, 0, t56_.n0 * sizeof(double));
    array1_f8 t57_ = t54_;
    array1_f8 t58_ = t56_;
    v_top = t57_;
    v_total = t58_;
    int64_t t59_ = v_n_samples;
    array1_f8 t60_ = {push(memory, t59_ * sizeof(double)), t59_};
    v_factor = t60_;
    int64_t t61_ = ((int64_t)1ll);
    int64_t t62_ = v_n_classes;
    for (int64_t t63_ = t61_; t63_ < t62_; t63_ += 1) {
        v_c = t63_;
        int64_t t64_ = v_n_samples;
        for (int64_t t65_ = 0; t65_ < t64_; t65_ += 1) {
            v_b = t65_;
            v_top.p[v_b] = (v_pooled.p[v_c * v_pooled.n1 + v_b] > v_top.p[v_b] ? v_pooled.p[v_c * v_pooled.n1 + v_b] : v_top.p[v_b]);
        }
    }
    int64_t t66_ = v_n_samples;
    array1_f8 t67_ = {push(memory, t66_ * sizeof(double)), t66_};
    int64_t t68_ = v_n_samples;
    array1_f8 t69_ = {push(memory, t68_ * sizeof(double)), t68_};
    array1_f8 t70_ = t67_;
    array1_f8 t71_ = t69_;
    v_own = t70_;
    v_pull = t71_;
    int64_t t72_ = v_n_samples;
    for (int64_t t73_ = 0; t73_ < t72_; t73_ += 1) {
        v_b = t73_;
        v_served = (((int64_t)v_chosen.p[v_y.p[v_b] * v_chosen.n1 + v_b]) >= ((int64_t)0ll));
        v_own.p[v_b] = (v_served ? (v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] - v_top.p[v_b]) : ((double)((int64_t)0ll)));
        v_pull.p[v_b] = (v_served ? v_weight.p[v_b] : ((double)((int64_t)0ll)));
    }
    int64_t t74_ = v_n_classes;
    for (int64_t t75_ = 0; t75_ < t74_; t75_ += 1) {
        v_c = t75_;
        v_row = ((array1_f8){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        int64_t t76_ = v_n_samples;
        for (int64_t t77_ = 0; t77_ < t76_; t77_ += 1) {
            v_b = t77_;
            v_row.p[v_b] = exp_f8((v_row.p[v_b] - v_top.p[v_b]));
            v_total.p[v_b] = (v_total.p[v_b] + v_row.p[v_b]);
        }
    }
    int64_t t78_ = v_n_samples;
    for (int64_t t79_ = 0; t79_ < t78_; t79_ += 1) {
        v_b = t79_;
        v_log_p = (v_own.p[v_b] - log_f8(v_total.p[v_b]));
        v_own.p[v_b] = (((v_pull.p[v_b] > ((double)((int64_t)0ll))) || (v_weight.p[v_b] == ((double)((int64_t)0ll)))) ? v_log_p : ((double)((double)-0x1.01e3b843eaa73p+4)));
    }
    v_loss = ((double)0x0.0p+0);
    int64_t t80_ = v_n_samples;
    for (int64_t t81_ = 0; t81_ < t80_; t81_ += 1) {
        v_b = t81_;
        v_loss = (v_loss + ((v_top.p[v_b] >= ((double)((int64_t)0ll))) ? ((double)0x0.0p+0) : ((double)NAN)));
    }
    if ((v_q > ((double)((int64_t)0ll)))) {
        double t82_ = ((double)v_q);
        double t83_ = (((double)0x1.0000000000000p+0) / v_q);
        v_exponent = t82_;
        v_inverse = t83_;
        int64_t t84_ = v_n_samples;
        for (int64_t t85_ = 0; t85_ < t84_; t85_ += 1) {
            v_b = t85_;
            v_own.p[v_b] = exp_f8((v_exponent * v_own.p[v_b]));
            v_factor.p[v_b] = (v_pull.p[v_b] * v_own.p[v_b]);
        }
        int64_t t86_ = v_n_samples;
        for (int64_t t87_ = 0; t87_ < t86_; t87_ += 1) {
            v_b = t87_;
            v_loss = (v_loss + ((v_weight.p[v_b] * (((double)0x1.0000000000000p+0) - v_own.p[v_b])) * v_inverse));
        }
    } else {
        int64_t t88_ = v_n_samples;
        for (int64_t t89_ = 0; t89_ < t88_; t89_ += 1) {
            v_b = t89_;
            v_factor.p[v_b] = v_pull.p[v_b];
            v_loss = (v_loss - (v_weight.p[v_b] * v_own.p[v_b]));
        }
    }
    int64_t t90_ = v_n_samples;
    for (int64_t t91_ = 0; t91_ < t90_; t91_ += 1) {
        v_b = t91_;
        v_total.p[v_b] = (v_factor.p[v_b] / v_total.p[v_b]);
    }
    int64_t t92_ = v_n_classes;
    for (int64_t t93_ = 0; t93_ < t92_; t93_ += 1) {
        v_c = t93_;
        v_row = ((array1_f8){v_pooled.p + v_c * v_pooled.n1, v_pooled.n1});
        int64_t t94_ = v_n_samples;
        for (int64_t t95_ = 0; t95_ < t94_; t95_ += 1) {
            v_b = t95_;
            v_row.p[v_b] = (v_row.p[v_b] * v_total.p[v_b]);
        }
    }
    int64_t t96_ = v_n_samples;
    for (int64_t t97_ = 0; t97_ < t96_; t97_ += 1) {
        v_b = t97_;
        v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] = (v_pooled.p[v_y.p[v_b] * v_pooled.n1 + v_b] - v_factor.p[v_b]);
    }
    double t98_ = v_loss;
    cut(memory, start);
    return t98_;
}

static tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 forward_48(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss)
{
    array2_i4 v_chosen;
    array2_f8 v_exp_sum;
    int64_t v_n_samples;
    int64_t v_n_splits;
    array2_f8 v_node;
    array2_f8 v_pooled;
    array2_f8 v_scores;
    double v_total;
    place start = top(memory); (void)start;
    int64_t t29_ = v_batch.X.n0;
    int64_t t30_ = v_splits.n0;
    v_n_samples = t29_;
    v_n_splits = t30_;
    int64_t t31_ = v_n_splits;
    int64_t t32_ = v_n_samples;
    array2_f8 t33_ = {push(memory, t31_ * t32_ * sizeof(double)), t31_, t32_};
    int64_t t34_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    int64_t t35_ = v_n_samples;
    array2_f8 t36_ = {push(memory, t34_ * t35_ * sizeof(double)), t34_, t35_};
    array2_f8 t37_ = t33_;
    array2_f8 t38_ = t36_;
    v_scores = t37_;
    v_node = t38_;
    array2_f8 t39_ = v_splits;
    array2_f8 t40_ = v_batch.X;
    product_f8('t', 'n', t40_.n0, t39_.n0, t39_.n1, t40_.p, t40_.n1, t39_.p, t39_.n1, v_scores.p);
    (void)v_scores;
    leaf_logits_13(memory, v_scores, v_children, v_node);
    int64_t t41_ = v_loss.n_classes;
    int64_t t42_ = v_n_samples;
    array2_f8 t43_ = {push(memory, t41_ * t42_ * sizeof(double)), t41_, t42_};
    int64_t t44_ = v_loss.n_classes;
    int64_t t45_ = v_n_samples;
    array2_f8 t46_ = {push(memory, t44_ * t45_ * sizeof(double)), t44_, t45_};
    array2_f8 t47_ = t43_;
    array2_f8 t48_ = t46_;
    v_pooled = t47_;
    v_exp_sum = t48_;
    int64_t t49_ = v_loss.n_classes;
    int64_t t50_ = v_n_samples;
    array2_i4 t51_ = {push(memory, t49_ * t50_ * sizeof(int32_t)), t49_, t50_};
    v_chosen = t51_;
    array2_f8 t52_ = v_node;
    int64_t t53_ = v_n_splits;
    pool_by_max_49(memory, ((array2_f8){t52_.p + t53_ * t52_.n1, t52_.n0 - t53_, t52_.n1}), v_leaf_class, v_pooled, v_chosen);
    if ((v_loss.temperature > ((double)((int64_t)0ll)))) {
        array2_f8 t54_ = v_node;
        int64_t t55_ = v_n_splits;
        pool_smoothly_51(memory, ((array2_f8){t54_.p + t55_ * t54_.n1, t54_.n0 - t55_, t54_.n1}), v_leaf_class, v_loss.temperature, v_pooled, v_exp_sum);
    }
    v_total = cross_entropy_53(memory, v_pooled, v_chosen, v_batch.y, v_batch.weight, v_loss.q);
    tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 t56_ = ((tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4){v_total, v_scores, v_node, v_pooled, v_exp_sum, v_chosen});
    return t56_;
}

static double classification_loss_44(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss)
{
    Rows_array2_f8_array1_i8_array1_f8 v_batch;
    Rows_array2_f8_array1_i8_array1_f8 v_block;
    int64_t v_start;
    double v_total;
    place start = top(memory); (void)start;
    Rows_array2_f8_array1_i8_array1_f8 t19_ = new_batch_45(memory, v_rows, ((int64_t)256ll));
    double t20_ = ((double)0x0.0p+0);
    Rows_array2_f8_array1_i8_array1_f8 t21_ = t19_;
    v_total = t20_;
    v_batch = t21_;
    int64_t t22_ = ((int64_t)0ll);
    int64_t t23_ = v_rows.X.n0;
    int64_t t24_ = ((int64_t)256ll);
    for (int64_t t25_ = t22_; t25_ < t23_; t25_ += t24_) {
        place t35_ = top(memory);
        v_start = t25_;
        int64_t t26_ = v_start;
        int64_t t27_ = (v_start + ((int64_t)256ll));
        int64_t t28_ = (v_rows.X.n0 < t27_ ? v_rows.X.n0 : t27_);
        int64_t t29_ = t28_ - t26_;
        array1_i8 t30_ = {push(memory, t29_ * sizeof(int64_t)), t29_};
        for (int64_t t31_ = 0; t31_ < t30_.n0; t31_++) t30_.p[t31_] = t26_ + t31_;
        Rows_array2_f8_array1_i8_array1_f8 t32_ = gather_46(memory, v_rows, t30_, v_batch);
        v_block = t32_;
        tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 t33_ = forward_48(memory, v_block, v_children, v_leaf_class, v_splits, v_loss);
        tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 t34_ = t33_;
        v_total = (v_total + t34_.item0);
        cut(memory, t35_);
    }
    double t36_ = v_total;
    cut(memory, start);
    return t36_;
}

static Rows_array2_f4_array2_f4_array1_f4 new_batch_55(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, int64_t v_size)
{
    place start = top(memory); (void)start;
    v_size = (v_rows.X.n0 < v_size ? v_rows.X.n0 : v_size);
    int64_t t10_ = v_size;
    int64_t t11_ = (v_rows.X.n1 + ((int64_t)1ll));
    array2_f4 t12_ = {push(memory, t10_ * t11_ * sizeof(float)), t10_, t11_};
    int64_t t13_ = v_size;
    int64_t t14_ = v_rows.y.n1;
    array2_f4 t15_ = {push(memory, t13_ * t14_ * sizeof(float)), t13_, t14_};
    int64_t t16_ = v_size;
    array1_f4 t17_ = {push(memory, t16_ * sizeof(float)), t16_};
    Rows_array2_f4_array2_f4_array1_f4 t18_ = ((Rows_array2_f4_array2_f4_array1_f4){t12_, t15_, t17_});
    return t18_;
}

static void gather_57(stack *memory, array2_f4 v_source, array1_i8 v_index, array2_f4 v_into)
{
    int64_t v_o;
    int64_t v_r;
    place start = top(memory); (void)start;
    int64_t t5_ = v_index.n0;
    for (int64_t t6_ = 0; t6_ < t5_; t6_ += 1) {
        v_r = t6_;
        int64_t t7_ = v_source.n1;
        for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
            v_o = t8_;
            v_into.p[v_r * v_into.n1 + v_o] = v_source.p[v_index.p[v_r] * v_source.n1 + v_o];
        }
    }
    cut(memory, start);
}

static Rows_array2_f4_array2_f4_array1_f4 gather_56(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array1_i8 v_index, Rows_array2_f4_array2_f4_array1_f4 v_batch)
{
    Rows_array2_f4_array2_f4_array1_f4 v_filled;
    int64_t v_size;
    place start = top(memory); (void)start;
    v_size = v_index.n0;
    array2_f4 t8_ = v_batch.X;
    int64_t t9_ = 0;
    array2_f4 t10_ = v_batch.y;
    int64_t t11_ = 0;
    array1_f4 t12_ = v_batch.weight;
    int64_t t13_ = 0;
    v_filled = ((Rows_array2_f4_array2_f4_array1_f4){((array2_f4){t8_.p + t9_ * t8_.n1, least(v_size, t8_.n0) - t9_, t8_.n1}), ((array2_f4){t10_.p + t11_ * t10_.n1, least(v_size, t10_.n0) - t11_, t10_.n1}), ((array1_f4){t12_.p + t13_ * 1, least(v_size, t12_.n0) - t13_})});
    gather_features_19(memory, v_rows.X, v_index, v_filled.X);
    gather_57(memory, v_rows.y, v_index, v_filled.y);
    gather_35(memory, v_rows.weight, v_index, v_filled.weight);
    Rows_array2_f4_array2_f4_array1_f4 t14_ = v_filled;
    return t14_;
}

static tuple_array2_f4_array2_f4_array2_f4_array2_f4 regression_forward_58(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_batch, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves)
{
    array2_f4 v_design;
    int64_t v_n_samples;
    int64_t v_n_splits;
    array2_f4 v_node;
    array2_f4 v_output;
    array2_f4 v_scores;
    place start = top(memory); (void)start;
    int64_t t25_ = v_batch.X.n0;
    int64_t t26_ = v_splits.n0;
    v_n_samples = t25_;
    v_n_splits = t26_;
    int64_t t27_ = v_n_splits;
    int64_t t28_ = v_n_samples;
    array2_f4 t29_ = {push(memory, t27_ * t28_ * sizeof(float)), t27_, t28_};
    int64_t t30_ = v_leaves.n0;
    int64_t t31_ = v_n_samples;
    array2_f4 t32_ = {push(memory, t30_ * t31_ * sizeof(float)), t30_, t31_};
    array2_f4 t33_ = t29_;
    array2_f4 t34_ = t32_;
    v_scores = t33_;
    v_output = t34_;
    array2_f4 t35_ = v_splits;
    array2_f4 t36_ = v_batch.X;
    product_f4('t', 'n', t36_.n0, t35_.n0, t35_.n1, t36_.p, t36_.n1, t35_.p, t35_.n1, v_scores.p);
    (void)v_scores;
    int64_t t37_ = v_n_samples;
    int64_t t38_ = ((int64_t)1ll);
    array2_f4 t39_ = {push(memory, t37_ * t38_ * sizeof(float)), t37_, t38_};
    array2_f4 t40_ = t39_;
    float t41_ = ((float)1);
    for (int64_t t42_ = 0; t42_ < t40_.n0 * t40_.n1; t42_++) t40_.p[t42_] = t41_;
    v_design = ((v_leaves.n1 == v_batch.X.n1) ? v_batch.X : t39_);
    array2_f4 t43_ = v_leaves;
    array2_f4 t44_ = v_design;
    product_f4('t', 'n', t44_.n0, t43_.n0, t43_.n1, t44_.p, t44_.n1, t43_.p, t43_.n1, v_output.p);
    (void)v_output;
    int64_t t45_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    int64_t t46_ = v_n_samples;
    array2_f4 t47_ = {push(memory, t45_ * t46_ * sizeof(float)), t45_, t46_};
    v_node = t47_;
    leaf_logits_37(memory, v_scores, v_children, v_node);
    tuple_array2_f4_array2_f4_array2_f4_array2_f4 t48_ = ((tuple_array2_f4_array2_f4_array2_f4_array2_f4){v_scores, v_node, v_output, v_design});
    return t48_;
}

static void best_leaves_61(stack *memory, array2_f4 v_logit, array2_f4 v_best, array2_i4 v_index)
{
    int64_t v_b;
    array1_f4 v_carried;
    int64_t v_j;
    array1_i4 v_leaf;
    bool v_moves;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    int64_t v_r;
    int32_t v_ranked;
    float v_value;
    place start = top(memory); (void)start;
    int64_t t28_ = v_logit.n0;
    int64_t t29_ = v_logit.n1;
    v_n_leaves = t28_;
    v_n_samples = t29_;
    array2_f4 t30_ = v_best;
    float t31_ = ((float)(-(double)INFINITY));
    for (int64_t t32_ = 0; t32_ < t30_.n0 * t30_.n1; t32_++) t30_.p[t32_] = t31_;
    array2_i4 t33_ = v_index;
    int32_t t34_ = ((int32_t)((int64_t)0ll));
    for (int64_t t35_ = 0; t35_ < t33_.n0 * t33_.n1; t35_++) t33_.p[t35_] = t34_;
    int64_t t36_ = v_n_samples;
    array1_f4 t37_ = {push(memory, t36_ * sizeof(float)), t36_};
    int64_t t38_ = v_n_samples;
    array1_i4 t39_ = {push(memory, t38_ * sizeof(int32_t)), t38_};
    array1_f4 t40_ = t37_;
    array1_i4 t41_ = t39_;
    v_carried = t40_;
    v_leaf = t41_;
    int64_t t42_ = (v_n_leaves - ((int64_t)1ll));
    int64_t t43_ = ((int64_t)-1ll);
    int64_t t44_ = ((int64_t)-1ll);
    for (int64_t t45_ = t42_; t45_ > t43_; t45_ += t44_) {
        v_j = t45_;
        int64_t t46_ = v_n_samples;
        for (int64_t t47_ = 0; t47_ < t46_; t47_ += 1) {
            v_b = t47_;
            v_carried.p[v_b] = v_logit.p[v_j * v_logit.n1 + v_b];
            v_leaf.p[v_b] = ((int32_t)v_j);
        }
        int64_t t48_ = (v_n_leaves - v_j);
        int64_t t49_ = (v_best.n0 < t48_ ? v_best.n0 : t48_);
        for (int64_t t50_ = 0; t50_ < t49_; t50_ += 1) {
            v_r = t50_;
            int64_t t51_ = v_n_samples;
            for (int64_t t52_ = 0; t52_ < t51_; t52_ += 1) {
                v_b = t52_;
                float t53_ = v_best.p[v_r * v_best.n1 + v_b];
                int32_t t54_ = v_index.p[v_r * v_index.n1 + v_b];
                v_value = t53_;
                v_ranked = t54_;
                v_moves = (v_carried.p[v_b] >= v_value);
                v_best.p[v_r * v_best.n1 + v_b] = (v_moves ? v_carried.p[v_b] : v_value);
                v_index.p[v_r * v_index.n1 + v_b] = (v_moves ? v_leaf.p[v_b] : v_ranked);
                v_carried.p[v_b] = (v_moves ? v_value : v_carried.p[v_b]);
                v_leaf.p[v_b] = (v_moves ? v_ranked : v_leaf.p[v_b]);
            }
        }
    }
    cut(memory, start);
}

static double augmented_loss_60(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_y, array1_f4 v_weight, int64_t v_loss, double v_parameter)
{
    int64_t v_b;
    array2_f4 v_best;
    double v_derivative;
    array2_i4 v_index;
    int64_t v_n_choices;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    float v_part;
    int64_t v_r;
    int64_t v_row;
    array2_f4 v_slope;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t35_ = v_logit.n0;
    int64_t t36_ = v_logit.n1;
    v_n_leaves = t35_;
    v_n_samples = t36_;
    int64_t t37_ = ((int64_t)2ll);
    int64_t t38_ = (v_n_leaves < t37_ ? v_n_leaves : t37_);
    int64_t t39_ = v_y.n1;
    v_n_choices = t38_;
    v_n_outputs = t39_;
    int64_t t40_ = v_n_choices;
    int64_t t41_ = v_n_samples;
    array2_f4 t42_ = {push(memory, t40_ * t41_ * sizeof(float)), t40_, t41_};
    int64_t t43_ = v_n_choices;
    int64_t t44_ = v_n_samples;
    array2_i4 t45_ = {push(memory, t43_ * t44_ * sizeof(int32_t)), t43_, t44_};
    array2_f4 t46_ = t42_;
    array2_i4 t47_ = t45_;
    v_best = t46_;
    v_index = t47_;
    best_leaves_61(memory, v_logit, v_best, v_index);
    int64_t t48_ = v_output.n0;
    int64_t t49_ = v_output.n1;
    array2_f4 t50_ = {push(memory, t48_ * t49_ * sizeof(float)), t48_, t49_};
    memset(t50_.p, 0, t50_.n0 * t50_.n1 * sizeof(float));
    v_slope = t50_;
    double t51_ = ((double)0x0.0p+0);
    float t52_ = ((float)(((double)((int64_t)1ll)) / ((double)(v_n_choices * v_n_outputs))));
    v_total = t51_;
    v_part = t52_;
    int64_t t53_ = v_n_choices;
    for (int64_t t54_ = 0; t54_ < t53_; t54_ += 1) {
        v_r = t54_;
        int64_t t55_ = v_n_samples;
        for (int64_t t56_ = 0; t56_ < t55_; t56_ += 1) {
            v_b = t56_;
            int64_t t57_ = v_n_outputs;
            for (int64_t t58_ = 0; t58_ < t57_; t58_ += 1) {
                v_o = t58_;
                v_row = ((((int64_t)v_index.p[v_r * v_index.n1 + v_b]) * v_n_outputs) + v_o);
                tuple_f8_f8 t59_ = loss_28(memory, v_output.p[v_row * v_output.n1 + v_b], v_y.p[v_b * v_y.n1 + v_o], v_loss, ((float)v_parameter));
                tuple_f8_f8 t60_ = t59_;
                v_value = t60_.item0;
                v_derivative = t60_.item1;
                v_total = (v_total + ((((double)v_weight.p[v_b]) * v_value) * ((double)v_part)));
                v_slope.p[v_row * v_slope.n1 + v_b] = ((float)((((double)v_weight.p[v_b]) * v_derivative) * ((double)v_part)));
            }
        }
    }
    int64_t t61_ = v_output.n0;
    for (int64_t t62_ = 0; t62_ < t61_; t62_ += 1) {
        v_row = t62_;
        int64_t t63_ = v_n_samples;
        for (int64_t t64_ = 0; t64_ < t63_; t64_ += 1) {
            v_b = t64_;
            v_output.p[v_row * v_output.n1 + v_b] = v_slope.p[v_row * v_slope.n1 + v_b];
        }
    }
    array2_f4 t65_ = v_logit;
    float t66_ = ((float)((int64_t)0ll));
    for (int64_t t67_ = 0; t67_ < t65_.n0 * t65_.n1; t67_++) t65_.p[t67_] = t66_;
    double t68_ = v_total;
    cut(memory, start);
    return t68_;
}

static void share_top_62(stack *memory, array2_f4 v_logit, int64_t v_k, double v_temperature, array2_f4 v_share)
{
    int64_t v_b;
    array2_f4 v_best;
    array2_i4 v_index;
    float v_inverse;
    int64_t v_n_samples;
    int64_t v_r;
    array1_f4 v_total;
    place start = top(memory); (void)start;
    v_n_samples = v_logit.n1;
    v_inverse = ((float)(((double)((int64_t)1ll)) / v_temperature));
    int64_t t24_ = v_k;
    int64_t t25_ = v_n_samples;
    array2_f4 t26_ = {push(memory, t24_ * t25_ * sizeof(float)), t24_, t25_};
    int64_t t27_ = v_k;
    int64_t t28_ = v_n_samples;
    array2_i4 t29_ = {push(memory, t27_ * t28_ * sizeof(int32_t)), t27_, t28_};
    array2_f4 t30_ = t26_;
    array2_i4 t31_ = t29_;
    v_best = t30_;
    v_index = t31_;
    best_leaves_61(memory, v_logit, v_best, v_index);
    int64_t t32_ = v_n_samples;
    array1_f4 t33_ = {push(memory, t32_ * sizeof(float)), t32_};
    memset(t33_.p, 0, t33_.n0 * sizeof(float));
    v_total = t33_;
    int64_t t34_ = v_n_samples;
    for (int64_t t35_ = 0; t35_ < t34_; t35_ += 1) {
        v_b = t35_;
        v_total.p[v_b] = ((float)((((double)v_best.p[((int64_t)0ll) * v_best.n1 + v_b]) >= ((double)((int64_t)0ll))) ? ((double)((int64_t)0ll)) : ((double)NAN)));
    }
    int64_t t36_ = v_k;
    for (int64_t t37_ = 0; t37_ < t36_; t37_ += 1) {
        v_r = t37_;
        int64_t t38_ = v_n_samples;
        for (int64_t t39_ = 0; t39_ < t38_; t39_ += 1) {
            v_b = t39_;
            v_best.p[v_r * v_best.n1 + v_b] = exp_f4((v_best.p[v_r * v_best.n1 + v_b] * v_inverse));
            v_total.p[v_b] = (v_total.p[v_b] + v_best.p[v_r * v_best.n1 + v_b]);
        }
    }
    array2_f4 t40_ = v_share;
    float t41_ = ((float)((int64_t)0ll));
    for (int64_t t42_ = 0; t42_ < t40_.n0 * t40_.n1; t42_++) t40_.p[t42_] = t41_;
    int64_t t43_ = v_k;
    for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
        v_r = t44_;
        int64_t t45_ = v_n_samples;
        for (int64_t t46_ = 0; t46_ < t45_; t46_ += 1) {
            v_b = t46_;
            v_share.p[((int64_t)v_index.p[v_r * v_index.n1 + v_b]) * v_share.n1 + v_b] = (v_best.p[v_r * v_best.n1 + v_b] / v_total.p[v_b]);
        }
    }
    cut(memory, start);
}

static void share_all_63(stack *memory, array2_f4 v_logit, double v_temperature, array2_f4 v_share)
{
    int64_t v_b;
    float v_inverse;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    array1_f4 v_total;
    place start = top(memory); (void)start;
    int64_t t13_ = v_logit.n0;
    int64_t t14_ = v_logit.n1;
    v_n_leaves = t13_;
    v_n_samples = t14_;
    v_inverse = ((float)(((double)((int64_t)1ll)) / v_temperature));
    int64_t t15_ = v_n_samples;
    array1_f4 t16_ = {push(memory, t15_ * sizeof(float)), t15_};
    memset(t16_.p, 0, t16_.n0 * sizeof(float));
    v_total = t16_;
    int64_t t17_ = v_n_leaves;
    for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
        v_j = t18_;
        int64_t t19_ = v_n_samples;
        for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
            v_b = t20_;
            v_share.p[v_j * v_share.n1 + v_b] = exp_f4((v_logit.p[v_j * v_logit.n1 + v_b] * v_inverse));
            v_total.p[v_b] = (v_total.p[v_b] + v_share.p[v_j * v_share.n1 + v_b]);
        }
    }
    int64_t t21_ = v_n_leaves;
    for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
        v_j = t22_;
        int64_t t23_ = v_n_samples;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_b = t24_;
            v_share.p[v_j * v_share.n1 + v_b] = (v_share.p[v_j * v_share.n1 + v_b] / v_total.p[v_b]);
        }
    }
    cut(memory, start);
}

static array2_f4 combine_64(stack *memory, array2_f4 v_share, array2_f4 v_output, int64_t v_n_outputs)
{
    array1_f4 v_a;
    int64_t v_b;
    array1_f4 v_into;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    int64_t v_o;
    array2_f4 v_prediction;
    array1_f4 v_row;
    place start = top(memory); (void)start;
    int64_t t16_ = v_share.n0;
    int64_t t17_ = v_share.n1;
    v_n_leaves = t16_;
    v_n_samples = t17_;
    int64_t t18_ = v_n_outputs;
    int64_t t19_ = v_n_samples;
    array2_f4 t20_ = {push(memory, t18_ * t19_ * sizeof(float)), t18_, t19_};
    memset(t20_.p, 0, t20_.n0 * t20_.n1 * sizeof(float));
    v_prediction = t20_;
    int64_t t21_ = v_n_leaves;
    for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
        v_j = t22_;
        int64_t t23_ = v_n_outputs;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_o = t24_;
            array1_f4 t25_ = ((array1_f4){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f4 t26_ = ((array1_f4){v_share.p + v_j * v_share.n1, v_share.n1});
            array1_f4 t27_ = ((array1_f4){v_prediction.p + v_o * v_prediction.n1, v_prediction.n1});
            v_row = t25_;
            v_a = t26_;
            v_into = t27_;
            int64_t t28_ = v_n_samples;
            for (int64_t t29_ = 0; t29_ < t28_; t29_ += 1) {
                v_b = t29_;
                v_into.p[v_b] = (v_into.p[v_b] + (v_a.p[v_b] * v_row.p[v_b]));
            }
        }
    }
    array2_f4 t30_ = v_prediction;
    return t30_;
}

static double derive_65(stack *memory, array2_f4 v_prediction, array2_f4 v_y, array1_f4 v_weight, int64_t v_loss, double v_parameter)
{
    int64_t v_b;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    float v_per_output;
    double v_slope;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t12_ = v_prediction.n0;
    int64_t t13_ = v_prediction.n1;
    v_n_outputs = t12_;
    v_n_samples = t13_;
    double t14_ = ((double)0x0.0p+0);
    float t15_ = ((float)(((double)((int64_t)1ll)) / ((double)v_n_outputs)));
    v_total = t14_;
    v_per_output = t15_;
    int64_t t16_ = v_n_outputs;
    for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
        v_o = t17_;
        int64_t t18_ = v_n_samples;
        for (int64_t t19_ = 0; t19_ < t18_; t19_ += 1) {
            v_b = t19_;
            tuple_f8_f8 t20_ = loss_28(memory, v_prediction.p[v_o * v_prediction.n1 + v_b], v_y.p[v_b * v_y.n1 + v_o], v_loss, ((float)v_parameter));
            tuple_f8_f8 t21_ = t20_;
            v_value = t21_.item0;
            v_slope = t21_.item1;
            v_total = (v_total + ((((double)v_weight.p[v_b]) * v_value) * ((double)v_per_output)));
            v_prediction.p[v_o * v_prediction.n1 + v_b] = ((float)((((double)v_weight.p[v_b]) * v_slope) * ((double)v_per_output)));
        }
    }
    double t22_ = v_total;
    cut(memory, start);
    return t22_;
}

static void logit_gradients_66(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_slope, array2_f4 v_share, double v_temperature)
{
    int64_t v_b;
    array1_f4 v_g;
    float v_inverse;
    int64_t v_j;
    array1_f4 v_mean;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    array1_f4 v_row;
    array1_f4 v_z;
    place start = top(memory); (void)start;
    int64_t t23_ = v_logit.n0;
    int64_t t24_ = v_logit.n1;
    v_n_leaves = t23_;
    v_n_samples = t24_;
    v_n_outputs = v_slope.n0;
    int64_t t25_ = v_n_samples;
    array1_f4 t26_ = {push(memory, t25_ * sizeof(float)), t25_};
    memset(t26_.p, 0, t26_.n0 * sizeof(float));
    float t27_ = ((float)(((double)((int64_t)1ll)) / v_temperature));
    array1_f4 t28_ = t26_;
    v_inverse = t27_;
    v_mean = t28_;
    int64_t t29_ = v_n_leaves;
    for (int64_t t30_ = 0; t30_ < t29_; t30_ += 1) {
        v_j = t30_;
        v_z = ((array1_f4){v_logit.p + v_j * v_logit.n1, v_logit.n1});
        int64_t t31_ = v_n_samples;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_b = t32_;
            v_z.p[v_b] = ((float)((int64_t)0ll));
        }
        int64_t t33_ = v_n_outputs;
        for (int64_t t34_ = 0; t34_ < t33_; t34_ += 1) {
            v_o = t34_;
            array1_f4 t35_ = ((array1_f4){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f4 t36_ = ((array1_f4){v_slope.p + v_o * v_slope.n1, v_slope.n1});
            v_row = t35_;
            v_g = t36_;
            int64_t t37_ = v_n_samples;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_b = t38_;
                v_z.p[v_b] = (v_z.p[v_b] + (v_g.p[v_b] * v_row.p[v_b]));
            }
        }
        int64_t t39_ = v_n_samples;
        for (int64_t t40_ = 0; t40_ < t39_; t40_ += 1) {
            v_b = t40_;
            v_mean.p[v_b] = (v_mean.p[v_b] + (v_share.p[v_j * v_share.n1 + v_b] * v_z.p[v_b]));
        }
    }
    int64_t t41_ = v_n_leaves;
    for (int64_t t42_ = 0; t42_ < t41_; t42_ += 1) {
        v_j = t42_;
        int64_t t43_ = v_n_samples;
        for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
            v_b = t44_;
            v_logit.p[v_j * v_logit.n1 + v_b] = ((v_share.p[v_j * v_share.n1 + v_b] * (v_logit.p[v_j * v_logit.n1 + v_b] - v_mean.p[v_b])) * v_inverse);
        }
    }
    cut(memory, start);
}

static void output_gradients_67(stack *memory, array2_f4 v_output, array2_f4 v_slope, array2_f4 v_share)
{
    array1_f4 v_a;
    int64_t v_b;
    array1_f4 v_g;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    array1_f4 v_row;
    place start = top(memory); (void)start;
    int64_t t12_ = v_share.n0;
    int64_t t13_ = v_share.n1;
    v_n_leaves = t12_;
    v_n_samples = t13_;
    v_n_outputs = v_slope.n0;
    int64_t t14_ = v_n_leaves;
    for (int64_t t15_ = 0; t15_ < t14_; t15_ += 1) {
        v_j = t15_;
        int64_t t16_ = v_n_outputs;
        for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
            v_o = t17_;
            array1_f4 t18_ = ((array1_f4){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f4 t19_ = ((array1_f4){v_share.p + v_j * v_share.n1, v_share.n1});
            array1_f4 t20_ = ((array1_f4){v_slope.p + v_o * v_slope.n1, v_slope.n1});
            v_row = t18_;
            v_a = t19_;
            v_g = t20_;
            int64_t t21_ = v_n_samples;
            for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
                v_b = t22_;
                v_row.p[v_b] = (v_a.p[v_b] * v_g.p[v_b]);
            }
        }
    }
    cut(memory, start);
}

static double selected_loss_59(stack *memory, array2_f4 v_logit, array2_f4 v_output, array2_f4 v_y, array1_f4 v_weight, RegressionLoss_i8_i8_f8_i8_f8 v_loss)
{
    int64_t v_k;
    int64_t v_n_leaves;
    array2_f4 v_share;
    array2_f4 v_slope;
    array2_f4 v_soft;
    double v_temperature;
    double v_total;
    place start = top(memory); (void)start;
    int64_t t18_ = v_logit.n0;
    double t19_ = v_loss.temperature;
    v_n_leaves = t18_;
    v_temperature = t19_;
    if ((v_loss.selector == ((int64_t)2ll))) {
        double t20_ = augmented_loss_60(memory, v_logit, v_output, v_y, v_weight, v_loss.loss, v_loss.parameter);
        cut(memory, start);
        return t20_;
    }
    int64_t t21_ = v_logit.n0;
    int64_t t22_ = v_logit.n1;
    array2_f4 t23_ = {push(memory, t21_ * t22_ * sizeof(float)), t21_, t22_};
    int64_t t24_ = (v_n_leaves < v_loss.k ? v_n_leaves : v_loss.k);
    array2_f4 t25_ = t23_;
    v_k = t24_;
    v_share = t25_;
    if (((v_loss.selector == ((int64_t)1ll)) || (v_k == ((int64_t)1ll)))) {
        share_top_62(memory, v_logit, ((int64_t)1ll), v_temperature, v_share);
    } else {
        if ((v_k == v_n_leaves)) {
            share_all_63(memory, v_logit, v_temperature, v_share);
        } else {
            share_top_62(memory, v_logit, v_k, v_temperature, v_share);
        }
    }
    array2_f4 t26_ = combine_64(memory, v_share, v_output, v_y.n1);
    v_slope = t26_;
    v_total = derive_65(memory, v_slope, v_y, v_weight, v_loss.loss, v_loss.parameter);
    if ((v_loss.selector == ((int64_t)1ll))) {
        array2_f4 t27_ = v_share;
        int64_t t28_ = t27_.n0;
        int64_t t29_ = t27_.n1;
        array2_f4 t30_ = {push(memory, t28_ * t29_ * sizeof(float)), t28_, t29_};
        v_soft = t30_;
        share_all_63(memory, v_logit, v_temperature, v_soft);
        logit_gradients_66(memory, v_logit, v_output, v_slope, v_soft, v_temperature);
    } else {
        if ((v_k == ((int64_t)1ll))) {
            array2_f4 t31_ = v_logit;
            float t32_ = ((float)((int64_t)0ll));
            for (int64_t t33_ = 0; t33_ < t31_.n0 * t31_.n1; t33_++) t31_.p[t33_] = t32_;
        } else {
            logit_gradients_66(memory, v_logit, v_output, v_slope, v_share, v_temperature);
        }
    }
    output_gradients_67(memory, v_output, v_slope, v_share);
    double t34_ = v_total;
    cut(memory, start);
    return t34_;
}

static double regression_loss_54(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss)
{
    array2_f4 v__;
    Rows_array2_f4_array2_f4_array1_f4 v_batch;
    Rows_array2_f4_array2_f4_array1_f4 v_block;
    array2_f4 v_node;
    array2_f4 v_output;
    int64_t v_start;
    double v_total;
    place start = top(memory); (void)start;
    Rows_array2_f4_array2_f4_array1_f4 t21_ = new_batch_55(memory, v_rows, ((int64_t)256ll));
    double t22_ = ((double)0x0.0p+0);
    Rows_array2_f4_array2_f4_array1_f4 t23_ = t21_;
    v_total = t22_;
    v_batch = t23_;
    int64_t t24_ = ((int64_t)0ll);
    int64_t t25_ = v_rows.X.n0;
    int64_t t26_ = ((int64_t)256ll);
    for (int64_t t27_ = t24_; t27_ < t25_; t27_ += t26_) {
        place t39_ = top(memory);
        v_start = t27_;
        int64_t t28_ = v_start;
        int64_t t29_ = (v_start + ((int64_t)256ll));
        int64_t t30_ = (v_rows.X.n0 < t29_ ? v_rows.X.n0 : t29_);
        int64_t t31_ = t30_ - t28_;
        array1_i8 t32_ = {push(memory, t31_ * sizeof(int64_t)), t31_};
        for (int64_t t33_ = 0; t33_ < t32_.n0; t33_++) t32_.p[t33_] = t28_ + t33_;
        Rows_array2_f4_array2_f4_array1_f4 t34_ = gather_56(memory, v_rows, t32_, v_batch);
        v_block = t34_;
        tuple_array2_f4_array2_f4_array2_f4_array2_f4 t35_ = regression_forward_58(memory, v_block, v_children, v_splits, v_leaves);
        tuple_array2_f4_array2_f4_array2_f4_array2_f4 t36_ = t35_;
        v__ = t36_.item0;
        v_node = t36_.item1;
        v_output = t36_.item2;
        v__ = t36_.item3;
        array2_f4 t37_ = v_node;
        int64_t t38_ = v_splits.n0;
        v_total = (v_total + selected_loss_59(memory, ((array2_f4){t37_.p + t38_ * t37_.n1, t37_.n0 - t38_, t37_.n1}), v_output, v_block.y, v_block.weight, v_loss));
        cut(memory, t39_);
    }
    double t40_ = v_total;
    cut(memory, start);
    return t40_;
}

static Rows_array2_f8_array2_f8_array1_f8 new_batch_69(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, int64_t v_size)
{
    place start = top(memory); (void)start;
    v_size = (v_rows.X.n0 < v_size ? v_rows.X.n0 : v_size);
    int64_t t10_ = v_size;
    int64_t t11_ = (v_rows.X.n1 + ((int64_t)1ll));
    array2_f8 t12_ = {push(memory, t10_ * t11_ * sizeof(double)), t10_, t11_};
    int64_t t13_ = v_size;
    int64_t t14_ = v_rows.y.n1;
    array2_f8 t15_ = {push(memory, t13_ * t14_ * sizeof(double)), t13_, t14_};
    int64_t t16_ = v_size;
    array1_f8 t17_ = {push(memory, t16_ * sizeof(double)), t16_};
    Rows_array2_f8_array2_f8_array1_f8 t18_ = ((Rows_array2_f8_array2_f8_array1_f8){t12_, t15_, t17_});
    return t18_;
}

static void gather_71(stack *memory, array2_f8 v_source, array1_i8 v_index, array2_f8 v_into)
{
    int64_t v_o;
    int64_t v_r;
    place start = top(memory); (void)start;
    int64_t t5_ = v_index.n0;
    for (int64_t t6_ = 0; t6_ < t5_; t6_ += 1) {
        v_r = t6_;
        int64_t t7_ = v_source.n1;
        for (int64_t t8_ = 0; t8_ < t7_; t8_ += 1) {
            v_o = t8_;
            v_into.p[v_r * v_into.n1 + v_o] = v_source.p[v_index.p[v_r] * v_source.n1 + v_o];
        }
    }
    cut(memory, start);
}

static Rows_array2_f8_array2_f8_array1_f8 gather_70(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array1_i8 v_index, Rows_array2_f8_array2_f8_array1_f8 v_batch)
{
    Rows_array2_f8_array2_f8_array1_f8 v_filled;
    int64_t v_size;
    place start = top(memory); (void)start;
    v_size = v_index.n0;
    array2_f8 t8_ = v_batch.X;
    int64_t t9_ = 0;
    array2_f8 t10_ = v_batch.y;
    int64_t t11_ = 0;
    array1_f8 t12_ = v_batch.weight;
    int64_t t13_ = 0;
    v_filled = ((Rows_array2_f8_array2_f8_array1_f8){((array2_f8){t8_.p + t9_ * t8_.n1, least(v_size, t8_.n0) - t9_, t8_.n1}), ((array2_f8){t10_.p + t11_ * t10_.n1, least(v_size, t10_.n0) - t11_, t10_.n1}), ((array1_f8){t12_.p + t13_ * 1, least(v_size, t12_.n0) - t13_})});
    gather_features_22(memory, v_rows.X, v_index, v_filled.X);
    gather_71(memory, v_rows.y, v_index, v_filled.y);
    gather_47(memory, v_rows.weight, v_index, v_filled.weight);
    Rows_array2_f8_array2_f8_array1_f8 t14_ = v_filled;
    return t14_;
}

static tuple_array2_f8_array2_f8_array2_f8_array2_f8 regression_forward_72(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_batch, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves)
{
    array2_f8 v_design;
    int64_t v_n_samples;
    int64_t v_n_splits;
    array2_f8 v_node;
    array2_f8 v_output;
    array2_f8 v_scores;
    place start = top(memory); (void)start;
    int64_t t25_ = v_batch.X.n0;
    int64_t t26_ = v_splits.n0;
    v_n_samples = t25_;
    v_n_splits = t26_;
    int64_t t27_ = v_n_splits;
    int64_t t28_ = v_n_samples;
    array2_f8 t29_ = {push(memory, t27_ * t28_ * sizeof(double)), t27_, t28_};
    int64_t t30_ = v_leaves.n0;
    int64_t t31_ = v_n_samples;
    array2_f8 t32_ = {push(memory, t30_ * t31_ * sizeof(double)), t30_, t31_};
    array2_f8 t33_ = t29_;
    array2_f8 t34_ = t32_;
    v_scores = t33_;
    v_output = t34_;
    array2_f8 t35_ = v_splits;
    array2_f8 t36_ = v_batch.X;
    product_f8('t', 'n', t36_.n0, t35_.n0, t35_.n1, t36_.p, t36_.n1, t35_.p, t35_.n1, v_scores.p);
    (void)v_scores;
    int64_t t37_ = v_n_samples;
    int64_t t38_ = ((int64_t)1ll);
    array2_f8 t39_ = {push(memory, t37_ * t38_ * sizeof(double)), t37_, t38_};
    array2_f8 t40_ = t39_;
    double t41_ = ((double)1);
    for (int64_t t42_ = 0; t42_ < t40_.n0 * t40_.n1; t42_++) t40_.p[t42_] = t41_;
    v_design = ((v_leaves.n1 == v_batch.X.n1) ? v_batch.X : t39_);
    array2_f8 t43_ = v_leaves;
    array2_f8 t44_ = v_design;
    product_f8('t', 'n', t44_.n0, t43_.n0, t43_.n1, t44_.p, t44_.n1, t43_.p, t43_.n1, v_output.p);
    (void)v_output;
    int64_t t45_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    int64_t t46_ = v_n_samples;
    array2_f8 t47_ = {push(memory, t45_ * t46_ * sizeof(double)), t45_, t46_};
    v_node = t47_;
    leaf_logits_13(memory, v_scores, v_children, v_node);
    tuple_array2_f8_array2_f8_array2_f8_array2_f8 t48_ = ((tuple_array2_f8_array2_f8_array2_f8_array2_f8){v_scores, v_node, v_output, v_design});
    return t48_;
}

static void best_leaves_75(stack *memory, array2_f8 v_logit, array2_f8 v_best, array2_i4 v_index)
{
    int64_t v_b;
    array1_f8 v_carried;
    int64_t v_j;
    array1_i4 v_leaf;
    bool v_moves;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    int64_t v_r;
    int32_t v_ranked;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t28_ = v_logit.n0;
    int64_t t29_ = v_logit.n1;
    v_n_leaves = t28_;
    v_n_samples = t29_;
    array2_f8 t30_ = v_best;
    double t31_ = (-(double)INFINITY);
    for (int64_t t32_ = 0; t32_ < t30_.n0 * t30_.n1; t32_++) t30_.p[t32_] = t31_;
    array2_i4 t33_ = v_index;
    int32_t t34_ = ((int32_t)((int64_t)0ll));
    for (int64_t t35_ = 0; t35_ < t33_.n0 * t33_.n1; t35_++) t33_.p[t35_] = t34_;
    int64_t t36_ = v_n_samples;
    array1_f8 t37_ = {push(memory, t36_ * sizeof(double)), t36_};
    int64_t t38_ = v_n_samples;
    array1_i4 t39_ = {push(memory, t38_ * sizeof(int32_t)), t38_};
    array1_f8 t40_ = t37_;
    array1_i4 t41_ = t39_;
    v_carried = t40_;
    v_leaf = t41_;
    int64_t t42_ = (v_n_leaves - ((int64_t)1ll));
    int64_t t43_ = ((int64_t)-1ll);
    int64_t t44_ = ((int64_t)-1ll);
    for (int64_t t45_ = t42_; t45_ > t43_; t45_ += t44_) {
        v_j = t45_;
        int64_t t46_ = v_n_samples;
        for (int64_t t47_ = 0; t47_ < t46_; t47_ += 1) {
            v_b = t47_;
            v_carried.p[v_b] = v_logit.p[v_j * v_logit.n1 + v_b];
            v_leaf.p[v_b] = ((int32_t)v_j);
        }
        int64_t t48_ = (v_n_leaves - v_j);
        int64_t t49_ = (v_best.n0 < t48_ ? v_best.n0 : t48_);
        for (int64_t t50_ = 0; t50_ < t49_; t50_ += 1) {
            v_r = t50_;
            int64_t t51_ = v_n_samples;
            for (int64_t t52_ = 0; t52_ < t51_; t52_ += 1) {
                v_b = t52_;
                double t53_ = v_best.p[v_r * v_best.n1 + v_b];
                int32_t t54_ = v_index.p[v_r * v_index.n1 + v_b];
                v_value = t53_;
                v_ranked = t54_;
                v_moves = (v_carried.p[v_b] >= v_value);
                v_best.p[v_r * v_best.n1 + v_b] = (v_moves ? v_carried.p[v_b] : v_value);
                v_index.p[v_r * v_index.n1 + v_b] = (v_moves ? v_leaf.p[v_b] : v_ranked);
                v_carried.p[v_b] = (v_moves ? v_value : v_carried.p[v_b]);
                v_leaf.p[v_b] = (v_moves ? v_ranked : v_leaf.p[v_b]);
            }
        }
    }
    cut(memory, start);
}

static double augmented_loss_74(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_y, array1_f8 v_weight, int64_t v_loss, double v_parameter)
{
    int64_t v_b;
    array2_f8 v_best;
    double v_derivative;
    array2_i4 v_index;
    int64_t v_n_choices;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    double v_part;
    int64_t v_r;
    int64_t v_row;
    array2_f8 v_slope;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t35_ = v_logit.n0;
    int64_t t36_ = v_logit.n1;
    v_n_leaves = t35_;
    v_n_samples = t36_;
    int64_t t37_ = ((int64_t)2ll);
    int64_t t38_ = (v_n_leaves < t37_ ? v_n_leaves : t37_);
    int64_t t39_ = v_y.n1;
    v_n_choices = t38_;
    v_n_outputs = t39_;
    int64_t t40_ = v_n_choices;
    int64_t t41_ = v_n_samples;
    array2_f8 t42_ = {push(memory, t40_ * t41_ * sizeof(double)), t40_, t41_};
    int64_t t43_ = v_n_choices;
    int64_t t44_ = v_n_samples;
    array2_i4 t45_ = {push(memory, t43_ * t44_ * sizeof(int32_t)), t43_, t44_};
    array2_f8 t46_ = t42_;
    array2_i4 t47_ = t45_;
    v_best = t46_;
    v_index = t47_;
    best_leaves_75(memory, v_logit, v_best, v_index);
    int64_t t48_ = v_output.n0;
    int64_t t49_ = v_output.n1;
    array2_f8 t50_ = {push(memory, t48_ * t49_ * sizeof(double)), t48_, t49_};
    memset(t50_.p, 0, t50_.n0 * t50_.n1 * sizeof(double));
    v_slope = t50_;
    double t51_ = ((double)0x0.0p+0);
    double t52_ = ((double)(((double)((int64_t)1ll)) / ((double)(v_n_choices * v_n_outputs))));
    v_total = t51_;
    v_part = t52_;
    int64_t t53_ = v_n_choices;
    for (int64_t t54_ = 0; t54_ < t53_; t54_ += 1) {
        v_r = t54_;
        int64_t t55_ = v_n_samples;
        for (int64_t t56_ = 0; t56_ < t55_; t56_ += 1) {
            v_b = t56_;
            int64_t t57_ = v_n_outputs;
            for (int64_t t58_ = 0; t58_ < t57_; t58_ += 1) {
                v_o = t58_;
                v_row = ((((int64_t)v_index.p[v_r * v_index.n1 + v_b]) * v_n_outputs) + v_o);
                tuple_f8_f8 t59_ = loss_30(memory, v_output.p[v_row * v_output.n1 + v_b], v_y.p[v_b * v_y.n1 + v_o], v_loss, ((double)v_parameter));
                tuple_f8_f8 t60_ = t59_;
                v_value = t60_.item0;
                v_derivative = t60_.item1;
                v_total = (v_total + ((v_weight.p[v_b] * v_value) * v_part));
                v_slope.p[v_row * v_slope.n1 + v_b] = ((v_weight.p[v_b] * v_derivative) * v_part);
            }
        }
    }
    int64_t t61_ = v_output.n0;
    for (int64_t t62_ = 0; t62_ < t61_; t62_ += 1) {
        v_row = t62_;
        int64_t t63_ = v_n_samples;
        for (int64_t t64_ = 0; t64_ < t63_; t64_ += 1) {
            v_b = t64_;
            v_output.p[v_row * v_output.n1 + v_b] = v_slope.p[v_row * v_slope.n1 + v_b];
        }
    }
    array2_f8 t65_ = v_logit;
    double t66_ = ((double)((int64_t)0ll));
    for (int64_t t67_ = 0; t67_ < t65_.n0 * t65_.n1; t67_++) t65_.p[t67_] = t66_;
    double t68_ = v_total;
    cut(memory, start);
    return t68_;
}

static void share_top_76(stack *memory, array2_f8 v_logit, int64_t v_k, double v_temperature, array2_f8 v_share)
{
    int64_t v_b;
    array2_f8 v_best;
    array2_i4 v_index;
    double v_inverse;
    int64_t v_n_samples;
    int64_t v_r;
    array1_f8 v_total;
    place start = top(memory); (void)start;
    v_n_samples = v_logit.n1;
    v_inverse = ((double)(((double)((int64_t)1ll)) / v_temperature));
    int64_t t24_ = v_k;
    int64_t t25_ = v_n_samples;
    array2_f8 t26_ = {push(memory, t24_ * t25_ * sizeof(double)), t24_, t25_};
    int64_t t27_ = v_k;
    int64_t t28_ = v_n_samples;
    array2_i4 t29_ = {push(memory, t27_ * t28_ * sizeof(int32_t)), t27_, t28_};
    array2_f8 t30_ = t26_;
    array2_i4 t31_ = t29_;
    v_best = t30_;
    v_index = t31_;
    best_leaves_75(memory, v_logit, v_best, v_index);
    int64_t t32_ = v_n_samples;
    array1_f8 t33_ = {push(memory, t32_ * sizeof(double)), t32_};
    memset(t33_.p, 0, t33_.n0 * sizeof(double));
    v_total = t33_;
    int64_t t34_ = v_n_samples;
    for (int64_t t35_ = 0; t35_ < t34_; t35_ += 1) {
        v_b = t35_;
        v_total.p[v_b] = ((v_best.p[((int64_t)0ll) * v_best.n1 + v_b] >= ((double)((int64_t)0ll))) ? ((double)((int64_t)0ll)) : ((double)NAN));
    }
    int64_t t36_ = v_k;
    for (int64_t t37_ = 0; t37_ < t36_; t37_ += 1) {
        v_r = t37_;
        int64_t t38_ = v_n_samples;
        for (int64_t t39_ = 0; t39_ < t38_; t39_ += 1) {
            v_b = t39_;
            v_best.p[v_r * v_best.n1 + v_b] = exp_f8((v_best.p[v_r * v_best.n1 + v_b] * v_inverse));
            v_total.p[v_b] = (v_total.p[v_b] + v_best.p[v_r * v_best.n1 + v_b]);
        }
    }
    array2_f8 t40_ = v_share;
    double t41_ = ((double)((int64_t)0ll));
    for (int64_t t42_ = 0; t42_ < t40_.n0 * t40_.n1; t42_++) t40_.p[t42_] = t41_;
    int64_t t43_ = v_k;
    for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
        v_r = t44_;
        int64_t t45_ = v_n_samples;
        for (int64_t t46_ = 0; t46_ < t45_; t46_ += 1) {
            v_b = t46_;
            v_share.p[((int64_t)v_index.p[v_r * v_index.n1 + v_b]) * v_share.n1 + v_b] = (v_best.p[v_r * v_best.n1 + v_b] / v_total.p[v_b]);
        }
    }
    cut(memory, start);
}

static void share_all_77(stack *memory, array2_f8 v_logit, double v_temperature, array2_f8 v_share)
{
    int64_t v_b;
    double v_inverse;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    array1_f8 v_total;
    place start = top(memory); (void)start;
    int64_t t13_ = v_logit.n0;
    int64_t t14_ = v_logit.n1;
    v_n_leaves = t13_;
    v_n_samples = t14_;
    v_inverse = ((double)(((double)((int64_t)1ll)) / v_temperature));
    int64_t t15_ = v_n_samples;
    array1_f8 t16_ = {push(memory, t15_ * sizeof(double)), t15_};
    memset(t16_.p, 0, t16_.n0 * sizeof(double));
    v_total = t16_;
    int64_t t17_ = v_n_leaves;
    for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
        v_j = t18_;
        int64_t t19_ = v_n_samples;
        for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
            v_b = t20_;
            v_share.p[v_j * v_share.n1 + v_b] = exp_f8((v_logit.p[v_j * v_logit.n1 + v_b] * v_inverse));
            v_total.p[v_b] = (v_total.p[v_b] + v_share.p[v_j * v_share.n1 + v_b]);
        }
    }
    int64_t t21_ = v_n_leaves;
    for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
        v_j = t22_;
        int64_t t23_ = v_n_samples;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_b = t24_;
            v_share.p[v_j * v_share.n1 + v_b] = (v_share.p[v_j * v_share.n1 + v_b] / v_total.p[v_b]);
        }
    }
    cut(memory, start);
}

static array2_f8 combine_78(stack *memory, array2_f8 v_share, array2_f8 v_output, int64_t v_n_outputs)
{
    array1_f8 v_a;
    int64_t v_b;
    array1_f8 v_into;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_samples;
    int64_t v_o;
    array2_f8 v_prediction;
    array1_f8 v_row;
    place start = top(memory); (void)start;
    int64_t t16_ = v_share.n0;
    int64_t t17_ = v_share.n1;
    v_n_leaves = t16_;
    v_n_samples = t17_;
    int64_t t18_ = v_n_outputs;
    int64_t t19_ = v_n_samples;
    array2_f8 t20_ = {push(memory, t18_ * t19_ * sizeof(double)), t18_, t19_};
    memset(t20_.p, 0, t20_.n0 * t20_.n1 * sizeof(double));
    v_prediction = t20_;
    int64_t t21_ = v_n_leaves;
    for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
        v_j = t22_;
        int64_t t23_ = v_n_outputs;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_o = t24_;
            array1_f8 t25_ = ((array1_f8){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f8 t26_ = ((array1_f8){v_share.p + v_j * v_share.n1, v_share.n1});
            array1_f8 t27_ = ((array1_f8){v_prediction.p + v_o * v_prediction.n1, v_prediction.n1});
            v_row = t25_;
            v_a = t26_;
            v_into = t27_;
            int64_t t28_ = v_n_samples;
            for (int64_t t29_ = 0; t29_ < t28_; t29_ += 1) {
                v_b = t29_;
                v_into.p[v_b] = (v_into.p[v_b] + (v_a.p[v_b] * v_row.p[v_b]));
            }
        }
    }
    array2_f8 t30_ = v_prediction;
    return t30_;
}

static double derive_79(stack *memory, array2_f8 v_prediction, array2_f8 v_y, array1_f8 v_weight, int64_t v_loss, double v_parameter)
{
    int64_t v_b;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    double v_per_output;
    double v_slope;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    int64_t t12_ = v_prediction.n0;
    int64_t t13_ = v_prediction.n1;
    v_n_outputs = t12_;
    v_n_samples = t13_;
    double t14_ = ((double)0x0.0p+0);
    double t15_ = ((double)(((double)((int64_t)1ll)) / ((double)v_n_outputs)));
    v_total = t14_;
    v_per_output = t15_;
    int64_t t16_ = v_n_outputs;
    for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
        v_o = t17_;
        int64_t t18_ = v_n_samples;
        for (int64_t t19_ = 0; t19_ < t18_; t19_ += 1) {
            v_b = t19_;
            tuple_f8_f8 t20_ = loss_30(memory, v_prediction.p[v_o * v_prediction.n1 + v_b], v_y.p[v_b * v_y.n1 + v_o], v_loss, ((double)v_parameter));
            tuple_f8_f8 t21_ = t20_;
            v_value = t21_.item0;
            v_slope = t21_.item1;
            v_total = (v_total + ((v_weight.p[v_b] * v_value) * v_per_output));
            v_prediction.p[v_o * v_prediction.n1 + v_b] = ((v_weight.p[v_b] * v_slope) * v_per_output);
        }
    }
    double t22_ = v_total;
    cut(memory, start);
    return t22_;
}

static void logit_gradients_80(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_slope, array2_f8 v_share, double v_temperature)
{
    int64_t v_b;
    array1_f8 v_g;
    double v_inverse;
    int64_t v_j;
    array1_f8 v_mean;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    array1_f8 v_row;
    array1_f8 v_z;
    place start = top(memory); (void)start;
    int64_t t23_ = v_logit.n0;
    int64_t t24_ = v_logit.n1;
    v_n_leaves = t23_;
    v_n_samples = t24_;
    v_n_outputs = v_slope.n0;
    int64_t t25_ = v_n_samples;
    array1_f8 t26_ = {push(memory, t25_ * sizeof(double)), t25_};
    memset(t26_.p, 0, t26_.n0 * sizeof(double));
    double t27_ = ((double)(((double)((int64_t)1ll)) / v_temperature));
    array1_f8 t28_ = t26_;
    v_inverse = t27_;
    v_mean = t28_;
    int64_t t29_ = v_n_leaves;
    for (int64_t t30_ = 0; t30_ < t29_; t30_ += 1) {
        v_j = t30_;
        v_z = ((array1_f8){v_logit.p + v_j * v_logit.n1, v_logit.n1});
        int64_t t31_ = v_n_samples;
        for (int64_t t32_ = 0; t32_ < t31_; t32_ += 1) {
            v_b = t32_;
            v_z.p[v_b] = ((double)((int64_t)0ll));
        }
        int64_t t33_ = v_n_outputs;
        for (int64_t t34_ = 0; t34_ < t33_; t34_ += 1) {
            v_o = t34_;
            array1_f8 t35_ = ((array1_f8){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f8 t36_ = ((array1_f8){v_slope.p + v_o * v_slope.n1, v_slope.n1});
            v_row = t35_;
            v_g = t36_;
            int64_t t37_ = v_n_samples;
            for (int64_t t38_ = 0; t38_ < t37_; t38_ += 1) {
                v_b = t38_;
                v_z.p[v_b] = (v_z.p[v_b] + (v_g.p[v_b] * v_row.p[v_b]));
            }
        }
        int64_t t39_ = v_n_samples;
        for (int64_t t40_ = 0; t40_ < t39_; t40_ += 1) {
            v_b = t40_;
            v_mean.p[v_b] = (v_mean.p[v_b] + (v_share.p[v_j * v_share.n1 + v_b] * v_z.p[v_b]));
        }
    }
    int64_t t41_ = v_n_leaves;
    for (int64_t t42_ = 0; t42_ < t41_; t42_ += 1) {
        v_j = t42_;
        int64_t t43_ = v_n_samples;
        for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
            v_b = t44_;
            v_logit.p[v_j * v_logit.n1 + v_b] = ((v_share.p[v_j * v_share.n1 + v_b] * (v_logit.p[v_j * v_logit.n1 + v_b] - v_mean.p[v_b])) * v_inverse);
        }
    }
    cut(memory, start);
}

static void output_gradients_81(stack *memory, array2_f8 v_output, array2_f8 v_slope, array2_f8 v_share)
{
    array1_f8 v_a;
    int64_t v_b;
    array1_f8 v_g;
    int64_t v_j;
    int64_t v_n_leaves;
    int64_t v_n_outputs;
    int64_t v_n_samples;
    int64_t v_o;
    array1_f8 v_row;
    place start = top(memory); (void)start;
    int64_t t12_ = v_share.n0;
    int64_t t13_ = v_share.n1;
    v_n_leaves = t12_;
    v_n_samples = t13_;
    v_n_outputs = v_slope.n0;
    int64_t t14_ = v_n_leaves;
    for (int64_t t15_ = 0; t15_ < t14_; t15_ += 1) {
        v_j = t15_;
        int64_t t16_ = v_n_outputs;
        for (int64_t t17_ = 0; t17_ < t16_; t17_ += 1) {
            v_o = t17_;
            array1_f8 t18_ = ((array1_f8){v_output.p + ((v_j * v_n_outputs) + v_o) * v_output.n1, v_output.n1});
            array1_f8 t19_ = ((array1_f8){v_share.p + v_j * v_share.n1, v_share.n1});
            array1_f8 t20_ = ((array1_f8){v_slope.p + v_o * v_slope.n1, v_slope.n1});
            v_row = t18_;
            v_a = t19_;
            v_g = t20_;
            int64_t t21_ = v_n_samples;
            for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
                v_b = t22_;
                v_row.p[v_b] = (v_a.p[v_b] * v_g.p[v_b]);
            }
        }
    }
    cut(memory, start);
}

static double selected_loss_73(stack *memory, array2_f8 v_logit, array2_f8 v_output, array2_f8 v_y, array1_f8 v_weight, RegressionLoss_i8_i8_f8_i8_f8 v_loss)
{
    int64_t v_k;
    int64_t v_n_leaves;
    array2_f8 v_share;
    array2_f8 v_slope;
    array2_f8 v_soft;
    double v_temperature;
    double v_total;
    place start = top(memory); (void)start;
    int64_t t18_ = v_logit.n0;
    double t19_ = v_loss.temperature;
    v_n_leaves = t18_;
    v_temperature = t19_;
    if ((v_loss.selector == ((int64_t)2ll))) {
        double t20_ = augmented_loss_74(memory, v_logit, v_output, v_y, v_weight, v_loss.loss, v_loss.parameter);
        cut(memory, start);
        return t20_;
    }
    int64_t t21_ = v_logit.n0;
    int64_t t22_ = v_logit.n1;
    array2_f8 t23_ = {push(memory, t21_ * t22_ * sizeof(double)), t21_, t22_};
    int64_t t24_ = (v_n_leaves < v_loss.k ? v_n_leaves : v_loss.k);
    array2_f8 t25_ = t23_;
    v_k = t24_;
    v_share = t25_;
    if (((v_loss.selector == ((int64_t)1ll)) || (v_k == ((int64_t)1ll)))) {
        share_top_76(memory, v_logit, ((int64_t)1ll), v_temperature, v_share);
    } else {
        if ((v_k == v_n_leaves)) {
            share_all_77(memory, v_logit, v_temperature, v_share);
        } else {
            share_top_76(memory, v_logit, v_k, v_temperature, v_share);
        }
    }
    array2_f8 t26_ = combine_78(memory, v_share, v_output, v_y.n1);
    v_slope = t26_;
    v_total = derive_79(memory, v_slope, v_y, v_weight, v_loss.loss, v_loss.parameter);
    if ((v_loss.selector == ((int64_t)1ll))) {
        array2_f8 t27_ = v_share;
        int64_t t28_ = t27_.n0;
        int64_t t29_ = t27_.n1;
        array2_f8 t30_ = {push(memory, t28_ * t29_ * sizeof(double)), t28_, t29_};
        v_soft = t30_;
        share_all_77(memory, v_logit, v_temperature, v_soft);
        logit_gradients_80(memory, v_logit, v_output, v_slope, v_soft, v_temperature);
    } else {
        if ((v_k == ((int64_t)1ll))) {
            array2_f8 t31_ = v_logit;
            double t32_ = ((double)((int64_t)0ll));
            for (int64_t t33_ = 0; t33_ < t31_.n0 * t31_.n1; t33_++) t31_.p[t33_] = t32_;
        } else {
            logit_gradients_80(memory, v_logit, v_output, v_slope, v_share, v_temperature);
        }
    }
    output_gradients_81(memory, v_output, v_slope, v_share);
    double t34_ = v_total;
    cut(memory, start);
    return t34_;
}

static double regression_loss_68(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss)
{
    array2_f8 v__;
    Rows_array2_f8_array2_f8_array1_f8 v_batch;
    Rows_array2_f8_array2_f8_array1_f8 v_block;
    array2_f8 v_node;
    array2_f8 v_output;
    int64_t v_start;
    double v_total;
    place start = top(memory); (void)start;
    Rows_array2_f8_array2_f8_array1_f8 t21_ = new_batch_69(memory, v_rows, ((int64_t)256ll));
    double t22_ = ((double)0x0.0p+0);
    Rows_array2_f8_array2_f8_array1_f8 t23_ = t21_;
    v_total = t22_;
    v_batch = t23_;
    int64_t t24_ = ((int64_t)0ll);
    int64_t t25_ = v_rows.X.n0;
    int64_t t26_ = ((int64_t)256ll);
    for (int64_t t27_ = t24_; t27_ < t25_; t27_ += t26_) {
        place t39_ = top(memory);
        v_start = t27_;
        int64_t t28_ = v_start;
        int64_t t29_ = (v_start + ((int64_t)256ll));
        int64_t t30_ = (v_rows.X.n0 < t29_ ? v_rows.X.n0 : t29_);
        int64_t t31_ = t30_ - t28_;
        array1_i8 t32_ = {push(memory, t31_ * sizeof(int64_t)), t31_};
        for (int64_t t33_ = 0; t33_ < t32_.n0; t33_++) t32_.p[t33_] = t28_ + t33_;
        Rows_array2_f8_array2_f8_array1_f8 t34_ = gather_70(memory, v_rows, t32_, v_batch);
        v_block = t34_;
        tuple_array2_f8_array2_f8_array2_f8_array2_f8 t35_ = regression_forward_72(memory, v_block, v_children, v_splits, v_leaves);
        tuple_array2_f8_array2_f8_array2_f8_array2_f8 t36_ = t35_;
        v__ = t36_.item0;
        v_node = t36_.item1;
        v_output = t36_.item2;
        v__ = t36_.item3;
        array2_f8 t37_ = v_node;
        int64_t t38_ = v_splits.n0;
        v_total = (v_total + selected_loss_73(memory, ((array2_f8){t37_.p + t38_ * t37_.n1, t37_.n0 - t38_, t37_.n1}), v_output, v_block.y, v_block.weight, v_loss));
        cut(memory, t39_);
    }
    double t40_ = v_total;
    cut(memory, start);
    return t40_;
}

static tuple_array1_i8_i8 parents_84(stack *memory, array2_i8 v_children)
{
    array1_i8 v_above;
    int64_t v_i;
    int64_t v_left;
    array1_i8 v_level;
    int64_t v_n_splits;
    int64_t v_right;
    place start = top(memory); (void)start;
    v_n_splits = v_children.n0;
    int64_t t15_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    array1_i8 t16_ = {push(memory, t15_ * sizeof(int64_t)), t15_};
    memset(t16_.p, 0, t16_.n0 * sizeof(int64_t));
    int64_t t17_ = ((((int64_t)2ll) * v_n_splits) + ((int64_t)1ll));
    array1_i8 t18_ = {push(memory, t17_ * sizeof(int64_t)), t17_};
    memset(t18_.p, 0, t18_.n0 * sizeof(int64_t));
    array1_i8 t19_ = t16_;
    array1_i8 t20_ = t18_;
    v_above = t19_;
    v_level = t20_;
    int64_t t21_ = v_n_splits;
    for (int64_t t22_ = 0; t22_ < t21_; t22_ += 1) {
        v_i = t22_;
        int64_t t23_ = child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)0ll)], v_n_splits);
        int64_t t24_ = child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)1ll)], v_n_splits);
        v_left = t23_;
        v_right = t24_;
        int64_t t25_ = (~v_i);
        int64_t t26_ = v_i;
        v_above.p[v_left] = t25_;
        v_above.p[v_right] = t26_;
        int64_t t27_ = (v_level.p[v_i] + ((int64_t)1ll));
        v_level.p[v_left] = t27_;
        v_level.p[v_right] = t27_;
    }
    tuple_array1_i8_i8 t28_ = ((tuple_array1_i8_i8){v_above, largest_i8(v_level.p, v_level.n0)});
    return t28_;
}

static void path_gradients_85(stack *memory, array2_f4 v_scores, array1_i8 v_above, int64_t v_depth, array2_f4 v_slope, array2_i4 v_chosen, array2_f4 v_batch, array2_f4 v_gradient)
{
    int64_t v_b;
    int64_t v_c;
    float v_g;
    int64_t v_i;
    int64_t v_j;
    int64_t v_k;
    int64_t v_n_samples;
    int64_t v_n_splits;
    int64_t v_n_violated;
    array1_f4 v_pull;
    int64_t v_row;
    array1_i8 v_violated;
    float v_zero;
    place start = top(memory); (void)start;
    int64_t t25_ = v_scores.n0;
    int64_t t26_ = v_scores.n1;
    v_n_splits = t25_;
    v_n_samples = t26_;
    v_zero = ((float)((int64_t)0ll));
    int64_t t27_ = (v_slope.n0 * v_depth);
    array1_i8 t28_ = {push(memory, t27_ * sizeof(int64_t)), t27_};
    int64_t t29_ = (v_slope.n0 * v_depth);
    array1_f4 t30_ = {push(memory, t29_ * sizeof(float)), t29_};
    array1_i8 t31_ = t28_;
    array1_f4 t32_ = t30_;
    v_violated = t31_;
    v_pull = t32_;
    array2_f4 t33_ = v_gradient;
    float t34_ = v_zero;
    for (int64_t t35_ = 0; t35_ < t33_.n0 * t33_.n1; t35_++) t33_.p[t35_] = t34_;
    int64_t t36_ = v_n_samples;
    for (int64_t t37_ = 0; t37_ < t36_; t37_ += 1) {
        v_b = t37_;
        v_n_violated = ((int64_t)0ll);
        int64_t t38_ = v_slope.n0;
        for (int64_t t39_ = 0; t39_ < t38_; t39_ += 1) {
            v_c = t39_;
            int64_t t40_ = ((((int64_t)v_chosen.p[v_c * v_chosen.n1 + v_b]) >= ((int64_t)0ll)) ? (v_n_splits + ((int64_t)v_chosen.p[v_c * v_chosen.n1 + v_b])) : ((int64_t)0ll));
            float t41_ = v_slope.p[v_c * v_slope.n1 + v_b];
            v_row = t40_;
            v_g = t41_;
            while ((v_row > ((int64_t)0ll))) {
                v_i = v_above.p[v_row];
                int64_t t42_ = (~v_i);
                v_row = (t42_ > v_i ? t42_ : v_i);
                v_violated.p[v_n_violated] = v_row;
                v_pull.p[v_n_violated] = ((v_i >= ((int64_t)0ll)) ? v_g : (-v_g));
                v_n_violated = (v_n_violated + ((int64_t)((v_i >= ((int64_t)0ll)) ? (v_scores.p[v_row * v_scores.n1 + v_b] < v_zero) : (v_scores.p[v_row * v_scores.n1 + v_b] > v_zero))));
            }
        }
        int64_t t43_ = v_n_violated;
        for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
            v_k = t44_;
            int64_t t45_ = v_violated.p[v_k];
            float t46_ = v_pull.p[v_k];
            v_i = t45_;
            v_g = t46_;
            int64_t t47_ = v_batch.n1;
            for (int64_t t48_ = 0; t48_ < t47_; t48_ += 1) {
                v_j = t48_;
                v_gradient.p[v_i * v_gradient.n1 + v_j] = (v_gradient.p[v_i * v_gradient.n1 + v_j] + (v_g * v_batch.p[v_b * v_batch.n1 + v_j]));
            }
        }
    }
    cut(memory, start);
}

static void give_87(stack *memory, array1_f4 v_z, array1_f4 v_gradient, array1_i4 v_best, int32_t v_leaf)
{
    int64_t v_b;
    float v_zero;
    place start = top(memory); (void)start;
    v_zero = ((float)((int64_t)0ll));
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_z.p[v_b] = ((((int64_t)v_best.p[v_b]) == ((int64_t)v_leaf)) ? v_gradient.p[v_b] : v_zero);
    }
    cut(memory, start);
}

static void give_to_chosen_86(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_gradient, array2_i4 v_chosen)
{
    int64_t v_j;
    place start = top(memory); (void)start;
    int64_t t3_ = v_logit.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_j = t4_;
        give_87(memory, ((array1_f4){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((array1_f4){v_gradient.p + v_leaf_class.p[v_j] * v_gradient.n1, v_gradient.n1}), ((array1_i4){v_chosen.p + v_leaf_class.p[v_j] * v_chosen.n1, v_chosen.n1}), ((int32_t)v_j));
    }
    cut(memory, start);
}

static void spread_over_leaves_88(stack *memory, array2_f4 v_logit, array1_i8 v_leaf_class, array2_f4 v_gradient, array2_f4 v_exp_sum)
{
    int64_t v_b;
    int64_t v_c;
    array1_f4 v_g;
    int64_t v_j;
    int64_t v_n_classes;
    int64_t v_n_samples;
    float v_tiny;
    array1_f4 v_z;
    place start = top(memory); (void)start;
    int64_t t13_ = v_gradient.n0;
    int64_t t14_ = v_gradient.n1;
    v_n_classes = t13_;
    v_n_samples = t14_;
    v_tiny = ((float)((double)0x1.4484bfeebc2a0p-100));
    int64_t t15_ = v_n_classes;
    for (int64_t t16_ = 0; t16_ < t15_; t16_ += 1) {
        v_c = t16_;
        int64_t t17_ = v_n_samples;
        for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
            v_b = t18_;
            v_gradient.p[v_c * v_gradient.n1 + v_b] = (v_gradient.p[v_c * v_gradient.n1 + v_b] / (v_tiny > v_exp_sum.p[v_c * v_exp_sum.n1 + v_b] ? v_tiny : v_exp_sum.p[v_c * v_exp_sum.n1 + v_b]));
        }
    }
    int64_t t19_ = v_logit.n0;
    for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
        v_j = t20_;
        array1_f4 t21_ = ((array1_f4){v_logit.p + v_j * v_logit.n1, v_logit.n1});
        array1_f4 t22_ = ((array1_f4){v_gradient.p + v_leaf_class.p[v_j] * v_gradient.n1, v_gradient.n1});
        v_z = t21_;
        v_g = t22_;
        int64_t t23_ = v_n_samples;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_b = t24_;
            v_z.p[v_b] = (v_z.p[v_b] * v_g.p[v_b]);
        }
    }
    cut(memory, start);
}

static void pass_up_90(stack *memory, array1_f4 v_above, array1_f4 v_score, array1_f4 v_left, array1_f4 v_right)
{
    int64_t v_b;
    float v_below_left;
    float v_below_right;
    float v_s;
    float v_zero;
    place start = top(memory); (void)start;
    v_zero = ((float)((int64_t)0ll));
    int64_t t6_ = v_score.n0;
    for (int64_t t7_ = 0; t7_ < t6_; t7_ += 1) {
        v_b = t7_;
        float t8_ = v_left.p[v_b];
        float t9_ = v_right.p[v_b];
        float t10_ = v_score.p[v_b];
        v_below_left = t8_;
        v_below_right = t9_;
        v_s = t10_;
        v_above.p[v_b] = (v_below_left + v_below_right);
        v_score.p[v_b] = (((v_s < v_zero) ? v_below_right : v_zero) - ((v_s > v_zero) ? v_below_left : v_zero));
    }
    cut(memory, start);
}

static void split_gradients_89(stack *memory, array2_f4 v_scores, array2_i8 v_children, array2_f4 v_node)
{
    int64_t v_i;
    array1_f4 v_left;
    int64_t v_n_splits;
    array1_f4 v_right;
    place start = top(memory); (void)start;
    v_n_splits = v_scores.n0;
    int64_t t7_ = (v_n_splits - ((int64_t)1ll));
    int64_t t8_ = ((int64_t)-1ll);
    int64_t t9_ = ((int64_t)-1ll);
    for (int64_t t10_ = t7_; t10_ > t8_; t10_ += t9_) {
        v_i = t10_;
        array1_f4 t11_ = ((array1_f4){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)0ll)], v_n_splits) * v_node.n1, v_node.n1});
        array1_f4 t12_ = ((array1_f4){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)1ll)], v_n_splits) * v_node.n1, v_node.n1});
        v_left = t11_;
        v_right = t12_;
        pass_up_90(memory, ((array1_f4){v_node.p + v_i * v_node.n1, v_node.n1}), ((array1_f4){v_scores.p + v_i * v_scores.n1, v_scores.n1}), v_left, v_right);
    }
    cut(memory, start);
}

static double classification_gradients_83(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f4 v_splits, ClassLoss_i8_f8_f8 v_loss, array2_f4 v_gradient)
{
    array1_i8 v_above;
    array2_i4 v_chosen;
    int64_t v_depth;
    array2_f4 v_exp_sum;
    float v_mean;
    int64_t v_n_splits;
    array2_f4 v_node;
    array2_f4 v_pooled;
    int64_t v_product_cost;
    array2_f4 v_scores;
    int64_t v_step_cost;
    double v_total;
    place start = top(memory); (void)start;
    tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 t21_ = forward_36(memory, v_batch, v_children, v_leaf_class, v_splits, v_loss);
    tuple_f8_array2_f4_array2_f4_array2_f4_array2_f4_array2_i4 t22_ = t21_;
    v_total = t22_.item0;
    v_scores = t22_.item1;
    v_node = t22_.item2;
    v_pooled = t22_.item3;
    v_exp_sum = t22_.item4;
    v_chosen = t22_.item5;
    int64_t t23_ = v_splits.n0;
    float t24_ = ((float)v_batch.X.n0);
    v_n_splits = t23_;
    v_mean = t24_;
    if ((v_loss.temperature == ((double)((int64_t)0ll)))) {
        int64_t t25_ = (((int64_t)250ll) * v_loss.n_classes);
        int64_t t26_ = (v_n_splits * v_splits.n1);
        v_step_cost = t25_;
        v_product_cost = t26_;
        if ((v_step_cost < v_product_cost)) {
            tuple_array1_i8_i8 t27_ = parents_84(memory, v_children);
            tuple_array1_i8_i8 t28_ = t27_;
            v_above = t28_.item0;
            v_depth = t28_.item1;
            if (((v_step_cost * v_depth) < v_product_cost)) {
                float t29_ = v_mean;
                for (int64_t t30_ = 0; t30_ < v_pooled.n0 * v_pooled.n1; t30_++) v_pooled.p[t30_] = (v_pooled.p[t30_] / t29_);
                path_gradients_85(memory, v_scores, v_above, v_depth, v_pooled, v_chosen, v_batch.X, v_gradient);
                double t31_ = v_total;
                cut(memory, start);
                return t31_;
            }
        }
        array2_f4 t32_ = v_node;
        int64_t t33_ = v_n_splits;
        give_to_chosen_86(memory, ((array2_f4){t32_.p + t33_ * t32_.n1, t32_.n0 - t33_, t32_.n1}), v_leaf_class, v_pooled, v_chosen);
    } else {
        array2_f4 t34_ = v_node;
        int64_t t35_ = v_n_splits;
        spread_over_leaves_88(memory, ((array2_f4){t34_.p + t35_ * t34_.n1, t34_.n0 - t35_, t34_.n1}), v_leaf_class, v_pooled, v_exp_sum);
    }
    split_gradients_89(memory, v_scores, v_children, v_node);
    float t36_ = v_mean;
    for (int64_t t37_ = 0; t37_ < v_scores.n0 * v_scores.n1; t37_++) v_scores.p[t37_] = (v_scores.p[t37_] / t36_);
    array2_f4 t38_ = v_scores;
    array2_f4 t39_ = v_batch.X;
    product_f4('n', 'n', t39_.n1, t38_.n0, t38_.n1, t39_.p, t39_.n1, t38_.p, t38_.n1, v_gradient.p);
    (void)v_gradient;
    double t40_ = v_total;
    cut(memory, start);
    return t40_;
}

static double squared_norm_92(stack *memory, array2_f4 v_gradient)
{
    float v_g;
    array1_f4 v_row;
    double v_total;
    place start = top(memory); (void)start;
    v_total = ((double)0x0.0p+0);
    array2_f4 t6_ = v_gradient;
    for (int64_t t7_ = 0; t7_ < t6_.n0; t7_++) {
        v_row = ((array1_f4){t6_.p + t7_ * t6_.n1, t6_.n1});
        array1_f4 t8_ = v_row;
        for (int64_t t9_ = 0; t9_ < t8_.n0; t9_++) {
            v_g = t8_.p[t9_];
            v_total = (v_total + (((double)v_g) * ((double)v_g)));
        }
    }
    double t10_ = v_total;
    cut(memory, start);
    return t10_;
}

static double clip_scale_91(stack *memory, tuple_array2_f4 v_gradients, double v_limit)
{
    array2_f4 v_gradient;
    double v_total;
    place start = top(memory); (void)start;
    if ((v_limit <= ((double)((int64_t)0ll)))) {
        double t5_ = ((double)0x1.0000000000000p+0);
        cut(memory, start);
        return t5_;
    }
    v_total = ((double)0x0.0p+0);
    v_gradient = v_gradients.item0;
    v_total = (v_total + squared_norm_92(memory, v_gradient));
    double t6_ = ((double)0x1.0000000000000p+0);
    double t7_ = (v_limit / (sqrt(v_total) + ((double)0x1.0c6f7a0b5ed8dp-20)));
    double t8_ = (t7_ < t6_ ? t7_ : t6_);
    cut(memory, start);
    return t8_;
}

static void adam_93(stack *memory, Moments_array2_f4_array2_f4_array2_f4 v_parameter, array2_f4 v_gradient, int64_t v_n_steps, double v_rate, double v_decay, double v_l1, double v_scale)
{
    float v_beta1;
    float v_beta2;
    double v_correction;
    float v_epsilon;
    float v_factor;
    array2_f4 v_first;
    array1_f4 v_g;
    int64_t v_i;
    int64_t v_j;
    float v_keep;
    float v_lasso;
    array1_f4 v_m;
    int64_t v_n_columns;
    int64_t v_n_rows;
    array1_f4 v_p;
    float v_rest1;
    float v_rest2;
    array2_f4 v_second;
    float v_sign;
    float v_slope;
    float v_step;
    array1_f4 v_v;
    array2_f4 v_value;
    float v_zero;
    place start = top(memory); (void)start;
    array2_f4 t24_ = v_parameter.value;
    array2_f4 t25_ = v_parameter.first;
    array2_f4 t26_ = v_parameter.second;
    v_value = t24_;
    v_first = t25_;
    v_second = t26_;
    v_correction = sqrt((((double)((int64_t)1ll)) - whole_power(((double)0x1.ff7ced916872bp-1), v_n_steps)));
    float t27_ = ((float)((v_rate * v_correction) / (((double)((int64_t)1ll)) - whole_power(((double)0x1.ccccccccccccdp-1), v_n_steps))));
    float t28_ = ((float)(((double)0x1.5798ee2308c3ap-27) * v_correction));
    v_step = t27_;
    v_epsilon = t28_;
    float t29_ = ((float)((double)0x1.ccccccccccccdp-1));
    float t30_ = ((float)((double)0x1.9999999999998p-4));
    float t31_ = ((float)((double)0x1.ff7ced916872bp-1));
    float t32_ = ((float)((double)0x1.0624dd2f1aa00p-10));
    v_beta1 = t29_;
    v_rest1 = t30_;
    v_beta2 = t31_;
    v_rest2 = t32_;
    float t33_ = ((float)(((double)((int64_t)1ll)) - (v_rate * v_decay)));
    float t34_ = ((float)v_scale);
    float t35_ = ((float)v_l1);
    float t36_ = ((float)((int64_t)0ll));
    v_keep = t33_;
    v_factor = t34_;
    v_lasso = t35_;
    v_zero = t36_;
    int64_t t37_ = v_value.n0;
    int64_t t38_ = v_value.n1;
    v_n_rows = t37_;
    v_n_columns = t38_;
    int64_t t39_ = v_n_rows;
    for (int64_t t40_ = 0; t40_ < t39_; t40_ += 1) {
        v_i = t40_;
        array1_f4 t41_ = ((array1_f4){v_value.p + v_i * v_value.n1, v_value.n1});
        array1_f4 t42_ = ((array1_f4){v_gradient.p + v_i * v_gradient.n1, v_gradient.n1});
        array1_f4 t43_ = ((array1_f4){v_first.p + v_i * v_first.n1, v_first.n1});
        array1_f4 t44_ = ((array1_f4){v_second.p + v_i * v_second.n1, v_second.n1});
        v_p = t41_;
        v_g = t42_;
        v_m = t43_;
        v_v = t44_;
        int64_t t45_ = v_n_columns;
        for (int64_t t46_ = 0; t46_ < t45_; t46_ += 1) {
            v_j = t46_;
            v_sign = (((v_p.p[v_j] > v_zero) ? v_lasso : v_zero) - ((v_p.p[v_j] < v_zero) ? v_lasso : v_zero));
            v_slope = ((v_g.p[v_j] * v_factor) + v_sign);
            v_m.p[v_j] = ((v_beta1 * v_m.p[v_j]) + (v_rest1 * v_slope));
            v_v.p[v_j] = ((v_beta2 * v_v.p[v_j]) + ((v_rest2 * v_slope) * v_slope));
            v_p.p[v_j] = ((v_p.p[v_j] * v_keep) - ((v_step * v_m.p[v_j]) / (sqrtf(v_v.p[v_j]) + v_epsilon)));
        }
    }
    cut(memory, start);
}

static tuple_f8_i8 classification_epoch_82(stack *memory, Rows_array2_f4_array1_i8_array1_f4 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, array1_i8 v_leaf_class, Moments_array2_f4_array2_f4_array2_f4 v_splits, array2_i1 v_allowed, int64_t v_n_steps, ClassLoss_i8_f8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates)
{
    Rows_array2_f4_array1_i8_array1_f4 v_batch;
    Rows_array2_f4_array1_i8_array1_f4 v_buffer;
    array2_f4 v_gradient;
    double v_scale;
    int64_t v_start;
    int64_t v_taken;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    Rows_array2_f4_array1_i8_array1_f4 t18_ = new_batch_32(memory, v_rows, v_batch_size);
    array2_f4 t19_ = v_splits.value;
    int64_t t20_ = t19_.n0;
    int64_t t21_ = t19_.n1;
    array2_f4 t22_ = {push(memory, t20_ * t21_ * sizeof(float)), t20_, t21_};
    Rows_array2_f4_array1_i8_array1_f4 t23_ = t18_;
    array2_f4 t24_ = t22_;
    v_buffer = t23_;
    v_gradient = t24_;
    double t25_ = ((double)0x0.0p+0);
    int64_t t26_ = ((int64_t)0ll);
    v_total = t25_;
    v_taken = t26_;
    int64_t t27_ = ((int64_t)0ll);
    int64_t t28_ = v_order.n0;
    int64_t t29_ = v_batch_size;
    for (int64_t t30_ = t27_; t30_ < t28_; t30_ += t29_) {
        v_start = t30_;
        array1_i8 t31_ = v_order;
        int64_t t32_ = v_start;
        Rows_array2_f4_array1_i8_array1_f4 t33_ = gather_33(memory, v_rows, ((array1_i8){t31_.p + t32_ * 1, least((v_start + v_batch_size), t31_.n0) - t32_}), v_buffer);
        v_batch = t33_;
        v_value = classification_gradients_83(memory, v_batch, v_children, v_leaf_class, v_splits.value, v_loss, v_gradient);
        v_total = (v_total + v_value);
        if ((!is_finite_f8(v_value))) {
            break;
        }
        v_taken = (v_taken + ((int64_t)1ll));
        v_scale = clip_scale_91(memory, ((tuple_array2_f4){v_gradient}), v_rates.clip);
        adam_93(memory, v_splits, v_gradient, (v_n_steps + v_taken), v_rates.splits, v_rates.weight_decay, v_rates.l1, v_scale);
        hold_25(memory, v_splits.value, v_allowed);
    }
    tuple_f8_i8 t34_ = ((tuple_f8_i8){v_total, v_taken});
    cut(memory, start);
    return t34_;
}

static void path_gradients_96(stack *memory, array2_f8 v_scores, array1_i8 v_above, int64_t v_depth, array2_f8 v_slope, array2_i4 v_chosen, array2_f8 v_batch, array2_f8 v_gradient)
{
    int64_t v_b;
    int64_t v_c;
    double v_g;
    int64_t v_i;
    int64_t v_j;
    int64_t v_k;
    int64_t v_n_samples;
    int64_t v_n_splits;
    int64_t v_n_violated;
    array1_f8 v_pull;
    int64_t v_row;
    array1_i8 v_violated;
    double v_zero;
    place start = top(memory); (void)start;
    int64_t t25_ = v_scores.n0;
    int64_t t26_ = v_scores.n1;
    v_n_splits = t25_;
    v_n_samples = t26_;
    v_zero = ((double)((int64_t)0ll));
    int64_t t27_ = (v_slope.n0 * v_depth);
    array1_i8 t28_ = {push(memory, t27_ * sizeof(int64_t)), t27_};
    int64_t t29_ = (v_slope.n0 * v_depth);
    array1_f8 t30_ = {push(memory, t29_ * sizeof(double)), t29_};
    array1_i8 t31_ = t28_;
    array1_f8 t32_ = t30_;
    v_violated = t31_;
    v_pull = t32_;
    array2_f8 t33_ = v_gradient;
    double t34_ = v_zero;
    for (int64_t t35_ = 0; t35_ < t33_.n0 * t33_.n1; t35_++) t33_.p[t35_] = t34_;
    int64_t t36_ = v_n_samples;
    for (int64_t t37_ = 0; t37_ < t36_; t37_ += 1) {
        v_b = t37_;
        v_n_violated = ((int64_t)0ll);
        int64_t t38_ = v_slope.n0;
        for (int64_t t39_ = 0; t39_ < t38_; t39_ += 1) {
            v_c = t39_;
            int64_t t40_ = ((((int64_t)v_chosen.p[v_c * v_chosen.n1 + v_b]) >= ((int64_t)0ll)) ? (v_n_splits + ((int64_t)v_chosen.p[v_c * v_chosen.n1 + v_b])) : ((int64_t)0ll));
            double t41_ = v_slope.p[v_c * v_slope.n1 + v_b];
            v_row = t40_;
            v_g = t41_;
            while ((v_row > ((int64_t)0ll))) {
                v_i = v_above.p[v_row];
                int64_t t42_ = (~v_i);
                v_row = (t42_ > v_i ? t42_ : v_i);
                v_violated.p[v_n_violated] = v_row;
                v_pull.p[v_n_violated] = ((v_i >= ((int64_t)0ll)) ? v_g : (-v_g));
                v_n_violated = (v_n_violated + ((int64_t)((v_i >= ((int64_t)0ll)) ? (v_scores.p[v_row * v_scores.n1 + v_b] < v_zero) : (v_scores.p[v_row * v_scores.n1 + v_b] > v_zero))));
            }
        }
        int64_t t43_ = v_n_violated;
        for (int64_t t44_ = 0; t44_ < t43_; t44_ += 1) {
            v_k = t44_;
            int64_t t45_ = v_violated.p[v_k];
            double t46_ = v_pull.p[v_k];
            v_i = t45_;
            v_g = t46_;
            int64_t t47_ = v_batch.n1;
            for (int64_t t48_ = 0; t48_ < t47_; t48_ += 1) {
                v_j = t48_;
                v_gradient.p[v_i * v_gradient.n1 + v_j] = (v_gradient.p[v_i * v_gradient.n1 + v_j] + (v_g * v_batch.p[v_b * v_batch.n1 + v_j]));
            }
        }
    }
    cut(memory, start);
}

static void give_98(stack *memory, array1_f8 v_z, array1_f8 v_gradient, array1_i4 v_best, int32_t v_leaf)
{
    int64_t v_b;
    double v_zero;
    place start = top(memory); (void)start;
    v_zero = ((double)((int64_t)0ll));
    int64_t t3_ = v_z.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_b = t4_;
        v_z.p[v_b] = ((((int64_t)v_best.p[v_b]) == ((int64_t)v_leaf)) ? v_gradient.p[v_b] : v_zero);
    }
    cut(memory, start);
}

static void give_to_chosen_97(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_gradient, array2_i4 v_chosen)
{
    int64_t v_j;
    place start = top(memory); (void)start;
    int64_t t3_ = v_logit.n0;
    for (int64_t t4_ = 0; t4_ < t3_; t4_ += 1) {
        v_j = t4_;
        give_98(memory, ((array1_f8){v_logit.p + v_j * v_logit.n1, v_logit.n1}), ((array1_f8){v_gradient.p + v_leaf_class.p[v_j] * v_gradient.n1, v_gradient.n1}), ((array1_i4){v_chosen.p + v_leaf_class.p[v_j] * v_chosen.n1, v_chosen.n1}), ((int32_t)v_j));
    }
    cut(memory, start);
}

static void spread_over_leaves_99(stack *memory, array2_f8 v_logit, array1_i8 v_leaf_class, array2_f8 v_gradient, array2_f8 v_exp_sum)
{
    int64_t v_b;
    int64_t v_c;
    array1_f8 v_g;
    int64_t v_j;
    int64_t v_n_classes;
    int64_t v_n_samples;
    double v_tiny;
    array1_f8 v_z;
    place start = top(memory); (void)start;
    int64_t t13_ = v_gradient.n0;
    int64_t t14_ = v_gradient.n1;
    v_n_classes = t13_;
    v_n_samples = t14_;
    v_tiny = ((double)((double)0x1.4484bfeebc2a0p-100));
    int64_t t15_ = v_n_classes;
    for (int64_t t16_ = 0; t16_ < t15_; t16_ += 1) {
        v_c = t16_;
        int64_t t17_ = v_n_samples;
        for (int64_t t18_ = 0; t18_ < t17_; t18_ += 1) {
            v_b = t18_;
            v_gradient.p[v_c * v_gradient.n1 + v_b] = (v_gradient.p[v_c * v_gradient.n1 + v_b] / (v_tiny > v_exp_sum.p[v_c * v_exp_sum.n1 + v_b] ? v_tiny : v_exp_sum.p[v_c * v_exp_sum.n1 + v_b]));
        }
    }
    int64_t t19_ = v_logit.n0;
    for (int64_t t20_ = 0; t20_ < t19_; t20_ += 1) {
        v_j = t20_;
        array1_f8 t21_ = ((array1_f8){v_logit.p + v_j * v_logit.n1, v_logit.n1});
        array1_f8 t22_ = ((array1_f8){v_gradient.p + v_leaf_class.p[v_j] * v_gradient.n1, v_gradient.n1});
        v_z = t21_;
        v_g = t22_;
        int64_t t23_ = v_n_samples;
        for (int64_t t24_ = 0; t24_ < t23_; t24_ += 1) {
            v_b = t24_;
            v_z.p[v_b] = (v_z.p[v_b] * v_g.p[v_b]);
        }
    }
    cut(memory, start);
}

static void pass_up_101(stack *memory, array1_f8 v_above, array1_f8 v_score, array1_f8 v_left, array1_f8 v_right)
{
    int64_t v_b;
    double v_below_left;
    double v_below_right;
    double v_s;
    double v_zero;
    place start = top(memory); (void)start;
    v_zero = ((double)((int64_t)0ll));
    int64_t t6_ = v_score.n0;
    for (int64_t t7_ = 0; t7_ < t6_; t7_ += 1) {
        v_b = t7_;
        double t8_ = v_left.p[v_b];
        double t9_ = v_right.p[v_b];
        double t10_ = v_score.p[v_b];
        v_below_left = t8_;
        v_below_right = t9_;
        v_s = t10_;
        v_above.p[v_b] = (v_below_left + v_below_right);
        v_score.p[v_b] = (((v_s < v_zero) ? v_below_right : v_zero) - ((v_s > v_zero) ? v_below_left : v_zero));
    }
    cut(memory, start);
}

static void split_gradients_100(stack *memory, array2_f8 v_scores, array2_i8 v_children, array2_f8 v_node)
{
    int64_t v_i;
    array1_f8 v_left;
    int64_t v_n_splits;
    array1_f8 v_right;
    place start = top(memory); (void)start;
    v_n_splits = v_scores.n0;
    int64_t t7_ = (v_n_splits - ((int64_t)1ll));
    int64_t t8_ = ((int64_t)-1ll);
    int64_t t9_ = ((int64_t)-1ll);
    for (int64_t t10_ = t7_; t10_ > t8_; t10_ += t9_) {
        v_i = t10_;
        array1_f8 t11_ = ((array1_f8){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)0ll)], v_n_splits) * v_node.n1, v_node.n1});
        array1_f8 t12_ = ((array1_f8){v_node.p + child_row_14(memory, v_children.p[v_i * v_children.n1 + ((int64_t)1ll)], v_n_splits) * v_node.n1, v_node.n1});
        v_left = t11_;
        v_right = t12_;
        pass_up_101(memory, ((array1_f8){v_node.p + v_i * v_node.n1, v_node.n1}), ((array1_f8){v_scores.p + v_i * v_scores.n1, v_scores.n1}), v_left, v_right);
    }
    cut(memory, start);
}

static double classification_gradients_95(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_batch, array2_i8 v_children, array1_i8 v_leaf_class, array2_f8 v_splits, ClassLoss_i8_f8_f8 v_loss, array2_f8 v_gradient)
{
    array1_i8 v_above;
    array2_i4 v_chosen;
    int64_t v_depth;
    array2_f8 v_exp_sum;
    double v_mean;
    int64_t v_n_splits;
    array2_f8 v_node;
    array2_f8 v_pooled;
    int64_t v_product_cost;
    array2_f8 v_scores;
    int64_t v_step_cost;
    double v_total;
    place start = top(memory); (void)start;
    tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 t21_ = forward_48(memory, v_batch, v_children, v_leaf_class, v_splits, v_loss);
    tuple_f8_array2_f8_array2_f8_array2_f8_array2_f8_array2_i4 t22_ = t21_;
    v_total = t22_.item0;
    v_scores = t22_.item1;
    v_node = t22_.item2;
    v_pooled = t22_.item3;
    v_exp_sum = t22_.item4;
    v_chosen = t22_.item5;
    int64_t t23_ = v_splits.n0;
    double t24_ = ((double)v_batch.X.n0);
    v_n_splits = t23_;
    v_mean = t24_;
    if ((v_loss.temperature == ((double)((int64_t)0ll)))) {
        int64_t t25_ = (((int64_t)250ll) * v_loss.n_classes);
        int64_t t26_ = (v_n_splits * v_splits.n1);
        v_step_cost = t25_;
        v_product_cost = t26_;
        if ((v_step_cost < v_product_cost)) {
            tuple_array1_i8_i8 t27_ = parents_84(memory, v_children);
            tuple_array1_i8_i8 t28_ = t27_;
            v_above = t28_.item0;
            v_depth = t28_.item1;
            if (((v_step_cost * v_depth) < v_product_cost)) {
                double t29_ = v_mean;
                for (int64_t t30_ = 0; t30_ < v_pooled.n0 * v_pooled.n1; t30_++) v_pooled.p[t30_] = (v_pooled.p[t30_] / t29_);
                path_gradients_96(memory, v_scores, v_above, v_depth, v_pooled, v_chosen, v_batch.X, v_gradient);
                double t31_ = v_total;
                cut(memory, start);
                return t31_;
            }
        }
        array2_f8 t32_ = v_node;
        int64_t t33_ = v_n_splits;
        give_to_chosen_97(memory, ((array2_f8){t32_.p + t33_ * t32_.n1, t32_.n0 - t33_, t32_.n1}), v_leaf_class, v_pooled, v_chosen);
    } else {
        array2_f8 t34_ = v_node;
        int64_t t35_ = v_n_splits;
        spread_over_leaves_99(memory, ((array2_f8){t34_.p + t35_ * t34_.n1, t34_.n0 - t35_, t34_.n1}), v_leaf_class, v_pooled, v_exp_sum);
    }
    split_gradients_100(memory, v_scores, v_children, v_node);
    double t36_ = v_mean;
    for (int64_t t37_ = 0; t37_ < v_scores.n0 * v_scores.n1; t37_++) v_scores.p[t37_] = (v_scores.p[t37_] / t36_);
    array2_f8 t38_ = v_scores;
    array2_f8 t39_ = v_batch.X;
    product_f8('n', 'n', t39_.n1, t38_.n0, t38_.n1, t39_.p, t39_.n1, t38_.p, t38_.n1, v_gradient.p);
    (void)v_gradient;
    double t40_ = v_total;
    cut(memory, start);
    return t40_;
}

static double squared_norm_103(stack *memory, array2_f8 v_gradient)
{
    double v_g;
    array1_f8 v_row;
    double v_total;
    place start = top(memory); (void)start;
    v_total = ((double)0x0.0p+0);
    array2_f8 t6_ = v_gradient;
    for (int64_t t7_ = 0; t7_ < t6_.n0; t7_++) {
        v_row = ((array1_f8){t6_.p + t7_ * t6_.n1, t6_.n1});
        array1_f8 t8_ = v_row;
        for (int64_t t9_ = 0; t9_ < t8_.n0; t9_++) {
            v_g = t8_.p[t9_];
            v_total = (v_total + (v_g * v_g));
        }
    }
    double t10_ = v_total;
    cut(memory, start);
    return t10_;
}

static double clip_scale_102(stack *memory, tuple_array2_f8 v_gradients, double v_limit)
{
    array2_f8 v_gradient;
    double v_total;
    place start = top(memory); (void)start;
    if ((v_limit <= ((double)((int64_t)0ll)))) {
        double t5_ = ((double)0x1.0000000000000p+0);
        cut(memory, start);
        return t5_;
    }
    v_total = ((double)0x0.0p+0);
    v_gradient = v_gradients.item0;
    v_total = (v_total + squared_norm_103(memory, v_gradient));
    double t6_ = ((double)0x1.0000000000000p+0);
    double t7_ = (v_limit / (sqrt(v_total) + ((double)0x1.0c6f7a0b5ed8dp-20)));
    double t8_ = (t7_ < t6_ ? t7_ : t6_);
    cut(memory, start);
    return t8_;
}

static void adam_104(stack *memory, Moments_array2_f8_array2_f8_array2_f8 v_parameter, array2_f8 v_gradient, int64_t v_n_steps, double v_rate, double v_decay, double v_l1, double v_scale)
{
    double v_beta1;
    double v_beta2;
    double v_correction;
    double v_epsilon;
    double v_factor;
    array2_f8 v_first;
    array1_f8 v_g;
    int64_t v_i;
    int64_t v_j;
    double v_keep;
    double v_lasso;
    array1_f8 v_m;
    int64_t v_n_columns;
    int64_t v_n_rows;
    array1_f8 v_p;
    double v_rest1;
    double v_rest2;
    array2_f8 v_second;
    double v_sign;
    double v_slope;
    double v_step;
    array1_f8 v_v;
    array2_f8 v_value;
    double v_zero;
    place start = top(memory); (void)start;
    array2_f8 t24_ = v_parameter.value;
    array2_f8 t25_ = v_parameter.first;
    array2_f8 t26_ = v_parameter.second;
    v_value = t24_;
    v_first = t25_;
    v_second = t26_;
    v_correction = sqrt((((double)((int64_t)1ll)) - whole_power(((double)0x1.ff7ced916872bp-1), v_n_steps)));
    double t27_ = ((double)((v_rate * v_correction) / (((double)((int64_t)1ll)) - whole_power(((double)0x1.ccccccccccccdp-1), v_n_steps))));
    double t28_ = ((double)(((double)0x1.5798ee2308c3ap-27) * v_correction));
    v_step = t27_;
    v_epsilon = t28_;
    double t29_ = ((double)((double)0x1.ccccccccccccdp-1));
    double t30_ = ((double)((double)0x1.9999999999998p-4));
    double t31_ = ((double)((double)0x1.ff7ced916872bp-1));
    double t32_ = ((double)((double)0x1.0624dd2f1aa00p-10));
    v_beta1 = t29_;
    v_rest1 = t30_;
    v_beta2 = t31_;
    v_rest2 = t32_;
    double t33_ = ((double)(((double)((int64_t)1ll)) - (v_rate * v_decay)));
    double t34_ = ((double)v_scale);
    double t35_ = ((double)v_l1);
    double t36_ = ((double)((int64_t)0ll));
    v_keep = t33_;
    v_factor = t34_;
    v_lasso = t35_;
    v_zero = t36_;
    int64_t t37_ = v_value.n0;
    int64_t t38_ = v_value.n1;
    v_n_rows = t37_;
    v_n_columns = t38_;
    int64_t t39_ = v_n_rows;
    for (int64_t t40_ = 0; t40_ < t39_; t40_ += 1) {
        v_i = t40_;
        array1_f8 t41_ = ((array1_f8){v_value.p + v_i * v_value.n1, v_value.n1});
        array1_f8 t42_ = ((array1_f8){v_gradient.p + v_i * v_gradient.n1, v_gradient.n1});
        array1_f8 t43_ = ((array1_f8){v_first.p + v_i * v_first.n1, v_first.n1});
        array1_f8 t44_ = ((array1_f8){v_second.p + v_i * v_second.n1, v_second.n1});
        v_p = t41_;
        v_g = t42_;
        v_m = t43_;
        v_v = t44_;
        int64_t t45_ = v_n_columns;
        for (int64_t t46_ = 0; t46_ < t45_; t46_ += 1) {
            v_j = t46_;
            v_sign = (((v_p.p[v_j] > v_zero) ? v_lasso : v_zero) - ((v_p.p[v_j] < v_zero) ? v_lasso : v_zero));
            v_slope = ((v_g.p[v_j] * v_factor) + v_sign);
            v_m.p[v_j] = ((v_beta1 * v_m.p[v_j]) + (v_rest1 * v_slope));
            v_v.p[v_j] = ((v_beta2 * v_v.p[v_j]) + ((v_rest2 * v_slope) * v_slope));
            v_p.p[v_j] = ((v_p.p[v_j] * v_keep) - ((v_step * v_m.p[v_j]) / (sqrt(v_v.p[v_j]) + v_epsilon)));
        }
    }
    cut(memory, start);
}

static tuple_f8_i8 classification_epoch_94(stack *memory, Rows_array2_f8_array1_i8_array1_f8 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, array1_i8 v_leaf_class, Moments_array2_f8_array2_f8_array2_f8 v_splits, array2_i1 v_allowed, int64_t v_n_steps, ClassLoss_i8_f8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates)
{
    Rows_array2_f8_array1_i8_array1_f8 v_batch;
    Rows_array2_f8_array1_i8_array1_f8 v_buffer;
    array2_f8 v_gradient;
    double v_scale;
    int64_t v_start;
    int64_t v_taken;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    Rows_array2_f8_array1_i8_array1_f8 t18_ = new_batch_45(memory, v_rows, v_batch_size);
    array2_f8 t19_ = v_splits.value;
    int64_t t20_ = t19_.n0;
    int64_t t21_ = t19_.n1;
    array2_f8 t22_ = {push(memory, t20_ * t21_ * sizeof(double)), t20_, t21_};
    Rows_array2_f8_array1_i8_array1_f8 t23_ = t18_;
    array2_f8 t24_ = t22_;
    v_buffer = t23_;
    v_gradient = t24_;
    double t25_ = ((double)0x0.0p+0);
    int64_t t26_ = ((int64_t)0ll);
    v_total = t25_;
    v_taken = t26_;
    int64_t t27_ = ((int64_t)0ll);
    int64_t t28_ = v_order.n0;
    int64_t t29_ = v_batch_size;
    for (int64_t t30_ = t27_; t30_ < t28_; t30_ += t29_) {
        v_start = t30_;
        array1_i8 t31_ = v_order;
        int64_t t32_ = v_start;
        Rows_array2_f8_array1_i8_array1_f8 t33_ = gather_46(memory, v_rows, ((array1_i8){t31_.p + t32_ * 1, least((v_start + v_batch_size), t31_.n0) - t32_}), v_buffer);
        v_batch = t33_;
        v_value = classification_gradients_95(memory, v_batch, v_children, v_leaf_class, v_splits.value, v_loss, v_gradient);
        v_total = (v_total + v_value);
        if ((!is_finite_f8(v_value))) {
            break;
        }
        v_taken = (v_taken + ((int64_t)1ll));
        v_scale = clip_scale_102(memory, ((tuple_array2_f8){v_gradient}), v_rates.clip);
        adam_104(memory, v_splits, v_gradient, (v_n_steps + v_taken), v_rates.splits, v_rates.weight_decay, v_rates.l1, v_scale);
        hold_26(memory, v_splits.value, v_allowed);
    }
    tuple_f8_i8 t34_ = ((tuple_f8_i8){v_total, v_taken});
    cut(memory, start);
    return t34_;
}

static double regression_gradients_106(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_batch, array2_i8 v_children, array2_f4 v_splits, array2_f4 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss, array2_f4 v_split_gradient, array2_f4 v_leaf_gradient)
{
    array2_f4 v_design;
    float v_mean;
    array2_f4 v_node;
    array2_f4 v_output;
    array2_f4 v_scores;
    double v_total;
    place start = top(memory); (void)start;
    tuple_array2_f4_array2_f4_array2_f4_array2_f4 t17_ = regression_forward_58(memory, v_batch, v_children, v_splits, v_leaves);
    tuple_array2_f4_array2_f4_array2_f4_array2_f4 t18_ = t17_;
    v_scores = t18_.item0;
    v_node = t18_.item1;
    v_output = t18_.item2;
    v_design = t18_.item3;
    array2_f4 t19_ = v_node;
    int64_t t20_ = v_splits.n0;
    v_total = selected_loss_59(memory, ((array2_f4){t19_.p + t20_ * t19_.n1, t19_.n0 - t20_, t19_.n1}), v_output, v_batch.y, v_batch.weight, v_loss);
    v_mean = ((float)v_batch.X.n0);
    float t21_ = v_mean;
    for (int64_t t22_ = 0; t22_ < v_output.n0 * v_output.n1; t22_++) v_output.p[t22_] = (v_output.p[t22_] / t21_);
    array2_f4 t23_ = v_output;
    array2_f4 t24_ = v_design;
    product_f4('n', 'n', t24_.n1, t23_.n0, t23_.n1, t24_.p, t24_.n1, t23_.p, t23_.n1, v_leaf_gradient.p);
    (void)v_leaf_gradient;
    if (((v_loss.selector == ((int64_t)1ll)) || ((v_loss.selector != ((int64_t)2ll)) && (v_loss.k > ((int64_t)1ll))))) {
        split_gradients_89(memory, v_scores, v_children, v_node);
        float t25_ = v_mean;
        for (int64_t t26_ = 0; t26_ < v_scores.n0 * v_scores.n1; t26_++) v_scores.p[t26_] = (v_scores.p[t26_] / t25_);
        array2_f4 t27_ = v_scores;
        array2_f4 t28_ = v_batch.X;
        product_f4('n', 'n', t28_.n1, t27_.n0, t27_.n1, t28_.p, t28_.n1, t27_.p, t27_.n1, v_split_gradient.p);
        (void)v_split_gradient;
    } else {
        array2_f4 t29_ = v_split_gradient;
        float t30_ = ((float)((int64_t)0ll));
        for (int64_t t31_ = 0; t31_ < t29_.n0 * t29_.n1; t31_++) t29_.p[t31_] = t30_;
    }
    double t32_ = v_total;
    cut(memory, start);
    return t32_;
}

static double clip_scale_107(stack *memory, tuple_array2_f4_array2_f4 v_gradients, double v_limit)
{
    array2_f4 v_gradient;
    double v_total;
    place start = top(memory); (void)start;
    if ((v_limit <= ((double)((int64_t)0ll)))) {
        double t5_ = ((double)0x1.0000000000000p+0);
        cut(memory, start);
        return t5_;
    }
    v_total = ((double)0x0.0p+0);
    v_gradient = v_gradients.item0;
    v_total = (v_total + squared_norm_92(memory, v_gradient));
    v_gradient = v_gradients.item1;
    v_total = (v_total + squared_norm_92(memory, v_gradient));
    double t6_ = ((double)0x1.0000000000000p+0);
    double t7_ = (v_limit / (sqrt(v_total) + ((double)0x1.0c6f7a0b5ed8dp-20)));
    double t8_ = (t7_ < t6_ ? t7_ : t6_);
    cut(memory, start);
    return t8_;
}

static tuple_f8_i8 regression_epoch_105(stack *memory, Rows_array2_f4_array2_f4_array1_f4 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, Moments_array2_f4_array2_f4_array2_f4 v_splits, Moments_array2_f4_array2_f4_array2_f4 v_leaves, array2_i1 v_allowed, array2_i1 v_allowed_in_leaves, int64_t v_n_steps, RegressionLoss_i8_i8_f8_i8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates)
{
    Rows_array2_f4_array2_f4_array1_f4 v_batch;
    Rows_array2_f4_array2_f4_array1_f4 v_buffer;
    array2_f4 v_leaf_gradient;
    double v_scale;
    array2_f4 v_split_gradient;
    int64_t v_start;
    int64_t v_taken;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    Rows_array2_f4_array2_f4_array1_f4 t22_ = new_batch_55(memory, v_rows, v_batch_size);
    v_buffer = t22_;
    array2_f4 t23_ = v_splits.value;
    int64_t t24_ = t23_.n0;
    int64_t t25_ = t23_.n1;
    array2_f4 t26_ = {push(memory, t24_ * t25_ * sizeof(float)), t24_, t25_};
    array2_f4 t27_ = v_leaves.value;
    int64_t t28_ = t27_.n0;
    int64_t t29_ = t27_.n1;
    array2_f4 t30_ = {push(memory, t28_ * t29_ * sizeof(float)), t28_, t29_};
    array2_f4 t31_ = t26_;
    array2_f4 t32_ = t30_;
    v_split_gradient = t31_;
    v_leaf_gradient = t32_;
    double t33_ = ((double)0x0.0p+0);
    int64_t t34_ = ((int64_t)0ll);
    v_total = t33_;
    v_taken = t34_;
    int64_t t35_ = ((int64_t)0ll);
    int64_t t36_ = v_order.n0;
    int64_t t37_ = v_batch_size;
    for (int64_t t38_ = t35_; t38_ < t36_; t38_ += t37_) {
        v_start = t38_;
        array1_i8 t39_ = v_order;
        int64_t t40_ = v_start;
        Rows_array2_f4_array2_f4_array1_f4 t41_ = gather_56(memory, v_rows, ((array1_i8){t39_.p + t40_ * 1, least((v_start + v_batch_size), t39_.n0) - t40_}), v_buffer);
        v_batch = t41_;
        v_value = regression_gradients_106(memory, v_batch, v_children, v_splits.value, v_leaves.value, v_loss, v_split_gradient, v_leaf_gradient);
        v_total = (v_total + v_value);
        if ((!is_finite_f8(v_value))) {
            break;
        }
        v_taken = (v_taken + ((int64_t)1ll));
        v_scale = clip_scale_107(memory, ((tuple_array2_f4_array2_f4){v_split_gradient, v_leaf_gradient}), v_rates.clip);
        if ((v_rates.splits > ((double)((int64_t)0ll)))) {
            adam_93(memory, v_splits, v_split_gradient, (v_n_steps + v_taken), v_rates.splits, v_rates.weight_decay, v_rates.l1, v_scale);
            hold_25(memory, v_splits.value, v_allowed);
        }
        if ((v_rates.leaves > ((double)((int64_t)0ll)))) {
            adam_93(memory, v_leaves, v_leaf_gradient, (v_n_steps + v_taken), v_rates.leaves, ((double)0x0.0p+0), ((double)0x0.0p+0), v_scale);
            hold_25(memory, v_leaves.value, v_allowed_in_leaves);
        }
    }
    tuple_f8_i8 t42_ = ((tuple_f8_i8){v_total, v_taken});
    cut(memory, start);
    return t42_;
}

static double regression_gradients_109(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_batch, array2_i8 v_children, array2_f8 v_splits, array2_f8 v_leaves, RegressionLoss_i8_i8_f8_i8_f8 v_loss, array2_f8 v_split_gradient, array2_f8 v_leaf_gradient)
{
    array2_f8 v_design;
    double v_mean;
    array2_f8 v_node;
    array2_f8 v_output;
    array2_f8 v_scores;
    double v_total;
    place start = top(memory); (void)start;
    tuple_array2_f8_array2_f8_array2_f8_array2_f8 t17_ = regression_forward_72(memory, v_batch, v_children, v_splits, v_leaves);
    tuple_array2_f8_array2_f8_array2_f8_array2_f8 t18_ = t17_;
    v_scores = t18_.item0;
    v_node = t18_.item1;
    v_output = t18_.item2;
    v_design = t18_.item3;
    array2_f8 t19_ = v_node;
    int64_t t20_ = v_splits.n0;
    v_total = selected_loss_73(memory, ((array2_f8){t19_.p + t20_ * t19_.n1, t19_.n0 - t20_, t19_.n1}), v_output, v_batch.y, v_batch.weight, v_loss);
    v_mean = ((double)v_batch.X.n0);
    double t21_ = v_mean;
    for (int64_t t22_ = 0; t22_ < v_output.n0 * v_output.n1; t22_++) v_output.p[t22_] = (v_output.p[t22_] / t21_);
    array2_f8 t23_ = v_output;
    array2_f8 t24_ = v_design;
    product_f8('n', 'n', t24_.n1, t23_.n0, t23_.n1, t24_.p, t24_.n1, t23_.p, t23_.n1, v_leaf_gradient.p);
    (void)v_leaf_gradient;
    if (((v_loss.selector == ((int64_t)1ll)) || ((v_loss.selector != ((int64_t)2ll)) && (v_loss.k > ((int64_t)1ll))))) {
        split_gradients_100(memory, v_scores, v_children, v_node);
        double t25_ = v_mean;
        for (int64_t t26_ = 0; t26_ < v_scores.n0 * v_scores.n1; t26_++) v_scores.p[t26_] = (v_scores.p[t26_] / t25_);
        array2_f8 t27_ = v_scores;
        array2_f8 t28_ = v_batch.X;
        product_f8('n', 'n', t28_.n1, t27_.n0, t27_.n1, t28_.p, t28_.n1, t27_.p, t27_.n1, v_split_gradient.p);
        (void)v_split_gradient;
    } else {
        array2_f8 t29_ = v_split_gradient;
        double t30_ = ((double)((int64_t)0ll));
        for (int64_t t31_ = 0; t31_ < t29_.n0 * t29_.n1; t31_++) t29_.p[t31_] = t30_;
    }
    double t32_ = v_total;
    cut(memory, start);
    return t32_;
}

static double clip_scale_110(stack *memory, tuple_array2_f8_array2_f8 v_gradients, double v_limit)
{
    array2_f8 v_gradient;
    double v_total;
    place start = top(memory); (void)start;
    if ((v_limit <= ((double)((int64_t)0ll)))) {
        double t5_ = ((double)0x1.0000000000000p+0);
        cut(memory, start);
        return t5_;
    }
    v_total = ((double)0x0.0p+0);
    v_gradient = v_gradients.item0;
    v_total = (v_total + squared_norm_103(memory, v_gradient));
    v_gradient = v_gradients.item1;
    v_total = (v_total + squared_norm_103(memory, v_gradient));
    double t6_ = ((double)0x1.0000000000000p+0);
    double t7_ = (v_limit / (sqrt(v_total) + ((double)0x1.0c6f7a0b5ed8dp-20)));
    double t8_ = (t7_ < t6_ ? t7_ : t6_);
    cut(memory, start);
    return t8_;
}

static tuple_f8_i8 regression_epoch_108(stack *memory, Rows_array2_f8_array2_f8_array1_f8 v_rows, array1_i8 v_order, int64_t v_batch_size, array2_i8 v_children, Moments_array2_f8_array2_f8_array2_f8 v_splits, Moments_array2_f8_array2_f8_array2_f8 v_leaves, array2_i1 v_allowed, array2_i1 v_allowed_in_leaves, int64_t v_n_steps, RegressionLoss_i8_i8_f8_i8_f8 v_loss, Rates_f8_f8_f8_f8_f8 v_rates)
{
    Rows_array2_f8_array2_f8_array1_f8 v_batch;
    Rows_array2_f8_array2_f8_array1_f8 v_buffer;
    array2_f8 v_leaf_gradient;
    double v_scale;
    array2_f8 v_split_gradient;
    int64_t v_start;
    int64_t v_taken;
    double v_total;
    double v_value;
    place start = top(memory); (void)start;
    Rows_array2_f8_array2_f8_array1_f8 t22_ = new_batch_69(memory, v_rows, v_batch_size);
    v_buffer = t22_;
    array2_f8 t23_ = v_splits.value;
    int64_t t24_ = t23_.n0;
    int64_t t25_ = t23_.n1;
    array2_f8 t26_ = {push(memory, t24_ * t25_ * sizeof(double)), t24_, t25_};
    array2_f8 t27_ = v_leaves.value;
    int64_t t28_ = t27_.n0;
    int64_t t29_ = t27_.n1;
    array2_f8 t30_ = {push(memory, t28_ * t29_ * sizeof(double)), t28_, t29_};
    array2_f8 t31_ = t26_;
    array2_f8 t32_ = t30_;
    v_split_gradient = t31_;
    v_leaf_gradient = t32_;
    double t33_ = ((double)0x0.0p+0);
    int64_t t34_ = ((int64_t)0ll);
    v_total = t33_;
    v_taken = t34_;
    int64_t t35_ = ((int64_t)0ll);
    int64_t t36_ = v_order.n0;
    int64_t t37_ = v_batch_size;
    for (int64_t t38_ = t35_; t38_ < t36_; t38_ += t37_) {
        v_start = t38_;
        array1_i8 t39_ = v_order;
        int64_t t40_ = v_start;
        Rows_array2_f8_array2_f8_array1_f8 t41_ = gather_70(memory, v_rows, ((array1_i8){t39_.p + t40_ * 1, least((v_start + v_batch_size), t39_.n0) - t40_}), v_buffer);
        v_batch = t41_;
        v_value = regression_gradients_109(memory, v_batch, v_children, v_splits.value, v_leaves.value, v_loss, v_split_gradient, v_leaf_gradient);
        v_total = (v_total + v_value);
        if ((!is_finite_f8(v_value))) {
            break;
        }
        v_taken = (v_taken + ((int64_t)1ll));
        v_scale = clip_scale_110(memory, ((tuple_array2_f8_array2_f8){v_split_gradient, v_leaf_gradient}), v_rates.clip);
        if ((v_rates.splits > ((double)((int64_t)0ll)))) {
            adam_104(memory, v_splits, v_split_gradient, (v_n_steps + v_taken), v_rates.splits, v_rates.weight_decay, v_rates.l1, v_scale);
            hold_26(memory, v_splits.value, v_allowed);
        }
        if ((v_rates.leaves > ((double)((int64_t)0ll)))) {
            adam_104(memory, v_leaves, v_leaf_gradient, (v_n_steps + v_taken), v_rates.leaves, ((double)0x0.0p+0), ((double)0x0.0p+0), v_scale);
            hold_26(memory, v_leaves.value, v_allowed_in_leaves);
        }
    }
    tuple_f8_i8 t42_ = ((tuple_f8_i8){v_total, v_taken});
    cut(memory, start);
    return t42_;
}

static void call_0(stack *memory, const argument *given, answer *out) {
    int64_t found = apply_0(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array1_i8){given[3].p, given[3].n0}, (array1_i8){given[4].p, given[4].n0});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_1(stack *memory, const argument *given, answer *out) {
    int64_t found = apply_2(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array1_i8){given[3].p, given[3].n0}, (array1_i8){given[4].p, given[4].n0});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_2(stack *memory, const argument *given, answer *out) {
    int64_t found = decision_path_3(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array1_i8){given[3].p, given[3].n0}, (array2_i8){given[4].p, given[4].n0, given[4].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_3(stack *memory, const argument *given, answer *out) {
    int64_t found = decision_path_4(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array1_i8){given[3].p, given[3].n0}, (array2_i8){given[4].p, given[4].n0, given[4].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_4(stack *memory, const argument *given, answer *out) {
    int64_t found = scores_5(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array2_f8){given[3].p, given[3].n0, given[3].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_5(stack *memory, const argument *given, answer *out) {
    int64_t found = scores_6(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_f8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array2_f8){given[3].p, given[3].n0, given[3].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_6(stack *memory, const argument *given, answer *out) {
    int64_t found = linear_7(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array2_f8){given[3].p, given[3].n0, given[3].n1}, (array2_f8){given[4].p, given[4].n0, given[4].n1}, (array2_f8){given[5].p, given[5].n0, given[5].n1}, (array2_f8){given[6].p, given[6].n0, given[6].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_7(stack *memory, const argument *given, answer *out) {
    int64_t found = linear_8(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}, (array2_f8){given[3].p, given[3].n0, given[3].n1}, (array2_f8){given[4].p, given[4].n0, given[4].n1}, (array2_f8){given[5].p, given[5].n0, given[5].n1}, (array2_f8){given[6].p, given[6].n0, given[6].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_8(stack *memory, const argument *given, answer *out) {
    int64_t found = first_non_finite_9(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_9(stack *memory, const argument *given, answer *out) {
    int64_t found = first_non_finite_10(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1});
    out[0].whole = found;
    out[0].n_dims = 0;
    out[0].code = 'q';
}

static void call_10(stack *memory, const argument *given, answer *out) {
    array2_f8 found = class_margins_11(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_i8){given[1].p, given[1].n0, given[1].n1}, (array1_i8){given[2].p, given[2].n0}, given[3].whole);
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n1 = found.n1;
    out[0].n_dims = 2;
    out[0].code = 'd';
}

static void call_11(stack *memory, const argument *given, answer *out) {
    array2_i8 found = choices_16(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_i8){given[1].p, given[1].n0, given[1].n1}, given[2].whole);
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n1 = found.n1;
    out[0].n_dims = 2;
    out[0].code = 'q';
}

static void call_12(stack *memory, const argument *given, answer *out) {
    array1_i8 found = reached_18(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_f4){given[1].p, given[1].n0, given[1].n1}, (array2_i8){given[2].p, given[2].n0, given[2].n1});
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n_dims = 1;
    out[0].code = 'q';
}

static void call_13(stack *memory, const argument *given, answer *out) {
    array1_i8 found = reached_21(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_f8){given[1].p, given[1].n0, given[1].n1}, (array2_i8){given[2].p, given[2].n0, given[2].n1});
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n_dims = 1;
    out[0].code = 'q';
}

static void call_14(stack *memory, const argument *given, answer *out) {
    (void)out;
    walk_20(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_i8){given[1].p, given[1].n0, given[1].n1}, (array1_i8){given[2].p, given[2].n0});
}

static void call_15(stack *memory, const argument *given, answer *out) {
    (void)out;
    walk_23(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_i8){given[1].p, given[1].n0, given[1].n1}, (array1_i8){given[2].p, given[2].n0});
}

static void call_16(stack *memory, const argument *given, answer *out) {
    (void)out;
    mix_rows_24(memory, (array2_u8){given[0].p, given[0].n0, given[0].n1}, (array1_u8){given[1].p, given[1].n0});
}

static void call_17(stack *memory, const argument *given, answer *out) {
    (void)out;
    hold_25(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_i1){given[1].p, given[1].n0, given[1].n1});
}

static void call_18(stack *memory, const argument *given, answer *out) {
    (void)out;
    hold_26(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_i1){given[1].p, given[1].n0, given[1].n1});
}

static void call_19(stack *memory, const argument *given, answer *out) {
    array2_f4 found = losses_of_27(memory, (array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_f4){given[1].p, given[1].n0, given[1].n1}, given[2].whole, given[3].real);
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n1 = found.n1;
    out[0].n_dims = 2;
    out[0].code = 'f';
}

static void call_20(stack *memory, const argument *given, answer *out) {
    array2_f8 found = losses_of_29(memory, (array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_f8){given[1].p, given[1].n0, given[1].n1}, given[2].whole, given[3].real);
    out[0].p = found.p;
    out[0].n0 = found.n0;
    out[0].n1 = found.n1;
    out[0].n_dims = 2;
    out[0].code = 'd';
}

static void call_21(stack *memory, const argument *given, answer *out) {
    double found = classification_loss_31(memory, (Rows_array2_f4_array1_i8_array1_f4){(array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f4){given[2].p, given[2].n0}}, (array2_i8){given[3].p, given[3].n0, given[3].n1}, (array1_i8){given[4].p, given[4].n0}, (array2_f4){given[5].p, given[5].n0, given[5].n1}, (ClassLoss_i8_f8_f8){given[6].whole, given[7].real, given[8].real});
    out[0].real = found;
    out[0].n_dims = 0;
    out[0].code = 'd';
}

static void call_22(stack *memory, const argument *given, answer *out) {
    double found = classification_loss_44(memory, (Rows_array2_f8_array1_i8_array1_f8){(array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}}, (array2_i8){given[3].p, given[3].n0, given[3].n1}, (array1_i8){given[4].p, given[4].n0}, (array2_f8){given[5].p, given[5].n0, given[5].n1}, (ClassLoss_i8_f8_f8){given[6].whole, given[7].real, given[8].real});
    out[0].real = found;
    out[0].n_dims = 0;
    out[0].code = 'd';
}

static void call_23(stack *memory, const argument *given, answer *out) {
    double found = regression_loss_54(memory, (Rows_array2_f4_array2_f4_array1_f4){(array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_f4){given[1].p, given[1].n0, given[1].n1}, (array1_f4){given[2].p, given[2].n0}}, (array2_i8){given[3].p, given[3].n0, given[3].n1}, (array2_f4){given[4].p, given[4].n0, given[4].n1}, (array2_f4){given[5].p, given[5].n0, given[5].n1}, (RegressionLoss_i8_i8_f8_i8_f8){given[6].whole, given[7].whole, given[8].real, given[9].whole, given[10].real});
    out[0].real = found;
    out[0].n_dims = 0;
    out[0].code = 'd';
}

static void call_24(stack *memory, const argument *given, answer *out) {
    double found = regression_loss_68(memory, (Rows_array2_f8_array2_f8_array1_f8){(array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_f8){given[1].p, given[1].n0, given[1].n1}, (array1_f8){given[2].p, given[2].n0}}, (array2_i8){given[3].p, given[3].n0, given[3].n1}, (array2_f8){given[4].p, given[4].n0, given[4].n1}, (array2_f8){given[5].p, given[5].n0, given[5].n1}, (RegressionLoss_i8_i8_f8_i8_f8){given[6].whole, given[7].whole, given[8].real, given[9].whole, given[10].real});
    out[0].real = found;
    out[0].n_dims = 0;
    out[0].code = 'd';
}

static void call_25(stack *memory, const argument *given, answer *out) {
    tuple_f8_i8 found = classification_epoch_82(memory, (Rows_array2_f4_array1_i8_array1_f4){(array2_f4){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f4){given[2].p, given[2].n0}}, (array1_i8){given[3].p, given[3].n0}, given[4].whole, (array2_i8){given[5].p, given[5].n0, given[5].n1}, (array1_i8){given[6].p, given[6].n0}, (Moments_array2_f4_array2_f4_array2_f4){(array2_f4){given[7].p, given[7].n0, given[7].n1}, (array2_f4){given[8].p, given[8].n0, given[8].n1}, (array2_f4){given[9].p, given[9].n0, given[9].n1}}, (array2_i1){given[10].p, given[10].n0, given[10].n1}, given[11].whole, (ClassLoss_i8_f8_f8){given[12].whole, given[13].real, given[14].real}, (Rates_f8_f8_f8_f8_f8){given[15].real, given[16].real, given[17].real, given[18].real, given[19].real});
    out[0].real = found.item0;
    out[0].n_dims = 0;
    out[0].code = 'd';
    out[1].whole = found.item1;
    out[1].n_dims = 0;
    out[1].code = 'q';
}

static void call_26(stack *memory, const argument *given, answer *out) {
    tuple_f8_i8 found = classification_epoch_94(memory, (Rows_array2_f8_array1_i8_array1_f8){(array2_f8){given[0].p, given[0].n0, given[0].n1}, (array1_i8){given[1].p, given[1].n0}, (array1_f8){given[2].p, given[2].n0}}, (array1_i8){given[3].p, given[3].n0}, given[4].whole, (array2_i8){given[5].p, given[5].n0, given[5].n1}, (array1_i8){given[6].p, given[6].n0}, (Moments_array2_f8_array2_f8_array2_f8){(array2_f8){given[7].p, given[7].n0, given[7].n1}, (array2_f8){given[8].p, given[8].n0, given[8].n1}, (array2_f8){given[9].p, given[9].n0, given[9].n1}}, (array2_i1){given[10].p, given[10].n0, given[10].n1}, given[11].whole, (ClassLoss_i8_f8_f8){given[12].whole, given[13].real, given[14].real}, (Rates_f8_f8_f8_f8_f8){given[15].real, given[16].real, given[17].real, given[18].real, given[19].real});
    out[0].real = found.item0;
    out[0].n_dims = 0;
    out[0].code = 'd';
    out[1].whole = found.item1;
    out[1].n_dims = 0;
    out[1].code = 'q';
}

static void call_27(stack *memory, const argument *given, answer *out) {
    tuple_f8_i8 found = regression_epoch_105(memory, (Rows_array2_f4_array2_f4_array1_f4){(array2_f4){given[0].p, given[0].n0, given[0].n1}, (array2_f4){given[1].p, given[1].n0, given[1].n1}, (array1_f4){given[2].p, given[2].n0}}, (array1_i8){given[3].p, given[3].n0}, given[4].whole, (array2_i8){given[5].p, given[5].n0, given[5].n1}, (Moments_array2_f4_array2_f4_array2_f4){(array2_f4){given[6].p, given[6].n0, given[6].n1}, (array2_f4){given[7].p, given[7].n0, given[7].n1}, (array2_f4){given[8].p, given[8].n0, given[8].n1}}, (Moments_array2_f4_array2_f4_array2_f4){(array2_f4){given[9].p, given[9].n0, given[9].n1}, (array2_f4){given[10].p, given[10].n0, given[10].n1}, (array2_f4){given[11].p, given[11].n0, given[11].n1}}, (array2_i1){given[12].p, given[12].n0, given[12].n1}, (array2_i1){given[13].p, given[13].n0, given[13].n1}, given[14].whole, (RegressionLoss_i8_i8_f8_i8_f8){given[15].whole, given[16].whole, given[17].real, given[18].whole, given[19].real}, (Rates_f8_f8_f8_f8_f8){given[20].real, given[21].real, given[22].real, given[23].real, given[24].real});
    out[0].real = found.item0;
    out[0].n_dims = 0;
    out[0].code = 'd';
    out[1].whole = found.item1;
    out[1].n_dims = 0;
    out[1].code = 'q';
}

static void call_28(stack *memory, const argument *given, answer *out) {
    tuple_f8_i8 found = regression_epoch_108(memory, (Rows_array2_f8_array2_f8_array1_f8){(array2_f8){given[0].p, given[0].n0, given[0].n1}, (array2_f8){given[1].p, given[1].n0, given[1].n1}, (array1_f8){given[2].p, given[2].n0}}, (array1_i8){given[3].p, given[3].n0}, given[4].whole, (array2_i8){given[5].p, given[5].n0, given[5].n1}, (Moments_array2_f8_array2_f8_array2_f8){(array2_f8){given[6].p, given[6].n0, given[6].n1}, (array2_f8){given[7].p, given[7].n0, given[7].n1}, (array2_f8){given[8].p, given[8].n0, given[8].n1}}, (Moments_array2_f8_array2_f8_array2_f8){(array2_f8){given[9].p, given[9].n0, given[9].n1}, (array2_f8){given[10].p, given[10].n0, given[10].n1}, (array2_f8){given[11].p, given[11].n0, given[11].n1}}, (array2_i1){given[12].p, given[12].n0, given[12].n1}, (array2_i1){given[13].p, given[13].n0, given[13].n1}, given[14].whole, (RegressionLoss_i8_i8_f8_i8_f8){given[15].whole, given[16].whole, given[17].real, given[18].whole, given[19].real}, (Rates_f8_f8_f8_f8_f8){given[20].real, given[21].real, given[22].real, given[23].real, given[24].real});
    out[0].real = found.item0;
    out[0].n_dims = 0;
    out[0].code = 'd';
    out[1].whole = found.item1;
    out[1].n_dims = 0;
    out[1].code = 'q';
}

static const overload OVERLOADS[] = {
    {"dtsemnet.kernels.routing.apply", "2f1d1d1q1q", call_0, 1, 0},
    {"dtsemnet.kernels.routing.apply", "2d1d1d1q1q", call_1, 1, 0},
    {"dtsemnet.kernels.routing.decision_path", "2f1d1d1q2q", call_2, 1, 0},
    {"dtsemnet.kernels.routing.decision_path", "2d1d1d1q2q", call_3, 1, 0},
    {"dtsemnet.kernels.routing.scores", "2f1d1d2d", call_4, 1, 0},
    {"dtsemnet.kernels.routing.scores", "2d1d1d2d", call_5, 1, 0},
    {"dtsemnet.kernels.routing.linear", "2f1q1d2d2d2d2d", call_6, 1, 0},
    {"dtsemnet.kernels.routing.linear", "2d1q1d2d2d2d2d", call_7, 1, 0},
    {"dtsemnet.kernels.routing.first_non_finite", "2f", call_8, 1, 0},
    {"dtsemnet.kernels.routing.first_non_finite", "2d", call_9, 1, 0},
    {"dtsemnet.kernels.logits.class_margins", "2d2q1q0q", call_10, 1, 0},
    {"dtsemnet.kernels.logits.choices", "2d2q0q", call_11, 1, 0},
    {"dtsemnet.kernels.logits.reached", "2f2f2q", call_12, 1, 1},
    {"dtsemnet.kernels.logits.reached", "2d2d2q", call_13, 1, 1},
    {"dtsemnet.kernels.logits.walk", "2f2q1q", call_14, 0, 0},
    {"dtsemnet.kernels.logits.walk", "2d2q1q", call_15, 0, 0},
    {"dtsemnet.kernels.rows.mix_rows", "2Q1Q", call_16, 0, 0},
    {"dtsemnet.kernels.optimizer.hold", "2f2b", call_17, 0, 0},
    {"dtsemnet.kernels.optimizer.hold", "2d2b", call_18, 0, 0},
    {"dtsemnet.kernels.regression.losses_of", "2f2f0q0d", call_19, 1, 0},
    {"dtsemnet.kernels.regression.losses_of", "2d2d0q0d", call_20, 1, 0},
    {"dtsemnet.kernels.classification.classification_loss", "2f1q1f2q1q2f0q0d0d", call_21, 1, 1},
    {"dtsemnet.kernels.classification.classification_loss", "2d1q1d2q1q2d0q0d0d", call_22, 1, 1},
    {"dtsemnet.kernels.regression.regression_loss", "2f2f1f2q2f2f0q0q0d0q0d", call_23, 1, 1},
    {"dtsemnet.kernels.regression.regression_loss", "2d2d1d2q2d2d0q0q0d0q0d", call_24, 1, 1},
    {"dtsemnet.kernels.epochs.classification_epoch", "2f1q1f1q0q2q1q2f2f2f2b0q0q0d0d0d0d0d0d0d", call_25, 2, 1},
    {"dtsemnet.kernels.epochs.classification_epoch", "2d1q1d1q0q2q1q2d2d2d2b0q0q0d0d0d0d0d0d0d", call_26, 2, 1},
    {"dtsemnet.kernels.epochs.regression_epoch", "2f2f1f1q0q2q2f2f2f2f2f2f2b2b0q0q0q0d0q0d0d0d0d0d0d", call_27, 2, 1},
    {"dtsemnet.kernels.epochs.regression_epoch", "2d2d1d1q0q2q2d2d2d2d2d2d2b2b0q0q0q0d0q0d0d0d0d0d0d", call_28, 2, 1},
};
#define N_KERNELS 16
static const int FIRST[] = {0, 2, 4, 6, 8, 10, 11, 12, 14, 16, 17, 19, 21, 23, 25, 27, 29};

/* The module: one function, which finds the overload for the types of its arguments. */

#define MOST 48

/* The pointers that scipy hands out for Cython. */
static int load_blas(void) {
    const char *names[] = {"sgemm", "sgemv", "sdot", "dgemm", "dgemv", "ddot"};
    void *found[6] = {NULL};
    PyObject *module = PyImport_ImportModule("scipy.linalg.cython_blas");
    PyObject *table = module ? PyObject_GetAttrString(module, "__pyx_capi__") : NULL;
    for (int i = 0; table && i < 6; i++) {
        PyObject *capsule = PyMapping_GetItemString(table, names[i]);
        if (capsule) found[i] = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
        Py_XDECREF(capsule);
        if (!found[i]) Py_CLEAR(table);
    }
    Py_XDECREF(module);
    if (!table) return -1;
    Py_DECREF(table);
    sgemm = (sgemm_type *)found[0];
    sgemv = (sgemv_type *)found[1];
    sdot = (sdot_type *)found[2];
    dgemv = (dgemv_type *)found[4];
    ddot = (ddot_type *)found[5];
    dgemm = (dgemm_type *)found[3]; /* last: it says that all are there */
    return 0;
}

typedef struct {
    argument arguments[MOST];
    Py_buffer views[MOST];
    int n_arguments, n_views;
} reading;

/* Read one argument; a tuple stands for its items. 0: read, 1: of a kind that no kernel takes, -1: an error. */
static int read_argument(reading *given, PyObject *object) {
    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++) {
            int state = read_argument(given, PyTuple_GetItem(object, i));
            if (state) return state;
        }
        return 0;
    }
    if (given->n_arguments == MOST) return 1;
    argument *into = &given->arguments[given->n_arguments++];
    if (PyFloat_Check(object)) {
        into->n_dims = 0;
        into->code = 'd';
        into->real = PyFloat_AsDouble(object);
        return 0;
    }
    if (PyLong_Check(object)) {
        into->n_dims = 0;
        into->code = 'q';
        into->whole = PyLong_AsLongLong(object);
        return PyErr_Occurred() ? -1 : 0;
    }
    if (!PyObject_CheckBuffer(object)) return 1;
    Py_buffer *view = &given->views[given->n_views];
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)) {
        PyErr_Clear(); /* not C-ordered */
        return 1;
    }
    given->n_views++;
    char code = view->format && view->format[0] && !view->format[1] ? view->format[0] : 0;
    if (code == 'l') code = view->itemsize == 8 ? 'q' : 'i';
    if (code == 'L') code = view->itemsize == 8 ? 'Q' : 'I';
    into->code = code;
    into->n_dims = view->ndim;
    into->p = view->buf;
    if (!view->ndim && code == 'q') memcpy(&into->whole, view->buf, sizeof into->whole); /* numbers of numpy */
    if (!view->ndim && code == 'd') memcpy(&into->real, view->buf, sizeof into->real);
    into->n0 = view->ndim > 0 ? view->shape[0] : 1;
    into->n1 = view->ndim > 1 ? view->shape[1] : 1;
    return 0;
}

static int fits(const overload *one, const reading *given) {
    const char *type = one->types;
    for (int i = 0; i < given->n_arguments; i++, type += 2) {
        const argument *has = &given->arguments[i];
        if (!*type || has->n_dims != *type - '0' || has->code != type[1]) return 0;
    }
    return !*type;
}

static size_t size_of(char code) { return code == 'f' || code == 'i' ? 4 : code == 'b' ? 1 : 8; }

/* A number, or (bytes, code, shape) of an array. */
static PyObject *to_object(const answer *one) {
    if (one->n_dims == 0) return one->code == 'd' ? PyFloat_FromDouble(one->real) : PyLong_FromLongLong(one->whole);
    size_t size = (size_t)one->n0 * (one->n_dims > 1 ? one->n1 : 1) * size_of(one->code);
    PyObject *bytes = PyByteArray_FromStringAndSize((const char *)one->p, (Py_ssize_t)size);
    if (!bytes) return NULL;
    if (one->n_dims == 1) return Py_BuildValue("NC(L)", bytes, one->code, (long long)one->n0);
    return Py_BuildValue("NC(LL)", bytes, one->code, (long long)one->n0, (long long)one->n1);
}

static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    (void)self;
    reading given;
    given.n_arguments = given.n_views = 0;
    long number = n_args ? PyLong_AsLong(args[0]) : -1;
    if (PyErr_Occurred()) return NULL;
    int state = number < 0 || number >= N_KERNELS;
    for (Py_ssize_t i = 1; !state && i < n_args; i++) state = read_argument(&given, args[i]);
    PyObject *result = NULL;
    const overload *one = NULL;
    for (int i = state ? 0 : FIRST[number]; !state && i < FIRST[number + 1]; i++)
        if (fits(&OVERLOADS[i], &given)) {
            one = &OVERLOADS[i];
            break;
        }
    if (state >= 0 && !one) {
        result = Py_NewRef(Py_NotImplemented);
    } else if (one && !(one->uses_blas && !dgemm && load_blas())) {
        answer answers[4];
        volatile int failed = 0;
        char room[8192 + LINE];
        chunk first = {NULL, 8192, 0, (char *)(((uintptr_t)room + LINE - 1) / LINE * LINE)};
        stack memory;
        place bottom = {&first, 0};
        memory.top = &first;
        memory.spare = NULL;
        ASAN_POISON_MEMORY_REGION(first.data, first.size);
        PyThreadState *thread = PyEval_SaveThread();
        if (setjmp(memory.out_of_memory) == 0)
            one->run(&memory, given.arguments, answers);
        else
            failed = 1;
        PyEval_RestoreThread(thread);
        if (failed) {
            PyErr_NoMemory();
        } else if (one->n_answers == 0) {
            result = Py_NewRef(Py_None);
        } else if (one->n_answers == 1) {
            result = to_object(&answers[0]);
        } else {
            result = PyTuple_New(one->n_answers);
            for (int i = 0; result && i < one->n_answers; i++) {
                PyObject *item = to_object(&answers[i]);
                if (!item || PyTuple_SetItem(result, i, item)) Py_CLEAR(result);
            }
        }
        cut(&memory, bottom);
        ASAN_UNPOISON_MEMORY_REGION(first.data, first.size);
        free(memory.spare);
    }
    for (int i = 0; i < given.n_views; i++) PyBuffer_Release(&given.views[i]);
    return result;
}

/* Which of the modules this processor can run: 0 any, 3 and 4 are levels of x86-64. */
static PyObject *level(PyObject *self, PyObject *none) {
    (void)self;
    (void)none;
    long found = 0;
#if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) found = 3;
    if (found && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
        found = 4;
#endif
    return PyLong_FromLong(found);
}

static PyMethodDef METHODS[] = {
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL, "Run a kernel by its number; NotImplemented for other types."},
    {"level", level, METH_NOARGS, "The level of instructions that this processor has."},
    {NULL, NULL, 0, NULL},
};

static int fill_module(PyObject *module) {
    PyObject *names = PyTuple_New(N_KERNELS);
    if (!names) return -1;
    for (int i = 0; i < N_KERNELS; i++)
        if (PyTuple_SetItem(names, i, PyUnicode_FromString(OVERLOADS[FIRST[i]].name))) return -1;
    int state = PyModule_AddObjectRef(module, "kernels", names);
    Py_DECREF(names);
    return state ? state : PyModule_AddStringConstant(module, "stamp", STAMP);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)fill_module}, {0, NULL}};
static struct PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "native", NULL, 0, METHODS, SLOTS, NULL, NULL, NULL};

#ifndef MODULE_NAME
#define MODULE_NAME native
#endif
#define JOIN(a, b) a##b
#define INIT(name) JOIN(PyInit_, name)

PyMODINIT_FUNC INIT(MODULE_NAME)(void) { return PyModuleDef_Init(&MODULE); }
