/*
 * The code of every tree that dtsemnet.export.to_c writes; an exported file is this file plus the tables of one tree.
 *
 * to_c inserts generated text in place of the three quoted includes, keeps the branches that the switches below
 * select, and renames whole identifiers: the prefix tree_ becomes the name that the caller chose, and the type
 * real becomes double or float. This comment is left out. The tests also compile this file as it is, with the
 * generated text in the included files and the switches as -D options.
 *
 * Switches, 0 or 1:
 *   TREE_FLOAT            numbers are float, else double
 *   TREE_CLASSIFIER       leaves hold classes, else numbers
 *   TREE_MARGINS          probabilities are computed from margins, else they are the shares of the leaf
 *   TREE_ENCODED          a row is encoded before the tree reads it, else read as it is
 *   TREE_FILLED           encoding only fills in missing numbers, in all columns
 *   TREE_TEXTS            a column has categories that are text
 *   TREE_NUMBERS          a column has categories that are numbers
 *   TREE_SPLITS           the tree has a split, else it is one leaf
 *   TREE_SPARSE_SPLITS    weights of splits are lists of their non-zeros, else a matrix
 *   TREE_LINEAR           leaves of a regressor are linear models, else constants
 *   TREE_SPARSE_LEAVES    their coefficients are lists of the non-zeros, else a matrix
 *   TREE_GUARDED          linear models are clipped to the bounds of their leaf
 *   TREE_SUMS             there are splits or linear models, else nothing is summed
 *   TREE_DENSE            some of them are matrices
 *   TREE_TANH             outputs are mapped by low + (tanh(v) + 1) / 2 * (high - low)
 */
#ifndef tree_H
#define tree_H
#ifdef __cplusplus
extern "C" {
#endif

#include "names.h"
#if TREE_CLASSIFIER
extern const char *const tree_class_names[tree_CLASSES];
#endif

/* Returns the number of the leaf, counted from left to right. */
int tree_apply(const real *row);

/* Writes the leaves of many rows, one row behind the other in memory, -1 for a row that is refused; returns how many
   are. The rows walk side by side, which is faster than one after the other. */
long tree_apply_batch(const real *rows, long n_rows, int *leaf);

#if TREE_CLASSIFIER
/* Returns the number of the class, as in enum tree_class. */
int tree_predict_class(const real *row);

/* Writes the numbers of the classes of many rows, -1 for a row that is refused; returns how many are. */
long tree_predict_class_batch(const real *rows, long n_rows, int *number);

/* Writes tree_CLASSES probabilities; returns the number of the leaf. */
int tree_predict_proba(const real *row, real *out);
#else
/* Writes tree_OUTPUTS numbers; returns the number of the leaf. */
int tree_predict(const real *row, real *out);

/* Writes the leaves of many rows, -1 for a row that is refused, and tree_OUTPUTS numbers for each of them; returns how
   many are refused. */
long tree_predict_batch(const real *rows, long n_rows, int *leaf, real *out);
#endif

/* Returns 0 if this program computes as the tree does, -1 if options of the compiler or the state of the processor
   change its arithmetic. Call it once, at the start. */
int tree_selftest(void);

#ifdef __cplusplus
}
#endif
#endif

#ifndef tree_PROTOTYPES
#include <float.h>
#include <math.h>

#ifndef DTSEMNET_FLASH
#define DTSEMNET_FLASH
/* The bytes of the processor's vectors. Tables in a memory of their own are not read through pointers, and gcc for
   Windows does not align large vectors on the stack. */
#if defined(__GNUC__) && defined(__AVX512F__) && !defined(_WIN32)
#define DTSEMNET_VECTORS 64
#elif defined(__GNUC__) && defined(__AVX__) && !defined(_WIN32)
#define DTSEMNET_VECTORS 32
#elif defined(__GNUC__)
#define DTSEMNET_VECTORS 16
#endif
#endif

/* A score is short and its loops have known lengths; compilers that call it instead make a tree up to twice as slow. */
#if defined(__GNUC__)
#define DTSEMNET_INLINE static inline __attribute__((always_inline))
#else
#define DTSEMNET_INLINE static
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || defined(_M_FP_FAST) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "fast-math computes another function than the tree; compile this file without it, and without parts of it"
#endif
#if defined(__clang__)
/* clang defines nothing for parts of fast-math, but lets a file take them back. */
#pragma float_control(push)
#pragma float_control(precise, on)
#define DTSEMNET_POP_CONTROL
#endif
#if !TREE_FLOAT
#if DBL_MANT_DIG != 53
#error "double is not a 64-bit IEEE number here; export with number='float'"
#endif
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
#error "sums are kept in wider registers here; compile with -msse2 -mfpmath=sse"
#endif
/* A product and a sum are rounded separately, never fused into one operation. Versions of gcc that define nothing for
   parts of fast-math take them back here. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off", "no-unsafe-math-optimizations", "no-associative-math")
#define DTSEMNET_POP_OPTIONS
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#else
#pragma STDC FP_CONTRACT OFF
#endif
#endif

#include "tables.h"

/* A row that is read has its features in tree_WIDTH places, zeros behind the last. tree_GROUP rows walk side by side:
   one alone waits for each score before it can fetch the next split. Wide rows have work enough in one score. */
#if TREE_DENSE
#ifdef DTSEMNET_VECTORS
enum { tree_WIDTH = (tree_FEATURES + tree_LANES - 1) / tree_LANES * tree_LANES };
#else
enum { tree_WIDTH = tree_FEATURES };
#endif
#else
enum { tree_WIDTH = tree_FEATURES };
#endif
enum { tree_GROUP = tree_WIDTH <= 64 ? 8 : 1, tree_REFUSED = -1 - tree_LEAVES };

#if TREE_TEXTS
/* Find a text among the known ones from start to end; returns its distance from start, -1 if it is not there. */
static int tree_find_text(int start, int end, const char *text)
{
    int k, i;
    for (k = start; k < end; ++k) {
        for (i = 0; text[i] != 0 && text[i] == tree_known_texts[k][i]; ++i)
            ;
        if (text[i] == tree_known_texts[k][i])
            return k - start;
    }
    return -1;
}

#endif
#if TREE_NUMBERS
/* Find a number among the known ones from start to end; returns its distance from start, -1 if it is not there. */
static int tree_find_number(int start, int end, double number)
{
    int k;
    for (k = start; k < end; ++k)
        if (tree_known_numbers[k] == number)
            return k - start;
    return -1;
}

#endif
#include "lookups.h"
#if TREE_ENCODED
enum { tree_ROOM = tree_WIDTH };

#if TREE_FILLED
/* Fill in the missing numbers of a row in x; returns x, or 0 if the row is refused. */
static const real *tree_encode(const real *row, real *x)
{
    int c;
    for (c = 0; c < tree_COLUMNS; ++c) {
        x[c] = row[c] != row[c] ? tree_fill[c] : row[c];
        if (!(x[c] - x[c] == 0))
            return 0;
    }
    for (; c < tree_WIDTH; ++c)
        x[c] = 0;
    return x;
}
#else
/* Turn a row into the features that the tree reads, in x; returns x, or 0 if the row is refused. tree_missing is 0 for
   columns that know no missing values, 1 for those that mark them by a feature, 2 for those that only fill them in. */
static const real *tree_encode(const real *row, real *x)
{
    int c, k, j = 0;
    for (c = 0; c < tree_COLUMNS; ++c) {
        const int missing = row[c] != row[c], categories = tree_categories[c];
        if (categories >= 0) {
            const real code = missing && tree_missing[c] == 2 ? tree_fill[c] : row[c];
            for (k = 0; k < categories; ++k)
                x[j++] = (real)(code == (real)k);
        } else {
            real number = missing ? tree_fill[c] : row[c];
            if ((missing && !tree_missing[c]) || !(number - number == 0))
                return 0;
            number = (number - tree_center[c]) * tree_scale[c];
            if (number < tree_lowest[c])
                number = tree_lowest[c];
            if (number > tree_highest[c])
                number = tree_highest[c];
            if (!(number - number == 0))
                return 0;
            x[j++] = number;
        }
        if (tree_missing[c] == 1)
            x[j++] = (real)missing;
    }
    for (; j < tree_WIDTH; ++j)
        x[j] = 0;
    return x;
}
#endif

#else
enum { tree_ROOM = tree_WIDTH - tree_FEATURES > 0 ? tree_WIDTH : 1 };

/* The tree reads rows as they are, those with zeros behind them in x. */
static const real *tree_encode(const real *row, real *x)
{
    int j;
    if (tree_ROOM == 1)
        return row;
    for (j = 0; j < tree_FEATURES; ++j)
        x[j] = row[j];
    for (; j < tree_ROOM; ++j)
        x[j] = 0;
    return x;
}

#endif
/* Whether all features are finite. */
static int tree_finite(const real *x)
{
    int j;
    for (j = 0; j < tree_FEATURES; ++j)
        if (!(x[j] - x[j] == 0))
            return 0;
    return 1;
}

#if TREE_DENSE
#ifdef DTSEMNET_VECTORS
/* Partial sums in one vector, and vectors for all of them. */
enum {
    tree_STEP = DTSEMNET_VECTORS / sizeof(real) < tree_LANES ? DTSEMNET_VECTORS / sizeof(real) : tree_LANES,
    tree_PARTS = tree_LANES / tree_STEP
};
typedef real tree_part __attribute__((vector_size(tree_STEP * sizeof(real)), aligned(sizeof(real)), may_alias));

/* The sum of products of a dense row of weights, in the order below. Behind its end it runs on into the next row, behind
   the last into zeros: weights that meet the zeros of x, which change no bit of a sum. */
DTSEMNET_INLINE real tree_dot(const real *weight, const real *x)
{
    tree_part a = { 0 }, b = a, c = a, d = a, e = a, f = a, g = a, h = a; /* an array would not stay in registers */
    real sum[16];
    int j, k;
    for (j = 0; j < tree_WIDTH; j += tree_LANES) {
        const tree_part *const v = (const tree_part *)(weight + j), *const u = (const tree_part *)(x + j);
        a += v[0] * u[0];
        if (tree_PARTS > 1)
            b += v[1] * u[1];
        if (tree_PARTS > 2)
            c += v[2] * u[2], d += v[3] * u[3];
        if (tree_PARTS > 4)
            e += v[4] * u[4], f += v[5] * u[5], g += v[6] * u[6], h += v[7] * u[7];
    }
    if (tree_PARTS > 4)
        a += e, b += f, c += g, d += h;
    if (tree_PARTS > 2)
        a += c, b += d;
    if (tree_PARTS > 1)
        a += b;
    *(tree_part *)sum = a;
    if (tree_STEP > 8)
        for (k = 0; k < 8; ++k)
            sum[k] += sum[k + 8];
    if (tree_STEP > 4)
        sum[0] += sum[4], sum[1] += sum[5], sum[2] += sum[6], sum[3] += sum[7];
    if (tree_STEP > 2)
        sum[0] += sum[2], sum[1] += sum[3];
    return sum[0] + sum[1];
}

#endif
#endif
#if TREE_SPLITS
/* The score of a split: weight times x, plus bias. tree_LANES partial sums, joined by halves: this order of summation
   is part of the tree. */
DTSEMNET_INLINE real tree_score(int split, const real *x)
{
#if TREE_SPARSE_SPLITS
    real sum[tree_LANES] = { 0 };
    int j, k;
    long i;
    for (i = tree_weight_start[split]; i < tree_weight_start[split + 1]; ++i)
        sum[tree_weight_feature[i] % tree_LANES] += tree_weight[i] * x[tree_weight_feature[i]];
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_bias[split];
#else
    const long start = (long)split * tree_FEATURES;
#ifdef DTSEMNET_VECTORS
    return tree_dot(tree_weight + start, x) + tree_bias[split];
#else
    real sum[tree_LANES] = { 0 };
    int j, k;
    for (j = 0; j + tree_LANES <= tree_FEATURES; j += tree_LANES)
        for (k = 0; k < tree_LANES; ++k)
            sum[k] += tree_weight[start + j + k] * x[j + k];
    for (k = 0; j + k < tree_FEATURES; ++k)
        sum[k] += tree_weight[start + j + k] * x[j + k];
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_bias[split];
#endif
#endif
}

#endif
/* The node where the features begin their walk, tree_REFUSED if they are refused, or were by tree_encode. */
static int tree_first(const real *x)
{
    if (!x)
        return tree_REFUSED;
#if TREE_SPLITS
#if TREE_SPARSE_SPLITS
#if !TREE_ENCODED
    /* The scores leave features out, so an infinite one could go unnoticed. */
    if (!tree_finite(x))
        return tree_REFUSED;
#endif
#endif
    return 0;
#else
    return tree_finite(x) ? -1 : tree_REFUSED;
#endif
}

#if TREE_SPLITS
/* The node below a split that the features go to. */
DTSEMNET_INLINE int tree_next(int split, const real *x)
{
    const real score = tree_score(split, x);
    /* An infinite score of finite features routes by its sign; infinite features are refused. */
    if (!(score - score == 0) && (score != score || !tree_finite(x)))
        return tree_REFUSED;
    return tree_children[2 * split + (score > 0)];
}

#endif
/* The leaf that the features reach, -1 if they are refused. */
static int tree_leaf(const real *x)
{
    int node = tree_first(x);
#if TREE_SPLITS
    while (node >= 0)
        node = tree_next(node, x);
#endif
    return node == tree_REFUSED ? -1 : -1 - node;
}

/* Find the leaves of up to tree_GROUP rows side by side, and their features, most of them in the room; returns how many
   rows are refused. */
DTSEMNET_INLINE int tree_walk(const real *rows, int n_rows, real *room, const real **x, int *leaf)
{
    int node[tree_GROUP];
    int r, refused = 0;
#if TREE_SPLITS
    int walking;
#endif
    for (r = 0; r < n_rows; ++r) {
        x[r] = tree_encode(rows + (long)r * tree_COLUMNS, room + (long)r * tree_ROOM);
        node[r] = tree_first(x[r]);
    }
#if TREE_SPLITS
    do {
        walking = 0;
        for (r = 0; r < n_rows; ++r)
            if (node[r] >= 0) {
                node[r] = tree_next(node[r], x[r]);
                walking |= node[r] >= 0;
            }
    } while (walking);
#endif
    for (r = 0; r < n_rows; ++r) {
        leaf[r] = node[r] == tree_REFUSED ? -1 : -1 - node[r];
        refused += leaf[r] < 0;
    }
    return refused;
}

int tree_apply(const real *row)
{
    real room[tree_ROOM];
    return tree_leaf(tree_encode(row, room));
}

long tree_apply_batch(const real *rows, long n_rows, int *leaf)
{
    real room[tree_GROUP * tree_ROOM];
    const real *x[tree_GROUP];
    long start, refused = 0;
    for (start = 0; start < n_rows; start += tree_GROUP) {
        const int n = n_rows - start < tree_GROUP ? (int)(n_rows - start) : tree_GROUP;
        refused += tree_walk(rows + start * tree_COLUMNS, n, room, x, leaf + start);
    }
    return refused;
}

#if TREE_CLASSIFIER
int tree_predict_class(const real *row)
{
    const int leaf = tree_apply(row);
    return leaf < 0 ? -1 : tree_leaf_class[leaf];
}

long tree_predict_class_batch(const real *rows, long n_rows, int *number)
{
    const long refused = tree_apply_batch(rows, n_rows, number);
    long i;
    for (i = 0; i < n_rows; ++i)
        number[i] = number[i] < 0 ? -1 : tree_leaf_class[number[i]];
    return refused;
}

#if TREE_MARGINS
/* Write the least sum of margins that must turn before the features are in each class, -1 if no leaf has the class;
   returns -1 if they are refused. */
static int tree_margins(const real *x, real *margin)
{
    int k;
#if TREE_SPLITS
    real above[tree_LEAVES]; /* sum of the margins violated on the way to each split */
    int split, side;
    above[0] = 0;
#endif
    for (k = 0; k < tree_CLASSES; ++k)
        margin[k] = -1;
#if TREE_SPLITS
    for (split = 0; split < tree_LEAVES - 1; ++split) {
        const real score = tree_score(split, x);
        if (score != score)
            return -1;
        for (side = 0; side < 2; ++side) {
            const int child = tree_children[2 * split + side];
            const real violated = side ? -score : score;
            const real sum = above[split] + (violated > 0 ? violated : 0);
            if (child >= 0) {
                above[child] = sum;
                continue;
            }
            k = tree_leaf_class[-1 - child];
            if (margin[k] < 0 || sum < margin[k])
                margin[k] = sum;
        }
    }
#else
    margin[tree_leaf_class[0]] = 0;
    (void)x;
#endif
    return 0;
}

int tree_predict_proba(const real *row, real *out)
{
    real room[tree_ROOM];
    const real *const x = tree_encode(row, room);
    const int leaf = tree_leaf(x);
    real largest = 0, total = 0;
    int k;
    if (leaf < 0 || tree_margins(x, out) < 0)
        return -1;
    for (k = 0; k < tree_CLASSES; ++k)
        if (out[k] > largest)
            largest = out[k];
    for (k = 0; k < tree_CLASSES; ++k) {
        const real margin = out[k] < 0 ? largest : out[k];
        const real penalty = tree_rate[0] > 0 ? tree_rate[0] * margin : 0;
        const real exponent = tree_leaf_log[leaf * tree_CLASSES + k] - penalty;
#if TREE_FLOAT
        out[k] = expf(exponent > -87 ? exponent : -87);
#else
        out[k] = exp(exponent > -700 ? exponent : -700);
#endif
        total += out[k];
    }
    for (k = 0; k < tree_CLASSES; ++k)
        out[k] /= total;
    return leaf;
}
#else
int tree_predict_proba(const real *row, real *out)
{
    const int leaf = tree_apply(row);
    int k;
    for (k = 0; leaf >= 0 && k < tree_CLASSES; ++k)
        out[k] = tree_value[leaf * tree_CLASSES + k];
    return leaf;
}
#endif
#else
#if TREE_LINEAR
/* An output of a linear leaf: coefficients times x, plus the constant; summed in the same order as a score. */
DTSEMNET_INLINE real tree_linear(int output, const real *x)
{
#if TREE_SPARSE_LEAVES
    real sum[tree_LANES] = { 0 };
    int j, k;
    long i;
    for (i = tree_coef_start[output]; i < tree_coef_start[output + 1]; ++i)
        sum[tree_coef_feature[i] % tree_LANES] += tree_coef[i] * x[tree_coef_feature[i]];
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_value[output];
#else
    const long start = (long)output * tree_FEATURES;
#ifdef DTSEMNET_VECTORS
    return tree_dot(tree_coef + start, x) + tree_value[output];
#else
    real sum[tree_LANES] = { 0 };
    int j, k;
    for (j = 0; j + tree_LANES <= tree_FEATURES; j += tree_LANES)
        for (k = 0; k < tree_LANES; ++k)
            sum[k] += tree_coef[start + j + k] * x[j + k];
    for (k = 0; j + k < tree_FEATURES; ++k)
        sum[k] += tree_coef[start + j + k] * x[j + k];
    for (j = tree_LANES / 2; j > 0; j /= 2)
        for (k = 0; k < j; ++k)
            sum[k] += sum[k + j];
    return sum[0] + tree_value[output];
#endif
#endif
}

#endif
/* Write the outputs of a leaf, which may be refused; returns its number, -1 if the features or an output are refused. */
static int tree_answer(int leaf, const real *x, real *out)
{
    int o;
#if !TREE_LINEAR
    (void)x;
#endif
    for (o = 0; leaf >= 0 && o < tree_OUTPUTS; ++o) {
        const int k = leaf * tree_OUTPUTS + o;
#if TREE_LINEAR
        real output = tree_linear(k, x);
        if (output != output)
            return -1;
#if TREE_GUARDED
        if (output < tree_lower[k])
            output = tree_lower[k];
        if (output > tree_upper[k])
            output = tree_upper[k];
#endif
#else
        real output = tree_value[k];
#endif
#if TREE_TANH
#if TREE_FLOAT
        output = tree_low[o] + (tanhf(output) + 1) / 2 * (tree_high[o] - tree_low[o]);
#else
        output = tree_low[o] + (tanh(output) + 1) / 2 * (tree_high[o] - tree_low[o]);
#endif
#endif
        out[o] = output;
    }
    return leaf;
}

int tree_predict(const real *row, real *out)
{
    real room[tree_ROOM];
    const real *const x = tree_encode(row, room);
    return tree_answer(tree_leaf(x), x, out);
}

long tree_predict_batch(const real *rows, long n_rows, int *leaf, real *out)
{
    real room[tree_GROUP * tree_ROOM];
    const real *x[tree_GROUP];
    long start, refused = 0;
    for (start = 0; start < n_rows; start += tree_GROUP) {
        const int n = n_rows - start < tree_GROUP ? (int)(n_rows - start) : tree_GROUP;
        int r;
        tree_walk(rows + start * tree_COLUMNS, n, room, x, leaf + start);
        for (r = 0; r < n; ++r) {
            leaf[start + r] = tree_answer(leaf[start + r], x[r], out + (start + r) * tree_OUTPUTS);
            refused += leaf[start + r] < 0;
        }
    }
    return refused;
}
#endif

/* Write the features of a test row: numbers of 52 bits, mixed from their places, times powers of two, so that nothing is
   rounded on the way. */
static void tree_test_row(int test, real *x)
{
    unsigned long state = (unsigned long)test;
    double high, low;
    int j;
    for (j = 0; j < tree_FEATURES; ++j) {
        state = (state * 1664525ul + 1013904223ul) & 0xfffffffful;
        high = (double)(state >> 6) - 33554432.0;
        state = (state * 1664525ul + 1013904223ul) & 0xfffffffful;
        low = (double)(state >> 6);
        x[j] = (real)(high * 67108864.0 + low) * tree_test_scale[j];
    }
    for (; j < tree_WIDTH; ++j)
        x[j] = 0;
}

#if TREE_SUMS
/* Whether a sum is what the tree computed when this file was written. */
static int tree_as_written(real sum, real written)
{
    return sum - written <= tree_test_rounding[0] && written - sum <= tree_test_rounding[0];
}

#endif
int tree_selftest(void)
{
    volatile real zero = 0;
    real x[tree_WIDTH];
    int test;
#if TREE_SUMS
    int k;
#endif
#if !TREE_FLOAT
    volatile real least = DBL_MIN, half = least / 2;
    if (!(half > 0) || half * 2 != least) /* numbers below the normal range are taken for 0 */
        return -1;
#endif
    for (test = 0; test < tree_TESTS; ++test) {
        tree_test_row(test, x);
#if TREE_SPLITS
        for (k = 0; k < tree_LEAVES - 1; ++k)
            if (!tree_as_written(tree_score(k, x), tree_test_score[test * (tree_LEAVES - 1) + k]))
                return -1;
#endif
#if TREE_LINEAR
        for (k = 0; k < tree_LEAVES * tree_OUTPUTS; ++k)
            if (!tree_as_written(tree_linear(k, x), tree_test_output[test * tree_LEAVES * tree_OUTPUTS + k]))
                return -1;
#endif
        if (!tree_finite(x))
            return -1;
        x[test % tree_FEATURES] = 1 / zero;
        if (tree_finite(x))
            return -1;
        x[test % tree_FEATURES] = zero / zero;
        if (tree_finite(x))
            return -1;
    }
    return 0;
}

#ifdef DTSEMNET_POP_OPTIONS
#pragma GCC pop_options
#undef DTSEMNET_POP_OPTIONS
#endif
#ifdef DTSEMNET_POP_CONTROL
#pragma float_control(pop)
#undef DTSEMNET_POP_CONTROL
#endif
#endif
